"""What pages list as utilities is what the command line, the policy and the search accept."""

from __future__ import annotations

import re
from pathlib import Path
from typing import get_args

import pytest

from discreet.policy import model
from discreet.registry import METHODS
from discreet.release.anonymize.metrics import METRICS

UTILITIES = METHODS.get("full-domain").utilities
DOCS = Path(__file__).parents[2] / "docs"


def listed(page: str, start: str) -> set[str]:
    """The names in back quotes in the meaning of one option."""
    text = (DOCS / page).read_text("utf-8")
    line = next(line for line in text.splitlines() if line.startswith(start))
    return set(re.findall(r"`([a-z-]+)`", line.split("|")[2])) - {"full-domain"}


@pytest.mark.parametrize(
    ("page", "start"),
    [
        ("reference/anonymize.md", "| `--utility NAME`"),
        ("reference/policy.md", "| `utility`"),
    ],
)
def test_a_utility_that_a_page_lists_is_accepted(page: str, start: str):
    assert listed(page, start) == set(UTILITIES)


def test_the_goals_of_full_domain_are_those_that_can_be_asked_for():
    text = (DOCS / "explanation" / "full-domain.md").read_text("utf-8")
    table = text.split("| name | what it is |")[1].split("\n\n")[0]
    assert set(re.findall(r"^\| `([a-z-]+)` \|", table, re.M)) == set(UTILITIES)
    assert set(UTILITIES) == {*METRICS, "classification"} == set(get_args(model.Utility))
