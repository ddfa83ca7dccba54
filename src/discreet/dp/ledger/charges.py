"""The charge of a question to each account, before anything is written; and refusals."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import astuple, dataclass
from fractions import Fraction
from math import floor, log10, sqrt
from typing import TYPE_CHECKING

from discreet.dp.budget import Price
from discreet.dp.ledger.units import NOTHING, Units, cost_in_units, limits_in_units
from discreet.errors import BudgetExceeded, QuestionRefused, WrongUsage

if TYPE_CHECKING:
    from discreet.dp.ledger.records import Account, RemainingBudget, SpentAmount


@dataclass(frozen=True)
class Charge:
    """What one account pays, and what it may have paid at most."""

    account: Account
    cost: Units
    limits: Units


class InsufficientBudget(Exception):
    """An account has too little left; inside the ledger only."""

    def __init__(self, account: Account) -> None:
        self.account = account


def make_charges(
    accounts: Sequence[Account], price: Price, *, room: Price | None = None
) -> list[Charge]:
    """Return what each account pays; with `room`, so much must be left after it.

    Raises:
        QuestionRefused: an account keeps its budget in a currency in which the question has no price.
        WrongUsage: no account is named, or one is named twice.
        InvalidBudget: a budget or a price is outside its range.
    """
    if not accounts:
        raise WrongUsage("No account pays for this question. Name at least one.")
    if len({account.name for account in accounts}) < len(accounts):
        raise WrongUsage("An account is named twice for one question. Name each once.")
    cost = cost_in_units(price)
    for account in accounts:
        _refuse_without_price(account, price)
        if room is not None:
            _refuse_without_price(account, room)
    kept = NOTHING if room is None else cost_in_units(room)
    return [
        Charge(account, cost, limits_in_units(account.budget).leaving(kept)) for account in accounts
    ]


def fingerprint_charges(accounts: Sequence[Account], price: Price) -> str:
    """Return a text that is the same only for the same accounts, cells and price."""
    charged = sorted(
        (account.name, sorted(account.cells) if account.cells else None) for account in accounts
    )
    text = json.dumps([charged, [str(part) for part in astuple(price)]])
    return hashlib.sha256(text.encode()).hexdigest()


def budget_exceeded(price: Price, left: RemainingBudget) -> BudgetExceeded:
    """Return the refusal, with the price, what is left, and what to do."""
    if left.rho is not None:
        own = "" if price.epsilon is None else f"epsilon {_format_amount(price.epsilon)}, which is "
        costs = f"{own}rho {_format_amount(price.rho)}{_format_delta(price.slip)} under zCDP"
        has = f"rho {_format_share(left.rho)}{_format_delta_share(left.delta, price.slip)}"
    else:
        costs = f"epsilon {_format_amount(price.epsilon)}{_format_delta(price.delta)}"
        has = f"epsilon {_format_share(left.epsilon)}{_format_delta_share(left.delta, price.delta)}"
    most = _affordable_price(price, left)
    step = f"Ask again {most} or less, or ask" if most else "Ask"
    return BudgetExceeded(
        f"This question costs {costs}, and account '{left.name}' has {has} left. Nothing was "
        f"spent. {step} the custodian for a larger budget."
    )


def _affordable_price(price: Price, left: RemainingBudget) -> str | None:
    """Return at what epsilon or delta there is room for the question, None if at none."""
    delta = price.delta if left.rho is None else price.slip
    if delta > left.delta.left:
        return f"with delta {_format_amount(left.delta.left)}" if left.delta.left else None
    if left.rho is None:
        return f"at epsilon {_format_amount(left.epsilon.left)}" if left.epsilon.left else None
    if not price.rho or not left.rho.left:
        return None
    share = left.rho.left / price.rho
    if price.epsilon is None:
        # Of Gaussian noise, rho grows faster than epsilon does: a share of one is enough for both.
        return f"with {_format_below(100 * float(share))} % of its epsilon"
    # Of anything else, rho grows with the square of epsilon.
    return f"at epsilon {_format_below(float(price.epsilon) * sqrt(share))}"


def _format_below(value: float) -> str:
    """Return three digits that are no more than `value`."""
    step = 10.0 ** (floor(log10(value)) - 2)
    return f"{floor(value / step) * step:.3g}"


def _refuse_without_price(account: Account, price: Price) -> None:
    if account.budget.accounting == "zcdp" and price.rho is None:
        raise QuestionRefused(
            f"This question has no price under zCDP, in which account '{account.name}' is kept. "
            "Nothing was spent. Ask for other aggregates, or ask the custodian for a budget with "
            "accounting 'approximate'."
        )
    if account.budget.accounting == "approximate" and price.epsilon is None:
        raise QuestionRefused(
            f"Gaussian noise has no epsilon alone, and account '{account.name}' adds up epsilons. "
            "Nothing was spent. Ask with Laplace noise, or ask the custodian for a budget with "
            "accounting 'zcdp'."
        )


def _format_share(amount: SpentAmount) -> str:
    return f"{_format_amount(amount.left)} of {_format_amount(amount.limit)}"


def _format_delta_share(amount: SpentAmount, cost: Fraction) -> str:
    return f" and delta {_format_share(amount)}" if cost else ""


def _format_delta(delta: Fraction) -> str:
    return f" and delta {_format_amount(delta)}" if delta else ""


def _format_amount(amount: Fraction | None) -> str:
    return "without end" if amount is None else f"{float(amount):.12g}"
