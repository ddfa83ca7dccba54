"""How connections start, and how those end that start wrongly."""

from __future__ import annotations

import socket
import struct

import psycopg
import pytest
from tests.server.pg.raw import (
    GSSENC_REQUEST,
    SSL_REQUEST,
    knocking,
    packet,
    query,
    rows,
    startup,
    text,
)
from tests.server.pg.served import Served, serving

from discreet.errors import StatementFailed
from discreet.server.pg.limits import ProtocolLimits
from discreet.server.pg.startup import parse_startup_options


def refusal(served: Served, *parts: bytes) -> dict[str, str]:
    """Return what a fatal error says; the server must hang up after it."""
    with knocking(served) as raw:
        raw.send(*parts)
        (*_, error) = raw.until("E")
        assert raw.is_closed()
        return error.fields


def test_a_client_gets_the_settings_a_key_and_that_the_server_is_ready(served: Served):
    with knocking(served) as raw:
        found = raw.login(application_name="test")
    result = dict(
        each.body.rstrip(b"\0").split(b"\0")
        for each in found
        if each.kind == "S" and each.body.rstrip(b"\0").count(b"\0")
    )
    assert result[b"server_version"].startswith(b"16.")
    assert result[b"client_encoding"] == b"UTF8"
    assert result[b"integer_datetimes"] == b"on"
    assert result[b"standard_conforming_strings"] == b"on"
    assert result[b"session_authorization"] == b"trusted"
    assert result[b"application_name"] == b"test"
    assert found[0].body == struct.pack("!i", 0)
    assert [each.kind for each in found[-2:]] == ["K", "Z"]


def test_encryption_that_the_server_lacks_is_declined_and_the_client_goes_on(served: Served):
    with knocking(served) as raw:
        assert raw.send(GSSENC_REQUEST).take(1) == b"N"
        assert raw.send(SSL_REQUEST).take(1) == b"N"
        assert raw.login()[-1].kind == "Z"


@pytest.mark.parametrize("request_", [SSL_REQUEST, GSSENC_REQUEST])
def test_bytes_behind_a_request_for_encryption_end_the_connection(served: Served, request_: bytes):
    error = refusal(served, request_ + startup(user="trusted"))
    assert error["C"] == "08P01"


def test_encryption_is_asked_for_once(served: Served):
    with knocking(served) as raw:
        assert raw.send(SSL_REQUEST).take(1) == b"N"
        raw.send(SSL_REQUEST)
        assert raw.until("E")[-1].fields["C"] == "08P01"
        assert raw.is_closed()


@pytest.mark.parametrize("minor", [2, 9999])
def test_a_newer_minor_version_is_negotiated(served: Served, minor: int):
    with knocking(served) as raw:
        first = raw.send(startup(3 << 16 | minor, user="trusted")).message()
        assert first.kind == "v"
        assert first.body == struct.pack("!ii", 3 << 16, 0)
        assert raw.until("Z")


def test_unknown_options_of_the_protocol_are_named(served: Served):
    with knocking(served) as raw:
        first = raw.send(startup(user="trusted", **{"_pq_.magic": "1"})).message()
        assert first.body == struct.pack("!ii", 3 << 16, 1) + b"_pq_.magic\0"
        assert raw.until("Z")


@pytest.mark.parametrize("version", [2 << 16, 4 << 16, 0])
def test_another_major_version_is_refused(served: Served, version: int):
    assert refusal(served, startup(version, user="trusted"))["C"] == "0A000"


@pytest.mark.parametrize(
    "start",
    [
        struct.pack("!ii", 10_001, 3 << 16),
        struct.pack("!ii", 7, 3 << 16),
        struct.pack("!ii", -1, 3 << 16),
        b"\x16\x03\x01\x02\x00\x01\x00",  # TLS without asking
        b"GET / HTTP/1.1\r\n\r\n",
        struct.pack("!ii", 12, 3 << 16) + b"abcd",  # no end
        startup(user="trusted")[:-1] + b"x",
    ],
)
def test_what_is_no_start_ends_the_connection(served: Served, start: bytes):
    assert refusal(served, start)["C"] == "08P01"


def test_a_user_must_be_named(served: Served):
    assert refusal(served, startup(database="x"))["C"] == "28000"


def test_replication_is_refused(served: Served):
    assert refusal(served, startup(user="trusted", replication="database"))["C"] == "0A000"


def test_encodings_other_than_utf8_are_refused(served: Served):
    assert refusal(served, startup(user="trusted", client_encoding="LATIN1"))["C"] == "22023"


@pytest.mark.parametrize("name", ["UTF8", "'utf-8'", "unicode", "SQL_ASCII"])
def test_names_of_utf8_are_understood(served: Served, name: str):
    with knocking(served) as raw:
        assert raw.login(client_encoding=name)[-1].kind == "Z"


def test_invalid_utf8_in_the_start_is_22021(served: Served):
    start = startup(user="trusted").replace(b"trusted", b"\xff\xferust!")
    assert refusal(served, start)["C"] == "22021"


def test_options_of_the_start_reach_the_session(served: Served):
    with knocking(served) as raw:
        raw.login(options="-c search_path=a,b --statement-timeout=5", database="d", DateStyle="ISO")
    client, parameters, method = served.clients[-1]
    assert (client.user, client.database, client.is_local, client.is_encrypted) == (
        "trusted",
        "d",
        True,
        False,
    )
    assert parameters == {
        "search_path": "a,b",
        "statement_timeout": "5",
        "DateStyle": "ISO",
        "client_encoding": "UTF8",
    }
    assert method == "trust"


@pytest.mark.parametrize("options", ["-c", "x", "-c novalue", "--", "-c =1", "\\"])
def test_options_that_are_none_are_refused(options: str):
    with pytest.raises(StatementFailed, match="options"):
        parse_startup_options(options)


@pytest.mark.parametrize("kind", [b"Q", b"P", b"S", b"X", b"d", b"\0", b"\xff"])
def test_before_login_only_passwords_are_heard(served: Served, kind: bytes):
    with knocking(served) as raw:
        raw.send(startup(user="alice")).message()
        raw.send(packet(kind, text("select 1")))
        assert raw.until("E")[-1].fields["C"] == "08P01"
        assert raw.is_closed()


def test_a_password_message_of_more_than_64_kilobytes_is_refused_by_its_length(served: Served):
    with knocking(served) as raw:
        raw.send(startup(user="clear")).message()
        raw.send(b"p" + struct.pack("!i", 65_537))
        assert raw.until("E")[-1].fields["C"] == "08P01"
        assert raw.is_closed()


def test_a_mechanism_that_was_not_offered_is_refused(served: Served):
    with knocking(served) as raw:
        offer = raw.send(startup(user="alice")).message()
        assert offer.body == struct.pack("!i", 10) + b"SCRAM-SHA-256\0\0"
        raw.send(packet(b"p", text("SCRAM-SHA-256-PLUS") + struct.pack("!i", 1) + b"n"))
        assert raw.until("E")[-1].fields["C"] == "08P01"


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"SCRAM-SHA-256",
        text("SCRAM-SHA-256"),
        text("SCRAM-SHA-256") + struct.pack("!i", -1),
        text("SCRAM-SHA-256") + struct.pack("!i", 99) + b"n,,n=,r=x",
        text("SCRAM-SHA-256") + struct.pack("!i", 3) + b"\xff\xff\xff",
        text("SCRAM-SHA-256") + struct.pack("!i", 3) + b"n,,",
    ],
)
def test_a_malformed_first_message_of_scram_is_refused(served: Served, body: bytes):
    with knocking(served) as raw:
        raw.send(startup(user="alice")).message()
        raw.send(packet(b"p", body))
        assert raw.until("E")[-1].fields["C"] == "08P01"
        assert raw.is_closed()


def test_the_right_password_opens(served: Served):
    with psycopg.connect(served.conninfo) as connection:
        assert connection.execute("select 1").fetchone() == (1,)
    assert served.clients[-1][2] == "scram-sha-256"


@pytest.mark.parametrize("user", ["alice", "clear"])
def test_a_wrong_password_is_refused(served: Served, user: str):
    wrong = served.conninfo.replace("password=pencil", "password=pen").replace("alice", user)
    with pytest.raises(psycopg.OperationalError, match=r"authentication failed|wrong"):
        psycopg.connect(wrong)


def test_a_wrong_password_is_28p01(served: Served):
    with knocking(served) as raw:
        raw.send(startup(user="clear")).message()
        raw.send(packet(b"p", text("pen")))
        assert raw.until("E")[-1].fields["C"] == "28P01"
        assert raw.is_closed()


def test_a_client_that_may_not_log_in_is_refused_without_a_request_for_credentials(served: Served):
    error = refusal(served, startup(user="banned"))
    assert (error["S"], error["V"], error["C"]) == ("FATAL", "FATAL", "28000")


def test_a_password_in_clear_is_never_asked_for_over_a_strangers_wire(
    monkeypatch: pytest.MonkeyPatch,
):
    monkeypatch.setattr("discreet.server.pg.wire.Wire.is_local", False)
    with serving() as served:
        error = refusal(served, startup(user="clear"))
    assert error["C"] == "28000"


def test_a_password_in_clear_is_fine_on_this_machine(served: Served):
    with psycopg.connect(served.conninfo.replace("alice", "clear")) as connection:
        assert connection.execute("select 1").fetchone() == (1,)


def test_a_login_takes_no_longer_than_its_time():
    with serving(limits=ProtocolLimits(auth_timeout=0.2)) as served:
        for start in (b"", b"\0", startup(user="trusted")[:9], SSL_REQUEST, startup(user="alice")):
            with knocking(served) as raw:
                raw.send(start)
                assert raw.is_closed()


def test_a_server_that_requires_tls_refuses_words_in_clear():
    with serving(require_tls=True) as served:
        assert refusal(served, startup(user="trusted"))["C"] == "28000"


def test_a_file_serves_who_is_on_this_machine(tmp_path_factory: pytest.TempPathFactory):
    folder = tmp_path_factory.mktemp("s")
    with serving(folder=folder, require_tls=True) as served, knocking(served) as raw:
        assert raw.send(SSL_REQUEST).take(1) == b"N"
        raw.login()
        assert rows(raw.ask(query("select 42"))) == [[b"42"]]
        assert served.clients[-1][0].address == "local"
    assert list(folder.iterdir()) == []


def test_connections_are_kept_alive(served: Served):
    with knocking(served) as raw:
        raw.login()
        (connection, *_) = served.server._connections
        sock = connection._wire.transport.get_extra_info("socket")
        assert sock.getsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE) == 1
