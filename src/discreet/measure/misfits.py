"""Cells that are not of the kind that the policy declares: answers take them for missing."""

from __future__ import annotations

from sqlglot import exp

from discreet.engines.declared_schema import (
    KIND_NAMES,
    cast_declared,
    declared_columns,
    is_kind_compatible,
)
from discreet.engines.engine import Column, DeclaredColumn, Table
from discreet.policy import model
from discreet.sql import build


def misfit_cautions(table: Table, policy: model.TablePolicy | None) -> list[str]:
    """Return a sentence for each column of a file that has cells which do not fit its declared kind."""
    return [
        f"{count:,} {'cell' if count == 1 else 'cells'} of '{name}' {'is' if count == 1 else 'are'} no "
        f"{KIND_NAMES[declared.kind]}{f' written as {declared.format}' if declared.format else ''}, and "
        "answers take them for missing. Correct them, or the `kind:` of the column."
        for name, (declared, count) in count_misfits(table, policy).items()
        if count
    ]


def count_misfits(
    table: Table, policy: model.TablePolicy | None
) -> dict[str, tuple[DeclaredColumn, int]]:
    """Return for each declared column of a file without types how many of its cells do not fit."""
    if policy is None or table.schema is None:
        return {}
    declared = declared_columns(policy)
    doubtful = {
        column.name: (
            declared[column.name],
            _misfits_expression(column, declared[column.name], table),
        )
        for column in table.columns
        if column.name in declared and not _is_fitting(column, declared[column.name], table)
    }
    if not doubtful:
        return {}
    counts = [build.alias_as(tree, name) for name, (_, tree) in doubtful.items()]
    found = table.engine.run(build.select(*counts, source=table.relation.copy())).to_pylist()[0]
    return {name: (one, int(found[name] or 0)) for name, (one, _) in doubtful.items()}


def _date_format(column: Column, table: Table) -> str | None:
    known = table.schema.columns.get(column.name) if table.schema else None
    return known.format if known else None


def _is_fitting(column: Column, declared: DeclaredColumn, table: Table) -> bool:
    return is_kind_compatible(declared.kind, column.kind) and declared.format == _date_format(
        column, table
    )


def _misfits_expression(column: Column, declared: DeclaredColumn, table: Table) -> exp.Expr:
    value = build.column(column.name)
    if declared.kind is column.kind and declared.format != _date_format(column, table):
        return exp.Count(this=value)  # all of them are dates, in another form
    text = exp.cast(value, "TEXT")
    is_blank = exp.EQ(this=exp.Trim(this=text.copy()), expression=build.text(""))
    misfit = exp.and_(build.is_null(cast_declared(text, declared)), exp.not_(is_blank))
    return exp.Count(this=exp.Case(ifs=[exp.If(this=misfit, true=value.copy())]))
