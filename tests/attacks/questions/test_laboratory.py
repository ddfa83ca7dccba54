"""The laboratory restricts, rounds and adds noise as configured."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from sqlglot import condition

from discreet.attacks.questions.laboratory import LaboratoryNoise, LaboratoryRules, laboratory
from discreet.engines.connect import open_table
from discreet.errors import InvalidQuestion, UnknownColumn

PEOPLE = pa.table({"age": list(range(20)), "sex": ["f", "m"] * 10})


def over(rules: LaboratoryRules | None = None, seed: int = 1, **options):
    return laboratory(open_table(PEOPLE), rules, chance=np.random.default_rng(seed), **options)


def sized(interface, size: int) -> float | None:
    return interface.count(condition(f"age < {size}"))


@pytest.mark.parametrize(
    ("rules", "answered"),
    [
        (LaboratoryRules(), range(21)),
        (LaboratoryRules(smallest=5), [*range(5, 16), 20]),
        (LaboratoryRules(smallest=5, allows_all=False), range(5, 16)),
        (LaboratoryRules(smallest=5, allows_most=True), range(5, 21)),
    ],
)
def test_an_answer_is_about_k_people_at_least_and_all_but_k_at_most(rules, answered):
    interface = over(rules)
    assert [size for size in range(21) if sized(interface, size) is not None] == list(answered)


def test_groups_beyond_the_rule_are_left_out():
    interface = over(LaboratoryRules(smallest=3))
    reply = interface.ask("SELECT age < 2 AS young, count(*) FROM data GROUP BY 1")
    assert reply.rows == ()
    reply = interface.ask("SELECT sex, count(*) FROM data GROUP BY sex ORDER BY sex")
    assert reply.rows == (("f", 10.0), ("m", 10.0))


def test_answers_are_rounded_to_a_step_and_keys_are_not():
    interface = over(LaboratoryRules(step=5))
    assert [sized(interface, size) for size in (1, 2, 3, 8)] == [0.0, 0.0, 5.0, 10.0]
    reply = interface.ask("SELECT age, count(*) FROM data WHERE age = 7 GROUP BY age")
    assert reply.rows == ((7, 0.0),)


@pytest.mark.parametrize("shape", ["laplace", "gaussian", "uniform"])
@pytest.mark.statistics
def test_noise_has_its_deviation_and_no_bias(shape):
    """4,000 draws, seeded: off by 10 % or 5 standard errors with a chance below 1e-4."""
    noise, chance = LaboratoryNoise(shape, 3.0), np.random.default_rng(2)
    drawn = [noise.draw(chance) for _ in range(4000)]
    assert np.std(drawn) == pytest.approx(noise.deviation, rel=0.1)
    assert abs(np.mean(drawn)) < 5 * noise.deviation / 4000**0.5


def test_fresh_noise_is_another_one_each_time():
    interface = over(LaboratoryRules(noise=LaboratoryNoise("laplace", 3.0)))
    answers = {interface.ask("SELECT count(*) FROM data").number for _ in range(3)}
    assert len(answers) == 3


def test_sticky_noise_belongs_to_the_text():
    interface = over(LaboratoryRules(noise=LaboratoryNoise("laplace", 3.0, sticky=True)))
    same = {interface.ask("SELECT count(*) FROM data").number for _ in range(3)}
    other = interface.ask("SELECT count(*) FROM data WHERE 1 = 1").number
    assert len(same) == 1
    assert other not in same


def test_answers_that_share_too_many_people_are_refused():
    interface = over(LaboratoryRules(overlap=4))
    assert sized(interface, 10) == 10.0
    assert sized(interface, 12) is None
    assert interface.count(condition("age >= 6")) == 14.0
    assert sized(interface, 10) == 10.0


@pytest.mark.parametrize(
    "text", ["nonsense", "DROP TABLE data", "SELECT 1", "SELECT count(*) FROM a, b"]
)
def test_only_questions_about_one_table_are_read(text):
    with pytest.raises(InvalidQuestion):
        over().ask(text)


@pytest.mark.postgres
def test_a_table_on_a_server_is_asked_there(postgres_url):
    from discreet.attacks.questions.people import read_person_condition
    from discreet.engines.postgres import PostgreSQL

    server = PostgreSQL(postgres_url)
    relation = server.load(PEOPLE.to_reader())
    table = server.table(relation, label="people")
    interface = laboratory(table, LaboratoryRules(smallest=5))
    assert interface.count(read_person_condition("AGE < 7", table)) == 7.0
    assert interface.count(read_person_condition("age < 2", table)) is None
    with pytest.raises(UnknownColumn, match="Did you mean 'age'"):
        read_person_condition("agee < 2", table)
    server.close()
