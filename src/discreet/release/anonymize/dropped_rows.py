"""Rows that are left out change what the others are compared with: classes are made again."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from discreet.criteria.histograms import Overall
from discreet.release.anonymize.frequencies import Frequencies, Histogram, sum_by_label
from discreet.release.anonymize.problem import Problem
from discreet.release.anonymize.recoding import SUPPRESSED, Recoding


def is_relative(problem: Problem) -> bool:
    """Return whether a criterion compares classes with the whole table."""
    return any(criterion.is_relative for criterion in problem.judge.criteria)


def solve_without_dropped(
    problem: Problem, recoding: Recoding, solve: Callable[[Problem], Recoding]
) -> Recoding:
    """Return a recoding whose classes hold when suppressed rows are not in the table.

    The rows that stay are solved again, compared with themselves alone, until no more go. Each turn
    takes rows away, and the limit counts them all, so that there are not many.
    """
    while (hidden := recoding.classes == SUPPRESSED).any():
        again = solve(_drop_combinations(problem, ~hidden))
        classes = np.full(len(hidden), SUPPRESSED, dtype=np.int64)
        classes[~hidden] = again.classes
        recoding = replace(again, classes=classes)
        if not (again.classes == SUPPRESSED).any():
            break
    return recoding


def _drop_combinations(problem: Problem, kept: NDArray[np.bool_]) -> Problem:
    table = problem.table.take(kept)
    parts = [
        _closed_up(histogram, overall)
        for histogram, overall in zip(table.histograms, problem.judge.overalls, strict=True)
    ]
    return replace(
        problem,
        table=replace(table, histograms=tuple(histogram for histogram, _ in parts)),
        judge=replace(problem.judge, overalls=tuple(overall for _, overall in parts)),
        limit=problem.limit - _count_rows(problem.table, ~kept),
    )


def _closed_up(histogram: Histogram, overall: Overall) -> tuple[Histogram, Overall]:
    """Return the values that are left, numbered without gaps, and their distribution."""
    codes, counts = histogram.codes, histogram.counts
    if histogram.units is not None:  # a person counts once for each value
        pairs = np.unique(np.stack([codes, histogram.units]), axis=1)
        codes, counts = pairs[0], np.ones(pairs.shape[1], dtype=np.int64)
    people = sum_by_label(codes, counts, len(overall.shares))
    held = np.flatnonzero(people)
    numbers = np.cumsum(people > 0) - 1
    ranks = overall.ranks
    return replace(histogram, codes=numbers[histogram.codes]), replace(
        overall,
        shares=people[held] / max(int(people.sum()), 1),
        missing=len(held) - 1 if overall.missing is not None and people[-1] else None,
        ranks=None if ranks is None else np.argsort(np.argsort(ranks[held])),
        levels=None
        if overall.levels is None
        else tuple(np.unique(level[held], return_inverse=True)[1] for level in overall.levels),
    )


def _count_rows(table: Frequencies, chosen: NDArray[np.bool_]) -> int:
    return int(table.rows[chosen].sum())
