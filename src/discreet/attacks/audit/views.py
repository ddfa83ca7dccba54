"""Views of outputs: any that distinguishes inputs by more than e^epsilon refutes the claim."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.attacks.audit.outputs import Runs

View = tuple[str, NDArray[Any], NDArray[Any]]

# The names of views, and what they find.
VIEWS = {
    "values": "the size of the output, or which outputs come out",
    "refusals": "whether there is an output at all",
    "low bits": "the lowest bits of the output's float",
    "reachable": "which floats the noise can reach from either input",
    "fractions": "the digits behind the point",
    "remainders": "the output's remainder",
    "directions": "a direction in which rows of numbers differ",
}
_DIVISORS = (2, 10)
# More different fractions than this in 1 000 outputs are noise of their own.
_FEW_FRACTIONS = 50
_NO_BITS = 5000  # the place of the lowest bit of 0, which has none


def views_of(
    runs: Runs, *, inputs: tuple[float, float] | None, scale: float | None
) -> Iterator[View]:
    """Yield each view of the outputs as two arrays of labels.

    `inputs` are the two numbers that noise was added to, and `scale` that of Laplace noise, where
    these are known: they say which floats can come out.
    """
    if runs.is_vector:
        yield from _views_of_rows(runs)
        return
    yield "values", runs.first, runs.second
    if runs.refusals is not None:
        yield "refusals", *runs.refusals
    if runs.is_numeric:
        yield from _views_of_numbers(runs, inputs, scale)


def _views_of_numbers(
    runs: Runs, inputs: tuple[float, float] | None, scale: float | None
) -> Iterator[View]:
    # What is missing or infinite has no bits; the values themselves show it.
    first, second = (
        part[np.isfinite(part)] for part in (runs.first.astype(float), runs.second.astype(float))
    )
    if not first.size or not second.size:
        return
    if _is_whole(first) and _is_whole(second):
        for divisor in _DIVISORS:
            yield "remainders", first % divisor, second % divisor
        return
    yield "low bits", lowest_bits(first), lowest_bits(second)
    fractions = first % 1, second % 1
    if max(np.unique(part[:1000]).size for part in fractions) <= _FEW_FRACTIONS:
        yield "fractions", *fractions
    for center in inputs if inputs is not None and scale is not None else ():
        reached = [is_reachable(part, center=center, scale=scale or 1) for part in (first, second)]
        yield "reachable", reached[0], reached[1]


def lowest_bits(values: NDArray[np.float64]) -> NDArray[np.int64]:
    """Return the exponent of the lowest bit that is set in each float.

    Noise that is drawn as a float near 0 has bits that are lost when 1 is added to it: whether they
    are there distinguishes the inputs (Mironov 2012).

    >>> lowest_bits(np.array([1.0, 0.75, 1 + 2**-52])).tolist()
    [0, -2, -52]
    """
    fraction, exponent = np.frexp(np.where(np.isfinite(values), values, 0.0))
    whole = np.abs(np.ldexp(fraction, 53)).astype(np.int64)
    lowest = whole & -whole
    place = np.where(lowest > 0, np.bitwise_count(lowest - 1).astype(np.int64), 0)
    found = exponent.astype(np.int64) - 53 + place
    return np.where(whole == 0, _NO_BITS, found)


def is_reachable(values: NDArray[np.float64], *, center: float, scale: float) -> NDArray[np.bool_]:
    """Return which floats `center` plus naive Laplace noise of `scale` can be.

    Such noise is ± scale · ln of one of the 2^53 floats that a generator draws; from another center
    most sums are in between (Mironov 2012, section 4.2).
    """
    steps = np.rint(np.exp(-np.abs(values - center) / scale) * 2.0**53)
    found = np.zeros(values.shape, np.bool_)
    for offset in range(-3, 4):
        noise = scale * _exact_logarithms((steps + offset) / 2.0**53)
        found |= (center + noise == values) | (center - noise == values)
    return found


def _exact_logarithms(drawn: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return logarithms as generators take them: numpy's own differ in the last bit."""
    return np.array([math.log(value) if value > 0 else math.inf for value in drawn.tolist()])


def _views_of_rows(runs: Runs) -> Iterator[View]:
    """Yield each column, and a direction, chosen by a third of the runs, that distinguishes the inputs."""
    for place in range(runs.first.shape[1]):
        yield "values", runs.first[:, place], runs.second[:, place]
    third = min(len(runs.first), len(runs.second)) // 3
    weights = _discriminant_direction(
        _add_squares(runs.first[:third]), _add_squares(runs.second[:third])
    )
    rest = [_add_squares(part[third:]) @ weights for part in (runs.first, runs.second)]
    yield "directions", rest[0], rest[1]


def _add_squares(rows: NDArray[Any]) -> NDArray[np.float64]:
    """Return rows with their squares, so that a change of spread is a direction, too."""
    values = np.nan_to_num(rows.astype(np.float64), posinf=1e300, neginf=-1e300)
    return np.hstack([values, values**2]) if np.abs(values).max(initial=0) < 1e100 else values


def _discriminant_direction(
    first: NDArray[np.float64], second: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return Fisher's linear discriminant."""
    spread = (np.cov(first, rowvar=False) + np.cov(second, rowvar=False)) / 2
    ridge = 1e-9 * float(np.trace(spread)) + 1e-12
    gap = first.mean(axis=0) - second.mean(axis=0)
    weights: NDArray[np.float64] = np.linalg.solve(spread + ridge * np.eye(gap.size), gap)
    return weights


def _is_whole(values: NDArray[np.float64]) -> bool:
    return bool((values == np.rint(values)).all())
