"""Every type of every engine with the ends of its range, and every expression that a question may hold."""

from __future__ import annotations

from itertools import product
from typing import TYPE_CHECKING

from bench.verify.databases import SqlTable
from bench.verify.loss import attempt

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from bench.verify.loss import Side

_LONG = "99999999999999999999999999999999999999"
_WHOLE = ("-9223372036854775808", "9223372036854775807", "0")
_REALS = ("'nan'", "'infinity'", "'-infinity'", "'1.7e308'", "'5e-324'", "'-0.0'", "2.5")
_SINGLE = ("'nan'", "'infinity'", "'-infinity'", "'3.4e38'", "'1e-45'", "'-0.0'")
_TEXTS = (
    "''",
    "' '",
    "repeat('x', 70000)",
    "'\U0001f600'",
    "'12'",
    "'nan'",
    "'2024-02-29'",
    "'\u00c9'",
)

DUCKDB: Mapping[str, Sequence[str]] = {
    "BOOLEAN": ("true", "false"),
    "TINYINT": ("-128", "127"),
    "SMALLINT": ("-32768", "32767"),
    "INTEGER": ("-2147483648", "2147483647"),
    "BIGINT": _WHOLE,
    "UTINYINT": ("255",),
    "USMALLINT": ("65535",),
    "UINTEGER": ("4294967295",),
    "UBIGINT": ("18446744073709551615", "0"),
    "HUGEINT": (f"'{-(2**127)}'", f"'{2**127 - 1}'", "7"),
    "UHUGEINT": (f"'{2**128 - 1}'", f"'{2**127}'", "0"),
    "BIGNUM": (f"'{_LONG}{_LONG}'", "0"),
    "FLOAT": _SINGLE,
    "DOUBLE": _REALS,
    "DECIMAL(4,2)": ("99.99", "-99.99"),
    "DECIMAL(9,9)": ("0.999999999",),
    "DECIMAL(18,0)": ("999999999999999999",),
    "DECIMAL(38,0)": (f"'{_LONG}'", f"'-{_LONG}'"),
    "DECIMAL(38,38)": (f"'0.{_LONG}'",),
    "DECIMAL(38,19)": ("'9999999999999999999.9999999999999999999'",),
    "VARCHAR": (*_TEXTS, "'a' || chr(0) || 'b'"),
    "VARCHAR COLLATE NOCASE": ("'a'", "'A'"),
    "BLOB": ("''::BLOB", r"'\x00\xFF'::BLOB"),
    "BIT": ("'0'", "'10101'"),
    "UUID": ("'ffffffff-ffff-ffff-ffff-ffffffffffff'",),
    "ENUM('a','b')": ("'a'", "'b'"),
    "DATE": (
        "'infinity'",
        "'-infinity'",
        "'5881580-07-10'",
        "'5877642-06-25 (BC)'",
        "'9999-12-31'",
    ),
    "TIME": ("'24:00:00'", "'00:00:00'", "'23:59:59.999999'"),
    "TIMETZ": ("'24:00:00-15:59:59'", "'00:00:00+15:59:59'"),
    "TIMESTAMP": (
        *("'infinity'", "'-infinity'", "'294247-01-10 04:00:54.775806'"),
        *("'290309-12-22 (BC) 00:00:00'", "'2024-02-29 12:00:00'"),
    ),
    "TIMESTAMPTZ": (
        *("'infinity'", "'-infinity'", "'294247-01-10 04:00:54.775806+00'"),
        *("'290309-12-22 (BC) 00:00:00+00'", "'2024-02-29 12:00:00+00'"),
    ),
    "TIMESTAMP_S": ("'infinity'", "'294247-01-10 04:00:54'", "'290309-12-22 (BC) 00:00:00'"),
    "TIMESTAMP_MS": ("'infinity'", "'294247-01-10 04:00:54.775'", "'290309-12-22 (BC) 00:00:00'"),
    "TIMESTAMP_NS": (
        *("'infinity'", "make_timestamp_ns(9223372036854775806)"),
        *("make_timestamp_ns(-9223286400000000000)", "'2024-01-01 00:00:00.0000001'"),
    ),
    "INTERVAL": (
        "'2147483647 months 2147483647 days'",
        "'-178000000 years'",
        "'1 month'",
        "'30 days'",
    ),
    "INTEGER[]": ("[1, NULL]", "[]"),
    "INTEGER[2]": ("[1, 2]",),
    "STRUCT(a INT, b VARCHAR)": ("{'a': 1, 'b': 'x'}",),
    "MAP(INT, VARCHAR)": ("MAP {1: 'a'}",),
    "UNION(n INT, s VARCHAR)": ("union_value(n := 1)",),
    "JSON": ("'{\"a\": [1, 2]}'",),
}
POSTGRES: Mapping[str, Sequence[str]] = {
    "BOOLEAN": ("true", "false"),
    "SMALLINT": ("-32768",),
    "INTEGER": ("-2147483648", "2147483647"),
    "BIGINT": _WHOLE,
    "OID": ("4294967295",),
    "REAL": _SINGLE,
    "DOUBLE PRECISION": _REALS,
    "NUMERIC": (
        "'NaN'",
        "'Infinity'",
        "'-Infinity'",
        "1e400",
        "1e-400",
        "1.000",
        "1",
        f"{_LONG}.5",
    ),
    "NUMERIC(5,2)": ("'NaN'", "999.99"),
    "NUMERIC(38,0)": (f"'{_LONG}'", "'NaN'"),
    "NUMERIC(76,38)": (f"'{_LONG}.5'",),
    "NUMERIC(1000,500)": ("1e400",),
    "NUMERIC(3,-2)": ("12300",),
    "TEXT": _TEXTS,
    "CHAR(5)": ("'a'", "'a '"),
    "VARCHAR(3)": ("'abc'",),
    "NAME": ("'abc'",),
    "BYTEA": (r"'\x00ff'", "''"),
    "UUID": ("'ffffffff-ffff-ffff-ffff-ffffffffffff'",),
    "MONEY": ("'92233720368547758.07'", "'-92233720368547758.08'"),
    "DATE": ("'infinity'", "'-infinity'", "'5874897-12-31'", "'4713-01-01 BC'"),
    "TIME": ("'24:00:00'", "'00:00:00'"),
    "TIMETZ": ("'24:00:00-15:59'", "'00:00:00+15:59'"),
    "TIMESTAMP": ("'infinity'", "'-infinity'", "'294276-12-31 23:59:59.999999'", "'4713-01-01 BC'"),
    "TIMESTAMPTZ": (
        "'infinity'",
        "'-infinity'",
        "'294276-12-31 23:59:59.999999+00'",
        "'4713-01-01 BC'",
    ),
    "INTERVAL": ("'178000000 years'", "'-178000000 years'", "'1 month'", "'30 days'"),
    "INTEGER[]": ("ARRAY[1, NULL]::int[]", "ARRAY[]::int[]"),
    "JSON": ("'{\"a\": 1}'",),
    "JSONB": ("'{\"a\": 1e400}'",),
    "INET": ("'::1'",),
    "INT4RANGE": ("'[1,5)'",),
    "BIT(3)": ("B'101'",),
    "mood": ("'sad'", "'ok'"),
    "large": ("'NaN'", "1e300"),
}
# What the types of POSTGRES that are no types of PostgreSQL's own are.
POSTGRES_TYPES = (
    "CREATE TYPE mood AS ENUM ('sad', 'ok')",
    "CREATE DOMAIN large AS numeric CHECK (VALUE > 0)",
)
SPARK: Mapping[str, Sequence[str]] = {
    "TINYINT": ("-128",),
    "BIGINT": _WHOLE,
    "FLOAT": _SINGLE,
    "DOUBLE": _REALS,
    "DECIMAL(38,0)": (f"'{_LONG}'",),
    "DECIMAL(38,38)": (f"'0.{_LONG}'",),
    "STRING": _TEXTS,
    "BINARY": ("X'00FF'",),
    "BOOLEAN": ("true",),
    "DATE": ("'-5877641-06-23'", "'+5881580-07-11'", "'0001-01-01'"),
    "TIMESTAMP": (
        "timestamp_micros(9223372036854775807)",
        "timestamp_micros(-9223372036854775808)",
    ),
    "TIMESTAMP_NTZ": ("'2024-02-29 12:00:00'", "'+294247-01-10 04:00:54.775807'"),
    "ARRAY<INT>": ("array(1)",),
}
_VALUES = (
    *("x", "x + 1", "x * x", "x / 3", "-x", "abs(x)", "x % 7", "x // 7", "round(x, 2)", "floor(x)"),
    *("ceil(x)", "sqrt(x)", "sign(x)", "length(x)", "x - y", "x + 3", "CAST(x AS INTEGER)"),
    *("CAST(x AS BIGINT)", "CAST(x AS DOUBLE)", "CAST(x AS DECIMAL(9,2))", "extract(year FROM x)"),
    *("extract(week FROM x)", "extract(hour FROM x)", "date_diff('day', x, y)"),
    *("date_diff('month', x, y)", "CAST(x AS BOOLEAN)", "CAST(x AS TEXT)", "CAST(x AS DATE)"),
    *("CAST(x AS TIMESTAMP)", "coalesce(x, y)", "nullif(x, y)", "greatest(x, y)", "least(x, y)"),
    *("CASE WHEN x IS NULL THEN y ELSE x END", "x || 'a'", "concat(x, y)", "lower(x)", "upper(x)"),
    *("trim(x)", "left(x, 3)", "replace(x, 'a', 'bb')", "substring(x, 2, 3)", "x > 1", "x IS NULL"),
    *("date_trunc('month', x)", "date_trunc('hour', x)", "x + INTERVAL 3 MONTH"),
    *("x - INTERVAL 5 DAY", "x + INTERVAL 90 SECOND"),
)
_CONDITIONS = (
    *("x", "x > 1", "1 > x", "x = x", "x < y", "x IS DISTINCT FROM y", "x IN (1, 2)", "x > 'a'"),
    *("x BETWEEN -5 AND 5", "x NOT BETWEEN 1e20 AND 1e25", "x > '2020-01-01'", "x LIKE '%a%'"),
    *(
        "x > TIMESTAMP '2020-01-01 00:00:00'",
        "x IN ('a', 'b')",
        "x IS NOT NULL",
        "contains(x, 'a')",
    ),
    *("x = 9223372036854775807", "x <> -9223372036854775808", "CAST(x AS TEXT) > 'a'"),
)
_BOTH = "(SELECT pid, x AS a FROM t UNION ALL SELECT pid, y FROM t) u"
_PEOPLE = "(SELECT pid, max(x) AS m, min(x) AS n, count(DISTINCT x) AS d, count(x) AS c FROM t GROUP BY pid) u"
_WHOLE_QUESTIONS = (
    *("SELECT count(x) FROM t", "SELECT sum(x) FROM t", "SELECT avg(x) FROM t"),
    *("SELECT variance(x) FROM t", "SELECT median(x) FROM t", "SELECT min(x), max(x) FROM t"),
    f"SELECT count(*) FROM {_BOTH}",
    f"SELECT a, count(*) FROM {_BOTH} GROUP BY a",
    f"SELECT count(*) FROM {_PEOPLE} WHERE m > 1 OR d > 1",
    "SELECT sum(m) FROM (SELECT pid, sum(x) AS m FROM t GROUP BY pid) u",
    "SELECT sum(m) FROM (SELECT pid, avg(x) AS m FROM t GROUP BY pid) u",
    "SELECT a, count(*) FROM (SELECT pid, x AS a, count(*) AS c FROM t GROUP BY pid, x) u GROUP BY a",
    "SELECT count(*) FROM t a JOIN t b ON a.pid = b.pid AND a.x = b.y",
    "SELECT p.n, count(*) FROM t JOIN p ON t.x = p.x GROUP BY p.n",
    "SELECT p.x, count(*) FROM t JOIN p ON t.x = p.x GROUP BY p.x",
)
_POLICY = """
tables:
  t:
    unit: pid
    limits: {{rows-per-unit: 2}}
    columns: {{pid: identifier, x: {{role: sensitive{}}}, y: sensitive}}
  p: {{public: true, columns: {{x: insensitive, n: insensitive}}}}
"""
POLICIES = (_POLICY.format(", bounds: [0, 10]"), _POLICY.format(""))


def questions() -> list[str]:
    """Return a question for each expression, in each place where it may stand."""
    found = list(_WHOLE_QUESTIONS)
    found += [f"SELECT sum(least(greatest({value}, 0), 5)) FROM t" for value in _VALUES]
    found += [f"SELECT count(DISTINCT {value}) FROM t" for value in _VALUES]
    found += [f"SELECT {value}, count(*) FROM t GROUP BY {value}" for value in _VALUES]
    found += [f"SELECT count(*) FROM t WHERE {condition}" for condition in _CONDITIONS]
    return found


def tables(kind: str, values: Sequence[str]) -> dict[str, SqlTable]:
    """Return a table of people with these values and NULL, each beside another, and a public one."""
    every = (*values, "NULL")
    rows = [(str(i // 2), one, every[(i + 1) % len(every)]) for i, one in enumerate(every)]
    return {
        "t": SqlTable({"pid": "INT", "x": kind, "y": kind}, rows),
        "p": SqlTable({"x": kind, "n": "INT"}, [(every[0], "1")]),
    }


def failures(
    make: Callable[[Mapping[str, SqlTable], str], Side],
    kinds: Mapping[str, Sequence[str]],
    choose: Callable[[list[str]], Sequence[str]] = lambda asked: asked,
) -> Iterator[tuple[str, str, str]]:
    """Yield the type, the question and what went wrong, for each question that a value makes fail."""
    asked = questions()
    for (kind, values), policy in product(kinds.items(), POLICIES):
        side = make(tables(kind, values), policy)
        for question in choose(asked):
            fault = attempt(question, side)
            if fault is not None:
                yield kind, question, fault
        if side.engine.name != "spark":  # which others use, too
            side.engine.close()
