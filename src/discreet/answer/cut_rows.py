"""How many rows the limits cut off: measured with the question, out of a share of its epsilon.

Where a person has t rows of which w count, the rows cut off are t - w, and one person can have any
number of them. So people are sorted by their ratio t/w into bins that grow by a factor of four, and
each adds w/R ≤ 1 to the bin, R being the limit of rows per person. Within a bin, w/R is split in
two parts, which show where between the bin's ends the ratio lies, so that the sums of a bin give
exactly the number of rows of its people. All of it together changes by at most 1 with a person.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import log, sqrt
from typing import Any

import numpy as np
from sqlglot import exp

from discreet.answer import bounded_queries
from discreet.answer.blocks import ROWS
from discreet.answer.contribution import Contribution
from discreet.answer.expressions.typed import TypedExpression
from discreet.answer.question import key_name
from discreet.answer.rows import Rows
from discreet.sql import build

CUT_SHARE = Fraction(1, 20)  # of a question's epsilon
ONE = 2**15  # what a person adds who has as many rows as may count
MATERIAL = 0.05  # the share of rows from which on the answer has a caution
# So many standard deviations of the noise people up to a ratio of 4 must stand out, and one more for
# each factor of 4: noise alone does that with a chance of about 1 %, and above 64 of 0.02 %.
CLEAR = 4
_ALL, _KEPT, _GROUPS = "discreet_all", "discreet_kept", "discreet_groups"
_PART = "p"
_BIG = exp.DataType.Type.BIGINT
Array = Any


@dataclass(frozen=True)
class Bins:
    """Bins of people by how many times more rows they have than count, each `base` times as wide.

    There are `count` bins of people with more rows than count; what is above the last one counts as its end.
    """

    base: int = 4
    count: int = 6

    @property
    def ends(self) -> Array:
        """The largest ratio of each bin."""
        return float(self.base) ** np.arange(1, self.count + 1)


BINS = Bins()


@dataclass(frozen=True)
class CutProbe:
    """The query for the bins, what a person changes in them, and the noise that hides it."""

    query: exp.Select
    limit: Contribution
    sensitivity: int
    scale: Fraction
    bins: Bins = BINS


@dataclass(frozen=True)
class CutRows:
    """The share of rows that limits cut off, None where noise hides it; `limits` are those that did.

    With 95 % confidence the share lies between `low` and `high`, as far as the noise goes.
    """

    limits: str
    share: float | None
    low: float | None = None
    high: float | None = None

    @property
    def caution(self) -> str | None:
        """The caution for the analyst, None if there is none."""
        if self.share is None:
            return (
                f"Whether {self.limits} cuts off rows cannot be determined at this epsilon. `discreet "
                "limits` shows how many a limit cuts off."
            )
        if self.share < MATERIAL or self.low is None or self.high is None:
            return None
        times = 1 / (1 - min(self.share, 0.9999))
        return (
            f"About {self.share:.0%} of the rows ({self.low:.0%} to {self.high:.0%}) were cut off by "
            f"{self.limits}. Counts and sums are too low by about that: without limits they would be "
            f"about {times:.3g} times as large. Groups may differ. `discreet limits` helps to choose."
        )


def may_cut_rows(limit: Contribution, *, only_people: bool, has_keys: bool) -> bool:
    """Whether limits may cut off rows that an answer is about."""
    return limit.method != "none" and (has_keys or not only_people)


def cut_query(
    rows: Rows, keys: Sequence[TypedExpression], limit: Contribution, bins: Bins = BINS
) -> exp.Select:
    """Return the sums of every bin; keys count only where groups are chosen."""
    people = (
        _chosen_groups_query(rows, keys, limit)
        if limit.method == "truncate"
        else _unit_rows_query(rows, limit)
    )
    total, kept = build.column(_ALL), build.column(_KEPT)
    place = exp.Case(
        ifs=[
            exp.If(
                this=exp.LTE(this=total.copy(), expression=_multiply_by(kept, bins.base**number)),
                true=build.number(number),
            )
            for number in range(bins.count)
        ],
        default=build.number(bins.count),
    )
    weight = _divide_whole(_multiply_by(kept, ONE), build.number(limit.rows))
    weighed = build.select(
        build.alias_as(total, _ALL),
        build.alias_as(kept, _KEPT),
        build.alias_as(place, key_name(0)),
        build.alias_as(weight, ROWS),
        source=build.subquery(people, "discreet_people"),
    )
    names = [build.column(name) for name in (key_name(0), ROWS)]
    query = build.select(
        build.alias_as(names[0], key_name(0)),
        build.alias_as(_sum_expression(names[1]), ROWS),
        build.alias_as(_sum_expression(_upper_part(bins)), _PART),
        source=build.subquery(weighed, "discreet_weighed"),
    )
    return query.group_by(names[0].copy(), copy=False)


def _upper_part(bins: Bins) -> exp.Expr:
    """Return the part of a person's weight that shows how far up its bin the ratio lies."""
    total, kept, weight = build.column(_ALL), build.column(_KEPT), build.column(ROWS)
    cases: list[exp.Expr] = []
    for number in range(1, bins.count + 1):
        start = bins.base ** (number - 1)
        above = exp.Paren(this=exp.Sub(this=total.copy(), expression=_multiply_by(kept, start)))
        width = _multiply_by(kept, (bins.base - 1) * start)
        part = _divide_whole(exp.Mul(this=weight.copy(), expression=above), width)
        within = exp.Least(this=part, expressions=[weight.copy()])
        here = exp.EQ(this=build.column(key_name(0)), expression=build.number(number))
        cases.append(exp.If(this=here, true=within))
    return exp.Case(ifs=cases, default=exp.cast(build.number(0), _BIG))


def _multiply_by(tree: exp.Expr, factor: int) -> exp.Expr:
    number = exp.cast(build.number(factor), _BIG)
    return exp.Paren(this=exp.Mul(this=tree.copy(), expression=number))


def _divide_whole(whole: exp.Expr, part: exp.Expr) -> exp.Expr:
    return exp.IntDiv(this=exp.cast(whole, _BIG), expression=exp.cast(part, _BIG))


def _sum_expression(tree: exp.Expr) -> exp.Expr:
    return exp.Cast(this=exp.Sum(this=tree.copy()), to=exp.DataType.build(_BIG))


def _at_most(tree: exp.Expr, most: int) -> exp.Expr:
    limit = exp.cast(build.number(most), _BIG)
    over = exp.If(this=exp.GT(this=tree.copy(), expression=limit), true=limit.copy())
    return exp.Case(ifs=[over], default=exp.cast(tree.copy(), _BIG))


def _unit_rows_query(rows: Rows, limit: Contribution) -> exp.Select:
    """Return each person's rows, and how many of them count."""
    total = exp.cast(build.count_star(), _BIG)
    query = rows.frame.select(
        build.alias_as(total, _ALL),
        build.alias_as(_at_most(build.count_star(), limit.rows), _KEPT),
        copy=True,
    )
    return query.group_by(*(tree.copy() for tree in rows.unit), copy=False)


def _chosen_groups_query(
    rows: Rows, keys: Sequence[TypedExpression], limit: Contribution
) -> exp.Select:
    """Return each person's rows in all groups, and how many of them count on average."""
    groups = limit.groups or limit.rows
    per_group = bounded_queries.unit_moments_query(rows, keys, ())
    units = [build.column(bounded_queries.unit_name(i)) for i in range(len(rows.unit))]
    here = build.column(ROWS)
    people = build.select(
        build.alias_as(_sum_expression(here), _ALL),
        build.alias_as(_sum_expression(_at_most(here, limit.per_group)), _KEPT),
        build.alias_as(exp.cast(build.count_star(), _BIG), _GROUPS),
        source=build.subquery(per_group, bounded_queries.PRE),
    ).group_by(*units, copy=False)
    kept, number = build.column(_KEPT), build.column(_GROUPS)
    over = exp.GT(this=number.copy(), expression=build.number(groups))
    some = exp.Case(
        ifs=[exp.If(this=over, true=_divide_whole(_multiply_by(kept, groups), number))],
        default=kept.copy(),
    )
    return build.select(
        build.alias_as(build.column(_ALL), _ALL),
        build.alias_as(_at_most(some, limit.rows), _KEPT),
        source=build.subquery(people, "discreet_each"),
    )


def exact_bins(raw: Any, bins: Bins = BINS) -> Array:
    """Return the sums that get noise: of bin 0, and of both parts of every other bin."""
    found = np.zeros(1 + 2 * bins.count, np.int64)
    rows = zip(*(raw.column(name).to_pylist() for name in (key_name(0), ROWS, _PART)), strict=True)
    for place, weight, part in rows:
        number = int(place)
        if number == 0:
            found[0] += int(weight)
        else:
            found[2 * number - 1] += int(part)
            found[2 * number] += int(weight) - int(part)
    return found


@dataclass(frozen=True)
class BinContents:
    """Rows that count and all rows of each bin, from noisy sums, in units of the limit.

    Only bins up to the last one that stands out from the noise are there: a little noise above it
    would look like a great many rows.
    """

    kept: Array
    rows: Array
    deviation: float  # of the rows cut off
    is_hidden: bool  # whether noise may hide that many rows were cut off


def read_bins(noisy: Sequence[int], deviation: float, bins: Bins = BINS) -> BinContents:
    """Return the rows of each bin from noisy sums, where the noise has this standard deviation."""
    sums = np.asarray(noisy, np.float64) / ONE
    wide = deviation / ONE
    upper, lower = sums[1::2], sums[2::2]
    # The rows that noise stands for grow with the bin's end, and so does the required excess.
    clear = np.flatnonzero(upper + lower > (CLEAR + np.log(bins.ends / 4) / log(4)) * wide)
    last = int(clear[-1]) + 1 if clear.size else 0
    ends = bins.ends[:last]
    kept = np.concatenate([sums[:1], (upper + lower)[:last]])
    rows = np.concatenate([sums[:1], ends * upper[:last] + ends / bins.base * lower[:last]])
    spread = sqrt(float(((ends - 1) ** 2).sum() + ((ends / bins.base - 1) ** 2).sum()))
    is_hidden = last == 0 and CLEAR * wide > 2 * MATERIAL * max(float(kept[0]), 0.0)
    return BinContents(kept, rows, wide * spread, is_hidden)


def read_cut(noisy: Sequence[int], deviation: float, limit: Contribution) -> CutRows:
    """Return the share of rows that was cut off; the estimate errs on the small side."""
    found, name = read_bins(noisy, deviation), _format_limits(limit)
    if found.is_hidden:
        return CutRows(name, None)
    kept = float(found.kept.sum())
    lost = float(found.rows.sum()) - kept
    if len(found.kept) == 1:
        return CutRows(name, 0.0, 0.0, MATERIAL)
    half = 2 * found.deviation
    low, share, high = (_lost_share(lost + move, kept) for move in (-half, 0.0, half))
    return CutRows(name, share, low, high)


def _lost_share(lost: float, kept: float) -> float:
    lost, kept = max(lost, 0.0), max(kept, 1 / ONE)
    return lost / (lost + kept)


def _format_limits(limit: Contribution) -> str:
    """Return the limits as the policy writes them."""
    found = f"rows-per-unit: {limit.rows}"
    if limit.method == "truncate":
        found += f", groups-per-unit: {limit.groups}, rows-per-group: {limit.per_group}"
    return f"`limits: {{{found}}}`"
