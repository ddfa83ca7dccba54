"""A change of the authority in progress: the value so far, who makes it, and its notices."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Literal

from discreet.guard.access.authority import (
    Authority,
    DatabaseRole,
    DatabaseSchema,
    Relation,
    RevokeScope,
    RoleMembership,
    Subject,
)


@dataclass(frozen=True)
class ChangeNotice:
    """A message about the change, such as PostgreSQL's `no privileges were granted`."""

    severity: Literal["NOTICE", "WARNING"]
    message: str
    sqlstate: str = "00000"


@dataclass(frozen=True)
class AuthorityChange:
    """An authority in progress; every step returns the next one."""

    authority: Authority
    subject: Subject
    scope: RevokeScope = "owner"
    notices: tuple[ChangeNotice, ...] = ()

    @property
    def role(self) -> str:
        """The role that makes the change."""
        return self.subject.role

    def with_notice(
        self, severity: Literal["NOTICE", "WARNING"], message: str, sqlstate: str = "00000"
    ) -> AuthorityChange:
        """Return the change with one more message."""
        return replace(self, notices=(*self.notices, ChangeNotice(severity, message, sqlstate)))

    def with_authority(self, authority: Authority) -> AuthorityChange:
        """Return the change with another authority."""
        return replace(self, authority=authority)

    def with_role(self, role: DatabaseRole) -> AuthorityChange:
        """Return the change with a role added or replaced."""
        return self.with_authority(
            replace(self.authority, roles={**self.authority.roles, role.name: role})
        )

    def with_memberships(self, memberships: Iterable[RoleMembership]) -> AuthorityChange:
        """Return the change with other memberships."""
        return self.with_authority(replace(self.authority, memberships=tuple(memberships)))

    def with_relation(self, relation: Relation) -> AuthorityChange:
        """Return the change with a relation added or replaced."""
        relations = {**self.authority.relations, relation.key: relation}
        return self.with_authority(replace(self.authority, relations=relations))

    def with_schema(self, schema: DatabaseSchema) -> AuthorityChange:
        """Return the change with a schema added or replaced."""
        schemas = {**self.authority.schemas, schema.name: schema}
        return self.with_authority(replace(self.authority, schemas=schemas))

    def without_relations(self, keys: Iterable[tuple[str, str]]) -> AuthorityChange:
        """Return the change without some relations."""
        gone = set(keys)
        relations = {k: v for k, v in self.authority.relations.items() if k not in gone}
        return self.with_authority(replace(self.authority, relations=relations))
