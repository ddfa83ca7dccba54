"""Criteria in words: their names, what they demand, what a table reaches."""

from __future__ import annotations

import math

from discreet.formatting import format_percent
from discreet.measure.assessment import CriterionVerdict

# A criterion's letters as the field writes them.
LETTERS = {"alpha": "α", "beta": "β", "delta": "δ"}
TITLES = {
    "alpha-k": "(α, k)-anonymity",
    "beta-likeness": "β-likeness",
    "delta-disclosure": "δ-disclosure",
    "delta-presence": "δ-presence",
}


def describe_criterion(verdict: CriterionVerdict) -> str:
    """Return a criterion's name and column, such as `l-diversity (entropy) of diagnosis`."""
    name = TITLES.get(verdict.criterion, verdict.criterion)
    kinds = [str(value) for value in verdict.required.values() if isinstance(value, str)]
    kind = f" ({', '.join(kinds)})" if kinds else ""
    return f"{name}{kind} of {verdict.column}" if verdict.column else f"{name}{kind}"


def describe_requirement(verdict: CriterionVerdict) -> str:
    """Return what a criterion demands, as a statement about its letters."""
    numbers = {
        name: float(value) for name, value in verdict.required.items() if not isinstance(value, str)
    }
    match verdict.criterion:
        case "delta-presence":
            return f"{format_percent(numbers['lower'])} to {format_percent(numbers['upper'])}"
        case "l-diversity" if "c" in numbers:
            return f"c = {format_level(numbers['c'])}, l = {format_level(numbers['l'])}"
        case "alpha-k":
            return f"α ≤ {format_level(numbers['alpha'])}, k ≥ {format_level(numbers['k'])}"
        case "delta-disclosure":
            return f"δ < {format_level(numbers['delta'])}"
        case "k-anonymity" | "k-map" | "l-diversity":
            return _format_comparisons(numbers, "≥")
        case _:
            return _format_comparisons(numbers, "≤")


def _format_comparisons(numbers: dict[str, float], sign: str) -> str:
    return ", ".join(
        f"{LETTERS.get(name, name)} {sign} {format_level(value)}" for name, value in numbers.items()
    )


def describe_level(verdict: CriterionVerdict, *, k: int | None) -> str:
    """Return the level a table reaches, as a statement about the criterion's letter."""
    level = verdict.reached
    if level is None:
        return "no classes"
    match verdict.criterion:
        case "delta-presence":
            lowest, highest = level
            return f"{format_chance(lowest)} to {format_chance(highest)}"
        case "l-diversity" if verdict.required.get("kind") == "recursive":
            return "no c is enough" if math.isinf(level) else f"holds for c > {format_level(level)}"
        case "alpha-k":
            return f"α = {format_level(level)}, k = {format_level(k)}"
        case _:
            letter = next(name for name in verdict.required if name != "kind")
            return f"{LETTERS.get(letter, letter)} = {format_level(level)}"


def format_level(value: float | None) -> str:
    """Return a level as people read it; infinity is written out, because no level is worse.

    >>> format_level(12345), format_level(2.71828), format_level(float("inf")), format_level(None)
    ('12,345', '2.718', '∞ (unbounded)', 'not defined')
    """
    if value is None:
        return "not defined"
    if math.isinf(value):
        return "∞ (unbounded)"
    return f"{value:,.0f}" if value == int(value) else f"{value:,.4g}"


def format_chance(chance: float | None) -> str:
    """Return a chance as a percentage, and say so where it is none."""
    if chance is None:
        return "no rows"
    return "more than 100 %" if chance > 1 else format_percent(chance)
