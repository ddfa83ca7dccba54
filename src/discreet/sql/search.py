"""Searches among constants, as CASE expressions that halve what is left."""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import exp

from discreet.sql import build

_AT_A_TIME = 4  # constants that are compared one by one


_PLACE = "DISCREET_PLACE_IN_LIST"


def place_in_list(value: exp.Expr, texts: Sequence[str]) -> exp.Expr:
    """Return the place of a text among different texts, from 0 on; NULL where it is not there.

    `value` is compared by its bytes: `discreet.engines.render.byte_order` makes it so.
    `discreet.engines.render` writes it as each engine finds it quickest.
    """
    return exp.Anonymous(this=_PLACE, expressions=[value, *(build.text(text) for text in texts)])


def is_place_in_list(node: exp.Expr) -> bool:
    """Whether a node was made by `place_in_list`."""
    return isinstance(node, exp.Anonymous) and node.name == _PLACE


def search_cases(
    value: exp.Expr, starts: Sequence[exp.Expr], results: Sequence[exp.Expr]
) -> exp.Expr:
    """Return the result whose range holds `value`: result i + 1 begins with start i. Found by halving."""
    if not starts:
        return results[0]
    half = len(starts) // 2
    below = exp.LT(this=value.copy(), expression=starts[half].copy())
    return exp.Case(
        ifs=[exp.If(this=below, true=search_cases(value, starts[:half], results[: half + 1]))],
        default=search_cases(value, starts[half + 1 :], results[half + 1 :]),
    )


def match_cases(
    value: exp.Expr, literals: Sequence[exp.Expr], codes: Sequence[int], default: exp.Expr
) -> exp.Expr:
    """Return the code of the literal that `value` equals; literals stand in ascending order."""
    groups = [range(i, min(i + _AT_A_TIME, len(codes))) for i in range(0, len(codes), _AT_A_TIME)]
    leaves: list[exp.Expr] = [
        exp.Case(
            ifs=[
                exp.If(
                    this=exp.EQ(this=value.copy(), expression=literals[i].copy()),
                    true=build.number(codes[i]),
                )
                for i in group
            ],
            default=default.copy(),
        )
        for group in groups
    ]
    return search_cases(value, [literals[group[0]] for group in groups[1:]], leaves)
