"""Releases joined row to row: who is left when every column that they share must agree.

A release hides somebody among the rows whose labels fit. Rows of two releases can be one person's
only if they agree in every column that both publish, sensitive or not. So a person is among at most
Σ over values v of min(rows with v here, rows with v there), and a row without a partner in one of
the other releases is nobody's: that is applied to all releases at once, until nothing changes.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING

import numpy as np

from discreet.attack.finding import make_finding
from discreet.attack.locating.locate import gather
from discreet.attack.releases.intersection import weights_of
from discreet.attack.releases.rows import join_releases
from discreet.errors import EmptySource, WrongUsage
from discreet.measure.describe import counted, listed, percent

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from discreet.attack.finding import Finding
    from discreet.attack.releases.rows import Joined
    from discreet.engines.engine import Table
    from discreet.policy.hierarchy import Hierarchy

    Integers = NDArray[np.int64]
    Flags = NDArray[np.bool_]

# So many (person, row) pairs are held at a time, and looked at in all.
MOST_PAIRS = 2_000_000
MOST_LOOKED_AT = 8_000_000
# Where their own row fits fewer people than this in the first release, values were changed there.
TRUTH_FITS = 0.9
_REMEDY = (
    "One release instead of several, or releases that share their classes; fewer columns kept as they "
    "are, which join rows of one release to those of another; differential privacy, whose guarantees "
    "add up. No k is large enough by itself."
)


@dataclass(frozen=True)
class _Left:
    """What is left of each known person: by one release at best, and by all of them."""

    alone: Integers  # the fewest rows in one release that fit
    together: Integers
    told_alone: Mapping[str, Flags]
    told: Mapping[str, Flags]
    was_true: Flags  # the person's own row is in the first release
    is_true: Flags  # and still among those that are left

    @property
    def knows_truth(self) -> bool:
        """Whether values in the releases are those of people, so that claims can be judged by them."""
        return bool(self.was_true[self.alone > 0].sum() >= TRUTH_FITS * (self.alone > 0).sum())


@dataclass(frozen=True)
class _About:
    weights: Integers
    releases: Sequence[Table]
    knowledge: str
    shared: Sequence[str]
    not_joined: Sequence[str]
    k: int

    @property
    def people(self) -> int:
        return int(self.weights.sum())

    def count(self, chosen: Flags) -> int:
        return int(self.weights[chosen].sum())

    def share(self, chosen: Flags) -> float:
        return self.count(chosen) / max(self.people, 1)

    @property
    def target(self) -> str:
        return listed([release.label for release in self.releases])


def find_joint(
    known: Table,
    releases: Sequence[Table],
    *,
    quasi: Sequence[str],
    sensitive: Sequence[str] = (),
    kept: Sequence[str] = (),
    k: int = 2,
    hierarchies: Mapping[str, Hierarchy] | None = None,
) -> tuple[Finding, ...]:
    """Return whom several releases single out together, and whose sensitive values they tell.

    Exposed are people who have fewer candidates than each release promised, or one value of a
    sensitive column.

    Args:
        known: People who are in every release, with their values in all of the columns.
        releases: Two or more, on the engine of `known`, the newest first.
        quasi: What the adversary knows of people; each release is joined by those it has.
        sensitive: Columns that are to be learned; they join rows as well.
        kept: Other columns that are published as they are.
        k: How many candidates each release promised.
        hierarchies: What group names in the releases mean, by column.
    """
    if len(releases) < 2:
        raise WrongUsage("Composition needs two releases or more. Name them one after the other.")
    shared = [
        name
        for name in (*sensitive, *kept)
        if sum(one.column(name) is not None for one in releases) > 1 and known.column(name)
    ]
    people = gather(known, [*quasi, *shared])
    weights, truths = weights_of(people, *shared)
    if not len(weights):
        raise EmptySource(f"{known.label} has a header but no rows: nobody is known.")
    joined = join_releases(people, releases, quasi=quasi, shared=shared, hierarchies=hierarchies)
    truth = {name: joined.codes(name, values) for name, values in zip(shared, truths, strict=True)}
    secrets = [name for name in sensitive if name in shared]
    left = _leave(joined, truth, people=len(weights), secrets=secrets)
    strange = [f"'{name}' of {releases[place].label}" for place, name in joined.strange]
    used = [name for name in shared if sum(name in one.values for one in joined.releases) > 1]
    about = _About(weights, releases, listed(list(quasi)), used, strange, k)
    return (_singled_out(about, left), *(_told(about, left, column) for column in secrets))


def _leave(
    joined: Joined, truth: Mapping[str, Integers], *, people: int, secrets: Sequence[str]
) -> _Left:
    alone, together = np.zeros(people, dtype=np.int64), np.zeros(people, dtype=np.int64)
    flags = {name: np.zeros((2, people), dtype=np.bool_) for name in secrets}
    is_true = np.zeros((2, people), dtype=np.bool_)
    for first, last in joined.batches(people, most=MOST_PAIRS):
        pairs = [one.of(first, last) for one in joined.releases]
        part = slice(first, last)
        for when in (0, 1):
            counts = _counts(joined, pairs, first, last, is_joined=when == 1)
            (together if when else alone)[part] = counts
            for name in secrets:
                flags[name][when, part] = _is_one(joined, pairs, name, first, last)
            is_true[when, part] = _holds_truth(joined, pairs[0], truth, first, last)
            if when == 0:
                pairs = _reduced(joined, pairs)
    return _Left(
        alone,
        together,
        {name: found[0] for name, found in flags.items()},
        {name: found[1] for name, found in flags.items()},
        *is_true,
    )


Pairs = list[tuple["Integers", "Integers"]]


def _reduced(joined: Joined, pairs: Pairs) -> Pairs:
    """Return the pairs of people and rows whose rows have a partner in each other release."""
    pairs, is_changed = list(pairs), True
    while is_changed:
        is_changed = False
        for a, b in joined.keys:
            mine, theirs = _joint_keys(joined, pairs, a, b), _joint_keys(joined, pairs, b, a)
            fits = np.isin(mine, theirs)
            if not fits.all():
                pairs[a] = (pairs[a][0][fits], pairs[a][1][fits])
                is_changed = True
    return pairs


def _joint_keys(joined: Joined, pairs: Pairs, a: int, b: int) -> Integers:
    people, rows = pairs[a]
    width = 1 + max(int(joined.keys[one].max(initial=0)) for one in ((a, b), (b, a)))
    return people * width + joined.keys[a, b][rows]


def _counts(joined: Joined, pairs: Pairs, first: int, last: int, *, is_joined: bool) -> Integers:
    """Return among how many rows each person is at most."""

    def total(people: Integers, counts: Integers) -> Integers:
        found = np.bincount(people - first, weights=counts, minlength=last - first)
        return found.astype(np.int64)

    counts = [one.counts[rows] for one, (_, rows) in zip(joined.releases, pairs, strict=True)]
    bounds = [total(people, own) for (people, _), own in zip(pairs, counts, strict=True)]
    for a, b in combinations(range(len(pairs)), 2):
        if not is_joined or (a, b) not in joined.keys:
            continue
        sums: list[tuple[Integers, Integers, Integers]] = []
        for one, other in ((a, b), (b, a)):
            keys, places = np.unique(_joint_keys(joined, pairs, one, other), return_inverse=True)
            rows = np.bincount(places, weights=counts[one], minlength=len(keys)).astype(np.int64)
            owners = np.empty(len(keys), dtype=np.int64)
            owners[places] = pairs[one][0]
            sums.append((keys, rows, owners))
        _, mine, theirs = np.intersect1d(
            sums[0][0], sums[1][0], assume_unique=True, return_indices=True
        )
        least = np.minimum(sums[0][1][mine], sums[1][1][theirs])
        bounds.append(total(sums[0][2][mine], least))
    return np.min(bounds, axis=0)


def _is_one(joined: Joined, pairs: Pairs, column: str, first: int, last: int) -> Flags:
    """Return for whom a release leaves one value of a column."""
    found = np.zeros(last - first, dtype=np.bool_)
    for one, (people, rows) in zip(joined.releases, pairs, strict=True):
        if column in one.values:
            owners, starts = np.unique(people, return_index=True)  # people stand in their order
            codes = one.values[column][rows]
            if len(owners):
                low, high = (f.reduceat(codes, starts) for f in (np.minimum, np.maximum))
                found[owners[low == high] - first] = True
    return found


def _holds_truth(
    joined: Joined,
    pair: tuple[Integers, Integers],
    truth: Mapping[str, Integers],
    first: int,
    last: int,
) -> Flags:
    people, rows = pair
    fits = np.ones(len(people), dtype=np.bool_)
    for name, codes in joined.releases[0].values.items():
        fits &= codes[rows] == truth[name][people]
    return np.bincount(people[fits] - first, minlength=last - first) > 0


def _singled_out(about: _About, left: _Left) -> Finding:
    one, few, few_alone = (
        left.together == 1,
        *((found > 0) & (found < about.k) for found in (left.together, left.alone)),
    )
    right = left.is_true if left.knows_truth else np.ones(len(one), dtype=np.bool_)
    releases = counted(len(about.releases), "release", "releases")
    by = f" joined by {listed(list(about.shared))}" if about.shared else ""
    verdict = (
        f"The {releases}{by} leave one candidate for {about.count(one):,} of "
        f"{counted(about.people, 'person', 'people')} ({percent(about.share(one))}) and fewer than "
        f"{about.k:,} for {percent(about.share(few))}; one of them alone does so for "
        f"{percent(about.share(few_alone))}."
    )
    return make_finding(
        "composition",
        target=about.target,
        verdict=verdict,
        targets=about.people,
        exposed=about.count(few & right),
        claimed=about.count(few),
        correct=about.count(few & right) if left.knows_truth else None,
        certainty=float((1 / left.together[few]).mean()) if few.any() else None,
        baseline=about.share(few_alone),
        knowledge=f"A person's {about.knowledge}, and that the person is in each of the {releases}.",
        remedy=_REMEDY,
        details={
            "releases": len(about.releases),
            "joined_by": list(about.shared),
            "not_joined_by": list(about.not_joined),
            "k": about.k,
            "one_candidate": about.share(one),
            "fewer_than_k": about.share(few),
            "fewer_than_k_alone": about.share(few_alone),
            "fewest": int(left.together[left.together > 0].min(initial=2**62))
            if (left.together > 0).any()
            else None,
        },
    )


def _told(about: _About, left: _Left, column: str) -> Finding:
    told, alone = left.told[column], left.told_alone[column]
    right = left.is_true if left.knows_truth else np.ones(len(told), dtype=np.bool_)
    releases = counted(len(about.releases), "release", "releases")
    return make_finding(
        "composition",
        target=about.target,
        verdict=(
            f"The {releases} together leave one {column} for {about.count(told):,} of "
            f"{counted(about.people, 'person', 'people')} ({percent(about.share(told))}); one of them "
            f"alone does so for {percent(about.share(alone))}."
        ),
        targets=about.people,
        exposed=about.count(told & right),
        claimed=about.count(told),
        correct=about.count(told & right) if left.knows_truth else None,
        certainty=1.0 if told.any() else None,
        baseline=about.share(alone),
        knowledge=f"A person's {about.knowledge}, and that the person is in each of the {releases}.",
        remedy=_REMEDY,
        details={
            "column": column,
            "releases": len(about.releases),
            "joined_by": list(about.shared),
            "perfect": about.share(told),
            "told_by_one_release": about.share(alone),
        },
    )
