"""The same table gives the same assessment on every engine, down to its worst classes."""

from __future__ import annotations

import datetime as dt
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest

import discreet
from discreet.engines.duckdb import DuckDB
from discreet.engines.engine import Table
from discreet.errors import EmptySource
from discreet.policy import model
from discreet.policy.hierarchies.tree import build_taxonomy
from discreet.policy.model import ColumnPolicy, ColumnRole, Policy

if TYPE_CHECKING:
    from discreet.engines.engine import Engine

NAN = float("nan")


def on(engine: Engine, table: pa.Table, label: str = "people") -> Table:
    """Put `table` on `engine`."""
    relation = engine.load(table.to_reader())
    return Table(engine, relation, engine.columns(relation), label)


def both(engine: Engine, table: pa.Table, **options: Any) -> tuple[dict, dict]:
    """Assess `table` on `engine` and on DuckDB, and return both results as plain values."""
    options = {"depth": 0, **options}
    against = options.pop("against", None)
    found = []
    for place in (engine, DuckDB()):
        population = {} if against is None else {"against": on(place, against, "population")}
        found.append(discreet.assess(on(place, table), **options, **population).to_dict())
    return found[0], found[1]


TEXTS = {
    "unicode": pa.array(["a", "A", "á", "a", "", None, " a", "Ω", "日本", "🙂"]),
    "empty": pa.array(["", None, "", None, "*", "null", "NULL", "\\N", "nan", "0"]),
    "signs": pa.array(["a'b", 'a"b', "a,b", "a\nb", "a\tb", "a\\b", "%s", "a b", "a'b", "--"]),
}
NUMBERS = {
    "real": pa.array([0.0, -0.0, NAN, NAN, None, 1e300, 5e-324, 0.1, float("inf"), float("-inf")]),
    "short_real": pa.array([0.1, 0.1, -0.0, 0.0, None, 2.5, NAN, NAN, 7, 8], pa.float32()),
    "extreme": pa.array([2**63 - 1, -(2**63), 2**63 - 2, None, 0, 0, 1, -1, 2**62, -(2**62)]),
    "whole": pa.array([3, -5, 3, None, 2**31, 3, 4, 5, 6, 7]),
    "short": pa.array([1, 1, -128, None, 127, 0, 0, 1, 1, 1], pa.int8()),
    "decimal": pa.array([1.1, 1.1, -0.01, None, 0, 12.5, 2, 2, 3, 9.99]).cast(
        pa.decimal128(20, 2), safe=False
    ),
}
TIMES = {
    "flag": pa.array([True, False, True, None, None]),
    "date": pa.array(
        [dt.date(1967, 9, 7), dt.date(1, 1, 1), dt.date(9999, 12, 31), dt.date(1967, 9, 7), None]
    ),
    "moment": pa.array(
        [1_709_251_199_999_999, 1_709_251_199_000_000, None, 1_709_251_199_000_000, -1],
        pa.timestamp("us"),
    ),
}
KINDS = pytest.mark.parametrize("columns", [TEXTS, NUMBERS, TIMES], ids=["text", "number", "time"])


@KINDS
def test_every_kind_of_value_is_classed_alike(any_engine, columns):
    """Single columns are compared as well: the search of depth 1 has the classes of each."""
    found, expected = both(any_engine, pa.table(columns), quasi=list(columns), depth=1)
    assert found == expected


@pytest.mark.soak("spark")
@KINDS
def test_every_kind_of_value_is_counted_and_ordered_alike(any_engine, columns):
    length = len(next(iter(columns.values())))
    table = pa.table({**columns, "half": [n % 2 for n in range(length)]})
    found, expected = both(any_engine, table, quasi=["half"], sensitive=list(columns))
    assert found == expected


PEOPLE = pa.table(
    {
        "who": pa.array([1, 1, 2, 3, 4, 5, None, None, 6, 6, 7, 8]),
        "zip": ["10", "10", "10", "É1", "É1", "*", "*", None, "10", "10", "*", None],
        "age": pa.array([30, 30, 30, 41, 41, None, 41, None, 30, 31, None, None]),
        "ill": [
            "flu",
            "acne",
            "flu",
            "cold",
            None,
            "flu",
            "cold",
            "flu",
            "acne",
            "acne",
            "cold",
            "",
        ],
        "pay": pa.array([10.5, 10.5, 20.0, -0.0, 0.0, NAN, None, 7.0, 7.0, 7.0, 1.0, 2.0]),
    }
)
ILLNESS = build_taxonomy({"lung": ["flu", "cold"], "skin": ["acne"], "unknown": [""]})
CRITERIA = (
    model.KAnonymity(2),
    model.LDiversity("ill", 2),
    model.LDiversity("ill", 1.5, "probabilistic"),
    model.LDiversity("ill", 1.5, "entropy"),
    model.LDiversity("pay", 2, "recursive", 1.5),
    model.TCloseness("ill", 0.5),
    model.TCloseness("ill", 0.3, "hierarchical"),
    model.TCloseness("pay", 0.3, "ordered"),
    model.AlphaK("ill", 0.5, 2),
    model.BetaLikeness("ill", 1),
    model.BetaLikeness("pay", 1, "enhanced"),
    model.DeltaDisclosure("ill", 2),
)


def policy(*criteria: model.Criterion, unit: str | None = None) -> Policy:
    columns = (
        ColumnPolicy("zip", ColumnRole.QUASI_IDENTIFIER),
        ColumnPolicy("age", ColumnRole.QUASI_IDENTIFIER),
        ColumnPolicy("ill", ColumnRole.SENSITIVE, hierarchy=ILLNESS),
        ColumnPolicy("pay", ColumnRole.SENSITIVE),
    )
    return Policy({"people": model.TablePolicy("people", columns, unit=unit, criteria=criteria)})


@pytest.mark.parametrize("unit", [pytest.param(None, marks=pytest.mark.soak("spark")), "who"])
def test_criteria_suppressed_rows_and_units_are_judged_alike(any_engine, unit):
    found, expected = both(any_engine, PEOPLE, policy=policy(*CRITERIA, unit=unit))
    assert found == expected
    assert found["suppressed"] == 0  # a gap beside a `*` is a value
    assert found["people"] == (9 if unit else 12)


@pytest.mark.soak("spark")
def test_combinations_and_columns_are_searched_alike(any_engine):
    found, expected = both(any_engine, PEOPLE, policy=policy(), depth=2)
    assert found == expected


@pytest.mark.parametrize("elsewhere", [pytest.param(False, marks=pytest.mark.soak("spark")), True])
def test_a_population_is_matched_alike(any_engine, elsewhere):
    population = pa.table(
        {
            "age": pa.array([30, 30, 30, 31, 31, 41, 41, 41, None, 99, 30]),
            "zip": ["10", "10", "10", "10", "10", "É1", "É1", "*", None, "10", None],
        }
    )
    criteria = model.KMap(2), model.DeltaPresence(0.1, 0.9)
    options = {"policy": policy(*criteria), "depth": 0}
    held = DuckDB() if elsewhere else any_engine
    here = on(any_engine, PEOPLE)
    found = discreet.assess(here, against=on(held, population, "population"), **options)
    duck = DuckDB()
    expected = discreet.assess(
        on(duck, PEOPLE), against=on(duck, population, "population"), **options
    )
    assert found.to_dict() == expected.to_dict()
    assert found.presence.population == 11


def test_a_table_without_rows_is_refused(any_engine):
    empty = PEOPLE.slice(0, 0)
    with pytest.raises(EmptySource):
        discreet.assess(on(any_engine, empty), policy(*CRITERIA))


@pytest.mark.soak("spark")
def test_a_population_without_rows_is_refused(any_engine):
    empty = on(any_engine, PEOPLE.slice(0, 0), "population")
    with pytest.raises(EmptySource):
        discreet.assess(on(any_engine, PEOPLE), quasi=["zip"], against=empty, depth=0)


@pytest.mark.soak("spark")
def test_one_row_is_assessed_alike(any_engine):
    found, expected = both(any_engine, PEOPLE.slice(0, 1), policy=policy(*CRITERIA))
    assert found == expected


@pytest.mark.soak("spark")
def test_a_table_that_is_all_suppressed_is_assessed_alike(any_engine):
    suppressed = pa.table({"zip": ["*", "*"], "age": ["*", "*"], "ill": ["flu", "cold"]})
    found, expected = both(any_engine, suppressed, quasi=["zip", "age"], sensitive=["ill"], depth=1)
    assert found == expected
    assert (found["k"], found["suppressed"]) == (2, 2)


@pytest.mark.soak("spark")
def test_columns_may_have_any_name(any_engine):
    names = ["value", "code", "rows", "size", "unit", "people", "k0", "Group By", "ä\"'`", "t"]
    rows = {name: ["a", "a", "b", "*"] for name in names}
    found, expected = both(
        any_engine, pa.table(rows), quasi=names[:7], sensitive=names[7:9], unit=names[9]
    )
    assert found == expected


@pytest.mark.soak("spark")
def test_many_wide_columns_share_several_keys_alike(any_engine):
    wide = 2**30
    table = pa.table({f"c{i}": [0, wide, wide, 7, i] for i in range(5)})
    found, expected = both(any_engine, table, quasi=table.column_names, depth=2)
    assert found == expected
    assert found["classes"] == 4
