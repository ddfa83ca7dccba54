"""Cells that are not of the kind that the policy declares: answers take them for missing."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlglot import exp

from discreet.engines.declared import WORDS, Declared, declared_columns, fitted, holds
from discreet.sql import build

if TYPE_CHECKING:
    from discreet.engines.engine import Column, Table
    from discreet.policy import model


def misfit_cautions(table: Table, said: model.Table | None) -> list[str]:
    """Return a sentence for each column of a file that has cells which do not fit its declared kind."""
    return [
        f"{count:,} {'cell' if count == 1 else 'cells'} of '{name}' {'is' if count == 1 else 'are'} no "
        f"{WORDS[declared.kind]}{f' written as {declared.format}' if declared.format else ''}, and "
        "answers take them for missing. Correct them, or the `kind:` of the column."
        for name, (declared, count) in count_misfits(table, said).items()
        if count
    ]


def count_misfits(table: Table, said: model.Table | None) -> dict[str, tuple[Declared, int]]:
    """Return for each declared column of a file without types how many of its cells do not fit."""
    if said is None or table.schema is None:
        return {}
    declared = declared_columns(said)
    doubtful = {
        column.name: (declared[column.name], _misfits(column, declared[column.name], table))
        for column in table.columns
        if column.name in declared and not _fits(column, declared[column.name], table)
    }
    if not doubtful:
        return {}
    counts = [build.named(tree, name) for name, (_, tree) in doubtful.items()]
    found = table.engine.run(build.select(*counts, source=table.relation.copy())).to_pylist()[0]
    return {name: (one, int(found[name] or 0)) for name, (one, _) in doubtful.items()}


def _form(column: Column, table: Table) -> str | None:
    known = table.schema.columns.get(column.name) if table.schema else None
    return known.format if known else None


def _fits(column: Column, declared: Declared, table: Table) -> bool:
    return holds(declared.kind, column.kind) and declared.format == _form(column, table)


def _misfits(column: Column, declared: Declared, table: Table) -> exp.Expr:
    value = build.column(column.name)
    if declared.kind is column.kind and declared.format != _form(column, table):
        return exp.Count(this=value)  # all of them are dates, in another form
    text = exp.cast(value, "TEXT")
    is_blank = exp.EQ(this=exp.Trim(this=text.copy()), expression=build.text(""))
    misfit = exp.and_(build.is_null(fitted(text, declared)), exp.not_(is_blank))
    return exp.Count(this=exp.Case(ifs=[exp.If(this=misfit, true=value.copy())]))
