"""Section A of the published examples, A21 to A24: two outliers undo a generalization, and clipping mends it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
import pytest

import discreet
from discreet.engines.duckdb import DuckDB
from discreet.engines.frames import open_frame
from discreet.policy.load import parse_policy
from discreet.release.outliers import find_outliers
from discreet.release.steps.apply import perform_steps
from discreet.sql import build

if TYPE_CHECKING:
    from pathlib import Path

PAIR = ["Age", "Education-Num"]
POLICY = """\
tables:
  adult:
    columns:
      Age: quasi-identifier
      Education-Num: quasi-identifier
    release:
      steps:
        - clip: {column: Age, bounds: [10, 60]}
        - bottom-code: {column: Education-Num, at: 3}
"""


@pytest.fixture(scope="module")
def adult(shared_data: Path) -> pd.DataFrame:
    return pd.read_csv(shared_data / "adult_with_pii" / "adult_with_pii.csv", usecols=PAIR)[PAIR]


def by_tens(frame: pd.DataFrame) -> pd.DataFrame:
    """The book's generalization of depth 1: the last digit becomes 0."""
    return frame // 10 * 10


def after_steps(frame: pd.DataFrame) -> pd.DataFrame:
    engine = DuckDB()
    table = open_frame(frame, engine=engine)
    steps = parse_policy(POLICY).tables["adult"].release.steps
    after = perform_steps(table, steps, generator=None).table
    found = engine.run(build.select(*map(build.column, PAIR), source=after.relation)).to_pandas()
    engine.close()
    return found


def assess(frame: pd.DataFrame) -> discreet.Assessment:
    return discreet.assess(frame, quasi=PAIR, depth=0)


def test_a23_the_outliers_of_everybody_are_named_with_the_clipping_that_helps(adult) -> None:
    values, counts = np.unique(by_tens(adult)["Age"], return_counts=True)
    found = find_outliers(values, counts, k=7, column="Age")
    assert found is not None
    assert (found.below, found.above) == (1, 1)
    assert "clip: {column: Age, bounds: [10, 70]}" in found.words


def test_a24_five_hundred_people_clipped_by_steps_are_32_anonymous(adult) -> None:
    """The book checks k = 7 only; the largest k is 32."""
    found = assess(by_tens(after_steps(adult.head(500))))
    assert (found.k, found.classes, max(found.class_sizes)) == (32, 12, 53)
    assert assess(by_tens(adult.head(500))).k == 1


def test_a24_clipping_changes_outliers_only(adult) -> None:
    before, after = adult, after_steps(adult)
    assert after["Age"].min() == 10
    assert after["Age"].max() == 60
    assert after["Education-Num"].min() == 3
    inside = before["Age"].between(10, 60) & (before["Education-Num"] >= 3)
    counts = [frame.value_counts() for frame in (before[inside], after)]
    assert (counts[1].reindex(counts[0].index) >= counts[0]).all()
