"""What follows from published answers is decided exactly, with the combination that reveals it."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.attacks.crowded import opened

from discreet.attacks.questions.differencing import atoms_of, audit_answers, interval_widths
from discreet.attacks.questions.elimination import determine_unknowns
from discreet.attacks.questions.published import read_questions, sums_of
from discreet.engines.connect import open_table
from discreet.errors import InvalidQuestion, UnknownColumn

MATRICES = st.tuples(st.integers(1, 7), st.integers(1, 7)).flatmap(
    lambda shape: st.lists(
        st.lists(st.booleans(), min_size=shape[1], max_size=shape[1]),
        min_size=shape[0],
        max_size=shape[0],
    )
)


@given(MATRICES)
@settings(max_examples=40)
def test_an_unknown_is_determined_if_and_only_if_it_adds_nothing_to_the_rank(rows):
    matrix = np.array(rows, dtype=bool)
    rank = np.linalg.matrix_rank(matrix.astype(float))
    units = np.eye(matrix.shape[1])
    expected = {
        place
        for place in range(matrix.shape[1])
        if np.linalg.matrix_rank(np.vstack([matrix, units[place]])) == rank
    }
    assert {one.unknown for one in determine_unknowns(matrix)} == expected


@given(MATRICES)
@settings(max_examples=40)
def test_a_certificate_adds_up_to_its_unknown(rows):
    matrix = np.array(rows, dtype=bool)
    for one in determine_unknowns(matrix):
        added = [
            sum((factor * int(matrix[row, place]) for factor, row in one.terms), Fraction(0))
            for place in range(matrix.shape[1])
        ]
        assert added == [Fraction(place == one.unknown) for place in range(matrix.shape[1])]


@pytest.fixture(scope="module")
def table():
    return opened()


def found(table, *texts: str, **options):
    return audit_answers(read_questions(texts, table), table, **options)


ALL, BUT_ALICE = "SELECT sum(pay) FROM staff", "SELECT sum(pay) FROM staff WHERE name <> 'Alice'"


def test_everybody_less_everybody_else_is_alice(table):
    (finding,) = found(table, ALL, BUT_ALICE)
    assert (finding.rate * finding.targets, finding.details["shortest_certificate"]) == (1, 2)
    assert finding.example[-1].startswith("= 55,000")
    assert "Alice" not in str(finding.to_dict())
    assert "55" not in str(finding.to_dict()["verdict"])


def test_a_tracker_among_the_questions_is_found(table):
    (finding,) = found(
        table,
        f"{ALL}; SELECT sum(pay) FROM staff WHERE age < 40 OR name = 'Alice'",
        "SELECT avg(pay) FROM staff WHERE age >= 40 OR name = 'Alice'",
    )
    assert (finding.details["shortest_certificate"], finding.details["means_taken_as_sums"]) == (
        3,
        True,
    )


def test_groups_of_several_people_disclose_no_one(table):
    (finding,) = found(table, ALL, "SELECT ill, sum(pay), count(*) FROM staff GROUP BY ill")
    assert finding.rate == 0
    assert "none of 200 people" in finding.verdict


def test_each_group_of_one_is_disclosed(table):
    (finding,) = found(table, "SELECT age, ill, sum(pay) FROM staff GROUP BY 1, 2")
    rows = table.engine.run(
        read_questions(["SELECT count(*) AS n FROM x GROUP BY age, ill"], table)[0].from_(
            table.relation
        )
    )
    assert finding.rate * 200 == rows.column("n").to_pylist().count(1)


def test_counts_of_a_secret_are_sums_of_what_is_counted(table):
    (finding,) = found(
        table,
        "SELECT count(*) FROM staff WHERE age < 40 AND ill = 'gout'",
        "SELECT count(CASE WHEN ill = 'gout' THEN 1 END) FROM staff WHERE age < 40 OR name = 'Alice'",
        secrets=["ill"],
    )
    assert finding.rate * 200 == 1
    assert finding.verdict.startswith("What is counted of 'ill' of 1 person")


@pytest.mark.parametrize(
    "text",
    [
        "SELECT sum(CASE WHEN name <> 'Alice' THEN pay ELSE 0 END) FROM staff",
        "SELECT sum(pay) FILTER (WHERE name <> 'Alice') AS s FROM staff",
        "SELECT name = 'Alice' AS is_alice, sum(pay) AS s FROM staff GROUP BY is_alice",
        "SELECT name = 'Alice', sum(pay) FROM staff GROUP BY ALL",
    ],
)
def test_the_same_sums_in_other_words_are_the_same_sums(table, text):
    (finding,) = found(table, ALL, text)
    assert finding.rate * 200 == 1


@pytest.mark.parametrize(
    "text",
    [
        "SELECT sum(pay) FROM staff GROUP BY ROLLUP (age)",
        "SELECT sum(pay) FROM (SELECT pay FROM staff LIMIT 3)",
    ],
)
def test_what_cannot_be_judged_is_refused(table, text):
    with pytest.raises(InvalidQuestion):
        read_questions([text], table)


def test_medians_are_reported_as_not_judged(table):
    (finding,) = found(table, ALL, "SELECT median(pay), max(pay) FROM staff")
    assert finding.details["not_judged"] == ["MAX", "MEDIAN"]


def test_intervals_shrink_to_nothing_for_the_disclosed_and_to_something_for_the_nearly_so():
    """Two people earn 195 of at most 200: each has at least 95 of 100."""
    small = open_table(pa.table({"name": ["a", "b", "c"], "pay": [97, 98, 10]}))
    questions = read_questions(
        ["SELECT sum(pay) FROM t", "SELECT sum(pay) FROM t WHERE name <> 'c'"], small
    )
    sums, _ = sums_of(questions, small, secrets=["pay"])
    atoms = atoms_of(sums, small)
    widths = dict(zip(atoms.sizes.tolist(), interval_widths(atoms, (0, 100)), strict=True))
    assert widths[1] == pytest.approx(0)
    assert widths[2] == pytest.approx(0.05)
    (finding,) = audit_answers(questions, small, bounds=(0, 100))
    assert finding.details["within_a_tenth"] == 3


@pytest.mark.parametrize("text", ["UPDATE t SET a = 1", "SELECT 1", "SELECT sum(a FROM"])
def test_what_is_no_question_is_refused(table, text):
    with pytest.raises(InvalidQuestion):
        read_questions([text], table)


def test_a_misspelled_column_is_named(table):
    with pytest.raises(UnknownColumn, match=r"'payy'.*Did you mean 'pay'"):
        read_questions(["SELECT sum(payy) FROM staff"], table)


def test_too_many_answers_are_refused():
    many = open_table(pa.table({"id": list(range(1200)), "pay": [1] * 1200}))
    with pytest.raises(InvalidQuestion, match="at most 1,000"):
        found(many, "SELECT id, sum(pay) FROM t GROUP BY id")
