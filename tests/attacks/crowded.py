"""People behind interfaces: 200 of them, with a name, an age, a day of birth, a pay and an illness."""

from __future__ import annotations

import datetime as dt
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from discreet.attacks.questions.domains import ColumnDomain, WordDomain, make_range
from discreet.engines.connect import open_table

if TYPE_CHECKING:
    from discreet.engines.engine import Table

PEOPLE = 200
ILLNESSES = ("asthma", "cold", "flu", "gout", "hiv", "none")


def staff() -> pa.Table:
    """Return the people; Alice is 44, earns 55,000 and has gout."""
    chance = np.random.default_rng(5)
    days = chance.integers(0, 365 * 45, PEOPLE)
    born = [dt.date(1955, 1, 1) + dt.timedelta(days=int(day)) for day in days]
    return pa.table(
        {
            "name": ["Alice", *(f"person {number}" for number in range(1, PEOPLE))],
            "age": [44, *chance.integers(20, 65, PEOPLE - 1).tolist()],
            "born": born,
            "pay": [55_000, *chance.integers(20_000, 90_000, PEOPLE - 1).tolist()],
            "ill": ["gout", *chance.choice(ILLNESSES, PEOPLE - 1).tolist()],
        }
    )


def opened() -> Table:
    return open_table(staff())


def public() -> list[ColumnDomain]:
    """Return what everyone knows."""
    return [make_range("age", 18, 67)]


def illnesses() -> ColumnDomain:
    return WordDomain("ill", ILLNESSES)
