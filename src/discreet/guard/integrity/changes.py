"""The changes of a write in a temporary table before they are written: `old_…` and `new_…`.

Triggers, row policies and foreign keys read this table, and the write itself takes its values from
it, so that all of them apply to the same rows, in sets, whatever their number.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from sqlglot import exp

from discreet.engines.databases.database import DatabaseConnection, EngineTraits
from discreet.engines.render import drop_table
from discreet.errors import StatementFailed
from discreet.guard.access.authority import Relation
from discreet.guard.integrity.create import engine_default
from discreet.guard.rewrite.permitted import OnConflict, PermittedWrite, joined_rows
from discreet.sql import build

ROW = "rid"  # the location of an existing row; NULL for a new one
_NAME = "discreet_changes"  # one per connection and depth, dropped before the next write


def old(name: str) -> str:
    """Return the column that holds a column's old value."""
    return f"old_{name}"


def new(name: str) -> str:
    """Return the column that holds a column's new value."""
    return f"new_{name}"


@dataclass(frozen=True)
class Changes:
    """The temporary table of one write; those of foreign keys' actions are deeper than their cause."""

    connection: DatabaseConnection
    permitted: PermittedWrite
    depth: int = 0

    @property
    def relation(self) -> Relation:
        """The relation that is written."""
        return self.permitted.relation

    @property
    def name(self) -> str:
        """The name of the table."""
        return f"{_NAME}{self.depth}" if self.depth else _NAME

    @property
    def names(self) -> list[str]:
        """The columns of the relation."""
        return [column.name for column in self.relation.columns]

    @property
    def row_id(self) -> str:
        """The engine's name of a row's location."""
        return self.connection.traits.row_id

    def table(self, alias: str | None = None) -> exp.Table:
        """Return the temporary table."""
        return build.table(*self.connection.traits.temporary_schema, self.name, alias=alias)

    def query(self, condition: exp.Expr | None = None) -> exp.Select:
        """Return the changes, `old_…` and `new_…`."""
        columns = [build.column(name) for item in self.names for name in (old(item), new(item))]
        query = build.select(*columns, source=self.table())
        return query if condition is None else query.where(condition)

    def run(self, statement: exp.Expr) -> int:
        """Execute a statement that may write the relation."""
        return self.connection.execute(statement, touches=[self.relation.physical])

    def set_aside(self, settings: Mapping[str, str]) -> None:
        """Create the table and fill it with the intended changes."""
        row_id = self.row_id
        if row_id in (name.lower() for name in self.names):
            raise StatementFailed("0A000", f'a column cannot be called "{row_id}" here')
        target = self.permitted.target
        alias = target.alias_or_name
        rid = build.alias_as(build.column(row_id, of=alias), ROW)
        shape = build.select(
            rid,
            *(build.alias_as(build.column(name, of=alias), old(name)) for name in self.names),
            *(build.alias_as(build.column(name, of=alias), new(name)) for name in self.names),
            source=target.copy(),
        ).where(exp.false())
        temporary = exp.Properties(expressions=[exp.TemporaryProperty()])
        create = exp.Create(this=self.table(), kind="TABLE", expression=shape, properties=temporary)
        self.connection.execute(create, touches=[self.connection.traits.temporary_schema])
        if self.permitted.kind == "INSERT":
            self._insert_proposed(settings)
            if self.permitted.on_conflict is not None:
                self._resolve(self.permitted.on_conflict)
        else:
            self._find()

    def drop(self) -> None:
        """Drop the table."""
        self.connection.execute(
            drop_table(self.table()), touches=[self.connection.traits.temporary_schema]
        )

    def _insert_proposed(self, settings: Mapping[str, str]) -> None:
        columns, rows = proposed_rows(self.permitted, self.connection.traits, settings)
        self._insert_rows([new(name) for name in columns], rows)

    def _find(self) -> None:
        """Store the existing rows and the new values of each."""
        permitted, alias = self.permitted, self.permitted.target.alias_or_name
        names = [ROW, *(old(name) for name in self.names)]
        values: list[exp.Expr] = [
            build.column(self.row_id, of=alias),
            *(build.column(name, of=alias) for name in self.names),
        ]
        if permitted.kind == "UPDATE":
            names += [new(name) for name in self.names]
            values += [
                permitted.assignments.get(name, build.column(name, of=alias)).copy()
                for name in self.names
            ]
        query = joined_rows(values, permitted.target.copy(), permitted.sources)
        if permitted.sources is not None:  # a row may fit several
            query.set("distinct", exp.Distinct(on=exp.Tuple(expressions=[values[0].copy()])))
        if permitted.condition is not None:
            query = query.where(permitted.condition.copy())
        self._insert_rows(names, query)

    def _insert_rows(self, names: Iterable[str], rows: exp.Query) -> None:
        columns = [exp.to_identifier(name, quoted=True) for name in names]
        schema = exp.Schema(this=self.table(), expressions=columns)
        self.connection.execute(
            exp.Insert(this=schema, expression=rows),
            touches=[self.connection.traits.temporary_schema],
        )

    # --- ON CONFLICT ----------------------------------------------------------------------------

    def _resolve(self, conflict: OnConflict) -> None:
        if conflict.assignments is None:
            self._skip_conflicts(conflict)
            return
        if self._has_repeats(conflict.columns, delete=False):
            raise StatementFailed(
                "21000", "ON CONFLICT DO UPDATE command cannot affect row a second time"
            )
        self._match(conflict.columns)
        matched = exp.not_(build.is_null(build.column(ROW)))
        if conflict.condition is not None:
            holds = exp.Paren(this=self._rename_columns(conflict.condition))
            fails = exp.not_(exp.Coalesce(this=holds, expressions=[exp.false()]))
            self._execute_statement(
                exp.Delete(this=self.table(), where=exp.Where(this=exp.and_(matched, fails)))
            )
        values = {
            name: self._rename_columns(value)
            for name, value in (conflict.assignments or {}).items()
        }
        sets = [_set(new(name), values.get(name, build.column(old(name)))) for name in self.names]
        where = exp.Where(this=exp.not_(build.is_null(build.column(ROW))))
        self._execute_statement(exp.Update(this=self.table(), expressions=sets, where=where))

    def _skip_conflicts(self, conflict: OnConflict) -> None:
        """Leave out rows that exist already, and duplicates."""
        relation = self.relation
        keys = [conflict.columns] if conflict.columns else [relation.primary_key, *relation.uniques]
        for key in filter(None, keys):
            there = build.select(
                build.number(1), source=build.table(*relation.physical, alias="there")
            ).where(self._same_key(key, "there"))
            own = self.table("mine")
            self._execute_statement(
                exp.Delete(this=own, where=exp.Where(this=exp.Exists(this=there)))
            )
            self._has_repeats(key, delete=True)

    def _has_repeats(self, key: Iterable[str], *, delete: bool) -> bool:
        """Return whether a proposed key occurs twice; leave out all but the first if requested."""
        row_id = self.row_id
        before = build.all_of(
            [
                *(
                    exp.EQ(
                        this=build.column(new(name), of="other"),
                        expression=build.column(new(name), of="mine"),
                    )
                    for name in key
                ),
                exp.LT(
                    this=build.column(row_id, of="other"),
                    expression=build.column(row_id, of="mine"),
                ),
            ]
        )
        twice = exp.Exists(
            this=build.select(build.number(1), source=self.table("other")).where(before)
        )
        if delete:
            self._execute_statement(
                exp.Delete(this=self.table("mine"), where=exp.Where(this=twice))
            )
            return False
        found = build.select(build.number(1), source=self.table("mine")).where(twice)
        return self.connection.query(found.limit(1)).num_rows > 0

    def _match(self, key: Iterable[str]) -> None:
        """Store the existing row for each proposed one."""
        there = build.table(*self.relation.physical, alias="there")
        sets = [
            _set(ROW, build.column(self.row_id, of="there")),
            *(_set(old(name), build.column(name, of="there")) for name in self.names),
        ]
        update = exp.Update(
            this=self.table("mine"),
            expressions=sets,
            from_=exp.From(this=there),
            where=exp.Where(this=self._same_key(key, "there")),
        )
        self._execute_statement(update)

    def _same_key(self, key: Iterable[str], there: str) -> exp.Expr:
        return build.all_of(
            exp.EQ(this=build.column(name, of=there), expression=build.column(new(name), of="mine"))
            for name in key
        )

    def _rename_columns(self, expression: exp.Expr) -> exp.Expr:
        """Return an expression over the existing row and `excluded`, as one over this table."""
        holder = exp.Paren(this=expression.copy())
        alias = self.permitted.target.alias_or_name
        sides = {alias: old, "excluded": new}
        for column in list(holder.find_all(exp.Column)):
            if column.table in sides:
                column.replace(build.column(sides[column.table](column.name), of=self.name))
        return holder

    def _execute_statement(self, statement: exp.Expr) -> None:
        self.connection.execute(statement, touches=[self.connection.traits.temporary_schema])


def proposed_rows(
    permitted: PermittedWrite, traits: EngineTraits, settings: Mapping[str, str]
) -> tuple[list[str], exp.Query]:
    """Return the columns and rows of an INSERT with the defaults of unnamed columns.

    Defaults are evaluated here, where the transaction's time is known, not by the engine.
    """
    missing = {
        column.name: value
        for column in permitted.relation.columns
        if column.name not in permitted.columns
        and (value := engine_default(column, traits, settings)) is not None
    }
    columns = [*permitted.columns, *missing]
    if permitted.rows is None or not permitted.columns:
        if not missing:
            first = permitted.relation.columns[0].name
            return [first], exp.select(exp.Null())
        return columns, exp.select(*missing.values())
    if not missing:
        return columns, permitted.rows.copy()
    given = [f"g{place}" for place in range(len(permitted.columns))]
    alias = exp.TableAlias(
        this=exp.to_identifier("given", quoted=True),
        columns=[exp.to_identifier(name, quoted=True) for name in given],
    )
    rows = exp.Subquery(this=permitted.rows.copy(), alias=alias)
    wanted = [*(build.column(name, of="given") for name in given), *missing.values()]
    return columns, build.select(*wanted, source=rows)


def _set(name: str, value: exp.Expr) -> exp.EQ:
    # The target of SET is named without its table.
    return exp.EQ(this=build.column(name), expression=value)
