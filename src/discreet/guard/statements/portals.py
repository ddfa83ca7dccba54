"""Statements that hold other statements: cursors, PREPARE, EXPLAIN and COPY."""

from __future__ import annotations

from collections.abc import Callable

from sqlglot import exp

from discreet.errors import StatementFailed
from discreet.guard.access.authority import Privilege
from discreet.guard.statements import statement as kinds
from discreet.guard.statements.cursor import StatementCursor
from discreet.guard.statements.trees import parse_expression, parse_query

_BACKWARD = ("prior", "backward", "absolute", "relative", "first", "last")


def _remaining_text(cursor: StatementCursor) -> str:
    """Skip to the end and return the skipped text."""
    return cursor.text_until(lambda: False)


def parse_declare(cursor: StatementCursor) -> kinds.DeclareCursor:
    """Read DECLARE name CURSOR FOR query."""
    name = cursor.name()
    while not cursor.take("cursor"):
        if cursor.at("binary") or cursor.at("scroll"):
            raise StatementFailed("0A000", f"{cursor.word.text.upper()} cursors are not supported")
        if not cursor.take("no", "scroll"):
            cursor.choose("asensitive", "insensitive")
    hold = cursor.take("with", "hold")
    if not hold:
        cursor.take("without", "hold")
    cursor.need("for")
    return kinds.DeclareCursor(name, parse_query(_remaining_text(cursor)), hold)


def parse_fetch(cursor: StatementCursor, *, move: bool) -> kinds.Fetch:
    """Read FETCH or MOVE; forward only."""
    if cursor.at_any(*_BACKWARD) and not _is_last(cursor):
        raise StatementFailed("0A000", "cursors only go forward", hint="FETCH FORWARD n FROM name")
    count: int | None = 1
    if not _is_last(cursor):
        cursor.take("forward")
        count = 1 if cursor.take("next") else _count(cursor, 1)
        if not cursor.take("from"):
            cursor.take("in")
    return kinds.Fetch(cursor.name(), count, move)


def _is_last(cursor: StatementCursor) -> bool:
    """Whether one word is left, so that it is a name."""
    return cursor.place == len(cursor.words) - 1


def _count(cursor: StatementCursor, default: int) -> int | None:
    if cursor.take("all"):
        return None
    if cursor.word.kind != "number" and not cursor.at("-"):
        return default
    written = cursor.number()
    if not written.isdecimal() or len(written) > 9:
        raise StatementFailed("0A000", "cursors only go forward", hint="FETCH FORWARD n FROM name")
    return int(written)


def parse_close(cursor: StatementCursor) -> kinds.CloseCursor:
    """Read CLOSE name or ALL."""
    return kinds.CloseCursor(None if cursor.take("all") else cursor.name())


def parse_prepare(cursor: StatementCursor, read: Callable[[str], kinds.Statement]) -> kinds.Prepare:
    """Read PREPARE name (types) AS statement."""
    if cursor.at("transaction") and not cursor.at("transaction", "as"):
        raise StatementFailed("0A000", "two-phase commit is not supported")
    name = cursor.name()
    types: tuple[str, ...] = ()
    if cursor.at("("):
        types = tuple(part.strip().lower() for part in _split_types(cursor.enclosed()))
    cursor.need("as")
    statement = read(_remaining_text(cursor))
    if not isinstance(statement, (kinds.Query, kinds.Write, kinds.Execute)):
        raise StatementFailed("0A000", "only queries and writes can be prepared")
    return kinds.Prepare(name, statement, types)


def _split_types(text: str) -> list[str]:
    """Return types between commas that are not in brackets."""
    parts, depth = [""], 0
    for letter in text:
        depth += (letter == "(") - (letter == ")")
        if letter == "," and depth == 0:
            parts.append("")
        else:
            parts[-1] += letter
    return parts


def parse_execute(cursor: StatementCursor) -> kinds.Execute:
    """Read EXECUTE name (literals)."""
    name = cursor.name()
    if not cursor.at("("):
        return kinds.Execute(name)
    inside = parse_expression(f"({cursor.enclosed()}\n)")
    inside = inside.this if isinstance(inside, exp.Paren) else inside
    arguments = tuple(inside.expressions) if isinstance(inside, exp.Tuple) else (inside,)
    return kinds.Execute(name, arguments)


def parse_explain(cursor: StatementCursor, read: Callable[[str], kinds.Statement]) -> kinds.Explain:
    """Parse EXPLAIN [PRIVACY] statement; nothing is executed for it."""
    privacy = cursor.take("privacy")
    if cursor.at("("):
        options = cursor.enclosed().lower()
        if "analyze" in options or "analyse" in options:
            raise _no_analyze()
    elif cursor.at("analyze") or cursor.at("analyse"):
        raise _no_analyze()
    cursor.take("verbose")
    statement = read(_remaining_text(cursor))
    if not isinstance(statement, (kinds.Query, kinds.Write)):
        raise StatementFailed("0A000", "only queries and writes can be explained")
    return kinds.Explain(statement, privacy)


def _no_analyze() -> StatementFailed:
    return StatementFailed(
        "0A000", "EXPLAIN ANALYZE is not supported: it would reveal how many rows there are"
    )


_LOCK_MODES: dict[tuple[str, ...], tuple[Privilege, ...]] = {
    ("access", "share"): (Privilege.SELECT, Privilege.INSERT),
    ("row", "share"): (Privilege.INSERT,),
    ("row", "exclusive"): (Privilege.INSERT,),
    ("share", "update", "exclusive"): (),
    ("share", "row", "exclusive"): (),
    ("share",): (),
    ("exclusive",): (),
    ("access", "exclusive"): (),
}


def parse_lock(cursor: StatementCursor) -> kinds.Lock:
    """Read LOCK [TABLE] names [IN mode MODE] [NOWAIT]."""
    cursor.take("table")
    relations = cursor.listed(lambda: _parse_table_name(cursor))
    more: tuple[Privilege, ...] = ()
    if cursor.take("in"):
        for words, privileges in _LOCK_MODES.items():
            if cursor.take(*words):
                more = privileges
                break
        else:
            raise cursor.unexpected()
        cursor.need("mode")
    cursor.take("nowait")
    least = (Privilege.UPDATE, Privilege.DELETE, Privilege.TRUNCATE)
    return kinds.Lock(relations, (*least, *more))


def parse_truncate(cursor: StatementCursor) -> kinds.Truncate:
    """Read TRUNCATE [TABLE] names."""
    cursor.take("table")
    relations = cursor.listed(lambda: _parse_table_name(cursor))
    if cursor.take("restart"):
        raise StatementFailed("0A000", "RESTART IDENTITY is not supported")
    if cursor.take("continue"):
        cursor.need("identity")
    if cursor.at("cascade"):
        raise StatementFailed("0A000", "TRUNCATE … CASCADE is not supported: name every table")
    cursor.take("restrict")
    return kinds.Truncate(relations)


def _parse_table_name(cursor: StatementCursor) -> kinds.Written:
    cursor.take("only")
    written = cursor.relation()
    cursor.take("*")
    return written
