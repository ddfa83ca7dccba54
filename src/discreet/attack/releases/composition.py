"""Composition: two releases over some of the same people tell more together than each alone."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from discreet.attack.classes.inference import SURE
from discreet.attack.finding import make_finding
from discreet.attack.releases.seen import look
from discreet.errors import WrongUsage
from discreet.measure.criteria.evaluate import TOLERANCE
from discreet.measure.describe import counted, listed, percent

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from discreet.attack.finding import Finding
    from discreet.attack.releases.intersection import Candidates
    from discreet.attack.releases.seen import Seen
    from discreet.engines.engine import Table
    from discreet.policy.hierarchy import Hierarchy


def find_composition(
    known: Table,
    releases: Sequence[Table],
    *,
    on: Mapping[str, str],
    sensitive: Sequence[str],
    control: Table | None = None,
    hierarchies: Mapping[str, Hierarchy] | None = None,
    sure: float = SURE,
) -> tuple[Finding, ...]:
    """Return whose sensitive values several releases tell together, one finding per column.

    The adversary finds each known person's class in every release by what its labels stand for, and
    keeps the values that all of these classes have (Ganta, Kasiviswanathan & Smith 2008). Where one
    value is left it is told. The baseline are people whom one release tells alone: that is
    homogeneity, and no composition.

    Args:
        known: People who are believed to be in every release. Where it has the sensitive column, that
            is the truth, by which claims are judged; the adversary does not use it.
        releases: Two or more, on the engine of `known`.
        on: The columns of `known` that the adversary uses, and what the releases call them.
        sensitive: What is to be learned.
        control: People who are not in all of the releases.
        hierarchies: What group names in the releases mean, by column.
        sure: How sure the adversary must be for a partial breach.
    """
    if len(releases) < 2:
        raise WrongUsage("Composition needs two releases or more. Name them one after the other.")
    _, seen = look(known, releases, on=on, sensitive=sensitive, hierarchies=hierarchies)
    others: list[Seen] | None = None
    if control is not None:
        _, others = look(control, releases, on=on, sensitive=sensitive, hierarchies=hierarchies)
    target = listed([release.label for release in releases])
    return tuple(
        _finding(
            column,
            seen[place],
            others[place] if others else None,
            target=target,
            known=listed(list(on)),
            sure=sure,
        )
        for place, column in enumerate(sensitive)
    )


def _finding(
    column: str, seen: Seen, others: Seen | None, *, target: str, known: str, sure: float
) -> Finding:
    both = seen.together()
    guess, chance = both.best()
    is_left = both.sizes() == 1
    right = seen.is_right(guess)
    alone = told_alone(seen)
    exposed = is_left if right is None else is_left & right
    return make_finding(
        "composition",
        target=target,
        verdict=_verdict(column, seen, is_left, alone),
        targets=seen.people,
        exposed=seen.count(exposed),
        claimed=seen.count(is_left),
        correct=None if right is None else seen.count(exposed),
        certainty=1.0 if is_left.any() else None,
        baseline=seen.share(alone if right is None else alone & is_left & right),
        control=None if others is None else _control(others),
        knowledge=f"A person's {known}, and that the person is in each of the {len(seen.alone)} releases.",
        remedy="One release instead of several, or releases that share their classes; differential "
        "privacy, whose guarantees add up. No k is large enough by itself.",
        details={
            "column": column,
            "releases": len(seen.alone),
            "located": seen.count(both.located),
            "perfect": seen.share(is_left),
            "partial": {"sure": sure, "share": seen.share(chance >= sure - TOLERANCE)},
            "told_by_one_release": seen.share(alone),
            "told_by_each_release": [seen.share(one.sizes() == 1) for one in seen.alone],
            "contradicted": seen.count(both.located & (both.sizes() == 0)),
            "candidates": {
                "each": [seen.average(one.sizes(), one.located) for one in seen.alone],
                "together": seen.average(both.sizes(), both.located),
            },
            "guessed_right": guesses(seen, guess),
        },
        example=_example(column, seen, both, is_left & ~alone),
    )


def told_alone(seen: Seen) -> NDArray[np.bool_]:
    """Return who is left with one value by a single release."""
    return np.any([one.sizes() == 1 for one in seen.alone], axis=0)


def guesses(seen: Seen, together: NDArray[np.int64]) -> dict[str, Any] | None:
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


def _control(others: Seen) -> float:
    both = others.together()
    is_left = both.sizes() == 1
    right = others.is_right(both.best()[0])
    return others.share(is_left if right is None else is_left & right)


def _verdict(column: str, seen: Seen, is_left: NDArray[np.bool_], alone: NDArray[np.bool_]) -> str:
    number = seen.count(is_left)
    releases = f"{len(seen.alone)} releases"
    if not number:
        return f"The {releases} together leave several values of {column} for each of {seen.people:,} people."
    people = counted(seen.people, "person", "people")
    return (
        f"The {releases} together leave one {column} for {number:,} of {people} "
        f"({percent(number / seen.people)}); one of them alone does so for {percent(seen.share(alone))}."
    )


def _example(
    column: str, seen: Seen, both: Candidates, chosen: NDArray[np.bool_]
) -> tuple[str, ...]:
    """Return how one person was told; of those, one for whom most values were left before."""
    if not chosen.any():
        return ()
    before = np.min([one.sizes() for one in seen.alone], axis=0)
    person = int(np.argmax(np.where(chosen, before, -1)))
    lines = [
        f"Release {place} leaves {seen.words.some(one.value[one.person == person].tolist())}."
        for place, one in enumerate(seen.alone, start=1)
    ]
    told = seen.words.text(int(both.value[both.person == person][0]))
    return (
        f"Somebody is known to be in all of them; which {column}?",
        *lines,
        f"Only {told} is left.",
    )
