"""Yes or no for each criterion of a policy."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from sqlglot import exp

from discreet.criteria.criterion import Criterion, PopulationCriterion, SensitiveCriterion
from discreet.errors import InvalidCriterion
from discreet.measure.assessment import ClassView, CriterionVerdict
from discreet.measure.classes import Cells, people_in
from discreet.measure.describe import describe_classes
from discreet.measure.evaluate import ColumnMeasurements, Failures
from discreet.measure.presence import Matched
from discreet.sql import build

if TYPE_CHECKING:
    from discreet.measure.roles import RoleBinding

SHOWN = 3


def column_verdict(cells: Cells, failures: Failures, found: ColumnMeasurements) -> CriterionVerdict:
    """Return the verdict on a criterion about one sensitive column."""
    criterion = failures.criterion
    tally = found.tallies[criterion.measure.name]
    worst = tally.worst
    shown: tuple[ClassView, ...] = ()
    if failures.classes and worst is not None:
        shown = describe_classes(cells, worst.keys, worst.sizes.tolist(), worst.scores.tolist())
    return CriterionVerdict(
        criterion=criterion.name,
        column=criterion.column,
        required=criterion.parameters(),
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
) -> dict[Criterion, CriterionVerdict]:
    """Return the verdicts on criteria about the number of people alone, from class sizes."""
    verdicts: dict[Criterion, CriterionVerdict] = {}
    for criterion in bound.policy.criteria if bound.policy else ():
        if isinstance(criterion, (SensitiveCriterion, PopulationCriterion)):
            continue
        least = criterion.least_people(has_units=bound.subject.unit is not None)
        small = sizes < least
        verdicts[criterion] = CriterionVerdict(
            criterion=criterion.name,
            column=None,
            required=criterion.parameters(),
            reached=int(sizes[0]) if len(sizes) else None,
            holds=not small.any(),
            failing_classes=int(classes[small].sum()),
            failing_people=_people_where(cells, relation, _is_below("size", least))
            if small.any()
            else 0,
            worst=smallest_classes(cells, relation, "size") if small.any() else (),
        )
    return verdicts


def _is_below(name: str, least: int) -> exp.Expr:
    return exp.LT(this=build.column(name), expression=build.number(least))


def judge_population(
    cells: Cells, bound: RoleBinding, matched: Matched | None
) -> dict[Criterion, CriterionVerdict]:
    """Return the verdicts on criteria that need a population."""
    verdicts: dict[Criterion, CriterionVerdict] = {}
    for criterion in bound.policy.criteria if bound.policy else ():
        if not isinstance(criterion, PopulationCriterion):
            continue
        if matched is None:
            raise InvalidCriterion(
                f"The criterion {criterion.name} compares the table with its population. "
                "Name the population's table with --against."
            )
        verdicts[criterion] = _population_verdict(cells, criterion, matched)
    return verdicts


def _population_verdict(
    cells: Cells, criterion: PopulationCriterion, matched: Matched
) -> CriterionVerdict:
    failing = criterion.fails(matched.sizes, matched.among)
    absent = matched.outside if criterion.covers_everyone else 0
    fewest = int(matched.among.min()) if len(matched.among) else None
    worst: tuple[ClassView, ...] = ()
    if failing.any() and criterion.level == "among":
        worst = smallest_classes(cells, matched.relation, "among")
    elif failing.any():
        worst = _surest_classes(cells, criterion, matched)
    return CriterionVerdict(
        criterion=criterion.name,
        column=None,
        required=criterion.parameters(),
        reached=fewest if criterion.level == "among" else list(matched.presence),
        holds=not failing.any() and not absent,
        failing_classes=int(matched.classes[failing].sum()),
        failing_people=absent + _people_matched(cells, matched, failing),
        worst=worst,
    )


def _people_matched(cells: Cells, matched: Matched, failing: NDArray[np.bool_]) -> int:
    """Return how many people are in classes of these sizes, in table and population."""
    if cells.subject.unit is None or not failing.any():
        return int((matched.sizes * matched.classes)[failing].sum())
    engine = cells.subject.table.engine
    pairs = pa.table({"size": matched.sizes[failing], "among": matched.among[failing]})
    relation = engine.load(pairs.to_reader())
    try:
        keys = [build.alias_as(build.column(name, of="c"), name) for name in cells.packing.keys]
        chosen = build.select(*keys, source=build.aliased_table(matched.relation, "c")).join(
            build.aliased_table(relation, "p"), on=build.same(["size", "among"], "c", "p")
        )
        return people_in(cells, chosen)
    finally:
        engine.drop(relation)


def _surest_classes(
    cells: Cells, criterion: PopulationCriterion, matched: Matched
) -> tuple[ClassView, ...]:
    """Return the classes whose people are most surely in the table, or else most surely not."""
    too_sure = bool(np.any(np.greater(criterion.surplus(matched.sizes, matched.among), 0)))
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
    bad = criterion.fails(sizes, others)
    if too_sure:
        bad &= np.greater(criterion.surplus(sizes, others), 0)
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
