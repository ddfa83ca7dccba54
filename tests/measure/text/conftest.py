"""The labelled notes, written once for all tests of free text."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from types import ModuleType


def _load(path: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="session")
def measuring() -> ModuleType:
    return _load(Path(__file__).with_name("measuring.py"))


@pytest.fixture(scope="session")
def notes(measuring: ModuleType) -> list:
    return measuring.load_script("make_notes").make_notes()
