"""Writes: a permitted INSERT, UPDATE or DELETE, with all checks before and after."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace

from sqlglot import exp

from discreet.engines.databases.database import DatabaseConnection, EngineTraits
from discreet.engines.engine import ArrowTable
from discreet.errors import StatementFailed
from discreet.guard.access.authority import Authority, Event, Name, Subject
from discreet.guard.integrity.actions import referential_writes
from discreet.guard.integrity.changes import ROW, Changes, new, old, proposed_rows
from discreet.guard.integrity.keys import AffectedForeignKeys, KeyDeferral, check_keys, keys_of
from discreet.guard.integrity.triggers import TriggerMonitor, watch_rows
from discreet.guard.rewrite.permitted import OnConflict, PermittedWrite, Source, plain_source
from discreet.sql import build

_DEEPEST = 100  # steps of a cascade through tables that reference each other


@dataclass(frozen=True)
class WriteResult:
    """How many rows a write changed, what RETURNING returns, and what foreign keys changed elsewhere."""

    count: int
    table: ArrowTable | None = None
    caused: Mapping[Name, frozenset[str]] = field(default_factory=dict[Name, frozenset[str]])


def write(
    connection: DatabaseConnection,
    permitted: PermittedWrite,
    authority: Authority,
    subject: Subject,
    *,
    traits: EngineTraits,
    source: Source = plain_source,
    deferral: KeyDeferral | None = None,
) -> WriteResult:
    """Carry out a write with its triggers, row policy and keys, whole or not at all.

    Within a transaction a failure fails the transaction, so that nothing of the write is kept;
    outside of one, the write is a transaction of its own.

    Args:
        connection: Where to write.
        permitted: The permitted write; its parameters are literals already.
        authority: The basis of decisions: triggers and foreign keys.
        subject: The writer.
        traits: The engine's.
        source: How triggers read relations that are not plain tables.
        deferral: Which foreign keys are checked at the end of the transaction.

    Raises:
        StatementFailed: P0001 by a trigger, 42501 by a row policy, 23502, 23503, 23505, 23514 by
            constraints, 40001 if another transaction committed first.
    """
    watch = TriggerMonitor(connection, permitted.relation, authority, subject, traits, source)
    act = _WriteExecution(connection, permitted, watch, traits, deferral)
    if connection.in_transaction:
        try:
            return act.run()
        except BaseException:
            connection.fail()
            raise
    connection.begin()
    try:
        done = act.run()
        connection.commit()
    except BaseException:
        connection.rollback()
        raise
    return done


@dataclass(frozen=True)
class _WriteExecution:
    connection: DatabaseConnection
    permitted: PermittedWrite
    watch: TriggerMonitor
    traits: EngineTraits
    deferral: KeyDeferral | None = None
    depth: int = 0
    caused: dict[Name, frozenset[str]] = field(default_factory=dict[Name, frozenset[str]])

    def run(self) -> WriteResult:
        keys = keys_of(
            self.permitted.relation,
            self.watch.authority,
            events=self.events,
            changed=self.changed,
            traits=self.traits,
        )
        needs_rows = (
            keys
            or self.permitted.with_check is not None
            or self.permitted.sources is not None
            or self.permitted.view_check is not None
            or self._moves_keys()
            or (self.traits.compares_keys_early and len(self.events) > 1)  # a row may change twice
            or any(self.watch.needs_rows(event, self.changed) for event in self.events)
        )
        return self._in_sets(keys) if needs_rows else self._run_directly()

    @property
    def events(self) -> tuple[Event, ...]:
        conflict = self.permitted.on_conflict
        if conflict is not None and conflict.assignments is not None:
            return ("INSERT", "UPDATE")
        return (self.permitted.kind,)

    @property
    def changed(self) -> frozenset[str]:
        conflict = self.permitted.on_conflict
        later = (conflict.assignments or {}) if conflict else {}
        return frozenset(self.permitted.assignments) | frozenset(later)

    def _moves_keys(self) -> bool:
        """Return whether the engine would compare new keys with old ones before those are deleted."""
        relation = self.permitted.relation
        unique = {name for key in (relation.primary_key, *relation.uniques) for name in key}
        return self.traits.compares_keys_early and bool(unique & self.changed)

    # --- as one statement -----------------------------------------------------------------------

    def _run_directly(self) -> WriteResult:
        done = self._execute(self._build_statement())
        for event in self.events:
            self.watch.statement("after", event, self.changed)
        return done

    def _execute(self, statement: exp.Expr) -> WriteResult:
        touches = [self.permitted.relation.physical]
        if self.permitted.returning is None:
            statement = _name_target(statement, self.permitted)
            return WriteResult(self.connection.execute(statement, touches=touches))
        returning = [item.copy() for item in self.permitted.returning]
        statement.set("returning", exp.Returning(expressions=returning))
        statement = _name_target(statement, self.permitted)
        table = self.connection.execute_returning(statement, touches=touches)
        return WriteResult(table.num_rows, table)

    def _build_statement(self) -> exp.Expr:
        permitted = self.permitted
        target = permitted.target.copy()
        where = exp.Where(this=permitted.condition.copy()) if permitted.condition else None
        if permitted.kind == "DELETE":
            return exp.Delete(this=target, where=where)
        if permitted.kind == "UPDATE":
            sets = [_set(name, value.copy()) for name, value in permitted.assignments.items()]
            return exp.Update(this=target, expressions=sets, where=where)
        columns, rows = proposed_rows(permitted, self.traits, self.watch.subject.settings)
        schema = exp.Schema(this=target, expressions=_quote_names(columns))
        conflict = _build_conflict(permitted.on_conflict) if permitted.on_conflict else None
        return exp.Insert(this=schema, expression=rows, conflict=conflict)

    # --- row by row, in sets --------------------------------------------------------------------

    def _in_sets(self, keys: AffectedForeignKeys) -> WriteResult:
        changes = Changes(self.connection, self.permitted, self.depth)
        changes.set_aside(self.watch.subject.settings)
        parts = self._split_changes(changes)
        for event, rows in parts:
            check = self.permitted.with_check
            watch_rows(self.watch, "before", event, self.changed, rows, with_check=check)
            if self.permitted.view_check is not None:
                self.watch.view(self.permitted.view_check, rows)
        count = sum(self._apply(changes, event) for event, _ in parts)
        self._act_on_references(keys, changes)
        check_keys(self.connection, keys, self.permitted.relation, changes.query(), self.deferral)
        for event, rows in parts:
            watch_rows(self.watch, "after", event, self.changed, rows)
        table = self._query_returning(changes)
        changes.drop()
        return WriteResult(count, table, self.caused)

    def _act_on_references(self, keys: AffectedForeignKeys, changes: Changes) -> None:
        """Change or delete the rows that reference changed ones, with their triggers and keys."""
        for key, other in keys.inward:
            for caused in referential_writes(key, other, changes, self.events):
                if self.depth >= _DEEPEST:
                    raise StatementFailed("54001", "foreign keys cascade too deeply")
                replace(
                    self,
                    permitted=caused,
                    watch=replace(self.watch, relation=other),
                    depth=self.depth + 1,
                ).run_caused()

    def run_caused(self) -> None:
        """Carry out a write that a foreign key causes, unless it has no rows."""
        permitted = self.permitted
        there = build.select(build.number(1), source=permitted.target.copy())
        if permitted.condition is not None:
            there = there.where(permitted.condition.copy())
        if self.connection.query(there.limit(1)).num_rows:
            known = self.caused.get(permitted.relation.key, frozenset())
            self.caused[permitted.relation.key] = known | permitted.written
            self.run()

    def _split_changes(self, changes: Changes) -> list[tuple[Event, exp.Query]]:
        """Return the changes by event; with ON CONFLICT some rows are new and some are not."""
        if len(self.events) == 1:
            return [(self.events[0], changes.query())]
        is_new = build.is_null(build.column(ROW))
        return [
            ("INSERT", changes.query(is_new)),
            ("UPDATE", changes.query(exp.not_(is_new.copy()))),
        ]

    def _apply(self, changes: Changes, event: Event) -> int:
        physical = build.table(*self.permitted.relation.physical)
        if event == "INSERT":
            return changes.run(_build_insert(changes, physical, build.is_null(build.column(ROW))))
        if event == "DELETE":
            return changes.run(_build_delete(changes, physical, None))
        if not self._moves_keys():
            return changes.run(_build_update(changes, physical, self.changed, None))
        moved = exp.Paren(this=self._moved_condition())
        relation = self.permitted.relation
        unique = {name for key in (relation.primary_key, *relation.uniques) for name in key}
        others = self.changed - unique
        unmoved = exp.not_(moved.copy())
        if others:
            changes.run(_build_update(changes, physical, others, unmoved))
        # Deleted first, then inserted under their new keys: DuckDB compares row by row.
        changes.run(_build_delete(changes, physical, moved))
        changes.run(_build_insert(changes, physical, moved))
        matched = exp.not_(build.is_null(build.column(ROW)))
        counted = build.select(build.alias_as(build.count_star(), "n"), source=changes.table())
        return self.connection.query(counted.where(matched)).to_pylist()[0]["n"]

    def _moved_condition(self) -> exp.Expr:
        relation = self.permitted.relation
        unique = {name for key in (relation.primary_key, *relation.uniques) for name in key}
        return exp.and_(
            exp.not_(build.is_null(build.column(ROW))),
            build.any_of(
                exp.NullSafeNEQ(this=build.column(old(name)), expression=build.column(new(name)))
                for name in sorted(unique & self.changed)
            ),
        )

    def _query_returning(self, changes: Changes) -> ArrowTable | None:
        permitted = self.permitted
        if permitted.returning is None:
            return None
        side: Callable[[str], str] = old if permitted.kind == "DELETE" else new
        rows = build.select(
            *(build.alias_as(build.column(side(name)), name) for name in changes.names),
            source=changes.table(),
        )
        returning = [item.copy() for item in permitted.returning]
        alias = permitted.target.alias_or_name
        return self.connection.query(build.select(*returning, source=build.subquery(rows, alias)))


def _name_target(statement: exp.Expr, permitted: PermittedWrite) -> exp.Expr:
    """Return an INSERT whose row is called as its table: DuckDB's RETURNING knows no other name."""
    if permitted.kind != "INSERT":
        return statement
    alias, name = permitted.target.alias_or_name, permitted.relation.physical[-1]
    if alias == name:
        return statement
    for part in ("returning", "conflict"):
        inside = statement.args.get(part)
        for column in list(inside.find_all(exp.Column)) if inside is not None else ():
            if column.table == alias:
                column.set("table", exp.to_identifier(name, quoted=True))
    target = statement.this.this if isinstance(statement.this, exp.Schema) else statement.this
    target.set("alias", exp.TableAlias(this=exp.to_identifier(name, quoted=True)))
    return statement


def _build_insert(changes: Changes, physical: exp.Table, condition: exp.Expr) -> exp.Insert:
    schema = exp.Schema(this=physical.copy(), expressions=_quote_names(changes.names))
    columns = [build.column(new(name)) for name in changes.names]
    rows = build.select(*columns, source=changes.table()).where(condition.copy())
    return exp.Insert(this=schema, expression=rows)


def _build_delete(changes: Changes, physical: exp.Table, condition: exp.Expr | None) -> exp.Delete:
    gone = build.select(build.column(ROW), source=changes.table())
    if condition is not None:
        gone = gone.where(condition.copy())
    place = build.column(changes.row_id, of="t")
    where = exp.In(this=place, query=exp.Subquery(this=gone))
    return exp.Delete(this=build.aliased_table(physical, "t"), where=exp.Where(this=where))


def _build_update(
    changes: Changes, physical: exp.Table, columns: frozenset[str], condition: exp.Expr | None
) -> exp.Update:
    names = [name for name in changes.names if name in columns]
    wanted = [build.column(name) for name in (ROW, *(new(name) for name in names))]
    rows = build.select(*wanted, source=changes.table())
    if condition is not None:
        rows = rows.where(condition.copy())
    place = exp.EQ(this=build.column(changes.row_id, of="t"), expression=build.column(ROW, of="c"))
    return exp.Update(
        this=build.aliased_table(physical, "t"),
        expressions=[_set(name, build.column(new(name), of="c")) for name in names],
        from_=exp.From(this=build.subquery(rows, "c")),
        where=exp.Where(this=place),
    )


def _build_conflict(conflict: OnConflict) -> exp.OnConflict:
    keys = _quote_names(conflict.columns) or None
    if conflict.assignments is None:
        return exp.OnConflict(action=exp.var("DO NOTHING"), conflict_keys=keys)
    if not conflict.columns:
        raise StatementFailed(
            "42601", "ON CONFLICT DO UPDATE requires inference specification or constraint name"
        )
    sets = [_set(name, value.copy()) for name, value in conflict.assignments.items()]
    where = exp.Where(this=conflict.condition.copy()) if conflict.condition else None
    return exp.OnConflict(
        action=exp.var("DO UPDATE"), conflict_keys=keys, expressions=sets, where=where
    )


def _set(name: str, value: exp.Expr) -> exp.EQ:
    return exp.EQ(this=build.column(name), expression=value)


def _quote_names(columns: list[str] | tuple[str, ...]) -> list[exp.Expr]:
    return [exp.to_identifier(name, quoted=True) for name in columns]
