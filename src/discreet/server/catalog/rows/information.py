"""Rows of information_schema about schemas, relations and columns."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from discreet.guard.access.acl import table_default
from discreet.guard.access.authority import COLUMN_PRIVILEGES, Privilege
from discreet.server.catalog.rows.relations import is_view
from discreet.server.catalog.standard import SCHEMAS, Row, system_relations
from discreet.sql.types import BY_OID, ModifiedType, format_type, parse_modified_type

if TYPE_CHECKING:
    from discreet.server.catalog.snapshot import CatalogSnapshot
    from discreet.server.catalog.visibility import VisibleRelation

_MOST_BYTES = 1073741824  # of a text
_WIDEST = 4  # bytes of one character


def yes(truth: object) -> str:
    """Return a boolean as the standard writes it."""
    return "YES" if truth else "NO"


def tables(snapshot: CatalogSnapshot) -> Iterator[Row]:
    """Return tables and views."""
    common: Row = {"table_catalog": snapshot.database, "is_typed": "NO"}
    for relation in system_relations().values():
        yield common | {
            "table_schema": relation.schema,
            "table_name": relation.name,
            "table_type": "VIEW" if relation.kind == "v" else "BASE TABLE",
            "is_insertable_into": "NO",
        }
    for seen in snapshot.seen.values():
        if seen.relation.kind == "sequence":
            continue
        yield common | {
            "table_schema": seen.relation.schema,
            "table_name": seen.relation.name,
            "table_type": "VIEW" if is_view(seen) else "BASE TABLE",
            "is_insertable_into": yes(_is_insertable(seen)),
        }


def _is_insertable(seen: VisibleRelation) -> bool:
    return seen.relation.writable and seen.relation.kind == "table"


def information_columns(snapshot: CatalogSnapshot) -> Iterator[Row]:
    """Return columns."""
    for relation in system_relations().values():
        for number, column in enumerate(relation.columns, start=1):
            yield {
                **_type_columns(snapshot, number, parse_modified_type(column.type)),
                "table_schema": relation.schema,
                "table_name": relation.name,
                "column_name": column.name,
                "is_nullable": yes(not column.not_null),
                "is_updatable": "NO",
            }
    for seen in snapshot.seen.values():
        for number, column in enumerate(seen.columns, start=1):
            yield {
                **_type_columns(snapshot, number, parse_modified_type(column.type)),
                "table_schema": seen.relation.schema,
                "table_name": seen.relation.name,
                "column_name": column.name,
                "column_default": None if column.identity else column.default,
                "is_identity": yes(column.identity),
                "identity_generation": column.identity.upper() or None,
                "is_nullable": yes(not seen.is_required(column)),
                "is_updatable": yes(_is_insertable(seen)),
            }


def _type_columns(snapshot: CatalogSnapshot, number: int, of: ModifiedType) -> Row:
    known = BY_OID[of.oid]
    is_array = known.category == "A" and known.size == -1
    digits, base, scale = of.precision
    return {
        "table_catalog": snapshot.database,
        "ordinal_position": number,
        "data_type": "ARRAY" if is_array else format_type(of.oid, None),
        "character_maximum_length": of.length_limit,
        "character_octet_length": _octet_length(of),
        "numeric_precision": digits,
        "numeric_precision_radix": base,
        "numeric_scale": scale,
        "datetime_precision": of.seconds_precision,
        "udt_catalog": snapshot.database,
        "udt_schema": "pg_catalog",
        "udt_name": known.name,
        "dtd_identifier": str(number),
        "is_self_referencing": "NO",
        "is_identity": "NO",
        "identity_cycle": "NO",
        "is_generated": "NEVER",
    }


def _octet_length(of: ModifiedType) -> int | None:
    if of.name not in ("text", "varchar", "bpchar"):
        return None
    limit = of.length_limit
    return _MOST_BYTES if limit is None else limit * _WIDEST


def views(snapshot: CatalogSnapshot) -> Iterator[Row]:
    """Return views; their queries to owners only."""
    common: Row = {
        "table_catalog": snapshot.database,
        "check_option": "NONE",
        "is_updatable": "NO",
        "is_insertable_into": "NO",
        "is_trigger_updatable": "NO",
        "is_trigger_deletable": "NO",
        "is_trigger_insertable_into": "NO",
    }
    for relation in system_relations().values():
        if relation.kind == "v":
            yield common | {"table_schema": relation.schema, "table_name": relation.name}
    for seen in snapshot.seen.values():
        if is_view(seen):
            yield common | {
                "table_schema": seen.relation.schema,
                "table_name": seen.relation.name,
                "view_definition": seen.relation.query if seen.is_owner else None,
            }


def schemata(snapshot: CatalogSnapshot) -> Iterator[Row]:
    """Return schemas."""
    owners = dict.fromkeys(SCHEMAS, snapshot.visible.first_superuser)
    owners |= {name: schema.owner for name, schema in snapshot.visible.schemas.items()}
    for name, owner in owners.items():
        yield {"catalog_name": snapshot.database, "schema_name": name, "schema_owner": owner}


def character_sets(snapshot: CatalogSnapshot) -> Iterator[Row]:
    """Return the one character set."""
    yield {
        "character_set_name": "UTF8",
        "character_repertoire": "UCS",
        "form_of_use": "UTF8",
        "default_collate_catalog": snapshot.database,
    }


def catalog_name(snapshot: CatalogSnapshot) -> Iterator[Row]:
    """Return the name of the database."""
    yield {"catalog_name": snapshot.database}


def table_grants(snapshot: CatalogSnapshot) -> Iterator[Row]:
    """Return privileges on relations that the role has or granted."""
    for seen, grantor, grantee, privilege, grantable in _visible_grants(snapshot):
        yield {
            "grantor": grantor,
            "grantee": grantee or "PUBLIC",
            "table_catalog": snapshot.database,
            "table_schema": seen.relation.schema,
            "table_name": seen.relation.name,
            "privilege_type": str(privilege),
            "is_grantable": yes(grantable),
            "with_hierarchy": yes(privilege == Privilege.SELECT),
        }


def _visible_grants(
    snapshot: CatalogSnapshot,
) -> Iterator[tuple[VisibleRelation, str, str, Privilege, bool]]:
    for seen in snapshot.seen.values():
        owner = seen.relation.owner
        entries = table_default(owner) if seen.relation.acl is None else seen.relation.acl
        for entry in entries:
            if _is_party(snapshot, entry.grantor, entry.grantee):
                grantable = entry.grantable or entry.grantee == owner
                yield seen, entry.grantor, entry.grantee, entry.privilege, grantable


def _is_party(snapshot: CatalogSnapshot, grantor: str, grantee: str) -> bool:
    return not grantee or snapshot.visible.owns(grantor) or snapshot.visible.owns(grantee)


def column_grants(snapshot: CatalogSnapshot) -> Iterator[Row]:
    """Return privileges on columns, their own and those of the whole relation."""
    whole = [
        (seen, column.name, *rest)
        for seen, *rest in _visible_grants(snapshot)
        if rest[2] in COLUMN_PRIVILEGES
        for column in seen.columns
    ]
    own = [
        (seen, column.name, entry.grantor, entry.grantee, entry.privilege, entry.grantable)
        for seen in snapshot.seen.values()
        for column in seen.columns
        for entry in column.acl
        if _is_party(snapshot, entry.grantor, entry.grantee)
    ]
    for seen, column, grantor, grantee, privilege, grantable in (*whole, *own):
        yield {
            "grantor": grantor,
            "grantee": grantee or "PUBLIC",
            "table_catalog": snapshot.database,
            "table_schema": seen.relation.schema,
            "table_name": seen.relation.name,
            "column_name": column,
            "privilege_type": str(privilege),
            "is_grantable": yes(grantable),
        }


def enabled_roles(snapshot: CatalogSnapshot) -> Iterator[Row]:
    """Return the roles whose privileges the role has."""
    for name in snapshot.visible.authority.roles:
        if snapshot.visible.owns(name):
            yield {"role_name": name}


def applicable_roles(snapshot: CatalogSnapshot) -> Iterator[Row]:
    """Return the memberships of the role, and of the roles it is in."""
    for edge in snapshot.visible.authority.memberships:
        if snapshot.visible.owns(edge.member):
            yield {
                "grantee": edge.member,
                "role_name": edge.role,
                "is_grantable": yes(edge.admin),
            }


def administrable_roles(snapshot: CatalogSnapshot) -> Iterator[Row]:
    """Return the memberships that the role may grant to others."""
    return (row for row in applicable_roles(snapshot) if row["is_grantable"] == "YES")
