"""The linkage attack: who of a list is which row of a release."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from discreet.attacks.finding import Finding, make_finding
from discreet.attacks.linkage.candidates import CandidateCounts, count_candidates
from discreet.attacks.linkage.example import describe_linked_person
from discreet.attacks.linkage.posterior import Learned, learn_sensitive_column
from discreet.attacks.linkage.truth import Checked, IdentityColumns, check_links
from discreet.attacks.linkage.units import by_unit
from discreet.attacks.locating.locate import Located, gather_combinations, locate
from discreet.engines.engine import Table
from discreet.errors import EmptySource, WrongUsage
from discreet.formatting import format_count, join_names
from discreet.measure.describe import bin_sizes
from discreet.measure.roles import require_column
from discreet.policy.hierarchy import Hierarchy

EDGES = (*range(1, 11), 20, 50, 100, 1_000, 10_000)


def link_people(  # noqa: PLR0913 -- what is known, what is wanted, and how it is read
    release: Table,
    people: Table,
    *,
    on: Mapping[str, str],
    identity: tuple[str, str] | None = None,
    sensitive: Sequence[str] = (),
    unit: str | None = None,
    name: str | None = None,
    within: Mapping[str, float] | None = None,
    hierarchies: Mapping[str, Hierarchy] | None = None,
) -> Finding:
    """Return who of `people` is linked to a row of `release`.

    A link is claimed where a row fits one person of the list only, and is likely that person's: who
    is alone in a release need not be alone in the population. Labels count for all they may stand
    for; rows that are suppressed in every column that is joined belong to no one.

    Args:
        release: The published table, a row per person, unless it has a `unit`.
        people: What the adversary knows, a row per person, on the engine of the release.
        on: The released column of each known column to join by.
        identity: The known and the released column that say who is who, where the truth is known.
        sensitive: Released columns that the adversary wants to learn.
        unit: The released column that says which rows belong to one person, such as a pseudonym.
        name: The known column that names people, for the example.
        within: By how much numbers, or by how many days dates, may be off, by known column.
        hierarchies: What group names mean, by released column.
    """
    if people.engine is not release.engine:
        raise WrongUsage(f"{people.label} must be opened on the engine of {release.label}.")
    who = (
        IdentityColumns(*_require_identity_columns(people, release, identity)) if identity else None
    )
    wanted = [*sensitive, *([unit] if unit else []), *([who.released.name] if who else [])]
    known = gather_combinations(people, list(on))
    located = locate(
        known,
        release,
        on=on,
        members=wanted,
        hierarchies=hierarchies,
        within=within,
        keeps_suppressed=False,
    )
    if unit:
        located = by_unit(located, member=len(sensitive), members=len(wanted))
    candidates = count_candidates(located)
    if not candidates.people or not candidates.rows:
        empty = people if not candidates.people else release
        raise EmptySource(f"{empty.label} has no rows. Name a table with people in it.")
    learned = {
        column: learn_sensitive_column(located, candidates, member=i)
        for i, column in enumerate(sensitive)
    }
    checked = (
        check_links(located, candidates, people, who, member=len(wanted) - 1)
        if who is not None
        else None
    )
    called = require_column(people, name) if name else None
    nouns = ("person", "people") if unit else ("row", "rows")
    example = describe_linked_person(
        located, candidates, people, name=called, sensitive=sensitive, nouns=nouns
    )
    return _build_finding(
        located, candidates, learned, checked, example=example, within=within or {}, nouns=nouns
    )


def _require_identity_columns(people: Table, release: Table, identity: tuple[str, str]) -> Any:
    return require_column(people, identity[0]), require_column(release, identity[1])


def _build_finding(
    located: Located,
    candidates: CandidateCounts,
    learned: Mapping[str, Learned],
    checked: Checked | None,
    *,
    example: Sequence[str],
    within: Mapping[str, float],
    nouns: tuple[str, str],
) -> Finding:
    exposed = candidates.linked if checked is None else checked.correct
    control = checked.linked_absent / checked.absent if checked and checked.absent else None
    found = candidates.found
    return make_finding(
        "linkage",
        target=located.release.label,
        verdict=_word_verdict(located, candidates, checked, nouns),
        targets=candidates.people,
        exposed=exposed,
        claimed=candidates.linked,
        correct=None if checked is None else checked.correct,
        knowledge=_word_knowledge(located, within),
        remedy=_word_remedy(located, candidates),
        baseline=1 / candidates.rows,
        control=control,
        certainty=candidates.expected / found if found else None,
        details=_build_details(located, candidates, learned, checked),
        example=example,
    )


def _word_verdict(
    located: Located, candidates: CandidateCounts, checked: Checked | None, nouns: tuple[str, str]
) -> str:
    one, many = nouns
    people, release = located.known.label, located.release.label
    by = join_names([mine.name for mine, _ in located.on])
    counted = format_count(candidates.people, "person", "people")
    if not candidates.linked:
        sizes = [size for size in candidates.histogram if size]
        hidden = (
            f"each person who fits has at least {format_count(min(sizes), f'candidate {one}', f'candidate {many}')}"
            if sizes
            else f"no {one} fits any of them"
        )
        return f"None of {counted} in {people} is linked to a {one} of {release} by {by}: {hidden}."
    are = "is" if candidates.linked == 1 else "are"
    sentence = f"{candidates.linked:,} of {counted} in {people} {are} linked to one {one} of {release} by {by}"
    if checked is None:
        return f"{sentence}."
    return f"{sentence}; {checked.correct:,} of these links are right."


def _word_knowledge(located: Located, within: Mapping[str, float]) -> str:
    names = [mine.name for mine, _ in located.on]
    near = [f"{name} within {within[name]:g}" for name in names if within.get(name)]
    sentence = f"{join_names(names)} of a person, as {located.known.label} lists them"
    return f"{sentence} ({', '.join(near)})." if near else f"{sentence}."


def _word_remedy(located: Located, candidates: CandidateCounts) -> str:
    names = join_names([theirs.name for _, theirs in located.on])
    if not candidates.linked:
        return (
            "Nothing more is needed against this list; lists with more columns may reveal more. "
            "The attack homogeneity measures what candidates share."
        )
    if located.is_exact:
        return (
            f"Publish {names} coarser, so that no one is unique: `discreet anonymize` with k-anonymity "
            "of 5 or more, or leave columns out."
        )
    return f"Make {names} coarser still, or suppress the rows that are alone: a larger k."


def _build_details(
    located: Located,
    candidates: CandidateCounts,
    learned: Mapping[str, Learned],
    checked: Checked | None,
) -> dict[str, Any]:
    """Return the numbers of the attack: aggregates only."""
    details: dict[str, Any] = {
        "on": [theirs.name for _, theirs in located.on],
        "rows": candidates.rows,
        "candidates": _candidate_histogram(candidates.histogram),
        "unique_in_release": candidates.unique,
        "linked": candidates.linked,
        "expected_prosecutor": round(candidates.expected, 6),
        "expected_journalist": round(candidates.among_rivals, 6),
        "repeated_in_list": candidates.repeated,
        "without_key": candidates.keyless,
        "labels": {
            name: {
                "generalized": held.generalized,
                "suppressed": held.suppressed,
                "unread": held.unread,
            }
            for name, held in located.held.items()
        },
        "learned": {
            name: {
                "certain": one.certain,
                "belief": round(one.belief, 6),
                "prior": round(one.prior, 6),
            }
            for name, one in learned.items()
        },
    }
    if checked is not None:
        present = candidates.people - checked.absent
        details |= {
            "precision": round(checked.correct / candidates.linked, 6)
            if candidates.linked
            else None,
            "recall": round(checked.correct / present, 6) if present else None,
            "own_row_among_candidates": checked.reached,
            "absent": checked.absent,
            "linked_absent": checked.linked_absent,
        }
    return details


def _candidate_histogram(sizes: Mapping[int, int]) -> dict[str, int]:
    """Return people by their number of candidates: 0, 1, 2 … then in steps."""
    present = {size: people for size, people in sizes.items() if size}
    counts = {"0": sizes.get(0, 0)}
    for first, last, people, _ in bin_sizes(present, EDGES):
        name = str(first) if last == first else f"{first}+" if last is None else f"{first}-{last}"
        counts[name] = people
    return counts
