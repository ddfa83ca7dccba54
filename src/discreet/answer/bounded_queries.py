"""The queries that the engine runs: grouping, clamping and bounding of contributions, in integers only."""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from dataclasses import replace

from sqlglot import exp

from discreet.answer.blocks import ROWS, UNITS, Moment, SumBlock
from discreet.answer.contribution import Contribution
from discreet.answer.expressions.typed import TypedExpression
from discreet.answer.question import key_name
from discreet.answer.rows import Rows
from discreet.sql import build

PRE = "discreet_pre"
TOTALS = "discreet_totals"
FACTOR = "discreet_factor"
NUMBER = "discreet_number"
VALUE = "discreet_value"
_BIG = exp.DataType.Type.BIGINT


def main_query(
    rows: Rows, keys: Sequence[TypedExpression], blocks: Sequence[SumBlock], limit: Contribution
) -> exp.Select:
    """Return the query for the moments of every group, each row with the factor it counts with.

    A person with t > R rows counts with the factor R/t: what a random choice of R of the rows would
    give on average, without its chance. Factors are whole numbers, rounded down, and nothing is
    divided after that, so that the bound holds exactly.
    """
    if limit.method == "truncate":
        return _truncate_query(rows, keys, blocks, limit)
    weighted, factor = weigh_rows(keep_ranked_rows(rows, limit), limit)
    return _group_query(weighted, keys, blocks, factor)


def keep_ranked_rows(rows: Rows, limit: Contribution) -> Rows:
    """Return the rows whose registered rank is within the limit."""
    if limit.method != "rank" or rows.rank is None:
        return rows
    return rows.where(exp.LTE(this=rows.rank.copy(), expression=build.number(limit.rows)))


def _group_query(
    rows: Rows,
    keys: Sequence[TypedExpression],
    blocks: Sequence[SumBlock],
    factor: exp.Expr | None = None,
) -> exp.Select:
    wanted = _named_keys(keys)
    wanted.append(_alias_expression(_count_expression(None, factor), ROWS))
    for block in blocks:
        wanted += [_alias_expression(_aggregate_moment(m, factor), m.name) for m in block.moments]
    if any(block.name == UNITS for block in blocks):
        unit = exp.Distinct(expressions=[tree.copy() for tree in rows.unit])
        wanted.append(_alias_expression(exp.Count(this=unit), UNITS))
    query = rows.frame.copy().select(*wanted, copy=False)
    return query.group_by(*(key.tree.copy() for key in keys), copy=False) if keys else query


def _aggregate_moment(moment: Moment, factor: exp.Expr | None) -> exp.Expr:
    if moment.is_count:
        return _count_expression(moment.tree, factor)
    value = moment.tree.copy()
    if factor is not None:
        value = exp.Mul(this=exp.cast(value, _BIG), expression=factor.copy())
    return _sum_expression(value)


def _count_expression(tree: exp.Expr | None, factor: exp.Expr | None) -> exp.Expr:
    """Return how many rows there are, or how many of them have a value."""
    if factor is None:
        return build.count_star() if tree is None else exp.Count(this=tree.copy())
    if tree is None:
        return _sum_expression(factor.copy())
    missing = exp.If(this=build.is_null(tree.copy()), true=build.number(0))
    return _sum_expression(exp.Case(ifs=[missing], default=factor.copy()))


def _sum_expression(value: exp.Expr) -> exp.Expr:
    total = exp.Cast(this=exp.Sum(this=value), to=exp.DataType.build(_BIG))
    return exp.Coalesce(this=total, expressions=[build.number(0)])


def weigh_rows(rows: Rows, limit: Contribution) -> tuple[Rows, exp.Expr | None]:
    """Return rows joined with their unit's factor, and the factor; None where every row counts in full."""
    if limit.method != "rescale":
        return rows, None
    names = [unit_name(i) for i in range(len(rows.unit))]
    totals = rows.frame.select(
        *_named_unit(rows),
        build.alias_as(_divide_whole(limit.rows * limit.one, build.count_star()), FACTOR),
        copy=True,
    )
    totals = totals.group_by(*(tree.copy() for tree in rows.unit), copy=False).having(
        exp.GT(this=build.count_star(), expression=build.number(limit.rows)), copy=False
    )
    on = build.all_of(
        exp.EQ(this=tree.copy(), expression=build.column(name, of=TOTALS))
        for tree, name in zip(rows.unit, names, strict=True)
    )
    joined = exp.Join(this=build.subquery(totals, TOTALS), on=on, side="LEFT")
    frame = rows.frame.copy()
    frame.append("joins", joined)
    return replace(rows, frame=frame), _unit_factor(limit)


def _unit_factor(limit: Contribution) -> exp.Expr:
    known = build.column(FACTOR, of=TOTALS)
    return exp.Coalesce(this=known, expressions=[exp.cast(build.number(limit.one), _BIG)])


def _named_keys(keys: Sequence[TypedExpression]) -> list[exp.Expr]:
    return [_alias_expression(key.tree.copy(), key_name(i)) for i, key in enumerate(keys)]


def _alias_expression(tree: exp.Expr, name: str) -> exp.Alias:
    """Return `tree AS "name"` for a tree that nothing else holds: it is not copied."""
    return exp.Alias(this=tree, alias=exp.to_identifier(name, quoted=True))


def unit_name(index: int) -> str:
    """Return what a part of the unit is called in queries of people."""
    return f"discreet_u{index}"


def _named_unit(rows: Rows) -> list[exp.Expr]:
    return [build.alias_as(tree.copy(), unit_name(i)) for i, tree in enumerate(rows.unit)]


def _truncate_query(
    rows: Rows, keys: Sequence[TypedExpression], blocks: Sequence[SumBlock], limit: Contribution
) -> exp.Select:
    """Return the sums over some groups of each person, weighted by the person's factor there."""
    moments = [moment for block in blocks for moment in block.moments]
    pre = unit_moments_query(rows, keys, moments)
    source = _some_groups(pre, rows, keys, limit.groups or limit.rows)
    names = [unit_name(i) for i in range(len(rows.unit))]
    mine = build.aliased_table(build.table(PRE), "discreet_x")
    total = build.sum_integers(build.column(ROWS, of="discreet_x"))
    totals = (
        build.select(
            *(build.alias_as(build.column(name, of="discreet_x"), name) for name in names),
            build.alias_as(_divide_whole(limit.rows * limit.one, total), FACTOR),
            source=mine,
        )
        .group_by(*(build.column(name, of="discreet_x") for name in names), copy=False)
        .having(exp.GT(this=total.copy(), expression=build.number(limit.rows)), copy=False)
    )
    factor = _factor_in_group(limit)
    by = [build.column(key_name(i), of=PRE) for i in range(len(keys))]
    wanted = [build.alias_as(key, key_name(i)) for i, key in enumerate(by)]
    for name in (ROWS, *(moment.name for moment in moments)):
        value = exp.cast(build.column(name, of=PRE), _BIG)
        wanted.append(
            build.alias_as(_sum_expression(exp.Mul(this=value, expression=factor.copy())), name)
        )
    wanted.append(build.alias_as(build.count_star(), UNITS))
    return (
        build.select(*wanted, source=build.table(PRE))
        .join(
            build.subquery(totals, TOTALS),
            on=build.same(names, PRE, TOTALS),
            join_type="left",
            copy=False,
        )
        .with_(exp.to_identifier(PRE, quoted=True), as_=source, copy=False)
        .group_by(*(key.copy() for key in by), copy=False)
    )


def _factor_in_group(limit: Contribution) -> exp.Expr:
    """Return what a person's sums in a group are multiplied by."""
    factor = _unit_factor(limit)
    if limit.per_group >= limit.rows:
        return factor
    count = build.column(ROWS, of=PRE)
    over = exp.GT(this=count, expression=build.number(limit.per_group))
    by_count = exp.If(this=over, true=_divide_whole(limit.per_group * limit.one, count))
    capped = exp.Case(ifs=[by_count], default=build.number(limit.one))
    # Neither is NULL here, so that LEAST means the same on every engine.
    return exp.Least(this=factor, expressions=[capped])


def _divide_whole(whole: int, part: exp.Expr) -> exp.Expr:
    return exp.IntDiv(
        this=exp.cast(build.number(whole), _BIG), expression=exp.cast(part.copy(), _BIG)
    )


def unit_moments_query(
    rows: Rows, keys: Sequence[TypedExpression], moments: Sequence[Moment]
) -> exp.Select:
    """Return the moments of every person in every group."""
    wanted = [*_named_unit(rows), *_named_keys(keys), build.alias_as(build.count_star(), ROWS)]
    wanted += [build.alias_as(_aggregate_moment(moment, None), moment.name) for moment in moments]
    grouped = [*rows.unit, *(key.tree for key in keys)]
    return rows.frame.select(*wanted, copy=True).group_by(
        *(tree.copy() for tree in grouped), copy=False
    )


def _some_groups(
    pre: exp.Select, rows: Rows, keys: Sequence[TypedExpression], most: int
) -> exp.Select:
    """Return at most `most` groups of each person, chosen at random under a secret key."""
    names = [unit_name(i) for i in range(len(rows.unit))]
    shuffled = [build.column(name) for name in (*names, *(key_name(i) for i in range(len(keys))))]
    return first_shuffled_rows(pre, names, shuffled, most)


def first_shuffled_rows(
    query: exp.Query, partition: Sequence[str], shuffled: Sequence[exp.Expr], most: int
) -> exp.Select:
    """Return at most `most` rows of each partition, chosen at random under a secret key."""
    number = exp.Window(
        this=exp.RowNumber(),
        partition_by=[build.column(name) for name in partition],
        order=exp.Order(expressions=[exp.Ordered(this=keyed_hash(shuffled), nulls_first=False)]),
    )
    numbered = build.select(
        exp.Star(), build.alias_as(number, NUMBER), source=build.subquery(query, "discreet_all")
    )
    within = exp.LTE(this=build.column(NUMBER), expression=build.number(most))
    source = build.subquery(numbered, "discreet_numbered")
    return build.select(exp.Star(), source=source).where(within, copy=False)


def keyed_hash(trees: Sequence[exp.Expr]) -> exp.Expr:
    """Return a hash under a key that is drawn for this question and never stored.

    Each text comes with its length: otherwise NULL and '', or a|b and c, and a and b|c, would be in
    an order that the engine picks, which other people's rows could change.
    """
    parts: list[exp.Expr] = [build.text(secrets.token_hex(16))]
    for tree in trees:
        text = exp.cast(tree.copy(), "TEXT")
        size = exp.cast(exp.Length(this=text.copy()), "TEXT")
        with_length = exp.DPipe(
            this=exp.DPipe(this=size, expression=build.text(":"), safe=True),
            expression=text,
            safe=True,
        )
        parts += [build.text("|"), exp.Coalesce(this=with_length, expressions=[build.text("")])]
    joined: exp.Expr = parts[0]
    for part in parts[1:]:
        joined = exp.DPipe(this=joined, expression=part, safe=True)
    return exp.MD5(this=joined)


def distinct_query(
    rows: Rows, keys: Sequence[TypedExpression], value: TypedExpression, limit: Contribution
) -> exp.Select:
    """Return how many distinct values each group has, of at most so many that one unit can add."""
    wanted = [*_named_keys(keys), build.alias_as(value.tree.copy(), VALUE)]
    if limit.method in ("none", "rank"):
        query = keep_ranked_rows(rows, limit).frame.select(*wanted, copy=True)
        source: exp.Query = query
    else:
        query = rows.frame.select(*_named_unit(rows), *wanted, copy=True).distinct(copy=False)
        names = [unit_name(i) for i in range(len(rows.unit))]
        shuffled = [build.column(key_name(i)) for i in range(len(keys))] + [build.column(VALUE)]
        unit = [build.column(name) for name in names]
        query = query.where(exp.Not(this=build.is_null(value.tree.copy())), copy=False)
        source = first_shuffled_rows(query, names, [*unit, *shuffled], limit.rows)
    counted = exp.Count(this=exp.Distinct(expressions=[build.column(VALUE)]))
    names = [build.column(key_name(i)) for i in range(len(keys))]
    found = build.select(
        *names, build.alias_as(counted, ROWS), source=build.subquery(source, "discreet_values")
    )
    return found.group_by(*(name.copy() for name in names), copy=False) if keys else found
