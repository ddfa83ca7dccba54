"""Whose a row is: units are compared exactly, in one form, on every engine, or the question is refused."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from bench.verify.databases import SqlTable, on_duckdb, on_postgres, on_spark
from bench.verify.loss import compare

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from bench.verify.loss import Side, Verdict

    from discreet.answer.plan import Noise
    from discreet.engines.engine import Engine

    Make = Callable[[Mapping[str, SqlTable], str], Side]

POLICY = """
tables:
  visits:
    unit: pid
    limits: {rows-per-unit: 2}
    columns: {pid: identifier, cost: {role: sensitive, bounds: [0, 10]}}
  patients:
    unit: pid
    limits: {rows-per-unit: 1}
    columns: {pid: identifier, age: {role: quasi-identifier, bounds: [0, 120]}}
  kids:
    columns:
      parent: {role: identifier, references: patients.pid}
      toys: {role: sensitive, bounds: [0, 10]}
"""
BOTH = "(SELECT pid FROM visits UNION ALL SELECT pid FROM patients) u"
QUESTIONS = (
    "SELECT count(*), sum(v.cost) FROM visits v JOIN patients p ON v.pid = p.pid",
    "SELECT count(*) FROM visits v JOIN patients p USING (pid)",
    "SELECT count(DISTINCT p.pid) FROM visits v JOIN patients p ON v.pid = p.pid AND v.cost > 0",
    "SELECT count(*) FROM visits v LEFT JOIN patients p ON p.pid = v.pid",
    "SELECT count(*) FROM (SELECT pid, cost FROM visits UNION ALL SELECT pid, age FROM patients) u",
    f"SELECT count(*), sum(n) FROM (SELECT pid, count(*) AS n FROM {BOTH} GROUP BY pid HAVING count(*) > 1) x",
    f"SELECT count(DISTINCT pid) FROM {BOTH}",
    "SELECT count(*) FROM kids k JOIN patients p ON k.parent = p.pid",
    "SELECT count(*) FROM kids k JOIN patients p ON k.parent = p.pid JOIN visits v ON v.pid = p.pid",
    "SELECT count(DISTINCT pid) FROM visits",
    "SELECT count(*) FROM (SELECT pid, sum(cost) AS c FROM visits GROUP BY pid) x WHERE c > 5",
)
WIDE = tuple(f"{10**25 + n}" for n in range(12))  # 26 digits, one after the other
BEYOND = tuple(f"{2**53 + n}" for n in range(12))


def _tables(
    ids: tuple[str, ...], types: tuple[str, str], others: tuple[str, ...] = ()
) -> dict[str, SqlTable]:
    """Return a few people with near ids, who have visits, a record and children."""
    first, second = types
    others = others or ids
    visits = [(one, "7") for one in (*ids, *ids)]
    return {
        "visits": SqlTable({"pid": first, "cost": "INT"}, visits),
        "patients": SqlTable({"pid": second, "age": "INT"}, [(one, "40") for one in others]),
        "kids": SqlTable({"parent": first, "toys": "INT"}, [(one, "3") for one in ids]),
    }


def _verdicts(
    make: Make,
    tables: dict[str, SqlTable],
    leaver: tuple[str, ...],
    noises: tuple[Noise, ...] = ("laplace",),
) -> dict[str, Verdict]:
    """Return how well each question hides the person who is called `leaver` in these tables."""
    rest = {
        name: table.without(lambda row: row.get("pid") in leaver) for name, table in tables.items()
    }
    there, gone = make(tables, POLICY), make(rest, POLICY)
    try:
        return {
            f"{question} [{noise}]": compare(question, there, gone, noise=noise)
            for question in QUESTIONS
            for noise in noises
        }
    finally:
        for side in (there, gone):
            if side.engine.name != "spark":  # which is shared
                side.engine.close()


@pytest.fixture(
    params=[
        "duckdb",
        pytest.param("postgresql", marks=pytest.mark.postgres),
        pytest.param("spark", marks=[pytest.mark.spark, pytest.mark.xdist_group("spark")]),
    ]
)
def make(request: pytest.FixtureRequest) -> Iterator[Make]:
    if request.param == "duckdb":
        yield on_duckdb
    elif request.param == "postgresql":
        url = request.getfixturevalue("postgres_url")
        yield lambda tables, policy: on_postgres(url, tables, policy)
    else:
        engine: Engine = request.getfixturevalue("spark_engine")
        yield lambda tables, policy: on_spark(engine, tables, policy)


def _holds(verdicts: dict[str, Verdict]) -> bool:
    assert {name: one.fault for name, one in verdicts.items() if one.fault} == {}
    return True


def test_a_wide_unit_id_is_joined_exactly(make: Make, request: pytest.FixtureRequest) -> None:
    # Spark is slow, and its ids are compared in the same way whatever noise is drawn.
    is_slow = request.node.callspec.params["make"] == "spark"
    noises = ("laplace",) if is_slow else ("laplace", "gaussian")
    tables = _tables(WIDE, ("DECIMAL(38,0)", "DECIMAL(38,0)"))
    found = _verdicts(make, tables, (WIDE[3],), noises)
    assert _holds(found)
    assert not any(one.is_refused for one in found.values())
    assert any(one.loss > 0 for one in found.values())


@pytest.mark.parametrize(
    "types",
    [
        ("BIGINT", "DECIMAL(38,0)"),
        ("DECIMAL(20,0)", "BIGINT"),
        ("BIGINT", "VARCHAR(30)"),
    ],
)
def test_ids_of_different_kinds_are_refused_by_their_types_alone(
    make: Make, types: tuple[str, str]
) -> None:
    """Whichever people are there, joined they would be compared as doubles, or one would not fit the other."""
    quoted = tuple(f"'{one}'" for one in BEYOND)
    found = _verdicts(make, _tables(quoted, types), (quoted[3],))
    both = {name: one for name, one in found.items() if "JOIN" in name or "UNION" in name}
    assert _holds(found)
    assert all(one.is_refused for one in both.values())


@pytest.mark.parametrize(
    "kind", ["DOUBLE", "FLOAT", "TIMESTAMP", "TIMESTAMPTZ", "UHUGEINT", "BLOB", "INTERVAL", "TIME"]
)
def test_a_unit_that_distinguishes_no_one_exactly_is_refused(kind: str) -> None:
    tables = {"visits": SqlTable({"pid": kind, "cost": "INT"}, [])}
    for rows in ([], [("NULL", "1")]):
        side = on_duckdb({"visits": SqlTable(tables["visits"].columns, rows)}, POLICY)
        found = compare("SELECT count(DISTINCT pid) FROM visits", side, side)
        assert found.is_refused


def test_units_of_one_kind_and_several_widths_are_joined_exactly() -> None:
    for types in (
        ("BIGINT", "HUGEINT"),
        ("UBIGINT", "BIGINT"),
        ("HUGEINT", "UBIGINT"),
        ("DECIMAL(18,0)", "DECIMAL(38,0)"),
    ):
        found = _verdicts(on_duckdb, _tables(BEYOND, types), (BEYOND[3],))
        assert _holds(found)
        assert not any(one.is_refused for one in found.values())
    assert _holds(_verdicts(on_duckdb, _tables(WIDE, ("HUGEINT", "HUGEINT")), (WIDE[3],)))


TEXTS = (
    "'a'",
    "'A'",
    "'a '",
    "' a'",
    "'a  '",
    "''",
    "'\u00c4'",
    "'A\u0308'",
    "'0'",
    "'-0'",
    "'00'",
    "'0.0'",
)


@pytest.mark.soak("spark")  # a wide id is joined there in `make test`
def test_texts_that_look_alike_are_different_people(make: Make) -> None:
    found = _verdicts(make, _tables(TEXTS, ("VARCHAR(9)", "VARCHAR(9)")), (TEXTS[0],))
    assert _holds(found)
    assert not any(one.is_refused for one in found.values())


def test_a_collation_that_folds_cases_merges_no_people() -> None:
    """DuckDB groups by a column's collation but counts distinct values without it."""
    folded = "VARCHAR COLLATE NOCASE"
    ids = ("'anna'", "'ANNA'", "'Anna'", "'bob'")
    wards = [(one, ward) for one in ids for ward in ("1", "2", "3")]
    tables = {"visits": SqlTable({"pid": folded, "ward": "INT"}, wards)}
    there, gone = (
        on_duckdb({"visits": table}, POLICY.replace("cost:", "ward:"))
        for table in (tables["visits"], tables["visits"].without(lambda row: row["pid"] == ids[0]))
    )
    question = "SELECT count(DISTINCT pid) FROM visits"
    assert compare(question, there, gone).fault is None
    assert _holds(_verdicts(on_duckdb, _tables(ids, (folded, "VARCHAR")), (ids[0],)))


@pytest.mark.postgres
def test_padding_of_postgresql_merges_no_people(postgres_url: str) -> None:
    for types in (("CHAR(5)", "VARCHAR(9)"), ("CHAR(5)", "CHAR(9)")):
        padded = ("'a'", "'A'", "'b '", "''", "' a'")
        found = _verdicts(
            lambda t, p: on_postgres(postgres_url, t, p), _tables(padded, types), (padded[0],)
        )
        assert _holds(found)


@pytest.mark.postgres
def test_numbers_of_any_size_distinguish_people_on_postgresql(postgres_url: str) -> None:
    ids = (*WIDE, "'NaN'", "'Infinity'", "0", "1e40", "1e-40", "0.5")
    found = _verdicts(
        lambda t, p: on_postgres(postgres_url, t, p),
        _tables(ids, ("NUMERIC", "NUMERIC")),
        ("'NaN'",),
    )
    assert _holds(found)
    assert not any(one.is_refused for one in found.values())


def test_the_verification_finds_a_person_who_is_there_twice() -> None:
    """Ids of which two are one person's: the other id's rows leave with the first."""
    tables = _tables(BEYOND, ("BIGINT", "BIGINT"))
    found = _verdicts(on_duckdb, tables, BEYOND[:2])
    assert any(one.fault for one in found.values())
