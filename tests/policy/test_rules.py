"""Rules of a table: what a policy means by them, and their faults."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml
from jsonschema import Draft202012Validator

from discreet.errors import InvalidPolicy
from discreet.policy.json_schema import policy_schema
from discreet.policy.load import parse_policy
from discreet.policy.rules import (
    DeclaredDependency,
    DeclaredImpossible,
    DeclaredOrder,
    DeclaredSum,
    ValueCondition,
)
from discreet.policy.write import dump_policy, policy_value

COLUMNS = "{a: sensitive, b: sensitive, c: sensitive}"


def written(rule: str) -> str:
    return f"tables:\n  t:\n    columns: {COLUMNS}\n    rules:\n      - {rule}\n"


RULES = {
    "order: [a, b, c]": DeclaredOrder(("a", "b", "c")),
    "sum: {total: a, parts: [b, c]}": DeclaredSum("a", ("b", "c")),
    "dependency: {from: b, to: a, map: {x: '1', '02': '2'}}": DeclaredDependency(
        "a", ("b",), (("x", "1"), ("02", "2"))
    ),
    "never: {a: male, b: 'true'}": DeclaredImpossible(
        (("a", ValueCondition(("male",))), ("b", ValueCondition(("true",))))
    ),
    "never: {a: [x, y], b: {below: '18'}, c: {missing: true}}": DeclaredImpossible(
        (
            ("a", ValueCondition(("x", "y"))),
            ("b", ValueCondition(below="18")),
            ("c", ValueCondition(is_missing=True)),
        )
    ),
    "never: {a: {above: '2024-01-01', below: '2025-01-01'}}": DeclaredImpossible(
        (("a", ValueCondition(below="2025-01-01", above="2024-01-01")),)
    ),
}


@pytest.mark.parametrize("rule", RULES)
def test_a_rule_is_read_written_and_accepted_by_editors(rule: str) -> None:
    policy = parse_policy(written(rule))

    assert policy.tables["t"].rules == (RULES[rule],)
    assert parse_policy(dump_policy(policy)) == policy
    assert policy_value(policy)["tables"]["t"]["rules"]
    Draft202012Validator(policy_schema()).validate(yaml.safe_load(written(rule)))


def test_a_dependency_may_stand_in_a_file(tmp_path: Path) -> None:
    (tmp_path / "map.csv").write_text("x;1;low\ny;1;high\n")
    text = written("dependency: {from: [b, c], to: a, file: map.csv}")

    policy = parse_policy(text, path=tmp_path / "p.yaml")

    rows = (("x", "1", "low"), ("y", "1", "high"))
    assert policy.tables["t"].rules == (DeclaredDependency("a", ("b", "c"), rows, "map.csv"),)
    assert parse_policy(dump_policy(policy), path=tmp_path / "p.yaml") == policy


@pytest.mark.parametrize(
    ("rule", "fault"),
    [
        ("order: [a]", "'order' must not be empty"),
        ("order: [a, a]", "a column is named twice"),
        ("order: [a, d]", "rule 'order': column 'd' is not listed in table 't'"),
        ("sum: {total: a, parts: [a, b]}", "a column is named twice"),
        ("dependency: {from: b, to: a}", "a dependency needs one of: map, file"),
        ("dependency: {from: [b, c], to: a, map: {x: 1}}", "a `map` is for one column"),
        ("dependency: {from: b, to: a, file: none.csv}", "file 'none.csv' is not there"),
        ("never: {a: {over: 5}}", "a condition is a value, a list of values"),
        ("never: {a: {below: x}}", "`below` and `above` are followed by a number or a date"),
        ("never: {a: {missing: maybe}}", "write `missing: true`"),
        ("newer: {a: x}", "unknown rule 'newer'. Did you mean 'never'?"),
        ("order", "write the rule with its columns"),
    ],
)
def test_faults_of_rules_are_reported_with_their_line(rule: str, fault: str) -> None:
    with pytest.raises(InvalidPolicy) as caught:
        parse_policy(written(rule))

    assert any(fault in one and one.startswith("policy:5:") for one in caught.value.faults)


def test_rules_about_columns_that_are_left_out_do_not_apply() -> None:
    table = parse_policy(written("order: [a, b]")).tables["t"]

    assert table.without(["b"]).rules == ()
    assert table.without(["c"]).rules == table.rules
