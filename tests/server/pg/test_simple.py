"""Simple queries: several statements, blocks, notices, failures."""

from __future__ import annotations

from typing import TYPE_CHECKING

import psycopg
import pytest
from tests.server.pg.raw import Raw, failure, inside, kinds, packet, query, rows

from discreet.server.pg.limits import ProtocolLimits

if TYPE_CHECKING:
    from tests.server.pg.served import Served


def test_rows_come_described_and_counted(raw: Raw):
    found = raw.ask(query("select 1 as a, 'x' as b, null::int as c"))
    assert kinds(found) == "TDCZ"
    assert rows(found) == [[b"1", b"x", None]]
    assert found[2].tag == "SELECT 1"
    assert found[3].body == b"I"


def test_each_statement_of_a_text_is_answered(raw: Raw):
    found = raw.ask(query("select 1; select 2; set application_name = 'x'"))
    assert kinds(found) == "TDCTDCCSZ"
    assert rows(found) == [[b"1"], [b"2"]]


@pytest.mark.parametrize("text", ["", "  ;; ", "-- nothing"])
def test_an_empty_text_has_its_own_answer(raw: Raw, text: str):
    assert kinds(raw.ask(query(text))) == "IZ"


def test_a_failure_is_reported_and_the_connection_goes_on(raw: Raw):
    found = raw.ask(query("select nothing from nowhere"))
    assert kinds(found) == "EZ"
    assert found[0].fields["S"] == found[0].fields["V"] == "ERROR"
    assert failure(found) == "42P01"
    assert rows(raw.ask(query("select 1"))) == [[b"1"]]


def test_several_statements_are_kept_together_or_not_at_all(raw: Raw):
    raw.ask(query("create table together (a int)"))
    found = raw.ask(query("insert into together values (1); select nothing"))
    assert kinds(found) == "CEZ"
    assert rows(raw.ask(query("select count(*) from together"))) == [[b"0"]]
    raw.ask(query("insert into together values (1); insert into together values (2)"))
    assert rows(raw.ask(query("select count(*) from together"))) == [[b"2"]]


def test_what_follows_a_failure_in_a_text_is_not_run(served: Served, raw: Raw):
    raw.ask(query("select nothing; select 'never' as run"))
    assert "select 'never' as run" not in served.sessions[-1].ran


def test_ready_reports_the_state_of_the_transaction(raw: Raw):
    assert raw.ask(query("begin"))[-1].body == b"T"
    assert raw.ask(query("select nothing"))[-1].body == b"E"
    found = raw.ask(query("select 1"))
    assert (failure(found), found[-1].body) == ("25P02", b"E")
    assert raw.ask(query("rollback"))[-1].body == b"I"


def test_a_message_that_makes_no_sense_fails_an_open_transaction(raw: Raw):
    raw.ask(query("begin"))
    assert raw.ask(packet(b"Q", b"select 1\0more"))[-1].body == b"E"


def test_notices_come_with_the_answer(raw: Raw):
    found = raw.ask(query("raise price: 0.1"))
    assert kinds(found) == "NCZ"
    assert found[0].fields["M"] == "price: 0.1"
    assert found[0].fields["D"] == "aside"
    assert found[0].fields["S"] == "NOTICE"


def test_settings_that_change_are_reported_before_ready(raw: Raw):
    found = raw.ask(query("set timezone = 'Europe/Berlin'"))
    assert kinds(found) == "CSZ"
    assert found[1].body == b"TimeZone\0Europe/Berlin\0"
    assert kinds(raw.ask(query("set timezone = 'Europe/Berlin'"))) == "CZ"
    (row,) = rows(raw.ask(query("select timestamptz '2024-07-01 12:00:00+00'")))
    assert row == [b"2024-07-01 14:00:00+02"]


def test_an_unexpected_error_is_reported_without_its_text(
    raw: Raw, caplog: pytest.LogCaptureFixture
):
    found = raw.ask(query("crash"))
    assert failure(found) == "XX000"
    assert found[0].fields["M"] == "internal error"
    assert "Alice" not in caplog.text
    assert "ValueError" in caplog.text
    assert rows(raw.ask(query("select 1"))) == [[b"1"]]


def test_invalid_utf8_is_22021(raw: Raw):
    assert failure(raw.ask(packet(b"Q", b"select '\xff'\0"))) == "22021"
    assert failure(raw.ask(packet(b"Q", b"select '\xed\xa0\x80'\0"))) == "22021"
    assert rows(raw.ask(query("select 1"))) == [[b"1"]]


@pytest.mark.parametrize("body", [b"", b"select 1", b"select 1\0\0", b"a\0b\0"])
def test_a_query_that_is_not_one_text_is_08p01(raw: Raw, body: bytes):
    assert failure(raw.ask(packet(b"Q", body))) == "08P01"


def test_a_parameter_needs_the_extended_protocol(raw: Raw):
    assert failure(raw.ask(query("select $1::int"))) == "42P02"


def test_function_calls_by_number_are_refused(raw: Raw):
    assert failure(raw.ask(packet(b"F", b"\0" * 10))) == "0A000"


def test_what_is_left_of_a_copy_is_ignored(raw: Raw):
    found = raw.ask(packet(b"d", b"x"), packet(b"c"), packet(b"f", b"x\0"), query("select 1"))
    assert kinds(found) == "TDCZ"


def test_a_password_after_login_is_refused(raw: Raw):
    assert failure(raw.ask(packet(b"p", b"x\0"))) == "08P01"


@pytest.mark.parametrize("kind", [b"\0", b"\xff", b"R", b"z"])
def test_a_message_of_no_known_kind_ends_the_connection(served: Served, kind: bytes):
    with inside(served) as raw:
        raw.send(packet(kind))
        error = raw.until("E")[-1].fields
        assert (error["S"], error["C"]) == ("FATAL", "08P01")
        assert raw.is_closed()


@pytest.mark.parametrize("length", [0, 3, -1, 2**31 - 1, ProtocolLimits().max_message + 1])
def test_a_length_that_cannot_be_ends_the_connection(served: Served, length: int):
    with inside(served) as raw:
        raw.send(b"Q" + (length & 0xFFFFFFFF).to_bytes(4, "big"))
        assert raw.until("E")[-1].fields["C"] == "08P01"
        assert raw.is_closed()


def test_a_small_message_has_small_bounds(served: Served):
    with inside(served) as raw:
        raw.send(b"S" + (20_000).to_bytes(4, "big"))
        assert raw.until("E")[-1].fields["C"] == "08P01"
        assert raw.is_closed()


def test_a_message_in_pieces_is_put_together(raw: Raw):
    import time

    for byte in query("select 'in pieces'"):
        raw.send(bytes([byte]))
        time.sleep(0.001)
    assert rows(raw.until("Z")) == [[b"in pieces"]]


def test_messages_sent_together_are_answered_in_order(raw: Raw):
    raw.send(*(query(f"select {number}") for number in range(600)))
    found = [rows(raw.until("Z"))[0][0] for _ in range(600)]
    assert found == [str(number).encode() for number in range(600)]


def test_a_long_text_is_taken(raw: Raw):
    long = "x" * 3_000_000
    assert rows(raw.ask(query(f"select length('{long}')"))) == [[b"3000000"]]


def test_columns_are_described_with_their_types(served: Served):
    with psycopg.connect(served.conninfo) as connection:
        cursor = connection.execute(
            "select 1::smallint, 1.5::decimal(7,2), 'x', true, [1,2], '{}'::json, interval '1 day'"
        )
        described = [(c.type_code, c.precision, c.scale) for c in cursor.description or ()]
    assert described == [
        (21, None, None),
        (1700, 7, 2),
        (25, None, None),
        (16, None, None),
        (1007, None, None),
        (114, None, None),
        (1186, None, None),
    ]
