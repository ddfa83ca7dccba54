"""Domains from the policy alone: codes on every engine equal those in Python, and decode to their bin."""

from __future__ import annotations

import datetime as dt
import math
from collections.abc import Iterator
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sqlglot import exp

from discreet.domain.declared import FoundDomain
from discreet.domain.listed_values import ListedValues
from discreet.engines.duckdb import DuckDB
from discreet.engines.engine import Column, Engine, Kind
from discreet.errors import UndeclaredDomain
from discreet.policy import parse_policy
from discreet.registry import ENGINES
from discreet.release.synthesize.domain import (
    CodedColumn,
    TableDomain,
    table_domain,
    undeclared_columns,
)
from discreet.sql import build

BITS = 2**63
WORDS = [
    "",
    " ",
    "a",
    "A",
    "a ",
    "á",
    "a\u0301",
    "b'b",
    'q"',
    "\\",
    "\U0001f600",
    "zz",
    "\u00df",
    "ss",
]
MANY = [f"w{number:03d}" for number in range(40)]
NUMBERS = [0, 1, -1, 5, 17, 999, 1000, 1001, 2000, 2001, 199_999, 200_000, 200_001, BITS - 1, -BITS]
REALS = [
    *(
        0.0,
        -0.0,
        5e-324,
        -5e-324,
        1e-30,
        0.1,
        0.3,
        0.30000000000000004,
        1.0,
        2.5,
        17.3,
        499.99999999999994,
    ),
    *(
        500.0,
        500.1,
        49_999.999999999,
        5e4,
        50_000.000000001,
        1e308,
        -1e308,
        math.inf,
        -math.inf,
        math.nan,
    ),
]
DAYS = [
    "0001-01-01",
    "1919-12-31",
    "1920-01-01",
    "1969-12-31",
    "1970-01-01",
    "2000-02-29",
    "2024-12-31",
    "9999-12-31",
]
MOMENTS = ["0001-01-01 00:00:00", "2023-12-31 23:59:59.999999", "2024-01-01 00:00:00", "2024-02-29 12:34:56.789",
           "2024-12-31 23:59:59.999999", "2025-01-01 00:00:00", "9999-12-31 23:59:59.999999"]  # fmt: skip


def coded(written: str, kind: Kind, type_name: str = "") -> CodedColumn:
    policy = parse_policy(f"tables: {{t: {{columns: {{x: {written}}}}}}}").tables["t"]
    return table_domain(policy, [Column("x", kind, type_name)]).columns[0]


def dates(texts: list[str]) -> Any:
    return pa.array([*(dt.date.fromisoformat(text) for text in texts), None])


def moments(texts: list[str], zone: str | None = None) -> Any:
    return pa.array(
        [*(dt.datetime.fromisoformat(text) for text in texts), None], pa.timestamp("us", zone)
    )


CASES: dict[str, tuple[CodedColumn, Any]] = {
    "category": (coded("{role: sensitive, values: ['a', 'A', 'a ', 'á']}", Kind.TEXT), pa.array([*WORDS, None])),
    "many": (coded(f"{{role: sensitive, values: {MANY}}}", Kind.TEXT), pa.array([*MANY, "w", "w0", "w0400", "W001", None])),
    "codes": (coded("{role: sensitive, values: [1, 5, 17, 1000]}", Kind.INTEGER), pa.array([*NUMBERS, None], pa.int64())),
    "truth": (coded("sensitive", Kind.BOOLEAN), pa.array([True, False, None])),
    "age": (coded("{role: sensitive, bounds: [0, 120]}", Kind.INTEGER), pa.array([*NUMBERS, None], pa.int64())),
    "small": (coded("{role: sensitive, bounds: [-5, 1000]}", Kind.INTEGER), pa.array([0, -5, -6, 7, None], pa.int16())),
    "salary": (coded("{role: sensitive, bounds: [0, 200000]}", Kind.INTEGER), pa.array([*NUMBERS, None], pa.int64())),
    "change": (coded("{role: sensitive, bounds: [-3000, 200000]}", Kind.INTEGER), pa.array([*NUMBERS, None], pa.int64())),
    "cost": (coded("{role: sensitive, bounds: [0, 50000]}", Kind.REAL), pa.array([*REALS, None])),
    "balance": (coded("{role: sensitive, bounds: [-1.25, 17.3]}", Kind.REAL), pa.array([*REALS, None])),
    "rated": (coded("{role: sensitive, values: [0.1, 2.5, 500]}", Kind.REAL), pa.array([*REALS, None])),
    "price": (
        coded("{role: sensitive, bounds: [0, 50000]}", Kind.DECIMAL, "DECIMAL(20,2)"),
        pa.array([Decimal(x) for x in ("0", "-0.01", "0.01", "499.99", "500", "50000", "1e17")] + [None], pa.decimal128(20, 2)),
    ),
    "cut": (
        coded("{role: sensitive, bounds: [0, 5000], hierarchy: {cuts: [[0, 18, 65, 1200], [0, 65, 1200]]}}", Kind.INTEGER),
        pa.array([*NUMBERS, 18, 64, 65, 1199, 1200, None], pa.int64()),
    ),
    "day": (coded("{role: sensitive, kind: date, bounds: [2020-01-01, 2024-12-31]}", Kind.DATE), dates(DAYS)),
    "birth": (coded("{role: sensitive, kind: date, bounds: [1920-01-01, 2024-12-15]}", Kind.DATE), dates(DAYS)),
    "minute": (coded("{role: sensitive, bounds: [2024-02-29 11:30, 2024-02-29 20:00]}", Kind.TIMESTAMP), moments(MOMENTS)),
    "hour": (coded("{role: sensitive, bounds: [2024-01-01, 2024-03-31]}", Kind.TIMESTAMP), moments(MOMENTS)),
    "week": (coded("{role: sensitive, bounds: [2020-01-01, 2026-12-31]}", Kind.DATE), dates(DAYS)),
    "moment": (coded("{role: sensitive, bounds: [2020-01-01, 2024-12-31]}", Kind.TIMESTAMP), moments(MOMENTS)),
    "month": (coded("{role: sensitive, bounds: [1925-01-01, 2024-12-31]}", Kind.TIMESTAMP), moments(MOMENTS)),
    "zoned": (
        coded("{role: sensitive, bounds: [2020-01-01, 2024-12-31]}", Kind.TIMESTAMP, "TIMESTAMP WITH TIME ZONE"),
        moments(MOMENTS, "UTC"),
    ),
    "clock": (coded("sensitive", Kind.TIME), pa.array([dt.time(0), dt.time(0, 15), dt.time(23, 59, 59, 999999), None], pa.time64("us"))),
}  # fmt: skip


@pytest.fixture(scope="module")
def chance() -> np.random.Generator:
    return np.random.default_rng(5)


@pytest.mark.parametrize("name", CASES)
def test_code_on_an_engine_equals_the_code_in_python(name: str, any_engine: Engine) -> None:
    column, values = CASES[name]
    relation = any_engine.load(
        pa.table({"n": pa.array(range(len(values))), "x": values}).to_reader()
    )
    query = build.select(
        build.column("n"), build.alias_as(column.code(build.column("x")), "code"), source=relation
    )

    found = any_engine.run(query)

    codes = dict(zip(found["n"].to_pylist(), found["code"].to_pylist(), strict=True))
    assert [codes[n] for n in range(len(values))] == column.encode(values).tolist()
    assert all(0 <= code < column.size for code in codes.values())
    any_engine.drop(relation)


@pytest.mark.parametrize("name", CASES)
def test_a_decoded_value_lies_in_its_bin(name: str, chance: np.random.Generator) -> None:
    column, _ = CASES[name]
    codes = np.repeat(np.arange(column.size), 20)

    values = column.decode(codes, chance)

    assert values.type == column.arrow_type
    assert column.encode(values).tolist() == codes.tolist()


@pytest.mark.parametrize("name", CASES)
def test_a_domain_survives_its_content(name: str) -> None:
    column, _ = CASES[name]

    again = CodedColumn.from_content(column.to_content())

    assert again == column
    assert [one.tolist() for one in again.levels] == [one.tolist() for one in column.levels]


PEOPLE = """
tables:
  people:
    unit: person
    columns:
      person: {role: identifier, kind: text}
      email: {role: identifier, kind: text}
      age: {role: quasi-identifier, kind: integer, bounds: [0, 120], hierarchy: {intervals: [5, 20]}}
      country: {role: quasi-identifier, kind: text, hierarchy: {tree: {Europe: [France, Spain], Asia: [Japan]}}}
      sex: {role: quasi-identifier, kind: text, labels: {1: male, 2: female}}
      job: {role: insensitive, kind: text}
      income: {role: sensitive, kind: number, bounds: {drafted: [0, 100]}}
      weight: {role: weight, kind: number}
      notes: {role: sensitive, kind: text}
      secret: {role: sensitive, kind: text}
    release: {leave-out: [secret]}
"""
COLUMNS = [
    *(
        Column(name, Kind.TEXT)
        for name in ("person", "email", "country", "sex", "job", "notes", "secret")
    ),
    *(Column(name, Kind.INTEGER) for name in ("age", "unlisted")),
    *(Column(name, Kind.REAL) for name in ("income", "weight")),
]
FOUND = {"job": FoundDomain(values=("clerk", "smith")), "income": FoundDomain(bounds=(0, 64))}


def people(found: dict[str, FoundDomain] = FOUND) -> TableDomain:
    return table_domain(parse_policy(PEOPLE).tables["people"], COLUMNS, found=found)


def test_one_error_names_every_undeclared_column_and_its_remedy() -> None:
    with pytest.raises(UndeclaredDomain, match="2 columns") as caught:
        people({})

    assert caught.value.columns == ("job", "income")
    assert "job: write `values: […]`" in str(caught.value)
    assert "income: `bounds` are `drafted`" in str(caught.value)
    assert "leave-out: [job, income]" in str(caught.value)


def test_undeclared_columns_say_what_is_to_be_found() -> None:
    found = undeclared_columns(parse_policy(PEOPLE).tables["people"], COLUMNS)

    assert [(one.column.name, one.need) for one in found] == [
        ("job", "values"),
        ("income", "bounds"),
    ]


def test_what_a_rule_names_is_not_found_but_declared() -> None:
    text = "tables: {t: {columns: {a: sensitive, b: sensitive}, rules: [{never: {a: x, b: y}}]}}"

    with pytest.raises(UndeclaredDomain, match="A rule of 't' names 'a'") as caught:
        undeclared_columns(
            parse_policy(text).tables["t"], [Column("a", Kind.TEXT), Column("b", Kind.TEXT)]
        )

    assert caught.value.columns == ("a", "b")


def test_columns_have_the_order_of_the_source_without_what_is_left_out() -> None:
    domain = people()

    assert domain.order == ("person", "email", "country", "sex", "job", "notes", "age", "income")
    assert [one.name for one in domain.surrogates] == ["person", "email", "notes"]


def test_values_that_were_not_found_share_a_code() -> None:
    job = next(one for one in people().columns if one.name == "job")

    codes = job.encode(pa.array(["smith", "judge", None]))

    assert codes.tolist() == [1, 2, 3]
    assert job.decode(codes, np.random.default_rng(1)).to_pylist() == ["smith", "*", None]


def test_numbers_that_are_codes_have_no_order() -> None:
    region = coded("{role: sensitive, bounds: [1, 16], ordered: false}", Kind.INTEGER)
    sizes = coded("{role: sensitive, values: [1, 2, 3]}", Kind.INTEGER)

    assert (region.size, region.is_ordered) == (17, False)
    assert sizes.is_ordered


def test_levels_come_from_the_hierarchy_coarse_to_fine_and_nest() -> None:
    domain = people()
    age, country = (
        next(c for c in domain.columns if c.name == name) for name in ("age", "country")
    )

    coarse, fine = age.levels

    assert [int(coarse[number]) for number in (0, 19, 20, 121)] == [0, 0, 1, 7]
    assert [int(fine[number]) for number in (0, 4, 5, 121)] == [0, 0, 1, 25]
    assert [one.tolist() for one in country.levels] == [[0, 0, 1, 2]]


def test_a_table_domain_survives_its_content() -> None:
    domain = people()

    assert TableDomain.from_content(domain.to_content()) == domain


AMOUNT = "{role: sensitive, bounds: [-5, 200000]}"
SEEN = "{role: sensitive, bounds: [2020-01-01, 2020-12-31]}"
# Values that only one engine has: type, text, the column's declaration and kind, and the code.
ODD: dict[str, list[tuple[str, str, str, Kind, int]]] = {
    "duckdb": [
        ("HUGEINT", str(2**127 - 1), AMOUNT, Kind.INTEGER, 52),
        ("HUGEINT", str(-(2**127)), AMOUNT, Kind.INTEGER, 0),
        ("UHUGEINT", str(2**128 - 1), AMOUNT, Kind.INTEGER, 52),
        ("UHUGEINT", "7", "{role: sensitive, values: [-1, 7]}", Kind.INTEGER, 1),
        ("UTINYINT", "255", "{role: sensitive, values: [-1, 255]}", Kind.INTEGER, 1),
        ("FLOAT", "0.1", "{role: sensitive, values: [0.1, 7]}", Kind.REAL, 0),
        ("DECIMAL(38,10)", "9" * 28, AMOUNT, Kind.DECIMAL, 52),
        ("TIMESTAMP_S", "290000-12-22", SEEN, Kind.TIMESTAMP, 365),
        ("TIMESTAMP_NS", "-infinity", SEEN, Kind.TIMESTAMP, 0),
        ("DATE", "infinity", SEEN, Kind.DATE, 365),
        ("TIME", "24:00:00", "sensitive", Kind.TIME, 95),
    ],
    "postgres": [
        ("DECIMAL", "1e4000", AMOUNT, Kind.DECIMAL, 52),
        ("DECIMAL", "1e-4000", AMOUNT, Kind.DECIMAL, 2),
        ("DECIMAL", "NaN", AMOUNT, Kind.DECIMAL, 53),
        ("DECIMAL", "-Infinity", AMOUNT, Kind.DECIMAL, 0),
        ("TIMESTAMPTZ", "infinity", SEEN, Kind.TIMESTAMP, 365),
        ("TIMESTAMPTZ", "2020-01-01 01:30:00+01", SEEN, Kind.TIMESTAMP, 0),
        ("DATE", "-infinity", SEEN, Kind.DATE, 0),
        ("TIME", "24:00:00", "sensitive", Kind.TIME, 95),
        ("CHAR(5)", "ab", "{role: sensitive, values: [ab, a]}", Kind.TEXT, 0),
    ],
}


@pytest.mark.parametrize("any_engine", ["duckdb", pytest.param("postgresql", marks=pytest.mark.postgres)], indirect=True)  # fmt: skip
def test_values_that_only_one_engine_has_do_no_harm(any_engine: Engine) -> None:
    for type_name, text, written, kind, expected in ODD[any_engine.dialect]:
        column = coded(written, kind, type_name)
        wanted = exp.DataType.build(type_name, dialect=any_engine.dialect)
        inner = exp.select(build.alias_as(exp.cast(build.text(text), wanted), "x"))
        source = build.subquery(inner, "rows")

        found = any_engine.run(
            build.select(build.alias_as(column.code(build.column("x")), "c"), source=source)
        )

        assert found["c"].to_pylist() == [expected], (type_name, text, column.size)


def test_a_text_of_a_column_with_a_collation_is_compared_by_its_bytes() -> None:
    column = coded("{role: sensitive, values: [a, b]}", Kind.TEXT)
    texts = exp.Collate(
        this=exp.cast(build.text("A"), "TEXT"), expression=exp.to_identifier("NOCASE")
    )
    source = build.subquery(exp.select(build.alias_as(texts, "x")), "rows")
    engine = ENGINES.get("duckdb").start("")

    found = engine.run(
        build.select(build.alias_as(column.code(build.column("x")), "c"), source=source)
    )
    engine.close()

    assert found["c"].to_pylist() == [2]


ENDS = (
    st.tuples(*[st.decimals(-(10**7), 10**7, places=3)] * 2)
    .map(sorted)
    .filter(lambda e: e[0] < e[1])
)


@pytest.fixture(scope="module")
def duckdb_engine() -> Iterator[Engine]:
    engine = ENGINES.get("duckdb").start("")
    yield engine
    engine.close()


def codes_on(engine: Engine, column: CodedColumn, values: Any) -> list[int]:
    relation = engine.load(pa.table({"n": pa.array(range(len(values))), "x": values}).to_reader())
    wanted = build.alias_as(column.code(build.column("x")), "code")
    query = build.select(build.column("n"), wanted, source=relation).order_by(build.column("n"))
    found: list[int] = engine.run(query)["code"].to_pylist()
    engine.drop(relation)
    return found


@settings(max_examples=25, deadline=None)
@given(ends=ENDS, numbers=st.lists(st.floats() | st.floats(-1e7, 1e7), min_size=20, max_size=20), seed=st.integers(0, 9))  # fmt: skip
def test_any_bounds_and_reals_have_one_code_on_the_engine_and_in_python(
    ends: list[Decimal], numbers: list[float], seed: int, duckdb_engine: Engine
) -> None:
    column = coded(f"{{role: sensitive, bounds: [{ends[0]}, {ends[1]}]}}", Kind.REAL)
    edges = column.coding.ends
    assert edges is not None
    near = np.concatenate([np.nextafter(edges[0], side) for side in (-np.inf, np.inf)] + [edges[0]])
    values = pa.array([*numbers, *near, float(ends[0]), float(ends[1]), None])

    assert codes_on(duckdb_engine, column, values) == column.encode(values).tolist()
    codes = np.arange(column.size)
    drawn = column.decode(codes, np.random.default_rng(seed))
    assert column.encode(drawn).tolist() == codes.tolist()


@settings(max_examples=25, deadline=None)
@given(ends=ENDS, numbers=st.lists(st.integers(-(2**63), 2**63 - 1) | st.integers(-(10**7), 10**7), min_size=20, max_size=20))  # fmt: skip
def test_any_bounds_and_whole_numbers_have_one_code_on_the_engine_and_in_python(
    ends: list[Decimal], numbers: list[int], duckdb_engine: Engine
) -> None:
    low, high = int(ends[0]), int(ends[1]) + 1
    column = coded(f"{{role: sensitive, bounds: [{low}, {high}]}}", Kind.INTEGER)
    edges = column.coding.ends
    assert edges is not None
    near = [int(one) + step for one in edges[0] for step in (-1, 0, 1)]
    values = pa.array([*numbers, *near, None], pa.int64())

    assert codes_on(duckdb_engine, column, values) == column.encode(values).tolist()


def test_a_column_of_which_no_value_was_found_has_one_code_for_all_values():
    code = ListedValues(Kind.TEXT, (), has_other=True).code(build.text("a"), missing=1)
    assert code.sql().endswith(" IS NULL THEN 1 ELSE 0 END")


@pytest.mark.parametrize("stored", ["FLOAT", "DOUBLE"])
def test_listed_numbers_are_found_whatever_a_server_holds_them_in(stored: str):
    values = ListedValues(Kind.REAL, (0.5, 0.1))  # PostgreSQL names no type
    cells = [exp.cast(build.text(one), stored) for one in ("0.1", "0.5", "0.2")]
    wanted = [
        build.alias_as(values.code(one, missing=2), f"c{place}") for place, one in enumerate(cells)
    ]
    engine = DuckDB()
    (row,) = engine.run(exp.select(*wanted)).to_pylist()
    engine.close()
    assert list(row.values()) == [1, 0, 2]
