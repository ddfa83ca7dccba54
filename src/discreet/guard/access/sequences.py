"""Sequences: their definitions, and the columns that get their numbers from one.

What a sequence has given already is no part of the authority: numbers are not taken back by a rollback.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace

from discreet.errors import StatementFailed
from discreet.guard.access.authority import (
    DEFAULT_SCHEMA,
    Authority,
    Name,
    Relation,
    RelationColumn,
)
from discreet.guard.access.change import AuthorityChange
from discreet.guard.access.constraint_names import default_name, unused_name
from discreet.guard.access.dependents import parse_stored_sql
from discreet.guard.access.names import (
    creation_schema,
    find_owned,
    find_relation,
    format_written_name,
    look_up_relation,
    need_table,
)
from discreet.guard.statements.objects import AlterSequence, CreateSequence, SequenceOptions
from discreet.guard.statements.statement import Written
from discreet.sql.types import INTEGERS

_BITS = {"smallint": "int2", "integer": "int4", "bigint": "int8"}
_DEFAULT = re.compile(r"nextval\('((?:[^']|'')+)'(?:::regclass)?\)", re.IGNORECASE)
_PLAIN = re.compile(r"[a-z_][a-z0-9_]*")


@dataclass(frozen=True)
class SequenceBounds:
    """The numbers of a sequence: `start`, `start + increment` and so on, up to a bound."""

    type: str
    start: int
    increment: int
    minimum: int
    maximum: int
    cycle: bool

    @classmethod
    def of(cls, relation: Relation) -> SequenceBounds:
        """Return the bounds of a sequence."""
        read = relation.options
        numbers = (int(read[name]) for name in ("start", "increment", "minimum", "maximum"))
        return cls(read["type"], *numbers, cycle=bool(read["cycle"]))

    def to_options(self) -> Mapping[str, str]:
        """Return them as options of a relation."""
        numbers = {
            name: str(getattr(self, name)) for name in ("start", "increment", "minimum", "maximum")
        }
        return {"type": self.type, **numbers, "cycle": "1" if self.cycle else ""}


def _make_bounds(given: SequenceOptions, before: SequenceBounds | None) -> SequenceBounds:
    """Return the bounds that options amount to, over those there were.

    Raises:
        StatementFailed: 22023, they contradict each other.
    """
    kind = given.type or (before.type if before else "bigint")
    increment = (
        given.increment if given.increment is not None else before.increment if before else 1
    )
    if increment == 0:
        raise StatementFailed("22023", "INCREMENT must not be zero")
    low, high = INTEGERS[_BITS[kind]]
    is_up = increment > 0
    least, most = (1, high) if is_up else (low, -1)
    is_new = before is None or given.type not in (None, before.type)
    minimum = _choose_bound(given.minimum, before.minimum if before and not is_new else None, least)
    maximum = _choose_bound(given.maximum, before.maximum if before and not is_new else None, most)
    if not low <= minimum <= high or not low <= maximum <= high:
        raise StatementFailed("22023", f"a bound is out of range for sequence data type {kind}")
    if minimum >= maximum:
        raise StatementFailed(
            "22023", f"MINVALUE ({minimum}) must be less than MAXVALUE ({maximum})"
        )
    start = given.start
    if start is None:
        start = before.start if before else minimum if is_up else maximum
    for number in (start, *([given.restart] if isinstance(given.restart, int) else [])):
        if not minimum <= number <= maximum:
            raise StatementFailed("22023", f"START value ({number}) is out of bounds")
    cycle = given.cycle if given.cycle is not None else bool(before and before.cycle)
    return SequenceBounds(kind, start, increment, minimum, maximum, cycle)


def _choose_bound(given: int | str | None, before: int | None, default: int) -> int:
    if isinstance(given, int):
        return given
    return default if given == "" or before is None else before


def create_sequence(change: AuthorityChange, statement: CreateSequence) -> AuthorityChange:
    """CREATE SEQUENCE."""
    schema = creation_schema(change.authority, change.role, statement.relation[0])
    name = statement.relation[1]
    if (schema, name) in change.authority.relations:
        text = f'relation "{name}" already exists'
        if statement.if_not_exists:
            return change.with_notice("NOTICE", f"{text}, skipping", "42P07")
        raise StatementFailed("42P07", text)
    made = _make_sequence(change, (schema, name), statement.options)
    return change.with_relation(_set_owner(change, made, statement.options))


def _make_sequence(change: AuthorityChange, key: Name, options: SequenceOptions) -> Relation:
    bounds = _make_bounds(options, None)
    # One that is dropped and made again starts again.
    identity = {"id": f"{key[0]}.{key[1]}.{change.authority.version}"}
    return Relation(
        *key,
        "sequence",
        change.role,
        (),
        options={**bounds.to_options(), **identity},
        writable=False,
    )


def _set_owner(change: AuthorityChange, made: Relation, options: SequenceOptions) -> Relation:
    if options.owned_by is None:
        return made
    rest = {name: text for name, text in made.options.items() if name not in ("table", "column")}
    if isinstance(options.owned_by, str):
        return replace(made, options=rest)
    written, column = options.owned_by
    table = find_relation(change.authority, change.role, written)
    need_table(table)
    if table.column(column) is None:
        raise StatementFailed(
            "42703", f'column "{column}" of relation "{table.name}" does not exist'
        )
    if table.owner != made.owner or table.schema != made.schema:
        what = "owner" if table.owner != made.owner else "schema"
        raise StatementFailed("55000", f"sequence must be in same {what} as table it is linked to")
    return replace(made, options={**rest, "table": table.name, "column": column})


def alter_sequence(change: AuthorityChange, statement: AlterSequence) -> AuthorityChange:
    """ALTER SEQUENCE; only the owner. RESTART is done by the gateway."""
    written = statement.relation
    if statement.if_exists and look_up_relation(change.authority, change.role, written) is None:
        text = f'relation "{format_written_name(written)}" does not exist, skipping'
        return change.with_notice("NOTICE", text)
    relation = find_owned(change.authority, change.role, written)
    if relation.kind != "sequence":
        raise StatementFailed("42809", f'"{relation.name}" is not a sequence')
    bounds = _make_bounds(statement.options, SequenceBounds.of(relation))
    changed = replace(relation, options={**relation.options, **bounds.to_options()})
    return change.with_relation(_set_owner(change, changed, statement.options))


def number_columns_of(
    change: AuthorityChange, relation: Relation, numbered: Mapping[str, SequenceOptions]
) -> tuple[AuthorityChange, Relation]:
    """Return the change with a sequence for each serial or identity column, and the table with them."""
    for name, options in numbered.items():
        taken = {key[1] for key in change.authority.relations if key[0] == relation.schema}
        sequence = unused_name(default_name(relation.name, (name,), "seq"), {*taken, relation.name})
        key = (relation.schema, sequence)
        kind = options.type if options.type in _BITS else None
        if kind is None:
            raise StatementFailed(
                "22023", "identity column type must be smallint, integer, or bigint"
            )
        made = _make_sequence(change, key, options)
        owned = {**made.options, "table": relation.name, "column": name}
        change = change.with_relation(replace(made, options=owned, owner=relation.owner))
        columns = tuple(
            replace(column, default=sequence_default_text(key), not_null=True)
            if column.name == name
            else column
            for column in relation.columns
        )
        relation = replace(relation, columns=columns)
    return change, relation


def sequence_default_text(key: Name) -> str:
    """Return the default of a column that gets its numbers from a sequence."""
    names = [key[1]] if key[0] == DEFAULT_SCHEMA else list(key)
    quoted = [
        name if _PLAIN.fullmatch(name) else '"' + name.replace('"', '""') + '"' for name in names
    ]
    text = ".".join(quoted).replace("'", "''")
    return f"nextval('{text}'::regclass)"


def default_sequence(column: RelationColumn) -> Name | None:
    """Return the sequence that a column gets its numbers from; None if it has another default.

    >>> default_sequence(RelationColumn("id", "integer", default="nextval('t_id_seq'::regclass)"))
    ('public', 't_id_seq')
    """
    found = _DEFAULT.fullmatch(column.default or "")
    if found is None:
        return None
    schema, name = read_sequence_name(found[1].replace("''", "'"))
    return schema or DEFAULT_SCHEMA, name


def read_sequence_name(text: str) -> Written:
    """Return the name in a text such as `public."Numbers"`.

    Raises:
        StatementFailed: 42602, it is no name.
    """
    parts = re.findall(r'"((?:[^"]|"")+)"|([^\W\d]\w*)|(\.)|(.)', text.strip())
    names = [(quoted.replace('""', '"') or plain.lower()) for quoted, plain, *_ in parts[::2]]
    dots = [dot for _, _, dot, _ in parts[1::2]]
    if not all(names) or not all(dots) or not 1 <= len(names) <= 2 or len(dots) != len(names) - 1:
        raise StatementFailed("42602", "invalid name syntax")
    return (names[0] if len(names) == 2 else None), names[-1]


def settle_default(change: AuthorityChange, column: RelationColumn) -> RelationColumn:
    """Return a column whose default names a sequence by its full name, if it has such a default."""
    from sqlglot import exp

    if column.default is None or "nextval" not in column.default.lower():
        return column
    tree = parse_stored_sql(column.default).unnest()
    argument = tree.expressions[0] if isinstance(tree, exp.Anonymous) and tree.expressions else None
    while isinstance(argument, exp.Cast):
        argument = argument.this
    if not isinstance(argument, exp.Literal) or tree.name.lower() != "nextval":
        raise StatementFailed("0A000", "a default is nextval('sequence') alone, or without it")
    written = read_sequence_name(argument.name)
    relation = find_relation(change.authority, change.role, written)
    if relation.kind != "sequence":
        raise StatementFailed("42809", f'"{relation.name}" is not a sequence')
    return replace(column, default=sequence_default_text(relation.key))


def owned_sequences(authority: Authority, table: Name, column: str | None = None) -> list[Relation]:
    """Return the sequences that are dropped with a table, or with one of its columns."""
    return [
        one
        for one in authority.relations.values()
        if one.kind == "sequence"
        and (one.schema, one.options.get("table")) == table
        and (column is None or one.options.get("column") == column)
    ]


def users_of(authority: Authority, sequence: Name) -> list[tuple[Relation, RelationColumn]]:
    """Return the columns that get their numbers from a sequence."""
    return [
        (relation, column)
        for relation in authority.relations.values()
        for column in relation.columns
        if default_sequence(column) == sequence
    ]
