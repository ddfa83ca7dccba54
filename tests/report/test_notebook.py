"""Results in a notebook: their words, escaped, a chart without script, and no cell."""

from __future__ import annotations

import ast
from html import escape
from html.parser import HTMLParser
from pathlib import Path
from xml.etree import ElementTree as ET

import pyarrow as pa
import pytest

import discreet
from discreet.measure.assess import assess
from discreet.measure.assessment import Assessment
from discreet.policy.model import ColumnPolicy, ColumnRole, KAnonymity, Policy, TablePolicy
from discreet.report import notebook
from discreet.report.notebook_html import BarRow, Card, Chart, IntervalRow, render_card
from discreet.result import Result

PACKAGE = Path(discreet.__file__).parent
HOSTILE = "<img src=x onerror=alert(1)>"


@pytest.fixture(scope="module")
def found() -> Assessment:
    people = pa.table(
        {HOSTILE: ["CELL_1", "CELL_1", "CELL_2"], "ill": ["CELL_3", "CELL_4", "CELL_4"]}
    )
    columns = (
        ColumnPolicy(HOSTILE, ColumnRole.QUASI_IDENTIFIER),
        ColumnPolicy("ill", ColumnRole.SENSITIVE),
    )
    table = TablePolicy(name="people", columns=columns, criteria=(KAnonymity(k=2), KAnonymity(k=1)))
    return assess(people, Policy({"people": table}))


def test_the_verdict_comes_first_and_criteria_are_judged_in_words(found: Assessment):
    page = found._repr_html_()
    assert page.startswith(f"<div><p><strong>{escape(found.verdict)}</strong>")
    assert "✗ fails" in page
    assert "✓ holds" in page


def test_no_cell_is_shown(found: Assessment):
    assert "CELL_" in str(found.to_dict())
    assert "CELL_" not in found._repr_html_()


def test_names_of_columns_are_escaped(found: Assessment):
    tags: list[str] = []
    parser = HTMLParser()
    parser.handle_starttag = lambda tag, attrs: tags.append(tag)
    parser.feed(found._repr_html_())
    assert "img" not in tags
    assert "table" in tags


def test_people_are_counted_once_by_the_size_of_their_class():
    people = pa.table({"age": [1, 2, 2, 3, 3, 3]})
    (chart,) = notebook.assessment_card(assess(people, quasi=["age"])).charts
    assert [(row.label, row.text) for row in chart.rows][:3] == [
        ("alone", "1"),
        ("2 to 4", "5"),
        ("5 to 9", "0"),
    ]


def test_a_table_of_suppressed_rows_says_so():
    hidden = pa.table({"town": ["*", "*"]})
    assert "Suppressed rows" in assess(hidden, quasi=["town"])._repr_html_()


PEOPLE = pa.table({"age": [31, 32, 47, 48], "ill": ["CELL_1", "CELL_2", "CELL_2", "CELL_1"]})


def make_results() -> list[Result]:
    """Return a result of each kind that can be made from a few rows."""
    reports = discreet.collect(
        PEOPLE, column="ill", values=["CELL_1", "CELL_2"], epsilon=1, other="CELL_1"
    )
    with discreet.open(PEOPLE) as curator:
        question = "SELECT count(*) AS n FROM data"
        asked = [curator.ask(question, epsilon=1), curator.explain(question, epsilon=1)]
        spent = curator.budget()
    release = discreet.anonymize(PEOPLE, quasi=["age"], sensitive=["ill"], k=2, l=2)
    epsilon = discreet.epsilon
    return [
        *asked,
        spent,
        release,
        release.findings[0],
        reports,
        discreet.estimate_reports(reports),
        epsilon.randomized_response(heads="0.4"),
        epsilon.estimate(yes=3, of=5, heads="0.5"),
        epsilon.compose("0.1", "0.2", delta="1e-6"),
        epsilon.laplace(scale=10, sensitivity=1),
        discreet.assess(PEOPLE, quasi=["age"], sensitive=["ill"]),
    ]


@pytest.mark.parametrize("made", make_results(), ids=lambda made: type(made).__name__)
def test_a_result_is_shown_without_script_style_sheet_or_address(made: Result):
    page = made._repr_html_()
    tree = ET.fromstring(page)
    tags = {item.tag.rpartition("}")[2] for item in tree.iter()}
    assert tags <= {
        *("div", "p", "strong", "table", "caption", "thead", "tbody", "tr", "th", "td"),
        *("figure", "figcaption", "svg", "path", "rect", "circle", "text"),
    }
    assert page.count("://") == page.count("http://www.w3.org/2000/svg")


@pytest.mark.parametrize(
    "made",
    [one for one in make_results() if type(one).__name__ != "LaplaceNoise"],
    ids=lambda made: type(made).__name__,
)
def test_a_result_has_a_chart_with_a_name(made: Result):
    page = made._repr_html_()
    if type(made).__name__ != "Explanation":  # whose chart needs bounds
        assert 'role="img" aria-label="' in page


def test_a_release_shows_no_label_and_no_value():
    (release,) = [one for one in make_results() if isinstance(one, discreet.Release)]
    assert "CELL_" not in release._repr_html_()
    assert "[31" not in release._repr_html_()


def test_a_table_of_a_result_is_a_pandas_frame():
    tables = {
        type(made).__name__: made.to_pandas()  # type: ignore[attr-defined]
        for made in make_results()
        if hasattr(made, "to_pandas")
    }
    assert list(tables["Composition"].columns) == ["what", "epsilon", "exact"]
    assert tables["Spending"]["epsilon_spent"].tolist() == [1.0]
    assert len(tables["FrequencyEstimates"]) == 2


def test_every_card_belongs_to_a_class_that_exists():
    classes = {
        node.name
        for path in PACKAGE.rglob("*.py")
        for node in ast.parse(path.read_text("utf-8")).body
        if isinstance(node, ast.ClassDef)
    }
    assert notebook._CARDS.keys() <= classes


def test_bars_are_as_long_as_their_values_say():
    page = render_card(Card(charts=[Chart("n", [BarRow("a", 2, "2"), BarRow("b", 1, "1")])]))
    widths = [
        float(item.attrib["width"])
        for item in ET.fromstring(page).iter()
        if item.tag.endswith("}rect")
    ]
    assert widths[0] == pytest.approx(2 * widths[1], rel=1e-2)


def test_an_interval_below_zero_stays_inside_the_drawing():
    page = render_card(Card(charts=[Chart("n", [IntervalRow("a", -5, 0, 5, "0 ± 5")])]))
    (path, *_) = [item for item in ET.fromstring(page).iter() if item.tag.endswith("}circle")]
    assert float(path.attrib["cx"]) > 0
