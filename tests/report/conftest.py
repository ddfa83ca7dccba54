"""Assessments to draw: a real one of a table full of marks, and corners of it made by hand."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pytest

from discreet.measure.assess import assess
from discreet.policy.model import (
    AlphaK,
    BetaLikeness,
    ColumnPolicy,
    ColumnRole,
    DeltaDisclosure,
    DeltaPresence,
    KAnonymity,
    KMap,
    LDiversity,
    Policy,
    TablePolicy,
    TCloseness,
)

if TYPE_CHECKING:
    from discreet.measure.assessment import Assessment

# No cell of the table is without it, so a page without it has no cell.
MARK = "CELL_"
HOSTILE = "<script>alert(1)</script>"


def marked(column: str, numbers: list[int]) -> list[str]:
    return [f"{MARK}{column}_{number}" for number in numbers]


@pytest.fixture(scope="session")
def people() -> pa.Table:
    """Twelve people with a mark in every cell; one column has a hostile name."""
    return pa.table(
        {
            "name": marked("name", list(range(12))),
            "town": marked("town", [0, 0, 0, 0, 0, 0, 1, 1, 1, 2, 2, 3]),
            HOSTILE: marked("job", [0, 0, 0, 0, 0, 1, 0, 1, 1, 0, 0, 0]),
            "illness": marked("illness", [0, 1, 2, 0, 1, 0, 2, 2, 2, 1, 1, 0]),
        }
    )


@pytest.fixture(scope="session")
def everyone(people: pa.Table) -> pa.Table:
    """The population: three of each."""
    return pa.concat_tables([people, people, people])


@pytest.fixture(scope="session")
def policy() -> Policy:
    roles = {
        "name": ColumnRole.IDENTIFIER,
        "town": ColumnRole.QUASI_IDENTIFIER,
        HOSTILE: ColumnRole.QUASI_IDENTIFIER,
        "illness": ColumnRole.SENSITIVE,
    }
    criteria = (
        KAnonymity(k=2),
        KMap(k=3),
        LDiversity(column="illness", l=2),
        LDiversity(column="illness", l=2, kind="recursive", c=3),
        LDiversity(column="illness", l=1, kind="entropy"),
        TCloseness(column="illness", t=0.2),
        AlphaK(column="illness", alpha=0.5, k=2),
        DeltaPresence(lower=0.0, upper=0.5),
        BetaLikeness(column="illness", beta=1),
        DeltaDisclosure(column="illness", delta=1),
    )
    columns = tuple(ColumnPolicy(name=name, role=role) for name, role in roles.items())
    table = TablePolicy(name="people", columns=columns, criteria=criteria)
    return Policy(tables={"people": table}, path=Path("/home/CELL_secret/policy.yaml"))


@pytest.fixture(scope="session")
def assessment(people: pa.Table, everyone: pa.Table, policy: Policy) -> Assessment:
    return assess(people, policy, against=everyone)
