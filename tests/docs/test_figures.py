"""Figures in pages are those of results files, which a run of their command wrote or which say otherwise."""

from __future__ import annotations

import importlib
import re
from typing import TYPE_CHECKING

import pytest
from bench.figures import (
    BLOCK,
    FOLDER,
    RECIPES,
    ROOT,
    FigureTable,
    ResultsFile,
    list_pages,
    read_results,
    render,
)

if TYPE_CHECKING:
    from pathlib import Path

PAGES = list_pages()
FILES = sorted(FOLDER.glob("*.json"))
FENCE = re.compile(r"^( *)(`{3,})[^\n]*\n.*?^\1\2 *$", re.MULTILINE | re.DOTALL)
TABLE = re.compile(r"(?:^\|.*\|[ ]*\n)+", re.MULTILINE)
# A cell that is a figure: a number, perhaps with a unit, an error, others beside it or a remark.
FIGURE = re.compile(r"\**(<|about |≈)? ?\d[\d,.]*( ?(%|s|ms|GB|MB|×))?\b.*")
# Tables of numbers that nothing measured, by page and first cell, with the reason.
NOT_MEASURED = {
    ("docs/attacks/distinguishing.md", "ε"): "1 / (1 + e^ε)",
    ("docs/explanation/answers.md", "person"): "a worked example",
    (
        "docs/explanation/architecture.md",
        "",
    ): "counts of three commits, which no run of one tree can repeat",
    ("docs/explanation/integrity.md", "what was tried"): "SQLSTATEs of the SQL standard",
    ("docs/explanation/multi-level.md", "name"): "an example from the literature",
    ("docs/explanation/pseudonyms.md", "form"): "counted by the example below it",
    ("docs/reference/attack.md", "attack"): "default tolerances",
    (
        "docs/reference/compatibility.md",
        "file",
    ): "verdicts of `bench.compatibility.regression`, which needs a checkout of PostgreSQL",
    ("docs/reference/errors.md", "code"): "exit codes",
    ("docs/reference/free-text.md", "class"): "measured by the tests of the finder, test_recall.py",
    ("docs/reference/free-text.md", ""): "measured by the tests of the finder, test_recall.py",
    ("docs/reference/wire.md", "limit"): "limits of the protocol",
}


def tables_of(page: str) -> list[list[list[str]]]:
    """Return the tables of a page as rows of cells, the first being the head."""
    text = FENCE.sub("", BLOCK.sub("", page))
    found: list[list[list[str]]] = []
    for table in TABLE.findall(text):
        rows = [re.split(r"(?<!\\)\|", line.strip().strip("|")) for line in table.splitlines()]
        found.append([[cell.strip() for cell in row] for row in (rows[0], *rows[2:])])
    return found


def has_figures(table: list[list[str]]) -> bool:
    """Whether most cells of a column, beside the first, are figures."""
    _, *rows = table
    columns = [
        [row[place] for row in rows if len(row) > place] for place in range(1, len(table[0]))
    ]
    filled = [[cell for cell in column if cell] for column in columns]
    return any(
        cells and sum(FIGURE.fullmatch(cell) is not None for cell in cells) * 2 > len(cells)
        for cells in filled
    )


def name_of(page: Path) -> str:
    return page.relative_to(ROOT).as_posix()


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_the_figures_of_a_page_are_those_of_the_results_files(page: Path):
    text = page.read_text("utf-8")
    assert render(text) == text, "run `python -m bench.figures --render`"


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_a_table_of_figures_comes_from_a_results_file(page: Path):
    found = [
        (name_of(page), table[0][0])
        for table in tables_of(page.read_text("utf-8"))
        if has_figures(table)
    ]
    assert [one for one in found if one not in NOT_MEASURED] == []


def test_every_exception_is_still_a_table():
    found = {
        (name_of(page), table[0][0])
        for page in PAGES
        for table in tables_of(page.read_text("utf-8"))
    }
    assert set(NOT_MEASURED) <= found
    assert all(NOT_MEASURED.values())


def test_every_results_file_is_on_a_page():
    shown = {block["name"] for page in PAGES for block in BLOCK.finditer(page.read_text("utf-8"))}
    assert {path.stem for path in FILES} == shown


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_a_results_file_says_where_its_figures_come_from(path: Path):
    found = read_results(path)
    assert re.fullmatch(r"\d{4}-\d\d-\d\d", found.date)
    assert re.fullmatch(r"[0-9a-f]{7,}", found.commit)
    assert found.machine
    assert (found.source == "run") == (found.command == f"python -m bench.figures {path.stem}")
    assert all(len(row) == len(found.measured.columns) for row in found.measured.rows)


@pytest.mark.parametrize("recipe", RECIPES.values())
def test_every_recipe_can_be_called(recipe: str):
    module, _, function = recipe.partition(":")
    assert callable(getattr(importlib.import_module(module), function))


def test_a_changed_figure_is_noticed(tmp_path: Path):
    table = FigureTable(("k", "rate"), (("2", "32.7 %"),))
    found = ResultsFile("make it", "2026-01-02", "abcdef0", "2 cores", "run", table)
    found.write(tmp_path / "rates.json")
    assert read_results(tmp_path / "rates.json") == found
    page = render("before\n<!-- figures: rates -->\n<!-- end -->\nafter\n", tmp_path)
    assert "| 2 | 32.7 % |\n\n`make it`, measured 2026-01-02 at abcdef0; 2 cores.\n" in page
    assert render(page, tmp_path) == page
    assert render(page.replace("32.7", "23.7"), tmp_path) == page


@pytest.mark.parametrize(
    ("table", "is_figures"),
    [
        ("| a | b |\n|---|---|\n| x | 0.97 |\n| y | **1,000 s** |\n", True),
        ("| a | b |\n|---|---|\n| x | 12 to 14 s |\n| y | < 0.1 s |\n", True),
        ("| a | b |\n|---|---|\n| 23505 | a key is there |\n", False),
        ("```text\n| a | b |\n|---|---|\n| x | 1 |\n```\n", False),
    ],
)
def test_tables_of_figures_are_distinguished_from_others(table: str, is_figures: bool):
    assert any(map(has_figures, tables_of(table))) == is_figures
