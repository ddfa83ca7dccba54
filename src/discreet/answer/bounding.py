"""The queries that the engine runs: grouping, clamping and bounding of contributions, in integers only."""

from __future__ import annotations

import secrets
from typing import TYPE_CHECKING

from sqlglot import exp

from discreet.answer.blocks import ROWS, UNITS, Block, Moment, Part
from discreet.answer.question import key_name
from discreet.sql import build

if TYPE_CHECKING:
    from collections.abc import Sequence

    from discreet.answer.contribution import Contribution
    from discreet.answer.expressions.typed import Typed
    from discreet.answer.rows import Rows

PRE = "discreet_pre"
TOTALS = "discreet_totals"
TOTAL = "discreet_total"
NUMBER = "discreet_number"
VALUE = "discreet_value"
_WORD = 62  # bits of a positive 64-bit integer, less one to be safe


def main_query(
    rows: Rows, keys: Sequence[Typed], blocks: Sequence[Block], limit: Contribution
) -> exp.Select:
    """Return the query for the moments of every group, or for its vertices' parts once scaled."""
    if limit.method in ("none", "rank"):
        return _grouped_at_once(ranked(rows, limit), keys, blocks)
    pre = _per_unit(rows, keys, [m for block in blocks for m in block.moments])
    source: exp.Query = pre
    if limit.method == "truncate" and limit.groups is not None:
        source = _some_groups(pre, rows, keys, limit.groups)
    return _scaled(source, rows, keys, blocks, limit)


def ranked(rows: Rows, limit: Contribution) -> Rows:
    """Return the rows that registered ranks let count."""
    if limit.method != "rank" or rows.rank is None:
        return rows
    return rows.where(exp.LTE(this=rows.rank.copy(), expression=build.number(limit.rows)))


def _grouped_at_once(rows: Rows, keys: Sequence[Typed], blocks: Sequence[Block]) -> exp.Select:
    wanted = _named_keys(keys)
    wanted.append(build.named(build.count_rows(), ROWS))
    for block in blocks:
        wanted += [build.named(_aggregated(moment), moment.name) for moment in block.moments]
    if any(block.name == UNITS for block in blocks):
        unit = exp.Distinct(expressions=[tree.copy() for tree in rows.unit])
        wanted.append(build.named(exp.Count(this=unit), UNITS))
    query = rows.frame.select(*wanted, copy=True)
    return query.group_by(*(key.tree.copy() for key in keys), copy=False) if keys else query


def _aggregated(moment: Moment) -> exp.Expr:
    if moment.is_count:
        return exp.Count(this=moment.tree.copy())
    return exp.Coalesce(this=build.total(moment.tree.copy()), expressions=[build.number(0)])


def _named_keys(keys: Sequence[Typed]) -> list[exp.Expr]:
    return [build.named(key.tree.copy(), key_name(i)) for i, key in enumerate(keys)]


def _unit_name(index: int) -> str:
    return f"discreet_u{index}"


def _named_unit(rows: Rows) -> list[exp.Expr]:
    return [build.named(tree.copy(), _unit_name(i)) for i, tree in enumerate(rows.unit)]


def _per_unit(rows: Rows, keys: Sequence[Typed], moments: Sequence[Moment]) -> exp.Select:
    """Return the moments of every person in every group."""
    wanted = [*_named_unit(rows), *_named_keys(keys), build.named(build.count_rows(), ROWS)]
    wanted += [build.named(_aggregated(moment), moment.name) for moment in moments]
    grouped = [*rows.unit, *(key.tree for key in keys)]
    return rows.frame.select(*wanted, copy=True).group_by(
        *(tree.copy() for tree in grouped), copy=False
    )


def _some_groups(pre: exp.Select, rows: Rows, keys: Sequence[Typed], most: int) -> exp.Select:
    """Return at most `most` groups of each person, chosen by chance that nobody can foresee."""
    names = [_unit_name(i) for i in range(len(rows.unit))]
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
    """Return a hash under a key that is drawn for this question and kept nowhere."""
    parts: list[exp.Expr] = [build.text(secrets.token_hex(16))]
    for tree in trees:
        text = exp.Coalesce(this=exp.cast(tree.copy(), "TEXT"), expressions=[build.text("")])
        parts += [build.text("|"), text]
    joined: exp.Expr = parts[0]
    for part in parts[1:]:
        joined = exp.DPipe(this=joined, expression=part, safe=True)
    return exp.MD5(this=joined)


def _scaled(
    source: exp.Query,
    rows: Rows,
    keys: Sequence[Typed],
    blocks: Sequence[Block],
    limit: Contribution,
) -> exp.Select:
    """Return the parts of all vertices, each person's scaled down to the limit and then added up.

    A person with t > R rows counts with the factor R/t: what a random choice of R of the rows would
    give on average, without its chance. Every product is rounded down and nothing is negative, so
    that the bound holds exactly.
    """
    shift = _WORD - max(block.weight for block in blocks).bit_length() - limit.rows.bit_length()
    names = [_unit_name(i) for i in range(len(rows.unit))]
    rows_of = exp.Sum(this=build.column(ROWS, of="discreet_x"))
    total = exp.cast(rows_of, exp.DataType.Type.BIGINT)
    totals = (
        build.select(
            *(build.named(build.column(name, of="discreet_x"), name) for name in names),
            build.named(total, TOTAL),
            source=build.aliased_table(build.table(PRE), "discreet_x"),
        )
        .group_by(*(build.column(name, of="discreet_x") for name in names), copy=False)
        .having(exp.GT(this=rows_of.copy(), expression=build.number(limit.rows)), copy=False)
    )
    factor = _factor(limit, 2**shift)
    wanted = [build.named(build.column(key_name(i), of=PRE), key_name(i)) for i in range(len(keys))]
    for block in blocks:
        if block.name == UNITS:
            wanted.append(build.named(build.count_rows(), UNITS))
            continue
        for name, part in _scaled_parts(block):
            product = exp.Mul(this=_combined(part), expression=exp.Paren(this=factor.copy()))
            whole = exp.IntDiv(this=exp.Paren(this=product), expression=build.number(2**shift))
            summed = build.total(whole)
            wanted.append(
                build.named(exp.Coalesce(this=summed, expressions=[build.number(0)]), name)
            )
    query = (
        build.select(*wanted, source=build.table(PRE))
        .join(
            build.subquery(totals, TOTALS),
            on=build.same(names, PRE, TOTALS),
            join_type="left",
            copy=False,
        )
        .with_(exp.to_identifier(PRE, quoted=True), as_=source, copy=False)
    )
    if keys:
        query = query.group_by(
            *(build.column(key_name(i), of=PRE) for i in range(len(keys))), copy=False
        )
    return query


def _factor(limit: Contribution, one: int) -> exp.Expr:
    """Return what a person's sums in a group are multiplied by, in units of `one`."""
    total, count = build.column(TOTAL, of=TOTALS), build.column(ROWS, of=PRE)
    by_total = _share(limit.rows * one, total)
    is_over = exp.Not(this=build.is_null(total.copy()))
    factor: exp.Expr = exp.Case(
        ifs=[exp.If(this=is_over, true=by_total)], default=build.number(one)
    )
    if limit.per_group >= limit.rows:
        return factor
    by_count = _share(limit.per_group * one, count)
    over = exp.GT(this=count.copy(), expression=build.number(limit.per_group))
    capped = exp.Case(ifs=[exp.If(this=over, true=by_count)], default=build.number(one))
    # Neither is NULL here, so that LEAST means the same on every engine.
    return exp.Least(this=factor, expressions=[capped])


def _share(whole: int, part: exp.Expr) -> exp.Expr:
    big = exp.DataType.Type.BIGINT
    return exp.IntDiv(
        this=exp.cast(build.number(whole), big), expression=exp.cast(part.copy(), big)
    )


def _scaled_parts(block: Block) -> list[tuple[str, Part]]:
    """Return every part of a block's vertices with the name of its column."""
    named: list[tuple[str, Part]] = []
    for index, vertex in enumerate(block.vertices):
        for sign, parts in (("p", vertex.plus), ("m", vertex.minus)):
            named += [(part_name(block, index, sign, i), part) for i, part in enumerate(parts)]
    return named


def part_name(block: Block, vertex: int, sign: str, number: int) -> str:
    """Return the column of a scaled part: p for one that is added, m for one that is taken off."""
    return f"{block.name}_{vertex}{sign}{number}"


def _combined(part: Part) -> exp.Expr:
    terms: list[exp.Expr] = []
    for name, factor in part.coefficients.items():
        column = exp.cast(build.column(name, of=PRE), exp.DataType.Type.BIGINT)
        number = build.number(abs(factor))
        scaled: exp.Expr = column if abs(factor) == 1 else exp.Mul(this=column, expression=number)
        terms.append(exp.Paren(this=exp.Neg(this=scaled)) if factor < 0 else scaled)
    combined = terms[0]
    for term in terms[1:]:
        combined = exp.Add(this=combined, expression=term)
    return exp.Paren(this=combined)


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
        names = [_unit_name(i) for i in range(len(rows.unit))]
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
