"""Budgets as metrics show them: by labels that disclose no name of an account."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from discreet.dp.ledger.ledger import Ledger
from discreet.dp.ledger.records import RemainingBudget, SpentAmount
from discreet.errors import DiscreetError
from discreet.guard.journal import Journal
from discreet.server.observe.metrics import ServerMetrics


@dataclass(frozen=True)
class LabeledBudget:
    """What an account has left, and the label by which metrics name it."""

    label: str
    budget: RemainingBudget


def watch_budgets(
    metrics: ServerMetrics, ledger: Ledger, journal: Journal, *, is_named: bool
) -> None:
    """Report what is left of budgets in the metrics, by names of accounts or by labels."""
    metrics.watch_budgets(lambda: _budget_shares(ledger, journal, is_named=is_named))


def labeled_budgets(ledger: Ledger, journal: Journal) -> list[LabeledBudget]:
    """Return what every account that was ever charged has left, with its label."""
    found = ledger.remaining(ledger.accounts())
    return [LabeledBudget(_account_label(journal, budget.name), budget) for budget in found]


def _account_label(journal: Journal, name: str) -> str:
    """Return a label that only who has the journal's key can make: names of accounts name people."""
    return journal.fingerprint(f"account {name}")[:16]


def _budget_shares(
    ledger: Ledger, journal: Journal, *, is_named: bool
) -> Iterator[tuple[str, float, float]]:
    try:
        found = labeled_budgets(ledger, journal)
    except DiscreetError:  # readiness says that it cannot be reached
        return
    for item in found:
        label = item.budget.name if is_named else item.label
        yield label, _share_left(item.budget.epsilon), _share_left(item.budget.delta)


def _share_left(amount: SpentAmount) -> float:
    return float(amount.left / amount.limit) if amount.limit else 0.0
