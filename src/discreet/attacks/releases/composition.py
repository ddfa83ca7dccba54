"""Composition: releases over some of the same people reveal more together than each alone."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.attacks.classes.inference import SURE
from discreet.attacks.finding import Finding, make_finding
from discreet.attacks.releases.adversary_view import AdversaryView, gather_people
from discreet.attacks.releases.intersection import CandidateValues, ValueDictionary, weights_of
from discreet.attacks.releases.joint import RemainingRows, find_remaining
from discreet.attacks.releases.rows import Joined, join_releases
from discreet.criteria.criterion import TOLERANCE
from discreet.engines.engine import Table
from discreet.errors import UnknownColumn, WrongUsage
from discreet.formatting import format_count, format_percent, join_names
from discreet.policy.hierarchy import Hierarchy

Flags = NDArray[np.bool_]

# Where their own values fit fewer people than this in a release, values were changed there.
TRUTH_FITS = 0.9
_REMEDY = (
    "One release instead of several, or releases that share their classes; fewer columns kept as they "
    "are, which join rows of one release to those of another; differential privacy, whose guarantees "
    "add up. No k is large enough by itself."
)


@dataclass(frozen=True)
class Thresholds:
    """When something was learned of a person.

    Attributes:
        k: How many candidates each release promised: fewer are too few.
        sure: How sure the adversary must be of a value for a partial breach.
    """

    k: int = 2
    sure: float = SURE


@dataclass(frozen=True)
class _AttackedPeople:
    """What is left of known people, and their true values where those are known."""

    weights: NDArray[np.int64]
    joined: Joined
    truth: Mapping[str, NDArray[np.int64]]
    remaining: RemainingRows

    @property
    def people(self) -> int:
        return int(self.weights.sum())

    def count(self, chosen: Flags) -> int:
        return int(self.weights[chosen].sum())

    def share(self, chosen: Flags) -> float:
        return self.count(chosen) / max(self.people, 1)

    def see(self, column: str) -> AdversaryView:
        """Return what each release leaves of a sensitive column."""
        words, shares = ValueDictionary(self.joined.texts[column]), self.joined.shares(column)
        alone, truth = self.remaining.alone[column], self.truth.get(column)
        return AdversaryView(self.weights, alone, words, shares, truth)

    @property
    def rows_are_known(self) -> bool:
        """Whether people's own rows are known, and are those of the first release."""
        left = self.remaining
        if not set(self.joined.releases[0].values) <= set(self.truth):
            return False
        return bool(left.was_true[left.located].sum() >= TRUTH_FITS * left.located.sum())

    def is_known(self, column: str) -> bool:
        """Whether people's values of a column are known, and are those of the releases."""
        if column not in self.truth:
            return False
        first = self.remaining.alone[column][0]
        fits = np.bincount(
            first.person[first.value == self.truth[column][first.person]],
            minlength=len(self.weights),
        )
        found = self.remaining.located
        return bool((fits[found] > 0).sum() >= TRUTH_FITS * found.sum())


@dataclass(frozen=True)
class _Joining:
    """Which releases were joined by what, and what the adversary knows."""

    releases: Sequence[Table]
    knowledge: str
    joined_by: Sequence[str]
    not_joined_by: Sequence[str]
    thresholds: Thresholds

    @property
    def target(self) -> str:
        return join_names([release.label for release in self.releases])

    @property
    def number(self) -> str:
        return format_count(len(self.releases), "release", "releases")

    def to_details(self) -> dict[str, Any]:
        return {
            "releases": len(self.releases),
            "joined_by": list(self.joined_by),
            "not_joined_by": list(self.not_joined_by),
        }


def find_composition(
    known: Table,
    releases: Sequence[Table],
    *,
    on: Mapping[str, str],
    sensitive: Sequence[str] = (),
    kept: Sequence[str] | None = None,
    thresholds: Thresholds | None = None,
    control: Table | None = None,
    hierarchies: Mapping[str, Hierarchy] | None = None,
) -> tuple[Finding, ...]:
    """Return whom several releases single out together, and whose sensitive values they reveal.

    The adversary finds each known person's class in every release by what its labels stand for, and
    joins the rows of these classes by every column that two releases publish (Ganta, Kasiviswanathan
    & Smith 2008 intersect the sensitive values; other columns join as well). The first finding is of
    people who have fewer candidates left than each release promised, the others, one per sensitive
    column, of people for whom one value is left. The baseline are people of whom one release reveals
    as much alone.

    Args:
        known: People who are believed to be in every release. Where it has a column that was
            published, that is the truth, by which claims are judged; the adversary does not use it.
        releases: Two or more, on the engine of `known`.
        on: The columns of `known` that the adversary uses, and what the releases call them; people
            are found in each release by those that it has.
        sensitive: What is to be learned.
        kept: Other columns that join rows where two releases have them; default all.
        thresholds: When something was learned of a person.
        control: People who are not in all of the releases.
        hierarchies: What group names in the releases mean, by column.
    """
    _require_usable(releases, on=on, sensitive=sensitive)
    apart = {*on, *on.values(), *sensitive}
    shared = [
        name
        for name in list_shared(releases)
        if name not in apart and (kept is None or name in kept)
    ]

    def attack(people: Table) -> _AttackedPeople:
        return _attack_people(people, releases, on, sensitive, shared, hierarchies)

    found = attack(known)
    others = None if control is None else attack(control)
    joined = found.joined
    setting = _Joining(
        releases,
        join_names(list(on)),
        [
            name
            for name in (*sensitive, *shared)
            if sum(name in one.values for one in joined.releases) > 1
        ],
        [f"'{name}' of {releases[place].label}" for place, name in joined.strange],
        thresholds or Thresholds(),
    )
    return (
        _candidates_finding(setting, found, others),
        *(_value_finding(setting, column, found, others) for column in sensitive),
    )


def list_shared(releases: Sequence[Table]) -> list[str]:
    """Return the columns that two releases or more publish."""
    every = dict.fromkeys(column.name for one in releases for column in one.columns)
    return [name for name in every if sum(one.column(name) is not None for one in releases) > 1]


def _require_usable(
    releases: Sequence[Table], *, on: Mapping[str, str], sensitive: Sequence[str]
) -> None:
    if len(releases) < 2:
        raise WrongUsage("Composition needs two releases or more. Name them one after the other.")
    for name in (*sensitive, *on.values()):
        if all(one.column(name) is None for one in releases):
            raise UnknownColumn(f"No release has a column '{name}'.")
    for one in releases:
        if all(one.column(name) is None for name in on.values()):
            raise WrongUsage(
                f"{one.label} has none of the columns by which people are found "
                f"({join_names(list(on.values()))}). Name one that it has with --on."
            )


def _attack_people(
    known: Table,
    releases: Sequence[Table],
    on: Mapping[str, str],
    sensitive: Sequence[str],
    shared: Sequence[str],
    hierarchies: Mapping[str, Hierarchy] | None,
) -> _AttackedPeople:
    more = [name for name in shared if known.column(name) is not None and name not in on]
    people, truths = gather_people(known, on=on, sensitive=sensitive, more=more)
    names = [*truths, *more]
    weights, values = weights_of(people, *names)
    joined = join_releases(
        people, releases, on=on, shared=[*sensitive, *shared], hierarchies=hierarchies
    )
    truth = {name: joined.codes(name, own) for name, own in zip(names, values, strict=True)}
    left = find_remaining(joined, truth, people=len(weights), secrets=sensitive)
    return _AttackedPeople(weights, joined, truth, left)


def _candidates_finding(
    setting: _Joining, found: _AttackedPeople, others: _AttackedPeople | None
) -> Finding:
    left = found.remaining
    is_judged = found.rows_are_known
    one, few = left.candidates == 1, _are_few(left.candidates, setting.thresholds.k)
    few_alone = _are_few(left.fewest, setting.thresholds.k)
    exposed = few & left.is_true if is_judged else few
    by = f" joined by {join_names(list(setting.joined_by))}" if setting.joined_by else ""
    verdict = (
        f"The {setting.number}{by} leave one candidate for {found.count(one):,} of "
        f"{format_count(found.people, 'person', 'people')} ({format_percent(found.share(one))}) and fewer than "
        f"{setting.thresholds.k:,} for {format_percent(found.share(few))}; one of them alone does so for "
        f"{format_percent(found.share(few_alone))}."
    )
    if setting.not_joined_by:
        verdict += (
            f" They were not joined by {join_names(list(setting.not_joined_by))}, where values are written "
            "otherwise."
        )
    control = None
    if others is not None:
        claimed = _are_few(others.remaining.candidates, setting.thresholds.k)
        control = others.share(claimed & others.remaining.is_true if is_judged else claimed)
    return make_finding(
        "composition",
        target=setting.target,
        verdict=verdict,
        targets=found.people,
        exposed=found.count(exposed),
        claimed=found.count(few),
        correct=found.count(exposed) if is_judged else None,
        certainty=float((1 / left.candidates[few]).mean()) if few.any() else None,
        baseline=found.share(few_alone),
        control=control,
        knowledge=_describe_knowledge(setting),
        remedy=_REMEDY,
        details={
            **setting.to_details(),
            "k": setting.thresholds.k,
            "located": found.count(left.located),
            "contradicted": found.count(left.located & (left.candidates == 0)),
            "one_candidate": found.share(one),
            "fewer_than_k": found.share(few),
            "fewer_than_k_alone": found.share(few_alone),
            "fewest": int(left.candidates[left.candidates > 0].min())
            if (left.candidates > 0).any()
            else None,
        },
    )


def _are_few(candidates: NDArray[np.int64], k: int) -> Flags:
    return (candidates > 0) & (candidates < k)


def _describe_knowledge(setting: _Joining) -> str:
    return (
        f"A person's {setting.knowledge}, and that the person is in each of the {setting.number}."
    )


def _value_finding(
    setting: _Joining, column: str, found: _AttackedPeople, others: _AttackedPeople | None
) -> Finding:
    seen, both = found.see(column), found.remaining.together[column]
    guess, chance = both.best()
    is_left, alone = both.sizes() == 1, _are_disclosed_alone(seen)
    is_judged = found.is_known(column)
    right = seen.is_right(guess) if is_judged else None
    exposed = is_left if right is None else is_left & right
    located = found.remaining.located
    return make_finding(
        "composition",
        target=setting.target,
        verdict=_word_verdict(setting, column, seen, is_left, alone),
        targets=seen.people,
        exposed=seen.count(exposed),
        claimed=seen.count(is_left),
        correct=None if right is None else seen.count(exposed),
        certainty=1.0 if is_left.any() else None,
        baseline=seen.share(alone if right is None else alone & is_left & right),
        control=None if others is None else _control_rate(others, column, is_judged=is_judged),
        knowledge=_describe_knowledge(setting),
        remedy=_REMEDY,
        details={
            "column": column,
            **setting.to_details(),
            "located": seen.count(located),
            "perfect": seen.share(is_left),
            "partial": {
                "sure": setting.thresholds.sure,
                "share": seen.share(chance >= setting.thresholds.sure - TOLERANCE),
            },
            "disclosed_by_one_release": seen.share(alone),
            "disclosed_by_each_release": [seen.share(one.sizes() == 1) for one in seen.alone],
            "contradicted": seen.count(located & (both.sizes() == 0)),
            "candidates": {
                "each": [seen.average(one.sizes(), one.located) for one in seen.alone],
                "together": seen.average(both.sizes(), located),
            },
            "guessed_right": _guessed_right(seen, guess) if is_judged else None,
        },
        example=_build_example(column, seen, both, is_left & ~alone),
    )


def _are_disclosed_alone(seen: AdversaryView) -> Flags:
    """Return who is left with one value by a single release."""
    return np.any([one.sizes() == 1 for one in seen.alone], axis=0)


def _guessed_right(seen: AdversaryView, together: NDArray[np.int64]) -> dict[str, Any] | None:
    """Return how often the likeliest value is right: by each release, by all, and by the better.

    Classes of one person are not independent, so that the product of beliefs may be a worse guess
    than the best single release; an adversary takes the better.
    """
    if seen.truth is None:
        return None
    alone = [seen.share(one.best()[0] == seen.truth) for one in seen.alone]
    all_of_them = seen.share((together == seen.truth) & (together >= 0))
    return {
        "each": alone,
        "together": all_of_them,
        "better": max(*alone, all_of_them),
        "most_frequent_value": seen.share(seen.truth == int(np.argmax(seen.prior))),
    }


def _control_rate(others: _AttackedPeople, column: str, *, is_judged: bool) -> float:
    both, seen = others.remaining.together[column], others.see(column)
    is_left = both.sizes() == 1
    right = seen.is_right(both.best()[0]) if is_judged else None
    return others.share(is_left if right is None else is_left & right)


def _word_verdict(
    setting: _Joining, column: str, seen: AdversaryView, is_left: Flags, alone: Flags
) -> str:
    number = seen.count(is_left)
    people = format_count(seen.people, "person", "people")
    if not number:
        return f"The {setting.number} together leave one {column} for none of {people}."
    return (
        f"The {setting.number} together leave one {column} for {number:,} of {people} "
        f"({format_percent(number / seen.people)}); one of them alone does so for {format_percent(seen.share(alone))}."
    )


def _build_example(
    column: str, seen: AdversaryView, both: CandidateValues, chosen: Flags
) -> tuple[str, ...]:
    """Return how one person's value was inferred; of those, one for whom most values were left before."""
    if not chosen.any():
        return ()
    before = np.min([one.sizes() for one in seen.alone], axis=0)
    person = int(np.argmax(np.where(chosen, before, -1)))
    lines = [
        f"Release {place} leaves {seen.words.some(one.value[one.person == person].tolist())}."
        for place, one in enumerate(seen.alone, start=1)
    ]
    remaining = seen.words.text(int(both.value[both.person == person][0]))
    return (
        f"A person is known to be in all of them; which {column}?",
        *lines,
        f"Only {remaining} is left.",
    )
