"""SCRAM by the vectors of the RFCs, against a client of our own, libpq, and a real PostgreSQL."""

from __future__ import annotations

import base64
import contextlib
import hashlib
import socket
import struct
import threading
from typing import TYPE_CHECKING

import pytest
from tests.guard.identity.client import Client
from tests.guard.identity.conftest import issue, server_context

from discreet.errors import LoginFailed
from discreet.guard.identity import scram
from discreet.guard.identity.scram import ScramConversation, make_verifier

if TYPE_CHECKING:
    import ssl
    from pathlib import Path

PLUS = "p=tls-server-end-point"
BINDING = hashlib.sha256(b"certificate").digest()
VERIFIER = make_verifier("pencil", iterations=4096)


def talk(client: Client, server: ScramConversation, mechanism: str = scram.MECHANISM):
    answer = server.first(mechanism, client.first())
    return server.final(client.final(answer))


def test_the_exchange_of_rfc_7677_is_reproduced():
    salt = base64.b64decode("W22ZaJ0SNY7soEsUEjb6gQ==")
    server = ScramConversation(
        make_verifier("pencil", iterations=4096, salt=salt), nonce="%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0"
    )
    first = server.first(scram.MECHANISM, b"n,,n=user,r=rOprNGfwEbeRWgbNEkqO")
    nonce = "rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0"
    assert first.decode() == f"r={nonce},s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4096"
    proof = "dHzbZapWIk4jUhN+Ute9ytag9zjfMHgsqmmiz7AndVQ="
    assert server.final(f"c=biws,r={nonce},p={proof}".encode()) == (
        True,
        b"v=6rriTRBi23WpRR/wtup+mMhUZUn/dB5nLTJRsjl95G4=",
    )


@pytest.mark.parametrize(
    ("text", "prepared"),
    [
        ("I\u00adX", "IX"),
        ("user", "user"),
        ("USER", "USER"),
        ("\u00aa", "a"),
        ("\u2168", "IX"),
        ("\u0007", None),
        ("\u0627\u0031", None),
        ("a\u00a0b", "a b"),
        ("\u00ad", None),
        ("\ue000", None),
        ("\u0627\u0031\u0628", "\u0627\u0031\u0628"),
        ("\u0221", None),
    ],
)
def test_texts_are_prepared_as_rfc_4013_says(text: str, prepared: str | None):
    assert scram.saslprep(text) == prepared


def test_the_right_password_is_proven_in_both_directions():
    client = Client("pencil")
    is_right, signature = talk(client, ScramConversation(VERIFIER))
    assert is_right
    assert client.is_server(signature)


def test_a_wrong_password_gets_no_signature():
    assert talk(Client("pencils"), ScramConversation(VERIFIER)) == (False, b"")


def test_the_channel_is_bound_with_plus():
    client = Client("pencil", flag=PLUS, binding=BINDING)
    is_right, _ = talk(client, ScramConversation(VERIFIER, binding=BINDING), scram.MECHANISM_PLUS)
    assert is_right


def test_a_proof_for_another_channel_is_refused():
    client = Client("pencil", flag=PLUS, binding=hashlib.sha256(b"mallory").digest())
    with pytest.raises(LoginFailed, match="channel binding check failed"):
        talk(client, ScramConversation(VERIFIER, binding=BINDING), scram.MECHANISM_PLUS)


def test_a_client_that_was_not_shown_plus_notices_and_is_refused():
    with pytest.raises(LoginFailed, match="negotiation"):
        talk(Client("pencil", flag="y"), ScramConversation(VERIFIER, binding=BINDING))


def test_a_client_that_can_bind_meets_a_server_that_cannot():
    assert talk(Client("pencil", flag="y"), ScramConversation(VERIFIER))[0]


@pytest.mark.parametrize(
    ("mechanism", "message"),
    [
        ("SCRAM-SHA-1", b"n,,n=,r=abc"),
        (scram.MECHANISM_PLUS, b"p=tls-server-end-point,,n=,r=abc"),
        (scram.MECHANISM, b"p=tls-server-end-point,,n=,r=abc"),
        (scram.MECHANISM, b"n,a=root,n=,r=abc"),
        (scram.MECHANISM, b"n,,m=ext,n=,r=abc"),
        (scram.MECHANISM, b"n,,n=,r="),
        (scram.MECHANISM, b"n,,n=,r=a b"),
        (scram.MECHANISM, b"n,,n=,r=" + b"a" * 10_000),
        (scram.MECHANISM, b"x,,n=,r=abc"),
        (scram.MECHANISM, b"n,,"),
        (scram.MECHANISM, b""),
        (scram.MECHANISM, b"\xff,,n=,r=abc"),
    ],
)
def test_a_first_message_that_is_none_is_refused(mechanism: str, message: bytes):
    with pytest.raises(LoginFailed) as caught:
        ScramConversation(VERIFIER).first(mechanism, message)
    assert caught.value.sqlstate == "08P01"


@pytest.mark.parametrize(
    "message",
    [
        b"",
        b"c=biws",
        b"c=biws,r=NONCE",
        b"c=biws,r=NONCE,p=",
        b"c=biws,r=NONCE,p=AAAA",
        b"c=biws,r=NONCE,p=!!",
        b"c=biws,r=other,p=" + b"A" * 43 + b"=",
        b"c=!,r=NONCE,p=" + b"A" * 43 + b"=",
        b"r=NONCE,c=biws,p=" + b"A" * 43 + b"=",
        b"\xff",
    ],
)
def test_a_last_message_that_is_none_is_refused(message: bytes):
    server = ScramConversation(VERIFIER, nonce="xyz")
    server.first(scram.MECHANISM, b"n,,n=,r=abc")
    with pytest.raises(LoginFailed):
        server.final(message.replace(b"NONCE", b"abcxyz"))


def test_a_conversation_is_held_once():
    client, server = Client("pencil"), ScramConversation(VERIFIER)
    final = client.final(server.first(scram.MECHANISM, client.first()))
    assert server.final(final)[0]
    with pytest.raises(LoginFailed):
        server.final(final)
    with pytest.raises(LoginFailed):
        server.first(scram.MECHANISM, client.first())
    with pytest.raises(LoginFailed):
        ScramConversation(VERIFIER).final(final)


def test_an_unknown_user_is_asked_with_the_same_salt_each_time():
    one, again = (scram.mock_verifier("eve", secret=b"s" * 32) for _ in range(2))
    other = scram.mock_verifier("eva", secret=b"s" * 32)
    assert one == again
    assert one.salt != other.salt
    assert one.iterations == scram.ITERATIONS >= 15_000


@pytest.mark.parametrize(
    "text",
    [
        "",
        "pencil",
        "md5" + "0" * 32,
        "SCRAM-SHA-256$4096:AAAA$AAAA:AAAA",
        pytest.param("SCRAM-SHA-256$0:" + VERIFIER.text().split(":", 1)[1], id="no-iterations"),
        pytest.param(VERIFIER.text() + "x", id="longer"),
    ],
)
def test_what_is_no_verifier_is_none(text: str):
    assert scram.read_verifier(text) is None


def test_verifiers_of_libpq_are_read(postgres_url: str):
    import psycopg

    with psycopg.connect(postgres_url, autocommit=True) as connection:
        made = connection.pgconn.encrypt_password(b"I\xc2\xadX", b"eve", b"scram-sha-256").decode()
        found = scram.read_verifier(made)
        assert found is not None
        assert scram.matches_verifier(found, "IX")
        assert found.text() == made
        ours = make_verifier("pencil").text()
        connection.execute("DROP ROLE IF EXISTS taken_over")
        connection.execute(psycopg.sql.SQL("CREATE ROLE taken_over PASSWORD {}").format(ours))
        row = connection.execute(
            "SELECT rolpassword FROM pg_authid WHERE rolname = 'taken_over'"
        ).fetchone()
        connection.execute("DROP ROLE taken_over")
        assert row == (ours,)


class Server(threading.Thread):
    """As much of a PostgreSQL server as a login needs, for one client."""

    def __init__(self, context: ssl.SSLContext, conversation: ScramConversation) -> None:
        super().__init__(daemon=True)
        self.context, self.conversation = context, conversation
        self.listening = socket.create_server(("127.0.0.1", 0))
        self.port = self.listening.getsockname()[1]
        self.mechanism = ""
        self.is_right = False

    def run(self) -> None:
        with contextlib.suppress(OSError, LoginFailed):
            raw, _ = self.listening.accept()
            raw.recv(8)
            raw.sendall(b"S")
            self.serve(self.context.wrap_socket(raw, server_side=True))

    def serve(self, wire: ssl.SSLSocket) -> None:
        wire.recv(65536)
        offered = b"".join(name.encode() + b"\0" for name in self.conversation.mechanisms)
        self.say(wire, b"R", struct.pack("!i", 10) + offered + b"\0")
        name, _, rest = wire.recv(65536)[5:].partition(b"\0")
        self.mechanism = name.decode()
        answer = self.conversation.first(self.mechanism, rest[4:])
        self.say(wire, b"R", struct.pack("!i", 11) + answer)
        self.is_right, signature = self.conversation.final(wire.recv(65536)[5:])
        if self.is_right:
            self.say(wire, b"R", struct.pack("!i", 12) + signature)
            self.say(wire, b"R", struct.pack("!i", 0))
            self.say(wire, b"Z", b"I")
        wire.close()

    def say(self, wire: ssl.SSLSocket, kind: bytes, body: bytes) -> None:
        wire.sendall(kind + struct.pack("!i", len(body) + 4) + body)


@pytest.mark.parametrize(
    ("binding", "password", "is_right"),
    [("require", "pencil", True), ("disable", "pencil", True), ("require", "pen", False)],
)
def test_libpq_logs_in_and_binds_the_channel(
    tmp_path: Path, binding: str, password: str, is_right: bool
):
    import psycopg

    issued = issue(tmp_path, "server")
    shown = hashlib.sha256(issued.der).digest()
    server = Server(server_context(issued), ScramConversation(VERIFIER, binding=shown))
    server.start()
    with contextlib.suppress(psycopg.OperationalError):
        psycopg.connect(
            host="127.0.0.1",
            port=server.port,
            user="eve",
            password=password,
            dbname="x",
            sslmode="require",
            channel_binding=binding,
            connect_timeout=60,
        ).close()
    server.join(60)
    assert server.is_right == is_right
    assert server.mechanism == {"require": scram.MECHANISM_PLUS}.get(binding, scram.MECHANISM)
