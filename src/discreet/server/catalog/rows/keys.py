"""Rows about constraints, indexes, policies and triggers."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from discreet.guard.access.authority import PUBLIC
from discreet.server.catalog.definitions import index_definition
from discreet.server.catalog.standard import Row, operator_class_rows
from discreet.sql.types import BY_OID, parse_modified_type

if TYPE_CHECKING:
    from discreet.server.catalog.constraints import Constraint
    from discreet.server.catalog.snapshot import CatalogSnapshot
    from discreet.server.catalog.visibility import VisibleRelation

_COMMANDS = {"ALL": "*", "SELECT": "r", "INSERT": "a", "UPDATE": "w", "DELETE": "d"}
_ACTIONS = {"no action": "a", "restrict": "r", "cascade": "c", "set null": "n", "set default": "d"}
_EVENTS = {"INSERT": 4, "DELETE": 8, "UPDATE": 16}


def pg_constraint(snapshot: CatalogSnapshot) -> Iterator[Row]:
    """Return constraints."""
    for oid, (seen, constraint) in snapshot.constraints.items():
        yield {
            "oid": oid,
            "conname": constraint.name,
            "connamespace": snapshot.schema(seen.relation.schema),
            "contype": constraint.kind,
            "convalidated": True,
            "conenforced": True,
            "conrelid": snapshot.relation(seen.key),
            "conislocal": True,
            "connoinherit": constraint.kind != "c",
            "conkey": [seen.number(column) for column in constraint.columns],
            "conbin": constraint.condition,
            "conindid": snapshot.index(seen, constraint),
            "confupdtype": " ",
            "confdeltype": " ",
            "confmatchtype": " ",
            **_reference_columns(snapshot, constraint),
        }


def _reference_columns(snapshot: CatalogSnapshot, constraint: Constraint) -> Row:
    if constraint.target is None:
        return {}
    target = snapshot.visible.relations[constraint.target]
    keys = [each for each in target.constraints if each.is_index]
    used = next(
        (each for each in keys if set(each.columns) == set(constraint.target_columns)), None
    )
    return {
        "confrelid": snapshot.relation(constraint.target),
        "confkey": [target.number(column) for column in constraint.target_columns],
        "confupdtype": _ACTIONS[constraint.key.on_update] if constraint.key else "a",
        "confdeltype": _ACTIONS[constraint.key.on_delete] if constraint.key else "a",
        "confmatchtype": "f" if constraint.key is not None and constraint.key.full else "s",
        "condeferrable": constraint.key is not None and constraint.key.deferrable,
        "condeferred": constraint.key is not None and constraint.key.deferred,
        "conindid": snapshot.index(target, used) if used else 0,
    }


def pg_index(snapshot: CatalogSnapshot) -> Iterator[Row]:
    """Return indexes: one for each key."""
    for oid, (seen, constraint) in snapshot.indexes.items():
        count = len(constraint.columns)
        kinds = [
            parse_modified_type(seen.columns[seen.number(column) - 1].type).oid if column else 25
            for column in constraint.columns
        ]
        index = constraint.index
        expressions = [
            key
            for key, name in zip(index.keys if index else (), constraint.columns, strict=False)
            if not name
        ]
        yield {
            "indexrelid": oid,
            "indrelid": snapshot.relation(seen.key),
            "indnatts": count,
            "indnkeyatts": count,
            "indisunique": constraint.is_unique,
            "indisprimary": constraint.kind == "p",
            "indimmediate": True,
            "indisvalid": True,
            "indisready": True,
            "indislive": True,
            "indkey": [seen.number(column) if column else 0 for column in constraint.columns],
            "indexprs": ", ".join(expressions) or None,
            "indpred": index.condition if index else None,
            "indcollation": [BY_OID[each].collation for each in kinds],
            "indclass": [_operator_class(each) for each in kinds],
            "indoption": [0] * count,
        }


def _operator_class(of: int) -> int:
    # varchar uses the operator class of text.
    wanted = 25 if BY_OID[of].name == "varchar" else of
    found = (row for row in operator_class_rows() if row["opcintype"] == wanted)
    return next((int(str(row["oid"])) for row in found if row["opcdefault"]), 0)


def pg_indexes(snapshot: CatalogSnapshot) -> Iterator[Row]:
    """Return indexes with their definitions."""
    for seen, constraint in snapshot.indexes.values():
        yield {
            "schemaname": seen.relation.schema,
            "tablename": seen.relation.name,
            "indexname": constraint.name,
            "indexdef": index_definition(seen, constraint),
        }


def _owned_relations(snapshot: CatalogSnapshot) -> Iterator[tuple[int, VisibleRelation]]:
    return ((oid, seen) for oid, seen in snapshot.seen.items() if seen.is_owner)


def pg_policy(snapshot: CatalogSnapshot) -> Iterator[Row]:
    """Return row policies, to owners only: a condition may reveal hidden data."""
    for oid, seen in _owned_relations(snapshot):
        for policy in seen.relation.policies:
            yield {
                "oid": snapshot.attached("policy", seen, policy.name),
                "polname": policy.name,
                "polrelid": oid,
                "polcmd": _COMMANDS[policy.command],
                "polpermissive": policy.permissive,
                "polroles": [snapshot.role(role) for role in policy.roles],
                "polqual": policy.using,
                "polwithcheck": policy.check,
            }


def pg_policies(snapshot: CatalogSnapshot) -> Iterator[Row]:
    """Return row policies with names, to owners only."""
    for _, seen in _owned_relations(snapshot):
        for policy in seen.relation.policies:
            yield {
                "schemaname": seen.relation.schema,
                "tablename": seen.relation.name,
                "policyname": policy.name,
                "permissive": "PERMISSIVE" if policy.permissive else "RESTRICTIVE",
                "roles": ["public" if role == PUBLIC else role for role in policy.roles],
                "cmd": policy.command,
                "qual": policy.using,
                "with_check": policy.check,
            }


def pg_trigger(snapshot: CatalogSnapshot) -> Iterator[Row]:
    """Return triggers, to owners only."""
    for oid, seen in _owned_relations(snapshot):
        for trigger in seen.relation.triggers:
            events = sum(_EVENTS[event] for event in trigger.events)
            yield {
                "oid": snapshot.attached("trigger", seen, trigger.name),
                "tgrelid": oid,
                "tgname": trigger.name,
                "tgtype": events + (trigger.each == "ROW") + 2 * (trigger.timing == "BEFORE"),
                "tgenabled": "O",
                "tgattr": [seen.number(column) for column in trigger.columns],
                "tgqual": trigger.condition,
            }
