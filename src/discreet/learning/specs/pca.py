"""Principal components: the eigenvectors of one noisy matrix of sums of products."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations_with_replacement
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.dp.spending import RowChange, divide_budget
from discreet.errors import WrongUsage
from discreet.learning.coordinates import PRESENCE, REACH, Coordinates, FeatureCoordinates
from discreet.learning.features import FeatureSpace, require_few_pairs
from discreet.learning.training import Codes, Counts, Training
from discreet.registry import LearnerSpec, OptionSpec

Floats = NDArray[np.float64]
_COMPONENTS = 10
_COUNTING = (
    0.05  # the share of the price for the sums of coordinates, by which products are centered
)
_LEVELS = 32  # a coordinate on a scale is a whole number up to this in products
_PRESENCE = 23  # and that of a category is this
_MOST_COORDINATES = 2000


@dataclass(frozen=True)
class ComponentModel:
    """Principal components.

    Attributes:
        space: The features.
        mean: The noisy mean of each coordinate.
        components: Directions of length one that stand upright on each other, a row each, by falling variance.
        shares: Which share of the noisy variance each has.
    """

    space: FeatureSpace
    mean: Floats
    components: Floats
    shares: Floats

    def predict(self, codes: NDArray[np.integer[Any]]) -> Floats:
        """Return how far each row of codes lies from the mean in the direction of each component.

        A missing value on a scale lies at the mean.
        """
        coordinates = Coordinates.of_space(self.space)
        points = coordinates.place_rows(codes)
        for place, one in enumerate(coordinates.features):
            if one.is_scale:
                is_missing = codes[:, place] == one.column.missing
                points[is_missing, one.first] = self.mean[one.first]
        return (points - self.mean) @ self.components.T

    def to_content(self) -> dict[str, Any]:
        """Return the model in plain values."""
        return {
            "kind": "components",
            "coordinates": Coordinates.of_space(self.space).labels,
            "mean": self.mean.tolist(),
            "components": self.components.tolist(),
            "shares": self.shares.tolist(),
        }


def read_component_model(space: FeatureSpace, content: Mapping[str, Any]) -> ComponentModel:
    """Return what `to_content` wrote; raises `ValueError`, `KeyError` or `TypeError` for anything else."""
    coordinates = Coordinates.of_space(space)
    if content["kind"] != "components" or content["coordinates"] != coordinates.labels:
        raise ValueError("it is no model of components of these features")
    mean, components, shares = (
        np.array(content[name], float) for name in ("mean", "components", "shares")
    )
    size = coordinates.size
    if mean.shape != (size,) or shares.ndim != 1 or components.shape != (len(shares), size):
        raise ValueError("the components do not fit the features")
    if not all(np.isfinite(one).all() for one in (mean, components, shares)):
        raise ValueError("a component is malformed")
    return ComponentModel(space, mean, components, shares)


def fit_pca(training: Training, *, components: int = _COMPONENTS) -> ComponentModel:
    """Return the eigenvectors of a noisy covariance matrix (Dwork, Talwar, Thakurta & Zhang 2014).

    Guarantee: that of `training.spending`. A row is in one cell of each feature's counts, from which the mean
    follows. For each pair of features a row changes one sum of products, by at most the product of the
    features' largest coordinates; the sums of all pairs are one vector. Eigenvectors follow from noisy sums.

    Args:
        training: Counts, features, and what may be spent.
        components: How many components there are at most.
    """
    coordinates = Coordinates.of_space(training.space)
    spending = training.spending
    mean, rows = _measure_mean(training, coordinates, spending.left * Fraction(_COUNTING))
    scaled = [_ScaledFeature.of_feature(one, mean[one.first]) for one in coordinates.features]
    products = _measure_products(training, scaled, spending.left) / rows
    covariance = products - np.outer(mean, mean)
    values, vectors = np.linalg.eigh(covariance)
    order = np.argsort(-values, kind="stable")[: min(components, coordinates.size)]
    found = vectors[:, order].T
    largest = found[np.arange(len(found)), np.abs(found).argmax(axis=1)]
    variances = np.maximum(values[order], 0)
    whole = max(float(np.trace(covariance)), float(variances.sum()), 1e-12)
    return ComponentModel(
        training.space, mean, found * np.where(largest < 0, -1.0, 1.0)[:, None], variances / whole
    )


def require_few_coordinates(space: FeatureSpace) -> None:
    """Refuse features that make a matrix of products which is too large.

    Raises:
        WrongUsage: They have too many coordinates, or too many pairs; nothing was spent.
    """
    require_few_pairs(space)
    size = Coordinates.of_space(space).size
    if size > _MOST_COORDINATES:
        raise WrongUsage(
            f"The features have {size} values together, more than the {_MOST_COORDINATES} that "
            "components are computed of. Leave out columns with many values: `--leave-out`."
        )


@dataclass(frozen=True)
class _ScaledFeature:
    """A feature's coordinates in the whole numbers that products are made of.

    Attributes:
        levels: For each code the level that it is counted as.
        values: The coordinates of each level, an axis each.
        factor: What a whole number stands for.
    """

    levels: Codes
    values: Counts
    factor: float

    @staticmethod
    def of_feature(one: FeatureCoordinates, mean: float) -> _ScaledFeature:
        """Return a feature's coordinates; a missing value on a scale lies at the noisy mean."""
        if not one.is_scale:
            size = one.column.size
            values = np.eye(size, dtype=np.int64) * _PRESENCE
            return _ScaledFeature(np.arange(size), values, PRESENCE / REACH / _PRESENCE)
        there = np.rint(one.values[:-1, 0] * (_LEVELS / REACH)).astype(np.int64)
        missing = int(np.rint(np.clip(mean, -1, 1) * _LEVELS))
        numbers, levels = np.unique(np.append(there, missing), return_inverse=True)
        return _ScaledFeature(levels, numbers[:, None], 1 / _LEVELS)

    @property
    def largest(self) -> int:
        """The largest coordinate that a row can have."""
        return _PRESENCE if self.values.shape[1] > 1 else _LEVELS


def _measure_mean(
    training: Training, coordinates: Coordinates, price: Fraction
) -> tuple[Floats, float]:
    """Return the noisy mean of each coordinate and the noisy number of rows, at least one."""
    spending = training.spending
    exact = training.counts.count([(one,) for one in range(len(coordinates.features))], None)
    prices = divide_budget(price, [float(len(one)) ** spending.power for one in exact])
    noisy = [spending.measure(one, part) for one, part in zip(exact, prices, strict=True)]
    rows = max(1.0, float(np.median([one.sum() for one in noisy])))
    means: list[Floats] = []
    for one, counts in zip(coordinates.features, noisy, strict=True):
        there = np.maximum(counts[:-1] if one.is_scale else counts, 0)
        weights = there / max(float(there.sum()), 1.0)
        means.append(weights @ one.values[: len(weights)] / REACH)
    return np.concatenate(means), rows


def _measure_products(
    training: Training, features: list[_ScaledFeature], price: Fraction
) -> Floats:
    """Return the noisy sums over rows of the products of all pairs of coordinates."""
    pairs = list(combinations_with_replacement(range(len(features)), 2))
    maps = [one.levels for one in features]
    if training.space.target is not None:
        maps.append(np.arange(training.space.target.size))
    wanted = [(one,) if one == other else (one, other) for one, other in pairs]
    counted = training.counts.count(wanted, maps)
    parts: list[Counts] = []
    for (one, other), counts in zip(pairs, counted, strict=True):
        mine, theirs = features[one].values, features[other].values
        if one == other:
            parts.append((mine**2).T @ counts)  # a row has one coordinate of a feature
        else:
            parts.append((mine.T @ counts @ theirs).ravel())
    products = [features[one].largest * features[other].largest for one, other in pairs]
    change = RowChange(sum(products), sum(one**2 for one in products))
    noisy = training.spending.measure(np.concatenate(parts), price, change=change)
    return _fill_matrix(features, pairs, np.split(noisy, np.cumsum([len(one) for one in parts])))


def _fill_matrix(
    features: list[_ScaledFeature], pairs: list[tuple[int, int]], parts: list[Floats]
) -> Floats:
    """Return the symmetric matrix of sums of products."""
    sizes = [one.values.shape[1] for one in features]
    firsts = np.cumsum([0, *sizes])
    matrix = np.zeros((firsts[-1], firsts[-1]))
    for (one, other), part in zip(pairs, parts, strict=False):
        block = np.diag(part) if one == other else part.reshape(sizes[one], sizes[other])
        block = block * (features[one].factor * features[other].factor)
        rows = slice(firsts[one], firsts[one + 1])
        columns = slice(firsts[other], firsts[other + 1])
        matrix[rows, columns] = block
        matrix[columns, rows] = block.T
    return matrix


SPEC = LearnerSpec(
    name="pca",
    summary="Principal components, from one noisy matrix of sums of products.",
    description="Principal components: the directions in which rows differ most.",
    tasks=("components",),
    fit=fit_pca,
    check=require_few_coordinates,
    read=read_component_model,
    options=(
        OptionSpec(
            "components",
            "integer",
            "How many components there are at most.",
            default=_COMPONENTS,
            minimum=1,
            maximum=100,
        ),
    ),
    position=210,
)
