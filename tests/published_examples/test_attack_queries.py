"""The published examples' attacks by SQL, found by themselves: on the book's table, and against discreet's own answers."""

from __future__ import annotations

from math import ceil, log2
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pytest
from sqlglot import condition

import discreet
from discreet.attacks.questions.averaging import average_counts
from discreet.attacks.questions.counting import infer_by_counting, infer_value
from discreet.attacks.questions.differencing import audit_answers
from discreet.attacks.questions.domains import WordDomain, column_domains, make_range
from discreet.attacks.questions.interface import Interface
from discreet.attacks.questions.laboratory import LaboratoryNoise, LaboratoryRules, laboratory
from discreet.attacks.questions.people import draw_people, most_common_share, read_person_condition
from discreet.attacks.questions.published import read_questions
from discreet.attacks.questions.tracker import TrackerKnowledge, reveal, track
from discreet.engines.connect import open_table
from discreet.sql import build

if TYPE_CHECKING:
    from pathlib import Path

    from discreet.engines.engine import Table

PEOPLE = 32_563
KARRIE = condition("\"Name\" = 'Karrie Trusslove'")
RULES = [LaboratoryRules(smallest=PEOPLE // 10), LaboratoryRules(smallest=PEOPLE // 4)]


@pytest.fixture(scope="module")
def frame(shared_data: Path) -> pa.Table:
    return pa.csv.read_csv(shared_data / "adult_with_pii" / "adult_with_pii.csv")


@pytest.fixture(scope="module")
def adult(frame: pa.Table) -> Table:
    return open_table(frame)


@pytest.fixture(scope="module")
def public(adult: Table) -> Any:
    return column_domains(adult, names=["DOB", "Zip", "Education-Num", "Sex", "Capital Gain"])


def test_a3_a4_a5_the_difference_of_two_sums_is_karries_age(adult):
    interface = laboratory(adult)
    found = reveal(
        interface, KARRIE, value="Age", domains=[], known=TrackerKnowledge(ways=("complement",))
    )
    result = [asked.reply.number for asked in interface.transcript]
    assert {1_360_238.0, 1_360_182.0} <= set(result)
    assert found.value == 56.0


def test_a3_a4_a5_the_audit_finds_her_among_published_sums(adult):
    texts = [
        "SELECT sum(Age) FROM adult",
        "SELECT sum(Age) FROM adult WHERE Name <> 'Karrie Trusslove'",
    ]
    (finding,) = audit_answers(read_questions(texts, adult), adult)
    assert finding.rate * finding.targets == 1
    assert finding.details["shortest_certificate"] == 2
    assert finding.example[-1] == "= 56, the number of one person"


def test_a27_counts_reveal_what_karrie_earns(adult):
    interface = laboratory(adult)
    found = infer_value(interface, KARRIE, WordDomain("Target", ("<=50K", ">50K")))
    assert (found.place, interface.questions) == (0, 2)


@pytest.mark.parametrize("rules", RULES, ids=["tenth", "quarter"])
def test_c17_c18_karries_age_takes_ten_questions_at_most_with_the_search(adult, public, rules):
    interface = laboratory(adult, rules)
    found = reveal(interface, KARRIE, value="Age", domains=public)
    assert (found.value, found.people) == (56.0, 1.0)
    assert interface.questions <= 10


@pytest.mark.parametrize("rules", RULES, ids=["tenth", "quarter"])
def test_c19_karries_zip_takes_37_counts_at_most_instead_of_one_per_code(adult, public, rules):
    zips = make_range("Zip", 0, 99_999)
    interface = laboratory(adult, rules)
    found = infer_value(interface, KARRIE, zips, domains=public)
    assert found.place == 64_152
    assert interface.questions <= 2 * ceil(log2(zips.size)) + 3 == 37


def test_c17_people_drawn_from_the_table_are_all_revealed(adult, public):
    people = drawn(adult, 8)
    finding = track(laboratory(adult, RULES[0]), people, value="Age", domains=public)
    assert (finding.targets, finding.correct, finding.details["claimed_of_absent"]) == (8, 8, 0)


def drawn(adult: Table, count: int) -> Any:
    return draw_people(
        adult,
        by=[adult.column("Name")],  # type: ignore[list-item]
        value=build.column("Age"),
        people=count,
        absent=2,
        chance=np.random.default_rng(9),
    )


STAFF = pa.table(
    {
        "name": ["Alice", "Adams", *(f"p{number}" for number in range(58))],
        "gender": ["F", "M"] * 30,
        "age": [44, 31, *(20 + number % 45 for number in range(58))],
        "salary": [55_000, 47_000, *(20_000 + 1_000 * number for number in range(58))],
    }
)
AGES = [make_range("age", 18, 70)]


def test_c15_a_condition_of_all_genders_singles_out_adams_unless_groups_are_restricted():
    table = open_table(STAFF)
    adams = read_person_condition("Name = 'Adams' AND (Gender = 'F' OR Gender = 'M')", table)
    assert reveal(laboratory(table), adams, value="salary", domains=[]).value == 47_000
    known = TrackerKnowledge(ways=("direct",))
    restricted = laboratory(table, LaboratoryRules(smallest=5))
    assert not reveal(restricted, adams, value="salary", domains=AGES, known=known).is_claim


@pytest.mark.parametrize(
    ("rules", "way"),
    [
        (LaboratoryRules(smallest=5, allows_most=True), "complement"),
        (LaboratoryRules(smallest=15), "general tracker"),
    ],
)
def test_c16_c17_alices_salary_is_everybody_less_the_others_or_a_tracker(rules, way):
    interface = laboratory(open_table(STAFF), rules)
    found = reveal(interface, condition("name = 'Alice'"), value="salary", domains=AGES)
    assert found.plan is not None
    assert (found.plan.name, found.value) == (way, 55_000.0)


def test_c17_a_crowd_of_exactly_k_is_no_tracker_because_the_person_makes_the_rest_too_large():
    """k = 20 of 60: Alice is among the 20, so that the rest or Alice are 41 of at most 40."""
    table = open_table(
        pa.table({"name": [*map(str, range(59)), "Alice"], "t": [0] * 40 + [1] * 20})
    )
    domains = [make_range("t", 0, 1)]
    alice = condition("name = 'Alice'")
    wide, narrow = (laboratory(table, LaboratoryRules(smallest=size)) for size in (19, 20))
    assert reveal(wide, alice, value="t", domains=domains).people == 1
    assert reveal(narrow, alice, value="t", domains=domains).people is None


def test_c33_charlie_or_the_young_are_two_ill_people():
    table = open_table(
        pa.table(
            {
                "name": ["Alice", "Bob", "Charlie", "Dora"],
                "born": [1985, 1970, 1960, 1992],
                "covid": [1, 1, 1, 0],
            }
        )
    )
    interface = laboratory(table)
    where = '"name" = \'Charlie\' OR "born" > 1980'
    assert interface.total("covid", condition(where)) == 2
    texts = [
        f"SELECT sum(covid) FROM t WHERE {where}",
        "SELECT sum(covid) FROM t WHERE born > 1980",
    ]
    (finding,) = audit_answers(read_questions(texts, table), table)
    assert finding.example[-1] == "= 1, the number of one person"


BOOK = """
tables:
  adult:
    unit: row
    budget: {epsilon: 1}
    columns:
      Name: {role: identifier}
      DOB: {role: quasi-identifier}
      Age: {role: sensitive, bounds: [0, 120]}
      Target: {role: sensitive, values: ["<=50K", ">50K"]}
"""


def private(frame: pa.Table, folder: Path, *, questions: int) -> Interface:
    """Return discreet's own answers about the book's table, all of them for epsilon 1."""
    policy = folder / "policy.yaml"
    policy.write_text(BOOK, encoding="utf-8")
    session = discreet.open(frame, policy, ledger=folder / "ledger.sqlite")
    price = f"{1 / questions:.9f}"[:-1]
    return Interface(lambda text: session.ask(text, epsilon=price).rows, source="data")


@pytest.mark.statistics
def test_c15_c17_trackers_fail_against_discreets_own_answers(frame, adult, tmp_path):
    """6 ages from sums of scale 960 or more: three are right with a chance below 1e-8, and so is an
    error of 20 on average."""
    people = drawn(adult, 6)
    baseline = most_common_share(adult, build.column("Age"))
    for number, known in enumerate((TrackerKnowledge(is_there=True), TrackerKnowledge(trackers=1))):
        folder = tmp_path / str(number)
        folder.mkdir()
        interface = private(frame, folder, questions=len(people) * (1 if number == 0 else 4))
        finding = track(
            interface,
            people,
            value="Age",
            domains=[make_range("Education-Num", 1, 16)],
            known=known,
            baseline=baseline,
        )
        assert finding.claimed > 0
        assert (finding.correct or 0) <= 2
        assert finding.details["mean_absolute_error"] > 20


@pytest.mark.statistics
def test_c19_a27_counts_fail_against_discreets_own_answers(frame, adult, tmp_path):
    """3 zips of 17 bits: two are right with a chance below 1e-7."""
    people = [person for person in drawn(adult, 3) if person.is_present]
    zips = make_range("Zip", 0, 99_999)
    interface = private(frame, tmp_path, questions=3 * 20)
    finding = infer_by_counting(
        interface, people, domain=zips, domains=[make_range("Education-Num", 1, 16)]
    )
    assert (finding.correct or 0) <= 1


def test_the_budget_ends_an_attack_on_discreets_own_answers(frame, tmp_path):
    interface = private(frame, tmp_path, questions=4)
    found = [
        reveal(interface, condition(f"\"Name\" = 'n{number}'"), value="Age", domains=[])
        for number in range(6)
    ]
    assert interface.ended == "budget-exceeded"
    assert not found[-1].is_claim
    assert interface.questions <= 6


def test_the_same_question_to_discreet_has_the_same_answer_and_other_words_cost(frame, tmp_path):
    interface = private(frame, tmp_path, questions=10)
    where = condition("\"Name\" = 'Karrie Trusslove' AND \"Target\" = '<=50K'")
    same = average_counts(interface, where, repeats=5)
    assert (same.deviation, same.answers) == (0.0, 5)
    other = average_counts(interface, where, repeats=30, way="reworded")
    assert other.answers < 12
    assert interface.ended == "budget-exceeded"


def test_a_restricted_interface_with_noise_leaves_karrie_to_the_mean_of_many(adult):
    """Bounded noise of 1, sticky, seeded: the mean of 60 reworded counts is within 0.5 of the truth."""
    rules = LaboratoryRules(noise=LaboratoryNoise("uniform", 1.0, sticky=True))
    interface = laboratory(adult, rules, chance=np.random.default_rng(2))
    where = condition("\"Name\" = 'Karrie Trusslove' AND \"Target\" = '<=50K'")
    other = average_counts(interface, where, repeats=30, way="reworded")
    assert other.mean == pytest.approx(1, abs=0.45)
