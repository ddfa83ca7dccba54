"""The steps of a policy done to a table, one after the other, on the table's engine."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import groupby

import numpy as np
import pyarrow as pa
from sqlglot import exp

from discreet.arrow import ArrowArray
from discreet.engines.engine import Column, Kind, Table
from discreet.errors import Bug, InvalidStep, UnknownColumn, WrongUsage, did_you_mean
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
from discreet.release.steps.coding import Coding, code_value, decimal_types
from discreet.release.steps.columns import Perturbation, perturb_columns
from discreet.release.steps.rows import number_rows
from discreet.sql import build

_CODINGS = (Clip, TopCode, BottomCode, RoundNumbers)
_NUMERIC = (*_CODINGS, Microaggregate, AddNoise)
_RANDOM = (Pram, Swap, RankSwap, AddNoise)
_NUMBERS = (Kind.INTEGER, Kind.DECIMAL, Kind.REAL)


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


def apply_steps(
    table: Table, steps: Sequence[Step], *, generator: np.random.Generator | None
) -> Table:
    """Return `table` after `steps`, on the same engine, with the same columns in the same order.

    The table of `perform_steps`, without manifest entries.
    """
    return perform_steps(table, steps, generator=generator).table


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
    if isinstance(step, _NUMERIC) and column.kind not in _NUMBERS:
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
