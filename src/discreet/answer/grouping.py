"""GROUP BY: its keys, by name, position or alias, and the groupings of ROLLUP, CUBE and GROUPING SETS."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import chain, product
from math import prod

from sqlglot import exp

from discreet.answer.aggregates import begins_private_aggregate
from discreet.answer.columns import read_columns_safely
from discreet.answer.derive import translate_value
from discreet.answer.expressions.labels import normalize_group_value
from discreet.answer.expressions.translate import translate_expression
from discreet.answer.expressions.typed import CALENDAR, MANY, TypedExpression, value_domain
from discreet.answer.rows import Rows
from discreet.engines.engine import Kind
from discreet.errors import InvalidQuestion, QuestionRefused, UndeclaredKind
from discreet.sql import build
from discreet.sql.positions import count_sets, expand_sets, written_position

MOST_GROUPINGS = 64
_PUBLIC = "discreet_public"


@dataclass(frozen=True)
class GroupingKey:
    """A grouping expression: as it was written, with its columns spelled out, and as it is computed."""

    written: exp.Expr
    typed: TypedExpression


@dataclass(frozen=True)
class Grouping:
    """The keys, and which of them each grouping has; the finest grouping is first."""

    keys: tuple[GroupingKey, ...]
    sets: tuple[tuple[int, ...], ...]

    def find(self, written: exp.Expr) -> int | None:
        """Return the position of the key that is written like this."""
        return next((i for i, key in enumerate(self.keys) if key.written == written), None)


def read_grouping(select: exp.Select, rows: Rows) -> Grouping:
    """Return the keys of a SELECT and its groupings."""
    group = select.args.get("group")
    if group is None:
        return Grouping((), ((),))
    if group.args.get("all"):
        written = [
            item.unalias()
            for item in select.expressions
            if not any(map(begins_private_aggregate, item.walk()))
        ]
        choices = [[(item,)] for item in written]
    else:
        parts = [*group.expressions]
        for name in ("rollup", "cube", "grouping_sets"):
            parts += group.args.get(name) or []
        if prod(count_sets(part) for part in parts) > MOST_GROUPINGS:
            raise QuestionRefused(
                f"The question has more than {MOST_GROUPINGS} groupings. Ask for fewer at a time."
            )
        choices = [expand_sets(part) for part in parts]
    keys: list[GroupingKey] = []
    sets: list[tuple[int, ...]] = []
    for chosen in product(*choices):
        wanted = {_key_position(item, keys, select, rows) for item in chain.from_iterable(chosen)}
        sets.append(tuple(sorted(wanted)))
    finest = tuple(range(len(keys)))
    return Grouping(
        tuple(keys),
        tuple(dict.fromkeys([finest, *sets]))
        if finest in sets
        else _require_finest_set(finest, sets),
    )


def _require_finest_set(
    finest: tuple[int, ...], sets: Sequence[tuple[int, ...]]
) -> tuple[tuple[int, ...], ...]:
    if len(sets) == 1:
        return tuple(sets)
    raise QuestionRefused(
        f"GROUPING SETS need one set with all {len(finest)} columns, from which the others add up. "
        "Add it, or ask one grouping at a time."
    )


def _key_position(item: exp.Expr, keys: list[GroupingKey], select: exp.Select, rows: Rows) -> int:
    """Return the place of a key, which is added when it is new."""
    written = _qualify_key(item, select.expressions, rows)
    for index, key in enumerate(keys):
        if key.written == written:
            return index
    keys.append(GroupingKey(written, _group_value(written, rows)))
    return len(keys) - 1


def _group_value(written: exp.Expr, rows: Rows) -> TypedExpression:
    """Return a key's value in one form; the unit stays as it is, to identify the person."""
    found = _key_value(written, rows)
    return (
        found
        if rows.names_unit(written)
        else replace(normalize_group_value(found), values=found.values)
    )


def _key_value(written: exp.Expr, rows: Rows) -> TypedExpression:
    """Return a key's value; one computed from a bounded number has public values when it is clamped."""
    typed = translate_value(written, rows)
    if typed.kind is Kind.OTHER:
        raise QuestionRefused(
            "Lists, structures and bytes are no keys. Group by a number, a text, a date or a truth value."
        )
    if typed.values is not None:
        return typed
    if isinstance(written, exp.Column):
        return replace(typed, values=_public_values(written, rows))
    clamped = translate_expression(written, rows.resolve_clamped)
    values = value_domain(clamped)
    if values is not None:
        return replace(clamped, values=values)
    return replace(
        typed, values=value_domain(translate_expression(written, lambda c: _bounded_date(c, rows)))
    )


def _bounded_date(column: exp.Column, rows: Rows) -> TypedExpression:
    """Return a date within the bounds that a condition gives it, to learn what comes of it."""
    typed = rows.resolve(column)
    low, high = rows.bounds.get(rows.place(column), (None, None))
    if typed.kind is not Kind.DATE or low is None or high is None:
        return typed
    first, last = (Fraction(end.toordinal()) for end in CALENDAR)
    # A day before the first or after the last day of the calendar is none.
    return replace(typed, low=low, high=high) if first <= low <= high <= last else typed


def _public_values(column: exp.Column, rows: Rows) -> tuple[object, ...] | None:
    """Return all values of a column of a public table."""
    held = rows.publics.get(column.table)
    if held is None or rows.resolve(column).kind is Kind.OTHER:
        return None
    # In the form that groups are called by, which is what people's rows are compared with.
    wanted = build.alias_as(normalize_group_value(held.columns(_PUBLIC)[column.name]).tree, "v")
    query = build.select(wanted, source=read_columns_safely(held, _PUBLIC)).distinct(copy=False)
    query = build.order_nulls_last(query, [build.column("v")]).limit(MANY + 1, copy=False)
    found = [
        value for (value,) in zip(*held.table.engine.run(query).to_pydict().values(), strict=True)
    ]
    kept = tuple(value for value in found if value is not None)
    return kept if len(found) <= MANY else None


def _qualify_key(item: exp.Expr, projections: Iterable[exp.Expr], rows: Rows) -> exp.Expr:
    listed = list(projections)
    if isinstance(item, exp.Literal) and not item.is_string:
        position = written_position(item) or 0
        if not 1 <= position <= len(listed):
            raise InvalidQuestion(f"GROUP BY {item.this}: there is no such column in the SELECT.")
        return rows.qualified(listed[position - 1].unalias())
    try:
        return rows.qualified(item)
    except (InvalidQuestion, UndeclaredKind):
        # An input column wins; otherwise the name may be one that the SELECT gives.
        if isinstance(item, exp.Column) and not item.table:
            for projection in listed:
                if projection.alias.casefold() == item.name.casefold():
                    return rows.qualified(projection.unalias())
        raise
