"""The attacks behind an expert determination: what was tried with which success, and what was not."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from discreet.measure.describe import counted, percent
from discreet.result import Result

if TYPE_CHECKING:
    from discreet.measure.assessment import Assessment


@dataclass(frozen=True)
class Attack(Result):
    """An attack by its name, and what came of it, or why it was not tried."""

    attack: str
    finding: str


def attacks_tried(found: Assessment) -> tuple[Attack, ...]:
    """Return the attacks whose success the measured classes tell exactly."""
    return (*_linkage(found), *_homogeneity(found))


def attacks_not_tried(found: Assessment) -> tuple[Attack, ...]:
    """Return the attacks that nothing here measures: an expert weighs them by judgment."""
    missing: list[Attack] = []
    if found.presence is None:
        missing.append(
            Attack("linkage with a named population", "no population was given: --against")
        )
    if not found.sensitive:
        missing.append(Attack("homogeneity and skewness", "the policy names no sensitive column"))
    return (
        *missing,
        Attack("intersection with other releases", "other releases of these people are not known"),
        Attack("background knowledge of sensitive columns", "outsiders are taken not to have any"),
        Attack("minimality of the recoding", "how the table was made is not known here"),
        Attack(
            "membership inference and reconstruction", "only rows were judged, no model of them"
        ),
        Attack("style and content of free text", "texts were not read"),
    )


def _linkage(found: Assessment) -> tuple[Attack, ...]:
    risk = found.risk.prosecutor
    average = "–" if risk.average is None else percent(risk.average)
    tried = [
        Attack(
            "linkage on all quasi-identifiers",
            f"{counted(found.unique, 'person is', 'people are')} found with certainty; a match is "
            f"right with a chance of {average} on average",
        )
    ]
    searched = found.combinations
    if searched is not None:
        sets = [entry for entry in searched.sets if entry.unique]
        worst = max((entry.unique for entry in sets), default=0)
        tried.append(
            Attack(
                "linkage on fewer columns",
                f"{counted(len(sets), 'set', 'sets')} of up to {searched.depth} columns single "
                f"somebody out; the worst finds {counted(worst, 'person', 'people')}",
            )
        )
    if found.presence is not None:
        tried.append(
            Attack(
                "linkage with the population given",
                f"every class has at least {counted(found.presence.k_map, 'person', 'people')} of "
                f"it; presence is certain up to {percent(min(found.presence.highest, 1.0))}",
            )
        )
    return tuple(tried)


def _homogeneity(found: Assessment) -> tuple[Attack, ...]:
    return tuple(
        Attack(
            f"homogeneity and skewness of '{name}'",
            f"in the worst class {percent(column.alpha)} share one value "
            f"(l = {column.l.distinct:,}), and the distance to the whole table is "
            f"{column.t.equal:.2f}",
        )
        for name, column in found.sensitive.items()
    )
