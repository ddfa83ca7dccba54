"""Columns that no class is made of: identifiers, and what a policy does not list."""

from __future__ import annotations

import pyarrow as pa
import pytest

import discreet
from discreet.errors import UnknownColumn
from discreet.policy.model import ColumnPolicy, ColumnRole, KAnonymity, Policy, TablePolicy


def cautions(columns: dict, **roles: ColumnRole) -> str:
    listed = tuple(ColumnPolicy(name, role) for name, role in roles.items())
    policy = Policy({"t": TablePolicy("t", listed, criteria=(KAnonymity(2),))})
    found = discreet.assess(pa.table(columns), policy, depth=0)
    assert found.holds
    return "\n".join(found.cautions)


def test_identifiers_in_the_table_are_cautioned_against():
    cautioned = cautions(
        {"name": ["Ann", "Bob"], "id": [1, 2], "zip": ["1", "1"]},
        name=ColumnRole.IDENTIFIER,
        id=ColumnRole.IDENTIFIER,
        zip=ColumnRole.QUASI_IDENTIFIER,
    )
    assert "identifiers ('name' and 'id')" in cautioned
    assert "Ann" not in cautioned


@pytest.mark.parametrize("withheld", [["*", None], [None, None], ["*", "*"]])
def test_an_identifier_that_was_withheld_is_none(withheld: list):
    names = pa.array(withheld, pa.string())
    cautioned = cautions(
        {"name": names, "zip": ["1", "1"]},
        name=ColumnRole.IDENTIFIER,
        zip=ColumnRole.QUASI_IDENTIFIER,
    )
    assert "identifiers (" not in cautioned


def test_an_identifier_of_the_policy_may_be_gone_from_the_table():
    cautioned = cautions(
        {"zip": ["1", "1"]}, name=ColumnRole.IDENTIFIER, zip=ColumnRole.QUASI_IDENTIFIER
    )
    assert "identifiers (" not in cautioned


@pytest.mark.parametrize("role", [ColumnRole.HOUSEHOLD, ColumnRole.WEIGHT])
def test_households_and_weights_of_the_policy_may_be_gone_from_the_table(role: ColumnRole):
    cautions({"zip": ["1", "1"]}, other=role, zip=ColumnRole.QUASI_IDENTIFIER)


@pytest.mark.parametrize(
    "role", [ColumnRole.QUASI_IDENTIFIER, ColumnRole.SENSITIVE, ColumnRole.INSENSITIVE]
)
def test_any_other_column_of_the_policy_must_be_there(role: ColumnRole):
    with pytest.raises(UnknownColumn, match="'other'"):
        cautions({"zip": ["1", "1"]}, other=role, zip=ColumnRole.QUASI_IDENTIFIER)


def test_columns_without_a_role_are_named_but_not_all_of_many():
    others = {f"c{index}": [1, 2] for index in range(7)}
    cautioned = cautions({"zip": ["1", "1"], **others}, zip=ColumnRole.QUASI_IDENTIFIER)
    assert "nothing about 'c0', 'c1', 'c2', 'c3', 'c4' and 2 more:" in cautioned


def test_without_a_policy_nothing_is_left_out():
    found = discreet.assess(pa.table({"zip": ["1", "1"], "x": [1, 2]}), quasi=["zip"], depth=0)
    assert not any("nothing about" in cautioned for cautioned in found.cautions)
