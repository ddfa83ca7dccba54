"""Definitions of indexes and triggers as PostgreSQL writes them in SQL."""

from __future__ import annotations

from typing import TYPE_CHECKING

from discreet.guard.access.authority import Trigger
from discreet.server.catalog.constraints import quote_identifier

if TYPE_CHECKING:
    from discreet.server.catalog.constraints import Constraint
    from discreet.server.catalog.visibility import VisibleRelation


def full_name(seen: VisibleRelation) -> str:
    """Return schema and name of a relation, as SQL."""
    return f"{quote_identifier(seen.relation.schema)}.{quote_identifier(seen.relation.name)}"


def index_definition(seen: VisibleRelation, constraint: Constraint) -> str:
    """Return the statement that would create the index of a key."""
    index = constraint.index
    texts = index.keys if index else constraint.columns
    columns = ", ".join(
        quote_identifier(key) if name else f"({key})"
        for key, name in zip(texts, constraint.columns, strict=True)
    )
    name, unique = quote_identifier(constraint.name), "UNIQUE " if constraint.is_unique else ""
    method = index.method if index else "btree"
    text = f"CREATE {unique}INDEX {name} ON {full_name(seen)} USING {method} ({columns})"
    if index and index.included:
        text += f" INCLUDE ({', '.join(map(quote_identifier, index.included))})"
    return text + (f" WHERE ({index.condition})" if index and index.condition else "")


def trigger_definition(seen: VisibleRelation, trigger: Trigger) -> str:
    """Return the statement that would create a trigger here."""
    of = f" OF {', '.join(map(quote_identifier, trigger.columns))}" if trigger.columns else ""
    events = " OR ".join(event + (of if event == "UPDATE" else "") for event in trigger.events)
    message = trigger.message.replace("'", "''")
    return (
        f"CREATE TRIGGER {quote_identifier(trigger.name)} {trigger.timing} {events} ON {full_name(seen)} "
        f"FOR EACH {trigger.each} WHEN ({trigger.condition}) RAISE '{message}'"
    )
