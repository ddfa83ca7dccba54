"""Bounds that the policy leaves private are found with noise, paid for once, and reported."""

from __future__ import annotations

from fractions import Fraction
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest
from tests.answer import hospitals
from tests.answer.curators import hold, without_noise
from tests.answer.hospitals import PERSON
from tests.answer.test_sensitivity import POLICY as VISITS
from tests.answer.test_sensitivity import _of_one

from discreet.answer.bounds_search import LARGEST, make_search
from discreet.answer.catalog import CatalogTable
from discreet.dp.accounting.pricing import price
from discreet.errors import BudgetExceeded, NoBounds, QuestionRefused
from discreet.policy.load import parse_policy

if TYPE_CHECKING:
    from discreet.answer.curator import Curator

POLICY = """
tables:
  people:
    budget: {epsilon: 10, delta: 0.1}
    columns:
      salary: {role: sensitive, bounds: private}
      age: {role: quasi-identifier, bounds: private}
      debt: {role: sensitive}
      sex: {role: quasi-identifier, values: [f, m]}
"""
COUNT = 4000
PEOPLE = pa.table(
    {
        "salary": [20_000.0 + 10 * n for n in range(COUNT)],
        "age": [18 + n % 70 for n in range(COUNT)],
        "debt": [float(n) for n in range(COUNT)],
        "sex": ["f", "m"] * (COUNT // 2),
    }
)
SUM = "SELECT sum(salary) AS s FROM people"


def _curator(policy: str = POLICY, data: pa.Table = PEOPLE) -> Curator:
    return hold({"people": data}, policy)


def test_bounds_are_found_privately_and_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    without_noise(monkeypatch)
    with _curator() as curator:
        answer = curator.ask(SUM, epsilon=1)
    assert answer.rows[0][0] == pytest.approx(sum(PEOPLE["salary"].to_pylist()), rel=1e-4)
    assert answer.spent["epsilon"] == 1
    assert answer.remaining["epsilon"] == 9
    (result,) = [caution for caution in answer.cautions if "privately" in caution]
    assert "for epsilon 0.1 of this question: 16,384 to 65,536" in result


def test_numbers_beyond_the_bounds_that_were_found_are_clamped(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A few people with a huge salary are no bin that stands out: no one learns of them."""
    without_noise(monkeypatch)
    few = [1e12] * 5 + [20_000.0] * (COUNT - 5)
    data = PEOPLE.set_column(0, "salary", pa.array(few))
    with _curator(data=data) as curator:
        answer = curator.ask(
            "SELECT max(salary) AS top, avg(salary) AS mean FROM people", epsilon=1
        )
    assert answer.rows[0][0] <= 32_768
    assert answer.rows[0][1] == pytest.approx(20_000, rel=0.01)


def test_they_are_paid_for_once_and_the_same_question_is_free() -> None:
    with _curator() as curator:
        first = curator.ask(SUM, epsilon=1)
        again = curator.ask(SUM, epsilon=1)
        other = curator.ask("SELECT avg(salary) AS m FROM people", epsilon=1)
        entries = [entry.question for entry in curator.ledger.entries("table:people")]
    assert (first.spent["epsilon"], again.spent["epsilon"]) == (1, 0)
    assert again.rows == first.rows
    assert other.spent["epsilon"] == 0.9
    assert other.remaining["epsilon"] == pytest.approx(8.1)
    assert any("by an earlier question" in caution for caution in other.cautions)
    assert entries.count("bounds of salary in people") == 1


def test_what_is_planned_and_explained_reads_no_row() -> None:
    with _curator() as curator:
        plan, text = curator.plan(SUM, epsilon=1)
        found = curator.explain_plan(plan, text)
        assert curator.engine.queries == []
    assert found.epsilon == 1
    assert [item.standard_error for item in found.expected] == [None]
    assert any("finding them costs epsilon 0.1" in caution for caution in found.cautions)


@pytest.mark.parametrize("noise", ["laplace", "gaussian"])
def test_the_share_is_part_of_the_price(noise: Any) -> None:
    with _curator() as curator:
        plan, _ = curator.plan(SUM, epsilon=1, delta="1e-6", noise=noise)
        answer = curator.ask(SUM, epsilon=1, delta="1e-6", noise=noise)
    (search,) = plan.searches
    assert (plan.price.epsilon, search.price.epsilon) == (1, Fraction(1, 10))
    found = price(search.plan.event)
    assert found.epsilon is not None
    assert found.epsilon <= Fraction(1, 10)
    assert price(plan.event).rho == plan.price.rho
    assert answer.spent["epsilon"] == 1


def test_only_bounds_that_are_needed_are_searched() -> None:
    questions = {
        "SELECT sum(salary), count(age) FROM people": ["salary"],
        "SELECT sum(salary), avg(age) FROM people": ["age", "salary"],
        "SELECT sum(s) FROM (SELECT salary AS s, age FROM people) q": ["salary"],
        "SELECT avg(salary) FROM people WHERE salary BETWEEN 0 AND 9": [],
        "SELECT count(*) FROM people WHERE salary > 5": [],
        "SELECT sum(least(greatest(salary, 0), 9)) FROM people": [],
        "SELECT sum(salary * age) FROM people": ["age", "salary"],
    }
    with _curator() as curator:
        for question, expected in questions.items():
            plan, _ = curator.plan(question, epsilon=1)
            assert [search.column[1] for search in plan.searches] == expected, question


def test_private_bounds_of_one_column_do_not_help_another() -> None:
    with _curator() as curator, pytest.raises(NoBounds, match="'debt'"):
        curator.plan("SELECT sum(salary), sum(debt) FROM people", epsilon=1)


def test_what_the_budget_cannot_pay_in_full_costs_nothing() -> None:
    policy = POLICY.replace("epsilon: 10", "epsilon: 0.95")
    with _curator(policy) as curator:
        with pytest.raises(BudgetExceeded):
            curator.ask(SUM, epsilon=1)
        assert curator.ledger.accounts() == []
        assert curator.engine.queries == []


def test_groups_by_a_private_number_stay_private() -> None:
    with _curator() as curator, pytest.raises(QuestionRefused, match="not public"):
        curator.plan("SELECT age, sum(salary) FROM people GROUP BY age", epsilon=1)


def test_bounds_are_of_the_whole_table_and_charged_there() -> None:
    """A question about one part of a table would otherwise learn of the others for nothing."""
    policy = POLICY.replace("    columns:", "    partitions: {sex: value}\n    columns:")
    with _curator(policy) as curator:
        plan, _ = curator.plan(f"{SUM} WHERE sex = 'f'", epsilon=1)
        (account,) = curator.payments.predict_accounts(plan.touches, at=curator.clock()).accounts
    assert account.cells is None
    assert plan.private_queries[0].private_query.rows.touches[0].cells is not None


STRANGE = [1e300, -1e300, float("inf"), float("nan"), 0.0, -0.0, 1e-300, 4.0, 2.0**LARGEST, -7.5]


@pytest.mark.parametrize("value", [*STRANGE, None])
@pytest.mark.parametrize("count", [1, 40])
def test_no_one_changes_the_bins_by_more_than_the_noise_is_made_for(
    value: float | None, count: int
) -> None:
    tables = _of_one([value] * count, ward=["a"] * count)
    table_policy = parse_policy(VISITS.replace("[0, 10]", "private")).tables["visits"]
    held = CatalogTable("visits", tables._tables["visits"], table_policy, "table:visits", "1")
    search = make_search(held, "cost", epsilon=Fraction(1), analyst=None)
    changes = list(
        tables.changes(SimpleNamespace(private_queries=(search.plan,)), leaver=PERSON, question="")  # pyright: ignore[reportArgumentType]
    )
    assert changes
    assert all(change.is_within for change in changes)
    assert hospitals.VISITS.field("cost").type == pa.float64()


WHOLE = [0, 1, -1, 2, 3, 4, 5, 2**62, -(2**63), 2**63 - 1]


def test_every_number_is_between_the_ends_of_its_bin() -> None:
    policy = "tables: {t: {columns: {x: {role: sensitive, bounds: private}}}}"
    for values, kind in ((WHOLE, pa.int64()), (STRANGE, pa.float64())):
        for value in values:
            data = pa.table({"x": pa.array([value], kind)})
            with hold({"t": data}, policy) as curator:
                search = make_search(
                    curator.catalog.find("t"), "x", epsilon=Fraction(1), analyst=None
                )
                found = curator.engine.run(search.plan.query).column("k0").to_pylist()
            _check(value, found, len(search.plan.domain.values[0]))  # pyright: ignore


def _check(value: float, found: list[int | None], size: int) -> None:
    from discreet.answer.bounds_search import _REAL, _WHOLE

    if value != value:
        assert found == [None]
        return
    grid = _WHOLE if size == _WHOLE.size else _REAL
    (place,) = found
    assert place is not None
    low, high = grid.ends(place)
    if 0 < abs(value) < 1e-30:  # which counts as 0
        assert (low, high) == (0, 0)
    elif abs(value) <= 2**LARGEST:
        assert low <= Fraction(value) <= high
    else:
        assert place in (0, grid.size - 1)
