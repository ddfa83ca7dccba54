"""Numbers that a policy calls codes are kept or hidden, and never become ranges."""

from __future__ import annotations

import pyarrow as pa
import pytest

from discreet.engines.connect import open_table
from discreet.errors import DiscreetError
from discreet.measure.classes import group_cells
from discreet.measure.roles import bind_roles
from discreet.policy import model
from discreet.release.anonymize.attribute import CodedAttribute
from discreet.release.anonymize.read import read_problem

ROLES = model.ColumnRole
REGIONS = pa.table({"region": [1, 2, 3, 4] * 6 + [7, 9], "income": [*range(26)]})


def read_region(
    *criteria: model.Criterion, is_ordered: bool, are_incomes_ordered: bool = True
) -> CodedAttribute:
    columns = (
        model.ColumnPolicy("region", ROLES.QUASI_IDENTIFIER, is_ordered=is_ordered),
        model.ColumnPolicy("income", ROLES.SENSITIVE, is_ordered=are_incomes_ordered),
    )
    bound = bind_roles(open_table(REGIONS), policy=model.TablePolicy("people", columns))
    return read_problem(group_cells(bound.subject), bound, criteria).problem.attributes[0]


def test_numbers_become_ranges_unless_they_are_codes() -> None:
    assert len(read_region(is_ordered=True).groups) > 2
    codes = read_region(is_ordered=False)
    assert codes.labels(0).to_pylist() == ["1", "2", "3", "4", "7", "9"]
    assert codes.labels(1).to_pylist() == ["*"]


def test_codes_have_no_ordered_distance() -> None:
    distance = model.TCloseness("income", 0.4, "ordered")
    read_region(distance, is_ordered=True)
    with pytest.raises(DiscreetError, match="order"):
        read_region(distance, is_ordered=True, are_incomes_ordered=False)
