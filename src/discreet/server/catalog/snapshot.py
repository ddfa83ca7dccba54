"""A snapshot of the catalog for one role: what it may know of, with OIDs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING

from discreet.guard.access.authority import DEFAULT_SCHEMA, Name
from discreet.server.catalog.oids import OidAllocator
from discreet.server.catalog.standard import SCHEMAS, system_relations

if TYPE_CHECKING:
    from discreet.server.catalog.constraints import Constraint
    from discreet.server.catalog.visibility import RoleVisibility, VisibleRelation

FIRST_ROLE = 10  # the OID of the first superuser in every PostgreSQL
DATABASE = 5
_PUBLIC_SCHEMA = 2200


@dataclass(frozen=True)
class CatalogSnapshot:
    """The data from which rows and functions of the catalog are made."""

    visible: RoleVisibility
    database: str
    oids: OidAllocator = field(default_factory=OidAllocator)

    def __post_init__(self) -> None:
        # In a fixed order, so that two names with one hash always get the same two OIDs.
        for role in sorted(self.visible.authority.roles):
            self.role(role)
        for schema in sorted(self.visible.schemas):
            self.schema(schema)
        for seen in self.visible.relations.values():
            self.relation(seen.key)
            for constraint in seen.constraints:
                self.constraint(seen, constraint)
                self.index(seen, constraint)

    def role(self, name: str) -> int:
        """Return the OID of a role; 0 is PUBLIC."""
        if not name:
            return 0
        first = name == self.visible.first_superuser
        return FIRST_ROLE if first else self.oids.of("role", name)

    def schema(self, name: str) -> int:
        """Return the OID of a schema."""
        if name in SCHEMAS:
            return SCHEMAS[name]
        return _PUBLIC_SCHEMA if name == DEFAULT_SCHEMA else self.oids.of("schema", name)

    def relation(self, key: Name) -> int:
        """Return the OID of a relation."""
        known = system_relations().get(key)
        return known.oid if known else self.oids.of("relation", *key)

    def constraint(self, seen: VisibleRelation, constraint: Constraint) -> int:
        """Return the OID of a constraint."""
        return self.oids.of("constraint", *seen.key, constraint.name)

    def index(self, seen: VisibleRelation, constraint: Constraint) -> int:
        """Return the OID of the index of a key; 0 for other constraints."""
        return self.oids.of("index", *seen.key, constraint.name) if constraint.is_index else 0

    def attached(self, kind: str, seen: VisibleRelation, name: str) -> int:
        """Return the OID of a default, policy or trigger of a relation."""
        return self.oids.of(kind, *seen.key, name)

    @cached_property
    def schema_names(self) -> Mapping[int, str]:
        """Return the schemas by OID."""
        return {self.schema(name): name for name in (*SCHEMAS, *self.visible.schemas)}

    @cached_property
    def role_names(self) -> Mapping[int, str]:
        """Return the roles by OID."""
        return {self.role(name): name for name in self.visible.authority.roles}

    @cached_property
    def seen(self) -> Mapping[int, VisibleRelation]:
        """Return the relations of users by OID."""
        return {self.relation(seen.key): seen for seen in self.visible.relations.values()}

    @cached_property
    def indexes(self) -> Mapping[int, tuple[VisibleRelation, Constraint]]:
        """Return the indexes by OID."""
        return {
            self.index(seen, constraint): (seen, constraint)
            for seen in self.visible.relations.values()
            for constraint in seen.constraints
            if constraint.is_index
        }

    @cached_property
    def constraints(self) -> Mapping[int, tuple[VisibleRelation, Constraint]]:
        """Return the constraints by OID."""
        return {
            self.constraint(seen, constraint): (seen, constraint)
            for seen in self.visible.relations.values()
            for constraint in seen.constraints
            if constraint.kind != "i"
        }

    @cached_property
    def targets(self) -> frozenset[Name]:
        """Return the relations that foreign keys reference."""
        found = (constraint.target for _, constraint in self.constraints.values())
        return frozenset(target for target in found if target is not None)

    @cached_property
    def class_names(self) -> Mapping[int, Name]:
        """Return schema and name of everything in pg_class, by OID."""
        names = {relation.oid: key for key, relation in system_relations().items()}
        names |= {oid: seen.key for oid, seen in self.seen.items()}
        for oid, (seen, constraint) in self.indexes.items():
            names[oid] = (seen.relation.schema, constraint.name)
        return names

    @cached_property
    def class_oids(self) -> Mapping[Name, int]:
        """Return the OID of everything in pg_class, by schema and name."""
        return {name: oid for oid, name in self.class_names.items()}
