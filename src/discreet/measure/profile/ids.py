"""Ids of drafted tables: drawn once, and kept when a policy is drafted again."""

from __future__ import annotations

import re
import secrets
from dataclasses import replace
from pathlib import Path

from discreet.errors import DiscreetError
from discreet.measure.profile.policy_draft import PolicyDraft
from discreet.policy.load import load_policy

_LONGEST = 40  # characters of a table's name in its id


def with_ids(draft: PolicyDraft, *, before: Path | None = None) -> PolicyDraft:
    """Return `draft` with an id for the policy and each table: those of the policy `before`, else new ones.

    The name in an id is for readers. An id grants no right to spend.
    """
    kept = _ids_of(before)
    tables = tuple(
        replace(table, id=kept.get(table.name) or draw_id(table.name)) for table in draft.tables
    )
    return replace(draft, tables=tables, id=kept.get("") or draw_id("policy"))


def draw_id(name: str) -> str:
    """Return a new id for a table of this name.

    >>> draw_id("2024 visits!").rpartition("-")[0]
    '2024-visits'
    """
    readable = re.sub(r"[^A-Za-z0-9]+", "-", name).strip("-")[:_LONGEST].strip("-")
    return f"{readable or 'table'}-{secrets.token_hex(8)}"


def _ids_of(path: Path | None) -> dict[str, str]:
    """Return the ids of a policy that is to be replaced, its own under the empty name."""
    if path is None or not path.is_file():
        return {}
    try:
        policy = load_policy(path)
    except DiscreetError:
        return {}
    found = {name: table.id for name, table in policy.tables.items()} | {"": policy.id}
    return {name: identity for name, identity in found.items() if identity is not None}
