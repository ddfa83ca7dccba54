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
    columns = ", ".join(map(quote_identifier, constraint.columns))
    name = quote_identifier(constraint.name)
    return f"CREATE UNIQUE INDEX {name} ON {full_name(seen)} USING btree ({columns})"


def trigger_definition(seen: VisibleRelation, trigger: Trigger) -> str:
    """Return the statement that would create a trigger here."""
    of = f" OF {', '.join(map(quote_identifier, trigger.columns))}" if trigger.columns else ""
    events = " OR ".join(event + (of if event == "UPDATE" else "") for event in trigger.events)
    message = trigger.message.replace("'", "''")
    return (
        f"CREATE TRIGGER {quote_identifier(trigger.name)} {trigger.timing} {events} ON {full_name(seen)} "
        f"FOR EACH {trigger.each} WHEN ({trigger.condition}) RAISE '{message}'"
    )
