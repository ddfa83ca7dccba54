"""What a role may know of: relations and columns on which it has any privilege, and dependents.

That a table, a column, a key or a condition exists is information. A constraint is shown only to
roles that see all of its columns; conditions of policies and triggers, and queries of views,
only to owners.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property

from discreet.guard.access.authority import (
    COLUMN_PRIVILEGES,
    DEFAULT_SCHEMA,
    PUBLIC,
    TABLE_PRIVILEGES,
    AclEntry,
    Authority,
    DatabaseSchema,
    Name,
    Privilege,
    Relation,
    RelationColumn,
)
from discreet.guard.access.decide import is_superuser, reach
from discreet.server.catalog.constraints import Constraint, constraints_of

_ON_RELATIONS = (*TABLE_PRIVILEGES, Privilege.USAGE)  # the latter of sequences


@dataclass(frozen=True)
class VisibleRelation:
    """A relation as one role sees it; columns are numbered without the hidden ones."""

    relation: Relation
    columns: tuple[RelationColumn, ...]
    is_owner: bool
    constraints: tuple[Constraint, ...] = ()

    @property
    def key(self) -> Name:
        """Its key: schema and name."""
        return self.relation.key

    def number(self, column: str) -> int:
        """Return the number of a column, from 1."""
        return [each.name for each in self.columns].index(column) + 1

    def is_required(self, column: RelationColumn) -> bool:
        """Whether a column is NOT NULL."""
        return column.not_null or column.name in self.relation.primary_key


@dataclass(frozen=True)
class RoleVisibility:
    """The authority as a role sees it."""

    authority: Authority
    role: str

    @cached_property
    def _effective_roles(self) -> frozenset[str]:
        """Return the roles whose privileges the role has: its own, inherited ones, PUBLIC."""
        return frozenset({*reach(self.authority, self.role, "inherit"), PUBLIC})

    @cached_property
    def is_superuser(self) -> bool:
        """Whether nothing is hidden from the role."""
        return is_superuser(self.authority, self.role)

    def _has_any(self, entries: Iterable[AclEntry], privileges: Iterable[Privilege]) -> bool:
        return any(
            entry.privilege in privileges and entry.grantee in self._effective_roles
            for entry in entries
        )

    def owns(self, owner: str) -> bool:
        """Whether the role has the rights of `owner`."""
        return self.is_superuser or owner in self._effective_roles

    def columns(self, relation: Relation) -> tuple[RelationColumn, ...]:
        """Return the columns that the role may know of; without any, the relation is hidden."""
        # An owner would otherwise not see a relation without columns.
        if self.owns(relation.owner) or self._has_any(relation.acl or (), _ON_RELATIONS):
            return relation.columns
        return tuple(
            column for column in relation.columns if self._has_any(column.acl, COLUMN_PRIVILEGES)
        )

    @cached_property
    def relations(self) -> Mapping[Name, VisibleRelation]:
        """Return the relations that the role may know of."""
        found: dict[Name, VisibleRelation] = {}
        for key, relation in sorted(self.authority.relations.items()):
            columns = self.columns(relation)
            is_owner = self.owns(relation.owner)
            if columns or is_owner or self._has_any(relation.acl or (), _ON_RELATIONS):
                found[key] = VisibleRelation(relation, columns, is_owner)
        names = {key: {column.name for column in seen.columns} for key, seen in found.items()}
        return {
            key: VisibleRelation(
                seen.relation, seen.columns, seen.is_owner, constraints_of(seen.relation, names)
            )
            for key, seen in found.items()
        }

    @cached_property
    def schemas(self) -> Mapping[str, DatabaseSchema]:
        """Return the schemas that the role may use, and those of visible objects."""
        used = {schema for schema, _ in self.relations}
        found = {
            name: schema
            for name, schema in self.authority.schemas.items()
            if name in used or self.owns(schema.owner) or self._may_use(schema)
        }
        for name in sorted({DEFAULT_SCHEMA, *used} - found.keys()):
            found[name] = self.authority.schemas.get(
                name, DatabaseSchema(name, self.first_superuser)
            )
        return found

    def _may_use(self, schema: DatabaseSchema) -> bool:
        return self._has_any(schema.acl or (), (Privilege.USAGE, Privilege.CREATE))

    @cached_property
    def first_superuser(self) -> str:
        """Return the owner of the built-in objects."""
        roles = self.authority.roles.values()
        return next((role.name for role in roles if role.superuser), "postgres")
