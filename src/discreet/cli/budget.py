"""`discreet budget`: what was spent, on what, and what is left."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path, PurePath
from typing import Any

import click

from discreet.cli import curator_options, output
from discreet.cli.options import json_option
from discreet.cli.server_folder import key_file_option, open_server_folder
from discreet.dp.ledger.ledger import Ledger
from discreet.dp.ledger.records import LedgerEntry, LedgerSource, RemainingBudget
from discreet.errors import SourceNotFound, WrongUsage
from discreet.result import Result

EXAMPLES = """\b
Examples:
  discreet budget                              every account of your ledger
  discreet budget --ledger clinic.ledger --entries 20
  discreet budget --verify                     is the book as it was written?
"""

# A reservation that was never committed was interrupted; it is paid for all the same.
_STATES = {"committed": "answered", "reserved": "reserved"}


@dataclass(frozen=True)
class Spending(Result):
    """The accounts of a ledger and its latest entries."""

    accounts: list[dict[str, Any]]
    entries: list[dict[str, Any]]
    verified: int | None


@click.command(epilog=EXAMPLES)
@curator_options.ledger_option
@click.option("--account", metavar="NAME", help="Only entries of this account.")
@click.option(
    "--entries",
    "count",
    type=click.IntRange(0),
    default=10,
    show_default=True,
    help="How many of the latest entries to show.",
)
@click.option("--verify", is_flag=True, help="Check the chain of entries and every sum.")
@click.option(
    "--reopen",
    metavar="REASON",
    help="After a restore: let what is left be spent again. Why is kept in the ledger.",
)
@key_file_option
@json_option
def command(
    ledger: str | None,
    account: str | None,
    count: int,
    verify: bool,
    reopen: str | None,
    key_file: Path | None,
    as_json: bool,
) -> None:
    """Show what each budget has spent and what is left of it."""
    from discreet.answer.ledgers import ledger_location
    from discreet.dp.ledger.ledger import Ledger

    place = ledger or ledger_location("")
    if "://" not in str(place) and not Path(place).exists():
        raise SourceNotFound(
            f"There is no ledger at {place}. It is made by the first question: `discreet ask`."
        )
    book = Ledger(place)
    try:
        if reopen is not None:
            _reopen_budgets(book, place, reopen, key_file)
        verified = book.verify() if verify else None
        left = book.remaining(book.accounts())
        labels = _account_labels(book.source_labels())
        entries = book.entries(account, limit=count)
    finally:
        book.close()
    found = Spending(
        [_account_entry(item, labels) for item in left],
        [_ledger_entry(e) for e in entries],
        verified,
    )
    if as_json:
        output.print_json(found)
    else:
        _print(found)


def _account_labels(sources: list[LedgerSource]) -> dict[str, str]:
    """Return where the table of each account was first found, by the account's name."""
    found: dict[str, str] = {}
    for source in sources:
        for account in source.accounts[:1]:
            found[account] = min(found.get(account, source.label), source.label, key=len)
    return found


def _reopen_budgets(book: Ledger, place: str | Path, reason: str, key_file: Path | None) -> None:
    """Let the budgets of a ledger be spent again; that of a server is told by its journal, too."""
    if not reason.strip():
        raise WrongUsage("Say why the budget may be spent again: --reopen REASON")
    if not book.head().closed:
        raise WrongUsage("The budgets of this ledger are not closed. Leave out --reopen.")
    folder = Path(place).absolute().parent
    at = datetime.now(UTC)
    if not (folder / "control.sqlite").is_file():
        book.reopen_budget(reason, at=at)
        return
    with open_server_folder(folder, key_file) as served:
        served.record("budget", f"reopen budgets: {reason}")
        if served.seal is not None:
            book.authenticate(served.seal)
        book.reopen_budget(reason, at=at)


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


def _print(found: Spending) -> None:
    to = output.console()
    has_parts = any(item["cell"] for item in found.accounts)
    has_tables = any(item["table"] for item in found.accounts)
    header = [
        "account",
        *(["table"] if has_tables else []),
        "ε spent",
        "of ε",
        "ε left",
        "δ left",
        *(["least in"] if has_parts else []),
    ]
    rows = [
        [
            item["account"],
            *([_short_label(item["table"])] if has_tables else []),
            curator_options.format_short(item["epsilon"]["spent"]),
            curator_options.format_short(item["epsilon"]["limit"]),
            curator_options.format_short(item["epsilon"]["left"]),
            curator_options.format_short(item["delta"]["left"]),
            *([_part_label(item["cell"])] if has_parts else []),
        ]
        for item in found.accounts
    ]
    words = [index for index, name in enumerate(header) if name in ("account", "table", "least in")]
    output.print_table(to, "Budgets", header, rows, texts=words)
    lines = [_entry_cells(entry) for entry in found.entries if entry["state"] != "limit"]
    if lines:
        # A question is charged to several accounts and told once.
        once = [list(line) for line in dict.fromkeys(map(tuple, lines))]
        header = ["when (UTC)", "ε", "state", "question"]
        output.print_table(to, "Latest questions", header, once, texts=(0, 2, 3))
    if found.verified is not None:
        output.print_sentence(to, f"\nThe book is whole: {found.verified:,} entries verified.")


def _entry_cells(entry: dict[str, Any]) -> list[str]:
    return [
        entry["at"].replace("T", " ").removesuffix("+00:00"),
        curator_options.format_short(entry["epsilon"]),
        _STATES[entry["state"]],
        entry["question"] or "",
    ]


def _short_label(label: str | None) -> str:
    """Return a file without its folder, a server's table without its URL."""
    return "" if label is None else PurePath(label.rpartition("#")[2]).name


def _part_label(cell: str | None) -> str:
    """Return the part without how its table is divided."""
    return "" if cell is None else cell.rpartition("|")[2]
