"""CREATE, ALTER and DROP of roles, and of exclusions between them."""

from __future__ import annotations

from typing import Any

from discreet.errors import StatementFailed
from discreet.guard.access.authority import PUBLIC
from discreet.guard.statements.cursor import StatementCursor
from discreet.guard.statements.rights import (
    CURRENT_USER,
    SESSION_USER,
    AlterRole,
    CreateExclusion,
    CreateRole,
    DropExclusion,
    DropRole,
    GrantRole,
    RevokeRole,
)
from discreet.guard.statements.statement import Statement

_SWITCHES = ("superuser", "createrole", "createdb", "inherit", "login", "bypassrls", "replication")


def parse_role_name(cursor: StatementCursor) -> str:
    """Skip a role, which may be CURRENT_USER or PUBLIC, and return its name."""
    if cursor.take("current_user") or cursor.take("current_role"):
        return CURRENT_USER
    if cursor.take("session_user"):
        return SESSION_USER
    if cursor.take("public"):
        return PUBLIC
    return cursor.name()


def parse_new_role_name(cursor: StatementCursor) -> str:
    """Skip the name of a new role, or fail with 42939 when it is reserved."""
    for word in ("public", "none", "current_user", "session_user", "current_role"):
        if cursor.at(word):
            raise StatementFailed("42939", f'role name "{word}" is reserved')
    return cursor.name()


def parse_create_role(cursor: StatementCursor, kind: str) -> Statement:
    """CREATE ROLE | USER | GROUP."""
    names = cursor.listed(lambda: parse_new_role_name(cursor))
    options = _RoleOptions(cursor)
    if kind == "user":
        options.attributes["login"] = True
    options.read(new=True)
    return CreateRole(
        names,
        options.attributes,
        options.password,
        tuple(options.in_roles),
        tuple(options.members),
        tuple(options.admins),
    )


def parse_alter_role(cursor: StatementCursor, kind: str) -> Statement:
    """ALTER ROLE | USER | GROUP."""
    if cursor.at("all"):
        raise StatementFailed("0A000", "ALTER ROLE ALL is not supported: name the role")
    name = parse_role_name(cursor)
    if cursor.take("rename", "to"):
        return AlterRole(name, rename=parse_new_role_name(cursor))
    if kind == "group" and cursor.take("add", "user"):
        return GrantRole((name,), cursor.listed(lambda: parse_role_name(cursor)))
    if kind == "group" and cursor.take("drop", "user"):
        return RevokeRole((name,), cursor.listed(lambda: parse_role_name(cursor)))
    if cursor.at_any("set", "reset", "in"):
        raise StatementFailed(
            "0A000", "settings of roles are not supported", hint="SET it in the session instead."
        )
    options = _RoleOptions(cursor)
    options.read(new=False)
    return AlterRole(name, options.attributes, options.password, options.no_password)


def parse_drop_role(cursor: StatementCursor) -> Statement:
    """DROP ROLE | USER | GROUP."""
    if_exists = cursor.take("if", "exists")
    return DropRole(cursor.listed(lambda: parse_role_name(cursor)), if_exists)


def parse_create_exclusion(cursor: StatementCursor) -> Statement:
    """CREATE EXCLUSION name ON ROLES (a, b)."""
    name = cursor.name()
    cursor.need("on", "roles")
    return CreateExclusion(name, cursor.in_parentheses(lambda: parse_role_name(cursor)))


def parse_drop_exclusion(cursor: StatementCursor) -> Statement:
    """DROP EXCLUSION name."""
    return DropExclusion(cursor.name())


class _RoleOptions:
    """The options of a role after its name, each at most once."""

    def __init__(self, cursor: StatementCursor) -> None:
        self.cursor = cursor
        self.attributes: dict[str, Any] = {}
        self.password: str | None = None
        self.no_password = False
        self.in_roles: list[str] = []
        self.members: list[str] = []
        self.admins: list[str] = []
        self._said: set[str] = set()

    def read(self, *, new: bool) -> None:
        """Parse them all."""
        self.cursor.take("with")
        while self.cursor.word.kind != "end":
            if not (self._read_switch() or self._read_value() or (new and self._read_members())):
                self._refuse_unsupported()
                raise self.cursor.unexpected()

    def _require_once(self, what: str) -> None:
        if what in self._said:
            raise StatementFailed("42601", "conflicting or redundant options")
        self._said.add(what)

    def _read_switch(self) -> bool:
        for name in _SWITCHES:
            for word, value in ((name, True), (f"no{name}", False)):
                if self.cursor.take(word):
                    self._require_once(name)
                    self.attributes[name] = value
                    return True
        return False

    def _read_value(self) -> bool:
        cursor = self.cursor
        if cursor.at("password") or cursor.at("encrypted", "password"):
            cursor.take("encrypted")
            cursor.need("password")
            self._require_once("password")
            if cursor.take("null"):
                self.no_password = True
            else:
                self.password = cursor.string()
        elif cursor.take("valid", "until"):
            self._require_once("valid until")
            self.attributes["valid_until"] = _parse_moment(cursor.string())
        elif cursor.take("sysid"):
            cursor.number()  # a noise word in PostgreSQL, too
        elif cursor.take("connection", "limit"):
            self._require_once("connection limit")
            self.attributes["connection_limit"] = _connection_limit(cursor.number())
        else:
            return False
        return True

    def _read_members(self) -> bool:
        cursor = self.cursor
        if cursor.take("in", "role") or cursor.take("in", "group"):
            self.in_roles += cursor.listed(lambda: parse_role_name(cursor))
        elif cursor.take("admin"):
            self.admins += cursor.listed(lambda: parse_role_name(cursor))
        elif cursor.take("role") or cursor.take("user"):
            self.members += cursor.listed(lambda: parse_role_name(cursor))
        else:
            return False
        return True

    def _refuse_unsupported(self) -> None:
        if self.cursor.at_any("unencrypted"):
            word = self.cursor.word.text.upper()
            raise StatementFailed("0A000", f"{word} is not supported: leave it out")


def _connection_limit(written: str) -> int:
    try:
        limit = int(written)
    except ValueError:
        limit = -2
    if limit < -1:
        raise StatementFailed("22023", "invalid connection limit: it is -1 or more")
    return limit


def _parse_moment(text: str) -> str | None:
    """Return a timestamp in UTC, as ISO text; `infinity` is None. Without a zone it is UTC."""
    from datetime import UTC, datetime

    if text.strip().lower() == "infinity":
        return None
    try:
        moment = datetime.fromisoformat(text.strip())
    except ValueError:
        raise StatementFailed(
            "22007", "invalid timestamp in VALID UNTIL", hint="Write it as 2030-12-31 23:59:59+00."
        ) from None
    moment = moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)
    return moment.isoformat()
