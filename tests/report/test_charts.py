"""Charts: every word survives, nothing breaks out, and nothing is asked of the network."""

from __future__ import annotations

import re
import subprocess
import sys
from xml.etree import ElementTree as ET

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from discreet.report.charts import Bar, bars, steps


def texts(svg: str) -> list[str]:
    """The words a reader sees; a drawing that is no well-formed XML fails here."""
    root = ET.fromstring(svg)
    return ["".join(element.itertext()) for element in root.iter() if element.tag == "text"]


@settings(max_examples=25, deadline=None)
@given(
    st.lists(
        st.text(
            st.characters(codec="utf-8", exclude_categories=["C", "Z"]), min_size=1, max_size=18
        ),
        min_size=1,
        max_size=4,
    )
)
@example(["if"])
def test_labels_are_drawn_as_they_are_written(labels: list[str]):
    svg = bars([Bar(label, 1, "1") for label in labels], title="T", axis="People")
    assert set(labels) <= set(texts(svg))


def test_every_bar_carries_its_value_as_text():
    svg = bars([Bar("1", 1200, "1,200 (60 %)"), Bar("2–4", 0, "0 (0 %)")], title="T", axis="People")
    assert {"1,200 (60 %)", "0 (0 %)", "1", "2–4", "People"} <= set(texts(svg))


def test_two_bars_may_have_the_same_long_beginning():
    rows = [Bar("a" * 30 + end, 1, end) for end in "xy"]
    assert texts(bars(rows, title="T", axis="People")).count("a" * 17 + "…") == 2


def test_a_required_value_is_marked():
    plain = bars([Bar("l", 1, "1")], title="T", axis="Values")
    marked = bars([Bar("l", 1, "1 ✗ ≥ 3", required=3)], title="T", axis="Values")
    assert "layer_2_marks" not in plain
    assert "layer_2_marks" in marked


def test_a_chart_says_the_same_in_its_description():
    svg = bars([Bar("town & <b>", 3, "3 people")], title='A "T"', axis="People")
    assert "<title>A &quot;T&quot;</title>" in svg
    assert "<desc>People. town &amp; &lt;b&gt;: 3 people.</desc>" in svg


@pytest.mark.parametrize("rows", [[Bar("none", 0, "0")], [Bar("huge", 10**12, "10¹²")]])
def test_extreme_values_are_drawn(rows: list[Bar]):
    assert rows[0].text in texts(bars(rows, title="T", axis="People"))


@pytest.mark.parametrize("points", [[], [(1.0, 1.0)], [(3.0, 0.5), (4.0, 1.0)], [(5000.0, 1.0)]])
def test_steps_are_drawn_wherever_people_are(points: list[tuple[float, float]]):
    svg = steps(points, title="T", words="W", threshold=(5.0, "threshold 20 %"))
    assert "threshold 20 %" in texts(svg)


def test_a_threshold_beyond_the_scale_is_not_drawn():
    svg = steps([(1.0, 1.0)], title="T", words="W", threshold=(1000.0, "threshold 0.1 %"))
    assert "threshold 0.1 %" not in texts(svg)


def test_a_chart_holds_no_address_no_color_of_its_own_and_no_name_that_could_clash():
    svg = bars([Bar("a", 1, "1", is_alert=True, required=2)], title="T", axis="A")
    svg += steps([(1.0, 1.0)], title="T", words="W", threshold=(5.0, "t"))
    assert "://" not in svg
    assert " id=" not in svg
    assert not re.search(r'"#[0-9a-f]{3,6}"', svg)


@pytest.mark.parametrize("library", ["altair", "vl_convert", "jinja2"])
def test_a_missing_library_names_the_extra(library: str):
    code = (
        f"import sys; sys.modules['{library}'] = None\n"
        "from discreet.errors import MissingExtra\n"
        "try:\n    import discreet.report.assessment\n"
        "except MissingExtra as error:\n    print(error)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "The HTML report needs an optional library" in done.stdout
    assert "discreet[report]" in done.stdout
