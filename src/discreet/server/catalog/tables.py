"""Functions in place of tables, and tables that depend on the session."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from sqlglot import exp

from discreet.server.catalog.calls import (
    array_length,
    call_function,
    cast_to,
    generate_series,
    no_function,
    number_literal,
    string_literal,
)
from discreet.server.catalog.casts import duck_type
from discreet.server.catalog.rows.produce import KEYWORDS, catalog_columns
from discreet.server.catalog.standard import SYSTEM
from discreet.server.catalog.store import PLACES

if TYPE_CHECKING:
    from discreet.server.catalog.calls import CallRewriter

_RELATIONS = {
    "pg_get_keywords": KEYWORDS,
    "pg_timezone_names": "pg_timezone_names",
    "pg_show_all_settings": "pg_settings",
}
# Functions without rows here, with their columns.
_EMPTY: Mapping[str, tuple[tuple[str, str], ...]] = {
    "pg_partition_ancestors": (("relid", "UINTEGER"),),
    "pg_partition_tree": (("relid", "UINTEGER"), ("parentrelid", "UINTEGER")),
    "pg_options_to_table": (("option_name", "VARCHAR"), ("option_value", "VARCHAR")),
    "pg_listening_channels": (("pg_listening_channels", "VARCHAR"),),
}


def _alias_subquery(select: exp.Select, source: exp.Expr, names: Iterable[str]) -> exp.Expr:
    """Return a query in place of a source; columns without an alias keep their names."""
    given = source.args.get("alias")
    alias = given.copy() if isinstance(given, exp.TableAlias) else exp.TableAlias()
    names = list(names)
    if not alias.this:
        alias.set("this", exp.to_identifier(names[0]))
    if not alias.columns and len(names) == 1:
        # A function of one column, `unnest(x) AS y`, names both by its alias.
        alias.set("columns", [exp.to_identifier(alias.name)])
    return exp.Subquery(this=select, alias=alias, joins=source.args.get("joins"))


def _select(columns: Iterable[tuple[str, exp.Expr]]) -> exp.Select:
    named = [exp.alias_(value, name, quoted=True) for name, value in columns]
    return exp.Select(expressions=named)


def function_table(
    source: exp.Expr, calls: CallRewriter, relations: set[tuple[str, str]]
) -> exp.Expr:
    """Return a function call in place of a table.

    Raises:
        StatementFailed: 42883, no such function returns a table.
    """
    call_ = source.this if isinstance(source, exp.Lateral) else source
    offset = call_.args.get("offset") or call_.args.get("ordinality")
    offset = offset or source.args.get("ordinality")
    with_numbers = bool(offset)
    if isinstance(offset, exp.Identifier):
        source.args["alias"].append("columns", offset.copy())
    if isinstance(call_, exp.Unnest):
        return _unnest_arrays(list(call_.expressions), source, with_numbers=with_numbers)
    function = source.this
    if isinstance(function, exp.Explode):
        return _unnest_arrays([function.this], source, with_numbers=with_numbers)
    name = function.name.lower() if isinstance(function, exp.Anonymous) else ""
    if name in _RELATIONS and _RELATIONS[name] != "pg_settings":
        return _stored_table(_RELATIONS[name], source, relations)
    if name in _RELATIONS:
        return settings_table(source, calls.session.all_settings())
    if name in _EMPTY:
        columns = list(_EMPTY[name])
        if with_numbers:
            columns.append(("ordinality", "BIGINT"))
        empty = _select((each, cast_to(exp.null(), kind)) for each, kind in columns)
        return _alias_subquery(empty.where("FALSE"), source, [each for each, _ in columns])
    return _set(function, source, with_numbers=with_numbers)


def _set(function: exp.Expr, source: exp.Expr, *, with_numbers: bool) -> exp.Expr:
    """Return a set-returning function, whose arguments have been rewritten already."""
    if not (isinstance(function, exp.Anonymous) and function.name == "unnest"):
        raise no_function(function.name.lower() or "of this kind")
    inner = function.expressions[0]
    expands = isinstance(inner, exp.Anonymous) and inner.name == "pgm_expandarray"
    if expands:
        rows = exp.Select(expressions=[exp.alias_(call_function("unnest", inner.copy()), "_row")])
        whole = exp.Subquery(this=rows, alias=exp.TableAlias(this=exp.to_identifier("_rows")))
        fields = [exp.column(name, "_row") for name in ("x", "n")]
        return _alias_subquery(exp.select(*fields).from_(whole), source, ["x", "n"])
    name = "generate_series" if isinstance(inner, exp.Cast) else "unnest"
    return _unnest_arrays([inner], source, with_numbers=with_numbers, name=name)


def _unnest_arrays(
    arrays: list[exp.Expr], source: exp.Expr, *, with_numbers: bool, name: str = "unnest"
) -> exp.Expr:
    columns = [
        (name if not place else f"{name}_{place}", array) for place, array in enumerate(arrays)
    ]
    made = [(each, call_function("unnest", array.copy())) for each, array in columns]
    if with_numbers:
        numbers = cast_to(
            generate_series(number_literal(1), array_length(arrays[0].copy())), "BIGINT[]"
        )
        made.append(("ordinality", call_function("unnest", numbers)))
    given = source.args.get("alias")
    if with_numbers and isinstance(given, exp.TableAlias) and not given.columns:
        given.set("columns", [exp.to_identifier(given.name), exp.to_identifier("ordinality")])
    return _alias_subquery(_select(made), source, [each for each, _ in made])


def _stored_table(name: str, source: exp.Expr, relations: set[tuple[str, str]]) -> exp.Expr:
    relations.add((SYSTEM, name))
    alias = source.args.get("alias") or exp.TableAlias(this=exp.to_identifier(name.strip("()")))
    return exp.Table(
        this=exp.to_identifier(name, quoted=True), db=exp.to_identifier(PLACES[SYSTEM]), alias=alias
    )


def settings_table(source: exp.Expr, settings: Mapping[str, str]) -> exp.Expr:
    """Return the settings of the session where pg_settings was named."""
    columns = catalog_columns((SYSTEM, "pg_settings")) or ()
    rows = [
        exp.Tuple(expressions=[string_literal(name), string_literal(value)])
        for name, value in sorted(settings.items())
    ]
    names = [exp.to_identifier(each) for each in ("name", "setting")]
    values = exp.Values(
        expressions=rows, alias=exp.TableAlias(this=exp.to_identifier("_settings"), columns=names)
    )
    filled = {
        "name": exp.column("name"),
        "setting": exp.column("setting"),
        "reset_val": exp.column("setting"),
        "boot_val": exp.column("setting"),
        "context": string_literal("user"),
        "vartype": string_literal("string"),
        "source": string_literal("default"),
        "category": string_literal("discreet"),
        "short_desc": string_literal(""),
        "pending_restart": exp.false(),
    }
    select = _select(
        (each.name, filled.get(each.name, cast_to(exp.null(), duck_type(each.type))))
        for each in columns
    ).from_(values)
    given = source.args.get("alias")
    alias = given.copy() if given else exp.TableAlias(this=exp.to_identifier("pg_settings"))
    return exp.Subquery(this=select, alias=alias, joins=source.args.get("joins"))
