"""How a multi-level relation lies on an engine, and how a plain table becomes one."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from sqlglot import exp
from tests.guard.levels.world import employees

from discreet.errors import StatementFailed
from discreet.guard.access.authority import RelationColumn
from discreet.guard.levels.physical import (
    convert_to_multilevel,
    multilevel_relation,
    physical_columns,
    system_columns,
)
from discreet.sql import build

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.guard.levels.world import World

PLAIN = replace(employees(), physical=("guarded", "public", "employee"))


def test_every_column_has_a_label_and_the_key_has_one():
    assert physical_columns(PLAIN) == [
        "_tid",
        "name",
        "_key_l",
        "salary",
        "salary_l",
        "perf",
        "perf_l",
    ]


def test_labels_and_tuple_class_are_shown_beside_the_columns():
    assert system_columns(PLAIN) == ("name_label", "salary_label", "perf_label", "tc")


def test_the_physical_table_has_another_name():
    made = multilevel_relation(PLAIN)
    assert made.multilevel
    assert made.physical == ("guarded", "public", "_mls_employee")


def test_a_table_without_a_key_cannot_be_multi_level():
    with pytest.raises(StatementFailed) as caught:
        multilevel_relation(replace(PLAIN, primary_key=()))
    assert caught.value.sqlstate == "42P16"


@pytest.mark.parametrize("name", ["salary_l", "SALARY_L", "_key_l", "_tid", "perf_label", "tc"])
def test_a_name_that_labels_need_is_refused(name: str):
    with pytest.raises(StatementFailed) as caught:
        multilevel_relation(
            replace(PLAIN, columns=(*PLAIN.columns, RelationColumn(name, "bigint")))
        )
    assert caught.value.sqlstate == "42701"


@pytest.mark.parametrize(
    "column", [RelationColumn("n", "serial"), RelationColumn("n", "bigint", default="nextval('s')")]
)
def test_an_identity_column_is_refused_because_gaps_would_reveal_rows(column: RelationColumn):
    with pytest.raises(StatementFailed) as caught:
        convert_to_multilevel(replace(PLAIN, columns=(*PLAIN.columns, column)))
    assert caught.value.sqlstate == "0A000"


def test_rows_of_a_plain_table_are_at_the_bottom(found: Callable[..., World]):
    world = found()
    plain = world.add(employees(), multilevel=False)
    world.connection.execute(
        exp.insert("SELECT 'Smith', 40000, NULL", build.table(*plain.physical), dialect="postgres")
    )
    for statement in convert_to_multilevel(plain):
        world.connection.execute(statement)
    world.relations[plain.key] = multilevel_relation(plain)
    assert world.show("S") == {"Smith U | 40000 U | - S | S"}
    assert world.stored() == {("Smith", 0, 40000, 0, None, 0)}
