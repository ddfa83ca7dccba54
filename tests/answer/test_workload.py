"""Several questions as one: one price that holds exactly, answers that add up, and one entry in the ledger."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pytest
from tests.answer.curators import hold, without_noise

from discreet.answer.marginals import MarginalsPlan, count_family
from discreet.answer.perturb import run_queries
from discreet.dp.accounting.conversion import rho_of_epsilon
from discreet.dp.accounting.pricing import price
from discreet.errors import (
    BudgetExceeded,
    InvalidBudget,
    InvalidQuestion,
    NoBounds,
    QuestionRefused,
)

if TYPE_CHECKING:
    from discreet.answer.curator import Curator
    from discreet.answer.workload import WorkloadPlan
    from discreet.engines.engine import Engine

POLICY = """
tables:
  visits:
    unit: pid
    limits: {rows-per-unit: 3}
    budget: {epsilon: 20, delta: 1e-3}
    columns:
      pid: {role: identifier, kind: integer}
      ward: {role: quasi-identifier, kind: text, values: [a, b, c]}
      sex: {role: quasi-identifier, kind: text, values: [F, M]}
      grade: {role: quasi-identifier, kind: integer, bounds: [0, 3]}
      cost: {role: sensitive, kind: number, bounds: [0, 10]}
      pay: {role: sensitive, kind: number}
"""
BUDGET = {"epsilon": 1, "delta": "1e-6"}
TOTAL = "SELECT count(*) AS n FROM visits"
BY_WARD = "SELECT ward, count(*) AS n FROM visits GROUP BY ward"
BY_BOTH = "SELECT sex, ward, count(*) AS n FROM visits GROUP BY sex, ward"
BY_GRADE = (
    "SELECT greatest(0, least(3, coalesce(grade, 0))) AS g, count(*) AS n FROM visits GROUP BY 1"
)
DEAR = "SELECT ward, count(*) AS n FROM visits WHERE cost > 5 GROUP BY ward"
DEAR_SEX = "SELECT sex, count(*) AS n FROM visits WHERE cost > 5 GROUP BY sex"
COSTS = "SELECT ward, sum(cost) AS s, avg(cost) AS m FROM visits GROUP BY ward"
WORKLOAD = [TOTAL, BY_WARD, BY_BOTH, BY_GRADE, DEAR, DEAR_SEX, COSTS]


def visits(*people: tuple[int, int, str | None, str | None]) -> pa.Table:
    """Return visits of 40 people, and `people` besides: an id, how many visits, ward and sex."""
    chance = np.random.default_rng(5)
    rows: list[dict[str, Any]] = []
    for pid in range(40):
        rows += [
            {
                "pid": pid,
                "ward": ("a", "b", "c", "elsewhere", None)[chance.integers(5)],
                "sex": ("F", "M", None)[chance.integers(3)],
                "grade": int(chance.integers(5)),
                "cost": float(chance.integers(11)),
                "pay": 1.0,
            }
            for _ in range(chance.integers(1, 7))
        ]
    for pid, count, ward, sex in people:
        rows += [{"pid": pid, "ward": ward, "sex": sex, "grade": 3, "cost": 10.0}] * count
    kinds = {"pid": "int64", "ward": "string", "sex": "string", "grade": "int64", "cost": "double"}
    return pa.Table.from_pylist(rows, schema=pa.schema({**kinds, "pay": "double"}))


def curate(table: pa.Table | None = None, **options: Any) -> Curator:
    return hold({"visits": visits() if table is None else table}, POLICY, **options)


def plan_all(curator: Curator, questions: list[str]) -> WorkloadPlan:
    return curator._planner.plan_all(
        questions, Fraction(1), Fraction(1, 10**6), weighted=False, cut_share="0.05"
    )


def exact_vectors(plan: WorkloadPlan, engine: Engine) -> list[tuple[Any, Fraction]]:
    """Return every vector of integers that gets noise, with the scale of its noise."""
    found: list[tuple[Any, Fraction]] = []
    for one in plan.private_queries:
        if isinstance(one, MarginalsPlan):
            exact = count_family(one, engine)
            found += [(exact.residuals[item.columns], item.scale) for item in one.residuals]
        else:
            exact = run_queries(one, engine)
            found += [(np.stack(exact.sums[item.block.name]), item.scale) for item in one.blocks]
        if one.cut is not None:
            found.append((exact.cut, one.cut.scale))
    return found


def replayed_costs(engine: Engine, *tables: pa.Table) -> tuple[list[Fraction], Fraction]:
    """Return what the difference of the first table to each other one costs in rho, and what was reserved."""
    held = [hold({"visits": table}, POLICY, engine=engine) for table in tables]
    plans = [plan_all(curator, WORKLOAD) for curator in held]
    assert all(plan.event == plans[0].event for plan in plans)
    before, *others = (
        exact_vectors(plan, curator.engine) for plan, curator in zip(plans, held, strict=True)
    )
    costs: list[Fraction] = []
    for after in others:
        cost = Fraction(0)
        for (old, scale), (new, _) in zip(before, after, strict=True):
            change = np.ravel(new).astype(object) - np.ravel(old).astype(object)
            cost += Fraction(int((change * change).sum())) / (2 * scale**2)
        costs.append(cost)
    assert plans[0].price.rho is not None
    return costs, plans[0].price.rho


def test_one_person_costs_at_most_what_was_reserved(any_engine: Engine) -> None:
    costs, reserved = replayed_costs(
        any_engine,
        visits(),
        visits((900, 3, "a", "F")),
        visits((900, 9, "c", "M")),
        visits((900, 1, None, None)),
        visits((900, 50, "elsewhere", None)),
        visits((900, 3, "a", "F"), (901, 3, "a", "F")),
    )
    *alone, twice = costs
    assert all(0 < cost <= reserved for cost in alone)
    assert alone[0] > reserved * Fraction(95, 100)  # a person at every bound
    assert twice > reserved  # the check can fail
    assert reserved <= rho_of_epsilon(Fraction(1), delta=Fraction(1, 10**6))


def test_answers_without_noise_are_those_of_each_question_alone(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    without_noise(monkeypatch)
    with curate() as curator:
        found = curator.ask_all(WORKLOAD, **BUDGET)
        for question, answer in zip(WORKLOAD, found, strict=True):
            alone = curator.ask(question, noise="gaussian", **BUDGET)
            assert answer.columns == alone.columns
            for got, wanted in zip(answer.rows, alone.rows, strict=True):
                assert got == pytest.approx(wanted, abs=0.51)  # counts alone are rounded


def test_margins_add_up_whatever_the_noise_is() -> None:
    keys = "greatest(0, least(3, coalesce(grade, 0))), sex IS NULL"
    fine = f"SELECT {keys}, count(*) AS n FROM visits GROUP BY {keys}"
    coarse = "SELECT sex IS NULL, count(*) AS n FROM visits GROUP BY 1"
    with curate() as curator:
        both, less, total = curator.ask_all([fine, coarse, TOTAL], **BUDGET)
    for is_missing, count in less.rows:
        assert sum(row[2] for row in both.rows if row[1] == is_missing) == pytest.approx(count)
    assert sum(row[1] for row in less.rows) == pytest.approx(total.rows[0][0])


def test_rollup_is_a_part_of_the_family() -> None:
    with curate() as curator:
        rolled, wards = curator.ask_all(
            ["SELECT ward, sex, count(*) AS n FROM visits GROUP BY ROLLUP (ward, sex)", BY_WARD],
            **BUDGET,
        )
    parts = {row[0]: row[2] for row in rolled.rows if row[0] is not None and row[1] is None}
    assert parts == pytest.approx(dict(wards.rows))


def test_a_workload_is_one_entry_and_free_again_in_any_order() -> None:
    with curate() as curator:
        first = curator.ask_all(WORKLOAD, **BUDGET)
        again = curator.ask_all([*reversed(WORKLOAD), TOTAL], **BUDGET)
        spent = curator.budget()
    assert (first.cached, first.spent) == (False, {"epsilon": 1.0, "delta": 1e-06})
    assert (again.cached, again.spent["epsilon"]) == (True, 0.0)
    assert [answer.rows for answer in again] == [
        *(answer.rows for answer in reversed(first.answers)),
        first[0].rows,
    ]
    paid = [entry for entry in spent.entries if entry["state"] == "committed"]
    assert [entry["epsilon"] for entry in paid] == [1.0]
    assert spent.accounts[0]["epsilon"]["spent"] == 1.0


def test_a_crash_is_not_refunded_and_the_noise_is_drawn_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with curate() as curator:
        run = curator.engine.run
        monkeypatch.setattr(curator.engine, "run", lambda _query: 1 / 0)
        with pytest.raises(Exception, match="spent"):
            curator.ask_all(WORKLOAD, **BUDGET)
        monkeypatch.setattr(curator.engine, "run", run)
        found = curator.ask_all(WORKLOAD, **BUDGET)
        assert curator.budget().accounts[0]["epsilon"]["spent"] == 1.0
    assert len(found) == len(WORKLOAD)


def test_nothing_is_read_before_it_is_paid() -> None:
    with curate() as curator:
        loaded = len(curator.engine.queries)
        curator.explain_all(WORKLOAD, **BUDGET)
        assert len(curator.engine.queries) == loaded
        with pytest.raises(BudgetExceeded):
            curator.ask_all(WORKLOAD, epsilon=21, delta="1e-6")
        assert len(curator.engine.queries) == loaded
        assert curator.budget().accounts == []


def test_what_is_shown_before_paying_depends_on_no_row() -> None:
    plans: list[Any] = []
    for table in (visits(), visits((900, 9, "a", "F")), visits().slice(0, 0)):
        with curate(table) as curator:
            plan = plan_all(curator, WORKLOAD)
            plans.append((plan.event, plan.price, curator.explain_all(WORKLOAD, **BUDGET)))
    assert plans[0] == plans[1] == plans[2]


def test_residuals_are_more_accurate_than_each_question_apart() -> None:
    nested = [TOTAL, BY_WARD, BY_BOTH, "SELECT sex, count(*) AS n FROM visits GROUP BY sex"]
    errors = {}
    with curate() as curator:
        for strategy in ("residuals", "shares", "equal"):
            found = curator.ask_all(nested, strategy=strategy, **BUDGET)
            squares = [row[-1].standard_error ** 2 for answer in found for row in answer.error]
            errors[strategy] = sum(squares)
    assert errors["residuals"] < 0.85 * errors["shares"] < 0.85 * errors["equal"]


def test_intervals_are_those_that_were_predicted() -> None:
    with curate() as curator:
        expected = curator.explain_all([TOTAL, BY_WARD], **BUDGET).expected
        found = curator.ask_all([TOTAL, BY_WARD], **BUDGET)
    for one in expected:
        cell = found[one.statement - 1].error[0][-1]
        assert cell.standard_error == pytest.approx(one.standard_error)
        assert (cell.high - cell.low) / 2 == pytest.approx(one.within)


@pytest.mark.parametrize(
    ("second", "error", "words"),
    [
        ("SELECT nothing FROM visits", InvalidQuestion, "Statement 2: There is no column"),
        ("SELECT FROM WHERE", InvalidQuestion, "Statement 2: The question cannot be read"),
        ("DELETE FROM visits", QuestionRefused, "Statement 2: Only SELECT"),
        ("SELECT sum(pay) FROM visits", NoBounds, "Statement 2: "),
    ],
)
def test_an_error_names_the_statement(second: str, error: type[Exception], words: str) -> None:
    with curate() as curator:
        with pytest.raises(error) as caught:
            curator.ask_all([TOTAL, second], **BUDGET)
        assert str(caught.value).startswith(words)
        assert curator.budget().accounts == []


def test_a_workload_needs_a_delta_and_a_question() -> None:
    with curate() as curator:
        with pytest.raises(InvalidBudget, match="delta"):
            curator.ask_all([TOTAL], epsilon=1, delta=0)
        with pytest.raises(InvalidQuestion, match="at least one"):
            curator.ask_all([], **BUDGET)


def test_private_bounds_are_asked_for_alone() -> None:
    policy = POLICY.replace(
        "pay: {role: sensitive, kind: number}",
        "pay: {role: sensitive, kind: number, bounds: private}",
    )
    with hold({"visits": visits()}, policy) as curator, pytest.raises(QuestionRefused) as caught:
        curator.ask_all([TOTAL, "SELECT sum(pay) FROM visits"], **BUDGET)
    assert str(caught.value).startswith("Statement 2: The bounds of 'pay'")


def test_one_question_that_cannot_be_computed_does_not_cost_the_others() -> None:
    hopeless = "SELECT sqrt(count(*) - 100000000) AS r FROM visits"
    with curate() as curator:
        total, failed = curator.ask_all([TOTAL, hopeless], **BUDGET)
    assert len(total.rows) == 1
    assert failed.rows in ([], [[None]])


def test_groups_that_are_not_public_get_a_threshold_and_a_share_of_delta() -> None:
    with curate() as curator:
        plan = plan_all(curator, [TOTAL, "SELECT pay AS x, count(*) AS n FROM visits GROUP BY 1"])
    assert plan.price.slip == Fraction(1, 2 * 10**6)
    assert plan.price.delta == Fraction(1, 10**6)


DECLARED = """
workloads:
  monthly: {queries: ["SELECT count(*) AS n FROM visits", "SELECT avg(cost) AS m FROM visits"], epsilon: 2, delta: 1e-6}
"""


def test_a_declared_workload_is_asked_by_its_name_and_paid_once() -> None:
    with hold({"visits": visits()}, DECLARED + POLICY) as curator:
        first = curator.ask_all("monthly")
        again = curator.ask_all(
            ["SELECT avg(cost) AS m FROM visits", TOTAL], epsilon=2, delta="1e-6"
        )
        with pytest.raises(InvalidBudget, match="epsilon"):
            curator.ask_all(TOTAL, delta="1e-6")
    assert first.spent == {"epsilon": 2.0, "delta": 1e-06}
    assert (again.cached, again[1].rows) == (True, first[0].rows)


def test_a_price_of_hundreds_of_residuals_is_short_and_not_above_what_was_asked() -> None:
    with curate() as curator:
        plan = plan_all(curator, WORKLOAD)
    assert len(str(plan.price.rho)) < 70
    assert plan.price.rho >= price(plan.event).rho


def test_two_keys_of_one_column_agree_in_the_total_only_and_a_caution_says_so() -> None:
    halves = (
        "SELECT CASE WHEN ward = 'a' THEN 1 ELSE 0 END AS h, count(*) AS n FROM visits GROUP BY 1"
    )
    with hold({"visits": visits()}, POLICY) as curator:
        planned = curator.explain_all([BY_WARD, halves], **BUDGET)
        answer = curator.ask_all([BY_WARD, halves], **BUDGET)
        (said,) = [one for one in answer.cautions if "'ward'" in one]
        assert said in planned.cautions
        assert not [
            one for one in curator.explain_all([BY_BOTH], **BUDGET).cautions if "keys" in one
        ]
