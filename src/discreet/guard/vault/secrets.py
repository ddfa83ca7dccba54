"""Secrets at rest: the control store's, sealed document by document, and the key of the database file."""

from __future__ import annotations

import base64
import binascii
import json
import os
from collections.abc import Callable, Collection, Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from discreet.errors import InvalidKey, StoreFailed, WrongUsage
from discreet.guard.vault.keys import KIND as KEY_KIND
from discreet.guard.vault.keys import KeyAction, create_key, open_key
from discreet.guard.vault.open_key import OpenKey
from discreet.guard.vault.wrapping import WrappingKey, cipher, frame_parts

if TYPE_CHECKING:
    from discreet.guard.control.documents import Documents

SEALED_KINDS = ("credential", "token", "certificate", "secret")
SECRETS_KEY, FILE_KEY = "discreet/secrets", "discreet/file"
_NONCE = 12


class EncryptedDocuments:
    """Documents whose bodies, of some kinds, are encrypted; their names are not.

    A document of these kinds that is not sealed, or sealed under another name, is refused: write
    access to the store is not enough to insert a password.
    """

    def __init__(
        self, documents: Documents, key: OpenKey, *, kinds: Collection[str] = SEALED_KINDS
    ) -> None:
        self._documents, self._kinds = documents, frozenset(kinds)
        self._cipher = cipher(key.derive("documents"))

    def get(self, kind: str, name: str) -> Mapping[str, Any] | None:
        """Return a document, None if there is none."""
        return self._decrypt_body(kind, name, self._documents.get(kind, name))

    def put(self, kind: str, name: str, body: Mapping[str, Any]) -> None:
        """Store `body` under this kind and name, replacing any previous one."""
        sealed = self._encrypt_body(kind, name, body)
        if sealed is not None:
            self._documents.put(kind, name, sealed)

    def delete(self, kind: str, name: str) -> None:
        """Delete a document, if it exists."""
        self._documents.delete(kind, name)

    def names(self, kind: str) -> list[str]:
        """Return the names of all documents of a kind, in order."""
        return self._documents.names(kind)

    def update(
        self,
        kind: str,
        name: str,
        change: Callable[[Mapping[str, Any] | None], Mapping[str, Any] | None],
    ) -> Mapping[str, Any] | None:
        """Replace a document by the result of `change`, atomically."""

        def around(kept: Mapping[str, Any] | None) -> Mapping[str, Any] | None:
            old = self._decrypt_body(kind, name, kept)
            new = change(old)
            return kept if new == old else self._encrypt_body(kind, name, new)

        return self._decrypt_body(kind, name, self._documents.update(kind, name, around))

    def seal_all(self) -> None:
        """Seal the documents that were written before there was a key."""
        for kind in sorted(self._kinds):
            for name in self.names(kind):
                self._documents.update(
                    kind, name, lambda old, k=kind, n=name: self._ensure_encrypted(k, n, old)
                )
        self._documents.delete("secret-trace", "")  # when it deletes, the store overwrites the rest

    def _ensure_encrypted(
        self, kind: str, name: str, old: Mapping[str, Any] | None
    ) -> Mapping[str, Any] | None:
        return old if old is None or "sealed" in old else self._encrypt_body(kind, name, old)

    def _encrypt_body(
        self, kind: str, name: str, body: Mapping[str, Any] | None
    ) -> Mapping[str, Any] | None:
        if body is None or kind not in self._kinds:
            return body
        written = json.dumps(body, sort_keys=True, allow_nan=False).encode()
        nonce = os.urandom(_NONCE)
        locked = nonce + self._cipher.encrypt(nonce, written, frame_parts("document", kind, name))
        return {"sealed": base64.b64encode(locked).decode("ascii")}

    def _decrypt_body(
        self, kind: str, name: str, kept: Mapping[str, Any] | None
    ) -> Mapping[str, Any] | None:
        if kept is None or kind not in self._kinds:
            return kept
        from cryptography.exceptions import InvalidTag

        try:
            locked = base64.b64decode(kept["sealed"], validate=True)
            about = frame_parts("document", kind, name)
            return json.loads(self._cipher.decrypt(locked[:_NONCE], locked[_NONCE:], about))
        except (KeyError, TypeError, ValueError, binascii.Error, InvalidTag):
            raise StoreFailed(
                f"A secret of the control store ({kind}) was changed, or was encrypted with "
                "another key. Restore the store, or its key file."
            ) from None


def is_sealed(documents: Documents) -> bool:
    """Return whether a store's secrets are sealed, so that the key is required."""
    return documents.get(KEY_KIND, SECRETS_KEY) is not None


def open_secrets(documents: Documents, server: WrappingKey | None, *, act: KeyAction) -> Documents:
    """Return the documents of a server with their secrets sealed; without a key, as they are.

    On first use the key of secrets is created, and existing documents are sealed with it.

    Raises:
        InvalidKey: the secrets are sealed and there is no key, or another one.
    """
    is_new = not is_sealed(documents)
    if server is None:
        if not is_new:
            raise InvalidKey("The secrets of this control store are sealed. Name its key file.")
        return documents
    key = own_key(documents, SECRETS_KEY, server, act=act)
    try:
        sealed = EncryptedDocuments(documents, key)
    finally:
        key.close()
    if is_new:
        sealed.seal_all()
    return sealed


def database_key(documents: Documents, server: WrappingKey, *, act: KeyAction) -> str:
    """Return the key of the embedded database's file, for DuckDB's ENCRYPTION_KEY.

    It is derived from a key of its own. So the server's key can be changed without rewriting the
    database, and destroying that key destroys the database.
    """
    key = own_key(documents, FILE_KEY, server, act=act)
    try:
        return key.derive("database file").hex()
    finally:
        key.close()


def own_key(documents: Documents, key_id: str, server: WrappingKey, *, act: KeyAction) -> OpenKey:
    """Return one of the server's own keys, created on first use."""
    if documents.get(KEY_KIND, key_id) is None:
        with suppress(WrongUsage):  # another gateway was first
            create_key(documents, key_id, server, act=act)
    return open_key(documents, key_id, server)
