"""Which changes of levels, clearances and references are refused."""

from __future__ import annotations

from dataclasses import replace

import pytest
from tests.guard.levels.world import employees, relation

from discreet.errors import StatementFailed
from discreet.guard.access.authority import Authority, DatabaseRole, ForeignKey
from discreet.guard.levels.change import check_labels

KEY = ForeignKey(("name",), ("public", "employee"), ("name",))
LABELED = replace(employees(), multilevel=True)
BOB = DatabaseRole("bob", clearance="S")
USED = Authority(lattice="U < C < S", relations={LABELED.key: LABELED}, roles={"bob": BOB})


def refused(before: Authority, after: Authority) -> str:
    with pytest.raises(StatementFailed) as caught:
        check_labels(before, after)
    return caught.value.sqlstate


def test_levels_may_be_added_above_and_compartments_at_the_end():
    check_labels(USED, replace(USED, lattice="U < C < S < TS | nato"))


@pytest.mark.parametrize("lattice", ["U < R < C < S", "C < S", None])
def test_levels_that_cells_depend_on_do_not_change(lattice: str | None):
    assert refused(USED, replace(USED, lattice=lattice)) == "2BP01"


def test_levels_that_no_cell_depends_on_may_change_if_clearances_still_exist():
    free = replace(USED, relations={})
    check_labels(free, replace(free, lattice="Low < S"))
    assert refused(free, replace(free, lattice="Low < High")) == "22023"
    assert refused(free, replace(free, lattice=None)) == "2BP01"


def test_what_is_no_lattice_is_refused():
    assert refused(Authority(), Authority(lattice="U <")) == "22023"


def test_a_clearance_is_a_label_of_the_lattice():
    assert refused(USED, replace(USED, roles={"bob": replace(BOB, clearance="X")})) == "22023"
    assert refused(Authority(), Authority(roles={"bob": BOB})) == "55000"


def test_a_plain_table_cannot_refer_to_a_multi_level_one():
    plain = relation("badge", {"id": "integer", "name": "text"}, foreign_keys=(KEY,))
    after = replace(USED, relations={**USED.relations, plain.key: plain})
    assert refused(USED, after) == "0A000"
    labeled = replace(plain, multilevel=True)
    check_labels(USED, replace(USED, relations={**USED.relations, plain.key: labeled}))
