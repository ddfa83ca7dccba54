"""The vault of a server: sealed secrets, the file's key, and encrypted columns of sessions."""

from __future__ import annotations

import logging
from datetime import datetime
from pathlib import Path

from sqlglot import exp

from discreet.engines.databases.database import Database
from discreet.errors import StatementFailed
from discreet.guard.access.authority import Relation
from discreet.guard.control import ControlStore
from discreet.guard.vault.authentication import open_control
from discreet.guard.vault.functions import EncryptionFunctions
from discreet.guard.vault.key_services import KeyServiceAddress, read_server_key
from discreet.guard.vault.keys import KIND, KeyAction, get_key
from discreet.guard.vault.secrets import FILE_KEY, database_key
from discreet.guard.vault.session_keys import UnlockedKeys
from discreet.server.gateway.ciphers import SessionCiphers
from discreet.sql import build

_log = logging.getLogger("discreet.server")


class SessionVault:
    """What the server's key encrypts; without a key file nothing is encrypted at rest."""

    def __init__(
        self,
        control: ControlStore,
        key_file: Path | None,
        *,
        at: datetime,
        service: KeyServiceAddress | None = None,
    ) -> None:
        self._server = None if key_file is None else read_server_key(key_file, service)
        self._act = KeyAction("server", at)
        self._plain = control
        self.documents, self.seal = open_control(control, self._server, act=self._act)
        self._functions = EncryptionFunctions()
        self._has_functions = self.is_out_of_engine = False

    def file_key(self, path: Path) -> bytes | None:
        """Return the key of the database file, None if it is not encrypted."""
        if self._server is None:
            return None
        if path.exists() and self._plain.get(KIND, FILE_KEY) is None:
            _log.warning("%s was created before there was a key, and is not encrypted", path.name)
            return None
        return database_key(self._plain, self._server, act=self._act).encode()

    @property
    def has_keys(self) -> bool:
        """Whether there may be encrypted columns, so that no plain value may reach the disk."""
        return self._server is not None or bool(self._plain.names(KIND))

    def serve(self, database: Database) -> None:
        """Register the functions that decrypt and encrypt cells, before the first session."""
        if database.embedded is not None:
            self._functions.register(database.embedded.add_function)
            self._has_functions = True
        else:
            self.is_out_of_engine = database.is_writable

    def unlocked(self) -> UnlockedKeys:
        """Return the keys of a new session: only those in the server's custody."""
        return UnlockedKeys(self._plain, self._server)

    def ciphers(self, keys: UnlockedKeys) -> SessionCiphers:
        """Return the encrypted columns of a new session."""
        return SessionCiphers(keys, self._functions)

    def has_key(self, key_id: str) -> bool:
        """Whether there is a key that was not destroyed."""
        return self.is_known(key_id) and get_key(self._plain, key_id).state == "active"

    def is_known(self, key_id: str) -> bool:
        """Whether there is or was a key of this name."""
        return self._plain.get(KIND, key_id) is not None

    def require_cells(self, database: Database) -> None:
        """Refuse encrypted columns where nothing can be written."""
        if not self._has_functions and not self.is_out_of_engine:
            raise StatementFailed("0A000", f"columns are not encrypted in {database.name}")
        if database.embedded is not None and not database.embedded.seals_spill:
            raise StatementFailed(
                "55000",
                "the server was started without keys, and may write decrypted values to the disk",
                hint="Restart it: with keys, it encrypts spilled data.",
            )

    def source(self, ciphers: SessionCiphers, relation: Relation) -> exp.Query:
        """Return how a table with encrypted columns is read: a locked column fails on use."""
        if not self._has_functions:
            raise StatementFailed(
                "0A000", f'"{relation.name}" has encrypted columns, which cannot be read here'
            )
        columns = [
            build.column(column.name)
            if column.key is None
            else build.alias_as(ciphers.decrypt(relation, column), column.name)
            for column in relation.columns
        ]
        return build.select(*columns, source=build.table(*relation.physical))
