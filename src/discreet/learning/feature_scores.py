"""What each feature adds to the scores of an additive model, as a function of its value instead of its code.

Other programs know no codes: they compare numbers with thresholds, and look texts up in a list. Booleans are 0
and 1, dates days since 1970, moments seconds since 1970, times seconds since midnight.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from discreet.domain.binned_range import BinnedRange
from discreet.domain.coded_column import CodedColumn
from discreet.domain.listed_values import ListedValues, number_of
from discreet.engines.engine import Kind
from discreet.learning.additive import AdditiveModel, Floats
from discreet.learning.tree_model import TreeModel

Form = Literal["steps", "points", "texts"]
_TRIES = 64  # steps to the next number, until the smallest one of a bin is found


@dataclass(frozen=True)
class FeatureScores:
    """What a feature adds to each score.

    Attributes:
        name: The feature.
        form: `steps` of a scale, `points` of listed numbers, or `texts`.
        numbers: Where the second and each later step begins, ascending; or the listed numbers.
        texts: The listed texts.
        values: What each step or listed value adds, a row each.
        other: What a value adds that is not listed.
        missing: What no value adds.
    """

    name: str
    form: Form
    numbers: Floats
    texts: tuple[str, ...]
    values: Floats
    other: Floats
    missing: Floats


def list_feature_scores(model: AdditiveModel) -> list[FeatureScores]:
    """Return what each feature adds to the scores of a model."""
    return [
        _score_feature(column, shape)
        for column, shape in zip(model.space.features, model.shapes, strict=True)
    ]


def list_feature_groups(model: TreeModel) -> list[FeatureScores]:
    """Return for each feature the number of the group that its values are in: of codes that trees do not tell apart."""
    found: list[FeatureScores] = []
    for column, starts in zip(model.space.features, model.list_groups(), strict=True):
        groups = np.searchsorted(starts, np.arange(column.size), side="right") - 1
        found.append(_score_feature(column, groups[:, None].astype(np.float64)))
    return found


def _score_feature(column: CodedColumn, shape: Floats) -> FeatureScores:
    """Return as a function of values what `shape` has for each code of a column, a row each."""
    coding, missing = column.coding, shape[-1]
    if isinstance(coding, BinnedRange):
        changes = np.flatnonzero(np.any(np.diff(shape[:-1], axis=0) != 0, axis=1)) + 1
        starts = _first_numbers(column, coding)[changes]
        values = shape[:-1][[0, *changes.tolist()]]
        return FeatureScores(column.name, "steps", starts, (), values, missing, missing)
    other = shape[len(coding.values)] if coding.has_other else missing
    values = shape[: len(coding.values)]
    if coding.kind in (Kind.TEXT, Kind.OTHER):
        texts = tuple(str(one) for one in coding.values)
        return FeatureScores(column.name, "texts", np.zeros(0), texts, values, other, missing)
    numbers = _stored_numbers(coding)
    return FeatureScores(column.name, "points", numbers, (), values, other, missing)


def _stored_numbers(coding: ListedValues) -> Floats:
    return np.array([number_of(one) for one in coding.stored_values.to_pylist()], float)


def _first_numbers(column: CodedColumn, coding: BinnedRange) -> Floats:
    """Return the smallest number of each bin, exactly as rows are coded.

    Bins of real numbers are found by a division, whose rounding may move an edge by a few of the last digits.
    """
    firsts = coding.ends[0].copy()
    if coding.unit != "real":
        return firsts
    codes = np.arange(len(firsts))

    def find_codes(numbers: Floats) -> NDArray[np.int32]:
        return column.encode(pa.array(numbers))

    for _ in range(_TRIES):
        is_below = find_codes(firsts) < codes
        firsts = np.where(is_below, np.nextafter(firsts, np.inf), firsts)
        before = np.nextafter(firsts, -np.inf)
        is_above = ~is_below & (codes > 0) & (find_codes(before) >= codes)
        if not (is_below | is_above).any():
            break
        firsts = np.where(is_above, before, firsts)
    return firsts
