"""Similarity: values that differ and mean nearly the same reveal nearly as much as one value."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from discreet.arrow import pc
from discreet.attacks.classes.homogeneity import word_people_share
from discreet.attacks.finding import Finding, make_finding
from discreet.engines.engine import Kind
from discreet.errors import WrongUsage
from discreet.formatting import format_count, format_percent
from discreet.measure.classes import ClassHistograms
from discreet.policy.model import TablePolicy as PolicyTable

if TYPE_CHECKING:
    from discreet.attacks.classes.histograms import SensitiveHistogram

# The span of the middle 90 % of people: one very high salary must not make all others look alike.
TAIL = 0.05
DAY_KINDS = (Kind.DATE, Kind.TIMESTAMP)


@dataclass(frozen=True)
class Within:
    """How close values must lie: a share of the span of most people's values, or a width."""

    share: float | None = 0.25
    width: float | None = None


def find_similarity(
    histogram: SensitiveHistogram,
    *,
    policy: PolicyTable | None = None,
    level: int = 1,
    within: Within | None = None,
) -> tuple[Finding, ...]:
    """Return who is in a class whose values share a group of the hierarchy, or lie close together.

    Args:
        histogram: One sensitive column.
        policy: Where the column's hierarchy and the order of its values come from.
        level: The level of the hierarchy whose groups count as the same; 1 is the first above the
            values.
        within: How close numbers, dates or ordered values must lie; a quarter of the span of the
            middle 90 % of people by default.

    Returns:
        One finding by hierarchy and one by distance, as far as the column has them.
    """
    found: list[Finding] = []
    levels = (histogram.overall.levels or ())[1:]
    if levels:
        found.append(_by_hierarchy(histogram, levels, level=level))
    places = _value_positions(histogram, policy)
    if places is not None:
        found.append(
            _by_distance(
                histogram, places, within or Within(), unit=_distance_unit(histogram, policy)
            )
        )
    return tuple(found)


def _by_hierarchy(
    histogram: SensitiveHistogram, levels: Sequence[NDArray[np.int64]], *, level: int
) -> Finding:
    if not 1 <= level <= len(levels):
        raise WrongUsage(
            f"The hierarchy of '{histogram.label}' has no groups at level {level}: choose 1 to {len(levels)}."
        )
    shares = [_is_alike(histogram.groups, members.astype(float), 0.0) for members in levels]
    known = bool(_is_alike(histogram.whole, levels[level - 1].astype(float), 0.0).all())
    what = f"{histogram.label} in one group of its hierarchy (level {level})"
    details = {
        "by": "hierarchy",
        "level": level,
        "exposed_by_level": [histogram.people_in(chosen) for chosen in shares],
    }
    return _build_finding(histogram, shares[level - 1], what, is_known=known, details=details)


def _by_distance(
    histogram: SensitiveHistogram, places: NDArray[np.float64], within: Within, *, unit: str
) -> Finding:
    span = _central_span(histogram, places)
    width = within.width if within.width is not None else (within.share or 0.0) * span
    what = f"{histogram.label} within {width:,.6g}{unit}"
    if within.width is None:
        what += f" ({format_percent(within.share or 0.0)} of most people's span)"
    details: dict[str, Any] = {"by": "distance", "within": width, "span": span}
    known = bool(_is_alike(histogram.whole, places, width).all())
    chosen = _is_alike(histogram.groups, places, width)
    return _build_finding(histogram, chosen, what, is_known=known, details=details)


def _build_finding(
    histogram: SensitiveHistogram,
    chosen: NDArray[np.bool_],
    what: str,
    *,
    is_known: bool,
    details: dict[str, Any],
) -> Finding:
    groups = histogram.groups
    exposed = histogram.people_in(chosen)
    same = histogram.people_in(groups.largest == groups.sizes)
    who = f"{word_people_share(histogram, exposed)} are" if exposed else "No one is"
    return make_finding(
        "similarity",
        target=histogram.target,
        verdict=f"{who} in a class where everyone has {what}.",
        targets=histogram.people,
        exposed=exposed,
        correct=exposed,
        certainty=1.0 if exposed else None,
        baseline=float(is_known),
        knowledge=f"A person's {histogram.known}, that the person is in the table, and which values mean "
        "nearly the same.",
        remedy=f"t-closeness for {histogram.label} with the ordered or hierarchical distance; l-diversity "
        "counts values and does not see that they are alike.",
        details={
            "columns": histogram.names,
            "classes": len(groups),
            "exposed_classes": int(np.count_nonzero(chosen)),
            "of_them_with_one_value": same,
            **details,
        },
        example=_build_example(histogram, chosen),
    )


def _is_alike(
    groups: ClassHistograms, places: NDArray[np.float64], width: float
) -> NDArray[np.bool_]:
    """Return which classes have all their values within `width` of one another."""
    if not len(groups):
        return np.empty(0, np.bool_)
    held = places[groups.codes]
    lowest, highest = (end.reduceat(held, groups.first) for end in (np.minimum, np.maximum))
    with np.errstate(invalid="ignore"):  # a missing value lies nowhere: nan is never within
        return highest - lowest <= width * (1 + 1e-12)


def _value_positions(
    histogram: SensitiveHistogram, policy: PolicyTable | None
) -> NDArray[np.float64] | None:
    """Return where each code lies on a line; None for values without an order."""
    domain = histogram.cells.sensitive[histogram.indices[0]]
    column = policy.column(domain.column.name) if policy else None
    if histogram.overall.ranks is None:
        return None
    if column is not None and column.values is not None:
        places = histogram.overall.ranks.astype(np.float64)
    else:
        values = domain.all_values(histogram.cells.subject.table.engine)
        if domain.column.kind is Kind.DATE:
            values = values.cast("int32")
        elif domain.column.kind is Kind.TIMESTAMP:
            values = pc.divide(values.cast("timestamp[us]").cast("int64").cast("double"), 86_400e6)
        elif domain.column.kind is Kind.TIME:
            values = values.cast("time64[us]").cast("int64")
        places = values.cast("double").to_numpy(zero_copy_only=False).astype(np.float64)
        places = np.append(places, np.inf) if domain.has_missing else places
    if domain.has_missing:
        places[-1] = np.inf
    return places


def _distance_unit(histogram: SensitiveHistogram, policy: PolicyTable | None) -> str:
    """Return what distances are counted in."""
    column = histogram.cells.sensitive[histogram.indices[0]].column
    said = policy.column(column.name) if policy else None
    if said is not None and said.values is not None:
        return " places of its order"
    return " days" if column.kind in DAY_KINDS else ""


def _central_span(histogram: SensitiveHistogram, places: NDArray[np.float64]) -> float:
    """Return the span of the values of the middle 90 % of people."""
    counts = histogram.whole.counts
    known = np.isfinite(places)
    order = np.argsort(places[known], kind="stable")
    ordered, reached = places[known][order], np.cumsum(counts[known][order])
    if not len(ordered):
        return 0.0
    ends = np.searchsorted(reached, np.array([TAIL, 1 - TAIL]) * reached[-1] * (1 - 1e-12))
    low, high = ordered[np.minimum(ends, len(ordered) - 1)]
    return float(high - low)


def _build_example(histogram: SensitiveHistogram, chosen: NDArray[np.bool_]) -> tuple[str, ...]:
    groups = histogram.groups
    if not chosen.any():
        return ()
    # The class with most values shows best that being different is not being apart.
    place = int(np.argmax(np.where(chosen, groups.lengths, 0)))
    codes = groups.codes[groups.starts[place] : groups.starts[place + 1]].tolist()
    shown = ", ".join(histogram.values(codes[:5])) + (", …" if len(codes) > 5 else "")
    people = format_count(int(groups.sizes[place]), "person fits", "people fit")
    return (
        f"A person has {histogram.describe(place)}: {people}.",
        f"Their {histogram.label} is one of {shown}: whichever it is, the adversary knows what matters.",
    )
