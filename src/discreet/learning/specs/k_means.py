"""Clusters: Lloyd's rounds on noisy counts and sums."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from discreet.dp.spending import RowChange, divide_budget
from discreet.learning.coordinates import REACH, Coordinates
from discreet.learning.features import FeatureSpace
from discreet.learning.training import Counts, Training
from discreet.registry import LearnerSpec, OptionSpec

Floats = NDArray[np.float64]
_STARTING = (
    0.15  # the share of the price for counts of each feature, from which the first centers follow
)
_CLUSTERS, _ROUNDS = 5, 5
_SAMPLES, _TRIALS, _STEPS = 1000, 5, 5


@dataclass(frozen=True)
class ClusterModel:
    """Centers of clusters.

    Attributes:
        space: The features.
        centers: The coordinates of each center, a row each, as whole numbers of which `REACH` is one.
        rows: The noisy number of rows of each cluster in the last round.
    """

    space: FeatureSpace
    centers: Counts
    rows: Floats

    def predict(self, codes: NDArray[np.integer[Any]]) -> NDArray[np.int64]:
        """Return the cluster of each row of codes: that of the nearest center, the first of equally near ones."""
        distances = measure_distances(Coordinates.of_space(self.space), self.centers)
        total = np.zeros((len(codes), len(self.centers)), np.int64)
        for place, one in enumerate(distances):
            total += one[codes[:, place]]
        return total.argmin(axis=1)

    def to_content(self) -> dict[str, Any]:
        """Return the model in plain values."""
        return {
            "kind": "clusters",
            "coordinates": Coordinates.of_space(self.space).labels,
            "centers": self.centers.tolist(),
            "rows": self.rows.tolist(),
        }


def read_cluster_model(space: FeatureSpace, content: Mapping[str, Any]) -> ClusterModel:
    """Return what `to_content` wrote; raises `ValueError`, `KeyError` or `TypeError` for anything else."""
    centers, rows = np.array(content["centers"]), np.array(content["rows"], float)
    coordinates = Coordinates.of_space(space)
    if content["kind"] != "clusters" or content["coordinates"] != coordinates.labels:
        raise ValueError("it is no model of clusters of these features")
    if centers.dtype != np.int64 or centers.shape != (len(rows), coordinates.size) or not len(rows):
        raise ValueError("the centers do not fit the features")
    if np.abs(centers).max() > REACH or not np.isfinite(rows).all():
        raise ValueError("a center lies beyond the bounds")
    return ClusterModel(space, centers, rows)


def measure_distances(coordinates: Coordinates, centers: Counts) -> list[Counts]:
    """Return for each feature what its codes add to the distance to each center, an axis each.

    Distances are squared, without the square of the row's own coordinates, which is the same for all centers. A
    missing value on a scale is at no distance from any center.
    """
    found: list[Counts] = []
    for one in coordinates.features:
        mine = centers[:, one.places].T  # coordinates by centers
        values = one.values
        distances = (mine**2).sum(axis=0) - 2 * values @ mine
        if one.is_scale:
            distances[one.column.missing] = 0
        found.append(distances)
    return found


def fit_k_means(
    training: Training, *, clusters: int = _CLUSTERS, rounds: int = _ROUNDS
) -> ClusterModel:
    """Return centers that were moved by noisy counts and sums (DP-Lloyd; Blum, Dwork, McSherry & Nissim 2005).

    Guarantee: that of `training.spending`. A row is in one cell of each feature's counts, from which the first
    centers follow. In a round a row is in one cluster: it changes one cluster's count by one, and for each
    feature the sum of one coordinate by at most `REACH`.

    Args:
        training: Counts, features, and what may be spent.
        clusters: How many clusters there are.
        rounds: How often centers are moved.
    """
    coordinates = Coordinates.of_space(training.space)
    spending = training.spending
    starting = spending.left * Fraction(_STARTING)
    centers = _start_centers(training, coordinates, clusters, starting)
    rows = np.zeros(clusters)
    for price in divide_budget(spending.left, [1.0] * rounds):
        centers, rows = _move_centers(training, coordinates, centers, price)
    return ClusterModel(training.space, centers, rows)


def _start_centers(
    training: Training, coordinates: Coordinates, clusters: int, price: Fraction
) -> Counts:
    """Return centers that suit rows drawn from noisy counts of each feature, by the rounds of Lloyd without noise."""
    spending, chance = training.spending, training.chance
    exact = training.counts.count([(one,) for one in range(len(coordinates.features))], None)
    drawn: list[NDArray[np.int64]] = []
    prices = divide_budget(price, [float(len(one)) ** spending.power for one in exact])
    for counts, part in zip(exact, prices, strict=True):
        noisy = spending.measure(counts, part)
        weights = np.maximum(noisy - spending.scale(part), 0) + 1e-9
        drawn.append(chance.choice(len(weights), _SAMPLES, p=weights / weights.sum()))
    points = coordinates.place_rows(np.stack(drawn, axis=1)) * REACH
    tried = [_cluster_points(points, clusters, chance) for _ in range(_TRIALS)]
    best = min(tried, key=lambda centers: float(_square_gaps(points, centers).min(axis=1).sum()))
    return np.rint(np.clip(best, -REACH, REACH)).astype(np.int64)


def _cluster_points(points: Floats, clusters: int, chance: Generator) -> Floats:
    """Return centers of points that protect nothing, begun as k-means++ (Arthur & Vassilvitskii 2007)."""
    centers = points[[int(chance.integers(len(points)))]]
    while len(centers) < clusters:
        weights = _square_gaps(points, centers).min(axis=1) + 1e-9
        chosen = chance.choice(len(points), p=weights / weights.sum())
        centers = np.vstack([centers, points[chosen]])
    for _ in range(_STEPS):
        near = _square_gaps(points, centers).argmin(axis=1)
        for one in range(clusters):
            if (near == one).any():
                centers[one] = points[near == one].mean(axis=0)
    return centers


def _square_gaps(points: Floats, centers: Floats) -> Floats:
    """Return the squared distance of each point to each center."""
    products = points @ centers.T
    gaps = (points**2).sum(axis=1)[:, None] - 2 * products + (centers**2).sum(axis=1)
    return np.maximum(gaps, 0)


def _move_centers(
    training: Training, coordinates: Coordinates, centers: Counts, price: Fraction
) -> tuple[Counts, Floats]:
    """Return the centers of the next round, and the noisy number of rows of each.

    A missing value on a scale counts as the center's own coordinate, so that it moves nothing. A cluster with fewer
    rows than noise stays where it is.
    """
    spending, features = training.spending, coordinates.features
    distances: list[Counts | None] = [*measure_distances(coordinates, centers)]
    if training.space.target is not None:
        distances.append(None)
    counted = training.counts.count_by_center(distances, [(one,) for one in range(len(features))])
    rows = counted[0].sum(axis=1)
    sums = _add_coordinates(coordinates, counted, centers)
    share = 1 / (1 + len(features) ** 0.5)
    counting, summing = divide_budget(price, [share, 1 - share])
    change = RowChange(REACH * len(features), REACH**2 * len(features))
    noisy_rows = spending.measure(rows, counting)
    noisy_sums = spending.measure(sums.ravel(), summing, change=change).reshape(sums.shape)
    least = max(1.0, 2 * spending.scale(counting))
    means = noisy_sums / np.maximum(noisy_rows, least)[:, None]
    is_large = (noisy_rows > least)[:, None]
    moved = np.where(is_large, np.clip(means, -REACH, REACH), centers)
    return np.rint(moved).astype(np.int64), noisy_rows


def _add_coordinates(
    coordinates: Coordinates, counted: Sequence[Counts], centers: Counts
) -> Counts:
    """Return the exact sums of coordinates of each cluster, from counts by cluster and code."""
    sums = np.zeros(centers.shape, np.int64)
    for one, counts in zip(coordinates.features, counted, strict=True):
        sums[:, one.places] = counts @ one.values
        if one.is_scale:
            sums[:, one.first] += counts[:, one.column.missing] * centers[:, one.first]
    return sums


SPEC = LearnerSpec(
    name="k-means",
    summary="Clusters of rows, whose centers are moved by noisy counts and sums.",
    description="Clusters by Lloyd's rounds: each row belongs to the nearest of some centers.",
    tasks=("clustering",),
    fit=fit_k_means,
    read=read_cluster_model,
    options=(
        OptionSpec(
            "clusters",
            "integer",
            "How many clusters there are.",
            default=_CLUSTERS,
            minimum=1,
            maximum=50,
        ),
        OptionSpec(
            "rounds",
            "integer",
            "How often centers are moved.",
            default=_ROUNDS,
            minimum=1,
            maximum=50,
        ),
    ),
    position=200,
)
