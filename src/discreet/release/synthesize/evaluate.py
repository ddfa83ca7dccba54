"""How well a model that learned from synthetic rows predicts in the source: scores that an engine adds up.

A logistic regression is trained on synthetic rows, and its weights are whole numbers. The engine adds the
weights of each row's codes and counts rows by their score and by what is to be predicted. These counts get
noise, and everything else follows from them.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Protocol

import numpy as np
from numpy.typing import NDArray

from discreet.dp.spending import PureSpending
from discreet.formatting import format_percent
from discreet.measure.utility.scored_counts import rank_share
from discreet.release.synthesize.fit import minimize_smooth
from discreet.release.synthesize.junction_tree import Floats
from discreet.result import Result

if TYPE_CHECKING:
    from discreet.domain.coded_column import CodedColumn

Rows = NDArray[np.int32]
MOST_ROWS = 50_000  # that a model learns from
BUCKETS = 20  # of scores, each with as many synthetic rows
_SCALE = 1_000  # a weight of 1 as a whole number
_PULL = 1.0  # how strongly weights are drawn to 0, in rows
_STEPS = 200


class ScoredRows(Protocol):
    """What counts rows by their scores, where they are."""

    @property
    def sensitivity(self) -> int:
        """The most that one unit changes the counts."""
        ...

    @property
    def one(self) -> int:
        """What a whole row counts."""
        ...

    def count_scored(
        self,
        weights: Sequence[NDArray[np.int64]],
        cuts: Sequence[int],
        columns: Sequence[tuple[int, ...]],
    ) -> list[NDArray[np.int64]]:
        """Return the counts of each of `columns` by how many of `cuts` a row's score reaches."""
        ...


@dataclass(frozen=True)
class ScoringModel:
    """Weights of codes, and the scores at which buckets end.

    Attributes:
        weights: For each column, the weight of each code; 0 for all codes of the target.
        cuts: Where the next bucket begins, ascending; one of them is 0, where the prediction changes.
        target: The place of the column that is predicted.
        is_positive: Which codes of the target are predicted by a positive score; rows without a value
            of it are not judged.
        question: What is predicted, in words.
    """

    weights: tuple[NDArray[np.int64], ...]
    cuts: tuple[int, ...]
    target: int
    is_positive: NDArray[np.bool_]
    question: str


@dataclass(frozen=True)
class Evaluation(Result):
    """How well a model that was trained on synthetic rows predicts a column of the source.

    `accuracy` is the share of right predictions, `baseline` that of always predicting the more frequent
    answer, `auc` the chance that a row with the answer yes scores above one with no. All are computed from
    noisy counts; `standard_error` is that of the accuracy by noise. `epsilon` is what it cost.
    """

    target: str
    question: str
    accuracy: float
    auc: float
    baseline: float
    standard_error: float
    epsilon: float


def train_scores(rows: Rows, columns: Sequence[CodedColumn], target: int) -> ScoringModel:
    """Return a logistic regression of a column on all others, learned from synthetic rows of codes."""
    column = columns[target]
    rows = rows[rows[:, target] != column.missing][:MOST_ROWS]
    is_positive, question = _divide_values(column, np.bincount(rows[:, target], minlength=1))
    answers = is_positive[rows[:, target]].astype(float)
    sizes = [1 if place == target else one.size for place, one in enumerate(columns)]
    starts = np.cumsum([1, *sizes])[:-1]
    places = rows.astype(np.int64) + starts
    places[:, target] = 0  # the weight that all rows have

    def evaluate(weights: Floats) -> tuple[float, Floats]:
        scores = weights[places].sum(axis=1)
        misfit = _logistic_share(scores) - answers
        gradient = np.bincount(
            places.ravel(), np.repeat(misfit, places.shape[1]), minlength=len(weights)
        )
        pulled = _PULL * weights
        pulled[0] = 0
        loss = np.logaddexp(0, scores).sum() - scores @ answers + 0.5 * pulled @ weights
        return float(loss), gradient + pulled

    found = minimize_smooth(evaluate, np.zeros(1 + sum(sizes)), iterations=_STEPS, tolerance=1e-7)
    whole = np.rint(found * _SCALE).astype(np.int64)
    weights = [
        np.full(column.size, whole[0])
        if place == target
        else whole[starts[place] : starts[place] + one.size]
        for place, one in enumerate(columns)
    ]
    scores = whole[places].sum(axis=1)
    shares = np.arange(1, BUCKETS) / BUCKETS
    cuts = {0, *np.quantile(scores, shares).astype(np.int64).tolist()} if len(scores) else {0}
    return ScoringModel(tuple(weights), tuple(sorted(cuts)), target, is_positive, question)


def judge_scores(
    model: ScoringModel, counter: ScoredRows, *, target: str, epsilon: Fraction
) -> Evaluation:
    """Return how well a model predicts in the source.

    Guarantee: epsilon-DP for a unit that changes the counts by at most the counter's sensitivity: only counts
    with Laplace noise are used.
    """
    budget = PureSpending(epsilon, sensitivity=counter.sensitivity, one=counter.one)
    exact = counter.count_scored(model.weights, model.cuts, [(model.target,)])[0]
    noisy = budget.measure(exact.ravel(), epsilon).reshape(exact.shape)
    return read_evaluation(
        model, noisy, target=target, scale=budget.scale(epsilon), epsilon=float(epsilon)
    )


def read_evaluation(
    model: ScoringModel, counts: Floats, *, target: str, scale: float, epsilon: float
) -> Evaluation:
    """Return what noisy counts say: by bucket of the score, and by code of the target.

    Args:
        model: What was judged.
        counts: Rows by bucket and by the target's code.
        target: The column that is predicted.
        scale: The standard error of a count.
        epsilon: What the counts cost.
    """
    judged = counts[:, : len(model.is_positive)]
    yes = judged[:, model.is_positive].sum(axis=1)
    no = judged[:, ~model.is_positive].sum(axis=1)
    total = max(1.0, float(yes.sum() + no.sum()))
    above = np.array([*(cut >= 0 for cut in model.cuts)])
    is_above = np.array([False, *above])
    right = float(yes[is_above].sum() + no[~is_above].sum())
    ranked = rank_share(yes, no)
    cells = judged.size
    return Evaluation(
        target,
        model.question,
        accuracy=_clip_share(right / total),
        auc=0.5 if ranked is None else _clip_share(ranked),
        baseline=_clip_share(max(float(yes.sum()), float(no.sum())) / total),
        standard_error=min(1.0, scale * math.sqrt(cells) / total),
        epsilon=epsilon,
    )


def describe_evaluation(found: Evaluation) -> str:
    """Return an evaluation in one sentence.

    >>> found = Evaluation("ill", "ill = yes", 0.851, 0.903, 0.75, 0.004, 0.1)
    >>> describe_evaluation(found).partition(":")[0]
    "A model of the synthetic rows predicts 'ill = yes' in the source"
    """
    return (
        f"A model of the synthetic rows predicts '{found.question}' in the source: "
        f"{format_percent(found.accuracy)} right ({format_percent(found.baseline)} by always giving the more "
        f"frequent answer), AUC {found.auc:.3f}, ± {found.standard_error:.2g} by noise, for epsilon "
        f"{found.epsilon:g}."
    )


def _divide_values(
    column: CodedColumn, counts: NDArray[np.integer]
) -> tuple[NDArray[np.bool_], str]:
    """Return which values are predicted, and the question in words; synthetic rows decide it."""
    size = column.coding.size
    seen = np.zeros(size, np.int64)
    seen[: min(size, len(counts))] = counts[:size]
    names = [str(one) for one in column.coding.representatives()[0].to_pylist()]
    is_positive = np.zeros(size, bool)
    if size == 2:
        is_positive[1] = True
        return is_positive, f"{column.name} = {names[1]}"
    if column.is_ordered:
        half = int(np.searchsorted(np.cumsum(seen), seen.sum() / 2, side="right"))
        first = min(max(1, half), size - 1) if size > 1 else 0
        is_positive[first:] = True
        return is_positive, f"{column.name} ≥ {names[first]}"
    most = int(np.argmax(seen))
    is_positive[most] = True
    return is_positive, f"{column.name} = {names[most]}"


def _logistic_share(scores: Floats) -> Floats:
    return 0.5 * (1 + np.tanh(scores / 2))


def _clip_share(share: float) -> float:
    return min(1.0, max(0.0, share))
