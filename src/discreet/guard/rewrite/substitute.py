"""Substitution: every relation in a tree becomes what may be read of it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from sqlglot import exp

from discreet.engines.databases.database import EngineTraits
from discreet.errors import AccessDenied, StatementFailed
from discreet.guard.access.authority import Name, Privilege, Relation
from discreet.guard.access.decide import any_column_privilege, mask_of, privilege_on
from discreet.guard.access.names import KIND_NAMES
from discreet.guard.rewrite.adapt import adapt
from discreet.guard.rewrite.allowed import unsupported_feature
from discreet.guard.rewrite.joins import COMMON, ENTRY, LABEL, TUPLE_CLASS, relation_fields
from discreet.guard.rewrite.permitted import Source, TouchedRelation
from discreet.guard.rewrite.policies import (
    parse_stored,
    require_filtering,
    row_condition,
    row_expression,
)
from discreet.guard.rewrite.queries import read_finished
from discreet.guard.rewrite.scope import RangeTableEntry, Scope, distinct_keys
from discreet.sql import build

if TYPE_CHECKING:
    from discreet.guard.rewrite.analysis import StatementAnalysis

DEEPEST = 32  # views of views


@dataclass
class Substitution:
    """Replaces relations by what may be read of them, and records the tables used."""

    source: Source
    reads: list[TouchedRelation] = field(default_factory=list[TouchedRelation])
    physical: set[tuple[str, ...]] = field(default_factory=set[tuple[str, ...]])
    is_filtered: bool = False
    masked: set[Name] = field(default_factory=set["Name"])  # relations of which masks were read

    def finish(self, reading: StatementAnalysis, tree: exp.Expr) -> exp.Expr:
        """Check the privileges on all references, then replace every relation.

        Raises:
            AccessDenied: The role may not read a referenced column or relation.
        """
        self.check_all(reading)
        return self.replace_all(reading, tree)

    def check_all(self, reading: StatementAnalysis) -> None:
        """Refuse references that the role may not read; whole-row values are refused after that."""
        for entry in reading.entries:
            self.check(reading, entry)
        if any(entry.is_whole for entry in reading.entries):
            raise unsupported_feature("A row as a value", "Name its columns.")

    def replace_all(self, reading: StatementAnalysis, tree: exp.Expr) -> exp.Expr:
        """Return the tree with every relation replaced by what may be read of it."""
        holder = exp.Paren(this=tree)
        adapt(holder, reading.traits)
        if not all(column.table for column in holder.find_all(exp.Column)):
            raise StatementFailed("XX000", "internal error: a column was not resolved")
        entries = {entry.handle: entry for entry in reading.entries}
        for table in list(holder.find_all(exp.Table)):
            if COMMON in table.meta:
                continue
            entry = entries.get(str(table.meta.get(ENTRY)))
            if entry is None:
                raise StatementFailed("XX000", "internal error: a relation was not resolved")
            alias = exp.TableAlias(this=exp.to_identifier(entry.handle, quoted=True))
            joins = table.args.get("joins")
            permitted = exp.Subquery(this=self.permitted(reading, entry), alias=alias)
            if joins:
                permitted.set("joins", joins)
            table.replace(permitted)
        return holder.this.pop()

    def check(self, reading: StatementAnalysis, entry: RangeTableEntry) -> None:
        """Refuse columns without SELECT; without columns, a relation on which no column has it."""
        relation = _entry_relation(entry)
        columns = frozenset(deciding_column(relation, name) for name in entry.used) - {None}
        decision = any_column_privilege(reading.authority, reading.role, relation, Privilege.SELECT)
        for column in sorted(filter(None, columns)):
            if decision:
                decision = privilege_on(
                    reading.authority, reading.role, relation, Privilege.SELECT, column
                )
        self.reads.append(
            TouchedRelation(relation.key, frozenset(filter(None, columns)), reading.role)
        )
        if decision and entry.is_locked:
            decision = any_column_privilege(
                reading.authority, reading.role, relation, Privilege.UPDATE
            )
        if not decision:
            raise AccessDenied(
                f"permission denied for {KIND_NAMES[relation.kind]} {relation.name}",
                reason=decision.reason,
            )

    def permitted(self, reading: StatementAnalysis, entry: RangeTableEntry) -> exp.Query:
        """Return the query that reads exactly the used columns of permitted rows."""
        relation = _entry_relation(entry)
        if relation.kind == "sequence":
            raise unsupported_feature("SELECT from a sequence", "Call currval() or lastval().")
        if relation.kind == "view":
            return self._expand_view(reading, relation, entry)
        columns = sorted(entry.used)
        if relation.kind == "anonymized":
            return self._select_columns(
                reading, relation, columns, self._read_source(reading, relation)
            )
        return self.rows(reading, relation, columns, is_locked=entry.is_locked)

    def _read_source(self, reading: StatementAnalysis, relation: Relation) -> exp.Query:
        query = self.source(relation, reading.subject)
        self.physical |= tables_of(query)
        return query

    def _select_columns(
        self, reading: StatementAnalysis, relation: Relation, columns: list[str], source: exp.Query
    ) -> exp.Select:
        handle = reading.handles.new(relation.name)
        shown = [build.column(name, of=handle) for name in columns]
        return build.select(
            *(shown or [_placeholder_column()]), source=build.subquery(source, handle)
        )

    def rows(
        self,
        reading: StatementAnalysis,
        relation: Relation,
        columns: list[str],
        *,
        is_locked: bool = False,
    ) -> exp.Query:
        """Return the permitted rows of a table, with masks in place of masked columns."""
        below, above = reading.handles.new(relation.name), reading.handles.new(relation.name)
        kept = row_condition(reading, relation, "SELECT", handle=below, finish=self.finish)
        if is_locked and kept is not None:
            # As in PostgreSQL: rows are locked that could be changed.
            also = row_condition(reading, relation, "UPDATE", handle=below, finish=self.finish)
            kept = build.all_of(rule for rule in (kept, also) if rule is not None)
        if relation.multilevel:
            require_filtering(reading, relation, "security labels")
        source = self._read_source(reading, relation)
        handle = below if kept is None else above
        shown = {name: self.seen(reading, relation, name, handle) for name in columns}
        self.is_filtered |= kept is not None or relation.multilevel
        if kept is None:
            out = [build.alias_as(value, name) for name, value in shown.items()]
            query = build.select(
                *(out or [_placeholder_column()]), source=build.subquery(source, below)
            )
            return _add_fence(query, reading.traits) if relation.multilevel else query
        return self._select_permitted(reading, relation, shown, (source, below, kept, above))

    def _select_permitted(
        self,
        reading: StatementAnalysis,
        relation: Relation,
        shown: dict[str, exp.Expr],
        parts: tuple[exp.Query, str, exp.Expr, str],
    ) -> exp.Select:
        """Return rows filtered twice: as rows, and in every cell.

        An engine may evaluate the caller's expressions before it drops a row: then all of the row's
        cells are NULL already, so that no failure depends on their values.
        """
        source, below, condition, above = parts
        needed = sorted(
            {column.name for value in shown.values() for column in value.find_all(exp.Column)}
            & {item.name for item in relation_fields(relation)}
        )
        *_, mark = distinct_keys([*needed, "kept"])
        inner = build.select(
            *(build.column(name, of=below) for name in needed),
            build.alias_as(exp.Paren(this=condition), mark),
            source=build.subquery(source, below),
        )
        kept = build.column(mark, of=above)
        cells = [
            build.alias_as(exp.Case(ifs=[exp.If(this=kept.copy(), true=value)]), name)
            for name, value in shown.items()
        ]
        outer = build.select(
            *(cells or [_placeholder_column()]), source=build.subquery(inner, above)
        )
        return _add_fence(outer.where(kept, copy=False), reading.traits)

    def seen(
        self, reading: StatementAnalysis, relation: Relation, column: str, handle: str
    ) -> exp.Expr:
        """Return a column of the row called `handle`, or its mask."""
        name = deciding_column(relation, column)
        mask = mask_of(reading.authority, reading.role, relation, name) if name else None
        if mask is None or name != column:
            return build.column(column, of=handle)
        require_filtering(reading, relation, "mask")
        self.masked.add(relation.key)
        masked = row_expression(
            reading,
            relation,
            mask.expression,
            role=relation.owner,
            handle=handle,
            finish=self.finish,
            is_condition=False,
        )
        return exp.Paren(this=masked)

    def _expand_view(
        self, reading: StatementAnalysis, relation: Relation, entry: RangeTableEntry
    ) -> exp.Query:
        # As in PostgreSQL: the sender, not the owner of the enclosing view.
        role = reading.invoker if relation.security_invoker else relation.owner
        step = ("view", relation.key)
        if step in reading.trail:
            raise StatementFailed(
                "42P17", f'infinite recursion detected in rules for relation "{relation.name}"'
            )
        if len(reading.trail) >= DEEPEST:
            raise StatementFailed("54001", "views are nested too deeply")
        inner = reading.stored(role, step)
        tree = reading.work.definition(view_query(relation))
        fields = read_finished(inner, tree, Scope())
        if len(fields) != len(relation.columns):
            raise StatementFailed("42P16", f'view "{relation.name}" must be created again')
        permitted = self.finish(inner, tree)
        handle = reading.handles.new(relation.name)
        keys = {
            column.name: item.key for column, item in zip(relation.columns, fields, strict=True)
        }
        shown = [
            build.alias_as(build.column(keys[name], of=handle), name) for name in sorted(entry.used)
        ]
        query = build.select(
            *(shown or [_placeholder_column()]), source=build.subquery(_as_query(permitted), handle)
        )
        if role == reading.role:
            return query
        self.is_filtered = True
        return _add_fence(query, reading.traits)


def _add_fence(query: exp.Select, traits: EngineTraits) -> exp.Select:
    """Return a query that PostgreSQL does not push conditions into."""
    return query.offset(0, copy=False) if traits.has_offset_fence else query


def _placeholder_column() -> exp.Expr:
    """Return a column for a query of which only the number of rows matters."""
    return build.alias_as(build.number(1), "one")


def _entry_relation(entry: RangeTableEntry) -> Relation:
    if entry.relation is None:
        raise StatementFailed("XX000", "internal error: a relation was not resolved")
    return entry.relation


def deciding_column(relation: Relation, name: str) -> str | None:
    """Return the column whose privilege decides about a name: its own, or that of a label."""
    if relation.column(name) is not None:
        return name
    if relation.multilevel and name.endswith(LABEL):
        return name.removesuffix(LABEL)
    if relation.multilevel and name == TUPLE_CLASS:
        return None
    raise StatementFailed("XX000", "internal error: a column was not resolved")


def _as_query(tree: exp.Expr) -> exp.Query:
    if not isinstance(tree, exp.Query):
        raise StatementFailed("XX000", "internal error: a query was expected")
    return tree


def view_query(relation: Relation) -> exp.Expr:
    """Return the query of a view as a tree that was checked again."""
    return parse_stored(relation.query or "", "the query of a view")


def tables_of(query: exp.Expr) -> set[tuple[str, ...]]:
    """Return the physical tables that a query names, without common table expressions."""
    commons = {common.alias for common in query.find_all(exp.CTE)}
    return {
        tuple(part.name for part in table.parts)
        for table in query.find_all(exp.Table)
        if len(table.parts) > 1 or table.name not in commons
    }
