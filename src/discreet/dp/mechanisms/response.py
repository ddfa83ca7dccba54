"""Randomized response: with any coin, among k values, and by any table of chances."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from itertools import accumulate
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.dp.event import Pure
from discreet.dp.logarithms import exp_below, log_above
from discreet.dp.mechanisms.parameters import noise_or_system, require_count, require_epsilon
from discreet.dp.noise import Noise
from discreet.errors import InvalidMechanism

Table = tuple[tuple[Fraction, ...], ...]


def randomize_answers(
    answers: NDArray[np.bool_],
    *,
    truth: Fraction,
    yes: Fraction = Fraction(1, 2),
    noise: Noise | None = None,
) -> tuple[NDArray[np.bool_], Pure]:
    """Return each answer with a chance of `truth`, else "yes" with a chance of `yes`.

    Guarantee: epsilon-DP for each person who gives one of the answers, with epsilon = ln of the
    largest of ratios of chances, rounded up at 10^-12 (Warner 1965; Dwork & Roth 2014, section 3.2).

    Example:
        >>> event = randomize_answers(np.array([True, False]), truth=Fraction(1, 2))[1]
        >>> float(event.epsilon)  # ln 3
        1.098612288669
    """
    chosen, event = randomize_by_table(
        answers.astype(np.int64), table=coin_table(truth=truth, yes=yes), noise=noise
    )
    return chosen == 1, event


def randomize_among(
    answers: Sequence[int] | NDArray[Any], *, k: int, truth: Fraction, noise: Noise | None = None
) -> tuple[NDArray[np.int64], Pure]:
    """Return each of the answers 0 … k-1 with a chance of `truth`, else another one at random.

    Guarantee: epsilon-DP for each person who gives one of the answers, with epsilon = ln(truth (k-1)
    / (1 - truth)), or its negative, rounded up at 10^-12 (Kairouz, Oh & Viswanath 2016).
    """
    return randomize_by_table(answers, table=k_ary_table(k=k, truth=truth), noise=noise)


def randomize_by_table(
    answers: Sequence[int] | NDArray[Any], *, table: Table, noise: Noise | None = None
) -> tuple[NDArray[np.int64], Pure]:
    """Return for each input i an output j with a chance of exactly `table[i][j]`.

    Guarantee: epsilon-DP for each person who gives one of the inputs, with epsilon = ln of the
    largest ratio of two chances of one output, rounded up at 10^-12 (Dwork et al. 2006, definition
    1). A table with an output that some inputs can give and others cannot is refused.
    """
    event = table_event(table)
    inputs = np.asarray(answers, np.int64)
    if inputs.size and not 0 <= int(inputs.min()) <= int(inputs.max()) < len(table):
        raise InvalidMechanism("An answer is not among the inputs of the table.")
    common = math.lcm(*(chance.denominator for row in table for chance in row))
    drawn = noise_or_system(noise).uniform(common, inputs.size)
    outputs = np.zeros(inputs.size, np.int64)
    for place, row in enumerate(table):
        is_here = inputs == place
        ends = [int(end * common) for end in accumulate(row)]
        edges = np.array(ends, np.int64 if drawn.dtype != object else object)
        outputs[is_here] = np.searchsorted(edges, drawn[is_here], side="right")
    return outputs, event


def table_event(table: Table) -> Pure:
    """Return the event of a mechanism with these chances, or refuse the table."""
    if not table or len({len(row) for row in table}) != 1:
        raise InvalidMechanism("A table of chances has one row per input, all of one length.")
    if any(chance < 0 for row in table for chance in row) or any(sum(row) != 1 for row in table):
        raise InvalidMechanism("The chances of each input are 0 or more and add up to exactly 1.")
    ratio = Fraction(1)
    for column in zip(*table, strict=True):
        least, most = min(column), max(column)
        if least == 0 < most:
            raise InvalidMechanism(
                "An output that one input can give and another cannot proves which it was: this "
                "table is not private for any epsilon."
            )
        if most:
            ratio = max(ratio, most / least)
    return Pure(log_above(ratio))


def coin_table(*, truth: Fraction, yes: Fraction = Fraction(1, 2)) -> Table:
    """Return the chances of (no, yes) for those whose answer is no, and for those whose is yes.

    >>> coin_table(truth=Fraction(1, 2))[1]
    (Fraction(1, 4), Fraction(3, 4))
    """
    if not (0 <= truth < 1 and 0 < yes < 1):
        raise InvalidMechanism(
            "The coin must give the true answer with a chance below 1, and have two outcomes."
        )
    lie = (1 - truth) * yes
    return ((1 - lie, lie), (1 - truth - lie, truth + lie))


def k_ary_table(*, k: int, truth: Fraction) -> Table:
    """Return the chances of k outputs for each of k inputs."""
    if require_count(k, of="values") < 2 or not 0 < truth < 1:
        raise InvalidMechanism("There are 2 values or more, and the truth has a chance between.")
    other = (1 - truth) / (k - 1)
    return tuple(tuple(truth if i == j else other for j in range(k)) for i in range(k))


def truth_for(epsilon: Fraction, *, k: int = 2) -> Fraction:
    """Return a chance of the truth that k-ary response may have at `epsilon`, rounded down at 2^-40.

    The chance itself, e^epsilon / (e^epsilon + k - 1), is no fraction.

    >>> float(truth_for(Fraction(1)))
    0.7310585786299271
    """
    ratio = exp_below(require_epsilon(epsilon))
    return Fraction(math.floor(ratio / (ratio + require_count(k, of="values") - 1) * 2**40), 2**40)
