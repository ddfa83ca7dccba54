"""Cautions: columns that no criterion looks at, and cells that are not of their declared kind."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from sqlglot import exp

from discreet.engines.declared_schema import (
    KIND_NAMES,
    cast_declared,
    declared_columns,
    is_kind_compatible,
)
from discreet.engines.engine import Column, DeclaredColumn, Kind, Table
from discreet.errors import UnreadableSource
from discreet.formatting import format_count, join_names
from discreet.measure.classes import SUPPRESSED
from discreet.measure.profile.reading import describe_reading
from discreet.policy import model
from discreet.sql import build

if TYPE_CHECKING:
    from discreet.measure.roles import RoleBinding


_NAMED = 5
_ROW = "discreet row"  # no column of the table is called so


def exposed_columns(bound: RoleBinding) -> tuple[str, ...]:
    """Return what to say of identifiers in the table and of columns its policy leaves out.

    Classes are made of quasi-identifiers: a table with names in it may well be k-anonymous on paper.
    """
    found: list[str] = []
    if identifiers := _find_filled_identifiers(bound):
        found.append(
            f"The table holds identifiers ({_quote_some_names(identifiers)}): they name people, whatever the "
            "classes hide. Remove them from what you publish."
        )
    weight = bound.subject.weight
    if weight is not None and weight.name in bound.unpublished:
        found.append(
            f"The table holds sampling weights ('{weight.name}'), which no count of unique people includes: a "
            "rare weight singles its person out. Remove them from what you publish, or write "
            "`publish-weight: true` into the policy's release."
        )
    if unlisted := _unlisted_columns(bound):
        found.append(
            f"The policy says nothing about {_quote_some_names(unlisted)}: outsiders may know or learn that, and "
            "nothing here counts it. Give every column a role."
        )
    return tuple(found)


def _find_filled_identifiers(bound: RoleBinding) -> list[str]:
    """Return the identifiers that hold anything but missing values and `*`."""
    table = bound.subject.table
    named = [c for c in table.columns if (role := bound.roles.get(c.name)) and role.names_people]
    if not named:
        return []
    counts = [
        build.alias_as(_known_values_count(column), f"n{index}")
        for index, column in enumerate(named)
    ]
    row = table.engine.run(build.select(*counts, source=table.relation.copy())).to_pylist()[0]
    return [column.name for index, column in enumerate(named) if row[f"n{index}"]]


def _known_values_count(column: Column) -> exp.Expr:
    value = build.column(column.name)
    if column.kind is not Kind.TEXT:
        return exp.Count(this=value)
    return exp.Count(this=exp.Nullif(this=value, expression=build.text(SUPPRESSED)))


def _unlisted_columns(bound: RoleBinding) -> list[str]:
    if bound.policy is None:
        return []
    unit = bound.subject.unit
    known = {*bound.roles, *((unit.name,) if unit else ())}
    return [column.name for column in bound.subject.table.columns if column.name not in known]


def _quote_some_names(names: Sequence[str]) -> str:
    shown = [f"'{name}'" for name in names[:_NAMED]]
    rest = len(names) - len(shown)
    return join_names([*shown, f"{rest} more"] if rest else shown)


def reading_cautions(table: Table, policy: model.TablePolicy | None) -> list[str]:
    """Return what was recognized of how a file is written, where no policy says it, and what is open."""
    if table.schema is None:
        return []
    found = describe_reading(table.schema, table.label) if policy is None else None
    doubts = [f"'{name}': {doubt}." for name, doubt in table.schema.doubts.items()]
    return [*([found] if found else []), *doubts]


@dataclass(frozen=True)
class Misfits:
    """How many cells of a column do not fit what is declared, and the first row that has one."""

    declared: DeclaredColumn
    count: int
    first_row: int | None

    @property
    def expected(self) -> str:
        """What every cell should be."""
        return f"{KIND_NAMES[self.declared.kind]}{_describe_form(self.declared)}"


def misfit_cautions(table: Table, policy: model.TablePolicy | None) -> list[str]:
    """Return a sentence for each column of a file that has cells which do not fit its declared kind."""
    return [
        f"{one.count:,} {'cell' if one.count == 1 else 'cells'} of '{name}' "
        f"{'is' if one.count == 1 else 'are'} no {one.expected}{_describe_row(one)}, and "
        "answers take them for missing. Correct them, list them under `missing:`, or change the `kind:` of "
        "the column."
        for name, one in count_misfits(table, policy).items()
        if one.count
    ]


def refuse_misfits(table: Table, policy: model.TablePolicy | None) -> None:
    """Refuse a file with a cell that keeps a column's hierarchy from being used.

    Raises:
        UnreadableSource: A column that is declared as numbers or dates holds something else.
    """
    if policy is None or table.schema is None:
        return
    texts = {column.name for column in table.columns if column.kind is Kind.TEXT}
    doubtful = [c for c in policy.columns if c.name in texts and c.hierarchy is not None]
    if not any(c.kind not in (None, "text") for c in doubtful):
        return
    names = {column.name for column in doubtful}
    for name, one in count_misfits(table, policy).items():
        if one.count and name in names:
            raise UnreadableSource(
                f"{table.label}, row {one.first_row:,}, column '{name}': the cell is no {one.expected}, as the "
                f"policy declares it; {format_count(one.count, 'cell is', 'cells are')} so. Correct the data, list the "
                "cell under `missing:` in the policy, or change the column's `kind:` and hierarchy."
            )


def _describe_row(found: Misfits) -> str:
    return f" (first in row {found.first_row:,})" if found.first_row else ""


def _describe_form(declared: DeclaredColumn) -> str:
    dates = declared.written.dates
    return f" written as {' or '.join(dates)}" if dates else ""


def count_misfits(table: Table, policy: model.TablePolicy | None) -> dict[str, Misfits]:
    """Return for each declared column of a file without types how many of its cells do not fit."""
    if policy is None or table.schema is None:
        return {}
    declared = declared_columns(policy)
    doubtful = {
        column.name: _misfits_expression(column, declared[column.name], table)
        for column in table.columns
        if column.name in declared and not _is_fitting(column, declared[column.name], table)
    }
    if not doubtful:
        return {}
    number = build.alias_as(exp.Window(this=exp.RowNumber()), _ROW)
    numbered = build.select(exp.Star(), number, source=table.relation.copy())
    wanted = [
        build.alias_as(found, f"{place}{word}")
        for place, tree in enumerate(doubtful.values())
        for word, found in (
            ("n", exp.Count(this=tree)),
            ("row", exp.Min(this=_row_if(tree))),
        )
    ]
    row = table.engine.run(build.select(*wanted, source=build.subquery(numbered, "t"))).to_pylist()[
        0
    ]
    return {
        name: Misfits(declared[name], int(row[f"{place}n"] or 0), row[f"{place}row"])
        for place, name in enumerate(doubtful)
    }


def _row_if(value: exp.Expr) -> exp.Expr:
    is_there = build.is_null(value.copy()).not_()
    return exp.Case(ifs=[exp.If(this=is_there, true=build.column(_ROW))])


def _date_forms(column: Column, table: Table) -> tuple[str, ...]:
    known = table.schema.columns.get(column.name) if table.schema else None
    return known.written.dates if known else ()


def _is_fitting(column: Column, declared: DeclaredColumn, table: Table) -> bool:
    return is_kind_compatible(declared.kind, column.kind) and _has_declared_form(
        column, declared, table
    )


def _has_declared_form(column: Column, declared: DeclaredColumn, table: Table) -> bool:
    return declared.written.dates == _date_forms(column, table)


def _misfits_expression(column: Column, declared: DeclaredColumn, table: Table) -> exp.Expr:
    """Return the cell where it does not fit, NULL where it does."""
    value = build.column(column.name)
    if declared.kind is column.kind and not _has_declared_form(column, declared, table):
        return value  # all of them are dates, in another form
    text = exp.cast(value, "TEXT")
    is_blank = exp.EQ(this=exp.Trim(this=text.copy()), expression=build.text(""))
    misfit = exp.and_(build.is_null(cast_declared(text, declared)), exp.not_(is_blank))
    return exp.Case(ifs=[exp.If(this=misfit, true=value.copy())])
