"""Tables of chances: their epsilon, their profile, and how they are written."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.dp.calculate.chance_table_csv import parse_chances, read_chances
from discreet.dp.calculate.table import ChanceTable, delta_at, epsilon_at, evaluate_table
from discreet.errors import EmptySource, InvalidMechanism, SourceNotFound, UnreadableSource

if TYPE_CHECKING:
    from pathlib import Path

BIASED = "said,yes,no\ntrue,0.76,0.24\nfalse,0.16,0.84\n"


@st.composite
def chances(draw: st.DrawFn) -> ChanceTable:
    width, height = draw(st.integers(1, 4)), draw(st.integers(2, 4))
    weights = st.lists(st.integers(0, 9), min_size=width, max_size=width).filter(any)
    rows = tuple(
        tuple(Fraction(weight, sum(row)) for weight in row)
        for row in (draw(weights) for _ in range(height))
    )
    names = tuple(map(str, range(9)))
    return ChanceTable(names[:height], names[:width], rows)


@given(chances())
def test_no_output_is_likelier_than_epsilon_allows_and_one_is_as_likely(table: ChanceTable):
    found = evaluate_table(table)
    ratios = [
        p / q if q else math.inf
        for column in zip(*table.rows, strict=True)
        for p in column
        for q in column
        if p
    ]
    assert found.epsilon == pytest.approx(math.log(max(ratios)) if max(ratios) > 0 else 0)


@given(chances(), st.fractions(0, 1, max_denominator=50).filter(lambda delta: delta < 1))
def test_the_epsilon_at_a_delta_is_the_smallest_one(table: ChanceTable, delta: Fraction):
    found = epsilon_at(table, delta)
    if found.is_infinite:
        assert delta_at(table, 600.0) > delta
        return
    assert delta_at(table, found.value) <= float(delta) + 1e-9
    if found.value > 1e-6:
        assert delta_at(table, found.value - 1e-6) > float(delta) - 1e-12
        assert delta_at(table, found.value * 0.9) >= delta_at(table, found.value)


@given(chances())
def test_a_delta_of_zero_asks_for_the_pure_epsilon(table: ChanceTable):
    assert epsilon_at(table, Fraction(0)).value == pytest.approx(evaluate_table(table).epsilon)


def test_total_variation_is_the_delta_without_an_epsilon():
    found = evaluate_table(parse_chances(BIASED), epsilon=Fraction(0))
    assert found.total_variation == pytest.approx(0.6)
    assert found.profile[0].delta == pytest.approx(0.6)


@pytest.mark.parametrize(
    "text",
    [
        "0.76,0.24\n0.16,0.84\n",
        "yes,no\n0.76,0.24\n0.16,0.84\n",
        BIASED,
        "input,0,1\n0,0.76,0.24\n1,0.16,0.84\n",
        ",yes,no\ntrue,19/25,6/25\nfalse,4/25,21/25\n",
        "true,0.76,0.24\nfalse,0.16,0.84\n",
        '"yes", "no"\n\n0.76, 0.24\n 16e-2,.84\n\n',
        "yes,no\ntrue,0.76,0.24\nfalse,0.16,0.84\n",
        "1,2\n0.76,0.24\n0.16,0.84\n",
        "0,1\ntrue,0.76,0.24\nfalse,0.16,0.84\n",
    ],
)
def test_one_mechanism_may_be_written_in_many_ways(text: str):
    found = evaluate_table(parse_chances(text))
    assert found.exact == "ln 4.75"


def test_names_of_inputs_and_outputs_are_reported():
    found = evaluate_table(parse_chances(BIASED))
    assert (found.inputs, found.outputs) == (("true", "false"), ("yes", "no"))
    assert "'true'" in found.why


def test_a_first_line_that_may_be_an_input_is_not_taken_for_a_header():
    text = "always,0,1\nhonest,1/2,1/2\n"
    with pytest.raises(InvalidMechanism, match="--header or --no-header"):
        parse_chances(text)
    assert evaluate_table(parse_chances(text, header=False)).epsilon == math.inf
    with pytest.raises(InvalidMechanism, match="at least two inputs"):
        parse_chances(text, header=True)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("0.5,0.5\n0.5,0.4\n", "row 'row 2' add up to 0.9"),
        ("yes,no\n1.5,-0.5\n0.5,0.5\n", "Row 'row 1', column 'yes': a chance is a number from 0"),
        ("yes,no\n0.5,half\n0.5,0.5\n", "Row 'row 1', column 'no': the cell is no number"),
        ("yes,no\n0.5,\n0.5,0.5\n", "Row 'row 1', column 'no': the cell is empty"),
        ("yes,no\na,0.5,0.5\nb,0.5,1/0\n", "Row 'b', column 'no': the cell is no number"),
        ("0.5,0.5\n0.5,0.25,0.25\n", "row 2 has 3 cells where the first has 2"),
        ("a,b,c,d,e\n0.5,0.5\n0.5,0.5\n", "the header has 5 cells"),
        ("0.5,0.5\n", "at least two inputs"),
        ("yes,no\n0.5,1e999999\n0.5,0.5\n", "the cell is no number"),
        ("a,0.5,o.5\nb,0.5,0.5\nc,0.5,0.5\n", "Row 'a', column 'column 3': the cell is no number"),
        ("0.5,o.5\n0.5,0.5\n0.5,0.5\n", "Row 'row 1', column 'column 2': the cell is no number"),
        ("a,0,0\nb,1,0\n", "row 'a' add up to 0"),
        ("yes,no\n0.5,nan\n0.5,0.5\n", "the cell is no number"),
    ],
)
def test_a_fault_names_its_row_and_column(text: str, words: str):
    with pytest.raises(InvalidMechanism, match=words.replace("(", r"\(")) as caught:
        parse_chances(text)
    assert "half" not in str(caught.value)


@pytest.mark.parametrize("text", ["", "\n\n", ",,\n"])
def test_a_file_without_chances_is_refused(text: str):
    with pytest.raises(EmptySource):
        parse_chances(text)


def test_what_is_no_file_of_text_is_refused(tmp_path: Path):
    with pytest.raises(SourceNotFound):
        read_chances(tmp_path / "none.csv")
    with pytest.raises(UnreadableSource):
        read_chances(tmp_path)
    (tmp_path / "bytes.csv").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(UnreadableSource):
        read_chances(tmp_path / "bytes.csv")
    (tmp_path / "open.csv").write_text('"0.5,0.5\n')
    with pytest.raises(UnreadableSource):
        read_chances(tmp_path / "open.csv")


@pytest.mark.parametrize("delta", [Fraction(-1, 2), Fraction(1)])
def test_a_delta_that_is_no_chance_is_refused(delta: Fraction):
    with pytest.raises(InvalidMechanism):
        evaluate_table(parse_chances(BIASED), delta=delta)
