"""A mechanism as a table of chances: its outputs by input, and the epsilon that it guarantees."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import permutations

from discreet.dp.calculate.loss import Loss, format_fraction, nearest_float
from discreet.errors import InvalidMechanism
from discreet.result import Result


@dataclass(frozen=True)
class ChanceTable:
    """`rows[i][j]` is the chance that input i gives output j; every row adds up to 1."""

    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    rows: tuple[tuple[Fraction, ...], ...]

    def __post_init__(self) -> None:
        if len(self.rows) < 2 or not self.outputs:
            raise InvalidMechanism(
                "A table of chances needs at least two inputs (rows) and one output (column): "
                "privacy compares inputs."
            )
        for name, row in zip(self.inputs, self.rows, strict=True):
            _require_chances(name, row, self.outputs)


@dataclass(frozen=True)
class WorstOutput:
    """The output that distinguishes two inputs best, and its chance under each."""

    output: str
    likely: str
    unlikely: str
    chance_if_likely: float
    chance_if_unlikely: float


@dataclass(frozen=True)
class PrivacyProfilePoint:
    """One point of the (epsilon, delta) profile: the mechanism meets both, and no less."""

    epsilon: float
    delta: float


@dataclass(frozen=True)
class TableLoss(Result):
    """What a table of chances guarantees; `epsilon` is infinite when it is not private."""

    epsilon: float
    exact: str
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    worst: WorstOutput | None
    total_variation: float
    profile: tuple[PrivacyProfilePoint, ...]
    why: str


def evaluate_table(
    chances: ChanceTable, *, delta: Fraction | None = None, epsilon: Fraction | None = None
) -> TableLoss:
    """Return the smallest epsilon of a mechanism between any two of its inputs.

    Guarantee: epsilon is the largest logarithm of a ratio of two chances in one column, so that the
    mechanism is epsilon-DP for these inputs and for no smaller epsilon (Dwork et al. 2006, def. 1).

    Args:
        chances: The mechanism.
        delta: Also return the smallest epsilon that holds but for this delta.
        epsilon: Also return the smallest delta at this epsilon.

    >>> half, quarter = Fraction(3, 4), Fraction(1, 4)
    >>> table = ChanceTable(("yes", "no"), ("yes", "no"), ((half, quarter), (quarter, half)))
    >>> evaluate_table(table).exact
    'ln 3'
    """
    found, worst = largest_ratio(chances)
    loss = Loss.of_ratio(found)
    profile: list[PrivacyProfilePoint] = []
    if delta is not None:
        if not 0 <= delta < 1:
            raise InvalidMechanism("delta is a chance: write a number from 0 to less than 1.")
        profile.append(PrivacyProfilePoint(epsilon_at(chances, delta).value, nearest_float(delta)))
    if epsilon is not None:
        if epsilon < 0:
            raise InvalidMechanism("An epsilon is not negative.")
        profile.append(
            PrivacyProfilePoint(nearest_float(epsilon), delta_at(chances, nearest_float(epsilon)))
        )
    return TableLoss(
        epsilon=loss.value,
        exact=loss.words,
        inputs=chances.inputs,
        outputs=chances.outputs,
        worst=worst,
        total_variation=delta_at(chances, 0.0),
        profile=tuple(profile),
        why=_explain_loss(worst, loss),
    )


def largest_ratio(chances: ChanceTable) -> tuple[Fraction | None, WorstOutput | None]:
    """Return the largest ratio of chances in a column and where it is; None with 0 below."""
    best, worst = Fraction(1), None
    for index, output in enumerate(chances.outputs):
        column = [row[index] for row in chances.rows]
        high, low = max(column), min(column)
        if high <= best * low:
            continue  # also an output that no input gives, which reveals nothing
        worst = WorstOutput(
            output,
            chances.inputs[column.index(high)],
            chances.inputs[column.index(low)],
            float(high),
            float(low),
        )
        if not low:
            return None, worst
        best = high / low
    return best, worst


def epsilon_at(chances: ChanceTable, delta: Fraction) -> Loss:
    """Return the smallest epsilon such that the mechanism is (epsilon, `delta`)-DP, exactly."""
    ratios = [_ratio_at(first, second, delta) for first, second in permutations(chances.rows, 2)]
    if None in ratios:
        return Loss(is_infinite=True)
    return Loss.of_ratio(max(ratio for ratio in ratios if ratio is not None))


def delta_at(chances: ChanceTable, epsilon: float) -> float:
    """Return the smallest delta such that the mechanism is (`epsilon`, delta)-DP.

    It is the largest, over pairs of inputs, of the total by which one's chances exceed the other's
    times e^epsilon (the hockey-stick divergence; Balle & Wang 2018, theorem 5).
    """
    growth = math.exp(epsilon) if epsilon < 700 else math.inf
    return max(
        math.fsum(
            max(0.0, float(p) - growth * float(q)) if q else float(p)
            for p, q in zip(first, second, strict=True)
        )
        for first, second in permutations(chances.rows, 2)
    )


def _ratio_at(
    first: Sequence[Fraction], second: Sequence[Fraction], delta: Fraction
) -> Fraction | None:
    """Return the smallest z >= 1 with sum of max(0, p - z q) at most `delta`, or None.

    The sum falls with z and is straight between the ratios p/q, so that z is found among pieces.
    """
    above = sum((p for p, q in zip(first, second, strict=True) if not q), Fraction(0))
    below = Fraction(0)
    if above > delta:
        return None
    pairs = [(p / q, p, q) for p, q in zip(first, second, strict=True) if q]
    for ratio, p, q in sorted(pairs, reverse=True):
        # With all outputs so far above z, the excess at z = ratio is above - ratio * below.
        if above - ratio * below > delta:
            break
        above, below = above + p, below + q
    if not below:
        return Fraction(1)
    return max(Fraction(1), (above - delta) / below)


def _require_chances(name: str, row: Sequence[Fraction], outputs: Sequence[str]) -> None:
    if len(row) != len(outputs):
        raise InvalidMechanism(
            f"Row '{name}' has {len(row)} chances where the table has {len(outputs)} outputs."
        )
    for output, chance in zip(outputs, row, strict=True):
        if not 0 <= chance <= 1:
            raise InvalidMechanism(
                f"Row '{name}', column '{output}': a chance is a number from 0 to 1."
            )
    total = sum(row, Fraction(0))
    if total != 1:
        raise InvalidMechanism(
            f"The chances of row '{name}' add up to {format_fraction(total)}, not to 1. Write fractions such "
            "as 1/3 where decimals are not exact."
        )


def _explain_loss(worst: WorstOutput | None, loss: Loss) -> str:
    if worst is None:
        return "Every input gives each output with the same chance, so that nothing is revealed."
    if loss.is_infinite:
        return (
            f"Not differentially private: output '{worst.output}' can come from "
            f"'{worst.likely}' and never from '{worst.unlikely}', so that it rules the latter out."
        )
    return (
        f"Output '{worst.output}' has chance {worst.chance_if_likely:.6g} if the input is "
        f"'{worst.likely}' and {worst.chance_if_unlikely:.6g} if it is '{worst.unlikely}': the "
        f"largest ratio of all, and epsilon is its logarithm."
    )
