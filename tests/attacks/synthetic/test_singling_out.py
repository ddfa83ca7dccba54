"""Descriptions that fit one person: counted as SQL would, and brought to the same number of people."""

from __future__ import annotations

import duckdb
import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import hypergeom
from tests.attacks.synthetic.conftest import ROWS, draw_people

from discreet.attacks.synthetic.predicates import (
    PredicateIndex,
    PredicateRelation,
    Predicates,
    at_random,
    from_records,
)
from discreet.attacks.synthetic.singling_out import (
    single_out,
    singles_in_sample,
    singling_out_reference,
)
from discreet.attacks.synthetic.trial import SyntheticTrial, open_trial
from discreet.errors import WrongUsage

SIGNS = {
    PredicateRelation.EQUAL: "=",
    PredicateRelation.AT_LEAST: ">=",
    PredicateRelation.AT_MOST: "<=",
    PredicateRelation.OTHER: "<>",
}


def in_sql(trial: SyntheticTrial, predicates: Predicates) -> list[int]:
    """Count the same predicates by DuckDB, over the numbers that stand for values."""
    values = trial.source.values
    frame = pa.table({f"c{i}": pa.array(row, from_pandas=True) for i, row in enumerate(values)})
    connection = duckdb.connect()
    connection.register("t", frame)
    counts: list[int] = []
    for columns, relations, wanted in zip(
        predicates.columns, predicates.relations, predicates.values, strict=True
    ):
        parts = [
            f"c{column} IS {'' if relation == PredicateRelation.MISSING else 'NOT '}NULL"
            if relation in (PredicateRelation.MISSING, PredicateRelation.PRESENT)
            else f"c{column} {SIGNS[PredicateRelation(relation)]} {value!r}"
            for column, relation, value in zip(columns, relations, map(float, wanted), strict=True)
        ]
        found = connection.sql(f"SELECT count(*) FROM t WHERE {' AND '.join(parts)}").fetchone()
        counts.append(found[0] if found else -1)
    return counts


@pytest.mark.parametrize("width", [1, 2, 3])
@pytest.mark.parametrize("make", [at_random, from_records])
def test_predicates_count_as_the_engine_counts(leaky: SyntheticTrial, make, width: int):
    rng = np.random.default_rng(11)
    made = make(leaky.synthetic, leaky.features, many=20, width=width, rng=rng)
    assert PredicateIndex(leaky.source).count(made).tolist() == in_sql(leaky, made)


def test_enough_matches_are_not_counted_further(leaky: SyntheticTrial):
    rng = np.random.default_rng(12)
    made = from_records(leaky.synthetic, leaky.features, many=300, width=2, rng=rng)
    index = PredicateIndex(leaky.synthetic)
    whole, quick = index.count(made), index.count(made, enough=2)
    assert ((whole == 1) == (quick == 1)).all()


@given(st.lists(st.integers(0, 12), min_size=1, max_size=6), st.integers(1, 12))
def test_singles_of_a_sample_are_hypergeometric(counts: list[int], want: int):
    found = singles_in_sample(np.array(counts), have=12, want=want)
    wanted = [hypergeom.pmf(1, 12, count, want) for count in counts]
    assert found == pytest.approx(np.mean(wanted), abs=1e-9)


@pytest.mark.statistics
@pytest.mark.parametrize("others", [300, 2000])
def test_a_control_group_of_another_size_is_no_excuse(source, others: int):
    # Two thirds of the people are among the copies: about as much is singled out beyond control.
    copied = source.take(np.random.default_rng(5).integers(0, ROWS, ROWS))
    control = draw_people(np.random.default_rng(9), others)
    trial = open_trial(copied, source=source, control=control)
    found = single_out(trial, rng=np.random.default_rng(1), guesses=500)[1]
    assert 0.4 < found.advantage < 0.9
    assert found.details["risk_interval"][0] > 0


@pytest.mark.statistics
@pytest.mark.parametrize("others", [300, 2000])
def test_a_control_group_of_another_size_is_no_accusation(source, population, others: int):
    control = draw_people(np.random.default_rng(9), others)
    trial = open_trial(population, source=source, control=control)
    found = single_out(trial, rng=np.random.default_rng(1), guesses=500)[1]
    assert found.details["risk_interval"][0] == 0


def test_the_reference_of_no_guesses_excuses_everything():
    nothing = np.zeros(0, dtype=np.int64)
    assert singling_out_reference(nothing, nothing, people=5, others=5).high == 1.0


def test_a_table_without_rare_values_gives_no_description():
    same = pa.table({"sex": ["f", "f", "m", "m"], "ill": ["yes", "no", "yes", "no"]})
    trial = open_trial(same, source=same, control=same)
    found = single_out(trial, rng=np.random.default_rng(0), width=1)
    assert [finding.targets for finding in found] == [0]
    assert "No description" in found[0].verdict


def test_a_description_of_no_column_is_refused(leaky: SyntheticTrial):
    with pytest.raises(WrongUsage, match="0 columns"):
        single_out(leaky, rng=np.random.default_rng(0), width=0)


def test_a_copy_that_was_doubled_is_still_singled_out():
    people = pa.table({"age": [*range(20, 60)], "sex": ["f", "m"] * 20})
    doubled = pa.concat_tables([people, people])
    others = pa.table({"age": [30] * 40, "sex": ["f"] * 40})
    trial = open_trial(doubled, source=people, control=others)
    assert single_out(trial, rng=np.random.default_rng(0))[0].rate > 0.9
