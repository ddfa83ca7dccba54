"""`assess`: how identifiable the people in a table are."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray
from sqlglot import exp

from discreet.engines.connect import open_table, opened_table
from discreet.engines.engine import Table
from discreet.engines.scratch import ScratchEngine
from discreet.errors import EmptySource, WrongUsage
from discreet.formatting import format_count
from discreet.measure.assessment import Assessment, Presence, Selectivity, SensitiveColumn
from discreet.measure.cautions import exposed_columns, misfit_cautions, reading_cautions
from discreet.measure.classes import Cells, distinct_cells, group_cells, people_in, sizes_query
from discreet.measure.describe import describe_assessment
from discreet.measure.encode import comparable_value
from discreet.measure.exposure import find_exposures
from discreet.measure.joint import JointUniqueness, measure_joint
from discreet.measure.presence import Matched, match_population
from discreet.measure.risk.sample import AT_RISK_ABOVE, SampleRisk, sample_risk
from discreet.measure.risk.uniques import Uniques
from discreet.measure.risk.weighted import (
    WeightedClasses,
    WeightedRisk,
    measure_weighted_risk,
    weight_cautions,
    weighted_sample_risk,
)
from discreet.measure.roles import (
    RoleBinding,
    bind_roles,
    on_engine,
    reading_hints,
    refuse_stray_name,
    select_table,
)
from discreet.measure.sensitive import measure_sensitive
from discreet.measure.verdicts import judge_population, judge_sizes, smallest_classes
from discreet.policy.model import Policy
from discreet.policy.undecided import find_undecided
from discreet.progress import Progress, follow_phases
from discreet.sql import build

if TYPE_CHECKING:
    from discreet.measure.risk.population import PopulationUniques


SMALLEST_SHOWN = 5


@dataclass(frozen=True)
class Sizes:
    """All classes of a table, kept on the engine, and the histogram of their sizes."""

    relation: exp.Table
    sizes: NDArray[np.int64]
    classes: NDArray[np.int64]

    @property
    def k(self) -> int | None:
        """The size of the smallest class, None without classes."""
        return int(self.sizes[0]) if len(self.sizes) else None


def assess(  # noqa: PLR0913 -- the flags of the command
    source: object,
    policy: Policy | str | Path | None = None,
    *,
    quasi: Sequence[str] | None = None,
    sensitive: Sequence[str] | None = None,
    unit: str | None = None,
    weight: str | None = None,
    household: str | None = None,
    rows_are_people: bool = False,
    table: str | None = None,
    against: object = None,
    fraction: float | None = None,
    depth: int = 3,
    threshold: float = AT_RISK_ABOVE,
    delimiter: str | None = None,
    encoding: str | None = None,
    memory: str | None = None,
    progress: Progress | None = None,
) -> Assessment:
    """Return how identifiable the people in `source` are.

    Args:
        source: A path, a URL, or a frame: pandas, polars, pyarrow, a DuckDB relation, Spark.
        policy: A policy or the path of its file; without one, give `quasi`, or roles are guessed.
        quasi: The columns outsiders may know.
        sensitive: The columns outsiders must not learn.
        unit: The column that identifies the person; by default each row is a person.
        weight: The column of a survey's sampling weights: how many people of the population a row stands for.
        household: The column that links the people of a household, for the risk that one of them is found.
        rows_are_people: The policy's unit is not in the table, and each row is another person.
        table: The table's name in the policy or in the database.
        against: The population the table was drawn from, with the same quasi-identifiers.
        fraction: The share of the population that is in the table, for population uniqueness.
        depth: The largest number of columns combined in the search for what singles people out; 0
            leaves that search and the single columns out.
        threshold: People whose chance of being found is above this are at risk.
        delimiter: What separates the columns of a CSV file.
        encoding: The encoding of a CSV file.
        memory: How much memory the engine may use, such as `4GB`.
        progress: Called with a phase's name, what is done and what there is to do.

    >>> import pyarrow as pa
    >>> people = pa.table({"age": [30, 30, 41], "zip": ["1", "1", "2"], "ill": ["flu", "flu", "flu"]})
    >>> found = assess(people, quasi=["age", "zip"], sensitive=["ill"])
    >>> found.k, found.unique, found.sensitive["ill"].l.distinct
    (1, 1, 1)
    """
    loaded = resolve_policy(policy)
    refuse_stray_name(table, source, loaded)
    with (
        follow_phases(progress, first="opening") as step,
        opened_table(
            source,
            table=table,
            delimiter=delimiter,
            encoding=encoding,
            memory_limit=memory,
            hints=reading_hints(loaded, source, name=table),
        ) as opened,
        ScratchEngine(opened.engine) as scratch,
    ):
        bound = bind_roles(
            opened,
            policy=select_table(loaded, label=opened.label, name=table) if loaded else None,
            path=str(loaded.path) if loaded and loaded.path else None,
            quasi=quasi,
            sensitive=sensitive,
            unit=unit,
            rows_are_people=rows_are_people,
            weight=weight,
            household=household,
        )
        population = None
        if against is not None:
            population = open_population(against, opened, delimiter=delimiter, encoding=encoding)
        return assess_binding(
            on_engine(bound, scratch),
            population=population,
            fraction=fraction,
            depth=depth,
            threshold=threshold,
            progress=step,
        )


def resolve_policy(policy: Policy | str | Path | None) -> Policy | None:
    """Return a policy given as such or as the path of its file."""
    if isinstance(policy, (str, Path)):
        from discreet.policy.load import load_policy

        return load_policy(policy)
    return policy


def open_population(
    against: object, table: Table, *, delimiter: str | None = None, encoding: str | None = None
) -> Table:
    """Return the population's table, beside the table itself when its engine can hold both."""
    if isinstance(against, Table):
        return against
    return open_table(
        against, engine=table.engine.file_engine, delimiter=delimiter, encoding=encoding
    )


def assess_binding(
    bound: RoleBinding,
    *,
    population: Table | None,
    fraction: float | None,
    depth: int,
    threshold: float,
    progress: Progress,
) -> Assessment:
    """Return the assessment of a table whose columns have their parts."""
    if depth < 0:
        raise WrongUsage(f"The depth is {depth}. Choose 0 or the number of columns to combine.")
    progress("classes", 0, 2)
    # What `*` stands for in a population is not known: there suppressed rows are no class.
    cells = group_cells(bound.subject, keeps_suppressed=population is None)
    if cells.rows == 0:
        label = bound.subject.table.label
        raise EmptySource(f"{label} has a header but no rows: there are no people to assess.")
    progress("classes", 1, 2)
    sizes = _measure_sizes(cells)
    matched = match_population(cells, sizes.relation, population) if population else None
    measured = measure_sensitive(cells, bound, progress=progress)
    verdicts = {
        **judge_sizes(cells, bound, sizes.relation, sizes.sizes, sizes.classes),
        **measured.verdicts,
        **judge_population(cells, bound, matched),
    }
    people = _count_people(cells)
    weighed = (
        measure_weighted_risk(bound.subject, threshold=threshold) if bound.subject.weight else None
    )
    criteria = bound.policy.criteria if bound.policy else ()
    found = Assessment(
        source=bound.subject.table.label,
        verdict="",
        quasi=tuple(column.name for column in bound.subject.quasi),
        unit=bound.subject.unit.name if bound.subject.unit else None,
        roles_guessed=bound.guessed,
        rows=cells.rows,
        people=people,
        suppressed=cells.suppressed,
        classes=int(sizes.classes.sum()),
        unique=_count_unique_people(cells, sizes),
        k=sizes.k,
        class_sizes=dict(
            zip(sizes.sizes.tolist(), (sizes.sizes * sizes.classes).tolist(), strict=True)
        ),
        smallest=smallest_classes(cells, sizes.relation, "size", count=SMALLEST_SHOWN),
        columns=_measure_columns(bound, progress=progress) if depth else (),
        sensitive=measured.columns,
        criteria=tuple(verdicts[criterion] for criterion in criteria),
        risk=_measure_risk(sizes, matched, threshold, weighed),
        weighted=weighed[0] if weighed else None,
        joint=_measure_joint(bound, progress=progress),
        undecided=_list_undecided(bound, measured.columns),
        presence=_measure_presence(cells, matched) if matched else None,
        population=_estimate_population(sizes, people, matched, fraction),
        combinations=_find_combinations(cells, sizes, depth=depth, progress=progress)
        if depth
        else None,
        cautions=(
            *_list_cautions(cells, bound, sizes, people=people, matched=matched),
            *(weight_cautions(weighed[0], people=people) if weighed else ()),
        ),
    )
    found = replace(found, exposures=find_exposures(found, bound.policy))
    return replace(found, verdict=describe_assessment(found))


def _list_undecided(
    bound: RoleBinding, sensitive: Mapping[str, SensitiveColumn]
) -> tuple[str, ...]:
    """Return what the policy leaves open about the columns that are here."""
    if bound.policy is None:
        return ()
    return find_undecided(
        bound.policy,
        among={column.name for column in bound.subject.table.columns},
        modal_shares={name: column.modal_share for name, column in sensitive.items()},
    )


def _measure_sizes(cells: Cells) -> Sizes:
    engine = cells.subject.table.engine
    relation = engine.keep(sizes_query(cells))
    size = build.column("size")
    histogram = build.select(
        size, build.alias_as(build.count_star(), "classes"), source=relation.copy()
    ).group_by(size.copy())
    found = engine.run(build.order_nulls_last(histogram, [size.copy()]))
    return Sizes(
        relation,
        found.column("size").to_numpy().astype(np.int64),
        found.column("classes").to_numpy().astype(np.int64),
    )


def _count_people(cells: Cells) -> int:
    """Return the number of people; rows without a known person count as one person."""
    if cells.subject.unit is None:
        return cells.rows
    unit = comparable_value(cells.subject.unit)
    once = build.select(
        build.alias_as(unit, "unit"), source=cells.subject.table.relation.copy()
    ).distinct()
    query = build.select(
        build.alias_as(build.count_star(), "people"), source=build.subquery(once, "u")
    )
    return int(cells.subject.table.engine.run(query)["people"][0].as_py())


def _count_unique_people(cells: Cells, sizes: Sizes) -> int:
    """Return how many people are alone in a class, in at least one if they are in several."""
    alone = sizes.sizes == 1
    if cells.subject.unit is None or not alone.any():
        return int(sizes.classes[alone].sum())
    keys = [build.column(key) for key in cells.packing.keys]
    is_one = exp.EQ(this=build.column("size"), expression=build.number(1))
    return people_in(cells, build.select(*keys, source=sizes.relation.copy()).where(is_one))


def _measure_risk(
    sizes: Sizes,
    matched: Matched | None,
    threshold: float,
    weighed: tuple[WeightedRisk, WeightedClasses] | None,
) -> SampleRisk:
    if matched is None and weighed is not None:
        return weighted_sample_risk(*weighed)
    if matched is None:
        return sample_risk(sizes.sizes, sizes.classes, threshold=threshold)
    # A population list that misses people of the table does not hide them any better.
    among = np.maximum(matched.among, matched.sizes)
    return sample_risk(matched.sizes, matched.classes, population=among, threshold=threshold)


def _measure_presence(cells: Cells, matched: Matched) -> Presence:
    lowest, highest = matched.presence
    missing = np.maximum(matched.sizes - matched.among, 0) * matched.classes
    return Presence(
        population=matched.people,
        k_map=int(matched.among.min(initial=np.iinfo(np.int64).max)) if len(matched.among) else 0,
        lowest=lowest,
        highest=highest,
        people_not_in_population=int(missing.sum()),
        worst=smallest_classes(cells, matched.relation, "among"),
    )


def _estimate_population(
    sizes: Sizes, people: int, matched: Matched | None, fraction: float | None
) -> PopulationUniques | None:
    """Return estimates of population uniqueness when the sampling fraction is known."""
    if fraction is None and matched is not None and matched.people >= people:
        fraction = people / matched.people
    if fraction is None or not len(sizes.sizes):
        return None
    from discreet.measure.risk.population import population_uniques  # scipy, only when asked

    return population_uniques(sizes.sizes, sizes.classes, fraction=fraction)


def _measure_joint(bound: RoleBinding, *, progress: Progress) -> JointUniqueness:
    progress("joint uniqueness", 0, 1)
    return measure_joint(bound)


def _measure_columns(bound: RoleBinding, *, progress: Progress) -> tuple[Selectivity, ...]:
    from discreet.measure import columns  # only when asked

    return columns.measure_columns(bound, progress=progress)


def _find_combinations(cells: Cells, sizes: Sizes, *, depth: int, progress: Progress) -> Uniques:
    """Return the smallest sets of columns that single people out."""
    from discreet.measure.risk.uniques import find_uniques  # only when asked

    engine = cells.subject.table.engine
    names = [column.name for column in cells.subject.quasi]
    progress("combinations", 0, 1)
    # A person with a unit may be in several classes, and still be alone on fewer columns.
    person = build.column("id")
    people = (
        None if cells.subject.unit is None else exp.Count(this=exp.Distinct(expressions=[person]))
    )
    return find_uniques(
        engine,
        engine.keep(_members_query(cells, sizes)),
        names,
        depth=min(depth, len(names)),
        people=people,
        progress=lambda done, total: progress("combinations", done, total),
    )


def _members_query(cells: Cells, sizes: Sizes) -> exp.Select:
    """Return the query of classes as the search for uniques reads them, numbered from 0."""
    codes = [
        build.alias_as(cells.packing.code_of(index), f"q{index}")
        for index in range(len(cells.subject.quasi))
    ]
    if cells.subject.unit is None:
        order, rank = list(cells.packing.keys), exp.RowNumber()
        size: exp.Expr = build.column("size")
        source: exp.Expr = sizes.relation.copy()
    else:
        order, rank = ["unit"], exp.DenseRank()
        size = build.alias_as(build.number(1), "size")
        source = build.subquery(distinct_cells(cells, [*cells.packing.keys, "unit"]), "members")
    ordered = [exp.Ordered(this=build.column(name), nulls_first=False) for name in order]
    position = exp.Window(this=rank, order=exp.Order(expressions=ordered))
    number = build.alias_as(exp.Sub(this=position, expression=build.number(1)), "id")
    return build.select(number, *codes, size, source=source)


def _list_cautions(
    cells: Cells, bound: RoleBinding, sizes: Sizes, *, people: int, matched: Matched | None
) -> tuple[str, ...]:
    found: list[str] = []
    if bound.guessed:
        found.append(
            "The roles of the columns were guessed. Write them down with `discreet init`, check "
            "them, and assess with --policy."
        )
    if int((sizes.sizes * sizes.classes).sum()) > people:
        found.append(
            "Some people are in several classes: class sizes and risks count them once in each; "
            "everything else counts them once."
        )
    found += exposed_columns(bound)
    found += reading_cautions(bound.subject.table, bound.policy)
    found += misfit_cautions(bound.subject.table, bound.policy)
    if not bound.subject.sensitive:
        found.append("No sensitive column is named, so what classes reveal was not measured.")
    if cells.suppressed:
        rows = format_count(cells.suppressed, "row is", "rows are")
        found.append(
            f"{rows} suppressed: every quasi-identifier is `*`. A person who fits no other class is one of "
            "them, so that they are judged as a class of their own."
        )
    if matched is not None and (matched.among < matched.sizes).any():
        found.append(
            "Some classes have more people in the table than in the population: the population "
            "list is incomplete or written differently. k-map and presence are as it says; risks "
            "count these people as hidden only by the table."
        )
    return tuple(found)
