"""diffprivlib asked the questions of the benchmark, in an environment of its own.

`tools.mean` and `tools.sum` take the number of rows as public: what they tell is not protected against
knowing whether a person is in the table. `mean` and `sum` are made of diffprivlib's mechanisms, so that
the guarantee is everybody's; `mean-n` and `sum-n` are the tools as they are.
"""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pyarrow.parquet as pq
from diffprivlib import mechanisms, tools
from shared_answer import AGE, CELLS, EDUCATION, EPSILON, HOURS, KEYS, VALUES, Question, Work, serve


def accuracy(path: str) -> dict[str, Question]:
    rows = pq.read_table(path).to_pandas()
    place = {cell: number for number, cell in enumerate(CELLS)}
    cells = np.array([place[cell] for cell in zip(rows["education"], rows["sex"], strict=True)])
    age, hours = rows["age"].to_numpy(), rows["hours"].to_numpy()
    groups = [age[(rows["education"] == education).to_numpy()] for education in EDUCATION]

    def counts() -> list[float]:
        found, _ = tools.histogram(
            cells, epsilon=EPSILON, bins=len(CELLS), range=(-0.5, len(CELLS) - 0.5)
        )
        return [float(one) for one in found]

    def total(values: np.ndarray, bounds: tuple[int, int], epsilon: float) -> float:
        sensitivity = max(abs(bound) for bound in bounds)
        noise = mechanisms.Geometric(epsilon=epsilon, sensitivity=sensitivity)
        return float(noise.randomise(int(np.clip(values, *bounds).sum())))

    def mean() -> list[float]:
        number = mechanisms.Geometric(epsilon=EPSILON / 2).randomise(len(age))
        return [total(age, AGE, EPSILON / 2) / number]

    def median(values: np.ndarray) -> float:
        return float(tools.median(values, epsilon=EPSILON, bounds=AGE))

    return {
        "counts": counts,
        "mean": mean,
        "sum": lambda: [total(hours, HOURS, EPSILON)],
        "mean-n": lambda: [float(tools.mean(age, epsilon=EPSILON, bounds=AGE))],
        "sum-n": lambda: [float(tools.sum(hours, epsilon=EPSILON, bounds=HOURS, dtype=int))],
        "median": lambda: [median(age)],
        "medians": lambda: [median(group) for group in groups],
    }


def speed(path: str, unit: str) -> Work:
    if unit != "row":
        raise NotImplementedError(unit)

    def work() -> object:
        table = pq.read_table(path, columns=["k", "v"])
        dictionary = table["k"].combine_chunks().dictionary_encode()
        value = table["v"].to_numpy()
        code = dictionary.indices.to_numpy()
        order = np.argsort(code, kind="stable")
        edges = np.searchsorted(code[order], np.arange(len(KEYS) + 1))
        parts = [value[order[start:end]] for start, end in pairwise(edges)]
        each = EPSILON / 3
        return [
            (
                tools.count_nonzero(np.ones(len(part)), epsilon=each),
                tools.sum(part, epsilon=each, bounds=VALUES),
                tools.mean(part, epsilon=each, bounds=VALUES),
            )
            for part in parts
        ]

    return work


serve(accuracy=accuracy, speed=speed)
