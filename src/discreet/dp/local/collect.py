"""Whole columns to reports, and reports to counts with their errors."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from types import ModuleType
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from discreet.dp.local import direct, hadamard, hashing, unary
from discreet.dp.local.protocol import Protocol
from discreet.dp.local.support import Support, code_values
from discreet.errors import InvalidMechanism, UnknownColumn, UnsuitableValues
from discreet.result import TabularResult

Numbers = NDArray[np.floating[Any]]

_SCHEMES: dict[str, ModuleType] = {
    "randomized-response": direct,
    "grr": direct,
    "oue": unary,
    "olh": hashing,
    "hadamard": hadamard,
}


@dataclass(frozen=True)
class ValueEstimate:
    """How many people have a value: an unbiased estimate, its standard error, its interval."""

    value: str
    count: float
    share: float
    standard_error: float
    lower: float
    upper: float


@dataclass(frozen=True)
class FrequencyEstimates(TabularResult):
    """The estimates from reports. `epsilon` is the privacy loss of each report for its sender."""

    _records: ClassVar[str] = "values"

    method: str
    epsilon: float
    reports: int
    confidence: float
    is_consistent: bool
    values: tuple[ValueEstimate, ...]


def support_of(protocol: Protocol) -> Support:
    """Return how often reports of a protocol support a value, by whether it is the sender's."""
    return _SCHEMES[protocol.method].support(protocol)


def perturb_column(column: Any, protocol: Protocol, *, other: str | None = None) -> Any:
    """Return one report for each value of an Arrow column, as an Arrow table.

    Guarantee: each report is epsilon-DP between any two values of its sender; see the method's own
    `perturb_column`. All chance is that of the operating system, by exact coins.

    Args:
        column: An Arrow array of values.
        protocol: From `design`.
        other: The listed value that stands for missing values and for those not listed.

    Raises:
        UnsuitableValues: Values are missing or not listed, and nothing stands for them.

    >>> from discreet.dp.local.protocol import design_protocol
    >>> asked = design_protocol(["no", "yes"], epsilon=Fraction(1))
    >>> perturb_column(pa.array(["yes", "no", "no"]), asked).num_rows
    3
    """
    codes = _encode_column(column, protocol, other=other)
    return pa.table(_SCHEMES[protocol.method].perturb(codes, protocol))


def estimate_frequencies(
    reports: Any,
    protocol: Protocol,
    *,
    confidence: Fraction = Fraction(19, 20),
    consistent: bool = False,
) -> FrequencyEstimates:
    """Return how many senders have each value, from an Arrow table of reports.

    With s of n reports supporting a value, (s - n other) / (true - other) is unbiased (Wang et al.
    2017, theorem 1), and may be negative or above n. The interval holds, for one value and many
    reports, those counts under which s would be within the normal limits (Wilson 1927).

    Args:
        reports: From `perturb_column`.
        protocol: The one they were made with.
        confidence: Of the interval of each value on its own.
        consistent: Move the estimates as little as makes them non-negative and add up to all
            senders; they are then no longer unbiased.
    """
    if not 0 < confidence < 1:
        raise InvalidMechanism("A confidence is a number between 0 and 1, such as 0.95.")
    supports = _count_support(reports, protocol)
    n = int(reports.num_rows)
    chances = support_of(protocol)
    true, other = float(chances.true), float(chances.other)
    raw = (supports - n * other) / (true - other)
    held = np.clip(raw, 0, n)
    spread = held * true * (1 - true) + (n - held) * other * (1 - other)
    lower, upper = _count_interval(supports, n, chances, confidence=float(confidence))
    counts = project_to_simplex(raw, n) if consistent else raw
    return FrequencyEstimates(
        method=protocol.method,
        epsilon=float(protocol.epsilon),
        reports=n,
        confidence=float(confidence),
        is_consistent=consistent,
        values=tuple(
            ValueEstimate(value, float(count), float(count / n) if n else 0.0, *map(float, rest))
            for value, count, *rest in zip(
                protocol.values,
                counts,
                np.sqrt(spread) / (true - other),
                lower,
                upper,
                strict=True,
            )
        ),
    )


def project_to_simplex(counts: Numbers, total: int) -> Numbers:
    """Return the nearest counts that are not negative and add up to `total`.

    The same number is taken from all, and what would become negative is 0 ("norm-sub"; Wang et al.
    2020).

    >>> project_to_simplex(np.array([7.0, 4.0, -2.0]), 10)
    array([6.5, 3.5, 0. ])
    """
    ordered = np.sort(counts)[::-1]
    excess = (np.cumsum(ordered) - total) / np.arange(1, counts.size + 1)
    kept = np.flatnonzero(ordered > excess)
    return np.maximum(counts - excess[kept[-1]], 0) if kept.size else np.zeros_like(counts)


def _encode_column(column: Any, protocol: Protocol, *, other: str | None) -> NDArray[np.int64]:
    codes = code_values(column, protocol.values)
    if other is not None:
        if other not in protocol.values:
            raise InvalidMechanism("The value that stands for others must be one of those listed.")
        codes = codes.fill_null(protocol.values.index(other))
    if codes.null_count:
        raise UnsuitableValues(
            f"{codes.null_count} of {len(codes)} values are missing or not among those listed. List "
            "all values that are possible, or name the one that stands for others (--other)."
        )
    return codes.cast(pa.int64()).to_numpy(zero_copy_only=False)


def _count_support(reports: Any, protocol: Protocol) -> NDArray[np.int64]:
    names = ("seed", "report") if protocol.method == "olh" else ("report",)
    missing = [name for name in names if name not in reports.column_names]
    if missing:
        raise UnknownColumn(
            f"The reports have no column '{missing[0]}', which {protocol.method} needs."
        )
    given = reports if protocol.method in ("olh", "hadamard") else reports["report"]
    return _SCHEMES[protocol.method].count(given, protocol)


def _count_interval(
    supports: NDArray[np.int64], n: int, chances: Support, *, confidence: float
) -> tuple[Numbers, Numbers]:
    """Return the counts m for which (s - E)² = z² V, with mean E and variance V linear in m."""
    from scipy.special import ndtri

    true, other = float(chances.true), float(chances.other)
    slope, square = true - other, float(ndtri((1 + confidence) / 2)) ** 2
    center = supports - n * other
    growth = true * (1 - true) - other * (1 - other)
    half = center * slope + square * growth / 2
    rest = center**2 - square * n * other * (1 - other)
    root = np.sqrt(np.maximum(half**2 - slope**2 * rest, 0))
    bounds = [(half - root) / slope**2, (half + root) / slope**2]
    # Counts below 0 or above n are impossible, but clipped limits still hold the estimate.
    return np.clip(bounds[0], 0, n), np.clip(bounds[1], 0, n)
