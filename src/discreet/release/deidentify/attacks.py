"""The attacks behind an expert determination: what was tried with which success, and what was not."""

from __future__ import annotations

from dataclasses import dataclass

from discreet.formatting import format_count, format_percent
from discreet.measure.assessment import Assessment
from discreet.result import Result


@dataclass(frozen=True)
class AttackAttempt(Result):
    """An attack by its name, and what came of it, or why it was not tried."""

    attack: str
    finding: str


def attacks_tried(found: Assessment) -> tuple[AttackAttempt, ...]:
    """Return the attacks whose success follows exactly from the measured classes."""
    return (*_linkage_attempts(found), *_homogeneity_attempts(found))


def attacks_not_tried(found: Assessment) -> tuple[AttackAttempt, ...]:
    """Return the attacks that nothing here measures: an expert weighs them by judgment."""
    missing: list[AttackAttempt] = []
    if found.presence is None:
        missing.append(
            AttackAttempt("linkage with a named population", "no population was given: --against")
        )
    if not found.sensitive:
        missing.append(
            AttackAttempt("homogeneity and skewness", "the policy names no sensitive column")
        )
    return (
        *missing,
        AttackAttempt(
            "intersection with other releases", "other releases of these people are not known"
        ),
        AttackAttempt(
            "background knowledge of sensitive columns", "outsiders are taken not to have any"
        ),
        AttackAttempt("minimality of the recoding", "how the table was made is not known here"),
        AttackAttempt(
            "membership inference and reconstruction", "only rows were judged, no model of them"
        ),
        AttackAttempt("style and content of free text", "texts were not read"),
    )


def _linkage_attempts(found: Assessment) -> tuple[AttackAttempt, ...]:
    risk = found.risk.prosecutor
    average = "–" if risk.average is None else format_percent(risk.average)
    tried = [
        AttackAttempt(
            "linkage on all quasi-identifiers",
            f"{format_count(found.unique, 'person is', 'people are')} found with certainty; a match is "
            f"right with a chance of {average} on average",
        )
    ]
    searched = found.combinations
    if searched is not None:
        sets = [entry for entry in searched.sets if entry.unique]
        worst = max((entry.unique for entry in sets), default=0)
        tried.append(
            AttackAttempt(
                "linkage on fewer columns",
                f"{format_count(len(sets), 'set', 'sets')} of up to {searched.depth} columns single "
                f"out people; the worst finds {format_count(worst, 'person', 'people')}",
            )
        )
    if found.presence is not None:
        tried.append(
            AttackAttempt(
                "linkage with the population given",
                f"every class has at least {format_count(found.presence.k_map, 'person', 'people')} of "
                f"it; presence is certain up to {format_percent(min(found.presence.highest, 1.0))}",
            )
        )
    return tuple(tried)


def _homogeneity_attempts(found: Assessment) -> tuple[AttackAttempt, ...]:
    return tuple(
        AttackAttempt(
            f"homogeneity and skewness of '{name}'",
            f"in the worst class {format_percent(column.alpha)} share one value "
            f"(l = {column.l.distinct:,}), and the distance to the whole table is "
            f"{column.t.equal:.2f}",
        )
        for name, column in found.sensitive.items()
    )
