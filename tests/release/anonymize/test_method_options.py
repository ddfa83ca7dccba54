"""A method's own options: typed, with a range, and refused where they are not what it states."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import discreet
from discreet.errors import InvalidPolicy, WrongUsage
from discreet.policy.load import parse_policy
from discreet.policy.write import policy_value
from discreet.registry import METHODS

PEOPLE = pa.table(
    {
        "age": [31, 31, 32, 33, 33, 34],
        "zip": ["a", "b", "a", "b", "c", "c"],
        "ill": ["x", "y", "x", "y", "x", "y"],
    }
)
ASKED: dict[str, Any] = {
    "quasi": ["age", "zip"],
    "sensitive": ["ill"],
    "k": 2,
    "suppress": 0.5,
    "method": "cells",
    "accept_risk": "a test",
}
POLICY = """
tables:
  people:
    columns: {{age: quasi-identifier, zip: quasi-identifier, ill: sensitive}}
    criteria: [k-anonymity: {{k: 2}}]
    release: {release}
"""


def hidden(release: Any) -> int:
    frame = release.to_arrow()
    return sum(frame.column(name).to_pylist().count("*") for name in ("age", "zip"))


def test_the_optimal_search_hides_no_more_than_the_greedy_one():
    greedy = discreet.anonymize(PEOPLE, **ASKED)
    optimal = discreet.anonymize(PEOPLE, **ASKED, options={"search": "optimal"})
    assert optimal.k == greedy.k == 2
    assert hidden(optimal) <= hidden(greedy)
    assert optimal.manifest_content["arguments"]["options"] == {"search": "optimal"}


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"search": "best"}, "There is no 'best'"),
        ({"serach": "greedy"}, "Did you mean 'search'"),
    ],
)
def test_what_the_method_does_not_state_is_refused(options: dict[str, str], words: str):
    with pytest.raises(WrongUsage, match=words):
        discreet.anonymize(PEOPLE, **ASKED, options=options)


def test_options_of_the_policy_hold_for_its_method_only(tmp_path: Path):
    policy = tmp_path / "policy.yaml"
    policy.write_text(POLICY.format(release="{method: cells, options: {search: optimal}}"))
    loaded = parse_policy(policy.read_text())
    assert loaded.tables["people"].release.options == {"search": "optimal"}
    again = policy_value(loaded)
    assert again["tables"]["people"]["release"]["options"] == {"search": "optimal"}
    given: dict[str, Any] = {"table": "people", "suppress": 0.5, "accept_risk": "a test"}
    assert discreet.anonymize(PEOPLE, policy, **given).k == 2
    assert discreet.anonymize(PEOPLE, policy, method="mondrian", **given).k == 2


@pytest.mark.parametrize(
    "release",
    [
        "{method: cells, options: {search: 3}}",
        "{method: cells, options: {other: greedy}}",
        "{method: mondrian, options: {search: greedy}}",
    ],
)
def test_a_policy_with_options_that_its_method_lacks_is_refused(release: str):
    with pytest.raises(InvalidPolicy):
        parse_policy(POLICY.format(release=release))


def test_every_option_says_what_it_means():
    stated = [option for spec in METHODS.all() for option in spec.options]
    assert stated
    assert all(option.summary.endswith(".") for option in stated)
