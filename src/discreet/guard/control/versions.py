"""Versions of the authority: each follows the one it is based on, or is refused."""

from __future__ import annotations

import json
import secrets
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime

from sqlalchemy import Connection, bindparam, insert, select, update

from discreet.errors import StatementFailed, StoreFailed, WrongUsage
from discreet.guard.access.authority import Authority
from discreet.guard.control import store_state
from discreet.guard.control.schema import authority as table
from discreet.guard.control.schema import head
from discreet.stores.plain import StatementConnection

_NEWEST = select(head.c.version)
_TAKE = _NEWEST.with_for_update()
_ROW = select(table).where(table.c.version == bindparam("this"))
_TOKEN = select(table.c.token).where(table.c.version == bindparam("this"))
_ADD = insert(table)
_MOVE = update(head).values(version=bindparam("new"))


@dataclass(frozen=True)
class AuthorityVersion:
    """When, by whom and by which statement a version was made."""

    version: int
    at: datetime
    by: str
    statement: str


@dataclass(frozen=True)
class VersionChange:
    """One step from `expected` to the next version; `token` identifies it after a lost response."""

    expected: int
    authority: Authority
    by: str
    statement: str
    at: datetime
    token: str = field(default_factory=lambda: secrets.token_hex(16))

    @property
    def result(self) -> Authority:
        """The stored authority with its number."""
        return replace(self.authority, version=self.expected + 1)

    def apply(self, connection: Connection) -> Authority:
        """Write the next version.

        Raises:
            StatementFailed: 40001, another change came first.
        """
        version, state = take(connection)
        written = connection.scalar(_TOKEN, {"this": self.expected + 1})
        if written == self.token:
            return self.result
        if version != self.expected:
            raise conflict()
        row = {
            "version": version + 1,
            "at": _written_time(self.at),
            "changed_by": self.by,
            "statement": self.statement,
            "body": _serialize_authority(self.result),
            "token": self.token,
        }
        row["mac"] = store_state.version_mac(connection, row)
        connection.execute(_ADD, row)
        connection.execute(_MOVE, {"new": version + 1})
        store_state.renew_state(
            connection, replace(state, changes=state.changes + 1, version=version + 1)
        )
        return self.result


def make_change(
    expected: int,
    authority: Authority,
    by: str,
    statement: str,
    at: datetime,
    token: str | None,
) -> VersionChange:
    """Return a change with the given token, or a new one."""
    change = VersionChange(expected, authority, by, statement, at)
    return change if token is None else replace(change, token=token)


def newest(connection: StatementConnection) -> int:
    """Return the number of the newest version, 0 when there is none."""
    return _require_version(connection.scalar(_NEWEST))


def take(connection: Connection) -> tuple[int, store_state.ControlState]:
    """Return the newest version's number and the state; on a server, other writers wait.

    Raises:
        StoreFailed: they do not match the seal.
    """
    version = _require_version(connection.scalar(_TAKE))
    return version, store_state.take_state(connection, version)


def load_authority(connection: StatementConnection, version: int) -> Authority:
    """Return one version.

    Raises:
        StoreFailed: it is missing or damaged.
    """
    if version == 0:
        return Authority()
    row = connection.execute(_ROW, {"this": version}).one_or_none()
    if row is None:
        raise StoreFailed(
            f"The control store has no version {version} of the authority. Restore it from a backup."
        )
    store_state.require_version(connection, row)
    return _read(row.body, version)


def history(connection: Connection, *, limit: int) -> list[AuthorityVersion]:
    """Return the latest changes, the newest first."""
    found = select(table.c.version, table.c.at, table.c.changed_by, table.c.statement)
    rows = connection.execute(found.order_by(table.c.version.desc()).limit(limit))
    return [
        AuthorityVersion(row[0], datetime.fromisoformat(row[1]), row[2], row[3]) for row in rows
    ]


def conflict() -> StatementFailed:
    """Return the error for a concurrent change that came second."""
    return StatementFailed(
        "40001",
        "could not serialize access due to concurrent update",
        hint="The transaction might succeed if retried.",
    )


def _require_version(found: int | None) -> int:
    if found is None:
        raise StoreFailed("The control store has lost its head. Restore it from a backup.")
    return found


def _serialize_authority(value: Authority) -> str:
    from discreet.guard.access.serialization import to_json

    return json.dumps(to_json(value))


def _read(body: str, version: int) -> Authority:
    from discreet.guard.access.serialization import from_json

    try:
        found = from_json(json.loads(body))
    except (ValueError, KeyError, TypeError):
        raise StoreFailed(
            f"Version {version} of the authority is damaged. Restore the control store from a backup."
        ) from None
    if found.version != version:
        raise StoreFailed(
            f"Version {version} of the authority is not what was written. Restore the control store "
            "from a backup."
        )
    return found


def _written_time(at: datetime) -> str:
    if at.tzinfo is None:
        raise WrongUsage("A time in the control store needs a time zone. Give one, such as UTC.")
    return at.astimezone(UTC).isoformat()
