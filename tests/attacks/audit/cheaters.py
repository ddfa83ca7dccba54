"""Mechanisms that claim an epsilon of 1 and cheat, each in its own way, and honest ones."""

from __future__ import annotations

from typing import Any

import numpy as np

_CHANCE = np.random.default_rng(11)


class Many:
    """A mechanism that draws all its runs at once."""

    def __init__(self, draw: Any) -> None:
        self._draw = draw

    def __call__(self, given: Any) -> object:
        return self.many(given, 1)[0]

    def many(self, given: Any, runs: int) -> np.ndarray:
        return self._draw(given, runs)


def whole(scale: float, size: int) -> np.ndarray:
    """Discrete Laplace noise: the difference of two geometric draws."""
    chance = 1 - np.exp(-1 / scale)
    return _CHANCE.geometric(chance, size) - _CHANCE.geometric(chance, size)


honest = Many(lambda value, runs: int(value) + whole(1, runs))
naive_float = Many(lambda value, runs: value + _CHANCE.laplace(0, 1, runs))
half_sensitivity = Many(lambda value, runs: 2 * int(value) + whole(1, runs))
whole_noise_on_reals = Many(lambda value, runs: value * 0.3 + whole(1, runs))
same_seed = Many(lambda value, runs: value + np.random.default_rng(3).laplace(0, 1, runs))
rows_of_two = Many(
    lambda value, runs: np.column_stack([int(value) + whole(2, runs), int(value) + whole(2, runs)])
)
rows_of_two_too_quiet = Many(
    lambda value, runs: np.column_stack([int(value) + whole(1, runs), int(value) + whole(1, runs)])
)

_SEEDED = np.random.default_rng(7)


def seeded_once(value: Any) -> float:
    """Noise from a generator that is seeded when this module is imported."""
    return float(value) + float(_SEEDED.laplace(0, 1))


def constant_noise(value: Any) -> float:
    """Noise from a generator that is seeded in every call."""
    return float(value) + float(np.random.default_rng(5).laplace(0, 1))


def fails_on_gaps(rows: list[Any]) -> int:
    """An honest count, except that a gap raises."""
    return sum(1 for row in rows if abs(row) >= 0) + int(whole(1, 1)[0])


def unclamped_sum(rows: list[Any]) -> float:
    """A sum of values that are said to be from 0 to 1, and are not made so."""
    return sum(float(row or 0) for row in rows) + int(whole(1, 1)[0])


def counts_rows(rows: list[Any]) -> int:
    """An honest count."""
    return len(rows) + int(whole(1, 1)[0])
