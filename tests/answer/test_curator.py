"""The curator: what is reserved, read and released, in this order; who pays; what is free."""

from __future__ import annotations

import datetime as dt
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from importlib.resources import files
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.answer.curators import NOON, hold, without_noise

import discreet
from discreet.answer import unexpected_errors
from discreet.answer.ledgers import ledger_location
from discreet.errors import BudgetExceeded, Bug, DiscreetError, InvalidBudget, UnknownColumn

if TYPE_CHECKING:
    from pathlib import Path

    from discreet.answer.curator import Curator

PEOPLE = pa.table(
    {
        "age": [10, 20, 30, 40],
        "sex": ["F", "M", "F", "M"],
        "year": [2023, 2023, 2024, 2024],
    }
)
COLUMNS = """
    columns:
      age: {role: quasi-identifier, bounds: [0, 120]}
      sex: {role: quasi-identifier, values: [F, M]}
      year: {role: quasi-identifier}
"""
COUNT = "SELECT count(*) AS n FROM people"


def people(budget: str = "{epsilon: 1}", *, more: str = "", **options: Any) -> Curator:
    policy = f"tables:\n  people:\n    budget: {budget}{more}{COLUMNS}"
    return hold({"people": PEOPLE}, policy, **options)


def left(curator: Curator) -> dict[str, float]:
    accounts = curator.ledger.remaining(curator.ledger.accounts())
    return {item.name: float(item.epsilon.left) for item in accounts}


def test_an_answer_costs_what_was_asked_and_says_what_is_left():
    curator = people()
    result = curator.ask(COUNT, epsilon="0.3")
    assert result.spent == {"epsilon": 0.3, "delta": 0.0}
    assert result.remaining["epsilon"] == 0.7
    assert result.remaining["accounts"]["table:people"]["limit"] == 1.0


def test_three_tenths_three_times_are_nine_tenths():
    curator = people("{epsilon: 0.9}")
    for number in range(3):
        curator.ask(f"SELECT count(*) FROM people WHERE age > {number}", epsilon=0.3)
    assert left(curator) == {"table:people": 0.0}
    with pytest.raises(BudgetExceeded):
        curator.ask(COUNT, epsilon="1e-9")


def test_a_budget_that_is_too_small_reads_and_spends_nothing():
    curator = people()
    curator.ask(COUNT, epsilon=0.6)
    queries = len(curator.engine.queries)
    with pytest.raises(BudgetExceeded):
        curator.ask("SELECT sum(age) FROM people", epsilon=0.6)
    assert len(curator.engine.queries) == queries
    assert left(curator) == {"table:people": 0.4}


def test_the_same_question_is_free_and_equal_however_it_is_written():
    curator = people()
    first = curator.ask(COUNT, epsilon=0.5)
    for text in (
        COUNT,
        "select COUNT( * ) as n\nfrom people -- again",
        "SELECT count(*) n FROM People;",
    ):
        again = curator.ask(text, epsilon=0.5)
        assert again.cached
        assert again.rows == first.rows
    assert left(curator) == {"table:people": 0.5}


@pytest.mark.parametrize(
    ("text", "options"),
    [
        (COUNT, {"epsilon": 0.25}),
        (COUNT, {"epsilon": 0.5, "consistent": True}),
        ("SELECT count(*) AS m FROM people", {"epsilon": 0.5}),
        ("SELECT count(*) AS n FROM people WHERE age > 3", {"epsilon": 0.5}),
    ],
)
def test_any_other_question_is_paid_for(text: str, options: dict[str, Any]):
    curator = people()
    curator.ask(COUNT, epsilon=0.5)
    assert not curator.ask(text, **options).cached
    assert left(curator)["table:people"] < 0.5


def test_other_data_are_another_question(tmp_path: Path):
    place, ledger_path = tmp_path / "people.parquet", tmp_path / "ledger.sqlite"
    result = []
    for rows in (4, 4, 3):
        if rows == 3:
            pq.write_table(PEOPLE.slice(0, 3), place)
        elif not place.exists():
            pq.write_table(PEOPLE, place)
        with discreet.open(place, ledger=ledger_path) as curator:
            result.append(curator.ask(COUNT, epsilon=1))
    assert [answer.cached for answer in result] == [False, True, False]
    assert result[-1].remaining["epsilon"] == 8


def test_other_bounds_are_another_question():
    curator = people()
    curator.ask("SELECT sum(age) AS s FROM people", epsilon=0.5)
    wider = hold(
        {"people": PEOPLE},
        f"tables:\n  people:\n    budget: {{epsilon: 1}}{COLUMNS}".replace("120", "100"),
    )
    wider.ledger = curator.ledger
    assert not wider.ask("SELECT sum(age) AS s FROM people", epsilon=0.5).cached


def test_nothing_is_released_that_the_ledger_does_not_have(monkeypatch: pytest.MonkeyPatch):
    """A crash between looking and telling counts as spent, and the next asker has the first noise."""
    curator = people()

    def crash(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as broken:
        broken.setattr(curator.ledger, "commit", crash)
        with pytest.raises(KeyboardInterrupt):
            curator.ask(COUNT, epsilon=0.5)
    assert left(curator) == {"table:people": 0.5}
    result = curator.ask(COUNT, epsilon=0.5)
    assert left(curator) == {"table:people": 0.5}
    assert curator.ask(COUNT, epsilon=0.5).rows == result.rows


def test_the_budget_is_reserved_before_the_engine_is_asked(monkeypatch: pytest.MonkeyPatch):
    curator = people()
    seen: list[dict[str, float]] = []
    run = curator.engine.run

    def watched(query: Any) -> Any:
        seen.append(left(curator))
        return run(query)

    monkeypatch.setattr(curator.engine, "run", watched)
    curator.ask(COUNT, epsilon=0.5)
    assert seen == [{"table:people": 0.5}]


def test_words_of_an_unexpected_error_are_withheld(monkeypatch: pytest.MonkeyPatch):
    curator = people()

    def fail(query: Any) -> Any:
        raise RuntimeError("could not convert 'Alice Miller'")

    monkeypatch.setattr(curator.engine, "run", fail)
    with pytest.raises(Bug) as result:
        curator.ask(COUNT, epsilon=0.5)
    text = str(result.value)
    assert "RuntimeError" in text
    assert "Alice" not in text
    assert result.value.__cause__ is None
    assert result.value.__context__ is None or result.value.__suppress_context__


def test_an_analyst_has_a_budget_within_that_of_the_table():
    budget = "{epsilon: 1, analysts: {alice: {epsilon: 0.5}, '*': {epsilon: 0.2}}}"
    curator = people(budget)
    for name, cost in (("alice", 0.5), ("bob", 0.2), ("carol", 0.2)):
        curator.analyst = name
        curator.ask(COUNT, epsilon=cost)
        with pytest.raises(BudgetExceeded):
            curator.ask("SELECT sum(age) FROM people", epsilon=cost)
    assert left(curator)["table:people"] == pytest.approx(0.1)


def test_who_gives_no_name_has_the_budget_of_everybody_else():
    curator = people("{epsilon: 1, analysts: {alice: {epsilon: 0.5}, '*': {epsilon: 0.2}}}")
    curator.ask(COUNT, epsilon=0.2)
    with pytest.raises(BudgetExceeded):
        curator.ask("SELECT sum(age) FROM people", epsilon=0.1)


def test_a_budget_per_month_is_whole_again_in_the_next_one():
    now = [NOON]
    curator = people("{epsilon: 1, per: month}", clock=lambda: now[0])
    curator.ask(COUNT, epsilon=1)
    with pytest.raises(BudgetExceeded):
        curator.ask("SELECT sum(age) FROM people", epsilon=0.1)
    now[0] = dt.datetime(2024, 5, 31, 23, 59, 59, tzinfo=dt.UTC)
    with pytest.raises(BudgetExceeded):
        curator.ask("SELECT sum(age) FROM people", epsilon=0.1)
    now[0] = dt.datetime(2024, 6, 1, tzinfo=dt.UTC)
    curator.ask("SELECT sum(age) FROM people", epsilon=1)
    assert sorted(left(curator)) == ["table:people/2024-05", "table:people/2024-06"]


def test_a_budget_of_the_policy_is_shared_by_its_tables():
    policy = "budget: {epsilon: 1}\ntables:\n"
    policy += "".join(f"  {name}:{COLUMNS}" for name in ("people", "others"))
    curator = hold({"people": PEOPLE, "others": PEOPLE}, policy)
    curator.ask(COUNT, epsilon=0.7)
    with pytest.raises(BudgetExceeded):
        curator.ask("SELECT count(*) FROM others", epsilon=0.7)
    curator.ask("SELECT count(*) FROM others", epsilon=0.3)
    assert left(curator)["policy:policy"] == 0.0
    assert left(curator).keys() == {"policy:policy", "table:people", "table:others"}


def test_without_a_budget_there_is_a_default_and_a_caution():
    curator = hold({"people": PEOPLE})
    result = curator.ask(COUNT, epsilon=1)
    assert result.remaining["epsilon"] == 9
    assert any("budget" in caution for caution in result.cautions)


def test_a_join_is_charged_to_both_tables():
    policy = """
tables:
  visits: {unit: who, budget: {epsilon: 1}, limits: {rows-per-unit: 1}, columns: {who: identifier}}
  stays: {unit: who, budget: {epsilon: 2}, limits: {rows-per-unit: 1}, columns: {who: identifier}}
"""
    table = pa.table({"who": ["p"]})
    curator = hold({"visits": table, "stays": table}, policy)
    curator.ask("SELECT count(*) FROM visits v JOIN stays s ON v.who = s.who", epsilon=1)
    assert left(curator) == {"table:visits": 0.0, "table:stays": 1.0}


def test_parts_of_a_table_are_charged_apart():
    curator = people(more="\n    partitions: {year: value}")
    for year in (2023, 2024):
        curator.ask(f"SELECT count(*) FROM people WHERE year = {year}", epsilon=1)
    assert left(curator) == {"table:people": 0.0}
    with pytest.raises(BudgetExceeded):
        curator.ask("SELECT sum(age) FROM people WHERE year = 2024", epsilon=0.1)
    with pytest.raises(BudgetExceeded):
        curator.ask("SELECT sum(age) FROM people", epsilon=0.1)
    curator.ask("SELECT sum(age) FROM people WHERE year = 2025", epsilon=1)


def test_many_askers_at_once_never_overspend():
    curator = people("{epsilon: 1}")

    def ask(number: int) -> int:
        try:
            curator.ask(f"SELECT count(*) FROM people WHERE age <> {number}", epsilon="0.1")
        except BudgetExceeded:
            return 0
        return 1

    with ThreadPoolExecutor(8) as pool:
        assert sum(pool.map(ask, range(24))) == 10
    assert left(curator) == {"table:people": 0.0}


def test_the_same_question_at_once_is_answered_once():
    curator = people("{epsilon: 1}")
    with ThreadPoolExecutor(8) as pool:
        result = list(pool.map(lambda _: curator.ask(COUNT, epsilon=1).rows, range(16)))
    assert all(rows == result[0] for rows in result)
    assert left(curator) == {"table:people": 0.0}


class Clock:
    """A clock that runs by itself, and by sleeping."""

    def __init__(self) -> None:
        self.now, self.slept = 0.0, 0

    def monotonic(self) -> float:
        self.now += 0.037
        return self.now

    def sleep(self, seconds: float) -> None:
        self.now += seconds
        self.slept += 1


@pytest.mark.parametrize("question", [COUNT, "SELECT * FROM people", "nonsense"])
def test_time_is_padded_also_where_the_question_fails(monkeypatch, question: str):
    curator = people(quantum=0.2)
    clock = Clock()
    monkeypatch.setattr(unexpected_errors, "time", clock)
    started = clock.now + 0.037
    with suppress(DiscreetError):
        curator.ask(question, epsilon=0.1)
    assert clock.slept == 1
    assert (clock.now - started) / 0.2 == pytest.approx(1)


@pytest.mark.parametrize("confidence", [0, 1, -1, 2, float("nan")])
def test_a_confidence_that_is_none_is_invalid_and_costs_nothing(confidence: float):
    curator = people()
    with pytest.raises(InvalidBudget):
        curator.ask(COUNT, epsilon=1, confidence=confidence)
    assert curator.ledger.accounts() == []


def test_consistent_counts_are_not_negative(monkeypatch: pytest.MonkeyPatch):
    curator = people("{epsilon: 1000}")
    text = "SELECT count(*) AS n FROM people WHERE age > 1000 AND {0} = {0}"
    result = [
        curator.ask(text.format(n), epsilon="0.1", consistent=True).rows[0][0] for n in range(40)
    ]
    assert min(result) == 0
    assert max(result) > 0
    plain = [curator.ask(text.format(n), epsilon="0.1").rows[0][0] for n in range(40)]
    assert min(plain) < 0


def test_the_default_ledger_is_one_file_of_the_user(tmp_path: Path, monkeypatch):
    monkeypatch.delenv("DISCREET_LEDGER", raising=False)
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    assert ledger_location("people.csv") == tmp_path / "state" / "discreet" / "ledger.sqlite"
    assert ledger_location(PEOPLE) == ":memory:"
    monkeypatch.setenv("DISCREET_LEDGER", "postgresql://host/db")
    assert ledger_location("people.csv") == "postgresql://host/db"
    assert ledger_location(PEOPLE) == "postgresql://host/db"


def test_a_file_has_one_account_from_wherever_it_is_asked(tmp_path: Path, monkeypatch):
    pq.write_table(PEOPLE, tmp_path / "people.parquet")
    ledger_path = tmp_path / "ledger.sqlite"
    (tmp_path / "below").mkdir()
    for folder, place in ((tmp_path, "people.parquet"), (tmp_path / "below", "../people.parquet")):
        monkeypatch.chdir(folder)
        with discreet.open(place, ledger=ledger_path) as curator:
            result = curator.ask(f"{COUNT} WHERE age > {len(str(folder))}", epsilon=1)
    assert result.remaining["epsilon"] == 8
    assert ledger_path.stat().st_mode & 0o077 == 0


def test_a_table_without_its_unit_is_refused(tmp_path: Path):
    pq.write_table(PEOPLE, tmp_path / "people.parquet")
    policy = tmp_path / "policy.yaml"
    policy.write_text("tables:\n  people: {unit: agee, columns: {sex: quasi-identifier}}\n")
    with pytest.raises(UnknownColumn, match="Did you mean 'age'"):
        discreet.open(tmp_path / "people.parquet", policy, ledger=tmp_path / "l.sqlite")


def test_no_noise_can_be_seeded_from_outside(monkeypatch: pytest.MonkeyPatch):
    import random

    import numpy as np

    result = set()
    for _ in range(6):
        random.seed(1)
        np.random.seed(1)
        result.add(people("{epsilon: 9}").ask(COUNT, epsilon="0.01").rows[0][0])
    assert len(result) > 1


def test_without_noise_means_without_noise(monkeypatch: pytest.MonkeyPatch):
    """The patch that other tests rest on does what it says."""
    without_noise(monkeypatch)
    assert people().ask(COUNT, epsilon="0.001").rows == [[4]]


def test_a_public_table_is_looked_at_whenever_it_is_joined(monkeypatch: pytest.MonkeyPatch):
    """It may have changed, on a server: two rows for one value would count people twice."""
    from discreet.answer import sources

    looked: list[object] = []
    real = sources._require_unique
    monkeypatch.setattr(
        sources, "_require_unique", lambda *sides: (looked.append(sides), real(*sides))
    )
    hospital = files("discreet") / "data" / "hospital"
    question = "SELECT count(*) FROM visits JOIN diagnoses ON visits.diagnosis = diagnoses.code"
    with discreet.open(
        str(hospital / "visits.csv"), str(hospital / "policy.yaml"), ledger=":memory:"
    ) as curator:
        for _ in range(2):
            curator.plan(question, epsilon=1)
    assert len(looked) == 2
