"""Whether one person may have several rows: columns that look like the key of a person."""

from __future__ import annotations

from collections.abc import Iterable

from discreet.engines.engine import Table
from discreet.measure.profile.vocabulary import is_person_id_name, is_row_id_name, recognize_concept
from discreet.policy import model
from discreet.policy.model import ColumnRole


def keys_by_name(names: Iterable[str]) -> tuple[str, ...]:
    """Return the columns that are keys by their names alone: of people, or of what people may share.

    >>> keys_by_name(["patient_id", "ward_id", "cost"])
    ('patient_id', 'ward_id')
    """
    return tuple(name for name in names if is_person_id_name(name) or is_row_id_name(name))


def keys_by_policy(policy: model.TablePolicy, names: Iterable[str]) -> tuple[str, ...]:
    """Return the columns that a policy or their names make keys of people, or of other tables' rows.

    It reads no rows, so that a name such as `e-mail address` is enough.
    """
    listed = [
        column.name
        for column in policy.columns
        if column.role.names_people or column.references is not None
    ]
    every = dict.fromkeys([*(column.name for column in policy.columns), *names])
    identifying = [name for name in every if _names_a_person(name)]
    return tuple(dict.fromkeys([*listed, *keys_by_name(every), *identifying]))


def _names_a_person(name: str) -> bool:
    concept = recognize_concept(name)
    return concept is not None and concept.role is ColumnRole.IDENTIFIER


def keys_by_content(table: Table) -> tuple[str, ...]:
    """Return the columns that are keys of people by their names, or repeat like one. Reads all rows."""
    from discreet.measure.profile.guess import guess_column
    from discreet.measure.profile.statistics import describe_columns

    named = keys_by_name(column.name for column in table.columns)
    repeating = [
        counts.name
        for counts in describe_columns(table)
        if 0 < counts.distinct < counts.present and guess_column(counts).role.names_people
    ]
    return tuple(dict.fromkeys([*named, *repeating]))
