"""Key services: a server's key is stored encrypted, and only the service, such as an HSM, decrypts it.

The service is asked when the server starts. What it gives is in the server's memory from then on.
"""

from __future__ import annotations

import base64
import json
import secrets
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

from discreet.errors import InvalidKey, WrongUsage
from discreet.guard.vault.wrapping import (
    KEY_BYTES,
    WrappingKey,
    new_wrapping_key,
    parse_wrapping_key,
    read_key_bytes,
)
from discreet.registry import LAST, ExtensionRegistry
from discreet.writing import write_private_file

_PURPOSE = b"discreet: a server's own key"


class KeyService(Protocol):
    """Encrypts and decrypts with a key that never leaves it."""

    def encrypt(self, content: bytes, *, about: bytes) -> bytes:
        """Return `content` encrypted and bound to its purpose."""
        ...

    def decrypt(self, sealed: bytes, *, about: bytes) -> bytes:
        """Return what was encrypted.

        Raises:
            InvalidKey: it was encrypted with another key, for another purpose, or has changed.
        """
        ...


@dataclass(frozen=True)
class KeyServiceAddress:
    """Which key of which service: `scheme:…`, and what the service needs beside it."""

    text: str
    options: Mapping[str, str] = field(default_factory=dict[str, str], hash=False)

    @property
    def service(self) -> str:
        """The name of the service."""
        return self.text.partition(":")[0]

    def option(self, name: str) -> str:
        """Return an option that the service needs.

        Raises:
            WrongUsage: it is not given.
        """
        if name not in self.options:
            raise WrongUsage(
                f"The key service '{self.service}' needs an option. Add to key_service in server.yaml: "
                f"options: {{{name}: …}}"
            )
        return self.options[name]


@dataclass(frozen=True)
class KeyServiceSpec:
    """A key service: `open` yields it for as long as its block runs."""

    name: str
    summary: str
    open: Callable[[KeyServiceAddress], AbstractContextManager[KeyService]]
    position: int = LAST


KEY_SERVICES: ExtensionRegistry[KeyServiceSpec] = ExtensionRegistry(
    "discreet.key_services", "key service", KeyServiceSpec, package="discreet.guard.vault.services"
)


def read_server_key(path: Path, address: KeyServiceAddress | None = None) -> WrappingKey:
    """Return the key in a file, decrypted by a service where there is one.

    Raises:
        InvalidKey: the file or the service does not give it.
    """
    content = read_key_bytes(path)
    sealed = _read_sealed(content)
    if address is None:
        if sealed is not None:
            raise InvalidKey(
                f"The key in {path} is encrypted by the service '{sealed.get('service')}'. Name it in "
                "server.yaml under key_service."
            )
        return parse_wrapping_key(content, where=f"The key file {path}")
    if sealed is None or not isinstance(sealed.get("sealed"), str):
        raise InvalidKey(
            f"The key in {path} is not encrypted by a service, as server.yaml says. Make a key with "
            "discreet key create, or take key_service out."
        )
    with KEY_SERVICES.get(address.service).open(address) as service:
        try:
            wrapped = base64.b64decode(sealed["sealed"], validate=True)
        except ValueError:
            raise InvalidKey(f"The key file {path} is damaged. Restore it from a copy.") from None
        return WrappingKey(service.decrypt(wrapped, about=_PURPOSE))


def create_server_key(path: Path, address: KeyServiceAddress | None = None) -> WrappingKey:
    """Write a new random key, encrypted by a service where there is one; no file is replaced."""
    if address is None:
        return new_wrapping_key(path)
    key = WrappingKey(secrets.token_bytes(KEY_BYTES))
    with KEY_SERVICES.get(address.service).open(address) as service:
        sealed = service.encrypt(bytes(key.secret), about=_PURPOSE)
    body = {"service": address.service, "sealed": base64.b64encode(sealed).decode("ascii")}
    write_private_file(path, json.dumps(body).encode() + b"\n", may_exist=False)
    return key


def _read_sealed(content: bytes) -> dict[str, Any] | None:
    if len(content) == KEY_BYTES or not content.startswith(b"{"):
        return None  # a key in clear
    try:
        found: Any = json.loads(content)
    except ValueError:
        return None
    return found if isinstance(found, dict) else None
