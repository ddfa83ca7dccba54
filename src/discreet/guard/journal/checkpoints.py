"""Signed checkpoints: the number of entries and the root over all of them, to be kept elsewhere.

The form is that of signed notes with a checkpoint as transparency logs write it (C2SP), so that their
witnesses can read and sign it, too.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING

from discreet.errors import WrongUsage
from discreet.guard.journal.event import format_event_time

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import (
        Ed25519PrivateKey,
        Ed25519PublicKey,
    )

_SIGNED = re.compile(r"(.*?\n)\n((?:— [^\n]+\n)+)", re.DOTALL)
_ED25519 = b"\x01"


@dataclass(frozen=True)
class Checkpoint:
    """The signed content: the journal `origin` had `size` entries with this root and last hash."""

    origin: str
    size: int
    root: bytes
    hash: str
    at: datetime
    note: str = ""  # the whole text with its signatures
    heads: Mapping[str, str] = field(default_factory=dict[str, str], hash=False)

    @property
    def text(self) -> str:
        """What the signature covers."""
        root = base64.b64encode(self.root).decode()
        return (
            f"{self.origin}\n{self.size}\n{root}\nchain {self.hash}\ntime {format_event_time(self.at)}\n"
            + "".join(f"head {name} {head}\n" for name, head in sorted(self.heads.items()))
        )


def sign_checkpoint(checkpoint: Checkpoint, key: Ed25519PrivateKey) -> str:
    """Return the checkpoint as a text with its signature."""
    text = checkpoint.text
    identity = _key_identity(checkpoint.origin, key.public_key())
    signature = base64.b64encode(identity + key.sign(text.encode())).decode()
    return f"{text}\n— {checkpoint.origin} {signature}\n"


def read_checkpoints(text: str, *, place: str) -> list[Checkpoint]:
    """Return the checkpoints of a text that holds one after the other.

    Raises:
        WrongUsage: it holds something else.
    """
    found: list[Checkpoint] = []
    at = 0
    while text[at:].strip():
        match = _SIGNED.match(text, at)
        if match is None:
            raise _unreadable_checkpoints(place)
        found.append(_read(match[0], match[1], place=place))
        at = match.end()
    if not found:
        raise _unreadable_checkpoints(place)
    return found


def is_signed(checkpoint: Checkpoint, key: Ed25519PublicKey) -> bool:
    """Return whether one of the note's signatures is that of `key`."""
    from cryptography.exceptions import InvalidSignature

    text, _, signatures = checkpoint.note.partition("\n\n")
    identity = _key_identity(checkpoint.origin, key)
    for line in signatures.splitlines():
        written = line.rpartition(" ")[2]
        try:
            raw = base64.b64decode(written, validate=True)
            if raw[:4] == identity:
                key.verify(raw[4:], f"{text}\n".encode())
                return True
        except (binascii.Error, InvalidSignature):
            continue
    return False


def require_origin(origin: str) -> str:
    """Return `origin` if it can stand in a checkpoint."""
    if not origin or re.search(r"[\s+]", origin):
        raise WrongUsage(
            "A journal's origin is a name without spaces or plus signs. Give one, such as "
            "clinic.example/journal."
        )
    return origin


def _read(note: str, text: str, *, place: str) -> Checkpoint:
    lines = text.splitlines()
    try:
        origin, size, root, chain, time = lines[:5]
        checkpoint = Checkpoint(
            origin,
            int(size),
            base64.b64decode(root, validate=True),
            chain.removeprefix("chain "),
            datetime.fromisoformat(time.removeprefix("time ")),
            note,
            dict(_read_head(line) for line in lines[5:]),
        )
    except ValueError:
        raise _unreadable_checkpoints(place) from None
    if checkpoint.text != text:
        raise _unreadable_checkpoints(place)
    return checkpoint


def _read_head(line: str) -> tuple[str, str]:
    _, name, head = line.split(" ", 2)
    return name, head


def _key_identity(origin: str, key: Ed25519PublicKey) -> bytes:
    raw = key.public_bytes_raw()
    return hashlib.sha256(origin.encode() + b"\n" + _ED25519 + raw).digest()[:4]


def _unreadable_checkpoints(place: str) -> WrongUsage:
    return WrongUsage(
        f"{place} does not hold checkpoints of a journal. Name a file that the server wrote as witness."
    )
