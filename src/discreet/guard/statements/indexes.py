"""CREATE, DROP and ALTER INDEX."""

from __future__ import annotations

from discreet.errors import StatementFailed
from discreet.guard.access.authority import TableIndex
from discreet.guard.statements.cursor import StatementCursor
from discreet.guard.statements.fragments import expression
from discreet.guard.statements.objects import CreateIndex, DropIndex, RenameIndex
from discreet.guard.statements.statement import Statement

_METHODS = ("btree", "hash", "gist", "gin", "brin", "spgist")
_AFTER_A_KEY = ("asc", "desc", "nulls", "collate")


def parse_create_index(cursor: StatementCursor, *, unique: bool) -> Statement:
    """CREATE [UNIQUE] INDEX [CONCURRENTLY] [[IF NOT EXISTS] name] ON table [USING method] (keys) …."""
    cursor.take("concurrently")
    if_not_exists = cursor.take("if", "not", "exists")
    name = "" if cursor.at("on") else cursor.name()
    if if_not_exists and not name:
        raise cursor.unexpected()
    cursor.need("on")
    cursor.take("only")
    relation = cursor.relation()
    method = cursor.name() if cursor.take("using") else "btree"
    if method not in _METHODS:
        raise StatementFailed("42704", f'access method "{method}" does not exist')
    keys = cursor.in_parentheses(lambda: _parse_key(cursor))
    included = cursor.in_parentheses(cursor.name) if cursor.take("include") else ()
    if cursor.at("nulls") and not cursor.take("nulls", "distinct"):
        raise StatementFailed("0A000", "NULLS NOT DISTINCT is not supported: leave it out")
    if cursor.take("with"):
        cursor.enclosed()
    if cursor.take("tablespace"):
        cursor.name()
    condition = None
    if cursor.take("where"):
        condition = expression(cursor.text_until(lambda: False))
    index = TableIndex(name, keys, unique, method, condition, included)
    return CreateIndex(relation, index, if_not_exists)


def _parse_key(cursor: StatementCursor) -> str:
    """Return a column or an expression; order, collation and operator class change no result."""
    start = cursor.word.start
    if cursor.at("("):
        key = expression(cursor.enclosed())
    else:
        key = cursor.name()
        if cursor.at("("):
            cursor.place = cursor.closing() + 1
            key = expression(cursor.text[start : cursor.words[cursor.place - 1].end])
    if cursor.take("collate"):
        cursor.relation()
    if not cursor.at_any(",", ")", *_AFTER_A_KEY):
        cursor.relation()  # the operator class
    if not cursor.take("asc"):
        cursor.take("desc")
    if cursor.take("nulls"):
        cursor.choose("first", "last")
    return key


def parse_drop_index(cursor: StatementCursor) -> Statement:
    """DROP INDEX [CONCURRENTLY] [IF EXISTS] names [CASCADE]."""
    cursor.take("concurrently")
    if_exists = cursor.take("if", "exists")
    names = cursor.listed(cursor.relation)
    if not cursor.take("cascade"):
        cursor.take("restrict")
    return DropIndex(names, if_exists)


def parse_alter_index(cursor: StatementCursor) -> Statement:
    """ALTER INDEX [IF EXISTS] name RENAME TO name."""
    if_exists = cursor.take("if", "exists")
    name = cursor.relation()
    if not cursor.at("rename"):
        raise StatementFailed("0A000", "only ALTER INDEX … RENAME TO is supported")
    cursor.need("rename", "to")
    return RenameIndex(name, cursor.name(), if_exists)
