"""What is asked of a file format: the files to open, and how."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from sqlglot import exp

from discreet.engines.declared_schema import cast_declared, types_of
from discreet.engines.duckdb import DuckDB
from discreet.engines.engine import DeclaredColumn, DeclaredSchema
from discreet.errors import UnreadableSource
from discreet.sql import build

# A line that is not a row of the table is cut, padded or left out without affecting another line:
# two parallel readers might disagree where a line begins.
LENIENT_OPTIONS: dict[str, exp.Expr] = {
    "strict_mode": exp.false(),
    "null_padding": exp.true(),
    "ignore_errors": exp.true(),
    "parallel": exp.false(),
}


@dataclass(frozen=True)
class FileRequest:
    """Files to open on an engine, and which table, delimiter, encoding and schema they have.

    With `schema`, the columns and kinds are those that it declares. With `hints`, kinds are found in all
    rows, and cells are written as the hints say; without either, that is recognized as well.
    """

    paths: tuple[Path, ...]
    engine: DuckDB
    table: str | None
    delimiter: str | None
    encoding: str | None
    schema: DeclaredSchema | None
    hints: DeclaredSchema | None = None

    @property
    def path(self) -> Path:
        """The only file, for formats that are opened one at a time."""
        if len(self.paths) != 1:
            raise UnreadableSource(
                f"{len(self.paths)} files match, and files like {self.paths[0].name} are opened "
                "one by one. Name one of them."
            )
        return self.paths[0]

    def defer(
        self,
        columns: Mapping[str, DeclaredColumn],
        read_texts: Callable[[], exp.Expr],
        *,
        where: exp.Expr | None = None,
    ) -> exp.Table:
        """Return a table of declared columns; its texts are read, and fitted, by the first query."""

        def read() -> exp.Query:
            wanted = [
                build.alias_as(cast_declared(build.column(name), one), name)
                for name, one in columns.items()
            ]
            query = build.select(*wanted, source=read_texts())
            return query if where is None else query.where(where)

        return self.engine.defer(types_of(columns), read)


def table_function(
    name: str, paths: Sequence[Path], options: dict[str, exp.Expr] | None = None
) -> exp.Table:
    """Return `name([paths], option => value, …)` as a table; names are literal, not patterns."""
    # DuckDB reads [ ] * ? in a path as a pattern: a file really called so needs them escaped.
    listed = exp.Array(expressions=[build.text(_literal_path(path)) for path in paths])
    named = [
        exp.Kwarg(this=exp.var(key), expression=value) for key, value in (options or {}).items()
    ]
    return exp.Table(this=exp.Anonymous(this=name, expressions=[listed, *named]))


def _literal_path(path: Path) -> str:
    """Return `path` with DuckDB's pattern characters escaped."""
    return re.sub(r"([*?\[\]])", r"[\1]", str(path))
