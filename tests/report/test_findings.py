"""The page of findings: the worst first, in words, without an example of a person."""

from __future__ import annotations

import datetime as dt
from typing import TYPE_CHECKING

from discreet.attacks.finding import Finding, judge, make_finding, worst_first
from discreet.report.findings import render_findings_page, write_findings_report

if TYPE_CHECKING:
    from pathlib import Path

ON = dt.date(2026, 5, 17)


def found(attack: str, exposed: int, *, tolerance: float | None) -> Finding:
    made = make_finding(
        attack,
        target="/home/ada/<b>released.csv",
        verdict=f"{exposed} of 50 people are found.",
        targets=50,
        exposed=exposed,
        knowledge="their `zip`.",
        remedy="Publish less.",
        baseline=0.02,
        queries=3,
        example=["Zebulon Quackenbush has gout"],
    )
    return judge(made, {} if tolerance is None else {"default": tolerance})


def test_the_page_reports_what_was_learned_and_shows_no_example():
    page = render_findings_page([found("linkage", 30, tolerance=0.1)], on=ON)
    for words in ("2026-05-17", "30 of 50 people are found.", "60.0", "Publish less.", "beyond"):
        assert words in page
    assert "Zebulon" not in page
    assert "<script" not in page


def test_folders_stay_at_home_and_names_are_no_markup():
    page = render_findings_page([found("linkage", 30, tolerance=None)], on=ON)
    assert "/home/ada" not in page
    assert "&lt;b&gt;released.csv" in page


def test_the_verdict_counts_what_is_beyond_tolerance():
    many = [found("linkage", 30, tolerance=0.1), found("tracker", 20, tolerance=0.1)]
    assert "2 attacks learn more than is tolerated" in render_findings_page(many, on=ON)
    assert "No attack learned more" in render_findings_page(
        [found("linkage", 1, tolerance=0.1)], on=ON
    )
    assert "no tolerance was stated" in render_findings_page(
        [found("linkage", 9, tolerance=None)], on=ON
    )
    assert "No attack learned anything" in render_findings_page(
        [found("linkage", 1, tolerance=None)], on=ON
    )


def test_findings_are_shown_in_the_order_given(tmp_path: Path):
    sorted_ = worst_first([found("averaging", 2, tolerance=0.5), found("linkage", 40, tolerance=0)])
    write_findings_report(sorted_, tmp_path / "report.html")
    page = (tmp_path / "report.html").read_text("utf-8")
    assert page.index(">linkage") < page.index(">averaging")
