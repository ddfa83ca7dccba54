"""What was released: noisy sums with the size of their noise, from which all else follows without the data."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Literal

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from discreet.dp.spending import ZcdpSpending, divide_budget
from discreet.errors import Bug
from discreet.learning.statistics.looks import Look
from discreet.learning.training import TrainingCounts

Floats = NDArray[np.float64]
NoiseShape = Literal["gaussian", "laplace"]
_VERSION = 1


@dataclass(frozen=True)
class NoisySums:
    """A vector of sums over rows, with noise.

    Attributes:
        values: The sums, in rows or in units of rows.
        error: The standard deviation of the noise of each.
        noise: Its shape.
    """

    values: Floats
    error: float
    noise: NoiseShape

    def draw_noise(self, chance: Generator, count: int) -> Floats:
        """Return `count` draws of the same noise, the first axis; they protect nothing."""
        shape = (count, *self.values.shape)
        if self.noise == "gaussian":
            return chance.normal(0.0, self.error, shape)
        return chance.laplace(0.0, self.error / np.sqrt(2), shape)


@dataclass(frozen=True)
class ReleasedSums:
    """All that a statistic was paid for; anybody may have it.

    Attributes:
        parts: The noisy vectors by name.
        seed: A number that follows from them alone, so that the same release gives the same conclusion.
    """

    parts: Mapping[str, NoisySums]
    seed: int

    def __getitem__(self, name: str) -> NoisySums:
        return self.parts[name]

    def start_chance(self) -> Generator:
        """Return the generator that repeats the experiment; its randomness protects nothing."""
        return np.random.default_rng(self.seed)

    @staticmethod
    def from_bytes(content: bytes) -> ReleasedSums:
        """Return what `measure_look` released."""
        found = json.loads(content)
        if found["version"] != _VERSION:
            raise Bug("The ledger has a statistic of another version. Please report it.")
        parts = {
            name: NoisySums(np.array(one["values"], float), float(one["error"]), found["noise"])
            for name, one in found["parts"].items()
        }
        return ReleasedSums(parts, int.from_bytes(hashlib.sha256(content).digest()[:16]))


def measure_look(
    look: Look, counts: TrainingCounts, spending: ZcdpSpending, *, noise: NoiseShape
) -> bytes:
    """Return what is released of a look: each of its vectors with noise, for all that is left to spend.

    Guarantee: that of `spending`. Each part is measured once with the change that it states, for its share.
    """
    exact = look.sum_rows(counts)
    prices = divide_price(look, spending.left)
    parts: dict[str, Any] = {}
    for part, sums, price in zip(look.parts, exact, prices, strict=True):
        noisy = spending.measure(sums.reshape(-1), price, change=part.change)
        parts[part.name] = {
            "values": noisy.reshape(part.shape).tolist(),
            "error": spending.scale(price, change=part.change),
        }
    content = {"version": _VERSION, "noise": noise, "parts": parts}
    return json.dumps(content, allow_nan=False).encode("ascii")


def divide_price(look: Look, amount: Fraction) -> Sequence[Fraction]:
    """Return the price of each part of a look."""
    return divide_budget(amount, [part.weight for part in look.parts])
