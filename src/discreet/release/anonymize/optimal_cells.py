"""The fewest cells that must be hidden, found exactly for small tables by integer programming.

The problem is NP-hard for k >= 3 (Meyerson & Williams 2004), so that large tables are refused.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from scipy import optimize, sparse

from discreet.errors import WrongUsage
from discreet.release.anonymize.cells import as_written, keep_or_hide
from discreet.release.anonymize.frequencies import label_rows
from discreet.release.anonymize.judge import holds_as_one
from discreet.release.anonymize.mondrian import require_classes_suffice
from discreet.release.anonymize.problem import Problem
from discreet.release.anonymize.reachability import require_reachable, unreachable_error
from discreet.release.anonymize.recoding import SUPPRESSED, Recoding, tighten_labels

if TYPE_CHECKING:
    from discreet.progress import Progress

MOST_COMBINATIONS = 60
MOST_ATTRIBUTES = 10
_MOST_CHOICES = 20_000
_MOST_PROGRAMS = 200
_MOST_BRANCHES = 20_000


def suppress_cells_optimally(problem: Problem, *, progress: Progress | None = None) -> Recoding:
    """Return the recoding that hides the least, weighted by attributes; a suppressed row hides all.

    Each combination is given one of the labels that fit it. What criteria ask beyond a number of
    people is not linear: classes of a solution that fail are ruled out, and it is solved again.

    Guarantee: every class meets the criteria by its labels, a cell keeps its value or is `*`, at
    most `problem.limit` rows are suppressed, and no recoding that treats equal rows alike hides less.

    Raises:
        CriteriaUnreachable: No recoding meets the criteria.
        WrongUsage: The table is too large, or a criterion is about the population.
    """
    require_classes_suffice(problem)
    require_reachable(problem)
    _require_small(problem)
    # In the order of their codes, so that the order of rows cannot decide between equal optima.
    columns = [(problem.table.codes[:, j], a.size) for j, a in enumerate(problem.attributes)]
    ranks, count = label_rows(columns)
    choices = keep_or_hide(replace(problem, table=problem.table.merge(ranks, count)))
    classes = _solve(choices, progress)[ranks] if count else ranks
    notes = {"method": "cells-optimal", "is_optimal": True}
    return as_written(problem, tighten_labels(keep_or_hide(problem), classes), notes=notes)


def _require_small(problem: Problem) -> None:
    combinations, attributes = len(problem.table), len(problem.attributes)
    if combinations > MOST_COMBINATIONS or attributes > MOST_ATTRIBUTES:
        raise _too_large(
            f"this table has {combinations:,} different combinations of {attributes} "
            f"quasi-identifiers, more than {MOST_COMBINATIONS} of {MOST_ATTRIBUTES}"
        )


def _too_large(why: str) -> WrongUsage:
    return WrongUsage(
        f"The fewest cells can be found exactly for small tables only: {why}. "
        "Use greedy cell suppression, or name fewer quasi-identifiers."
    )


@dataclass(frozen=True)
class _Choices:
    """Combination `members[i]` may get label `labels[i]` at `costs[i]`; the last label suppresses."""

    members: NDArray[np.int64]
    labels: NDArray[np.int64]
    costs: NDArray[np.float64]
    count: int  # labels besides the last

    def matrix(self, rows: NDArray[np.int64], values: NDArray[np.float64], count: int) -> Any:
        """Return constraints, one entry for each choice; a row below 0 has none."""
        used = np.flatnonzero(rows >= 0)
        shape = (count, len(self.members) + self.count)
        return sparse.csr_array((values[used], (rows[used], used)), shape=shape)

    @property
    def uses(self) -> Any:
        """One row for each label that may have a class: whether it has one."""
        left = sparse.csr_array((self.count, len(self.members)))
        return sparse.hstack([left, sparse.eye_array(self.count)], format="csr")


def _solve(problem: Problem, progress: Progress | None) -> NDArray[np.int64]:
    """Return the best class of each combination, `SUPPRESSED` for none."""
    choices = _list_choices(problem)
    constraints = _build_constraints(problem, choices)
    for done in range(_MOST_PROGRAMS):
        if progress is not None:
            progress("programs", done, done + 1)
        classes = _solve_program(problem, choices, constraints)
        failed = [
            members
            for one in range(choices.count)
            if (members := classes == one).any()
            and not holds_as_one(problem.judge, problem.table.take(members))
        ]
        if not failed:
            return classes
        constraints += [_ruled_out(problem, choices, members) for members in failed]
    raise _too_large("too many classes fail the criteria to rule them out one by one")


def _list_choices(problem: Problem) -> _Choices:
    """Return each label that at least enough people fit, with those whom it fits.

    A label that hides an attribute on which all whom it fits agree is left out: with the value
    shown, it fits the same people.
    """
    codes, weights = problem.table.codes, problem.weights
    everyone = np.arange(len(codes))
    parts: list[tuple[NDArray[np.int64], NDArray[np.int64], float]] = []
    count = 0
    for node in range(2 ** len(weights)):
        hidden = (node >> np.arange(len(weights)) & 1).astype(np.bool_)
        groups, found = label_rows(
            [(np.zeros(len(codes), dtype=np.int64), 1)]
            + [(codes[:, j], problem.attributes[j].size) for j in np.flatnonzero(~hidden)]
        )
        useful = _meets_criteria(problem, groups, found)
        for j in np.flatnonzero(hidden):
            low, high = np.full(found, codes.max()), np.zeros(found, dtype=codes.dtype)
            np.minimum.at(low, groups, codes[:, j])
            np.maximum.at(high, groups, codes[:, j])
            useful &= low < high
        fits = useful[groups]
        parts.append(
            (everyone[fits], count + (np.cumsum(useful) - 1)[groups[fits]], float(weights @ hidden))
        )
        count += int(useful.sum())
    if problem.limit:
        parts.append((everyone, np.full(len(codes), count), float(weights.sum())))
    members = np.concatenate([part[0] for part in parts])
    if len(members) > _MOST_CHOICES:
        raise _too_large(f"there are {len(members):,} ways to label its combinations")
    each = np.concatenate([np.full(len(part[0]), part[2], dtype=np.float64) for part in parts])
    costs = each * problem.table.rows[members]
    return _Choices(members, np.concatenate([part[1] for part in parts]), costs, count)


def _meets_criteria(problem: Problem, groups: NDArray[np.int64], count: int) -> NDArray[np.bool_]:
    if problem.judge.is_absorbing:  # what fails with all whom it fits fails with some of them
        return problem.judge.holds(problem.table, groups, count)
    return problem.table.sizes(groups, count) >= problem.judge.k


def _build_constraints(problem: Problem, choices: _Choices) -> list[optimize.LinearConstraint]:
    """Return: one label for each; enough people for a label that is used; at most the limit hidden."""
    table = problem.table
    people = table.sizes(np.arange(len(table)), len(table))
    labels = np.where(choices.labels < choices.count, choices.labels, -1)
    one = np.ones(len(labels))
    once = choices.matrix(choices.members, one, len(table))
    enough = choices.matrix(labels, people[choices.members].astype(np.float64), choices.count)
    labelled = np.flatnonzero(labels >= 0)
    each = np.full(len(labels), -1)
    each[labelled] = np.arange(len(labelled))
    used = choices.uses[labels[labelled]]
    suppressed = np.where(labels < 0, 0, -1)
    rows = choices.matrix(suppressed, table.rows[choices.members].astype(np.float64), 1)
    return [
        optimize.LinearConstraint(once, 1, 1),
        optimize.LinearConstraint(enough - choices.uses * problem.judge.k, 0, np.inf),
        optimize.LinearConstraint(used - choices.matrix(each, one, len(labelled)), 0, np.inf),
        optimize.LinearConstraint(rows, 0, problem.limit),
    ]


def _ruled_out(
    problem: Problem, choices: _Choices, failed: NDArray[np.bool_]
) -> optimize.LinearConstraint:
    """Return the constraint that no label has just the members of a class that failed.

    Where a class cannot hold with fewer members, none has only some of them either.
    """
    labels = np.where(choices.labels < choices.count, choices.labels, -1)
    if problem.judge.is_absorbing:
        inside = _most_that_fails(problem, failed)[choices.members]
        outside = choices.matrix(np.where(inside, -1, labels), np.ones(len(labels)), choices.count)
        return optimize.LinearConstraint(outside - choices.uses, 0, np.inf)
    inside = failed[choices.members]
    just = choices.matrix(labels, np.where(inside, 1.0, -1.0), choices.count)
    return optimize.LinearConstraint(just, -np.inf, int(failed.sum()) - 1)


def _most_that_fails(problem: Problem, failed: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Return a largest set of combinations with all of `failed` that still fails as a class."""
    most = failed.copy()
    for one in np.flatnonzero(~failed):
        most[one] = True
        most[one] = not holds_as_one(problem.judge, problem.table.take(most))
    return most


def _solve_program(
    problem: Problem, choices: _Choices, constraints: list[optimize.LinearConstraint]
) -> NDArray[np.int64]:
    solution = optimize.milp(
        np.append(choices.costs, np.zeros(choices.count)),
        integrality=np.ones(len(choices.costs) + choices.count),
        bounds=optimize.Bounds(0, 1),
        constraints=constraints,
        # Counted, not timed: the same table is refused or solved on every machine.
        options={"mip_rel_gap": 0, "node_limit": _MOST_BRANCHES},
    )
    if solution.status == 2:  # infeasible
        raise unreachable_error(problem)
    if solution.status != 0:
        raise _too_large("the program for this one has too many branches")
    chosen = np.flatnonzero(solution.x[: len(choices.costs)] > 0.5)
    classes = np.empty(len(problem.table), dtype=np.int64)
    classes[choices.members[chosen]] = choices.labels[chosen]
    return np.where(classes == choices.count, SUPPRESSED, classes)
