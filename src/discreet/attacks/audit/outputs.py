"""Outputs of many runs as arrays: numbers, texts, vectors, and refusals, which are outputs too."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from discreet.errors import WrongUsage

Outputs: TypeAlias = Sequence[object] | NDArray[Any]

# What is written where no output came, and no error either.
MISSING = "missing"


@dataclass(frozen=True)
class Runs:
    """The outputs of two inputs, a run each, in one form.

    Attributes:
        first, second: Numbers, NaN where there was none; or texts; or rows of numbers.
        refusals: For each of the two, what came instead of an output, empty where one came.
    """

    first: NDArray[Any]
    second: NDArray[Any]
    refusals: tuple[NDArray[np.str_], NDArray[np.str_]] | None = None

    @property
    def is_numeric(self) -> bool:
        """Whether outputs are numbers, or rows of them."""
        return self.first.dtype.kind in "biuf"

    @property
    def is_vector(self) -> bool:
        """Whether an output is a row of several numbers."""
        return self.first.ndim == 2

    @property
    def count(self) -> int:
        """How many runs there are in all."""
        return len(self.first) + len(self.second)


def read_runs(first: Outputs, second: Outputs) -> Runs:
    """Return the outputs of two inputs in one form.

    >>> runs = read_runs([1, 2.5, None], [2, ValueError(), 3])
    >>> runs.first.tolist(), runs.refusals[1].tolist()
    ([1.0, 2.5, nan], ['', 'ValueError', ''])
    """
    if not len(first) or not len(second):
        raise WrongUsage("There are no outputs of one input. Run the mechanism on both.")
    refusals = _refusal_names(first), _refusal_names(second)
    one, other = _read_numbers(first), _read_numbers(second)
    found = refusals if any((part != "").any() for part in refusals) else None
    if one is not None and other is not None and one.shape[1:] == other.shape[1:]:
        return Runs(one, other, found)
    texts = [np.array([_output_text(value) for value in part], np.str_) for part in (first, second)]
    return Runs(texts[0], texts[1], found)


def _refusal_names(outputs: Outputs) -> NDArray[np.str_]:
    if isinstance(outputs, np.ndarray) and outputs.dtype.kind in "biufU":
        return np.zeros(len(outputs), np.str_)
    return np.array([_refusal_name(value) for value in outputs], np.str_)


def _refusal_name(value: object) -> str:
    if isinstance(value, BaseException):
        return type(value).__name__
    return MISSING if value is None else ""


def _read_numbers(outputs: Outputs) -> NDArray[Any] | None:
    """Return the outputs as an array of numbers, or None where some are not."""
    if not isinstance(outputs, np.ndarray):
        try:
            outputs = np.array([_read_number(value) for value in outputs])
        except (ValueError, TypeError):
            return None
    if outputs.dtype.kind not in "biuf" or outputs.ndim not in (1, 2):
        return None
    return outputs[:, 0] if outputs.ndim == 2 and outputs.shape[1] == 1 else outputs


def _read_number(value: object) -> Any:
    if isinstance(value, str):
        raise TypeError
    if _refusal_name(value):
        return float("nan")
    if isinstance(value, Mapping):
        return [_read_number(item) for item in value.values()]
    if isinstance(value, Sequence):
        return [_read_number(item) for item in value]
    if isinstance(value, (bool, int, float, np.generic, np.ndarray)):
        return value
    return float(value)  # pyright: ignore[reportArgumentType] -- fractions and decimals


def _output_text(value: object) -> str:
    return _refusal_name(value) or str(value)
