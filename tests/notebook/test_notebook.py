"""`%load_ext discreet` and `df.discreet`, in a real shell and on real frames."""

from __future__ import annotations

import inspect
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pandas as pd
import polars as pl
import pytest
from IPython.core.interactiveshell import InteractiveShell

import discreet
from discreet.errors import WrongUsage
from discreet.notebook import register_accessors
from discreet.notebook.accessors import VERBS

if TYPE_CHECKING:
    from collections.abc import Iterator

HOSPITAL = Path(str(files("discreet") / "data" / "hospital"))
QUESTION = "SELECT count(*) AS people FROM patients"
PEOPLE = {
    "sex": ["F", "M", "F", "M"],
    "age": [31, 52, 31, 52],
    "illness": ["flu", "flu", "cold", "flu"],
}


@pytest.fixture
def shell(tmp_path: Path) -> Iterator[InteractiveShell]:
    """A notebook's shell, in which the extension is loaded and the hospital's patients are open."""
    shell = InteractiveShell()
    shell.run_line_magic("load_ext", "discreet")
    ledger = tmp_path / "ledger.sqlite"
    files_of_it = (
        f"{HOSPITAL / 'patients.csv'} --policy {HOSPITAL / 'policy.yaml'} --ledger {ledger}"
    )
    shell.run_line_magic("discreet", files_of_it)
    yield shell
    shell.find_line_magic("discreet").__self__.close()


def ask(shell: InteractiveShell, line: str, question: str = QUESTION) -> Any:
    return shell.run_cell_magic("discreet", line, question)


def spent(shell: InteractiveShell) -> float:
    """Return what all questions have cost, as `%discreet` shows it."""
    accounts = shell.run_line_magic("discreet", "").to_dict()["accounts"]
    return sum(account["epsilon"]["spent"] for account in accounts)


def test_a_cell_is_a_question_with_a_price(shell: InteractiveShell):
    answer = ask(shell, "--epsilon 0.5")
    assert 1_900 < answer.rows[0][0] < 2_100
    assert spent(shell) == 0.5


def test_a_semicolon_ends_a_question(shell: InteractiveShell):
    assert ask(shell, "--epsilon 0.5", QUESTION + ";\n").rows


def test_the_price_is_shown_before_it_is_paid(shell: InteractiveShell):
    assert ask(shell, "--epsilon 0.5 --explain").to_dict()["epsilon"] == 0.5
    assert spent(shell) == 0


def test_an_answer_gets_a_name(shell: InteractiveShell):
    answer = ask(shell, "--epsilon 0.5 --into found")
    assert shell.user_ns["found"] is answer


def test_a_question_without_a_price_is_refused_and_costs_nothing(shell: InteractiveShell):
    with pytest.raises(WrongUsage, match="--epsilon"):
        ask(shell, "")
    assert spent(shell) == 0


def test_a_frame_is_opened_by_its_name(shell: InteractiveShell, tmp_path: Path):
    shell.user_ns["rows"] = pd.read_csv(HOSPITAL / "patients.csv")
    shell.run_line_magic(
        "discreet",
        f"rows --policy {HOSPITAL / 'policy.yaml'} --table patients --ledger {tmp_path / 'own.sqlite'}",
    )
    assert 1_900 < ask(shell, "--epsilon 0.5").rows[0][0] < 2_100


def test_a_table_is_not_opened_without_a_policy(shell: InteractiveShell):
    with pytest.raises(WrongUsage, match="--policy"):
        shell.run_line_magic("discreet", str(HOSPITAL / "patients.csv"))


def test_nothing_is_asked_before_a_table_is_open():
    shell = InteractiveShell()
    shell.run_line_magic("load_ext", "discreet")
    with pytest.raises(WrongUsage, match="No table is open"):
        ask(shell, "--epsilon 1")


@pytest.mark.parametrize("library", [pd, pl])
def test_a_frame_has_the_verbs(library: Any):
    register_accessors()
    frame = library.DataFrame(PEOPLE)
    found = frame.discreet.assess(quasi=["sex", "age"], sensitive=["illness"])
    assert found.k == 2
    assert (
        found.to_dict()
        == discreet.assess(PEOPLE_TABLE, quasi=["sex", "age"], sensitive=["illness"]).to_dict()
    )


@pytest.mark.parametrize("library", [pd, pl])
def test_a_frame_is_asked(library: Any, tmp_path: Path):
    register_accessors()
    frame = library.read_csv(HOSPITAL / "patients.csv")
    ledger = tmp_path / "ledger.sqlite"
    answer = frame.discreet.ask(
        QUESTION, HOSPITAL / "policy.yaml", table="patients", ledger=ledger, epsilon="0.5"
    )
    assert 1_900 < answer.rows[0][0] < 2_100


def test_a_frame_is_attacked():
    register_accessors()
    report = pd.DataFrame(PEOPLE).discreet.attack(
        "homogeneity", quasi=["sex", "age"], sensitive=["illness"]
    )
    assert report.to_dict()


@pytest.mark.parametrize("verb", VERBS)
def test_a_verb_of_a_frame_has_the_functions_arguments(verb: str):
    register_accessors()
    bound = getattr(pd.DataFrame(PEOPLE).discreet, verb)
    whole = inspect.signature(getattr(discreet, verb)).parameters
    names = [name for name, each in whole.items() if each.kind is not each.VAR_POSITIONAL]
    first = next(iter(whole.values()))
    assert [*inspect.signature(bound).parameters][-3:] == names[-3:]
    assert first.name in {"source", "sources"}
    assert bound.__doc__ == getattr(discreet, verb).__doc__


def test_an_unknown_verb_names_those_there_are():
    register_accessors()
    with pytest.raises(AttributeError, match="assess"):
        pd.DataFrame(PEOPLE).discreet.publish()


PEOPLE_TABLE = pl.DataFrame(PEOPLE)
