"""The file of a model: the same rows come out of it, and nothing else is read for one."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from discreet.dp.spending import ZcdpSpending
from discreet.engines.engine import Column, Kind
from discreet.errors import SourceNotFound, UnreadableSource, WrongUsage
from discreet.policy import parse_policy
from discreet.release.synthesize.domain import table_domain
from discreet.release.synthesize.model_file import SavedModel, read_model
from discreet.release.synthesize.resolutions import ColumnShape
from discreet.release.synthesize.rounds import FAST, fit_model

POLICY = """
tables:
  people:
    unit: person
    columns:
      person: {role: identifier, kind: text}
      sex: {role: quasi-identifier, kind: text, values: [f, m]}
      born: {role: quasi-identifier, kind: date, bounds: [1990-01-01, 1990-03-31]}
      died: {role: sensitive, kind: date, bounds: [1990-01-01, 1990-03-31]}
    rules:
      - order: [born, died]
"""
COLUMNS = [
    Column("person", Kind.TEXT),
    Column("sex", Kind.TEXT),
    Column("born", Kind.DATE),
    Column("died", Kind.DATE),
]


class ArrayCounter:
    sensitivity = one = 1

    def __init__(self, rows: NDArray[np.int64], sizes: Sequence[int]) -> None:
        self.rows, self.sizes = rows, sizes

    def count(self, columns: Any, maps: Any) -> list[NDArray[np.int64]]:
        codes = [
            self.rows[:, i] if maps is None else maps[i][self.rows[:, i]]
            for i in range(len(self.sizes))
        ]
        tops = [
            size if maps is None else int(maps[i].max()) + 1 for i, size in enumerate(self.sizes)
        ]
        found: list[NDArray[np.int64]] = []
        for some in columns:
            counts = np.zeros([tops[one] for one in some], np.int64)
            np.add.at(counts, tuple(codes[one] for one in some), 1)
            found.append(counts)
        return found


@pytest.fixture(scope="module")
def saved() -> SavedModel:
    domain = table_domain(parse_policy(POLICY).tables["people"], COLUMNS)
    sizes = [one.size for one in domain.columns]
    chance = np.random.default_rng(3)
    born = chance.integers(0, 60, 500)
    rows = np.stack([chance.integers(0, 2, 500), born, born + chance.integers(0, 30, 500)], axis=1)
    model = fit_model(
        ArrayCounter(rows, sizes),
        [
            ColumnShape(one.size, one.is_ordered, one.levels, has_missing=True)
            for one in domain.columns
        ],
        ZcdpSpending(Fraction(10**6), sensitivity=1),  # practically without noise
        target=None,
        settings=FAST,
        chance=np.random.default_rng(1),
        rules=domain.rules,
    )
    return SavedModel(domain, model, 7, {"epsilon": "1"})


def test_the_file_gives_the_same_rows(saved: SavedModel, tmp_path: Path) -> None:
    path = tmp_path / "model.json"
    path.write_bytes(saved.to_bytes())

    again = read_model(path)

    assert again == saved
    assert again.to_bytes() == saved.to_bytes()
    first, second = (one.sample(50, np.random.default_rng(one.seed)) for one in (saved, again))
    assert first.equals(second)
    assert first.column_names == ["person", "sex", "born", "died"]
    assert len(set(first["person"].to_pylist())) == 50


def test_rules_hold_in_rows_of_the_file(saved: SavedModel) -> None:
    rows = SavedModel.from_bytes(saved.to_bytes()).sample(400, np.random.default_rng(5)).to_pylist()

    pairs = [(row["born"], row["died"]) for row in rows if None not in row.values()]
    assert len(pairs) > 300
    assert all(born <= died for born, died in pairs)


def change(content: dict[str, Any], *places: str | int, to: object) -> None:
    for place in places[:-1]:
        content = content[place]  # pyright: ignore[reportArgumentType]
    content[places[-1]] = to  # pyright: ignore[reportArgumentType]


HUGE = [10**6, 10**7]  # values, which would take 10 terabytes


DAMAGES: dict[str, Callable[[dict[str, Any]], None]] = {
    "is no model": lambda c: change(c, "format", to="policy"),
    "version 2, and": lambda c: change(c, "version", to=2),
    "unknown key 'more'": lambda c: change(c, "more", to=1),
    "misses the key 'seed'": lambda c: c.pop("seed"),
    "its seed": lambda c: change(c, "seed", to="7"),
    "its domain": lambda c: change(c, "domain", "columns", 1, "unit", to="year"),
    "domain is malformed": lambda c: change(c, "domain", "columns", 0, "values", to=["f", "f"]),
    "domain is": lambda c: change(c, "domain", "order", to=["sex"]),
    "another domain": lambda c: change(c, "domain", "columns", 0, "values", to=["f", "m", "x"]),
    "cannot be read": lambda c: change(c, "model", "levels", to=[9, 9, 9]),
    "damaged or was": lambda c: change(c, "model", "columns", 0, "counts", "shape", 0, to=1e999),
    "The model of": lambda c: change(
        c, "model", "rules", "impossible", 0, "cells", "shape", to=HUGE
    ),
    "was written by another": lambda c: change(
        c, "model", "rules", "impossible", 0, "cells", "shape", to=[-1, -8]
    ),
    "is damaged: its domain": lambda c: change(c, "domain", "columns", 1, "parts", 0, 2, to=1e999),
}


@pytest.mark.parametrize("message", DAMAGES)
def test_a_damaged_file_is_refused_with_a_reason(message: str, saved: SavedModel) -> None:
    content = json.loads(saved.to_bytes())
    DAMAGES[message](content)

    with pytest.raises(UnreadableSource) as caught:
        SavedModel.from_bytes(json.dumps(content).encode())

    assert message in str(caught.value)


def test_more_rows_than_memory_may_hold_are_refused(saved: SavedModel) -> None:
    with pytest.raises(WrongUsage, match=r"Ask for at most 67,108,864,"):
        saved.sample(10**9, np.random.default_rng(1))


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b"\xff", b"[" * 100_000])
def test_what_is_no_json_is_refused(content: bytes, tmp_path: Path) -> None:
    (tmp_path / "model.json").write_bytes(content)

    with pytest.raises(UnreadableSource, match="no model of a synthetic table"):
        read_model(tmp_path / "model.json")


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(SourceNotFound, match=r"none\.json' is not there"):
        read_model(tmp_path / "none.json")
