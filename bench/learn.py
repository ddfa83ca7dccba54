"""How well private learners predict, and what they take: discreet and its peers, side by side.

Run with `python -m bench.learn [classes numbers unsupervised] [--runs 2] [--table NAME] [--learner NAME]`. Classes: Adult by
`../shared/prototypes/prep.py`, card holders, and a personality test; numbers: age in Adult, gifts of donors. Four fifths of the rows are
learned from, the rest tests. Each number is the mean of several runs. discreet learns end to end (`discreet.learn` on a
frame: policy, ledger, counts in DuckDB); peers run in environments of their own, with the same public facts, and
their CPU time is that of `fit` alone. Delta is 1e-9 where a method has one.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from bench.figures import FigureTable
from bench.learn_tables import CLASSES, NUMBERS, LearnTable
from bench.people import FOLDER
from bench.release_process import CommandFailed, measure, peer

EPSILONS = ("0.1", "1", "10")
AT_ONE = (
    "creditcard",
    "mach2019",
)  # tables that are learned from at epsilon 1 alone: peers take long
RUNS = 2
CLASSIFIERS = ("boosting", "logistic", "naive-bayes", "tree", "forest")
REGRESSIONS = ("linear", "boosting", "huber", "quantile")
PEER_CLASSIFIERS = {
    "interpret, DP-EBM": ("interpret", "boosting"),
    "diffprivlib, logistic regression": ("diffprivlib", "logistic"),
    "diffprivlib, naive Bayes": ("diffprivlib", "naive-bayes"),
    "diffprivlib, forest": ("diffprivlib", "forest"),
}
PEER_REGRESSIONS = {
    "interpret, DP-EBM": ("interpret", "boosting"),
    "diffprivlib, linear regression": ("diffprivlib", "linear"),
}
# What the issue that asked for learners aims at, on Adult and cup: accuracy and AUC, or R².
AIMS = {
    ("adult", "boosting", "1"): (0.845, 0.898),
    ("adult", "boosting", "0.1"): (0.81, 0.855),
    ("age", "linear", "1"): (0.39,),
    ("cup", "linear", "1"): (0.75,),
}


@dataclass(frozen=True)
class Run:
    """One model: what it took, and how well it predicts rows it has not seen."""

    cpu: float
    scores: tuple[float, ...]


def score_classes(table: LearnTable, chances: Any) -> tuple[float, ...]:
    """Return accuracy and, for two classes, the area under the curve."""
    from sklearn.metrics import roc_auc_score

    truth = table.test[table.target].to_numpy()
    labels = np.array(table.values[table.target])
    accuracy = float((labels[chances.argmax(axis=1)] == truth).mean())
    if len(labels) > 2:
        return (accuracy,)
    return accuracy, float(roc_auc_score(truth == labels[1], chances[:, 1]))


def score_numbers(table: LearnTable, predicted: Any) -> tuple[float, ...]:
    """Return R²."""
    truth = table.test[table.target].to_numpy(float)
    return (1 - float(((truth - predicted) ** 2).sum() / ((truth - truth.mean()) ** 2).sum()),)


def learn_ours(table: LearnTable, learner: str, epsilon: str) -> Run:
    """Learn with discreet; the clock has all from the call to the model."""
    import discreet

    began = time.process_time()
    model = discreet.learn(
        table.train,
        target=table.target,
        learner=learner,
        epsilon=epsilon,
        bounds=table.bounds,
        values=table.values,
    )
    took = time.process_time() - began
    if table.name in CLASSES:
        return Run(took, score_classes(table, model.predict_proba(table.test)))
    return Run(took, score_numbers(table, model.predict(table.test)))


def learn_peer(table: LearnTable, environment: str, method: str, epsilon: str) -> Run:
    """Learn with a peer, in its own environment."""
    folder = table.write()
    script = f"bench/peers/{environment}_learn.py"
    took = measure([peer(environment, FOLDER), script, str(folder), method, epsilon])
    predicted = np.load(folder / f"{environment}-{method}.npy")
    score = score_classes if table.name in CLASSES else score_numbers
    return Run(float(took.json["cpu"]), score(table, predicted))


def learn_without_noise(table: LearnTable) -> tuple[float, ...]:
    """Return what a learner without privacy reaches: scikit-learn's boosting."""
    from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor

    train, test = (one[table.features].copy() for one in (table.train, table.test))
    for name in train.select_dtypes(exclude="number").columns:
        places = {value: place for place, value in enumerate(table.values[name])}
        train[name], test[name] = train[name].map(places), test[name].map(places)
    goal = table.train[table.target]
    if table.name in CLASSES:
        model = HistGradientBoostingClassifier(random_state=0).fit(train, goal)
        return score_classes(table, model.predict_proba(test))
    return score_numbers(
        table, HistGradientBoostingRegressor(random_state=0).fit(train, goal).predict(test)
    )


def run_table(table: LearnTable, ours: Iterable[str], runs: int) -> Iterator[tuple[str, ...]]:
    """Return a line for each learner and epsilon."""
    scores = learn_without_noise(table)
    yield (table.name, "without privacy: scikit-learn's boosting", "", "", *_write_scores(scores))
    learn_ours(table, next(iter(ours)), "1")  # loads libraries
    peers = PEER_CLASSIFIERS if table.name in CLASSES else PEER_REGRESSIONS
    for epsilon in EPSILONS if table.name not in AT_ONE else ("1",):
        for learner in ours:
            found = [learn_ours(table, learner, epsilon) for _ in range(runs)]
            yield _write_line(table, learner, f"**discreet, {learner}**", epsilon, found)
        for name, (environment, method) in peers.items():
            found = _try_peer(table, name, environment, method, epsilon, runs)
            if found:
                yield _write_line(table, "", name, epsilon, found)


def _try_peer(
    table: LearnTable, name: str, environment: str, method: str, epsilon: str, runs: int
) -> list[Run]:
    try:
        return [learn_peer(table, environment, method, epsilon) for _ in range(runs)]
    except CommandFailed as failed:
        print(f"{name} on {table.name}: {failed}", file=sys.stderr)
        return []


def _write_line(
    table: LearnTable, learner: str, name: str, epsilon: str, found: list[Run]
) -> tuple[str, ...]:
    means = tuple(statistics.fmean(one) for one in zip(*(run.scores for run in found), strict=True))
    aims = AIMS.get((table.name, learner, epsilon))
    if aims is not None:
        for mean, aim in zip(means, aims, strict=True):
            print(f"aim {aim}: {'met' if mean >= aim else 'MISSED'} ({mean:.3f})")
    cpu = statistics.fmean(run.cpu for run in found)
    return table.name, name, epsilon, f"{cpu:.2f}", *_write_scores(means)


def _write_scores(scores: tuple[float, ...]) -> tuple[str]:
    return (" / ".join(f"{one:.3f}" if one > -10 else "below -10" for one in scores),)


def _measure(
    tables: dict[str, Callable[[], LearnTable]], ours: Iterable[str], runs: int, what: str
) -> FigureTable:
    rows: list[tuple[str, ...]] = []
    for read in tables.values():
        for row in run_table(read(), ours, runs):
            print(json.dumps(row), flush=True)
            rows.append(row)
    return FigureTable(("table", "learner", "epsilon", "CPU s", what), tuple(rows))


def measure_classes(runs: int = RUNS) -> FigureTable:
    """Return the figures of the documentation for classes."""
    return _measure(CLASSES, CLASSIFIERS, runs, "accuracy / AUC")


def measure_numbers(runs: int = RUNS) -> FigureTable:
    """Return the figures of the documentation for numbers."""
    return _measure(NUMBERS, REGRESSIONS, runs, "R²")


def main() -> None:
    """Print a line for each run."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("kinds", nargs="*", choices=["classes", "numbers", []], metavar="KIND")
    parser.add_argument("--runs", type=int, default=RUNS)
    parser.add_argument("--table", choices=[*CLASSES, *NUMBERS])
    parser.add_argument("--learner", action="append", help="only these of discreet")
    given = parser.parse_args()
    for kind in given.kinds or ["classes", "numbers"]:
        tables, ours = (CLASSES, CLASSIFIERS) if kind == "classes" else (NUMBERS, REGRESSIONS)
        some = {name: read for name, read in tables.items() if given.table in (None, name)}
        print(_measure(some, given.learner or ours, given.runs, "score").to_markdown())


if __name__ == "__main__":
    main()
