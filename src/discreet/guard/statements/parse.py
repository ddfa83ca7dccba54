"""Parsing of statements by their first words; unknown statements are refused."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import replace

from sqlglot import exp

from discreet.errors import StatementFailed
from discreet.guard.statements import copying, portals, transactions, variables
from discreet.guard.statements import statement as kinds
from discreet.guard.statements.cursor import StatementCursor, words_of
from discreet.guard.statements.plain_rows import PlainRows, plain_rows
from discreet.guard.statements.split import split_statements
from discreet.guard.statements.statement import Statement
from discreet.guard.statements.trees import parse_query, parse_tree, parse_write, require_query_tree
from discreet.sql.limits import DEFAULT, StatementBounds, check_length
from discreet.sql.names import fold_name

# Unsupported statements and their alternatives.
_ELSEWHERE = {
    "merge": "Use INSERT … ON CONFLICT, or UPDATE and INSERT.",
    "listen": "There are no notifications.",
    "notify": "There are no notifications.",
    "vacuum": "The engine maintains itself.",
    "analyze": "The engine maintains itself.",
    "analyse": "The engine maintains itself.",
    "cluster": "The engine maintains itself.",
    "reindex": "The engine maintains itself.",
    "checkpoint": "The engine maintains itself.",
    "load": "There are no libraries to load.",
    "call": "There are no procedures.",
    "do": "There are no blocks of code.",
    "import": "Register the source with the server.",
    "attach": "One database is served.",
    "detach": "One database is served.",
    "install": "There are no extensions.",
    "pragma": "Settings are changed by SET.",
    "use": "Write schema.table.",
    "export": "Use COPY … TO STDOUT.",
    "describe": "Use the catalog: \\d in psql.",
    "refresh": "There are no materialized views.",
}


def parse_statements(
    text: str, *, lenient: bool = False, bounds: StatementBounds = DEFAULT
) -> tuple[Statement, ...]:
    """Return the statements of a text, in their order; an empty text has none.

    Args:
        text: The client's text.
        lenient: Parse definitions in the seed's forms, too.
        bounds: Limits; a larger text is refused before it is parsed.

    Raises:
        StatementFailed: 42601 for a syntax error, 0A000 for an unsupported statement, 54000 and
            54001 for one that is too large.

    >>> [type(found).__name__ for found in parse_statements("BEGIN; SELECT 1; COMMIT")]
    ['Begin', 'Query', 'Commit']
    """
    check_length(text, bounds)
    rows = plain_rows(text, bounds)
    found = _insert(text, rows, bounds) if rows is not None else None
    if found is not None:
        return (found,)
    return tuple(_parse_statement(one, lenient=lenient) for one in split_statements(text, bounds))


def _insert(text: str, rows: PlainRows, bounds: StatementBounds) -> Statement | None:
    """Return an INSERT whose many plain rows are not parsed, except the first; None if others are."""
    statements = split_statements(rows.first, bounds)
    tree = parse_write(statements[0]) if len(statements) == 1 else None
    values = tree.args.get("expression") if tree is not None else None
    if tree is None or type(values) is not exp.Values or len(values.expressions) != 1:
        return None
    values.set("expressions", rows.trees())
    return kinds.Write(tree, text=text)


def _parse_statement(text: str, *, lenient: bool, is_inner: bool = False) -> Statement:
    opening = _OPENING.match(text)
    word = fold_name(opening[0]) if opening else ""
    if word in _TREES:  # no need to check its words one by one
        return _TREES[word](text)
    cursor = StatementCursor(text, words_of(text))
    word = cursor.word
    if is_inner and cursor.at_any("prepare", "explain"):
        raise cursor.unexpected()
    if word.kind == "word":
        found = _parse_by_keyword(text, cursor, word.text, lenient=lenient)
        if found is not None:
            return found
    if cursor.at("("):
        return kinds.Query(parse_query(text), text=text)
    raise cursor.unexpected()


def _parse_by_keyword(
    text: str, cursor: StatementCursor, word: str, *, lenient: bool
) -> Statement | None:
    if word in _READERS:
        cursor.step()
        found = _READERS[word](cursor)
        cursor.end()
        return replace(found, text=text)
    if word in ("prepare", "explain"):
        cursor.step()
        holder = portals.parse_prepare if word == "prepare" else portals.parse_explain
        found = holder(
            cursor, lambda inner: _parse_statement(inner, lenient=lenient, is_inner=True)
        )
        return replace(found, text=text)
    if word in _ELSEWHERE:
        raise StatementFailed("0A000", f"{word.upper()} is not supported", hint=_ELSEWHERE[word])
    from discreet.guard.statements.definitions import parse_definition

    return parse_definition(text, lenient=lenient)


def _parse_with(text: str) -> Statement:
    """Return the statement that follows WITH: a query, or a write."""
    tree = parse_tree(text)
    if isinstance(tree, (exp.Insert, exp.Update, exp.Delete)):
        return kinds.Write(tree, text=text)
    return kinds.Query(require_query_tree(tree), text=text)


def _query(text: str) -> Statement:
    return kinds.Query(parse_query(text), text=text)


def _write(text: str) -> Statement:
    if "overriding" not in text.lower():
        return kinds.Write(parse_write(text), text=text)
    words = words_of(text)
    for index, word in enumerate(words):
        named = [one.text for one in words[index : index + 3] if one.kind == "word"]
        if named[:1] + named[2:] == ["overriding", "value"] and named[1] in ("system", "user"):
            rest = text[: word.start] + " " + text[words[index + 2].end :]
            how = "system" if named[1] == "system" else "user"
            return kinds.Write(parse_write(rest), overriding=how, text=text)
    return kinds.Write(parse_write(text), text=text)


_OPENING = re.compile(r"[^\W\d]\w*")
_TREES: Mapping[str, Callable[[str], Statement]] = {
    **dict.fromkeys(("select", "values", "table"), _query),
    **dict.fromkeys(("insert", "update", "delete"), _write),
    "with": _parse_with,
}
_READERS: Mapping[str, Callable[[StatementCursor], Statement]] = {
    "begin": transactions.parse_begin,
    "start": transactions.parse_start,
    "commit": transactions.parse_commit,
    "end": transactions.parse_commit,
    "rollback": transactions.parse_rollback,
    "abort": transactions.parse_rollback,
    "savepoint": transactions.parse_savepoint,
    "release": transactions.parse_release,
    "set": variables.parse_set,
    "reset": variables.parse_reset,
    "show": variables.parse_show,
    "discard": variables.parse_discard,
    "deallocate": variables.parse_deallocate,
    "unlisten": variables.parse_unlisten,
    "declare": portals.parse_declare,
    "fetch": lambda cursor: portals.parse_fetch(cursor, move=False),
    "move": lambda cursor: portals.parse_fetch(cursor, move=True),
    "close": portals.parse_close,
    "execute": portals.parse_execute,
    "truncate": portals.parse_truncate,
    "lock": portals.parse_lock,
    "copy": copying.parse_copy,
}
