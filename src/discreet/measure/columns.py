"""How far each column, by itself, narrows down a person."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from sqlglot import exp

from discreet.engines.engine import Column
from discreet.measure.assessment import Selectivity
from discreet.measure.classes import Roles
from discreet.measure.encode import comparable_value
from discreet.sql import build

if TYPE_CHECKING:
    from discreet.measure.roles import RoleBinding


def measure_columns(
    bound: RoleBinding, *, progress: Callable[[str, int, int], None]
) -> tuple[Selectivity, ...]:
    """Return the selectivity of every column but the unit, in the table's order."""
    subject = bound.subject
    columns = [column for column in subject.table.columns if column != subject.unit]
    found: list[Selectivity] = []
    for done, column in enumerate(columns):
        progress("columns", done, len(columns))
        found.append(_measure_selectivity(bound, column))
    progress("columns", len(columns), len(columns))
    return tuple(found)


def _measure_selectivity(bound: RoleBinding, column: Column) -> Selectivity:
    subject = bound.subject
    size, is_missing = build.column("people"), build.is_null(build.column("value"))
    query = build.select(
        build.alias_as(exp.Count(this=build.column("value")), "distinct"),
        build.alias_as(exp.Max(this=exp.case().when(is_missing, size.copy())), "missing"),
        build.alias_as(_people_alone(subject.unit), "unique"),
        build.alias_as(exp.Max(this=size.copy()), "largest"),
        source=build.subquery(_people_by_value(bound.subject, column), "sizes"),
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


def _people_by_value(subject: Roles, column: Column) -> exp.Select:
    """Return the query of each value, its number of people, and one of them."""
    value = comparable_value(column)
    source: exp.Expr = subject.table.relation.copy()
    found = [build.alias_as(build.count_star(), "people")]
    if subject.unit is not None:
        unit = comparable_value(subject.unit)
        once = build.select(
            build.alias_as(value, "value"), build.alias_as(unit, "unit"), source=source
        ).distinct()
        source, value = build.subquery(once, "people"), build.column("value")
        # As text, because PostgreSQL has no smallest boolean.
        some_unit = exp.Min(this=exp.cast(build.column("unit"), "text"))
        found.append(build.alias_as(some_unit, "some_unit"))
    named = build.alias_as(value.copy(), "value")
    return build.select(named, *found, source=source).group_by(value.copy())


def _people_alone(unit: Column | None) -> exp.Expr:
    """Return how many people are alone with a value, each once, however many they are alone with."""
    alone = exp.EQ(this=build.column("people"), expression=build.number(1))
    if unit is None:
        return exp.Count(this=exp.case().when(alone, build.number(1)))
    some_unit = build.column("some_unit")
    known = exp.Count(this=exp.Distinct(expressions=[exp.case().when(alone, some_unit)]))
    # Rows without a known person count as one, which a count of distinct values leaves out.
    is_unknown = build.all_of([alone.copy(), build.is_null(some_unit.copy())])
    unknown = exp.Max(this=exp.case().when(is_unknown, build.number(1)).else_(build.number(0)))
    return exp.Add(this=known, expression=unknown)
