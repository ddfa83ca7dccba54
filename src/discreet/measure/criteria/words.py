"""Criteria in words: their names, what they demand, what a table reaches."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from discreet.measure.describe import percent

if TYPE_CHECKING:
    from discreet.measure.assessment import Verdict

# A criterion's letters as the field writes them.
LETTERS = {"alpha": "α", "beta": "β", "delta": "δ"}
TITLES = {
    "alpha-k": "(α, k)-anonymity",
    "beta-likeness": "β-likeness",
    "delta-disclosure": "δ-disclosure",
    "delta-presence": "δ-presence",
}


def criterion(verdict: Verdict) -> str:
    """Return a criterion's name and column, such as `l-diversity (entropy) of diagnosis`."""
    name = TITLES.get(verdict.criterion, verdict.criterion)
    kinds = [str(value) for value in verdict.required.values() if isinstance(value, str)]
    kind = f" ({', '.join(kinds)})" if kinds else ""
    return f"{name}{kind} of {verdict.column}" if verdict.column else f"{name}{kind}"


def required(verdict: Verdict) -> str:
    """Return what a criterion demands, as a statement about its letters."""
    numbers = {
        name: float(value) for name, value in verdict.required.items() if not isinstance(value, str)
    }
    match verdict.criterion:
        case "delta-presence":
            return f"{percent(numbers['lower'])} to {percent(numbers['upper'])}"
        case "l-diversity" if "c" in numbers:
            return f"c = {number(numbers['c'])}, l = {number(numbers['l'])}"
        case "alpha-k":
            return f"α ≤ {number(numbers['alpha'])}, k ≥ {number(numbers['k'])}"
        case "delta-disclosure":
            return f"δ < {number(numbers['delta'])}"
        case "k-anonymity" | "k-map" | "l-diversity":
            return _compared(numbers, "≥")
        case _:
            return _compared(numbers, "≤")


def _compared(numbers: dict[str, float], sign: str) -> str:
    return ", ".join(
        f"{LETTERS.get(name, name)} {sign} {number(value)}" for name, value in numbers.items()
    )


def reached(verdict: Verdict, *, k: int | None) -> str:
    """Return the level a table reaches, as a statement about the criterion's letter."""
    level = verdict.reached
    if level is None:
        return "no classes"
    match verdict.criterion:
        case "delta-presence":
            lowest, highest = level
            return f"{share(lowest)} to {share(highest)}"
        case "l-diversity" if verdict.required.get("kind") == "recursive":
            return "no c is enough" if math.isinf(level) else f"holds for c > {number(level)}"
        case "alpha-k":
            return f"α = {number(level)}, k = {number(k)}"
        case _:
            letter = next(name for name in verdict.required if name != "kind")
            return f"{LETTERS.get(letter, letter)} = {number(level)}"


def number(value: float | None) -> str:
    """Return a level as people read it; infinity is written out, because no level is worse.

    >>> number(12345), number(2.71828), number(float("inf")), number(None)
    ('12,345', '2.718', '∞ (unbounded)', 'not defined')
    """
    if value is None:
        return "not defined"
    if math.isinf(value):
        return "∞ (unbounded)"
    return f"{value:,.0f}" if value == int(value) else f"{value:,.4g}"


def share(chance: float | None) -> str:
    """Return a chance as a percentage, and say so where it is none."""
    if chance is None:
        return "no rows"
    return "more than 100 %" if chance > 1 else percent(chance)
