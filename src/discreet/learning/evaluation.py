"""How well a model predicts: planned without data, measured by noisy counts of the engine, read from these alone."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from discreet.domain.code_tree import CodeTree
from discreet.domain.coded_column import CodedColumn
from discreet.dp.spending import ONE_CELL, RowChange, ZcdpSpending, divide_budget
from discreet.errors import WrongUsage
from discreet.learning.additive import AdditiveModel
from discreet.learning.features import FeatureSpace
from discreet.learning.training import Codes, Columns, Counts
from discreet.learning.tree_model import TreeModel

Floats = NDArray[np.float64]
# Where buckets of the predicted chance of a class begin: narrow near 0 and 1, where rare classes are.
CHANCES = (0.01, 0.02, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.98, 0.99)
MIDDLE = CHANCES.index(0.5) + 1  # from this bucket on, the second class is predicted
LEVELS = 10  # of a predicted number, each with its noisy mean
UNIT = 1 << 10  # sums of numbers are whole numbers of this part of one
_FINE = 20  # buckets of each level, from whose middles errors are computed
_SCALE = 1 << 16  # a score of 1 as a whole number
_WIDTH = 1 << 12  # of a fine bucket of a number, in whole numbers
_FARTHEST = float(1 << 50)  # a weight, so that no sum of them overflows
_MOST_WEIGHTS = 1 << 15  # of leaves that one query adds up
_MOST_VALUES = 20  # of a column whose every value is a group
_RANGES = 5  # into which a longer scale is divided
_NUMBER_CHANGE = RowChange(4 * UNIT, 4 * UNIT**2)  # one level's rows and sum, two sums of squares
_GROUP_CHANGE = RowChange(3 * UNIT, 3 * UNIT**2)  # one group's rows, sum and sum of squares


class ScoringCounts(Protocol):
    """What counts rows by their scores, where they are."""

    def count_scored(
        self,
        weights: Sequence[Counts],
        cuts: Sequence[int],
        columns: Sequence[Columns],
        maps: Sequence[Codes] | None = None,
    ) -> list[Counts]:
        """Return the counts of each of `columns` by how many of `cuts` a row's score reaches, the first axis."""
        ...

    def count_by_center(
        self, distances: Sequence[Counts | None], columns: Sequence[Columns]
    ) -> list[Counts]:
        """Return the counts of each of `columns` by the center that a row is nearest to, the first axis."""
        ...

    def count_by_forest(
        self,
        trees: Sequence[CodeTree],
        weights: Sequence[Counts],
        cuts: Sequence[int],
        columns: Sequence[Columns],
    ) -> list[Counts]:
        """Return the counts of each of `columns` by what the leaves that a row falls into weigh in all, the first axis."""
        ...


class PredictionCounter(Protocol):
    """What counts rows by what a model predicts of them."""

    def count(self, counts: ScoringCounts, columns: Sequence[Columns]) -> list[Counts]:
        """Return the counts of each of `columns` by bucket of the score, or by predicted class, the first axis."""
        ...


@dataclass(frozen=True)
class ShapeScores:
    """Predictions by the sum of what codes weigh: by how many of `cuts` it reaches."""

    weights: tuple[Counts, ...]
    cuts: tuple[int, ...]

    def count(self, counts: ScoringCounts, columns: Sequence[Columns]) -> list[Counts]:
        """Return the counts of each of `columns` by bucket of the score."""
        return counts.count_scored(self.weights, self.cuts, columns)


@dataclass(frozen=True)
class ShapeChoice:
    """Predictions of the class whose sum is the largest, by how far each code is from each class."""

    distances: tuple[Counts | None, ...]

    def count(self, counts: ScoringCounts, columns: Sequence[Columns]) -> list[Counts]:
        """Return the counts of each of `columns` by predicted class."""
        return counts.count_by_center(self.distances, columns)


@dataclass(frozen=True)
class LeafScores:
    """Predictions by the sum of what leaves weigh, of one score for two classes or of one for each of several."""

    trees: tuple[CodeTree, ...]
    weights: tuple[Counts, ...]
    cuts: tuple[int, ...]

    def count(self, counts: ScoringCounts, columns: Sequence[Columns]) -> list[Counts]:
        """Return the counts of each of `columns` by bucket of the score, or by predicted class."""
        return counts.count_by_forest(self.trees, self.weights, self.cuts, columns)


@dataclass(frozen=True)
class Subgroups:
    """Groups of rows whose figures are shown apart; both are public.

    Attributes:
        column: The column that tells them apart.
        codes: The group of each of its codes.
        names: What each group is called.
    """

    column: CodedColumn
    codes: Codes
    names: tuple[str, ...]


def divide_column(column: CodedColumn) -> Subgroups:
    """Return the groups that a column's values make: each value one, or ranges of a long scale; and missing.

    Raises:
        WrongUsage: It has too many values without an order.
    """
    firsts, lasts = (ends.to_pylist() for ends in column.coding.representatives())
    size = column.coding.size
    if size <= _MOST_VALUES:
        names = ["all others" if one is None else _name_value(one) for one in firsts]
        return Subgroups(column, np.arange(size + 1), (*names, "missing"))
    if not column.is_ordered:
        raise WrongUsage(
            f"'{column.name}' has {size:,} values without an order: too many groups. Name a column of up to "
            f"{_MOST_VALUES} values, or one of numbers."
        )
    parts = np.array_split(np.arange(size), _RANGES)
    codes = np.concatenate([np.full(len(part), place) for place, part in enumerate(parts)])
    named = [f"{_name_value(firsts[one[0]])} to {_name_value(lasts[one[-1]])}" for one in parts]
    return Subgroups(column, np.append(codes, _RANGES), (*named, "missing"))


def _name_value(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return f"{value:.6g}" if isinstance(value, float) else str(value)


@dataclass(frozen=True)
class MeasuredPredictions:
    """Noisy counts of rows by prediction and truth: all that figures follow from.

    Attributes:
        overall: Rows by bucket of the score and by class; of several classes, by whether the predicted one is right
            and by class; of numbers, what `_add_up_numbers` says.
        groups: For each column of groups, rows by predicted class, class and group; of several classes, by whether
            the predicted one is right and by group; of numbers, by figure and group.
        scales: The noise of one count of each of these.
    """

    overall: Floats
    groups: tuple[Floats, ...]
    scales: tuple[float, ...]

    def to_bytes(self) -> bytes:
        """Return the content that the ledger keeps."""
        tables = [one.tolist() for one in (self.overall, *self.groups)]
        return json.dumps({"tables": tables, "scales": list(self.scales)}).encode("ascii")

    @staticmethod
    def from_bytes(content: bytes) -> MeasuredPredictions:
        """Return what `to_bytes` wrote."""
        found = json.loads(content)
        first, *others = (np.array(one, float) for one in found["tables"])
        return MeasuredPredictions(first, tuple(others), tuple(found["scales"]))


@dataclass(frozen=True)
class EvaluationPlan:
    """What is counted to judge a model; it follows from the model and the policy.

    Attributes:
        space: The features and the target.
        extra: Columns of groups that are neither.
        groups: Whose figures are shown apart.
        counter: What counts rows by what is predicted of them.
    """

    space: FeatureSpace
    extra: tuple[CodedColumn, ...]
    groups: tuple[Subgroups, ...]
    counter: PredictionCounter

    @property
    def columns(self) -> tuple[CodedColumn, ...]:
        """The columns that rows are coded by, in their order."""
        return (*self.space.columns, *self.extra)

    def measure(self, counts: ScoringCounts, spending: ZcdpSpending) -> MeasuredPredictions:
        """Return noisy counts of predictions, for all that `spending` has, an equal share for each table.

        Guarantee: that of `spending`. A row is in one cell of each table of classes, and in one of what is added up
        of these. Of numbers, it adds to
        one level's rows and sum and to two sums of squares, each by at most one; of a group, to its rows, its
        sum of errors and of their squares.
        """
        target = len(self.space.features)
        names = [column.name for column in self.columns]
        places = [names.index(one.column.name) for one in self.groups]
        wanted = [(target,), *((target, place) for place in places)]
        exact = self.counter.count(counts, wanted)
        shares = divide_budget(spending.left, [1.0] * len(exact))
        is_number = self.space.task == "regression"
        changes = [_NUMBER_CHANGE if is_number else ONE_CELL]
        changes += [_GROUP_CHANGE if is_number else ONE_CELL] * len(self.groups)
        tables = [exact[0][:, :-1]]  # without rows whose target is missing
        tables += [
            _join_codes(one[:, :-1], some.codes)
            for one, some in zip(exact[1:], self.groups, strict=True)
        ]
        if is_number:
            sums = _add_up_numbers(tables, self.space.target_numbers)
        elif len(self.space.classes) > 2:
            sums = _add_up_right(tables)
        else:
            sums = _add_up_classes(tables)
        noisy = [
            spending.measure(one.ravel(), share, change=change).reshape(one.shape)
            for one, share, change in zip(sums, shares, changes, strict=True)
        ]
        unit = UNIT if is_number else 1
        scales = [
            spending.scale(share, change=change) / unit
            for share, change in zip(shares, changes, strict=True)
        ]
        return MeasuredPredictions(
            noisy[0] / unit, tuple(one / unit for one in noisy[1:]), tuple(scales)
        )


def _join_codes(table: Counts, groups: Codes) -> Counts:
    """Return counts by the groups of the codes of the last axis."""
    belongs = groups[:, None] == np.arange(int(groups.max()) + 1)
    return table @ belongs.astype(np.int64)


def _add_up_classes(tables: Sequence[Counts]) -> list[Counts]:
    """Return rows by bucket and class, and for each column of groups by prediction, class and group."""
    first, *others = tables
    halves = [np.stack([one[:MIDDLE].sum(axis=0), one[MIDDLE:].sum(axis=0)]) for one in others]
    return [first, *halves]


def _add_up_right(tables: Sequence[Counts]) -> list[Counts]:
    """Return rows by whether the predicted class is wrong or right, and by class; of groups, by group."""
    right = [np.einsum("cc...->c...", one) for one in tables]
    wrong = [one.sum(axis=0) - same for one, same in zip(tables, right, strict=True)]
    first, *others = [np.stack(pair) for pair in zip(wrong, right, strict=True)]
    return [first, *(one.sum(axis=1) for one in others)]


def _add_up_numbers(tables: Sequence[Counts], numbers: Floats) -> list[Counts]:
    """Return sums of numbers between -1 and 1, in whole parts of one.

    Of all rows: for each level their number and the sum of true numbers, then a quarter of the squared
    errors and the squared true numbers. Of a group: its rows, half the errors, and a quarter of their squares.
    """
    truth = _scale_numbers(numbers)
    fine = LEVELS * _FINE
    predicted = (np.arange(fine) + 0.5) / fine * 2 - 1
    off = (predicted[:, None] - truth[None, :]) / 2
    parts = [np.round(one * UNIT).astype(np.int64) for one in (truth, off, off**2, truth**2)]
    whole, half, squared, power = parts
    first, *others = tables
    levels = first.reshape(LEVELS, _FINE, -1).sum(axis=1)
    sums = [
        *(levels.sum(axis=1) * UNIT),
        *(levels @ whole),
        int((first * squared).sum()),
        int((first.sum(axis=0) * power).sum()),
    ]
    grouped = [
        np.stack(
            [
                one.sum(axis=(0, 1)) * UNIT,
                np.einsum("stg,st->g", one, half),
                np.einsum("stg,st->g", one, squared),
            ]
        )
        for one in others
    ]
    return [np.array(sums, np.int64), *grouped]


def _scale_numbers(numbers: Floats) -> Floats:
    low, high = float(numbers.min()), float(numbers.max())
    return (numbers - low) / ((high - low) or 1.0) * 2 - 1


def require_judgeable(space: FeatureSpace) -> None:
    """Refuse, without a model, to judge what cannot be judged.

    Raises:
        WrongUsage: Nothing is predicted.
    """
    if space.target is None:
        raise WrongUsage(
            "An evaluation is of a model that predicts a class or a number. Leave out --evaluate."
        )


def plan_evaluation(
    space: FeatureSpace, predictor: Any, groups: Sequence[Subgroups] = ()
) -> EvaluationPlan:
    """Return what is counted to judge a model.

    Raises:
        WrongUsage: The model is neither of shape functions nor of trees, or too large for a query.
    """
    names = {column.name for column in space.columns}
    extra = tuple(one.column for one in groups if one.column.name not in names)
    others = (*space.columns[len(space.features) :], *extra)
    return EvaluationPlan(space, extra, tuple(groups), _choose_counter(predictor, others))


def _choose_counter(predictor: Any, others: Sequence[CodedColumn]) -> PredictionCounter:
    """Return what counts rows by predictions; `others` are columns that do not predict."""
    if isinstance(predictor, TreeModel):
        return _weigh_leaves(predictor)
    if not isinstance(predictor, AdditiveModel):
        raise WrongUsage(
            "An evaluation needs a model of shape functions or of trees. Leave out --evaluate, or choose `boosting`."
        )
    if predictor.link == "softmax":
        return ShapeChoice((*_measure_distances(predictor), *(None for _ in others)))
    weights, cuts = (
        _weigh_chances(predictor) if predictor.link == "logistic" else _weigh_numbers(predictor)
    )
    zeros = [np.zeros(column.size, np.int64) for column in others]
    return ShapeScores((*weights, *zeros), cuts)


def _weigh_leaves(model: TreeModel) -> LeafScores:
    """Return the weights of leaves: chances in whole numbers, and where buckets of their sum begin.

    As in predictions, the first of equally likely classes is predicted.
    """
    classes = len(model.space.classes)
    wanted = slice(1, 2) if classes == 2 else slice(None)
    weights = [_round_weights(one.chances[:, wanted] * _SCALE) for one in model.trees]
    if sum(one.size for one in weights) > _MOST_WEIGHTS:
        raise WrongUsage(
            "The trees have too many leaves and classes to be judged by one query. Choose fewer `trees`, or less `depth`."
        )
    cuts = _round_weights(np.array(CHANCES) * _SCALE * len(model.trees))
    cuts[MIDDLE - 1] += 1
    return LeafScores(tuple(one.tree for one in model.trees), tuple(weights), tuple(cuts.tolist()))


def _measure_distances(model: AdditiveModel) -> list[Counts]:
    """Return how far each code is from each class: the class that is nearest in all has the largest score."""
    shapes = [_round_weights(-shape * _SCALE) for shape in model.shapes]
    shapes[0] = shapes[0] + _round_weights(-model.intercept * _SCALE)
    return shapes


def _weigh_chances(model: AdditiveModel) -> tuple[list[Counts], tuple[int, ...]]:
    """Return weights of codes, and the scores at which the buckets of `CHANCES` begin.

    A chance of one half is that of a score of 0, at which the first class is still predicted.
    """
    weights = [_round_weights(shape[:, 0] * _SCALE) for shape in model.shapes]
    chances = np.array(CHANCES)
    cuts = _round_weights((np.log(chances / (1 - chances)) - model.intercept[0]) * _SCALE)
    cuts[MIDDLE - 1] += 1
    return weights, tuple(cuts.tolist())


def _weigh_numbers(model: AdditiveModel) -> tuple[list[Counts], tuple[int, ...]]:
    """Return weights of codes, and the scores that divide the range of the target evenly."""
    numbers = model.space.target_numbers
    low, high = float(numbers.min()), float(numbers.max())
    fine = LEVELS * _FINE
    one = ((high - low) or 1.0) / (fine * _WIDTH)
    weights = [_round_weights(shape[:, 0] / one) for shape in model.shapes]
    start = int(_round_weights((low - model.intercept) / one)[0])
    return weights, tuple(start + place * _WIDTH for place in range(1, fine))


def _round_weights(weights: Floats) -> Counts:
    return np.rint(np.clip(weights, -_FARTHEST, _FARTHEST)).astype(np.int64)
