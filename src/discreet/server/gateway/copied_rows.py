"""Rows that a client sends by COPY … FROM: read in blocks, checked, and kept until they are written."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Sequence
from datetime import tzinfo
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from sqlglot import exp

from discreet.engines.databases.database import DatabaseConnection, EngineTraits
from discreet.engines.databases.failures import too_many_bytes
from discreet.errors import StatementFailed
from discreet.guard.access.authority import RelationColumn
from discreet.guard.integrity.create import engine_column_type
from discreet.guard.rewrite.bind import engine_text, listed_texts, value_text
from discreet.guard.rewrite.kinds import category, data_type, element_kind
from discreet.sql import build
from discreet.sql.copy_rows import CopyForm, CopyReader
from discreet.sql.decode import decode_value

_compute: Any = pc
# Texts that mean the same to PostgreSQL and to every engine; others are read one by one.
_PLAIN = {
    **dict.fromkeys(("int2", "int4", "int8"), r"^-?\d{1,18}$"),
    "numeric": r"^-?\d{1,30}(\.\d{1,8})?$",
    **dict.fromkeys(("float4", "float8"), r"^-?\d{1,30}(\.\d{1,30})?(e[+-]?\d{1,2})?$"),
    "bool": r"^(true|false)$",
    "date": r"^[1-9]\d{3}-\d\d-\d\d$",
    "time": r"^([01]\d|2[0-3]):[0-5]\d:[0-5]\d(\.\d{1,6})?$",
    "timestamp": r"^[1-9]\d{3}-\d\d-\d\d ([01]\d|2[0-3]):[0-5]\d:[0-5]\d(\.\d{1,6})?$",
    "timestamptz": r"^[1-9]\d{3}-\d\d-\d\d ([01]\d|2[0-3]):[0-5]\d:[0-5]\d(\.\d{1,6})?\+00$",
    "uuid": r"^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$",
}


class CopiedRows:
    """The rows of one COPY. They wait in a file without a name, or in memory where files must be sealed."""

    def __init__(
        self,
        form: CopyForm,
        columns: Sequence[RelationColumn],
        kinds: Sequence[str],
        *,
        traits: EngineTraits,
        zone: tzinfo,
        folder: str | None,
        most: int | None,
    ) -> None:
        self._reader = CopyReader(form, len(kinds))
        self._is_binary = form.format == "binary"
        self._columns, self._kinds, self._traits, self._zone = columns, kinds, traits, zone
        self._folder, self._most = folder, most
        self._file: Any = None
        names = [f"c{place}" for place in range(len(kinds))]
        self._schema = pa.schema([pa.field(name, pa.string()) for name in names])
        self._kept: list[Any] = []
        self._bytes = self.count = 0
        self._writer: Any = None

    def feed(self, data: bytes) -> None:
        """Take the next piece of what the client sends."""
        self._reader.feed(data)
        if self._reader.is_full:
            self._keep_batch(self._reader.take())

    def finish(self) -> None:
        """Read what is left."""
        self._keep_batch(self._reader.finish())
        if self._writer is not None:
            self._writer.close()
            self._file.flush()

    def close(self) -> None:
        """Forget the rows."""
        self._kept.clear()
        if self._file is not None:
            self._file.close()

    def _keep_batch(self, cells: Sequence[Any]) -> None:
        texts = [
            self._read_column(column, kind) for column, kind in zip(cells, self._kinds, strict=True)
        ]
        batch = pa.record_batch(texts, schema=self._schema)
        if not batch.num_rows:
            return
        self.count += batch.num_rows
        self._bytes += batch.nbytes
        if self._folder is None:
            if self._most is not None and self._bytes > self._most:
                raise too_many_bytes(self._most)
            self._kept.append(batch)
            return
        if self._writer is None:
            self._file = tempfile.TemporaryFile(dir=self._folder)  # noqa: SIM115 - until `close`
            self._writer = pa.ipc.new_file(self._file, self._schema)
        self._writer.write_batch(batch)

    def _staged_table(self) -> Any:
        if self._writer is None:
            return pa.Table.from_batches(self._kept, self._schema)
        mapped = pa.memory_map(f"/proc/self/fd/{self._file.fileno()}")
        return pa.ipc.open_file(mapped).read_all()

    def _read_column(self, cells: Any, kind: str) -> Any:
        """Return the cells of a column as texts that the engine reads as PostgreSQL does."""
        if self._is_binary:
            return self._read_each(cells, kind, lambda cell: cell)
        if category(kind) == "S":
            return cells
        pattern = _PLAIN.get(kind)
        if pattern is None:
            return self._read_each(cells, kind, str.encode)
        others = _compute.invert(_compute.match_substring_regex(cells, pattern)).fill_null(False)
        if not _compute.any(others).as_py():
            return cells
        read = self._read_each(cells.filter(others), kind, str.encode)
        return _compute.replace_with_mask(cells, others, read)

    def _read_each(self, cells: Any, kind: str, raw: Callable[[Any], bytes]) -> Any:
        """Return cells after reading every distinct one as a parameter would be read."""
        coded = cells.dictionary_encode()
        texts = [self._read_value(raw(cell), kind) for cell in coded.dictionary.to_pylist()]
        return pa.array(texts, pa.string()).take(coded.indices)

    def _read_value(self, cell: bytes, kind: str) -> str:
        value = decode_value(cell, kind, binary=self._is_binary, zone=self._zone)
        if element_kind(kind) is not None:
            return str(engine_text(value, kind, traits=self._traits))
        if isinstance(value, bytes | bytearray):
            return bytes(value).hex()
        text = value_text(value)
        if "\0" in text:
            raise StatementFailed("22021", "a text cannot hold a zero byte")
        return self._traits.read_literal(text, kind) if self._traits.read_literal else text

    def rows(self, connection: DatabaseConnection, permitted: exp.Query) -> exp.Query:
        """Return the rows of a permitted INSERT of one row of parameters as those that were sent."""
        staged = connection.stage(self._staged_table())
        rows = permitted.copy()
        values = rows.find(exp.Values)
        if values is None or len(values.expressions) != 1:
            raise StatementFailed("XX000", "internal error: one row of parameters was expected")
        cells = [self._fill_cell(cell) for cell in values.expressions[0].expressions]
        alias = values.args["alias"]
        named = [
            build.alias_as(cell, column.name)
            for cell, column in zip(cells, alias.columns, strict=True)
        ]
        values.replace(build.subquery(build.select(*named, source=staged), alias.this.name))
        return rows

    def _fill_cell(self, cell: exp.Expr) -> exp.Expr:
        holder = exp.Paren(this=cell.copy())
        for parameter in list(holder.find_all(exp.Parameter)):
            parameter.replace(self._typed_cell(int(parameter.name) - 1))
        return holder.this.pop()

    def _typed_cell(self, place: int) -> exp.Expr:
        kind, text = self._kinds[place], build.column(f"c{place}")
        if kind == "bytea":
            if not self._traits.is_postgresql:
                return exp.Unhex(this=text)
            prefixed = exp.DPipe(this=build.text("\\x"), expression=text)
            return exp.Cast(this=exp.Paren(this=prefixed), to=data_type(kind))
        if category(kind) == "S":
            return text
        if element_kind(kind) is not None and not self._traits.is_postgresql:
            text = listed_texts(text)
        if kind in ("numeric", "numeric[]"):
            return exp.Cast(this=text, to=engine_column_type(self._columns[place], self._traits))
        return exp.Cast(this=text, to=data_type(kind))
