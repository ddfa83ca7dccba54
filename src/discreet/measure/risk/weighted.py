"""The chance of being found in a survey, where each row stands for a known number of people.

Benedetti & Franconi's individual risk, as sdcMicro and mu-Argus compute it: of a class with `f` people in the
table, whose weights add up to `F`, the number of people in the population is taken to be negative binomial
with `f` successes of chance `f / F`, and the risk is the mean of one over that number.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from sqlglot import exp

from discreet.engines.engine import Column
from discreet.errors import Bug
from discreet.formatting import format_count
from discreet.measure.encode import comparable_value, is_positive, weight_value
from discreet.measure.risk.sample import (
    AT_RISK_ABOVE,
    MarketerRisk,
    SampleRisk,
    TargetedRisk,
    sample_risk,
)
from discreet.result import Result
from discreet.sql import build

if TYPE_CHECKING:
    from discreet.engines.engine import Engine
    from discreet.measure.classes import Roles

Reals = NDArray[np.float64]
Integers = NDArray[np.int64]

# Weights whose sum is at most this many times the number of people were scaled to the table.
NORMALIZED = 1.05
# From this share of the population on, the closed form loses more digits than the difference to 1/f.
NEARLY_ALL = 1 - 1e-6


@dataclass(frozen=True)
class HouseholdRisk(Result):
    """The chance that at least one member of a household is found, who then gives away the others."""

    column: str
    households: int
    worst: float
    expected_people: float
    expected_share: float


@dataclass(frozen=True)
class WeightedRisk(Result):
    """What a survey's weights say about the chance of being found.

    `population` is the sum of the weights, `expected_people` the number of people who are expected to
    be found (the global risk), `unique_in_population` that of people who are alone in their class here and in
    the population. `without_weight` rows have no positive weight, and count as one person each.
    """

    weight: str
    population: float
    worst: float | None
    average: float | None
    threshold: float
    people_at_risk: int
    share_at_risk: float | None
    expected_people: float
    expected_share: float | None
    unique_in_population: float
    without_weight: int
    household: HouseholdRisk | None = None


@dataclass(frozen=True)
class WeightedClasses:
    """The classes of a table: how many people each has, and how many its weights stand for."""

    people: Integers
    population: Reals


def individual_risk(people: Integers, population: Reals) -> Reals:
    """Return the chance that a match with a record of each class is right.

    Args:
        people: The number of people of the table in each class, `f`.
        population: The sum of their weights, `F`; where it is below `f`, the table itself hides them.

    The formulas are those of sdcMicro (Templ, Kowarik & Meindl 2015) after Franconi & Polettini (2004): exact
    for one and two people, an approximation from three on.

    >>> import numpy as np
    >>> individual_risk(np.array([1, 2, 3]), np.array([17.0, 100.0, 108.0])).round(4).tolist()
    [0.1771, 0.0188, 0.0137]
    """
    count = np.asarray(people, dtype=np.float64)
    share = count / np.maximum(np.asarray(population, dtype=np.float64), count)
    is_sample = share < NEARLY_ALL
    p = np.where(is_sample, share, 0.5)  # another number where the closed form is not used
    odds, logarithm = p / (1 - p), -np.log(p)
    risk = np.select(
        [count == 1, count == 2],
        [odds * logarithm, odds - odds**2 * logarithm],
        p / (count - (1 - p)),
    )
    return np.where(is_sample, np.clip(risk, 0.0, 1 / count), 1 / count)


def measure_weighted_risk(
    subject: Roles, *, threshold: float = AT_RISK_ABOVE
) -> tuple[WeightedRisk, WeightedClasses]:
    """Return the risk by the weights of `subject`, and its classes.

    Of a person with several rows in a class, the largest weight counts.

    Raises:
        WrongUsage: The weight is not a column of numbers.
    """
    weight = subject.weight
    if weight is None:
        raise Bug("There is no weight to measure risk by.")
    engine = subject.table.engine
    members = engine.keep(_members_query(subject, weight))
    try:
        classes, ids = _read_classes(engine, members)
        risk = individual_risk(classes.people, classes.population)
        household = None
        if subject.household is not None and len(ids):
            risks = engine.load(pa.table({"class": ids, "risk": risk}).to_reader())
            try:
                household = _measure_households(engine, members, risks, subject.household)
            finally:
                engine.drop(risks)
    finally:
        engine.drop(members)
    found = describe_classes_risk(
        classes,
        weight=weight.name,
        threshold=threshold,
        without_weight=_count_unweighted(subject, weight),
        household=household,
    )
    return found, classes


def describe_classes_risk(
    classes: WeightedClasses,
    *,
    weight: str,
    threshold: float = AT_RISK_ABOVE,
    without_weight: int = 0,
    household: HouseholdRisk | None = None,
) -> WeightedRisk:
    """Return the figures of classes with known weights."""
    risk = individual_risk(classes.people, classes.population)
    people = int(classes.people.sum())
    expected = float((risk * classes.people).sum())
    at_risk = int(classes.people[risk > threshold].sum())
    alone = classes.people == 1
    doubles = np.maximum(classes.population[alone], 1.0)
    return WeightedRisk(
        weight=weight,
        population=float(classes.population.sum()),
        worst=float(risk.max()) if people else None,
        average=expected / people if people else None,
        threshold=threshold,
        people_at_risk=at_risk,
        share_at_risk=at_risk / people if people else None,
        expected_people=expected,
        expected_share=expected / people if people else None,
        # With one success of chance 1/F, one trial is needed with just that chance.
        unique_in_population=float((1 / doubles).sum()),
        without_weight=without_weight,
        household=household,
    )


def weighted_sample_risk(found: WeightedRisk, classes: WeightedClasses) -> SampleRisk:
    """Return the three adversaries' risks; weights say among how many people a journalist looks."""
    sizes, counts = np.unique(classes.people, return_counts=True)
    plain = sample_risk(sizes, counts, threshold=found.threshold)
    return SampleRisk(
        people=plain.people,
        classes=plain.classes,
        with_population=False,
        prosecutor=plain.prosecutor,
        journalist=TargetedRisk(
            worst=found.worst,
            average=found.average,
            threshold=found.threshold,
            people_at_risk=found.people_at_risk,
            share_at_risk=found.share_at_risk,
        ),
        marketer=MarketerRisk(
            expected_people=found.expected_people if plain.people else None,
            expected_share=found.expected_share,
        ),
        with_weights=True,
    )


def weight_cautions(found: WeightedRisk, *, people: int) -> tuple[str, ...]:
    """Return what keeps the weights from saying how many people the population has."""
    cautions: list[str] = []
    if found.without_weight:
        rows = format_count(found.without_weight, "row has", "rows have")
        cautions.append(
            f"{rows} no positive number as the weight '{found.weight}': each counts as one person of the "
            "population, itself."
        )
    if found.population <= NORMALIZED * people:
        cautions.append(
            f"The weights '{found.weight}' add up to {found.population:,.0f} for {people:,} people: they were "
            "scaled to the table, and do not say how many people of the population a row stands for. "
            "Multiply them by the size of the population over their sum."
        )
    return tuple(cautions)


def _members_query(subject: Roles, weight: Column) -> exp.Select:
    """Return the query of each person in each class: the class, the household, and the weight."""
    quasi = {f"q{index}": comparable_value(c) for index, c in enumerate(subject.quasi)}
    person: exp.Expr = subject.table.relation.copy()
    values = [build.alias_as(value, name) for name, value in quasi.items()]
    household = (
        comparable_value(subject.household) if subject.household else exp.cast(exp.null(), "text")
    )
    number = weight_value(weight)
    if subject.unit is None:
        values += [build.alias_as(household, "household"), build.alias_as(number, "weight")]
        people = build.select(*values, source=person)
    else:
        values += [
            build.alias_as(exp.Min(this=household), "household"),
            build.alias_as(exp.Max(this=number), "weight"),
        ]
        groups = [value.copy() for value in (*quasi.values(), comparable_value(subject.unit))]
        people = build.select(*values, source=person).group_by(*groups)
    order = [exp.Ordered(this=build.column(name), nulls_first=False) for name in quasi]
    rank = exp.Window(this=exp.DenseRank(), order=exp.Order(expressions=order))
    return build.select(
        build.alias_as(rank, "class"),
        build.column("household"),
        build.column("weight"),
        source=build.subquery(people, "people"),
    )


def _read_classes(engine: Engine, members: exp.Table) -> tuple[WeightedClasses, Integers]:
    of_class = build.column("class")
    total = exp.cast(exp.Sum(this=build.column("weight")), "double")
    query = build.select(
        of_class,
        build.alias_as(build.count_star(), "people"),
        build.alias_as(total, "population"),
        source=members.copy(),
    ).group_by(of_class.copy())
    found = engine.run(query)
    ids, people = (found.column(n).to_numpy().astype(np.int64) for n in ("class", "people"))
    population = found.column("population").to_numpy().astype(np.float64)
    order = np.argsort(ids)  # sums of reals depend on their order
    return WeightedClasses(people[order], population[order]), ids[order]


def _measure_households(
    engine: Engine, members: exp.Table, risks: exp.Table, household: Column
) -> HouseholdRisk:
    """Return the risk of households: one minus the chance that no member is found.

    People without a household are each one of their own.
    """
    of_household = build.column("household", of="m")
    risk, one = build.column("risk", of="r"), exp.cast(build.number(1), "double")
    is_certain = exp.GTE(this=risk.copy(), expression=one)
    # The logarithm of zero fails on some engines.
    missed = exp.case().when(
        exp.not_(is_certain), exp.Ln(this=exp.Sub(this=one.copy(), expression=risk))
    )
    query = (
        build.select(
            build.alias_as(build.is_null(of_household), "is_alone"),
            build.alias_as(exp.cast(exp.Sum(this=missed), "double"), "missed"),
            build.alias_as(exp.Max(this=risk.copy()), "worst"),
            build.alias_as(exp.cast(exp.Sum(this=risk.copy()), "double"), "total"),
            build.alias_as(build.count_star(), "members"),
            source=build.aliased_table(members, "m"),
        )
        .join(build.aliased_table(risks, "r"), on=build.same(["class"], "m", "r"))
        .group_by(of_household.copy())
    )
    rows = engine.run(query)
    missing, worst, total, people = (
        np.nan_to_num(rows.column(name).to_numpy(zero_copy_only=False).astype(np.float64))
        for name in ("missed", "worst", "total", "members")
    )
    is_alone = rows.column("is_alone").to_numpy(zero_copy_only=False).astype(bool)
    chance = np.where(is_alone | (worst >= 1), worst, -np.expm1(missing))
    expected = float(np.sort(np.where(is_alone, total, chance * people)).sum())
    return HouseholdRisk(
        column=household.name,
        households=int(np.where(is_alone, people, 1).sum()),
        worst=float(chance.max(initial=0.0)),
        expected_people=expected,
        expected_share=expected / float(people.sum()) if len(people) else 0.0,
    )


def _count_unweighted(subject: Roles, weight: Column) -> int:
    is_known = exp.case().when(is_positive(weight), build.number(1)).else_(build.number(0))
    query = build.select(
        build.alias_as(build.count_star(), "rows"),
        build.alias_as(build.sum_integers(is_known), "known"),
        source=subject.table.relation.copy(),
    )
    row = subject.table.engine.run(query).to_pylist()[0]
    return int(row["rows"]) - int(row["known"] or 0)
