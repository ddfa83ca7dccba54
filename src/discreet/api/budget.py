"""`discreet.budget`: what was spent, on what, and what is left."""

from __future__ import annotations

from pathlib import Path

from discreet.answer.ledgers import ledger_location
from discreet.answer.spending import Spending, read_spending
from discreet.dp.ledger.ledger import Ledger
from discreet.errors import SourceNotFound


def budget(
    ledger: str | Path | None = None,
    *,
    account: str | None = None,
    entries: int = 10,
    verify: bool = False,
) -> Spending:
    """Return what each budget of a ledger has spent, what is left of it, and the latest entries.

    Args:
        ledger: A file or a `postgresql://` URL; by default `DISCREET_LEDGER`, else this user's file.
        account: Only entries of this account.
        entries: How many of the latest entries.
        verify: Check the chain of entries and every sum; `verified` counts them.

    Raises:
        SourceNotFound: There is no ledger yet.
        LedgerFailed: It was changed, or cannot be read.

    >>> import discreet
    >>> with discreet.open("patients.csv", "policy.yaml", ledger="ledger.sqlite") as curator:
    ...     answer = curator.ask("SELECT count(*) AS n FROM patients", epsilon="0.5")
    >>> budget("ledger.sqlite").accounts[0]["epsilon"]["spent"]
    0.5
    """
    place = find_ledger(ledger)
    book = Ledger(place)
    try:
        verified = book.verify() if verify else None
        return read_spending(book, account, entries=entries, verified=verified)
    finally:
        book.close()


def find_ledger(ledger: str | Path | None) -> str | Path:
    """Return where a ledger is that exists.

    Raises:
        SourceNotFound: There is no such file.
    """
    place = ledger or ledger_location("")
    if "://" not in str(place) and not Path(place).exists():
        raise SourceNotFound(
            f"There is no ledger at {place}. It is made by the first question: `discreet ask`."
        )
    return place
