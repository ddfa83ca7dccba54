"""`discreet synthesize --with visits --with drugs`: three levels of tables for one price, and keys that hold at each."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

import pyarrow.csv as pc
import pyarrow.parquet as pq
import pytest
from tests.flows.test_synthesize_tables import POLICY, write_tables

import discreet as library

if TYPE_CHECKING:
    from pathlib import Path

LEVELS = (
    POLICY
    + """\
  drugs:
    source: drugs.csv
    unit: visit
    limits: {rows-per-unit: 2}
    budget: {epsilon: 3, delta: 1e-6}
    tolerance: 100%
    columns:
      line:  {role: identifier, kind: integer}
      visit: {role: identifier, kind: integer, references: visits.visit}
      drug:  {role: sensitive, kind: text, values: [x, y, z]}
"""
)


@pytest.fixture
def hospital(folder: Path) -> Path:
    write_tables(folder, policy=LEVELS)
    visits = pc.read_csv(folder / "visits.csv").to_pylist()
    drugs = [
        (one["visit"], "xyz"["abc".index(one["ward"])])
        for one in visits
        for _ in range("abc".index(one["ward"]))
    ]
    lines = [f"{place},{visit},{drug}" for place, (visit, drug) in enumerate(drugs)]
    (folder / "drugs.csv").write_text("\n".join(["line,visit,drug", *lines]) + "\n")
    return folder


def arguments(*more: str) -> tuple[str, ...]:
    return (
        *("synthesize", "patients.csv", "--policy", "policy.yaml", "--ledger", "ledger.sqlite"),
        *("--method", "fast", "--with", "drugs", "--with", "visits", *more),
    )


def test_every_drug_has_a_visit_and_every_visit_a_patient_for_one_price(hospital: Path, discreet):
    ran = discreet(
        *arguments("-o", "made", "--model", "model.json", "--report", "page.html"), "--json"
    )
    assert ran.code == 0, ran.err
    made = {
        name: pq.read_table(hospital / "made" / f"{name}.parquet").to_pydict()
        for name in ("patients", "visits", "drugs")
    }
    assert len(set(made["visits"]["visit"])) == len(made["visits"]["visit"])
    assert set(made["visits"]["patient"]) <= set(made["patients"]["id"])
    assert set(made["drugs"]["visit"]) <= set(made["visits"]["visit"])
    assert max(Counter(made["drugs"]["visit"]).values()) <= 2
    assert ran.json["spent"] == {"epsilon": 1.0, "delta": 1e-9}
    assert [one["rows_per_unit"] for one in ran.json["tables"]] == [1, 3, 6]
    assert "number of drugs" in (hospital / "page.html").read_text()
    again = library.sample_tables(hospital / "model.json", rows=40, seed=2).frames
    assert set(again["drugs"]["visit"].to_pylist()) <= set(again["visits"]["visit"].to_pylist())


def test_the_same_three_tables_are_free(hospital: Path, discreet):
    first = discreet(*arguments("-o", "first"), "--json")
    second = discreet(*arguments("-o", "second"), "--json")
    assert (first.code, second.code) == (0, 0), second.err
    assert second.json["spent"]["epsilon"] == 0.0
    drugs = [(hospital / one / "drugs.parquet").read_bytes() for one in ("first", "second")]
    assert drugs[0] == drugs[1]


def test_a_column_of_the_third_level_is_predicted_from_all_above_it(hospital: Path, discreet):
    ran = discreet(*arguments("-o", "made", "--target", "drug", "--evaluate", "1"), "--json")
    assert ran.code == 0, ran.err
    assert ran.json["target"] == "drugs.drug"
    assert ran.json["spent"]["epsilon"] == 2.0


@pytest.mark.parametrize(
    ("old", "new", "more", "words"),
    [
        ("    limits: {rows-per-unit: 2}\n", "", (), "any number of rows in 'drugs'"),
        ("    limits: {rows-per-unit: 3}\n", "", (), "any number of rows in 'visits'"),
        ("", "", ("--leave-out", "visits.visit"), "'visit' of 'visits' is left out"),
        (", values: [x, y, z]", "", ("--find-domains", "0.1"), "cannot be found privately"),
    ],
    ids=["no limit of the third", "no limit of the second", "no key", "no values"],
)  # fmt: skip
def test_a_third_level_that_does_not_fit_is_refused_before_anything_is_spent(
    hospital: Path, discreet, old: str, new: str, more: tuple[str, ...], words: str
):
    assert old in LEVELS
    (hospital / "policy.yaml").write_text(LEVELS.replace(old, new) if old else LEVELS)
    ran = discreet(*arguments("-o", "made", *more))
    assert ran.code != 0
    assert words in ran.err
    assert not (hospital / "made").exists()
