"""Durable stores with a schema version, an identity and a seal: an SQLite file or a PostgreSQL server."""

from discreet.stores.authenticated import AuthenticatedStore, StoreHead

__all__ = ["AuthenticatedStore", "StoreHead"]
