"""Literals and settings mean what they mean in PostgreSQL, or are refused."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from discreet.errors import StatementFailed
from discreet.sql.decode import decode_value

NOON = datetime(2024, 7, 1, 12, tzinfo=UTC)


def test_bytes_are_read_and_written_as_postgresql_does(server, connect):
    admin = connect(server)
    admin.run("CREATE TABLE t (id int PRIMARY KEY, b bytea DEFAULT '\\x00ff')")
    admin.run("INSERT INTO t VALUES (1, '\\xDEad'), (2, 'a\\\\b\\001é'), (3, DEFAULT)")
    admin.run("UPDATE t SET b = '\\x0001ff' WHERE b = '\\x00ff'")
    assert admin.rows("SELECT b, b::text FROM t ORDER BY id") == [
        (b"\xde\xad", "\\xdead"),
        (b"a\\b\x01\xc3\xa9", "\\x615c6201c3a9"),
        (b"\x00\x01\xff", "\\x0001ff"),
    ]
    for wrong in ("\\xabc", "\\x0g", "a\\b"):
        with pytest.raises(StatementFailed) as failed:
            admin.run(f"SELECT '{wrong}'::bytea")
        assert failed.value.sqlstate == "22P02"


def test_moments_are_read_in_the_time_zone_of_the_session(server, connect):
    admin = connect(server)
    admin.run("CREATE TABLE t (id int, at timestamptz)")
    admin.run("SET TimeZone = 'America/New_York'; INSERT INTO t VALUES (1, '2024-07-01 08:00')")
    assert admin.rows("SELECT id FROM t WHERE at = '2024-07-01 08:00:00.0'") == [(1,)]
    asked = "SELECT at = '2024-07-01 12:00:00+00', at = timestamptz '2024-07-01 08:00' FROM t"
    assert admin.rows(asked) == [(True, True)]
    admin.run("SET TimeZone = 'utc'")
    assert admin.rows("SELECT id FROM t WHERE at = '2024-07-01 08:00:00.0'") == []
    assert admin.rows("SELECT id FROM t WHERE at = '2024-07-01 12:00'") == [(1,)]


def test_a_time_zone_moves_neither_policies_nor_views(server, connect):
    admin = connect(server)
    admin.run("CREATE USER u; CREATE TABLE t (id int, at timestamptz); GRANT SELECT ON t TO u")
    admin.run("INSERT INTO t VALUES (1, '2024-07-01 03:00:00+00'), (2, '2024-06-30 23:00:00+00')")
    admin.run("CREATE VIEW v AS SELECT id FROM t WHERE at < '2024-07-01'; GRANT SELECT ON v TO u")
    admin.run("ALTER TABLE t ENABLE ROW LEVEL SECURITY")
    admin.run("CREATE POLICY p ON t USING (at < timestamptz '2024-07-01')")
    user = connect(server, "u")
    for zone in ("America/New_York", "Asia/Tokyo"):
        user.run(f"SET TimeZone = '{zone}'")
        assert user.rows("SELECT id FROM t") == user.rows("SELECT id FROM v") == [(2,)]


def test_the_time_is_the_same_in_every_zone(server, connect, monkeypatch):
    admin = connect(server, TimeZone="Asia/Tokyo")
    monkeypatch.setattr(admin.session.state, "clock", lambda: NOON)
    asked = "SELECT now() = '2024-07-01 12:00:00+00', now() FROM (SELECT now() AS a) s GROUP BY a"
    assert admin.rows(asked) == [(True, NOON)]


def test_intervals_may_have_signs_and_commas(server, connect):
    asked = "SELECT timestamp '2024-01-02' + '-1 day, 23:00'::interval, timestamp '2024-01-02' + $1"
    (found,) = connect(server).rows(
        asked, decode_value(b"-1 day +23:00:00", "interval", binary=False)
    )
    assert found == (datetime(2024, 1, 1, 23),) * 2  # noqa: DTZ001 - no zone


@pytest.mark.parametrize(
    ("setting", "sqlstate"),
    [
        ("DateStyle = 'German'", "0A000"),
        ("IntervalStyle = 'iso_8601'", "0A000"),
        ("bytea_output = 'escape'", "0A000"),
        ("standard_conforming_strings = off", "0A000"),
        ("TimeZone = 'Nowhere/Land'", "22023"),
        ("TimeZone = '../../etc/passwd'", "22023"),
    ],
)
def test_a_setting_that_would_not_be_kept_is_refused(server, connect, setting, sqlstate):
    with pytest.raises(StatementFailed) as failed:
        connect(server).run(f"SET {setting}")
    assert failed.value.sqlstate == sqlstate


@pytest.mark.parametrize(
    ("name", "setting", "kept"),
    [
        ("DateStyle", "ISO", "ISO, MDY"),
        ("TimeZone", "europe/berlin", "Europe/Berlin"),
        ("TimeZone", "GMT-02:00", "Etc/GMT-2"),
        ("TimeZone", "UTC", "UTC"),
    ],
)
def test_what_drivers_say_at_the_start_is_taken(server, connect, name, setting, kept):
    assert connect(server, **{name: setting}).session.reported[name] == kept


def test_a_literal_date_or_time_is_read_whole_or_refused(server, connect):
    admin = connect(server)
    admin.run("CREATE TABLE t (id int, d date, at timestamp, clock time)")
    admin.run("INSERT INTO t VALUES (1, '0044-03-15 BC', '0044-03-15 10:00 BC', '24:00')")
    admin.run("INSERT INTO t VALUES (2, '2024/02/29', '2024-02-29 10:00', '10:11:12')")
    asked = "SELECT id FROM t WHERE d < '0001-01-01' AND at < timestamp '0001-01-01'"
    assert admin.rows(asked) == [(1,)]
    assert admin.rows("SELECT id FROM t WHERE d = '0044-03-15 BC'::date") == [(1,)]
    assert admin.rows("SELECT id FROM t WHERE d = '0044-03-15'") == []
    for wrong in (
        "SELECT '2024-01-01 garbage'::date",
        "SELECT '99-01-01'::date",
        "SELECT '10:11:12 PM'::time",
        "INSERT INTO t VALUES (3, '2024-01-01 x', NULL, NULL)",
        "INSERT INTO t VALUES (3, NULL, NULL, '10:00 PM'), (4, NULL, NULL, '10:00')",
        "UPDATE t SET clock = '10:11:12 PM'",
        "SELECT id FROM t WHERE clock < '10:11:12 PM'",
    ):
        with pytest.raises(StatementFailed) as failed:
            admin.run(wrong)
        assert failed.value.sqlstate == "22007", wrong
    assert admin.rows("SELECT count(*) FROM t") == [(2,)]
    admin.run(
        "CREATE TABLE u (id int, d date DEFAULT '0044-03-15 BC'); INSERT INTO u (id) VALUES (1)"
    )
    assert admin.rows("SELECT id FROM u WHERE d < '0001-01-01'") == [(1,)]


def test_a_literal_that_is_no_whole_number_is_not_rounded(server, connect):
    admin = connect(server)
    admin.run("CREATE TABLE t (id int)")
    for wrong in ("SELECT '12.5'::integer", "SELECT '1e3'::bigint", "INSERT INTO t VALUES ('2.5')"):
        with pytest.raises(StatementFailed) as failed:
            admin.run(wrong)
        assert failed.value.sqlstate == "22P02", wrong
    admin.run("INSERT INTO t VALUES (' 7 '), (2.5::integer)")
    assert admin.rows("SELECT id FROM t WHERE id = '7'") == [(7,)]
