"""The use of a release: how often the same classifier is right, trained before and after."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.errors import MissingExtra, UnknownColumn
from discreet.result import Result

FOLDS = 5
# Beyond so many rows, accuracy is known to a tenth of a percent, and training only takes longer.
MOST_ROWS = 200_000
_SEED = 20_060_403  # folds need no secrecy: the same rows are always in the same ones
UNKNOWN = -1


@dataclass(frozen=True)
class ClassifierAccuracy(Result):
    """How often a column is predicted rightly from the quasi-identifiers.

    `majority` is what always guessing the most frequent value reaches, `before` and `after` what
    logistic regression does, trained and tested on the source and on the release, each row tested
    by a classifier that has not seen it. `rows` took part.
    """

    target: str
    majority: float
    before: float
    after: float
    rows: int


def require_classifier() -> None:
    """Refuse to go on without the library that trains.

    Raises:
        MissingExtra: scikit-learn is not installed.
    """
    if find_spec("sklearn") is None:
        raise MissingExtra(what="The accuracy of a classifier (--target)", extra="utility")


def split_folds(
    target: NDArray[np.int64],
    rows: NDArray[np.int64],
    *,
    folds: int = FOLDS,
    most: int = MOST_ROWS,
) -> NDArray[np.int64]:
    """Return how many of the rows of each entry are in each fold.

    Each value of the target has the same share in all folds, as far as whole rows allow. Of more
    than `most` rows about so many are drawn, each with the same chance.

    Args:
        target: The code of the value to predict, for each entry.
        rows: How many rows each entry stands for.
        folds: Into how many parts rows are split.
        most: How many rows take part at most.
    """
    chance = np.random.default_rng(_SEED)
    total = int(rows.sum())
    if total > most:
        rows = chance.binomial(rows, most / total)
    entries = np.repeat(np.arange(len(rows)), rows)
    entries = chance.permutation(entries)
    entries = entries[np.argsort(target[entries], kind="stable")]
    fold = np.arange(len(entries)) % folds
    counts = np.bincount(entries * folds + fold, minlength=len(rows) * folds)
    return counts.reshape(len(rows), folds)


def cross_validate(
    features: NDArray[np.int64],
    target: NDArray[np.int64],
    folds: NDArray[np.int64],
    *,
    given: NDArray[np.int64] | None = None,
) -> float:
    """Return the share of rows whose target logistic regression predicts, trained on other folds.

    Args:
        features: The code of each entry in each column; codes mean nothing but same or different.
        target: The true value of each entry.
        folds: The rows of each entry in each fold, as `split_folds` returns them.
        given: The value given to the trainer, `UNKNOWN` where none; the true one if not given.
    """
    given = target if given is None else given
    features, given, target, folds = _merge(features, given, target, folds)
    matrix = _one_hot(features)
    right = 0.0
    for fold in range(folds.shape[1]):
        taught = folds.sum(axis=1) - folds[:, fold]
        taught[given == UNKNOWN] = 0
        tested = np.flatnonzero(folds[:, fold])
        predicted = _predict_fold(matrix, given, taught, tested)
        right += float(folds[tested, fold][predicted == target[tested]].sum())
    return right / max(float(folds.sum()), 1.0)


def table_accuracy(table: Any, *, target: str) -> float:
    """Return how often a column of an Arrow table is predicted rightly from all its others.

    Every value is taken for a label: `[20, 30)` and `*` are values like others.

    Raises:
        MissingExtra: scikit-learn is not installed.
        UnknownColumn: There is no such column.
    """
    require_classifier()
    if target not in table.column_names:
        raise UnknownColumn(f"There is no column '{target}' to predict.")
    codes = {
        name: table[name].combine_chunks().dictionary_encode(null_encoding="encode").indices
        for name in table.column_names
    }
    arrays = {name: code.to_numpy().astype(np.int64) for name, code in codes.items()}
    values = arrays.pop(target)
    features = np.stack(list(arrays.values()), axis=1)
    folds = split_folds(values, np.ones(len(values), dtype=np.int64))
    return cross_validate(features, values, folds)


def _merge(
    features: NDArray[np.int64],
    given: NDArray[np.int64],
    target: NDArray[np.int64],
    folds: NDArray[np.int64],
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """Return entries with equal features merged: training time grows with their number."""
    keys = np.column_stack([features, given, target])
    order = np.lexsort(keys.T)
    keys = keys[order]
    first = np.flatnonzero(np.append(True, (keys[1:] != keys[:-1]).any(axis=1)))
    merged = np.add.reduceat(folds[order], first, axis=0)
    keys = keys[first]
    return keys[:, :-2], keys[:, -2], keys[:, -1], merged


def _one_hot(features: NDArray[np.int64]) -> Any:
    from scipy.sparse import csr_matrix

    entries, columns = features.shape
    known = [np.unique(features[:, j], return_inverse=True) for j in range(columns)]
    widths = np.array([len(values) for values, _ in known])
    places = np.stack([codes for _, codes in known], axis=1)
    places += np.concatenate([[0], np.cumsum(widths)[:-1]])
    begins = np.arange(entries + 1) * columns
    return csr_matrix(
        (np.ones(entries * columns), places.ravel(), begins), shape=(entries, int(widths.sum()))
    )


def _predict_fold(
    matrix: Any, given: NDArray[np.int64], taught: NDArray[np.int64], tested: NDArray[np.int64]
) -> NDArray[np.int64]:
    from sklearn.linear_model import LogisticRegression

    seen = np.flatnonzero(taught)
    values = np.unique(given[seen])
    if len(values) < 2:  # nothing to choose from
        return np.full(len(tested), values[0] if len(values) else UNKNOWN)
    model: Any = LogisticRegression(solver="newton-cg")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # not quite converged is as right as need be
        model.fit(matrix[seen], given[seen], sample_weight=taught[seen])
    return np.asarray(model.predict(matrix[tested]), dtype=np.int64)
