"""Noise for tests: the exact samplers, drawn for many runs at once."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from discreet.dp.exact import discrete_gaussian, discrete_laplace, uniform
from discreet.dp.noise import sample_exponential, sample_permute_and_flip, score_gaps

if TYPE_CHECKING:
    from fractions import Fraction

    from numpy.typing import NDArray

AT_ONCE = 200_000


@dataclass
class ManyRuns:
    """Hands out noise from a stock; a choice is made `runs` times, and all of them are kept."""

    runs: int = 1
    chosen: NDArray[np.int64] = field(default_factory=lambda: np.zeros(0, np.int64))
    _stock: dict[tuple[Any, int, int], tuple[NDArray[np.int64], int]] = field(default_factory=dict)

    def laplace(self, scale: Fraction, count: int) -> NDArray[np.int64]:
        return self._take(discrete_laplace, scale, count)

    def gaussian(self, scale: Fraction, count: int) -> NDArray[np.int64]:
        return self._take(discrete_gaussian, scale * scale, count)

    def uniform(self, below: int, count: int) -> NDArray[Any]:
        return uniform(below, count)

    def choose(self, scores: NDArray[Any], *, epsilon: Fraction, sensitivity: Fraction) -> int:
        rate = epsilon / (2 * sensitivity)
        self.chosen = sample_permute_and_flip(score_gaps(scores), rate, self.runs)
        return int(self.chosen[0])

    def choose_exponentially(
        self, scores: NDArray[Any], *, epsilon: Fraction, sensitivity: Fraction
    ) -> int:
        rate = epsilon / (2 * sensitivity)
        self.chosen = sample_exponential(score_gaps(scores), rate, self.runs)
        return int(self.chosen[0])

    def _take(self, draw: Any, parameter: Fraction, count: int) -> NDArray[np.int64]:
        key = (draw, parameter.numerator, parameter.denominator)
        stock, used = self._stock.get(key, (np.zeros(0, np.int64), 0))
        if stock.size < used + count:
            stock, used = draw(parameter, max(AT_ONCE, count)), 0
        self._stock[key] = stock, used + count
        return stock[used : used + count]


class NoNoise:
    """Adds nothing and chooses the best: what a mechanism would say if it were exact."""

    def laplace(self, scale: Fraction, count: int) -> NDArray[np.int64]:
        return np.zeros(count, np.int64)

    def gaussian(self, scale: Fraction, count: int) -> NDArray[np.int64]:
        return np.zeros(count, np.int64)

    def uniform(self, below: int, count: int) -> NDArray[Any]:
        return np.zeros(count, np.int64)

    def choose(self, scores: NDArray[Any], *, epsilon: Fraction, sensitivity: Fraction) -> int:
        return int(np.argmax(scores))

    def choose_each(
        self, scores: NDArray[Any], *, epsilon: Fraction, sensitivity: Fraction
    ) -> NDArray[np.int64]:
        return np.argmax(scores, axis=1)

    choose_exponentially = choose
