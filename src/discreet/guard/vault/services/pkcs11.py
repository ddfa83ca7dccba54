"""PKCS#11: an HSM, a smart card or SoftHSM holds an AES key that cannot be taken out.

The address is a URI as in RFC 7512: `pkcs11:token=clinic;object=discreet`.
"""

from __future__ import annotations

import secrets
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import unquote

from discreet.errors import InvalidKey, MissingExtra, WrongUsage
from discreet.guard.vault.key_services import KeyServiceAddress, KeyServiceSpec
from discreet.guard.vault.wrapping import read_key_bytes

_NONCE_BYTES = 12
_TAG_BITS = 128


class Pkcs11Key:
    """An AES key in a token; it encrypts with GCM."""

    def __init__(self, key: Any) -> None:
        self._key = key

    def encrypt(self, content: bytes, *, about: bytes) -> bytes:
        """Return `content` encrypted and bound to its purpose."""
        import pkcs11

        nonce = secrets.token_bytes(_NONCE_BYTES)
        return nonce + bytes(
            self._key.encrypt(
                content,
                mechanism=pkcs11.Mechanism.AES_GCM,
                mechanism_param=pkcs11.GCMParams(nonce, about, _TAG_BITS),
            )
        )

    def decrypt(self, sealed: bytes, *, about: bytes) -> bytes:
        """Return what was encrypted."""
        import pkcs11

        try:
            return bytes(
                self._key.decrypt(
                    sealed[_NONCE_BYTES:],
                    mechanism=pkcs11.Mechanism.AES_GCM,
                    mechanism_param=pkcs11.GCMParams(sealed[:_NONCE_BYTES], about, _TAG_BITS),
                )
            )
        except (pkcs11.PKCS11Error, ValueError):
            raise InvalidKey(
                "The HSM cannot decrypt the server's key: another of its keys encrypted it, or the key "
                "file was changed."
            ) from None


@contextmanager
def open_token(address: KeyServiceAddress) -> Generator[Pkcs11Key]:
    """Log in to a token with the PIN in a file, and yield its key."""
    try:
        import pkcs11
    except ImportError:
        raise MissingExtra(what="A key in an HSM (PKCS#11)", extra="pkcs11") from None
    wanted = _parse_address(address.text)
    pin = read_key_bytes(Path(address.option("pin_file"))).decode("utf-8", "replace").strip()
    try:
        module = pkcs11.lib(address.option("module"))
        token = module.get_token(token_label=wanted["token"])
        session = token.open(user_pin=pin)
    except (pkcs11.PKCS11Error, RuntimeError) as error:
        # What the module says may hold its configuration.
        raise InvalidKey(
            f"The token '{wanted['token']}' cannot be opened ({type(error).__name__}). Check module, "
            "token and PIN in key_service of server.yaml."
        ) from None
    with session:
        try:
            key = session.get_key(
                object_class=pkcs11.ObjectClass.SECRET_KEY, label=wanted["object"]
            )
        except pkcs11.PKCS11Error:
            raise InvalidKey(
                f"The token '{wanted['token']}' has no key '{wanted['object']}', or several. Make one, "
                "as described in docs/how-to/keys.md."
            ) from None
        yield Pkcs11Key(key)


def _parse_address(text: str) -> dict[str, str]:
    """Return token and object of an address, which is not repeated in an error: it might hold a PIN."""
    if "pin-value" in text:
        raise WrongUsage(
            "The address in key_service holds a PIN, which others could read. Take it out, and write it "
            "into a file of its own: options: {pin_file: …}"
        )
    parts: dict[str, str] = {}
    for part in text.partition(":")[2].partition("?")[0].split(";"):
        name, _, value = part.partition("=")
        parts[name] = value
    if not parts.get("token") or not parts.get("object"):
        raise WrongUsage(
            "The address in key_service names no token and key. Write pkcs11:token=TOKEN;object=KEY."
        )
    return {name: unquote(parts[name]) for name in ("token", "object")}


SPEC = KeyServiceSpec("pkcs11", "an HSM, a smart card or SoftHSM, through PKCS#11", open_token)
