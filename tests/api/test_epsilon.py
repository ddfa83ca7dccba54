"""The calculators from Python: exact numbers in any form, and what they refuse."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction
from pathlib import Path

import pytest

from discreet import epsilon
from discreet.errors import WrongUsage


@pytest.mark.parametrize("heads", ["0.4", 0.4, "2/5", Decimal("0.4"), Fraction(2, 5)])
def test_a_number_is_the_same_in_every_form(heads: epsilon.ExactNumber):
    assert epsilon.randomized_response(heads=heads).exact == "ln 4.75"


def test_chances_come_from_a_mapping_a_text_or_a_file(tmp_path: Path):
    text = "said,yes,no\ntrue,3/4,1/4\nfalse,1/4,3/4\n"
    (tmp_path / "chances.csv").write_text(text, "utf-8")
    rows = {"true": {"yes": "3/4", "no": "1/4"}, "false": {"yes": "1/4", "no": "3/4"}}
    found = [epsilon.table(given) for given in (rows, text, tmp_path / "chances.csv")]
    assert found[0] == found[1] == found[2]


def test_an_output_that_an_input_never_gives_is_not_private():
    found = epsilon.table({"sick": {"yes": 1}, "well": {"yes": "1/2", "no": "1/2"}})
    assert found.exact == "infinite"


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: epsilon.distinguish("a lot"), "no number"),
        (epsilon.randomized_response, "one way"),
        (lambda: epsilon.randomized_response(heads=0.5, truth=0.5), "one way"),
        (lambda: epsilon.randomized_response(heads=0.5, values=3), "--truth"),
        (lambda: epsilon.laplace(sensitivity=1), "--scale"),
        (lambda: epsilon.laplace(sensitivity=1, scale=1, epsilon=1), "--scale"),
        (lambda: epsilon.compose(1, parallel=True, delta="1e-6"), "--parallel"),
    ],
)
def test_what_has_no_answer_is_refused(call, message: str):
    with pytest.raises(WrongUsage, match=message):
        call()


def test_composition_compares_ways_to_count():
    found = epsilon.compose("0.1", times=50, delta="1e-6")
    assert found.accounts is not None
    assert found.accounts.zcdp < found.accounts.basic == pytest.approx(5)
