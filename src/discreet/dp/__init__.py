"""Differential privacy: mechanisms return events, accounting prices them, the ledger keeps them."""
