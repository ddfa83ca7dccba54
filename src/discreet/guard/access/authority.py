"""The authority: roles, objects and privileges as one frozen value.

Every change makes a new value. The control store keeps all of them in order, so that it is known
who could see what at any time. Names are folded as PostgreSQL folds them, before they get here.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from enum import StrEnum
from typing import Literal, TypeAlias

PUBLIC = ""  # the grantee that stands for all roles
DEFAULT_SCHEMA = "public"
TEMPORARY = "pg_temp"  # the schema of a session's own tables, which no other authority has
OFFICER = "security_officer"  # the role whose members may declassify
BOOTSTRAP = "discreet"  # the first superuser, as which superusers grant memberships

Name: TypeAlias = tuple[str, str]  # schema, relation


class Privilege(StrEnum):
    """What a grant allows; AGGREGATE is our own: differentially private queries."""

    SELECT = "SELECT"
    INSERT = "INSERT"
    UPDATE = "UPDATE"
    DELETE = "DELETE"
    TRUNCATE = "TRUNCATE"
    REFERENCES = "REFERENCES"
    TRIGGER = "TRIGGER"
    AGGREGATE = "AGGREGATE"
    USAGE = "USAGE"  # of a schema
    CREATE = "CREATE"  # in a schema


TABLE_PRIVILEGES = (
    Privilege.SELECT,
    Privilege.INSERT,
    Privilege.UPDATE,
    Privilege.DELETE,
    Privilege.TRUNCATE,
    Privilege.REFERENCES,
    Privilege.TRIGGER,
    Privilege.AGGREGATE,
)
COLUMN_PRIVILEGES = (
    Privilege.SELECT,
    Privilege.INSERT,
    Privilege.UPDATE,
    Privilege.REFERENCES,
)
SEQUENCE_PRIVILEGES = (Privilege.USAGE, Privilege.SELECT, Privilege.UPDATE)
SCHEMA_PRIVILEGES = (Privilege.USAGE, Privilege.CREATE)


@dataclass(frozen=True)
class DatabaseRole:
    """A user or a group of users.

    A name can be changed and reused; `identity` cannot. What is stored about a role outside the
    authority (passwords, tokens, spending) is keyed by it, and sessions are bound to it.
    """

    name: str
    superuser: bool = False
    createrole: bool = False
    createdb: bool = False
    inherit: bool = True
    login: bool = False
    bypassrls: bool = False
    replication: bool = False  # shown, and given on; nothing here replicates
    clearance: str | None = None  # a label, as text
    valid_until: str | None = None  # an ISO moment in UTC
    connection_limit: int = -1
    id: str = ""  # where the identity is not the name

    @property
    def identity(self) -> str:
        """The role's permanent identity: its first name, with a number if that was taken."""
        return self.id or self.name


@dataclass(frozen=True)
class RoleMembership:
    """`member` is in `role`, granted by `grantor`."""

    role: str
    member: str
    grantor: str
    admin: bool = False
    inherit: bool = True
    set: bool = True


@dataclass(frozen=True)
class Allowance:
    """The total budget of queries under one grant of AGGREGATE."""

    epsilon: Decimal
    delta: Decimal


@dataclass(frozen=True)
class AclEntry:
    """One entry of an access control list: `grantor` gave the privilege to `grantee`."""

    grantee: str
    grantor: str
    privilege: Privilege
    grantable: bool = False
    budget: Allowance | None = None  # of AGGREGATE only


@dataclass(frozen=True)
class RelationColumn:
    """A column of a relation; `type` is PostgreSQL's name, such as `numeric(10,2)`."""

    name: str
    type: str
    not_null: bool = False
    default: str | None = None  # SQL
    acl: tuple[AclEntry, ...] = ()
    key: str | None = None  # the id of the key it is encrypted under
    identity: Literal["", "always", "by default"] = ""
    comment: str | None = None


ReferentialAction = Literal["no action", "restrict", "cascade", "set null", "set default"]


@dataclass(frozen=True)
class ForeignKey:
    """A foreign key: `columns` here reference `target`.

    `on_delete` and `on_update` are what happens to referencing rows; ON DELETE SET may name `set_columns`.
    A `deferred` one is checked at the end of the transaction, unless SET CONSTRAINTS says otherwise.
    """

    columns: tuple[str, ...]
    target: Name
    target_columns: tuple[str, ...]
    name: str | None = None
    on_delete: ReferentialAction = "no action"
    on_update: ReferentialAction = "no action"
    set_columns: tuple[str, ...] = ()
    deferrable: bool = False
    deferred: bool = False
    full: bool = False  # MATCH FULL: all columns are NULL, or none


@dataclass(frozen=True)
class CheckConstraint:
    """A condition that holds of every row."""

    condition: str  # SQL
    name: str | None = None


@dataclass(frozen=True)
class TableIndex:
    """An index as it was created; a unique one is among the `uniques` of its table, too.

    Others change no result, so that none is made in the engine.
    """

    name: str
    keys: tuple[str, ...]  # columns, or expressions in SQL
    unique: bool = False
    method: str = "btree"
    condition: str | None = None  # SQL
    included: tuple[str, ...] = ()


Command = Literal["ALL", "SELECT", "INSERT", "UPDATE", "DELETE"]


@dataclass(frozen=True)
class RowPolicy:
    """Which rows `roles` see (`using`) and may write (`check`), as in PostgreSQL's CREATE POLICY."""

    name: str
    roles: tuple[str, ...]  # (PUBLIC,) for all roles
    command: Command = "ALL"
    using: str | None = None  # SQL
    check: str | None = None  # SQL
    permissive: bool = True


@dataclass(frozen=True)
class ColumnMask:
    """What `roles` see instead of a column: an expression over the row."""

    name: str
    column: str
    roles: tuple[str, ...]
    expression: str  # SQL


@dataclass(frozen=True)
class InferenceControl:
    """Exact aggregates for `roles` without access to rows, under the rules of inference control.

    A query covers at least `size` people and at most all but `size`; with `everybody`, also all.
    It shares at most `overlap` people with each earlier one. With `audit`, all answers together
    determine no person's value. None of this is privacy: a tracker passes the first rule.
    """

    name: str
    roles: tuple[str, ...]
    size: int
    overlap: int | None = None
    audit: bool = False
    everybody: bool = False


Timing = Literal["BEFORE", "AFTER"]
Event = Literal["INSERT", "UPDATE", "DELETE"]


@dataclass(frozen=True)
class Trigger:
    """When a write makes `condition` true, it fails with `message` and nothing is written.

    The condition may name OLD and NEW where `each` is ROW, and the table itself in subqueries. It
    runs with the privileges of the table's owner, or of its `maker` if that was another role: then
    it is valid only as long as that role could still attach it.
    """

    name: str
    timing: Timing
    events: tuple[Event, ...]
    each: Literal["ROW", "STATEMENT"]
    condition: str  # SQL
    message: str
    columns: tuple[str, ...] = ()  # of UPDATE OF
    maker: str | None = None  # None: the table's owner


Kind = Literal["table", "view", "anonymized", "sequence"]


@dataclass(frozen=True)
class Relation:
    """A table, a view or a sequence.

    `acl` is None until the first grant, and means that the owner has every privilege. A view has
    its `query`; an anonymized view also `options`, such as k, and a sequence its bounds. `physical` is the engine's name of a
    table, outermost part first.
    """

    schema: str
    name: str
    kind: Kind
    owner: str
    columns: tuple[RelationColumn, ...]
    acl: tuple[AclEntry, ...] | None = None
    primary_key: tuple[str, ...] = ()
    uniques: tuple[tuple[str, ...], ...] = ()
    foreign_keys: tuple[ForeignKey, ...] = ()
    checks: tuple[CheckConstraint, ...] = ()
    key_names: tuple[tuple[str, tuple[str, ...]], ...] = ()  # of the primary key and the uniques
    indexes: tuple[TableIndex, ...] = ()
    row_security: bool = False
    force_row_security: bool = False
    policies: tuple[RowPolicy, ...] = ()
    masks: tuple[ColumnMask, ...] = ()
    controls: tuple[InferenceControl, ...] = ()
    triggers: tuple[Trigger, ...] = ()
    multilevel: bool = False
    query: str | None = None  # SQL, in PostgreSQL's dialect
    security_invoker: bool = False
    options: Mapping[str, str] = field(default_factory=dict[str, str], hash=False)
    physical: tuple[str, ...] = ()
    writable: bool = True
    comment: str | None = None

    @property
    def key(self) -> Name:
        """Its key: schema and name."""
        return self.schema, self.name

    def column(self, name: str) -> RelationColumn | None:
        """Return the column called `name`, or None."""
        return next((column for column in self.columns if column.name == name), None)


@dataclass(frozen=True)
class DatabaseSchema:
    """A namespace of relations."""

    name: str
    owner: str
    acl: tuple[AclEntry, ...] | None = None


@dataclass(frozen=True)
class Exclusion:
    """Separation of duty: no role may be in more than one of `roles`."""

    name: str
    roles: tuple[str, ...]


@dataclass(frozen=True)
class Authority:
    """Everything that decisions depend on. `version` grows by one with every change.

    `retired` are the identities of dropped roles: they are never used again.
    """

    version: int = 0
    roles: Mapping[str, DatabaseRole] = field(default_factory=dict[str, DatabaseRole], hash=False)
    memberships: tuple[RoleMembership, ...] = ()
    schemas: Mapping[str, DatabaseSchema] = field(
        default_factory=dict[str, DatabaseSchema], hash=False
    )
    relations: Mapping[Name, Relation] = field(default_factory=dict[Name, Relation], hash=False)
    exclusions: tuple[Exclusion, ...] = ()
    lattice: str | None = None  # levels and compartments, as written
    retired: tuple[str, ...] = ()

    def role_of(self, identity: str) -> DatabaseRole | None:
        """Return the role of an identity, whatever its name is now; None if it was dropped."""
        return next((role for role in self.roles.values() if role.identity == identity), None)

    def identity_of(self, name: str) -> str | None:
        """Return the identity of the role with a name; None if there is none."""
        role = self.roles.get(name)
        return None if role is None else role.identity


RevokeScope = Literal["owner", "grantor"]


@dataclass(frozen=True)
class Subject:
    """The sender of a statement: the logged-in user, the current role and the session's clearance.

    `clearance` is the label of the session: at most that of the user. `settings` are what the
    session has SET, by lower-case name.
    """

    user: str
    role: str
    clearance: str | None = None
    settings: Mapping[str, str] = field(default_factory=dict[str, str], hash=False)
