"""Who pays for a question: the table, the policy as a whole, and the analyst, each out of its own budget."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from datetime import datetime
from fractions import Fraction
from typing import Any

from discreet.answer.identity import TableIdentity
from discreet.answer.rows import TouchedTable
from discreet.dp.budget import Budget, Price
from discreet.dp.ledger.charges import budget_exceeded
from discreet.dp.ledger.ledger import Ledger
from discreet.dp.ledger.records import Account, RemainingBudget
from discreet.policy import answer_model, model

# The budget of a table that declares none. An epsilon above 10 protects little.
DEFAULT_BUDGET = Budget(Fraction(10), Fraction(1, 100_000))


def charged_accounts(
    touches: Iterable[TouchedTable],
    policy: model.Policy | None,
    *,
    analyst: str | None,
    at: datetime,
    identities: Mapping[str, TableIdentity] | None = None,
) -> list[Account]:
    """Return every account that reading tables is charged to, each once.

    Args:
        touches: What is read.
        policy: The policy, for a budget of all tables together.
        analyst: The analyst who sent the question.
        at: When, for budgets that are renewed.
        identities: The accounts that pay for a table, by its account; by default only its own.
    """
    common = policy.budget if policy else None
    accounts: list[Account] = []
    for touch in _merge_touches(touches):
        declared = touch.held.policy.budget if touch.held.policy else None
        cells = _qualify_cells(touch)
        found = (identities or {}).get(touch.held.account) or TableIdentity((touch.held.account,))
        if not found.is_own:
            # The analyst declares neither the budget, nor its period, nor the division into parts.
            accounts += [Account(name, DEFAULT_BUDGET) for name in found.accounts]
            continue
        own, *others = found.accounts
        budget = exact_budget(declared) if declared else DEFAULT_BUDGET
        if declared is not None:
            accounts += _budget_accounts(own, declared, cells, analyst=analyst, at=at)
        elif common is None:
            accounts.append(Account(own, DEFAULT_BUDGET, cells))
        elif policy is not None and policy.id is None:
            # A copy of the policy elsewhere would have another account of all tables together.
            accounts.append(Account(_period_account(own, common, at), exact_budget(common), cells))
        accounts += [
            Account(name, budget, None if name in found.declared else cells) for name in others
        ]
    if policy is not None and common is not None:
        accounts += _budget_accounts(_policy_account(policy), common, None, analyst=analyst, at=at)
    return _each_once(accounts)


def with_known_budgets(
    accounts: list[Account], ledger: Ledger, identities: Iterable[TableIdentity]
) -> list[Account]:
    """Return accounts with the budgets in the ledger, unless a policy declares another one now.

    A table's budget does not replace the budget of other accounts that its rows were charged to
    before, unless those are undeclared too. A budget that another policy declares under an id is
    never replaced; if it covers a period or several tables, the ledger has no account of the id alone.
    """
    found = list(identities)
    others = {name for one in found for name in one.accounts[1 if one.is_own else 0 :]}
    declared = {name for one in found for name in one.declared}
    if all(account.budget != DEFAULT_BUDGET and account.name not in others for account in accounts):
        return accounts
    known = {account.name: account.budget for account in ledger.accounts()}
    paying: list[Account] = []
    for account in accounts:
        if account.name in declared and account.name not in known:
            continue
        budget = known.get(account.name, account.budget)
        is_kept = account.name in declared or (account.name in others and budget != DEFAULT_BUDGET)
        is_kept = is_kept or account.budget == DEFAULT_BUDGET
        paying.append(replace(account, budget=budget) if is_kept else account)
    return paying


def _policy_account(policy: model.Policy) -> str:
    if policy.id is not None:
        return f"policy:{policy.id}"
    return f"policy:{policy.path.resolve() if policy.path else 'policy'}"


def _each_once(accounts: Iterable[Account]) -> list[Account]:
    """Return each account once, charged for all parts that are named for it."""
    found: dict[str, Account] = {}
    for account in accounts:
        known = found.get(account.name)
        if known is None:
            found[account.name] = account
        elif not known.cells or not account.cells:
            found[account.name] = replace(known, cells=None)
        else:
            found[account.name] = replace(known, cells=known.cells | account.cells)
    return list(found.values())


def _qualify_cells(touch: TouchedTable) -> frozenset[str] | None:
    """Return the parts that are charged, each with how the table is divided: a month is in a quarter."""
    policy = touch.held.policy
    if touch.cells is None or policy is None:
        return None
    kinds = "|".join(str(kind) for kind in policy.partitions.values())
    return frozenset(f"{kinds}|{cell}" for cell in touch.cells)


def _merge_touches(touches: Iterable[TouchedTable]) -> list[TouchedTable]:
    """Return each table once, with all the parts of it that are touched."""
    found: dict[str, TouchedTable] = {}
    for touch in touches:
        known = found.get(touch.held.account)
        if known is None:
            found[touch.held.account] = touch
        elif known.cells is None or touch.cells is None:
            found[touch.held.account] = replace(touch, cells=None)
        else:
            found[touch.held.account] = replace(touch, cells=known.cells | touch.cells)
    return list(found.values())


def _budget_accounts(
    name: str,
    declared: answer_model.BudgetPolicy,
    cells: frozenset[str] | None,
    *,
    analyst: str | None,
    at: datetime,
) -> list[Account]:
    accounts = [Account(_period_account(name, declared, at), exact_budget(declared), cells)]
    own = declared.analysts.get(analyst or "", declared.analysts.get("*"))
    if own is not None:
        place = f"analyst:{analyst or '*'}@{name}"
        accounts.append(Account(_period_account(place, own, at), exact_budget(own), cells))
    return accounts


def _period_account(name: str, declared: answer_model.BudgetPolicy, at: datetime) -> str:
    """Return the account of the period that `at` is in: a renewed budget is a new account."""
    if declared.per is None:
        return name
    label = {
        "day": f"{at:%Y-%m-%d}",
        "month": f"{at:%Y-%m}",
        "quarter": f"{at:%Y}-Q{(at.month + 2) // 3}",
        "year": f"{at:%Y}",
        "decade": f"{at.year // 10 * 10}s",
    }[declared.per]
    return f"{name}/{label}"


def exact_budget(declared: answer_model.BudgetPolicy) -> Budget:
    """Return a budget of the policy in exact numbers."""
    return Budget(Fraction(declared.epsilon), Fraction(declared.delta), declared.accounting)


def summarize_remaining(left: list[RemainingBudget]) -> dict[str, Any]:
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


def require_remaining_budget(left: list[RemainingBudget], price: Price) -> None:
    """Refuse a charge that exceeds what an account has left, before any part of it is charged.

    Raises:
        BudgetExceeded: An account has too little left; nothing was spent.
    """
    for item in left:
        if item.rho is None:
            fits = (price.epsilon or 0) <= item.epsilon.left and price.delta <= item.delta.left
        else:
            fits = (price.rho or 0) <= item.rho.left and price.slip <= item.delta.left
        if not fits:
            raise budget_exceeded(price, item)
