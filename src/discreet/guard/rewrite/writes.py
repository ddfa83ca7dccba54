"""Authorization of writes: a subject's write becomes the parts that may run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from sqlglot import exp

from discreet.engines.databases.database import EngineTraits
from discreet.errors import StatementFailed
from discreet.guard.access.authority import Authority, Privilege, Relation, Subject
from discreet.guard.rewrite.adapt import make_total
from discreet.guard.rewrite.allowed import check_allowed, unsupported_feature
from discreet.guard.rewrite.analysis import (
    ExpressionContext,
    StatementAnalysis,
    infer_type,
    mark_resolved,
    settle_literal,
)
from discreet.guard.rewrite.confirm import confirm_write
from discreet.guard.rewrite.expressions import check_condition
from discreet.guard.rewrite.kinds import UNKNOWN
from discreet.guard.rewrite.naming import select_column_name
from discreet.guard.rewrite.normalize import normalize_tree
from discreet.guard.rewrite.permitted import OnConflict, PermittedWrite, Source, plain_source
from discreet.guard.rewrite.rows import read_insert_rows, read_value
from discreet.guard.rewrite.scope import Origin, RangeTableEntry
from discreet.guard.rewrite.sources import WriteSources, read_sources
from discreet.guard.rewrite.substitute import Substitution
from discreet.guard.rewrite.targets import NEW, WriteTarget, read_target
from discreet.guard.rewrite.updatable import read_view_target
from discreet.sql.limits import too_deep
from discreet.sql.names import fold_identifier
from discreet.sql.walk import extra_clauses

if TYPE_CHECKING:
    from discreet.guard.rewrite.permitted import WriteKind
    from discreet.guard.rewrite.policies import Right

_ALLOWED: Mapping[type[exp.Expr], set[str]] = {
    exp.Insert: {"this", "expression", "conflict", "returning", "default", "with_"},
    exp.Update: {"this", "expressions", "where", "returning", "from_", "with_"},
    exp.Delete: {"this", "where", "returning", "using", "with_"},
}


def authorize_write(
    tree: exp.Insert | exp.Update | exp.Delete,
    authority: Authority,
    subject: Subject,
    *,
    traits: EngineTraits,
    source: Source = plain_source,
    declared: Sequence[str | None] = (),
) -> PermittedWrite:
    """Return the parts of the write that may run in place of `tree`.

    Guarantee: it changes only rows that policies permit `subject` to change, in columns that the
    role may write, and neither its outcome nor its result depends on what the role may not read.
    Arguments are those of `authorize_query`.

    Raises:
        AccessDenied: 42501, with the reason for the journal.
        StatementFailed: As PostgreSQL fails; 0A000 for parts that are not on the list.
    """
    try:
        reading = StatementAnalysis(authority, subject, subject.role, traits, declared)
        return _permit_write(reading, tree, source)
    except RecursionError:
        raise too_deep() from None


def _permit_write(
    reading: StatementAnalysis, tree: exp.Insert | exp.Update | exp.Delete, source: Source
) -> PermittedWrite:
    _check_clauses(tree)
    named = tree.this.this if isinstance(tree.this, exp.Schema) else tree.this
    target = read_target(reading, named)
    if target.relation.kind == "view":
        target = read_view_target(target)
        target.is_found = not isinstance(tree, exp.Insert)
    writing = _WriteReader(target, Substitution(source))
    match tree:
        case exp.Insert():
            permitted = writing.insert(tree)
        case exp.Update():
            permitted = writing.update(tree)
        case _:
            permitted = writing.delete(tree)
    confirm_write(permitted, traits=reading.traits)
    return permitted


def authorize_condition(
    tree: exp.Expr | None,
    relation: Relation,
    authority: Authority,
    subject: Subject,
    *,
    traits: EngineTraits,
    source: Source = plain_source,
) -> exp.Expr | None:
    """Return a condition on rows of a relation, which it names by the relation's name.

    Raises:
        AccessDenied: The role has no SELECT on a column that it names.
    """
    if tree is None:
        return None
    reading = StatementAnalysis(authority, subject, subject.role, traits, has_parameters=False)
    written = exp.Table(
        this=exp.to_identifier(relation.name, quoted=True),
        db=exp.to_identifier(relation.schema, quoted=True),
    )
    writing = _WriteReader(read_target(reading, written), Substitution(source))
    where = writing.condition(exp.Where(this=tree))
    writing.target.check_reads(writing.substitution)
    writing.substitution.check_all(reading)
    return writing.finished(where, writing.target.row_rule(writing.substitution, ["SELECT"]))


def _check_clauses(tree: exp.Expr) -> None:
    allowed = _ALLOWED.get(type(tree))
    if allowed is None:
        raise unsupported_feature("This statement")
    for name in extra_clauses(tree, allowed):
        raise unsupported_feature(name.strip("_").upper())


@dataclass(frozen=True)
class ReturningColumns:
    """The columns of RETURNING, aliased, with their names and kinds."""

    columns: tuple[exp.Expr, ...]
    names: tuple[str, ...]
    kinds: tuple[str | None, ...]
    origins: tuple[Origin | None, ...]


@dataclass
class _WriteReader:
    """One write: first all of its parts are checked, then their privileges, then they are replaced."""

    target: WriteTarget
    substitution: Substitution
    written: set[str] = field(default_factory=set[str])
    sources: WriteSources | None = None
    key_names: tuple[str, ...] = ()  # of ON CONFLICT, as columns of the target

    @property
    def reading(self) -> StatementAnalysis:
        return self.target.reading

    def insert(self, tree: exp.Insert) -> PermittedWrite:
        """Return an INSERT that may run."""
        target = self.target
        listed = None
        if isinstance(tree.this, exp.Schema):
            listed = [
                fold_identifier(item.this if isinstance(item, exp.Column) else item)
                for item in tree.this.expressions
            ]
        columns, rows = read_insert_rows(target, tree, listed)
        conflict = self.conflict(tree.args.get("conflict"))
        returning = _read_returning(target, tree.args.get("returning"))
        self.written |= set(columns)
        target.check(Privilege.INSERT, columns)
        self._check_conflict(conflict)
        target.check_reads(self.substitution, self.key_names)
        self.substitution.check_all(self.reading)
        rights: list[Right] = ["INSERT", "SELECT"] if target.entry.used else ["INSERT"]
        rule = target.row_rule(self.substitution, rights, handle=NEW, is_new=True)
        return self._build_permitted(
            "INSERT",
            columns=columns,
            rows=None if rows is None else self.finished_query(rows),
            on_conflict=self._finished_conflict(conflict),
            with_check=rule,
            returning=returning,
        )

    def update(self, tree: exp.Update) -> PermittedWrite:
        """Return an UPDATE that may run."""
        target = self.target
        self.sources = read_sources(target, tree)
        assignments = self.assignments(tree.expressions)
        where = self.condition(tree.args.get("where"))
        returning = self.returning(tree)
        target.check(Privilege.UPDATE, assignments)
        target.check_reads(self.substitution)
        target.check_kept(assignments.values())
        self.substitution.check_all(self.reading)
        rights: list[Right] = ["UPDATE", "SELECT"] if target.entry.used else ["UPDATE"]
        rule = target.row_rule(self.substitution, rights)
        self._finish_sources()
        return self._build_permitted(
            "UPDATE",
            columns=tuple(assignments),
            assignments=self._finished_values(assignments, rule),
            condition=self.finished(where, rule),
            with_check=target.row_rule(self.substitution, rights, handle=NEW, is_new=True),
            returning=returning,
        )

    def delete(self, tree: exp.Delete) -> PermittedWrite:
        """Return a DELETE that may run."""
        target = self.target
        self.sources = read_sources(target, tree)
        where = self.condition(tree.args.get("where"))
        returning = self.returning(tree)
        target.check(Privilege.DELETE, ())
        target.check_reads(self.substitution)
        self.substitution.check_all(self.reading)
        rights: list[Right] = ["DELETE", "SELECT"] if target.entry.used else ["DELETE"]
        rule = target.row_rule(self.substitution, rights)
        self._finish_sources()
        return self._build_permitted(
            "DELETE",
            condition=self.finished(where, rule),
            returning=returning,
        )

    def _build_permitted(
        self,
        kind: WriteKind,
        *,
        columns: tuple[str, ...] = (),
        rows: exp.Query | None = None,
        on_conflict: OnConflict | None = None,
        assignments: dict[str, exp.Expr] | None = None,
        condition: exp.Expr | None = None,
        with_check: exp.Expr | None = None,
        returning: ReturningColumns | None,
    ) -> PermittedWrite:
        shown = None
        if returning is not None:
            # The row was just written, so it is not hidden: only masks apply.
            shown = tuple(self._finished_aliased(item) for item in returning.columns)
        sources = None if self.sources is None else self.sources.finished
        return PermittedWrite(
            kind=kind,
            relation=self.target.written,
            target=self.target.table,
            columns=tuple(self.target.base_column(name, "insert into") for name in columns),
            rows=rows,
            on_conflict=on_conflict,
            assignments={
                self.target.base_column(name): value for name, value in (assignments or {}).items()
            },
            view_check=self.target.new_row_check(self.substitution) if kind != "DELETE" else None,
            condition=condition,
            with_check=with_check,
            returning=shown,
            sources=sources,
            reads=tuple(self.substitution.reads),
            written=frozenset(self.target.base_column(name) for name in self.written),
            parameters=self.reading.parameters(),
            physical=frozenset(self.substitution.physical),
            is_filtered=self.substitution.is_filtered,
            returning_names=() if returning is None else returning.names,
            returning_kinds=() if returning is None else returning.kinds,
            returning_origins=() if returning is None else returning.origins,
            is_passing=bool(self.reading.passing),
        )

    def assignments(
        self, items: Sequence[exp.Expr], *others: RangeTableEntry
    ) -> dict[str, exp.Expr]:
        """Check SET and return the new values by column."""
        found: dict[str, exp.Expr] = {}
        for item in items:
            for name, value in _assignment_pairs(item):
                column = self.target.column(name)
                if name in found:
                    raise StatementFailed("42601", f'multiple assignments to same column "{name}"')
                found[name] = read_value(
                    self.target, column, value, self._expression_place("UPDATE", others)
                )
        self.written |= set(found)
        return found

    def condition(self, where: exp.Expr | None, *others: RangeTableEntry) -> exp.Expr | None:
        """Check WHERE."""
        if where is None:
            return None
        check_allowed(where.this)
        holder = exp.Where(this=normalize_tree(where.this))
        check_condition(self.reading, holder.this, self._expression_place("WHERE", others), "WHERE")
        return holder.this.pop()

    def _expression_place(
        self, clause: str, others: Sequence[RangeTableEntry]
    ) -> ExpressionContext:
        if others:
            return self.target.place(clause, *others)
        return self.target.joined_place(clause, self.sources.scope if self.sources else None)

    def returning(self, tree: exp.Expr) -> ReturningColumns | None:
        """Check RETURNING; beside FROM or USING, `*` would also be their columns."""
        clause = tree.args.get("returning")
        has_more = self.sources is not None and bool(self.sources.scope.entries)
        listed = clause.expressions if clause is not None else []
        if has_more and any(isinstance(node, exp.Star) for node in listed):
            raise unsupported_feature("RETURNING * here", "Name the columns of the table.")
        return _read_returning(self.target, clause)

    def conflict(self, clause: exp.Expr | None) -> OnConflict | None:
        """Check ON CONFLICT."""
        if clause is None:
            return None
        if clause.args.get("constraint") or clause.args.get("duplicate"):
            raise unsupported_feature("ON CONFLICT ON CONSTRAINT", "Name the columns of the key.")
        keys = clause.args.get("conflict_keys") or []
        self.key_names = tuple(_key_name(key) for key in keys)
        columns = tuple(self.target.base_column(name) for name in self.key_names)
        self._check_key(columns)
        if clause.args["action"].name.upper() == "DO NOTHING":
            return OnConflict(columns)
        if not columns:
            raise StatementFailed("42601", "ON CONFLICT DO UPDATE needs the columns of a key")
        target = self.target
        excluded = RangeTableEntry("excluded", "excluded", target.entry.fields, target.relation)
        assignments = self.assignments(clause.expressions, excluded)
        where = self.condition(clause.args.get("where"), excluded)
        target.entry.used |= excluded.used
        target.entry.is_whole |= excluded.is_whole
        return OnConflict(columns, assignments, where)

    def _check_key(self, columns: tuple[str, ...]) -> None:
        relation = self.target.written
        for name in columns:
            if relation.column(name) is None:
                raise StatementFailed("42703", f'column "{name}" does not exist')
        keys = [set(key) for key in (relation.primary_key, *relation.uniques)]
        if columns and set(columns) not in keys:
            raise StatementFailed(
                "42P10",
                "there is no unique or exclusion constraint matching the ON CONFLICT specification",
            )

    def _check_conflict(self, conflict: OnConflict | None) -> None:
        if conflict is None:
            return
        relation = self.target.written
        keys = (
            (conflict.columns,) if conflict.columns else (relation.primary_key, *relation.uniques)
        )
        self.target.check_keys(keys)
        if conflict.assignments is None:
            return
        self.target.check(Privilege.UPDATE, conflict.assignments)
        self.target.check_kept(conflict.assignments.values())
        if self.target.row_rule(self.substitution, ["UPDATE"]) is not None:
            raise unsupported_feature(
                "ON CONFLICT DO UPDATE of a table with row policies", "Use INSERT and UPDATE."
            )

    def _finish_sources(self) -> None:
        """Replace what FROM and USING name by what may be read of it."""
        if self.sources is None:
            return
        found = self.substitution.replace_all(self.reading, self.sources.finished)
        if not isinstance(found, exp.Select):
            raise StatementFailed("XX000", "internal error: a query was expected")
        if self.substitution.is_filtered:
            make_total(found, self.reading.traits)
        self.sources = replace(self.sources, finished=found)

    def _finished_conflict(self, conflict: OnConflict | None) -> OnConflict | None:
        if conflict is None or conflict.assignments is None:
            return conflict
        assignments = self._finished_values(conflict.assignments, None)
        finished = OnConflict(
            conflict.columns,
            {self.target.base_column(name): value for name, value in assignments.items()},
            self.finished(conflict.condition, None),
        )
        for tree in (*assignments.values(), finished.condition):
            for column in tree.find_all(exp.Column) if tree is not None else ():
                if column.table == "excluded":
                    column.set("this", exp.to_identifier(self._proposed_name(column), quoted=True))
        return finished

    def _proposed_name(self, column: exp.Column) -> str:
        """Return the column of the table that a column of `excluded` is."""
        return self.target.base_column(column.name, "read the proposed")

    def _finished_values(
        self, values: Mapping[str, exp.Expr], rule: exp.Expr | None
    ) -> dict[str, exp.Expr]:
        """Return new values; no mask of the table is among them, by any path."""
        beside = {"excluded"}
        if self.sources is not None:
            beside |= {entry.handle for entry in self.sources.scope.entries}
        named = (column for value in values.values() for column in value.find_all(exp.Column))
        if not any(column.table in beside for column in named):
            self.substitution.masked.clear()  # masks read for the rows do not count here
        found = {
            name: self.finished(value, rule, is_condition=False) or exp.Null()
            for name, value in values.items()
        }
        self.target.check_unmasked(self.substitution)
        return found

    def finished(
        self, tree: exp.Expr | None, rule: exp.Expr | None, *, is_condition: bool = True
    ) -> exp.Expr | None:
        """Return the substituted expression over the row; a condition includes its policies."""
        holder = exp.Paren(this=tree) if tree is not None else None
        if holder is not None:
            inner = self.substitution.replace_all(self.reading, holder)
            self.target.protect(self.substitution, inner, rule)
            if rule is not None or self.substitution.is_filtered:
                make_total(inner, self.reading.traits)
            holder = exp.Paren(this=inner.this)
        if rule is None:
            return holder.this.pop() if holder is not None else None
        self.substitution.is_filtered = True
        if not is_condition:
            return holder.this.pop() if holder is not None else None
        if holder is None:
            return rule.copy()
        return exp.And(this=exp.Paren(this=rule.copy()), expression=holder)

    def _finished_aliased(self, item: exp.Expr) -> exp.Expr:
        value = self.finished(item.this, None, is_condition=False)
        return exp.Alias(this=value, alias=item.args["alias"])

    def finished_query(self, tree: exp.Query) -> exp.Query:
        """Return the substituted rows of an INSERT."""
        holder = exp.Paren(this=self.substitution.replace_all(self.reading, tree))
        if self.substitution.is_filtered:
            make_total(holder, self.reading.traits)
        query = holder.this.pop()
        if not isinstance(query, exp.Query):
            raise StatementFailed("XX000", "internal error: a query was expected")
        return query


def _assignment_pairs(item: exp.Expr) -> list[tuple[str, exp.Expr]]:
    """Return the columns and values of one assignment; `(a, b) = (1, 2)` has several."""
    if not isinstance(item, exp.EQ):
        raise unsupported_feature("This assignment")
    if not isinstance(item.this, exp.Tuple):
        return [(_key_name(item.this), item.expression)]
    if isinstance(item.expression, exp.Anonymous) and item.expression.name.upper() == "ROW":
        item.set("expression", exp.Tuple(expressions=item.expression.expressions))
    if not isinstance(item.expression, exp.Tuple):
        raise unsupported_feature("An assignment of a row", "Assign each column.")
    names = [_key_name(column) for column in item.this.expressions]
    if len(names) != len(item.expression.expressions):
        raise StatementFailed("42601", "number of columns does not match number of values")
    return list(zip(names, item.expression.expressions, strict=True))


def _key_name(node: exp.Expr) -> str:
    node = node.this if isinstance(node, exp.Ordered) else node
    if isinstance(node, exp.Column) and not node.args.get("table"):
        return fold_identifier(node.this)
    if isinstance(node, exp.Identifier):
        return fold_identifier(node)
    raise unsupported_feature("Anything but a column here")


def _read_returning(target: WriteTarget, clause: exp.Expr | None) -> ReturningColumns | None:
    """Check RETURNING."""
    if clause is None:
        return None
    if clause.args.get("into"):
        raise unsupported_feature("RETURNING INTO")
    columns = [pair for node in clause.expressions for pair in _expand_column(target, node)]
    kinds: list[str | None] = []
    out: list[exp.Expr] = []
    for name, node in columns:
        item = exp.Alias(this=node, alias=exp.to_identifier(name, quoted=True))
        kind = infer_type(target.reading, item.this, target.place("RETURNING")).kind
        if kind == UNKNOWN:
            settle_literal(target.reading, item.this, "text")
        kinds.append("text" if kind == UNKNOWN else kind)
        out.append(item)
    names = tuple(name for name, _ in columns)
    origins = tuple(_column_origin(target, item.this) for item in out)
    return ReturningColumns(tuple(out), names, tuple(kinds), origins)


def _column_origin(target: WriteTarget, node: exp.Expr) -> Origin | None:
    if not isinstance(node, exp.Column):
        return None
    return next((item.origin for item in target.entry.fields if item.key == node.name), None)


def _expand_column(target: WriteTarget, node: exp.Expr) -> list[tuple[str, exp.Expr]]:
    is_qualified = isinstance(node, exp.Column) and isinstance(node.this, exp.Star)
    if is_qualified and fold_identifier(node.args.get("table")) != target.entry.name:
        raise StatementFailed("42P01", "missing FROM-clause entry for the table of RETURNING")
    if isinstance(node, exp.Star) or is_qualified:
        check_allowed(node)
        return [
            (item.name, mark_resolved(target.entry.reference(item), item))
            for item in target.entry.fields
            if item.in_star
        ]
    check_allowed(node)
    name = select_column_name(node)
    inner = normalize_tree(node)
    return [(name, inner.this.pop() if isinstance(inner, exp.Alias) else inner)]
