"""HIPAA Safe Harbor: the 18 classes of identifiers are removed from a table, as the rule requires for each."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from discreet.arrow import ArrowArray, pc
from discreet.engines.engine import Column, Table
from discreet.formatting import format_count, join_names
from discreet.measure.profile import RoleGuess, guess_roles
from discreet.measure.profile.identifiers import SAFE_HARBOR
from discreet.measure.text import PersonNames
from discreet.measure.values import counted_values
from discreet.policy.hierarchies.values import text_of
from discreet.policy.model import ColumnRole
from discreet.progress import Progress
from discreet.release.deidentify.ages import OVER_89, cap_ages, earliest_year, keep_years
from discreet.release.deidentify.record import (
    ClassRecord,
    ColumnRecord,
    Deidentified,
    PreparedRelease,
)
from discreet.release.deidentify.redact import redact_texts
from discreet.release.deidentify.remaining import measure_remaining
from discreet.release.deidentify.replace import UNIT, keep_rows, replace_values
from discreet.release.deidentify.treatments import Action, Treatment, treat_columns
from discreet.release.deidentify.zip_areas import SmallAreas, known_small_areas, shorten_zips
from discreet.release.source import SourceTable

METHOD = "safe-harbor"
_ACTUAL_KNOWLEDGE = (
    "If you know that a person could be identified by what is left, the rule's list is not enough: "
    "45 CFR 164.514(b)(2)(ii)."
)


@dataclass(frozen=True)
class SafeHarborChoices:
    """What the custodian decides: the year ages are counted to, and columns better known."""

    as_of: int
    classes: Mapping[str, str] = field(default_factory=dict[str, str])
    keep: Collection[str] = ()
    unit: str | None = None
    small: SmallAreas | None = None


def apply_safe_harbor(
    source: SourceTable, choices: SafeHarborChoices, *, progress: Progress
) -> PreparedRelease:
    """Return the table without the identifiers of 45 CFR 164.514(b)(2)(i), and what was done.

    Guarantee: every column that is recognized as one of the classes A to R is removed, or recoded
    as the rule allows; so is every column that is not recognized and on which a fifth of the rows
    are alone. Columns are recognized by names and values only: read the table of columns.
    """
    table, rows = source.table, source.count_rows()
    small = choices.small or known_small_areas()
    progress("recoding", 0, len(table.columns))
    guesses = guess_roles(table)
    treatments = treat_columns(
        table, guesses, classes=choices.classes, keep=choices.keep, policy=source.policy
    )
    setting = RecodingContext(choices.as_of, small, _own_person_names(table, treatments, guesses))
    recoded = _recode_columns(table, treatments, guesses, setting, progress)
    unit = choices.unit or (source.policy.unit if source.policy else None)
    gone = [item.treatment.column for item in recoded if item.treatment.action is Action.REMOVE]
    changes = {
        item.treatment.column: item.change for item in recoded if item.replacements is not None
    }
    released = keep_rows(table, replace_values(table, changes, drop=gone), unit=unit)
    quasi = _remaining_quasi_identifiers(recoded, guesses, source)
    measured = measure_remaining(
        released, quasi=quasi, unit=UNIT if unit else None, progress=progress
    )
    remaining, warnings = measured or (None, ())
    if remaining is not None and remaining.unique:
        warnings = (*warnings, _ACTUAL_KNOWLEDGE)
    columns = tuple(_column_record(item) for item in recoded)
    found = Deidentified(
        method=METHOD,
        source=table.label,
        verdict=_write_verdict(recoded),
        rows=rows,
        columns=columns,
        classes=_class_records(columns),
        settings={
            "as_of": choices.as_of,
            "small_areas": small.source,
            "restricted_prefixes": sorted(small.prefixes),
            "kept_on_request": sorted(choices.keep),
            "left_out": sorted(source.left_out),
        },
        remaining=remaining,
        warnings=warnings,
        cautions=(
            *_list_cautions(recoded, guesses, is_own_list=choices.small is not None),
            *_cautions_of_time(recoded, as_of=choices.as_of),
        ),
    )
    left = tuple(column.name for column in table.columns if column.name not in gone)
    return PreparedRelease(released.relation, left, found)


def _own_person_names(
    table: Table, treatments: Sequence[Treatment], guesses: Mapping[str, RoleGuess]
) -> PersonNames:
    """Return the table's own names of people, if it has a text to look for them in."""
    if all(item.action is not Action.REDACT for item in treatments):
        return PersonNames()
    named = [
        item.column
        for item in treatments
        if item.letter == "A" and guesses[item.column].meaning in ("person name", None)
    ]
    return own_names(table, named)


def _recode_columns(
    table: Table,
    treatments: Sequence[Treatment],
    guesses: Mapping[str, RoleGuess],
    setting: RecodingContext,
    progress: Progress,
) -> list[RecodedColumn]:
    recoded: list[RecodedColumn] = []
    for column, treatment in zip(table.columns, treatments, strict=True):
        if treatment.action in (Action.KEEP, Action.REMOVE):
            counts = guesses[column.name].evidence
            recoded.append(leave_or_remove(treatment, cells=counts["rows"] - counts["missing"]))
        else:
            recoded.append(recode_column(table, column, treatment, setting))
        progress("recoding", len(recoded), len(table.columns))
    return recoded


def _remaining_quasi_identifiers(
    recoded: Sequence[RecodedColumn], guesses: Mapping[str, RoleGuess], source: SourceTable
) -> tuple[str, ...]:
    """Return the columns that are left and that outsiders may know; free texts are always unique."""
    stated = {column.name: column.role for column in source.policy.columns} if source.policy else {}
    coarse = (Action.PREFIX, Action.YEAR, Action.AGE)
    return tuple(
        item.treatment.column
        for item in recoded
        if item.treatment.action in coarse
        or (
            item.treatment.action is Action.KEEP
            and stated.get(item.treatment.column, guesses[item.treatment.column].role)
            is ColumnRole.QUASI_IDENTIFIER
        )
    )


def _column_record(item: RecodedColumn) -> ColumnRecord:
    treatment = item.treatment
    is_kept = treatment.action is Action.KEEP
    return ColumnRecord(
        column=treatment.column,
        letter=None if is_kept else treatment.letter,
        action=str(treatment.action),
        reason=treatment.reason,
        cells=item.cells,
        changed=item.changed,
        removed=item.removed,
        found=dict(item.found),
    )


def _class_records(columns: Sequence[ColumnRecord]) -> tuple[ClassRecord, ...]:
    """Return all 18 classes, also those that were not found: their absence is a finding."""
    return tuple(
        ClassRecord(
            letter=letter,
            kind=kind,
            columns=tuple(
                item.column for item in columns if item.letter == letter or letter in item.found
            ),
            changed=sum(item.changed for item in columns if item.letter == letter),
            removed=sum(item.removed for item in columns if item.letter == letter),
            in_text=sum(item.found.get(letter, 0) for item in columns),
        )
        for letter, kind in SAFE_HARBOR.items()
    )


def _write_verdict(recoded: Sequence[RecodedColumn]) -> str:
    def named(action: Action) -> int:
        return sum(item.treatment.action is action for item in recoded)

    coarse = sum(map(named, (Action.PREFIX, Action.YEAR, Action.AGE)))
    parts = [
        f"{format_count(named(Action.REMOVE), 'column', 'columns')} removed",
        f"{coarse:,} made coarser",
        f"{named(Action.REDACT):,} redacted",
        f"{named(Action.KEEP):,} kept",
    ]
    return f"Safe Harbor: {join_names(parts)}."


def _list_cautions(
    recoded: Sequence[RecodedColumn], guesses: Mapping[str, RoleGuess], *, is_own_list: bool
) -> tuple[str, ...]:
    kept = [
        f"'{item.treatment.column}' (class {letter})"
        for item in recoded
        if item.treatment.action is Action.KEEP
        and (letter := guesses[item.treatment.column].safe_harbor)
    ]
    texts = [f"'{item.treatment.column}'" for item in recoded if item.found or _is_text(item)]
    found: list[str] = []
    if kept:
        found.append(
            f"{join_names(kept)} stayed on your word. If that is what it looks like, the output is not "
            "de-identified by Safe Harbor."
        )
    if texts:
        found.append(
            f"What was recognized in {join_names(texts)} is gone; what was not, is still there. Read "
            "samples, or remove free text from what you publish."
        )
    if not is_own_list and any(item.treatment.action is Action.PREFIX for item in recoded):
        found.append(
            "The list of small ZIP areas is that of the 2000 Census with additions. The rule asks for "
            "current data: give yours with --restricted-zips."
        )
    return tuple(found)


def _is_text(item: RecodedColumn) -> bool:
    return item.treatment.action is Action.REDACT


def _cautions_of_time(recoded: Sequence[RecodedColumn], *, as_of: int) -> tuple[str, ...]:
    years = [item for item in recoded if item.treatment.action is Action.YEAR]
    later = [
        f"'{item.treatment.column}'"
        for item in years
        if any(year != OVER_89 and int(year) > as_of for year in _distinct_years(item))
    ]
    found: list[str] = []
    if later:
        found.append(
            f"There are dates after {as_of}, the year to which ages are counted, in {join_names(later)}. "
            "Give the year of the release with --as-of."
        )
    if years and any(item.treatment.action is Action.AGE for item in recoded):
        found.append(
            "An age and the year it was taken reveal the year of birth: a person who was 85 in 2010 is over 89 "
            "today. Remove one of them, if that matters here."
        )
    return tuple(found)


def _distinct_years(item: RecodedColumn) -> list[str]:
    return [year for year in item.replacements.unique().to_pylist() if year is not None]


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
