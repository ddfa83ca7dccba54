"""Steps that need whole columns in memory: Arrow in, numpy between, Arrow out."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeAlias

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from discreet.arrow import ArrowArray, pc
from discreet.errors import InvalidStep
from discreet.policy.hierarchies.values import text_of
from discreet.policy.model import AddNoise, Microaggregate, Pram, RankSwap, Swap
from discreet.release.steps import microaggregation
from discreet.release.steps.pram import invariant_matrix, replace_codes
from discreet.release.steps.swapping import swap_ranks, swap_within

# The changed columns, and their entries in the manifest.
Changed: TypeAlias = tuple[dict[str, ArrowArray], dict[str, object]]

Perturbation: TypeAlias = Microaggregate | Pram | Swap | RankSwap | AddNoise

# The matrix grows with the square of the values, and is useless when most of them are rare.
MOST_VALUES = 1_000


def perturb_columns(
    step: Perturbation, columns: Mapping[str, ArrowArray], *, generator: np.random.Generator
) -> Changed:
    """Return the columns that `step` changes, each row in its place.

    Raises:
        InvalidStep: The values do not allow the step.
    """
    match step:
        case Microaggregate():
            return _apply_microaggregation(step, columns)
        case Pram():
            return _apply_pram(step, columns, generator=generator)
        case Swap():
            return _apply_swap(step, columns, generator=generator)
        case RankSwap():
            return _apply_rank_swap(step, columns, generator=generator)
        case AddNoise():
            return _apply_noise(step, columns, generator=generator)


def _apply_microaggregation(step: Microaggregate, columns: Mapping[str, ArrowArray]) -> Changed:
    numbers = np.column_stack([_to_doubles(columns[name]) for name in step.columns])
    if np.isinf(numbers).any():
        raise InvalidStep(
            f"Infinite numbers in {_quote_names(step.columns)} have no mean. Clip the column first."
        )

    def univariate(points: NDArray[np.float64], k: int) -> NDArray[np.int64]:
        return microaggregation.univariate(points[:, 0], k)

    grouping = univariate if step.method == "univariate" else microaggregation.mdav
    means = microaggregation.aggregate(numbers, step.k, grouping)
    emptied = int(np.sum((np.isnan(means) & ~np.isnan(numbers)).any(axis=1)))
    result = {
        name: pa.array(means[:, index], mask=np.isnan(means[:, index]))
        for index, name in enumerate(step.columns)
    }
    return result, {"emptied_rows": emptied}


def _apply_pram(
    step: Pram, columns: Mapping[str, ArrowArray], *, generator: np.random.Generator
) -> Changed:
    column = columns[step.column]
    is_present = pa.array(_is_present(column))
    values = column.filter(is_present)
    listed = pc.unique(values)
    if len(listed) > MOST_VALUES:
        raise InvalidStep(
            f"Column '{step.column}' has {len(listed):,} different values; pram takes at most "
            f"{MOST_VALUES:,}. Group the values first, or swap the column."
        )
    if not len(listed):
        return {step.column: column}, {"values": [], "matrix": []}
    listed = listed.take(pc.array_sort_indices(text_of(listed)))
    old = np.asarray(pc.index_in(values, value_set=listed), dtype=np.int64)
    matrix = invariant_matrix(np.bincount(old, minlength=len(listed)), keep=step.keep)
    new = replace_codes(old, matrix, generator=generator)
    result = pc.replace_with_mask(column, is_present, listed.take(pa.array(new)))
    details: dict[str, object] = {
        "values": text_of(listed).to_pylist(),
        "matrix": matrix.tolist(),
    }
    return {step.column: result}, details


def _apply_swap(
    step: Swap, columns: Mapping[str, ArrowArray], *, generator: np.random.Generator
) -> Changed:
    strata = np.zeros(len(columns[step.columns[0]]), dtype=np.int64)
    for name in step.match:
        codes = columns[name].dictionary_encode(null_encoding="encode").indices
        pairs = np.column_stack([strata, np.asarray(codes, dtype=np.int64)])
        strata = np.unique(pairs, axis=0, return_inverse=True)[1].reshape(-1)
    source = swap_within(strata, share=step.share, generator=generator)
    result = {name: columns[name].take(pa.array(source)) for name in step.columns}
    return result, {"swapped_rows": int(np.sum(source != np.arange(len(source))))}


def _apply_rank_swap(
    step: RankSwap, columns: Mapping[str, ArrowArray], *, generator: np.random.Generator
) -> Changed:
    column = columns[step.column]
    present = np.flatnonzero(_is_present(column))
    # Rows that tie have no ranks of their own: the stable sort leaves them as they are shuffled.
    shuffled = generator.permutation(present)
    ranked = shuffled[np.asarray(pc.array_sort_indices(column.take(pa.array(shuffled))))]
    source = np.arange(len(column))
    positions = np.searchsorted(present, ranked)
    source[present] = present[swap_ranks(positions, window=step.window, generator=generator)]
    swapped = int(np.sum(source != np.arange(len(source))))
    return {step.column: column.take(pa.array(source))}, {"swapped_rows": swapped}


def _apply_noise(
    step: AddNoise, columns: Mapping[str, ArrowArray], *, generator: np.random.Generator
) -> Changed:
    column = columns[step.column]
    numbers = _to_doubles(column)
    finite = np.isfinite(numbers)
    largest = float(np.abs(numbers[finite]).max(initial=0)) or 1.0
    # In units of the largest number, as squares of huge ones would overflow.
    deviation = float((numbers[finite] / largest).std()) * largest if finite.any() else 0.0
    numbers[finite] += generator.normal(0, step.scale * deviation, int(finite.sum()))
    # The deviation is of the data, and would reveal its outliers: the manifest does not get it.
    return {step.column: _restore_type(numbers, column)}, {}


def _is_present(column: ArrowArray) -> NDArray[np.bool_]:
    """Return which values are neither missing nor NaN."""
    if pa.types.is_floating(column.type):
        return ~np.isnan(_to_doubles(column))
    return np.asarray(pc.is_valid(column))


def _to_doubles(column: ArrowArray) -> NDArray[np.float64]:
    """Return a copy of numbers as doubles, a missing one as NaN."""
    return np.array(column.cast(pa.float64(), safe=False).to_numpy(zero_copy_only=False))


def _restore_type(numbers: NDArray[np.float64], column: ArrowArray) -> ArrowArray:
    """Return `numbers` in the type of `column`, rounded where that has no room for more digits."""
    mask = np.asarray(pc.is_null(column))
    kind = column.type
    if pa.types.is_integer(kind):
        limits = np.iinfo(kind.to_pandas_dtype())
        # The largest double below the limit, as the limit itself may round up beyond it.
        highest = np.nextafter(float(limits.max), 0) if limits.bits == 64 else limits.max
        whole = np.clip(np.rint(np.where(mask, 0, numbers)), limits.min, highest)
        return pa.array(whole.astype(limits.dtype), mask=mask)
    if pa.types.is_decimal(kind):
        wide = pa.decimal128(38, kind.scale)
        highest = float(10 ** (37 - kind.scale))
        return pa.array(np.clip(numbers, -highest, highest), mask=mask).cast(wide, safe=False)
    return pa.array(numbers, mask=mask).cast(kind)


def _quote_names(names: tuple[str, ...]) -> str:
    return ", ".join(f"'{name}'" for name in names)
