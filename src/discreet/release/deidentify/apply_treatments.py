"""Columns recoded by their treatment: each distinct value once, each row counted."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from discreet.arrow import ArrowArray, pc
from discreet.engines.engine import Column, Table
from discreet.measure.values import counted_values
from discreet.policy.hierarchies.values import text_of
from discreet.release.deidentify.ages import cap_ages, earliest_year, keep_years
from discreet.release.deidentify.text import PersonNames, redact_texts
from discreet.release.deidentify.treatments import Action, Treatment
from discreet.release.deidentify.zip_areas import SmallAreas, shorten_zips

# Dates, ages or ZIP codes that cannot be read for the most part are something else: they go.
LEAST_READABLE = 0.5
_READ_AS = {Action.PREFIX: "ZIP codes", Action.AGE: "ages in years", Action.YEAR: "dates"}


@dataclass(frozen=True)
class RecodingContext:
    """What recoding needs to know beside the values."""

    as_of: int
    small: SmallAreas
    names: PersonNames


@dataclass(frozen=True)
class RecodedColumn:
    """A column's treatment, its new values by its old ones, and the cells that this touches."""

    treatment: Treatment
    cells: int
    changed: int = 0
    removed: int = 0
    found: Mapping[str, int] = field(default_factory=dict[str, int])
    values: ArrowArray = field(default=None, repr=False)
    replacements: ArrowArray = field(default=None, repr=False)

    def change(self, values: ArrowArray) -> ArrowArray:
        """Return the new value of each old one."""
        return self.replacements.take(pc.index_in(values, value_set=self.values))


def recode_column(
    table: Table, column: Column, treatment: Treatment, setting: RecodingContext
) -> RecodedColumn:
    """Return how a column's values change; one that cannot be read for the most part is removed.

    Blank texts count as missing.
    """
    values, rows = counted_values(table, column)
    texts = text_of(values)
    is_filled = pc.match_substring_regex(texts, r"\S").to_numpy(zero_copy_only=False)
    cells = int(rows[is_filled].sum())
    replacements, found = _replace(values, rows, treatment.action, setting)
    is_gone = replacements.is_null().to_numpy(zero_copy_only=False)
    removed = int(rows[is_filled & is_gone].sum())
    if cells and removed > (1 - LEAST_READABLE) * cells:
        reason = f"{removed:,} of {cells:,} values cannot be read as {_READ_AS[treatment.action]}"
        gone = replace(treatment, action=Action.REMOVE, reason=reason)
        return RecodedColumn(gone, cells, removed=cells)
    is_same = pc.fill_null(pc.equal(replacements, texts), False).to_numpy(zero_copy_only=False)
    changed = int(rows[is_filled & ~is_same & ~is_gone].sum())
    return RecodedColumn(treatment, cells, changed, removed, found, values, replacements)


def leave_or_remove(treatment: Treatment, *, cells: int) -> RecodedColumn:
    """Return what happens to a column that stays or goes as a whole."""
    return RecodedColumn(
        treatment, cells, removed=cells if treatment.action is Action.REMOVE else 0
    )


def own_names(table: Table, columns: Collection[str]) -> PersonNames:
    """Return the words of the names in the table's own columns of names."""
    found: list[str | None] = []
    for column in table.columns:
        if column.name in columns:
            found += text_of(counted_values(table, column)[0]).to_pylist()
    return PersonNames.of(found)


def _replace(
    values: ArrowArray, rows: NDArray[np.int64], action: Action, setting: RecodingContext
) -> tuple[ArrowArray, Mapping[str, int]]:
    if action is Action.PREFIX:
        return shorten_zips(values, small=setting.small.prefixes), {}
    if action is Action.AGE:
        return cap_ages(values), {}
    if action is Action.YEAR:
        return keep_years(values, as_of=setting.as_of), {}
    # Each text as often as it occurs, so that identifiers are counted in rows, not in values.
    every = pa.array(np.repeat(np.arange(len(rows)), rows))
    cleaned = redact_texts(
        text_of(values).take(every),
        names=setting.names,
        restricted_zips=setting.small.prefixes,
        earliest_year=earliest_year(setting.as_of),
    )
    first = pa.array(np.cumsum(rows) - rows)
    return cleaned.texts.take(first).cast(pa.string()), cleaned.counts
