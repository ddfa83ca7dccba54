"""Recognizes catalog queries: those that name nothing else."""

from __future__ import annotations

from sqlglot import exp

from discreet.serve.catalog.calls import is_catalog_function
from discreet.serve.catalog.sources import relation_key
from discreet.serve.catalog.standard import INFORMATION, SYSTEM
from discreet.serve.catalog.translate import CLASSES, WORDS
from discreet.sql.names import common_table


def is_about_catalog(query: exp.Query) -> bool:
    """Whether a query names relations of the catalog only, or none and a function of the catalog.

    >>> import sqlglot
    >>> texts = ("SELECT version()", "SELECT relname FROM pg_class", "SELECT 1", "SELECT * FROM t, pg_class")
    >>> [is_about_catalog(sqlglot.parse_one(text, dialect="postgres")) for text in texts]
    [True, True, False, False]
    """
    named = [
        table
        for table in query.find_all(exp.Table)
        if isinstance(table.this, exp.Identifier) and common_table(table) is None
    ]
    if named:
        return all(relation_key(table) is not None for table in named)
    return any(_is_catalog_call(node) for node in query.walk())


def _is_catalog_call(node: exp.Expr) -> bool:
    match node:
        case exp.Anonymous():
            return is_catalog_function(node.name.lower())
        case exp.Dot():
            return isinstance(node.this, exp.Identifier) and node.this.name.lower() in (
                SYSTEM,
                INFORMATION,
            )
        case exp.Column():
            return not node.table and node.name.lower() in WORDS
        case exp.ObjectIdentifier():
            return str(node.this).upper().startswith("REG")
        case _:
            return type(node) in CLASSES
