"""A change of the authority in the making: the value so far, who makes it, and what to tell them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from collections.abc import Iterable

    from discreet.guard.access.authority import (
        Authority,
        Membership,
        Relation,
        RevokeScope,
        Role,
        Schema,
        Subject,
    )


@dataclass(frozen=True)
class Note:
    """A message beside the change, such as PostgreSQL's `no privileges were granted`."""

    severity: Literal["NOTICE", "WARNING"]
    message: str
    sqlstate: str = "00000"


@dataclass(frozen=True)
class Change:
    """An authority on its way; every step returns the next one."""

    authority: Authority
    subject: Subject
    scope: RevokeScope = "owner"
    notices: tuple[Note, ...] = ()

    @property
    def role(self) -> str:
        """As whom the change is made."""
        return self.subject.role

    def told(
        self, severity: Literal["NOTICE", "WARNING"], message: str, sqlstate: str = "00000"
    ) -> Change:
        """Return the change with one more message."""
        return replace(self, notices=(*self.notices, Note(severity, message, sqlstate)))

    def to(self, authority: Authority) -> Change:
        """Return the change with another authority."""
        return replace(self, authority=authority)

    def with_role(self, role: Role) -> Change:
        """Return the change with a role added or replaced."""
        return self.to(replace(self.authority, roles={**self.authority.roles, role.name: role}))

    def with_memberships(self, memberships: Iterable[Membership]) -> Change:
        """Return the change with other memberships."""
        return self.to(replace(self.authority, memberships=tuple(memberships)))

    def with_relation(self, relation: Relation) -> Change:
        """Return the change with a relation added or replaced."""
        relations = {**self.authority.relations, relation.key: relation}
        return self.to(replace(self.authority, relations=relations))

    def with_schema(self, schema: Schema) -> Change:
        """Return the change with a schema added or replaced."""
        schemas = {**self.authority.schemas, schema.name: schema}
        return self.to(replace(self.authority, schemas=schemas))

    def without_relations(self, keys: Iterable[tuple[str, str]]) -> Change:
        """Return the change without some relations."""
        gone = set(keys)
        relations = {k: v for k, v in self.authority.relations.items() if k not in gone}
        return self.to(replace(self.authority, relations=relations))
