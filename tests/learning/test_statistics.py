"""Statistics of noisy counts: without noise those of others, with much noise an honest answer."""

from __future__ import annotations

import json
from itertools import pairwise

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats
from tests.answer.curators import hold
from tests.learning.statistics_cases import CASES, plan_case, release_sums

from discreet.answer.coded_counts import CodedCounter
from discreet.answer.sources import scan_table
from discreet.api.statistics import explain_statistics, statistics
from discreet.cli.statistics import command
from discreet.errors import UndeclaredDomain, UnknownColumn, WrongUsage
from discreet.learning.statistics.kinds import STATISTICS
from discreet.learning.statistics.request import StatisticRequest, plan_statistic
from discreet.learning.statistics.specs.correlation import clamp_matrix
from discreet.learning.statistics.variables import choose_variables
from discreet.policy import parse_policy

EXACT = {"epsilon": 10**5, "delta": 0}
DECLARED = {
    "bounds": {"age": (0, 99), "cost": (-50.5, 1500)},
    "values": {"sex": ["f", "m"], "town": ["a", "b", "c"], "ill": ["no", "yes"]},
}
# Monte Carlo p-values of 4,999 repetitions are within so much of exact ones; seeds follow from what is released.
NEAR = 0.02
# Weeks in remission under 6-mercaptopurine and placebo (Freireich et al. 1963); a minus is a censored time.
TREATED = [6, 6, 6, -6, 7, -9, 10, -10, -11, 13, 16, -17, -19, -20, 22, 23, -25, -32, -32, -34, -35]
PLACEBO = [1, 1, 2, 2, 3, 4, 4, 5, 5, 8, 8, 8, 8, 11, 11, 12, 12, 15, 17, 22, 23]


def make_people(count=600, seed=1):
    chance = np.random.default_rng(seed)
    sex, town = chance.integers(0, 2, count), chance.integers(0, 3, count)
    age = np.clip(chance.normal(45 + 4 * sex, 15, count), 0, 99).round().astype(int)
    cost = np.clip(age * 8 + 100 * (town == 2) + chance.normal(0, 200, count), -50.5, 1500)
    return pa.table(
        {
            "age": age,
            "cost": cost,
            "sex": np.array(["f", "m"])[sex],
            "town": np.array(["a", "b", "c"])[town],
            "ill": np.array(["no", "yes"])[(chance.random(count) < 0.3 + 0.1 * sex).astype(int)],
        }
    )


@pytest.fixture(scope="module")
def people():
    return make_people()


EVERYTHING = """
tables:
  table:
    unit: row
    budget: {epsilon: 1e6, delta: 0.1}
    columns:
      age: {role: sensitive, bounds: [0, 99]}
      cost: {role: sensitive, bounds: [-50.5, 1500]}
      days: {role: sensitive, bounds: [0, 60]}
      sex: {role: sensitive, values: [f, m]}
      town: {role: sensitive, values: [a, b, c]}
      ill: {role: sensitive, values: ["no", "yes"]}
"""


def compute(people, kind, columns, by=None, **options):
    policy = parse_policy(EVERYTHING)
    return statistics(
        people, kind, policy, columns=columns, by=by, table="table", **EXACT, **options
    )


def test_without_noise_the_chi_square_test_is_that_of_scipy(people):
    found = compute(people, "chi-square", ["sex", "ill"])
    table = people.to_pandas().groupby(["sex", "ill"]).size().unstack()
    expected = stats.chi2_contingency(table, correction=False)
    assert found.test.statistic == pytest.approx(expected.statistic, rel=1e-4)
    assert found.test.freedom == expected.dof
    assert found.test.p_value == pytest.approx(expected.pvalue, abs=NEAR)


def test_without_noise_goodness_of_fit_is_that_of_scipy(people):
    found = compute(people, "chi-square", ["town"], expected={"a": "2", "b": "2", "c": "2.5"})
    counts = people.to_pandas()["town"].value_counts().sort_index()
    expected = stats.chisquare(counts, len(people) * np.array([2, 2, 2.5]) / 6.5)
    assert found.test.statistic == pytest.approx(expected.statistic, rel=1e-4)
    assert found.test.p_value == pytest.approx(expected.pvalue, abs=NEAR)


def test_without_noise_the_t_test_is_that_of_scipy(people):
    found = compute(people, "t-test", ["age"], "ill")
    frame = people.to_pandas()
    groups = [frame["age"][frame["ill"] == one] for one in ("no", "yes")]
    expected = stats.ttest_ind(*groups, equal_var=False)
    assert found.test.statistic == pytest.approx(expected.statistic, rel=1e-4)
    assert found.test.freedom == pytest.approx(expected.df, rel=1e-4)
    assert found.test.p_value == pytest.approx(expected.pvalue, abs=NEAR)
    ends = expected.confidence_interval(0.95)
    assert [found.rows[-1].low, found.rows[-1].high] == pytest.approx(
        [ends.low, ends.high], abs=0.2
    )
    assert found.rows[0].estimate == pytest.approx(groups[0].mean(), rel=1e-5)


def test_without_noise_the_analysis_of_variance_is_that_of_scipy(people):
    found = compute(people, "anova", ["cost"], "town")
    frame = people.to_pandas()
    expected = stats.f_oneway(*(frame["cost"][frame["town"] == one] for one in "abc"))
    assert found.test.statistic == pytest.approx(expected.statistic, rel=1e-4)
    assert found.test.p_value == pytest.approx(expected.pvalue, abs=NEAR)


def test_without_noise_the_correlation_is_that_of_scipy(people):
    found = compute(people, "correlation", ["age", "cost"])
    expected = stats.pearsonr(people["age"].to_numpy(), people["cost"].to_numpy())
    ends = expected.confidence_interval(0.95)
    (row,) = found.rows
    assert row.estimate == pytest.approx(expected.statistic, rel=1e-5)
    assert [row.low, row.high] == pytest.approx([ends.low, ends.high], abs=0.01)


def test_without_noise_one_proportion_is_that_of_formulas(people):
    found = compute(people, "proportion", ["ill"], share=0.3)
    count = int(np.sum(people["ill"].to_numpy(zero_copy_only=False) == "yes"))
    score = (count - 0.3 * 600) / np.sqrt(600 * 0.3 * 0.7)
    assert found.test.statistic == pytest.approx(score, rel=1e-4)
    assert found.test.p_value == pytest.approx(stats.binomtest(count, 600, 0.3).pvalue, abs=NEAR)
    ends = stats.binomtest(count, 600).proportion_ci(method="wilsoncc")
    assert [found.rows[0].low, found.rows[0].high] == pytest.approx(list(ends), abs=1e-6)


def test_without_noise_two_proportions_are_those_of_formulas(people):
    found = compute(people, "proportion", ["ill"], "sex", value="yes")
    frame = people.to_pandas()
    yes = [(frame["ill"][frame["sex"] == one] == "yes") for one in "fm"]
    pooled = (frame["ill"] == "yes").mean()
    error = np.sqrt(pooled * (1 - pooled) * sum(1 / len(one) for one in yes))
    score = (yes[0].mean() - yes[1].mean()) / error
    assert found.test.statistic == pytest.approx(score, rel=1e-4)
    assert found.test.p_value == pytest.approx(2 * stats.norm.sf(abs(score)), abs=NEAR)
    assert found.rows[-1].low < found.rows[-1].estimate < found.rows[-1].high


def weeks_of(times, group):
    return [{"days": abs(one), "ill": "yes" if one > 0 else "no", "sex": group} for one in times]


@pytest.fixture(scope="module")
def remission():
    return pa.Table.from_pylist([*weeks_of(TREATED, "f"), *weeks_of(PLACEBO, "m")])


def test_survival_curves_are_those_that_textbooks_print(remission):
    found = compute(remission, "survival", ["days", "ill"], "sex", event="yes", bins=61)
    curve = {
        int(row.labels["days"]): row.estimate for row in found.rows if row.labels["sex"] == "f"
    }
    printed = {6: 0.857, 7: 0.807, 10: 0.753, 13: 0.690, 16: 0.627, 22: 0.538, 23: 0.448}
    assert {time: round(curve[time], 3) for time in printed} == printed
    assert found.test.statistic == pytest.approx(16.79, abs=0.01)
    assert found.test.p_value < 0.01


def kaplan_meier(times, until):
    """Return the estimator as it is defined."""
    curve = 1.0
    for time in range(until + 1):
        risk = sum(abs(one) >= time for one in times)
        events = sum(one == time for one in times)
        curve *= 1 - events / risk if risk else 1.0
    return curve


@given(times=st.lists(st.integers(-30, 30).filter(bool), min_size=8, max_size=40))
@settings(max_examples=5, deadline=None)
def test_survival_without_groups_is_the_estimator_of_kaplan_and_meier(times):
    found = compute(
        pa.Table.from_pylist(weeks_of(times, "f")), "survival", ["days", "ill"], bins=61
    )
    for row in found.rows:
        expected = kaplan_meier(times, int(row.labels["days"]))
        assert row.estimate == pytest.approx(expected, abs=1e-9)


def test_rates_are_events_by_time(remission):
    found = compute(remission, "rates", ["days", "ill"], "sex")
    rates = [sum(one > 0 for one in some) / sum(map(abs, some)) for some in (TREATED, PLACEBO)]
    assert [row.estimate for row in found.rows] == pytest.approx(rates, rel=1e-5)
    assert all(row.low < row.estimate < row.high for row in found.rows)


def test_a_curve_is_that_of_the_rows_and_quantiles_lie_on_it(people):
    found = compute(people, "cdf", ["age"], bins=100)
    ages = np.sort(people["age"].to_numpy())
    shares = [row.estimate for row in found.rows if row.quantity == "share at or below"]
    expected = [float((ages <= age).mean()) for age in range(100)]
    assert shares == pytest.approx(expected, abs=1e-6)
    median = next(row for row in found.rows if row.labels == {"share": "0.5"})
    assert median.low <= np.median(ages) <= median.high


def test_margins_of_a_contingency_table_are_sums_of_its_cells(people):
    found = statistics(people, "contingency", columns=["sex", "town"], epsilon=0.1, **DECLARED)
    cells = {tuple(row.labels.values()): row.estimate for row in found.rows}
    for sex in "fm":
        assert cells[sex, "all"] == pytest.approx(sum(cells[sex, town] for town in "abc"))
    assert min(cells.values()) >= 0


def test_a_histogram_has_bins_of_one_width(people):
    found = compute(people, "histogram", ["cost"], bins=5)
    starts = [float(row.labels["cost"].split(" to ")[0]) for row in found.rows]
    assert {round(b - a, 6) for a, b in pairwise(starts)} == {310.1}
    assert sum(row.estimate for row in found.rows) == pytest.approx(600)


def test_a_matrix_without_meaning_becomes_one_of_correlations():
    odd = np.array([[1, 0.9, -0.9], [0.9, 1, 0.9], [-0.9, 0.9, 1]])
    clamped = clamp_matrix(odd)
    assert np.linalg.eigvalsh(clamped).min() > -1e-9
    assert np.diag(clamped) == pytest.approx(np.ones(3))


@pytest.mark.parametrize("case", CASES)
@given(
    error=st.sampled_from([1e-9, 0.5, 30.0, 1e7]),
    rows=st.sampled_from([0, 1, 7, 5000]),
    noise=st.sampled_from(["gaussian", "laplace"]),
    seed=st.integers(0, 1 << 20),
)
@settings(max_examples=8, deadline=None)
def test_whatever_is_released_has_a_conclusion_of_numbers(case, error, rows, noise, seed):
    plan, chance = plan_case(case), np.random.default_rng(seed)
    exact = [chance.integers(0, rows + 1, part.shape) for part in plan.look.parts]
    found = plan.conclude(release_sums(plan, exact, error, chance, noise))
    numbers = [
        one for row in found.rows for one in (row.estimate, row.low, row.high) if one is not None
    ]
    assert np.isfinite(numbers).all()
    for row in found.rows:
        if None not in (row.estimate, row.low, row.high):
            assert row.low - 1e-9 <= row.estimate <= row.high + 1e-9
    if found.test is not None:
        assert np.isfinite(found.test.statistic)
        assert 0 < found.test.p_value <= 1


@pytest.mark.parametrize("case", ["t-test", "correlation", "log-rank", "independence", "cdf"])
def test_the_same_release_gives_the_same_conclusion(case):
    plan, chance = plan_case(case), np.random.default_rng(3)
    exact = [np.full(part.shape, 40) for part in plan.look.parts]
    released = release_sums(plan, exact, 1.0, chance)
    assert plan.conclude(released) == plan_case(case).conclude(released)


@pytest.mark.parametrize(
    ("kind", "columns", "by"),
    [("t-test", ["age"], "sex"), ("chi-square", ["sex", "ill"], None), ("cdf", ["cost"], None)],
)
def test_what_noise_hides_is_said(people, kind, columns, by):
    found = statistics(people, kind, columns=columns, by=by, epsilon="1e-6", **DECLARED)
    assert found.verdict.startswith("Not enough signal")
    assert found.test is None


POLICY = """
tables:
  people:
    unit: row
    columns:
      age: {role: sensitive, bounds: [0, 99]}
      cost: {role: sensitive, bounds: [-50.5, 1500]}
      sex: {role: sensitive, values: [f, m]}
      name: {role: identifier}
      note: {role: sensitive}
"""


def with_gaps(people):
    """Return rows of which some lack a cell."""
    frame = people.select(["age", "cost", "sex"]).to_pylist()
    for place, row in enumerate(frame):
        row[["age", "cost", "sex"][place % 3]] = (
            None if place % 5 == 0 else row[["age", "cost", "sex"][place % 3]]
        )
    return pa.Table.from_pylist([row | {"name": "n", "note": "t"} for row in frame])


def sums_on_engine(engine, table, kind, columns, by):
    """Return the exact vectors of a statistic from an engine."""
    curator = hold({"people": table}, POLICY, engine=engine)
    held = curator.catalog.find("people")
    variables = choose_variables(held.policy, held.planned_columns, names=columns, by=by)
    plan = plan_statistic(STATISTICS.get(kind), variables, confidence=0.95, stated={})
    request = StatisticRequest(STATISTICS.get(kind), plan, 1, 0)
    counter = CodedCounter(scan_table(held, "people"), request.column_codes, curator.engine)
    try:
        return dict(
            zip([one.name for one in plan.look.parts], plan.look.sum_rows(counter), strict=True)
        )
    finally:
        counter.close()


def test_every_engine_makes_the_same_sums(any_engine, people):
    table = with_gaps(people)
    frame = table.to_pandas().dropna(subset=["age", "cost"])
    found = sums_on_engine(any_engine, table, "correlation", ["age", "cost"], None)
    width = 1550.5 / 65536
    cells = np.minimum(np.floor((frame["cost"] + 50.5) / width), 65535).astype(int)
    units = {"age": 2 * frame["age"].astype(int) - 99, "cost": 2 * cells - 65535}
    assert int(found["rows"][0]) == len(frame)
    assert int(found["sum0"][0]) == units["age"].sum()
    assert abs(int(found["sum1"][0]) - units["cost"].sum()) <= 2 * len(frame)
    product = int((units["age"] * units["cost"]).sum())
    assert abs(int(found["product0-1"][0]) - product) <= 2 * 99 * len(frame)
    grouped = sums_on_engine(any_engine, table, "t-test", ["age"], "sex")
    frame = table.to_pandas().dropna(subset=["age", "sex"])
    expected = [2 * frame["age"][frame["sex"] == one].astype(int) - 99 for one in "fm"]
    assert grouped["rows"].tolist() == [len(one) for one in expected]
    assert grouped["sums"].tolist() == [one.sum() for one in expected]
    assert grouped["squares"].tolist() == [(2 * one**2 - 99**2).sum() for one in expected]


def test_the_same_measurement_is_free_at_any_confidence_and_for_other_kinds(people, tmp_path):
    place = tmp_path / "people.parquet"
    pq.write_table(people, place)
    asked = {"columns": ["sex", "town"], "ledger": tmp_path / "ledger.sqlite", **DECLARED}
    first = statistics(place, "chi-square", **asked)
    second = statistics(place, "chi-square", confidence=0.9, **asked)
    third = statistics(place, "contingency", **asked)
    assert [one.spent["epsilon"] for one in (first, second, third)] == [1.0, 0.0, 0.0]
    assert second.test == first.test


def test_an_explanation_reads_nothing_and_says_how_much_noise_there_is(people):
    found = explain_statistics(people, "t-test", columns=["age"], by="sex", **DECLARED)
    assert (found.numbers, set(found.errors)) == (6, {"rows", "sums", "squares"})


@pytest.mark.parametrize(
    ("kind", "columns", "by", "options", "words"),
    [
        ("t-test", ["age"], "town", {}, "groups=a,b"),
        ("t-test", ["age"], None, {}, "--by"),
        ("t-test", ["sex"], "town", {}, "no number"),
        ("histogram", ["age"], "sex", {}, "no `--by`"),
        ("histogram", ["age", "cost"], None, {}, "takes 1 column"),
        ("histogram", ["age"], None, {"bin": 3}, "Did you mean"),
        ("histogram", ["age"], None, {"bins": 0}, "at least 1"),
        ("contingency", ["sex"], None, {}, "two columns"),
        ("proportion", ["town"], None, {}, "value=…"),
        ("proportion", ["ill"], None, {"value": "yea"}, "Did you mean"),
        ("proportion", ["ill"], None, {"share": 2}, "above 0 and below 1"),
        ("anova", ["age"], "town", {"groups": ["a"]}, "Name two"),
        ("chi-square", ["town"], None, {"expected": {"a": "1"}}, "each of a, b and c"),
        ("rates", ["cost", "ill"], None, {}, "below 0"),
        ("t_test", ["age"], "sex", {}, "t-test"),
        ("histogram", ["age", "age"], None, {}, "twice"),
        ("cdf", ["age"], None, {"quantiles": "2"}, "0.25"),
    ],
)
def test_what_cannot_be_computed_is_refused(people, kind, columns, by, options, words):
    with pytest.raises(WrongUsage, match=words):
        statistics(people, kind, columns=columns, by=by, **DECLARED, **options)


def test_columns_that_are_not_declared_or_not_there_are_named(people):
    with pytest.raises(UndeclaredDomain) as refused:
        statistics(people, "contingency", columns=["sex", "town"], values={"ill": ["no", "yes"]})
    assert set(refused.value.columns) == {"sex", "town"}
    with pytest.raises(UnknownColumn, match="Did you mean 'age'"):
        statistics(people, "histogram", columns=["agee"], **DECLARED)
    with pytest.raises(WrongUsage, match="identifies people"):
        statistics(people, "histogram", columns=["sex"], identifiers=["sex"], **DECLARED)


def run_command(tmp_path, *words):
    return CliRunner().invoke(
        command,
        [str(tmp_path / "people.parquet"), *words, "--policy", str(tmp_path / "policy.yaml")],
    )


@pytest.fixture
def folder(tmp_path, people):
    pq.write_table(people.append_column("note", pa.array(["x"] * 600)), tmp_path / "people.parquet")
    (tmp_path / "policy.yaml").write_text(POLICY.replace("      name: {role: identifier}\n", ""))
    return tmp_path


def test_the_command_prints_a_table_or_json(folder):
    place = ["--ledger", str(folder / "ledger.sqlite")]
    words = ["t-test", "--columns", "age", "--by", "sex", *place]
    dry = run_command(folder, *words, "--dry-run")
    assert "Nothing was read or spent" in dry.output
    shown = run_command(folder, *words)
    assert "difference of means" in shown.output
    assert "Spent epsilon 1." in shown.output
    again = json.loads(run_command(folder, *words, "--json").output)
    assert again["cached"]
    assert {"verdict", "rows", "test", "covers", "kind"} <= set(again)


def test_help_lists_every_kind():
    shown = CliRunner().invoke(command, ["--help"]).output
    assert all(spec.name in shown for spec in STATISTICS.own())


def test_a_notebook_shows_table_chart_and_test(people):
    shown = compute(people, "t-test", ["age"], "sex")._repr_html_()
    assert "<svg" in shown
    assert "Tested: both groups have the same mean" in shown


def test_a_frame_has_a_row_for_each_estimate(people):
    frame = compute(people, "histogram", ["town"]).to_pandas()
    assert frame["labels_town"].tolist() == ["a", "b", "c"]


def test_rows_of_one_person_are_cautioned(people):
    policy = parse_policy(
        "tables: {visits: {unit: person, limits: {rows-per-unit: 3}, columns: {person: identifier, "
        "age: {role: sensitive, bounds: [0, 99]}}}}"
    )
    visits = pa.table({"person": [1, 1, 2] * 100, "age": [30, 40, 50] * 100})
    found = explain_statistics(visits, "cdf", policy, columns=["age"], table="visits")
    assert any("independent" in one for one in found.cautions)
