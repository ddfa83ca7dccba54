"""Noise and its price: mechanisms return a value and an event, accounting prices events, the ledger keeps them."""
