"""How many people share the values that outsiders may know: one question in SQL for each table."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from discreet.guard.access.authority import DEFAULT_SCHEMA, Relation
from discreet.policy.model import ColumnRole, KAnonymity, TablePolicy
from discreet.server.console.requests import ConsoleRequest, rows_of, run_text
from discreet.sql import build

if TYPE_CHECKING:
    from discreet.server.session import Session

DIALECT = "postgres"


@dataclass(frozen=True)
class TableExposure:
    """Sizes of the classes of a table: `sizes` has how many people a class has, and how many such classes."""

    quasi: tuple[str, ...]
    sizes: tuple[tuple[int, int], ...]
    required: int | None
    sql: str

    @property
    def k(self) -> int:
        """The size of the smallest class; 0 of an empty table."""
        return self.sizes[0][0] if self.sizes else 0

    @property
    def alone(self) -> int:
        """How many classes hold one person only."""
        return sum(classes for size, classes in self.sizes if size == 1)

    @property
    def classes(self) -> int:
        """How many classes there are."""
        return sum(classes for _, classes in self.sizes)

    @property
    def is_exposed(self) -> bool:
        """Whether a class is smaller than the policy asks for; where it asks for nothing, of one person."""
        return bool(self.sizes) and self.k < (self.required or 2)


def policy_of(asked: ConsoleRequest, relation: Relation) -> TablePolicy | None:
    """Return what the server's policy says about a table."""
    policy = asked.server.policy
    if policy is None or relation.schema != DEFAULT_SCHEMA or relation.kind != "table":
        return None
    return policy.tables.get(relation.name)


def is_measurable(asked: ConsoleRequest, relation: Relation) -> bool:
    """Whether people are in a table, and this user sees all of them."""
    table = policy_of(asked, relation)
    return (
        asked.is_superuser
        and table is not None
        and not table.public
        and bool(table.with_role(ColumnRole.QUASI_IDENTIFIER))
    )


def known_exposure(asked: ConsoleRequest, relation: Relation) -> TableExposure | None:
    """Return what was measured in this session, if the table did not change since."""
    return asked.session.found.get(_key_of(asked, relation))


def measure_exposure(asked: ConsoleRequest, session: Session, relation: Relation) -> TableExposure:
    """Return the sizes of a table's classes, measured now."""
    table = policy_of(asked, relation)
    quasi = table.with_role(ColumnRole.QUASI_IDENTIFIER) if table else ()
    key, sql = (
        _key_of(asked, relation),
        _sizes_query(relation, quasi, table.unit if table else None),
    )
    rows = [(int(size), int(classes)) for size, classes in rows_of(run_text(session, sql))]
    required = next(
        (one.k for one in (table.criteria if table else ()) if isinstance(one, KAnonymity)), None
    )
    found = TableExposure(quasi, tuple(rows), required, sql)
    asked.session.keep(key, found)
    return found


def _key_of(asked: ConsoleRequest, relation: Relation) -> Any:
    return "exposure", relation.key, asked.server.database.version(relation.physical)


def _sizes_query(relation: Relation, quasi: tuple[str, ...], unit: str | None) -> str:
    """Return the query: people in each class, then classes of each size."""
    people = build.count_star() if unit is None else build.count_distinct(build.column(unit))
    keys = [build.column(name) for name in quasi]
    classes = build.select(
        build.alias_as(people, "people"), source=build.table(relation.schema, relation.name)
    ).group_by(*keys)
    people_column = build.column("people")
    return (
        build.select(
            people_column,
            build.alias_as(build.count_star(), "classes"),
            source=build.subquery(classes, "classes_of_people"),
        )
        .group_by(people_column)
        .order_by(people_column)
        .sql(dialect=DIALECT)
    )
