"""A closed, private DuckDB with one role's catalog; relations and functions are added on demand.

Stores are shared by the sessions of a role, and only the last few are kept.
"""

from __future__ import annotations

import inspect
from collections import OrderedDict
from collections.abc import Callable, Generator, Iterable
from contextlib import contextmanager
from threading import Lock, local
from typing import TYPE_CHECKING, Any

from sqlglot import exp

from discreet.errors import StatementFailed
from discreet.guard.access.authority import Authority
from discreet.server.catalog.functions import FUNCTIONS
from discreet.server.catalog.rows.produce import catalog_columns, catalog_rows
from discreet.server.catalog.snapshot import CatalogSnapshot
from discreet.server.catalog.standard import INFORMATION, NUMBERED, SYSTEM
from discreet.server.catalog.visibility import RoleVisibility
from discreet.sql.types import BY_OID, TYPES, arrow_type

if TYPE_CHECKING:
    import duckdb

    from discreet.server.catalog.functions import CatalogFunction

# DuckDB has schemas of PostgreSQL's names itself, and they cannot be written.
PLACES = {SYSTEM: "pgc", INFORMATION: "isc"}
STORES_CACHED = 32
_PLACE_OF_SEARCH = "VARCHAR"
_CLOSED: dict[str, str | bool | int | float | list[str]] = {
    "enable_external_access": "false",
    "autoload_known_extensions": "false",
    "autoinstall_known_extensions": "false",
    "allow_community_extensions": "false",
    "python_enable_replacements": "false",
    "memory_limit": "512MB",
    "temp_directory": "",
    "threads": "1",
}

_MACROS = (
    "CREATE MACRO pgm_array_text(a) AS '{' || array_to_string(a, ',') || '}'",
    "CREATE MACRO pgm_array_remove(a, v) AS list_filter(a, lambda e: e IS DISTINCT FROM v)",
    """CREATE MACRO pgm_expandarray(a) AS list_transform(
        generate_series(1, len(a)), lambda i: {'x': a[i], 'n': CAST(i AS INTEGER)})""",
)


class CatalogStore:
    """The catalog of one role at one version of the authority."""

    def __init__(self, authority: Authority, role: str, database: str) -> None:
        import duckdb

        self.snapshot = CatalogSnapshot(RoleVisibility(authority, role), database)
        self._lock = Lock()
        self._relations: set[tuple[str, str]] = set()
        self._functions: set[tuple[str, int]] = set()
        self._failed = local()
        self._connection = duckdb.connect(":memory:", config=_CLOSED)
        for place in PLACES.values():
            self._connection.execute(f"CREATE SCHEMA {place}")
        for macro in _MACROS:
            self._connection.execute(macro)
        self._connection.execute("SET lock_configuration = true")

    def prepare(
        self, relations: Iterable[tuple[str, str]], functions: Iterable[tuple[str, int]]
    ) -> None:
        """Add the relations and functions that a query needs and that are missing."""
        with self._lock:
            for key in set(relations) - self._relations:
                self._fill_relation(key)
                self._relations.add(key)
            for name, count in set(functions) - self._functions:
                self._define_function(name, count, FUNCTIONS[name, count])
                self._functions.add((name, count))

    def cursor(self) -> duckdb.DuckDBPyConnection:
        """Return a connection for one query."""
        with self._lock:
            return self._connection.cursor()

    @contextmanager
    def failing(self) -> Generator[None]:
        """Report failures of our own functions unchanged, others by their class alone."""
        import duckdb

        self._failed.error = None
        try:
            yield
        except duckdb.Error as error:
            mine = self._failed.error
            raise mine if mine is not None else _translate_duckdb_error(error) from None
        finally:
            self._failed.error = None

    def _fill_relation(self, key: tuple[str, str]) -> None:
        import pyarrow as pa

        schema, name = key
        columns = catalog_columns(key) or ()
        rows = catalog_rows(self.snapshot, key)
        table = pa.table(
            {
                column.name: pa.array(
                    [row[column.name] for row in rows], catalog_arrow_type(column.type)
                )
                for column in columns
            }
        )
        place = exp.Table(
            this=exp.to_identifier(name, quoted=True), db=exp.to_identifier(PLACES[schema])
        )
        made = exp.Create(this=place, kind="TABLE", expression=exp.select("*").from_("incoming"))
        self._connection.register("incoming", table)
        self._connection.execute(made.sql(dialect="duckdb"))
        self._connection.unregister("incoming")

    def _define_function(self, name: str, count: int, function: CatalogFunction) -> None:
        call = function.make(self.snapshot)
        extra = (_PLACE_OF_SEARCH,) if function.path else ()

        def guarded(*given: Any) -> Any:
            if not function.nulls and any(each is None for each in given):
                return None
            try:
                return call(*given)
            except StatementFailed as failure:
                self._failed.error = failure
                raise

        create: Any = self._connection.create_function
        create(
            stored_name(name, count),
            _with_arguments(guarded, count + len(extra)),
            [*function.parameters, *extra],
            function.returns,
            null_handling="special",
        )


def _with_arguments(call: Callable[..., Any], count: int) -> Callable[..., Any]:
    """Return a function with an explicit signature, which DuckDB inspects."""
    kind = inspect.Parameter.POSITIONAL_ONLY
    named = [inspect.Parameter(f"a{place}", kind) for place in range(count)]
    vars(call)["__signature__"] = inspect.Signature(named)
    return call


def stored_name(name: str, count: int) -> str:
    """Return the internal name of a function, different from all of DuckDB's."""
    return f"pgf_{name}_{count}"


def catalog_arrow_type(name: str) -> Any:
    """Return the stored type of a column of the catalog."""
    import pyarrow as pa

    known = TYPES.get(name)
    if known is not None and known.category == "A":
        return pa.list_(catalog_arrow_type(BY_OID[known.element].name))
    if name == "numeric":
        return pa.decimal128(38, 6)
    return arrow_type(name) if name in _STORED else pa.string()


# All other values are stored as text.
_STORED = NUMBERED | {"bool", "int2", "int4", "int8", "float4", "float8", "timestamptz"}


def _translate_duckdb_error(error: duckdb.Error) -> StatementFailed:
    """Return the error for a failure of DuckDB without its message, which names internals."""
    import duckdb

    for kind, sqlstate, text in (
        (duckdb.InterruptException, "57014", "canceling statement due to user request"),
        (duckdb.OutOfMemoryException, "53200", "out of memory"),
        (duckdb.ConversionException, "22P02", "invalid input syntax"),
        (duckdb.OutOfRangeException, "22003", "value out of range"),
        (duckdb.NotImplementedException, "0A000", UNSUPPORTED),
        (duckdb.BinderException, "42703", "a column or operator of the query does not exist"),
        (duckdb.CatalogException, "42883", "a function of the query does not exist"),
    ):
        if isinstance(error, kind):
            return StatementFailed(sqlstate, text)
    return StatementFailed("0A000", UNSUPPORTED)


UNSUPPORTED = "this query on the system catalog is not supported"

_stores: OrderedDict[tuple[int, str, str, int], CatalogStore] = OrderedDict()
_stores_lock = Lock()


def store_for(authority: Authority, role: str, database: str) -> CatalogStore:
    """Return the store of a role, which sessions share.

    A version number alone does not identify an authority: an uncommitted change has a number, too,
    which another change may get.
    """
    with _stores_lock:
        for key, store in _stores.items():
            same = key[:3] == (authority.version, role, database)
            held = store.snapshot.visible.authority
            if same and (held is authority or held == authority):
                _stores.move_to_end(key)
                return store
        store = CatalogStore(authority, role, database)
        # The store holds the authority, so its id is not reused as long as the key lives.
        _stores[authority.version, role, database, id(authority)] = store
        while len(_stores) > STORES_CACHED:
            _stores.popitem(last=False)
        return store
