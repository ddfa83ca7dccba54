"""The linkage attack: who of a list is which row of a release."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from sqlglot import exp

from discreet.attacks.finding import Finding, make_finding
from discreet.attacks.linkage.candidates import (
    CandidateCounts,
    Learned,
    count_candidates,
    learn_sensitive_column,
)
from discreet.attacks.linkage.truth import Checked, IdentityColumns, check_links
from discreet.attacks.locating.locate import Located, gather_combinations, locate
from discreet.attacks.locating.pairing import add_row_numbers
from discreet.engines.engine import Column, Table
from discreet.errors import EmptySource, WrongUsage
from discreet.formatting import format_count, format_percent, join_names
from discreet.measure.describe import bin_sizes
from discreet.measure.encode import comparable_value
from discreet.measure.roles import require_column
from discreet.policy.hierarchy import Hierarchy
from discreet.sql import build

if TYPE_CHECKING:
    from discreet.attacks.locating.locate import Located

EDGES = (*range(1, 11), 20, 50, 100, 1_000, 10_000)
_MOST = 3  # values of one column that are shown


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


def by_unit(located: Located, *, member: int, members: int) -> Located:
    """Return where people are, with people of the release in the place of classes.

    A person of the release is a candidate when one of their rows fits, and then reveals what all of
    their rows reveal. Rows without a unit are left out.

    Args:
        located: Where known people are, by class.
        member: Which column of the members is the unit.
        members: How many columns the members have.
    """
    engine = located.known.engine
    unit = build.column(f"m{member}")
    grouped = (
        build.select(build.alias_as(unit, "unit"), source=located.members.copy())
        .where(exp.not_(build.is_null(unit.copy())))
        .distinct()
    )
    counted = build.select(
        build.column("unit"),
        build.alias_as(build.number(1), "rows"),
        source=build.subquery(grouped, "g"),
    )
    units = engine.keep(add_row_numbers(counted, ["unit", "rows"], "class", engine))
    same = exp.EQ(this=build.column(f"m{member}", of="m"), expression=build.column("unit", of="u"))
    number = build.alias_as(build.column("class", of="u"), "class")
    pairs = (
        build.select(
            build.alias_as(build.column("person", of="q"), "person"),
            number,
            source=build.aliased_table(located.pairs, "q"),
        )
        .join(build.aliased_table(located.members, "m"), on=build.same(["class"], "q", "m"))
        .join(build.aliased_table(units, "u"), on=same)
        .distinct()
    )
    names = [f"m{index}" for index in range(members)]
    values = [build.column(name, of="m") for name in names]
    rows = (
        build.select(
            number.copy(),
            *(build.alias_as(value, name) for value, name in zip(values, names, strict=True)),
            build.alias_as(build.sum_integers(build.column("rows", of="m")), "rows"),
            source=build.aliased_table(located.members, "m"),
        )
        .join(build.aliased_table(units, "u"), on=same.copy())
        .group_by(build.column("class", of="u"), *(value.copy() for value in values))
    )
    return replace(located, classes=units, pairs=engine.keep(pairs), members=engine.keep(rows))


def describe_linked_person(
    located: Located,
    candidates: CandidateCounts,
    people: Table,
    *,
    name: Column | None,
    sensitive: Sequence[str],
    nouns: tuple[str, str],
) -> tuple[str, ...]:
    """Return how the person with the fewest candidates is found, and what that reveals."""
    person = _find_clearest_person(located, candidates)
    if person is None:
        return ()
    known = [mine for mine, _ in located.on]
    values = [f"{column.name} {person[f'k{located.known.index(column.name)}']}" for column in known]
    who = _find_person_name(located, people, name, int(person["person"])) or "a person"
    rows = format_count(int(person["candidates"]), f"{nouns[0]} fits", f"{nouns[1]} fit")
    lines = [
        f"Known: {who} has {', '.join(values)}.",
        f"In {located.release.label} {rows}.",
    ]
    for index, column in enumerate(sensitive):
        found = _likely_values(located, candidates, int(person["person"]), index)
        total = sum(weight for _, weight in found)
        shares = [f"{value} {format_percent(weight / total)}" for value, weight in found[:_MOST]]
        more = f", {len(found) - _MOST} more" if len(found) > _MOST else ""
        lines.append(f"{column}: {', '.join(shares)}{more}.")
    return tuple(lines)


def _find_clearest_person(located: Located, candidates: CandidateCounts) -> dict[str, Any] | None:
    """Return the person with the fewest candidates and rivals, the first in order of the values."""
    keys = [f"k{index}" for index in range(len(located.known.columns))]
    ranks = [build.column(name, of="c") for name in ("crowd", "candidates")]
    columns = [build.column(key, of="p") for key in keys]
    query = (
        build.select(
            build.alias_as(build.column("person", of="p"), "person"),
            *(
                build.alias_as(exp.cast(column, exp.DataType.Type.TEXT), column.name)
                for column in columns
            ),
            build.alias_as(ranks[1], "candidates"),
            source=build.aliased_table(located.known.relation, "p"),
        )
        .join(build.aliased_table(candidates.relation, "c"), on=build.same(["person"], "p", "c"))
        .where(exp.GT(this=ranks[1].copy(), expression=build.number(0)))
    )
    ordered = build.order_nulls_last(query, [*(rank.copy() for rank in ranks), *columns]).limit(1)
    found = located.known.engine.run(ordered).to_pylist()
    return found[0] if found else None


def _find_person_name(
    located: Located, people: Table, name: Column | None, person: int
) -> str | None:
    if name is None:
        return None
    agree = build.all_of(
        exp.EQ(this=comparable_value(column, of="t"), expression=build.column(f"k{index}", of="p"))
        for index, column in enumerate(located.known.columns)
    )
    called = build.column(name.name, of="t")
    query = (
        build.select(
            build.alias_as(exp.cast(called, exp.DataType.Type.TEXT), "name"),
            source=build.aliased_table(people.relation, "t"),
        )
        .join(build.aliased_table(located.known.relation, "p"), on=agree)
        .where(exp.EQ(this=build.column("person", of="p"), expression=build.number(person)))
    )
    found = located.known.engine.run(
        build.order_nulls_last(query, [called.copy()]).limit(1)
    ).to_pylist()
    return str(found[0]["name"]) if found and found[0]["name"] is not None else None


def _likely_values(
    located: Located, candidates: CandidateCounts, person: int, member: int
) -> list[tuple[str, float]]:
    """Return the values of a column among a person's candidates, the likeliest first."""
    value = exp.cast(build.column(f"m{member}", of="m"), exp.DataType.Type.TEXT)
    weight = exp.Div(this=build.column("rows", of="m"), expression=build.column("crowd", of="c"))
    query = (
        build.select(
            build.alias_as(value, "value"),
            build.alias_as(exp.Sum(this=weight), "weight"),
            source=build.aliased_table(located.pairs, "q"),
        )
        .join(build.aliased_table(located.members, "m"), on=build.same(["class"], "q", "m"))
        .join(build.aliased_table(candidates.crowds, "c"), on=build.same(["class"], "q", "c"))
        .where(exp.EQ(this=build.column("person", of="q"), expression=build.number(person)))
        .group_by(value.copy())
    )
    found = located.known.engine.run(query).to_pylist()
    pairs = [(str(row["value"]), float(row["weight"])) for row in found]
    return sorted(pairs, key=lambda pair: (-pair[1], pair[0]))
