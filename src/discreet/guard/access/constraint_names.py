"""Names of a table's constraints: those given, and PostgreSQL's defaults for the others."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Literal

from discreet.errors import StatementFailed
from discreet.guard.access.authority import CheckConstraint, ForeignKey, Relation
from discreet.sql.names import fold_identifier

_LONGEST = 63


@dataclass(frozen=True)
class NamedConstraint:
    """A primary key (p), a unique key (u), a foreign key (f) or a check (c), with its name."""

    kind: Literal["p", "u", "f", "c"]
    name: str
    columns: tuple[str, ...]
    item: ForeignKey | CheckConstraint | None = None


def named_constraints(relation: Relation) -> Iterator[NamedConstraint]:
    """Return the constraints of a relation; those without a name have default ones, which may repeat.

    A unique index is no constraint. Checks that cannot be parsed are left out.
    """
    given = dict(_names_by_columns(relation))
    if relation.primary_key:
        name = given.get(relation.primary_key) or default_name(relation.name, (), "pkey")
        yield NamedConstraint("p", name, relation.primary_key)
    indexed = {index.keys for index in relation.indexes if index.unique}
    for unique in relation.uniques:
        if unique not in indexed:
            name = given.get(unique) or default_name(relation.name, unique, "key")
            yield NamedConstraint("u", name, unique)
    for key in relation.foreign_keys:
        name = key.name or default_name(relation.name, key.columns, "fkey")
        yield NamedConstraint("f", name, key.columns, key)
    for check in relation.checks:
        columns = columns_named(check.condition, relation)
        if columns is None:
            continue
        one = columns if len(columns) == 1 else ()
        name = check.name or default_name(relation.name, one, "check")
        yield NamedConstraint("c", name, columns, check)


def with_names(relation: Relation) -> Relation:
    """Return a relation with a name for each constraint, and no name twice.

    Raises:
        StatementFailed: 42710, a name was given twice.
    """
    given = [name for name, _ in relation.key_names]
    given += [one.name for one in (*relation.foreign_keys, *relation.checks) if one.name]
    given += [
        index.name
        for index in relation.indexes
        if index.keys not in dict(_names_by_columns(relation))
    ]
    for name in given:
        if given.count(name) > 1:
            text = f'constraint "{name}" for relation "{relation.name}" already exists'
            raise StatementFailed("42710", text)
    taken = set(given)
    names: dict[int, str] = {}
    keys: list[tuple[str, tuple[str, ...]]] = []
    for one in named_constraints(relation):
        name = one.name if one.name in given else unused_name(one.name, taken)
        taken.add(name)
        if one.item is None:
            keys.append((name, one.columns))
        else:
            names[id(one.item)] = name
    keys += [(name, key) for name, key in relation.key_names if (name, key) not in keys]
    return replace(
        relation,
        key_names=tuple(keys),
        foreign_keys=tuple(replace(k, name=names[id(k)]) for k in relation.foreign_keys),
        checks=tuple(replace(c, name=names.get(id(c), c.name)) for c in relation.checks),
    )


def _names_by_columns(relation: Relation) -> Iterator[tuple[tuple[str, ...], str]]:
    """Return the names of keys by their columns."""
    return ((columns, name) for name, columns in relation.key_names)


def columns_named(condition: str, relation: Relation) -> tuple[str, ...] | None:
    """Return the columns of a relation that a condition may read; None if it cannot be parsed."""
    import sqlglot
    from sqlglot import exp
    from sqlglot.errors import SqlglotError

    from discreet.guard.statements.dialect import ClientPostgres

    try:
        tree = sqlglot.parse_one(condition, dialect=ClientPostgres)
    except (SqlglotError, RecursionError):
        return None
    # Every word counts, also one that names the whole row.
    words = {fold_identifier(node) for node in tree.find_all(exp.Identifier)}
    if relation.name in words or tree.find(exp.Star) is not None:
        return tuple(column.name for column in relation.columns)
    return tuple(column.name for column in relation.columns if column.name in words)


def default_name(relation: str, columns: tuple[str, ...], ending: str) -> str:
    """Return PostgreSQL's default name of a constraint, an index or a sequence.

    >>> default_name("patients", ("age",), "check")
    'patients_age_check'
    """
    middle = "_".join(columns)
    room = _LONGEST - len(ending) - 1
    if not middle:
        return f"{relation[:room]}_{ending}"
    # PostgreSQL shortens the longer of the two, until both fit.
    room -= 1
    first, second = relation, middle
    while len(first) + len(second) > room:
        first, second = (first[:-1], second) if len(first) > len(second) else (first, second[:-1])
    return f"{first}_{second}_{ending}"


def unused_name(name: str, taken: Iterable[str]) -> str:
    """Return a name, with a number if it is taken."""
    used = set(taken)
    candidate, number = name, 0
    while candidate in used:
        number += 1
        candidate = f"{name[: _LONGEST - len(str(number))]}{number}"
    return candidate
