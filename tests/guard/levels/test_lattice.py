"""Labels: how they are written, which dominates which, and what stands for them on an engine."""

from __future__ import annotations

from itertools import product

import pytest

from discreet.errors import StatementFailed
from discreet.guard.levels.lattice import BOTTOM, Label, LabelLattice

LATTICE = LabelLattice.parse("U < C < S < TS | nato, crypto")
LABELS = list(LATTICE.labels())


def test_a_lattice_is_read_as_it_is_written():
    assert str(LabelLattice.parse(str(LATTICE))) == "U < C < S < TS | nato, crypto"


def test_levels_may_be_written_from_high_to_low():
    written = LabelLattice.parse("Top Secret > Secret > Unclassified")
    assert written.levels == ("Unclassified", "Secret", "Top Secret")


@pytest.mark.parametrize(
    "text",
    ["", "U <", "< U", "U < C > S", "U < u", "U | a, A", "U |", "U | a,,b", "U'; --", "U {x} < C"],
)
def test_what_is_no_lattice_is_refused(text: str):
    with pytest.raises(StatementFailed) as caught:
        LabelLattice.parse(text)
    assert caught.value.sqlstate == "22023"


def test_thirty_compartments_are_the_most():
    names = [f"c{i}" for i in range(30)]
    wide = LabelLattice.parse(f"U < S | {', '.join(names)}")
    assert wide.decode(wide.code(wide.top)) == wide.top
    with pytest.raises(StatementFailed, match="at most 30 compartments"):
        LabelLattice.parse(f"U < S | {', '.join([*names, 'more'])}")


@pytest.mark.parametrize("text", ["S {crypto,nato}", "s{NATO , crypto}", " S  { nato,crypto } "])
def test_a_label_is_read_in_any_order_and_case_and_written_in_one(text: str):
    assert str(LATTICE.label(text)) == "S {crypto,nato}"


@pytest.mark.parametrize("text", ["", "X", "S {moon}", "S {nato", "S nato", "S {nato} {crypto}"])
def test_what_is_no_label_is_refused(text: str):
    with pytest.raises(StatementFailed) as caught:
        LATTICE.label(text)
    assert caught.value.sqlstate == "22023"


def test_empty_braces_are_no_compartments():
    assert LATTICE.label("S {}") == Label("S")


def test_codes_distinguish_labels_and_back():
    codes = [LATTICE.code(label) for label in LABELS]
    assert len(set(codes)) == len(LABELS) == 16
    assert [LATTICE.decode(code) for code in codes] == LABELS
    assert LATTICE.code(LATTICE.bottom) == BOTTOM


def test_a_label_of_another_lattice_has_no_code():
    with pytest.raises(StatementFailed, match="is not in the lattice"):
        LATTICE.code(Label("X"))


def test_dominance_is_a_partial_order_with_a_bottom_and_a_top():
    dominates = LATTICE.dominates
    for one, other in product(LABELS, LABELS):
        assert (one == other) == (dominates(one, other) and dominates(other, one))
    assert all(dominates(LATTICE.top, label) for label in LABELS)
    assert all(dominates(label, LATTICE.bottom) for label in LABELS)


def test_a_higher_code_never_belongs_to_a_dominated_label():
    for one, other in product(LABELS, LABELS):
        if LATTICE.dominates(one, other):
            assert LATTICE.code(one) >= LATTICE.code(other)


def test_different_compartments_are_incomparable():
    nato, crypto = LATTICE.label("S {nato}"), LATTICE.label("S {crypto}")
    assert not LATTICE.dominates(nato, crypto)
    assert not LATTICE.dominates(crypto, nato)


def test_only_a_lattice_that_was_appended_to_keeps_the_meaning_of_labels():
    assert LabelLattice.parse("U < C < S < TS < X | nato, crypto, moon").extends(LATTICE)
    assert not LabelLattice.parse("U < R < C < S < TS | nato, crypto").extends(LATTICE)
    assert not LabelLattice.parse("U < C < S < TS | crypto, nato").extends(LATTICE)
    assert not LabelLattice.parse("U < C < S | nato, crypto").extends(LATTICE)
