"""How far each column, by itself, narrows down a person."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlglot import exp

from discreet.measure.assessment import Selectivity
from discreet.measure.encode import comparable
from discreet.sql import build

if TYPE_CHECKING:
    from collections.abc import Callable

    from discreet.engines.engine import Column
    from discreet.measure.subject import Bound


def measure(bound: Bound, *, progress: Callable[[str, int, int], None]) -> tuple[Selectivity, ...]:
    """Return the selectivity of every column but the unit, in the table's order."""
    subject = bound.subject
    columns = [column for column in subject.table.columns if column != subject.unit]
    found: list[Selectivity] = []
    for done, column in enumerate(columns):
        progress("columns", done, len(columns))
        found.append(_selectivity(bound, column))
    progress("columns", len(columns), len(columns))
    return tuple(found)


def _selectivity(bound: Bound, column: Column) -> Selectivity:
    subject = bound.subject
    value = comparable(column)
    people: exp.Expr = build.count_rows()
    source: exp.Expr = subject.table.relation.copy()
    if subject.unit is not None:
        once = build.select(
            build.named(value, "value"),
            build.named(comparable(subject.unit), "unit"),
            source=source,
        ).distinct()
        source, value = build.subquery(once, "people"), build.column("value")
    sizes = build.select(
        build.named(value.copy(), "value"), build.named(people, "people"), source=source
    ).group_by(value.copy())
    size, is_missing = build.column("people"), build.is_null(build.column("value"))
    alone = exp.EQ(this=size.copy(), expression=build.number(1))
    query = build.select(
        build.named(exp.Count(this=build.column("value")), "distinct"),
        build.named(exp.Max(this=exp.case().when(is_missing, size.copy())), "missing"),
        build.named(exp.Count(this=exp.case().when(alone, build.number(1))), "unique"),
        build.named(exp.Max(this=size.copy()), "largest"),
        source=build.subquery(sizes, "sizes"),
    )
    row = subject.table.engine.run(query).to_pylist()[0]
    return Selectivity(
        column=column.name,
        role=str(bound.roles.get(column.name, "not stated")),
        distinct=int(row["distinct"]),
        missing=int(row["missing"] or 0),
        unique=int(row["unique"]),
        largest=int(row["largest"] or 0),
    )
