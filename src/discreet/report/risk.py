"""The chance of being found, as parts of a page: three adversaries, the population, presence."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from discreet.formatting import format_chance, format_percent
from discreet.measure.assessment import Assessment, Presence
from discreet.measure.describe import weighted_rows, weighted_sentence
from discreet.report import charts
from discreet.report.page import Figure, PageTable
from discreet.report.wording import round_share

if TYPE_CHECKING:
    from discreet.measure.risk.population import PopulationUniques, UniquesEstimate
    from discreet.measure.risk.sample import SampleRisk, TargetedRisk
    from discreet.measure.risk.weighted import WeightedRisk

ESTIMATORS = {
    "pitman": "Pitman (Hoshino 2001)",
    "zayatz": "Zayatz (1991)",
    "snb": "Slide negative binomial (Chen & McNulty 1998)",
}


@dataclass(frozen=True)
class RiskPart:
    """The three adversaries' table, and how many people are found with which chance."""

    table: PageTable
    figure: Figure | None
    with_population: bool


@dataclass(frozen=True)
class EstimatePart:
    """The assumed population, and the estimate of every estimator or the reason why it has none."""

    sentence: str
    table: PageTable


@dataclass(frozen=True)
class WeightedPart:
    """What the weights of a survey say about the population."""

    sentence: str
    table: PageTable


@dataclass(frozen=True)
class PresencePart:
    """The chance of being in this table, from the population's table."""

    sentence: str
    table: PageTable


def risk_part(found: Assessment) -> RiskPart:
    """Return the part about prosecutor, journalist and marketer."""
    figure = _risk_curve(found.class_sizes, found.risk.prosecutor) if found.class_sizes else None
    return RiskPart(_adversary_table(found.risk), figure, found.risk.with_population)


def _adversary_table(found: SampleRisk) -> PageTable:
    marketer = found.marketer
    expected = marketer.expected_people
    journalist = "knows that a person is in the population, not whether in the table"
    if found.with_weights:
        journalist += "; how many people share a class there is estimated by the weights"
    elif not found.with_population:
        journalist += "; no population was given, so the table itself stands for it"
    return PageTable(
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
                "knows that a person is in the table",
                *_targeted_cells(found.prosecutor),
            ),
            ("Journalist", journalist, *_targeted_cells(found.journalist)),
            (
                "Marketer",
                "wants as many people as possible, no matter whom",
                "does not apply",
                format_chance(marketer.expected_share),
                "no rows" if expected is None else f"about {_people_text(expected)} found",
            ),
        ),
        numbers=frozenset({2, 3, 4}),
    )


def _targeted_cells(found: TargetedRisk) -> tuple[str, str, str]:
    at_risk = "no rows"
    if found.share_at_risk is not None:
        at_risk = f"{found.people_at_risk:,} ({format_percent(found.share_at_risk)})"
    return format_chance(found.worst), format_chance(found.average), at_risk


def _risk_curve(class_sizes: Mapping[int, int], found: TargetedRisk) -> Figure:
    total = sum(class_sizes.values())
    points: list[tuple[float, float]] = []
    people = 0
    for size in sorted(class_sizes):
        people += class_sizes[size]
        points.append((float(size), people / total))
    known = [
        f"at least {'certain' if size == 1 else f'1 in {size}'}: {format_percent(part)} of people"
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
        f"How many people can be found with which chance, by an outsider who knows that they are in the "
        f"table. Left of the threshold: {format_percent(found.share_at_risk or 0.0)} of people.",
    )


def weighted_part(found: WeightedRisk) -> WeightedPart:
    """Return the part about a survey's weights."""
    return WeightedPart(
        weighted_sentence(found),
        PageTable(
            caption="The table as a survey",
            header=("Measure", "Value"),
            rows=weighted_rows(found),
            numbers=frozenset({1}),
        ),
    )


def estimate_part(found: PopulationUniques) -> EstimatePart:
    """Return the part about population uniqueness; a failed estimate is never shown as a number."""
    by_name = {"pitman": found.pitman, "zayatz": found.zayatz, "snb": found.snb}
    rows = tuple(
        (ESTIMATORS[name], *_estimate_row(estimate), "yes" if name == found.chosen else "no")
        for name, estimate in by_name.items()
    )
    table = PageTable(
        caption="Estimates of how many people are unique in the population",
        header=("Estimator", "Unique people", "Share", "Did it converge?", "Chosen"),
        rows=rows,
        numbers=frozenset({1, 2}),
    )
    return EstimatePart(_population_estimate(found), table)


def _estimate_row(found: UniquesEstimate) -> tuple[str, str, str]:
    if found.uniques is None or found.share is None or not found.converged:
        return "no estimate", "no estimate", f"No. {found.reason or 'No reason is known.'}"
    return f"about {_people_text(found.uniques)}", format_percent(found.share), "Yes."


def _population_estimate(found: PopulationUniques) -> str:
    whole = f"about {found.population:,.0f} people"
    sample = f"The table holds {format_percent(found.fraction)} of a population of {whole}."
    if found.uniques is None or found.share is None:
        return (
            f"{sample} No estimator has an answer. That does not mean that no one is unique in it."
        )
    unique = f"{_people_text(found.uniques)} of them ({format_percent(found.share)})"
    if found.chosen == "exact":
        return f"The table is the whole population: {unique} are unique, counted, not estimated."
    return (
        f"{sample} About {unique} are unique in it, by the estimate that Dankar et al. (2012) "
        "recommend for this fraction."
    )


def presence_part(found: Presence) -> PresencePart:
    """Return the part about the chance of being in the table."""
    table = PageTable(
        caption="The table against its population",
        header=("Measure", "Value"),
        rows=(
            ("People in the population", f"{found.population:,}"),
            ("Fewest people of the population in a class (k-map)", f"{found.k_map:,}"),
            ("Lowest chance of being in the table", format_chance(found.lowest)),
            ("Highest chance of being in the table", format_chance(found.highest)),
            ("People not found in the population", f"{found.people_not_in_population:,}"),
        ),
        numbers=frozenset({1}),
    )
    if found.highest > 1:
        sentence = (
            "Some classes have more people in the table than in the population, so the population "
            "list is incomplete or written differently."
        )
    else:
        sentence = (
            f"A person of the population is in the table with a chance between "
            f"{format_chance(found.lowest)} and {format_chance(found.highest)}, depending on what is known of them."
        )
    return PresencePart(sentence, table)


def _people_text(expected: float) -> str:
    """Return an expected number of people; a small one is not rounded to 0."""
    return "fewer than 1" if 0 < expected < 1 else f"{expected:,.0f}"
