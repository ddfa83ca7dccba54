"""What a predicate can touch is never underestimated: against DuckDB, and against tricks."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import duckdb
import pytest
import sqlglot
from hypothesis import given, settings
from hypothesis import strategies as st
from sqlglot import exp

from discreet.answer.parts import MOST_CELLS, touched_cells
from discreet.engines.engine import Kind
from discreet.policy.hierarchies.calendar import PERIODS

if TYPE_CHECKING:
    from collections.abc import Callable

    from discreet.policy.answer_model import Parts

KINDS = {
    "region": Kind.TEXT,
    "day": Kind.DATE,
    "at": Kind.TIMESTAMP,
    "zoned": Kind.TIMESTAMP,
    "seconds": Kind.TIMESTAMP,
    "n": Kind.INTEGER,
    "flag": Kind.BOOLEAN,
    "share": Kind.REAL,
    "key": Kind.TEXT,
}
TABLE = """
    CREATE TABLE t AS
    SELECT region, moment::DATE AS day, moment AS at, moment::TIMESTAMPTZ AS zoned,
        moment::TIMESTAMP_S AS seconds, n, n % 2 = 0 AS flag, n / 2 AS share,
        uuid '00000000-0000-4000-8000-000000000001' AS key
    FROM (VALUES ('north'), ('North'), ('north '), ('nörth'), ('south'), (''), ('null'), (NULL)) r(region),
        (VALUES (TIMESTAMP '2025-12-31 23:59:59'), (TIMESTAMP '2025-12-31 23:59:59.9'),
            (TIMESTAMP '2026-01-01 00:00:00'), (TIMESTAMP '2026-01-31 12:00:00'),
            (TIMESTAMP '2026-02-01 00:00:00'), (TIMESTAMP '2026-02-01 00:00:00.000001'),
            (TIMESTAMP '2026-04-15 08:30:00'), (NULL)) m(moment),
        (VALUES (-1), (0), (1), (2), (3), (NULL)) i(n)
"""
LABELS = {  # what the part of a date is called, in DuckDB's own words
    "day": "strftime({}, '%Y-%m-%d')",
    "month": "strftime({}, '%Y-%m')",
    "quarter": "strftime({}, '%Y') || '-Q' || quarter({})",
    "year": "strftime({}, '%Y')",
    "decade": "(year({}) // 10 * 10) || 's'",
}
DATED = [(name, period) for name in ("day", "at", "zoned", "seconds") for period in PERIODS]
PARTITIONS: list[tuple[str, Parts]] = [
    *DATED,
    *((name, "value") for name in ("region", "day", "n", "flag", "key", "share", "at")),
]


@dataclass(frozen=True)
class Engine:
    """A table in DuckDB, and the parts that each of its rows lies in."""

    connection: Any
    known: dict[tuple[str, Parts], dict[int, str]] = field(default_factory=dict)

    def passing(self, predicate: exp.Expr) -> set[int]:
        sql = exp.select("rowid").from_("t").where(predicate).sql("duckdb")
        return {row for (row,) in self.connection.execute(sql).fetchall()}

    def part_of_rows(self, column: str, parts: Parts) -> dict[int, str]:
        if (column, parts) not in self.known:
            self.known[column, parts] = self._part_of_rows(column, parts)
        return self.known[column, parts]

    def _part_of_rows(self, column: str, parts: Parts) -> dict[int, str]:
        label = LABELS.get(parts, "CAST({} AS VARCHAR)").format(*[f'"{column}"'] * 2)
        found = self.connection.execute(f"SELECT rowid, {label} FROM t").fetchall()
        return {row: self._name(column, parts, label) for row, label in found}

    def _name(self, column: str, parts: Parts, label: str | None) -> str:
        if label is None:
            return f"{column} is null"
        if KINDS[column] is not Kind.TEXT:
            return f"{column}={label}"
        (name,) = touched_cells(
            exp.column(column).eq(label), {column: parts}, KINDS, alias=None
        ) or {""}
        return name


@pytest.fixture(scope="module")
def engine() -> Engine:
    connection = duckdb.connect()
    connection.execute("SET TimeZone = 'UTC'")
    connection.execute(TABLE)
    return Engine(connection)


def where(text: str) -> exp.Expr:
    return sqlglot.parse_one(text, dialect="duckdb")


def result(text: str, parts: str = "month", column: str = "day", alias: str | None = None) -> Any:
    found = touched_cells(where(text), {column: parts}, KINDS, alias=alias)  # type: ignore[dict-item]
    return None if found is None else sorted(name.removeprefix(f"{column}=") for name in found)


texts = st.sampled_from(["north", "North", "NORTH ", "nörth", "south", "", "null", "x"]).map(
    exp.Literal.string
)
MOMENTS = [
    *("2025-12-31", "2026-01-01", "2026-01-31", "2026-02-01", "2026-03-31", "2026-04-15"),
    *("2025-12-31 23:59:59", "2026-01-01 00:00:00", "2026-01-31 23:59:59", "2026-02-01T00:00:00"),
    *("2025-12-31 23:59:59.9", "2026-01-31 23:59:59.999999"),
]
moments = st.sampled_from(MOMENTS).map(exp.Literal.string)
numbers = st.integers(-2, 4).map(exp.Literal.number)
uuids = st.sampled_from(
    [
        "00000000-0000-4000-8000-000000000001",
        "{00000000-0000-4000-8000-000000000001}",
        "00000000000040008000000000000001",
    ]
).map(exp.Literal.string)
dates = st.sampled_from(["day", "at", "zoned", "seconds"])
typed = moments.flatmap(
    lambda text: st.sampled_from([exp.cast(text.copy(), to) for to in ("DATE", "TIMESTAMP")])
)
OPERATORS = [exp.EQ, exp.LT, exp.LTE, exp.GT, exp.GTE, exp.NEQ, exp.NullSafeEQ]
PAIRS = st.one_of(
    st.tuples(st.just("region").map(exp.column), texts),
    st.tuples(dates.map(exp.column), moments | typed),
    st.tuples(dates.map(lambda name: exp.cast(exp.column(name), "DATE")), moments),
    st.tuples(
        dates.map(lambda name: exp.Extract(this=exp.var("year"), expression=exp.column(name))),
        st.sampled_from([2025, 2026]).map(exp.Literal.number),
    ),
    st.tuples(st.sampled_from(["n", "share"]).map(exp.column), numbers),
    st.tuples(st.just("flag").map(exp.column), st.booleans().map(exp.convert)),
    st.tuples(st.just("key").map(exp.column), uuids),
)


@st.composite
def atoms(draw: st.DrawFn) -> exp.Expr:
    left, right = draw(PAIRS)
    match draw(st.sampled_from(["compare", "compare", "flip", "between", "in", "null", "bare"])):
        case "compare":
            return draw(st.sampled_from(OPERATORS))(this=left, expression=right)
        case "flip":
            return draw(st.sampled_from(OPERATORS))(this=right, expression=left)
        case "between":
            other = draw(st.sampled_from([right, exp.Null()]))
            return exp.Between(this=left, low=right, high=other.copy())
        case "in":
            return exp.In(
                this=left, expressions=[right, *draw(st.sampled_from([[], [exp.Null()]]))]
            )
        case "null":
            return exp.Is(this=left, expression=exp.Null())
        case _:
            return exp.column("flag")


@st.composite
def ranges(draw: st.DrawFn) -> exp.Expr:
    name = draw(dates)
    low, high = exp.column(name), exp.column(name)
    above = draw(st.sampled_from([exp.GT, exp.GTE]))(this=low, expression=draw(moments))
    below = draw(st.sampled_from([exp.LT, exp.LTE]))(this=high, expression=draw(moments))
    return exp.and_(above, below)


predicates = st.recursive(
    atoms() | ranges(),
    lambda inner: st.one_of(
        st.tuples(inner, inner).map(lambda both: exp.and_(*both)),
        st.tuples(inner, inner).map(lambda both: exp.or_(*both)),
        inner.map(exp.not_),
    ),
    max_leaves=6,
)


def is_covered(engine: Engine, predicate: exp.Expr, read: Callable[..., Any]) -> bool:
    """Return whether each row that passes lies in a part that `read` tells, for every partition."""
    rows = engine.passing(predicate)
    for column, parts in PARTITIONS:
        found = read(predicate, {column: parts}, KINDS, alias=None)
        part_of = engine.part_of_rows(column, parts) if found is not None else {}
        if found is not None and any(part_of[row] not in found for row in rows):
            return False
    return True


@settings(max_examples=150)
@given(predicate=predicates)
def test_every_row_that_passes_lies_in_a_part_that_is_reported(
    engine: Engine, predicate: exp.Expr
) -> None:
    assert is_covered(engine, predicate, touched_cells)


@pytest.mark.parametrize("column", ["day", "at", "zoned", "seconds"])
@pytest.mark.parametrize("op", [exp.LT, exp.LTE, exp.GT, exp.GTE])
def test_every_end_of_a_range_reaches_the_rows_before_or_after_it(
    engine: Engine, column: str, op: type[exp.Expr]
) -> None:
    far = where(f"{column} > '2025-01-01' AND {column} < '2027-01-01'")
    for moment in MOMENTS:
        end = op(this=exp.column(column), expression=exp.Literal.string(moment))
        assert is_covered(engine, exp.and_(far, end), touched_cells), moment


@settings(max_examples=150)
@given(one=predicates, other=predicates, partition=st.sampled_from(PARTITIONS))
def test_predicates_with_disjoint_parts_share_no_row(
    engine: Engine, one: exp.Expr, other: exp.Expr, partition: tuple[str, Parts]
) -> None:
    ours, theirs = (
        touched_cells(item, dict([partition]), KINDS, alias=None) for item in (one, other)
    )
    if ours is not None and theirs is not None and not ours & theirs:
        assert not engine.passing(one) & engine.passing(other)


@pytest.mark.parametrize(
    "text", ["region = 'north' OR n = 1", "NOT day = '2026-01-31'", "day < '2026-02-01'"]
)
def test_a_reader_that_reports_too_little_is_caught(engine: Engine, text: str) -> None:
    def careless(predicate: exp.Expr, *arguments: Any, **options: Any) -> Any:
        blind = predicate.transform(lambda node: node.this if type(node) is exp.Not else node)
        blind = blind.transform(lambda node: node.this if type(node) is exp.Or else node)
        found = touched_cells(blind, *arguments, **options)
        return frozenset({"day=2026-01"}) if type(blind) is exp.LT else found

    assert not is_covered(engine, where(text), careless)
    assert is_covered(engine, where(text), touched_cells)


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("day = '2026-03-05'", ["2026-03"]),
        ("day = DATE '2026-03-05'", ["2026-03"]),
        ("'2026-03-05' = day", ["2026-03"]),
        ("day IN ('2026-03-05', DATE '2026-01-01')", ["2026-01", "2026-03"]),
        ("day BETWEEN '2026-01-31' AND '2026-03-01'", ["2026-01", "2026-02", "2026-03"]),
        ("day >= '2026-01-01' AND day < '2026-03-01'", ["2026-01", "2026-02"]),
        ("'2026-03-01' > day AND '2025-12-31' < day", ["2026-01", "2026-02"]),
        ("day > '2026-01-31' AND day <= '2026-02-28' AND n = 7", ["2026-02"]),
        ("day = '2026-01-01' OR day = '2026-03-01'", ["2026-01", "2026-03"]),
        ("(n = 1 OR region = 'x') AND day = '2026-01-01'", ["2026-01"]),
        ("day BETWEEN '2026-03-01' AND '2026-01-01'", []),
        ("day = '2026-01-01' AND day = '2026-03-01'", []),
        ("year(day) = 2026 AND day > '2026-10-31'", ["2026-11", "2026-12"]),
        ("EXTRACT(year FROM day) = 2026 AND day > '2026-11-30'", ["2026-12"]),
        ("day IS NULL", ["day is null"]),
        ("DAY = '2026-03-05'", ["2026-03"]),
    ],
)
def test_a_range_of_dates_is_reported_by_its_months(text: str, found: list[str]) -> None:
    assert result(text) == found


@pytest.mark.parametrize(
    "text",
    [
        "day >= '2026-01-01'",
        "NOT day = '2026-03-05'",
        "day <> '2026-03-05'",
        "day = '2026-03-05' OR n = 1",
        "day = '2026-03-05' OR day IS NOT NULL",
        "day NOT BETWEEN '2026-01-01' AND '2026-02-01'",
        "day BETWEEN SYMMETRIC '2026-03-01' AND '2026-01-01'",
        "day = '2026-03-05' IS NOT TRUE",
        "coalesce(day, DATE '2026-03-05') = '2026-03-05'",
        "day + 31 = '2026-03-05'",
        "day = '2026-03-05 13:00:00'",
        "day = '2026-3-5'",
        "day = '2026-02-30'",
        "day = 'infinity'",
        "day = TIMESTAMPTZ '2026-03-05 00:00:00'",
        "day = current_date",
        "day IN (SELECT DATE '2026-03-05')",
        "day = ANY([DATE '2026-03-05'])",
        "(day, n) IN ((DATE '2026-03-05', 1))",
        "day = '2026-03-05' COLLATE NOCASE",
        "day = CASE WHEN n = 1 THEN '2026-03-05' ELSE '2026-04-05' END",
        "CAST(day AS VARCHAR) = '2026-03-05'",
        "month(day) = 3",
        "EXTRACT(isoyear FROM day) = 2026",
        "year(day) >= 2026",
        "day = day",
        "other.day = '2026-03-05'",
        "TRUE",
    ],
)
def test_what_proves_nothing_is_everything(text: str) -> None:
    assert result(text) is None


def test_no_predicate_and_no_partition_are_everything() -> None:
    assert touched_cells(None, {"day": "month"}, KINDS, alias=None) is None
    assert touched_cells(where("n = 1"), {}, KINDS, alias=None) is None


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("at = '2026-02-01'", ["2026-02"]),
        ("at < '2026-02-01' AND at >= '2026-01-01 00:00:00'", ["2026-01"]),
        ("at <= '2026-02-01' AND at >= '2026-01-01'", ["2026-01", "2026-02"]),
        ("at > '2026-01-31' AND at < '2026-02-01'", ["2026-01"]),
        ("CAST(at AS DATE) > '2026-01-31' AND at < '2026-03-01'", ["2026-02"]),
        ("at = TIMESTAMP '2026-02-01 23:59:59'", ["2026-02"]),
        ("at <= '2026-01-31 23:59:59.9' AND at >= '2026-01-01'", None),
        ("at = '2026-02-01 00:00:00+05'", None),
        ("at = '2026-01-31 24:00:00'", None),
    ],
)
def test_a_moment_at_midnight_belongs_to_the_period_it_begins(
    text: str, found: list[str] | None
) -> None:
    assert result(text, column="at") == found


def test_a_bound_that_the_engine_rounds_up_proves_nothing(engine: Engine) -> None:
    predicate = where("seconds >= '2025-12-01' AND seconds <= '2025-12-31 23:59:59.9'")
    january = where("seconds = '2026-01-01'")
    assert engine.passing(predicate) & engine.passing(january)
    assert result(predicate.sql(), column="seconds") is None


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("north", "North"),
        ("north", "north  "),
        ("nörth", "north"),
        ("n\u00f6rth", "no\u0308rth"),
        ("straße", "STRASSE"),
        ("{A0EEBC99-9C0B-4EF8-BB6D-6BB9BD380A11}", "a0eebc999c0b4ef8bb6d6bb9bd380a11"),
    ],
)
def test_texts_that_some_engine_takes_for_equal_share_a_part(one: str, other: str) -> None:
    found = [
        touched_cells(exp.column("region").eq(text), {"region": "value"}, KINDS, alias=None)
        for text in (one, other)
    ]
    assert found[0] == found[1]
    assert found[0] is not None


@pytest.mark.parametrize(
    ("text", "column", "found"),
    [
        ("region = 'north'", "region", ["north"]),
        ("region IN ('north', 'south') AND region = 'south'", "region", ["south"]),
        ("region IS NULL OR region = 'null'", "region", ["null", "region is null"]),
        ("region = 'it''s = a|b'", "region", ["it's = a|b"]),
        ("region BETWEEN 'a' AND 'b'", "region", None),
        ("region = 1", "region", None),
        ("region LIKE 'north'", "region", None),
        ("lower(region) = 'north'", "region", None),
        ("n = -1", "n", ["-1"]),
        ("n > 1 AND n < 4", "n", ["2", "3"]),
        ("n = '1'", "n", None),
        ("n = 1.0", "n", None),
        ("n = 1e0", "n", None),
        ("n = 9223372036854775808", "n", None),
        ("n BETWEEN 1 AND NULL", "n", None),
        ("n IN (1, 2.5)", "n", None),
        ("n", "n", None),
        ("flag", "flag", ["true"]),
        ("flag = FALSE", "flag", ["false"]),
        ("NOT flag", "flag", None),
        ("share = 1", "share", None),
        ("at = '2026-01-01'", "at", None),
        ("day = '2026-01-01'", "day", ["2026-01-01"]),
    ],
)
def test_a_value_is_reported_only_where_its_type_fits(
    text: str, column: str, found: list[str] | None
) -> None:
    assert result(text, "value", column) == found


def test_a_period_needs_dates() -> None:
    assert result("region = '2026-01-01'", "month", "region") is None


@pytest.mark.parametrize(
    ("text", "alias", "is_told"),
    [
        ("v.day = '2026-03-05'", "v", True),
        ("day = '2026-03-05'", "v", True),
        ("v.DAY = '2026-03-05'", "v", True),
        # `DAY` may be a column of another table where the engine minds capitals.
        ("DAY = '2026-03-05'", "v", False),
        ("w.day = '2026-03-05'", "v", False),
        ("V.day = '2026-03-05'", "v", False),
        ("v.day = '2026-03-05'", None, False),
        ("main.v.day = '2026-03-05'", "v", False),
    ],
)
def test_only_columns_of_the_table_itself_count(
    text: str, alias: str | None, is_told: bool
) -> None:
    assert (result(text, alias=alias) is not None) == is_told


def test_columns_that_differ_in_capitals_only_prove_nothing() -> None:
    kinds = {"day": Kind.DATE, "Day": Kind.DATE}
    assert touched_cells(where("day = '2026-03-05'"), {"day": "month"}, kinds, alias=None) is None


def test_too_many_parts_are_everything() -> None:
    assert len(result(f"n BETWEEN 1 AND {MOST_CELLS}", "value", "n")) == MOST_CELLS
    assert result(f"n BETWEEN 0 AND {MOST_CELLS}", "value", "n") is None
    assert result("day BETWEEN '0001-01-01' AND '9999-12-31'", "day") is None


def test_a_long_text_names_no_part() -> None:
    predicate = exp.column("region").eq("x" * 201)
    assert touched_cells(predicate, {"region": "value"}, KINDS, alias=None) is None


def test_a_long_predicate_is_read_at_once() -> None:
    days = exp.or_(*(where(f"n = {number}") for number in range(3000)), wrap=False)
    both = exp.and_(days, where("n IN (5, 6, 1000000)"))
    assert touched_cells(both, {"n": "value"}, KINDS, alias=None) == {"n=5", "n=6"}


def test_deep_brackets_prove_nothing_and_break_nothing() -> None:
    predicate = where("n = 1")
    for _ in range(60):
        predicate = exp.or_(exp.and_(predicate, where("flag")), where("n = 2"))
    assert touched_cells(predicate, {"n": "value"}, KINDS, alias=None) is None


def test_of_several_partitions_only_the_first_makes_parts() -> None:
    partitions: dict[str, Parts] = {"region": "value", "day": "month"}
    both = where("region = 'north' AND day = '2026-03-05'")
    assert touched_cells(both, partitions, KINDS, alias=None) == {"region=north"}
    assert touched_cells(where("day = '2026-03-05'"), partitions, KINDS, alias=None) is None
