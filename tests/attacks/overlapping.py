"""Two strict Mondrian releases of Adult over some of the same people, as GKS08 had two hospitals."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import csv

from discreet.policy import model
from discreet.release.anonymization import anonymize_source
from discreet.release.options import AnonymizeOptions

if TYPE_CHECKING:
    from pathlib import Path

QUASI = [
    "sex",
    "age",
    "race",
    "marital-status",
    "education",
    "native-country",
    "workclass",
]
ROWS = 17_581  # of 30,162: two such draws share 5,000


@dataclass(frozen=True)
class Drawn:
    """The people of two releases: who is in both, who only in the first, who in neither."""

    first: pa.Table
    second: pa.Table
    both: pa.Table
    one: pa.Table


def read_adult(folder: Path, sensitive: str = "occupation") -> pa.Table:
    """Adult with its categories as numbers in alphabetical order, so that strict Mondrian has ranges."""
    options = csv.ParseOptions(delimiter=";")
    table = csv.read_csv(folder / "adult" / "adult.csv", parse_options=options)
    columns = {name: table[name] if name == "age" else _numbered(table[name]) for name in QUASI}
    return pa.table({**columns, sensitive: table[sensitive]})


def draw(adult: pa.Table, *, rows: int, chance: np.random.Generator) -> Drawn:
    order = chance.permutation(adult.num_rows)
    first, second = order[:rows], order[-rows:]
    return Drawn(
        adult.take(np.sort(first)),
        adult.take(np.sort(second)),
        adult.take(np.sort(np.intersect1d(first, second))),
        adult.take(np.sort(np.setdiff1d(first, second))),
    )


def publish(table: pa.Table, path: Path, *, k: int, sensitive: str = "occupation") -> Path:
    options = AnonymizeOptions(
        quasi=QUASI,
        sensitive=[sensitive],
        criteria=[model.KAnonymity(k)],
        method="mondrian",
    )
    anonymize_source(
        table, output=path, options=options, force=True, accept_risk="it is to be attacked"
    )
    return path


def _numbered(column: pa.ChunkedArray) -> pa.Array:
    values = column.unique().sort()
    return pc.index_in(column.combine_chunks(), value_set=values).cast(pa.int64())
