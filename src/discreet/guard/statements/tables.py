"""CREATE TABLE: columns, column and table constraints, or AS a query."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Literal

from discreet.errors import StatementFailed
from discreet.guard.access.authority import (
    TEMPORARY,
    CheckConstraint,
    ForeignKey,
    ReferentialAction,
    RelationColumn,
)
from discreet.guard.statements.cursor import StatementCursor
from discreet.guard.statements.fragments import expression, query_tree
from discreet.guard.statements.objects import CreateTable, SequenceOptions
from discreet.guard.statements.sequences import parse_sequence_options
from discreet.guard.statements.statement import Statement, Written
from discreet.guard.statements.types import parse_type
from discreet.sql.types import SERIALS, TYPES

if TYPE_CHECKING:
    from sqlglot import exp


TABLE_CONSTRAINTS = ("constraint", "primary", "unique", "foreign", "check")
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
class TableParts:
    """The columns and constraints parsed so far."""

    columns: list[RelationColumn] = field(default_factory=list[RelationColumn])
    primary_key: tuple[str, ...] = ()
    uniques: list[tuple[str, ...]] = field(default_factory=list[tuple[str, ...]])
    foreign_keys: list[tuple[ForeignKey, Written]] = field(
        default_factory=list[tuple[ForeignKey, "Written"]]
    )
    checks: list[CheckConstraint] = field(default_factory=list[CheckConstraint])
    key_names: list[tuple[str, tuple[str, ...]]] = field(
        default_factory=list[tuple[str, tuple[str, ...]]]
    )
    numbered: list[tuple[str, SequenceOptions]] = field(
        default_factory=list[tuple[str, SequenceOptions]]
    )

    def set_primary_key(self, columns: tuple[str, ...], name: str | None) -> None:
        """Store the primary key; there is one."""
        if self.primary_key:
            raise StatementFailed("42P16", "multiple primary keys for a table are not allowed")
        self.primary_key = columns
        self._keep_name(name, columns)

    def add_unique(self, columns: tuple[str, ...], name: str | None) -> None:
        """Store a unique key; the same one twice is one."""
        if columns not in self.uniques:
            self.uniques.append(columns)
            self._keep_name(name, columns)

    def as_table(
        self, relation: Written = (None, ""), *, if_not_exists: bool = False
    ) -> CreateTable:
        """Return what was parsed as a table."""
        return CreateTable(
            relation,
            tuple(self.columns),
            self.primary_key,
            tuple(self.uniques),
            tuple(self.foreign_keys),
            tuple(self.checks),
            if_not_exists=if_not_exists,
            key_names=tuple(self.key_names),
            numbered=tuple(self.numbered),
        )

    def _keep_name(self, name: str | None, columns: tuple[str, ...]) -> None:
        if name is not None:
            self.key_names.append((name, columns))


def parse_create_table(cursor: StatementCursor) -> CreateTable:
    """CREATE TABLE [IF NOT EXISTS] name (…) | [(names)] AS query."""
    if_not_exists = cursor.take("if", "not", "exists")
    relation = cursor.relation()
    drops = _parse_on_commit(cursor)
    if cursor.take("as"):
        return CreateTable(
            relation,
            query=_as_query(cursor),
            if_not_exists=if_not_exists,
            drops_on_commit=drops,
        )
    if _has_only_names(cursor):
        names = cursor.in_parentheses(cursor.name)
        cursor.need("as")
        columns = tuple(RelationColumn(name, "") for name in names)
        return CreateTable(relation, columns, query=_as_query(cursor), if_not_exists=if_not_exists)
    parts = TableParts()
    cursor.need("(")
    while not cursor.take(")"):  # the seed leaves a comma before it
        _parse_element(cursor, parts)
        if not cursor.at(")"):
            cursor.need(",")
    drops = _parse_on_commit(cursor)
    _refuse_rest(cursor)
    made = parts.as_table(relation, if_not_exists=if_not_exists)
    return replace(made, drops_on_commit=drops)


def parse_create_temporary(cursor: StatementCursor) -> Statement:
    """CREATE [LOCAL | GLOBAL] TEMPORARY TABLE …: a table of the session in the schema `pg_temp`."""
    if cursor.at_any("temp", "temporary"):
        cursor.step()
    if not cursor.take("table"):
        raise StatementFailed(
            "0A000",
            f"temporary {cursor.word.text} is not supported",
            hint="Tables can be temporary.",
        )
    made = parse_create_table(cursor)
    schema, name = made.relation
    if schema not in (None, TEMPORARY):
        raise StatementFailed("42P16", "cannot create temporary relation in non-temporary schema")
    return replace(made, relation=(TEMPORARY, name))


def _parse_on_commit(cursor: StatementCursor) -> bool:
    """Parse ON COMMIT, and return whether the table is dropped then."""
    if not cursor.take("on", "commit"):
        return False
    if cursor.take("preserve", "rows"):
        return False
    if cursor.take("delete", "rows"):
        raise StatementFailed(
            "0A000",
            "ON COMMIT DELETE ROWS is not supported",
            hint="Write ON COMMIT DROP, or delete the rows.",
        )
    cursor.need("drop")
    return True


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
        ("tablespace",),
    ):
        if cursor.at(*words):
            shown = " ".join(words).upper()
            raise StatementFailed(
                "0A000", f"{shown} is not supported in CREATE TABLE: leave it out"
            )


def _parse_element(cursor: StatementCursor, parts: TableParts) -> None:
    if cursor.at("like"):
        raise StatementFailed("0A000", "LIKE is not supported: write the columns")
    if cursor.at("exclude"):
        raise StatementFailed("0A000", "EXCLUDE is not supported: write UNIQUE or CHECK")
    if cursor.at_any(*TABLE_CONSTRAINTS):
        parse_table_constraint(cursor, parts)
    else:
        parse_column(cursor, parts)


def _constraint_name(cursor: StatementCursor) -> str | None:
    return cursor.name() if cursor.take("constraint") else None


def parse_table_constraint(cursor: StatementCursor, parts: TableParts) -> None:
    """[CONSTRAINT name] PRIMARY KEY (…) | UNIQUE (…) | FOREIGN KEY (…) REFERENCES … | CHECK (…)."""
    name = _constraint_name(cursor)
    if cursor.take("primary", "key"):
        parts.set_primary_key(cursor.in_parentheses(cursor.name), name)
    elif cursor.take("unique"):
        _refuse_nulls(cursor)
        parts.add_unique(cursor.in_parentheses(cursor.name), name)
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


def parse_column(cursor: StatementCursor, parts: TableParts) -> None:
    """Name, type and constraints of a column."""
    name = cursor.name()
    serial = _parse_serial(cursor)
    column = RelationColumn(name, serial or parse_type(cursor))
    if serial is not None:
        parts.numbered.append((name, SequenceOptions(type=serial)))
    nullable: bool | None = None
    while not cursor.at_any(",", ")") and cursor.word.kind != "end":
        label = _constraint_name(cursor)
        if cursor.take("not", "null"):
            nullable = _merge_nullability(nullable, new=False)
        elif cursor.take("null"):
            nullable = _merge_nullability(nullable, new=True)
        elif cursor.take("default"):
            if column.default is not None:
                raise _multiple_defaults(name)
            column = replace(column, default=parse_default(cursor))
        elif cursor.at("generated") and not cursor.at("generated", "always", "as", "("):
            identity, options = parse_identity(cursor)
            parts.numbered.append((name, replace(options, type=options.type or column.type)))
            column = replace(column, identity=identity)
        else:
            _parse_column_constraint(cursor, parts, name, label)
        _refuse_deferral(cursor)
    parts.columns.append(_settle_column(parts, column, nullable))


def _settle_column(
    parts: TableParts, column: RelationColumn, nullable: bool | None
) -> RelationColumn:
    count = sum(numbered == column.name for numbered, _ in parts.numbered)
    if count > 1 or (count and column.default is not None):
        raise _multiple_defaults(column.name)
    if count and nullable:
        raise StatementFailed("42601", "conflicting NULL/NOT NULL declarations")
    return replace(column, not_null=nullable is False or count > 0)


def _multiple_defaults(name: str) -> StatementFailed:
    return StatementFailed("42601", f'multiple default values specified for column "{name}"')


def _parse_serial(cursor: StatementCursor) -> str | None:
    """Return the type of a column whose numbers are given by a sequence; None for other types."""
    for word, name in SERIALS.items():
        if cursor.take(word):
            return TYPES[name].long_name
    return None


def parse_identity(
    cursor: StatementCursor,
) -> tuple[Literal["always", "by default"], SequenceOptions]:
    """GENERATED ALWAYS | BY DEFAULT AS IDENTITY [(options)]."""
    cursor.need("generated")
    is_always = cursor.take("always")
    if not is_always:
        cursor.need("by", "default")
    cursor.need("as", "identity")
    options = SequenceOptions()
    if cursor.take("("):
        options = parse_sequence_options(cursor)
        cursor.need(")")
    return ("always" if is_always else "by default"), options


def _merge_nullability(before: bool | None, *, new: bool) -> bool:
    if before is not None and before != new:
        raise StatementFailed("42601", "conflicting NULL/NOT NULL declarations")
    return new


def _parse_column_constraint(
    cursor: StatementCursor, parts: TableParts, name: str, label: str | None
) -> None:
    if cursor.take("primary", "key"):
        parts.set_primary_key((name,), label)
    elif cursor.take("unique"):
        _refuse_nulls(cursor)
        parts.add_unique((name,), label)
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


def parse_default(cursor: StatementCursor) -> str:
    """Return the expression of a default, which ends where another constraint begins."""

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
    key = ForeignKey(columns, (target[0] or "", target[1]), target_columns, name)
    while cursor.at_any("on", "match"):
        key = _parse_action(cursor, key)
    return parse_deferral(cursor, key), target


def _parse_action(cursor: StatementCursor, key: ForeignKey) -> ForeignKey:
    """Parse MATCH, ON DELETE or ON UPDATE."""
    if cursor.take("match"):
        if cursor.at("partial"):
            raise StatementFailed("0A000", "MATCH PARTIAL not yet implemented")
        return replace(key, full=cursor.choose("simple", "full") == "full")
    cursor.need("on")
    event = cursor.choose("delete", "update")
    action = _choose_action(cursor)
    if event == "update":
        return replace(key, on_update=action)
    of = cursor.in_parentheses(cursor.name) if cursor.at("(") else ()
    if of and action not in ("set null", "set default"):
        raise cursor.unexpected()
    return replace(key, on_delete=action, set_columns=of)


def _choose_action(cursor: StatementCursor) -> ReferentialAction:
    actions: tuple[ReferentialAction, ...] = (
        *("no action", "restrict", "cascade", "set null", "set default"),
    )
    for action in actions:
        if cursor.take(*action.split()):
            return action
    raise cursor.unexpected()


def parse_deferral(cursor: StatementCursor, key: ForeignKey) -> ForeignKey:
    """Parse [NOT] DEFERRABLE and INITIALLY DEFERRED | IMMEDIATE, in any order."""
    can, later = None, None
    while True:
        if cursor.take("not", "deferrable"):
            can = False
        elif cursor.take("deferrable"):
            can = True
        elif cursor.take("initially"):
            later = cursor.choose("deferred", "immediate") == "deferred"
        else:
            break
    if later and can is False:
        raise StatementFailed("42601", "constraint declared INITIALLY DEFERRED must be DEFERRABLE")
    return replace(key, deferrable=bool(can or later), deferred=bool(later))
