"""Sentences of statistics: what was found, or that the noise hides it."""

from __future__ import annotations

from collections.abc import Sequence

from discreet.formatting import join_names
from discreet.learning.statistics.conclusion import Conclusion, StatisticRow, write_p_value


def word_test(p_value: float, confidence: float, *, found: str, absent: str) -> str:
    """Return a sentence: `found` where the test rejects at 1 - confidence, else `absent`."""
    rejects = p_value <= 1 - confidence
    return f"{found if rejects else absent} ({write_p_value(p_value)})."


def hide_by_noise(
    rows: Sequence[StatisticRow], covers: str, *, groups: Sequence[str] = ()
) -> Conclusion:
    """Return the conclusion that there is not enough signal, with what was released all the same."""
    where = f" in {join_names(list(groups))}" if groups else ""
    return Conclusion(
        f"Not enough signal: the noise hides how many rows there are{where}. Ask with a larger epsilon, fewer "
        "groups or cells, or on a larger table.",
        tuple(rows),
        covers,
    )
