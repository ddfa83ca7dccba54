"""Whole numbers looked up by a code, as expressions of every engine that halve what is left."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sqlglot import exp

from discreet.sql import build
from discreet.sql.search import search_cases

Codes = NDArray[Any]


def _is_identity(codes: Codes) -> bool:
    return bool(np.array_equal(codes, np.arange(len(codes))))


def look_up_code(code: exp.Expr, codes: Codes) -> exp.Expr:
    """Return what `codes` has for `code`, by halving the runs of codes that have the same one."""
    if _is_identity(codes):
        return code
    starts = [0, *(np.flatnonzero(np.diff(codes)) + 1).tolist()]
    return _search_run(code, starts, [int(codes[start]) for start in starts])


def find_bucket(score: exp.Expr, cuts: Sequence[int]) -> exp.Expr:
    """Return how many of ascending `cuts` a whole number reaches; a division where they are evenly spaced.

    >>> find_bucket(build.column("s"), [8, 16, 24]).sql("duckdb")
    'CASE WHEN "s" < 8 THEN 0 WHEN "s" >= 24 THEN 3 ELSE (("s" - 8) // 8) + 1 END'
    """
    widths = set(np.diff(cuts).tolist())
    if len(widths) != 1:
        starts = [build.number(cut) for cut in cuts]
        return search_cases(score, starts, [build.number(n) for n in range(len(cuts) + 1)])
    # Between the first cut and the last one, so that no engine divides a number below zero.
    above = exp.Paren(this=exp.Sub(this=score.copy(), expression=build.number(cuts[0])))
    within = exp.Paren(this=exp.IntDiv(this=above, expression=build.number(widths.pop())))
    return exp.Case(
        ifs=[
            exp.If(
                this=exp.LT(this=score.copy(), expression=build.number(cuts[0])),
                true=build.number(0),
            ),
            exp.If(
                this=exp.GTE(this=score.copy(), expression=build.number(cuts[-1])),
                true=build.number(len(cuts)),
            ),
        ],
        default=exp.Add(this=within, expression=build.number(1)),
    )


def _search_run(code: exp.Expr, starts: list[int], values: list[int]) -> exp.Expr:
    if len(starts) == 1:
        return build.number(values[0])
    half = len(starts) // 2
    below = exp.If(
        this=exp.LT(this=code.copy(), expression=build.number(starts[half])),
        true=_search_run(code, starts[:half], values[:half]),
    )
    return exp.Case(ifs=[below], default=_search_run(code, starts[half:], values[half:]))


def look_up_line(code: exp.Expr, values: Codes) -> exp.Expr:
    """Return what `values` has for `code`, by arithmetic where neighbors differ by the same.

    >>> look_up_line(build.column("c"), np.array([10, 13, 16, 0])).sql("duckdb")
    'CASE WHEN "c" < 3 THEN (10 + 3 * CAST("c" AS BIGINT)) ELSE 0 END'
    """
    starts = _find_line_starts(values)
    ends = [*starts[1:], len(values)]
    lines = [
        _write_line(code, first, values[first:end]) for first, end in zip(starts, ends, strict=True)
    ]
    return search_cases(code, [build.number(one) for one in starts[1:]], lines)


def _find_line_starts(values: Codes) -> list[int]:
    starts, first = [0], 0
    for place in range(2, len(values)):
        is_new = place - first < 2
        if not is_new and values[place] - values[place - 1] != values[first + 1] - values[first]:
            starts.append(place)
            first = place
    return starts


def _write_line(code: exp.Expr, first: int, values: Codes) -> exp.Expr:
    """Return a line over the codes from `first` on."""
    level = _whole_number(int(values[0]))
    if len(values) == 1 or values[0] == values[1]:
        return level
    place = code.copy()
    if first:
        place = exp.Paren(this=exp.Sub(this=place, expression=build.number(first)))
    slope = _whole_number(int(values[1] - values[0]))
    wide = build.cast_tree(place, exp.DataType.Type.BIGINT)
    return exp.Paren(this=exp.Add(this=level, expression=exp.Mul(this=slope, expression=wide)))


def _whole_number(value: int) -> exp.Expr:
    found = build.number(abs(value))
    return exp.Paren(this=exp.Neg(this=found)) if value < 0 else found


def find_smallest(numbers: Sequence[exp.Expr]) -> exp.Expr:
    """Return the place of the smallest of several numbers, the first of equal ones.

    >>> find_smallest([build.column("a"), build.column("b")]).sql("duckdb")
    'CASE WHEN "a" <= "b" THEN 0 ELSE 1 END'
    """
    ifs = [
        exp.If(
            this=build.all_of(
                exp.LTE(this=one.copy(), expression=other.copy()) for other in numbers[place + 1 :]
            ),
            true=build.number(place),
        )
        for place, one in enumerate(numbers[:-1])
    ]
    return exp.Case(ifs=ifs, default=build.number(len(numbers) - 1))
