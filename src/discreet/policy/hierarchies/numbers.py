"""How hierarchies read numbers: exactly, on the grid that their own limits need."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from decimal import ROUND_FLOOR, Context, Decimal
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from discreet.arrow import ArrowArray, pc
from discreet.errors import InvalidHierarchy
from discreet.policy.hierarchies.values import NUMBER, is_text

_SAFE = 2**62  # room for one addition before 64 bits overflow
_MOST_DIGITS = 15
_WIDE = Context(prec=1100)  # wide enough that no number read here is ever rounded


@dataclass(frozen=True)
class FixedPointNumbers:
    """Numbers as whole steps of 10^-digits, rounded down; `units` is 0 where there is no number.

    A limit that is a whole number of steps compares with `units` as it does with the number itself,
    so nothing is lost. `units` holds 64-bit integers, or Python's where those would not do.
    """

    units: NDArray[Any]
    is_null: NDArray[np.bool_]
    is_nan: NDArray[np.bool_]
    infinite: NDArray[np.int8]  # +1, -1, or 0
    is_other: NDArray[np.bool_]  # neither NULL nor a number: text such as `n/a`

    @property
    def is_finite(self) -> NDArray[np.bool_]:
        """Where `units` means something."""
        return ~(self.is_null | self.is_nan | self.is_other | (self.infinite != 0))


def digits_of(limits: Iterable[Decimal]) -> int:
    """Return how many decimals write all of `limits` exactly."""
    exponents = [int(limit.normalize(_WIDE).as_tuple().exponent) for limit in limits]
    digits = max((-exponent for exponent in exponents), default=0)
    if digits > _MOST_DIGITS:
        raise InvalidHierarchy(f"A limit has {digits} decimals. Use at most {_MOST_DIGITS}.")
    return max(digits, 0)


def units_of(number: Decimal, *, digits: int) -> int:
    """Return `number` in steps of 10^-digits, rounded down."""
    return int(number.scaleb(digits, _WIDE).to_integral_value(ROUND_FLOOR, _WIDE))


def units_text(units: int, *, digits: int) -> str:
    """Return steps of 10^-digits as a number without trailing zeros.

    >>> units_text(-150, digits=2), units_text(30, digits=0)
    ('-1.5', '30')
    """
    whole, rest = divmod(abs(units), 10**digits)
    fraction = f".{rest:0{digits}d}".rstrip("0") if rest else ""
    return f"{'-' if units < 0 else ''}{whole}{fraction}"


def read_numbers(values: ArrowArray, *, digits: int) -> FixedPointNumbers:
    """Return `values`, of any numeric or text type, in steps of 10^-digits."""
    kind = values.type
    if pa.types.is_dictionary(kind):
        return read_numbers(values.cast(kind.value_type), digits=digits)
    if pa.types.is_integer(kind):
        return _from_integers(values, digits)
    if pa.types.is_floating(kind):
        return _from_floats(values, digits)
    if pa.types.is_decimal(kind):
        return _from_decimals(values.to_pylist(), digits)
    if is_text(kind):
        return _from_texts(values.cast(pa.string()), digits)
    return _make_numbers(np.zeros(len(values), np.int64), values, is_other=~_null_mask(values))


def _make_numbers(
    units: NDArray[Any],
    values: ArrowArray,
    *,
    is_nan: NDArray[np.bool_] | None = None,
    infinite: NDArray[np.int8] | None = None,
    is_other: NDArray[np.bool_] | None = None,
) -> FixedPointNumbers:
    none = np.zeros(len(units), np.bool_)
    return FixedPointNumbers(
        units=units,
        is_null=_null_mask(values),
        is_nan=none if is_nan is None else is_nan,
        infinite=np.zeros(len(units), np.int8) if infinite is None else infinite,
        is_other=none if is_other is None else is_other,
    )


def _null_mask(values: ArrowArray) -> NDArray[np.bool_]:
    return values.is_null().to_numpy(zero_copy_only=False)


def _from_integers(values: ArrowArray, digits: int) -> FixedPointNumbers:
    wholes = pc.fill_null(values, 0).to_numpy(zero_copy_only=False)
    scale = 10**digits
    edges = (int(wholes.min()), int(wholes.max())) if len(wholes) else (0,)
    if max(map(abs, edges)) * scale < _SAFE:
        return _make_numbers(wholes.astype(np.int64) * scale, values)
    return _make_numbers(wholes.astype(object) * scale, values)


def _from_floats(values: ArrowArray, digits: int) -> FixedPointNumbers:
    if values.type != pa.float64():
        # The float 0.7 of 32 bits is a little less than 0.7; its text is what people mean.
        values = values.cast(pa.string()).cast(pa.float64())
    reals: NDArray[np.float64] = pc.fill_null(values, 0.0).to_numpy(zero_copy_only=False)
    is_nan, is_infinite = np.isnan(reals), np.isinf(reals)
    infinite = np.where(is_infinite, np.sign(np.where(is_nan, 0, reals)), 0).astype(np.int8)
    finite = np.where(is_nan | is_infinite, 0.0, reals)
    scale = 10.0**digits
    is_large = np.abs(finite) >= 2.0**52 / scale
    units = _floor_scaled(np.where(is_large, 0.0, finite), scale)
    if is_large.any():
        units = units.astype(object)
        units[is_large] = [
            units_of(Decimal(repr(float(x))), digits=digits) for x in finite[is_large]
        ]
    return _make_numbers(units, values, is_nan=is_nan, infinite=infinite)


def _floor_scaled(reals: NDArray[np.float64], scale: float) -> NDArray[np.int64]:
    """Return floor(reals * scale) as if 0.29 were exactly 0.29 and not the float next to it.

    `step / scale` is the float nearest to the limit that people wrote, so comparing with it undoes
    the rounding of the product.
    """
    steps = np.floor(reals * scale)
    steps -= steps / scale > reals
    steps += (steps + 1) / scale <= reals
    return steps.astype(np.int64)


def _from_texts(values: ArrowArray, digits: int) -> FixedPointNumbers:
    if pc.all(pc.match_substring_regex(values, r"^-?[0-9]{1,18}$")).as_py():
        return _from_integers(values.cast(pa.int64()), digits)
    texts: list[str | None] = values.to_pylist()
    return _from_decimals(
        [Decimal(t.strip()) if t is not None and NUMBER.fullmatch(t) else t for t in texts], digits
    )


def _from_decimals(found: list[Any], digits: int) -> FixedPointNumbers:
    is_number = np.array([isinstance(value, Decimal) for value in found], np.bool_)
    is_null = np.array([value is None for value in found], np.bool_)
    units = [units_of(value, digits=digits) if isinstance(value, Decimal) else 0 for value in found]
    fits = all(-_SAFE < unit < _SAFE for unit in units)
    return FixedPointNumbers(
        units=np.array(units, np.int64 if fits else object),
        is_null=is_null,
        is_nan=np.zeros(len(found), np.bool_),
        infinite=np.zeros(len(found), np.int8),
        is_other=~is_number & ~is_null,
    )
