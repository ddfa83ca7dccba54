"""Private selection: the best of several candidates by noisy scores, at a price that does not grow with their number."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.dp.accounting.conversion import epsilon_of_rho
from discreet.dp.accounting.exact import floor_to, root_above
from discreet.dp.budget import Price
from discreet.dp.logarithms import PLACES, log_above
from discreet.dp.mechanisms.parameters import noise_or_system
from discreet.dp.noise import Noise
from discreet.dp.spending import PureSpending, RowChange, ZcdpSpending, divide_budget
from discreet.errors import WrongUsage
from discreet.learning.additive import AdditiveModel
from discreet.learning.features import FeatureSpace
from discreet.learning.price import price_spending
from discreet.learning.training import Counts, Training, TrainingCounts
from discreet.registry import LearnerSpec

_SCORING = 0.1  # the share of a run's price for its score
_RUNS = 20  # 1/gamma is so many times the number of candidates
_FULL = 256  # what a row adds to a score whose target is predicted exactly
_UNIT = 2**16  # parts in which a model's score is a whole number
_LEVELS = 32  # of predicted numbers
_PLACES = 15


@dataclass(frozen=True)
class LearnerCandidate:
    """One way to learn.

    Attributes:
        learner: How it is learned.
        options: The learner's options, checked.
    """

    learner: LearnerSpec
    options: Mapping[str, Any]

    def to_content(self) -> dict[str, Any]:
        """Return it in plain values."""
        options = {name: str(value) for name, value in self.options.items()}
        return {"learner": self.learner.name, "options": options}


@dataclass(frozen=True)
class SelectedModel:
    """A predictor, and the candidate that it was learned by."""

    candidate: LearnerCandidate
    predictor: Any


@dataclass(frozen=True)
class SelectionPrice:
    """What a run may cost, so that the best of a random number of runs costs epsilon and delta in all.

    The number of runs K has the logarithmic distribution with the parameter gamma = 1/`inverse`: a chance of k in proportion to
    (1 - gamma)^k / k. That is the truncated negative binomial distribution with eta = 0.

    Guarantee: without a delta each run is epsilon/2-DP, and the best of K is epsilon-DP (Papernot & Steinke 2022,
    Corollary 3 for eta = 0: 2 + eta times a run's epsilon). With a delta each run is rho-zCDP; then the best of K is (a, e)-RDP for every a
    above 1 with e = rho a + rho (b - 1) + ln(1/gamma)/b + ln(E K)/(a - 1) for any b of 1 or more (Theorem 2 there), and
    (epsilon, delta)-DP with epsilon = 2 √rho (√ln(E K/delta) + √ln(1/gamma)), for the best a and b (Mironov 2017,
    Proposition 3). Ties may go to the first run: see `docs/learn/selection.md`.

    Attributes:
        epsilon: What all of it may cost.
        delta: The chance that noise does not cover.
        inverse: 1/gamma, a whole number.
    """

    epsilon: Fraction
    delta: Fraction
    inverse: int

    @property
    def whole(self) -> Price:
        """What the ledger is charged; zCDP has no price for it where there is a delta."""
        if self.delta == 0:
            return price_spending(self.epsilon, self.delta)
        return Price(self.epsilon, self.delta, None, self.delta)

    @property
    def rho(self) -> Fraction:
        """What a run may cost in zCDP, rounded down."""
        spread = log_above(Fraction(self.inverse))
        likely = log_above(self.expected_runs_above / self.delta)
        roots = root_above(likely, places=_PLACES) + root_above(spread, places=_PLACES)
        # The best b is the root of ln(1/gamma)/rho, which is to be 1 or more.
        return floor_to(min((self.epsilon / (2 * roots)) ** 2, Fraction(1)), places=_PLACES)

    @property
    def expected_runs_above(self) -> Fraction:
        """The expected number of runs, rounded up."""
        # A logarithm is at most two steps of its last place above the true one.
        spread = log_above(Fraction(self.inverse)) - Fraction(2, 10**PLACES)
        return (self.inverse - 1) / spread

    @property
    def run_epsilon(self) -> Fraction:
        """The epsilon of one run alone, a public fact that settings may depend on."""
        if self.delta == 0:
            return self.epsilon / 2
        return epsilon_of_rho(self.rho, delta=self.delta)

    def open_run(
        self, *, sensitivity: int, one: int, noise: Noise | None = None
    ) -> tuple[ZcdpSpending, ZcdpSpending]:
        """Return what one run's learner may spend, and what its score may."""
        whole = self.epsilon / 2 if self.delta == 0 else self.rho
        kind = PureSpending if self.delta == 0 else ZcdpSpending
        learning, scoring = (
            kind(part, sensitivity=sensitivity, one=one, noise=noise)
            for part in divide_budget(whole, [1 - _SCORING, _SCORING])
        )
        return learning, scoring


def price_selection(epsilon: Fraction, delta: Fraction, candidates: int) -> SelectionPrice:
    """Return the price of a selection among so many candidates.

    >>> found = price_selection(Fraction(1), Fraction(0), 3)
    >>> found.run_epsilon, round(float(found.expected_runs_above), 1)
    (Fraction(1, 2), 14.4)
    """
    return SelectionPrice(epsilon, delta, _RUNS * candidates)


def draw_runs(inverse: int, *, noise: Noise | None = None) -> int:
    """Return a number k of 1 or more with a chance in proportion to (1 - 1/`inverse`)^k / k, exact.

    A geometric number is accepted with a chance of 1/k; both are decided by whole numbers of the system's randomness.
    """
    chance = noise_or_system(noise)
    while True:
        runs = 1
        while int(chance.uniform(inverse, 1)[0]) != 0:
            runs += 1
        if int(chance.uniform(runs, 1)[0]) == 0:
            return runs


def select_best(
    run: Callable[[], tuple[float, SelectedModel]], runs: int
) -> tuple[float, SelectedModel]:
    """Return the run with the highest score, the first one of those that have the same."""
    best = run()
    for _ in range(runs - 1):
        found = run()
        if found[0] > best[0]:
            best = found
    return best


def learn_best(
    candidates: Sequence[LearnerCandidate],
    price: SelectionPrice,
    counts: TrainingCounts,
    space: FeatureSpace,
    *,
    seed: int,
    noise: Noise | None = None,
) -> SelectedModel:
    """Return the best model of a random number of runs, each of a candidate that is drawn for it.

    Guarantee: that of `price`. All runs are alike: a candidate is drawn, learned, and scored, within the price of a run.
    """
    chance = np.random.default_rng(seed)

    def run() -> tuple[float, SelectedModel]:
        candidate = candidates[secrets.randbelow(len(candidates))]
        learning, scoring = price.open_run(
            sensitivity=counts.sensitivity, one=counts.one, noise=noise
        )
        training = Training(counts, space, learning, price.run_epsilon, chance)
        predictor = candidate.learner.fit(training, **candidate.options)
        return score_model(predictor, counts, scoring), SelectedModel(candidate, predictor)

    return select_best(run, draw_runs(price.inverse, noise=noise))[1]


def score_model(model: AdditiveModel, counts: TrainingCounts, spending: ZcdpSpending) -> float:
    """Return a noisy sum over rows of how well their target is predicted, for all that may be spent.

    Guarantee: that of `spending`. A row adds a whole number from 0 to 256.
    """
    weights, cuts, gains = describe_scoring(model)
    (found,) = counts.count_scored(weights, cuts, [(len(model.space.features),)])
    total = int((found * gains).sum())
    change = RowChange(_FULL, _FULL**2)
    return float(spending.measure([total], spending.left, change=change)[0])


def describe_scoring(model: AdditiveModel) -> tuple[list[Counts], list[int], Counts]:
    """Return the weights of codes, the cuts of their sum, and what a row adds by bucket of the sum and code of the target.

    Of two classes the right one adds 256; of numbers, 256 less the distance as a part of the range.
    """
    space = model.space
    if space.task == "regression":
        numbers = space.target_numbers
        low, high = float(numbers.min()), float(numbers.max())
        width = max(high - low, 1e-300)
        scale = _UNIT / width
        ends = np.linspace(low, high, _LEVELS + 1)[1:-1]
        start = float(model.intercept[0])
        cuts = np.unique(np.rint((ends - start) * scale).astype(np.int64))
        middles = np.linspace(low, high, len(cuts) + 1)
        apart = np.abs(middles[:, None] - numbers[None, :]) / width
        gains = np.rint(_FULL * (1 - apart)).astype(np.int64)
        shapes = [shape[:, 0] * scale for shape in model.shapes]
    else:
        start, shapes = _contrast_classes(model)
        cuts = np.rint([-start * _UNIT]).astype(np.int64)
        gains = np.eye(2, dtype=np.int64) * _FULL
        shapes = [shape * _UNIT for shape in shapes]
    # Rows whose target is missing, the last code, add nothing.
    whole = np.concatenate([gains, np.zeros((len(gains), 1), np.int64)], axis=1)
    target = np.zeros(space.columns[-1].size, np.int64)
    limit = float(1 << 40)
    weights = [np.rint(np.clip(shape, -limit, limit)).astype(np.int64) for shape in shapes]
    return [*weights, target], cuts.tolist(), whole


def _contrast_classes(model: AdditiveModel) -> tuple[float, list[NDArray[np.float64]]]:
    """Return by how much the second class's score is above the first one's: at the start, and for each code."""
    if model.link == "logistic":
        return float(model.intercept[0]), [shape[:, 0] for shape in model.shapes]
    start = float(model.intercept[1] - model.intercept[0])
    return start, [shape[:, 1] - shape[:, 0] for shape in model.shapes]


def require_selectable(candidates: Sequence[LearnerCandidate], space: FeatureSpace) -> None:
    """Refuse candidates that cannot be scored by counts of the engine.

    Raises:
        WrongUsage: A candidate is no sum of shape functions, or there are more than two classes.
    """
    if len(candidates) < 2:
        raise WrongUsage("There is nothing to select from. Give two candidates or more.")
    for one in candidates:
        if one.learner.model != "additive":
            raise WrongUsage(
                f"Candidates are compared by counts of the engine, which a model by '{one.learner.name}' does not "
                "allow: it is no sum of shape functions. Learn it alone."
            )
    if space.task != "regression" and len(space.classes) != 2:
        raise WrongUsage(
            "Candidates are compared for a number or for two classes. Learn other models one by one."
        )
