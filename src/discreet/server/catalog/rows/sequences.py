"""Rows about sequences; the last number of one is not shown, as others gave it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from discreet.guard.access.authority import RelationColumn
from discreet.guard.access.sequences import SequenceBounds
from discreet.server.catalog.standard import Row, system_relations
from discreet.sql.types import parse_modified_type

if TYPE_CHECKING:
    from discreet.server.catalog.snapshot import CatalogSnapshot
    from discreet.server.catalog.visibility import VisibleRelation


def _find_sequences(
    snapshot: CatalogSnapshot,
) -> Iterator[tuple[int, VisibleRelation, SequenceBounds]]:
    for oid, seen in snapshot.seen.items():
        if seen.relation.kind == "sequence":
            yield oid, seen, SequenceBounds.of(seen.relation)


def _find_owner(
    snapshot: CatalogSnapshot, seen: VisibleRelation
) -> tuple[VisibleRelation, RelationColumn] | None:
    """Return the table and the column that own a sequence, if they are visible."""
    options = seen.relation.options
    table = snapshot.visible.relations.get((seen.relation.schema, options.get("table", "")))
    for column in table.columns if table is not None else ():
        if table is not None and column.name == options.get("column"):
            return table, column
    return None


def pg_sequence(snapshot: CatalogSnapshot) -> Iterator[Row]:
    """Return sequences by OID."""
    for oid, _, bounds in _find_sequences(snapshot):
        yield {
            "seqrelid": oid,
            "seqtypid": parse_modified_type(bounds.type).oid,
            "seqstart": bounds.start,
            "seqincrement": bounds.increment,
            "seqmax": bounds.maximum,
            "seqmin": bounds.minimum,
            "seqcache": 1,
            "seqcycle": bounds.cycle,
        }


def pg_sequences(snapshot: CatalogSnapshot) -> Iterator[Row]:
    """Return sequences by name."""
    for _, seen, bounds in _find_sequences(snapshot):
        yield {
            "schemaname": seen.relation.schema,
            "sequencename": seen.relation.name,
            "sequenceowner": seen.relation.owner,
            "data_type": parse_modified_type(bounds.type).oid,
            "start_value": bounds.start,
            "min_value": bounds.minimum,
            "max_value": bounds.maximum,
            "increment_by": bounds.increment,
            "cycle": bounds.cycle,
            "cache_size": 1,
        }


def sequences(snapshot: CatalogSnapshot) -> Iterator[Row]:
    """Return sequences as the standard shows them: without those of identity columns."""
    for _, seen, bounds in _find_sequences(snapshot):
        owner = _find_owner(snapshot, seen)
        if owner is not None and owner[1].identity:
            continue
        yield {
            "sequence_catalog": snapshot.database,
            "sequence_schema": seen.relation.schema,
            "sequence_name": seen.relation.name,
            "data_type": bounds.type,
            "numeric_precision": {"smallint": 16, "integer": 32}.get(bounds.type, 64),
            "numeric_precision_radix": 2,
            "numeric_scale": 0,
            "start_value": str(bounds.start),
            "minimum_value": str(bounds.minimum),
            "maximum_value": str(bounds.maximum),
            "increment": str(bounds.increment),
            "cycle_option": "YES" if bounds.cycle else "NO",
        }


def pg_depend(snapshot: CatalogSnapshot) -> Iterator[Row]:
    """Return which columns own sequences: the one dependency that clients look for."""
    relations = system_relations()["pg_catalog", "pg_class"].oid
    for oid, seen, _ in _find_sequences(snapshot):
        owner = _find_owner(snapshot, seen)
        if owner is not None:
            table, column = owner
            yield {
                "classid": relations,
                "objid": oid,
                "objsubid": 0,
                "refclassid": relations,
                "refobjid": snapshot.relation(table.key),
                "refobjsubid": table.number(column.name),
                "deptype": "i" if column.identity else "a",
            }
