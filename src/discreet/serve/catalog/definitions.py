"""How PostgreSQL writes indexes and triggers as SQL."""

from __future__ import annotations

from typing import TYPE_CHECKING

from discreet.serve.catalog.constraints import quoted

if TYPE_CHECKING:
    from discreet.guard.access.authority import Trigger
    from discreet.serve.catalog.constraints import Constraint
    from discreet.serve.catalog.visible import Seen


def full_name(seen: Seen) -> str:
    """Return schema and name of a relation, as SQL."""
    return f"{quoted(seen.relation.schema)}.{quoted(seen.relation.name)}"


def index_definition(seen: Seen, constraint: Constraint) -> str:
    """Return what would create the index of a key."""
    columns = ", ".join(map(quoted, constraint.columns))
    name = quoted(constraint.name)
    return f"CREATE UNIQUE INDEX {name} ON {full_name(seen)} USING btree ({columns})"


def trigger_definition(seen: Seen, trigger: Trigger) -> str:
    """Return what would create a trigger here."""
    of = f" OF {', '.join(map(quoted, trigger.columns))}" if trigger.columns else ""
    events = " OR ".join(event + (of if event == "UPDATE" else "") for event in trigger.events)
    message = trigger.message.replace("'", "''")
    return (
        f"CREATE TRIGGER {quoted(trigger.name)} {trigger.timing} {events} ON {full_name(seen)} "
        f"FOR EACH {trigger.each} WHEN ({trigger.condition}) RAISE '{message}'"
    )
