"""Regressions learn the same on every engine: what one table releases, replayed on another engine, costs nothing."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pyarrow as pa
import pytest
from sqlglot import exp
from tests.answer.curators import hold
from tests.learning.counts import (
    ArrayCounts,
    RecordingSpending,
    ReplayingSpending,
    make_space,
)

from discreet.answer.coded_counts import CodedCounter
from discreet.answer.sources import scan_table
from discreet.learning.specs.huber import fit_huber
from discreet.learning.specs.linear import fit_linear
from discreet.learning.specs.logistic import fit_logistic
from discreet.learning.specs.quantile import fit_quantile
from discreet.learning.training import Training

SIZES = {"classification": [5, 70, 3, 4], "regression": [5, 70, 3, 90]}
LEARNERS = {
    "linear": (fit_linear, "regression"),
    "huber": (fit_huber, "regression"),
    "quantile": (fit_quantile, "regression"),
    "logistic": (fit_logistic, "classification"),
}
POLICY = """
tables:
  people:
    unit: {unit}
    limits: {{rows-per-unit: 2}}
    columns: {{person: {{role: identifier, kind: integer}}, c0: sensitive, c1: sensitive, c2: sensitive,
      c3: sensitive}}
"""


def make_rows(task):
    chance = np.random.default_rng(8)
    return np.stack([chance.integers(0, size, 150) for size in SIZES[task]], axis=1)


def count_on(engine, rows, sizes, *, unit):
    """Return what counts `rows` on an engine, three of each person."""
    columns = {f"c{place}": rows[:, place] for place in range(rows.shape[1])}
    table = pa.table({"person": np.arange(len(rows)) // 3, **columns})
    curator = hold({"people": table}, POLICY.format(unit=unit), engine=engine)
    codes = [
        (name, lambda cell: exp.Coalesce(this=cell, expressions=[exp.Literal.number(0)]), size)
        for name, size in zip(columns, sizes, strict=True)
    ]
    return CodedCounter(scan_table(curator.catalog.find("people"), "people"), codes, curator.engine)


def train(counts, space, spending):
    return Training(counts, space, spending, Fraction(1), np.random.default_rng(5))


@pytest.mark.parametrize("name", LEARNERS)
def test_an_engine_counts_what_arrays_do(any_engine, name):
    learner, task = LEARNERS[name]
    rows, sizes = make_rows(task), SIZES[task]
    space = make_space(sizes, task=task, ordered=(1, 3))
    recorded = RecordingSpending(Fraction(1, 2))
    learner(train(ArrayCounts(rows, sizes), space, recorded))
    counter = count_on(any_engine, rows, sizes, unit="row")
    replayed = ReplayingSpending(Fraction(1, 2), recorded.kept)
    learner(train(counter, space, replayed))
    counter.close()
    assert replayed.cost == 0
    assert next(replayed.kept, None) is None


@pytest.mark.parametrize("name", LEARNERS)
def test_a_person_with_more_rows_than_count_costs_at_most_the_price(name):
    from discreet.engines.duckdb import DuckDB

    learner, task = LEARNERS[name]
    rows, sizes = make_rows(task), SIZES[task]
    space = make_space(sizes, task=task, ordered=(1, 3))
    counter = count_on(DuckDB(), rows, sizes, unit="person")
    assert counter.one > 1
    recorded = WeightedRecording(Fraction(1, 2), counter)
    learner(train(counter, space, recorded))
    counter = count_on(DuckDB(), np.vstack([rows, [[3, 68, 1, 2]] * 3]), sizes, unit="person")
    replayed = WeightedReplay(Fraction(1, 2), recorded.kept, counter)
    learner(train(counter, space, replayed))
    assert 0 < replayed.cost <= 0.5


class WeightedRecording(RecordingSpending):
    """Keeps what was released of rows that count in parts."""

    def __init__(self, amount, counter):
        super().__init__(amount, sensitivity=counter.sensitivity)
        self.one = counter.one


class WeightedReplay(ReplayingSpending):
    """Releases what was released before of rows that count in parts."""

    def __init__(self, amount, kept, counter):
        super().__init__(amount, kept, sensitivity=counter.sensitivity)
        self.one = counter.one
