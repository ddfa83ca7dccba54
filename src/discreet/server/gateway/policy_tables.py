"""What the server's policy says of a table: by its name in the default schema, by `schema.name` in others."""

from __future__ import annotations

from collections.abc import Sequence

from discreet.errors import StatementFailed
from discreet.guard.access.authority import DEFAULT_SCHEMA, Relation
from discreet.policy.model import Policy, TablePolicy


def find_policy_table(policy: Policy | None, relation: Relation) -> TablePolicy | None:
    """Return what a policy says of a table, None if it says nothing."""
    found = None if policy is None else policy.tables.get(name_in_questions(relation))
    if found is None or is_of_other_schema(found) == (relation.schema != DEFAULT_SCHEMA):
        return found
    return None


def is_of_other_schema(table: TablePolicy) -> bool:
    """Return whether a policy's table is one of another schema, which statements make: it names no source."""
    return "." in table.name and table.source is None


def name_in_questions(relation: Relation) -> str:
    """Return the one name that a table has in questions and in the policy."""
    if relation.schema == DEFAULT_SCHEMA:
        return relation.name
    return f"{relation.schema}.{relation.name}"


def require_distinct_names(relations: Sequence[Relation]) -> None:
    """Refuse a question about two tables that would have the same name in it."""
    names = [name_in_questions(relation).casefold() for relation in relations]
    for name in names:
        if names.count(name) > 1:
            raise StatementFailed(
                "0A000",
                f'two tables of the question are called "{name}"',
                hint="Ask about one of them at a time, or rename one.",
            )
