"""SCRAM-SHA-256 and -PLUS, the server's side (RFC 5802, RFC 7677), with PostgreSQL's verifiers."""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
import re
import secrets
import stringprep
import unicodedata
from dataclasses import dataclass, field

from discreet.errors import LoginFailed

MECHANISM = "SCRAM-SHA-256"
MECHANISM_PLUS = "SCRAM-SHA-256-PLUS"
ITERATIONS = 15_000
LEAST_ITERATIONS = 4096  # of a verifier that was made elsewhere
_MOST_ITERATIONS = 10_000_000
_BINDING = "tls-server-end-point"
_SALT_BYTES = 16
_NONCE_BYTES = 18
_LONGEST_NONCE = 512
_VERIFIER = re.compile(
    r"SCRAM-SHA-256\$(\d{1,8}):([A-Za-z0-9+/=]+)\$([A-Za-z0-9+/=]+):([A-Za-z0-9+/=]+)"
)
_NONCE = re.compile(r"[!-+\--~]+")  # printable, without the comma


@dataclass(frozen=True)
class Verifier:
    """What the server stores instead of a password: it can check a proof but not make one."""

    iterations: int
    salt: bytes
    stored_key: bytes = field(repr=False)
    server_key: bytes = field(repr=False)

    def text(self) -> str:
        """Return it as PostgreSQL writes it into `pg_authid.rolpassword`."""
        salt, stored, server = map(_encode_base64, (self.salt, self.stored_key, self.server_key))
        return f"{MECHANISM}${self.iterations}:{salt}${stored}:{server}"


def read_verifier(text: str) -> Verifier | None:
    """Return a text as a verifier, None if it is not one."""
    found = _VERIFIER.fullmatch(text)
    if found is None:
        return None
    try:
        salt, stored, server = (
            base64.b64decode(part, validate=True) for part in found.groups()[1:]
        )
    except binascii.Error:
        return None
    iterations = int(found[1])
    if not salt or len(stored) != 32 or len(server) != 32 or not 0 < iterations <= _MOST_ITERATIONS:
        return None
    return Verifier(iterations, salt, stored, server)


def make_verifier(
    password: str, *, iterations: int = ITERATIONS, salt: bytes | None = None
) -> Verifier:
    """Return the verifier of a password, with a random salt.

    >>> make_verifier("pencil", iterations=4096, salt=bytes(16)).text()[:37]
    'SCRAM-SHA-256$4096:AAAAAAAAAAAAAAAAAA'
    """
    salt = secrets.token_bytes(_SALT_BYTES) if salt is None else salt
    salted = hashlib.pbkdf2_hmac("sha256", normalize_password(password).encode(), salt, iterations)
    stored = hashlib.sha256(_compute_mac(salted, b"Client Key")).digest()
    return Verifier(iterations, salt, stored, _compute_mac(salted, b"Server Key"))


def mock_verifier(user: str, *, secret: bytes, iterations: int = ITERATIONS) -> Verifier:
    """Return the verifier for an unknown user: always the same salt, and no matching password."""
    name = user.encode("utf-8", "surrogatepass")
    salt = _compute_mac(secret, b"salt\0" + name)[:_SALT_BYTES]
    return Verifier(
        iterations,
        salt,
        _compute_mac(secret, b"stored\0" + name),
        _compute_mac(secret, b"server\0" + name),
    )


def matches_verifier(verifier: Verifier, password: str) -> bool:
    """Return whether a verifier was made from a password in clear."""
    made = make_verifier(password, iterations=verifier.iterations, salt=verifier.salt)
    return hmac.compare_digest(made.stored_key, verifier.stored_key)


def normalize_password(password: str) -> str:
    """Return a password in SASLprep form or, as PostgreSQL does, unchanged where that is impossible."""
    prepared = saslprep(password)
    return password if prepared is None else prepared


def saslprep(text: str) -> str | None:
    r"""Return a text prepared by RFC 4013; None if it has prohibited or unassigned characters.

    >>> saslprep("I\N{SOFT HYPHEN}X"), saslprep("\N{FEMININE ORDINAL INDICATOR}"), saslprep("\x07")
    ('IX', 'a', None)
    """
    mapped = "".join(
        " " if stringprep.in_table_c12(letter) else letter
        for letter in text
        if not stringprep.in_table_b1(letter)
    )
    prepared = unicodedata.normalize("NFKC", mapped)
    if not prepared or any(_is_prohibited(letter) for letter in prepared):
        return None
    if any(map(stringprep.in_table_d1, prepared)) and (
        any(map(stringprep.in_table_d2, prepared))
        or not stringprep.in_table_d1(prepared[0])
        or not stringprep.in_table_d1(prepared[-1])
    ):
        return None
    return prepared


_PROHIBITED = (
    stringprep.in_table_a1,
    stringprep.in_table_c12,
    stringprep.in_table_c21_c22,
    stringprep.in_table_c3,
    stringprep.in_table_c4,
    stringprep.in_table_c5,
    stringprep.in_table_c6,
    stringprep.in_table_c7,
    stringprep.in_table_c8,
    stringprep.in_table_c9,
)


def _is_prohibited(letter: str) -> bool:
    return any(table(letter) for table in _PROHIBITED)


class ScramConversation:
    """One exchange, whose two steps run once and in order.

    Args:
        verifier: That of the user, or a mock.
        binding: The hash of the server's certificate under TLS; then PLUS is offered.
        nonce: The server's part of the nonce; only tests give one.
    """

    def __init__(
        self, verifier: Verifier, *, binding: bytes | None = None, nonce: str | None = None
    ) -> None:
        self._verifier, self._binding = verifier, binding
        self._nonce = nonce or _encode_base64(secrets.token_bytes(_NONCE_BYTES))
        self._expected: bytes | None = None  # the channel binding that the client must send
        self._transcript = ""
        plus = () if binding is None else (MECHANISM_PLUS,)
        self.mechanisms: tuple[str, ...] = (*plus, MECHANISM)

    def first(self, mechanism: str, message: bytes) -> bytes:
        """Return the server's first message for the client's."""
        if self._transcript or mechanism not in self.mechanisms:
            raise _malformed_message()
        flag, identity, bare = _split(_decode_text(message), 3)
        if identity:  # acting as another role needs SET ROLE
            raise _malformed_message()
        self._expected = self._expected_channel(mechanism, flag)
        user, nonce = _split(bare, 2, exactly=False)
        if not user.startswith("n=") or not nonce.startswith("r="):
            raise _malformed_message()
        nonce = nonce[2:].partition(",")[0]
        if not _NONCE.fullmatch(nonce) or len(nonce) > _LONGEST_NONCE:
            raise _malformed_message()
        self._nonce = nonce + self._nonce
        salt = _encode_base64(self._verifier.salt)
        answer = f"r={self._nonce},s={salt},i={self._verifier.iterations}"
        self._transcript = f"{bare},{answer},"
        return answer.encode()

    def final(self, message: bytes) -> tuple[bool, bytes]:
        """Check the proof; return whether it is correct, and the server's signature if so."""
        expected, self._expected = self._expected, None
        text = _decode_text(message)
        unproven, mark, proof = text.rpartition(",p=")
        parts = unproven.split(",")
        if expected is None or not mark or len(parts) < 2:
            raise _malformed_message()
        if not (parts[0].startswith("c=") and parts[1].startswith("r=")):
            raise _malformed_message()
        channel, shown = _decode_base64(parts[0][2:]), _decode_base64(proof)
        if not hmac.compare_digest(channel, expected):
            raise LoginFailed("SCRAM channel binding check failed", sqlstate="28000")
        if not hmac.compare_digest(parts[1][2:].encode(), self._nonce.encode()):
            raise _malformed_message()
        return self._check_proof((self._transcript + unproven).encode(), shown)

    def _check_proof(self, transcript: bytes, proof: bytes) -> tuple[bool, bytes]:
        if len(proof) != 32:
            raise _malformed_message()
        signature = _compute_mac(self._verifier.stored_key, transcript)
        client_key = bytes(a ^ b for a, b in zip(proof, signature, strict=True))
        is_right = hmac.compare_digest(
            hashlib.sha256(client_key).digest(), self._verifier.stored_key
        )
        answer = (
            b"v=" + _encode_base64(_compute_mac(self._verifier.server_key, transcript)).encode()
        )
        return is_right, answer if is_right else b""

    def _expected_channel(self, mechanism: str, flag: str) -> bytes:
        """Return the channel binding that the client must send, or refuse a downgraded exchange."""
        if mechanism == MECHANISM_PLUS and self._binding is not None:
            if flag != f"p={_BINDING}":
                raise _malformed_message()
            return f"{flag},,".encode() + self._binding
        if flag == "y" and self._binding is not None:
            # The client supports binding and believes that we do not: our offer was removed.
            raise LoginFailed("SCRAM channel binding negotiation error", sqlstate="28000")
        if flag not in ("n", "y"):
            raise _malformed_message()
        return f"{flag},,".encode()


def _malformed_message() -> LoginFailed:
    return LoginFailed("malformed SCRAM message", sqlstate="08P01")


def _decode_text(message: bytes) -> str:
    try:
        return message.decode()
    except UnicodeDecodeError:
        raise _malformed_message() from None


def _split(text: str, count: int, *, exactly: bool = True) -> list[str]:
    """Return the parts between commas; the last one keeps its own commas."""
    parts = text.split(",", count - 1)
    if len(parts) != count or (exactly and not parts[-1]):
        raise _malformed_message()
    return parts


def _decode_base64(text: str) -> bytes:
    try:
        return base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        raise _malformed_message() from None


def _encode_base64(content: bytes) -> str:
    return base64.b64encode(content).decode("ascii")


def _compute_mac(key: bytes, content: bytes) -> bytes:
    return hmac.digest(key, content, "sha256")
