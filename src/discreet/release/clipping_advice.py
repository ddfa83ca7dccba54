"""Outliers, by column, that force all rows into coarse classes."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from discreet.release.anonymize.frequencies import sum_by_label
from discreet.release.anonymize.problem import EncodedProblem
from discreet.release.anonymize.recoding import Recoding, attribute_losses
from discreet.release.outliers import Outliers, find_outliers

# A column that lost less than this was not made coarse by outliers.
_LOST = 0.05
_FEW = 0.05  # outliers are a small part of the people
_FAR = 0.1  # and alone on a good part of the range; otherwise clipping would help little


def advise_clipping(reading: EncodedProblem, recoding: Recoding) -> tuple[Outliers, ...]:
    """Return the outliers of columns of numbers that were generalized, with the clipping that helps."""
    problem = reading.problem
    lost = attribute_losses(problem, recoding)
    found: list[Outliers] = []
    for j, (attribute, values) in enumerate(zip(problem.attributes, reading.values, strict=True)):
        is_number = pa.types.is_integer(values.type) or pa.types.is_floating(values.type)
        is_number |= pa.types.is_decimal(values.type)
        if lost[j] < _LOST or not is_number:
            continue
        counts = sum_by_label(
            problem.table.codes[:, j].astype(np.int64), problem.table.rows, len(values)
        )
        known = values.is_valid().to_numpy(zero_copy_only=False) & (counts > 0)
        one = find_outliers(
            values.filter(pa.array(known)).to_pylist(),
            counts[known],
            k=problem.judge.k,
            column=attribute.name,
        )
        if one is None or one.saved < _FAR:
            continue
        if one.below + one.above <= _FEW * one.people:
            found.append(one)
    return tuple(found)
