"""Statements about settings."""

from __future__ import annotations

import re

from discreet.errors import StatementFailed
from discreet.guard.statements import statement as kinds
from discreet.guard.statements.cursor import StatementCursor
from discreet.guard.statements.transactions import parse_transaction_modes


def parse_set(cursor: StatementCursor) -> kinds.Statement:
    """Parse SET in all the forms that clients send."""
    local = cursor.take("local")
    if cursor.take("session", "characteristics"):
        cursor.need("as", "transaction")
        return _parse_modes(cursor, "default_transaction_", local=False)
    if cursor.take("session", "authorization"):
        return _parse_authorization(cursor, local=local)
    if not local and not _is_assignment(cursor):
        cursor.take("session")
    if cursor.take("session", "authorization"):
        return _parse_authorization(cursor, local=local)
    if not _is_assignment(cursor):
        special = _parse_special(cursor, local=local)
        if special is not None:
            return special
    name = _parse_name(cursor)
    if not cursor.take("to"):
        cursor.need("=")
    value = _parse_value(cursor)
    if name == "role":
        return kinds.SetRole(None if value in (None, "none") else value, local=local)
    return kinds.SetVariable(name, value, local=local)


def _parse_authorization(cursor: StatementCursor, *, local: bool) -> kinds.SetAuthorization:
    user = None if cursor.take("default") else _word_or_string(cursor)
    return kinds.SetAuthorization(user, local=local)


def _is_assignment(cursor: StatementCursor) -> bool:
    """Whether `name =` or `name TO` comes next, so that the first word is a name."""
    after = cursor.words[cursor.place + 1 : cursor.place + 2]
    return bool(after) and after[0].kind in ("word", "symbol") and after[0].text in ("=", "to")


def _parse_special(cursor: StatementCursor, *, local: bool) -> kinds.Statement | None:
    if cursor.take("role"):
        role = None if cursor.take("none") else _word_or_string(cursor)
        return kinds.SetRole(role, local=local)
    if cursor.take("time", "zone"):
        value = None if cursor.take("local") else _parse_zone(cursor)
        return kinds.SetVariable("timezone", value, local=local)
    if cursor.take("transaction"):
        if cursor.at("snapshot"):
            raise StatementFailed("0A000", "SET TRANSACTION SNAPSHOT is not supported")
        return _parse_modes(cursor, "transaction_", local=True)
    if cursor.take("names"):
        return kinds.SetVariable("client_encoding", _parse_value(cursor), local=local)
    if cursor.take("schema"):
        return kinds.SetVariable("search_path", cursor.string(), local=local)
    if cursor.take("constraints"):
        names = None if cursor.take("all") else cursor.listed(cursor.relation)
        mode = cursor.choose("deferred", "immediate")
        return kinds.SetConstraints(names, mode == "deferred")
    return None


def _parse_zone(cursor: StatementCursor) -> str | None:
    """Return a time zone; INTERVAL '+00:00' HOUR TO MINUTE is a distance to UTC, here 0 only."""
    if not cursor.take("interval"):
        return _parse_value(cursor)
    written = cursor.string()
    if cursor.take("hour", "to"):
        cursor.need("minute")
    if not re.fullmatch(r"[+-]?0{1,2}(:00)?(:00)?", written):
        raise StatementFailed(
            "0A000",
            "a time zone that is a distance is UTC here",
            hint="Write its name, such as 'Europe/Berlin'.",
        )
    return "UTC"


def _parse_modes(cursor: StatementCursor, prefix: str, *, local: bool) -> kinds.SetVariable:
    """Return the one setting that transaction modes amount to: read-only or not."""
    found = parse_transaction_modes(cursor)
    if not found:
        raise cursor.unexpected()
    name = "read_only" if "read_only" in found else next(iter(found))
    return kinds.SetVariable(f"{prefix}{name}", found[name], local=local)


def _parse_name(cursor: StatementCursor) -> str:
    parts = [cursor.step().text]
    while cursor.take("."):
        parts.append(cursor.name())
    name = ".".join(parts).lower()
    if not name.replace(".", "_").isidentifier():
        raise StatementFailed("42601", "syntax error: a setting was expected")
    return name


def _word_or_string(cursor: StatementCursor) -> str:
    return cursor.string() if cursor.word.kind == "string" else cursor.name()


def _parse_value(cursor: StatementCursor) -> str | None:
    """Parse one value or several with commas; None is DEFAULT."""
    if cursor.take("default"):
        return None
    return ", ".join(cursor.listed(lambda: _parse_single(cursor)))


def _parse_single(cursor: StatementCursor) -> str:
    if cursor.word.kind == "number" or cursor.at("-"):
        return cursor.number()
    if cursor.word.kind in ("string", "name", "word"):
        return cursor.step().text
    raise cursor.unexpected()


def parse_reset(cursor: StatementCursor) -> kinds.Statement:
    """Read RESET name, RESET ALL or RESET ROLE."""
    if cursor.take("all"):
        return kinds.SetVariable("all", None)
    if cursor.take("role"):
        return kinds.SetRole(None)
    if cursor.take("session", "authorization"):
        return kinds.SetAuthorization(None)
    if cursor.take("time", "zone"):
        return kinds.SetVariable("timezone", None)
    return kinds.SetVariable(_parse_name(cursor), None)


def parse_show(cursor: StatementCursor) -> kinds.Show:
    """Read SHOW name."""
    if cursor.take("time", "zone"):
        return kinds.Show("timezone")
    if cursor.take("transaction", "isolation", "level"):
        return kinds.Show("transaction_isolation")
    if cursor.take("session", "authorization"):
        return kinds.Show("session_authorization")
    return kinds.Show(_parse_name(cursor))


def parse_discard(cursor: StatementCursor) -> kinds.Discard:
    """Read DISCARD."""
    return kinds.Discard(
        f"discard {cursor.choose('all', 'plans', 'sequences', 'temp', 'temporary')}"
    )


def parse_deallocate(cursor: StatementCursor) -> kinds.Discard:
    """Read DEALLOCATE [PREPARE] name or ALL."""
    cursor.take("prepare")
    return kinds.Discard(f"deallocate {'all' if cursor.take('all') else cursor.name()}")


def parse_unlisten(cursor: StatementCursor) -> kinds.Discard:
    """Parse UNLISTEN, which has no effect: LISTEN does not exist here."""
    return kinds.Discard(f"unlisten {'*' if cursor.take('*') else cursor.name()}")
