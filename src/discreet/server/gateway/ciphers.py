"""Encrypted columns of a session: expressions that decrypt and encrypt their cells."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from contextlib import contextmanager

from sqlglot import exp

from discreet.errors import StatementFailed
from discreet.guard.access.authority import Relation, RelationColumn
from discreet.guard.integrity.create import engine_column_type
from discreet.guard.rewrite.kinds import kind_named
from discreet.guard.vault.columns import ColumnLocation
from discreet.guard.vault.functions import EncryptionFunctions, Slot
from discreet.guard.vault.open_key import OpenKey
from discreet.guard.vault.session_keys import UnlockedKeys, locked_key_failure
from discreet.server.gateway.encrypted_columns import (
    INDEX,
    TRAITS,
    encrypted_value_type,
)
from discreet.server.gateway.out_of_engine import OutOfEngine
from discreet.sql import build
from discreet.sql.types import parse_modified_type

_AS_TEXT = ("uuid", "json")


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
        return exp.Cast(this=text, to=engine_column_type(column, TRAITS))

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
            this=exp.Paren(this=value), to=engine_column_type(column, TRAITS)
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
                longest=parse_modified_type(column.type).length_limit,
            )
        return self._slots[mark]

    def _session_key(self, key_id: str) -> OpenKey | StatementFailed:
        try:
            return self._keys.get(key_id) or locked_key_failure(key_id)
        except StatementFailed as failure:
            return failure

    def _call(self, name: str, slot: Slot, *arguments: exp.Expr) -> exp.Expr:
        return exp.Anonymous(this=name, expressions=[build.number(slot.number), *arguments])
