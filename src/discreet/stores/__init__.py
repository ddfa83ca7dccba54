"""Where the house's own books are kept: an SQLite file or a PostgreSQL server."""

from discreet.stores.book import Book
from discreet.stores.store import MEMORY, Store, open_store

__all__ = ["MEMORY", "Book", "Store", "open_store"]
