"""Durable stores with a schema version, an identity and a seal: SQLite files or PostgreSQL."""

from discreet.stores.authenticated import AuthenticatedStore, StoreHead

__all__ = ["AuthenticatedStore", "StoreHead"]
