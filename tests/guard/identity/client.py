"""The client's side of SCRAM, written from RFC 5802 and apart from the server's."""

from __future__ import annotations

import base64
import hashlib
import hmac
import os


class Client:
    """Talks SCRAM-SHA-256 with a password."""

    def __init__(
        self, password: str, *, flag: str = "n", binding: bytes = b"", nonce: str | None = None
    ) -> None:
        self.password, self.header, self.binding = password, f"{flag},,", binding
        self.nonce = nonce or base64.b64encode(os.urandom(18)).decode()
        self.bare = f"n=,r={self.nonce}"
        self.salted = self.transcript = b""

    def first(self) -> bytes:
        return (self.header + self.bare).encode()

    def final(self, answer: bytes) -> bytes:
        attributes = dict(part.split("=", 1) for part in answer.decode().split(","))
        assert attributes["r"].startswith(self.nonce)
        assert len(attributes["r"]) > len(self.nonce)
        salt, rounds = base64.b64decode(attributes["s"]), int(attributes["i"])
        self.salted = hashlib.pbkdf2_hmac("sha256", self.password.encode(), salt, rounds)
        channel = base64.b64encode(self.header.encode() + self.binding).decode()
        without = f"c={channel},r={attributes['r']}"
        self.transcript = f"{self.bare},{answer.decode()},{without}".encode()
        key = hmac.digest(self.salted, b"Client Key", "sha256")
        signature = hmac.digest(hashlib.sha256(key).digest(), self.transcript, "sha256")
        proof = bytes(a ^ b for a, b in zip(key, signature, strict=True))
        return f"{without},p={base64.b64encode(proof).decode()}".encode()

    def is_server(self, answer: bytes) -> bool:
        key = hmac.digest(self.salted, b"Server Key", "sha256")
        signature = hmac.digest(key, self.transcript, "sha256")
        return answer == b"v=" + base64.b64encode(signature)
