"""Mechanisms as black boxes: run many times on an input, in one go where they can."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from discreet.errors import WrongUsage, did_you_mean


class Mechanism(Protocol):
    """Whatever gives an output for a table or a number; it may raise, which is an output, too."""

    def __call__(self, given: Any, /) -> object:
        """Return one output."""
        ...


@runtime_checkable
class RepeatableMechanism(Protocol):
    """A mechanism that runs many times at once."""

    def many(self, given: Any, runs: int) -> NDArray[Any]:
        """Return the outputs of `runs` runs."""
        ...


@dataclass(frozen=True)
class BuiltinMechanism:
    """One of discreet's mechanisms on a number, with real noise."""

    name: str
    _many: Callable[[int, int], NDArray[Any]]

    def __call__(self, given: Any, /) -> object:
        """Return one output."""
        return self.many(given, 1)[0]

    def many(self, given: Any, runs: int) -> NDArray[Any]:
        """Return the outputs of `runs` runs."""
        return self._many(int(given), runs)


def run_mechanism(
    mechanism: Mechanism, given: Any, *, runs: int
) -> Sequence[object] | NDArray[Any]:
    """Return the outputs of `runs` runs on one input; an error is an output.

    >>> run_mechanism(lambda value: 1 / value, 0, runs=2)
    [ZeroDivisionError('division by zero'), ZeroDivisionError('division by zero')]
    """
    if isinstance(mechanism, RepeatableMechanism):
        return mechanism.many(given, runs)
    outputs: list[object] = []
    for _ in range(runs):
        try:
            outputs.append(mechanism(given))
        except Exception as error:  # noqa: BLE001 -- whatever it raises, an outsider sees it
            outputs.append(error)
    return outputs


BUILTIN_MECHANISMS = ("laplace", "gaussian", "response", "sum")


def make_builtin_mechanism(
    name: str, *, epsilon: Fraction, delta: Fraction = Fraction(0)
) -> BuiltinMechanism:
    """Return one of discreet's mechanisms as it answers a count, a bit or a sum, with real noise.

    Raises:
        WrongUsage: There is no such mechanism, or it needs a delta.

    >>> make_builtin_mechanism("laplace", epsilon=Fraction(1)).many(5, 3).size
    3
    """
    makers = {
        "laplace": _make_laplace,
        "gaussian": _make_gaussian,
        "response": _make_randomized_response,
        "sum": _sum,
    }
    if name not in makers:
        raise WrongUsage(f"There is no mechanism '{name}'.{did_you_mean(name, makers)}")
    return BuiltinMechanism(name, makers[name](epsilon, delta))


def _make_laplace(epsilon: Fraction, _: Fraction) -> Callable[[int, int], NDArray[Any]]:
    from discreet.dp.mechanisms.laplace import laplace_noisy_vector

    return lambda value, runs: laplace_noisy_vector(
        np.full(runs, value), epsilon=epsilon, sensitivity=1
    )[0]


def _make_gaussian(epsilon: Fraction, delta: Fraction) -> Callable[[int, int], NDArray[Any]]:
    from discreet.dp.accounting.conversion import gaussian_scale
    from discreet.dp.mechanisms.gaussian import gaussian_vector_of_scale

    if not delta:
        raise WrongUsage("Gaussian noise needs a delta: --delta 1e-6.")
    scale = gaussian_scale(Fraction(1), epsilon=epsilon, delta=delta)
    return lambda value, runs: gaussian_vector_of_scale(
        np.full(runs, value), scale=scale, squared_sensitivity=1
    )[0]


def _make_randomized_response(epsilon: Fraction, _: Fraction) -> Callable[[int, int], NDArray[Any]]:
    from discreet.dp.mechanisms.response import randomize_among, truth_for

    truth = truth_for(epsilon)
    return lambda value, runs: randomize_among(np.full(runs, value % 2), k=2, truth=truth)[0]


def _sum(epsilon: Fraction, _: Fraction) -> Callable[[int, int], NDArray[Any]]:
    """Sums of numbers from 0 to 1 in fixed point, as reals are answered."""
    from discreet.dp.mechanisms.fixed_point import FixedPoint
    from discreet.dp.mechanisms.laplace import laplace_noisy_vector

    steps = FixedPoint(Fraction(0), Fraction(1), Fraction(1, 1024))

    def many(value: int, runs: int) -> NDArray[Any]:
        summed = np.full(runs, value * steps.most)
        return laplace_noisy_vector(summed, epsilon=epsilon, sensitivity=steps.largest)[0] / 1024

    return many
