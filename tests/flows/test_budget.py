"""Where spending is kept, by whom it is shared, and what a wrong word leaves as it was."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pathlib import Path

POLICY = """\
tables:
  people:
    source: people.csv
    unit: row
    budget: {epsilon: 1}
    columns:
      age: {role: quasi-identifier, kind: integer, bounds: [0, 120]}
      sex: {role: quasi-identifier, kind: text, values: [F, M]}
"""
COUNT = "SELECT count(*) AS n FROM people"


@pytest.fixture
def clinic(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Sixty people, and a home of this test's own."""
    rows = [f"{20 + i},{'FM'[i % 2]}" for i in range(60)]
    (folder / "people.csv").write_text("age,sex\n" + "\n".join(rows) + "\n", "utf-8")
    (folder / "policy.yaml").write_text(POLICY, "utf-8")
    monkeypatch.delenv("DISCREET_LEDGER", raising=False)
    monkeypatch.setenv("XDG_STATE_HOME", str(folder / "state"))
    return folder


def ask(discreet, question: str = COUNT, *more: object, epsilon: object = "0.5"):
    return discreet(
        "ask", "people.csv", question, "--policy", "policy.yaml", "--epsilon", epsilon, *more
    )


def left(discreet, *more: object) -> dict[str, float]:
    result = discreet("budget", "--json", *more).json
    return {
        item["account"].removeprefix("table:").partition("#")[0]: item["epsilon"]["left"]
        for item in result["accounts"]
    }


def test_by_default_all_questions_of_a_user_are_in_one_ledger(clinic: Path, discreet):
    assert ask(discreet).code == 0
    assert (clinic / "state" / "discreet" / "ledger.sqlite").is_file()
    assert left(discreet) == {"people.csv": 0.5}


def test_a_ledger_can_be_named_by_an_option_or_by_the_environment(
    clinic: Path, discreet, monkeypatch
):
    assert ask(discreet, COUNT, "--ledger", "one.sqlite").code == 0
    monkeypatch.setenv("DISCREET_LEDGER", "two.sqlite")
    assert ask(discreet, COUNT, epsilon="0.25").code == 0
    assert left(discreet, "--ledger", "one.sqlite") == {"people.csv": 0.5}
    assert left(discreet) == {"people.csv": 0.75}
    assert not (clinic / "state").exists()


def test_another_ledger_knows_no_answers(clinic: Path, discreet):
    first = ask(discreet, COUNT, "--json", "--ledger", "one.sqlite").json
    other = ask(discreet, COUNT, "--json", "--ledger", "two.sqlite").json
    assert (first["cached"], other["cached"]) == (False, False)


@pytest.mark.parametrize(
    "arguments",
    [
        ("--epsilon", "0"),
        ("--epsilon", "1", "--delta", "2"),
        ("--epsilon", "1", "--delta", "much"),
        ("--epsilon", "1", "--confidence", "1"),
        ("--epsilon", "1", "--noise", "uniform"),
        ("--epsilon", "1", "--noise", "gaussian"),
        ("--epsilon", "1", "--policy", "nowhere.yaml"),
        ("--epsilon", "1", "--ledger", "people.csv"),
        ("--epsilon", "1", "--ledger", "no/such/folder/ledger.sqlite"),
        ("--epsilon", "1", "--table", "nobody"),
        (),
    ],
)
def test_wrong_usage_changes_nothing(clinic: Path, discreet, arguments: tuple[str, ...]):
    before = {path: path.read_bytes() for path in clinic.iterdir() if path.is_file()}
    policy = () if "--policy" in arguments else ("--policy", "policy.yaml")
    ran = discreet("ask", "people.csv", COUNT, *policy, *arguments)
    assert ran.code in (1, 2)
    assert ran.out == ""
    assert ran.error or "Usage" in ran.err
    after = {path: path.read_bytes() for path in clinic.iterdir() if path.is_file()}
    assert after == before


def test_a_missing_source_is_reported(clinic: Path, discreet):
    ran = discreet("ask", "nobody.csv", COUNT, "--epsilon", "1")
    assert (ran.code, ran.error) == (2, "no-such-source")


def test_a_refusal_shows_no_value_of_a_cell(clinic: Path, discreet):
    (clinic / "people.csv").write_text("age,sex\nAlice Miller,F\n", "utf-8")
    for question in (
        "SELECT sum(age) FROM people",
        "SELECT age FROM people",
        "SELECT x FROM people",
    ):
        ran = ask(discreet, question)
        # A name is no age: it counts as missing, so that the sum is answered.
        assert ran.code == (0 if "sum" in question else 4)
        assert "Alice" not in ran.err + ran.out


def test_a_dry_run_of_a_question_beyond_the_budget_is_no_refusal(clinic: Path, discreet):
    assert ask(discreet, epsilon=1).code == 0
    ran = ask(discreet, "SELECT avg(age) FROM people", "--dry-run", "--json", epsilon=1)
    assert (ran.code, ran.json["remaining"]["epsilon"]) == (0, 0.0)
    assert ask(discreet, "SELECT avg(age) FROM people", epsilon=1).code == 4


def test_json_holds_even_what_a_division_by_zero_makes(clinic: Path, discreet):
    ran = ask(discreet, "SELECT sum(age) / 0 AS x FROM people", "--json")
    assert ran.code == 0
    assert set(ran.json) >= {"columns", "rows", "error", "spent", "remaining"}
    assert "Warning" not in ran.err


def test_entries_record_who_asked_what_and_when(clinic: Path, discreet):
    ask(discreet)
    ask(discreet, "SELECT avg(age) FROM people", epsilon="0.25")
    result = discreet("budget", "--json", "--entries", "1").json
    (entry,) = result["entries"]
    assert entry["epsilon"] == 0.25
    assert "AVG" in entry["question"].upper()
    assert entry["at"].endswith("+00:00")
