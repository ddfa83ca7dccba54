"""A column that a classifier is to predict: read with its combinations, judged before and after."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from discreet.arrow import ArrowArray, pc
from discreet.engines.engine import Column
from discreet.errors import Bug, WrongUsage
from discreet.measure.classes import group_cells
from discreet.measure.roles import RoleBinding, require_column
from discreet.measure.utility.distances import Labeled
from discreet.measure.utility.tasks import (
    UNKNOWN,
    ClassifierAccuracy,
    cross_validate,
    require_classifier,
    split_folds,
)
from discreet.release.anonymize.frequencies import label_rows
from discreet.release.anonymize.problem import EncodedProblem
from discreet.release.anonymize.read import read_problem

MOST_VALUES = 50


@dataclass(frozen=True)
class Goal:
    """The column to predict: `rows[i]` rows of combination `owners[i]` have `values[i]`.

    `place` is its place among the quasi-identifiers, if it is one.
    """

    column: str
    owners: NDArray[np.int64]
    values: NDArray[np.int64]
    rows: NDArray[np.int64]
    place: int | None = None


def read_goal(reading: EncodedProblem, bound: RoleBinding, name: str) -> Goal:
    """Return the column called `name` with the combinations of `reading`.

    Raises:
        MissingExtra: Nothing is installed that could be trained.
        UnknownColumn: There is no such column.
        WrongUsage: It has too many values, or nothing is left to predict it from.
    """
    require_classifier()
    problem = reading.problem
    column = require_column(bound.subject.table, name)
    names = [attribute.name for attribute in problem.attributes]
    if name in names:
        place = names.index(name)
        values = problem.table.codes[:, place].astype(np.int64)
        goal = Goal(name, np.arange(len(values)), values, problem.table.rows, place)
    elif name in problem.judge.columns and bound.subject.unit is None:
        histogram = problem.table.histograms[problem.judge.columns.index(name)]
        goal = Goal(name, histogram.owners, histogram.codes, histogram.counts)
    else:
        goal = _read_apart(reading, bound, column)
    count = len(np.unique(goal.values))
    if count > MOST_VALUES:
        raise WrongUsage(
            f"The column to predict, '{name}', has {count:,} values; a classifier can distinguish "
            f"{MOST_VALUES} apart at most. Choose another --target, or group its values first."
        )
    if count == 0:
        raise WrongUsage(
            f"Every row is suppressed already, so that there is nothing to predict '{name}' from. "
            "Leave --target out."
        )
    if names == [name]:
        raise WrongUsage(
            f"'{name}' is the only quasi-identifier, so that there is nothing to predict it from. "
            "Choose another --target."
        )
    return goal


def measure_classification(goal: Goal, columns: Sequence[Labeled]) -> ClassifierAccuracy:
    """Return how well the goal is predicted from the quasi-identifiers, before and after.

    The same rows are in the same folds before and after. A goal that is a quasi-identifier itself is
    given to the trainer where a row keeps its value; what is predicted is always the true one.
    """
    features = [column.take(goal.owners) for j, column in enumerate(columns) if j != goal.place]
    folds = split_folds(goal.values, goal.rows)
    rows = np.bincount(goal.values, weights=folds.sum(axis=1))
    given = None
    if goal.place is not None:
        column = columns[goal.place]
        given = np.where(_is_exact(column)[column.labels], column.values, UNKNOWN)
    return ClassifierAccuracy(
        target=goal.column,
        majority=float(rows.max() / rows.sum()),
        before=cross_validate(
            np.stack([column.values for column in features], axis=1), goal.values, folds
        ),
        after=cross_validate(
            np.stack([column.labels for column in features], axis=1),
            goal.values,
            folds,
            given=given,
        ),
        rows=int(rows.sum()),
    )


def _is_exact(column: Labeled) -> NDArray[np.bool_]:
    """Return, for each label, whether it is a value."""
    own = np.zeros(column.count, dtype=np.float64)
    own[column.labels] = column.spread(np.eye(column.count))[column.values, column.labels]
    return own == 1.0


def _read_apart(reading: EncodedProblem, bound: RoleBinding, column: Column) -> Goal:
    """Read a column that no criterion is about, by a GROUP BY of its own."""
    subject = replace(bound.subject, sensitive=(column,), unit=None)
    other = read_problem(group_cells(subject), replace(bound, subject=subject), ())
    mine, theirs = reading.problem.table.codes, other.problem.table.codes
    codes = np.stack(
        [
            _find_places(other.values[j], values)[theirs[:, j]]
            for j, values in enumerate(reading.values)
        ],
        axis=1,
    )
    both = np.concatenate([mine, codes])
    labels, count = label_rows(
        [(both[:, j], len(values)) for j, values in enumerate(reading.values)]
    )
    owners = np.full(count, -1, dtype=np.int64)
    owners[labels[: len(mine)]] = np.arange(len(mine))
    found = owners[labels[len(mine) :]]
    if (found < 0).any():
        raise Bug("A combination of quasi-identifiers was read once, and not again.")
    histogram = other.problem.table.histograms[0]
    return Goal(column.name, found[histogram.owners], histogram.codes, histogram.counts)


def _find_places(values: ArrowArray, known: ArrowArray) -> NDArray[np.int64]:
    places = pc.index_in(values, value_set=known)
    if places.null_count:
        raise Bug("A value of a quasi-identifier was read once, and not again.")
    return places.to_numpy(zero_copy_only=False).astype(np.int64)
