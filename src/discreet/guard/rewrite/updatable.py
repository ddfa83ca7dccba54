"""Writing through views: a write of a view's row becomes one of the row that it shows, as in PostgreSQL.

A view can be written if it shows rows of one table, or of one such view, each as it is. Its user needs rights on the
view, its owner on what it shows; its condition hides what it does not show, like a row policy.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from sqlglot import exp

from discreet.errors import StatementFailed
from discreet.guard.access.authority import Privilege, Relation, RelationColumn
from discreet.guard.rewrite.adapt import make_total
from discreet.guard.rewrite.allowed import unsupported_feature
from discreet.guard.rewrite.joins import ENTRY
from discreet.guard.rewrite.queries import read_finished
from discreet.guard.rewrite.scope import RangeTableEntry, Scope
from discreet.guard.rewrite.substitute import DEEPEST, view_query
from discreet.guard.rewrite.targets import NEW, WriteTarget
from discreet.sql import build
from discreet.sql.views import shows_rows

if TYPE_CHECKING:
    from discreet.guard.rewrite.analysis import StatementAnalysis
    from discreet.guard.rewrite.policies import Right
    from discreet.guard.rewrite.substitute import Substitution


@dataclass
class ViewLayer:
    """A view, as expressions over the row of what it shows, which they call by `entry`'s handle."""

    view: Relation
    handle: str  # of the view's own row
    reading: StatementAnalysis
    entry: RangeTableEntry
    columns: Mapping[str, exp.Expr]
    condition: exp.Expr | None
    finished: dict[str, exp.Expr] = field(default_factory=dict[str, exp.Expr])

    def column(self, substitution: Substitution, name: str) -> exp.Expr:
        """Return the expression of a column, in brackets."""
        if name not in self.finished:
            tree = exp.Paren(this=self.columns[name].copy())
            self.finished[name] = substitution.replace_all(self.reading, tree)
        return self.finished[name].copy()

    def base_name(self, name: str) -> str | None:
        """Return the column that a column shows as it is, None if it shows another value."""
        node = self.columns[name]
        return node.name if isinstance(node, exp.Column) else None


@dataclass
class ViewTarget(WriteTarget):
    """A view that is written: the layers of views, outermost first, and the table below them."""

    layers: list[ViewLayer]
    base: WriteTarget
    is_found: bool = True  # whether existing rows are looked for, as by UPDATE and DELETE

    @property
    def table(self) -> exp.Table:
        """The physical table, with the alias that expressions call it by."""
        return self.base.table

    def check_keys(self, keys: Iterable[Iterable[str]]) -> None:
        """Refuse ON CONFLICT on masked key columns."""
        self.base.check_keys(keys)

    @property
    def written(self) -> Relation:
        """The table, with the defaults of the view's columns."""
        defaults = {
            self.base_column(column.name, "insert into"): column.default
            for column in self.layers[0].view.columns
            if column.default is not None
        }
        columns = (
            replace(column, default=defaults.get(column.name, column.default))
            for column in self.base.relation.columns
        )
        return replace(self.base.relation, columns=tuple(columns))

    def base_column(self, name: str, verb: str = "update") -> str:
        """Return the column of the table that a column of the view is; 0A000 if it is none."""
        found = self._base_name(name)
        if found is None:
            raise StatementFailed(
                "0A000", f'cannot {verb} column "{name}" of view "{self.relation.name}"'
            )
        return found

    def check(self, right: Privilege, columns: Iterable[str]) -> None:
        """Refuse a role without rights on the view, or a view whose owner has none on what it shows."""
        names = sorted(set(columns))
        if right == Privilege.SELECT:  # of what it shows: `check_reads`
            super().check(right, names)
            return
        self._require_distinct(names)
        verb = "insert into" if right == Privilege.INSERT else "update"
        for name in names:
            self.base_column(name, verb)
        super().check(right, names)
        for layer in self.layers:
            names = [str(layer.base_name(name)) for name in names]
            below = layer.entry.relation or self.base.relation
            WriteTarget(layer.reading, below, layer.entry).check(right, names)

    def _require_distinct(self, names: list[str]) -> None:
        """Refuse to write a column of the table by two columns of the view."""
        found = [self._base_name(name) for name in names]
        for name in filter(None, found):
            if found.count(name) > 1:
                raise StatementFailed("42601", f'multiple assignments to same column "{name}"')

    def _base_name(self, name: str) -> str | None:
        found: str | None = name
        for layer in self.layers:
            found = layer.base_name(found) if found is not None else None
        return found

    def check_reads(self, substitution: Substitution, more: Iterable[str] = ()) -> None:
        """Refuse columns that the role may not read of the view, or its owner of what it shows."""
        super().check_reads(substitution, more)
        used = {*self.entry.used, *more}
        for layer in self.layers:
            trees = [layer.columns[name] for name in used]
            trees += [layer.condition] if layer.condition is not None and self.is_found else []
            used = {
                column.name
                for tree in trees
                for column in tree.find_all(exp.Column)
                if column.table == layer.entry.handle
            }
            for entry in layer.reading.entries:
                if entry is not layer.entry:
                    substitution.check(layer.reading, entry)
            if used:
                substitution.check(layer.reading, replace(layer.entry, used=used))

    def check_kept(self, values: Iterable[exp.Expr]) -> None:
        """Refuse new values computed from masked cells."""
        self.base.check_kept(exp.Tuple(expressions=[self._show_columns(value)]) for value in values)

    def _show_columns(self, tree: exp.Expr) -> exp.Expr:
        """Return a tree over the table's row, to see which columns it names."""
        holder = exp.Paren(this=tree.copy())
        for layer in self.layers:
            for column in list(holder.find_all(exp.Column)):
                if column.table == layer.handle:
                    column.replace(exp.Paren(this=layer.columns[column.name].copy()))
        return holder

    def check_unmasked(self, substitution: Substitution) -> None:
        """Refuse new values for which masks of the table were read."""
        self.base.check_unmasked(substitution)

    def row_rule(
        self,
        substitution: Substitution,
        rights: Iterable[Right],
        *,
        handle: str | None = None,
        is_new: bool = False,
    ) -> exp.Expr | None:
        """Return the condition of policies on the row, and of the views on one that exists."""
        rule = self.base.row_rule(substitution, rights, handle=handle, is_new=is_new)
        if is_new:
            return rule
        for place in reversed(range(len(self.layers))):
            shown = self._shown_condition(substitution, place)
            if shown is not None:
                self.base.protect(substitution, shown, None)
                make_total(shown, self.reading.traits)
                rule = shown if rule is None else _computed_where(rule, shown)
        return rule

    def _shown_condition(self, substitution: Substitution, place: int) -> exp.Expr | None:
        """Return the condition of a view over the table's row, in brackets."""
        layer = self.layers[place]
        if layer.condition is None:
            return None
        holder = exp.Paren(this=layer.condition.copy())
        inner = substitution.replace_all(layer.reading, holder)
        self._replace_view_columns(substitution, inner, self.layers[place + 1 :])
        return inner

    def _replace_view_columns(
        self, substitution: Substitution, tree: exp.Expr, layers: Iterable[ViewLayer]
    ) -> None:
        """Replace columns of views by what they show, in place."""
        for layer in layers:
            for column in list(tree.find_all(exp.Column)):
                if column.table == layer.handle:
                    column.replace(layer.column(substitution, column.name))

    def protect(self, substitution: Substitution, tree: exp.Expr, rule: exp.Expr | None) -> None:
        """Replace the view's columns by what they show, with masks, and cells of hidden rows by NULL."""
        self._replace_view_columns(substitution, tree, self.layers)
        self.base.protect(substitution, tree, rule)

    def new_row_check(self, substitution: Substitution) -> exp.Expr | None:
        """Return what WITH CHECK OPTION demands of the new row, None for nothing."""
        found: list[exp.Expr] = []
        is_cascaded = False
        for place, layer in enumerate(self.layers):
            option = layer.view.options.get("check_option")
            is_cascaded = is_cascaded or option == "cascaded"
            if not (is_cascaded or option == "local"):
                continue
            condition = self._shown_condition(substitution, place)
            if condition is None:
                continue
            for column in list(condition.find_all(exp.Column)):
                if column.table == self.base.entry.handle:
                    column.replace(
                        substitution.seen(self.base.reading, self.base.relation, column.name, NEW)
                    )
            make_total(condition, self.reading.traits)
            found.append(condition)
        return build.all_of(found) if found else None


def _computed_where(rule: exp.Expr, condition: exp.Expr) -> exp.Expr:
    """Return a condition that is not computed for rows that a rule hides."""
    return exp.Paren(this=exp.Case(ifs=[exp.If(this=exp.Paren(this=rule), true=condition)]))


def read_view_target(target: WriteTarget) -> ViewTarget:
    """Return how a view is written.

    Raises:
        StatementFailed: 55000, it does not show rows of one table; 0A000 for tables with labels or encryption.
    """
    layers = list(_read_layers(target.reading, target.relation, target.entry.handle))
    last = layers[-1]
    relation = last.entry.relation
    if relation is None or relation.kind != "table" or not relation.writable:
        raise not_updatable(layers[-1].view)
    if relation.multilevel or any(column.key is not None for column in relation.columns):
        raise unsupported_feature(
            "Writing through a view of a table with labels or encrypted columns", "Write the table."
        )
    base = WriteTarget(last.reading, relation, last.entry)
    shown = ViewTarget(target.reading, target.relation, target.entry, layers, base)
    columns = []
    for column in target.relation.columns:
        below = _column_below(layers, relation, column.name)
        columns.append(
            column
            if below is None
            else replace(
                below, name=column.name, acl=column.acl, default=column.default or below.default
            )
        )
    shown.relation = replace(target.relation, columns=tuple(columns))
    last.reading.entries.remove(last.entry)
    return shown


def _column_below(layers: list[ViewLayer], relation: Relation, name: str) -> RelationColumn | None:
    found: str | None = name
    for layer in layers:
        found = layer.base_name(found) if found is not None else None
    return relation.column(found) if found is not None else None


def _read_layers(reading: StatementAnalysis, view: Relation, handle: str) -> Iterator[ViewLayer]:
    while True:
        layer = _read_layer(reading, view, handle)
        yield layer
        below = layer.entry.relation
        if below is None or below.kind != "view":
            return
        layer.reading.entries.remove(layer.entry)
        reading, view, handle = layer.reading, below, layer.entry.handle


def _read_layer(reading: StatementAnalysis, view: Relation, handle: str) -> ViewLayer:
    step = ("view", view.key)
    if step in reading.trail:
        raise StatementFailed(
            "42P17", f'infinite recursion detected in rules for relation "{view.name}"'
        )
    if len(reading.trail) >= DEEPEST:
        raise StatementFailed("54001", "views are nested too deeply")
    role = reading.invoker if view.security_invoker else view.owner
    inner = reading.stored(role, step)
    tree = reading.work.definition(view_query(view))
    if not shows_rows(tree) or not isinstance(tree, exp.Select):
        raise not_updatable(view)
    fields = read_finished(inner, tree, Scope())
    if len(fields) != len(view.columns):
        raise StatementFailed("42P16", f'view "{view.name}" must be created again')
    named = tree.args["from_"].this.meta.get(ENTRY)
    entry = next(one for one in inner.entries if one.handle == named)
    where = tree.args.get("where")
    return ViewLayer(
        view,
        handle,
        inner,
        entry,
        {
            column.name: item.this
            for column, item in zip(view.columns, tree.expressions, strict=True)
        },
        where.this if where is not None else None,
    )


def not_updatable(view: Relation) -> StatementFailed:
    """Return PostgreSQL's error for a view that cannot be written."""
    return StatementFailed(
        "55000",
        f'cannot write through view "{view.name}"',
        hint="It does not show rows of one table, each as it is. Write to the table that it shows.",
    )
