"""How many rows the limits cut off is reported with the answer, privately, and out of its epsilon."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest
from tests.answer.curators import hold, without_noise
from tests.answer.test_sensitivity import PERSON, POLICY, _of_one

from discreet.answer.cut_rows import BINS, ONE, CutProbe, read_cut
from discreet.answer.explain import explain_plan
from discreet.dp.accounting.pricing import price
from discreet.errors import InvalidBudget

if TYPE_CHECKING:
    from discreet.answer.curator import Curator

REGIONS = ("north", "east", "south", "west")


def _trips(rows: dict[int, int], *, region: str | None = None) -> pa.Table:
    """Return a table in which each person has so many rows."""
    people = [person for person, count in rows.items() for _ in range(count)]
    places = [region or REGIONS[person % 4] for person in people]
    return pa.table({"pid": people, "region": places, "cost": [1.0] * len(people)})


def _policy(limits: str = "rows-per-unit: 50") -> str:
    return f"""
tables:
  trips:
    unit: pid
    limits: {{{limits}}}
    budget: {{epsilon: 1000}}
    columns:
      pid: identifier
      region: {{role: quasi-identifier, values: [north, east, south, west]}}
      cost: {{role: sensitive, bounds: [0, 10]}}
"""


def _curator(rows: dict[int, int], limits: str = "rows-per-unit: 50") -> Curator:
    return hold({"trips": _trips(rows)}, _policy(limits))


# 22 people in each region have 650 or 651 rows: 14,312 in a region, of which 1,100 count.
REGIONAL = {person: 651 if person % 44 < 24 else 650 for person in range(88)}
BY_REGION = "SELECT region, count(*) AS n FROM trips GROUP BY region"


def test_a_count_that_limits_made_too_low_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    """A region of 14,312 rows is answered as 1,100: that is no noise, and ± does not hold it."""
    without_noise(monkeypatch)
    with _curator(REGIONAL) as curator:
        answer = curator.ask(BY_REGION, epsilon=10)
    assert [row[1] for row in answer.rows] == [1100] * 4
    (cut,) = answer.cut_off
    assert cut.share == pytest.approx(1 - 4400 / sum(REGIONAL.values()), abs=0.001)
    (result,) = [caution for caution in answer.cautions if "cut off" in caution]
    assert "About 92% of the rows" in result
    assert "rows-per-unit: 50" in result
    assert "13 times as large" in result
    assert answer.to_dict()["cut_off"][0]["share"] == cut.share


def test_it_is_reported_through_real_noise() -> None:
    """At epsilon 40 the noise of a bin, of scale 0.5 people, hides 80 people with a chance of 1e-60."""
    with _curator(REGIONAL) as curator:
        (cut,) = curator.ask("SELECT count(*) FROM trips", epsilon=40).cut_off
    assert cut.share is not None
    assert cut.share == pytest.approx(0.923, abs=0.1)


def test_where_noise_hides_it_nothing_else_is_claimed() -> None:
    """One person with very many rows cannot be determined of: that would be about that person."""
    with _curator({1: 5000, 2: 1}) as curator:
        (cut,) = curator.ask("SELECT count(*) FROM trips", epsilon="0.01").cut_off
    if cut.share is None:  # but with a chance of about 1 %, that noise looks like people
        assert "cannot be determined" in (cut.caution or "")


def test_rows_that_all_count_are_not_cautioned_about(monkeypatch: pytest.MonkeyPatch) -> None:
    without_noise(monkeypatch)
    with _curator(dict.fromkeys(range(5000), 3)) as curator:
        answer = curator.ask("SELECT count(*) FROM trips", epsilon=10)
    assert [cut.share for cut in answer.cut_off] == [0.0]
    assert not any("cut off" in caution for caution in answer.cautions)


@pytest.mark.parametrize(
    ("limits", "rows", "share"),
    [
        ("rows-per-unit: 50", {1: 10, 2: 60, 3: 500, 4: 9000}, 1 - 160 / 9570),
        ("rows-per-unit: 1", {1: 1, 2: 2, 3: 3, 4: 4}, 0.6),
        ("rows-per-unit: 7", {1: 7, 2: 28, 3: 29}, 1 - 21 / 64),
        # Beyond a factor of 4096 rows count as that many.
        ("rows-per-unit: 1", {1: 5000}, 4095 / 4096),
    ],
)
def test_without_noise_the_share_is_exact(
    limits: str, rows: dict[int, int], share: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    without_noise(monkeypatch)
    with _curator(rows, limits) as curator:
        plan, _ = curator.plan("SELECT sum(cost) FROM trips", epsilon=1)
        probe = _probe(plan)
        exact = _exact(curator, probe)
    assert read_cut(exact, 0.0, probe.limit).share == pytest.approx(share, abs=0.002)


def _probe(plan: Any) -> CutProbe:
    (leaf,) = plan.private_queries
    assert leaf.cut is not None
    return leaf.cut


def _exact(curator: Curator, probe: CutProbe) -> Any:
    from discreet.answer.cut_rows import exact_bins

    return exact_bins(curator.engine.run(probe.query))


def test_groups_that_are_not_chosen_are_cut_off_as_well() -> None:
    """A person in four groups counts in one of them, with at most two rows."""
    data = pa.table({"pid": [1] * 8, "region": list(REGIONS) * 2, "cost": [1.0] * 8})
    policy = _policy("groups-per-unit: 1, rows-per-group: 2")
    question = "SELECT region, count(DISTINCT pid), count(*) FROM trips GROUP BY region"
    with hold({"trips": data}, policy) as curator:
        probe = _probe(curator.plan(question, epsilon=1)[0])
        exact = _exact(curator, probe)
    assert probe.limit.method == "truncate"
    assert read_cut(exact, 0.0, probe.limit).share == pytest.approx(0.75, abs=0.001)


@pytest.mark.parametrize("noise", ["laplace", "gaussian"])
def test_its_price_is_part_of_the_question(noise: Any) -> None:
    with _curator({1: 1}) as curator:
        with_cut, _ = curator.plan(BY_REGION, epsilon=1, delta="1e-6", noise=noise)
        without, _ = curator.plan(BY_REGION, epsilon=1, delta="1e-6", noise=noise, cut_share=0)
    assert with_cut.price.epsilon == without.price.epsilon == 1
    assert without.private_queries[0].cut is None
    result = price(with_cut.event)
    if noise == "laplace":
        assert result.epsilon is not None
        assert result.epsilon <= 1
        probe = _probe(with_cut)
        assert probe.sensitivity / probe.scale == pytest.approx(
            Fraction(1, 20), rel=Fraction(1, 100)
        )
    assert with_cut.private_queries[0].blocks[0].scale > without.private_queries[0].blocks[0].scale


def test_explain_says_what_it_costs_before_anything_is_spent() -> None:
    with _curator({1: 1}) as curator:
        plan, text = curator.plan(BY_REGION, epsilon=1)
        assert curator.explain_plan(plan, text).cut_epsilon == 0.05
        bare, text = curator.plan(BY_REGION, epsilon=1, cut_share=0)
        assert explain_plan(bare, question=text).cut_epsilon == 0.0


@pytest.mark.parametrize("share", ["1", "-0.1", "2"])
def test_a_share_that_leaves_nothing_for_the_answer_is_refused(share: str) -> None:
    with _curator({1: 1}) as curator, pytest.raises(InvalidBudget):
        curator.plan(BY_REGION, epsilon=1, cut_share=share)


def test_a_table_without_limits_costs_nothing_more() -> None:
    policy = "tables: {trips: {unit: row, columns: {pid: insensitive}}}"
    with hold({"trips": _trips({1: 1})}, policy) as curator:
        plan, _ = curator.plan("SELECT count(*) FROM trips", epsilon=1)
    assert plan.private_queries[0].cut is None


def test_the_number_of_people_is_not_cut_off() -> None:
    with _curator({1: 99}) as curator:
        plan, _ = curator.plan("SELECT count(DISTINCT pid) FROM trips", epsilon=1)
    assert plan.private_queries[0].cut is None


@pytest.mark.parametrize("count", [1, 3, 4, 12, 13, 300, 20_000])
def test_a_person_changes_the_bins_by_one_at_most(count: int) -> None:
    tables = _of_one([10.0] * count, ward=["a"] * count)
    plan = tables.plan("SELECT count(*) FROM visits", POLICY)
    (change,) = [c for c in tables.changes(plan, leaver=PERSON) if c.name == "cut"]
    assert 0 < change.absolute <= ONE == change.most_absolute
    if count >= 3:
        assert change.absolute == ONE


def test_bins_that_no_one_is_in_add_nothing_but_noise() -> None:
    noisy = [ONE * 1000] + [ONE * 3] * (2 * BINS.count)
    from discreet.answer.contribution import Contribution

    cut = read_cut(noisy, ONE * 5.0, Contribution("rescale", 50, 2500, 1, 50))
    assert cut.share == 0.0
