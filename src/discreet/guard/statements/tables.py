"""CREATE TABLE: columns, column and table constraints, or AS a query."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from discreet.errors import StatementFailed
from discreet.guard.access.authority import CheckConstraint, ForeignKey, RelationColumn
from discreet.guard.statements.cursor import StatementCursor
from discreet.guard.statements.fragments import expression, query_tree
from discreet.guard.statements.objects import CreateTable
from discreet.guard.statements.statement import Statement, Written
from discreet.guard.statements.types import parse_type

if TYPE_CHECKING:
    from sqlglot import exp


_TABLE_CONSTRAINTS = ("constraint", "primary", "unique", "foreign", "check")
_AFTER_A_DEFAULT = (
    ("not", "null"),
    ("null",),
    ("primary", "key"),
    ("unique",),
    ("references",),
    ("check", "("),
    ("constraint",),
    ("default",),
    ("collate",),
    ("generated",),
)


@dataclass
class _Parts:
    """The columns and constraints parsed so far."""

    columns: list[RelationColumn] = field(default_factory=list[RelationColumn])
    primary_key: tuple[str, ...] = ()
    uniques: list[tuple[str, ...]] = field(default_factory=list[tuple[str, ...]])
    foreign_keys: list[tuple[ForeignKey, Written]] = field(
        default_factory=list[tuple[ForeignKey, "Written"]]
    )
    checks: list[CheckConstraint] = field(default_factory=list[CheckConstraint])

    def set_primary_key(self, columns: tuple[str, ...]) -> None:
        """Store the primary key; there is one."""
        if self.primary_key:
            raise StatementFailed("42P16", "multiple primary keys for a table are not allowed")
        self.primary_key = columns


def parse_create_table(cursor: StatementCursor) -> Statement:
    """CREATE TABLE [IF NOT EXISTS] name (…) | [(names)] AS query."""
    if_not_exists = cursor.take("if", "not", "exists")
    relation = cursor.relation()
    if cursor.take("as"):
        return CreateTable(relation, query=_as_query(cursor), if_not_exists=if_not_exists)
    if _has_only_names(cursor):
        names = cursor.in_parentheses(cursor.name)
        cursor.need("as")
        columns = tuple(RelationColumn(name, "") for name in names)
        return CreateTable(relation, columns, query=_as_query(cursor), if_not_exists=if_not_exists)
    parts = _Parts()
    cursor.need("(")
    while not cursor.take(")"):  # the seed leaves a comma before it
        _parse_element(cursor, parts)
        if not cursor.at(")"):
            cursor.need(",")
    _refuse_rest(cursor)
    return CreateTable(
        relation,
        tuple(parts.columns),
        parts.primary_key,
        tuple(parts.uniques),
        tuple(parts.foreign_keys),
        tuple(parts.checks),
        if_not_exists=if_not_exists,
    )


def _has_only_names(cursor: StatementCursor) -> bool:
    """Whether a list of bare names comes, and then AS."""
    if not cursor.at("("):
        return False
    place = cursor.place
    cursor.place = cursor.closing() + 1
    found = cursor.at("as")
    cursor.place = place
    return found


def _as_query(cursor: StatementCursor) -> exp.Query:
    text = cursor.text_until(lambda: cursor.at("with", "no", "data") or cursor.at("with", "data"))
    if cursor.at("with", "no", "data"):
        raise StatementFailed("0A000", "WITH NO DATA is not supported: add WHERE false")
    cursor.take("with", "data")
    return query_tree(text)


def _refuse_rest(cursor: StatementCursor) -> None:
    for words in (
        ("inherits",),
        ("partition", "by"),
        ("using",),
        ("with",),
        ("without", "oids"),
        ("on", "commit"),
        ("tablespace",),
    ):
        if cursor.at(*words):
            shown = " ".join(words).upper()
            raise StatementFailed(
                "0A000", f"{shown} is not supported in CREATE TABLE: leave it out"
            )


def _parse_element(cursor: StatementCursor, parts: _Parts) -> None:
    if cursor.at("like"):
        raise StatementFailed("0A000", "LIKE is not supported: write the columns")
    if cursor.at("exclude"):
        raise StatementFailed("0A000", "EXCLUDE is not supported: write UNIQUE or CHECK")
    if cursor.at_any(*_TABLE_CONSTRAINTS):
        _parse_table_constraint(cursor, parts)
    else:
        _parse_column(cursor, parts)


def _constraint_name(cursor: StatementCursor) -> str | None:
    return cursor.name() if cursor.take("constraint") else None


def _parse_table_constraint(cursor: StatementCursor, parts: _Parts) -> None:
    name = _constraint_name(cursor)
    if cursor.take("primary", "key"):
        parts.set_primary_key(cursor.in_parentheses(cursor.name))
    elif cursor.take("unique"):
        _refuse_nulls(cursor)
        parts.uniques.append(cursor.in_parentheses(cursor.name))
    elif cursor.take("foreign", "key"):
        columns = cursor.in_parentheses(cursor.name)
        cursor.need("references")
        parts.foreign_keys.append(_parse_references(cursor, columns, name))
    elif cursor.take("check"):
        parts.checks.append(CheckConstraint(expression(cursor.enclosed()), name))
    else:
        raise cursor.unexpected()
    _refuse_deferral(cursor)


def _refuse_nulls(cursor: StatementCursor) -> None:
    if cursor.at("nulls"):
        raise StatementFailed("0A000", "UNIQUE NULLS is not supported: leave NULLS … DISTINCT out")


def _refuse_deferral(cursor: StatementCursor) -> None:
    if cursor.take("not", "deferrable") or cursor.take("initially", "immediate"):
        return
    for words in (
        ("deferrable",),
        ("initially",),
        ("not", "valid"),
        ("no", "inherit"),
        ("include",),
    ):
        if cursor.at(*words):
            shown = " ".join(words).upper()
            raise StatementFailed("0A000", f"{shown} is not supported: leave it out")


def _parse_column(cursor: StatementCursor, parts: _Parts) -> None:
    name = cursor.name()
    type_ = parse_type(cursor)
    not_null: bool | None = None
    default: str | None = None
    while not cursor.at_any(",", ")"):
        label = _constraint_name(cursor)
        if cursor.take("not", "null"):
            not_null = _merge_nullability(not_null, new=True)
        elif cursor.take("null"):
            not_null = _merge_nullability(not_null, new=False)
        elif cursor.take("default"):
            if default is not None:
                raise StatementFailed("42601", f'multiple default values for column "{name}"')
            default = _parse_default(cursor)
        else:
            _parse_column_constraint(cursor, parts, name, label)
        _refuse_deferral(cursor)
    parts.columns.append(RelationColumn(name, type_, not_null is True, default))


def _merge_nullability(before: bool | None, *, new: bool) -> bool:
    if before is not None and before != new:
        raise StatementFailed("42601", "conflicting NULL/NOT NULL declarations")
    return new


def _parse_column_constraint(
    cursor: StatementCursor, parts: _Parts, name: str, label: str | None
) -> None:
    if cursor.take("primary", "key"):
        parts.set_primary_key((name,))
    elif cursor.take("unique"):
        _refuse_nulls(cursor)
        parts.uniques.append((name,))
    elif cursor.take("check"):
        parts.checks.append(CheckConstraint(expression(cursor.enclosed()), label))
    elif cursor.take("references"):
        parts.foreign_keys.append(_parse_references(cursor, (name,), label))
    elif cursor.at("generated"):
        raise StatementFailed("0A000", "generated columns are not supported: use a view")
    elif cursor.at("collate"):
        raise StatementFailed("0A000", "COLLATE is not supported: leave it out")
    else:
        raise cursor.unexpected()


def _parse_default(cursor: StatementCursor) -> str:
    def stops() -> bool:
        return cursor.at_any(",", ")") or any(cursor.at(*words) for words in _AFTER_A_DEFAULT)

    # The first word belongs to the value in any case: DEFAULT NULL.
    first = cursor.word
    if first.kind == "end" or cursor.at_any(",", ")"):
        raise cursor.unexpected()
    if cursor.at("("):
        cursor.place = cursor.closing()
    cursor.step()
    cursor.text_until(stops)
    last = cursor.words[cursor.place - 1]
    return expression(cursor.text[first.start : last.end])


def _parse_references(
    cursor: StatementCursor, columns: tuple[str, ...], name: str | None
) -> tuple[ForeignKey, Written]:
    target = cursor.relation()
    target_columns = cursor.in_parentheses(cursor.name) if cursor.at("(") else ()
    while cursor.at_any("on", "match"):
        _skip_action(cursor)
    return ForeignKey(columns, (target[0] or "", target[1]), target_columns, name), target


def _skip_action(cursor: StatementCursor) -> None:
    """Skip clauses that state PostgreSQL's default; others are not supported."""
    if cursor.take("match"):
        if not cursor.take("simple"):
            raise StatementFailed("0A000", "only MATCH SIMPLE is supported")
        return
    cursor.need("on")
    cursor.choose("delete", "update")
    if not cursor.take("no", "action") and not cursor.take("restrict"):
        raise StatementFailed(
            "0A000",
            "only ON DELETE | UPDATE NO ACTION and RESTRICT are supported",
            hint="Delete or change the referencing rows first, in one transaction.",
        )
