"""A draft policy for tables without one: guesses, each with its reason."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import PurePath
from typing import TYPE_CHECKING, Any

from discreet.engines.address import without_password
from discreet.engines.declared_schema import KIND_NAMES, declared_kind
from discreet.engines.engine import Table
from discreet.errors import WrongUsage
from discreet.formatting import join_names
from discreet.measure.profile.concepts import SPECIAL_CATEGORIES
from discreet.measure.profile.domain import MOST_VALUES, propose_domain
from discreet.measure.profile.evidence import RoleGuess
from discreet.measure.profile.guess import guess_column
from discreet.measure.profile.keys import (
    KeyedTable,
    Unit,
    choose_unit,
    find_references,
    unit_by_reference,
)
from discreet.measure.profile.limits import propose_rows_per_unit
from discreet.measure.profile.policy_draft import ColumnDraft, PolicyDraft, TableDraft
from discreet.measure.profile.reading import (
    column_options,
    file_options,
    propose_missing_codes,
)
from discreet.measure.profile.statistics import describe_columns, fewest_people
from discreet.measure.profile.survey import find_weights
from discreet.measure.profile.vocabulary import is_row_id_name
from discreet.policy.answer_model import ROW
from discreet.policy.model import ColumnRole

if TYPE_CHECKING:
    from discreet.measure.profile.statistics import ColumnStatistics


# Columns of special categories that make a table one about them.
_LEAST_SPECIAL = 2


def guess_roles(table: Table) -> dict[str, RoleGuess]:
    """Return a guess for each column of `table`, in the table's order."""
    return _guess_columns(_name_of(table.label), describe_columns(table))[0]


def draft_tables(tables: Sequence[Table], *, sources: Sequence[str] | None = None) -> PolicyDraft:
    """Return a drafted policy for `tables`, read from all of their rows by their engines.

    Args:
        tables: What the policy shall describe, in this order.
        sources: Where each table is, as the policy shall say; its label when not given.
    """
    if not tables:
        raise WrongUsage("A policy needs at least one table. Name a source.")
    places = [table.label for table in tables] if sources is None else list(sources)
    names = _distinct_names([_name_of(place) for place in places])
    keyed = [
        KeyedTable(name, table, describe_columns(table))
        for name, table in zip(names, tables, strict=True)
    ]
    guessed = {item.name: _guess_columns(item.name, item.counts) for item in keyed}
    links = find_references(keyed)
    units = {name: unit.column if unit else None for name, (_, unit) in guessed.items()}
    return PolicyDraft(
        tuple(
            _table_draft(item, source, guessed[item.name], _links_of(item.name, links), units)
            for item, source in zip(keyed, places, strict=True)
        )
    )


def _guess_columns(
    name: str, counts: Sequence[ColumnStatistics]
) -> tuple[dict[str, RoleGuess], Unit | None]:
    guesses = _settle_table(counts, {item.name: guess_column(item) for item in counts})
    unit = choose_unit(name, counts, guesses)
    if unit is not None and unit.repeats:  # then a row that is unique is not a person
        by_rows = {item.name: guess_column(item, noun="rows") for item in counts}
        guesses = _settle_table(counts, by_rows)
    return guesses, unit


def _settle_table(
    counts: Sequence[ColumnStatistics], guesses: Mapping[str, RoleGuess]
) -> dict[str, RoleGuess]:
    """Return the guesses as the other columns of the table correct them."""
    settled = _settle_weights(counts, guesses)
    private = [
        guess.meaning
        for guess in settled.values()
        if guess.role is ColumnRole.SENSITIVE and guess.meaning and guess.confidence != "low"
    ]
    special = [meaning for meaning in private if meaning in SPECIAL_CATEGORIES]
    found: dict[str, RoleGuess] = {}
    for item in counts:
        guess = settled[item.name]
        if private and _is_measure(item, guess):
            guess = _measure_guess(guess, private)
        elif len(special) >= _LEAST_SPECIAL and _is_unknown_category(item, guess):
            guess = _private_guess(guess, special)
        found[item.name] = guess
    return found


def _is_measure(counts: ColumnStatistics, guess: RoleGuess) -> bool:
    """Whether a column that no rule recognizes holds amounts or measurements: numbers of many sizes."""
    is_number = counts.kind.is_number
    is_open = guess.meaning is None and guess.role is ColumnRole.QUASI_IDENTIFIER
    return is_number and is_open and not guess.is_code and counts.distinct > MOST_VALUES


def _is_unknown_category(counts: ColumnStatistics, guess: RoleGuess) -> bool:
    """Whether a column that no rule recognizes tells people apart, though no value of it is rare."""
    is_open = guess.meaning is None and guess.role is ColumnRole.INSENSITIVE
    return is_open and counts.distinct > 1


def _measure_guess(guess: RoleGuess, private: Sequence[str]) -> RoleGuess:
    reason = (
        f"not recognized: an amount or a measurement in a table about {_name_topics(private)}, which "
        "outsiders rarely know; make it a quasi-identifier if yours do"
    )
    return replace(guess, role=ColumnRole.SENSITIVE, reason=reason, meaning="measurement or amount")


def _private_guess(guess: RoleGuess, special: Sequence[str]) -> RoleGuess:
    reason = (
        f"not recognized, in a table about {_name_topics(special)}: taken for one of the answers or "
        "findings until you decide"
    )
    return replace(guess, role=ColumnRole.SENSITIVE, reason=reason)


def _name_topics(meanings: Sequence[str]) -> str:
    return join_names(sorted(set(meanings)))


def _settle_weights(
    counts: Sequence[ColumnStatistics], guesses: Mapping[str, RoleGuess]
) -> dict[str, RoleGuess]:
    """Return the guesses with at most one sampling weight; further ones are not published either."""
    households = [name for name, guess in guesses.items() if guess.role is ColumnRole.HOUSEHOLD]
    weights = find_weights(counts, households=households)
    first = next(iter(weights), None)
    return {
        name: _weight_guess(guess, first, is_sure=weights[name]) if name in weights else guess
        for name, guess in guesses.items()
    }


def _weight_guess(guess: RoleGuess, first: str | None, *, is_sure: bool) -> RoleGuess:
    if guess.column == first:
        doubt = "" if is_sure else ", and no body weight by its values"
        return replace(
            guess,
            role=ColumnRole.WEIGHT,
            reason=f"a sampling weight by its name{doubt}: how many people of the population a row "
            "stands for; it is not published unless you ask for it",
            confidence="high" if is_sure else "low",
            meaning="sampling weight",
            safe_harbor=None,
        )
    return replace(
        guess,
        role=ColumnRole.IDENTIFIER,
        reason=f"another weight besides {first}: a set of weights singles people out",
        confidence="medium",
        meaning="sampling weight",
        safe_harbor=None,
    )


def _links_of(
    name: str, links: Mapping[tuple[str, str], tuple[str, str]]
) -> dict[str, tuple[str, str]]:
    return {column: target for (table, column), target in links.items() if table == name}


def _table_draft(
    item: KeyedTable,
    source: str,
    guessed: tuple[Mapping[str, RoleGuess], Unit | None],
    links: Mapping[str, tuple[str, str]],
    units: Mapping[str, str | None],
) -> TableDraft:
    guesses, unit = guessed
    if unit is None or not unit.repeats:
        unit = unit_by_reference(item.counts, links, units) or unit
    drafts = [
        _column_draft(counts, guesses[counts.name], links.get(counts.name), unit)
        for counts in item.counts
    ]
    columns = tuple(
        _without_rarities(item, counts, unit, column)
        for counts, column in zip(item.counts, drafts, strict=True)
    )
    households = [name for name, guess in guesses.items() if guess.role is ColumnRole.HOUSEHOLD]
    doubts = () if unit else _doubtful_columns(item, links, known=households)
    codes = propose_missing_codes(item.table)
    drafted = unit.column if unit else None if doubts else ROW
    return TableDraft(
        name=item.name,
        source=without_password(source),
        rows=max((counts.rows for counts in item.counts), default=0),
        unit=drafted,
        unit_reason=unit.reason if unit else _unit_reason(doubts, households),
        columns=tuple(_with_kind(item.table, column, codes) for column in columns),
        criteria=_propose_criteria(columns),
        limit=propose_rows_per_unit(item.table, unit.column) if unit else None,
        doubts=doubts,
        reading=file_options(item.table.schema),
    )


def _doubtful_columns(
    item: KeyedTable, links: Mapping[str, tuple[str, str]], *, known: Sequence[str]
) -> tuple[str, ...]:
    """Return the columns of a table without a unit by which one person may have several rows.

    Rows of one household are different people: ids that are `known` to be a household's leave no doubt.
    """
    repeating = [
        c.name
        for c in item.counts
        if is_row_id_name(c.name) and 0 < c.distinct < c.present and c.name not in known
    ]
    return tuple(dict.fromkeys([*links, *repeating]))


def _unit_reason(doubts: Sequence[str], households: Sequence[str]) -> str:
    if doubts:
        return f"{', '.join(doubts)} may give one person several rows"
    if households:
        return (
            f"each row is taken to be one person; write {households[0]} to protect all of a "
            "household together"
        )
    return "each row is taken to be one person"


def _with_kind(table: Table, column: ColumnDraft, codes: Mapping[str, str]) -> ColumnDraft:
    name, schema = column.guess.column, table.schema
    notes = [note for note in (codes.get(name), schema and schema.doubts.get(name)) if note]
    column = replace(column, domain=replace(column.domain, notes=(*column.domain.notes, *notes)))
    if schema is None or name not in schema.columns:
        kind = next(declared_kind(c.kind) for c in table.columns if c.name == name)
        return replace(column, kind=KIND_NAMES[kind])
    labels = [label for _, label in schema.columns[name].written.labels]
    if labels and column.domain.values:  # the codes have an order, which the labels keep
        ordered = tuple(sorted(column.domain.values, key=labels.index))
        column = replace(column, domain=replace(column.domain, values=ordered))
    return replace(
        column,
        kind=KIND_NAMES[schema.columns[name].kind],
        written=column_options(schema, name),
        title=schema.titles.get(name),
    )


def _column_draft(
    counts: ColumnStatistics, guess: RoleGuess, target: tuple[str, str] | None, unit: Unit | None
) -> ColumnDraft:
    if target is not None and guess.role is not ColumnRole.HOUSEHOLD and guess.confidence == "low":
        # The other table shows whom the value names.
        reason = (
            f"it points to a row of another table; {guess.evidence['distinct']:,} rows are in use"
        )
        guess = replace(guess, role=ColumnRole.IDENTIFIER, reason=reason, safe_harbor="R")
    if unit is not None and unit.column == counts.name and guess.role is not ColumnRole.IDENTIFIER:
        reason = f"it stands for the person: {unit.reason}"
        guess = replace(guess, role=ColumnRole.IDENTIFIER, reason=reason, safe_harbor="R")
    return ColumnDraft(guess, propose_domain(counts, guess), target)


def _without_rarities(
    item: KeyedTable, counts: ColumnStatistics, unit: Unit | None, column: ColumnDraft
) -> ColumnDraft:
    """Take values back that few people have, however many rows those people have."""
    if unit is None or not unit.repeats or not column.domain.values:
        return column
    people = fewest_people(item.table, counts.name, unit=unit.column)
    domain = propose_domain(replace(counts, smallest=people), column.guess, holders="people")
    return replace(column, domain=domain)


def _propose_criteria(
    columns: Sequence[ColumnDraft],
) -> tuple[Mapping[str, Mapping[str, Any]], ...]:
    """Propose 5-anonymity, and 3 values (2 where there are no more) of each sensitive column."""
    roles = [column.guess.role for column in columns]
    if ColumnRole.QUASI_IDENTIFIER not in roles:
        return ()
    criteria: list[Mapping[str, Mapping[str, Any]]] = [{"k-anonymity": {"k": 5}}]
    for column in columns:
        distinct = int(column.guess.evidence.get("distinct", 0))
        if column.guess.role is ColumnRole.SENSITIVE and distinct >= 2:
            parameters = {"column": column.guess.column, "l": min(3, distinct), "kind": "distinct"}
            criteria.append({"l-diversity": parameters})
    return tuple(criteria)


def _name_of(label: str) -> str:
    """Return a table's name from where it came: `data/patients.csv` is `patients`."""
    named = re.search(r"[?&]table=([^&]+)", label)
    bare = label.partition("?")[0].rpartition(":")[2]
    last = named[1].rpartition(".")[2] if named else PurePath(bare).name.partition(".")[0]
    return re.sub(r"[^\w-]+", "_", last).strip("_") or "table"


def _distinct_names(names: Sequence[str]) -> list[str]:
    taken: list[str] = []
    for name in names:
        number, candidate = 2, name
        while candidate in taken:
            number, candidate = number + 1, f"{name}_{number}"
        taken.append(candidate)
    return taken
