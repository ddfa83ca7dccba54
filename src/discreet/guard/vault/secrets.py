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

    A document of these kinds that is not sealed, or sealed under another name, is refused: whoever
    can write to the store cannot put a password of theirs in.
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
        """Keep `body` under this kind and name, whatever was there before."""
        sealed = self._encrypt_body(kind, name, body)
        if sealed is not None:
            self._documents.put(kind, name, sealed)

    def delete(self, kind: str, name: str) -> None:
        """Forget a document; nothing happens if there is none."""
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
        """Replace a document by what `change` makes of it, in one step that nobody can come between."""

        def around(kept: Mapping[str, Any] | None) -> Mapping[str, Any] | None:
            old = self._decrypt_body(kind, name, kept)
            new = change(old)
            return kept if new == old else self._encrypt_body(kind, name, new)

        return self._decrypt_body(kind, name, self._documents.update(kind, name, around))

    def seal_all(self) -> None:
        """Seal what was written before there was a key."""
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
                f"A secret of the control store ({kind}) is not what was written, or was locked with "
                "another key. Restore the store, or its key file."
            ) from None


def is_sealed(documents: Documents) -> bool:
    """Tell whether a store's secrets are sealed, so that nobody may go on without the key."""
    return documents.get(KEY_KIND, SECRETS_KEY) is not None


def open_secrets(documents: Documents, server: WrappingKey | None, *, act: KeyAction) -> Documents:
    """Return the documents of a server with their secrets sealed; without a key, as they are.

    With the first use the key of secrets is made, and what there is already is sealed with it.

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
    """Return the key of the embedded database's file, as DuckDB's ENCRYPTION_KEY takes it.

    It is derived from a key of its own, so that the server's key can be changed without writing the
    database anew, and the database be destroyed by destroying that key.
    """
    key = own_key(documents, FILE_KEY, server, act=act)
    try:
        return key.derive("database file").hex()
    finally:
        key.close()


def own_key(documents: Documents, key_id: str, server: WrappingKey, *, act: KeyAction) -> OpenKey:
    """Return one of the server's own keys, which is made with its first use."""
    if documents.get(KEY_KIND, key_id) is None:
        with suppress(WrongUsage):  # another gateway was first
            create_key(documents, key_id, server, act=act)
    return open_key(documents, key_id, server)
