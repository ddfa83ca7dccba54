"""Values have the forms that PostgreSQL gives them, byte for byte, in text and in binary."""

from __future__ import annotations

import contextlib
import datetime as dt
import struct
from decimal import Decimal
from typing import TYPE_CHECKING, Any
from uuid import UUID

import psycopg
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.engines.databases.database import ResultField
from discreet.errors import StatementFailed
from discreet.server.pg import rows
from discreet.sql import temporal
from discreet.sql.binary_form import column_binary
from discreet.sql.decode import decode_value
from discreet.sql.text_form import column_text
from discreet.sql.types import CLIENT_TYPES

if TYPE_CHECKING:
    from collections.abc import Iterator

ZONE = "America/St_Johns"


def days(literal: int) -> pa.Array:
    return pa.array([literal], pa.int32()).view(pa.date32())


def moments(literal: int, tz: str | None = None) -> pa.Array:
    return pa.array([literal], pa.int64()).view(pa.timestamp("us", tz))


def interval(months: int, day: int, microseconds: int) -> pa.Array:
    return pa.array([(months, day, microseconds * 1000)], pa.month_day_nano_interval())


def decimal(text: str, precision: int = 38) -> pa.Array:
    value = Decimal(text)
    return pa.array([value], pa.decimal128(precision, max(0, -int(value.as_tuple().exponent))))


# What PostgreSQL is asked for, and the same value as an engine hands it over.
VALUES: list[tuple[str, str, pa.Array]] = [
    ("bool", "true", pa.array([True])),
    ("bool", "false", pa.array([False])),
    ("int2", "-32768", pa.array([-32768], pa.int16())),
    ("int2", "7", pa.array([7], pa.int8())),
    ("int4", "-2147483648", pa.array([-(2**31)], pa.int32())),
    ("int8", "9223372036854775807", pa.array([2**63 - 1])),
    ("int8", "5", pa.array([5], pa.uint32())),
    ("oid", "4294967295", pa.array([2**32 - 1], pa.uint32())),
    *[
        ("float8", repr(x), pa.array([x]))
        for x in (
            0.0,
            -0.0,
            1.0,
            0.1,
            1 / 3,
            1e14,
            1e15,
            123456789012345.0,
            1234567890123456.0,
            1e16,
            1e-4,
            0.00012345,
            1e-5,
            9.999e-5,
            1e100,
            1.5e-300,
            5e-324,
            1.7976931348623157e308,
            -2.5,
            float("nan"),
            float("inf"),
            float("-inf"),
        )
    ],
    *[
        ("float4", repr(x), pa.array([x], pa.float32()))
        for x in (0.1, 1e5, 1e6, 123456.7, 1234567.0, 1e-4, 1e-5, 3.4e38, 1e-40, float("inf"))
    ],
    *[
        ("numeric", text, decimal(text))
        for text in (
            "0",
            "0.00",
            "1",
            "-1.50",
            "12345.6789",
            "0.0000001",
            "10000",
            "100000000",
            "0.0001",
            "-0.00012345",
            "99999999999999999999999999999999999999",
            "1234567890.0000000000",
        )
    ],
    ("numeric", "'NaN'", pa.array([float("nan")])),
    ("numeric", "'Infinity'", pa.array([float("inf")])),
    ("numeric", "'-Infinity'", pa.array([float("-inf")])),
    ("text", "'Grüße \U0001f600'", pa.array(["Grüße \U0001f600"])),
    ("text", "''", pa.array([""])),
    ("varchar", "'x'", pa.array(["x"])),
    ("bytea", "'\\x00ff10'", pa.array([b"\x00\xff\x10"])),
    ("bytea", "''", pa.array([b""])),
    ("date", "'1970-01-01'", days(0)),
    ("date", "'2024-02-29'", days(19_782)),
    ("date", "'0001-01-01'", days(-719_162)),
    ("date", "'0044-03-15 BC'", days(-735_160)),
    ("date", "'12024-02-29'", days(3_672_207)),
    ("date", "'infinity'", days(2**31 - 1)),
    ("date", "'-infinity'", days(-(2**31) + 1)),
    ("time", "'00:00'", pa.array([dt.time()])),
    ("time", "'23:59:59.999999'", pa.array([dt.time(23, 59, 59, 999_999)])),
    ("time", "'12:30:00.5'", pa.array([dt.time(12, 30, 0, 500_000)])),
    ("time", "'24:00:00'", pa.array([86_400_000_000]).view(pa.time64("us"))),
    ("timestamp", "'1970-01-01'", moments(0)),
    ("timestamp", "'2024-02-29 10:20:30'", moments(1_709_202_030_000_000)),
    ("timestamp", "'2024-02-29 10:20:30.000001'", moments(1_709_202_030_000_001)),
    ("timestamp", "'1969-12-31 23:59:59.5'", moments(-500_000)),
    ("timestamp", "'0044-03-15 12:00:00.25 BC'", moments(-735_160 * temporal.DAY + 43_200_250_000)),
    ("timestamp", "'infinity'", moments(2**63 - 1)),
    ("timestamp", "'-infinity'", moments(-(2**63) + 1)),
    ("timestamptz", "'2024-07-01 12:00:00+00'", moments(1_719_835_200_000_000, "UTC")),
    ("timestamptz", "'2024-01-01 12:00:00.75+00'", moments(1_704_110_400_750_000, "UTC")),
    ("timestamptz", "'1890-01-01 00:00:00+00'", moments(-2_524_521_600_000_000, "UTC")),
    ("timestamptz", "'infinity'", moments(2**63 - 1, "UTC")),
    ("interval", "'1 year 2 mons 3 days 04:05:06.5'", interval(14, 3, 14_706_500_000)),
    ("interval", "'0'", interval(0, 0, 0)),
    ("interval", "'-1 month +1 day -00:00:01'", interval(-1, 1, -1_000_000)),
    ("interval", "'1 day -1 hour'", interval(0, 1, -3_600_000_000)),
    ("interval", "'-13 months'", interval(-13, 0, 0)),
    ("interval", "'200 hours'", interval(0, 0, 720_000_000_000)),
    ("uuid", "'a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11'", pa.array(["a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11"])),
    ("uuid", "'00000000-0000-0000-0000-000000000001'", pa.array([bytes(15) + b"\1"], pa.binary(16))),
    ("json", '\'{"a": [1, null]}\'', pa.array(['{"a": [1, null]}'])),
    ("jsonb", "'[1]'", pa.array(["[1]"])),
    ("int4[]", "'{1,NULL,3}'", pa.array([[1, None, 3]])),
    ("int4[]", "'{}'", pa.array([[]], pa.list_(pa.int32()))),
    ("text[]", """'{a,"b c","","NULL",NULL,"x\\"y"}'""", pa.array([["a", "b c", "", "NULL", None, 'x"y']])),
    ("date[]", "'{2024-02-29}'", pa.array([[dt.date(2024, 2, 29)]])),
    ("name", "'pg_class'", pa.array(["pg_class"])),
]  # fmt: skip


@pytest.fixture(scope="module")
def postgres(postgres_url: str) -> Iterator[psycopg.Connection]:
    with psycopg.connect(postgres_url, autocommit=True) as connection:
        connection.execute(f"set timezone = '{ZONE}'".encode())
        yield connection


def asked(postgres: psycopg.Connection, name: str, literal: str, form: int) -> bytes:
    """Return the bytes that PostgreSQL sends."""
    literal = literal if literal.startswith("'") else f"'{literal}'"
    sql = f"select {literal}::{name}".encode()
    result = postgres.pgconn.exec_params(sql, None, result_format=form)
    value = result.get_value(0, 0)
    assert value is not None, result.error_message
    return value


@pytest.mark.postgres
@pytest.mark.parametrize(("name", "literal", "column"), VALUES, ids=lambda x: str(x)[:40])
def test_a_value_is_written_as_postgresql_writes_it(
    postgres: psycopg.Connection, name: str, literal: str, column: pa.Array
):
    (text,) = column_text(column, name, zone=ZONE).to_pylist()
    assert text.encode() == asked(postgres, name, literal, 0)
    (binary,) = column_binary(column, name).to_pylist()
    assert binary == asked(postgres, name, literal, 1)


@pytest.mark.postgres
@pytest.mark.parametrize(("name", "literal", "column"), VALUES, ids=lambda x: str(x)[:40])
def test_a_value_that_postgresql_sends_is_read_the_same_in_both_forms(
    postgres: psycopg.Connection, name: str, literal: str, column: pa.Array
):
    zone = temporal.zone_named(ZONE)
    by_text = decode_value(asked(postgres, name, literal, 0), name, binary=False, zone=zone)
    by_binary = decode_value(asked(postgres, name, literal, 1), name, binary=True, zone=zone)
    if name in ("float4", "numeric", "float8"):
        assert repr(by_text) == repr(by_binary) or by_text == pytest.approx(by_binary)
    else:
        assert by_text == by_binary


def test_null_stays_null_in_every_type():
    for name in CLIENT_TYPES:
        column = pa.nulls(3, pa.list_(pa.int32()) if name.endswith("[]") else pa.null())
        if name in ("timestamptz", "timestamp"):
            column = pa.nulls(3, pa.timestamp("us"))
        assert column_text(column, name).to_pylist() == [None] * 3
        assert column_binary(column, name).to_pylist() == [None] * 3


@pytest.mark.parametrize(
    ("data", "name", "value"),
    [
        (b" 7 ", "int4", 7),
        (b"yes", "bool", True),
        (b"OF", "bool", False),
        (b"1e3", "numeric", Decimal("1E+3")),
        (b"-inf", "float8", float("-inf")),
        (b"\\x00fF", "bytea", b"\0\xff"),
        (b"a\\000\\\\b", "bytea", b"a\0\\b"),
        (b"2024-01-02 +00", "date", dt.date(2024, 1, 2)),
        (b"2024-01-02T03:04:05.123Z", "timestamp", dt.datetime(2024, 1, 2, 3, 4, 5, 123_000)),  # noqa: DTZ001
        (b"2024-01-02 03:04:05+02", "timestamptz", dt.datetime(2024, 1, 2, 1, 4, 5, tzinfo=dt.UTC)),
        (b"2024-01-02 03:04", "timestamptz", dt.datetime(2024, 1, 2, 3, 4, tzinfo=dt.UTC)),
        (b"2024-01-02 24:00:00", "timestamp", dt.datetime(2024, 1, 3)),  # noqa: DTZ001
        (b"infinity", "date", "infinity"),
        (b"0044-03-15 BC", "date", "0044-03-15 BC"),
        (b"12:30", "time", dt.time(12, 30)),
        (b"1 day", "interval", "1 day"),
        (b"{1, NULL ,3}", "int4[]", [1, None, 3]),
        (b'{"a\\"b",null,"NULL"}', "text[]", ['a"b', None, "NULL"]),
        (b"A0EEBC99-9C0B-4EF8-BB6D-6BB9BD380A11", "uuid", UUID("a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11")),
        (b"anything", "geometry", "anything"),
    ],
)  # fmt: skip
def test_a_parameter_in_text_is_read(data: bytes, name: str, value: object):
    assert decode_value(data, name, binary=False) == value


@pytest.mark.parametrize(
    ("data", "name", "sqlstate"),
    [
        (b"", "int4", "22P02"),
        (b"1.5", "int4", "22P02"),
        ("٣".encode(), "int4", "22P02"),
        (b"1_000", "int4", "22P02"),
        (b"9" * 41, "int8", "22P02"),
        (b"32768", "int2", "22003"),
        (b"-1", "oid", "22003"),
        (b"o", "bool", "22P02"),
        (b"", "bool", "22P02"),
        (b"1e999", "float8", "22003"),
        (b"1_0.5", "float8", "22P02"),
        (b"0x10", "float8", "22P02"),
        (b"1e999999", "numeric", "22003"),
        (b"1e-99999", "numeric", "22003"),
        (b"1e9999999", "numeric", "22P02"),
        (b"9" * 200_000, "numeric", "22P02"),
        (b"sNaN", "numeric", "22P02"),
        (b"\\xzz", "bytea", "22P02"),
        (b"\\9", "bytea", "22P02"),
        (b"2024-02-30", "date", "22007"),
        (b"2024-01-01" + b" " * 100_000 + b"x", "timestamp", "22007"),
        (b"25:00", "time", "22007"),
        (b"soon", "timestamptz", "22007"),
        (b"a0ee", "uuid", "22P02"),
        (b"1,2", "int4[]", "22P02"),
        (b"{1,}", "int4[]", "22P02"),
        (b"{1 2", "int4[]", "22P02"),
        (b"{{1}}", "int4[]", "22P02"),
        (b"{x}", "int4[]", "22P02"),
        (b"a\0b", "text", "22021"),
    ],
)
def test_a_parameter_in_text_that_is_none_is_refused_without_its_words(
    data: bytes, name: str, sqlstate: str
):
    with pytest.raises(StatementFailed) as caught:
        decode_value(data, name, binary=False)
    assert caught.value.sqlstate == sqlstate
    assert data.decode() not in str(caught.value) or len(data) < 2


@pytest.mark.parametrize(
    ("data", "name"),
    [
        (b"", "bool"),
        (b"\0", "int4"),
        (b"\0" * 9, "int8"),
        (b"\0" * 7, "numeric"),
        (struct.pack("!HhHHH", 1, 0, 0, 0, 10_000), "numeric"),
        (struct.pack("!HhHH", 9, 0, 0, 0), "numeric"),
        (struct.pack("!HhHH", 0, 0, 0x1234, 0), "numeric"),
        (struct.pack("!HhHH", 0, 0, 0, 60_000), "numeric"),
        (b"\0" * 15, "uuid"),
        (b"\0" * 15, "interval"),
        (b"x", "jsonb"),
        (struct.pack("!q", -1), "time"),
        (struct.pack("!q", 10**15), "time"),
        (struct.pack("!iiIii", 1, 0, 23, 2**31 - 1, 1), "int4[]"),
        (struct.pack("!iiIii", 1, 0, 23, -5, 1), "int4[]"),
        (struct.pack("!iiIii", 3, 0, 23, 1, 1), "int4[]"),
        (struct.pack("!iiIiii", 1, 0, 23, 1, 1, -2), "int4[]"),
        (b"\0", "int4[]"),
    ],
)
def test_a_parameter_in_binary_that_is_none_is_22p03(data: bytes, name: str):
    with pytest.raises(StatementFailed) as caught:
        decode_value(data, name, binary=True)
    assert caught.value.sqlstate == "22P03"


@given(st.binary(max_size=40), st.sampled_from(sorted(CLIENT_TYPES)), st.booleans())
def test_whatever_is_bound_is_read_or_refused(data: bytes, name: str, binary: bool):
    with contextlib.suppress(StatementFailed):
        decode_value(data, name, binary=binary)


@given(
    st.decimals(
        allow_nan=False, allow_infinity=False, places=9, min_value=-(10**20), max_value=10**20
    )
)
def test_a_number_in_binary_reads_back(number: Decimal):
    column = pa.array([number], pa.decimal128(38, 9))
    (binary,) = column_binary(column, "numeric").to_pylist()
    assert decode_value(binary, "numeric", binary=True) == number


@given(st.floats())
def test_a_float_in_text_reads_back(number: float):
    (text,) = column_text(pa.array([number]), "float8").to_pylist()
    assert decode_value(text.encode(), "float8", binary=False) == pytest.approx(
        number, rel=0, nan_ok=True
    )


@given(st.dates(), st.datetimes(), st.times())
def test_moments_read_back_in_both_forms(day: dt.date, moment: dt.datetime, time: dt.time):
    values: list[tuple[str, Any]] = [("date", day), ("timestamp", moment), ("time", time)]
    for name, value in values:
        column = pa.array([value])
        (text,) = column_text(column, name).to_pylist()
        (binary,) = column_binary(column, name).to_pylist()
        assert decode_value(text.encode(), name, binary=False) == value
        assert decode_value(binary, name, binary=True) == value


@pytest.mark.parametrize("count", [0, 1, rows.FEW_ROWS - 1, rows.FEW_ROWS, 100, 20_000])
def test_rows_are_the_same_whether_few_or_many(count: int):
    numbers = [None if n % 7 == 0 else n for n in range(count)]
    texts = [None if n % 5 == 0 else "x" * (n % 11) for n in range(count)]
    table = pa.table({"n": pa.array(numbers, pa.int64()), "t": pa.array(texts, pa.string())})
    fields = (ResultField("n", "int8"), ResultField("t", "text"))
    made = b"".join(rows.data_rows(table, fields, [1, 0]))
    expected = b""
    for number, text in zip(numbers, texts, strict=True):
        body = struct.pack("!H", 2)
        body += b"\xff" * 4 if number is None else struct.pack("!iq", 8, number)
        body += b"\xff" * 4 if text is None else struct.pack("!i", len(text)) + text.encode()
        expected += b"D" + struct.pack("!i", len(body) + 4) + body
    assert made == expected


def test_slices_and_chunks_are_written_from_their_own_start():
    whole = pa.chunked_array([pa.array(["a", None, "b"]), pa.array(["c", "d"])])
    table = pa.table({"t": whole}).slice(1, 3)
    made = b"".join(rows.data_rows(table, (ResultField("t", "text"),), [0]))
    assert made.count(b"D") == 3
    assert made.endswith(b"c")


def test_a_large_table_is_written_in_parts():
    table = pa.table({"t": ["x" * 1000] * 2000})
    parts = list(rows.data_rows(table, (ResultField("t", "text"),), [0]))
    assert len(parts) > 5
    assert max(map(len, parts)) < 2 * rows.BLOCK_BYTES


def test_a_dictionary_and_other_kinds_of_text_are_text():
    for kind in (pa.large_string(), pa.string_view(), pa.dictionary(pa.int32(), pa.string())):
        assert column_text(pa.array(["x", None], kind), "text").to_pylist() == ["x", None]


def test_a_struct_is_reported_as_json():
    column = pa.array([{"a": 1, "b": dt.date(2024, 1, 1)}])
    assert column_text(column, "text").to_pylist() == ['{"a": 1, "b": "2024-01-01"}']
