"""A resolved statement: the aggregates of people's rows, and the query over their answers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sqlglot import exp

    from discreet.answer.aggregates import Aggregate
    from discreet.answer.expressions.typed import TypedExpression
    from discreet.answer.rows import Rows


@dataclass(frozen=True)
class PrivateQuery:
    """One grouping of people's rows; everything released about people comes from leaves.

    `name` is what its released table is called. `sets` are the groupings wanted, each a tuple of positions of `keys`; the finest one is first.
    """

    name: str
    rows: Rows
    keys: tuple[TypedExpression, ...]
    aggregates: tuple[Aggregate, ...]
    sets: tuple[tuple[int, ...], ...]


@dataclass(frozen=True)
class Question:
    """The leaves, and the query over their released tables that gives the answer.

    `is_direct` means that it is one SELECT over the one leaf, so that errors are known. `searched` are
    the columns, each with its table, whose bounds must be found before it is answered.
    """

    private_queries: tuple[PrivateQuery, ...]
    post_processing: exp.Query
    names: tuple[str, ...]
    is_direct: bool
    searched: tuple[tuple[str, str], ...] = ()


def key_name(number: int) -> str:
    """Return the name of a key's column there."""
    return f"k{number}"


def aggregate_name(number: int) -> str:
    """Return the name of an aggregate's column there."""
    return f"a{number}"
