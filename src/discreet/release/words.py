"""A release in sentences: what was published, and what to be careful about."""

from __future__ import annotations

from typing import TYPE_CHECKING

from discreet.measure.describe import counted, percent
from discreet.release.anonymize.recoding import attribute_losses
from discreet.release.suppressed import people_suppressed

if TYPE_CHECKING:
    from collections.abc import Sequence

    from discreet.policy import model
    from discreet.release.anonymize.problem import Problem
    from discreet.release.anonymize.read import Reading
    from discreet.release.anonymize.recoding import Recoding
    from discreet.release.release import Release


MUCH = 0.05  # a column that lost less needs no advice


def sentence(release: Release) -> str:
    """Return the release in a few sentences: what was made, and the worst that attacks found in it."""
    said = " ".join([_made(release), *_worst(release), *release.undecided])
    return said + not_tried(release.not_tried)


def _worst(release: Release) -> list[str]:
    """Return the worst finding in words; k says nothing of it."""
    worst = next(iter(release.findings), None)
    if worst is None:
        return []
    if worst.exceeds:
        return [worst.verdict]
    if not worst.advantage:
        # What is open may be what no attack on classes can see.
        return [] if release.undecided else ["Attacks on it learned nothing."]
    allowed = "" if worst.tolerance is None else f", tolerated {percent(worst.tolerance)}"
    return [f"The worst attack, {worst.title}, learns {percent(worst.advantage)}{allowed}."]


def _made(release: Release) -> str:
    people = counted(release.people, "person", "people")
    if release.k is None or release.suppressed == release.rows:
        return f"Every row of {release.source} is suppressed: nothing is told about {people}."
    kept = "nothing suppressed"
    if release.suppressed:
        share = percent(release.suppressed / max(release.rows, 1))
        kept = f"{counted(release.suppressed, 'row', 'rows')} ({share}) suppressed"
    return (
        f"{counted(release.rows, 'row', 'rows')} of {release.source} in "
        f"{counted(release.classes, 'class', 'classes')}: everybody looks like at least "
        f"{counted(release.k - 1, 'other', 'others')} (k = {release.k:,}). {percent(release.loss)} of the detail of the "
        f"quasi-identifiers is lost, {kept}."
    )


def not_tried(earlier: Sequence[str]) -> str:
    """Return what a verdict adds where earlier releases of the same people were not looked at."""
    if not earlier:
        return ""
    releases = counted(len(earlier), "earlier release", "earlier releases")
    return f" What it tells together with {releases} was not tried."


def warn(
    reading: Reading, recoding: Recoding, policy: model.Table, *, drops: bool
) -> tuple[str, ...]:
    """Return what a custodian must know beyond the criteria."""
    problem = reading.problem
    found: list[str] = []
    people = people_suppressed(reading, recoding)
    if people and drops:
        found.append(
            f"{counted(people, 'suppressed person is', 'suppressed people are')} left out of the "
            "output altogether."
        )
    before = reading.cells.suppressed
    if before:
        kept = "left out" if drops else "kept as they are, as a class with the others"
        found.append(
            f"{counted(before, 'row was', 'rows were')} suppressed in the source already, and {kept}."
        )
    rows = _untold(problem, recoding)
    if rows:
        found.append(
            f"{counted(rows, 'row is', 'rows are')} in a class whose every quasi-identifier is `*`: it "
            "meets the criteria, and nothing tells it from suppressed rows."
        )
    if any(getattr(c, "column", None) for c in problem.judge.criteria):
        found.append(
            "Criteria about sensitive values were enforced by a known rule: who knows the rule may "
            "reason from what it did (minimality attack). See docs/explanation/criteria-enforced.md."
        )
    lost = attribute_losses(problem, recoding)
    plain = [
        attribute.name
        for j, attribute in enumerate(problem.attributes)
        if not attribute.is_range
        and attribute.size > 2
        and lost[j] >= MUCH
        and _has_no_hierarchy(policy, attribute.name)
    ]
    if plain:
        names = ", ".join(f"'{name}'" for name in plain[:5])
        found.append(
            f"Without a hierarchy, a value can only be kept or hidden: {names}. Add `hierarchy:` in "
            "the policy, or --hierarchies, to lose less."
        )
    return tuple(found)


def _untold(problem: Problem, recoding: Recoding) -> int:
    """Return the rows of a class that is `*` throughout, beside others."""
    hidden = (recoding.levels == problem.heights).all(axis=1)
    if len(recoding) < 2 or not hidden.any():
        return 0
    return int(problem.table.rows[recoding.classes == hidden.argmax()].sum())


def _has_no_hierarchy(policy: model.Table, name: str) -> bool:
    column = policy.column(name)
    return column is None or column.hierarchy is None
