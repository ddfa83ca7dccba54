"""Authentication of a server's stores under its key: their seal, and its acceptance."""

from __future__ import annotations

from discreet.errors import InvalidKey
from discreet.guard.control import ControlStore
from discreet.guard.control.documents import Documents
from discreet.guard.control.schema import SCHEMA
from discreet.guard.vault.keys import KeyAction
from discreet.guard.vault.secrets import SECRETS_KEY, is_sealed, open_secrets, own_key
from discreet.guard.vault.wrapping import WrappingKey
from discreet.stores.seal import Seal


def open_control(
    control: ControlStore, server: WrappingKey | None, *, act: KeyAction, accept: bool = False
) -> tuple[Documents, Seal | None]:
    """Return the documents with their secrets unsealed, and the seal of the server's stores.

    With a key the control store must match its seal, or be new; with `accept`, it is sealed as it
    is. Without a key it must not be sealed: then nothing is authenticated.

    Raises:
        InvalidKey: the store is sealed with another key, needs a key that is missing, or was written
            without one.
        StoreFailed: the store was changed without the key.
    """
    if server is None:
        if control.is_sealed:
            raise InvalidKey(
                "This control store is sealed with its server's key. Name the key file: --key-file FILE"
            )
        return open_secrets(control, None, act=act), None
    is_new = not is_sealed(control)
    if is_new and control.is_sealed:
        raise SCHEMA.tampered("the key of its seal is missing")
    if is_new and not accept and not control.is_empty():
        raise InvalidKey(
            "This control store was written without a key, so it may have been changed. If you "
            "trust what it holds: discreet key accept DIR --reason TEXT --key-file FILE"
        )
    documents = open_secrets(control, server, act=act)
    seal = _make_seal(control, server, act=act)
    control.authenticate(seal, accept=accept or is_new)
    return documents, seal


def _make_seal(control: ControlStore, server: WrappingKey, *, act: KeyAction) -> Seal:
    key = own_key(control, SECRETS_KEY, server, act=act)
    try:
        return Seal(key.derive("stores"))
    finally:
        key.close()
