"""A private classifier in fifty lines, and a recipe that trains it: what `discreet.learn` will offer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray


@dataclass(frozen=True)
class NoisyNaiveBayes:
    """Naive Bayes from noisy counts: the outcome's, and those of each feature with the outcome."""

    domains: Mapping[str, Sequence[str]]
    target: str
    counts: Mapping[str, NDArray[np.float64]]

    @property
    def feature_names(self) -> tuple[str, ...]:
        return tuple(name for name in self.domains if name != self.target)

    @property
    def classes(self) -> Sequence[str]:
        return self.domains[self.target]

    def predict_proba(self, rows: Any, /) -> NDArray[np.float64]:
        outcome = np.maximum(self.counts[self.target], 1.0)
        score = np.repeat(np.log(outcome / outcome.sum())[None, :], rows.num_rows, axis=0)
        for name in self.feature_names:
            cells = np.maximum(self.counts[name], 1.0)
            score += np.log(cells / cells.sum(axis=0))[find_codes(self.domains[name], rows[name])]
        chances = np.exp(score - score.max(axis=1, keepdims=True))
        return chances / chances.sum(axis=1, keepdims=True)


@dataclass(frozen=True)
class NoisyNaiveBayesRecipe:
    """Trains `NoisyNaiveBayes` with epsilon split evenly among its tables of counts."""

    domains: Mapping[str, Sequence[str]]
    target: str
    epsilon: float

    def __call__(self, rows: Any, seed: int, /) -> NoisyNaiveBayes:
        rng = np.random.default_rng(seed)
        scale = len(self.domains) / self.epsilon
        outcome = find_codes(self.domains[self.target], rows[self.target])
        many = len(self.domains[self.target])
        counts: dict[str, NDArray[np.float64]] = {}
        for name, domain in self.domains.items():
            codes = find_codes(domain, rows[name])
            exact = np.zeros((len(domain), many))
            np.add.at(exact, (codes, outcome), 1)
            exact = exact.sum(axis=0) if name == self.target else exact
            counts[name] = exact + rng.laplace(0, scale, exact.shape)
        return NoisyNaiveBayes(self.domains, self.target, counts)


def find_codes(domain: Sequence[str], column: Any) -> NDArray[np.int64]:
    found = pc.index_in(pc.cast(column, pa.string()), value_set=pa.array(domain, pa.string()))
    return found.to_numpy().astype(np.int64)


def list_domains(table: Any) -> dict[str, list[str]]:
    return {
        name: sorted(pc.unique(pc.cast(table[name], pa.string())).to_pylist())
        for name in table.column_names
    }
