"""Whom an adversary is after: named, drawn by chance, or in no table at all."""

from __future__ import annotations

import datetime as dt

import numpy as np
import pyarrow as pa
import pytest
from sqlglot import condition

from discreet.attacks.questions.domains import WordDomain, column_domain, column_domains
from discreet.attacks.questions.laboratory import laboratory
from discreet.attacks.questions.people import draw_people, name_person, read_person_condition
from discreet.engines.connect import open_table
from discreet.engines.engine import Column, Kind
from discreet.errors import InvalidQuestion, WrongUsage
from discreet.policy.load import parse_policy
from discreet.sql import build

ROWS = pa.table(
    {
        "name": ["O'Hara", "Bo", "Cy", "Cy", None],
        "id": [1, 2, 3, 4, 5],
        "born": [dt.date(1960, 1, day) for day in range(1, 6)],
        "well": [True, False, True, False, True],
        "pay": [10, 20, 30, 40, None],
    }
)
PAY = build.column("pay")


@pytest.fixture(scope="module")
def table():
    return open_table(ROWS)


@pytest.mark.parametrize("column", ["name", "id", "born"])
def test_drawn_people_are_one_each_and_invented_ones_are_no_one(table, column):
    people = draw_people(
        table,
        by=[table.column(column)],
        value=PAY,
        people=3,
        absent=3,
        chance=np.random.default_rng(1),
    )
    interface = laboratory(table)
    assert [interface.count(person.where) for person in people] == [1.0] * 3 + [0.0] * 3
    truths = [interface.total("pay", person.where) for person in people if person.is_present]
    assert truths == [float(person.truth or 0) for person in people if person.is_present]


def test_people_whom_the_columns_do_not_distinguish_are_not_drawn(table):
    with pytest.raises(WrongUsage, match="Name more columns"):
        draw_people(
            open_table(pa.table({"sex": ["f", "f"], "pay": [1, 2]})),
            by=[Column("sex", Kind.TEXT)],
            value=PAY,
            people=1,
            absent=1,
            chance=np.random.default_rng(1),
        )


def test_a_named_person_is_one_or_no_one(table):
    bo = name_person(table, condition("name = 'Bo'"), value=PAY)
    absent = name_person(table, condition("name = 'Di'"), value=PAY)
    assert (bo.truth, bo.is_present, absent.is_present) == (20, True, False)
    with pytest.raises(WrongUsage, match="2 rows"):
        name_person(table, condition("name = 'Cy'"), value=PAY)


@pytest.mark.parametrize("text", ["", "name =", "(SELECT 1)", "count(*) > 1", "1; DROP TABLE x"])
def test_only_conditions_are_read(table, text):
    with pytest.raises(InvalidQuestion):
        read_person_condition(text, table)


def test_what_the_policy_says_of_a_column_wins_over_the_table(table):
    policy = parse_policy(
        "tables:\n  t:\n    columns:\n"
        "      id: {role: quasi-identifier, bounds: [0, 99]}\n"
        "      name: {role: quasi-identifier, values: [Bo, Cy, Di]}\n"
    ).tables["t"]
    assert column_domain(table, Column("name", Kind.TEXT), policy=policy) == WordDomain(
        "name", ("Bo", "Cy", "Di")
    )
    sizes = {
        domain.column: domain.size for domain in column_domains(table, names=["id"], policy=policy)
    }
    assert sizes == {"id": 100}


def test_dates_come_before_numbers_and_words(table):
    names = ["well", "name", "id", "born"]
    found = [domain.column for domain in column_domains(table, names=names)]
    assert found == ["born", "id", "name", "well"]
