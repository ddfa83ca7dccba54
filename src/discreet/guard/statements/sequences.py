"""CREATE and ALTER SEQUENCE, and the options of identity columns."""

from __future__ import annotations

from dataclasses import replace

from discreet.errors import StatementFailed
from discreet.guard.statements.cursor import StatementCursor
from discreet.guard.statements.objects import (
    AlterOwner,
    AlterSequence,
    AlterTable,
    CreateSequence,
    RenameRelation,
    SequenceOptions,
)
from discreet.guard.statements.roles import parse_role_name
from discreet.guard.statements.statement import Statement
from discreet.guard.statements.types import parse_type

_TYPES = ("smallint", "integer", "bigint")


def parse_create_sequence(cursor: StatementCursor) -> Statement:
    """CREATE SEQUENCE [IF NOT EXISTS] name [options]."""
    if_not_exists = cursor.take("if", "not", "exists")
    relation = cursor.relation()
    return CreateSequence(relation, parse_sequence_options(cursor), if_not_exists)


def parse_alter_sequence(cursor: StatementCursor) -> Statement:
    """ALTER SEQUENCE [IF EXISTS] name options | OWNER TO role | RENAME TO name."""
    if_exists = cursor.take("if", "exists")
    relation = cursor.relation()
    if cursor.take("owner", "to"):
        return AlterOwner(relation, None, parse_role_name(cursor))
    if cursor.take("rename", "to"):
        return AlterTable(relation, (RenameRelation(cursor.name()),), "sequence", if_exists)
    if cursor.at("set"):
        raise StatementFailed("0A000", "ALTER SEQUENCE … SET is not supported")
    if cursor.word.kind == "end":
        raise cursor.unexpected()
    return AlterSequence(relation, parse_sequence_options(cursor), if_exists)


def parse_sequence_options(cursor: StatementCursor) -> SequenceOptions:
    """Parse options in any order, until another word or the end of a list comes."""
    found = SequenceOptions()
    while cursor.word.kind != "end" and not cursor.at(")"):
        changed = _parse_option(cursor, found)
        if changed is None:
            break
        found = changed
    return found


def _parse_option(cursor: StatementCursor, found: SequenceOptions) -> SequenceOptions | None:
    if cursor.take("as"):
        kind = parse_type(cursor)
        if kind not in _TYPES:
            raise StatementFailed("22023", "sequence type must be smallint, integer, or bigint")
        return replace(found, type=kind)
    if cursor.take("increment"):
        cursor.take("by")
        return replace(found, increment=_parse_whole(cursor))
    for word, name in (("minvalue", "minimum"), ("maxvalue", "maximum")):
        if cursor.take("no", word):
            return replace(found, **{name: ""})
        if cursor.take(word):
            return replace(found, **{name: _parse_whole(cursor)})
    if cursor.take("start"):
        cursor.take("with")
        return replace(found, start=_parse_whole(cursor))
    if cursor.take("restart"):
        is_given = cursor.take("with") or cursor.word.kind == "number" or cursor.at("-")
        return replace(found, restart=_parse_whole(cursor) if is_given else "")
    return _parse_last_option(cursor, found)


def _parse_last_option(cursor: StatementCursor, found: SequenceOptions) -> SequenceOptions | None:
    if cursor.take("cache"):
        if _parse_whole(cursor) < 1:
            raise StatementFailed("22023", "CACHE must be greater than zero")
        return found
    if cursor.take("no", "cycle"):
        return replace(found, cycle=False)
    if cursor.take("cycle"):
        return replace(found, cycle=True)
    if cursor.take("owned", "by"):
        if cursor.take("none"):
            return replace(found, owned_by="")
        return replace(found, owned_by=_parse_column(cursor))
    return None


def _parse_column(cursor: StatementCursor) -> tuple[tuple[str | None, str], str]:
    names = [cursor.name()]
    while cursor.take("."):
        names.append(cursor.name())
    if not 2 <= len(names) <= 3:
        raise StatementFailed(
            "42601",
            "invalid OWNED BY option",
            hint="Specify OWNED BY table.column or OWNED BY NONE.",
        )
    return (names[-3] if len(names) == 3 else None, names[-2]), names[-1]


def _parse_whole(cursor: StatementCursor) -> int:
    cursor.take("+")
    written = cursor.number()
    try:
        return int(written)
    except ValueError:
        raise StatementFailed("42601", f'syntax error at or near "{written}"') from None
