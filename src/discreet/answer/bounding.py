"""The queries that the engine runs: grouping, clamping and bounding of contributions, in integers only."""

from __future__ import annotations

import secrets
from dataclasses import replace
from typing import TYPE_CHECKING

from sqlglot import exp

from discreet.answer.blocks import ROWS, UNITS, Block, Moment
from discreet.answer.question import key_name
from discreet.sql import build

if TYPE_CHECKING:
    from collections.abc import Sequence

    from discreet.answer.contribution import Contribution
    from discreet.answer.expressions.typed import Typed
    from discreet.answer.rows import Rows

PRE = "discreet_pre"
TOTALS = "discreet_totals"
FACTOR = "discreet_factor"
NUMBER = "discreet_number"
VALUE = "discreet_value"
_BIG = exp.DataType.Type.BIGINT


def main_query(
    rows: Rows, keys: Sequence[Typed], blocks: Sequence[Block], limit: Contribution
) -> exp.Select:
    """Return the query for the moments of every group, each row with the factor it counts with.

    A person with t > R rows counts with the factor R/t: what a random choice of R of the rows would
    give on average, without its chance. Factors are whole numbers, rounded down, and nothing is
    divided after that, so that the bound holds exactly.
    """
    if limit.method == "rescale":
        return _rescaled(rows, keys, blocks, limit)
    if limit.method == "truncate":
        return _truncated(rows, keys, blocks, limit)
    return _grouped(ranked(rows, limit), keys, blocks)


def ranked(rows: Rows, limit: Contribution) -> Rows:
    """Return the rows that registered ranks let count."""
    if limit.method != "rank" or rows.rank is None:
        return rows
    return rows.where(exp.LTE(this=rows.rank.copy(), expression=build.number(limit.rows)))


def _grouped(
    rows: Rows, keys: Sequence[Typed], blocks: Sequence[Block], factor: exp.Expr | None = None
) -> exp.Select:
    wanted = _named_keys(keys)
    wanted.append(_named(_counted(None, factor), ROWS))
    for block in blocks:
        wanted += [_named(_aggregated(m, factor), m.name) for m in block.moments]
    if any(block.name == UNITS for block in blocks):
        unit = exp.Distinct(expressions=[tree.copy() for tree in rows.unit])
        wanted.append(_named(exp.Count(this=unit), UNITS))
    query = rows.frame.copy().select(*wanted, copy=False)
    return query.group_by(*(key.tree.copy() for key in keys), copy=False) if keys else query


def _aggregated(moment: Moment, factor: exp.Expr | None) -> exp.Expr:
    if moment.is_count:
        return _counted(moment.tree, factor)
    value = moment.tree.copy()
    if factor is not None:
        value = exp.Mul(this=exp.cast(value, _BIG), expression=factor.copy())
    return _summed(value)


def _counted(tree: exp.Expr | None, factor: exp.Expr | None) -> exp.Expr:
    """Return how many rows there are, or how many of them have a value."""
    if factor is None:
        return build.count_rows() if tree is None else exp.Count(this=tree.copy())
    if tree is None:
        return _summed(factor.copy())
    missing = exp.If(this=build.is_null(tree.copy()), true=build.number(0))
    return _summed(exp.Case(ifs=[missing], default=factor.copy()))


def _summed(value: exp.Expr) -> exp.Expr:
    total = exp.Cast(this=exp.Sum(this=value), to=exp.DataType.build(_BIG))
    return exp.Coalesce(this=total, expressions=[build.number(0)])


def _rescaled(
    rows: Rows, keys: Sequence[Typed], blocks: Sequence[Block], limit: Contribution
) -> exp.Select:
    """Return the sums with every row weighted by its person's factor."""
    names = [unit_name(i) for i in range(len(rows.unit))]
    totals = rows.frame.select(
        *_named_unit(rows),
        build.named(_share(limit.rows * limit.one, build.count_rows()), FACTOR),
        copy=True,
    )
    totals = totals.group_by(*(tree.copy() for tree in rows.unit), copy=False).having(
        exp.GT(this=build.count_rows(), expression=build.number(limit.rows)), copy=False
    )
    on = build.all_of(
        exp.EQ(this=tree.copy(), expression=build.column(name, of=TOTALS))
        for tree, name in zip(rows.unit, names, strict=True)
    )
    joined = exp.Join(this=build.subquery(totals, TOTALS), on=on, side="LEFT")
    frame = rows.frame.copy()
    frame.append("joins", joined)
    return _grouped(replace(rows, frame=frame), keys, blocks, _factor(limit))


def _factor(limit: Contribution) -> exp.Expr:
    known = build.column(FACTOR, of=TOTALS)
    return exp.Coalesce(this=known, expressions=[exp.cast(build.number(limit.one), _BIG)])


def _named_keys(keys: Sequence[Typed]) -> list[exp.Expr]:
    return [_named(key.tree.copy(), key_name(i)) for i, key in enumerate(keys)]


def _named(tree: exp.Expr, name: str) -> exp.Alias:
    """Return `tree AS "name"` for a tree that nothing else holds: it is not copied."""
    return exp.Alias(this=tree, alias=exp.to_identifier(name, quoted=True))


def unit_name(index: int) -> str:
    """Return what a part of the unit is called in queries of people."""
    return f"discreet_u{index}"


def _named_unit(rows: Rows) -> list[exp.Expr]:
    return [build.named(tree.copy(), unit_name(i)) for i, tree in enumerate(rows.unit)]


def _truncated(
    rows: Rows, keys: Sequence[Typed], blocks: Sequence[Block], limit: Contribution
) -> exp.Select:
    """Return the sums over some groups of each person, weighted by the person's factor there."""
    moments = [moment for block in blocks for moment in block.moments]
    pre = per_unit(rows, keys, moments)
    source = _some_groups(pre, rows, keys, limit.groups or limit.rows)
    names = [unit_name(i) for i in range(len(rows.unit))]
    mine = build.aliased_table(build.table(PRE), "discreet_x")
    total = build.total(build.column(ROWS, of="discreet_x"))
    totals = (
        build.select(
            *(build.named(build.column(name, of="discreet_x"), name) for name in names),
            build.named(_share(limit.rows * limit.one, total), FACTOR),
            source=mine,
        )
        .group_by(*(build.column(name, of="discreet_x") for name in names), copy=False)
        .having(exp.GT(this=total.copy(), expression=build.number(limit.rows)), copy=False)
    )
    factor = _factor_in_group(limit)
    by = [build.column(key_name(i), of=PRE) for i in range(len(keys))]
    wanted = [build.named(key, key_name(i)) for i, key in enumerate(by)]
    for name in (ROWS, *(moment.name for moment in moments)):
        value = exp.cast(build.column(name, of=PRE), _BIG)
        wanted.append(build.named(_summed(exp.Mul(this=value, expression=factor.copy())), name))
    wanted.append(build.named(build.count_rows(), UNITS))
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
    factor = _factor(limit)
    if limit.per_group >= limit.rows:
        return factor
    count = build.column(ROWS, of=PRE)
    over = exp.GT(this=count, expression=build.number(limit.per_group))
    by_count = exp.If(this=over, true=_share(limit.per_group * limit.one, count))
    capped = exp.Case(ifs=[by_count], default=build.number(limit.one))
    # Neither is NULL here, so that LEAST means the same on every engine.
    return exp.Least(this=factor, expressions=[capped])


def _share(whole: int, part: exp.Expr) -> exp.Expr:
    return exp.IntDiv(
        this=exp.cast(build.number(whole), _BIG), expression=exp.cast(part.copy(), _BIG)
    )


def per_unit(rows: Rows, keys: Sequence[Typed], moments: Sequence[Moment]) -> exp.Select:
    """Return the moments of every person in every group."""
    wanted = [*_named_unit(rows), *_named_keys(keys), build.named(build.count_rows(), ROWS)]
    wanted += [build.named(_aggregated(moment, None), moment.name) for moment in moments]
    grouped = [*rows.unit, *(key.tree for key in keys)]
    return rows.frame.select(*wanted, copy=True).group_by(
        *(tree.copy() for tree in grouped), copy=False
    )


def _some_groups(pre: exp.Select, rows: Rows, keys: Sequence[Typed], most: int) -> exp.Select:
    """Return at most `most` groups of each person, chosen by chance that nobody can foresee."""
    names = [unit_name(i) for i in range(len(rows.unit))]
    shuffled = [build.column(name) for name in (*names, *(key_name(i) for i in range(len(keys))))]
    return _first(pre, names, shuffled, most)


def _first(
    query: exp.Query, partition: Sequence[str], shuffled: Sequence[exp.Expr], most: int
) -> exp.Select:
    number = exp.Window(
        this=exp.RowNumber(),
        partition_by=[build.column(name) for name in partition],
        order=exp.Order(expressions=[exp.Ordered(this=keyed_hash(shuffled), nulls_first=False)]),
    )
    numbered = build.select(
        exp.Star(), build.named(number, NUMBER), source=build.subquery(query, "discreet_all")
    )
    within = exp.LTE(this=build.column(NUMBER), expression=build.number(most))
    source = build.subquery(numbered, "discreet_numbered")
    return build.select(exp.Star(), source=source).where(within, copy=False)


def keyed_hash(trees: Sequence[exp.Expr]) -> exp.Expr:
    """Return a hash under a key that is drawn for this question and kept nowhere.

    Each text comes with its length: otherwise NULL and '', or a|b and c, and a and b|c, would be in
    an order that the engine picks, which other people's rows could change.
    """
    parts: list[exp.Expr] = [build.text(secrets.token_hex(16))]
    for tree in trees:
        text = exp.cast(tree.copy(), "TEXT")
        size = exp.cast(exp.Length(this=text.copy()), "TEXT")
        told = exp.DPipe(
            this=exp.DPipe(this=size, expression=build.text(":"), safe=True),
            expression=text,
            safe=True,
        )
        parts += [build.text("|"), exp.Coalesce(this=told, expressions=[build.text("")])]
    joined: exp.Expr = parts[0]
    for part in parts[1:]:
        joined = exp.DPipe(this=joined, expression=part, safe=True)
    return exp.MD5(this=joined)


def distinct_query(
    rows: Rows, keys: Sequence[Typed], value: Typed, limit: Contribution
) -> exp.Select:
    """Return how many distinct values each group has, of at most so many that one unit can add."""
    wanted = [*_named_keys(keys), build.named(value.tree.copy(), VALUE)]
    if limit.method in ("none", "rank"):
        query = ranked(rows, limit).frame.select(*wanted, copy=True)
        source: exp.Query = query
    else:
        query = rows.frame.select(*_named_unit(rows), *wanted, copy=True).distinct(copy=False)
        names = [unit_name(i) for i in range(len(rows.unit))]
        shuffled = [build.column(key_name(i)) for i in range(len(keys))] + [build.column(VALUE)]
        unit = [build.column(name) for name in names]
        query = query.where(exp.Not(this=build.is_null(value.tree.copy())), copy=False)
        source = _first(query, names, [*unit, *shuffled], limit.rows)
    counted = exp.Count(this=exp.Distinct(expressions=[build.column(VALUE)]))
    names = [build.column(key_name(i)) for i in range(len(keys))]
    found = build.select(
        *names, build.named(counted, ROWS), source=build.subquery(source, "discreet_values")
    )
    return found.group_by(*(name.copy() for name in names), copy=False) if keys else found
