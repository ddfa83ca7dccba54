"""Republication: releases of a table that changes, seen by an adversary who waits."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from discreet.arrow import ArrowArray, pc
from discreet.attacks.finding import Finding, make_finding
from discreet.attacks.locating.locate import KnownCombinations, Located, locate
from discreet.attacks.releases.adversary_view import AdversaryView, gather_people, view_releases
from discreet.attacks.releases.intersection import (
    CandidateValues,
    build_value_dictionary,
    count_classes,
    find_candidates,
    intersect,
    make_candidates,
    narrow_candidates,
    weights_of,
)
from discreet.engines.engine import Table
from discreet.errors import WrongUsage
from discreet.formatting import format_count, format_percent, join_names
from discreet.policy.hierarchies.values import text_of
from discreet.policy.hierarchy import Hierarchy


@dataclass(frozen=True)
class Invariance:
    """Whether releases keep what m-invariance asks (Xiao & Tao 2007).

    Attributes:
        m: The fewest rows of any class.
        has_distinct_values: Whether no class has a value twice.
        persisting: People who are in two releases that follow one another, once for each two.
        changed: Those of them whose class has other values than before.
        lost: Those of them whose class has lost a value (critical absence).
    """

    m: int
    has_distinct_values: bool
    persisting: int
    changed: int
    lost: int

    @property
    def holds(self) -> bool:
        """Whether the releases are m-invariant, with m of 2 or more."""
        return self.m > 1 and self.has_distinct_values and not self.changed

    def to_details(self) -> dict[str, Any]:
        """Return the numbers, as a finding's details have them."""
        return {
            "holds": self.holds,
            "m": self.m,
            "distinct_values_in_classes": self.has_distinct_values,
            "persisting": self.persisting,
            "signature_changed": self.changed,
            "critical_absence": self.lost,
        }


def find_republication(
    known: Sequence[Table],
    releases: Sequence[Table],
    *,
    on: Mapping[str, str],
    sensitive: Sequence[str],
    name: str | None = None,
    control: Table | None = None,
    hierarchies: Mapping[str, Hierarchy] | None = None,
) -> tuple[Finding, ...]:
    """Return whose sensitive values follow from one release after the other, by column.

    After each release the adversary keeps the values that it left before and leaves still. The
    baseline are people whom the first release discloses alone.

    Args:
        known: What is known of people: one table for all releases, or one for each, with the values
            that people have then. Who is not in a release's table is believed not to be in it.
        releases: The releases in their order, on the engine of `known`.
        on: The columns of `known` that the adversary uses, and what the releases call them.
        sensitive: What is to be learned; where `known` has such a column, it is the truth.
        name: The column that says who is who, where there are several tables of known people.
        control: People who are in none of the releases.
        hierarchies: What group names in the releases mean, by column.
    """
    if len(releases) < 2:
        raise WrongUsage("Republication needs two releases or more, the earliest first.")
    if len(known) == 1:
        located, seen = view_releases(
            known[0], releases, on=on, sensitive=sensitive, hierarchies=hierarchies
        )
    else:
        _require_each(known, releases, name)
        located, seen = _locate_by_name(
            known, releases, on=on, sensitive=sensitive, name=name or "", rules=hierarchies
        )
    others: list[AdversaryView] | None = None
    if control is not None:
        _, others = view_releases(
            control, releases, on=on, sensitive=sensitive, hierarchies=hierarchies
        )
    target = join_names([release.label for release in releases])
    return tuple(
        _build_finding(
            column,
            seen[place],
            target=target,
            known=join_names(list(on)),
            invariance=_measure_invariance(seen[place], located, place),
            control=_last_share(others[place]) if others else None,
        )
        for place, column in enumerate(sensitive)
    )


def _locate_by_name(
    known: Sequence[Table],
    releases: Sequence[Table],
    *,
    on: Mapping[str, str],
    sensitive: Sequence[str],
    name: str,
    rules: Mapping[str, Hierarchy] | None,
) -> tuple[list[Located], list[AdversaryView]]:
    """Return the same where people have other values each time, and are followed by their names."""
    gathered = [gather_people(table, on=on, sensitive=sensitive, more=[name])[0] for table in known]
    located = [
        locate(people, release, on=on, members=sensitive, hierarchies=rules)
        for people, release in zip(gathered, releases, strict=True)
    ]
    names, places = _match_names(gathered, known, name)
    everyone = np.ones(len(names), dtype=np.int64)
    found: list[AdversaryView] = []
    for index, column in enumerate(sensitive):
        words, prior = build_value_dictionary(located, index)
        alone = [
            _renumber_people(
                find_candidates(one, words, index=index, people=len(mine)), mine, len(names)
            )
            for one, mine in zip(located, places, strict=True)
        ]
        truth = None
        if all(table.column(column) is not None for table in known):
            truth = np.full(len(names), -1)
            for people, mine in zip(gathered, places, strict=True):
                truth[mine] = words.codes(weights_of(people, column)[1][0])
        found.append(AdversaryView(everyone, tuple(alone), words, prior, truth))
    return located, found


def _require_each(known: Sequence[Table], releases: Sequence[Table], name: str | None) -> None:
    if len(known) != len(releases):
        raise WrongUsage(
            f"There are {len(releases)} releases and {len(known)} tables of known people. Give one "
            "table for all, or one for each release in the same order."
        )
    if name is None:
        raise WrongUsage(
            "People have other values in each table, so that something must say who is who: name "
            "the column with --name."
        )


def _match_names(
    gathered: Sequence[KnownCombinations], known: Sequence[Table], name: str
) -> tuple[ArrowArray, list[NDArray[np.int64]]]:
    """Return everyone's name, and the place of each table's people among them."""
    columns = [weights_of(people, name) for people in gathered]
    texts = [text_of(names).cast(pa.string()) for _, (names,) in columns]
    for table, (weights, _), text in zip(known, columns, texts, strict=True):
        if text.null_count or len(text.unique()) < int(weights.sum()):
            raise WrongUsage(
                f"'{name}' does not distinguish people in {table.label}: it is missing, or two rows "
                "share it. Choose another column with --name."
            )
    everyone = pa.concat_arrays(texts).unique()
    return everyone, [
        pc.index_in(text, value_set=everyone).to_numpy().astype(np.int64) for text in texts
    ]


def _renumber_people(
    found: CandidateValues, places: NDArray[np.int64], people: int
) -> CandidateValues:
    return make_candidates(places[found.person], found.value, found.rows, people=people)


def _narrow_after_each(seen: AdversaryView) -> list[CandidateValues]:
    """Return what is left after each release."""
    left = [seen.alone[0]]
    for one in seen.alone[1:]:
        left.append(narrow_candidates(left[-1], one, prior=seen.prior))
    return left


def _is_disclosed(seen: AdversaryView, left: CandidateValues) -> NDArray[np.bool_]:
    """Return who is left with one value, the true one where the truth is known."""
    is_left = left.sizes() == 1
    right = seen.is_right(left.best()[0])
    return is_left if right is None else is_left & right


def _last_share(seen: AdversaryView) -> float:
    return seen.share(_is_disclosed(seen, _narrow_after_each(seen)[-1]))


def _measure_invariance(seen: AdversaryView, located: Sequence[Located], index: int) -> Invariance:
    counts = [count_classes(one, index) for one in located]
    every = np.concatenate([np.empty((0, 2), np.int64), *counts])
    persisting = changed = lost = 0
    for earlier, later in zip(seen.alone, seen.alone[1:], strict=False):
        both = intersect(earlier, later, prior=seen.prior)
        shared = both.sizes()
        loses, gains = (shared < one.sizes() for one in (earlier, later))
        persisting += seen.count(both.located)
        changed += seen.count(both.located & (loses | gains))
        lost += seen.count(both.located & loses)
    return Invariance(
        m=int(every[:, 0].min()) if len(every) else 0,
        has_distinct_values=bool((every[:, 1] == 1).all()),
        persisting=persisting,
        changed=changed,
        lost=lost,
    )


def _build_finding(
    column: str,
    seen: AdversaryView,
    *,
    target: str,
    known: str,
    invariance: Invariance,
    control: float | None,
) -> Finding:
    running = _narrow_after_each(seen)
    last = running[-1]
    exposed, claimed = _is_disclosed(seen, last), last.sizes() == 1
    return make_finding(
        "republication",
        target=target,
        verdict=_word_verdict(column, seen, running),
        targets=seen.people,
        exposed=seen.count(exposed),
        claimed=seen.count(claimed),
        correct=None if seen.truth is None else seen.count(exposed),
        certainty=1.0 if claimed.any() else None,
        baseline=seen.share(_is_disclosed(seen, running[0])),
        control=control,
        knowledge=f"A person's {known} at the time of each release, and in which the person is.",
        remedy="m-invariance: a person who stays keeps the same set of values around them, with counterfeit "
        "rows where a value would vanish; or differential privacy over all releases.",
        details={
            "column": column,
            "releases": len(seen.alone),
            "disclosed_after_each": [seen.share(one.sizes() == 1) for one in running],
            "candidates_after_each": [seen.average(one.sizes(), one.located) for one in running],
            "located_in_each": [seen.count(one.located) for one in seen.alone],
            "m_invariance": invariance.to_details(),
        },
        example=_build_example(column, seen, running),
    )


def _word_verdict(column: str, seen: AdversaryView, running: Sequence[CandidateValues]) -> str:
    first, last = (seen.count(one.sizes() == 1) for one in (running[0], running[-1]))
    people = format_count(seen.people, "person", "people")
    return (
        f"The first release leaves one {column} for {first:,} of {people}; after "
        f"{len(seen.alone)} releases it is one for {last:,} ({format_percent(last / max(seen.people, 1))})."
    )


def _build_example(
    column: str, seen: AdversaryView, running: Sequence[CandidateValues]
) -> tuple[str, ...]:
    chosen = (running[-1].sizes() == 1) & (running[0].sizes() > 1)
    if not chosen.any():
        return ()
    person = int(np.argmax(np.where(chosen, running[0].sizes(), -1)))
    lines = [f"A person is known to be in the releases; which {column}?"]
    for place, (one, left) in enumerate(zip(seen.alone, running, strict=True), start=1):
        mine = one.value[one.person == person].tolist()
        if not mine:
            lines.append(f"Release {place} has no row that fits.")
            continue
        rest = left.value[left.person == person].tolist()
        lines.append(
            f"Release {place} leaves {seen.words.some(mine)}: together with what was left before, "
            f"{seen.words.some(rest) if rest else 'nothing'}."
        )
    return tuple(lines)
