"""Every statement of the reference can be read."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from discreet.guard.statements.definitions import parse_definition

PAGE = Path(__file__).parents[3] / "docs" / "reference" / "access.md"
BLOCKS = re.findall(r"```sql\n(.*?)```", PAGE.read_text("utf-8"), re.DOTALL)
STATEMENTS = [text.strip() for block in BLOCKS for text in block.split(";\n") if text.strip()]


@pytest.mark.parametrize("text", STATEMENTS, ids=lambda text: text.split("\n")[0][:60])
def test_a_statement_of_the_reference_can_be_read(text: str):
    assert parse_definition(text) is not None


def test_the_reference_has_statements():
    assert len(STATEMENTS) > 40
