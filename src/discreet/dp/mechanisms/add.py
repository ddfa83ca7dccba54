"""Noise is added in exact integers; what does not fit into 64 bits stops at their end."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.errors import InvalidMechanism

_LEAST, _MOST = -(2**63), 2**63 - 1


def as_integers(values: Sequence[int] | NDArray[Any]) -> NDArray[Any]:
    """Return `values` as an array of int64, or of Python's integers where one is larger.

    >>> as_integers([1, 2]).dtype, as_integers([2**70]).dtype
    (dtype('int64'), dtype('O'))
    """
    if isinstance(values, np.ndarray):
        if values.dtype.kind == "O" or values.dtype == np.int64:
            return values
        if not np.issubdtype(values.dtype, np.integer):
            raise InvalidMechanism("Mechanisms take integers; others go through fixed point.")
        return values.astype(object if values.dtype == np.uint64 else np.int64)
    whole = [int(value) for value in values]
    is_small = all(_LEAST <= value <= _MOST for value in whole)
    return np.array(whole, np.int64 if is_small else object)


def add_noise(values: NDArray[Any], noise: NDArray[np.int64]) -> NDArray[Any]:
    """Return `values` plus `noise`, of the same dtype as `values`.

    A sum that leaves 64 bits becomes the largest or least integer they hold. That depends on the
    noisy sum only, so that it reveals nothing more; an error would.
    """
    if values.dtype == object:
        return values + noise.astype(object)
    with np.errstate(over="ignore"):
        total = values + noise
    is_over = ((values ^ total) & (noise ^ total)) < 0
    return np.where(is_over, np.where(noise > 0, _MOST, _LEAST), total)
