"""`discreet attack differencing|tracker|counting|averaging|small-groups`, as typed."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow.csv
import pytest
from tests.attacks.crowded import staff

if TYPE_CHECKING:
    from pathlib import Path

    from tests.flows.conftest import Discreet

POLICY = """
tables:
  staff:
    unit: row
    budget: {epsilon: 2}
    columns:
      name: {role: identifier, kind: text}
      age: {role: quasi-identifier, kind: integer, bounds: [18, 67]}
      born: {role: quasi-identifier, kind: date}
      pay: {role: sensitive, kind: integer, bounds: [0, 100000]}
      ill: {role: sensitive, kind: text, values: [asthma, cold, flu, gout, hiv, none]}
"""
ALICE = ["--person", "name = 'Alice'"]
PAY = ["--value", "pay"]


@pytest.fixture(autouse=True)
def _files(folder: Path) -> None:
    pyarrow.csv.write_csv(staff(), folder / "staff.csv")
    (folder / "policy.yaml").write_text(POLICY, encoding="utf-8")


def test_a_tracker_reveals_alice_behind_a_restriction_and_exits_3_when_not_tolerated(
    discreet: Discreet,
):
    ran = discreet("attack", "tracker", "staff.csv", *ALICE, *PAY, "--restrict", "25%")
    assert ran.code == 0
    assert "is revealed exactly by" in ran.out
    assert "= 55,000 (general tracker; the truth is 55000)" in ran.out
    options = ["--restrict", "25%", "--tolerance", "0", "--json", "--report", "out.html"]
    ran = discreet("attack", "tracker", "staff.csv", *ALICE, *PAY, *options)
    assert ran.code == 3
    assert ran.json[0]["queries"] <= 10
    assert ran.json[0]["exceeds"] is True


def test_the_sum_of_a_group_is_learned_by_two_crowds(discreet: Discreet):
    options = ["--person", "pay < 35000", "--group", "60", "--restrict", "30%", "--knows-rule"]
    ran = discreet("attack", "tracker", "staff.csv", *PAY, *options, "--public", "age", "--json")
    assert ran.json[0]["correct"] == 1
    assert ran.json[0]["details"]["methods"] == {"double tracker": 1}


def test_nothing_that_may_be_shared_names_alice_or_her_pay(discreet: Discreet, folder: Path):
    for extra in ([], ["--restrict", "10%"], ["--round", "5", "--trackers", "2"]):
        options = [*extra, "--json", "--report", "out.html"]
        ran = discreet("attack", "tracker", "staff.csv", *ALICE, *PAY, *options)
        page = (folder / "out.html").read_text("utf-8")
        assert not any(word in text for text in (ran.out, page) for word in ("Alice", "55,000"))


def test_discreets_own_answers_reveal_no_one_and_no_real_budget_is_spent(
    discreet: Discreet, folder: Path, monkeypatch
):
    monkeypatch.setenv("DISCREET_LEDGER", str(folder / "ledger.sqlite"))
    options = ["--people", "8", "--by", "name", "--policy", "policy.yaml", "--epsilon", "1"]
    ran = discreet("attack", "tracker", "staff.csv", *PAY, *options, "--json", "--seed", "1")
    assert ran.code == 0
    # One of 8 is hit by chance in 1 of 100,000 runs, and that reveals to no one which one.
    assert ran.json[0]["correct"] <= 1
    assert ran.json[0]["details"]["absent"] == 2
    assert "Nothing of the real budget is spent" in ran.err
    assert not (folder / "ledger.sqlite").exists()


def test_a_budget_of_the_policy_that_is_spent_ends_the_attack(discreet: Discreet):
    options = ["--people", "6", "--by", "name", "--policy", "policy.yaml", "--epsilon", "16"]
    ran = discreet("attack", "tracker", "staff.csv", *PAY, *options, "--json", "--seed", "1")
    assert ran.code == 0
    assert ran.json[0]["details"]["ended_by"] == "budget-exceeded"
    assert ran.json[0]["claimed"] < 6


def test_counts_find_out_an_illness_by_halves(discreet: Discreet):
    options = ["--value", "ill", "--restrict", "10%", "--knows-rule"]
    ran = discreet("attack", "counting", "staff.csv", *ALICE, *options)
    assert ran.code == 0
    assert "= gout (the truth is gout)" in ran.out
    options = ["--value", "pay", "--between", "0:999999", "--json"]
    ran = discreet("attack", "counting", "staff.csv", *ALICE, *options)
    assert (ran.json[0]["correct"], ran.json[0]["queries"] <= 22) == (1, True)


def test_averaging_distinguishes_noise_that_is_repeated_from_noise_that_is_not(discreet: Discreet):
    options = ["--condition", "ill = 'gout'", "--noise", "laplace:1", "--sticky", "--seed", "2"]
    options += ["--repeats", "30", "--json"]
    ran = discreet("attack", "averaging", "staff.csv", *ALICE, *options)
    found = {finding["details"]["way"]: finding for finding in ran.json}
    assert found["repeated"]["details"]["same_answer_each_time"] is True
    assert found["reworded"]["details"]["deviation"] > 0.5


def test_published_questions_are_audited_from_files_and_words(discreet: Discreet, folder: Path):
    (folder / "q.sql").write_text(
        "SELECT sum(pay) FROM staff;\nSELECT count(*) FROM staff;\n", encoding="utf-8"
    )
    other = "SELECT sum(pay) FROM staff WHERE name <> 'Alice'"
    options = ["--questions", "q.sql", "--questions", other, "--bounds", "0:100000"]
    ran = discreet("attack", "differencing", "staff.csv", *options)
    assert ran.code == 0
    assert "'pay' of 1 person follows exactly from the 2 answers" in ran.out
    assert "= 55,000, the number of one person" in ran.out


def test_everybody_less_the_others_is_asked_of_an_interface(discreet: Discreet):
    ran = discreet("attack", "differencing", "staff.csv", *ALICE, *PAY)
    assert "= 55,000 (complement; the truth is 55000)" in ran.out
    ran = discreet("attack", "differencing", "staff.csv", *ALICE, *PAY, "--restrict", "5")
    assert "none of 1 people is learned" in ran.out


def test_small_groups_are_found_in_a_grouped_answer(discreet: Discreet):
    ran = discreet("attack", "small-groups", "staff.csv", "--by", "age,ill", *PAY, "--json")
    assert [finding["attack"] for finding in ran.json] == ["small-groups", "small-groups"]
    assert max(finding["correct"] or 0 for finding in ran.json) > 0
    options = ["--by", "ill", "--policy", "policy.yaml", "--epsilon", "1", "--json"]
    ran = discreet("attack", "small-groups", "staff.csv", *options)
    assert ran.json[0]["details"]["groups"] == 6


@pytest.mark.postgres
def test_a_live_server_is_asked_and_only_read(discreet: Discreet, postgres_url: str):
    import psycopg

    with psycopg.connect(postgres_url, autocommit=True) as connection:
        connection.execute("DROP TABLE IF EXISTS staff_of_flows")
        connection.execute("CREATE TABLE staff_of_flows (name text, age int, pay int)")
        rows = staff().select(["name", "age", "pay"]).to_pylist()
        with connection.cursor() as cursor:
            cursor.executemany(
                "INSERT INTO staff_of_flows VALUES (%(name)s, %(age)s, %(pay)s)", rows
            )
    url = f"{postgres_url}{'&' if '?' in postgres_url else '?'}table=staff_of_flows"
    ran = discreet("attack", "tracker", url, *ALICE, *PAY, "--restrict", "10%", "--public", "age")
    assert ran.code == 0
    assert "= 55,000 (general tracker; the truth is 55000)" in ran.out
    options = ["--people", "3", "--by", "name", "--epsilon", "3", "--budget", "4", "--json"]
    ran = discreet("attack", "counting", url, "--value", "age", *options)
    assert (ran.code, ran.json[0]["queries"]) == (0, 4)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["tracker", "staff.csv", *PAY], "Say whom the adversary is after"),
        (["tracker", "staff.csv", *PAY, "--people", "3"], "--by name"),
        (["tracker", "staff.csv", *PAY, "--person", "nam = 'x'"], "Did you mean 'name'?"),
        (["tracker", "staff.csv", *PAY, "--person", "name = 'Absent'"], "holds for no one"),
        (
            ["tracker", "staff.csv", *PAY, "--person", "age > 30"],
            "Add what distinguishes the person",
        ),
        (["tracker", "staff.csv", *PAY, "--person", "((("], "cannot be read as SQL"),
        (["tracker", "staff.csv", *ALICE, "--value", "ill"], "discreet attack counting"),
        (["tracker", "staff.csv", *ALICE, *PAY, "--noise", "cauchy:1"], "laplace:10"),
        (["tracker", "staff.csv", *ALICE, *PAY, "--sticky"], "add --noise"),
        (["tracker", "staff.csv", *ALICE, *PAY, "--restrict", "60%"], "such as 10%"),
        (["tracker", "staff.csv", *ALICE, *PAY, "--epsilon", "1", "--round", "5"], "Leave out"),
        (["counting", "staff.csv", *ALICE, "--value", "ill", "--between", "a:b"], "no order"),
        (["counting", "staff.csv", *ALICE, *PAY, "--between", "a:b"], "two values of 'pay'"),
        (["differencing", "staff.csv"], "Say what was published"),
        (["differencing", "staff.csv", "--questions", "no.sql"], "no file 'no.sql'"),
        (["differencing", "staff.csv", "--questions", "SELECT count(*) FROM staff"], "--value"),
        (["small-groups", "staff.csv", "--by", "age", "--dominance", "x"], "such as 1:85%"),
    ],
)
def test_wrong_words_are_explained(discreet: Discreet, arguments: list[str], words: str):
    ran = discreet("attack", *arguments)
    assert ran.code == 2
    assert words in " ".join(ran.err.split())
    assert "Traceback" not in ran.err


@pytest.mark.parametrize(
    "method", ["differencing", "tracker", "counting", "averaging", "small-groups"]
)
def test_help_teaches_by_examples(discreet: Discreet, method: str):
    ran = discreet("attack", method, "--help")
    assert ran.code == 0
    assert f"discreet attack {method}" in ran.out
