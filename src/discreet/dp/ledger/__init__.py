"""The book of what was told: budget is reserved before data is read, and no crash gives it back."""

from discreet.dp.ledger.book import Ledger
from discreet.dp.ledger.records import Account, Amount, Entry, Remaining, Reservation, Source

__all__ = ["Account", "Amount", "Entry", "Ledger", "Remaining", "Reservation", "Source"]
