"""Text in, statements out: dispatched by their first words; nothing that is not known gets through."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from discreet.errors import StatementFailed
from discreet.guard.statements import copying, portals, transactions, variables
from discreet.guard.statements import statement as kinds
from discreet.guard.statements.cursor import Cursor, words_of
from discreet.guard.statements.split import split
from discreet.guard.statements.trees import read_query, read_write

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from discreet.guard.statements.statement import Statement

# What clients or people may try, and what to do instead.
_ELSEWHERE = {
    "merge": "Use INSERT … ON CONFLICT, or UPDATE and INSERT.",
    "listen": "There are no notifications.",
    "notify": "There are no notifications.",
    "lock": "Transactions are serializable: none is needed.",
    "vacuum": "The engine looks after itself.",
    "analyze": "The engine looks after itself.",
    "analyse": "The engine looks after itself.",
    "cluster": "The engine looks after itself.",
    "reindex": "The engine looks after itself.",
    "checkpoint": "The engine looks after itself.",
    "load": "There are no libraries to load.",
    "call": "There are no procedures.",
    "do": "There are no blocks of code.",
    "comment": "Write it down elsewhere.",
    "import": "Register the source with the server.",
    "attach": "One place is served.",
    "detach": "One place is served.",
    "install": "There are no extensions.",
    "pragma": "Settings are changed by SET.",
    "use": "Write schema.table.",
    "export": "Use COPY … TO STDOUT.",
    "describe": "Use the catalog: \\d in psql.",
    "refresh": "There are no materialized views.",
}


def parse(text: str, *, lenient: bool = False) -> tuple[Statement, ...]:
    """Return the statements of a text, in their order; an empty text has none.

    Args:
        text: What a client sent.
        lenient: Read definitions in the seed's forms, too.

    Raises:
        StatementFailed: 42601 for what cannot be read, 0A000 for what is not supported, 54000 and
            54001 for what is too large.

    >>> [type(found).__name__ for found in parse("BEGIN; SELECT 1; COMMIT")]
    ['Begin', 'Query', 'Commit']
    """
    return tuple(_statement(one, lenient=lenient) for one in split(text))


def _statement(text: str, *, lenient: bool) -> Statement:
    cursor = Cursor(text, words_of(text))
    word = cursor.word
    if word.kind == "word":
        found = _worded(text, cursor, word.text, lenient=lenient)
        if found is not None:
            return found
    if cursor.at("("):
        return kinds.Query(read_query(text), text=text)
    raise cursor.unexpected()


def _worded(text: str, cursor: Cursor, word: str, *, lenient: bool) -> Statement | None:
    if word in ("select", "values", "table"):
        return kinds.Query(read_query(text), text=text)
    if word in ("insert", "update", "delete"):
        return kinds.Write(read_write(text), text=text)
    if word == "with":
        return _with(text)
    if word in _READERS:
        cursor.step()
        found = _READERS[word](cursor)
        cursor.end()
        return replace(found, text=text)
    if word in ("prepare", "explain"):
        cursor.step()
        holder = portals.prepare if word == "prepare" else portals.explain
        found = holder(cursor, lambda inner: _statement(inner, lenient=lenient))
        return replace(found, text=text)
    if word in _ELSEWHERE:
        raise StatementFailed("0A000", f"{word.upper()} is not supported", hint=_ELSEWHERE[word])
    from discreet.guard.statements.definitions import parse_definition

    return parse_definition(text, lenient=lenient)


def _with(text: str) -> Statement:
    """Return what follows WITH: a query, or a write."""
    from sqlglot import exp

    from discreet.guard.statements.trees import read_tree

    tree = read_tree(text)
    if isinstance(tree, (exp.Insert, exp.Update, exp.Delete)):
        return kinds.Write(tree, text=text)
    return kinds.Query(read_query(text), text=text)


_READERS: Mapping[str, Callable[[Cursor], Statement]] = {
    "begin": transactions.begin,
    "start": transactions.start,
    "commit": transactions.commit,
    "end": transactions.commit,
    "rollback": transactions.rollback,
    "abort": transactions.rollback,
    "savepoint": transactions.savepoint,
    "release": transactions.release,
    "set": variables.set_variable,
    "reset": variables.reset,
    "show": variables.show,
    "discard": variables.discard,
    "deallocate": variables.deallocate,
    "unlisten": variables.unlisten,
    "declare": portals.declare,
    "fetch": lambda cursor: portals.fetch(cursor, move=False),
    "move": lambda cursor: portals.fetch(cursor, move=True),
    "close": portals.close,
    "execute": portals.execute,
    "truncate": portals.truncate,
    "copy": copying.copy,
}
