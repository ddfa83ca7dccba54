"""Yes or no for each criterion of a policy."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from sqlglot import exp

from discreet.errors import InvalidCriterion
from discreet.measure.assessment import ClassView, CriterionVerdict
from discreet.measure.classes import Cells, people_in
from discreet.measure.criteria.evaluate import TOLERANCE, ColumnMeasurements, Failures
from discreet.measure.describe import describe_classes
from discreet.measure.presence import Matched
from discreet.policy import model
from discreet.sql import build

if TYPE_CHECKING:
    from discreet.measure.roles import RoleBinding

SHOWN = 3

NAMES: Mapping[type, str] = {kind: name for name, kind in model.CRITERIA.items()}


def required_parameters(criterion: model.Criterion) -> dict[str, Any]:
    """Return the criterion's parameters as the policy names them."""
    return {
        part.name: value
        for part in dataclasses.fields(criterion)
        if part.name not in ("column", "line")
        and (value := getattr(criterion, part.name)) is not None
        and not (part.name == "missing" and value == part.default)
    }


def column_verdict(cells: Cells, failures: Failures, found: ColumnMeasurements) -> CriterionVerdict:
    """Return the verdict on a criterion about one sensitive column."""
    criterion = failures.trial.criterion
    tally = found.tallies[failures.trial.measure.name]
    worst = tally.worst
    shown: tuple[ClassView, ...] = ()
    if failures.classes and worst is not None:
        shown = describe_classes(cells, worst.keys, worst.sizes.tolist(), worst.scores.tolist())
    return CriterionVerdict(
        criterion=NAMES[type(criterion)],
        column=getattr(criterion, "column", None),
        required=required_parameters(criterion),
        reached=tally.level,
        holds=failures.classes == 0,
        failing_classes=failures.classes,
        failing_people=people_failing(cells, failures),
        worst=shown,
    )


def people_failing(cells: Cells, failures: Failures) -> int:
    """Return how many people are in the failing classes, each counted once."""
    if cells.subject.unit is None or not failures.classes:
        return failures.people
    keys = np.concatenate(failures.keys)
    names = cells.packing.keys
    failing = pa.table({name: keys[:, index] for index, name in enumerate(names)})
    engine = cells.subject.table.engine
    relation = engine.load(failing.to_reader())
    try:
        columns = [build.column(name) for name in names]
        return people_in(cells, build.select(*columns, source=relation))
    finally:
        engine.drop(relation)


def _people_where(cells: Cells, relation: exp.Table, condition: exp.Expr) -> int:
    keys = [build.column(name) for name in cells.packing.keys]
    return people_in(cells, build.select(*keys, source=relation.copy()).where(condition))


def judge_sizes(
    cells: Cells,
    bound: RoleBinding,
    relation: exp.Table,
    sizes: NDArray[np.int64],
    classes: NDArray[np.int64],
) -> dict[model.Criterion, CriterionVerdict]:
    """Return the verdicts on k-anonymity from the histogram of class sizes."""
    verdicts: dict[model.Criterion, CriterionVerdict] = {}
    for criterion in bound.policy.criteria if bound.policy else ():
        if isinstance(criterion, model.KAnonymity):
            small = sizes < criterion.k
            verdicts[criterion] = CriterionVerdict(
                criterion=NAMES[model.KAnonymity],
                column=None,
                required=required_parameters(criterion),
                reached=int(sizes[0]) if len(sizes) else None,
                holds=not small.any(),
                failing_classes=int(classes[small].sum()),
                failing_people=_people_where(cells, relation, _is_below("size", criterion.k))
                if small.any()
                else 0,
                worst=smallest_classes(cells, relation, "size") if small.any() else (),
            )
    return verdicts


def _is_below(name: str, least: int) -> exp.Expr:
    return exp.LT(this=build.column(name), expression=build.number(least))


def judge_population(
    cells: Cells, bound: RoleBinding, matched: Matched | None
) -> dict[model.Criterion, CriterionVerdict]:
    """Return the verdicts on k-map and δ-presence, which need a population."""
    verdicts: dict[model.Criterion, CriterionVerdict] = {}
    for criterion in bound.policy.criteria if bound.policy else ():
        if not isinstance(criterion, (model.KMap, model.DeltaPresence)):
            continue
        if matched is None:
            raise InvalidCriterion(
                f"The criterion {NAMES[type(criterion)]} compares the table with its population. "
                "Name the population's table with --against."
            )
        if isinstance(criterion, model.KMap):
            verdicts[criterion] = _k_map(cells, criterion, matched)
        else:
            verdicts[criterion] = _delta_presence(cells, criterion, matched)
    return verdicts


def _k_map(cells: Cells, criterion: model.KMap, matched: Matched) -> CriterionVerdict:
    few = matched.among < criterion.k
    return CriterionVerdict(
        criterion=NAMES[model.KMap],
        column=None,
        required=required_parameters(criterion),
        reached=int(matched.among.min()) if len(matched.among) else None,
        holds=not few.any(),
        failing_classes=int(matched.classes[few].sum()),
        failing_people=_people_where(cells, matched.relation, _is_below("among", criterion.k))
        if few.any()
        else 0,
        worst=smallest_classes(cells, matched.relation, "among") if few.any() else (),
    )


def _delta_presence(
    cells: Cells, criterion: model.DeltaPresence, matched: Matched
) -> CriterionVerdict:
    lowest, highest = matched.presence
    chances = matched.chances
    outside = (chances < criterion.lower - TOLERANCE) | (chances > criterion.upper + TOLERANCE)
    absent = matched.outside if criterion.lower > TOLERANCE else 0
    return CriterionVerdict(
        criterion=NAMES[model.DeltaPresence],
        column=None,
        required=required_parameters(criterion),
        reached=[lowest, highest],
        holds=not outside.any() and not absent,
        failing_classes=int(matched.classes[outside].sum()),
        failing_people=absent
        + (
            _people_where(cells, matched.relation, _is_outside_bounds(criterion))
            if outside.any()
            else 0
        ),
        worst=_surest_classes(cells, criterion, matched) if outside.any() else (),
    )


def _is_outside_bounds(criterion: model.DeltaPresence) -> exp.Expr:
    """Return the condition that a class's chance of presence is outside the bounds."""
    size, among = build.column("size"), build.column("among")
    lowest, highest = (
        exp.Mul(this=exp.cast(among.copy(), "double"), expression=exp.Literal.number(repr(bound)))
        for bound in (criterion.lower - TOLERANCE, criterion.upper + TOLERANCE)
    )
    return build.any_of(
        [
            exp.LT(this=size.copy(), expression=lowest),
            exp.GT(this=size.copy(), expression=highest),
        ]
    )


def _surest_classes(
    cells: Cells, criterion: model.DeltaPresence, matched: Matched
) -> tuple[ClassView, ...]:
    """Return the classes whose people are most surely in the table, or else most surely not."""
    upper = criterion.upper + TOLERANCE
    too_sure = matched.presence[1] > upper
    keys = list(cells.packing.keys)
    size, among = build.column("size"), build.column("among")
    # A class that the population lacks has no chance to compute and the highest of all.
    chance = exp.Div(
        this=exp.cast(size.copy(), "double"),
        expression=exp.Nullif(this=among.copy(), expression=build.number(0)),
    )
    order = [exp.Ordered(this=chance, desc=too_sure, nulls_first=too_sure)]
    order += [exp.Ordered(this=build.column(key), nulls_first=False) for key in keys]
    columns = [build.column(key) for key in keys]
    query = build.select(*columns, size, among, source=matched.relation.copy())
    found = cells.subject.table.engine.run(query.order_by(*order).limit(SHOWN))
    sizes, others = (found.column(name).to_numpy() for name in ("size", "among"))
    with np.errstate(divide="ignore"):
        chances = sizes / others
    bad = chances > upper if too_sure else chances < criterion.lower - TOLERANCE
    table = np.column_stack([found.column(name).to_numpy() for name in keys]).astype(np.int64)
    return describe_classes(cells, table[bad], sizes[bad].tolist(), chances[bad].tolist())


def smallest_classes(
    cells: Cells, relation: exp.Table, by: str, *, count: int = SHOWN
) -> tuple[ClassView, ...]:
    """Return the classes with the smallest `by`, one of the relation's numbers."""
    keys = list(cells.packing.keys)
    columns = [build.column(name) for name in (*keys, "size", by)]
    order = [build.column(name) for name in (by, *keys)]
    named = [*columns[:-1], build.alias_as(columns[-1], "level")]
    query = build.order_nulls_last(build.select(*named, source=relation.copy()), order).limit(count)
    found = cells.subject.table.engine.run(query)
    table = np.column_stack([found.column(name).to_numpy() for name in keys]).astype(np.int64)
    return describe_classes(
        cells, table, found.column("size").to_pylist(), found.column("level").to_pylist()
    )
