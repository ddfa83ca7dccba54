"""Outputs of a black box from a table: two inputs, and what came out in many runs of each."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.attacks.audit.outputs import Outputs
from discreet.engines.engine import Table
from discreet.errors import UnknownColumn, WrongUsage
from discreet.sql import build

INPUT = "input"
OUTPUT = "output"


def read_outputs(table: Table) -> tuple[Outputs, Outputs]:
    """Return the outputs of the two inputs in a table with the columns `input` and `output`.

    Several columns `output…` are rows of numbers. The order of rows is kept: it may show a seed.

    Raises:
        UnknownColumn: A column is missing.
        WrongUsage: There are not two inputs.
    """
    names = [column.name for column in table.columns]
    outputs = [name for name in names if name.lower().startswith(OUTPUT)]
    key = next((name for name in names if name.lower() == INPUT), None)
    if key is None or not outputs:
        raise UnknownColumn(
            f"{table.label} needs the columns 'input' and 'output': one of two neighboring inputs, and "
            "what came out."
        )
    wanted = [build.column(name) for name in (key, *outputs)]
    rows = table.engine.run(build.select(*wanted, source=table.relation.copy()))
    inputs = np.array([str(value) for value in rows.column(0).to_pylist()], np.str_)
    kinds = list(dict.fromkeys(inputs.tolist()))
    if len(kinds) != 2:
        raise WrongUsage(
            f"{table.label} has {len(kinds)} different inputs, and an audit compares two that differ in "
            "one person. Keep the rows of two."
        )
    parts = [_outputs_of_input(rows, inputs == kind) for kind in kinds]
    return parts[0], parts[1]


def _outputs_of_input(rows: Any, is_here: NDArray[np.bool_]) -> Sequence[object]:
    here = rows.filter(is_here)
    columns = [here.column(place).to_pylist() for place in range(1, here.num_columns)]
    return columns[0] if len(columns) == 1 else list(zip(*columns, strict=True))
