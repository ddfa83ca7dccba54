"""How near private components and clusters come to those without noise: discreet and its peers.

Run with `python -m bench.learn_unsupervised [--runs 3]`. The six numbers of Adult, each scaled to -1 … 1 by its public bounds. Four
fifths of the rows are learned from. Components: the share of the variance of the other rows that lies in them.
Clusters: the mean squared distance of the other rows to the nearest center, as a multiple of what scikit-learn's k-means
reaches. Means of several runs; peers run in environments of their own and take the number of rows as public.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from bench.figures import FigureTable
from bench.learn_tables import WORK, LearnTable, read_adult
from bench.people import FOLDER
from bench.release_process import CommandFailed, measure, peer

EPSILONS = ("0.1", "1", "10")
RUNS = 3
COMPONENTS, CLUSTERS = 3, 5
PEERS = {
    "pca": {"diffprivlib, PCA": "diffprivlib", "OpenDP, PCA": "opendp"},
    "k-means": {"diffprivlib, k-means": "diffprivlib"},
}


def scale_numbers(table: LearnTable, rows: Any) -> Any:
    """Return the numbers of rows, each from -1 to 1."""
    names = [name for name in table.features if name in table.bounds]
    parts = [
        (rows[name].to_numpy(float) - low) / (high - low) * 2 - 1
        for name in names
        for low, high in [table.bounds[name]]
    ]
    return np.stack(parts, axis=1)


def score_components(test: Any, components: Any) -> float:
    """Return the share of the variance of rows that lies in the plane of some directions."""
    centered = test - test.mean(axis=0)
    plane = np.linalg.qr(np.asarray(components, float).T)[0]
    return float(((centered @ plane) ** 2).sum() / (centered**2).sum())


def score_centers(test: Any, centers: Any) -> float:
    """Return the mean squared distance of rows to the nearest of some centers."""
    gaps = ((test[:, None, :] - np.asarray(centers, float)[None]) ** 2).sum(axis=2)
    return float(gaps.min(axis=1).mean())


def learn_ours(table: LearnTable, learner: str, epsilon: str) -> tuple[float, Any]:
    """Learn with discreet, and return the CPU seconds and the directions or centers, in numbers from -1 to 1."""
    import discreet
    from discreet.learning.coordinates import REACH

    names = [name for name in table.features if name in table.bounds]
    option = {"components": COMPONENTS} if learner == "pca" else {"clusters": CLUSTERS}
    began = time.process_time()
    model = discreet.learn(
        table.train[names],
        learner=learner,
        epsilon=epsilon,
        bounds={name: table.bounds[name] for name in names},
        **option,
    )
    took = time.process_time() - began
    predictor = model.saved.predictor
    if learner == "pca":
        return took, predictor.components
    return took, np.asarray(predictor.centers) / REACH


def learn_peer(environment: str, learner: str, epsilon: str) -> tuple[float, Any]:
    """Learn with a peer, in its own environment."""
    script = f"bench/peers/{environment}_unsupervised.py"
    words = [str(WORK), learner, epsilon, str(COMPONENTS if learner == "pca" else CLUSTERS)]
    took = measure([peer(environment, FOLDER), script, *words])
    return float(took.json["cpu"]), np.load(WORK / f"{environment}-{learner}.npy")


def measure_unsupervised(runs: int = RUNS) -> FigureTable:
    """Return the figures of the documentation."""
    from sklearn.cluster import KMeans

    table = read_adult()
    train, test = scale_numbers(table, table.train), scale_numbers(table, table.test)
    WORK.mkdir(parents=True, exist_ok=True)
    np.save(WORK / "numbers.npy", train)
    exact = np.linalg.eigh(np.cov(train.T))[1][:, -COMPONENTS:].T
    best = score_centers(
        test, KMeans(CLUSTERS, n_init=10, random_state=0).fit(train).cluster_centers_
    )
    scores: dict[str, Callable[[Any], float]] = {
        "pca": lambda found: score_components(test, found),
        "k-means": lambda found: score_centers(test, found) / best,
    }
    rows: list[tuple[str, ...]] = [
        ("components without noise", "", "", f"{score_components(test, exact):.3f}"),
        ("clusters without noise", "", "", "1.00"),
    ]
    for learner, peers in PEERS.items():
        for epsilon in EPSILONS:
            found = [learn_ours(table, learner, epsilon) for _ in range(runs)]
            rows.append(_write_line(f"**discreet, {learner}**", epsilon, found, scores[learner]))
            for name, environment in peers.items():
                try:
                    found = [learn_peer(environment, learner, epsilon) for _ in range(runs)]
                except CommandFailed as failed:
                    print(f"{name}: {failed}", file=sys.stderr)
                    continue
                rows.append(_write_line(name, epsilon, found, scores[learner]))
    return FigureTable(
        ("learner", "epsilon", "CPU s", "share of variance, or distance"), tuple(rows)
    )


def _write_line(
    name: str, epsilon: str, found: list[tuple[float, Any]], score: Callable[[Any], float]
) -> tuple[str, ...]:
    cpu = statistics.fmean(took for took, _ in found)
    mean = statistics.fmean(score(one) for _, one in found)
    line = name, epsilon, f"{cpu:.2f}", f"{mean:.3f}"
    print(json.dumps(line), flush=True)
    return line


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=RUNS)
    print(measure_unsupervised(parser.parse_args().runs).to_markdown(), end="")


if __name__ == "__main__":
    main()
