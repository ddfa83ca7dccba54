"""The report of an assessment: what it says, what it never says, and how it is written."""

from __future__ import annotations

import itertools
import os
import re
import stat
from dataclasses import replace
from datetime import date
from html.parser import HTMLParser
from typing import TYPE_CHECKING

import pyarrow as pa
import pytest

from discreet.errors import OutputRefused
from discreet.measure.assess import assess
from discreet.measure.risk.population import PopulationUniques, UniquesEstimate
from discreet.report.assessment import (
    bin_sizes,
    render_assessment_page,
    summarize_assessment,
    write_assessment_report,
)

if TYPE_CHECKING:
    from pathlib import Path

    from discreet.measure.assessment import Assessment

MARK = "CELL_"
HOSTILE = "<script>alert(1)</script>"
SPACE = "\N{NO-BREAK SPACE}"
VOID = {"meta", "link", "br", "img"}


class Outline(HTMLParser):
    """The elements of a page with their attributes, and the words of its headings."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.headings: list[tuple[int, str]] = []
        self.open: list[str] = []
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)
        if re.fullmatch("h[1-6]", tag):
            self.headings.append((int(tag[1]), ""))

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if self.open and re.fullmatch("h[1-6]", self.open[-1]):
            level, words = self.headings[-1]
            self.headings[-1] = (level, words + data)

    def named(self, tag: str) -> list[dict[str, str | None]]:
        return [attributes for name, attributes in self.elements if name == tag]


@pytest.fixture(scope="module")
def page(assessment: Assessment) -> str:
    return render_assessment_page(assessment, on=date(2026, 1, 31))


@pytest.fixture(scope="module")
def outline(page: str) -> Outline:
    return Outline(page)


def test_no_cell_is_in_the_page(assessment: Assessment, page: str):
    # The assessment itself does hold cells, or this test would prove nothing.
    assert MARK in str(assessment.to_dict()["smallest"])
    assert MARK in str(assessment.to_dict()["sensitive"]["illness"]["worst"])
    assert MARK not in page


def test_no_id_of_a_record_is_in_what_the_page_shows(assessment: Assessment):
    assert assessment.combinations is not None
    assert assessment.combinations.records
    shown = str(summarize_assessment(assessment, on=date(2026, 1, 31)))
    assert "ExposedRecord" not in shown
    assert "ClassView" not in shown


def test_names_of_columns_are_escaped_everywhere(page: str, outline: Outline):
    assert HOSTILE not in page
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in page
    assert not outline.named("script")


def test_the_page_asks_for_nothing(page: str, outline: Outline):
    assert "://" not in page
    assert not outline.named("img")
    assert not outline.named("iframe")
    assert [link["href"] for link in outline.named("link")] == ["data:,"]
    assert all((anchor["href"] or "").startswith("#") for anchor in outline.named("a"))
    assert "url(" not in page
    assert "@import" not in page


def test_the_content_policy_allows_the_one_style_by_its_hash(page: str, outline: Outline):
    content = next(
        meta["content"]
        for meta in outline.named("meta")
        if meta.get("http-equiv") == "Content-Security-Policy"
    )
    assert content is not None
    assert content.startswith("default-src 'none'; style-src 'sha256-")
    assert "unsafe-inline" not in content
    assert len(outline.named("style")) == 1
    assert not [tag for tag, attributes in outline.elements if "style" in attributes]
    assert not re.search(r"<[^>]* on[a-z]+=", page)


def test_the_verdict_is_the_only_first_heading(assessment: Assessment, outline: Outline):
    first = [words for level, words in outline.headings if level == 1]
    assert [words.replace(SPACE, " ") for words in first] == [assessment.verdict]


def test_headings_do_not_skip_a_level(outline: Outline):
    levels = [level for level, _ in outline.headings]
    assert levels[0] == 1
    assert all(after - before <= 1 for before, after in itertools.pairwise(levels))


def test_every_part_has_its_heading(outline: Outline):
    seconds = [words for level, words in outline.headings if level == 2]
    assert seconds == [
        "What this means",
        "On this page",
        "Criteria",
        "Class sizes",
        "Columns",
        "Combinations that single people out",
        "Beyond the criteria",
        "Sensitive columns",
        "Risk of being found",
        "Uniqueness in the population",
        "Presence in the table",
        "Cautions",
        "How it was computed",
        "Glossary",
    ]


def test_links_within_the_page_lead_somewhere(outline: Outline):
    ids = [attributes["id"] for _, attributes in outline.elements if "id" in attributes]
    assert len(ids) == len(set(ids))
    assert {f"#{name}" for name in ids} >= {anchor["href"] for anchor in outline.named("a")}


def test_landmarks_are_there_once(outline: Outline):
    for landmark in ("header", "nav", "main", "footer"):
        assert len(outline.named(landmark)) == 1


def test_tables_have_captions_and_scopes(outline: Outline):
    assert len(outline.named("caption")) == len(outline.named("table")) > 5
    assert all(header.get("scope") in ("col", "row") for header in outline.named("th"))


def test_charts_are_named_and_described(outline: Outline):
    drawings = outline.named("svg")
    assert len(drawings) >= 6
    assert all(svg["role"] == "img" and svg["aria-label"] for svg in drawings)
    assert len(outline.named("desc")) == len(drawings)


def test_criteria_are_judged_in_words_and_signs(page: str):
    plain = re.sub(r"<[^>]+>", " ", page.replace(SPACE, " "))
    assert re.search(r"k-anonymity\s+k ≥ 2\s+k = 1\s+✗\s+fails", plain)
    assert re.search(r"l-diversity \(entropy\) of illness\s+l ≥ 1\s+l = 1\s+✓\s+holds", plain)
    assert re.search(r"\(α, k\)-anonymity of illness\s+α ≤ 0.5, k ≥ 2\s+α = 1, k = 1", plain)
    assert "no c is enough" in plain
    assert "The table fails" in plain


def test_a_table_without_criteria_is_not_judged(people: pa.Table):
    found = assess(people, quasi=["town"])
    page = render_assessment_page(found)
    assert "Measured, not judged" in page
    assert 'id="criteria"' not in page
    assert "The table meets" not in page


def test_a_failed_estimate_is_words_and_never_zero(assessment: Assessment):
    failed = UniquesEstimate(
        uniques=None, share=None, converged=False, reason="It ran to infinity."
    )
    found = replace(
        assessment,
        population=PopulationUniques(
            fraction=0.01,
            population=1200.0,
            sample_uniques=2,
            pitman=failed,
            zayatz=failed,
            snb=failed,
            chosen=None,
            uniques=None,
            share=None,
        ),
    )
    part = summarize_assessment(found, on=date(2026, 1, 31)).population
    assert part is not None
    assert "That does not mean that no one is unique" in part.sentence
    for row in part.table.rows:
        assert row[1:] == ("no estimate", "no estimate", "No. It ran to infinity.", "no")


def test_a_table_of_suppressed_rows_is_reported(people: pa.Table):
    hidden = pa.table({"town": ["*", "*", "*"], "illness": ["a", "b", "c"]})
    page = render_assessment_page(assess(hidden, quasi=["town"], sensitive=["illness"]))
    assert "Every row withholds" in page


def test_an_unbounded_level_is_written_out(page: str):
    assert "∞ (unbounded)" in page


def test_a_path_shows_only_its_file_name(assessment: Assessment):
    source = "/home/ada/secret folder/people.csv"
    found = replace(
        assessment, source=source, k=None, verdict=f"Every row of {source} is suppressed."
    )
    page = render_assessment_page(found)
    assert "people.csv" in page
    assert "secret folder" not in page


def test_people_by_class_size_are_binned_without_loss():
    sizes = {1: 5, 2: 4, 7: 70, 19: 19, 1_500: 3_000, 20_000: 20_000}
    found = bin_sizes(sizes)
    assert sum(people for _, _, people, _ in found) == sum(sizes.values())
    assert sum(classes for *_, classes in found) == 5 + 2 + 10 + 1 + 2 + 1
    assert [first for first, *_ in found] == [1, 2, 3, 4, 5, 10, 20, 50, 100, 1_000, 10_000]
    assert found[-1][1] is None


def test_a_wide_table_draws_the_most_informative_columns_and_lists_all(people: pa.Table):
    wide = pa.table({f"column_{n}": [str(i % (n + 1)) for i in range(30)] for n in range(25)})
    found = assess(wide, quasi=["column_1", "column_24"], depth=1)
    part = summarize_assessment(found, on=date(2026, 1, 31)).columns
    assert part is not None
    assert part.table is not None
    assert part.figure is not None
    assert len(part.table.rows) == 25
    assert "the 15 most telling columns" in part.figure.caption


def test_writing_replaces_the_page_and_leaves_nothing_else(assessment: Assessment, tmp_path: Path):
    path = tmp_path / "report.html"
    path.write_text("old", "utf-8")
    write_assessment_report(assessment, path)
    assert path.read_text("utf-8").startswith("<!doctype html>")
    assert [item.name for item in tmp_path.iterdir()] == ["report.html"]


def test_who_may_read_the_page_is_up_to_the_umask(assessment: Assessment, tmp_path: Path):
    before = os.umask(0o027)
    try:
        write_assessment_report(assessment, tmp_path / "report.html")
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / "report.html").stat().st_mode) == 0o640


@pytest.mark.parametrize("name", ["", "missing/report.html", "file/report.html"])
def test_a_place_that_cannot_be_written_is_refused(
    assessment: Assessment, tmp_path: Path, name: str
):
    (tmp_path / "file").write_text("", "utf-8")
    with pytest.raises(OutputRefused):
        write_assessment_report(assessment, tmp_path / name)
    assert [item.name for item in tmp_path.iterdir()] == ["file"]
