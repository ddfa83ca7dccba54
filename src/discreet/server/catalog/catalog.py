"""The catalog of a session: recognizes catalog queries and answers them."""

from __future__ import annotations

from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from threading import Lock
from typing import TYPE_CHECKING, Any

from sqlglot import exp

from discreet.engines.databases.database import ResultField
from discreet.engines.duckdb.results import fetch_bounded
from discreet.engines.engine import ArrowTable
from discreet.guard.access.authority import Authority, Subject
from discreet.guard.rewrite.allowed import SESSION
from discreet.server.catalog.calls import is_catalog_function
from discreet.server.catalog.parameters import bind_catalog_query, catalog_parameter_types
from discreet.server.catalog.results import arrange_result, fields_of
from discreet.server.catalog.session import CatalogSession
from discreet.server.catalog.sources import relation_key
from discreet.server.catalog.standard import INFORMATION, SCHEMAS, SYSTEM
from discreet.server.catalog.store import store_for
from discreet.server.catalog.translate import (
    CLASSES,
    WORDS,
    TranslatedQuery,
    translate_catalog_query,
)
from discreet.sql.names import common_table

if TYPE_CHECKING:
    from discreet.server.catalog.store import CatalogStore

_BYTES = 64 << 20  # of a result, far more than any catalog needs


class SystemCatalog:
    """pg_catalog and information_schema for one subject, with only what they may know of.

    Nothing is built before the first query. Sessions of one role share what is built.
    """

    def __init__(
        self,
        authority: Authority,
        subject: Subject,
        *,
        database: str = "discreet",
        version: str,
        settings: Mapping[str, str],
    ) -> None:
        self._authority = authority
        self._subject = subject
        self._database = database
        self._version = version
        self._settings = settings
        self._lock = Lock()
        self._running: list[Any] = []

    def handles(self, query: exp.Query) -> bool:
        """Whether a query is about the catalog alone."""
        return is_about_catalog(query)

    def parameters(self, query: exp.Query, declared: Sequence[str | None] = ()) -> tuple[str, ...]:
        """Return the types of a query's parameters: as declared, else by their context."""
        return catalog_parameter_types(query, declared)

    def bind(
        self, query: exp.Query, types: Sequence[str], values: Sequence[object] | None = None
    ) -> exp.Query:
        """Return a query with literals in place of its parameters: NULLs without values.

        Raises:
            StatementFailed: There are too few values, or one is of an unsupported type.
        """
        return bind_catalog_query(query, types, [None] * len(types) if values is None else values)

    def describe(self, query: exp.Query) -> tuple[ResultField, ...]:
        """Return the columns of a result; nothing is executed.

        Raises:
            StatementFailed: The query names a missing object, or is not supported.
        """
        store, translated = self._translate_query(query)
        with self._tracked_cursor(store) as cursor:
            return fields_of(cursor, translated)

    def run(self, query: exp.Query, *, limit: int | None = None) -> ArrowTable:
        """Return the result of a query without parameters; its columns are those of `describe`.

        Raises:
            StatementFailed: The query names a missing object, is not supported, or has more rows
                than `limit`.
        """
        store, translated = self._translate_query(query)
        with self._tracked_cursor(store) as cursor:
            fields = fields_of(cursor, translated)
            result = cursor.execute(translated.sql)
            table = fetch_bounded(result, limit=limit, most=_BYTES, length=len(translated.sql))
            return arrange_result(table, fields, translated)

    def interrupt(self) -> None:
        """Make the running query fail with 57014; may be called from another thread."""
        with self._lock:
            for cursor in self._running:
                cursor.interrupt()

    def _translate_query(self, query: exp.Query) -> tuple[CatalogStore, TranslatedQuery]:
        store = store_for(self._authority, self._subject.role, self._database)
        session = CatalogSession(
            self._subject,
            self._database,
            self._version,
            self._settings,
            frozenset({*SCHEMAS, *store.snapshot.visible.schemas}),
        )
        translated = translate_catalog_query(query, store.snapshot, session)
        store.prepare(translated.relations, translated.functions)
        return store, translated

    @contextmanager
    def _tracked_cursor(self, store: CatalogStore) -> Generator[Any]:
        cursor = store.cursor()
        with self._lock:
            self._running.append(cursor)
        try:
            with store.failing():
                yield cursor
        finally:
            with self._lock:
                self._running.remove(cursor)
            cursor.close()


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
    return any(_is_catalog_call(node) and not _is_session_row(node) for node in query.walk())


def _is_session_row(node: exp.Expr) -> bool:
    """Whether a call about the session stands in FROM, as a table of one row."""
    if not isinstance(node.parent, exp.Table):
        return False
    is_named = isinstance(node, exp.Anonymous) and node.name.lower() in SESSION
    return is_named or isinstance(
        node, (exp.CurrentSchema, exp.CurrentCatalog, exp.CurrentDatabase)
    )


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
