"""A hospital in the eyes of its people, here and on a real PostgreSQL."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from discreet.guard.access.acl import schema_default, table_default
from discreet.guard.access.authority import (
    AclEntry,
    Authority,
    CheckConstraint,
    ColumnMask,
    DatabaseRole,
    DatabaseSchema,
    ForeignKey,
    Privilege,
    Relation,
    RelationColumn,
    RoleMembership,
    RowPolicy,
    Subject,
    Trigger,
)
from discreet.guard.statements.trees import parse_query
from discreet.server.catalog.catalog import SystemCatalog

if TYPE_CHECKING:
    from sqlglot import exp

    from discreet.engines.databases.database import ResultField

FIXTURES = Path(__file__).parents[2] / "fixtures" / "catalog"
VERSION = "PostgreSQL 16.4 (discreet)"
SETTINGS = {
    "search_path": '"$user", public',
    "server_version": "16.4",
    "server_version_num": "160004",
    "standard_conforming_strings": "on",
    "TimeZone": "UTC",
}

# The same for a real PostgreSQL.
SCHEMA = """
CREATE TABLE departments (id integer PRIMARY KEY, name varchar(40) NOT NULL UNIQUE);
CREATE TABLE patients (
    id integer PRIMARY KEY, name text NOT NULL, born date, weight numeric(5,2) DEFAULT 70.5,
    department integer REFERENCES departments (id), admitted timestamp with time zone,
    CHECK (weight > 0)
);
CREATE TABLE visits (
    patient integer NOT NULL REFERENCES patients (id), number smallint NOT NULL, note text,
    cost double precision, paid boolean DEFAULT false NOT NULL,
    PRIMARY KEY (patient, number), UNIQUE (note, cost)
);
CREATE VIEW old_patients AS SELECT id, name FROM patients WHERE born < '1950-01-01';
ALTER TABLE departments OWNER TO alice;
ALTER TABLE patients OWNER TO alice;
ALTER TABLE visits OWNER TO alice;
ALTER VIEW old_patients OWNER TO alice;
ALTER TABLE patients ENABLE ROW LEVEL SECURITY;
CREATE POLICY own_rows ON patients TO staff USING (name = current_user);
GRANT SELECT ON departments TO bob;
GRANT SELECT ON patients TO staff;
GRANT SELECT (patient, number) ON visits TO bob;
GRANT SELECT ON old_patients TO PUBLIC;
"""


def granted(owner: str, *entries: AclEntry) -> tuple[AclEntry, ...]:
    """Return the owner's rights and those that were granted."""
    return (*table_default(owner), *entries)


def _relations() -> list[Relation]:
    to_bob = (AclEntry("bob", "alice", Privilege.SELECT),)
    departments = Relation(
        "public",
        "departments",
        "table",
        "alice",
        (RelationColumn("id", "integer"), RelationColumn("name", "varchar(40)", not_null=True)),
        acl=granted("alice", *to_bob),
        primary_key=("id",),
        uniques=(("name",),),
    )
    patients = Relation(
        "public",
        "patients",
        "table",
        "alice",
        (
            RelationColumn("id", "integer"),
            RelationColumn("name", "text", not_null=True),
            RelationColumn("born", "date"),
            RelationColumn("weight", "numeric(5,2)", default="70.5"),
            RelationColumn("department", "integer"),
            RelationColumn("admitted", "timestamp with time zone"),
        ),
        acl=granted("alice", AclEntry("staff", "alice", Privilege.SELECT)),
        primary_key=("id",),
        foreign_keys=(ForeignKey(("department",), ("public", "departments"), ("id",)),),
        checks=(CheckConstraint("weight > 0"),),
        policies=(RowPolicy("own_rows", ("staff",), using="name = current_user"),),
        masks=(ColumnMask("blur", "born", ("staff",), "date_trunc('year', born)"),),
        triggers=(Trigger("heavy", "BEFORE", ("INSERT",), "ROW", "NEW.weight > 500", "Too much"),),
        row_security=True,
    )
    visits = Relation(
        "public",
        "visits",
        "table",
        "alice",
        (
            RelationColumn("patient", "integer", acl=to_bob),
            RelationColumn("number", "smallint", acl=to_bob),
            RelationColumn("note", "text"),
            RelationColumn("cost", "double precision"),
            RelationColumn("paid", "boolean", not_null=True, default="false"),
        ),
        primary_key=("patient", "number"),
        uniques=(("note", "cost"),),
        foreign_keys=(ForeignKey(("patient",), ("public", "patients"), ("id",)),),
    )
    old = Relation(
        "public",
        "old_patients",
        "view",
        "alice",
        (RelationColumn("id", "integer"), RelationColumn("name", "text")),
        acl=granted("alice", AclEntry("", "alice", Privilege.SELECT)),
        query="SELECT id, name FROM patients WHERE born < '1950-01-01'",
    )
    return [departments, patients, visits, old]


def hospital(version: int = 1) -> Authority:
    """Return who may do what: alice owns all, bob is staff, carol has no special role."""
    roles = {
        "discreet": DatabaseRole("discreet", superuser=True, login=True),
        "alice": DatabaseRole("alice", login=True),
        "bob": DatabaseRole("bob", login=True, clearance="S {nato}"),
        "carol": DatabaseRole("carol", login=True),
        "staff": DatabaseRole("staff"),
    }
    everybody = AclEntry("", "discreet", Privilege.USAGE)
    public = DatabaseSchema("public", "discreet", (*schema_default("discreet"), everybody))
    return Authority(
        version,
        roles,
        (RoleMembership("staff", "bob", "discreet"),),
        {"public": public},
        {relation.key: relation for relation in _relations()},
    )


AUTHORITY = hospital()


def parsed(text: str) -> exp.Query:
    """Return a query as the gateway hands it over."""
    return parse_query(text)


@dataclass(frozen=True)
class Client:
    """A user who asks the catalog."""

    catalog: SystemCatalog

    def ask(self, text: str) -> list[tuple[Any, ...]]:
        """Return the rows of an answer."""
        table = self.catalog.run(parsed(text))
        return list(zip(*(column.to_pylist() for column in table.columns), strict=True))

    def fields(self, text: str) -> tuple[ResultField, ...]:
        """Return the columns of an answer."""
        return self.catalog.describe(parsed(text))


def client(role: str, authority: Authority = AUTHORITY, **settings: str) -> Client:
    """Return a user who asks the catalog as `role`."""
    subject = Subject(role, role, settings=settings)
    return Client(
        SystemCatalog(authority, subject, database="postgres", version=VERSION, settings=SETTINGS)
    )


def queries(name: str) -> list[str]:
    """Return what a client was seen to send; `{{name}}` is the number of a relation."""
    return (FIXTURES / f"{name}.sql").read_text("utf-8").strip().split("\n-- next\n")
