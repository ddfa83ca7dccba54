"""Predicting default from a synthetic table of many columns, the weak case of synthesizers: 30,000 × 24.

Run with `python -m bench.synthesize_credit`. Card holders of `../shared/data/creditcard_int`, each column at the
finest level of its public hierarchy with at most 100 values. A logistic regression learns from four fifths of the
rows, or from a synthetic table of them, and is tested on the rest. Means of three runs.
"""

from __future__ import annotations

import csv
import statistics
from typing import TYPE_CHECKING, Any

import numpy as np

from bench.figures import FigureTable
from bench.synthesize import RUNS, SHARED, fit_table

if TYPE_CHECKING:
    from pathlib import Path

TARGET = "default-payment-next-month"
MOST_VALUES = 100
SHARE = 0.8
RUNS_OF = (("full", "1"), ("fast", "1"), ("pure", "1"), ("full", "0.1"), ("full", "10"))


def read_codes(folder: Path) -> tuple[Any, dict[str, int]]:
    """Return the rows as codes of a coarser level where a column has many values, and how many codes there are."""
    import pandas as pd

    table = pd.read_csv(folder / "creditcard_int.csv", sep=";", dtype=str)
    sizes: dict[str, int] = {}
    for name in table.columns:
        path = folder / "hierarchies" / f"creditcard_int_hierarchy_{name}.csv"
        with path.open(encoding="utf-8", newline="") as file:
            levels = list(zip(*csv.reader(file, delimiter=";"), strict=True))
        chosen = next(level for level in levels if len(set(level)) <= MOST_VALUES)
        places = {value: place for place, value in enumerate(sorted(set(chosen)))}
        table[name] = table[name].map(
            {leaf: places[one] for leaf, one in zip(levels[0], chosen, strict=True)}
        )
        sizes[name] = len(places)
    return table.astype(np.int64), sizes


def score_rows(rows: Any, test: Any, sizes: dict[str, int]) -> float:
    """Return the area under the curve on `test` of what learned from `rows`."""
    from sklearn.linear_model import LogisticRegression
    from sklearn.metrics import roc_auc_score

    names = [name for name in sizes if name != TARGET]

    def one_hot(table: Any) -> Any:
        return np.concatenate([np.eye(sizes[name])[table[name]] for name in names], axis=1)

    learner = LogisticRegression(C=1.0, max_iter=300).fit(one_hot(rows), rows[TARGET])
    return float(roc_auc_score(test[TARGET], learner.predict_proba(one_hot(test))[:, 1]))


def measure_credit() -> FigureTable:
    """Return the figures of the documentation."""
    import pandas as pd

    table, sizes = read_codes(SHARED / "data" / "creditcard_int")
    order = np.random.default_rng(7).permutation(len(table))
    cut = int(SHARE * len(table))
    train, test = table.iloc[order[:cut]], table.iloc[order[cut:]]
    rows = [("the rows themselves", "", f"{score_rows(train, test, sizes):.3f}")]
    for method, epsilon in RUNS_OF:
        found: list[float] = []
        for _ in range(RUNS):
            drawn = fit_table(
                train, list(sizes.values()), [False] * len(sizes), method, epsilon, target=TARGET
            )
            made = pd.DataFrame(dict(zip(sizes, drawn.T, strict=True)))
            found.append(score_rows(made, test, sizes))
        rows.append((f"**discreet, {method}**", epsilon, f"{statistics.fmean(found):.3f}"))
        print(rows[-1], flush=True)
    return FigureTable(("learned from", "epsilon", "AUC"), tuple(rows))


if __name__ == "__main__":
    measure_credit()
