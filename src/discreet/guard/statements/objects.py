"""Statements about relations and their policies, masks, controls, triggers, labels and keys."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

from discreet.guard.access.authority import (
    CheckConstraint,
    ColumnMask,
    ForeignKey,
    InferenceControl,
    RelationColumn,
    RowPolicy,
    TableIndex,
    Trigger,
)
from discreet.guard.statements.statement import Statement, Written

if TYPE_CHECKING:
    from sqlglot import exp


@dataclass(frozen=True)
class CreateSchema(Statement):
    """CREATE SCHEMA name [AUTHORIZATION owner]."""

    name: str
    owner: str | None = None
    if_not_exists: bool = False


@dataclass(frozen=True)
class DropSchema(Statement):
    """DROP SCHEMA name."""

    name: str
    if_exists: bool = False
    cascade: bool = False


@dataclass(frozen=True)
class SequenceOptions:
    """What CREATE or ALTER SEQUENCE says; None is not said, and "" NO MINVALUE, NO MAXVALUE or NONE."""

    type: str | None = None
    increment: int | None = None
    minimum: int | Literal[""] | None = None
    maximum: int | Literal[""] | None = None
    start: int | None = None
    restart: int | Literal[""] | None = None  # "" is at the start
    cycle: bool | None = None
    owned_by: tuple[Written, str] | Literal[""] | None = None


@dataclass(frozen=True)
class CreateTable(Statement):
    """CREATE TABLE with its columns and constraints, or AS query."""

    relation: Written
    columns: tuple[RelationColumn, ...] = ()
    primary_key: tuple[str, ...] = ()
    uniques: tuple[tuple[str, ...], ...] = ()
    foreign_keys: tuple[tuple[ForeignKey, Written], ...] = ()  # with the target as written
    checks: tuple[CheckConstraint, ...] = ()
    query: exp.Query | None = None
    if_not_exists: bool = False
    key_names: tuple[tuple[str, tuple[str, ...]], ...] = ()
    numbered: tuple[tuple[str, SequenceOptions], ...] = ()  # serial and identity columns
    drops_on_commit: bool = False  # of a temporary table


@dataclass(frozen=True)
class CreateSequence(Statement):
    """CREATE SEQUENCE name with options."""

    relation: Written
    options: SequenceOptions
    if_not_exists: bool = False


@dataclass(frozen=True)
class AlterSequence(Statement):
    """ALTER SEQUENCE name with options."""

    relation: Written
    options: SequenceOptions
    if_exists: bool = False


@dataclass(frozen=True)
class AddColumn:
    """ADD COLUMN with its constraints, which `table` holds."""

    table: CreateTable
    if_not_exists: bool = False


@dataclass(frozen=True)
class DropColumn:
    """DROP COLUMN name."""

    name: str
    if_exists: bool = False
    cascade: bool = False


@dataclass(frozen=True)
class SetDefault:
    """ALTER COLUMN name SET DEFAULT expression, or DROP DEFAULT."""

    name: str
    default: str | None


@dataclass(frozen=True)
class SetNotNull:
    """ALTER COLUMN name SET | DROP NOT NULL."""

    name: str
    not_null: bool


@dataclass(frozen=True)
class SetType:
    """ALTER COLUMN name TYPE type [USING expression]."""

    name: str
    type: str
    using: str | None = None


@dataclass(frozen=True)
class AddConstraint:
    """ADD table constraint, which `table` holds."""

    table: CreateTable


@dataclass(frozen=True)
class SetIdentity:
    """ALTER COLUMN name ADD GENERATED … AS IDENTITY, SET GENERATED … or DROP IDENTITY."""

    name: str
    identity: Literal["", "always", "by default"]
    options: SequenceOptions | None = None  # of ADD
    if_exists: bool = False


@dataclass(frozen=True)
class DropConstraint:
    """DROP CONSTRAINT name."""

    name: str
    if_exists: bool = False
    cascade: bool = False


@dataclass(frozen=True)
class AlterConstraint:
    """ALTER CONSTRAINT name [NOT] DEFERRABLE [INITIALLY …]."""

    name: str
    deferrable: bool
    deferred: bool


@dataclass(frozen=True)
class RenameConstraint:
    """RENAME CONSTRAINT name TO name."""

    name: str
    new: str


@dataclass(frozen=True)
class RenameColumn:
    """RENAME COLUMN name TO name."""

    name: str
    new: str


@dataclass(frozen=True)
class RenameRelation:
    """RENAME TO name."""

    new: str


TableAction = (
    AddColumn
    | DropColumn
    | SetDefault
    | SetNotNull
    | SetType
    | SetIdentity
    | AddConstraint
    | DropConstraint
    | AlterConstraint
    | RenameConstraint
    | RenameColumn
    | RenameRelation
)


@dataclass(frozen=True)
class AlterTable(Statement):
    """ALTER TABLE | VIEW name with actions on its columns, constraints or name."""

    relation: Written
    actions: tuple[TableAction, ...]
    kind: Literal["table", "view", "sequence"] = "table"
    if_exists: bool = False


@dataclass(frozen=True)
class CommentOn(Statement):
    """COMMENT ON TABLE | VIEW | SEQUENCE | COLUMN name IS text; None removes it."""

    kind: Literal["table", "view", "sequence", "column"]
    relation: Written
    column: str | None
    text_of_comment: str | None


@dataclass(frozen=True)
class CreateIndex(Statement):
    """CREATE [UNIQUE] INDEX [name] ON table …; without a name the index gets PostgreSQL's."""

    relation: Written
    index: TableIndex
    if_not_exists: bool = False


@dataclass(frozen=True)
class DropIndex(Statement):
    """DROP INDEX names."""

    names: tuple[Written, ...]
    if_exists: bool = False


@dataclass(frozen=True)
class RenameIndex(Statement):
    """ALTER INDEX name RENAME TO name."""

    name: Written
    new: str
    if_exists: bool = False


@dataclass(frozen=True)
class Drop(Statement):
    """DROP TABLE or VIEW."""

    relations: tuple[Written, ...]
    kind: Literal["table", "view", "sequence"]
    if_exists: bool = False
    cascade: bool = False


@dataclass(frozen=True)
class CreateView(Statement):
    """CREATE [OR REPLACE] [ANONYMIZED] VIEW name AS query [WITH (options)]."""

    relation: Written
    query: exp.Query
    columns: tuple[str, ...] = ()
    replace: bool = False
    security_invoker: bool = False
    anonymized: bool = False
    options: Mapping[str, str] = field(default_factory=dict[str, str], hash=False)


@dataclass(frozen=True)
class AlterViewOptions(Statement):
    """ALTER VIEW name SET (name = value, …) | RESET (name, …): None resets an option."""

    relation: Written
    options: Mapping[str, str | None] = field(hash=False)
    if_exists: bool = False


@dataclass(frozen=True)
class AlterOwner(Statement):
    """ALTER TABLE | VIEW | SCHEMA name OWNER TO role."""

    relation: Written | None
    schema: str | None
    owner: str


@dataclass(frozen=True)
class AlterRowSecurity(Statement):
    """ALTER TABLE name ENABLE | DISABLE | FORCE | NO FORCE ROW LEVEL SECURITY."""

    relation: Written
    action: Literal["enable", "disable", "force", "no force"]


@dataclass(frozen=True)
class CreatePolicy(Statement):
    """CREATE POLICY name ON table …."""

    relation: Written
    policy: RowPolicy


@dataclass(frozen=True)
class AlterPolicy(Statement):
    """ALTER POLICY name ON table [TO roles] [USING (…)] [WITH CHECK (…)], or RENAME TO."""

    relation: Written
    name: str
    roles: tuple[str, ...] | None = None
    using: str | None = None
    check: str | None = None
    new: str | None = None


@dataclass(frozen=True)
class CreateMask(Statement):
    """CREATE MASK name ON table (column) TO roles USING (expression)."""

    relation: Written
    mask: ColumnMask


@dataclass(frozen=True)
class CreateControl(Statement):
    """CREATE CONTROL name ON table TO roles WITH (size = 5, overlap = 10, audit = on)."""

    relation: Written
    control: InferenceControl


@dataclass(frozen=True)
class CreateTrigger(Statement):
    """CREATE TRIGGER …."""

    relation: Written
    trigger: Trigger


@dataclass(frozen=True)
class DropAttached(Statement):
    """DROP POLICY | MASK | CONTROL | TRIGGER name ON table."""

    relation: Written
    kind: Literal["policy", "mask", "control", "trigger"]
    name: str
    if_exists: bool = False


@dataclass(frozen=True)
class SecurityLabel(Statement):
    """SECURITY LABEL FOR mls ON DATABASE | ROLE | TABLE name IS 'label'.

    On the database: the lattice, `U < C < S < TS | nato, crypto`. On a role: its clearance. On a
    table: `cells` makes it multi-level. NULL removes.
    """

    kind: Literal["database", "role", "table"]
    role: str | None
    relation: Written | None
    label: str | None


@dataclass(frozen=True)
class Declassify(Statement):
    """DECLASSIFY column ON table FROM 'label' TO 'label' WHERE condition."""

    relation: Written
    column: str
    source: str
    target: str
    condition: exp.Expr | None


@dataclass(frozen=True)
class EncryptColumn(Statement):
    """ALTER TABLE name ALTER COLUMN column SET ENCRYPTED WITH KEY key, or DROP ENCRYPTED (key None)."""

    relation: Written
    column: str
    key: str | None
