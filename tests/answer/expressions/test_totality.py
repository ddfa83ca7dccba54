"""Random expressions over nasty values: no engine ever fails, all agree, and what was proven holds."""

from __future__ import annotations

import datetime as dt
import math
import random
from decimal import Decimal
from fractions import Fraction
from typing import TYPE_CHECKING

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sqlglot import exp, parse_one
from tests.answer.expressions.grammar import Grammar

from discreet.answer.expressions.translate import translate_condition, translate_expression
from discreet.answer.expressions.typed import TypedExpression
from discreet.engines.duckdb import DuckDB
from discreet.engines.engine import Engine, Kind
from discreet.errors import EngineFailed, QuestionRefused
from discreet.sql import build

if TYPE_CHECKING:
    from collections.abc import Iterator

ROWS = 48
EXAMPLES = 6
REALS = [math.nan, math.inf, -math.inf, 1e308, -1e308, 5e-324, -5e-324, -0.0, 0.0, 0.5, -2.5, 2.675]
REALS += [1e-29, 1e29, 0.1, 0.49999999999999994, 4503599627370497.5, 9e15, 1.0, -7.0, 1e-31, 3.5]
TEXTS = [
    "",
    " ",
    "abc",
    "12",
    " -7 ",
    "+5",
    "1.5",
    "1e3",
    "nan",
    "2024-02-29",
    "2023-02-29",
    "a%b_c\\d",
]
TEXTS += [
    "0000-01-01",
    "0001-01-01",
    "2024-01-31 23:59:59.5",
    "12\n",
    "\U0001f600x",
    "\u00c9t\u00e9",
]
TEXTS += [
    "true",
    "F",
    "9" * 30,
    "1e99",
    "-0",
    "B",
    "a",
    "it's",
    "!x",
    "2024-1-1",
    "\u0661",
    "1_000",
]
TIMES = [
    dt.datetime(1, 1, 1),  # noqa: DTZ001
    dt.datetime(9999, 12, 31, 23, 59, 59, 999999),  # noqa: DTZ001
    dt.datetime(2024, 2, 29, 12, 30, 15),  # noqa: DTZ001
    dt.datetime(1969, 12, 31, 23, 59, 59, 1),  # noqa: DTZ001
    dt.datetime(2000, 1, 1),  # noqa: DTZ001
]
DATES = [*(moment.date() for moment in TIMES), dt.date(2024, 1, 31), dt.date(9999, 11, 30)]
WHOLE = [-(2**63), 2**63 - 1, 2**53, -(2**53), 0, 1, -1, 7, -7, 10, 123456789, 2**31, 3]
COLUMNS = {
    "i": (Kind.INTEGER, pa.int64(), WHOLE),
    "k": (Kind.INTEGER, pa.int32(), [-(2**31), 2**31 - 1, 0, 5, -5, 100]),
    "n": (Kind.INTEGER, pa.int16(), [0, 1, 7, 50, 99, 100]),
    "r": (Kind.REAL, pa.float64(), REALS),
    "s": (Kind.REAL, pa.float64(), REALS),
    "f": (Kind.REAL, pa.float32(), [math.nan, math.inf, 0.1, -2.5, 3e38, 1e-45, 0.0]),
    "x": (Kind.REAL, pa.float64(), [5e-324, -0.0, 0.0, 5.0, -5.0, 0.1, 2.5, 1e-300]),
    "m": (
        Kind.DECIMAL,
        pa.decimal128(10, 2),
        [Decimal("0.10"), Decimal("-99999999.99"), Decimal(0)],
    ),
    "h": (Kind.DECIMAL, pa.decimal128(38, 0), [Decimal("9" * 38), Decimal(-1), Decimal(0)]),
    "t": (Kind.TEXT, pa.string(), TEXTS),
    "u": (Kind.TEXT, pa.string(), TEXTS),
    "c": (Kind.TEXT, pa.string(), ["a", "Bc", ""]),
    "b": (Kind.BOOLEAN, pa.bool_(), [True, False]),
    "d": (Kind.DATE, pa.date32(), DATES),
    "e": (Kind.DATE, pa.date32(), DATES),
    "w": (Kind.TIMESTAMP, pa.timestamp("us"), TIMES),
    "z": (Kind.TIMESTAMP, pa.timestamp("us", "UTC"), TIMES),
}
KNOWN: dict[str, dict[str, object]] = {
    "n": {"low": Fraction(0), "high": Fraction(100), "step": Fraction(1)},
    "x": {"low": Fraction(-5), "high": Fraction(5)},
    "c": {"values": ("a", "Bc", "")},
}


def nasty() -> pa.Table:
    """Return each column's values, and NULL, in an order of its own."""
    chance = random.Random(4)
    columns: dict[str, pa.Array] = {"row": pa.array(range(ROWS))}
    for name, (_, kind, values) in COLUMNS.items():
        drawn = [*values, None, *chance.choices([*values, None], k=ROWS)][:ROWS]
        chance.shuffle(drawn)
        columns[name] = pa.array(drawn, kind)
    return pa.table(columns)


def resolve(column: exp.Column) -> TypedExpression:
    """Return a column of the table, with what is declared of it."""
    tree = build.column(column.name, of="q")
    return TypedExpression(tree, COLUMNS[column.name][0], **KNOWN.get(column.name, {}))  # type: ignore[arg-type]


@pytest.fixture(scope="module")
def reference() -> Iterator[tuple[Engine, exp.Table]]:
    """DuckDB, which the others are compared with."""
    engine = DuckDB()
    yield engine, engine.load(nasty().to_reader())
    engine.close()


def answers(
    engine: Engine, relation: exp.Table, found: list[TypedExpression]
) -> list[list[object]]:
    """Return the values of all expressions, row by row in the same order."""
    columns = [build.alias_as(item.tree.copy(), f"c{i}") for i, item in enumerate(found)]
    source = build.aliased_table(relation, "q")
    query = build.select(*columns, source=source)
    table = engine.run(build.order_nulls_last(query, [build.column("row", of="q")]))
    return [[_plain(value) for value in column.to_pylist()] for column in table.columns]


def _plain(value: object) -> object:
    if isinstance(value, dt.datetime):
        return value.replace(tzinfo=None)
    return float(value) if isinstance(value, Decimal) else value


def total(written: list[str]) -> list[tuple[str, TypedExpression]]:
    """Return those expressions that are not refused; refusals look at no data."""
    found: list[tuple[str, TypedExpression]] = []
    for text in written:
        try:
            typed = translate_expression(parse_one(text, dialect="duckdb"), resolve)
        except QuestionRefused:
            continue
        if not typed.is_null and typed.kind is not Kind.DECIMAL:
            found.append((text, typed))
    return found


def holds(typed: TypedExpression, value: object) -> bool:
    """Whether a value is what was proven of it."""
    if value is None:
        return typed.nullable
    if typed.values is not None and value not in typed.values:
        return False
    if not typed.is_number:
        return True
    assert isinstance(value, (int, float))
    assert math.isfinite(value)
    if typed.low is not None and value < typed.low:
        return False
    if typed.high is not None and value > typed.high:
        return False
    return typed.step is None or _is_multiple(Fraction(value), typed.step)


def _is_multiple(value: Fraction, step: Fraction) -> bool:
    return value % step == 0 or float(round(value / step) * step) == float(value)


def fails(engine: Engine, relation: exp.Table, typed: TypedExpression) -> bool:
    try:
        answers(engine, relation, [typed])
    except EngineFailed:
        return True
    return False


def check(
    engine: Engine, relation: exp.Table, reference: tuple[Engine, exp.Table], written: list[str]
):
    found = total(written)
    try:
        expected = answers(*reference, [typed for _, typed in found])
        got = answers(engine, relation, [typed for _, typed in found])
    except EngineFailed:
        assert [text for text, typed in found if fails(engine, relation, typed)] == []
        raise
    for (text, typed), ours, theirs in zip(found, got, expected, strict=True):
        assert ours == theirs, text
        wrong = [value for value in ours if not holds(typed, value)]
        assert not wrong, (text, typed.low, typed.high, typed.step)


def check_many(
    engine: Engine,
    relation: exp.Table,
    reference: tuple[Engine, exp.Table],
    *,
    examples: int,
    depth: int = 3,
    many: int = 40,
):
    """Check many random expressions at a time: a query costs more than an expression."""

    @given(st.integers(min_value=0, max_value=2**32))
    @settings(max_examples=examples, suppress_health_check=list(HealthCheck))
    def property_(seed: int):
        grammar = Grammar(random.Random(seed), COLUMNS)
        check(engine, relation, reference, [grammar.anything(depth) for _ in range(many)])

    property_()


@pytest.mark.parametrize("name", ["duckdb", pytest.param("postgresql", marks=pytest.mark.postgres)])
def test_random_expressions_never_fail_and_keep_their_promises(
    name: str, reference: tuple[Engine, exp.Table], request: pytest.FixtureRequest
):
    engine, relation = reference
    if name == "postgresql":
        from discreet.engines.postgres import PostgreSQL

        engine = PostgreSQL(request.getfixturevalue("postgres_url"))
        relation = engine.load(nasty().to_reader())
    check_many(engine, relation, reference, examples=EXAMPLES)


@pytest.mark.spark
@pytest.mark.xdist_group("spark")
def test_random_expressions_mean_the_same_on_spark(
    spark_engine: Engine, reference: tuple[Engine, exp.Table]
):
    relation = spark_engine.load(nasty().to_reader())
    check_many(spark_engine, relation, reference, examples=2, depth=2, many=20)


@pytest.mark.parametrize(
    "written",
    ["CAST(t AS INTEGER)", "i + 1", "-i", "i * i", "CAST(r AS BIGINT)", "CAST(t AS DATE)"],
)
def test_the_same_expressions_fail_on_these_values_as_they_are_written(
    written: str, reference: tuple[Engine, exp.Table]
):
    as_written = TypedExpression(parse_one(written, dialect="duckdb"), Kind.REAL)
    assert fails(*reference, as_written)
    assert not fails(*reference, translate_expression(as_written.tree, resolve))


def test_a_condition_is_false_where_it_is_null(reference: tuple[Engine, exp.Table]):
    engine, relation = reference
    kept = translate_condition(parse_one("r > 0 OR NULL", dialect="duckdb"), resolve)
    query = build.select(build.column("r", of="q"), source=build.aliased_table(relation, "q"))
    values = engine.run(query.where(kept)).column(0).to_pylist()
    assert values
    assert all(value >= 1e-30 for value in values)
