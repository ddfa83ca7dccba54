"""Constraints of a relation, with PostgreSQL's default names."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from discreet.guard.access.authority import (
    CheckConstraint,
    ForeignKey,
    Name,
    Relation,
    TableIndex,
)
from discreet.guard.access.constraint_names import columns_named, named_constraints, unused_name
from discreet.server.catalog.standard import reserved_words


@dataclass(frozen=True)
class Constraint:
    """A primary key (p), a unique key (u), a foreign key (f) or a check (c) of a relation.

    An index that is no constraint (i) is listed with them; its `columns` are "" for expressions.
    """

    kind: Literal["p", "u", "f", "c", "i"]
    name: str
    columns: tuple[str, ...]
    target: Name | None = None
    target_columns: tuple[str, ...] = ()
    condition: str | None = None
    key: ForeignKey | None = None
    index: TableIndex | None = None

    @property
    def is_unique(self) -> bool:
        """Whether no two rows agree in its columns."""
        return self.kind in ("p", "u") or (self.index is not None and self.index.unique)

    @property
    def is_index(self) -> bool:
        """Whether PostgreSQL would have an index of the same name for it."""
        return self.kind in ("p", "u", "i")

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
                text = f"FOREIGN KEY ({_list(self.columns)}) REFERENCES {target}({keys})"
                return text + _format_actions(self.key)
            case "i":
                return ""
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


def _format_actions(key: ForeignKey | None) -> str:
    """Return what follows the target of a foreign key, where it differs from PostgreSQL's default."""
    if key is None:
        return ""
    text = " MATCH FULL" if key.full else ""
    for event, action in (("UPDATE", key.on_update), ("DELETE", key.on_delete)):
        if action != "no action":
            text += f" ON {event} {action.upper()}"
    if key.set_columns:
        text += f" ({_list(key.set_columns)})"
    if key.deferrable:
        text += " DEFERRABLE INITIALLY DEFERRED" if key.deferred else " DEFERRABLE"
    return text


def _list(names: tuple[str, ...]) -> str:
    return ", ".join(map(quote_identifier, names))


def constraints_of(relation: Relation, known: Mapping[Name, set[str]]) -> tuple[Constraint, ...]:
    """Return the constraints of a relation whose columns, and those of their targets, are visible."""
    taken: set[str] = set()
    found: list[Constraint] = []
    for one in named_constraints(relation):
        target = one.item if isinstance(one.item, ForeignKey) else None
        if not set(one.columns) <= known.get(relation.key, set()):
            continue
        if target and not set(_target_columns(target)) <= known.get(target.target, set()):
            continue
        if target and target.target not in known:
            continue
        name = unused_name(one.name, taken)
        taken.add(name)
        condition = one.item.condition if isinstance(one.item, CheckConstraint) else None
        to = (target.target, _target_columns(target)) if target else (None, ())
        found.append(Constraint(one.kind, name, one.columns, *to, condition, target))
    for index in relation.indexes:
        texts = (*index.keys, *index.included, *filter(None, (index.condition,)))
        named = [columns_named(text, relation) or () for text in texts]
        if {name for names in named for name in names} <= known.get(relation.key, set()):
            columns = {column.name for column in relation.columns}
            keys = tuple(key if key in columns else "" for key in index.keys)
            found.append(Constraint("i", index.name, keys, index=index))
    return tuple(found)


def _target_columns(key: ForeignKey) -> tuple[str, ...]:
    return key.target_columns or key.columns
