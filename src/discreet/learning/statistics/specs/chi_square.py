"""The chi-square test of independence and of goodness of fit, on noisy counts."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

import numpy as np
from numpy.typing import NDArray

from discreet.errors import WrongUsage
from discreet.formatting import join_names
from discreet.learning.statistics.cells import CellNames, describe_shares, look_at_table
from discreet.learning.statistics.conclusion import (
    POPULATION,
    Conclusion,
    StatisticPlan,
    TestOutcome,
)
from discreet.learning.statistics.intervals import REPLICATES, has_signal, p_value
from discreet.learning.statistics.kinds import StatisticSpec
from discreet.learning.statistics.released import NoisySums, ReleasedSums
from discreet.learning.statistics.variables import (
    Variables,
    find_label,
    require_categories,
)
from discreet.learning.statistics.wording import hide_by_noise, word_test
from discreet.registry import OptionSpec

Floats = NDArray[np.float64]
_NOTHING = 1e-9  # rows: what is expected in a cell that cannot have any


def plan_chi_square(
    variables: Variables, *, confidence: float, expected: Mapping[str, str] | None = None
) -> StatisticPlan:
    """Return what is measured: every cell of the table, once."""
    columns = [require_categories(column) for column in variables.columns]
    if len(columns) not in (1, 2):
        raise WrongUsage(
            "A chi-square test takes one column (goodness of fit) or two (independence)."
        )
    if expected and len(columns) == 2:
        raise WrongUsage("`expected` is for one column. Leave it out, or name one column.")
    names = CellNames.of(columns)
    shares = np.full(len(names.values[0]), 1 / len(names.values[0]))
    if expected:
        shares = np.zeros(len(shares))
        for value, share in expected.items():
            shares[find_label(columns[0], value)] = _read_expected(share)
        if not shares.sum() > 0 or (shares == 0).any():
            raise WrongUsage(
                f"`expected` needs a share above 0 for each of {join_names(names.values[0])}."
            )
        shares = shares / shares.sum()
    conclude = partial(examine_cells, names=names, shares=shares, confidence=confidence)
    return StatisticPlan(tuple(columns), look_at_table(columns), conclude)


def _read_expected(text: str) -> float:
    try:
        share = float(text)
    except ValueError:
        share = -1.0
    if not 0 < share < float("inf"):
        raise WrongUsage(f"'{text}' is no share. Write `expected=a=0.2,b=0.8`.")
    return share


def examine_cells(
    released: ReleasedSums, *, names: CellNames, shares: Floats, confidence: float
) -> Conclusion:
    """Return the test with the share of each cell.

    The null distribution is that of the same statistic on repetitions: multinomial tables of the noisy number of
    rows, with the noisy margins or the expected shares, and the same noise (Gaboardi, Lim, Rogers & Vadhan 2016).
    """
    noisy, chance = released["cells"], released.start_chance()
    rows = float(noisy.values.sum())
    described = describe_shares(released, names, confidence)
    if not has_signal(rows, noisy.error * np.sqrt(noisy.values.size)):
        return hide_by_noise(described, POPULATION)
    is_fit = noisy.values.ndim == 1
    null = shares if is_fit else _join_margins(noisy.values[None])[0]
    drawn = chance.multinomial(max(1, round(rows)), null.reshape(-1), REPLICATES)
    repeated = drawn.reshape(REPLICATES, *noisy.values.shape) + noisy.draw_noise(chance, REPLICATES)
    fixed = shares if is_fit else None
    observed = float(_compare_counts(noisy.values[None], noisy, fixed)[0])
    level = p_value(observed, _compare_counts(repeated, noisy, fixed))
    free = (
        noisy.values.size - 1 if is_fit else int(np.prod([one - 1 for one in noisy.values.shape]))
    )
    named = join_names([f"'{name}'" for name in names.columns])
    found = (
        f"{named} depend on each other"
        if not is_fit
        else f"{named} does not have the expected shares"
    )
    absent = (
        f"No dependence of {named} is shown"
        if not is_fit
        else f"No deviation of {named} from the expected shares is shown"
    )
    verdict = word_test(level, confidence, found=found, absent=absent)
    hypothesis = "the expected shares hold" if is_fit else f"{named} are independent"
    test = TestOutcome(hypothesis, observed, level, free)
    return Conclusion(verdict, tuple(described), POPULATION, test)


def _join_margins(tables: Floats) -> Floats:
    """Return the shares of the cells of tables whose margins are independent."""
    first = np.maximum(tables.sum(axis=2), _NOTHING)
    second = np.maximum(tables.sum(axis=1), _NOTHING)
    first = first / first.sum(axis=1, keepdims=True)
    second = second / second.sum(axis=1, keepdims=True)
    return first[:, :, None] * second[:, None, :]


def _compare_counts(tables: Floats, noisy: NoisySums, shares: Floats | None) -> Floats:
    """Return for each table how far counts are from what is expected, in units of their variance.

    The variance of a cell is that of a count and that of its noise; without noise this is Pearson's statistic.
    """
    others = tuple(range(1, tables.ndim))
    rows = np.maximum(tables.sum(axis=others, keepdims=True), 0.0)
    expected = rows * (_join_margins(tables) if shares is None else shares)
    variance = np.maximum(expected + noisy.error**2, _NOTHING)
    return ((tables - expected) ** 2 / variance).sum(axis=others)


SPEC = StatisticSpec(
    name="chi-square",
    summary="Whether two categories are independent, or one has expected shares.",
    takes="a category, or two",
    plan=plan_chi_square,
    options=(
        OptionSpec(
            "expected", "values", "The expected shares, `a=0.2,b=0.8`. Default: equal ones."
        ),
    ),
    position=50,
)
