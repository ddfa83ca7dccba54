"""What `ask`, `explain` and `budget` print: numbers with the digits that they deserve."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from discreet.answer.answer import Answer, CellError
from discreet.answer.curator import open_curator
from discreet.cli import ask, curator_options, explain
from discreet.cli.command import run_command
from discreet.policy.load import parse_policy

if TYPE_CHECKING:
    from pathlib import Path

POLICY = """
tables:
  data:
    unit: id
    budget: {epsilon: 100, delta: 1e-3}
    limits: {rows-per-unit: 3}
    columns:
      id: identifier
      sex: {role: quasi-identifier, values: [F, M]}
      pay: {role: sensitive, bounds: [0, 1000]}
"""


def people() -> Any:
    import pyarrow as pa

    count = 2000
    return pa.table(
        {
            "id": list(range(count)),
            "sex": ["F", "M"] * (count // 2),
            "pay": [float(number % 1000) for number in range(count)],
        }
    )


@pytest.mark.parametrize(
    ("value", "half", "shown"),
    [
        (28406.9, 1070.0, "28,410"),
        (1980722.1, 3_590_000.0, "1,980,000"),
        (3.16789, 0.0123, "3.1679"),
        (1006, 10.4, "1,006"),
        (12.5, None, "12.5"),
        (float("inf"), 3.0, "∞"),
        (12.5, float("inf"), "12.5"),
        (None, None, "–"),
        (True, None, "True"),
        ("F", None, "F"),
    ],
)
def test_a_cell_shows_no_digits_that_its_error_makes_meaningless(value, half, shown):
    error = None if half is None else CellError(half / 2, value - half, value + half)
    cells = ask._format_cells(["n"], [value], [error], [True], [None])  # pyright: ignore[reportPrivateUsage]
    assert cells[0] == shown


@pytest.mark.parametrize(
    ("name", "value", "known", "shown"),
    [
        ("year", 2021, False, "2021"),
        ("zip", 10115, False, "10115"),
        ("birth_year", 1965, True, "1965"),
    ],
)
def test_years_and_keys_have_no_thousands_separator(name, value, known, shown):
    error = CellError(1.0, value - 2, value + 2) if known else None
    cells = ask._format_cells([name], [value], [error], [known], [None])  # pyright: ignore[reportPrivateUsage]
    assert cells[0] == shown


def test_numbers_that_are_none_do_not_stop_the_output():
    shown = [
        curator_options.format_short(value) for value in (float("nan"), float("-inf"), None, 1e-6)
    ]
    assert shown == ["–", "-∞", "–", "1e-6"]


@pytest.mark.parametrize("needed", [0.10351, 0.999999, 12.341, 1e-5])
def test_an_epsilon_that_is_needed_is_never_rounded_down(needed: float):
    shown = explain._round_up(needed)  # pyright: ignore[reportPrivateUsage]
    assert needed <= float(shown) <= needed * 1.02


def test_the_error_that_is_foretold_is_that_of_the_answer():
    question = "SELECT sex, count(*) AS n, sum(pay) AS s, avg(pay) AS m FROM data GROUP BY sex"
    with open_curator(people(), parse_policy(POLICY)) as curator:
        plan, text = curator.plan(question, epsilon=1)
        foretold = curator.explain_plan(plan, text, size=1000)
        answer: Answer = curator.ask(question, epsilon=1)
    count, total, mean = (item.standard_error for item in foretold.expected)
    result = [error.standard_error for error in answer.error[0][1:] if error is not None]
    assert result[:2] == pytest.approx([count, total], rel=1e-6)
    # That of a mean depends on how the numbers lie; it is foretold for the middle.
    assert result[2] == pytest.approx(mean, rel=0.2)


def test_a_question_that_is_cached_costs_nothing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("DISCREET_LEDGER", str(tmp_path / "ledger.sqlite"))
    (tmp_path / "data.csv").write_text("sex\nF\nM\n")
    words = ["ask", str(tmp_path / "data.csv"), "SELECT count(*) FROM data", "--epsilon", "0.5"]
    assert [run_command(words), run_command(words)] == [0, 0]
    shown = capsys.readouterr()
    assert "Spent epsilon 0.5. Left: epsilon 9.5 and delta 1e-5." in shown.out
    assert "Spent nothing: this question was answered before." in shown.out
    assert "No budget is declared for 'data', so that it is epsilon 10" in shown.err
    assert run_command(["budget", "--verify"]) == 0
    shown = capsys.readouterr()
    assert shown.out.count("SELECT COUNT(*) FROM data") == 1
    assert "The ledger is intact" in shown.out
