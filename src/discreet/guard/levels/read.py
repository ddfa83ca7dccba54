"""What a clearance sees of a multi-level relation, as a query that replaces the relation.

Cells that the clearance does not dominate are NULL, rows whose key it does not dominate are omitted,
and a row that adds nothing to another one of the same entity is dropped (subsumption; Jajodia &
Sandhu 1991). All NULLs have one label, whatever their reason, which would otherwise be revealed.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

from sqlglot import exp

from discreet.guard.access.authority import Relation
from discreet.guard.levels.lattice import BITS, SHIFT, Label, LabelLattice
from discreet.guard.levels.physical import (
    KEY_LABEL,
    TC,
    TID,
    attributes,
    label_column,
    physical_table,
    same_entity,
    shown_label,
    system_columns,
)
from discreet.guard.levels.trees import (
    alias_in_place,
    below,
    case_when,
    conjunction,
    differs,
    disjunction,
    equality,
    exists,
    is_value,
    mask_bits,
    negate,
    quoted_identifier,
    select_ones,
    select_where,
)
from discreet.sql import build

NullLabel = Literal["clearance", "key"]
ABSENT = -1  # the mark of a NULL, be it hidden or never written
_HIGHEST, _TOGETHER = "_tc_highest", "_tc_together"
_KEPT = 256  # cached queries


@dataclass(frozen=True)
class ClearanceView:
    """A relation and the clearance from which it is seen.

    `null_label` is the label that NULLs show: the reader's clearance, or the label of the key.
    """

    relation: Relation
    lattice: LabelLattice
    clearance: Label
    null_label: NullLabel = "clearance"

    @property
    def code(self) -> int:
        """The clearance as a number."""
        return self.lattice.code(self.clearance)


def read_at_clearance(
    relation: Relation,
    lattice: LabelLattice,
    clearance: Label,
    *,
    null_label: NullLabel = "clearance",
    system: Collection[str] | None = None,
) -> exp.Select:
    """Return the rows of `relation` at `clearance`: columns, `<column>_label` of each, and `tc`.

    `system` selects some of the labels and `tc`; by default all are returned.

    Guarantee: the result depends only on cells whose labels `clearance` dominates, and nothing a
    user adds around the query is evaluated on rows that the query does not return.
    """
    wanted = system_columns(relation) if system is None else tuple(sorted(system))
    return _read(
        ClearanceView(relation, lattice, clearance, null_label), wanted, has_marks=False
    ).copy()


def read_with_marks(sight: ClearanceView, system: Collection[str]) -> exp.Select:
    """Return what `read_at_clearance` returns, with the label of the key and the marks of the other columns.

    A mark is the label of a cell, or `ABSENT` for NULL. They have the names of physical columns.
    """
    return _read(sight, tuple(sorted(system)), has_marks=True).copy()


@lru_cache(maxsize=_KEPT)
def _read(sight: ClearanceView, system: tuple[str, ...], *, has_marks: bool) -> exp.Select:
    names = [column.name for column in sight.relation.columns]
    if has_marks:
        names += [KEY_LABEL, *(label_column(a.name) for a in attributes(sight.relation))]
    return with_labels(sight, maximal(sight), names, system)


def with_labels(
    sight: ClearanceView, rows: exp.Query, names: Iterable[str], system: Collection[str]
) -> exp.Select:
    """Return columns of `rows`, which has physical names and marks, and labels of them as text."""
    listed = list(names)
    codes = {name: code for name, code in _label_codes(sight).items() if name in system}
    inner = [
        *map(build.column, listed),
        *(alias_in_place(code, name) for name, code in codes.items()),
    ]
    outer: list[exp.Expr] = list(map(build.column, listed))
    for name in codes:
        text = _label_text(sight.lattice, build.column(name), build.column(name))
        outer.append(alias_in_place(text, name))
    if TC in system:
        inner += _tuple_class(sight)
        text = _label_text(sight.lattice, build.column(_HIGHEST), build.column(_TOGETHER))
        outer.append(alias_in_place(text, TC))
    return select_where(
        outer, build.subquery(select_where(inner, build.subquery(rows, "seen")), "shown")
    )


def _label_codes(sight: ClearanceView) -> dict[str, exp.Expr]:
    """Return the codes that are shown as labels, by their shown names."""
    codes: dict[str, exp.Expr] = {}
    for column in sight.relation.columns:
        code: exp.Expr = build.column(KEY_LABEL)
        if column.name not in sight.relation.primary_key:
            mark = build.column(label_column(column.name))
            instead = code if sight.null_label == "key" else build.number(sight.code)
            code = case_when(equality(mark, build.number(ABSENT)), instead, mark.copy())
        codes[shown_label(column.name)] = code
    return codes


def _tuple_class(sight: ClearanceView) -> list[exp.Expr]:
    """Return a code with the highest level among the labels, and one with all of their bits."""
    highest, *rest = _label_codes(sight).values()
    together, *more = _label_codes(sight).values()
    if rest:
        highest = exp.Greatest(this=highest, expressions=rest, ignore_nulls=True)
    for code in more:
        together = exp.Paren(this=exp.BitwiseOr(this=together, expression=exp.Paren(this=code)))
    return [alias_in_place(highest, _HIGHEST), alias_in_place(together, _TOGETHER)]


def visible(sight: ClearanceView) -> exp.Select:
    """Return every tuple as seen at the clearance, before subsumed rows are dropped.

    Physical names are kept; marks replace labels.
    """
    query = _visible_marks(sight)
    for attribute in attributes(sight.relation):
        seen = is_visible(sight, build.column(label_column(attribute.name)))
        cell = case_when(seen, build.column(attribute.name))
        query.append("expressions", alias_in_place(cell, attribute.name))
    return query


def _visible_marks(sight: ClearanceView) -> exp.Select:
    values: list[exp.Expr] = [
        build.column(name) for name in (TID, *sight.relation.primary_key, KEY_LABEL)
    ]
    values += [
        alias_in_place(mark_of(sight, attribute.name), label_column(attribute.name))
        for attribute in attributes(sight.relation)
    ]
    return select_where(
        values, physical_table(sight.relation), is_visible(sight, build.column(KEY_LABEL))
    )


def maximal(sight: ClearanceView) -> exp.Select:
    """Return the visible tuples that no other one of the same entity subsumes."""
    more = select_ones(
        build.subquery(_visible_marks(sight), "other"),
        same_entity(sight.relation, "other", "one"),
        is_subsumed(sight.relation, "one", "other"),
    )
    everything = exp.Column(this=exp.Star(), table=quoted_identifier("one"))
    rows = select_where([everything], build.subquery(visible(sight), "one"), negate(exists(more)))
    # A fence: no engine moves a user's condition below an OFFSET, where dropped rows still are.
    return rows.offset(0, copy=False)


def is_subsumed(relation: Relation, less: str, more: str) -> exp.Expr:
    """Return the condition that row `more` subsumes `less`: it has more cells, or is the first.

    Labels decide: within an entity, two cells of a column with one label have one value
    (polyinstantiation integrity).
    """
    within: list[exp.Expr] = []
    beyond: list[exp.Expr] = []
    for attribute in attributes(relation):
        name = label_column(attribute.name)
        one, other = build.column(name, of=less), build.column(name, of=more)
        within.append(disjunction(equality(one, build.number(ABSENT)), equality(one.copy(), other)))
        beyond.append(differs(one.copy(), other.copy()))
    earlier = below(build.column(TID, of=more), build.column(TID, of=less))
    return conjunction([*within, disjunction(*beyond, earlier)])


def is_visible(sight: ClearanceView, label: exp.Expr) -> exp.Expr:
    """Return the condition that the clearance dominates `label`, an expression of a label's code."""
    code = sight.code
    level = below(label, build.number((code >> SHIFT) + 1 << SHIFT))
    others = ~code & (1 << len(sight.lattice.compartments)) - 1
    if not others:
        return level
    return conjunction([level, equality(mask_bits(label.copy(), others), build.number(0))])


def mark_of(sight: ClearanceView, name: str, *, of: str | None = None) -> exp.Case:
    """Return the label of a physical cell where it is visible and not NULL, else `ABSENT`."""
    cell, label = build.column(name, of=of), build.column(label_column(name), of=of)
    there = conjunction([is_visible(sight, label), is_value(cell)])
    return case_when(there, label.copy(), build.number(ABSENT))


def _label_text(lattice: LabelLattice, highest: exp.Expr, together: exp.Expr) -> exp.Expr:
    """Return a label's text, its level from one code and its compartments from another."""
    *lower, last = lattice.levels
    level: exp.Expr = build.text(last)
    if lower:
        steps = [
            exp.If(this=below(highest.copy(), build.number(i + 1 << SHIFT)), true=build.text(name))
            for i, name in enumerate(lower)
        ]
        level = exp.Case(ifs=steps, default=level)
    if not lattice.compartments:
        return level
    full: exp.Expr = exp.Paren(this=level.copy())
    for piece in (build.text(" {"), _compartment_names(lattice, together), build.text("}")):
        full = exp.DPipe(this=full, expression=piece)
    return case_when(equality(mask_bits(together, BITS), build.number(0)), level, full)


def _compartment_names(lattice: LabelLattice, code: exp.Expr) -> exp.Expr:
    names: exp.Expr = build.text("")
    for name in sorted(lattice.compartments):
        bit = 1 << lattice.compartments.index(name)
        is_in = differs(mask_bits(code.copy(), bit), build.number(0))
        names = exp.DPipe(
            this=names, expression=case_when(is_in, build.text(f",{name}"), build.text(""))
        )
    return exp.Substring(this=names, start=build.number(2))
