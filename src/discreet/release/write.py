"""Rows of a query written to a file, a folder or a table, in an order that says nothing."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

import pyarrow as pa
from sqlglot import exp

from discreet.engines.duckdb import DuckDB
from discreet.engines.scratch import innermost
from discreet.engines.transfer import on_duckdb, schema_of
from discreet.errors import Bug
from discreet.release.output.files import (
    copy_options,
    file_digest,
    whole_file,
)
from discreet.release.output.target import (
    FileTarget,
    Target,
    parse_target,
)
from discreet.sql import build

if TYPE_CHECKING:
    from collections.abc import Collection, Generator, Sequence
    from pathlib import Path

    from discreet.engines.engine import Engine

    ArrowField: TypeAlias = Any  # pyarrow ships no types

__all__ = ["Target", "Written", "parse_target", "sha256_of_source", "write_rows"]


@dataclass(frozen=True)
class Written:
    """What was written where; a table has no bytes and no digest."""

    place: str
    rows: int
    bytes: int | None = None
    sha256: str | None = None


def write_rows(
    engine: Engine,
    query: exp.Query,
    target: Target,
    *,
    order: Sequence[str] = (),
    hide: Collection[str] = (),
) -> Written:
    """Write the rows of `query`, all of them or nothing, and say what was written.

    Rows are sorted by the columns in `order` and then by every column that is written, so that the
    order of the source leaves no trace and the same rows give the same bytes.

    Args:
        engine: Where the query runs.
        query: The rows; its columns have names of their own.
        target: From `parse_target`.
        order: Columns of the query that come first in the order, such as the number of a class.
        hide: Columns of the query that are not written.
    """
    schema = schema_of(engine, query)
    plan = _Plan(tuple(schema), tuple(order), frozenset(hide))
    match target:
        case FileTarget():
            return _write_file(engine, query, target, plan)
        case _:
            raise NotImplementedError


def sha256_of_source(path: Path) -> str:
    """Return the SHA-256 of a file's bytes, in pieces."""
    return file_digest(path)


@dataclass(frozen=True)
class _Plan:
    """Which columns are written, and in which order of rows."""

    fields: tuple[ArrowField, ...]
    order: tuple[str, ...]
    hide: frozenset[str]

    def __post_init__(self) -> None:
        unknown = {*self.order, *self.hide} - {field.name for field in self.fields}
        if unknown:
            raise Bug(f"The query to write has no column {', '.join(sorted(unknown))}.")

    def over(self, source: exp.Expr) -> exp.Select:
        """Return the query that reads `source`, leaves out what is hidden, and sorts."""
        written = [field for field in self.fields if field.name not in self.hide]
        wanted = [build.named(_one_zero(field), field.name) for field in written]
        leading = dict.fromkeys((*self.order, *(field.name for field in written)))
        return build.ordered(
            build.select(*wanted, source=source), [build.column(name, of="r") for name in leading]
        )


def _one_zero(field: ArrowField) -> exp.Expr:
    """Return a column without minus zero, which equals zero and yet is written otherwise.

    Where the two are equal in an order, the order of the source would decide between them.
    """
    column = build.column(field.name, of="r")
    if not pa.types.is_floating(field.type):
        return column
    kind = "FLOAT" if pa.types.is_float32(field.type) else "DOUBLE"
    return exp.Add(this=column, expression=exp.cast(build.number(0), kind))


@contextmanager
def _near_duckdb(
    engine: Engine, query: exp.Query, plan: _Plan
) -> Generator[tuple[DuckDB, exp.Select]]:
    """Give a DuckDB and the planned query on it: one writer makes the same file on every engine."""
    home = innermost(engine)
    if isinstance(home, DuckDB):
        yield home, plan.over(build.subquery(query.copy(), "r"))
        return
    with on_duckdb(engine, query) as (writer, relation):
        yield writer, plan.over(build.aliased_table(relation, "r"))


def _write_file(engine: Engine, query: exp.Query, target: FileTarget, plan: _Plan) -> Written:
    with whole_file(target) as beside, _near_duckdb(engine, query, plan) as (writer, ordered):
        rows = writer.export(ordered, beside, options=copy_options(target.form))
    return Written(target.place, rows, target.path.stat().st_size, file_digest(target.path))
