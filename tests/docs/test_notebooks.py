"""The notebooks in `examples/` run from top to bottom, in a kernel without ipywidgets."""

from __future__ import annotations

import importlib.util
from importlib.resources import files
from pathlib import Path

import nbformat
import pytest
from nbclient import NotebookClient

HOSPITAL = Path(str(files("discreet"))) / "data" / "hospital"
NOTEBOOKS = sorted((Path(__file__).parents[2] / "examples").glob("*.ipynb"))


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_runs_and_warns_of_nothing(path: Path, tmp_path: Path):
    book = nbformat.read(path, as_version=4)
    place = {"metadata": {"path": str(tmp_path)}}
    NotebookClient(book, timeout=300, kernel_name="python3", resources=place).execute()
    assert not (HOSPITAL / "discreet-releases").exists()  # a notebook writes to folders of its own
    outputs = [item for cell in book.cells for item in cell.get("outputs", ())]
    assert [item.text for item in outputs if item.output_type == "stream"] == []
    assert any("image/svg+xml" in item.get("data", {}) for item in outputs) == (
        "publish" in path.stem
    )


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_is_kept_without_outputs(path: Path):
    cells = nbformat.read(path, as_version=4).cells
    assert [cell for cell in cells if cell.get("outputs") or cell.get("execution_count")] == []


def test_all_notebooks_are_there_and_ipywidgets_is_not():
    assert [path.stem for path in NOTEBOOKS] == [
        "ask-with-a-budget",
        "assess-and-publish",
        "verify-what-was-done",
    ]
    assert importlib.util.find_spec("ipywidgets") is None
