"""An assessment in a notebook: its words, escaped, and no cell."""

from __future__ import annotations

from html import escape
from html.parser import HTMLParser

import pyarrow as pa
import pytest

from discreet.measure.assess import assess
from discreet.measure.assessment import Assessment
from discreet.policy.model import ColumnPolicy, ColumnRole, KAnonymity, Policy, TablePolicy

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
    assert "CELL_" in str(found)
    assert "CELL_" not in found._repr_html_()


def test_names_of_columns_are_escaped(found: Assessment):
    tags: list[str] = []
    parser = HTMLParser()
    parser.handle_starttag = lambda tag, attrs: tags.append(tag)
    parser.feed(found._repr_html_())
    assert "img" not in tags
    assert "table" in tags


def test_a_table_of_suppressed_rows_says_so():
    hidden = pa.table({"town": ["*", "*"]})
    assert "Suppressed rows" in assess(hidden, quasi=["town"])._repr_html_()
