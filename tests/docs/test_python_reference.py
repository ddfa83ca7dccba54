"""The reference of the Python API is what its docstrings say now; its examples run with the other pages."""

from __future__ import annotations

import re
import runpy
from pathlib import Path

import discreet

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "reference" / "python.md").read_text("utf-8")


def test_the_page_is_up_to_date():
    made = runpy.run_path(str(ROOT / "scripts" / "reference.py"))["write_page"]()
    assert made == PAGE, "run `make reference`"


def test_every_public_name_has_a_heading():
    headings = set(re.findall(r"^#+ (\S+)$", PAGE, re.MULTILINE))
    named = {f"discreet.{name}" for name in discreet.__all__} - {"discreet.__version__"}
    assert sorted(named - headings - {"discreet.errors"}) == []
