"""Rows of information_schema about constraints and triggers."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from discreet.server.catalog.constraints import Constraint
    from discreet.server.catalog.snapshot import CatalogSnapshot
    from discreet.server.catalog.standard import Row
    from discreet.server.catalog.visibility import VisibleRelation

_KINDS = {"p": "PRIMARY KEY", "u": "UNIQUE", "f": "FOREIGN KEY", "c": "CHECK"}


def _constraint_key(
    snapshot: CatalogSnapshot, seen: VisibleRelation, constraint: Constraint
) -> Row:
    return {
        "constraint_catalog": snapshot.database,
        "constraint_schema": seen.relation.schema,
        "constraint_name": constraint.name,
    }


def _table_key(snapshot: CatalogSnapshot, seen: VisibleRelation) -> Row:
    return {
        "table_catalog": snapshot.database,
        "table_schema": seen.relation.schema,
        "table_name": seen.relation.name,
    }


def table_constraints(snapshot: CatalogSnapshot) -> Iterator[Row]:
    """Return constraints."""
    for seen, constraint in snapshot.constraints.values():
        yield {
            **_constraint_key(snapshot, seen, constraint),
            **_table_key(snapshot, seen),
            "constraint_type": _KINDS[constraint.kind],
            "is_deferrable": "NO",
            "initially_deferred": "NO",
            "enforced": "YES",
            "nulls_distinct": "YES" if constraint.kind == "u" else None,
        }


def key_column_usage(snapshot: CatalogSnapshot) -> Iterator[Row]:
    """Return the columns of keys."""
    for seen, constraint in snapshot.constraints.values():
        if constraint.kind == "c":
            continue
        places = _referenced_positions(snapshot, constraint)
        for number, column in enumerate(constraint.columns, start=1):
            yield {
                **_constraint_key(snapshot, seen, constraint),
                **_table_key(snapshot, seen),
                "column_name": column,
                "ordinal_position": number,
                "position_in_unique_constraint": places[number - 1] if places else None,
            }


def _referenced_key(
    snapshot: CatalogSnapshot, constraint: Constraint
) -> tuple[VisibleRelation, Constraint | None] | None:
    if constraint.target is None:
        return None
    target = snapshot.visible.relations[constraint.target]
    wanted = set(constraint.target_columns)
    keys = (each for each in target.constraints if each.is_index and set(each.columns) == wanted)
    return target, next(keys, None)


def _referenced_positions(snapshot: CatalogSnapshot, constraint: Constraint) -> list[int]:
    found = _referenced_key(snapshot, constraint)
    if found is None or found[1] is None:
        return []
    order = found[1].columns
    return [order.index(column) + 1 for column in constraint.target_columns]


def constraint_column_usage(snapshot: CatalogSnapshot) -> Iterator[Row]:
    """Return the columns that constraints use: of a foreign key, those it references."""
    for seen, constraint in snapshot.constraints.values():
        found = _referenced_key(snapshot, constraint)
        table, columns = (
            (found[0], constraint.target_columns) if found else (seen, constraint.columns)
        )
        for column in columns:
            yield {
                **_constraint_key(snapshot, seen, constraint),
                **_table_key(snapshot, table),
                "column_name": column,
            }


def constraint_table_usage(snapshot: CatalogSnapshot) -> Iterator[Row]:
    """Return the tables that constraints use."""
    for seen, constraint in snapshot.constraints.values():
        found = _referenced_key(snapshot, constraint)
        yield {
            **_constraint_key(snapshot, seen, constraint),
            **_table_key(snapshot, found[0] if found else seen),
        }


def referential_constraints(snapshot: CatalogSnapshot) -> Iterator[Row]:
    """Return foreign keys, and the keys they reference."""
    for seen, constraint in snapshot.constraints.values():
        found = _referenced_key(snapshot, constraint)
        if found is not None:
            target, key = found
            rules = constraint.key
            yield {
                **_constraint_key(snapshot, seen, constraint),
                "unique_constraint_catalog": snapshot.database if key else None,
                "unique_constraint_schema": target.relation.schema if key else None,
                "unique_constraint_name": key.name if key else None,
                "match_option": "NONE",
                "update_rule": (rules.on_update if rules else "no action").upper(),
                "delete_rule": (rules.on_delete if rules else "no action").upper(),
            }


def check_constraints(snapshot: CatalogSnapshot) -> Iterator[Row]:
    """Return checks."""
    for seen, constraint in snapshot.constraints.values():
        if constraint.kind == "c":
            yield {
                **_constraint_key(snapshot, seen, constraint),
                "check_clause": f"(({constraint.condition}))",
            }


def triggers(snapshot: CatalogSnapshot) -> Iterator[Row]:
    """Return triggers, to owners only."""
    for seen in snapshot.seen.values():
        if not seen.is_owner:
            continue
        for number, trigger in enumerate(seen.relation.triggers, start=1):
            for event in trigger.events:
                yield {
                    "trigger_catalog": snapshot.database,
                    "trigger_schema": seen.relation.schema,
                    "trigger_name": trigger.name,
                    "event_manipulation": event,
                    "event_object_catalog": snapshot.database,
                    "event_object_schema": seen.relation.schema,
                    "event_object_table": seen.relation.name,
                    "action_order": number,
                    "action_condition": trigger.condition,
                    "action_orientation": trigger.each,
                    "action_timing": trigger.timing,
                }
