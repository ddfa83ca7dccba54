"""What was spent, on what, and what is left: the accounts and latest entries of a ledger."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from discreet.dp.ledger.ledger import Ledger
from discreet.dp.ledger.records import LedgerEntry, LedgerSource, RemainingBudget
from discreet.result import TabularResult


@dataclass(frozen=True)
class Spending(TabularResult):
    """The accounts of a ledger and its latest entries."""

    _records: ClassVar[str] = "accounts"

    accounts: list[dict[str, Any]]
    entries: list[dict[str, Any]]
    verified: int | None


def read_spending(
    ledger: Ledger, account: str | None = None, *, entries: int = 10, verified: int | None = None
) -> Spending:
    """Return the accounts of a ledger and its latest entries, of one account or of all."""
    left = ledger.remaining(ledger.accounts())
    labels = _account_labels(ledger.source_labels())
    return Spending(
        [_account_entry(item, labels) for item in left],
        [_ledger_entry(entry) for entry in ledger.entries(account, limit=entries)],
        verified,
    )


def _account_labels(sources: list[LedgerSource]) -> dict[str, str]:
    """Return where the table of each account was first found, by the account's name."""
    found: dict[str, str] = {}
    for source in sources:
        for account in source.accounts[:1]:
            found[account] = min(found.get(account, source.label), source.label, key=len)
    return found


def _account_entry(item: RemainingBudget, labels: Mapping[str, str]) -> dict[str, Any]:
    table = item.name.rpartition("@")[2].partition("/")[0]
    return {
        "account": item.name,
        "table": labels.get(item.name, labels.get(table)),
        "accounting": item.accounting,
        "epsilon": _amount_entry(item.epsilon),
        "delta": _amount_entry(item.delta),
        "rho": None if item.rho is None else _amount_entry(item.rho),
        "cell": item.cell,
    }


def _amount_entry(amount: Any) -> dict[str, float]:
    return {
        "spent": float(amount.spent),
        "limit": float(amount.limit),
        "left": float(amount.left),
    }


def _ledger_entry(entry: LedgerEntry) -> dict[str, Any]:
    price = entry.price
    return {
        "at": entry.at.isoformat(timespec="seconds"),
        "account": entry.account,
        "state": entry.state,
        "question": entry.question,
        "epsilon": None if price is None or price.epsilon is None else float(price.epsilon),
        "delta": None if price is None else float(price.delta),
        "cells": None if entry.cells is None else sorted(entry.cells),
    }
