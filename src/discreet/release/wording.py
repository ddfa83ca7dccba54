"""A release in sentences: what was published, and what to be careful about."""

from __future__ import annotations

from collections.abc import Sequence

from discreet.formatting import format_count, format_percent
from discreet.policy import model
from discreet.release.anonymize.problem import EncodedProblem, Problem
from discreet.release.anonymize.recoding import Recoding, attribute_losses
from discreet.release.release import Release
from discreet.release.suppressed import people_suppressed

ADVISED_LOSS = 0.05  # a column that lost less needs no advice


def release_sentence(release: Release) -> str:
    """Return the release in a few sentences: what was made, and the worst that attacks found in it."""
    text = " ".join([_describe_outcome(release), *_worst_finding(release), *release.undecided])
    return text + not_tried(release.not_tried)


def _worst_finding(release: Release) -> list[str]:
    """Return the worst finding in words; k does not cover it."""
    worst = next(iter(release.findings), None)
    if worst is None:
        return []
    if worst.exceeds:
        return [worst.verdict]
    if not worst.advantage:
        # What is open may be what no attack on classes can see.
        return [] if release.undecided else ["Attacks on it learned nothing."]
    allowed = "" if worst.tolerance is None else f", tolerated {format_percent(worst.tolerance)}"
    return [f"The worst attack, {worst.title}, learns {format_percent(worst.advantage)}{allowed}."]


def _describe_outcome(release: Release) -> str:
    people = format_count(release.people, "person", "people")
    if release.k is None or release.suppressed == release.rows:
        return f"Every row of {release.source} is suppressed: nothing is published about {people}."
    kept = "nothing suppressed"
    if release.suppressed:
        share = format_percent(release.suppressed / max(release.rows, 1))
        kept = f"{format_count(release.suppressed, 'row', 'rows')} ({share}) suppressed"
    return (
        f"{format_count(release.rows, 'row', 'rows')} of {release.source} in "
        f"{format_count(release.classes, 'class', 'classes')}: everyone looks like at least "
        f"{format_count(release.k - 1, 'other', 'others')} (k = {release.k:,}). {format_percent(release.loss)} of the detail of the "
        f"quasi-identifiers is lost, {kept}."
    )


def not_tried(earlier: Sequence[str]) -> str:
    """Return what a verdict adds where earlier releases of the same people were not looked at."""
    if not earlier:
        return ""
    releases = format_count(len(earlier), "earlier release", "earlier releases")
    return f" What it reveals together with {releases} was not tried."


def warn(
    reading: EncodedProblem, recoding: Recoding, policy: model.TablePolicy, *, drops: bool
) -> tuple[str, ...]:
    """Return what a custodian must know beyond the criteria."""
    problem = reading.problem
    found: list[str] = []
    people = people_suppressed(reading, recoding)
    if people and drops:
        found.append(
            f"{format_count(people, 'suppressed person is', 'suppressed people are')} left out of the "
            "output altogether."
        )
    before = reading.cells.suppressed
    if before:
        kept = "left out" if drops else "kept as they are, as a class with the others"
        found.append(
            f"{format_count(before, 'row was', 'rows were')} suppressed in the source already, and {kept}."
        )
    rows = _fully_suppressed_rows(problem, recoding)
    if rows:
        found.append(
            f"{format_count(rows, 'row is', 'rows are')} in a class whose every quasi-identifier is `*`: it "
            "meets the criteria, and cannot be distinguished from suppressed rows."
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
        and lost[j] >= ADVISED_LOSS
        and _has_no_hierarchy(policy, attribute.name)
    ]
    if plain:
        names = ", ".join(f"'{name}'" for name in plain[:5])
        found.append(
            f"Without a hierarchy, a value can only be kept or hidden: {names}. Add `hierarchy:` in "
            "the policy, or --hierarchies, to lose less."
        )
    return tuple(found)


def _fully_suppressed_rows(problem: Problem, recoding: Recoding) -> int:
    """Return the rows of a class that is `*` throughout, beside others."""
    hidden = (recoding.levels == problem.heights).all(axis=1)
    if len(recoding) < 2 or not hidden.any():
        return 0
    return int(problem.table.rows[recoding.classes == hidden.argmax()].sum())


def _has_no_hierarchy(policy: model.TablePolicy, name: str) -> bool:
    column = policy.column(name)
    return column is None or column.hierarchy is None
