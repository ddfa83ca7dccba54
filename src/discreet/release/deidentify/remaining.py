"""What still singles people out after the identifiers are gone."""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence

from discreet.engines.engine import Table
from discreet.formatting import format_percent, join_names
from discreet.measure.assess import assess_binding
from discreet.measure.assessment import Assessment
from discreet.measure.describe import unique_sentence
from discreet.measure.risk.sample import AT_RISK_ABOVE
from discreet.measure.roles import bind_roles
from discreet.progress import Progress
from discreet.release.deidentify.record import RemainingRisk

_COLUMNS_NAMED = 5
_SETS_NAMED = 3
_MOST_SETS = 500


def measure_remaining(
    table: Table,
    *,
    quasi: Sequence[str],
    unit: str | None,
    progress: Progress,
    unknown: Collection[str] = (),
) -> tuple[RemainingRisk, tuple[str, ...]] | None:
    """Return how people stand out on the columns that are left, and what to say of it.

    Columns that outsiders cannot know, such as pseudonyms, are `unknown`: no warning names them.
    """
    if not quasi:
        return None
    found = assess_binding(
        bind_roles(table, quasi=quasi, sensitive=(), unit=unit),
        population=None,
        fraction=None,
        depth=_search_depth(len(quasi)),
        threshold=AT_RISK_ABOVE,
        progress=progress,
    )
    remaining = RemainingRisk(
        quasi=found.quasi,
        people=found.people,
        unique=found.unique,
        k=found.k,
        share_at_risk=found.risk.prosecutor.share_at_risk,
    )
    return remaining, _list_warnings(found, unknown)


def _search_depth(columns: int) -> int:
    """Return how many columns are taken together: the deepest search of a few hundred sets."""
    depths = [
        depth
        for depth in range(1, min(3, columns) + 1)
        if sum(math.comb(columns, size) for size in range(1, depth + 1)) <= _MOST_SETS
    ]
    return max(depths, default=1)


def _list_warnings(found: Assessment, unknown: Collection[str]) -> tuple[str, ...]:
    warnings: list[str] = []
    if found.unique:
        warnings.append(
            f"{unique_sentence(found)} Anyone who knows these values of a person finds the row."
        )
    elif found.k is not None and found.k < 1 / AT_RISK_ABOVE:
        warnings.append(
            f"The smallest group of people who look alike on {join_names(found.quasi)} has {found.k:,}."
        )
    known = [column for column in found.columns if column.column not in unknown]
    alone = sorted(known, key=lambda column: -column.unique)[:_COLUMNS_NAMED]
    warnings += [
        f"'{column.column}' by itself singles out {_people_text(column.unique)} "
        f"({format_percent(column.unique / max(found.people, 1))})."
        for column in alone
        if column.unique
    ]
    sets = found.combinations.most_exposing if found.combinations else ()
    several = [entry for entry in sets if len(entry.columns) > 1 and entry.unique]
    warnings += [
        f"{_quote_names(entry.columns)} together single out {_people_text(entry.unique)}."
        for entry in several[:_SETS_NAMED]
    ]
    return tuple(warnings)


def _quote_names(names: Sequence[str]) -> str:
    return join_names([f"'{name}'" for name in names])


def _people_text(count: int) -> str:
    return f"{count:,} {'person' if count == 1 else 'people'}"
