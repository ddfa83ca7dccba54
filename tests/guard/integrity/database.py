"""A served database with an authority over it: statements in, as a role, with all their checks."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from sqlglot import parse_one

from discreet.guard.access.authority import (
    PUBLIC,
    AclEntry,
    Authority,
    DatabaseRole,
    DatabaseSchema,
    Privilege,
    Relation,
    RelationColumn,
    Subject,
)
from discreet.guard.integrity.create import build_create_table
from discreet.guard.integrity.write import WriteResult, write
from discreet.guard.rewrite.authorize import authorize_query
from discreet.guard.rewrite.writes import authorize_write

if TYPE_CHECKING:
    from discreet.engines.databases.database import DatabaseConnection

OWNER = "boss"


def relation(name: str, columns: dict[str, str], **more: Any) -> Relation:
    """Return a table of `boss`."""
    made = tuple(RelationColumn(column, kind) for column, kind in columns.items())
    return Relation("public", name, "table", OWNER, made, **more)


class ProtectedDatabase:
    """A database with tables of `boss`."""

    def __init__(self, served: Any, schema: str) -> None:
        self.served, self._schema = served, schema
        owner = DatabaseRole(OWNER, login=True)
        usage = (AclEntry(PUBLIC, OWNER, Privilege.USAGE),)
        self.authority = Authority(
            roles={OWNER: owner}, schemas={"public": DatabaseSchema("public", OWNER, usage)}
        )

    def add(self, made: Relation) -> None:
        made = replace(made, physical=(*self.served.prefix, self._schema, made.name))
        relations = {**self.authority.relations, made.key: made}
        self.authority = replace(self.authority, relations=relations)
        targets = {key: each.physical for key, each in relations.items()}
        connection = self.served.connect()
        connection.execute(
            build_create_table(made, self.served.traits, targets), touches=[made.physical]
        )
        connection.close()

    def add_role(self, name: str) -> None:
        self.authority = replace(
            self.authority, roles={**self.authority.roles, name: DatabaseRole(name, login=True)}
        )

    def change(self, name: str, **more: Any) -> None:
        found = replace(self.authority.relations["public", name], **more)
        relations = {**self.authority.relations, found.key: found}
        self.authority = replace(self.authority, relations=relations)

    def connect(self, role: str = OWNER, **settings: str) -> RoleSession:
        return RoleSession(self, self.served.connect(), Subject(role, role, None, settings))


@dataclass(frozen=True)
class RoleSession:
    """A session of a role."""

    database: ProtectedDatabase
    connection: DatabaseConnection
    subject: Subject

    def write(self, text: str) -> WriteResult:
        tree = parse_one(text, dialect="postgres")
        traits = self.database.served.traits
        permitted = authorize_write(
            tree,  # pyright: ignore[reportArgumentType]
            self.database.authority,
            self.subject,
            traits=traits,
        )
        return write(
            self.connection, permitted, self.database.authority, self.subject, traits=traits
        )

    def do(self, text: str) -> int:
        return self.write(text).count

    def rows(self, text: str) -> list[tuple[Any, ...]]:
        permitted = authorize_query(
            parse_one(text, dialect="postgres"),  # pyright: ignore[reportArgumentType]
            self.database.authority,
            self.subject,
            traits=self.database.served.traits,
        )
        table = self.connection.query(permitted.tree)
        return [tuple(row.values()) for row in table.to_pylist()]
