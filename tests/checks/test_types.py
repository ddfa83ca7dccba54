"""Types, checked by basedpyright as `pyproject.toml` asks: strictly, all of `src`."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
CHECKER = Path(sys.executable).parent / "basedpyright"


@pytest.mark.xdist_group("checks")
def test_every_type_of_the_package_is_known_and_fits():
    if not CHECKER.exists():
        pytest.skip("basedpyright is not installed: make setup")
    done = subprocess.run([CHECKER], cwd=ROOT, capture_output=True, encoding="utf-8", check=False)
    assert done.returncode == 0, f"`basedpyright` says:\n{done.stdout}{done.stderr}"
