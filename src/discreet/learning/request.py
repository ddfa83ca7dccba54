"""A request for a model: all that decides it besides the data, and what it costs."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import numpy as np

from discreet.dp.budget import Price
from discreet.dp.noise import Noise
from discreet.errors import InvalidBudget, WrongUsage
from discreet.learning.features import FeatureSpace, Task
from discreet.learning.price import open_spending, price_spending
from discreet.learning.selection import (
    LearnerCandidate,
    SelectedModel,
    SelectionPrice,
    learn_best,
    price_selection,
    require_selectable,
)
from discreet.learning.training import Training, TrainingCounts
from discreet.option_values import read_options
from discreet.registry import LEARNERS, LearnerSpec

DEFAULT_DELTA = "1e-9"
_DEFAULTS: dict[Task, str] = {
    "classification": "boosting",
    "regression": "linear",
    "clustering": "k-means",
    "components": "pca",
}


@dataclass(frozen=True)
class LearningRequest:
    """A model that is asked for.

    Attributes:
        space: The features and the target.
        learner: How it is learned.
        epsilon: What it may cost.
        delta: The chance that Gaussian noise does not cover; 0 for noise without it.
        options: The learner's options, checked.
        candidates: What the best is selected from, at the same price in all; none where `learner` alone is asked for.
    """

    space: FeatureSpace
    learner: LearnerSpec
    epsilon: Fraction
    delta: Fraction
    options: Mapping[str, Any] = field(default_factory=dict[str, Any])
    candidates: tuple[LearnerCandidate, ...] = ()

    def __post_init__(self) -> None:
        if self.epsilon <= 0:
            raise InvalidBudget("A model needs an epsilon above 0, such as 1.")
        if not 0 <= self.delta < 1:
            raise InvalidBudget("A delta is from 0 to below 1, such as 1e-9.")
        for learner in (self.learner, *(one.learner for one in self.candidates)):
            self._require_fitting(learner)

    def _require_fitting(self, learner: LearnerSpec) -> None:
        if self.delta == 0 and not learner.is_pure:
            raise WrongUsage(f"The learner '{learner.name}' needs a delta above 0, such as 1e-9.")
        if self.space.task not in learner.tasks:
            fitting = [one.name for one in LEARNERS.all() if self.space.task in one.tasks]
            raise WrongUsage(
                f"The learner '{learner.name}' does not do {self.space.task}. Choose {', '.join(fitting)}."
            )
        if learner.check is not None:
            learner.check(self.space)

    @property
    def price(self) -> Price:
        """What the ledger is charged."""
        if self.candidates:
            return self.selection.whole
        return price_spending(self.epsilon, self.delta)

    @property
    def selection(self) -> SelectionPrice:
        """What a run may cost, where the best of several candidates is asked for."""
        return price_selection(self.epsilon, self.delta, len(self.candidates))

    def key(self) -> str:
        """Return one text for all that decides the model; equal requests are paid once."""
        content: dict[str, Any] = {
            "learn": 1,
            "space": self.space.to_content(),
            "learner": self.learner.name,
            "options": {name: str(value) for name, value in self.options.items()},
            "epsilon": str(self.epsilon),
            "delta": str(self.delta),
        }
        if self.candidates:
            content["candidates"] = [one.to_content() for one in self.candidates]
        return json.dumps(content, sort_keys=True, ensure_ascii=True, separators=(",", ":"))

    def fit_model(self, counts: TrainingCounts, *, seed: int) -> SelectedModel:
        """Return the model that is learned, or the best of the candidates, and how it was learned."""
        if self.candidates:
            return learn_best(self.candidates, self.selection, counts, self.space, seed=seed)
        return SelectedModel(
            LearnerCandidate(self.learner, self.options), self.fit(counts, seed=seed)
        )

    def fit(self, counts: TrainingCounts, *, seed: int, noise: Noise | None = None) -> Any:
        """Return the predictor that is learned from `counts`, for the price of the request."""
        spending = open_spending(
            self.epsilon,
            self.delta,
            sensitivity=counts.sensitivity,
            one=counts.one,
            noise=noise,
        )
        chance = np.random.default_rng(seed)
        training = Training(counts, self.space, spending, self.epsilon, chance)
        return self.learner.fit(training, **self.options)


def choose_learner(name: str | None, task: Task) -> LearnerSpec:
    """Return a learner by its name, by default the one for the task.

    Raises:
        WrongUsage: There is no such learner.
    """
    return LEARNERS.get(name or _DEFAULTS[task])


def read_candidates(
    stated: Sequence[Mapping[str, object]],
    space: FeatureSpace,
    learner: str | None,
    shared: Mapping[str, object],
) -> tuple[LearnerCandidate, ...]:
    """Return the candidates that are stated: options of a learner each, or of another one under `learner`.

    Raises:
        WrongUsage: A candidate cannot be compared with others, or an option is unknown.
    """
    found: list[LearnerCandidate] = []
    for one in stated:
        own = {name: value for name, value in one.items() if name != "learner"}
        chosen = choose_learner(str(one.get("learner") or learner or "") or None, space.task)
        found.append(LearnerCandidate(chosen, read_learner_options(chosen, {**shared, **own})))
    require_selectable(found, space)
    return tuple(found)


def read_learner_options(learner: LearnerSpec, stated: Mapping[str, object]) -> dict[str, Any]:
    """Return the options that are stated, checked; those that are not are the learner's own choice.

    Raises:
        WrongUsage: An option is unknown, or not of its kind.
    """
    known = {option.name: option for option in learner.options}
    given = {name: value for name, value in stated.items() if value is not None}
    try:
        found = read_options(known, given, owner=f"learner {learner.name}")
    except ValueError as error:
        raise WrongUsage(str(error)) from None
    return {name: value for name, value in found.items() if value is not None}
