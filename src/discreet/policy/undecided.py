"""Open points of a policy: undecided columns, and sensitive columns that nothing protects."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from discreet.policy.attack_tolerance import DEFAULT, tolerance_of_attack
from discreet.policy.model import ColumnRole, TablePolicy

_NAMED = 5
# The share of people with one value from which a sensitive column is nearly constant.
NEARLY_CONSTANT = 0.95
_LEAVE_OUT = "Leave the column out, or state a `tolerance` of 100% for homogeneity in the policy."
# Stating a tolerance for one of these decides how much of a sensitive column may be revealed.
_ABOUT_SECRETS = ("homogeneity", "inference", "skewness", DEFAULT)


def find_undecided(
    policy: TablePolicy,
    *,
    among: Collection[str] | None = None,
    modal_shares: Mapping[str, float] | None = None,
) -> tuple[str, ...]:
    """Return what must be decided before the table is published, as sentences.

    Args:
        policy: The table's policy.
        among: The columns that are published; by default all that the policy names.
        modal_shares: The share of people with the most frequent value of each sensitive column, among
            those with a known one, if measured.
    """
    if policy.public:
        return ()
    found = [*find_unsure(policy, among=among)]
    if names := unprotected_columns(policy, among=among):
        found.append(
            f"No criterion protects the sensitive {_name_columns(names)}. Ask for l-diversity (--l 2) or "
            "t-closeness, or state a `tolerance` for homogeneity in the policy."
        )
    for name, share in nearly_constant_columns(policy, modal_shares or {}).items():
        if share < 1:
            learned = (
                f"'{name}' has one value for {100 * share:.1f} % of people in the whole release"
            )
            found.append(f"{learned}: publishing it reveals it for nearly all people. {_LEAVE_OUT}")
        else:
            learned = f"'{name}' has one value in the whole release"
            found.append(f"{learned}: publishing it reveals it for all people. {_LEAVE_OUT}")
    return tuple(found)


def find_unsure(policy: TablePolicy, *, among: Collection[str] | None = None) -> tuple[str, ...]:
    """Return that roles of published columns were guessed and not confirmed, as a sentence."""
    names = unsure_columns(policy, among=among)
    if policy.public or not names:
        return ()
    return (
        f"The policy is unsure about {_name_columns(names)}. Decide the role, and delete `unsure: true`.",
    )


def nearly_constant_columns(
    policy: TablePolicy, modal_shares: Mapping[str, float]
) -> Mapping[str, float]:
    """Return the sensitive columns with nearly one value, unless that is tolerated.

    Hardly any class reveals more than the whole does, so that criteria relative to it, and attacks on
    classes, find next to nothing.
    """
    accepted = tolerance_of_attack(policy.tolerance, "homogeneity") or 0.0
    return {
        name: share
        for name in policy.with_role(ColumnRole.SENSITIVE)
        if (share := modal_shares.get(name, 0.0)) >= NEARLY_CONSTANT and share > accepted
    }


def unsure_columns(policy: TablePolicy, *, among: Collection[str] | None = None) -> list[str]:
    """Return the columns whose role was guessed and not confirmed; identifiers are not published."""
    return [
        column.name
        for column in policy.columns
        if column.unsure
        and not column.role.names_people
        and (among is None or column.name in among)
    ]


def unprotected_columns(policy: TablePolicy, *, among: Collection[str] | None = None) -> list[str]:
    """Return the sensitive columns that no criterion limits, unless a tolerance is stated."""
    if any(name in policy.tolerance for name in _ABOUT_SECRETS):
        return []
    protected = {
        getattr(criterion, "column", None)
        for criterion in policy.criteria
        if not criterion.is_vacuous
    }
    return [
        name
        for name in policy.with_role(ColumnRole.SENSITIVE)
        if name not in protected and (among is None or name in among)
    ]


def _name_columns(names: Sequence[str]) -> str:
    shown = [f"'{name}'" for name in names[:_NAMED]]
    if len(names) > _NAMED:
        shown.append(f"{len(names) - _NAMED:,} more")
    start = "columns " if len(names) > 1 else "column "
    return start + (f"{', '.join(shown[:-1])} and {shown[-1]}" if len(shown) > 1 else shown[0])
