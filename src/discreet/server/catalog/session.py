"""What catalog results depend on besides the catalog: the user and the session."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass

from discreet.errors import StatementFailed
from discreet.guard.access.authority import DEFAULT_SCHEMA, Subject
from discreet.server.catalog.lookups import Path, split_name
from discreet.server.catalog.standard import SYSTEM

# Settings that clients read, and that have no effect here.
_FIXED: Mapping[str, str] = {
    "block_size": "8192",
    "default_table_access_method": "heap",
    "default_tablespace": "",
    "default_transaction_deferrable": "off",
    "jit": "off",
    "lc_collate": "C.UTF-8",
    "lc_ctype": "C.UTF-8",
    "lc_messages": "C.UTF-8",
    "lc_monetary": "C.UTF-8",
    "lc_numeric": "C.UTF-8",
    "lc_time": "C.UTF-8",
    "max_connections": "100",
    "max_function_args": "100",
    "max_identifier_length": "63",
    "max_index_keys": "32",
    "password_encryption": "scram-sha-256",
    "row_security": "on",
    "session_authorization": "",
    "wal_level": "replica",
}


@dataclass(frozen=True)
class CatalogSession:
    """A session, as far as the catalog shows it."""

    subject: Subject
    database: str
    version: str
    settings: Mapping[str, str]
    schemas: frozenset[str]  # those the role may know of

    @property
    def path(self) -> Path:
        """Return the search path."""
        text = self.setting("search_path", optional=True) or DEFAULT_SCHEMA
        named = [split_name(part.strip()) for part in text.split(",")]
        words = [parts[0] for parts in named if parts]
        found = [self.subject.user if word == "$user" else word for word in words]
        return tuple(dict.fromkeys(word for word in found if word in self.schemas))

    @property
    def full_path(self) -> Path:
        """Return the search path including the implicit pg_catalog."""
        return self.path if SYSTEM in self.path else (SYSTEM, *self.path)

    def all_settings(self) -> dict[str, str]:
        """Return every setting by name."""
        mine = {name.lower() for name in (*self.settings, *self.subject.settings)}
        known = {name: value for name, value in _FIXED.items() if name not in mine}
        spelled = {name.lower(): name for name in self.settings}
        own = {spelled.get(name, name): value for name, value in self.subject.settings.items()}
        return known | dict(self.settings) | own

    def setting(self, name: str, *, optional: bool = False) -> str | None:
        """Return a setting.

        Raises:
            StatementFailed: 42704, there is no such setting.
        """
        known = {key.lower(): value for key, value in self.all_settings().items()}
        found = known.get(name.lower())
        if found is None and not optional:
            raise StatementFailed("42704", f'unrecognized configuration parameter "{name}"')
        return found

    @property
    def process(self) -> int:
        """Return a number for pg_backend_pid."""
        return os.getpid()
