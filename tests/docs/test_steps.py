"""The page of steps says of each what it promises, in the words of the code."""

from __future__ import annotations

from pathlib import Path

import pytest

from discreet.policy.json_schema import policy_schema
from discreet.policy.model import STEPS, ReleasePolicy

REFERENCE = Path(__file__).parents[2] / "docs" / "reference"
STEPS_PAGE = (REFERENCE / "steps.md").read_text("utf-8")
RELEASE = (REFERENCE / "policy.md").read_text("utf-8").partition("\n## Release\n")[2]


def section(heading: str) -> str:
    return STEPS_PAGE.partition(f"\n## {heading}\n")[2].partition("\n## ")[0]


@pytest.mark.parametrize("name", STEPS)
def test_a_step_has_a_section_that_quotes_its_promise(name: str):
    assert f"\n> {STEPS[name].promise}\n" in section(name)


@pytest.mark.parametrize("name", STEPS)
def test_a_step_has_a_section_that_names_its_parameters(name: str):
    fields = set(STEPS[name].__dataclass_fields__) - {"line"}
    assert [field for field in sorted(fields) if f"{field}" not in section(name)] == []


def test_the_keys_of_the_block_and_their_words_are_in_the_page_of_policies():
    block = RELEASE.partition("\n## ")[0]
    properties = policy_schema()["$defs"]["WrittenRelease"]["properties"]
    fields = set(ReleasePolicy.__dataclass_fields__) - {"line"}
    assert set(properties) == {name.replace("_", "-") for name in fields}
    words = [word for value in properties.values() for word in value.get("enum", [])]
    assert [word for word in [*properties, *words] if f"`{word}`" not in block] == []
