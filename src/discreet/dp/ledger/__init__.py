"""The ledger of spent budget: it is reserved before data is read, and no crash returns it."""

from discreet.dp.ledger.ledger import Ledger
from discreet.dp.ledger.records import (
    Account,
    LedgerEntry,
    LedgerSource,
    RemainingBudget,
    Reservation,
    SpentAmount,
)

__all__ = [
    "Account",
    "Ledger",
    "LedgerEntry",
    "LedgerSource",
    "RemainingBudget",
    "Reservation",
    "SpentAmount",
]
