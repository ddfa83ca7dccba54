"""Encrypted columns of a session: expressions that decrypt and encrypt their cells."""

from __future__ import annotations

from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pyarrow as pa
from sqlglot import exp

from discreet.errors import StatementFailed
from discreet.guard.access.authority import Relation, RelationColumn
from discreet.guard.integrity.create import engine_column_type
from discreet.guard.rewrite.kinds import kind_named
from discreet.guard.vault.columns import ColumnLocation
from discreet.guard.vault.functions import EncryptionFunctions, Slot
from discreet.guard.vault.open_key import OpenKey
from discreet.guard.vault.session_keys import UnlockedKeys, locked_key_failure
from discreet.sql import build

if TYPE_CHECKING:
    from discreet.serve.gateway.out_of_engine import OutOfEngine

INDEX = "__index"  # suffix of the name of a column's blind index
DIALECT = "duckdb"  # where cells are decrypted
_LETTERS = (exp.DataType.Type.VARCHAR, exp.DataType.Type.CHAR, exp.DataType.Type.BPCHAR)
_AS_TEXT = ("uuid", "json")
_KINDS: Mapping[str, Any] = {
    "bool": pa.bool_(),
    "int2": pa.int16(),
    "int4": pa.int32(),
    "int8": pa.int64(),
    "float4": pa.float32(),
    "float8": pa.float64(),
    "text": pa.string(),
    "varchar": pa.string(),
    "bpchar": pa.string(),
    "uuid": pa.string(),
    "json": pa.string(),
    "bytea": pa.binary(),
    "date": pa.date32(),
    "time": pa.time64("us"),
    "timestamp": pa.timestamp("us"),
    "timestamptz": pa.timestamp("us", "UTC"),
}


class SessionCiphers:
    """The encrypted columns of one session, each under a key that may be locked."""

    def __init__(self, keys: UnlockedKeys, functions: EncryptionFunctions) -> None:
        self._keys, self._functions = keys, functions
        self._slots: dict[object, Slot] = {}
        self._apart: OutOfEngine | None = None
        self.used: set[str] = set()  # keys used by the running statement

    @property
    def out_of_engine(self) -> OutOfEngine:
        """The DuckDB in which cells are decrypted that the database cannot decrypt."""
        from discreet.serve.gateway.out_of_engine import OutOfEngine

        if self._apart is None:
            self._apart = OutOfEngine(self._functions)
        return self._apart

    def interrupt(self) -> None:
        """Interrupt the statement that runs there."""
        if self._apart is not None:
            self._apart.interrupt()

    def decrypt(
        self, relation: Relation, column: RelationColumn, *, of: str | None = None
    ) -> exp.Expr:
        """Return the value of an encrypted column of the row called `of`."""
        slot = self._cipher_slot(relation, column, column.key)
        rows = [build.column(name, of=of) for name in relation.primary_key]
        cell = build.column(column.name, of=of), build.column(column.name + INDEX, of=of)
        if column.type == "bytea":
            return self._call(self._functions.open_bytes, slot, *cell, *rows)
        text = self._call(self._functions.open_text, slot, *cell, *rows)
        return exp.Cast(this=text, to=engine_column_type(column, DIALECT))

    def encrypt(
        self,
        relation: Relation,
        column: RelationColumn,
        value: exp.Expr,
        rows: Sequence[exp.Expr],
        *,
        key: str | None = None,
    ) -> tuple[exp.Expr, exp.Expr]:
        """Return the cell and the blind index of a value in the row with the primary key `rows`.

        Raises:
            StatementFailed: 42501, the column is locked.
        """
        self.require_open(relation, column, key=key)
        slot = self._cipher_slot(relation, column, key or column.key)
        typed: exp.Expr = exp.Cast(
            this=exp.Paren(this=value), to=engine_column_type(column, DIALECT)
        )
        if kind_named(column.type) in _AS_TEXT:
            typed = exp.cast(typed, "text")
        cell = self._call(self._functions.lock, slot, typed, *rows)
        return cell, self._call(self._functions.index, slot, typed.copy())

    def require_open(
        self, relation: Relation, column: RelationColumn, *, key: str | None = None
    ) -> OpenKey:
        """Return the key of a column.

        Raises:
            StatementFailed: 42501, it is locked; 22000, it was destroyed.
        """
        opened = self._cipher_slot(relation, column, key or column.key).opened
        self.used.add(opened.id)
        return opened

    @contextmanager
    def explain_refusals(self) -> Generator[None]:
        """Raise the reason why a cell was refused instead of the engine's error."""
        self.used.clear()
        for slot in self._slots.values():
            slot.failure = None
        try:
            yield
        except StatementFailed as error:
            failure = next((slot.failure for slot in self._slots.values() if slot.failure), None)
            if failure is None or error is failure:
                raise
        else:
            return
        raise StatementFailed(failure.sqlstate, str(failure), hint=failure.hint)

    def close(self) -> None:
        """Release all columns."""
        for slot in self._slots.values():
            self._functions.remove(slot)
        self._slots.clear()
        if self._apart is not None:
            self._apart.close()

    def _cipher_slot(self, relation: Relation, column: RelationColumn, key_id: str | None) -> Slot:
        key = self._session_key(key_id or "")
        state = str(key) if isinstance(key, StatementFailed) else key.handle
        mark = (relation.key, column.name, column.type, key_id, state)
        if mark not in self._slots:
            self._slots[mark] = self._functions.add(
                key,
                place=ColumnLocation(".".join(relation.key), column.name),
                kind=encrypted_value_type(column),
                longest=_length_limit(column),
            )
        return self._slots[mark]

    def _session_key(self, key_id: str) -> OpenKey | StatementFailed:
        try:
            return self._keys.get(key_id) or locked_key_failure(key_id)
        except StatementFailed as failure:
            return failure

    def _call(self, name: str, slot: Slot, *arguments: exp.Expr) -> exp.Expr:
        return exp.Anonymous(this=name, expressions=[build.number(slot.number), *arguments])


def has_cells(relation: Relation) -> bool:
    """Whether columns of a relation are encrypted."""
    return any(column.key is not None for column in relation.columns)


def stored_relation(relation: Relation) -> Relation:
    """Return a relation as the engine stores it: cells and blind indexes are bytes."""
    columns: list[RelationColumn] = []
    for column in relation.columns:
        if column.key is None:
            columns.append(column)
        else:
            columns.append(replace(column, type="bytea"))
            index = replace(column, name=column.name + INDEX, type="bytea", not_null=False)
            columns.append(index)
    return replace(relation, columns=tuple(columns))


def encrypted_value_type(column: RelationColumn) -> Any:
    """Return the Arrow type of an encrypted column's values.

    Raises:
        StatementFailed: 0A000, values of this type cannot be encrypted.
    """
    kind = kind_named(column.type)
    if kind == "numeric":
        size = engine_column_type(column, DIALECT).expressions
        numbers = [int(item.name) for item in size]
        return pa.decimal128(numbers[0], numbers[1] if len(numbers) > 1 else 0)
    if kind is None or kind not in _KINDS:
        raise StatementFailed("0A000", f"values of type {column.type} cannot be encrypted")
    return _KINDS[kind]


def _length_limit(column: RelationColumn) -> int | None:
    kind = exp.DataType.build(column.type, dialect="postgres")
    return int(kind.expressions[0].name) if kind.this in _LETTERS and kind.expressions else None
