"""Any estimator as a callable: what it gets, what it costs, and what a hostile one cannot do."""

from __future__ import annotations

import os
import time
from decimal import Decimal
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import discreet
from discreet.errors import (
    BudgetExceeded,
    UndeclaredKind,
    UndeclaredUnit,
    UnknownColumn,
    WrongUsage,
)
from discreet.learning.callable_identity import describe_callable
from discreet.learning.isolated_call import call_isolated
from discreet.policy.answer_model import BudgetPolicy
from discreet.policy.model import Policy, TablePolicy

PEOPLE = pa.table({"age": [20.0, 40.0, 60.0] * 100, "word": ["rain", "snow", "sun"] * 100})
RICH = Policy({"data": TablePolicy("data", (), budget=BudgetPolicy(Decimal(10**6)))})
EXACT = {"policy": RICH, "epsilon": 10**6, "blocks": 3, "columns": ["age"], "block_form": "numpy"}
POLICY = """
tables:
  visits:
    unit: person
    budget: {epsilon: 3}
    limits: {rows-per-unit: 2}
    columns:
      person: {role: identifier, kind: integer}
      cost: {role: sensitive, kind: number, bounds: [0, 100]}
"""


def write_visits(folder: Path, rows: list[tuple[int, float]]) -> Path:
    path = folder / "visits.csv"
    path.write_text("person,cost\n" + "".join(f"{person},{cost}\n" for person, cost in rows))
    return path


def test_the_mean_of_blocks_is_the_mean_where_noise_is_small():
    found = discreet.sample_and_aggregate(PEOPLE, np.mean, range=(0, 100), **EXACT)
    assert found.estimate == pytest.approx(40, abs=2)
    assert found.noise_error < 0.01
    assert (found.aggregate, found.blocks, found.unit) == ("winsorized", 3, "row")


def test_several_numbers_have_a_range_each():
    found = discreet.sample_and_aggregate(
        PEOPLE, lambda block: [block.mean(), -block.mean()], range=[(0, 100), (-100, 0)], **EXACT
    )
    assert found.estimate == pytest.approx((40, -40), abs=2)


def test_a_pandas_frame_gives_pandas_blocks_without_the_unit():
    frame = pd.DataFrame({"person": list(range(90)), "age": [30.0] * 90})
    found = discreet.sample_and_aggregate(
        frame,
        lambda block: block["age"].mean() + len(block.columns),
        range=(0, 100),
        blocks=3,
        policy=RICH,
        epsilon=10**6,
        unit="person",
        bounds={"age": (0.0, 110.0)},
    )
    assert found.estimate == pytest.approx(31, abs=0.1)


def test_a_column_of_unknown_kind_is_refused():
    frame = pd.DataFrame({"person": [1, 2], "age": [30.0, 31.0]})
    with pytest.raises(UndeclaredKind, match="age"):
        discreet.sample_and_aggregate(frame, np.mean, range=(0, 1), unit="person", columns=["age"])


def test_the_same_callable_is_free_again_and_another_one_is_not(tmp_path):
    path = write_visits(tmp_path, [(person, 50.0) for person in range(60)])
    policy = tmp_path / "policy.yaml"
    policy.write_text(POLICY)

    def ask(call, **options):
        options = {"range": (0, 100), "blocks": 3, "columns": ["cost"], **options}
        ledger = tmp_path / "ledger.sqlite"
        return discreet.sample_and_aggregate(path, call, policy, ledger=ledger, block_form="numpy", **options)  # fmt: skip

    first, again = ask(np.median), ask(np.median)
    assert (first.cached, again.cached, again.estimate) == (False, True, first.estimate)
    assert again.spent == {"epsilon": 0.0, "delta": 0.0}
    other = ask(np.mean)
    assert (other.cached, other.remaining["epsilon"]) == (False, 1.0)
    assert ask(np.mean, range=(0, 101)).cached is False
    with pytest.raises(BudgetExceeded):
        ask(np.median, name="another name")


def test_of_a_unit_no_more_rows_come_than_may_count(tmp_path):
    path = write_visits(tmp_path, [(1, float(cost)) for cost in range(50)])
    policy = tmp_path / "policy.yaml"
    policy.write_text(POLICY.replace("{epsilon: 3}", "{epsilon: 1000000}"))
    found = discreet.sample_and_aggregate(
        path, lambda block: block.num_rows, policy, range=(0, 10), blocks=2, epsilon=10**6,
        correct_bias=False, aggregate="mean", ledger=tmp_path / "ledger.sqlite",
    )  # fmt: skip
    # One block has the person's two rows, the other none: the middle of the range stands for it.
    assert found.estimate == pytest.approx((2 + 5) / 2, abs=0.1)


@pytest.mark.parametrize(
    "call",
    [
        lambda block: 1 / 0,
        lambda block: float("nan"),
        lambda block: [1.0, 2.0],
        lambda block: "ann",
        lambda block: time.sleep(60),
        lambda block: os._exit(3),
        lambda block: os.kill(os.getpid(), 9),
    ],
    ids=["raises", "NaN", "shape", "text", "slow", "exit", "killed"],
)
def test_where_an_estimator_fails_the_middle_stands_for_it(call, capfd):
    options = EXACT | {"blocks": 2, "seconds": 0.3}
    found = discreet.sample_and_aggregate(PEOPLE, call, range=(0, 100), **options)
    assert found.estimate == pytest.approx(50, abs=0.1)
    assert "ann" not in "".join(capfd.readouterr())


def test_an_estimator_cannot_carry_what_it_saw_to_other_blocks():
    """An adversary that asks whether Zoe is there: once it saw her, it says so from each block that follows."""
    people = pa.table({"word": ["ann"] * 299 + ["zoe"]})
    seen = []

    def report(block):
        print("zoe" in block.column("word").to_pylist())
        if "zoe" in block.column("word").to_pylist():
            seen.append(True)
        return 1.0 if seen else 0.0

    options = {"range": (0, 1), "blocks": 30, "aggregate": "mean", "correct_bias": False}
    options["seconds"] = 60  # a block that a busy machine cuts off counts as the middle
    found = discreet.sample_and_aggregate(people, report, RICH, epsilon=10**6, **options)
    assert found.estimate == pytest.approx(1 / 30, abs=0.001)
    assert seen == []


def test_what_an_estimator_prints_is_not_shown(capfd):
    discreet.sample_and_aggregate(PEOPLE, lambda block: print("ann") or 1.0, range=(0, 1), blocks=2)
    assert "".join(capfd.readouterr()) == ""


def test_a_process_that_an_estimator_starts_is_ended(tmp_path):
    left = tmp_path / "left"

    def start(_):
        if os.fork() == 0:
            time.sleep(0.4)
            left.write_text("still there")
        return 1.0

    assert call_isolated(start, None, numbers=1, seconds=5) == pytest.approx([1.0])
    time.sleep(0.6)
    assert not left.exists()


@pytest.mark.parametrize(
    ("options", "error"),
    [
        ({"range": (1, 0)}, WrongUsage),
        ({"range": 5}, WrongUsage),
        ({"range": [(0, 1), 5]}, WrongUsage),
        ({"columns": ["agee"]}, UnknownColumn),
        ({"columns": []}, WrongUsage),
        ({"block_form": "list"}, WrongUsage),
        ({"block_form": "numpy", "columns": ["word"]}, WrongUsage),
        ({"seconds": 0}, WrongUsage),
        ({"blocks": 1}, WrongUsage),
    ],
)
def test_bad_options_are_refused_before_anything_is_spent(options, error):
    with pytest.raises(error):
        discreet.sample_and_aggregate(PEOPLE, np.mean, **{"range": (0, 1), **options})


def test_a_table_whose_unit_is_unknown_is_refused(tmp_path):
    path = write_visits(tmp_path, [(1, 1.0)])
    policy = tmp_path / "policy.yaml"
    policy.write_text(POLICY.replace("    unit: person\n", ""))
    with pytest.raises(UndeclaredUnit):
        discreet.sample_and_aggregate(path, np.mean, policy, range=(0, 1))


def helper(block):
    return block.mean()


def test_callables_that_differ_in_what_they_use_differ():
    def make(power, use=np.mean):
        return lambda block: helper(block) ** power + use(block)

    assert describe_callable(make(2)) == describe_callable(make(2))
    assert describe_callable(make(2)) != describe_callable(make(3))
    assert describe_callable(make(2)) != describe_callable(make(2, np.median))
    scope = {}
    exec("def call(block):\n return helper(block)", scope)
    scope["helper"] = np.mean
    first = describe_callable(scope["call"])
    scope["helper"] = np.median
    assert describe_callable(scope["call"]) != first


def test_a_callable_whose_state_is_unknown_is_new_each_time():
    class Estimator:
        def __call__(self, block):
            return 1.0

    one = Estimator()
    assert describe_callable(one) != describe_callable(one)


@pytest.mark.parametrize("correct_bias", [False, True])
def test_no_cell_makes_the_whole_fail(correct_bias):
    # A double has no place for the last digit: a failure would say that some cell is so large.
    rows = pa.table({"age": [*range(60), 2**53 + 1]})
    found = discreet.sample_and_aggregate(
        rows, np.median, range=(0, 100), **EXACT, correct_bias=correct_bias
    )
    assert 0 <= found.estimate <= 100


def test_a_block_that_has_no_such_form_counts_as_the_middle(monkeypatch):
    def refuse(block, form):
        raise pa.ArrowInvalid("a cell")

    monkeypatch.setattr("discreet.api.sample_and_aggregate._form_block", refuse)
    found = discreet.sample_and_aggregate(PEOPLE, np.median, range=(0, 100), **EXACT)
    assert found.estimate == pytest.approx(50, abs=1)
