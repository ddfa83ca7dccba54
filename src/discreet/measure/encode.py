"""Columns as small whole numbers, exactly: the engine maps each distinct value to a code."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from sqlglot import exp

from discreet.arrow import ArrowArray
from discreet.engines.engine import Column, Engine, Kind
from discreet.errors import WrongUsage
from discreet.sql import build

# Whole numbers in a span this small are coded by subtraction; anything wider gets a dictionary.
_WIDEST_SPAN = 2**31
# A packed key stays below this, so that no engine's signed 64-bit arithmetic can overflow.
_KEY_LIMIT = 2**62


def comparable_value(column: Column, *, of: str | None = None) -> exp.Expr:
    """Return the value of `column` in a form that every engine groups and joins alike.

    Negative zero equals zero, and lists, structs or bytes are compared by their text.
    """
    tree = build.column(column.name, of=of)
    if column.kind is Kind.REAL:
        return exp.Add(this=tree, expression=exp.cast(build.number(0), exp.DataType.Type.DOUBLE))
    if column.kind is Kind.OTHER:
        return exp.cast(tree, exp.DataType.Type.TEXT)
    return tree


def sensitive_value(column: Column, *, of: str | None = None) -> exp.Expr:
    """Return the value of a sensitive column in its comparable form; an empty text is no value.

    To a reader of a release, an empty cell says as little as a missing one, and would otherwise be
    another value beside the one that all others of a class have.
    """
    value = comparable_value(column, of=of)
    if column.kind is not Kind.TEXT:
        return value
    is_filled = exp.NEQ(this=exp.Trim(this=value.copy()), expression=build.text(""))
    return exp.Case(ifs=[exp.If(this=is_filled, true=value)])


def weight_value(weight: Column, *, of: str | None = None) -> exp.Expr:
    """Return how many people a row stands for: its weight, or itself alone where that is not positive.

    Raises:
        WrongUsage: The weight is not a column of numbers.
    """
    if not weight.kind.is_number:
        raise WrongUsage(
            f"The weight '{weight.name}' is no column of numbers. Weights are positive numbers: how many "
            "people of the population a row stands for."
        )
    number = exp.cast(build.column(weight.name, of=of), "double")
    return (
        exp.case()
        .when(is_positive(weight, of=of), number)
        .else_(exp.cast(build.number(1), "double"))
    )


def is_positive(weight: Column, *, of: str | None = None) -> exp.Expr:
    """Return the condition that a row has a weight: a positive number, and a finite one."""
    # Infinities and NaN are no numbers of people: both are above every finite number.
    number = exp.cast(build.column(weight.name, of=of), "double")
    largest = exp.cast(exp.Literal.number("1e300"), "double")
    return exp.and_(
        exp.GT(this=number, expression=build.number(0)),
        exp.LT(this=number.copy(), expression=largest),
    )


@dataclass(frozen=True)
class ListedDomain:
    """A column's distinct values, kept on the engine as `value, code, rows` in their own order.

    Codes run from 0; a missing value, if there is one, has the last code.
    """

    column: Column
    relation: exp.Table
    cardinality: int
    has_missing: bool
    missing_rows: int = 0

    def join(self, *, value: exp.Expr, alias: str) -> exp.Join:
        """Return the join that brings the dictionary under `alias`."""
        # An equality join is hashed on every engine; IS NOT DISTINCT FROM is not in PostgreSQL.
        return exp.Join(
            this=build.aliased_table(self.relation, alias),
            side="LEFT",
            on=exp.EQ(this=value, expression=build.column("value", of=alias)),
        )

    def code(self, *, value: exp.Expr, alias: str) -> exp.Expr:
        """Return the code of `value`, NULL when the column never holds it."""
        listed = build.column("code", of=alias)
        if not self.has_missing:
            return listed
        missing = build.number(self.cardinality - 1)
        return exp.case().when(build.is_null(value), missing).else_(listed)

    def values(self, engine: Engine, codes: Sequence[int]) -> list[object]:
        """Return the values behind `codes`, None for the missing value."""
        if not codes:
            return []
        try:
            lookup = self._look_up_values(engine, codes, build.column("value"))
        except (OverflowError, ValueError):  # a day after the year 9999, a fine clock
            lookup = None
        if lookup is None:
            lookup = self._look_up_values(
                engine, codes, exp.cast(build.column("value"), exp.DataType.Type.TEXT)
            )
        return [lookup.get(int(code)) for code in codes]

    def _look_up_values(
        self, engine: Engine, codes: Sequence[int], value: exp.Expr
    ) -> dict[int, object]:
        wanted = [build.number(int(code)) for code in sorted(set(codes))]
        query = build.select(
            build.column("code"), build.alias_as(value, "value"), source=self.relation
        ).where(exp.In(this=build.column("code"), expressions=wanted))
        found = engine.run(query)
        return dict(zip(found["code"].to_pylist(), found["value"].to_pylist(), strict=True))

    def counts(self, engine: Engine) -> NDArray[np.int64]:
        """Return the number of rows behind each code, in the order of the codes."""
        query = build.order_nulls_last(
            build.select(build.column("rows"), source=self.relation), [build.column("code")]
        )
        found = [batch.column(0).to_numpy(zero_copy_only=False) for batch in engine.stream(query)]
        tail = [np.array([self.missing_rows], dtype=np.int64)] if self.has_missing else []
        return np.concatenate([np.empty(0, np.int64), *found, *tail]).astype(np.int64)

    def all_values(self, engine: Engine) -> ArrowArray:
        """Return every value that is not missing, in the order of the codes."""
        query = build.order_nulls_last(
            build.select(build.column("value"), source=self.relation), [build.column("code")]
        )
        return pa.chunked_array(engine.run(query)["value"]).combine_chunks()


@dataclass(frozen=True)
class SpanDomain:
    """A column of whole numbers within `low … high`: a code is the distance from `low`."""

    column: Column
    low: int
    high: int
    has_missing: bool

    @property
    def cardinality(self) -> int:
        """The number of codes, whether or not a row has them all."""
        return self.high - self.low + 1 + self.has_missing

    def code(self, *, value: exp.Expr, alias: str) -> exp.Expr:  # noqa: ARG002 -- one shape with Listed
        """Return the code of `value`, NULL when it lies outside the span."""
        low, high = build.number(self.low), build.number(self.high)
        inside = exp.Between(this=value.copy(), low=low, high=high)
        distance = exp.Sub(
            this=exp.cast(value.copy(), exp.DataType.Type.BIGINT), expression=low.copy()
        )
        tree = exp.case().when(inside, distance)
        if self.has_missing:
            tree = tree.when(build.is_null(value.copy()), build.number(self.cardinality - 1))
        return tree

    def values(self, engine: Engine, codes: Sequence[int]) -> list[object]:  # noqa: ARG002
        """Return the values behind `codes`, None for the missing value."""
        missing = self.cardinality - 1 if self.has_missing else -1
        return [None if code == missing else self.low + int(code) for code in codes]


Domain = ListedDomain | SpanDomain


@dataclass(frozen=True)
class Packing:
    """How the codes of several columns share a few 64-bit keys: mixed radix, no collision."""

    domains: tuple[Domain, ...]
    groups: tuple[tuple[int, ...], ...] = field(default=())

    @property
    def keys(self) -> tuple[str, ...]:
        """The names of the key columns."""
        return tuple(f"k{index}" for index in range(len(self.groups)))

    def expressions(self, codes: Sequence[exp.Expr]) -> list[exp.Expr]:
        """Return one key expression per group, NULL where any code is NULL."""
        return [
            build.alias_as(self._combine_codes([codes[i] for i in group], group), name)
            for name, group in zip(self.keys, self.groups, strict=True)
        ]

    def _combine_codes(self, codes: Sequence[exp.Expr], group: Sequence[int]) -> exp.Expr:
        tree: exp.Expr = exp.cast(exp.paren(codes[0].copy()), exp.DataType.Type.BIGINT)
        for code, index in zip(codes[1:], group[1:], strict=True):
            radix = build.number(self.domains[index].cardinality)
            scaled = exp.Mul(this=exp.paren(tree), expression=radix)
            tree = exp.Add(this=scaled, expression=exp.paren(code.copy()))
        return tree

    def code_of(self, index: int, *, of: str | None = None) -> exp.Expr:
        """Return the code of the column at `index`, read back from its key."""
        name, group = next(
            (name, group)
            for name, group in zip(self.keys, self.groups, strict=True)
            if index in group
        )
        below = 1
        for later in group[group.index(index) + 1 :]:
            below *= self.domains[later].cardinality
        tree: exp.Expr = build.column(name, of=of)
        if below > 1:
            tree = exp.cast(
                exp.IntDiv(this=tree, expression=build.number(below)), exp.DataType.Type.BIGINT
            )
        if group[0] != index:
            cardinality = build.number(self.domains[index].cardinality)
            tree = exp.Mod(this=exp.paren(tree), expression=cardinality)
        return tree

    def decode(self, keys: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the codes, one column each, of rows of keys."""
        codes = np.empty((len(keys), len(self.domains)), dtype=np.int64)
        for position, group in enumerate(self.groups):
            rest = keys[:, position].copy()
            for index in reversed(group):
                rest, codes[:, index] = np.divmod(rest, self.domains[index].cardinality)
        return codes


def pack_domains(domains: Sequence[Domain]) -> Packing:
    """Return a packing of `domains` into as few keys as 64 bits allow."""
    groups: list[list[int]] = [[]]
    size = 1
    for index, domain in enumerate(domains):
        if groups[-1] and size * domain.cardinality >= _KEY_LIMIT:
            groups.append([])
            size = 1
        groups[-1].append(index)
        size *= max(domain.cardinality, 1)
    return Packing(tuple(domains), tuple(tuple(group) for group in groups))


@dataclass(frozen=True)
class CodeSource:
    """A kept table of groups: where columns get their codes from; `rows` is how many rows each has."""

    engine: Engine
    relation: exp.Table
    rows: int


def list_values(source: CodeSource, column: Column, *, name: str) -> ListedDomain:
    """Return the dictionary of `column`, which the source calls `name`."""
    value = build.column(name)
    grouped = build.select(
        build.alias_as(value, "value"),
        build.alias_as(build.sum_integers(build.column("rows")), "rows"),
        source=source.relation.copy(),
    ).group_by(value.copy())
    order = exp.Order(expressions=[exp.Ordered(this=build.column("value"), nulls_first=False)])
    position = exp.Window(this=exp.RowNumber(), order=order)
    numbered = build.select(
        build.column("value"),
        build.alias_as(exp.Sub(this=position, expression=build.number(1)), "code"),
        build.column("rows"),
        source=build.subquery(grouped, "grouped"),
    ).where(exp.not_(build.is_null(build.column("value"))))
    relation = source.engine.keep(numbered)
    known = source.engine.run(
        build.select(
            build.alias_as(build.count_star(), "values"),
            build.alias_as(build.sum_integers(build.column("rows")), "rows"),
            source=relation.copy(),
        )
    ).to_pylist()[0]
    missing = source.rows - int(known["rows"] or 0)
    return ListedDomain(
        column, relation, int(known["values"]) + (missing > 0), missing > 0, missing
    )


def encode_domains(source: CodeSource, columns: Mapping[str, Column]) -> tuple[Domain, ...]:
    """Return how each column is coded; whole numbers in a small span need no dictionary.

    Args:
        source: The groups.
        columns: Each column by the name the source calls it.
    """
    whole = [name for name, column in columns.items() if column.kind is Kind.INTEGER]
    spans = _measure_spans(source, whole, columns)
    return tuple(
        spans.get(name) or list_values(source, column, name=name)
        for name, column in columns.items()
    )


def _measure_spans(
    source: CodeSource, names: Sequence[str], columns: Mapping[str, Column]
) -> dict[str, SpanDomain]:
    if not names:
        return {}
    measures: list[exp.Expr] = [build.alias_as(build.count_star(), "groups")]
    for name in names:
        value = build.column(name)
        measures += [
            build.alias_as(exp.Min(this=value), f"{name}_low"),
            build.alias_as(exp.Max(this=value.copy()), f"{name}_high"),
            build.alias_as(exp.Count(this=value.copy()), f"{name}_known"),
        ]
    query = build.select(*measures, source=source.relation.copy())
    found = source.engine.run(query).to_pylist()[0]
    spans: dict[str, SpanDomain] = {}
    for name in names:
        low, high = found[f"{name}_low"], found[f"{name}_high"]
        if low is None or int(high) - int(low) >= _WIDEST_SPAN:
            continue
        if int(low) < -_KEY_LIMIT or int(high) > _KEY_LIMIT:
            continue  # subtraction could leave 64 bits
        has_missing = found[f"{name}_known"] < found["groups"]
        spans[name] = SpanDomain(columns[name], int(low), int(high), has_missing)
    return spans
