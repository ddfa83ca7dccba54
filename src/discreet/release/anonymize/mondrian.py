"""Mondrian: cut the table into parts, and the parts again, while every piece meets the criteria.

LeFevre, DeWitt & Ramakrishnan 2006, "Mondrian multidimensional k-anonymity".
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from discreet.release.anonymize.cuts import Cut, cut_between_values, cut_within_value
from discreet.release.anonymize.frequencies import label_rows, renumber_keys
from discreet.release.anonymize.judge import holds_as_one
from discreet.release.anonymize.parts import Axis, Partition, make_axis
from discreet.release.anonymize.problem import Problem
from discreet.release.anonymize.reachability import (
    overlapping_labels_error,
    require_reachable,
    unreachable_error,
)
from discreet.release.anonymize.recoding import Recoding, tighten_labels

if TYPE_CHECKING:
    from discreet.progress import Progress


def partition_strictly(problem: Problem, *, progress: Progress | None = None) -> Recoding:
    """Return the recoding of strict Mondrian: rows with the same value are cut to the same side.

    Guarantee: every class meets the criteria, no row is suppressed, and on range attributes without
    missing values no two classes overlap.

    Raises:
        CriteriaUnreachable: The criteria fail even when all people are in one class.
        WrongUsage: A criterion is about the population.
    """
    classes = divide(problem, [cut_between_values], progress=progress)
    return tighten_labels(problem, classes, notes={"method": "mondrian-strict"})


def partition_loosely(problem: Problem, *, progress: Progress | None = None) -> Recoding:
    """Return the recoding of relaxed Mondrian: where no strict cut is left, values may be divided.

    Parts are those of `partition_strictly`, cut further between combinations that share a value:
    the loss is never more and the classes are never fewer, but classes overlap. Rows that agree on
    all quasi-identifiers stay together.

    Guarantee: every class meets the criteria, and no row is suppressed.

    Raises:
        CriteriaUnreachable: The criteria fail even when all people are in one class.
        WrongUsage: A criterion is about the population.
    """
    classes = divide(problem, [cut_between_values, cut_within_value], progress=progress)
    return tighten_labels(problem, classes, notes={"method": "mondrian-relaxed"})


def divide(
    problem: Problem, cuts: Sequence[Cut], *, progress: Progress | None = None
) -> NDArray[np.int64]:
    """Return the part of each combination after cutting while any of `cuts` is possible.

    All parts are cut at once, each along the attribute whose loss falls most; a kind of cut is tried
    on the parts for which the kinds before it found nothing.
    """
    require_classes_suffice(problem)
    require_reachable(problem)
    if not holds_as_one(problem.judge, problem.table):
        raise unreachable_error(problem)
    axes = [make_axis(attribute) for attribute in problem.attributes]
    members = np.arange(len(problem.table))
    parts = _as_one(problem, axes)
    classes = np.zeros(len(members), dtype=np.int64)
    finished = 0
    while len(members):
        sides, is_cut = _choose_cuts(problem, parts, axes, cuts)
        done = ~is_cut[parts.labels]
        labels, count = renumber_keys(parts.labels[done], parts.count)
        classes[members[done]] = finished + labels
        finished += count
        members = members[~done]
        parts = parts.take(is_cut).split(sides[~done])
        if progress is not None:
            left = int(parts.table.rows.sum())
            progress("parts", problem.rows - left, problem.rows)
    return classes


def require_classes_suffice(problem: Problem) -> None:
    """Refuse criteria about the population: they depend on what a class is called.

    Raises:
        WrongUsage: There is such a criterion.
    """
    if problem.judge.population:
        raise overlapping_labels_error()


def _as_one(problem: Problem, axes: Sequence[Axis]) -> Partition:
    codes = problem.table.codes
    ranks, _ = label_rows([(codes[:, j], axis.attribute.size) for j, axis in enumerate(axes)])
    places = np.stack([axis.places[codes[:, j]] for j, axis in enumerate(axes)])
    everyone = np.zeros(len(codes), dtype=np.int64)
    # Places stand for the codes from here on, and fewer columns are quicker to take from.
    return Partition(replace(problem.table, codes=codes[:, :0]), places, ranks, everyone, 1)


def _choose_cuts(
    problem: Problem, parts: Partition, axes: Sequence[Axis], cuts: Sequence[Cut]
) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """Return the side of each combination in its part's best cut, and which parts have any cut."""
    sides = np.zeros(len(parts.labels), dtype=np.int64)
    gains = np.zeros(parts.count)
    for cut in cuts:
        waiting = gains == 0
        for index, (axis, weight) in enumerate(zip(axes, problem.weights, strict=True)):
            on_axis = parts.along(index)
            lows, highs = on_axis.bounds
            _, losses = axis.label(lows, highs)
            # A part cannot gain more than it loses now.
            chosen = waiting & (lows < highs) & (losses * weight * parts.rows > gains)
            if not chosen.any():
                continue
            some = on_axis.take(chosen)
            found, is_held = cut(problem.judge, some, axis)
            gained = weight * (losses[chosen] * some.rows - _cut_losses(some, axis, found))
            better = is_held & (gained > gains[chosen])
            where = np.flatnonzero(chosen[parts.labels])[better[some.labels]]
            sides[where] = found[better[some.labels]]
            gains[np.flatnonzero(chosen)[better]] = gained[better]
    return sides, gains > 0


def _cut_losses(parts: Partition, axis: Axis, sides: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return what the rows of each part lose on an axis when it is cut into `sides`."""
    pieces = parts.split(sides)
    _, losses = axis.label(*pieces.bounds)
    owners = pieces.of_each(parts.labels)
    lost = np.bincount(owners, weights=losses * pieces.rows, minlength=parts.count)
    return lost.astype(np.float64, copy=False)
