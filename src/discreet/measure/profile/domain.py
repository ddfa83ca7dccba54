"""The drafted domain of a column: round bounds, common values, a hierarchy; never a rare value.

A policy file travels further than the data. So bounds are round numbers beyond the extremes, and
values are listed only when each of them is held by at least ten rows, and by ten people where
people have several rows.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from decimal import ROUND_CEILING, ROUND_FLOOR, Decimal, InvalidOperation
from typing import TYPE_CHECKING, Any

from discreet.engines.engine import Kind
from discreet.errors import InvalidHierarchy
from discreet.measure.profile.guess import is_date
from discreet.policy.hierarchies.intervals import Intervals
from discreet.policy.model import ColumnRole

if TYPE_CHECKING:
    from discreet.measure.profile.evidence import RoleGuess
    from discreet.measure.profile.statistics import ColumnStatistics

MOST_VALUES = 20
FEWEST_ROWS = 10
_NESTED = ("place", "region", "occupation")


@dataclass(frozen=True)
class DomainDraft:
    """What the draft proposes for a column's values, with a note for what it leaves out."""

    bounds: tuple[Decimal, Decimal] | None = None
    values: tuple[str, ...] | None = None
    hierarchy: Mapping[str, Any] | None = None
    notes: tuple[str, ...] = ()


def propose_domain(
    counts: ColumnStatistics, guess: RoleGuess, *, holders: str = "rows"
) -> DomainDraft:
    """Return bounds, values and a hierarchy that suit the column's role and content.

    `holders` is what the rarest value was counted in: rows, or people with several rows.
    """
    if guess.role.names_people or guess.role is ColumnRole.INSENSITIVE or not counts.present:
        return DomainDraft()
    if guess.role is ColumnRole.WEIGHT:
        return _propose_number_domain(counts, guess)
    if is_date(counts):
        return _propose_date_domain(counts, guess)
    if guess.meaning == "postcode":
        return _propose_postcode_domain(counts)
    values, note = _propose_values(counts, holders)
    if values is not None:
        return DomainDraft(values=values)
    if guess.is_code:
        return _propose_code_domain(counts, guess, note)
    if counts.kind.is_number:
        return _propose_number_domain(counts, guess)
    if guess.role is ColumnRole.QUASI_IDENTIFIER:
        return DomainDraft(
            notes=(note, "no hierarchy: add a `tree:` or `file:` to generalize in steps")
        )
    return DomainDraft(notes=(note,))


def _propose_date_domain(counts: ColumnStatistics, guess: RoleGuess) -> DomainDraft:
    if guess.role is not ColumnRole.QUASI_IDENTIFIER:
        return DomainDraft()
    if counts.kind is Kind.TEXT and counts.share("day") < 1:
        return DomainDraft(notes=("no hierarchy: not every value is a date written as 2024-12-31",))
    return DomainDraft(hierarchy={"calendar": ["month", "quarter", "year", "decade"]})


def _propose_postcode_domain(counts: ColumnStatistics) -> DomainDraft:
    if counts.kind.is_number:
        # A number lost its leading zeros, so its first digits mean nothing; its hundreds do.
        note = "stored as a number: steps of 100 and 10000 hide the last 2 and 4 digits"
        return DomainDraft(hierarchy={"intervals": [Decimal(100), Decimal(10000)]}, notes=(note,))
    if counts.kind is not Kind.TEXT:
        return DomainDraft()
    if counts.shortest < counts.longest:
        keep = [length for length in (counts.shortest - 3, 1) if length > 0]
        return DomainDraft(hierarchy={"prefix": sorted(set(keep), reverse=True)})
    keep = list(range(counts.longest - 2, 0, -2)) or [1]
    return DomainDraft(hierarchy={"prefix": keep})


def _propose_values(counts: ColumnStatistics, holders: str) -> tuple[tuple[str, ...] | None, str]:
    """Return the values to list, or None and why they are left out."""
    if counts.kind not in (Kind.TEXT, Kind.BOOLEAN, Kind.INTEGER):
        return None, "values left out: not a category"
    if counts.distinct > MOST_VALUES:
        return None, f"values left out: more than {MOST_VALUES}"
    if counts.smallest < FEWEST_ROWS:
        return None, f"values left out: one is held by fewer than {FEWEST_ROWS} {holders}"
    is_number = counts.kind is Kind.INTEGER
    return tuple(
        sorted(counts.sample, key=lambda value: (int(value) if is_number else 0, value))
    ), ""


def _propose_code_domain(counts: ColumnStatistics, guess: RoleGuess, note: str) -> DomainDraft:
    """Codes have no ranges; those of places and trades of one length are nested by their digits."""
    if guess.role is not ColumnRole.QUASI_IDENTIFIER:
        return DomainDraft(notes=(note,))
    is_nested = guess.meaning in _NESTED and 3 <= counts.shortest == counts.longest
    if not is_nested or counts.kind is not Kind.INTEGER:
        return DomainDraft(
            notes=(note, "codes without an order: add a `tree:` or `file:` to generalize in steps")
        )
    steps = [Decimal(10) ** power for power in range(1, counts.longest)]
    return DomainDraft(
        hierarchy={"intervals": steps},
        notes=("codes whose first digits are the larger unit: each step hides one more digit",),
    )


def _propose_number_domain(counts: ColumnStatistics, guess: RoleGuess) -> DomainDraft:
    extremes = _parse_finite(counts.minimum), _parse_finite(counts.maximum)
    if extremes[0] is None or extremes[1] is None:
        return DomainDraft(notes=("no bounds: no finite number was found",))
    low, high = extremes[0], extremes[1]
    if guess.meaning == "age" and low >= 0 and high <= 120:
        bounds, note = (Decimal(0), Decimal(120)), "bounds that hold for ages of people"
    else:
        bounds = round_outward(low, high)
        note = "bounds are rounded outward from the data: put limits that are known without it"
    if guess.role is not ColumnRole.QUASI_IDENTIFIER:
        return DomainDraft(bounds=bounds, notes=(note,))
    steps = nested_steps(*bounds, is_whole=counts.kind is Kind.INTEGER)
    if steps and not _are_valid(steps):
        return DomainDraft(
            bounds=bounds, notes=(note, "no hierarchy: the numbers have too many digits")
        )
    return DomainDraft(
        bounds=bounds, hierarchy={"intervals": steps} if steps else None, notes=(note,)
    )


def _are_valid(steps: list[Decimal]) -> bool:
    try:
        Intervals(tuple(steps))
    except InvalidHierarchy:
        return False
    return True


def _parse_finite(text: str | None) -> Decimal | None:
    try:
        number = Decimal(text) if text is not None else None
    except InvalidOperation:
        return None
    return number if number is not None and number.is_finite() else None


def round_outward(low: Decimal, high: Decimal) -> tuple[Decimal, Decimal]:
    """Return round numbers beyond both; 0, 1 and 100 may be met exactly, as natural limits.

    >>> round_outward(Decimal(17), Decimal(84))
    (Decimal('0'), Decimal('100'))
    >>> round_outward(Decimal(1953), Decimal(2004))
    (Decimal('1940'), Decimal('2020'))
    """
    span = max(high - low, abs(high) / 1000, Decimal(1).scaleb(-9))
    step = _one_two_five(span / 4)
    if 0 <= low <= span:
        return Decimal(0), _normalize_decimal(high if high in (1, 100) else _round_above(high))
    down = (low / step).to_integral_value(ROUND_CEILING) * step - step
    up = (high / step).to_integral_value(ROUND_FLOOR) * step + step
    return _normalize_decimal(down), _normalize_decimal(min(up, Decimal(0)) if high < 0 else up)


def _round_above(number: Decimal) -> Decimal:
    rounded = _one_two_five(number) if number > 0 else Decimal(1)
    return rounded if rounded > number else _one_two_five(number + number / 2)


def nested_steps(low: Decimal, high: Decimal, *, is_whole: bool) -> list[Decimal]:
    """Return widths of intervals, each twice the one before, the first about a 25th of the span.

    >>> [int(step) for step in nested_steps(Decimal(0), Decimal(120), is_whole=True)]
    [5, 10, 20]
    """
    first = _one_two_five((high - low) / 25)
    if is_whole:
        first = max(first, Decimal(2))
    return [_normalize_decimal(step) for step in (first, 2 * first, 4 * first) if step < high - low]


def _one_two_five(number: Decimal) -> Decimal:
    """Return the nearest of … 1, 2, 5, 10, 20, 50 … at or above a positive `number`."""
    magnitude = Decimal(1).scaleb(number.adjusted())
    return next(step for factor in (1, 2, 5, 10) if (step := magnitude * factor) >= number)


def _normalize_decimal(number: Decimal) -> Decimal:
    """Return the number without an exponent or trailing zeros."""
    return Decimal(format(number.normalize(), "f"))
