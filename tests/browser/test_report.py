"""The report in a real browser: silent, alone, readable, on a screen, a phone and paper."""

from __future__ import annotations

from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from discreet.measure.assess import assess
from discreet.report.assessment import write_assessment_report

if TYPE_CHECKING:
    from browser.conftest import Browser, Tab

pytestmark = pytest.mark.xdist_group("browser")  # one browser is enough
HOSPITAL = Path(str(files("discreet") / "data" / "hospital"))

# Text whose contrast with what lies behind it is below WCAG's AA: 4.5, or 3 where it is large.
FAINT = """
(() => {
  const parse = text => (text.match(/[\\d.]+/g) || []).map(Number);
  const light = ([r, g, b]) => [r, g, b].map(v => v / 255)
    .map(v => v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4)
    .reduce((sum, v, i) => sum + v * [0.2126, 0.7152, 0.0722][i], 0);
  const behind = element => {
    for (let at = element; at; at = at.parentElement) {
      const color = parse(getComputedStyle(at).backgroundColor);
      if (color.length === 3 || color[3] > 0) return color;
    }
    return [255, 255, 255];
  };
  const faint = [];
  for (const element of document.querySelectorAll("body *")) {
    const own = [...element.childNodes].some(n => n.nodeType === 3 && n.textContent.trim());
    const hidden = element.closest("title, desc, .skip") || element.getAttribute("opacity") === "0";
    if (!own || hidden) continue;
    const style = getComputedStyle(element);
    const ink = light(parse(element.closest("svg") ? style.fill : style.color));
    const paper = light(behind(element));
    const ratio = (Math.max(ink, paper) + 0.05) / (Math.min(ink, paper) + 0.05);
    if (ratio < (parseFloat(style.fontSize) >= 24 ? 3 : 4.5)) faint.push(element.textContent);
  }
  return faint;
})()
"""
# Parts that stick out to the right of the screen, where nothing lets a reader scroll to them.
CUT_OFF = """
[...document.querySelectorAll("body *")]
  .filter(e => !e.closest(".scroll, .skip, svg") && e.getBoundingClientRect().right > innerWidth + 1)
  .map(e => e.tagName)
"""


@pytest.fixture(scope="module")
def tab(browser: Browser, tmp_path_factory: pytest.TempPathFactory) -> Tab:
    path = tmp_path_factory.mktemp("report") / "report.html"
    found = assess(
        HOSPITAL / "patients.csv",
        HOSPITAL / "policy.yaml",
        against=HOSPITAL / "voters.csv",
        depth=2,
    )
    write_assessment_report(found, path)
    return browser.open(path)


def names(tab: Tab, role: str) -> list[str]:
    """The names a screen reader finds for a role, in the order of the page."""
    tree: list[dict[str, Any]] = tab.send("Accessibility.getFullAXTree")["nodes"]
    return [
        str(node.get("name", {}).get("value", ""))
        for node in tree
        if not node.get("ignored") and node.get("role", {}).get("value") == role
    ]


def test_the_page_requests_nothing_but_itself(tab: Tab):
    asked = [event["request"]["url"] for event in tab.happened("Network.requestWillBeSent")]
    outside = [url for url in asked if not url.startswith(("file:", "data:"))]
    assert outside == []
    assert len([url for url in asked if url.startswith("file:")]) == 1


def test_the_browser_has_nothing_to_complain_about(tab: Tab):
    assert tab.happened("Log.entryAdded") == []
    assert tab.happened("Runtime.consoleAPICalled") == []
    assert tab.happened("Runtime.exceptionThrown") == []


def test_the_style_passes_the_content_policy(tab: Tab):
    assert tab.evaluate("document.styleSheets[0].cssRules.length") > 20


def test_a_screen_reader_finds_the_headings(tab: Tab):
    headings = names(tab, "heading")
    assert "people are unique on birth_date, sex and postcode" in headings[0]
    assert headings[1:4] == ["What this means", "On this page", "Criteria"]
    assert headings[-2:] == ["How it was computed", "Glossary"]


def test_a_screen_reader_finds_landmarks_tables_and_charts(tab: Tab):
    assert len(names(tab, "main")) == 1
    assert names(tab, "navigation") == ["On this page"]
    assert "What the policy demands and what the table reaches" in names(tab, "table")
    charts = names(tab, "image") + names(tab, "img")
    assert "People by the size of their class" in charts
    assert all(charts)


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_every_word_stands_out_from_what_is_behind_it(tab: Tab, scheme: str):
    tab.look(scheme=scheme, width=1200)
    assert tab.evaluate(FAINT) == []


@pytest.mark.parametrize("width", [320, 400, 768, 1200])
def test_nothing_is_cut_off_on_any_screen(tab: Tab, width: int):
    tab.look(scheme="light", width=width)
    assert tab.evaluate("innerWidth") == width
    assert tab.evaluate(CUT_OFF) == []


def test_the_page_prints(tab: Tab):
    pages = tab.send("Page.printToPDF", printBackground=True)["data"]
    assert len(pages) > 10_000
