"""One scorer for everybody's release of Adult: it sees the released file and the hierarchies only."""

from __future__ import annotations

import csv
import re
from collections import Counter
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from pathlib import Path

TOP = "*"
_RANGE = re.compile(r"\[?(\d+)(?:-|, )(\d+)\]?")
FOLDS = 5


@dataclass(frozen=True)
class Score:
    """What a release lost.

    `loss` is ARX's Loss with the arithmetic mean, of the labels as they were released; `in_labels`
    is that of the least labels of the hierarchies that cover them, which differs where somebody
    releases sets and ranges of his own. `hidden` rows are not in the file, or all `*`.
    """

    loss: float
    in_labels: float
    hidden: int
    k: int
    classes: int
    accuracy: float | None = None


def score(
    path: Path, *, source: Path, hierarchies: Path, quasi: list[str], target: str | None = None
) -> Score:
    """Return what a released file lost, and how well `target` is predicted from it.

    A label is a value, a label of the hierarchy, a range `17-20` or `[17, 20]`, or a set
    `Divorced,Widowed`; it loses the share of the domain that it covers, 0 for a value, 1 for `*`.
    """
    released, original = _read(path), _read(source)
    rows = len(next(iter(original.values())))
    kept = len(next(iter(released.values())))
    lost = np.full(2, float((rows - kept) * len(quasi)))
    for name in quasi:
        leaves = _leaves(hierarchies, name)
        for label, count in Counter(released[name]).items():
            covered = _covered(label, leaves)
            lifted = min(len(values) for values in leaves.values() if values >= covered)
            lost += count * (np.array([len(covered), lifted]) - 1) / (len(leaves[TOP]) - 1)
    labels = zip(*(released[name] for name in quasi), strict=True)
    sizes = Counter(row for row in labels if set(row) != {TOP})
    loss, in_labels = (lost / (rows * len(quasi))).tolist()
    return Score(
        loss=loss,
        in_labels=in_labels,
        hidden=rows - sum(sizes.values()),
        k=min(sizes.values()) if sizes else 0,
        classes=len(sizes),
        accuracy=None if target is None else _accuracy(released, original, quasi, target),
    )


def original_accuracy(source: Path, *, quasi: list[str], target: str) -> float:
    """Return how well `target` is predicted from the values themselves."""
    original = _read(source)
    return _accuracy(original, original, quasi, target)


def _read(path: Path) -> dict[str, tuple[str, ...]]:
    with path.open(newline="", encoding="utf-8") as file:
        first = file.readline()
        file.seek(0)
        lines = csv.reader(file, delimiter=";" if ";" in first else ",")
        names = next(lines)
        return dict(zip(names, zip(*lines, strict=True), strict=True))


@cache
def _leaves(folder: Path, name: str) -> dict[str, frozenset[str]]:
    """Return the values below each label of a hierarchy."""
    path = next(folder.glob(f"*_hierarchy_{name}.csv"))
    below: dict[str, set[str]] = {}
    with path.open(newline="", encoding="utf-8") as file:
        for labels in csv.reader(file, delimiter=";"):
            for label in labels:
                below.setdefault(label, set()).add(labels[0])
    return {label: frozenset(values) for label, values in below.items()}


def _covered(label: str, leaves: dict[str, frozenset[str]]) -> frozenset[str]:
    if label in leaves:
        return leaves[label]
    if (span := _RANGE.fullmatch(label)) is not None:
        low, high = map(int, span.groups())
        return frozenset(value for value in leaves[TOP] if low <= int(value) <= high)
    return frozenset[str]().union(*(leaves[value] for value in label.split(",")))


def _accuracy(
    released: dict[str, tuple[str, ...]],
    original: dict[str, tuple[str, ...]],
    quasi: list[str],
    target: str,
) -> float:
    """Return the share that logistic regression gets right in five folds, labels one-hot encoded.

    Rows that are not in the file are all hidden: nothing is known of them but how many there are.
    """
    from sklearn.linear_model import LogisticRegression
    from sklearn.model_selection import StratifiedKFold, cross_val_score
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import OneHotEncoder

    absent = list((Counter(original[target]) - Counter(released[target])).elements())
    rows = [*zip(*(released[name] for name in quasi), strict=True)]
    rows += [(TOP,) * len(quasi)] * len(absent)
    answers = [*released[target], *absent]
    model = make_pipeline(OneHotEncoder(handle_unknown="ignore"), LogisticRegression(max_iter=1000))
    folds = StratifiedKFold(FOLDS, shuffle=True, random_state=0)
    return float(cross_val_score(model, rows, answers, cv=folds).mean())
