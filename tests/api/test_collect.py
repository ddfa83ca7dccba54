"""Reports of local differential privacy from Python: in memory, in files, and counted."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pyarrow as pa
import pytest

import discreet
from discreet.errors import UnsuitableValues, WrongUsage
from discreet.policy import ColumnPolicy, ColumnRole, Policy, TablePolicy

PEOPLE = {"id": list(range(4000)), "smokes": ["no"] * 3000 + ["yes"] * 1000}
ASKED = {"column": "smokes", "values": ["no", "yes"], "epsilon": 3}


def test_reports_are_of_the_kind_of_frame_that_came_in():
    reports = discreet.collect(pd.DataFrame(PEOPLE), **ASKED)
    assert type(reports.frame) is pd.DataFrame
    assert reports.to_arrow().num_rows == reports.to_polars().height == 4000


def test_counts_of_reports_are_near_the_truth():
    found = discreet.estimate_reports(discreet.collect(pa.table(PEOPLE), **ASKED))
    (yes,) = [value for value in found.values if value.value == "yes"]
    # The chance of an error beyond 8 standard errors is below 1e-14.
    assert abs(yes.count - 1000) < 8 * yes.standard_error


def test_a_written_file_has_its_manifest_and_is_counted(tmp_path: Path):
    place = tmp_path / "reports.csv"
    made = discreet.collect(pa.table(PEOPLE), **ASKED, output=place)
    assert made.manifest == str(tmp_path / "reports.csv.json")
    assert discreet.estimate_reports(place).reports == made.to_arrow().num_rows == 4000
    with pytest.raises(WrongUsage, match="Leave out"):
        discreet.estimate_reports(place, epsilon=3)


def test_reports_without_a_manifest_need_their_protocol():
    reports = discreet.collect(pa.table(PEOPLE), **ASKED).to_arrow()
    with pytest.raises(WrongUsage, match="how the reports were made"):
        discreet.estimate_reports(reports)
    told = discreet.estimate_reports(
        reports, method="randomized-response", epsilon=3, values=["no", "yes"]
    )
    assert told.reports == 4000


def test_a_dry_run_makes_no_reports():
    with pytest.raises(WrongUsage, match="dry run"):
        discreet.collect(pa.table(PEOPLE), **ASKED, dry_run=True).to_arrow()


def test_several_rows_of_one_person_are_refused():
    columns = (
        ColumnPolicy("id", ColumnRole.IDENTIFIER),
        ColumnPolicy("smokes", ColumnRole.SENSITIVE, values=("no", "yes")),
    )
    policy = Policy({"data": TablePolicy("data", columns, unit="id")})
    twice = pa.table({"id": [1, 1, 2], "smokes": ["no", "yes", "no"]})
    with pytest.raises(UnsuitableValues, match="more rows than people"):
        discreet.collect(twice, column="smokes", epsilon=1, policy=policy)


def test_a_representation_of_reports_has_no_report():
    assert "yes" not in repr(discreet.collect(pa.table(PEOPLE), **ASKED)).replace("'yes'", "", 1)
