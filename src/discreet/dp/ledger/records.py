"""What goes into the ledger and what comes out of it."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from fractions import Fraction
from typing import Literal

from discreet.dp.budget import Accounting, Budget, Price

State = Literal["reserved", "committed", "limit"]


@dataclass(frozen=True)
class Account:
    """Who pays, out of what, and for which parts of the data.

    `name` is any text, such as `table:patients` or `analyst:alice@patients/2026-05`. `cells` names
    parts such that no unit is in two of them, on all data; None is everything, and so is an
    empty set: what is not proven disjoint is charged everywhere.
    """

    name: str
    budget: Budget
    cells: frozenset[str] | None = None


@dataclass(frozen=True)
class Reservation:
    """The right to answer one question; `answer` is there if it was answered before.

    `is_new` means that this call was charged. Return only what `Ledger.commit` returns: of several
    holders of the same reservation, one answers.
    """

    key: str
    at: datetime
    answer: bytes | None
    is_new: bool


@dataclass(frozen=True)
class LedgerSource:
    """A table that was asked about.

    `accounts` pay for every question about it. `is_declared` means that a policy names its account;
    `sketch` is a sample of keyed hashes of its rows.
    """

    id: str
    accounts: tuple[str, ...]
    label: str
    is_declared: bool
    sketch: bytes


@dataclass(frozen=True)
class SpentAmount:
    """How much of a limit is spent."""

    spent: Fraction
    limit: Fraction

    @property
    def left(self) -> Fraction:
        """What may still be spent; never negative, although a limit may be lowered below the spending."""
        return max(Fraction(0), self.limit - self.spent)


@dataclass(frozen=True)
class RemainingBudget:
    """What an account has left where it has least; `cell` is that part, None for all the rest.

    With accounting `approximate`, `epsilon` and `delta` are what is enforced and `rho` is None. With
    `zcdp`, `rho` is enforced, `delta` is the half of the budget's delta that covers slips, and
    `epsilon` is what the spent rho amounts to at the other half.
    """

    name: str
    accounting: Accounting
    epsilon: SpentAmount
    delta: SpentAmount
    rho: SpentAmount | None
    cell: str | None


@dataclass(frozen=True)
class LedgerEntry:
    """One entry of the ledger: a charge (`reserved`, then `committed`), or a new `limit` of an account."""

    sequence: int
    at: datetime
    account: str
    state: State
    question: str | None
    price: Price | None
    cells: frozenset[str] | None
    budget: Budget | None
