"""Unreachable criteria are reported before any search, with the best that is reachable."""

from __future__ import annotations

import numpy as np

from discreet.criteria.criterion import Criterion, PopulationCriterion
from discreet.errors import CriteriaUnreachable, WrongUsage
from discreet.release.anonymize.judge import Judge, holds_as_one
from discreet.release.anonymize.problem import Problem


def require_reachable(problem: Problem) -> None:
    """Refuse criteria that fail even when all people are in one class and no one is suppressed.

    Merging classes never harms a criterion that can be reached by them, so that one class of all is
    the last resort of every method. Only where rows may be suppressed can a table without some of
    its rows do better, for entropy and other shares; that is left to the search.

    Raises:
        CriteriaUnreachable: The message names the criterion and the best level.
    """
    if not len(problem.table):
        return
    faults = [
        _describe_fault(problem, criterion)
        for criterion in problem.judge.criteria
        if not isinstance(criterion, PopulationCriterion)
        and criterion.is_monotone
        and (problem.limit == 0 or criterion.is_absorbing)
        and not holds_as_one(_single_criterion_judge(problem, criterion), problem.table)
    ]
    if faults:
        raise CriteriaUnreachable("\n".join(faults))


def unreachable_error(problem: Problem) -> CriteriaUnreachable:
    """Return the error for a search that found nothing within the limit of suppression."""
    asked = ", ".join(criterion.name for criterion in problem.judge.criteria)
    return CriteriaUnreachable(
        f"No recoding meets {asked} with at most {problem.limit:,} of {problem.rows:,} rows "
        "suppressed. Allow more suppression, or ask for less."
    )


def _single_criterion_judge(problem: Problem, criterion: Criterion) -> Judge:
    judge = problem.judge
    return Judge((criterion,), judge.columns, judge.overalls, judge.has_units)


def _describe_fault(problem: Problem, criterion: Criterion) -> str:
    everyone = np.zeros(len(problem.table), dtype=np.int64)
    people = int(problem.table.sizes(everyone, 1)[0])
    alone = _single_criterion_judge(problem, criterion)
    if not alone.trials:
        return (
            f"{criterion.name} with k = {alone.k:,} cannot be reached: the table has {people:,} "
            f"people. The best is k = {people:,}, everyone in one class."
        )
    index, test = alone.trials[0]
    groups = problem.table.groups(index, everyone, 1, sizes=np.array([people]))
    best = float(test.measure.score(groups, problem.judge.overalls[index])[0])
    column = problem.judge.columns[index]
    return (
        f"{test.name} of '{column}' cannot be reached: with everyone in one class, its {test.measure.name} "
        f"level is {best:.6g}, and that is the best. Ask for less, or leave the column out."
    )


def overlapping_labels_error() -> WrongUsage:
    """Return the error of a method whose labels cannot be compared with a population."""
    return WrongUsage(
        "k-map and δ-presence compare a class with the part of the population that fits its "
        "label, and this method names classes last. Use the method full-domain."
    )
