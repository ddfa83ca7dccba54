"""Physical tables: columns, keys, checks and defaults as trees."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from sqlglot import exp
from sqlglot.errors import SqlglotError

from discreet.engines.databases.database import EngineTraits
from discreet.errors import StatementFailed
from discreet.guard.access.authority import (
    Authority,
    DatabaseRole,
    ForeignKey,
    Name,
    Relation,
    RelationColumn,
    Subject,
)
from discreet.guard.access.sequences import default_sequence
from discreet.guard.integrity.conditions import compile_condition
from discreet.guard.rewrite.adapt import array_literal
from discreet.guard.rewrite.kinds import array_type, element_kind, kind_of_cast
from discreet.sql import build
from discreet.sql.types import LETTERS, parse_modified_type

_NUMBERS_ITSELF = (
    exp.DataType.Type.SERIAL,
    exp.DataType.Type.BIGSERIAL,
    exp.DataType.Type.SMALLSERIAL,
)


def build_create_table(
    relation: Relation, traits: EngineTraits, targets: Mapping[Name, tuple[str, ...]]
) -> exp.Create:
    """Return the statement that creates the physical table of `relation`.

    DuckDB's own foreign keys refuse to delete a row and what refers to it in one transaction: there
    the gateway enforces them (`keys`), and PostgreSQL enforces its own.

    Args:
        relation: The relation, with its physical name.
        traits: The engine's.
        targets: The physical names of the relations that foreign keys refer to.

    Raises:
        StatementFailed: 0A000 for a type or condition that the engine or the gateway does not have.
    """
    _refuse_array_keys(relation, traits)
    parts: list[exp.Expr] = [
        _column_definition(column, relation, traits) for column in relation.columns
    ]
    if relation.primary_key:
        parts.append(exp.PrimaryKey(expressions=_quote_names(relation.primary_key)))
    parts += [_unique_constraint(columns) for columns in relation.uniques]
    parts += [_check(check.condition, relation, traits) for check in relation.checks]
    if not traits.has_letter_types:
        parts += list(_length_checks(relation))
    if traits.enforces_foreign_keys:
        parts += [foreign_key_definition(key, targets) for key in relation.foreign_keys]
    schema = exp.Schema(this=build.table(*relation.physical), expressions=parts)
    return exp.Create(this=schema, kind="TABLE")


def _refuse_array_keys(relation: Relation, traits: EngineTraits) -> None:
    """DuckDB has no index of arrays."""
    keys = {name for key in (relation.primary_key, *relation.uniques) for name in key}
    for column in relation.columns:
        if column.name in keys and column.type.endswith("[]") and not traits.has_letter_types:
            raise StatementFailed("0A000", f'column "{column.name}" is an array: it can be no key')


def engine_column_type(column: RelationColumn, traits: EngineTraits) -> exp.DataType:
    """Return the type that holds what PostgreSQL's type of a column holds.

    >>> from discreet.guard.access.authority import RelationColumn
    >>> traits = EngineTraits("duckdb", has_letter_types=False)
    >>> engine_column_type(RelationColumn("n", "numeric"), traits).sql(dialect="duckdb")
    'DECIMAL(38, 10)'
    """
    try:
        kind = exp.DataType.build(column.type, dialect="postgres")
    except SqlglotError:
        kind = None
    if kind is None or kind.this == exp.DataType.Type.USERDEFINED:
        raise StatementFailed("42704", f'type "{column.type}" does not exist')
    if kind.this in _NUMBERS_ITSELF:
        raise StatementFailed("0A000", "identity columns are not supported", hint="Use integer.")
    if kind.this == exp.DataType.Type.NAME:
        return exp.DataType.build("TEXT")
    if traits.has_letter_types:
        return kind
    if kind.this == exp.DataType.Type.ARRAY:
        return array_type(_without_letters(kind.expressions[0]))
    return _without_letters(kind)


def _without_letters(kind: exp.DataType) -> exp.DataType:
    if kind.this == exp.DataType.Type.DECIMAL and not kind.expressions:
        # Without precision it is any number for PostgreSQL only; DuckDB would keep three digits.
        return exp.DataType.build("DECIMAL(38, 10)")
    if kind.this == exp.DataType.Type.JSONB:
        return exp.DataType.build("JSON")
    return exp.DataType.build("TEXT") if kind.this in LETTERS else kind


def engine_default(
    column: RelationColumn, traits: EngineTraits, settings: Mapping[str, str] | None = None
) -> exp.Expr | None:
    """Return the default of a column; None if there is none.

    `settings` are those of the session, which hold the transaction's time.
    """
    if column.default is None or default_sequence(column) is not None:
        return None  # the gateway gives the numbers of a sequence
    authority, subject = _empty_authority(settings)
    tree = compile_condition(column.default, {}, authority, subject, traits=traits)
    inner = tree.unnest()
    if traits.read_literal is None or not isinstance(inner, exp.Literal) or not inner.is_string:
        return tree
    wanted = engine_column_type(column, traits)
    kind = kind_of_cast(wanted)
    element = element_kind(kind)
    if element is not None:
        return exp.Cast(this=array_literal(inner.name, element, traits), to=wanted)
    inner.set("this", traits.read_literal(inner.name, kind))
    return tree


def _column_definition(
    column: RelationColumn, relation: Relation, traits: EngineTraits
) -> exp.ColumnDef:
    constraints: list[exp.Expr] = []
    if column.not_null or column.name in relation.primary_key:
        constraints.append(exp.NotNullColumnConstraint())
    default = engine_default(column, traits)
    if default is not None:
        if default.find(exp.Query):
            raise StatementFailed("0A000", "cannot use subquery in DEFAULT expression")
        constraints.append(exp.DefaultColumnConstraint(this=default))
    return exp.ColumnDef(
        this=exp.to_identifier(column.name, quoted=True),
        kind=engine_column_type(column, traits),
        constraints=[exp.ColumnConstraint(kind=kind) for kind in constraints],
    )


def _check(text: str, relation: Relation, traits: EngineTraits) -> exp.Expr:
    condition = compile_row_value(text, relation, traits, place="check constraint")
    return exp.CheckColumnConstraint(this=condition.unnest())


def compile_row_value(
    text: str, relation: Relation, traits: EngineTraits, *, place: str
) -> exp.Expr:
    """Return an expression over a row of a relation alone, which the engine may execute.

    Raises:
        StatementFailed: As the expression fails; 0A000 for a subquery.
    """
    authority, subject = _empty_authority()
    own = (relation, build.column)
    rows = {"": own, relation.name: own}
    value = compile_condition(text, rows, authority, subject, traits=traits)
    if value.find(exp.Query):
        raise StatementFailed("0A000", f"cannot use subquery in {place}")
    return value


def _length_checks(relation: Relation) -> Iterator[exp.Expr]:
    """DuckDB keeps texts of any length."""
    for column in relation.columns:
        limit = parse_modified_type(column.type).length_limit
        if limit is not None:
            length = exp.Length(this=build.column(column.name))
            fits = exp.LTE(this=length, expression=build.number(limit))
            yield exp.CheckColumnConstraint(this=fits)


def _unique_constraint(columns: Sequence[str]) -> exp.Expr:
    return exp.UniqueColumnConstraint(this=exp.Schema(expressions=_quote_names(columns)))


def is_checked_by_engine(key: ForeignKey) -> bool:
    """Whether an engine with foreign keys checks this one: it has neither actions nor delays."""
    is_plain = key.on_delete in ("no action", "restrict") and key.on_update == "no action"
    is_full = key.full and len(key.columns) > 1
    return is_plain and not key.deferrable and not is_full


def foreign_key_definition(key: ForeignKey, targets: Mapping[Name, tuple[str, ...]]) -> exp.Expr:
    """Return a foreign key as a constraint of the engine."""
    physical = targets.get(key.target)
    if physical is None:
        raise StatementFailed("42P01", f'relation "{key.target[1]}" does not exist')
    target = exp.Schema(this=build.table(*physical), expressions=_quote_names(key.target_columns))
    # Actions and delays are the gateway's: its triggers see what they change. The engine looks last.
    options = [] if is_checked_by_engine(key) else ["DEFERRABLE", "INITIALLY DEFERRED"]
    return exp.ForeignKey(
        expressions=_quote_names(key.columns),
        reference=exp.Reference(this=target, options=options),
    )


def _quote_names(columns: Sequence[str]) -> list[exp.Expr]:
    return [exp.to_identifier(name, quoted=True) for name in columns]


def _empty_authority(settings: Mapping[str, str] | None = None) -> tuple[Authority, Subject]:
    """Return an empty authority: checks and defaults read no other table."""
    role = DatabaseRole("check")
    return Authority(roles={role.name: role}), Subject(role.name, role.name, None, settings or {})
