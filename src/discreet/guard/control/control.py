"""The control store: the versions of the authority, and small documents."""

from __future__ import annotations

import json
import secrets
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import Any, TypeVar

from sqlalchemy import Connection, and_, bindparam, delete, insert, select, update

from discreet.errors import StoreFailed
from discreet.guard.access.authority import Authority
from discreet.guard.control import store_state, versions
from discreet.guard.control.schema import SCHEMA, document
from discreet.stores import AuthenticatedStore, StoreHead
from discreet.stores.plain import StatementConnection

T = TypeVar("T")

_IS_THIS = and_(
    document.c.kind == bindparam("this_kind"), document.c.name == bindparam("this_name")
)
_GET = select(document.c.body, document.c.token, document.c.mac).where(_IS_THIS)
_ADD = insert(document)
_CHANGE = update(document).where(_IS_THIS)
_DELETE = delete(document).where(_IS_THIS)
_OF_KIND = (
    select(document.c.name, document.c.body, document.c.mac)
    .where(document.c.kind == bindparam("this_kind"))
    .order_by(document.c.name)
)


class ControlStore(AuthenticatedStore):
    """The basis of decisions, in an SQLite file or behind a `postgresql://` URL.

    Guarantee: versions of the authority follow each other one by one, whatever the number of
    gateways: a change based on anything but the newest version is refused. The effect of a call is
    durable when it returns. `:memory:` ends with this process.

    Raises:
        StoreFailed: the store cannot be used; nothing may be allowed.
    """

    def __init__(self, place: str | Path) -> None:
        super().__init__(place, SCHEMA)
        self._cached: Authority | None = None
        self.writes = 0  # durable writes by this process

    def is_empty(self) -> bool:
        """Return whether nothing was ever stored."""
        return self._store.read(store_state.is_empty)

    def state(self) -> store_state.ControlState:
        """Return the number of its changes, and its newest version."""
        return store_state.read_state(self._store.sealed().state)

    def newest_head(self) -> StoreHead:
        """Return the store's identity with the number of its changes."""
        return StoreHead(self.identity, self.state().changes)

    def includes(self, head: StoreHead) -> bool:
        """Return whether the store is the same, and has at least as many changes."""
        return self.newest_head().is_at_least(head)

    def mac(self, *parts: str) -> str:
        """Return the code of a text about this store that is stored elsewhere, empty without a key."""
        return "" if self._store.seal is None else self._store.seal.mac("elsewhere", *parts)

    def authority(self) -> Authority:
        """Return the newest authority; it is read again only when it changed."""
        return self._store.look_up(self._newest_authority)

    def authority_at(self, version: int) -> Authority:
        """Return an earlier authority, to show who could see what."""
        return self._store.read(lambda connection: versions.load_authority(connection, version))

    def change(
        self,
        expected_version: int,
        authority: Authority,
        *,
        by: str,
        statement: str,
        at: datetime,
        token: str | None = None,
    ) -> Authority:
        """Store `authority` as the version after `expected_version`, and return it with its number.

        A repeated change, recognized by its `token`, is stored once.

        Raises:
            StatementFailed: 40001, it was changed meanwhile.
        """
        change = versions.make_change(expected_version, authority, by, statement, at, token)
        self._cached = self._write(change.apply)
        return self._cached

    @contextmanager
    def changing(
        self,
        expected_version: int,
        authority: Authority,
        *,
        by: str,
        statement: str,
        at: datetime,
        token: str | None = None,
    ) -> Generator[Authority]:
        """Hold the lock while the caller commits its engine, and store `authority` afterwards.

        The authority cannot change meanwhile; readers do not wait. If the block raises, nothing is
        stored. The block must not write to this store, which would deadlock.

        Raises:
            StatementFailed: 40001, it was changed meanwhile; the block was not entered.
            StoreFailed: the engine has committed and the store was lost permanently. Or it was lost
                before: then the block was not entered.
        """
        change = versions.make_change(expected_version, authority, by, statement, at, token)
        is_done = False
        try:
            with self._store.writing() as connection:
                # Written before the engine commits, so that a full disk is detected before, too.
                result = change.apply(connection)
                yield result
                is_done = True
        except StoreFailed:
            if not is_done:
                raise
            # The commit had no response, and the engine has committed: check, and write it again.
            result = self._store.write(change.apply)
        self._cached = result
        self.writes += 1

    def history(self, *, limit: int = 100) -> list[versions.AuthorityVersion]:
        """Return the changes of the authority with user, time and statement, newest first."""
        return self._store.read(lambda connection: versions.history(connection, limit=limit))

    def documents(self, kind: str) -> dict[str, Mapping[str, Any]]:
        """Return all documents of a kind by name."""

        def work(connection: Connection) -> dict[str, Mapping[str, Any]]:
            rows = connection.execute(_OF_KIND, {"this_kind": kind}).all()
            for row in rows:
                store_state.require_document(connection, (kind, row.name), row)
            return {row.name: json.loads(row.body) for row in rows}

        return self._store.read(work)

    def names(self, kind: str) -> list[str]:
        """Return the names of all documents of a kind, in order."""
        return list(self.documents(kind))

    def get(self, kind: str, name: str) -> Mapping[str, Any] | None:
        """Return a document, None if there is none."""
        row = self._store.read(lambda connection: _find(connection, kind, name))
        return None if row is None else json.loads(row.body)

    def put(
        self,
        kind: str,
        name: str,
        body: Mapping[str, Any],
        *,
        expected: Mapping[str, Any] | None = None,
    ) -> None:
        """Store `body`; with `expected`, only if that is the current document.

        Raises:
            StatementFailed: 40001, the current document differs.
        """

        def replaced(found: Mapping[str, Any] | None) -> Mapping[str, Any]:
            if expected is not None and found != expected:
                raise versions.conflict()
            return body

        self.update(kind, name, replaced)

    def delete(self, kind: str, name: str) -> None:
        """Delete a document; in a file, its bytes are overwritten, too."""

        def forget(connection: Connection) -> None:
            _, state = versions.take(connection)
            row = _find(connection, kind, name)
            if row is not None:
                _write_document(connection, state, (kind, name), row.body, None, token="")

        self._write(forget, is_lasting=kind not in store_state.PASSING)
        self._store.scrub()

    def update(
        self,
        kind: str,
        name: str,
        change: Callable[[Mapping[str, Any] | None], Mapping[str, Any] | None],
    ) -> Mapping[str, Any] | None:
        """Replace a document by the result of `change`, atomically.

        `change` may be called again after a lost connection, so it must have no side effects.
        """
        token = secrets.token_hex(16)

        def work(connection: Connection) -> Mapping[str, Any] | None:
            _, state = versions.take(connection)
            row = _find(connection, kind, name)
            found = None if row is None else json.loads(row.body)
            if row is not None and row.token == token:
                return found  # it was written, but the response was lost
            new = change(found)
            if new != found:
                before = None if row is None else row.body
                _write_document(connection, state, (kind, name), before, new, token=token)
            return new

        return self._write(work, is_lasting=kind not in store_state.PASSING)

    def _has_no_content(self, connection: Connection) -> bool:
        return store_state.is_empty(connection)

    def _seal_content(self, connection: Connection) -> None:
        self._cached = None
        store_state.accept_control(connection)

    def _verify_content(self, connection: Connection) -> None:
        self._cached = None
        store_state.verify_control(connection)

    def _write(self, work: Callable[[Connection], T], *, is_lasting: bool = True) -> T:
        try:
            return self._store.write(work)
        finally:
            self.writes += is_lasting

    def _newest_authority(self, connection: StatementConnection) -> Authority:
        version, cached = versions.newest(connection), self._cached
        if cached is None or cached.version != version:
            self._cached = cached = versions.load_authority(connection, version)
        return cached


def _find(connection: Connection, kind: str, name: str) -> Any:
    row = connection.execute(_GET, {"this_kind": kind, "this_name": name}).one_or_none()
    if row is not None:
        store_state.require_document(connection, (kind, name), row)
    return row


def _write_document(
    connection: Connection,
    state: store_state.ControlState,
    place: tuple[str, str],
    before: str | None,
    body: Mapping[str, Any] | None,
    *,
    token: str,
) -> None:
    kind, name = place
    this = {"this_kind": kind, "this_name": name}
    written = None if body is None else json.dumps(body, sort_keys=True, allow_nan=False)
    if written is None:
        connection.execute(_DELETE, this)
    else:
        row = {"body": written, "token": token}
        row["mac"] = store_state.document_mac(connection, place, written)
        if before is None:
            connection.execute(_ADD, {"kind": kind, "name": name, **row})
        else:
            connection.execute(_CHANGE.values(row), this)
    store_state.renew_state(
        connection, store_state.advance_state(connection, state, place, before, written)
    )
