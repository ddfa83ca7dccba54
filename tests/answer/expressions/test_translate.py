"""What is proven about expressions, and what they mean."""

from __future__ import annotations

import datetime as dt
from fractions import Fraction

import pyarrow as pa
import pytest
from sqlglot import exp, parse_one

from discreet.answer.expressions.ranges import predicate_ranges
from discreet.answer.expressions.translate import translate_expression
from discreet.answer.expressions.typed import TypedExpression
from discreet.engines.duckdb import DuckDB
from discreet.engines.engine import Engine, Kind
from discreet.sql import build

YEAR_2020 = Fraction(dt.date(2020, 1, 1).toordinal()), Fraction(dt.date(2021, 12, 31).toordinal())
COLUMNS = {
    "i": TypedExpression(build.column("i"), Kind.INTEGER),
    "age": TypedExpression(build.column("age"), Kind.INTEGER, low=Fraction(0), high=Fraction(120)),
    "r": TypedExpression(build.column("r"), Kind.REAL),
    "pay": TypedExpression(build.column("pay"), Kind.REAL, low=Fraction(0), high=Fraction(100)),
    "price": TypedExpression(build.column("price"), Kind.DECIMAL, step=Fraction(1, 100)),
    "t": TypedExpression(build.column("t"), Kind.TEXT),
    "sex": TypedExpression(build.column("sex"), Kind.TEXT, values=("Female", "Male")),
    "b": TypedExpression(build.column("b"), Kind.BOOLEAN),
    "d": TypedExpression(build.column("d"), Kind.DATE),
    "day": TypedExpression(build.column("day"), Kind.DATE, low=YEAR_2020[0], high=YEAR_2020[1]),
}


def resolve(column: exp.Column) -> TypedExpression:
    return COLUMNS[column.name]


def known(written: str) -> TypedExpression:
    return translate_expression(parse_one(written, dialect="duckdb"), resolve)


@pytest.mark.parametrize(
    ("written", "low", "high"),
    [
        ("LEAST(GREATEST(i, 0), 120)", 0, 120),
        ("GREATEST(LEAST(r, 5.5), -5)", -5, 5.5),
        ("LEAST(i, 10)", None, 10),
        ("LEAST(age, i)", None, None),  # where age is NULL, it is i
        ("age + 1", 1, 121),
        ("age - pay", -100, 120),
        ("-age", -120, 0),
        ("age * age", 0, 14400),
        ("pay * 0.1", 0, 10),
        ("pay / 8", 0, 12.5),
        ("100 / (age + 1)", Fraction(100.0 / 121.0), 100),
        ("pay / age", None, None),
        ("age // 10", 0, 12),
        ("i % 10", -9, 9),
        ("age % 10", 0, 9),
        ("ABS(age - 60)", 0, 60),
        ("SIGN(r)", -1, 1),
        ("ROUND(pay)", 0, 100),
        ("ROUND(pay, 1)", 0, 100),
        ("FLOOR(pay / 7)", 0, 14),
        ("SQRT(pay)", 0, 10),
        ("CASE WHEN b THEN age ELSE -5 END", -5, 120),
        ("COALESCE(age, 200)", 0, 200),
        ("CAST(b AS INTEGER)", 0, 1),
        ("CAST(age AS DOUBLE)", 0, 120),
        ("CAST('12' AS INTEGER)", 12, 12),
        ("CAST('-7' AS DOUBLE)", -7, -7),
        ("LENGTH(LEFT(t, 3))", 0, 3),
        ("LENGTH(t)", 0, None),
        ("EXTRACT(month FROM d)", 1, 12),
        ("YEAR(day)", 2020, 2021),
        ("YEAR(d)", None, None),
        ("day - DATE '2020-01-01'", 0, 730),
        ("i + 1", None, None),
        ("r", None, None),
        ("CAST(t AS INTEGER)", None, None),
    ],
)
def test_bounds_are_carried_through(written: str, low: float | None, high: float | None):
    found = known(written)
    assert (found.low, found.high) == (
        None if low is None else Fraction(low),
        None if high is None else Fraction(high),
    )


@pytest.mark.parametrize(
    ("written", "values"),
    [
        ("b", None),
        ("age > 50", (False, True)),
        ("CASE WHEN age < 18 THEN 'minor' ELSE 'adult' END", ("minor", "adult")),
        ("IF(b, 'yes', 'no')", ("yes", "no")),
        ("COALESCE(sex, 'unknown')", ("Female", "Male", "unknown")),
        ("LOWER(sex)", ("female", "male")),
        ("LEFT(sex, 1)", ("F", "M")),
        ("SUBSTRING(sex, 2, 2)", ("em", "al")),
        ("NULLIF(sex, 'Male')", ("Female",)),
        ("sex || '!'", ("Female!", "Male!")),
        ("LENGTH(sex)", (6, 4)),
        ("EXTRACT(month FROM d)", tuple(range(1, 13))),
        ("EXTRACT(dow FROM d)", tuple(range(7))),
        ("YEAR(day)", (2020, 2021)),
        ("age // 50 * 50", (0, 50, 100)),
        ("CASE WHEN b THEN 1 ELSE 5 END * 10", (10, 50)),
        ("CAST(LEAST(GREATEST(i, 1), 3) AS TEXT)", ("1", "2", "3")),
        ("CAST(b AS INTEGER)", (0, 1)),
        ("t", None),
        ("YEAR(d)", None),
        ("UPPER(t)", None),
        ("LEAST(GREATEST(i, 0), 1000000)", None),
    ],
)
def test_public_values_are_carried_through(written: str, values: tuple[object, ...] | None):
    assert known(written).values == values


def test_one_public_value_does_not_make_a_column_constant():
    tree = build.column("kind")
    kind = TypedExpression(tree, Kind.TEXT, values=("a",), nullable=False)
    found = translate_expression(parse_one("LOWER(kind)", dialect="duckdb"), lambda _: kind)
    assert found.tree.find(exp.Column) == tree


def test_values_that_capital_letters_change_differently_on_engines_are_no_domain():
    tree = build.column("street")
    street = TypedExpression(tree, Kind.TEXT, values=("Straße",))
    assert (
        translate_expression(exp.Upper(this=build.column("street")), lambda _: street).values
        is None
    )
    assert translate_expression(
        exp.Lower(this=build.column("street")), lambda _: street
    ).values == ("straße",)


@pytest.mark.parametrize(
    ("written", "step"),
    [
        ("age", None),
        ("age + 1", 1),
        ("LEAST(GREATEST(age, 0), 100) * 12", 12),
        ("ROUND(r, 2)", Fraction(1, 100)),
        ("price", Fraction(1, 100)),
        ("LEAST(GREATEST(price, 0), 10)", Fraction(1, 100)),
        ("FLOOR(r)", 1),
        ("age * 0.5", Fraction(1, 2)),
        ("age * 0.1", None),
        ("r", None),
    ],
)
def test_steps_are_carried_through(written: str, step: Fraction | None):
    assert known(written).step == step


@pytest.mark.parametrize(
    ("written", "kind"),
    [
        ("age + 1", Kind.INTEGER),
        ("i + 1", Kind.REAL),  # could exceed 64 bits
        ("7 / 2", Kind.REAL),
        ("FLOOR(pay)", Kind.INTEGER),
        ("FLOOR(r)", Kind.REAL),
        ("d + INTERVAL 1 MONTH", Kind.DATE),
        ("d + INTERVAL 1 HOUR", Kind.TIMESTAMP),
        ("DATE_TRUNC('month', d)", Kind.DATE),
        ("t || 'x'", Kind.TEXT),
        ("d > '2020-01-01'", Kind.BOOLEAN),
    ],
)
def test_the_kind_is_known(written: str, kind: Kind):
    assert known(written).kind is kind


@pytest.mark.parametrize(
    ("predicate", "bounds"),
    [
        ("age >= 18 AND age < 65", {(None, "age"): (18, 64)}),
        ("q.r > 1.5", {("q", "r"): (1.5, None)}),
        ("5 > r", {(None, "r"): (None, 5)}),
        ("i BETWEEN 1 AND 10", {(None, "i"): (1, 10)}),
        ("i IN (3, 1, 2)", {(None, "i"): (1, 3)}),
        ("i = -4", {(None, "i"): (-4, -4)}),
        ("i > 2.5", {(None, "i"): (3, None)}),
        ("i < 5 OR i = 9", {(None, "i"): (None, 9)}),
        ("(i > 0 AND r < 1) OR i > 5", {(None, "i"): (1, None)}),
        ("NOT i > 5", {}),
        ("i > age", {}),
        ("i + 1 > 5", {}),
        ("t = 'x' AND b", {}),
        ("i > 5 OR b", {}),
        ("i IN (1, NULL)", {}),
        (
            "d >= '2020-01-01' AND d < DATE '2020-01-03'",
            {(None, "d"): (YEAR_2020[0], YEAR_2020[0] + 1)},
        ),
    ],
)
def test_a_where_clause_sets_bounds_of_columns(
    predicate: str, bounds: dict[tuple[str | None, str], tuple[float | None, float | None]]
):
    found = predicate_ranges(parse_one(predicate, dialect="duckdb"), resolve)
    assert found == {
        place: tuple(None if end is None else Fraction(end) for end in ends)
        for place, ends in bounds.items()
    }


# Each pair holds on every engine; DuckDB's own answer where it has one for these values.
MEANINGS = [
    ("7 / 2", 3.5),
    ("-7 // 2", -3),
    ("-7 % 2", -1),
    ("7 % -2", 1),
    ("1 / 0", None),
    ("1 // 0", None),
    ("1 % 0", None),
    ("SQRT(-1)", None),
    ("ROUND(2.5)", 3),
    ("ROUND(-2.5)", -3),
    ("ROUND(0.49999999999999994)", 0),
    ("ROUND(2.675, 2)", 2.68),
    ("ROUND(1234, -2)", 1200),
    ("CAST('12' AS INTEGER)", 12),
    ("CAST('-12' AS DOUBLE)", -12),
    ("CAST('3000000000' AS INTEGER)", None),
    ("CAST('1.5' AS INTEGER)", None),
    ("CAST(t AS INTEGER)", None),
    ("CAST(3000000000 AS INTEGER)", None),
    ("CAST(2.5 AS INTEGER)", 3),
    ("CAST('2023-02-29' || '' AS TEXT)", "2023-02-29"),
    ("CONCAT('a', NULL, 'b')", "ab"),
    ("'a' || NULL", None),
    ("'B' < 'a'", True),
    ("LOWER(t) < 'b'", True),
    ("t LIKE 'A\\%'", False),
    ("t LIKE 'A_%'", True),
    ("t ILIKE 'aBc'", True),
    ("t NOT LIKE 'A%'", False),
    ("contains(t, '%')", False),
    ("EXTRACT(dow FROM DATE '2024-01-07')", 0),
    ("EXTRACT(isodow FROM DATE '2024-01-07')", 7),
    ("EXTRACT(week FROM DATE '2021-01-03')", 53),
    ("DATE '2024-01-31' + INTERVAL 1 MONTH", dt.date(2024, 2, 29)),
    ("DATE '9999-12-31' + INTERVAL 1 DAY", dt.date(9999, 12, 31)),
    ("DATE '0001-01-01' - INTERVAL 1 DAY", dt.date(1, 1, 1)),
    ("DATE '2024-03-01' - DATE '2024-02-01'", 29),
    ("DATE_DIFF('month', DATE '2024-01-31', DATE '2024-02-01')", 1),
    ("DATE_TRUNC('quarter', DATE '2024-05-31')", dt.date(2024, 4, 1)),
    ("LEAST(NULL, 2)", 2),
    ("NULLIF(1, 1)", None),
    ("CASE t WHEN 'Abc' THEN 1 END", 1),
    ("NULL = 1", None),
    ("NULL IS NOT DISTINCT FROM NULL", True),
    ("LENGTH('a\U0001f600')", 2),
    ("SUBSTRING('h\u00e9llo', 2, 3)", "\u00e9ll"),
    ("TRIM('  a\t ')", "a\t"),
    ("CAST(TRUE AS TEXT)", "true"),
    ("CAST('yes' || '' AS BOOLEAN)", True),
]


@pytest.fixture(scope="module")
def row() -> pa.Table:
    return pa.table({"t": ["Abc"]})


def test_expressions_mean_the_same_on_every_engine(any_engine: Engine, row: pa.Table):
    relation = any_engine.load(row.to_reader())
    columns = [
        build.alias_as(known(written).tree.copy(), f"c{i}")
        for i, (written, _) in enumerate(MEANINGS)
    ]
    found = any_engine.run(build.select(*columns, source=relation)).to_pylist()[0]
    got = {written: found[f"c{i}"] for i, (written, _) in enumerate(MEANINGS)}
    assert got == dict(MEANINGS)


def values_of(engine: Engine, source: str, written: str) -> list[object]:
    """Return an expression over values that no Arrow table can hold."""
    query = build.select(
        build.alias_as(known(written).tree.copy(), "v"),
        source=parse_one(f"SELECT * FROM ({source}) AS q", dialect=engine.dialect).subquery("p"),
    )
    return engine.run(query).column(0).to_pylist()


@pytest.fixture(scope="module")
def duckdb() -> DuckDB:
    return DuckDB()


def test_whole_numbers_of_128_bits_do_not_fail(duckdb: DuckDB):
    source = "SELECT CAST('170141183460469231731687303715884105727' AS HUGEINT) AS i"
    assert values_of(duckdb, source, "i + 1") == [1.7014118346046923e38]
    assert values_of(duckdb, source, "i > 5") == [True]
    assert values_of(duckdb, source, "COALESCE(i, 0)") == [0]
    assert values_of(duckdb, source, "i % 10") == [None]


def test_dates_beyond_the_calendar_become_its_ends(duckdb: DuckDB):
    source = "SELECT CAST(x AS DATE) AS d FROM (VALUES ('infinity'), ('290000-01-01'), ('-infinity')) AS v(x)"
    assert values_of(duckdb, source, "YEAR(d)") == [9999, 9999, 1]
    assert values_of(duckdb, source, "YEAR(d + INTERVAL 1 YEAR)") == [9999, 9999, 2]
    assert values_of(duckdb, source, "CAST(d AS TIMESTAMP) > '2020-01-01'") == [True, True, False]


@pytest.mark.postgres
def test_numerics_and_infinities_of_postgresql_do_not_fail(postgres_url: str):
    from discreet.engines.postgres import PostgreSQL

    engine = PostgreSQL(postgres_url)
    numbers = "('1e400'), ('-1e400'), ('1e-400'), ('NaN'), ('Infinity'), ('-Infinity'), ('0.5')"
    source = f"SELECT CAST(x AS NUMERIC) AS price FROM (VALUES {numbers}) AS v(x)"
    assert values_of(engine, source, "price * 1.0") == [1e30, -1e30, 0.0, None, 1e30, -1e30, 0.5]
    assert values_of(engine, source, "price / price")[3:5] == [None, 1.0]
    dates = "SELECT CAST(x AS DATE) AS d FROM (VALUES ('infinity'), ('-infinity')) AS v(x)"
    assert values_of(engine, dates, "d - DATE '0001-01-01'") == [3652058, 0]
    assert values_of(engine, dates, "EXTRACT(month FROM d - INTERVAL 1 MONTH)") == [11, 1]
    engine.close()
