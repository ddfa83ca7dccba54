"""The producers of each catalog relation's rows; relations without a producer are empty."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, TypeAlias

from discreet.server.catalog.rows import (
    information,
    keys,
    relations,
    roles,
    sequences,
    server,
    standard_keys,
)
from discreet.server.catalog.standard import (
    INFORMATION,
    NUMBERED,
    SYSTEM,
    CatalogColumn,
    Row,
    system_relations,
)

if TYPE_CHECKING:
    from discreet.server.catalog.snapshot import CatalogSnapshot

Producer: TypeAlias = "Callable[[CatalogSnapshot], Iterable[Row]]"

# Not shown to any user: passwords, statistics of data, files of the server.
DENIED = frozenset(
    {
        "pg_authid",
        "pg_config",
        "pg_file_settings",
        "pg_hba_file_rules",
        "pg_ident_file_mappings",
        "pg_largeobject",
        "pg_shadow",
        "pg_statistic",
        "pg_statistic_ext_data",
        "pg_user_mapping",
    }
)
KEYWORDS = "pg_get_keywords()"  # the function's result, stored as a relation

_SYSTEM: Mapping[str, Producer] = {
    "pg_am": server.pg_am,
    "pg_attrdef": relations.pg_attrdef,
    "pg_attribute": relations.pg_attribute,
    "pg_auth_members": roles.pg_auth_members,
    "pg_class": relations.pg_class,
    "pg_collation": server.pg_collation,
    "pg_constraint": keys.pg_constraint,
    "pg_database": server.pg_database,
    "pg_group": roles.pg_group,
    "pg_index": keys.pg_index,
    "pg_indexes": keys.pg_indexes,
    "pg_language": server.pg_language,
    "pg_namespace": roles.pg_namespace,
    "pg_opclass": server.pg_opclass,
    "pg_policies": keys.pg_policies,
    "pg_policy": keys.pg_policy,
    "pg_proc": server.pg_proc,
    "pg_depend": sequences.pg_depend,
    "pg_description": relations.pg_description,
    "pg_sequence": sequences.pg_sequence,
    "pg_sequences": sequences.pg_sequences,
    "pg_rewrite": relations.pg_rewrite,
    "pg_roles": roles.pg_roles,
    "pg_stat_all_tables": relations.pg_stat_tables,
    "pg_stat_user_tables": relations.pg_stat_tables,
    "pg_statio_all_tables": relations.pg_stat_tables,
    "pg_statio_user_tables": relations.pg_stat_tables,
    "pg_tables": relations.pg_tables,
    "pg_tablespace": server.pg_tablespace,
    "pg_timezone_names": server.pg_timezone_names,
    "pg_trigger": keys.pg_trigger,
    "pg_type": server.pg_type,
    "pg_user": roles.pg_user,
    "pg_views": relations.pg_views,
    KEYWORDS: server.pg_keywords,
}
_INFORMATION: Mapping[str, Producer] = {
    "administrable_role_authorizations": information.administrable_roles,
    "sequences": sequences.sequences,
    "applicable_roles": information.applicable_roles,
    "character_sets": information.character_sets,
    "check_constraints": standard_keys.check_constraints,
    "column_privileges": information.column_grants,
    "columns": information.information_columns,
    "constraint_column_usage": standard_keys.constraint_column_usage,
    "constraint_table_usage": standard_keys.constraint_table_usage,
    "enabled_roles": information.enabled_roles,
    "information_schema_catalog_name": information.catalog_name,
    "key_column_usage": standard_keys.key_column_usage,
    "referential_constraints": standard_keys.referential_constraints,
    "role_column_grants": information.column_grants,
    "role_table_grants": information.table_grants,
    "schemata": information.schemata,
    "table_constraints": standard_keys.table_constraints,
    "table_privileges": information.table_grants,
    "tables": information.tables,
    "triggers": standard_keys.triggers,
    "views": information.views,
}
_PRODUCERS: Mapping[tuple[str, str], Producer] = {
    **{(SYSTEM, name): producer for name, producer in _SYSTEM.items()},
    **{(INFORMATION, name): producer for name, producer in _INFORMATION.items()},
}
_KEYWORD_COLUMNS = tuple(
    CatalogColumn(name, kind, not_null=False)
    for name, kind in (
        ("word", "text"),
        ("catcode", "char"),
        ("barelabel", "bool"),
        ("catdesc", "text"),
        ("baredesc", "text"),
    )
)
_EMPTY: Mapping[str, object] = {
    **dict.fromkeys(NUMBERED | {"int2", "int4", "int8"}, 0),
    **dict.fromkeys(("float4", "float8"), 0.0),
    "bool": False,
}


def catalog_columns(key: tuple[str, str]) -> tuple[CatalogColumn, ...] | None:
    """Return the columns of a relation of the catalog, or None when there is none of that name."""
    if key == (SYSTEM, KEYWORDS):
        return _KEYWORD_COLUMNS
    known = system_relations().get(key)
    return known.columns if known else None


def catalog_rows(snapshot: CatalogSnapshot, key: tuple[str, str]) -> list[Row]:
    """Return the rows of a relation with every column: missing values are NULL, or empty."""
    columns = catalog_columns(key) or ()
    producer = _PRODUCERS.get(key)
    blank = {column.name: _blank_value(column) for column in columns}
    return [blank | row for row in producer(snapshot)] if producer else []


def _blank_value(column: CatalogColumn) -> object:
    if not column.not_null:
        return None
    if column.type in ("int2vector", "oidvector"):
        return []
    return _EMPTY.get(column.type, "")
