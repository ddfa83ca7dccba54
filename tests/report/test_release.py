"""The report of a release: what it says, what it never says, and how it is drawn."""

from __future__ import annotations

import re
from dataclasses import replace
from datetime import date
from decimal import Decimal
from typing import TYPE_CHECKING

import pyarrow as pa
import pytest

from discreet.errors import OutputRefused
from discreet.policy.model import (
    Clip,
    ColumnPolicy,
    ColumnRole,
    KAnonymity,
    LDiversity,
    Policy,
    TablePolicy,
)
from discreet.policy.model import ReleasePolicy as Releasing
from discreet.release.anonymization import anonymize_source
from discreet.release.options import AnonymizeOptions
from discreet.report.charts import Point, curve
from discreet.report.release import render_release_page, summarize_release, write_release_report

if TYPE_CHECKING:
    from pathlib import Path

    from discreet.release.release import Release

MARK = "CELL_"
HOSTILE = "<script>alert(1)</script>"
ON = date(2026, 1, 31)


@pytest.fixture(scope="module")
def table() -> pa.Table:
    """Sixty people with a mark in every cell that is not a number; one column has a hostile name."""
    return pa.table(
        {
            "name": [f"{MARK}name_{i}" for i in range(60)],
            "town": [f"{MARK}town_{i % 4}" for i in range(60)],
            HOSTILE: [f"{MARK}job_{i % 3}" for i in range(60)],
            "age": [20 + i % 10 for i in range(59)] + [99],
            "ill": [f"{MARK}ill_{i % 4}" for i in range(60)],
        }
    )


@pytest.fixture(scope="module")
def policy() -> Policy:
    quasi = ColumnRole.QUASI_IDENTIFIER
    columns = (
        ColumnPolicy("name", ColumnRole.IDENTIFIER),
        *(ColumnPolicy(name, quasi) for name in ("town", HOSTILE, "age")),
        ColumnPolicy("ill", ColumnRole.SENSITIVE),
    )
    steps = (Clip("age", (Decimal(18), Decimal(99))),)
    result = TablePolicy(
        "people",
        columns,
        criteria=(KAnonymity(3), LDiversity("ill", 1)),
        release=Releasing(steps=steps),
        tolerance={"default": 1.0},
    )
    return Policy({"people": result})


@pytest.fixture(scope="module")
def released(table: pa.Table, policy: Policy, tmp_path_factory: pytest.TempPathFactory) -> Release:
    folder = tmp_path_factory.mktemp("CELL_folder")
    options = AnonymizeOptions(target=HOSTILE)
    made = anonymize_source(
        table, policy, output=folder / "out.csv", options=options, frontier=True
    )
    return replace(made, manifest=str(folder / "release.json"))


@pytest.fixture(scope="module")
def page(released: Release) -> str:
    return render_release_page(released, on=ON)


def test_no_cell_is_in_the_page(released: Release, page: str):
    # The release itself does hold cells, or this test would prove nothing.
    assert MARK in str(released.to_dict()["diversity"])
    assert MARK not in page


def test_a_hostile_name_is_text(page: str):
    assert "<script" not in page
    assert "&lt;script&gt;" in page


def test_a_page_asks_for_nothing(page: str):
    addresses = re.findall(r"(?:src|href)\s*=\s*\"([^\"#][^\"]*)\"|url\(([^)]*)\)", page)
    assert addresses == [("data:,", "")]
    assert "default-src &#39;none&#39;" in page


def test_the_page_is_the_same_whenever_it_is_rendered(released: Release, page: str):
    assert render_release_page(released, on=ON) == page


def test_the_verdict_comes_first(released: Release, page: str):
    result = summarize_release(released, on=ON)
    assert result.headline == "Everybody in the release of Table looks like at least 2 others."
    assert result.status.holds
    assert result.status_words == "Meets all 2 criteria, measured on the written rows, read again."
    assert page.index("<h1>") < page.index(result.status_words) < page.index('id="done"')


def test_every_part_has_its_numbers(released: Release):
    result = summarize_release(released, on=ON)
    assert [row[0] for row in result.criteria.rows] == [
        "k-anonymity",
        "l-diversity (distinct) of ill",
    ]
    assert dict(result.done)["Left out"] == "name."
    assert result.steps is not None
    assert result.steps.rows[0][0] == "clip"
    assert result.steps.rows[0][2].startswith("No number outside the bounds remains")
    assert result.measures is not None
    names = [str(row[0]) for row in result.measures.rows]
    assert names[0] == "Loss (NCP, GCP)"
    assert names[-1] == f"Accuracy predicting {HOSTILE}"
    assert result.detail.table is not None
    assert {row[0] for row in result.detail.table.rows} == {"town", HOSTILE, "age"}


def test_classes_without_diversity_are_counted_not_shown(released: Release):
    result = summarize_release(released, on=ON).homogeneous
    assert result is not None
    assert result.table is not None
    ((column, classes, _people),) = result.table.rows
    assert column == "ill"
    assert int(str(classes)) == released.homogeneous["ill"].classes


def test_paths_lose_their_folders(released: Release):
    result = dict(summarize_release(released, on=ON).provenance)
    assert result["Output"].startswith("out.csv, ")
    assert result["Manifest"].startswith("release.json: ")
    assert result["SHA-256 of the output"] == f"`{released.sha256}`"


def test_the_frontier_is_drawn_and_described(released: Release, page: str):
    result = summarize_release(released, on=ON).frontier
    assert result is not None
    assert result.table is not None
    assert [row[0] for row in result.table.rows][:3] == ["2", "3 (asked for)", "5"]
    assert 'aria-label="Detail lost, over k"' in page
    assert re.search(r"<desc>Detail lost by k\. k = 2: .*?; k = 3 \(asked for\): ", page)


def test_without_a_frontier_the_page_has_no_such_part(released: Release):
    assert 'id="frontier"' not in render_release_page(replace(released, frontier=()), on=ON)


def test_outliers_are_reported_without_their_values(released: Release):
    page = render_release_page(replace(released, outliers=("Clip 'age' at 97.",)), on=ON)
    assert "force coarse labels on everybody" in page
    assert "97" not in page.partition('id="cautions"')[2].partition("</section>")[0]


def test_levels_and_minimal_generalizations_of_full_domain_are_reported(
    table: pa.Table, policy: Policy
):
    made = anonymize_source(
        table, policy, options=AnonymizeOptions(method="full-domain"), minimal=True
    )
    result = summarize_release(made, on=ON)
    assert "the proven optimum" in dict(result.done)["Search"]
    assert result.detail.table is not None
    assert result.detail.table.header[1] == "Level"
    assert result.minimal is not None
    assert result.minimal.header == ("", "town", HOSTILE, "age")
    assert result.status_words.endswith("in a dry run: nothing was written.")
    assert dict(result.provenance)["Output"] == "None: a dry run."
    assert MARK not in render_release_page(made, on=ON)


def test_a_release_that_hides_everything_has_a_page(released: Release):
    after = replace(released.risk.after, people=0, classes=0)
    empty = replace(after.prosecutor, worst=None, average=None, share_at_risk=None)
    after = replace(after, prosecutor=empty)
    hidden = replace(
        released, k=None, classes=0, suppressed=60, risk=replace(released.risk, after=after)
    )
    result = summarize_release(hidden, on=ON)
    assert result.headline == "Every row of Table is suppressed."
    assert "60 rows of 60" in dict(result.done)["Suppressed"]
    assert render_release_page(hidden, on=ON)


def test_a_report_into_a_missing_folder_is_refused(released: Release, tmp_path: Path):
    with pytest.raises(OutputRefused):
        write_release_report(released, tmp_path / "missing" / "r.html")
    write_release_report(released, tmp_path / "r.html")
    assert (tmp_path / "r.html").read_text("utf-8").startswith("<!doctype html>")


@pytest.mark.parametrize("losses", [[0.0, 0.0], [0.5, 1.0], [0.1, 0.1]])
def test_a_curve_is_drawn_for_any_losses(losses: list[float]):
    points = [
        Point(k, y, f"{y:.0%}", is_marked=k == 2) for k, y in zip((2, 3), losses, strict=True)
    ]
    drawn = curve(points, title="Loss", axes=("k", "loss"), words="Two points.", mark="asked for")
    assert drawn.startswith('<svg class="chart" role="img" aria-label="Loss"')
    assert "<desc>Two points.</desc>" in drawn
    assert "asked for" in drawn
