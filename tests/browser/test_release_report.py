"""The report of a release in a real browser: alone, readable, on a screen and a phone."""

from __future__ import annotations

from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from discreet.policy import model
from discreet.release.anonymization import anonymize_source
from discreet.release.options import AnonymizeOptions
from discreet.report.release import write_release_report

if TYPE_CHECKING:
    from browser.conftest import Browser, Tab

pytestmark = pytest.mark.xdist_group("browser")  # one browser is enough
HOSPITAL = Path(str(files("discreet") / "data" / "hospital"))
CUT_OFF = """
[...document.querySelectorAll("body *")]
  .filter(e => !e.closest(".scroll, .skip, svg") && e.getBoundingClientRect().right > innerWidth + 1)
  .map(e => e.tagName)
"""
# Words of one chart that lie on each other; axes and marks are words as well.
OVERLAPPING = """
[...document.querySelectorAll("svg.chart")].flatMap(chart => {
  const boxes = [...chart.querySelectorAll("text")].filter(t => t.textContent.trim())
    .map(t => [t.textContent, t.getBoundingClientRect()]);
  return boxes.flatMap(([a, x], i) => boxes.slice(i + 1)
    .filter(([b, y]) => x.left < y.right - 1 && y.left < x.right - 1
      && x.top < y.bottom - 3 && y.top < x.bottom - 3)
    .map(([b, y]) => a + " on " + b));
})
"""


@pytest.fixture(scope="module")
def tab(browser: Browser, tmp_path_factory: pytest.TempPathFactory) -> Tab:
    path = tmp_path_factory.mktemp("release") / "report.html"
    options = AnonymizeOptions(
        quasi=["birth_date", "sex", "postcode"],
        sensitive=["insurance"],
        criteria=[model.KAnonymity(5)],
    )
    found = anonymize_source(HOSPITAL / "patients.csv", options=options, frontier=True)
    write_release_report(found, path)
    return browser.open(path)


def names(tab: Tab, role: str) -> list[str]:
    """The names a screen reader finds for a role, in the order of the page."""
    tree: list[dict[str, Any]] = tab.send("Accessibility.getFullAXTree")["nodes"]
    return [
        str(node.get("name", {}).get("value", ""))
        for node in tree
        if not node.get("ignored") and node.get("role", {}).get("value") == role
    ]


def test_the_browser_asks_for_nothing_and_has_nothing_to_complain_about(tab: Tab):
    asked = [event["request"]["url"] for event in tab.happened("Network.requestWillBeSent")]
    assert [url for url in asked if not url.startswith(("file:", "data:"))] == []
    assert tab.happened("Log.entryAdded") == []
    assert tab.happened("Runtime.exceptionThrown") == []


def test_a_screen_reader_finds_headings_and_charts(tab: Tab):
    headings = names(tab, "heading")
    # The worst finding comes first, and the custodian stated that it is tolerated.
    assert "are alone on the columns that stay" in headings[0]
    assert headings[-1] == "Provenance"
    charts = names(tab, "image") + names(tab, "img")
    assert charts == ["Risk before and after", "Detail lost, by column", "Detail lost, over k"]


@pytest.mark.parametrize("width", [320, 768, 1200])
def test_nothing_is_cut_off_or_overlaps(tab: Tab, width: int):
    tab.look(scheme="light", width=width)
    assert tab.evaluate(CUT_OFF) == []
    assert tab.evaluate(OVERLAPPING) == []
