"""Rows about relations and their columns: pg_class, pg_attribute and related ones."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from discreet.guard.access.authority import Relation, RelationColumn
from discreet.server.catalog.rows.acl import items
from discreet.server.catalog.standard import Row, system_relations
from discreet.sql.types import BY_OID, ModifiedType, parse_modified_type

if TYPE_CHECKING:
    from discreet.server.catalog.snapshot import CatalogSnapshot
    from discreet.server.catalog.visibility import VisibleRelation

_HEAP, _BTREE = 2, 403
_IDENTITIES = {"": "", "always": "a", "by default": "d"}


def is_view(seen: VisibleRelation) -> bool:
    """Whether a relation is shown to clients as a view."""
    return seen.relation.kind in ("view", "anonymized")


def is_table(seen: VisibleRelation) -> bool:
    """Whether a relation is a table."""
    return seen.relation.kind == "table"


def pg_class(snapshot: CatalogSnapshot) -> Iterator[Row]:
    """Return relations and indexes."""
    for relation in system_relations().values():
        yield {
            **_class_row(
                relation.oid, snapshot.schema(relation.schema), relation.name, relation.kind
            ),
            "relowner": 10,
            "relnatts": len(relation.columns),
            "relacl": [f"=r/{snapshot.visible.first_superuser}"],
        }
    for oid, seen in snapshot.seen.items():
        relation = seen.relation
        yield {
            **_class_row(oid, snapshot.schema(relation.schema), relation.name, _letter_of(seen)),
            "relowner": snapshot.role(relation.owner),
            "relnatts": len(seen.columns),
            "relchecks": sum(each.kind == "c" for each in seen.constraints),
            "relhasindex": any(each.is_index for each in seen.constraints),
            "relhasrules": is_view(seen),
            "relhastriggers": _has_triggers(snapshot, seen),
            "relrowsecurity": seen.is_owner and relation.row_security,
            "relforcerowsecurity": seen.is_owner and relation.force_row_security,
            "relacl": items(relation.acl),
            "reloptions": _view_options(relation),
        }
    for oid, (seen, constraint) in snapshot.indexes.items():
        yield {
            **_class_row(oid, snapshot.schema(seen.relation.schema), constraint.name, "i"),
            "relowner": snapshot.role(seen.relation.owner),
            "relnatts": len(constraint.columns),
        }


def _letter_of(seen: VisibleRelation) -> str:
    return "v" if is_view(seen) else "r" if is_table(seen) else "S"


def _has_triggers(snapshot: CatalogSnapshot, seen: VisibleRelation) -> bool:
    # PostgreSQL enforces foreign keys by triggers on both sides.
    has_keys = any(each.kind == "f" for each in seen.constraints)
    is_target = seen.key in snapshot.targets
    return has_keys or is_target or (seen.is_owner and bool(seen.relation.triggers))


def _class_row(oid: int, schema: int, name: str, letter: str) -> Row:
    """Return the values that all relations of a kind share; sizes and counts are not shown."""
    return {
        "oid": oid,
        "relname": name,
        "relnamespace": schema,
        "relam": {"r": _HEAP, "i": _BTREE}.get(letter, 0),
        "relfilenode": 0 if letter == "v" else oid,
        "reltuples": -1.0,
        "relpersistence": "p",
        "relkind": letter,
        "relispopulated": True,
        "relreplident": "d" if letter == "r" else "n",
    }


def pg_attribute(snapshot: CatalogSnapshot) -> Iterator[Row]:
    """Return columns of relations and indexes."""
    for relation in system_relations().values():
        for number, column in enumerate(relation.columns, start=1):
            yield _attribute_row(
                relation.oid, number, column.name, parse_modified_type(column.type)
            ) | {"attnotnull": column.not_null}
    for oid, seen in snapshot.seen.items():
        for number, column in enumerate(seen.columns, start=1):
            yield _attribute_row(oid, number, column.name, parse_modified_type(column.type)) | {
                "attnotnull": seen.is_required(column),
                "atthasdef": column.default is not None and not column.identity,
                "attidentity": _IDENTITIES[column.identity],
                "attacl": items(column.acl),
            }
    for oid, (seen, constraint) in snapshot.indexes.items():
        for number, name in enumerate(constraint.columns, start=1):
            kind = _visible_column(seen, name).type if name else "text"
            yield _attribute_row(oid, number, name or "expr", parse_modified_type(kind))


def _visible_column(seen: VisibleRelation, name: str) -> RelationColumn:
    return seen.columns[seen.number(name) - 1]


def _attribute_row(relation: int, number: int, name: str, of: ModifiedType) -> Row:
    known = BY_OID[of.oid]
    return {
        "attrelid": relation,
        "attname": name,
        "atttypid": of.oid,
        "attstattarget": -1,
        "attlen": known.size,
        "attnum": number,
        "attndims": 1 if known.category == "A" and known.size == -1 else 0,
        "attcacheoff": -1,
        "atttypmod": of.modifier,
        "attbyval": known.by_value,
        "attalign": known.alignment,
        "attstorage": known.storage,
        "attislocal": True,
        "attcollation": known.collation,
    }


def pg_description(snapshot: CatalogSnapshot) -> Iterator[Row]:
    """Return comments on relations and their columns."""
    classes = system_relations()["pg_catalog", "pg_class"].oid
    for oid, seen in snapshot.seen.items():
        texts = [seen.relation.comment, *(column.comment for column in seen.columns)]
        for number, text in enumerate(texts):
            if text is not None:
                yield {"objoid": oid, "classoid": classes, "objsubid": number, "description": text}


def pg_attrdef(snapshot: CatalogSnapshot) -> Iterator[Row]:
    """Return defaults of columns."""
    for oid, seen in snapshot.seen.items():
        for number, column in enumerate(seen.columns, start=1):
            if column.default is not None and not column.identity:
                yield {
                    "oid": snapshot.attached("default", seen, column.name),
                    "adrelid": oid,
                    "adnum": number,
                    "adbin": column.default,
                }


def pg_tables(snapshot: CatalogSnapshot) -> Iterator[Row]:
    """Return tables."""
    for relation in system_relations().values():
        if relation.kind == "r":
            yield {
                "schemaname": relation.schema,
                "tablename": relation.name,
                "tableowner": snapshot.visible.first_superuser,
            }
    for seen in snapshot.seen.values():
        if is_table(seen):
            yield {
                "schemaname": seen.relation.schema,
                "tablename": seen.relation.name,
                "tableowner": seen.relation.owner,
                "hasindexes": any(each.is_index for each in seen.constraints),
                "hasrules": False,
                "hastriggers": _has_triggers(snapshot, seen),
                "rowsecurity": seen.is_owner and seen.relation.row_security,
            }


def pg_views(snapshot: CatalogSnapshot) -> Iterator[Row]:
    """Return views; their queries to owners only."""
    for relation in system_relations().values():
        if relation.kind == "v":
            yield {
                "schemaname": relation.schema,
                "viewname": relation.name,
                "viewowner": snapshot.visible.first_superuser,
            }
    for seen in snapshot.seen.values():
        if is_view(seen):
            yield {
                "schemaname": seen.relation.schema,
                "viewname": seen.relation.name,
                "viewowner": seen.relation.owner,
                "definition": seen.relation.query if seen.is_owner else None,
            }


def pg_rewrite(snapshot: CatalogSnapshot) -> Iterator[Row]:
    """Return the rule that every view has, without its action."""
    for oid, seen in snapshot.seen.items():
        if is_view(seen):
            yield {
                "oid": snapshot.attached("rule", seen, "_RETURN"),
                "rulename": "_RETURN",
                "ev_class": oid,
                "ev_type": "1",
                "ev_enabled": "O",
                "is_instead": True,
            }


def pg_stat_tables(snapshot: CatalogSnapshot) -> Iterator[Row]:
    """Return tables without statistics: row counts are not shown."""
    for oid, seen in snapshot.seen.items():
        if is_table(seen):
            yield {
                "relid": oid,
                "schemaname": seen.relation.schema,
                "relname": seen.relation.name,
            }


def _view_options(relation: Relation) -> list[str] | None:
    options = ["security_invoker=true"] if relation.security_invoker else []
    if relation.kind == "view" and "check_option" in relation.options:
        options.append(f"check_option={relation.options['check_option']}")
    return options or None
