"""One linked person, step by step, for the custodian only."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from sqlglot import exp

from discreet.attacks.linkage.candidates import CandidateCounts
from discreet.engines.engine import Column, Table
from discreet.formatting import format_count, format_percent
from discreet.measure.encode import comparable_value
from discreet.sql import build

if TYPE_CHECKING:
    from discreet.attacks.locating.locate import Located

_MOST = 3  # values of one column that are shown


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
