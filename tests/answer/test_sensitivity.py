"""No person changes the exact sums of a plan by more than its noise is made for: the plan's own queries say so."""

from __future__ import annotations

import datetime as dt
from collections import Counter
from fractions import Fraction
from itertools import combinations
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sqlglot import exp
from tests.answer import hospitals
from tests.answer.hospitals import CHILD, HIS_CHILDREN, MONTH, PERSON
from tests.statistics.neighbors import GOES, SET, Neighbors

import discreet
from discreet.answer import blocks, bounded_queries
from discreet.answer.marginals import MarginalsPlan
from discreet.answer.register import register_table
from discreet.dp.accounting.conversion import rho_of_epsilon
from discreet.dp.accounting.pricing import price
from discreet.dp.event import Choice, Gaussian, Laplace, Sequence, Slip
from discreet.errors import InvalidQuestion, QuestionRefused
from discreet.policy.load import parse_policy

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tests.answer.hospitals import Source

    from discreet.answer.plan import Plan
    from discreet.dp.event import Event

DELTA = Fraction(1, 10**6)


@pytest.fixture(scope="module")
def neighbors() -> Iterator[Neighbors]:
    made = Neighbors(hospitals.hospitals(seed=7, count=5), {"codes": hospitals.CODES})
    yield made
    made.close()


KINDS = pytest.mark.parametrize(
    ("sources", "leaver", "ranks"),
    [
        pytest.param(hospitals.VISITING, PERSON, {}, id="a person"),
        pytest.param(hospitals.VISITING, PERSON, {"visits": hospitals.RANK}, id="registered"),
        pytest.param(hospitals.CHILDREN, PERSON, {}, id="a parent"),
        pytest.param(hospitals.CHILDREN, PERSON | HIS_CHILDREN, {}, id="a family"),
        pytest.param(hospitals.CHILDREN, CHILD, {}, id="a child"),
        pytest.param(hospitals.ALONE, CHILD, {}, id="a row"),
        pytest.param(hospitals.WRITING, MONTH, {}, id="a month"),
    ],
)


@KINDS
def test_no_one_changes_more_than_the_noise_is_made_for(
    neighbors: Neighbors, sources: tuple[Source, ...], leaver: int, ranks: dict[str, str]
) -> None:
    seen: Counter[str] = Counter()

    @settings(max_examples=16, suppress_health_check=list(HealthCheck))
    @given(
        hospitals.policies, hospitals.questions(sources), st.sampled_from(("laplace", "gaussian"))
    )
    def check(policy: str, question: str, noise: Any) -> None:
        try:
            plan = neighbors.plan(question, policy, noise=noise, ranks=ranks)
        except (InvalidQuestion, QuestionRefused):
            seen["refused"] += 1
            return
        assert _spends_at_most(plan)
        for change in neighbors.changes(plan, leaver=leaver, question=question):
            seen["changed" if change.absolute else "same"] += 1
            assert change.is_within

    check()
    assert seen["changed"] > seen["refused"]


@KINDS
def test_no_one_changes_more_than_the_residuals_of_a_workload_are_made_for(
    neighbors: Neighbors, sources: tuple[Source, ...], leaver: int, ranks: dict[str, str]
) -> None:
    seen: Counter[str] = Counter()

    @settings(max_examples=8, derandomize=True, suppress_health_check=list(HealthCheck))
    @given(hospitals.policies, st.sampled_from(sources), st.sampled_from(hospitals.FILTERS))
    def check(policy: str, source: Source, where: str) -> None:
        rows = f"FROM {source.text}" + (f" WHERE {where}" if where else "")
        keys = [*source.keys[:1], "v.days > 1", "v.cost IS NULL"]
        listed = [(), *((key,) for key in keys), *combinations(keys, 2)]
        questions = [
            f"SELECT count(*) AS n {rows}" + (f" GROUP BY {', '.join(one)}" if one else "")
            for one in listed
        ]
        try:
            plan = neighbors.plan_workload(questions, policy, ranks)
        except (InvalidQuestion, QuestionRefused):
            seen["refused"] += 1
            return
        for family in plan.private_queries:
            if isinstance(family, MarginalsPlan):
                most = price(family.event).rho
                for cost in neighbors.residual_costs(family, leaver=leaver):
                    seen["changed" if cost else "same"] += 1
                    assert most is not None
                    assert cost <= most

    check()
    assert seen["changed"] > seen["refused"]


def _spends_at_most(plan: Plan) -> bool:
    """Whether the events of a plan add up to no more than epsilon 1 and delta 1e-6."""
    done = list(_flat(plan.event))
    slips = sum((event.delta for event in done if isinstance(event, Slip)), Fraction(0))
    if plan.noise == "laplace":
        epsilons = [
            event.sensitivity / event.scale if isinstance(event, Laplace) else event.epsilon
            for event in done
            if isinstance(event, (Laplace, Choice))
        ]
        return sum(epsilons) <= 1 and slips <= DELTA
    rhos = [
        event.squared_sensitivity / (2 * event.scale**2)
        if isinstance(event, Gaussian)
        else event.epsilon**2 / 2
        for event in done
        if isinstance(event, (Gaussian, Choice))
    ]
    return slips < DELTA and sum(rhos) <= rho_of_epsilon(Fraction(1), delta=DELTA - slips)


def _flat(event: Event) -> Iterator[Event]:
    if isinstance(event, Sequence):
        for inner in event.events:
            yield from _flat(inner)
    else:
        yield event


POLICY = """
tables:
  visits:
    unit: pid
    limits: {rows-per-unit: 3}
    columns:
      pid: {role: identifier, kind: integer}
      ward: {role: quasi-identifier, kind: text, values: [a, b, c, d]}
      cost: {role: sensitive, kind: number, bounds: [0, 10]}
      code: {role: quasi-identifier, kind: integer}
"""
BY_WARD = "SELECT ward, sum(cost), count(*), avg(cost) FROM visits GROUP BY ward"
IN_FEW = POLICY.replace("unit: 3}", "unit: 3, groups-per-unit: 1}")


def _of_one(costs: list[float | None], **more: list[Any]) -> Neighbors:
    """Return the visits of person 1, who leaves, and one visit of person 2."""
    wards = more.get("ward", ["a", "b", "c", "d"] * len(costs))
    rows = [
        {"pid": 1, "ward": ward, "cost": cost, "code": code, SET: 0, GOES: PERSON}
        for cost, ward, code in zip(costs, wards, range(len(costs)), strict=False)
    ]
    rows.append({"pid": 2, "ward": "a", "cost": 1.0, "code": 1, SET: 0, GOES: 0})
    return Neighbors({"visits": (hospitals.VISITS, rows)}, {"codes": hospitals.CODES})


def _holds(tables: Neighbors, question: str, policy: str = POLICY, leaver: int = PERSON) -> bool:
    plan = tables.plan(question, policy)
    return all(change.is_within for change in tables.changes(plan, leaver=leaver))


def test_a_person_with_many_rows_counts_as_few() -> None:
    assert _holds(_of_one([10.0] * 40), BY_WARD)


def test_rows_that_are_not_scaled_down_are_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        bounded_queries, "_unit_factor", lambda limit: blocks.build.number(limit.one)
    )
    assert not _holds(_of_one([10.0] * 40), BY_WARD)


def test_groups_that_are_not_chosen_are_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    assert _holds(
        _of_one([10.0] * 4), "SELECT ward, count(DISTINCT pid) FROM visits GROUP BY ward", IN_FEW
    )
    monkeypatch.setattr(bounded_queries, "_some_groups", lambda pre, *_: pre)
    assert not _holds(
        _of_one([10.0] * 4), "SELECT ward, count(DISTINCT pid) FROM visits GROUP BY ward", IN_FEW
    )


@pytest.mark.parametrize("value", [1e300, -1e300, float("inf"), float("nan"), 11.0, -1.0])
def test_numbers_beyond_their_bounds_are_clamped(value: float) -> None:
    assert _holds(_of_one([value]), "SELECT sum(cost), avg(cost), variance(cost) FROM visits")


def test_numbers_that_are_not_clamped_are_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(blocks, "_clamp_expression", lambda tree, *_: tree.copy())
    assert not _holds(_of_one([40.0]), "SELECT sum(cost) FROM visits")


def test_a_sensitivity_that_is_one_too_small_is_caught() -> None:
    tables = _of_one([10.0] * 3)
    plan = tables.plan("SELECT sum(cost), avg(cost) FROM visits", POLICY)
    changes = list(tables.changes(plan, leaver=PERSON))
    assert [change.absolute for change in changes] == [change.most_absolute for change in changes]


@pytest.mark.parametrize("bounds", ["1000000000000000, 1000000000000000.1", "0.1, 0.3", "-3, -3"])
@pytest.mark.parametrize("value", [1e15 + 0.125, 0.1 + 0.2, -3.0])
def test_bounds_far_from_zero_or_near_each_other_hold(bounds: str, value: float) -> None:
    policy = POLICY.replace("[0, 10]", f"[{bounds}]")
    question = "SELECT sum(cost), avg(cost), variance(cost), median(cost) FROM visits"
    assert _holds(_of_one([value]), question, policy)


def test_a_unit_that_a_left_join_made_null_is_no_unit() -> None:
    """One person with rows that match and rows that do not would be two."""
    question = (
        "SELECT count(*) FROM (SELECT w.pid, count(*) AS n FROM visits v LEFT JOIN visits w "
        "ON v.pid = w.pid AND v.cost > 5 GROUP BY w.pid) x"
    )
    assert _holds(_of_one([1.0, 10.0]), question)


def test_a_column_that_is_the_unit_in_one_half_of_a_union_is_no_unit() -> None:
    question = (
        "SELECT count(*) FROM (SELECT one, count(*) AS n FROM (SELECT pid AS one FROM visits "
        "UNION ALL SELECT code AS one FROM visits) u GROUP BY one) x"
    )
    assert _holds(_of_one([1.0] * 9), question)


def test_a_number_that_is_small_in_one_half_of_a_union_may_be_of_any_size() -> None:
    """A cast that fails tells that a person's number is large."""
    question = (
        "SELECT count(*) FROM (SELECT pid, least(greatest(cost, 0), 5) AS c FROM visits UNION ALL "
        "SELECT pid, cost AS c FROM visits) u WHERE CAST(c AS INTEGER) > 5"
    )
    assert _holds(_of_one([1e300]), question)


def test_rows_without_a_date_are_in_no_month() -> None:
    """NULL equals nothing, so that no total would be found for them, and nothing scale them down."""
    day = dt.date(2024, 1, 1)
    rows = [{"pid": 1, "day": None, "mood": 3, SET: 0, GOES: MONTH}] * 30
    rows.append({"pid": 2, "day": day, "mood": 3, SET: 0, GOES: 0})
    policy = """
tables:
  diary:
    unit: {column: pid, per: month, on: day}
    limits: {rows-per-unit: 2}
    columns: {pid: identifier, day: quasi-identifier, mood: {role: sensitive, bounds: [0, 5]}}
"""
    tables = Neighbors({"diary": (hospitals.DIARY, rows)}, {})
    assert _holds(tables, "SELECT count(*), sum(mood) FROM diary", policy, MONTH)


def test_a_union_of_different_people_is_refused() -> None:
    """Patient 5 and doctor 5 would be one person, of whom one can leave without the other."""
    policy = f"{POLICY}  kids:\n    unit: parent\n    columns: {{parent: identifier}}\n"
    sets = hospitals.hospitals(seed=1, count=1)
    tables = Neighbors({name: sets[name] for name in ("visits", "kids")}, {})
    with pytest.raises(QuestionRefused, match="same people"):
        tables.plan(
            "SELECT count(*) FROM (SELECT code FROM visits UNION ALL SELECT toys FROM kids) u",
            policy,
        )


@pytest.mark.parametrize("on", ["c.code = c.code", "c.code = v.cost", "c.title = c.title"])
def test_a_public_table_multiplies_no_rows_of_a_person(on: str) -> None:
    policy = f"{POLICY}  codes: {{public: true, columns: {{code: insensitive}}}}\n"
    with pytest.raises(QuestionRefused, match="several rows"):
        _of_one([1.0]).plan(f"SELECT count(*) FROM visits v JOIN codes c ON {on}", policy)


def test_orders_by_chance_leave_nothing_to_the_engine() -> None:
    """Texts that would run together to the same text are told apart; NULL is no empty text."""
    pairs = [("a|b", "c"), ("a", "b|c"), ("", None), (None, ""), ("1:a", ""), ("", "1:a")]
    tables = Neighbors(
        {}, {"words": pa.table({"x": [p[0] for p in pairs], "y": [p[1] for p in pairs]})}
    )
    hashed = bounded_queries.keyed_hash([exp.column("x"), exp.column("y")])
    query = exp.select(exp.Count(this=exp.Distinct(expressions=[hashed]))).from_(
        tables._tables["words"].relation
    )
    assert tables.run(query).column(0).to_pylist() == [len(pairs)]


def test_sums_within_a_person_do_not_depend_on_the_order_of_rows() -> None:
    """0.1 + 0.2 + 0.3 is 0.6 or 0.6000000000000001: threads would let others pass a HAVING."""
    values = [[0.1, 0.2, 0.3], [0.3, 0.2, 0.1], [0.2, 0.3, 0.1], [0.3, 0.1, 0.2]]
    rows = [
        {"pid": pid, "cost": cost, SET: 0, GOES: 0}
        for pid, costs in enumerate(values)
        for cost in costs
    ]
    tables = Neighbors({"visits": (hospitals.VISITS, rows)}, {})
    question = (
        "SELECT sum(t) FROM (SELECT pid, sum(cost) AS t, avg(cost) AS m FROM visits GROUP BY pid) x"
    )
    (leaf,) = tables.plan(question, POLICY).private_queries
    inner = leaf.query.find(exp.Subquery).this
    tables._choose(0, 0)
    found = tables.run(inner).to_pydict()
    assert len({sum(costs) for costs in values}) > 1
    assert [len(set(found[name])) for name in ("t", "m")] == [1, 1]


def _registered(folder: Path, rows: pa.Table, unit: str = "pid") -> Path:
    source, output = folder / "visits.csv", folder / "visits.parquet"
    pa.csv.write_csv(rows, source)
    policy = parse_policy(POLICY.replace("unit: pid", f"unit: {unit}", 1))
    register_table(source, policy, output=output, force=True)
    return output


def test_ranks_of_one_person_do_not_depend_on_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bounded_queries.secrets, "token_hex", lambda _=0: "same")
    rows = pa.table({"pid": [1, 1, 2, 2, 2], "ward": ["a|b", "a", "", None, "b"], "cost": range(5)})
    found = [
        pq.read_table(_registered(tmp_path, part)).to_pylist()
        for part in (rows, rows.slice(2).take([2, 0, 1]))
    ]
    assert _without_first(found[0]) == _without_first(found[1])


def _without_first(rows: list[dict[str, Any]]) -> list[tuple[Any, ...]]:
    return sorted((r["pid"], r["cost"], r["discreet_rank"]) for r in rows if r["pid"] != 1)


def test_ranks_of_another_unit_bound_nothing(tmp_path: Path) -> None:
    rows = pa.table({"pid": [1, 1, 2], "code": [5, 5, 5], "ward": ["a"] * 3, "cost": [1, 2, 3]})
    path = _registered(tmp_path, rows)
    methods: list[str] = []
    for unit in ("pid", "code"):
        policy = parse_policy(
            POLICY.replace("unit: pid", f"unit: {unit}", 1).replace(
                f"{unit}: {{role: quasi-identifier", f"{unit}: {{role: identifier"
            )
        )
        with discreet.open(path, policy, ledger=":memory:") as curator:
            plan, _ = curator.plan("SELECT count(*) FROM visits", epsilon=1)
            methods.append(plan.private_queries[0].limit.method)
    assert methods == ["rank", "rescale"]
