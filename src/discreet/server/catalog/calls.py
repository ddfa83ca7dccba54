"""Calls of PostgreSQL's functions, translated for DuckDB."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from sqlglot import exp

from discreet.errors import StatementFailed
from discreet.server.catalog.functions import FUNCTIONS, written_path
from discreet.server.catalog.sources import type_of
from discreet.server.catalog.store import stored_name

if TYPE_CHECKING:
    from discreet.server.catalog.session import CatalogSession

# Functions that always return NULL here, by DuckDB's type of their result.
_NOTHING: Mapping[str, str] = {
    **dict.fromkeys(
        (
            *("shobj_description", "pg_get_ruledef"),
            *("pg_get_function_arguments", "pg_get_function_result"),
            *("pg_get_function_identity_arguments", "pg_get_functiondef", "pg_get_partkeydef"),
            *("pg_get_function_sqlbody", "pg_get_function_arg_default"),
            *("pg_get_statisticsobjdef", "pg_get_statisticsobjdef_columns", "inet_client_addr"),
            *("pg_get_statisticsobjdef_expressions", "pg_get_partition_constraintdef"),
            *("pg_describe_object", "inet_server_addr", "pg_tablespace_location"),
            *("pg_advisory_unlock_all",),
        ),
        "VARCHAR",
    ),
    **dict.fromkeys(
        (
            *("pg_relation_size", "pg_table_size", "pg_total_relation_size", "pg_indexes_size"),
            *("pg_database_size", "pg_tablespace_size", "pg_sequence_last_value"),
            *("inet_client_port", "inet_server_port", "pg_stat_get_numscans"),
        ),
        "BIGINT",
    ),
    "row_security_active": "BOOLEAN",
}
_ALWAYS: Mapping[str, bool] = {
    **dict.fromkeys(
        (
            *("pg_function_is_visible", "pg_operator_is_visible", "pg_collation_is_visible"),
            *("pg_opclass_is_visible", "pg_opfamily_is_visible", "pg_conversion_is_visible"),
            *("pg_statistics_obj_is_visible", "pg_ts_config_is_visible", "pg_ts_dict_is_visible"),
            *("pg_ts_parser_is_visible", "pg_ts_template_is_visible", "has_function_privilege"),
            *("has_type_privilege", "has_language_privilege", "has_tablespace_privilege"),
        ),
        True,
    ),
    **dict.fromkeys(
        (
            *("pg_is_in_recovery", "pg_relation_is_publishable", "pg_is_other_temp_schema"),
            "has_foreign_data_wrapper_privilege",
            *("has_server_privilege", "pg_is_wal_replay_paused"),
        ),
        False,
    ),
}


def string_literal(value: str) -> exp.Expr:
    """Return a text as a tree."""
    return exp.Literal.string(value)


def number_literal(value: int) -> exp.Expr:
    """Return a number as a tree."""
    return exp.Literal.number(value)


def cast_to(node: exp.Expr, kind: str) -> exp.Expr:
    """Return an expression with a type of DuckDB's."""
    return exp.Cast(this=node, to=exp.DataType.build(kind, dialect="duckdb"))


def call_function(name: str, *arguments: exp.Expr) -> exp.Expr:
    """Return a call of one of DuckDB's functions, or of ours inside it."""
    return exp.Anonymous(this=name, expressions=list(arguments))


def array_length(array: exp.Expr) -> exp.Expr:
    """Return how many elements an array has."""
    return cast_to(call_function("len", array), "INTEGER")


def subscripts(array: exp.Expr) -> exp.Expr:
    """Return the subscripts of an array: from 1, but those of vectors from 0."""
    first = int(not _is_vector(array))
    last = (
        array_length(array.copy())
        if first
        else exp.Sub(this=array_length(array.copy()), expression=number_literal(1))
    )
    return generate_series(number_literal(first), last)


def generate_series(*bounds: exp.Expr) -> exp.Expr:
    """Return an array of numbers."""
    return cast_to(call_function("generate_series", *bounds), "INTEGER[]")


def _is_vector(array: exp.Expr) -> bool:
    return type_of(array) in ("int2vector", "oidvector")


def _upper_bound(array: exp.Expr) -> exp.Expr:
    size = exp.Nullif(this=array_length(array), expression=number_literal(0))
    return exp.Sub(this=size, expression=number_literal(1)) if _is_vector(array) else size


def as_texts(array: exp.Expr) -> exp.Expr:
    """Return an array of texts."""
    return cast_to(array, "VARCHAR[]")


@dataclass
class CallRewriter:
    """Rewrites calls, and records which of our functions they need."""

    session: CatalogSession
    needed: set[tuple[str, int]] = field(default_factory=set[tuple[str, int]])

    def own(self, name: str, *arguments: exp.Expr) -> exp.Expr:
        """Return a call of one of our functions, its arguments cast to what it takes."""
        function = FUNCTIONS[name, len(arguments)]
        self.needed.add((name, len(arguments)))
        given = [
            cast_to(each, kind) for each, kind in zip(arguments, function.parameters, strict=True)
        ]
        if function.path:
            given.append(string_literal(written_path(self.session.path)))
        return call_function(stored_name(name, len(arguments)), *given)

    def rewrite(self, name: str, arguments: list[exp.Expr]) -> exp.Expr:
        """Return the translation of a call.

        Raises:
            StatementFailed: 42883, there is no such function for so many arguments.
        """
        if name in TABLES:
            return call_function(name, *arguments)
        if name in _NOTHING:
            return cast_to(exp.null(), _NOTHING[name])
        if name in _ALWAYS:
            return exp.Boolean(this=_ALWAYS[name])
        short = _SHORTENED.get(name)
        if short is not None:
            arguments = arguments[:short]
        if (name, len(arguments)) in FUNCTIONS:
            return self.own(name, *arguments)
        other = _OTHERS.get(name)
        try:
            found = other(self, *arguments) if other else None
        except TypeError:
            found = None
        if found is None:
            raise no_function(name)
        return found

    def schemas(self, *given: exp.Expr) -> exp.Expr:
        """Return current_schemas()."""
        everything = bool(given) and given[0].sql().upper() == "TRUE"
        path = self.session.full_path if everything else self.session.path
        return as_texts(exp.Array(expressions=[string_literal(schema) for schema in path]))

    def schema(self) -> exp.Expr:
        """Return current_schema()."""
        path = self.session.path
        return string_literal(path[0]) if path else cast_to(exp.null(), "VARCHAR")

    def setting(self, name: exp.Expr, optional: exp.Expr | None = None) -> exp.Expr:
        """Return current_setting()."""
        while isinstance(name, (exp.Cast, exp.Paren)):
            name = name.this
        if isinstance(name, exp.Null):
            return cast_to(exp.null(), "VARCHAR")
        if not isinstance(name, exp.Literal):
            return self._any_setting(name)
        is_optional = optional is not None and optional.sql().upper() == "TRUE"
        found = self.session.setting(name.name, optional=is_optional)
        return cast_to(exp.null(), "VARCHAR") if found is None else string_literal(found)

    def _any_setting(self, name: exp.Expr) -> exp.Expr:
        known = self.session.all_settings()
        names = exp.Array(expressions=[string_literal(each.lower()) for each in known])
        values = exp.Array(expressions=[string_literal(each) for each in known.values()])
        place = call_function("list_position", names, call_function("lower", name))
        return call_function("list_extract", values, place)

    def configure(self, name: exp.Expr, value: exp.Expr, _: exp.Expr) -> exp.Expr:
        """Return set_config() for settings without effect here; a query cannot change a session.

        Raises:
            StatementFailed: 0A000, SET must be used instead.
        """
        if name.name.lower() in _IDLE:
            return cast_to(value, "VARCHAR")
        raise StatementFailed("0A000", "set_config is not supported", hint="Use SET.")


def is_catalog_function(name: str) -> bool:
    """Whether a function of that name exists here."""
    return any(name in names for names in (_OWN_NAMES, _NOTHING, _ALWAYS, _OTHERS, TABLES))


# Functions in place of tables; the code that rewrites tables knows what they return.
TABLES = frozenset(
    {
        *("pg_get_keywords", "pg_timezone_names", "pg_show_all_settings", "pg_partition_ancestors"),
        *("pg_partition_tree", "pg_options_to_table", "pg_listening_channels"),
    }
)
_OWN_NAMES = frozenset(name for name, _ in FUNCTIONS if not name.startswith("_"))


def no_function(name: str) -> StatementFailed:
    """Return PostgreSQL's error for an unknown function."""
    return StatementFailed("42883", f"function {name} does not exist")


def _expand_array(_: CallRewriter, array: exp.Expr) -> exp.Expr:
    return call_function("unnest", call_function("pgm_expandarray", array))


# Settings that drivers turn off while they query the catalog.
_IDLE = frozenset({"jit"})
# The number of significant arguments of functions that also take a pretty-printing flag.
_SHORTENED: Mapping[str, int] = {
    "pg_get_viewdef": 1,
    "pg_get_triggerdef": 1,
}
_OTHERS: Mapping[str, Callable[..., exp.Expr | None]] = {
    "version": lambda calls: string_literal(calls.session.version),
    "current_database": lambda calls: string_literal(calls.session.database),
    "current_catalog": lambda calls: string_literal(calls.session.database),
    "current_user": lambda calls: string_literal(calls.session.subject.role),
    "current_role": lambda calls: string_literal(calls.session.subject.role),
    "user": lambda calls: string_literal(calls.session.subject.role),
    "session_user": lambda calls: string_literal(calls.session.subject.user),
    "system_user": lambda calls: string_literal(calls.session.subject.user),
    "getpgusername": lambda calls: string_literal(calls.session.subject.role),
    "current_schema": CallRewriter.schema,
    "current_schemas": CallRewriter.schemas,
    "current_setting": CallRewriter.setting,
    "set_config": CallRewriter.configure,
    "pg_backend_pid": lambda calls: number_literal(calls.session.process),
    "pg_my_temp_schema": lambda _: cast_to(number_literal(0), "UINTEGER"),
    "pg_client_encoding": lambda _: string_literal("UTF8"),
    "getdatabaseencoding": lambda _: string_literal("UTF8"),
    "pg_char_to_encoding": lambda _, __: number_literal(6),
    "pg_postmaster_start_time": lambda _: exp.CurrentTimestamp(),
    "pg_conf_load_time": lambda _: exp.CurrentTimestamp(),
    "now": lambda _: exp.CurrentTimestamp(),
    "age": lambda _, __: number_literal(0),
    "pg_get_constraintdef": lambda calls, oid: calls.own("pg_get_constraintdef", oid, exp.false()),
    "pg_get_expr": lambda _, tree, __, ___=None: cast_to(tree, "VARCHAR"),
    "array_upper": lambda _, array, __: _upper_bound(array),
    "array_lower": lambda _, array, __: number_literal(int(not _is_vector(array))),
    "cardinality": lambda _, array: array_length(array),
    "array_remove": lambda _, array, value: call_function("pgm_array_remove", array, value),
    "array_to_string": lambda _, array, separator: call_function(
        "array_to_string", as_texts(array), separator
    ),
    "generate_subscripts": lambda _, array, __: call_function("unnest", subscripts(array)),
    "_pg_expandarray": _expand_array,
    "json_build_object": lambda _, *pairs: call_function("json_object", *pairs),
    "every": lambda _, condition: call_function("bool_and", condition),
    "all": lambda _, array: exp.Anonymous(this="all", expressions=[array]),
}
