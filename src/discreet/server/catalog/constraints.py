"""Constraints of a relation, with PostgreSQL's default names."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Literal

from discreet.guard.access.authority import ForeignKey, Name, Relation
from discreet.server.catalog.standard import reserved_words
from discreet.sql.names import fold_identifier

_LONGEST = 63


@dataclass(frozen=True)
class Constraint:
    """A primary key (p), a unique key (u), a foreign key (f) or a check (c) of a relation."""

    kind: Literal["p", "u", "f", "c"]
    name: str
    columns: tuple[str, ...]
    target: Name | None = None
    target_columns: tuple[str, ...] = ()
    condition: str | None = None

    @property
    def is_index(self) -> bool:
        """Whether PostgreSQL would have an index of the same name for it."""
        return self.kind in ("p", "u")

    def definition(self, *, qualified: bool, pretty: bool = False) -> str:
        """Return its definition in PostgreSQL's form, with the target's schema where it is needed.

        >>> Constraint("f", "f", ("a",), ("public", "t"), ("id",)).definition(qualified=False)
        'FOREIGN KEY (a) REFERENCES t(id)'
        """
        match self.kind:
            case "p":
                return f"PRIMARY KEY ({_list(self.columns)})"
            case "u":
                return f"UNIQUE ({_list(self.columns)})"
            case "f":
                schema, name = self.target or ("", "")
                target = (
                    f"{quote_identifier(schema)}.{quote_identifier(name)}"
                    if qualified
                    else quote_identifier(name)
                )
                keys = _list(self.target_columns)
                return f"FOREIGN KEY ({_list(self.columns)}) REFERENCES {target}({keys})"
            case "c":
                return f"CHECK ({self.condition})" if pretty else f"CHECK (({self.condition}))"


def quote_identifier(name: str) -> str:
    """Return a name as it must be written in SQL.

    >>> quote_identifier("age"), quote_identifier("Age"), quote_identifier("order")
    ('age', '"Age"', '"order"')
    """
    plain = name.isascii() and name.replace("$", "_").isidentifier() and name == name.lower()
    if plain and not name.startswith("$") and name not in reserved_words():
        return name
    return '"' + name.replace('"', '""') + '"'


def _list(names: tuple[str, ...]) -> str:
    return ", ".join(map(quote_identifier, names))


def constraints_of(relation: Relation, known: Mapping[Name, set[str]]) -> tuple[Constraint, ...]:
    """Return the constraints of a relation whose columns, and those of their targets, are visible."""
    taken: set[str] = set()
    found: list[Constraint] = []
    for one in _unnumbered_constraints(relation):
        if not set(one.columns) <= known.get(relation.key, set()):
            continue
        if one.target and not set(one.target_columns) <= known.get(one.target, set()):
            continue
        if one.target and one.target not in known:
            continue
        name = _unused_name(one.name, taken)
        taken.add(name)
        found.append(
            Constraint(one.kind, name, one.columns, one.target, one.target_columns, one.condition)
        )
    return tuple(found)


def _unnumbered_constraints(relation: Relation) -> Iterator[Constraint]:
    if relation.primary_key:
        yield Constraint("p", _default_name(relation.name, (), "pkey"), relation.primary_key)
    for unique in relation.uniques:
        yield Constraint("u", _default_name(relation.name, unique, "key"), unique)
    for key in relation.foreign_keys:
        name = key.name or _default_name(relation.name, key.columns, "fkey")
        yield Constraint("f", name, key.columns, key.target, _target_columns(key))
    for check in relation.checks:
        columns = _condition_columns(check.condition, relation)
        if columns is None:  # a condition that cannot be parsed is not shown
            continue
        one = columns if len(columns) == 1 else ()
        name = check.name or _default_name(relation.name, one, "check")
        yield Constraint("c", name, columns, condition=check.condition)


def _target_columns(key: ForeignKey) -> tuple[str, ...]:
    return key.target_columns or key.columns


def _condition_columns(condition: str, relation: Relation) -> tuple[str, ...] | None:
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
    if relation.name in words:
        return tuple(column.name for column in relation.columns)
    return tuple(column.name for column in relation.columns if column.name in words)


def _default_name(relation: str, columns: tuple[str, ...], ending: str) -> str:
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


def _unused_name(name: str, taken: set[str]) -> str:
    candidate, number = name, 0
    while candidate in taken:
        number += 1
        candidate = f"{name[: _LONGEST - len(str(number))]}{number}"
    return candidate
