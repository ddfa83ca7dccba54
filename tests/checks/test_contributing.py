"""The files for contributors: the paths, commands, programs and forms they name are there."""

from __future__ import annotations

import re
import sys
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
import yaml

ROOT = Path(__file__).parents[2]
PROGRAMS = Path(sys.executable).parent
PAGES = ("CONTRIBUTING.md", "SECURITY.md", "docs/explanation/architecture.md")
FORMS = sorted((ROOT / ".github" / "ISSUE_TEMPLATE").glob("*.yml"))
PLACE = re.compile(r"`((?:src|tests|docs|bench|scripts|changelog\.d)/[\w./-]+)`")
MODULE = re.compile(r"`(discreet(?:\.[a-z_]+)+)`")


def read_yaml(path: Path) -> Any:
    return yaml.safe_load(path.read_text("utf-8"))


def is_importable(name: str) -> bool:
    """Whether a dotted name is a module, or a name within one."""
    if find_spec(name) is not None:
        return True
    module, _, member = name.rpartition(".")
    return hasattr(import_module(module), member)


def make_targets() -> set[str]:
    return set(re.findall(r"^([a-z]+):", (ROOT / "Makefile").read_text("utf-8"), re.MULTILINE))


@pytest.mark.parametrize("page", PAGES)
def test_every_path_that_a_page_names_is_there(page: str):
    named = set(PLACE.findall((ROOT / page).read_text("utf-8")))
    assert sorted(name for name in named if not (ROOT / name).exists()) == []


@pytest.mark.parametrize("page", PAGES)
def test_every_module_that_a_page_names_is_there(page: str):
    named = MODULE.findall((ROOT / page).read_text("utf-8"))
    assert sorted(name for name in named if not is_importable(name)) == []


@pytest.mark.parametrize("page", ["CONTRIBUTING.md", "README.md", ".github/workflows/ci.yml"])
def test_every_make_command_that_a_page_names_is_there(page: str):
    text = (ROOT / page).read_text("utf-8")
    named = set(re.findall(r"(?:`|\$ |run: (?:sudo )?)make ([a-z]+)", text))
    assert named
    assert named <= make_targets()


def test_every_hook_runs_a_program_of_this_environment():
    hooks = [
        hook
        for repository in read_yaml(ROOT / ".pre-commit-config.yaml")["repos"]
        for hook in repository["hooks"]
    ]
    programs = [Path(hook["entry"].split()[0]) for hook in hooks]
    assert {str(program.parent) for program in programs} == {".venv/bin"}
    assert [program.name for program in programs if not (PROGRAMS / program.name).exists()] == []


def test_the_pipeline_runs_all_tests():
    steps = read_yaml(ROOT / ".github" / "workflows" / "ci.yml")["jobs"]["test"]["steps"]
    assert "make test" in [step.get("run") for step in steps]


@pytest.mark.parametrize("form", [form for form in FORMS if form.name != "config.yml"], ids=str)
def test_a_form_asks_for_something_and_every_answer_has_a_label(form: Path):
    described = read_yaml(form)
    asked = [part for part in described["body"] if part["type"] != "markdown"]
    assert described["name"]
    assert described["description"]
    assert asked
    assert all(part["attributes"]["label"] for part in asked)
    assert len({part["id"] for part in asked}) == len(asked)
