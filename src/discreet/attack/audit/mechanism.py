"""Mechanisms as black boxes: run many times on an input, in one go where they can."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

import numpy as np

from discreet.errors import WrongUsage, did_you_mean

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray


class Mechanism(Protocol):
    """Whatever gives an output for a table or a number; it may raise, which is an output, too."""

    def __call__(self, given: Any, /) -> object:
        """Return one output."""
        ...


@runtime_checkable
class Repeated(Protocol):
    """A mechanism that runs many times at once."""

    def many(self, given: Any, runs: int) -> NDArray[Any]:
        """Return the outputs of `runs` runs."""
        ...


@dataclass(frozen=True)
class Own:
    """One of discreet's mechanisms on a number, with real noise."""

    name: str
    _many: Callable[[int, int], NDArray[Any]]

    def __call__(self, given: Any, /) -> object:
        """Return one output."""
        return self.many(given, 1)[0]

    def many(self, given: Any, runs: int) -> NDArray[Any]:
        """Return the outputs of `runs` runs."""
        return self._many(int(given), runs)


def run(mechanism: Mechanism, given: Any, *, runs: int) -> Sequence[object] | NDArray[Any]:
    """Return the outputs of `runs` runs on one input; an error is an output.

    >>> run(lambda value: 1 / value, 0, runs=2)
    [ZeroDivisionError('division by zero'), ZeroDivisionError('division by zero')]
    """
    if isinstance(mechanism, Repeated):
        return mechanism.many(given, runs)
    outputs: list[object] = []
    for _ in range(runs):
        try:
            outputs.append(mechanism(given))
        except Exception as error:  # noqa: BLE001 -- whatever it raises, an outsider sees it
            outputs.append(error)
    return outputs


OWN = ("laplace", "gaussian", "response", "sum")


def own(name: str, *, epsilon: Fraction, delta: Fraction = Fraction(0)) -> Own:
    """Return one of discreet's mechanisms as it answers a count, a bit or a sum, with real noise.

    Raises:
        WrongUsage: There is no such mechanism, or it needs a delta.

    >>> own("laplace", epsilon=Fraction(1)).many(5, 3).size
    3
    """
    makers = {"laplace": _laplace, "gaussian": _gaussian, "response": _response, "sum": _sum}
    if name not in makers:
        raise WrongUsage(f"There is no mechanism '{name}'.{did_you_mean(name, makers)}")
    return Own(name, makers[name](epsilon, delta))


def _laplace(epsilon: Fraction, _: Fraction) -> Callable[[int, int], NDArray[Any]]:
    from discreet.dp.mechanisms.laplace import noisy_vector

    return lambda value, runs: noisy_vector(np.full(runs, value), epsilon=epsilon, sensitivity=1)[0]


def _gaussian(epsilon: Fraction, delta: Fraction) -> Callable[[int, int], NDArray[Any]]:
    from discreet.dp.accounting.conversion import gaussian_scale
    from discreet.dp.mechanisms.gaussian import noisy_vector_of_scale

    if not delta:
        raise WrongUsage("Gaussian noise needs a delta: --delta 1e-6.")
    scale = gaussian_scale(Fraction(1), epsilon=epsilon, delta=delta)
    return lambda value, runs: noisy_vector_of_scale(
        np.full(runs, value), scale=scale, squared_sensitivity=1
    )[0]


def _response(epsilon: Fraction, _: Fraction) -> Callable[[int, int], NDArray[Any]]:
    from discreet.dp.mechanisms.response import respond_among, truth_for

    truth = truth_for(epsilon)
    return lambda value, runs: respond_among(np.full(runs, value % 2), k=2, truth=truth)[0]


def _sum(epsilon: Fraction, _: Fraction) -> Callable[[int, int], NDArray[Any]]:
    """Sums of numbers from 0 to 1 in fixed point, as reals are answered."""
    from discreet.dp.mechanisms.fixed_point import FixedPoint
    from discreet.dp.mechanisms.laplace import noisy_vector

    steps = FixedPoint(Fraction(0), Fraction(1), Fraction(1, 1024))

    def many(value: int, runs: int) -> NDArray[Any]:
        summed = np.full(runs, value * steps.most)
        return noisy_vector(summed, epsilon=epsilon, sensitivity=steps.largest)[0] / 1024

    return many
