"""The chance of being found, as parts of a page: three adversaries, the population, presence."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from discreet.measure.criteria.words import share
from discreet.measure.describe import percent
from discreet.report import charts
from discreet.report.page import Figure, Table
from discreet.report.words import round_share

if TYPE_CHECKING:
    from collections.abc import Mapping

    from discreet.measure.assessment import Assessment, Presence
    from discreet.measure.risk.population import Estimate, PopulationUniques
    from discreet.measure.risk.sample import SampleRisk, TargetedRisk

ESTIMATORS = {
    "pitman": "Pitman (Hoshino 2001)",
    "zayatz": "Zayatz (1991)",
    "snb": "Slide negative binomial (Chen & McNulty 1998)",
}


@dataclass(frozen=True)
class RiskPart:
    """The three adversaries' table, and how many people are found with which chance."""

    table: Table
    figure: Figure | None
    with_population: bool


@dataclass(frozen=True)
class EstimatePart:
    """What is believed about the population, and every estimator's answer or its reason."""

    saying: str
    table: Table


@dataclass(frozen=True)
class PresencePart:
    """What the population's table says about being in this one."""

    saying: str
    table: Table


def risk(found: Assessment) -> RiskPart:
    """Return the part about prosecutor, journalist and marketer."""
    figure = _curve(found.class_sizes, found.risk.prosecutor) if found.class_sizes else None
    return RiskPart(_adversaries(found.risk), figure, found.risk.with_population)


def _adversaries(found: SampleRisk) -> Table:
    marketer = found.marketer
    expected = marketer.expected_people
    journalist = "knows that somebody is in the population, not whether in the table"
    if not found.with_population:
        journalist += "; no population was given, so the table itself stands for it"
    return Table(
        caption="Three adversaries",
        header=(
            "Adversary",
            "What they know or want",
            "Worst case",
            "On average",
            "People at risk",
        ),
        rows=(
            (
                "Prosecutor",
                "knows that somebody is in the table",
                *_targeted(found.prosecutor),
            ),
            ("Journalist", journalist, *_targeted(found.journalist)),
            (
                "Marketer",
                "wants as many people as possible, no matter whom",
                "does not apply",
                share(marketer.expected_share),
                "no rows" if expected is None else f"about {_people(expected)} found",
            ),
        ),
        numbers=frozenset({2, 3, 4}),
    )


def _targeted(found: TargetedRisk) -> tuple[str, str, str]:
    at_risk = "no rows"
    if found.share_at_risk is not None:
        at_risk = f"{found.people_at_risk:,} ({percent(found.share_at_risk)})"
    return share(found.worst), share(found.average), at_risk


def _curve(class_sizes: Mapping[int, int], found: TargetedRisk) -> Figure:
    total = sum(class_sizes.values())
    points: list[tuple[float, float]] = []
    people = 0
    for size in sorted(class_sizes):
        people += class_sizes[size]
        points.append((float(size), people / total))
    known = [
        f"at least {'certain' if size == 1 else f'1 in {size}'}: {percent(part)} of people"
        for size in (1, 2, 5, 10, 25, 100)
        for part in (max((y for x, y in points if x <= size), default=0.0),)
    ]
    limit = round_share(found.threshold)
    svg = charts.steps(
        points,
        title="Share of people by their chance of being found",
        words=f"Chance of being found {'; '.join(known)}. The threshold is {limit}.",
        threshold=(1 / found.threshold, f"threshold {limit}") if found.threshold else None,
    )
    return Figure(
        svg,
        f"How many people can be found with which chance, by somebody who knows that they are in the "
        f"table. Left of the threshold: {percent(found.share_at_risk or 0.0)} of people.",
    )


def estimates(found: PopulationUniques) -> EstimatePart:
    """Return the part about population uniqueness; a failed estimate is never shown as a number."""
    by_name = {"pitman": found.pitman, "zayatz": found.zayatz, "snb": found.snb}
    rows = tuple(
        (ESTIMATORS[name], *_estimate(estimate), "yes" if name == found.chosen else "no")
        for name, estimate in by_name.items()
    )
    table = Table(
        caption="Estimates of how many people are unique in the population",
        header=("Estimator", "Unique people", "Share", "Did it converge?", "Chosen"),
        rows=rows,
        numbers=frozenset({1, 2}),
    )
    return EstimatePart(_belief(found), table)


def _estimate(found: Estimate) -> tuple[str, str, str]:
    if found.uniques is None or found.share is None or not found.converged:
        return "no estimate", "no estimate", f"No. {found.reason or 'No reason is known.'}"
    return f"about {_people(found.uniques)}", percent(found.share), "Yes."


def _belief(found: PopulationUniques) -> str:
    whole = f"about {found.population:,.0f} people"
    sample = f"The table holds {percent(found.fraction)} of a population of {whole}."
    if found.uniques is None or found.share is None:
        return (
            f"{sample} No estimator has an answer. That does not mean that nobody is unique in it."
        )
    unique = f"{_people(found.uniques)} of them ({percent(found.share)})"
    if found.chosen == "exact":
        return f"The table is the whole population: {unique} are unique, counted, not estimated."
    return (
        f"{sample} About {unique} are unique in it, by the estimate that Dankar et al. (2012) "
        "recommend for this fraction."
    )


def presence(found: Presence) -> PresencePart:
    """Return the part about being in the table at all."""
    table = Table(
        caption="The table against its population",
        header=("Measure", "Value"),
        rows=(
            ("People in the population", f"{found.population:,}"),
            ("Fewest people of the population in a class (k-map)", f"{found.k_map:,}"),
            ("Lowest chance of being in the table", share(found.lowest)),
            ("Highest chance of being in the table", share(found.highest)),
            ("People not found in the population", f"{found.people_not_in_population:,}"),
        ),
        numbers=frozenset({1}),
    )
    if found.highest > 1:
        saying = (
            "Some classes have more people in the table than in the population, so the population "
            "list is incomplete or written differently."
        )
    else:
        saying = (
            f"Somebody of the population is in the table with a chance between "
            f"{share(found.lowest)} and {share(found.highest)}, depending on what is known of them."
        )
    return PresencePart(saying, table)


def _people(expected: float) -> str:
    """Return an expected number of people; a small one is not rounded to nobody."""
    return "fewer than 1" if 0 < expected < 1 else f"{expected:,.0f}"
