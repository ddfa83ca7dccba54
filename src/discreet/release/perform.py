"""The steps of a release before its classes are made, cell suppression among them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import groupby

from discreet.engines.engine import Table
from discreet.errors import WrongUsage
from discreet.measure.classes import group_cells
from discreet.measure.roles import bind_roles
from discreet.policy import model
from discreet.release.anonymize.read import read_problem
from discreet.release.recode import recode_table
from discreet.release.steps.apply import StepRecord, needs_chance, perform_steps
from discreet.release.steps.chance import secret_generator
from discreet.sql import build


def perform_release_steps(
    table: Table, steps: Sequence[model.Step], policy: model.TablePolicy, *, key: bytes | None
) -> tuple[Table, tuple[StepRecord, ...]]:
    """Return the table after `steps`, kept on its engine, and their entries in the manifest."""
    generator = secret_generator(key) if needs_chance(steps) else None
    done: list[StepRecord] = []
    for of_cells, run in groupby(steps, key=lambda step: isinstance(step, model.SuppressCells)):
        if not of_cells:
            stepped = perform_steps(table, list(run), generator=generator)
            table = stepped.table
            done += stepped.done
            continue
        for step in run:
            if isinstance(step, model.SuppressCells):
                table, entry = _suppress_cells(table, step, policy)
                done.append(entry)
    return table, tuple(done)


def _suppress_cells(
    table: Table, step: model.SuppressCells, policy: model.TablePolicy
) -> tuple[Table, StepRecord]:
    from discreet.release.anonymize.cells import suppress_cells_greedily
    from discreet.release.anonymize.optimal_cells import suppress_cells_optimally

    names = step.columns or policy.with_role(model.ColumnRole.QUASI_IDENTIFIER)
    if not names:
        raise WrongUsage("The step suppress-cells has no columns. Name them under `columns:`.")
    plain = tuple(model.ColumnPolicy(name, model.ColumnRole.QUASI_IDENTIFIER) for name in names)
    bound = bind_roles(table, policy=replace(policy, columns=plain, criteria=()), quasi=names)
    reading = read_problem(group_cells(bound.subject), bound, [model.KAnonymity(step.k)])
    method = suppress_cells_optimally if step.method == "optimal" else suppress_cells_greedily
    recoding = method(reading.problem)
    recoded = recode_table(reading, recoding, leave_out=(), drop_suppressed=False)
    relation = table.engine.keep(
        build.select(
            *(build.column(column.name) for column in table.columns),
            source=build.subquery(recoded.query, "r"),
        )
    )
    changed = replace(table, relation=relation, columns=table.engine.columns(relation))
    return changed, StepRecord(step, dict(recoding.notes))
