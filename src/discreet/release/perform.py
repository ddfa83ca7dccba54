"""The steps of a release before its classes are made, cell suppression among them."""

from __future__ import annotations

from dataclasses import replace
from itertools import groupby
from typing import TYPE_CHECKING

from discreet.errors import WrongUsage
from discreet.measure.classes import group
from discreet.measure.subject import bind
from discreet.policy import model
from discreet.release.anonymize.read import read_problem
from discreet.release.recode import recode
from discreet.release.steps.apply import Done, needs_chance, perform_steps
from discreet.release.steps.chance import secret_generator
from discreet.sql import build

if TYPE_CHECKING:
    from collections.abc import Sequence

    from discreet.engines.engine import Table


def perform(
    table: Table, steps: Sequence[model.Step], policy: model.Table, *, key: bytes | None
) -> tuple[Table, tuple[Done, ...]]:
    """Return the table after `steps`, kept on its engine, and what a manifest tells of them."""
    generator = secret_generator(key) if needs_chance(steps) else None
    done: list[Done] = []
    for of_cells, run in groupby(steps, key=lambda step: isinstance(step, model.SuppressCells)):
        if not of_cells:
            stepped = perform_steps(table, list(run), generator=generator)
            table = stepped.table
            done += stepped.done
            continue
        for step in run:
            if isinstance(step, model.SuppressCells):
                table, told = _suppress_cells(table, step, policy)
                done.append(told)
    return table, tuple(done)


def _suppress_cells(
    table: Table, step: model.SuppressCells, policy: model.Table
) -> tuple[Table, Done]:
    from discreet.release.anonymize.cells import suppress_cells_greedily
    from discreet.release.anonymize.optimal_cells import suppress_cells_optimally

    names = step.columns or policy.with_role(model.Role.QUASI_IDENTIFIER)
    if not names:
        raise WrongUsage("The step suppress-cells has no columns. Name them under `columns:`.")
    plain = tuple(model.Column(name, model.Role.QUASI_IDENTIFIER) for name in names)
    bound = bind(table, policy=replace(policy, columns=plain, criteria=()), quasi=names)
    reading = read_problem(group(bound.subject), bound, [model.KAnonymity(step.k)])
    method = suppress_cells_optimally if step.method == "optimal" else suppress_cells_greedily
    recoding = method(reading.problem)
    recoded = recode(reading, recoding, leave_out=(), drop_suppressed=False)
    relation = table.engine.keep(
        build.select(
            *(build.column(column.name) for column in table.columns),
            source=build.subquery(recoded.query, "r"),
        )
    )
    changed = replace(table, relation=relation, columns=table.engine.columns(relation))
    return changed, Done(step, dict(recoding.notes))
