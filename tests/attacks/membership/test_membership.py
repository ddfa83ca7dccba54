"""Membership: exact frequencies reveal who is in the pool as theory says, private ones do not."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from statistics import NormalDist

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.attacks.membership.evaluation import (
    area_under_curve,
    auc_interval,
    best_threshold,
    evaluate_scores,
    hits_above,
    hits_at,
)
from discreet.attacks.membership.marginals import FrequencyColumns, score_alleles
from discreet.attacks.membership.membership import MembershipAttackOptions, find_membership
from discreet.dp.mechanisms.laplace import laplace_noisy_vector
from discreet.engines.connect import open_table
from discreet.errors import UnknownColumn, WrongUsage


@dataclass(frozen=True)
class Study:
    """Genotypes of a pool, of a reference, and of people in neither."""

    pool: np.ndarray
    reference: np.ndarray
    others: np.ndarray

    @property
    def people(self) -> np.ndarray:
        return np.concatenate([self.pool, self.others]).astype(np.float32)

    @property
    def is_member(self) -> np.ndarray:
        return np.arange(len(self.pool) + len(self.others)) < len(self.pool)


def make_study(*, n: int = 100, reference: int = 100, m: int = 1000, seed: int = 0) -> Study:
    chance = np.random.default_rng(seed)
    shares = chance.uniform(0.05, 0.5, m)
    return Study(*(chance.binomial(2, shares, (size, m)) for size in (n, reference, n)))


def score(study: Study, published: np.ndarray | None = None):
    pool = study.pool.mean(axis=0) / 2 if published is None else published
    sizes = len(study.pool), len(study.reference)
    return score_alleles(study.people, pool, study.reference.mean(axis=0) / 2, sizes=sizes)


@pytest.mark.statistics
@pytest.mark.parametrize(("n", "reference", "m"), [(100, 100, 1000), (60, 240, 400)])
def test_the_area_is_that_of_theory(n: int, reference: int, m: int):
    """20 studies; one area has a deviation of 0.02 to 0.03, their mean one of 0.007: 3 of those."""
    studies = [make_study(n=n, reference=reference, m=m, seed=seed) for seed in range(20)]
    areas = [area_under_curve(score(study).standard, study.is_member) for study in studies]
    power = (m * reference / (n * (n + reference))) ** 0.5
    assert np.mean(areas) == pytest.approx(NormalDist().cdf(power / 2**0.5), abs=0.02)
    homer = [area_under_curve(score(study).homer, study.is_member) for study in studies]
    assert 0.7 < np.mean(homer) < np.mean(areas)


@pytest.mark.statistics
def test_people_in_no_pool_are_claimed_as_often_as_the_adversary_allows():
    """20 studies with 100 others each; 5 % of 2,000 have a deviation of 0.5 %, 4 of those."""
    studies = [make_study(seed=seed) for seed in range(20)]
    claims = [score(study).standard[~study.is_member] > 1.645 for study in studies]
    assert np.mean(claims) == pytest.approx(0.05, abs=0.02)


@pytest.mark.statistics
def test_private_frequencies_reveal_nothing():
    """Epsilon 1 for all 1,000 together; areas of 10 studies around 1/2 within 6 deviations of 0.013."""
    areas = []
    for seed in range(10):
        study = make_study(seed=seed)
        noisy = laplace_noisy_vector(
            study.pool.sum(axis=0), epsilon=Fraction(1), sensitivity=2 * 1000
        )
        values = noisy[0] if isinstance(noisy, tuple) else noisy
        scores = score(study, np.asarray(values, np.float64) / (2 * len(study.pool)))
        areas.append(area_under_curve(scores.standard, study.is_member))
    assert np.mean(areas) == pytest.approx(0.5, abs=0.08)


@given(st.lists(st.tuples(st.integers(0, 5), st.booleans()), min_size=2, max_size=30))
def test_the_area_is_the_share_of_pairs_in_the_right_order(rows: list[tuple[int, bool]]):
    scores = np.array([score for score, _ in rows], float)
    is_member = np.array([member for _, member in rows])
    inside, outside = scores[is_member], scores[~is_member]
    pairs = [(a > b) + 0.5 * (a == b) for a in inside for b in outside]
    assert area_under_curve(scores, is_member) == pytest.approx(np.mean(pairs) if pairs else 0.5)


def test_hits_are_counted_at_no_more_than_the_allowed_false_alarms():
    scores = np.arange(200.0)
    is_member = scores % 2 == 1
    hits = hits_at(scores, is_member, 0.05)
    assert (hits.found, hits.alarms, hits.members, hits.others) == (6, 5, 100, 100)
    assert hits_above(scores, is_member, np.inf).rate == 0
    result = hits.to_dict()
    assert result["advantage"] == pytest.approx(0.01)
    assert result["advantage_at_least"] < 0
    assert set(evaluate_scores(scores, is_member)) == {"auc", "at_1_percent", "at_5_percent"}


def as_tables(study: Study, *, long: bool = False, flags: list | None = None) -> list:
    names = [f"rs{n}" for n in range(study.pool.shape[1])]
    published, reference = (
        pa.table({"snp": names, "frequency": group.mean(axis=0) / 2})
        for group in (study.pool, study.reference)
    )
    truth = flags or [int(flag) for flag in study.is_member]
    people = study.people.astype(int)
    if long:
        known = {
            "who": np.repeat([f"person{n}" for n in range(len(people))], len(names)),
            "snp": names * len(people),
            "genotype": people.ravel(),
            "in_pool": np.repeat(truth, len(names)),
        }
    else:
        known = {name: people[:, place] for place, name in enumerate(names)} | {"in_pool": truth}
    return [open_table(pa.table(each)) for each in (published, known, reference)]


@pytest.mark.statistics
def test_a_small_pool_is_distinguished_by_200_alleles():
    """30 people: members are 1.8 deviations ahead, so that about half are found; 20 % at least."""
    found = find_membership(
        *as_tables(make_study(n=30, reference=30, m=200)),
        people=MembershipAttackOptions(truth="in_pool", pool=30, reference=30),
    )
    assert (found.targets, found.details["absent"]) == (30, 30)
    assert found.rate > 0.2
    assert found.control is not None
    assert found.control < 0.25
    assert found.details["auc_in_theory"] == pytest.approx(0.901, abs=0.001)
    assert found.details["likelihood_ratio"]["auc"] > 0.75


def test_rows_per_person_and_allele_say_the_same_as_columns():
    study = make_study(n=20, reference=20, m=40)
    wide = find_membership(*as_tables(study), people=MembershipAttackOptions(truth="in_pool"))
    long = find_membership(
        *as_tables(study, long=True),
        columns=FrequencyColumns(item="snp"),
        people=MembershipAttackOptions(person="who", count="genotype", truth="in_pool"),
    )
    assert long.details["likelihood_ratio"] == wide.details["likelihood_ratio"]
    assert (long.claimed, long.correct) == (wide.claimed, wide.correct)
    assert "person" in long.example[0]


def test_without_truth_claims_are_held_against_chance():
    found = find_membership(*as_tables(make_study(n=20, reference=20, m=40)))
    assert (found.correct, found.control, found.targets) == (None, 0.05, 40)
    assert "likelihood_ratio" not in found.details


@pytest.mark.statistics
def test_one_way_marginals_of_any_table_reveal_members_as_well():
    """40 people, 80 attributes of 4 values, that is 240 free cells: 1.7 deviations; area above 0.75."""
    chance = np.random.default_rng(5)
    pool, reference, others = (chance.integers(0, 4, (40, 80)) for _ in range(3))
    names = [f"q{n}" for n in range(80)]

    def counted(group: np.ndarray) -> pa.Table:
        cells = [(n, v) for n in range(80) for v in range(4)]
        return pa.table(
            {
                "question": [f"q{n}" for n, _ in cells],
                "answer": [f"{v}" for _, v in cells],
                "people": [int((group[:, n] == v).sum()) for n, v in cells],
            }
        )

    people = np.concatenate([pool, others])
    known = pa.table({name: people[:, n] for n, name in enumerate(names)}
                     | {"truth": np.arange(80) < 40})  # fmt: skip
    found = find_membership(
        *(open_table(each) for each in (counted(pool), known, counted(reference))),
        columns=FrequencyColumns(value="answer"),
        people=MembershipAttackOptions(truth="truth", pool=40, reference=40),
    )
    assert found.details["likelihood_ratio"]["auc"] > 0.75
    assert found.details["homer"]["auc"] > 0.7


def test_missing_genotypes_say_nothing():
    counts = np.array([[2, 0], [np.nan, 0], [np.nan, np.nan]], np.float32)
    found = score_alleles(counts, np.array([0.4, 0.2]), np.array([0.2, 0.2]))
    assert found.ratio[0] > found.ratio[1] == pytest.approx(0.0)
    assert found.standard[2] == 0


def test_wrong_words_are_refused():
    published, known, reference = as_tables(make_study(n=4, reference=4, m=3))
    with pytest.raises(WrongUsage, match="needs both --person and --count"):
        find_membership(
            published, known, reference, people=MembershipAttackOptions(person="in_pool")
        )
    with pytest.raises(WrongUsage, match="says more than who is in"):
        find_membership(published, known, reference, people=MembershipAttackOptions(truth="rs0"))
    other = open_table(pa.table({"snp": ["x"], "frequency": [0.5]}))
    with pytest.raises(WrongUsage, match="share no cell"):
        find_membership(published, known, other)
    with pytest.raises(UnknownColumn, match="no column 'x', which is published"):
        find_membership(other, known, other)
    counts = open_table(pa.table({"snp": ["rs0"], "people": [17]}))
    with pytest.raises(WrongUsage, match="from 0 to 1 was expected"):
        find_membership(counts, known, reference)
    with pytest.raises(WrongUsage, match="no column of numbers"):
        find_membership(open_table(pa.table({"snp": ["rs0"]})), known, reference)
    strange = open_table(pa.table({"rs0": [0, 7], "rs1": [1, 1], "rs2": [1, 1]}))
    with pytest.raises(WrongUsage, match="Genotypes are 0, 1 or 2"):
        find_membership(published, strange, reference)


few_scores = st.lists(st.tuples(st.integers(0, 6), st.booleans()), min_size=2, max_size=40).filter(
    lambda pairs: len({is_in for _, is_in in pairs}) == 2
)


@given(few_scores)
def test_no_threshold_separates_better_than_the_best_one(pairs: list[tuple[int, bool]]):
    scores = np.array([score for score, _ in pairs], float)
    is_member = np.array([is_in for _, is_in in pairs])

    def advantage(threshold: float) -> float:
        hits = hits_above(scores, is_member, threshold)
        return hits.rate - hits.false_rate

    every = [advantage(threshold) for threshold in (*np.unique(scores), -1.0)]
    assert advantage(best_threshold(scores, is_member)) == pytest.approx(max(0, *every))


@given(few_scores)
def test_the_interval_of_an_area_holds_the_area(pairs: list[tuple[int, bool]]):
    scores = np.array([score for score, _ in pairs], float)
    is_member = np.array([is_in for _, is_in in pairs])
    low, high = auc_interval(scores, is_member)
    assert 0 <= low <= area_under_curve(scores, is_member) + 1e-12
    assert area_under_curve(scores, is_member) - 1e-12 <= high <= 1


@pytest.mark.statistics
def test_the_interval_of_an_area_covers_the_truth():
    """400 samples of 100 and 150 people, normal with a shift of 1: 95 % are 380 ± 4.4; 3.5 of those."""
    chance = np.random.default_rng(1)
    truth = NormalDist().cdf(1 / 2**0.5)
    is_member = np.arange(250) < 100
    covered = 0
    for _ in range(400):
        low, high = auc_interval(chance.normal(size=250) + is_member, is_member)
        covered += low <= truth <= high
    assert 364 <= covered <= 396
