"""The tables that learners are compared on: rows, what is public of each column, and a part kept for tests."""

from __future__ import annotations

import json
import os
import sys
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from bench.people import FOLDER
from bench.synthesize import SHARED
from bench.synthesize_credit import TARGET as CREDIT_TARGET
from bench.synthesize_credit import read_codes

WORK = FOLDER / "learn"
SHARE = 0.8


@dataclass(frozen=True)
class LearnTable:
    """A table that is learned from, and the rows that test what was learned.

    Attributes:
        name: Its name.
        train: The rows that are learned from, a pandas frame.
        test: The others.
        target: The column that is predicted.
        bounds: Public bounds of numbers.
        values: Public values of categories.
    """

    name: str
    train: Any
    test: Any
    target: str
    bounds: dict[str, tuple[float, float]]
    values: dict[str, list[Any]]

    @property
    def features(self) -> list[str]:
        """The columns that predict."""
        return [name for name in self.train.columns if name != self.target]

    def write(self) -> Path:
        """Write it for peers, and return the folder."""
        folder = WORK / self.name
        folder.mkdir(parents=True, exist_ok=True)
        self.train.to_csv(folder / "train.csv", index=False)
        self.test.to_csv(folder / "test.csv", index=False)
        public = {"target": self.target, "bounds": self.bounds, "values": self.values}
        (folder / "public.json").write_text(json.dumps(public), "utf-8")
        return folder


def _split(
    name: str, table: Any, target: str, bounds: dict[str, Any], values: dict[str, Any]
) -> LearnTable:
    order = np.random.default_rng(7).permutation(len(table))
    cut = int(SHARE * len(table))
    parts = (table.iloc[order[:cut]], table.iloc[order[cut:]])
    train, test = (one.reset_index(drop=True) for one in parts)
    return LearnTable(name, train, test, target, bounds, values)


def _of_codes(name: str, table: Any, target: str, sizes: dict[str, int], scales: Any) -> LearnTable:
    bounds = {one: (0, sizes[one] - 1) for one in table.columns if one in scales}
    values = {one: list(range(sizes[one])) for one in table.columns if one not in scales}
    return _split(name, table, target, bounds, values)


def _import_prepared() -> Any:
    os.environ.setdefault("DISCREET_DATA", str(SHARED / "data"))
    sys.path.insert(0, str(SHARED / "prototypes"))
    import prep  # pyright: ignore[reportMissingImports]

    return prep


@cache
def read_adult() -> LearnTable:
    """Adult as `../shared/prototypes/prep.py` codes it: who earns more than 50,000."""
    prep = _import_prepared()
    table, sizes, _ = prep.encode(prep.load())
    return _of_codes("adult", table, "salary-class", sizes, prep.NUM)


@cache
def read_credit() -> LearnTable:
    """Card holders, 23 columns at the finest level with at most 100 values: who does not pay."""
    table, sizes = read_codes(SHARED / "data" / "creditcard_int")
    return _of_codes("creditcard", table, CREDIT_TARGET, sizes, ())


@cache
def read_answers() -> LearnTable:
    """Answers to ten questions of a personality test, and who gave them: whether they are married (four codes)."""
    import pandas as pd

    table = pd.read_csv(SHARED / "data" / "mach2019_int" / "mach2019_int.csv", sep=";")
    sizes = {name: int(table[name].max()) + 1 for name in table.columns}
    scales = ("age", "familysize")
    return _of_codes("mach2019", table, "married", sizes, scales)


def _scale(column: Any, low: float, high: float) -> Any:
    import pandas as pd

    return pd.to_numeric(column, errors="coerce").fillna(low).clip(low, high)


@cache
def read_ages() -> LearnTable:
    """Adult as it is, eight categories and a number: how old somebody is."""
    prep = _import_prepared()
    table = prep.load()
    names = [
        "workclass",
        "education",
        "marital-status",
        "occupation",
        "relationship",
        "race",
        "sex",
        "salary-class",
    ]
    kept = table[names].astype(str)
    kept["hours-per-week"] = _scale(table["hours-per-week"], 1, 99)
    kept["age"] = _scale(table["age"], 17, 90)
    values = {name: sorted(kept[name].unique()) for name in names}
    return _split("age", kept, "age", {"hours-per-week": (1, 99), "age": (17, 90)}, values)


@cache
def read_gifts() -> LearnTable:
    """Donors of KDD Cup 1998: the logarithm of all that they gave."""
    import pandas as pd

    table = pd.read_csv(SHARED / "data" / "cup" / "cup.csv", sep=";")
    kept = pd.DataFrame(
        {
            "AGE": _scale(table["AGE"], 0, 100),
            "GIFTS": np.log1p(_scale(table["NGIFTALL"], 0, 100) * 100),
            "MINRAMNT": _scale(table["MINRAMNT"], 0, 50),
            "INCOME": _scale(table["INCOME"], 0, 7),
            "GENDER": table["GENDER"].astype(str),
            "AMOUNT": np.log1p(_scale(table["RAMNTALL"], 0, 2000)),
        }
    )
    bounds = {
        "AGE": (0.0, 100.0),
        "GIFTS": (0.0, 10.0),
        "MINRAMNT": (0.0, 50.0),
        "INCOME": (0.0, 7.0),
        "AMOUNT": (0.0, 7.61),
    }
    return _split("cup", kept, "AMOUNT", bounds, {"GENDER": sorted(kept["GENDER"].unique())})


CLASSES = {"adult": read_adult, "creditcard": read_credit, "mach2019": read_answers}
NUMBERS = {"age": read_ages, "cup": read_gifts}
