"""`discreet check` from the prompt: the exit code decides, the lines say why."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pathlib import Path

CHECK = ("check", "people.csv", "--policy", "policy.yaml")


def require(people: Path, *criteria: str) -> None:
    """Write a policy with these criteria beside the table."""
    policy = people.with_name("policy.yaml")
    head = policy.read_text("utf-8").partition("    criteria:")[0]
    lines = "".join(f"      - {criterion}\n" for criterion in criteria)
    policy.write_text(f"{head}    criteria:\n{lines}", "utf-8")


def test_criteria_that_hold_exit_0(people: Path, discreet):
    ran = discreet(*CHECK)
    assert (ran.code, ran.err) == (0, "")
    assert ran.out.splitlines()[0] == "ok     k-anonymity: reached k = 3, required k ≥ 2"
    assert "FAILED" not in ran.out


def test_a_criterion_that_fails_exits_3_and_says_who_stands_in_its_way(people: Path, discreet):
    require(people, "k-anonymity: {k: 2}", "k-anonymity: {k: 4}")
    ran = discreet(*CHECK)
    assert (ran.code, ran.err) == (3, "")
    assert ran.out.splitlines()[:2] == [
        "ok     k-anonymity: reached k = 3, required k ≥ 2",
        "FAILED k-anonymity: reached k = 3, required k ≥ 4; 6 people in 2 classes fail",
    ]


def test_every_criterion_is_judged_in_the_order_of_the_policy(people: Path, discreet):
    people.with_name("all.csv").write_text("sex,age\n" + "F,34\nM,35\n" * 10, "utf-8")
    require(
        people,
        "k-map: {k: 10}",
        "delta-presence: {lower: 0.1, upper: 0.2}",
        "t-closeness: {column: ill, t: 0.5}",
        "l-diversity: {column: ill, l: 2}",
        "l-diversity: {column: ill, l: 3}",
        "alpha-k: {column: ill, alpha: 0.5, k: 2}",
        "beta-likeness: {column: ill, beta: 1.5}",
        "delta-disclosure: {column: ill, delta: 3}",
        "k-anonymity: {k: 3}",
    )
    ran = discreet(*CHECK, "--against", "all.csv", "--json")
    assert ran.code == 3
    assert [(one["criterion"], one["holds"]) for one in ran.json["criteria"]] == [
        ("k-map", True),
        ("delta-presence", False),
        ("t-closeness", True),
        ("l-diversity", True),
        ("l-diversity", False),
        ("alpha-k", False),
        ("beta-likeness", True),
        ("delta-disclosure", False),
        ("k-anonymity", True),
    ]


def test_no_value_of_a_cell_is_printed(people: Path, discreet):
    require(people, "k-anonymity: {k: 4}", "l-diversity: {column: ill, l: 3}")
    ran = discreet(*CHECK)
    assert ran.code == 3
    assert not [cell for cell in ("34", "35", "flu", "cold", "hiv") if cell in ran.out]


def test_json_is_printed_whatever_the_verdict(people: Path, discreet):
    require(people, "k-anonymity: {k: 4}")
    ran = discreet(*CHECK, "--json")
    assert (ran.code, ran.err) == (3, "")
    (verdict,) = ran.json["criteria"]
    assert (verdict["required"], verdict["reached"], verdict["holds"]) == ({"k": 4}, 3, False)
    assert ran.json["combinations"] is None


def test_nothing_is_written(people: Path, discreet):
    before = sorted(people.parent.iterdir())
    discreet(*CHECK)
    assert sorted(people.parent.iterdir()) == before


def test_the_table_of_the_policy_may_be_named(people: Path, discreet):
    policy = people.with_name("policy.yaml")
    other = "  others:\n    columns: {zip: quasi-identifier}\n    tolerance: 100%\n    criteria: [k-anonymity: {k: 1}]\n"
    policy.write_text(policy.read_text("utf-8") + other, "utf-8")
    ran = discreet(*CHECK, "--table", "others")
    assert ran.code == 0
    assert ran.out.startswith("ok     k-anonymity: reached k = 1, required k ≥ 1\n")


@pytest.mark.parametrize("level", ["1", "1.0", "1e0"])
def test_a_level_that_is_met_exactly_holds(people: Path, discreet, level: str):
    require(people, f"t-closeness: {{column: ill, t: {level}}}")
    assert discreet(*CHECK).code == 0


def test_a_class_of_one_person_fails_although_the_policy_names_a_unit(people: Path, discreet):
    people.write_text("who,age,sex,zip,ill\na,30,F,1,flu\na,30,F,1,flu\nb,31,F,1,flu\n", "utf-8")
    policy = people.with_name("policy.yaml")
    text = policy.read_text("utf-8").replace("    columns:", "    unit: who\n    columns:")
    policy.write_text(text, "utf-8")
    ran = discreet(*CHECK)
    assert ran.code == 3
    failed = "FAILED k-anonymity: reached k = 1, required k ≥ 2"
    assert ran.out.startswith(f"{failed}; 2 people in 2 classes fail\n")


def test_names_left_in_the_table_are_cautioned_against_beside_the_verdict(people: Path, discreet):
    policy = people.with_name("policy.yaml")
    text = policy.read_text("utf-8")
    policy.write_text(text.replace("    columns:", "    columns:\n      who: identifier"), "utf-8")
    people.write_text("who,age,sex,zip,ill,job\nAnn,30,F,1,flu,x\nBob,30,F,1,cold,x\n", "utf-8")
    ran = discreet(*CHECK)
    assert ran.code == 0
    assert ran.out.startswith("ok ")
    assert "! The table holds identifiers ('who')" in ran.err
    assert "! The policy says nothing about 'job'" in ran.err
    assert "Ann" not in ran.err
    assert "'who'" in str(discreet(*CHECK, "--json").json["cautions"])


def test_a_release_without_its_identifiers_is_checked_with_the_same_policy(people: Path, discreet):
    policy = people.with_name("policy.yaml")
    text = policy.read_text("utf-8")
    policy.write_text(text.replace("    columns:", "    columns:\n      who: identifier"), "utf-8")
    assert discreet(*CHECK).code == 0


def test_people_unique_on_what_stays_exit_3_although_every_criterion_holds(people: Path, discreet):
    policy = people.with_name("policy.yaml")
    policy.write_text(policy.read_text("utf-8").replace("    tolerance: 100%\n", ""), "utf-8")
    rows = "".join(f"30,F,{index},{'flu' if index % 2 else 'cold'}\n" for index in range(6))
    people.write_text(f"age,sex,zip,ill\n{rows}", "utf-8")
    require(people, "k-anonymity: {k: 2}", "l-diversity: {column: ill, l: 2}")
    ran = discreet(*CHECK)
    assert ran.code == 3
    assert "FAILED uniqueness of ill: 100 % of people, tolerated 5.0 %" in ran.out
    assert "zip is enough for 6." in ran.out


def test_what_the_policy_leaves_open_exits_3(people: Path, discreet):
    policy = people.with_name("policy.yaml")
    text = policy.read_text("utf-8").replace("    tolerance: 100%\n", "")
    policy.write_text(text.replace("zip: insensitive", "zip: {role: insensitive, unsure: true}"))
    ran = discreet(*CHECK)
    assert ran.code == 3
    assert "FAILED The policy is unsure about column 'zip'." in ran.out
    assert "FAILED No criterion protects the sensitive column 'ill'." in ran.out
