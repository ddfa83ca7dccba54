"""Answers with real noise, audited: one question over 100 000 groups is 100 000 runs of a tiny instance."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pytest
from scipy import stats
from tests.answer.curators import hold
from tests.statistics.fit import ALPHA as FIT_ALPHA
from tests.statistics.fit import fit_p_value, gaussian_below, laplace_below

from discreet.answer import blocks, bounded_queries, payment
from discreet.answer import plan as planning
from discreet.attacks.audit.bound import ALPHA, epsilon_lower_bound
from discreet.dp.noise import SystemNoise

if TYPE_CHECKING:
    from numpy.typing import NDArray

pytestmark = pytest.mark.statistics

FEWER = 20_000
GROUPS = 100_000  # alpha of each bound is 1e-7, of each test of fit 1e-8
POLICY = """
tables:
  people:
    unit: row
    budget: {epsilon: 1000, delta: 0.4}
    columns:
      town: {role: quasi-identifier, bounds: [0, 999]}
      street: {role: quasi-identifier, bounds: [0, 99]}
      house: {role: quasi-identifier}
      pay: {role: sensitive, bounds: [0, 10]}
  visits:
    unit: pid
    limits: {rows-per-unit: 2}
    budget: {epsilon: 1000, delta: 0.4}
    columns:
      town: {role: quasi-identifier, bounds: [0, 999]}
      street: {role: quasi-identifier, bounds: [0, 99]}
      pay: {role: sensitive, bounds: [0, 10]}
"""
FEW = [0.0, 5.0]
ONE_MORE = [*FEW, 10.0]  # the new one is as extreme as can be


def _people(pays: list[float], *, groups: int = GROUPS) -> pa.Table:
    """Return the same few people in every group, each a row."""
    house = np.repeat(np.arange(groups), len(pays))
    pay = np.tile(np.array(pays), groups)
    return pa.table({"town": house // 100, "street": house % 100, "house": house, "pay": pay})


def _asked(
    table: pa.Table, what: str, *, by: str = "town, street", policy: str = POLICY, **options: Any
) -> pa.Table:
    name = "visits" if "pid" in table.column_names else "people"
    options = {"epsilon": 1, **options}
    curator = hold({name: table}, policy)
    return curator.ask(f"SELECT {what} FROM {name} GROUP BY {by}", **options).to_arrow()


def _labels(table: pa.Table, what: str, *, bins: float = 4, **options: Any) -> NDArray[np.int64]:
    """Return the last column of an answer in small bins; where there is none, a bin of its own."""
    values = _asked(table, what, **options).column(-1).to_numpy(zero_copy_only=False)
    return np.rint(np.nan_to_num(values * bins, nan=-1e6)).astype(np.int64)


def _bound(what: str, *, delta: float = 0.0, **options: Any) -> float:
    """Return an epsilon that answers to `what` certainly exceed."""
    if delta:
        options["delta"] = delta
    runs = [_labels(_people(pays), what, **options) for pays in (FEW, ONE_MORE)]
    return epsilon_lower_bound(*runs, delta=delta)


class TooLittleNoise(SystemNoise):
    """Noise that is 25 % too small."""

    def laplace(self, scale: Fraction, count: int) -> NDArray[np.int64]:
        return super().laplace(scale * Fraction(3, 4), count)

    def gaussian(self, scale: Fraction, count: int) -> NDArray[np.int64]:
        return super().gaussian(scale * Fraction(3, 4), count)


ASKED = ["count(*)", "sum(pay)", "count(*), sum(pay)", "avg(pay)", "variance(pay)"]


@pytest.mark.parametrize("what", ASKED)
def test_no_group_distinguishes_one_person_by_more_than_epsilon(what: str) -> None:
    assert _bound(what) <= 1


@pytest.mark.parametrize(
    ("what", "least"), [("count(*)", 0.85), ("sum(pay)", 0.8), ("avg(pay)", 0.75)]
)
def test_the_audit_comes_near_to_epsilon(what: str, least: float) -> None:
    """Bounds are 0.95, 0.92 and 0.88, with standard deviations of 0.01: ten away from these."""
    assert _bound(what) > least


@pytest.mark.parametrize("what", ["count(*)", "sum(pay)", "avg(pay)"])
def test_noise_that_is_a_quarter_too_small_is_caught(
    what: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(payment, "system_noise", TooLittleNoise)
    assert _bound(what) > 1


def test_sums_that_are_not_clamped_are_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    rich = [*FEW, 20.0]
    bounds: list[float] = []
    for _ in range(2):
        runs = [_labels(_people(pays), "sum(pay)", bins=0.5) for pays in (FEW, rich)]
        bounds.append(epsilon_lower_bound(*runs))
        monkeypatch.setattr(blocks, "_clamp_expression", lambda tree, *_: tree.copy())
    assert bounds[0] <= 1 < bounds[1]


def test_gaussian_answers_keep_epsilon_and_delta() -> None:
    assert _bound("count(*)", delta=0.01, noise="gaussian") <= 1


def test_a_question_with_several_statistics_spends_epsilon_once() -> None:
    """Those that add up to epsilon 1 are put together into one label; medians take time."""
    few = POLICY.replace("[0, 999]", "[0, 19]")
    what = "count(*) AS n, median(CAST(pay AS INTEGER)) AS m, count(DISTINCT pay) AS d"
    runs: list[NDArray[np.int64]] = []
    for pays in (FEW, ONE_MORE):
        found = _asked(_people(pays, groups=2000), what, policy=few)
        parts = [found.column(name).to_numpy().clip(-20, 20) for name in ("n", "m", "d")]
        runs.append((parts[0] * 10_000 + parts[1] * 100 + parts[2]).astype(np.int64))
    assert epsilon_lower_bound(*runs) <= 1


def _visits(rows: list[int], *, groups: int = FEWER) -> pa.Table:
    """Return in every group a person for each number, with so many rows."""
    house = np.repeat(np.arange(groups), sum(rows))
    person = np.tile(np.repeat(np.arange(len(rows)), rows), groups)
    pid = house * len(rows) + person
    pay = np.full(house.size, 10.0)
    return pa.table({"pid": pid, "town": house // 100, "street": house % 100, "pay": pay})


@pytest.mark.parametrize("what", ["count(*)", "sum(pay)", "count(DISTINCT pid)"])
def test_a_person_with_many_rows_is_distinguished_by_no_more_than_epsilon(what: str) -> None:
    runs = [_labels(_visits(rows), what, bins=1)[:FEWER] for rows in ([1, 1], [1, 1, 10])]
    assert epsilon_lower_bound(*runs) <= 1


def test_rows_that_are_not_scaled_down_are_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        bounded_queries, "_unit_factor", lambda limit: blocks.build.number(limit.one)
    )
    runs = [_labels(_visits(rows), "count(*)", bins=1)[:FEWER] for rows in ([1, 1], [1, 1, 10])]
    assert epsilon_lower_bound(*runs) > 1


def _told(pays: list[float], **options: Any) -> NDArray[np.int64]:
    """Return each house's noisy count, -1000 where it is not released."""
    found = _asked(_people(pays), "house, count(*) AS n", by="house", **options)
    counts = np.full(GROUPS, -1000, np.int64)
    counts[found.column("house").to_numpy()] = found.column("n").to_numpy()
    return counts


@pytest.mark.parametrize("noise", ["laplace", "gaussian"])
def test_houses_whose_number_is_not_public_keep_epsilon_and_delta(noise: str) -> None:
    runs = [_told([0.0] * count, delta=0.01, noise=noise) for count in (4, 5)]
    assert epsilon_lower_bound(*runs, delta=0.01) <= 1


@pytest.mark.parametrize(("noise", "slip"), [("laplace", 0.001), ("gaussian", 0.0005)])
def test_a_house_of_one_person_is_released_with_chance_delta(noise: str, slip: float) -> None:
    """Gaussian noise needs one half of delta for itself."""
    result = int((_told([0.0], delta=0.001, noise=noise) > -1000).sum())
    assert result <= stats.binom.isf(ALPHA, GROUPS, slip)


def test_a_threshold_that_is_one_too_low_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    right = planning.laplace_threshold
    monkeypatch.setattr(planning, "laplace_threshold", lambda *a, **b: right(*a, **b) - 1)
    # A delta that the right threshold leaves next to nothing of: 1340 are released instead of 490.
    result = int((_told([0.0], delta=0.005, noise="laplace") > -1000).sum())
    assert result > stats.binom.isf(ALPHA, GROUPS, 0.005)


def test_the_noise_of_counts_is_discrete_laplace() -> None:
    counts = _asked(_people(FEW), "count(*) AS n", epsilon="0.5").column("n").to_numpy()
    assert fit_p_value(counts - len(FEW), laplace_below(2)) > FIT_ALPHA


def test_the_noise_of_sums_is_discrete_laplace_in_steps() -> None:
    curator = hold({"people": _people(FEW)}, POLICY)
    question = "SELECT sum(pay) AS s FROM people GROUP BY town, street"
    plan, _ = curator.plan(question, epsilon=1)
    (block,) = plan.private_queries[0].blocks
    sums = curator.ask(question, epsilon=1).to_arrow().column("s").to_numpy()
    steps = np.rint((sums - sum(FEW)) / float(block.block.step)).astype(np.int64)
    assert fit_p_value(steps, laplace_below(block.scale)) > FIT_ALPHA


def test_the_noise_of_counts_is_discrete_gaussian_on_demand() -> None:
    curator = hold({"people": _people(FEW)}, POLICY)
    question = "SELECT count(*) AS n FROM people GROUP BY town, street"
    options: dict[str, Any] = {"epsilon": 1, "delta": 1e-6, "noise": "gaussian"}
    plan, _ = curator.plan(question, **options)
    counts = curator.ask(question, **options).to_arrow().column("n").to_numpy()
    scale = plan.private_queries[0].blocks[0].scale
    assert fit_p_value(counts - len(FEW), gaussian_below(scale)) > FIT_ALPHA


def test_noise_of_another_scale_does_not_fit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(payment, "system_noise", TooLittleNoise)
    counts = _asked(_people(FEW), "count(*) AS n", epsilon="0.5").column("n").to_numpy()
    assert fit_p_value(counts - len(FEW), laplace_below(2)) < FIT_ALPHA


CROWD = 500  # people in a group of those whose intervals are counted
COVERED = 2_000  # groups; the share of a true 94 % is below 0.905 with a chance of less than 1e-9


@pytest.fixture(scope="module")
def crowds() -> tuple[pa.Table, dict[str, NDArray[np.float64]]]:
    """Return many groups of people, and what is true of each."""
    pays = np.random.default_rng(4).beta(2, 5, (COVERED, CROWD)) * 10
    house = np.repeat(np.arange(COVERED), CROWD)
    table = pa.table(
        {"town": house // 100, "street": house % 100, "house": house, "pay": pays.ravel()}
    )
    truth = {
        "count(*)": np.full(COVERED, float(CROWD)),
        "sum(pay)": pays.sum(axis=1),
        "avg(pay)": pays.mean(axis=1),
        "variance(pay)": pays.var(axis=1, ddof=1),
        "stddev(pay)": pays.std(axis=1, ddof=1),
        "sum(pay) / count(*)": pays.mean(axis=1),
        "2 * avg(pay) - count(*) / 100": 2 * pays.mean(axis=1) - CROWD / 100,
        "sum(pay) * sum(pay)": pays.sum(axis=1) ** 2,
    }
    return table, truth


@pytest.mark.parametrize("noise", ["laplace", "gaussian"])
@pytest.mark.parametrize(
    "asked",
    [
        ["count(*)"],
        ["sum(pay)"],
        ["avg(pay)", "sum(pay) / count(*)", "2 * avg(pay) - count(*) / 100", "sum(pay) * sum(pay)"],
        ["variance(pay)", "stddev(pay)"],
    ],
    ids=str,
)
def test_intervals_hold_the_truth_as_often_as_they_say(
    asked: list[str], noise: Any, crowds: tuple[pa.Table, dict[str, NDArray[np.float64]]]
) -> None:
    table, truth = crowds
    curator = hold({"people": table}, POLICY.replace("[0, 999]", "[0, 19]"))
    question = f"SELECT {', '.join(asked)} FROM people GROUP BY town, street"
    answer = curator.ask(question, epsilon=1, delta=1e-6, noise=noise)
    shares = {}
    for place, what in enumerate(asked):
        cells = [row[place] for row in answer.error]
        lows, highs = (np.array([getattr(cell, end) for cell in cells]) for end in ("low", "high"))
        shares[what] = np.mean((lows <= truth[what]) & (truth[what] <= highs))
    assert min(shares.values()) >= 0.905, shares
