"""The steps of a policy done to a table, one after the other, on the table's engine."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from itertools import groupby
from typing import Any

import numpy as np
import pyarrow as pa
from sqlglot import exp

from discreet.arrow import ArrowArray
from discreet.engines.engine import ArrowTable, Column, Kind, Table
from discreet.errors import Bug, InvalidStep, UnknownColumn, WrongUsage, did_you_mean
from discreet.measure.encode import comparable_value
from discreet.policy.model import (
    AddNoise,
    BottomCode,
    Clip,
    Microaggregate,
    Pram,
    RankSwap,
    RoundNumbers,
    Step,
    SuppressCells,
    Swap,
    TopCode,
    step_name,
)
from discreet.policy.write import step_value
from discreet.release.steps.chance import secret_generator
from discreet.release.steps.columns import Perturbation, perturb_columns
from discreet.sql import build

_CODINGS = (Clip, TopCode, BottomCode, RoundNumbers)
_NUMERIC = (*_CODINGS, Microaggregate, AddNoise)
_RANDOM = (Pram, Swap, RankSwap, AddNoise)


@dataclass(frozen=True)
class StepRecord:
    """A step that was done: its entry in the manifest."""

    step: Step
    details: Mapping[str, object]

    def to_dict(self) -> dict[str, object]:
        """Return the step as the policy writes it, its promise, and what came of it."""
        return {**step_value(self.step), "promise": self.step.promise, **self.details}


@dataclass(frozen=True)
class SteppedTable:
    """A table after its steps, and what was done."""

    table: Table
    done: tuple[StepRecord, ...]


def needs_chance(steps: Sequence[Step]) -> bool:
    """Return whether any of `steps` draws random numbers."""
    return any(isinstance(step, _RANDOM) for step in steps)


def perform_steps(
    table: Table, steps: Sequence[Step], *, generator: np.random.Generator | None
) -> SteppedTable:
    """Do `steps` in their order and return the new table with what was done.

    Coding and rounding run on the engine, at any size. The other steps bring the columns they name
    into memory, and nothing else. The order of the source's rows has no part in the result, and every
    engine gives the same one. The new table is kept on the engine until its relation is dropped.

    Raises:
        UnknownColumn: A step names a column that is not in the table.
        InvalidStep: A step does not fit its column.
        WrongUsage: A step needs chance and there is no `generator`.
    """
    for step in steps:
        _check(step, table)
    if generator is None and needs_chance(steps):
        raise WrongUsage("A step draws random numbers. Give it a generator.")
    current, done = table, list[StepRecord]()
    for is_coding, group in groupby(steps, key=lambda step: isinstance(step, _CODINGS)):
        run = list(group)
        previous = current
        if is_coding:
            current = _apply_codings(current, [step for step in run if isinstance(step, _CODINGS)])
            done += [StepRecord(step, {}) for step in run]
        else:
            current, found = _apply_perturbations(current, run, generator or secret_generator(None))
            done += found
        if previous is not table:
            table.engine.drop(previous.relation)
    return SteppedTable(current, tuple(done))


def step_columns(step: Step) -> tuple[str, ...]:
    """Return the columns that `step` names, those it reads as well as those it changes."""
    if isinstance(step, Swap):
        return (*step.columns, *step.match)
    if isinstance(step, (Microaggregate, SuppressCells)):
        return step.columns
    return (step.column,)


def _check(step: Step, table: Table) -> None:
    name = step_name(step)
    if isinstance(step, SuppressCells):
        raise Bug(f"The step {name} is no matter of single columns.")
    for column_name in step_columns(step):
        column = table.column(column_name)
        if column is None:
            near = did_you_mean(column_name, [column.name for column in table.columns])
            raise UnknownColumn(
                f"The step {name} names column '{column_name}', which is not in {table.label}.{near}"
            )
        needed = _describe_misfit(step, column)
        if needed:
            raise InvalidStep(
                f"The step {name} needs {needed}, but column '{column.name}' of {table.label} holds "
                f"{column.kind.value} values. Name another column, or convert it first."
            )
        if isinstance(step, _CODINGS):
            code_value(step, column)  # refuses numbers that the column cannot hold


def _describe_misfit(step: Step, column: Column) -> str | None:
    """Return in words what `step` needs and `column` has not."""
    if isinstance(step, _NUMERIC) and not column.kind.is_number:
        return "numbers"
    if isinstance(step, RankSwap) and not column.kind.is_ordered:
        return "numbers, dates or times"
    if not isinstance(step, _NUMERIC) and column.kind is Kind.OTHER:
        return "plain values"
    return None


def _apply_codings(table: Table, steps: Sequence[Coding]) -> Table:
    source = table.relation.copy()
    for step in steps:
        wanted = [
            build.alias_as(code_value(step, column), column.name)
            if column.name == step.column
            else build.column(column.name)
            for column in table.columns
        ]
        # One query inside the other: put into each other, the expressions would double every time.
        source = build.subquery(build.select(*wanted, source=source), "t")
    types = decimal_types(table, steps)
    wanted = [
        build.alias_as(exp.cast(build.column(column.name), types[column.name]), column.name)
        if column.name in types
        else build.column(column.name)
        for column in table.columns
    ]
    relation = table.engine.keep(build.select(*wanted, source=source))
    return replace(table, relation=relation, columns=table.engine.columns(relation))


def _apply_perturbations(
    table: Table, steps: Sequence[Step], generator: np.random.Generator
) -> tuple[Table, list[StepRecord]]:
    needed = list(dict.fromkeys(name for step in steps for name in step_columns(step)))
    numbered = number_rows(table)
    try:
        found = numbered.read(needed)
        columns: dict[str, ArrowArray] = {
            name: pa.chunked_array(found[name]).combine_chunks() for name in needed
        }
        del found
        changed: dict[str, ArrowArray] = {}
        done: list[StepRecord] = []
        for step in steps:
            if not isinstance(step, Perturbation):
                raise Bug(f"The step {step_name(step)} is no perturbation.")
            result, details = perturb_columns(step, columns, generator=generator)
            columns |= result
            changed |= result
            done.append(StepRecord(step, details))
        relation = numbered.write(changed)
    finally:
        table.engine.drop(numbered.relation)
    return replace(table, relation=relation, columns=table.engine.columns(relation)), done


@dataclass(frozen=True)
class NumberedTable:
    """A table whose rows are numbered in the order of all of their values.

    Rows with the same number on two engines, or after a shuffle of the source, are alike in every
    column: what is computed from the numbered rows does not depend on where or in which order they
    were stored.
    """

    table: Table
    relation: exp.Table
    number: str  # the name of the column that holds the numbers

    def read(self, columns: Sequence[str]) -> ArrowTable:
        """Return some columns in the order of the numbers, all rows in memory."""
        query = build.select(*(build.column(name) for name in columns), source=self.relation)
        return self.table.engine.run(build.order_nulls_last(query, [build.column(self.number)]))

    def write(self, changed: Mapping[str, ArrowArray]) -> exp.Table:
        """Keep the table with some columns changed, in the old order of columns."""
        engine = self.table.engine
        rows = len(next(iter(changed.values())))
        # Not by their own names: one of them may be called as the number is.
        names = {name: f"c{index}" for index, name in enumerate(changed)}
        loaded = engine.load(
            pa.table(
                {
                    "number": pa.array(np.arange(1, rows + 1)),
                    **{names[name]: values for name, values in changed.items()},
                }
            ).to_reader()
        )
        wanted = [
            build.alias_as(
                build.column(names[column.name], of="new")
                if column.name in names
                else build.column(column.name, of="old"),
                column.name,
            )
            for column in self.table.columns
        ]
        query = build.select(*wanted, source=build.aliased_table(self.relation, "old")).join(
            exp.Join(
                this=build.aliased_table(loaded, "new"),
                on=exp.EQ(
                    this=build.column(self.number, of="old"),
                    expression=build.column("number", of="new"),
                ),
            )
        )
        try:
            return engine.keep(query)
        finally:
            engine.drop(loaded)


def number_rows(table: Table) -> NumberedTable:
    """Return `table` with its rows numbered from 1; drop its relation when it was read."""
    number = "number"
    while table.column(number) is not None:
        number += "_"
    order = [exp.Ordered(this=comparable_value(c), nulls_first=False) for c in table.columns]
    position = exp.Window(this=exp.RowNumber(), order=exp.Order(expressions=order))
    wanted = [build.column(column.name) for column in table.columns]
    query = build.select(
        *wanted, build.alias_as(exp.cast(position, "bigint"), number), source=table.relation.copy()
    )
    return NumberedTable(table, table.engine.keep(query), number)


Coding = Clip | TopCode | BottomCode | RoundNumbers

# From here on doubles have no digits behind the point, and some engines' FLOOR no room.
_WHOLE_FROM = 2**52


def code_value(step: Coding, column: Column) -> exp.Expr:
    """Return the value of `column` after `step`; a missing value and NaN stay what they are.

    Raises:
        InvalidStep: The column holds whole numbers and the step another number.
    """
    if isinstance(step, RoundNumbers):
        return _round_value(column, base=step.base)
    low = step.bounds[0] if isinstance(step, Clip) else None
    high = step.bounds[1] if isinstance(step, Clip) else None
    if isinstance(step, BottomCode):
        low = step.at
    if isinstance(step, TopCode):
        high = step.at
    return _clip_value(column, low=low, high=high)


def decimal_types(table: Table, steps: Sequence[Coding]) -> dict[str, exp.DataType]:
    """Return the type with room for the coded values of each column of decimals, by its name.

    Without it PostgreSQL forgets how many digits the column has.
    """
    numbers: dict[str, list[Decimal]] = {}
    for step in steps:
        found = table.column(step.column)
        if found is not None and found.kind is Kind.DECIMAL:
            numbers.setdefault(step.column, []).extend(_numbers_of(step))
    if not numbers:
        return {}
    wanted = [build.column(name) for name in numbers]
    schema = table.engine.run(build.select(*wanted, source=table.relation.copy()).limit(0)).schema
    return {
        name: _decimal_type(schema.field(name).type, numbers[name])
        for name in numbers
        if pa.types.is_decimal128(schema.field(name).type)
    }


def _numbers_of(step: Coding) -> tuple[Decimal, ...]:
    if isinstance(step, Clip):
        return step.bounds
    return (step.base,) if isinstance(step, RoundNumbers) else (step.at,)


def _decimal_type(arrow: Any, numbers: Sequence[Decimal]) -> exp.DataType:
    written = [number.as_tuple() for number in numbers]
    scale = max(arrow.scale, *(-int(number.exponent) for number in written))
    before = [number.adjusted() + 1 for number in numbers]
    # A digit more than either has: 9.95 is rounded to 10.
    whole = max(arrow.precision - arrow.scale, *before) + 1
    digits = [build.number(min(38, whole + scale)), build.number(scale)]
    return exp.DataType(
        this=exp.DataType.Type.DECIMAL,
        expressions=[exp.DataTypeParam(this=number) for number in digits],
    )


def _clip_value(column: Column, *, low: Decimal | None, high: Decimal | None) -> exp.Expr:
    value = build.column(column.name)
    tree = exp.case()
    if column.kind is Kind.REAL:  # to the engines NaN is the largest number
        tree = tree.when(exp.EQ(this=value.copy(), expression=_double_literal("NaN")), value.copy())
    if low is not None:
        bound = _number_literal(low, column)
        tree = tree.when(exp.LT(this=value.copy(), expression=bound), bound.copy())
    if high is not None:
        bound = _number_literal(high, column)
        tree = tree.when(exp.GT(this=value.copy(), expression=bound), bound.copy())
    return tree.else_(value)


def _round_value(column: Column, *, base: Decimal) -> exp.Expr:
    value = build.column(column.name)
    size = exp.Abs(this=value.copy())
    if column.kind is Kind.REAL:
        nearest, condition = _nearest_real(size, base=base)
    else:
        nearest = _nearest_exact(size, base=_number_literal(base, column))
        condition = exp.not_(build.is_null(value.copy()))
    negative = exp.LT(this=value.copy(), expression=exp.Literal.number(0))
    return (
        exp.case()
        .when(exp.and_(condition, negative), exp.Neg(this=exp.Paren(this=nearest.copy())))
        .when(condition.copy(), nearest)
        .else_(value)
    )


def _nearest_exact(size: exp.Expr, *, base: exp.Expr) -> exp.Expr:
    """Return the multiple of `base` nearest to `size` without a division, which would round."""
    rest = exp.Mod(this=size, expression=base)
    twice = exp.Mul(this=rest.copy(), expression=exp.Literal.number(2))
    below = exp.Sub(this=size.copy(), expression=rest)
    above = exp.Add(this=below.copy(), expression=base.copy())
    return exp.case().when(exp.GTE(this=twice, expression=base.copy()), above).else_(below)


def _nearest_real(size: exp.Expr, *, base: Decimal) -> tuple[exp.Expr, exp.Expr]:
    """Return the multiple of `base` nearest to `size`, and for which sizes this can be computed."""
    # As p / q, so that the last operation gives the double nearest to the multiple: 0.3, not 3 * 0.1.
    p, q = (_double_literal(str(part)) for part in base.as_integer_ratio())
    scaled = exp.Div(this=exp.Mul(this=size, expression=q), expression=p)
    half = exp.Add(this=scaled, expression=_double_literal("0.5"))
    multiple = exp.Mul(this=exp.cast(exp.Floor(this=half), "double"), expression=p.copy())
    largest = _double_literal(repr(float(base) * _WHOLE_FROM))
    condition = exp.LT(this=size.copy(), expression=largest)
    return exp.Div(this=multiple, expression=q.copy()), condition


def _number_literal(number: Decimal, column: Column) -> exp.Expr:
    """Return `number` as a literal of the column's kind."""
    if column.kind is Kind.REAL:
        return _double_literal(repr(float(number)))
    if column.kind is Kind.INTEGER and number != number.to_integral_value():
        raise InvalidStep(
            f"Column '{column.name}' holds whole numbers, but a step gives it {number:f}. "
            "Write a whole number in the step."
        )
    if column.kind is Kind.INTEGER:
        number = number.to_integral_value()
    literal = exp.Literal.number(format(abs(number), "f"))
    return exp.Neg(this=literal) if number < 0 else literal


def _double_literal(text: str) -> exp.Expr:
    # From text every engine takes the nearest double; from a decimal literal some do not.
    return exp.cast(build.text(text), "double")
