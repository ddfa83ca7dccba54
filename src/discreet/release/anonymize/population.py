"""The population on the codes of the problem, and as the release would call its people."""

from __future__ import annotations

from collections.abc import Collection, Sequence

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from sqlglot import exp

from discreet.arrow import ArrowArray, pc
from discreet.engines.engine import ArrowTable, Table
from discreet.errors import WrongUsage
from discreet.measure.classes import Roles
from discreet.measure.presence import bring_population
from discreet.policy.hierarchies.values import span_texts
from discreet.release.anonymize.problem import EncodedProblem, Population
from discreet.release.anonymize.recoding import spans_of
from discreet.sql import build


def read_population(subject: Roles, population: Table) -> ArrowTable:
    """Return the population's distinct combinations, `q0 … qn`, and the `people` who have them."""
    relation: exp.Table = bring_population(population, subject, subject.table.engine)
    names = [f"q{index}" for index in range(len(subject.quasi))]
    columns = [build.column(name) for name in (*names, "people")]
    return subject.table.engine.run(build.select(*columns, source=relation))


def join_values(
    values: ArrowArray, others: ArrowArray, *, column: str
) -> tuple[ArrowArray, NDArray[np.int64], NDArray[np.int64]]:
    """Return all values in one order, a missing one last, and the codes of both arrays in it."""
    try:
        others = pc.cast(others, values.type)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        raise WrongUsage(
            f"Column '{column}' of the population cannot be read as the table's. Write both in one form."
        ) from None
    known = pc.unique(pa.concat_arrays([values.drop_null(), others.drop_null()]))
    known = known.take(pc.array_sort_indices(known))
    if values.null_count or others.null_count:
        known = pa.concat_arrays([known, pa.nulls(1, known.type)])
    return known, _find_codes(values, known), _find_codes(others, known)


def code_population(found: ArrowTable, codes: Sequence[NDArray[np.int64]]) -> Population:
    """Return the population whose combinations have these codes, by attribute."""
    people = found["people"].to_numpy().astype(np.int64)
    return Population(np.stack(codes, axis=1).astype(np.int32), people)


def generalized_population(
    reading: EncodedProblem, node: Sequence[int], *, labeled: Collection[str]
) -> ArrowTable:
    """Return the population, a row for each person, with the labels it has at a node.

    A release by full-domain recoding is compared with it: both call the same people the same.
    Columns that are not `labeled` have the values of the source.
    """
    population = reading.problem.population
    if population is None:
        raise WrongUsage("There is no population to compare the release with. Add --against.")
    chosen = np.repeat(np.arange(len(population.people)), population.people)
    columns: dict[str, ArrowArray] = {}
    for j, (attribute, level) in enumerate(zip(reading.problem.attributes, node, strict=True)):
        codes = population.codes[chosen, j]
        groups = attribute.groups[level][codes]
        if attribute.name not in labeled:
            columns[attribute.name] = reading.values[j].take(pa.array(codes))
        elif attribute.labels is None:
            columns[attribute.name] = _range_labels(reading, j, level).take(pa.array(groups))
        else:
            columns[attribute.name] = attribute.labels(level).take(pa.array(groups))
    return pa.table(columns)


def _range_labels(reading: EncodedProblem, j: int, level: int) -> ArrowArray:
    attribute = reading.problem.attributes[j]
    if level == attribute.height:
        return pa.array(["*"], pa.string())
    return span_texts(reading.values[j], *spans_of(attribute, level))


def _find_codes(values: ArrowArray, known: ArrowArray) -> NDArray[np.int64]:
    found = pc.index_in(values, value_set=known)
    return found.to_numpy(zero_copy_only=False).astype(np.int64)
