"""Suppressed rows as one class: a person who fits no other class is in it."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from sqlglot import exp

from discreet.errors import Bug
from discreet.measure.classes import Cells, is_suppressed, join_codes, suppressed_people
from discreet.release.anonymize.frequencies import Frequencies, Histogram
from discreet.release.anonymize.judge import holds_as_one
from discreet.release.anonymize.problem import EncodedProblem
from discreet.release.anonymize.recoding import SUPPRESSED, Recoding
from discreet.sql import build


def people_suppressed(reading: EncodedProblem, recoding: Recoding) -> int:
    """Return how many people are suppressed: by the recoding, and in the source already."""
    hidden = reading.problem.table.take(recoding.classes == SUPPRESSED)
    people = int(hidden.sizes(np.zeros(len(hidden), dtype=np.int64), 1)[0]) if len(hidden) else 0
    before = suppressed_people(reading.cells)
    # With a unit, those who were suppressed before may be the same people.
    return people + before if reading.cells.subject.unit is None else max(people, before)


def suppressed_meet_criteria(reading: EncodedProblem, recoding: Recoding) -> bool:
    """Return whether all suppressed rows, those of the source included, meet the criteria as a class.

    They are a class to a reader of the output. Where people have several rows and some were
    suppressed before, it is not known who is who: they do not hold.
    """
    judge = reading.problem.judge
    hidden = reading.problem.table.take(recoding.classes == SUPPRESSED)
    if not reading.cells.suppressed:
        return holds_as_one(judge, hidden)
    if people_suppressed(reading, recoding) < judge.k:
        return False
    if not judge.trials:
        return True
    if reading.cells.subject.unit is not None:
        return False
    return holds_as_one(judge, _with_source(hidden, reading.cells))


def _with_source(hidden: Frequencies, cells: Cells) -> Frequencies:
    """Return the suppressed combinations, and one more: the rows suppressed in the source."""
    last = len(hidden)
    histograms = [
        Histogram(
            np.append(histogram.owners, np.full(len(codes), last)),
            np.append(histogram.codes, codes),
            np.append(histogram.counts, counts),
        )
        for index, histogram in enumerate(hidden.histograms)
        for codes, counts in (_suppressed_values(cells, index),)
    ]
    return Frequencies(
        codes=np.concatenate([hidden.codes, np.zeros((1, hidden.codes.shape[1]), np.int32)]),
        rows=np.append(hidden.rows, cells.suppressed),
        histograms=tuple(histograms),
    )


def _suppressed_values(cells: Cells, index: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the codes of a sensitive column in the rows that the source suppresses, and their counts."""
    if cells.groups is None:
        raise Bug("The groups of the cells were not kept.")
    quasi = {f"q{place}": column for place, column in enumerate(cells.subject.quasi)}
    value = build.column(f"s{index}", of="t")
    query, (code,) = join_codes(cells.groups.relation, [cells.sensitive[index]], [value])
    known = exp.cast(exp.paren(code), exp.DataType.Type.BIGINT)
    query = query.select(
        build.alias_as(known, "code"), build.alias_as(build.column("rows", of="t"), "rows")
    ).where(is_suppressed(quasi, of="t"))
    counted = build.select(
        build.column("code"),
        build.alias_as(build.sum_integers(build.column("rows")), "rows"),
        source=build.subquery(query, "c"),
    ).group_by(build.column("code"))
    found = cells.subject.table.engine.run(build.order_nulls_last(counted, [build.column("code")]))
    codes, counts = (found.column(name).to_numpy().astype(np.int64) for name in ("code", "rows"))
    return codes, counts
