"""The same table and policy give the same release, byte for byte, on every engine."""

from __future__ import annotations

import datetime as dt
from dataclasses import replace
from decimal import Decimal

import pyarrow as pa
import pytest

from discreet.engines.duckdb import DuckDB
from discreet.engines.engine import Table
from discreet.policy import model
from discreet.policy.hierarchies.calendar import Calendar
from discreet.policy.hierarchies.intervals import Intervals
from discreet.policy.model import ColumnPolicy, ColumnRole, Policy
from discreet.release.anonymization import anonymize_source

QUASI = ColumnRole.QUASI_IDENTIFIER
COLUMNS = (
    ColumnPolicy("id", ColumnRole.IDENTIFIER),
    ColumnPolicy("age", QUASI, hierarchy=Intervals((Decimal(10), Decimal(20)))),
    ColumnPolicy("born", QUASI, hierarchy=Calendar(("year", "decade"))),
    ColumnPolicy("pay", QUASI),
    ColumnPolicy("sex", QUASI),
    ColumnPolicy("ill", ColumnRole.SENSITIVE),
    ColumnPolicy("note", ColumnRole.INSENSITIVE),
)
N = 60


def people(*, has_notes: bool) -> pa.Table:
    """Sixty people with values of several kinds, missing ones among them."""
    table = pa.table(
        {
            "id": [f"p{i}" for i in range(N)],
            "age": [20 + i * 7 % 40 for i in range(N)],
            "born": [dt.date(1960 + i * 11 % 30, 1 + i % 12, 1 + i % 28) for i in range(N)],
            "pay": pa.array([None if i % 9 == 0 else 1000.5 + i % 5 for i in range(N)]),
            "sex": pa.array([None if i % 13 == 0 else "FM"[i % 2] for i in range(N)]),
            "ill": [("flu", "gout", "acné", "")[i % 4] for i in range(N)],
            "note": [f'say "{i}", twice' if i % 2 else None for i in range(N)],
        }
    )
    return table if has_notes else table.drop_columns(["note"])


def policy(method: model.Method, *, has_notes: bool, **settings) -> Policy:
    columns = COLUMNS if has_notes else COLUMNS[:-1]
    criteria = (model.KAnonymity(3), model.LDiversity("ill", 2))
    release = model.ReleasePolicy(method=method, **settings)
    table = model.TablePolicy("people", columns, criteria=criteria, release=release)
    return Policy({"people": replace(table, tolerance={"default": 1.0})})


def on(engine, table: pa.Table) -> Table:
    relation = engine.load(table.to_reader())
    return Table(engine, relation, engine.columns(relation), "people")


@pytest.mark.parametrize(
    ("method", "has_notes"),
    [
        pytest.param("local", True, id="local-notes"),
        pytest.param("local", False, id="local-classes", marks=pytest.mark.soak("spark")),
        pytest.param("full-domain", True, id="full-notes", marks=pytest.mark.soak("spark")),
        pytest.param("full-domain", False, id="full-classes"),
    ],
)
def test_a_release_is_the_same_file_on_every_engine(any_engine, tmp_path, method, has_notes):
    table = people(has_notes=has_notes)
    wanted = policy(method, has_notes=has_notes, suppress=0.2)
    found = anonymize_source(on(any_engine, table), wanted, output=tmp_path / "there.csv")
    here = DuckDB()
    expected = anonymize_source(on(here, table), wanted, output=tmp_path / "here.csv")
    here.close()
    assert (tmp_path / "there.csv").read_bytes() == (tmp_path / "here.csv").read_bytes()
    assert found.sha256 == expected.sha256
    assert found.loss == expected.loss
