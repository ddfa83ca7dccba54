"""Extended queries: statements and portals, what fails until Sync, and that a portal runs once."""

from __future__ import annotations

import struct
import time

import pytest
from tests.server.pg.raw import (
    FLUSH,
    PATIENCE,
    SYNC,
    Raw,
    bind,
    close,
    describe,
    execute,
    failure,
    inside,
    kinds,
    packet,
    parse,
    query,
    rows,
    text,
)
from tests.server.pg.served import Served, serving

from discreet.engines.databases.database import ResultField
from discreet.server.pg.limits import ProtocolLimits
from discreet.server.pg.messages import row_description
from discreet.server.pg.portals import Portal
from discreet.server.session import Outcome


def test_a_statement_is_parsed_bound_described_and_executed(raw: Raw):
    found = raw.ask(parse("select $1::int + 1 as n"), bind([b"41"]), describe("P"), execute(), SYNC)
    assert kinds(found) == "12TDCZ"
    assert rows(found) == [[b"42"]]


def test_describing_a_statement_reports_parameters_and_columns_and_runs_nothing(
    served: Served, raw: Raw
):
    before = list(served.sessions[-1].ran)
    found = raw.ask(parse("select $1::int as n, $2", "s", [0, 1082]), describe("S", "s"), SYNC)
    assert kinds(found) == "1tTZ"
    assert found[1].body == struct.pack("!HII", 2, 23, 1082)
    found = raw.ask(
        bind([b"1", b"2024-01-01"], statement="s", portal="p"), describe("P", "p"), SYNC
    )
    assert kinds(found) == "2TZ"
    assert served.sessions[-1].ran == before


def test_a_portal_runs_once_however_often_it_is_executed(served: Served, raw: Raw):
    sql = "select 'once' as ran from range(5)"
    found = raw.ask(
        parse(sql), bind(), execute(most=2), execute(most=2), execute(), execute(), SYNC
    )
    assert kinds(found) == "12DDsDDsDCCZ"
    assert [each.tag for each in found if each.kind == "C"] == ["SELECT 1", "SELECT 0"]
    assert served.sessions[-1].ran.count(sql) == 1


def test_a_full_part_is_suspended_even_if_it_was_the_last(raw: Raw):
    found = raw.ask(parse("select * from range(4)"), bind(), execute(most=4), execute(most=4), SYNC)
    assert kinds(found) == "12DDDDsCZ"
    assert found[-2].tag == "SELECT 0"


def test_a_statement_without_rows_cannot_be_executed_twice(served: Served, raw: Raw):
    raw.ask(query("create table twice (a int)"))
    sql = "insert into twice values (1)"
    found = raw.ask(parse(sql), bind(), execute(), execute(), SYNC)
    assert kinds(found) == "12CEZ"
    assert failure(found) == "55000"
    assert served.sessions[-1].ran.count(sql) == 1
    assert rows(raw.ask(query("select count(*) from twice"))) == [[b"0"]]


def test_a_portal_that_failed_is_not_run_again(served: Served, raw: Raw):
    raw.ask(query("begin"))
    raw.ask(parse("crash"), bind(portal="p"), execute("p"), SYNC)
    raw.ask(query("rollback"))
    assert served.sessions[-1].ran.count("crash") == 1
    assert failure(raw.ask(execute("p"), SYNC)) == "34000"


def test_after_a_failure_everything_up_to_sync_is_left_out(served: Served, raw: Raw):
    found = raw.ask(
        parse("select nothing from nowhere"),
        bind(),
        execute(),
        query("select 'left out'"),
        parse("select 'left out'"),
        FLUSH,
        close("S"),
        SYNC,
    )
    assert kinds(found) == "EZ"
    assert "select 'left out'" not in served.sessions[-1].ran
    assert rows(raw.ask(query("select 1"))) == [[b"1"]]


def test_everything_up_to_sync_is_kept_together_or_not_at_all(raw: Raw):
    raw.ask(query("create table unit (a int)"))
    insert = parse("insert into unit values (1)") + bind() + execute()
    found = raw.ask(insert, parse("select nothing"), SYNC)
    assert kinds(found) == "12CEZ"
    assert rows(raw.ask(query("select count(*) from unit"))) == [[b"0"]]
    raw.ask(insert, insert, SYNC)
    assert rows(raw.ask(query("select count(*) from unit"))) == [[b"2"]]


def test_a_block_that_arrives_in_pieces_is_one_block(raw: Raw):
    raw.ask(query("create table pieces (a int)"))
    raw.send(parse("insert into pieces values (1)"), bind(), execute(), FLUSH).until("C")
    found = raw.ask(parse("select nothing"), SYNC)
    assert kinds(found) == "EZ"
    assert rows(raw.ask(query("select count(*) from pieces"))) == [[b"0"]]


def test_a_simple_query_ends_an_open_block(raw: Raw):
    raw.ask(query("create table ended (a int)"))
    raw.send(parse("insert into ended values (1)"), bind(), execute(), FLUSH).until("C")
    raw.ask(query("select 1"))
    raw.ask(parse("select nothing"), SYNC)
    assert rows(raw.ask(query("select count(*) from ended"))) == [[b"1"]]


def test_flush_sends_what_is_there(raw: Raw):
    assert raw.send(parse("select 1"), describe("S"), FLUSH).until("T")
    assert rows(raw.ask(bind(), execute(), SYNC)) == [[b"1"]]


def test_named_statements_last_and_the_unnamed_one_is_replaced(raw: Raw):
    raw.ask(parse("select 1", "one"), SYNC)
    raw.ask(parse("select 2"), SYNC)
    raw.ask(parse("select 3"), SYNC)
    assert rows(raw.ask(bind(statement="one"), execute(), SYNC)) == [[b"1"]]
    assert rows(raw.ask(bind(), execute(), SYNC)) == [[b"3"]]


def test_a_simple_query_drops_the_unnamed_statement(raw: Raw):
    raw.ask(parse("select 3"), SYNC)
    raw.ask(query("select 1"))
    assert failure(raw.ask(bind(), SYNC)) == "26000"


def test_a_name_is_taken_until_it_is_closed(raw: Raw):
    assert failure(raw.ask(parse("select 1", "x"), parse("select 1", "x"), SYNC)) == "42P05"
    assert kinds(raw.ask(close("S", "x"), parse("select 2", "x"), SYNC)) == "31Z"
    raw.ask(query("begin"))
    both = bind(statement="x", portal="p")
    assert failure(raw.ask(both, both, SYNC)) == "42P03"


def test_closing_what_is_not_there_is_no_failure(raw: Raw):
    assert kinds(raw.ask(close("S", "none"), close("P", "none"), SYNC)) == "33Z"


@pytest.mark.parametrize(
    ("message", "sqlstate"),
    [
        (bind(statement="none"), "26000"),
        (describe("S", "none"), "26000"),
        (describe("P", "none"), "34000"),
        (describe("P"), "34000"),
        (execute("none"), "34000"),
        (describe("X"), "08P01"),
        (close("X"), "08P01"),
        (packet(b"P", b"x"), "08P01"),
        (packet(b"P", b"\0select 1\0\0\5"), "08P01"),
        (packet(b"P", b"\0select \xff\0\0\0"), "22021"),
        (packet(b"B", b"\0\0\0\0\0\0\0\0\0"), "08P01"),
        (packet(b"B", b"\0\0" + b"\xff\xff"), "08P01"),
        (packet(b"D", b""), "08P01"),
        (packet(b"E", b"\0\0"), "08P01"),
        (packet(b"C", b""), "08P01"),
        (parse("select 1; select 2"), "42601"),
        (parse("select '"), "42601"),
    ],
)
def test_a_message_that_cannot_be_served_fails_alone(raw: Raw, message: bytes, sqlstate: str):
    found = raw.ask(message, SYNC)
    assert kinds(found) == "EZ"
    assert failure(found) == sqlstate


@pytest.mark.parametrize(
    ("bound", "sqlstate"),
    [
        (bind([]), "08P01"),
        (bind([b"1", b"2"]), "08P01"),
        (bind([b"1"], formats=[0, 0]), "08P01"),
        (bind([b"1"], formats=[7]), "22023"),
        (bind([b"1"], results=[0, 1]), "08P01"),
        (bind([b"1"], results=[9]), "22023"),
        (bind([b"x"]), "22P02"),
        (bind([b"99999999999"]), "22003"),
        (bind([b"\xff"]), "22021"),
        (bind([b"1\0"]), "22021"),
        (bind([b"123"], formats=[1]), "22P03"),
    ],
)
def test_parameters_that_do_not_fit_are_refused(raw: Raw, bound: bytes, sqlstate: str):
    found = raw.ask(parse("select $1::int"), bound, execute(), SYNC)
    assert kinds(found) == "1EZ"
    assert failure(found) == sqlstate


def test_an_error_quotes_no_value(raw: Raw):
    found = raw.ask(parse("select $1::int"), bind([b"secret"]), SYNC)
    assert b"secret" not in b"".join(each.body for each in found)


def test_null_and_binary_go_both_ways(raw: Raw):
    sql = "select $1::int as a, $2::int as b, $3::text as c"
    binary = bind([struct.pack("!i", -7), None, "ä".encode()], formats=[1, 0, 0], results=[1])
    found = raw.ask(parse(sql), binary, describe("P"), execute(), SYNC)
    assert rows(found) == [[struct.pack("!i", -7), None, "ä".encode()]]
    assert found[2].body.count(b"\0\1") >= 3


def test_an_empty_text_can_be_prepared(raw: Raw):
    found = raw.ask(parse(""), describe("S"), bind(), describe("P"), execute(), SYNC)
    assert kinds(found) == "1tn2nIZ"


def test_portals_end_with_their_transaction(raw: Raw):
    raw.ask(parse("select * from range(3)", "s"), bind(statement="s", portal="p"), SYNC)
    assert failure(raw.ask(execute("p"), SYNC)) == "34000"
    raw.ask(query("begin"))
    raw.ask(bind(statement="s", portal="p"), execute("p", 1), SYNC)
    assert kinds(raw.ask(execute("p", 1), SYNC)) == "DsZ"
    raw.ask(query("commit"))
    assert failure(raw.ask(execute("p"), SYNC)) == "34000"


def test_a_suspended_portal_of_a_failed_transaction_hands_out_nothing(raw: Raw):
    raw.ask(query("begin"))
    raw.ask(parse("select * from range(3)"), bind(portal="p"), execute("p", 1), SYNC)
    raw.ask(query("select nothing"))
    assert failure(raw.ask(execute("p", 1), SYNC)) == "25P02"


def test_rows_of_a_write_come_with_its_tag(raw: Raw):
    raw.ask(query("create table returned (a int)"))
    found = raw.ask(
        parse("insert into returned values (1), (2) returning a"), bind(), execute(), SYNC
    )
    assert rows(found) == [[b"1"], [b"2"]]
    assert found[-2].tag == "INSERT 0 2"


def test_a_cursor_that_sql_declared_is_described_as_a_portal(raw: Raw):
    raw.ask(query("begin"))
    raw.ask(query("declare c cursor for select 1::int as one"))
    found = raw.ask(describe("P", "c"), SYNC)
    assert kinds(found) == "TZ"
    assert b"one" in found[0].body


def test_a_result_that_changed_its_types_is_refused(raw: Raw):
    raw.ask(query("create table changing (a int)"), parse("select * from changing", "s"))
    raw.ask(SYNC)
    raw.ask(query("drop table changing; create table changing (a int, b int)"))
    assert failure(raw.ask(bind(statement="s"), execute(), SYNC)) == "0A000"


@pytest.mark.parametrize(
    "word", ["deallocate s", "DEALLOCATE PREPARE ALL", "discard all", 'deallocate "s"']
)
def test_sql_lets_go_of_prepared_statements(raw: Raw, word: str):
    raw.ask(parse("select 1", "s"), SYNC)
    raw.ask(query(word))
    assert failure(raw.ask(bind(statement="s"), SYNC)) == "26000"


def test_statements_and_portals_are_bounded():
    with (
        serving(limits=ProtocolLimits(max_statements=3, max_portals=2)) as served,
        inside(served) as raw,
    ):
        for name in "abc":
            assert kinds(raw.ask(parse("select 1", name), SYNC)) == "1Z"
        assert failure(raw.ask(parse("select 1", "d"), SYNC)) == "53400"
        bound = [bind(statement="a", portal=name) for name in "xyz"]
        assert failure(raw.ask(*bound, SYNC)) == "53400"


def test_portals_that_hold_much_are_refused_another():
    with serving(limits=ProtocolLimits(max_held=1000)) as served, inside(served) as raw:
        raw.ask(query("begin"))
        for name in "ab":
            text = f"select 'a long enough text for {name}' from generate_series(1, 100)"
            raw.ask(parse(text, name), bind(portal=name, statement=name), SYNC)
        assert kinds(raw.ask(execute("a", 1), SYNC)) == "DsZ"
        assert failure(raw.ask(execute("b", 1), SYNC)) == "53400"


def test_a_commit_that_fails_at_sync_is_reported(raw: Raw, served: Served):
    raw.ask(query("create table raced (a int primary key)"))
    with inside(served) as other:
        other.ask(query("begin; insert into raced values (1)"))
        raw.send(parse("insert into raced values (1)"), bind(), execute(), FLUSH).until("C")
        assert other.ask(query("commit"))[-1].body == b"I"
        found = raw.ask(SYNC)
    assert kinds(found) == "EZ"
    assert failure(found) == "40001"
    assert found[-1].body == b"I"


def test_terminate_ends_the_session(served: Served):
    with inside(served) as raw:
        session = served.sessions[-1]
        raw.send(packet(b"X"))
        assert raw.is_closed()
    until = time.monotonic() + PATIENCE
    while not session.is_closed and time.monotonic() < until:
        time.sleep(0.02)
    assert session.is_closed


def test_a_client_that_terminates_at_once_still_gets_its_statements_executed(
    served: Served, raw: Raw
):
    raw.ask(query("create table goodbye (a int)"))
    with inside(served) as other:
        other.send(query("insert into goodbye values (1)"), packet(b"X"))
        assert other.is_closed()
    assert rows(raw.ask(query("select count(*) from goodbye"))) == [[b"1"]]


def test_a_text_with_a_zero_byte_in_its_name_is_two_texts(raw: Raw):
    assert failure(raw.ask(packet(b"C", b"S" + text("a") + text("b")), SYNC)) == "08P01"


def test_the_tag_of_create_table_as_keeps_its_count():
    portal = Portal(None, [], [])
    portal.ran(Outcome("SELECT 3"))
    assert portal.tag(0) == "SELECT 3"


def test_a_column_names_its_table():
    result = row_description([ResultField("a", "int4", table=20_000, place=3)], [0])
    assert struct.unpack("!IhIhih", result[-18:])[:3] == (20_000, 3, 23)
