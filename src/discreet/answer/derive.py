"""Selections as tables of their own: subqueries, unions, and one row per person with exact aggregates."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING, TypeVar

from sqlglot import exp

from discreet.answer.expressions.numbers import to_real
from discreet.answer.expressions.translate import translate_expression
from discreet.answer.expressions.typed import TypedExpression
from discreet.answer.rows import Range, Rows
from discreet.engines.engine import Kind
from discreet.errors import QuestionRefused
from discreet.sql import build

if TYPE_CHECKING:
    from discreet.answer.catalog import CatalogTable

UNIT = "discreet_unit_"  # names that no question can have: they are not in any scope
RANK = "discreet_rank"
_SIDE = "discreet_side"
_Number = TypeVar("_Number", int, Fraction)


@dataclass(frozen=True)
class SelectionItem:
    """One column of a selection: its name, its value, and the limits it is clamped to when summed."""

    name: str
    typed: TypedExpression
    range: Range = (None, None)


@dataclass(frozen=True)
class Selection:
    """A query whose rows still belong to people, with the types of its columns."""

    query: exp.Query
    items: tuple[SelectionItem, ...]
    rows: Rows  # whose unit, limits and tables it keeps
    units: int

    def as_rows(self, alias: str) -> Rows:
        """Return the selection as a table called `alias`."""
        frame = exp.Select().from_(build.subquery(self.query.copy(), alias))
        columns = {
            item.name: replace(item.typed, tree=build.column(item.name, of=alias))
            for item in self.items
        }
        return replace(
            self.rows,
            frame=frame,
            scope={alias: columns},
            unit=tuple(build.column(f"{UNIT}{i}", of=alias) for i in range(self.units)),
            bounds={
                (alias, item.name): item.range for item in self.items if item.range != (None, None)
            },
            rank=build.column(RANK, of=alias) if self.rows.rank is not None else None,
            # The columns of a selection need not be those of the table under it.
            touches=tuple(replace(touch, alias=None) for touch in self.rows.touches),
            same=tuple(
                build.column(item.name, of=alias)
                for item in self.items
                if self.rows.is_unit(item.typed.tree)
            ),
            publics={},
            hidden=frozenset(),
        )


def translate_value(tree: exp.Expr, rows: Rows) -> TypedExpression:
    """Return a column of a selection; a plain one stays as it is, so that the unit stays known."""
    return (
        rows.resolve(tree)
        if isinstance(tree, exp.Column)
        else translate_expression(tree, rows.resolve)
    )


def expression_range(tree: exp.Expr, rows: Rows) -> Range:
    """Return the limits that a column of a selection has when its inputs are within theirs."""
    typed = translate_expression(tree, rows.resolve_clamped)
    return (typed.low, typed.high) if typed.kind.is_number else (None, None)


def select_columns(rows: Rows, items: Sequence[SelectionItem]) -> Selection:
    """Return a selection of columns, row by row."""
    names = [item.name.casefold() for item in items]
    if len(set(names)) != len(names):
        raise QuestionRefused("Two columns of a subquery share one name. Give each an alias.")
    wanted = [build.alias_as(item.typed.tree.copy(), item.name) for item in items]
    wanted += [build.alias_as(tree.copy(), f"{UNIT}{i}") for i, tree in enumerate(rows.unit)]
    if rows.rank is not None:
        wanted.append(build.alias_as(rows.rank.copy(), RANK))
    return Selection(rows.frame.select(*wanted, copy=True), tuple(items), rows, len(rows.unit))


def union_selections(first: Selection, second: Selection) -> Selection:
    """Return the rows of both, one below the other, with all that a person has in either."""
    if len(first.items) != len(second.items):
        raise QuestionRefused("Both sides of UNION ALL need the same number of columns.")
    if first.rows.is_public or second.rows.is_public or first.units != second.units:
        raise QuestionRefused(
            "Both sides of UNION ALL must be about the same kind of unit: both by id, or both by row."
        )
    _require_same_people(first.rows, second.rows)
    if first.rows.forms != second.rows.forms:
        raise QuestionRefused(
            "Both sides of UNION ALL are about people whose ids are of different kinds: "
            f"{' per '.join(first.rows.forms)} and {' per '.join(second.rows.forms)}. An engine would "
            "make one of them the other, where people become one. Store them in one type."
        )
    units = [
        first.rows.is_unit(one.typed.tree) and second.rows.is_unit(other.typed.tree)
        for one, other in zip(first.items, second.items, strict=True)
    ]
    first, second = (_without_decimals(side, units) for side in (first, second))
    items = tuple(
        _combine_items(one, other, is_unit=is_unit)
        for one, other, is_unit in zip(first.items, second.items, units, strict=True)
    )
    left, right = (_without_rank(side).query for side in (first, second))
    rows = replace(
        first.rows,
        touches=(*first.rows.touches, *second.rows.touches),
        # Each row is a person who may stand in both sides.
        fan=first.rows.fan + second.rows.fan,
        rank=None,
        is_single=False,
        has_children=first.rows.has_children or second.rows.has_children,
    )
    query = exp.Union(this=left.copy(), expression=right.copy(), distinct=False)
    return Selection(query, items, rows, first.units)


def _require_same_people(first: Rows, second: Rows) -> None:
    """Refuse a union of patients and doctors: number 5 of one is not number 5 of the other."""
    held = [touch.held for touch in (*first.touches, *second.touches) if touch.held.unit]
    if len({_named_unit(one) for one in held}) > 1:
        raise QuestionRefused(
            "Both sides of UNION ALL must be about the same people. Give their units one name, or "
            "declare with `references:` that one unit's column points to the other's."
        )


def _named_unit(held: CatalogTable) -> str:
    declared = held.policy.column(held.unit or "") if held.policy else None
    name = declared.references[1] if declared and declared.references else held.unit or ""
    return name.casefold()


def _without_decimals(selection: Selection, units: Sequence[bool]) -> Selection:
    """Return decimals as doubles, but for units: one of another width might not fit, and fail."""
    kinds = [item.typed.kind for item in selection.items]
    if not any(
        kind is Kind.DECIMAL and not is_unit for kind, is_unit in zip(kinds, units, strict=True)
    ):
        return selection
    rows = selection.as_rows(_SIDE)
    columns = rows.scope[_SIDE]
    return select_columns(
        rows,
        [
            replace(
                item, typed=columns[item.name] if is_unit else _decimal_to_real(columns[item.name])
            )
            for item, is_unit in zip(selection.items, units, strict=True)
        ],
    )


def _decimal_to_real(typed: TypedExpression) -> TypedExpression:
    return to_real(typed) if typed.kind is Kind.DECIMAL else typed


def _without_rank(selection: Selection) -> Selection:
    return (
        select_columns(replace(selection.rows, rank=None), selection.items)
        if (selection.rows.rank is not None)
        else selection
    )


def _combine_items(one: SelectionItem, other: SelectionItem, *, is_unit: bool) -> SelectionItem:
    if one.typed.kind is not other.typed.kind:
        raise QuestionRefused(
            f"Column '{one.name}' is {one.typed.kind} on one side of UNION ALL and "
            f"{other.typed.kind} on the other. Cast one of them."
        )
    values = None
    if one.typed.values is not None and other.typed.values is not None:
        values = tuple(dict.fromkeys((*one.typed.values, *other.typed.values)))
    steps = {one.typed.step, other.typed.step}
    typed = replace(
        one.typed,
        # A column identifies the person only where it is the unit on both sides.
        tree=one.typed.tree if is_unit else exp.Paren(this=one.typed.tree.copy()),
        low=_combine_ends(one.typed.low, other.typed.low, min),
        high=_combine_ends(one.typed.high, other.typed.high, max),
        step=steps.pop() if len(steps) == 1 else None,
        values=values,
        nullable=True,
        # A column as it is has none of these: its values may be of any size.
        most=_combine_ends(one.typed.most, other.typed.most, max),
        least=_combine_ends(one.typed.least, other.typed.least, min),
        longest=_combine_ends(one.typed.longest, other.typed.longest, max),
    )
    limits = (
        _combine_ends(one.range[0], other.range[0], min),
        _combine_ends(one.range[1], other.range[1], max),
    )
    return SelectionItem(one.name, typed, limits)


def _combine_ends(one: _Number | None, other: _Number | None, pick: object) -> _Number | None:
    if one is None or other is None:
        return None
    return min(one, other) if pick is min else max(one, other)


def aggregate_per_unit(
    rows: Rows,
    *,
    keys: Sequence[SelectionItem],
    aggregates: Sequence[SelectionItem],
    has_other_keys: bool,
) -> Selection:
    """Return one row per person (and group): aggregates within a person's rows stay exact."""
    selection = select_columns(replace(rows, rank=None), [*keys, *aggregates])
    query = selection.query
    if not isinstance(query, exp.Select):
        raise QuestionRefused("Aggregates per person need a plain SELECT.")
    grouped = query.group_by(
        *(item.typed.tree.copy() for item in keys), *(tree.copy() for tree in rows.unit), copy=True
    )
    # A protected child row changes the aggregated row of its person: one row leaves,
    # and another comes.
    fan = 2 if rows.has_children else 1
    kept = replace(rows, rank=None, is_single=not has_other_keys, fan=fan)
    return Selection(grouped, selection.items, kept, selection.units)


def unit_aggregate(
    node: exp.Expr, argument: TypedExpression | None, rows: Rows
) -> tuple[exp.Expr, Range]:
    """Return an aggregate within one person's rows, and the limits that the policy's give it."""
    most = rows.limits.rows_per_unit
    if isinstance(node, exp.Count):
        top = Fraction(most) if most is not None else None
        return node, (Fraction(0), top)
    if argument is None or not argument.kind.is_number:
        raise QuestionRefused("Within a person, only numbers can be aggregated.")
    low, high = argument.low, argument.high
    if isinstance(node, exp.Sum):
        if most is None or low is None or high is None:
            return node, (None, None)
        return node, (min(Fraction(0), low * most), max(Fraction(0), high * most))
    return node, (low, high)
