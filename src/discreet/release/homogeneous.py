"""Classes whose people share one sensitive value: k-anonymity does not hide that."""

from __future__ import annotations

from dataclasses import dataclass

from discreet.release.anonymize.problem import Problem
from discreet.release.anonymize.recoding import SUPPRESSED, Recoding
from discreet.result import Result


@dataclass(frozen=True)
class HomogeneousClasses(Result):
    """How many classes have one sensitive value for all their people, and how many people that is."""

    classes: int
    people: int


def homogeneous_classes(problem: Problem, recoding: Recoding) -> dict[str, HomogeneousClasses]:
    """Return, by sensitive column, the classes without diversity (Machanavajjhala et al. 2006)."""
    kept = recoding.classes != SUPPRESSED
    if not kept.any():
        return {name: HomogeneousClasses(0, 0) for name in problem.judge.columns}
    table, labels = problem.table.take(kept), recoding.classes[kept]
    sizes = table.sizes(labels, len(recoding))
    found: dict[str, HomogeneousClasses] = {}
    for index, name in enumerate(problem.judge.columns):
        alone = table.groups(index, labels, len(recoding), sizes=sizes).lengths == 1
        found[name] = HomogeneousClasses(int(alone.sum()), int(sizes[alone].sum()))
    return found
