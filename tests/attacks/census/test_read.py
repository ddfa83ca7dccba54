"""A block is read from YAML or JSON, and every fault of it is reported at once, with its line."""

from __future__ import annotations

import json
from fractions import Fraction

import pytest

from discreet.attacks.census.block import CountRange, Statistic
from discreet.attacks.census.read import parse_block, read_block
from discreet.errors import SourceNotFound, WrongUsage

BLOCK = """\
title: made up
people: 7
variables:
  age: 0..115
  sex: [female, male]
  rooms: [1, 2, 5]
decimals: 1
groups:
  - where: {sex: female, age: 18..}
    note: adults
    count: 0..2
  - {where: {rooms: [1, 5]}, count: 4, age: {median: 51, mean: 36.7, min: 2, max: 80..90}}
  - {age: {sum: exactly 200}}
marginals:
  - {of: [sex, rooms], cells: [[female, 1, 3], [male, 2, 1..4]]}
impossible:
  - {sex: male, age: ..14}
"""


def test_a_block_is_read():
    block = parse_block(BLOCK)
    assert block.people == 7
    assert block.variables[2].numbers == (1, 2, 5)
    assert block.groups[0].where == {1: (0,), 0: tuple(range(18, 116))}
    assert block.groups[0].count == CountRange(0, 2)
    assert block.groups[2].count == CountRange(7, 7)
    assert block.marginals[0].cells == {(0, 0): CountRange(3, 3), (1, 1): CountRange(1, 4)}
    assert block.impossible == ({1: (1,), 0: tuple(range(15))},)
    facts = {fact.statistic: (fact.low, fact.high) for fact in block.groups[1].facts}
    assert facts[Statistic.MEAN] == (Fraction("36.65"), Fraction("36.75"))
    assert facts[Statistic.MEDIAN] == (Fraction("50.95"), Fraction("51.05"))
    assert facts[Statistic.MIN] == (2, 2)
    assert facts[Statistic.MAX] == (80, 90)


def test_json_is_read_as_well():
    text = json.dumps({"people": 2, "variables": {"sex": ["f", "m"]}, "groups": []})
    assert parse_block(text).size == 2


def test_a_mean_is_as_exact_as_it_is_written():
    written = "people: 2\nvariables: {age: 0..9}\ngroups: [{age: {mean: %s}}]"
    whole, tenth, exact = (
        parse_block(written % mean).groups[0].facts[0] for mean in ("4", "4.0", "exactly 4")
    )
    assert (whole.low, whole.high) == (Fraction("3.5"), Fraction("4.5"))
    assert (tenth.low, tenth.high) == (Fraction("3.95"), Fraction("4.05"))
    assert exact.low == exact.high == 4


FAULTS = {
    "people: x": "'people' must be a whole number",
    "people: 0": "a block needs people",
    "variables: {}": "a block needs a variable",
    "peopel: 7": "unknown key 'peopel'. Did you mean 'people'?",
    "variables: {age: 5..1}": "must be a range",
    "variables: {age: 0..99999}": "must be a range of at most 10,000",
    "variables: {sex: [f, f]}": "listed twice",
    "variables: {count: [f, m]}": "cannot be called 'count'",
    "variables: []": "keys and values are expected",
    "groups: {}": "'groups' must be a list",
    "groups: [{where: {agee: 3}, count: 1}]": "unknown variable 'agee'. Did you mean 'age'?",
    "groups: [{where: {sex: x}, count: 1}]": "'sex' cannot be 'x'",
    "groups: [{where: {age: 200..}, count: 1}]": "'age' cannot be '200..'",
    "groups: [{where: {age: 3}, count: 8}]": "within 0..7",
    "groups: [{where: {age: 3}, count: 3..1}]": "ends before it begins",
    "groups: [{where: {age: 3}, count: few}]": "a whole number such as 3",
    "groups: [{sex: {mean: 3}}]": "'sex' is no number",
    "groups: [{agge: {mean: 3}}]": "unknown key 'agge'. Did you mean 'age'?",
    "groups: [{age: {mode: 3}}]": "unknown statistic 'mode'",
    "groups: [{age: {mean: three}}]": "a number such as 36.7",
    "groups: [{where: {sex: f}, age: {median: 3}}]": "needs the exact 'count'",
    "groups: [{where: {sex: f}, count: 0, age: {mean: 3}}]": "an empty group",
    "marginals: [{of: [age]}]": "has 'of', a list of variables, and 'cells'",
    "marginals: [{of: [aeg], cells: []}]": "unknown variable 'aeg'",
    "marginals: [{of: [sex], cells: [[f]]}]": "a cell is written [sex, count]",
    "marginals: [{of: [sex], cells: [[f, 1], [f, 2]]}]": "this cell is listed twice",
    "marginals: [{of: [age], cells: [[1..3, 2]]}]": "a cell has one value",
    "marginals: [{of: [sex], cells: [], sum: 3}]": "unknown key 'sum'",
    "impossible: [{age: old}]": "'age' cannot be 'old'",
    "people: 7\npeople: 8": "key 'people' is written twice",
}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_is_reported_with_its_line(fault: str):
    lines = {"people": "people: 7", "variables": "variables: {age: 0..99, sex: [f, m]}"}
    lines.pop(fault.partition(":")[0], None)
    text = "\n".join([*lines.values(), *fault.split("\n")])
    with pytest.raises(WrongUsage) as caught:
        parse_block(text, label="b.yaml")
    reported = str(caught.value).split("\n")
    assert any(
        line.startswith(f"b.yaml:{len(text.splitlines())}: ") and FAULTS[fault] in line
        for line in reported
    )


def test_all_faults_are_reported_together():
    with pytest.raises(WrongUsage) as caught:
        parse_block("peple: 3\nvariables: {a: x, b: [1, 1]}")
    assert len(str(caught.value).split("\n")) == 4


@pytest.mark.parametrize("text", ["", "- 1", "people: [", "just words"])
def test_what_is_no_block_is_refused(text: str):
    with pytest.raises(WrongUsage, match=r"^block:\d: "):
        parse_block(text)


def test_a_missing_file_is_refused(tmp_path):
    (tmp_path / "block.yaml").write_text(BLOCK)
    with pytest.raises(SourceNotFound, match=r"Did you mean 'block\.yaml'"):
        read_block(tmp_path / "blok.yaml")
