"""What a policy leaves open: columns nobody decided on, and secrets that nothing protects."""

from __future__ import annotations

from typing import TYPE_CHECKING

from discreet.policy.attacking import DEFAULT
from discreet.policy.model import Role

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from discreet.policy.model import Table

_NAMED = 5
# Stating a tolerance for one of these decides how much of a sensitive column may be told.
_ABOUT_SECRETS = ("homogeneity", "inference", "skewness", DEFAULT)


def undecided(policy: Table, *, among: Collection[str] | None = None) -> tuple[str, ...]:
    """Return what must be decided before the table is published, as sentences.

    Args:
        policy: What is said of the table.
        among: The columns that are published; by default all that the policy names.
    """
    if policy.public:
        return ()
    found: list[str] = []
    if names := unsure_columns(policy, among=among):
        found.append(
            f"The policy is unsure about {_some(names)}. Decide the role, and delete `unsure: true`."
        )
    if names := unprotected_columns(policy, among=among):
        found.append(
            f"No criterion protects the sensitive {_some(names)}. Ask for l-diversity (--l 2) or "
            "t-closeness, or state a `tolerance` for homogeneity in the policy."
        )
    return tuple(found)


def unsure_columns(policy: Table, *, among: Collection[str] | None = None) -> list[str]:
    """Return the columns whose role was guessed and not confirmed; identifiers are not published."""
    return [
        column.name
        for column in policy.columns
        if column.unsure
        and column.role is not Role.IDENTIFIER
        and (among is None or column.name in among)
    ]


def unprotected_columns(policy: Table, *, among: Collection[str] | None = None) -> list[str]:
    """Return the sensitive columns that no criterion is about, unless a tolerance is stated."""
    if any(name in policy.tolerance for name in _ABOUT_SECRETS):
        return []
    protected = {getattr(criterion, "column", None) for criterion in policy.criteria}
    return [
        name
        for name in policy.with_role(Role.SENSITIVE)
        if name not in protected and (among is None or name in among)
    ]


def _some(names: Sequence[str]) -> str:
    shown = [f"'{name}'" for name in names[:_NAMED]]
    if len(names) > _NAMED:
        shown.append(f"{len(names) - _NAMED:,} more")
    start = "columns " if len(names) > 1 else "column "
    return start + (f"{', '.join(shown[:-1])} and {shown[-1]}" if len(shown) > 1 else shown[0])
