"""`discreet budget`: what was spent, on what, and what is left."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path, PurePath
from typing import TYPE_CHECKING, Any

import click

from discreet.cli import curator_options, output
from discreet.cli.options import json_option
from discreet.cli.server_folder import key_file_option, open_server_folder
from discreet.errors import WrongUsage

if TYPE_CHECKING:
    from discreet.answer.spending import Spending
    from discreet.dp.ledger.ledger import Ledger

EXAMPLES = """\b
Examples:
  discreet budget                              every account of your ledger
  discreet budget --ledger clinic.ledger --entries 20
  discreet budget --verify                     is the ledger as it was written?
"""

# A reservation that was never committed was interrupted; it is paid for all the same.
_STATES = {"committed": "answered", "reserved": "reserved"}


@click.command(epilog=EXAMPLES)
@curator_options.ledger_option
@click.option("--account", metavar="NAME", help="Only entries of this account.")
@click.option(
    "--entries",
    type=click.IntRange(0),
    default=10,
    show_default=True,
    help="How many of the latest entries to show.",
)
@click.option("--verify", is_flag=True, help="Check the chain of entries and every sum.")
@click.option(
    "--reopen",
    metavar="REASON",
    help="After a restore: reopen budgets. The reason is kept in the ledger.",
)
@key_file_option
@json_option
def command(
    ledger: str | None,
    account: str | None,
    entries: int,
    verify: bool,
    reopen: str | None,
    key_file: Path | None,
    as_json: bool,
) -> None:
    """Show what each budget has spent and what is left of it."""
    from discreet.api.budget import budget

    if reopen is not None:
        _reopen_budgets(ledger, reopen, key_file)
    found = budget(ledger, account=account, entries=entries, verify=verify)
    if as_json:
        output.print_json(found)
    else:
        _print(found)


def _reopen_budgets(ledger: str | None, reason: str, key_file: Path | None) -> None:
    """Let the budgets of a ledger be spent again; the journal of a server records it, too."""
    from discreet.api.budget import find_ledger
    from discreet.dp.ledger.ledger import Ledger

    place = find_ledger(ledger)
    book = Ledger(place)
    try:
        if not reason.strip():
            raise WrongUsage("Say why the budget may be spent again: --reopen REASON")
        if not book.head().closed:
            raise WrongUsage("The budgets of this ledger are not closed. Leave out --reopen.")
        _record_reopening(book, Path(place).absolute().parent, reason, key_file)
    finally:
        book.close()


def _record_reopening(book: Ledger, folder: Path, reason: str, key_file: Path | None) -> None:
    at = datetime.now(UTC)
    if not (folder / "control.sqlite").is_file():
        book.reopen_budget(reason, at=at)
        return
    with open_server_folder(folder, key_file) as served:
        served.record("budget", f"reopen budgets: {reason}")
        if served.seal is not None:
            book.authenticate(served.seal)
        book.reopen_budget(reason, at=at)


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
        # A question is charged to several accounts and listed once.
        once = [list(line) for line in dict.fromkeys(map(tuple, lines))]
        header = ["when (UTC)", "ε", "state", "question"]
        output.print_table(to, "Latest questions", header, once, texts=(0, 2, 3))
    if found.verified is not None:
        output.print_sentence(to, f"\nThe ledger is intact: {found.verified:,} entries verified.")


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
