"""An independent second parse: DuckDB's parser must find exactly the permitted tables."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, cast

from sqlglot import exp

from discreet.engines.databases.database import EngineTraits
from discreet.errors import StatementFailed
from discreet.sql.limits import check_subquery_nesting

if TYPE_CHECKING:
    from discreet.guard.rewrite.permitted import PermittedWrite

# Functions of DuckDB and PostgreSQL that read anything but their arguments.
_REACHING = (
    *("read_", "pg_", "lo_", "dblink", "query", "duckdb_", "pragma_", "getenv", "getvariable"),
    *(
        "current_setting",
        "set_config",
        "nextval",
        "currval",
        "setval",
        "sniff_",
        "glob",
        "parquet_",
    ),
    *("sqlite_", "postgres_", "json_execute", "load_", "install", "checkpoint", "error", "sleep_"),
    *("write_", "to_query", "in_search_path", "txid", "version", "which_secret", "summary"),
)
_ALLOWED = frozenset({"pg_input_is_valid"})
_local = threading.local()


def confirm_query(
    query: exp.Expr | str, expected: frozenset[tuple[str, ...]], *, dialect: str = "duckdb"
) -> None:
    """Check with an independent parser which tables a query names before it runs.

    A tree is written as the engine will get it, except where this parser does not know its
    quotes, as those of Spark: then it is written for DuckDB. It must be one query that names exactly the `expected` physical
    tables, no function in FROM and no function that reads anything but its arguments. The text is
    parsed, never bound or executed.

    Raises:
        StatementFailed: XX000, the check failed; nothing may run.

    >>> confirm_query('SELECT 1 FROM "s"."t"', frozenset({("s", "t")}))
    >>> confirm_query('SELECT 1 FROM "s"."u"', frozenset({("s", "t")}))
    Traceback (most recent call last):
    discreet.errors.StatementFailed: internal error: the statement was not confirmed
    """
    tree = _parse_by_duckdb(query if isinstance(query, str) else _render_query(query, dialect))
    if tree is None or len(tree["statements"]) != 1:
        raise _unconfirmed_failure()
    tables: set[tuple[str, ...]] = set()
    commons = set(_common_names(tree))
    for node in _walk_nodes(tree):
        if node.get("type") == "BASE_TABLE":
            names = [node.get(key) for key in ("catalog_name", "schema_name", "table_name")]
            found = tuple(str(name) for name in names if name)
            if len(found) != 1 or not commons.intersection(found):
                tables.add(found)
        elif _is_foreign(node):
            raise _unconfirmed_failure()
    if frozenset(tables) != expected:
        raise _unconfirmed_failure()


def confirm_write(permitted: PermittedWrite, *, traits: EngineTraits) -> None:
    """Check the parts of a write: a query that holds them all must name exactly the expected tables.

    Raises:
        StatementFailed: XX000, the check failed; nothing may run.
    """
    from sqlglot import exp

    from discreet.guard.rewrite.bind import bind_write
    from discreet.guard.rewrite.permitted import joined_rows
    from discreet.sql import build

    write = bind_write(permitted, [None] * len(permitted.parameters), traits=traits)
    conflict = write.on_conflict
    values = [*write.assignments.values(), *(write.returning or ())]
    conditions = [write.condition, write.with_check, write.view_check]
    if conflict is not None:
        values += (conflict.assignments or {}).values()
        conditions.append(conflict.condition)
    for tree in (*values, *conditions, write.rows, write.sources):
        if tree is not None:
            check_subquery_nesting(tree)
    probe = joined_rows([*values, build.number(1)], write.target, write.sources)
    for condition in conditions:
        if condition is not None:
            probe = probe.where(exp.Paren(this=condition), copy=False)
    if write.rows is not None:
        probe = probe.where(exp.Exists(this=write.rows), copy=False)
    expected = permitted.physical | {permitted.relation.physical}
    confirm_query(probe, expected, dialect=traits.dialect)


def _render_query(query: exp.Expr, dialect: str) -> str:
    shown = dialect if dialect in ("duckdb", "postgres") else "duckdb"
    return query.sql(dialect=shown, identify=True, comments=False)


def _unconfirmed_failure() -> StatementFailed:
    return StatementFailed("XX000", "internal error: the statement was not confirmed")


def _parse_by_duckdb(sql: str) -> dict[str, Any] | None:
    """Return DuckDB's tree of a query, None when it is not one."""
    import duckdb

    if not hasattr(_local, "connection"):
        _local.connection = duckdb.connect(
            ":memory:",
            config={"enable_external_access": "false", "autoload_known_extensions": "false"},
        )
    try:
        row = _local.connection.execute("SELECT json_serialize_sql(?)", [sql]).fetchone()
        tree = cast("dict[str, Any]", json.loads(row[0])) if row else None
    except duckdb.Error:
        return None
    return None if tree is None or tree.get("error") else tree


def _walk_nodes(tree: object) -> Iterable[dict[str, Any]]:
    stack = [tree]
    while stack:
        node = stack.pop()
        if isinstance(node, dict):
            found = cast("dict[str, Any]", node)
            yield found
            stack.extend(found.values())
        elif isinstance(node, list):
            stack.extend(cast("list[object]", node))


def _common_names(tree: object) -> Iterable[str]:
    for node in _walk_nodes(tree):
        commons = node.get("cte_map")
        if commons:
            yield from (str(item["key"]) for item in commons.get("map", []))


def _is_foreign(node: dict[str, Any]) -> bool:
    """Whether a node reads from anything but a table, or calls a function that does."""
    if node.get("type") in ("TABLE_FUNCTION", "SHOW_REF", "PIVOT", "BOUND_TABLE_REF"):
        return True
    if node.get("class") in ("PARAMETER", "LAMBDA"):
        return True
    name = node.get("function_name")
    if not isinstance(name, str):
        return False
    if node.get("schema") not in ("", "main", "pg_catalog") or node.get("catalog"):
        return True
    name = name.lower()
    return name not in _ALLOWED and name.startswith(_REACHING)
