"""Who pays for a question: the table, the policy as a whole, and the analyst, each out of its own budget."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING, Any

from discreet.dp.budget import Budget
from discreet.dp.ledger.records import Account

if TYPE_CHECKING:
    from collections.abc import Iterable
    from datetime import datetime

    from discreet.answer.plan import Plan
    from discreet.answer.rows import Touch
    from discreet.dp.ledger.records import Remaining
    from discreet.policy import answering, model

# What a table has for which nobody declared a budget. Above 10 there is little protection left.
DEFAULT = Budget(Fraction(10), Fraction(1, 100_000))


def accounts_of(
    plan: Plan, policy: model.Policy | None, *, analyst: str | None, at: datetime
) -> list[Account]:
    """Return every account that the plan is charged to."""
    merged = _merged(touch for leaf in plan.leaves for touch in leaf.leaf.rows.touches)
    accounts: list[Account] = []
    for touch in merged:
        said = touch.held.policy.budget if touch.held.policy else None
        cells = _schemed(touch)
        if said is not None:
            accounts += _charged(touch.held.account, said, cells, analyst=analyst, at=at)
        elif policy is None or policy.budget is None:
            accounts.append(Account(touch.held.account, DEFAULT, cells))
    if policy is not None and policy.budget is not None:
        place = policy.path.absolute() if policy.path else "policy"
        accounts += _charged(f"policy:{place}", policy.budget, None, analyst=analyst, at=at)
    return accounts


def _schemed(touch: Touch) -> frozenset[str] | None:
    """Return the parts that are charged, each with how the table is divided: a month is in a quarter."""
    policy = touch.held.policy
    if touch.cells is None or policy is None:
        return None
    kinds = "|".join(str(kind) for kind in policy.partitions.values())
    return frozenset(f"{kinds}|{cell}" for cell in touch.cells)


def _merged(touches: Iterable[Touch]) -> list[Touch]:
    """Return each table once, with all the parts of it that are touched."""
    from dataclasses import replace

    found: dict[str, Touch] = {}
    for touch in touches:
        known = found.get(touch.held.account)
        if known is None:
            found[touch.held.account] = touch
        elif known.cells is None or touch.cells is None:
            found[touch.held.account] = replace(touch, cells=None)
        else:
            found[touch.held.account] = replace(touch, cells=known.cells | touch.cells)
    return list(found.values())


def _charged(
    name: str,
    said: answering.Budget,
    cells: frozenset[str] | None,
    *,
    analyst: str | None,
    at: datetime,
) -> list[Account]:
    accounts = [Account(_in_period(name, said, at), budget_of(said), cells)]
    own = said.analysts.get(analyst or "", said.analysts.get("*"))
    if own is not None:
        place = f"analyst:{analyst or '*'}@{name}"
        accounts.append(Account(_in_period(place, own, at), budget_of(own), cells))
    return accounts


def _in_period(name: str, said: answering.Budget, at: datetime) -> str:
    """Return the account of the period that `at` is in: a renewed budget is a new account."""
    if said.per is None:
        return name
    label = {
        "day": f"{at:%Y-%m-%d}",
        "month": f"{at:%Y-%m}",
        "quarter": f"{at:%Y}-Q{(at.month + 2) // 3}",
        "year": f"{at:%Y}",
        "decade": f"{at.year // 10 * 10}s",
    }[said.per]
    return f"{name}/{label}"


def budget_of(said: answering.Budget) -> Budget:
    """Return a budget of the policy in exact numbers."""
    return Budget(Fraction(said.epsilon), Fraction(said.delta), said.accounting)


def told_remaining(left: list[Remaining]) -> dict[str, Any]:
    """Return what is left in all, and of each account."""
    accounts = {
        item.name: {
            "epsilon": float(item.epsilon.left),
            "delta": float(item.delta.left),
            "spent": float(item.epsilon.spent),
            "limit": float(item.epsilon.limit),
        }
        for item in left
    }
    return {
        "epsilon": min((float(item.epsilon.left) for item in left), default=0.0),
        "delta": min((float(item.delta.left) for item in left), default=0.0),
        "accounts": accounts,
    }
