"""A multi-level table on a real database, written and read with SQL as users type it."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from sqlglot import exp, parse_one

from discreet.errors import StatementFailed
from discreet.guard.access.authority import CheckConstraint, ForeignKey, Relation, RelationColumn
from discreet.guard.levels.declassify import declassify_cells
from discreet.guard.levels.physical import (
    convert_to_multilevel,
    multilevel_relation,
    physical_columns,
    physical_table,
)
from discreet.guard.levels.read import read_at_clearance
from discreet.guard.levels.write import WriteTerms, delete, insert, update
from discreet.sql import build

if TYPE_CHECKING:
    from collections.abc import Callable

    from discreet.engines.databases.database import Database, DatabaseConnection
    from discreet.guard.levels.lattice import Label, LabelLattice
    from discreet.guard.levels.read import NullLabel

EMPLOYEE = "employee"


def relation(name: str, types: dict[str, str], **more: Any) -> Relation:
    """Return a plain relation whose key is its first column, unless given otherwise."""
    given = {"primary_key": (next(iter(types)),), **more}
    required = given.pop("required", ())
    listed = tuple(RelationColumn(n, kind, not_null=n in required) for n, kind in types.items())
    return Relation("public", name, "table", "owner", listed, **given)


def employees(**more: Any) -> Relation:
    """Return the textbook's table."""
    return relation(EMPLOYEE, {"name": "text", "salary": "bigint", "perf": "text"}, **more)


@dataclass
class World:
    """One database with multi-level relations, and a connection to it."""

    database: Database
    lattice: LabelLattice
    null_label: NullLabel = "clearance"
    relations: dict[tuple[str, str], Relation] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.connection: DatabaseConnection = self.database.connect()

    def close(self) -> None:
        for each in self.relations.values():
            self.connection.execute(exp.Drop(tables=[physical_table(each)], kind="TABLE"))
        self.connection.close()

    def add(
        self, plain: Relation, *, multilevel: bool = True, alias: str | None = None
    ) -> Relation:
        """Create a plain table and turn it into a multi-level one; users call it `alias`."""
        outer = ("guarded",) if self.database.name == "duckdb" else ()
        plain = replace(plain, physical=(*outer, plain.schema, plain.name))
        definitions = [
            exp.ColumnDef(
                this=exp.to_identifier(column.name, quoted=True),
                kind=exp.DataType.build(column.type, dialect="postgres"),
            )
            for column in plain.columns
        ]
        schema = exp.Schema(this=build.table(*plain.physical), expressions=definitions)
        self.connection.execute(exp.Create(this=schema, kind="TABLE"))
        if multilevel:
            for statement in convert_to_multilevel(plain):
                self.connection.execute(statement)
            plain = multilevel_relation(plain)
        plain = replace(plain, name=alias or plain.name)
        self.relations[plain.key] = plain
        return plain

    def at(self, clearance: str, name: str) -> tuple[Relation, LabelLattice, Label]:
        return self.relations["public", name], self.lattice, self.lattice.label(clearance)

    def see(self, clearance: str, name: str = EMPLOYEE) -> list[tuple[Any, ...]]:
        """Return all that a clearance sees: values, labels and tuple class, in order."""
        query = read_at_clearance(*self.at(clearance, name), null_label=self.null_label)
        return _sorted(self.connection.query(query))

    def show(self, clearance: str, name: str = EMPLOYEE) -> set[str]:
        """Return what a clearance sees as the textbook prints it: each value with its label, then TC."""
        shown: set[str] = set()
        for row in self.see(clearance, name):
            half = len(row) // 2
            cells = [
                f"{_dash(v)} {label}" for v, label in zip(row[:half], row[half:-1], strict=True)
            ]
            shown.add(" | ".join([*cells, row[-1]]))
        return shown

    def stored(self, name: str = EMPLOYEE) -> set[tuple[Any, ...]]:
        """Return the physical tuples without their numbers."""
        kept = self.relations["public", name]
        query = build.select(
            *map(build.column, physical_columns(kept)[1:]), source=physical_table(kept)
        )
        rows = [tuple(row.values()) for row in self.connection.query(query).to_pylist()]
        assert len(rows) == len(set(rows)), "a tuple is stored twice"
        return set(rows)

    def run(self, clearance: str, sql: str, **terms: Any) -> int | tuple[str, str]:
        """Run a statement as a transaction; return its count, or SQLSTATE and text of its failure."""
        try:
            return self.transact(lambda: self.perform(clearance, sql, **terms).count)
        except StatementFailed as failure:
            return failure.sqlstate, str(failure)

    def perform(self, clearance: str, sql: str, **terms: Any):
        tree = parse_one(sql, dialect="postgres")
        target = tree.find(exp.Table)
        assert target is not None
        place = (self.connection, *self.at(clearance, target.name))
        held = WriteTerms(self.relations, null_label=self.null_label, **terms)
        where = tree.args["where"].this if tree.args.get("where") else None
        if isinstance(tree, exp.Insert):
            listed = [column.name for column in tree.this.expressions]
            names = listed or [column.name for column in place[1].columns]
            return insert(*place, names, tree.expression, terms=held)
        if isinstance(tree, exp.Update):
            sets = {each.this.name: each.expression for each in tree.expressions}
            return update(*place, sets, where, terms=held)
        return delete(*place, where, terms=held)

    def declassify(
        self,
        clearance: str,
        column: str,
        source: str,
        target: str,
        condition: str | None = None,
        *,
        name: str = EMPLOYEE,
    ) -> int | tuple[str, str]:
        where = parse_one(condition, dialect="postgres") if condition else None
        label = self.lattice.label
        try:
            return self.transact(
                lambda: declassify_cells(
                    self.connection,
                    self.relations["public", name],
                    self.lattice,
                    column=column,
                    source=label(source),
                    target=label(target),
                    condition=where,
                    clearance=label(clearance),
                )
            )
        except StatementFailed as failure:
            return failure.sqlstate, str(failure)

    def transact(self, call: Callable[[], Any]) -> Any:
        self.connection.begin()
        try:
            found = call()
        except BaseException:
            self.connection.rollback()
            raise
        self.connection.commit()
        return found


def _sorted(found: Any) -> list[tuple[Any, ...]]:
    rows = [tuple(row.values()) for row in found.to_pylist()]
    return sorted(rows, key=lambda row: [(value is not None, str(value)) for value in row])


def _dash(value: object) -> str:
    return "-" if value is None else str(value)


__all__ = ["EMPLOYEE", "CheckConstraint", "ForeignKey", "World", "employees", "relation"]
