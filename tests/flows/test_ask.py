"""`discreet ask`, `explain`, `budget` and `register` from the prompt."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

POLICY = """\
tables:
  people:
    source: people.csv
    unit: row
    budget: {epsilon: 2, delta: 1e-6, analysts: {alice: {epsilon: 0.5}}}
    columns:
      age: {role: quasi-identifier, kind: integer, bounds: [0, 120]}
      sex: {role: quasi-identifier, kind: text, values: [F, M, X]}
      town: {role: quasi-identifier, kind: text}
  visits:
    source: visits.csv
    unit: person
    limits: {rows-per-unit: 2}
    budget: {epsilon: 100}
    columns:
      person: {role: identifier, kind: text}
      cost: {role: sensitive, kind: integer, bounds: [0, 10]}
"""
COUNT = "SELECT count(*) AS n FROM people"


@pytest.fixture
def clinic(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """People and their visits, with a policy and a ledger of their own."""
    people = [f"{20 + i % 50},{'FM'[i % 2]},{'abc'[i % 3]}" for i in range(600)]
    Path("people.csv").write_text("age,sex,town\n" + "\n".join(people) + "\n", encoding="utf-8")
    visits = [f"p{i % 40},{i % 10}" for i in range(400)]
    Path("visits.csv").write_text("person,cost\n" + "\n".join(visits) + "\n", encoding="utf-8")
    Path("policy.yaml").write_text(POLICY, encoding="utf-8")
    monkeypatch.setenv("DISCREET_LEDGER", str(folder / "ledger.sqlite"))
    return folder


def ask(discreet, question: str, *more: object, source: str = "people.csv"):
    return discreet("ask", source, question, "--policy", "policy.yaml", *more)


def test_an_answer_in_json_has_rows_errors_price_and_what_is_left(clinic: Path, discreet):
    question = "SELECT sex, count(*) AS n, avg(age) AS age FROM people GROUP BY sex"
    ran = ask(discreet, question, "--epsilon", "0.5", "--json")
    assert ran.code == 0
    result = ran.json
    assert result["columns"] == ["sex", "n", "age"]
    assert [row[0] for row in result["rows"]] == ["F", "M", "X"]
    assert abs(result["rows"][0][1] - 300) < 100
    assert result["error"][0][0] is None
    assert set(result["error"][0][1]) == {"standard_error", "low", "high"}
    assert result["spent"] == {"epsilon": 0.5, "delta": 0.0}
    assert result["remaining"]["epsilon"] == 1.5


def test_the_same_question_again_is_free_and_has_the_same_answer(clinic: Path, discreet):
    first = ask(discreet, COUNT, "--epsilon", "1", "--json").json
    again = ask(discreet, "select COUNT( * ) as n\nfrom people", "--epsilon", "1", "--json").json
    assert again["rows"] == first["rows"]
    assert again["spent"]["epsilon"] == 0
    assert again["cached"] is True
    assert again["remaining"]["epsilon"] == first["remaining"]["epsilon"] == 1


def test_a_budget_that_is_used_up_exits_4_and_nothing_more_is_spent(clinic: Path, discreet):
    assert ask(discreet, COUNT, "--epsilon", "1.5").code == 0
    before = discreet("budget", "--json").json
    ran = ask(discreet, "SELECT count(*) AS n FROM people WHERE age > 30", "--epsilon", "0.6")
    assert (ran.code, ran.error, ran.out) == (4, "budget-exceeded", "")
    assert discreet("budget", "--json").json == before


def test_three_tenths_are_not_more_than_three_tenths(clinic: Path, discreet):
    Path("policy.yaml").write_text(POLICY.replace("epsilon: 2", "epsilon: 0.3"), encoding="utf-8")
    for age in (30, 40, 50):
        question = f"SELECT count(*) FROM people WHERE age > {age}"
        assert ask(discreet, question, "--epsilon", "0.1").code == 0
    assert ask(discreet, COUNT, "--epsilon", "0.000001").code == 4


def test_an_analyst_has_a_budget_beside_that_of_the_table(clinic: Path, discreet):
    assert ask(discreet, COUNT, "--epsilon", "0.5", "--as", "alice").code == 0
    question = "SELECT count(*) FROM people WHERE sex = 'F'"
    assert ask(discreet, question, "--epsilon", "0.1", "--as", "alice").code == 4
    assert ask(discreet, question, "--epsilon", "0.1", "--as", "bob").code == 0


def test_without_a_policy_rows_are_people_and_counts_are_answered(clinic: Path, discreet):
    ran = discreet("ask", "people.csv", COUNT, "--epsilon", "1", "--json")
    assert ran.code == 0
    assert ran.json["remaining"]["epsilon"] == 9
    assert any("budget" in caution for caution in ran.json["cautions"])


def test_a_dry_run_spends_nothing(clinic: Path, discreet):
    ran = ask(discreet, COUNT, "--epsilon", "1", "--dry-run", "--json")
    assert ran.code == 0
    assert ran.json["epsilon"] == 1
    assert discreet("budget", "--json").json["accounts"] == []


@pytest.mark.parametrize(
    ("question", "code", "error"),
    [
        ("SELECT FROM WHERE", 2, "invalid-question"),
        ("SELECT count(*) FROM people; SELECT count(agee) FROM people", 2, "invalid-question"),
        ("SELECT count(*) FROM people; SELECT avg(age) FROM people", 2, "invalid-budget"),
        ("SELECT count(*) FROM peple", 2, "invalid-question"),
        ("SELECT count(agee) FROM people", 2, "invalid-question"),
        ("SELECT * FROM people", 4, "question-refused"),
        ("SELECT town, count(*) FROM people GROUP BY town", 4, "question-refused"),
        ("DROP TABLE people", 4, "question-refused"),
        ("SELECT sum(cost) FROM read_csv('visits.csv')", 4, "question-refused"),
    ],
)
def test_a_question_without_an_answer_says_why_and_spends_nothing(
    clinic: Path, discreet, question: str, code: int, error: str
):
    ran = ask(discreet, question, "--epsilon", "1")
    assert (ran.code, ran.error, ran.out) == (code, error, "")
    assert not Path("ledger.sqlite").exists() or not discreet("budget", "--json").json["entries"]


@pytest.mark.parametrize("epsilon", ["0", "-1", "nan", "inf", "much", "101"])
def test_an_epsilon_out_of_range_is_wrong_usage(clinic: Path, discreet, epsilon: str):
    assert ask(discreet, COUNT, f"--epsilon={epsilon}").code == 2


def test_an_unbounded_sum_is_refused_with_the_way_out(clinic: Path, discreet):
    ran = discreet("ask", "people.csv", "SELECT sum(age) FROM people", "--epsilon", "1")
    assert (ran.code, ran.error) == (4, "no-bounds")
    assert "bounds: {public: [low, high]}" in ran.err
    clamped = "SELECT sum(least(greatest(age, 0), 120)) FROM people"
    assert discreet("ask", "people.csv", clamped, "--epsilon", "1").code == 0


def test_private_keys_are_reported_with_a_delta_and_rare_ones_are_not(clinic: Path, discreet):
    with Path("people.csv").open("a", encoding="utf-8") as file:
        file.write("33,F,nowhere\n")
    question = "SELECT town, count(*) AS n FROM people GROUP BY town"
    ran = ask(discreet, question, "--epsilon", "1", "--delta", "1e-6", "--json")
    assert [row[0] for row in ran.json["rows"]] == ["a", "b", "c"]
    assert ran.json["spent"]["delta"] == 1e-6


def test_an_explanation_reports_price_and_error_and_what_an_error_needs(clinic: Path, discreet):
    arguments = ("explain", "people.csv", COUNT, "--policy", "policy.yaml", "--epsilon", "1")
    ran = discreet(*arguments, "--within", "5%", "--size", "1000", "--json")
    assert ran.code == 0
    result = ran.json
    (count,) = result["expected"]
    assert count["standard_error"] == pytest.approx(1.357, abs=0.01)
    assert 0 < result["needed_epsilon"] < 0.1
    assert discreet("budget", "--json").json["accounts"] == []


def test_the_ledger_is_shown_and_verified(clinic: Path, discreet):
    ask(discreet, COUNT, "--epsilon", "1")
    ran = discreet("budget", "--verify", "--json")
    assert ran.code == 0
    (account,) = ran.json["accounts"]
    assert account["epsilon"] == {"spent": 1.0, "limit": 2.0, "left": 1.0}
    assert ran.json["verified"] > 0
    assert any(entry["question"] for entry in ran.json["entries"])


def test_a_ledger_that_was_changed_is_not_verified(clinic: Path, discreet):
    import sqlite3

    ask(discreet, COUNT, "--epsilon", "1")
    with sqlite3.connect("ledger.sqlite") as ledger:
        ledger.execute("UPDATE discreet_spending SET epsilon = 0")
    ran = discreet("budget", "--verify")
    assert (ran.code, ran.error) == (1, "ledger-failed")


def test_no_ledger_is_reported_as_such(folder: Path, discreet):
    ran = discreet("budget", "--ledger", "nothing.sqlite")
    assert (ran.code, ran.error) == (2, "no-such-source")


def test_a_registered_copy_answers_alike_and_shares_the_budget(clinic: Path, discreet):
    question = "SELECT count(*) AS n FROM visits"
    done = discreet(
        "register", "visits.csv", "--policy", "policy.yaml", "-o", "v.parquet", "--json"
    )
    assert done.code == 0
    assert done.json["rows"] == 400
    assert json.loads(Path("v.parquet.registered.json").read_text("utf-8"))["unit"] == "person"
    ranked = ask(
        discreet, question, "--epsilon", "50", "--json", "--table", "visits", source="v.parquet"
    )
    assert abs(ranked.json["rows"][0][0] - 80) <= 3  # two rows of each of forty people
    assert ranked.json["remaining"]["epsilon"] == 50
    scaled = ask(discreet, question, "--epsilon", "50", "--json", source="visits.csv")
    assert abs(scaled.json["rows"][0][0] - 80) <= 3
    assert scaled.json["remaining"]["epsilon"] == 0


def test_the_rank_is_no_column_that_can_be_asked_for(clinic: Path, discreet):
    discreet("register", "visits.csv", "--policy", "policy.yaml", "-o", "v.parquet")
    question = "SELECT count(*) FROM visits WHERE discreet_rank = 1"
    ran = ask(discreet, question, "--epsilon", "1", "--table", "visits", source="v.parquet")
    assert (ran.code, ran.error) == (2, "invalid-question")


def test_registering_replaces_nothing_unasked(clinic: Path, discreet):
    Path("v.parquet").write_text("mine", encoding="utf-8")
    arguments = ("register", "visits.csv", "--policy", "policy.yaml", "-o", "v.parquet")
    ran = discreet(*arguments)
    assert (ran.code, ran.error) == (2, "output-refused")
    assert Path("v.parquet").read_text("utf-8") == "mine"
    assert discreet(*arguments, "--force").code == 0


def test_a_table_of_rows_needs_no_registering(clinic: Path, discreet):
    ran = discreet("register", "people.csv", "--policy", "policy.yaml", "-o", "p.parquet")
    assert (ran.code, ran.error) == (2, "wrong-usage")
    assert not Path("p.parquet").exists()


def test_leaving_the_policy_out_raises_no_budget(clinic: Path, discreet):
    assert ask(discreet, COUNT, "--epsilon", "1.5").code == 0
    question = "SELECT count(*) AS n FROM people WHERE age > 30"
    ran = discreet("ask", "people.csv", question, "--epsilon", "1")
    assert (ran.code, ran.error) == (4, "budget-exceeded")
    assert discreet("budget", "--json").json["accounts"][0]["epsilon"]["limit"] == 2


BY_SEX = "SELECT sex, count(*) AS n FROM people GROUP BY sex"
TOGETHER = ("--epsilon", "0.5", "--delta", "1e-7", "--policy", "policy.yaml")


def test_a_file_of_questions_is_answered_together_and_paid_once(clinic: Path, discreet):
    Path("tables.sql").write_text(f"-- a report\n{COUNT};\n{BY_SEX};\n", encoding="utf-8")
    ran = discreet("ask", "people.csv", "--workload", "tables.sql", *TOGETHER, "--json")
    assert ran.code == 0
    assert [answer["columns"] for answer in ran.json["answers"]] == [["n"], ["sex", "n"]]
    assert ran.json["spent"] == {"epsilon": 0.5, "delta": 1e-07}
    assert ran.json["remaining"]["epsilon"] == 1.5
    again = discreet("ask", "people.csv", f"{BY_SEX}; {COUNT}", *TOGETHER, "--json").json
    assert again["cached"]
    assert again["answers"][1]["rows"] == ran.json["answers"][0]["rows"]
    shown = discreet("ask", "people.csv", "--workload", "tables.sql", *TOGETHER).out
    assert "2. SELECT sex, COUNT(*)" in shown
    assert "nothing: these questions were answered before" in shown


def test_a_workload_of_the_policy_is_asked_by_its_name(clinic: Path, discreet):
    declared = f"workloads: {{report: {{queries: ['{COUNT}'], epsilon: 1, delta: 1e-7}}}}\n"
    Path("policy.yaml").write_text(declared + POLICY, encoding="utf-8")
    asked = ("ask", "people.csv", "--policy", "policy.yaml", "--workload")
    shown = discreet(*asked, "report", "--dry-run")
    assert "1 question costs epsilon 1" in shown.out
    assert discreet(*asked, "report", "--json").json["spent"]["epsilon"] == 1.0
    missing = discreet(*asked, "reports")
    assert (missing.code, "declares: report" in missing.err) == (2, True)


@pytest.mark.parametrize(
    ("more", "words"),
    [
        (("--workload", "tables.sql"), "either a question"),
        (("--consistent",), "--consistent does not go"),
        (("--noise", "laplace"), "Leave out --noise"),
    ],
)
def test_options_that_do_not_go_with_several_questions_are_refused(
    clinic: Path, discreet, more: tuple[str, ...], words: str
):
    ran = discreet("ask", "people.csv", f"{COUNT}; {BY_SEX}", *TOGETHER, *more)
    assert (ran.code, words in ran.err) == (2, True)


def test_a_model_answers_for_nothing_and_says_that_it_is_biased(clinic: Path, discreet):
    declared = POLICY.replace(
        "town: {role: quasi-identifier, kind: text}",
        "town: {role: insensitive, kind: text, values: [a, b, c]}",
    )
    Path("policy.yaml").write_text(declared, encoding="utf-8")
    made = (
        "synthesize",
        "people.csv",
        "--policy",
        "policy.yaml",
        "--epsilon",
        "1",
        "--delta",
        "1e-7",
    )
    ran = discreet(*made, "--method", "fast", "-o", "synthetic.csv", "--model", "model.json")
    assert ran.code in (0, 3)
    before = discreet("budget", "--json").json["accounts"]
    asked = ("ask", "people.csv", "SELECT sex, count(*) AS n FROM people GROUP BY 1 ORDER BY 1")
    found = discreet(*asked, "--from-model", "model.json", "--json").json
    again = discreet(*asked, "--from-model", "model.json", "--json").json
    assert found["rows"] == again["rows"]
    assert "biased" in found["cautions"][0]
    assert found["error"][0][1] is None
    assert discreet("budget", "--json").json["accounts"] == before
    other = discreet("ask", "people.csv", "SELECT 1 FROM visits", "--from-model", "model.json")
    assert (other.code, other.error) == (2, "invalid-question")
    paid = discreet(*asked, "--from-model", "model.json", "--epsilon", "1")
    assert (paid.code, paid.error) == (2, "wrong-usage")
