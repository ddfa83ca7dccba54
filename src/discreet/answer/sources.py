"""Where rows come from: tables, their joins and unions, each with the unit it keeps."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

from sqlglot import exp

from discreet.answer.columns import identifier_form, read_columns_safely, require_identifier
from discreet.answer.expressions.translate import translate_condition, translate_expression
from discreet.answer.expressions.typed import TypedExpression
from discreet.answer.rows import Rows, TouchedTable, join_limits
from discreet.engines.engine import Kind
from discreet.errors import QuestionRefused
from discreet.policy.answer_model import ContributionLimits
from discreet.sql import build

if TYPE_CHECKING:
    from discreet.answer.catalog import CatalogTable


Scope = Mapping[str, Mapping[str, TypedExpression]]
Pair = tuple[exp.Expr, exp.Expr]

# Kinds whose values are equal in a comparison only when they are one.
_DISTINCT = (Kind.BOOLEAN, Kind.INTEGER, Kind.TEXT, Kind.DATE, Kind.TIMESTAMP)


def scan_table(held: CatalogTable, alias: str) -> Rows:
    """Return all rows of a table, called `alias` in the question."""
    columns = held.columns(alias)
    frame = exp.Select().from_(read_columns_safely(held, alias))
    if held.is_public:
        return Rows(frame, {alias: columns}, publics={alias: held})
    bounds = {(alias, name): found for name in columns if (found := held.bounds(name)) is not None}
    rows = Rows(
        frame,
        {alias: columns},
        touches=(TouchedTable(held, alias),),
        limits=held.policy.limits if held.policy else ContributionLimits(),
        bounds=bounds,
        rank=build.column(held.rank, of=alias) if held.rank else None,
    )
    return _with_unit(rows, held, alias) if held.unit else rows


def _with_unit(rows: Rows, held: CatalogTable, alias: str) -> Rows:
    """Return `rows` with their unit; rows without a unit are left out."""
    unit = build.column(held.unit or "", of=alias)
    form = require_identifier(held, held.unit or "")
    rows = rows.where(exp.Not(this=build.is_null(unit.copy())))
    period = held.policy.unit_period if held.policy else None
    if period is None:
        return replace(rows, unit=(unit,), forms=(form,))
    trunc = exp.TimestampTrunc(
        this=build.column(period.column, of=alias), unit=exp.var(period.period.upper())
    )
    found = translate_expression(trunc, rows.resolve)
    start = found.tree
    # What has no date is in no period: NULL equals nothing, not even the same person's NULL.
    rows = rows.where(exp.Not(this=build.is_null(start.copy())))
    # A person's month is no person's year, also where both begin on the same day.
    return replace(rows, unit=(unit, start), forms=(form, f"{period.period} as {found.kind.value}"))


def join_rows(left: Rows, right: Rows, *, side: str, on: exp.Expr | None) -> Rows:
    """Return the joined rows with their unit, or refuse a join that loses it."""
    scope = {**left.scope, **(_make_nullable(right.scope) if side else right.scope)}
    merged = Rows(exp.Select(), scope, hidden=left.hidden)
    conditions = list(_split_conditions(merged.qualified(on))) if on is not None else []
    equalities = [(one.this, one.expression) for one in conditions if isinstance(one, exp.EQ)]
    if not equalities:
        raise QuestionRefused(
            "A join without an equality pairs every row with every row. Write JOIN … ON a.x = b.y."
        )
    if side not in ("", "LEFT") or (side == "LEFT" and left.is_public and not right.is_public):
        raise QuestionRefused(
            f"{side or 'This'} JOIN makes rows that belong to no person. Write the protected table "
            "first and use JOIN or LEFT JOIN."
        )
    unit, limits, same = _unit_of(left, right, equalities)
    table, filters = _single_table(right)
    # Units are compared as they are: no conversion may make two people one.
    total = [
        exp.EQ(this=merged.resolve(one.this).tree, expression=merged.resolve(one.expression).tree)
        if isinstance(one, exp.EQ) and (one.this, one.expression) in same
        else translate_condition(one, merged.resolve)
        for one in conditions
    ]
    # Conditions of the right side decide what can be matched, not which rows of the left remain.
    joined = exp.Join(this=table, on=build.all_of([*total, *filters]), side=side or None)
    frame = left.frame.copy()
    frame.append("joins", joined)
    if side and unit != left.unit:
        # Rows without a match have no unit; without this they would all count as one person's.
        frame.where(exp.Not(this=build.is_null(unit[0].copy())), copy=False)
    is_plain = right.is_public or left.is_public
    has_children = left.has_children or right.has_children
    # Where nothing matches, the unit of the right side is NULL and no longer identifies the person.
    others = () if side else (*right.same, *(right.unit if unit == left.unit else left.unit))
    return Rows(
        frame,
        scope,
        unit=unit,
        forms=left.forms or right.forms,
        touches=(*left.touches, *right.touches),
        limits=limits,
        bounds={**left.bounds, **right.bounds},
        publics={**left.publics, **right.publics},
        hidden=left.hidden,
        # A row that was one row of a person may be joined with all of the person's others.
        fan=max(left.fan, right.fan, 1 + (has_children and not is_plain)),
        same=(*left.same, *others),
        rank=(left.rank or right.rank) if is_plain else None,
        is_single=is_plain and (left.is_single or right.is_single),
        has_children=has_children
        or (not is_plain and bool(unit) and not (left.unit and right.unit)),
    )


def _make_nullable(scope: Scope) -> Scope:
    """Return columns that are NULL where nothing matches, also those that never are elsewhere."""
    return {
        alias: {name: replace(typed, nullable=True) for name, typed in columns.items()}
        for alias, columns in scope.items()
    }


def _single_table(rows: Rows) -> tuple[exp.Expr, list[exp.Expr]]:
    """Return the one table of `rows`, and the conditions that its rows must meet."""
    where = rows.frame.args.get("where")
    source = rows.frame.args["from_"].this.copy()
    return source, [where.this.copy()] if where else []


def _unit_of(
    left: Rows, right: Rows, equalities: list[Pair]
) -> tuple[tuple[exp.Expr, ...], ContributionLimits, list[Pair]]:
    """Return the unit of the joined rows, their limits, and the equalities that prove it."""
    if left.is_public or right.is_public:
        public, private = (left, right) if left.is_public else (right, left)
        if not private.is_public:
            _require_unique(public, private, equalities)
        return private.unit, private.limits, []
    if len(left.unit) > 1 or len(right.unit) > 1:
        raise QuestionRefused(
            "Tables whose unit is a person in a period cannot be joined with protected tables: "
            "one person's row there touches every period. Ask about each table alone."
        )
    same = [
        pair
        for pair in equalities
        if any(left.is_unit(a) and right.is_unit(b) for a, b in (pair, pair[::-1]))
    ]
    if same:
        _require_one_form(left.forms, right.forms)
        return left.unit, join_limits(left.limits, right.limits), same
    for child, parent in ((left, right), (right, left)):
        # A row that belongs to one row of the other table belongs to the person of that row.
        is_child = not child.unit and parent.unit
        if not is_child:
            continue
        same = [
            pair
            for pair in equalities
            if any(_is_foreign_key(child, a, parent, b) for a, b in (pair, pair[::-1]))
        ]
        if same:
            return parent.unit, parent.limits, same
    raise _no_unit_refusal(left, right)


def _no_unit_refusal(left: Rows, right: Rows) -> QuestionRefused:
    """Return the refusal of a join that does not determine the unit of its rows."""
    first, second = ({touch.held.unit for touch in side.touches} - {None} for side in (left, right))
    if first and second and not first & second:
        return QuestionRefused(
            "This join does not determine whose the rows are: one table identifies people by "
            f"{_list_names(first)}, the other by {_list_names(second)}. If these are the same people, join "
            "on both columns. If not, a row would be of two people: ask about each table alone. What "
            "is no secret, such as which ward a doctor works in, the custodian can give in a table "
            "with `public: true`."
        )
    return QuestionRefused(
        "Two protected tables are joined by columns that do not identify the person. Join them "
        "on their unit, or on a foreign key that the policy declares with `references:`."
    )


def _list_names(names: set[str | None]) -> str:
    return " and ".join(f"'{name}'" for name in sorted(map(str, names)))


def _is_foreign_key(child: Rows, a: exp.Expr, parent: Rows, b: exp.Expr) -> bool:
    """Whether column `a` of `child` is declared as a foreign key to column `b` of `parent`."""
    if not isinstance(a, exp.Column) or not isinstance(b, exp.Column):
        return False
    if len(child.touches) != 1 or len(parent.touches) != 1:
        return False
    # These are the columns of the policy only where the tables themselves are read.
    if (child.touches[0].alias, parent.touches[0].alias) != (a.table, b.table):
        return False
    policy = child.touches[0].held.policy
    declared = policy.column(a.name) if policy else None
    if declared is None or declared.references != (parent.touches[0].held.name, b.name):
        return False
    forms = [
        identifier_form(rows.touches[0].held, column.name)
        for rows, column in ((child, a), (parent, b))
    ]
    _require_one_form(*((form,) for form in forms))
    return True


def _require_one_form(first: tuple[str | None, ...], second: tuple[str | None, ...]) -> None:
    """Refuse ids of different kinds: engines would compare them as doubles, where people become one."""
    if first == second and None not in first:
        return
    words = " and ".join(
        str(forms[0] or "of a kind without exact ids") for forms in (first, second)
    )
    raise QuestionRefused(
        f"The ids of people are {words}, and cannot be compared exactly. Store "
        "them in one type: as whole numbers, as texts, or as decimals of one scale."
    )


def _require_unique(public: Rows, private: Rows, equalities: list[Pair]) -> None:
    """Refuse a public table that could multiply people's rows; it is public, so it may be looked at."""
    keys = [
        side
        for pair in equalities
        for side, other in (pair, pair[::-1])
        if _is_matched(side, other, public, private)
    ]
    held = _public_table(public)
    count = build.alias_as(build.count_star(), "n")
    grouped = (
        public.frame.copy()
        .select(count, copy=False)
        .group_by(*(key.copy() for key in keys), copy=False)
        .having(exp.GT(this=build.count_star(), expression=build.number(1)), copy=False)
        .limit(1, copy=False)
    )
    if not keys or held.table.engine.run(grouped).num_rows:
        raise QuestionRefused(
            f"Public table '{held.name}' has several rows for one value of the join, so that one "
            "person's row would count several times. Join it on a column that is unique there, "
            "and of the same kind: whole numbers, texts, dates or times."
        )


def _is_matched(side: exp.Expr, other: exp.Expr, public: Rows, private: Rows) -> bool:
    """Whether `side` is a public column whose value a person's row alone determines.

    Reals and decimals are compared as doubles, where different values may become one.
    """
    if not isinstance(side, exp.Column) or side.table not in public.scope:
        return False
    if any(column.table in public.scope for column in other.find_all(exp.Column)):
        return False
    kind = public.resolve(side).kind
    return kind in _DISTINCT and translate_expression(other, private.resolve).kind is kind


def _public_table(rows: Rows) -> CatalogTable:
    if len(rows.publics) != 1:
        raise QuestionRefused("Join a public table itself, not a query on it.")
    return next(iter(rows.publics.values()))


def _split_conditions(on: exp.Expr) -> Iterator[exp.Expr]:
    """Yield each condition that must hold."""
    if isinstance(on, exp.Paren):
        yield from _split_conditions(on.this)
    elif isinstance(on, exp.And):
        yield from _split_conditions(on.this)
        yield from _split_conditions(on.expression)
    else:
        yield on
