"""The target of a write: who may write it, which rows, and what is visible of them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from sqlglot import exp

from discreet.errors import AccessDenied, StatementFailed
from discreet.guard.access.authority import Privilege, Relation, RelationColumn
from discreet.guard.access.decide import any_column_privilege, masked_columns, privilege_on
from discreet.guard.access.names import KIND_NAMES
from discreet.guard.rewrite.allowed import unsupported_feature
from discreet.guard.rewrite.analysis import ExpressionContext
from discreet.guard.rewrite.joins import relation_fields, resolve_relation
from discreet.guard.rewrite.permitted import TouchedRelation
from discreet.guard.rewrite.policies import is_exempt, row_condition
from discreet.guard.rewrite.scope import RangeTableEntry, Scope, visible_fields
from discreet.guard.rewrite.substitute import deciding_column
from discreet.sql import build
from discreet.sql.limits import STATEMENT
from discreet.sql.names import fold_identifier

if TYPE_CHECKING:
    from discreet.guard.rewrite.analysis import StatementAnalysis
    from discreet.guard.rewrite.policies import Right
    from discreet.guard.rewrite.substitute import Substitution

NEW = "new"  # the name of the row after a write in conditions


@dataclass
class WriteTarget:
    """A table that is written, in one statement."""

    reading: StatementAnalysis
    relation: Relation
    entry: RangeTableEntry

    @property
    def written(self) -> Relation:
        """The table that is written."""
        return self.relation

    def base_column(self, name: str, verb: str = "update") -> str:  # noqa: ARG002 - of views
        """Return the column of the table that a column of the target is."""
        return name

    def new_row_check(self, substitution: Substitution) -> exp.Expr | None:  # noqa: ARG002 - of views
        """Return what a view demands of the new row."""
        return None

    @property
    def table(self) -> exp.Table:
        """The physical table, with the alias that expressions call it by."""
        return build.table(*self.relation.physical, alias=self.entry.handle)

    def place(self, clause: str, *others: RangeTableEntry) -> ExpressionContext:
        """Return a context in which the row can be named."""
        columns = [column for entry in (self.entry, *others) for column in visible_fields(entry)]
        # A bare name is the row's: the new one must be called `excluded`.
        return ExpressionContext(
            Scope(entries=[self.entry, *others], columns=columns[: len(self.entry.fields)]), clause
        )

    def joined_place(self, clause: str, sources: Scope | None) -> ExpressionContext:
        """Return a context in which the row, and those of FROM or USING, can be named."""
        if sources is None:
            return self.place(clause)
        entries = [self.entry, *sources.entries]
        columns = [*visible_fields(self.entry), *sources.columns]
        return ExpressionContext(
            Scope(commons=sources.commons, entries=entries, columns=columns), clause
        )

    def column(self, name: str) -> RelationColumn:
        """Return a column that is to be written, or fail as PostgreSQL does."""
        found = self.relation.column(name)
        if found is None:
            raise StatementFailed(
                "42703", f'column "{name}" of relation "{self.relation.name}" does not exist'
            )
        return found

    def check(self, right: Privilege, columns: Iterable[str]) -> None:
        """Refuse a role that may not write these columns; without any, one that may write none."""
        reading = self.reading
        names = sorted(set(columns))
        if right == Privilege.DELETE:
            decisions = [privilege_on(reading.authority, reading.role, self.relation, right)]
        elif not names:
            decisions = [
                any_column_privilege(reading.authority, reading.role, self.relation, right)
            ]
        else:
            decisions = [
                privilege_on(reading.authority, reading.role, self.relation, right, name)
                for name in names
            ]
        for decision in decisions:
            if not decision:
                raise AccessDenied(
                    f"permission denied for {KIND_NAMES[self.relation.kind]} {self.relation.name}",
                    reason=decision.reason,
                )

    def check_reads(self, substitution: Substitution, more: Iterable[str] = ()) -> None:
        """Refuse a role that may not read the row's columns in conditions, values and RETURNING."""
        used = {deciding_column(self.relation, name) for name in (*self.entry.used, *more)}
        names = frozenset(name for name in used if name is not None)
        if self.entry.used or names:
            substitution.reads.append(TouchedRelation(self.relation.key, names, self.reading.role))
            self.check(Privilege.SELECT, names)
        if self.entry.is_whole:
            raise unsupported_feature("A row as a value", "Name its columns.")

    def check_kept(self, values: Iterable[exp.Expr]) -> None:
        """Refuse new values computed from masked cells: the mask would be stored permanently."""
        reading = self.reading
        hidden = masked_columns(reading.authority, reading.role, self.relation)
        named = (column for value in values for column in value.find_all(exp.Column))
        found = {column.name for column in named if column.table == self.entry.handle} & hidden
        if found:
            raise AccessDenied(
                f'a new value cannot be made of column "{min(found)}" of table {self.relation.name}',
                reason="the mask would be stored in place of the column",
                hint="You see a mask of it, which would be stored. Set values that you know.",
            )

    def check_unmasked(self, substitution: Substitution) -> None:
        """Refuse new values for which masks of this table were read, in a subquery or as `excluded`."""
        if self.relation.key in substitution.masked:
            raise AccessDenied(
                f"a new value cannot be made of masked columns of table {self.relation.name}",
                reason="the mask would be stored in place of the column",
                hint="You see a mask of them, which would be stored. Set values that you know.",
            )

    def check_keys(self, keys: Iterable[Iterable[str]]) -> None:
        """Refuse ON CONFLICT on masked key columns: its outcome would reveal what the mask hides."""
        reading = self.reading
        hidden = masked_columns(reading.authority, reading.role, self.relation)
        found = {name for key in keys for name in key} & hidden
        if found:
            raise AccessDenied(
                f'ON CONFLICT cannot compare column "{min(found)}" of table {self.relation.name}',
                reason="a conflict would reveal the masked value",
                hint="You see a mask of it. Name a key of columns that you see, or leave ON CONFLICT out.",
            )

    def row_rule(
        self,
        substitution: Substitution,
        rights: Iterable[Right],
        *,
        handle: str | None = None,
        is_new: bool = False,
    ) -> exp.Expr | None:
        """Return the condition that policies set on the row, None for none."""
        if is_exempt(self.reading.authority, self.reading.role, self.relation):
            return None
        conditions = [
            row_condition(
                self.reading,
                self.relation,
                right,
                handle=handle or self.entry.handle,
                finish=substitution.finish,
                is_new=is_new and right != "SELECT",
            )
            for right in rights
        ]
        return build.all_of(condition for condition in conditions if condition is not None)

    def protect(self, substitution: Substitution, tree: exp.Expr, rule: exp.Expr | None) -> None:
        """Replace masked columns by masks, and cells of hidden rows by NULL."""
        handle = self.entry.handle
        columns = [one for one in tree.find_all(exp.Column) if one.table == handle]
        if rule is not None and len(columns) * sum(1 for _ in rule.walk()) > STATEMENT.nodes:
            raise StatementFailed("54000", "the statement has too many parts")
        for column in columns:
            seen = substitution.seen(self.reading, self.relation, column.name, handle)
            if rule is not None:
                seen = exp.Case(ifs=[exp.If(this=exp.Paren(this=rule.copy()), true=seen)])
            if not isinstance(seen, exp.Column):
                column.replace(seen)


def read_target(reading: StatementAnalysis, table: exp.Expr) -> WriteTarget:
    """Find the table that a statement writes.

    Raises:
        StatementFailed: 42P01, 42809 for what cannot be written.
    """
    if not isinstance(table, exp.Table) or not isinstance(table.this, exp.Identifier):
        raise unsupported_feature("This target")
    for extra in ("catalog", "joins", "sample", "pivots", "when", "ordinality", "rows_from"):
        if table.args.get(extra):
            raise unsupported_feature("This target")
    relation = resolve_relation(
        reading, fold_identifier(table.args.get("db")) or None, fold_identifier(table.this)
    )
    if relation.kind != "view" and (relation.kind != "table" or not relation.writable):
        raise StatementFailed("42809", f'cannot change relation "{relation.name}"')
    alias = table.args.get("alias")
    if alias is not None and alias.args.get("columns"):
        raise unsupported_feature("A list of columns behind an alias")
    name = fold_identifier(alias.this) if alias is not None else relation.name
    handle = reading.handles.new(relation.name)
    schema = None if alias is not None else relation.schema
    entry = RangeTableEntry(name, handle, relation_fields(relation), relation, schema)
    return WriteTarget(reading, relation, entry)
