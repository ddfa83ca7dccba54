"""Every link between pages leads somewhere: the file is there, and so is the heading."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGES = sorted(
    [
        *(ROOT / name for name in ("README.md", "CONTRIBUTING.md", "SECURITY.md")),
        *(ROOT / "docs").rglob("*.md"),
    ]
)
FENCE = re.compile(r"^ *(`{3,}).*?^ *\1 *$", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")
HEADING = re.compile(r"^#+ +(.+?) *$", re.MULTILINE)


def prose(page: Path) -> str:
    """Return a page without its examples, whose brackets are no links."""
    return FENCE.sub("", page.read_text("utf-8"))


def anchors(page: Path) -> set[str]:
    """Return the names of a page's headings, made as GitHub makes them."""
    found: set[str] = set()
    for heading in HEADING.findall(prose(page)):
        words = re.sub(r"[^\w\- ]", "", heading.lower())
        found.add(words.replace(" ", "-"))
    return found


def relative_links(page: Path) -> list[str]:
    return [link for link in LINK.findall(prose(page)) if "://" not in link]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_link_of_a_page_leads_to_a_file_and_a_heading(page: Path):
    broken: list[str] = []
    for link in relative_links(page):
        name, _, anchor = link.partition("#")
        target = (page.parent / name).resolve() if name else page
        if not target.exists() or (anchor and anchor not in anchors(target)):
            broken.append(link)
    assert broken == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_page_is_linked_from_the_readme_or_its_folders_index(page: Path):
    readme, index = ROOT / "README.md", page.parent / "index.md"
    lists = [readme, index] if index.exists() and page != index else [readme]
    linked = {
        (each.parent / link.partition("#")[0]).resolve()
        for each in lists
        for link in relative_links(each)
    }
    assert page in {*linked, readme}
