"""Workloads of counts on Adult: root mean squared errors per cell, measured through `ask_all`.

`python -m bench.workload` compares three ways to spend epsilon 1 (delta 1e-9): an equal share for each table, the best
share for each table, and residual bases, which all tables share. The table is `../shared/prototypes/prep.py`'s: Adult
in public bins, without missing values. `--open` groups by plain columns, in which a value may be missing or unlisted.
"""

from __future__ import annotations

import argparse
import os
import sys
from itertools import combinations
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

import discreet
from bench.figures import FigureTable
from discreet.policy.load import parse_policy

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from discreet.answer.workload import Strategy

PROTOTYPES = Path(__file__).parents[2] / "shared" / "prototypes"
BUDGET = {"epsilon": 1, "delta": "1e-9"}
STRATEGIES: tuple[Strategy, ...] = ("equal", "shares", "residuals")
CELLS = 15_000  # that a mean is taken over at least
DASHBOARD = (
    ("salary-class",),
    ("sex", "salary-class"),
    ("education", "salary-class"),
    ("age", "salary-class"),
    ("occupation", "sex", "salary-class"),
    ("race", "salary-class"),
    ("marital-status", "salary-class"),
    ("hours-per-week", "sex"),
)
NESTED = (
    *(("age",), ("sex",), ("age", "sex"), ("race",), ("race", "sex")),
    ("age", "race", "sex"),
)
# The errors that `../shared/notes/synthesize.md` computes, in the order of STRATEGIES.
NOTED = {
    "all of 1 and 2 columns": (63.3, 53.1, 45.6),
    "all of 1 to 3 columns": (138.6, 106.4, 84.2),
    "age, race and sex, nested": (14.2, 10.5, 8.3),
    "a dashboard of 8 tables": (16.3, 14.5, 13.4),
}


def measure_workloads() -> FigureTable:
    """Return the errors of each way for each workload."""
    return FigureTable(
        ("workload", "tables", "cells", "equal shares", "best shares", "residual bases", "gain"),
        tuple(measure_lines(is_open=False)),
    )


def measure_lines(*, is_open: bool) -> Iterator[tuple[str, ...]]:
    """Yield one line for each workload."""
    table, sizes = read_adult()
    for name, sets in workloads(list(sizes)).items():
        found = [measure_error(table, sizes, sets, way, is_open=is_open) for way in STRATEGIES]
        cells = sum(int(np.prod([sizes[column] for column in one])) for one in sets)
        gain = f"{found[0] / found[2]:.2f} / {found[1] / found[2]:.2f}"
        yield (name, f"{len(sets)}", f"{cells:,}", *(f"{error:.1f}" for error in found), gain)


def workloads(columns: Sequence[str]) -> dict[str, Sequence[tuple[str, ...]]]:
    """Return the sets of columns of each workload, by its name."""

    def up_to(most: int) -> list[tuple[str, ...]]:
        return [one for count in range(1, most + 1) for one in combinations(columns, count)]

    return dict(zip(NOTED, (up_to(2), up_to(3), NESTED, DASHBOARD), strict=True))


def read_adult() -> tuple[pa.Table, dict[str, int]]:
    """Return the training part of Adult as codes, and how many codes each column has."""
    os.environ.setdefault("DISCREET_DATA", str(PROTOTYPES.parent / "data"))
    sys.path.insert(0, str(PROTOTYPES))
    import prep  # pyright: ignore[reportMissingImports]

    train, _, sizes = prep.data()
    return pa.Table.from_pandas(train, preserve_index=False), sizes


def measure_error(
    table: pa.Table,
    sizes: dict[str, int],
    sets: Sequence[tuple[str, ...]],
    strategy: Strategy,
    *,
    is_open: bool,
) -> float:
    """Return the root of the mean squared error over all cells of all answers."""
    columns = "".join(
        f"\n      {name}: {{role: quasi-identifier, kind: integer, bounds: [0, {size - 1}]}}"
        for name, size in sizes.items()
    )
    policy = parse_policy(f"tables:\n  data:\n    unit: row\n    columns:{columns}\n")
    questions = [_question(one, sizes, is_open=is_open) for one in sets]
    truth = [_count(table, one, sizes) for one in sets]
    squares = 0.0
    cells = 0
    while cells < CELLS:
        with discreet.open(table, policy, ledger=":memory:") as curator:
            found = curator.ask_all(questions, strategy=strategy, **BUDGET)
        for answer, exact in zip(found, truth, strict=True):
            *keys, counts = (column.to_numpy() for column in answer.to_arrow().columns)
            squares += float(((counts - exact[tuple(keys)]) ** 2).sum())
            cells += exact.size
    return (squares / cells) ** 0.5


def _question(columns: tuple[str, ...], sizes: dict[str, int], *, is_open: bool) -> str:
    # Clamped, a number of the domain stands in every row, which the planner can prove.
    keys = [
        f'"{name}"' if is_open else f'greatest(0, least({sizes[name] - 1}, "{name}"))'
        for name in columns
    ]
    named = ", ".join(f"{key} AS k{number}" for number, key in enumerate(keys))
    return f"SELECT {named}, count(*) AS n FROM data GROUP BY {', '.join(keys)}"


def _count(table: pa.Table, columns: tuple[str, ...], sizes: dict[str, int]) -> Any:
    shape = [sizes[name] for name in columns]
    codes = np.ravel_multi_index([table.column(name).to_numpy() for name in columns], shape)
    return np.bincount(codes, minlength=int(np.prod(shape))).reshape(shape)


def main() -> None:
    """Print the errors, and how far their ratios are from those of the note."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--open", action="store_true", help="group by plain columns")
    chosen = parser.parse_args()
    for line in measure_lines(is_open=chosen.open):
        errors, noted = [float(error) for error in line[3:6]], NOTED[line[0]]
        off = [
            errors[way] / errors[2] / (noted[way] / noted[2]) - 1 for way in range(len(errors) - 1)
        ]
        print(" | ".join(line), "| off the note's ratios:", *(f"{one:+.1%}" for one in off))


if __name__ == "__main__":
    main()
