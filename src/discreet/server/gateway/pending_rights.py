"""Recovery of definitions: rows and rights are committed separately, with a crash in between."""

from __future__ import annotations

import hmac
import json
import secrets
from datetime import datetime
from typing import Any

from sqlglot import exp

from discreet.engines.databases.database import Database, DatabaseConnection
from discreet.errors import StatementFailed, StoreFailed
from discreet.guard.access.serialization import from_json, to_json
from discreet.guard.control import ControlStore
from discreet.guard.control.versions import VersionChange, conflict
from discreet.sql import build

TABLE = "discreet_pending"
_KIND, _NAME = "house", "identity"


class PendingRights:
    """One row beside the data: the rights that belong to the last definition there.

    It is written in the engine's own transaction. The control store commits the same rights a
    moment later. A row that is newer than the store by one shows a crash in between, and its rights
    are then written to the store, too. So a definition is applied completely or not at all.
    """

    def __init__(self, database: Database, control: ControlStore) -> None:
        self._control = control
        self._table = build.table(*database.prefix, "public", TABLE)
        self._names = (*database.prefix, "public", TABLE)
        made = control.update(_KIND, _NAME, lambda found: found or {"id": secrets.token_hex(16)})
        # Two servers with separate rights may serve one database.
        self._is_ours = build.column("control").eq(build.text(str((made or {})["id"])))
        self._is_kept = database.is_writable and self._prepare(database)

    def note(self, connection: DatabaseConnection, change: VersionChange) -> None:
        """Write, within the engine's transaction, the change of rights that belongs to it.

        Raises:
            StatementFailed: 40001, an earlier change had not reached the control store; now it has.
        """
        if not self._is_kept:
            return
        found = self._read(connection)
        if found is not None and found.expected >= change.expected:
            self._commit_rights(found)
            raise conflict()
        body = _serialize_change(change)
        kept = f"{self._authentication_code(body)} {body}"
        values = {"version": str(change.expected + 1), "body": kept}
        row = exp.Update(
            this=self._table.copy(),
            expressions=[exp.column(name).eq(build.text(text)) for name, text in values.items()],
            where=exp.Where(this=self._is_ours.copy()),
        )
        connection.execute(row, touches=[self._names])

    def recover(self, connection: DatabaseConnection) -> bool:
        """Complete a change that reached the engine only; return whether there was one.

        Raises:
            StoreFailed: The control store is older than the data.
        """
        found = self._read(connection) if self._is_kept else None
        return found is not None and self._commit_rights(found)

    def _commit_rights(self, found: VersionChange) -> bool:
        version = self._control.authority().version
        if found.expected < version:
            return False
        if found.expected > version:
            raise StoreFailed(
                f"The data were last defined under version {found.expected + 1} of the rights, and the "
                f"control store has version {version} only. Restore the control store that goes with "
                "the data, or both from one backup."
            )
        try:
            self._control.change(
                found.expected,
                found.authority,
                by=found.by,
                statement=found.statement,
                at=found.at,
                token=found.token,
            )
        except StatementFailed:
            return False  # its gateway was only slow
        return True

    def _read(self, connection: DatabaseConnection) -> VersionChange | None:
        query = build.select(build.column("body"), source=self._table.copy()).where(self._is_ours)
        rows = connection.query(query).to_pylist()
        if not rows or not rows[0]["body"]:
            return None
        written: str = rows[0]["body"]
        # The first releases wrote no code before the rights; it counts as one made without a key.
        mac, body = ("-", written) if written.startswith("{") else written.split(" ", 1)
        found = _parse_change(json.loads(body))
        if hmac.compare_digest(mac, self._authentication_code(body)):
            return found
        if found.expected < self._control.authority().version:
            return None  # it has reached the control store, or is older than the key
        raise StoreFailed(
            "The rights that the database says belong to its last definition were not written by this "
            "server. Find out who wrote the table discreet_pending, and restore it."
        )

    def _authentication_code(self, body: str) -> str:
        """Return the code of rights stored beside the data, where others may write; `-` without a key."""
        return self._control.mac("pending", body) or "-"

    def _prepare(self, database: Database) -> bool:
        """Create the row; return whether it exists: a read-only account defines nothing."""
        connection = database.connect()
        try:
            if not any(names[-2:] == self._names[-2:] for names in database.tables()):
                connection.execute(self._table_definition())
            mine = build.select(build.column("version"), source=self._table.copy())
            if not connection.query(mine.where(self._is_ours.copy())).num_rows:
                connection.execute(self._first_row(), touches=[self._names])
        except StatementFailed as error:
            if error.sqlstate in ("42P07", "23505"):
                return self._prepare(database)  # another gateway was first
            return False
        finally:
            connection.close()
        return True

    def _table_definition(self) -> exp.Create:
        names = ("control", "version", "body")
        columns = [
            exp.ColumnDef(
                this=exp.to_identifier(name, quoted=True), kind=exp.DataType.build("text")
            )
            for name in names
        ]
        columns[0].set("constraints", [exp.ColumnConstraint(kind=exp.PrimaryKeyColumnConstraint())])
        schema = exp.Schema(this=self._table.copy(), expressions=columns)
        return exp.Create(this=schema, kind="TABLE")

    def _first_row(self) -> exp.Insert:
        row = exp.Tuple(
            expressions=[self._is_ours.expression.copy(), build.text("0"), build.text("")]
        )
        return exp.Insert(this=self._table.copy(), expression=exp.Values(expressions=[row]))


def _serialize_change(change: VersionChange) -> str:
    return json.dumps(
        {
            "authority": to_json(change.result),
            "by": change.by,
            "statement": change.statement,
            "at": change.at.isoformat(),
            "token": change.token,
        }
    )


def _parse_change(written: dict[str, Any]) -> VersionChange:
    authority = from_json(written["authority"])
    return VersionChange(
        authority.version - 1,
        authority,
        written["by"],
        written["statement"],
        datetime.fromisoformat(written["at"]),
        written["token"],
    )
