"""Attacks by questions from the published examples: they succeed against exact answers, and fail against private ones."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pytest
from tests.answer.curators import hold, without_noise

from discreet.attacks.reconstruction.exhaustive import consistent_tables, every_group
from discreet.errors import BudgetExceeded

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from discreet.answer.curator import Curator

    Ask = Callable[[str], float]

BOOK = """
tables:
  adult:
    unit: row
    budget: {epsilon: 100}
    columns:
      Name: {role: identifier}
      Age: {role: quasi-identifier, bounds: [0, 120]}
      Target: {role: sensitive, values: ["<=50K", ">50K"]}
"""


@pytest.fixture(scope="module")
def adult(shared_data: Path) -> pa.Table:
    return pa.csv.read_csv(shared_data / "adult_with_pii" / "adult_with_pii.csv")


def asker(curator: Curator, epsilon: str) -> Ask:
    return lambda question: curator.ask(question, epsilon=epsilon).rows[0][0]


EVERYBODY = "SELECT sum(Age) FROM adult"
ALL_BUT_KARRIE = "SELECT sum(Age) FROM adult WHERE Name <> 'Karrie Trusslove'"
KARRIE_EARNS_LITTLE = (
    "SELECT count(*) FROM adult WHERE Name = 'Karrie Trusslove' AND Target = '<=50K'"
)


def test_a3_a4_a5_exact_sums_differ_by_karries_age(adult, monkeypatch):
    without_noise(monkeypatch)
    ask = asker(hold({"adult": adult}, BOOK), "1")
    assert (ask(EVERYBODY), ask(ALL_BUT_KARRIE)) == (1360238, 1360182)
    assert ask(EVERYBODY) - ask(ALL_BUT_KARRIE) == 56


def test_a6_a27_exact_counts_are_those_of_the_textbook(adult, monkeypatch):
    without_noise(monkeypatch)
    ask = asker(hold({"adult": adult}, BOOK), "1")
    assert ask("SELECT count(*) FROM adult WHERE Age >= 40") == 17450
    assert ask(KARRIE_EARNS_LITTLE) == 1


@pytest.mark.statistics
def test_a5_private_sums_do_not_reveal_karries_age(adult):
    """Within half a year with chance 1/480 each: 5 of 40 times with a chance below 1e-7."""
    curator = hold({"adult": adult}, BOOK)
    gaps = []
    for number in range(40):
        ask = asker(curator, f"1.{number:04d}")
        gaps.append(ask(EVERYBODY) - ask(ALL_BUT_KARRIE))
    assert sum(abs(gap - 56) < 0.5 for gap in gaps) < 5
    assert np.std(gaps) > 60  # of 240: half the scale with a chance below 1e-7


@pytest.mark.statistics
def test_a27_a_private_count_of_one_person_is_mostly_noise(adult):
    """At epsilon 0.1 zero or less is seen with chance 0.48: never in 40 times with one below 1e-11."""
    curator = hold({"adult": adult}, BOOK)
    counts = [asker(curator, f"0.1{number:03d}")(KARRIE_EARNS_LITTLE) for number in range(40)]
    assert min(counts) <= 0


STAFF = """
tables:
  staff:
    unit: row
    budget: {epsilon: 1}
    columns:
      name: {role: identifier}
      age: {role: quasi-identifier, bounds: [18, 70]}
      gender: {role: quasi-identifier, values: [F, M]}
      salary: {role: sensitive, bounds: [0, 100000]}
      phone: {role: identifier}
"""
PHONE, BITS = 9_876_543, 24


@pytest.fixture
def staff() -> pa.Table:
    """Return 60 people; Alice is 44 and earns 55 000."""
    chance = np.random.default_rng(5)
    names = ["Alice", "Adams", *(f"person {number}" for number in range(58))]
    return pa.table(
        {
            "name": names,
            "age": [44, 31, *chance.integers(20, 65, 58).tolist()],
            "gender": ["F", "M", *chance.choice(["F", "M"], 58).tolist()],
            "salary": [55_000, 47_000, *chance.integers(20_000, 90_000, 58).tolist()],
            "phone": [PHONE, 1, *chance.integers(0, 2**BITS, 58).tolist()],
        }
    )


def direct(ask: Ask) -> float:
    """C15: a condition that holds for one person, whatever else it says."""
    where = "name = 'Alice' AND (gender = 'F' OR gender = 'M')"
    return ask(f"SELECT sum(salary) FROM staff WHERE {where}")


def by_difference(ask: Ask) -> float:
    """C16: everybody less everybody else."""
    everybody = ask("SELECT sum(salary) FROM staff")
    return everybody - ask("SELECT sum(salary) FROM staff WHERE name <> 'Alice'")


def by_tracker(ask: Ask) -> float:
    """C17: young ones or Alice, and old ones or Alice, have everybody once and Alice twice."""
    young = ask("SELECT sum(salary) FROM staff WHERE age < 40 OR name = 'Alice'")
    old = ask("SELECT sum(salary) FROM staff WHERE age >= 40 OR name = 'Alice'")
    return young + old - ask("SELECT sum(salary) FROM staff")


ATTACKS = pytest.mark.parametrize("attack", [direct, by_difference, by_tracker])


@ATTACKS
def test_c15_c16_c17_exact_sums_reveal_alices_salary(attack, staff, monkeypatch):
    without_noise(monkeypatch)
    assert attack(asker(hold({"staff": staff}, STAFF), "0.1")) == pytest.approx(55_000, abs=1)


@ATTACKS
@pytest.mark.statistics
def test_c15_c16_c17_private_sums_do_not(attack, staff):
    """With all of epsilon 1 the guess is off by 100 000 on average: each time by less than 1000 in
    8 times with a chance below 1e-15."""
    guesses = [attack(asker(hold({"staff": staff}, STAFF), "0.333")) for _ in range(8)]
    assert max(abs(guess - 55_000) for guess in guesses) > 1000


def phone_of_alice(ask: Ask) -> int:
    """C19 by halves: those under 40, with and without Alice if her number is below the middle."""
    low, high = 0, 2**BITS
    while high - low > 1:
        middle = (low + high) // 2
        young = ask(f"SELECT count(*) FROM staff WHERE age < 40 AND phone <> {-middle - 1}")
        also = f"age < 40 OR (name = 'Alice' AND phone < {middle})"
        is_below = ask(f"SELECT count(*) FROM staff WHERE {also}") - young > 0.5
        low, high = (low, middle) if is_below else (middle, high)
    return low


def test_c19_exact_counts_reveal_alices_number_bit_by_bit(staff, monkeypatch):
    without_noise(monkeypatch)
    assert phone_of_alice(asker(hold({"staff": staff}, STAFF), "0.02")) == PHONE


@pytest.mark.statistics
def test_c19_private_counts_do_not(staff):
    """48 questions share epsilon 1: a bit is right with chance 0.51, all 24 with 1e-7."""
    assert phone_of_alice(asker(hold({"staff": staff}, STAFF), "0.0208")) != PHONE


PATIENTS, SUBSETS = 64, 110
SICK = """
tables:
  patients:
    unit: row
    budget: {epsilon: 1}
    columns:
      number: {role: identifier}
      sick: {role: sensitive}
"""


def recovered(curator: Curator, truth: np.ndarray, epsilon: str) -> tuple[float, int]:
    """C39: ask for random subsets while the budget lasts, and solve for the bits.

    Return the share of bits that are right, and how many questions were answered (Dinur & Nissim
    2003; solved by least squares as in Dwork, McSherry & Talwar 2007).
    """
    chance = np.random.default_rng(6)
    asked, answers = [], []
    for _ in range(SUBSETS):
        chosen = chance.random(PATIENTS) < 0.5
        listed = ", ".join(str(number) for number in np.flatnonzero(chosen))
        question = f"SELECT count(*) FROM patients WHERE sick AND number IN ({listed})"
        try:
            answers.append(curator.ask(question, epsilon=epsilon).rows[0][0])
        except BudgetExceeded:
            break
        asked.append(chosen)
    solved, *_ = np.linalg.lstsq(np.array(asked, float), np.array(answers, float), rcond=None)
    return float(np.mean((solved > 0.5) == truth)), len(asked)


@pytest.fixture
def patients() -> pa.Table:
    sick = np.random.default_rng(7).random(PATIENTS) < 0.5
    return pa.table({"number": np.arange(PATIENTS), "sick": sick})


def test_c38_c39_exact_counts_of_subsets_reveal_every_bit(patients, monkeypatch):
    without_noise(monkeypatch)
    curator = hold({"patients": patients}, SICK.replace("epsilon: 1", "epsilon: 100"))
    share, answered = recovered(curator, patients["sick"].to_numpy(), "0.01")
    assert (share, answered) == (1.0, SUBSETS)


@pytest.mark.statistics
def test_c39_private_counts_of_subsets_reveal_hardly_any_and_the_budget_ends(patients):
    """100 questions of 0.01; a bit is right with chance 0.55 at most: 54 of 64 with one below 1e-6."""
    curator = hold({"patients": patients}, SICK)
    share, answered = recovered(curator, patients["sick"].to_numpy(), "0.01")
    assert answered == 100
    assert share < 54 / PATIENTS


def survivors(answers: list[float], slack: float) -> set[str]:
    """Return the tables of three bits that all answers to subset counts could come from."""
    found = consistent_tables(every_group(3), np.array(answers), error=slack)
    return {"".join(str(int(bit)) for bit in table) for table in found}


@pytest.mark.statistics
def test_c36_private_answers_leave_no_such_bound(monkeypatch):
    """At epsilon 1/8 each, all eight answers within 0.5 of a table have a chance below 1e-8."""
    table = pa.table({"number": [4, 2, 1], "sick": [True, False, True]})
    question = "SELECT count(*) FROM patients WHERE sick AND number IN ({})"
    exact: list[float] = []
    for subset in range(8):
        listed = ", ".join(str(place) for place in (4, 2, 1) if subset & place) or "-1"
        exact.append(subset_answer(table, question.format(listed)))
    assert survivors(exact, 0.5) == set()


def subset_answer(table: pa.Table, question: str) -> Any:
    return hold({"patients": table}, SICK).ask(question, epsilon="0.125").rows[0][0]
