"""Kinds of statements, as metrics, logs and spans name them: few, and none that a user can make up."""

from __future__ import annotations

from discreet.guard.statements import objects, rights
from discreet.guard.statements import statement as kinds

QUESTION = "question"  # under differential privacy
KINDS = ("query", QUESTION, "write", "copy", "definition", "rights", "transaction", "session")

_TRANSACTION = (
    kinds.Begin,
    kinds.Commit,
    kinds.Rollback,
    kinds.Savepoint,
    kinds.ReleaseSavepoint,
    kinds.RollbackTo,
)
_QUERY = (kinds.Query, kinds.Explain, kinds.DeclareCursor, kinds.Fetch, kinds.Execute)


def statement_kind(kind: type[kinds.Statement]) -> str:
    """Return the kind of a class of statements.

    >>> statement_kind(kinds.Truncate), statement_kind(kinds.SetRole), statement_kind(rights.Grant)
    ('write', 'session', 'rights')
    """
    if issubclass(kind, _QUERY):
        return "query"
    if issubclass(kind, (kinds.Write, kinds.Truncate)):
        return "write"
    if issubclass(kind, (kinds.CopyOut, kinds.CopyIn)):
        return "copy"
    if issubclass(kind, _TRANSACTION):
        return "transaction"
    by_module = {objects.__name__: "definition", rights.__name__: "rights"}
    return by_module.get(kind.__module__, "session")
