"""B15 of the published examples: which 2-anonymizations generalize no more than needed.

The slides print the generalized tables only; the values beneath them are chosen to fit.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pandas as pd
import pytest

from discreet.engines.connect import open_table
from discreet.measure.classes import group_cells
from discreet.measure.roles import bind_roles
from discreet.policy import model
from discreet.policy.hierarchies.lookup import read_lookup
from discreet.release.anonymize.full_domain import search
from discreet.release.anonymize.minimal import minimal_nodes
from discreet.release.anonymize.read import read_problem

if TYPE_CHECKING:
    from pathlib import Path

    from discreet.release.anonymize.problem import Problem

ROWS = pd.DataFrame(
    {
        "Zip": ["13053", "13067", "13053", "13067"],
        "Age": ["28", "29", "35", "36"],
        "Nationality": ["US", "Canadian", "Japanese", "Indian"],
        "Condition": ["Heart Disease", "Heart Disease", "Cancer", "Cancer"],
    }
)
HIERARCHIES = {
    "Zip": "13053;130**;*\n13067;130**;*\n",
    "Age": "28;< 30;< 40;*\n29;< 30;< 40;*\n35;3*;< 40;*\n36;3*;< 40;*\n",
    "Nationality": "US;American;*\nCanadian;American;*\nJapanese;Asian;*\nIndian;Asian;*\n",
}


@pytest.fixture
def problem(tmp_path: Path) -> Problem:
    columns: list[model.ColumnPolicy] = []
    for name, text in HIERARCHIES.items():
        file = tmp_path / f"{name}.csv"
        file.write_text(text, "utf-8")
        role = model.ColumnRole.QUASI_IDENTIFIER
        columns.append(model.ColumnPolicy(name, role, hierarchy=read_lookup(file)))
    criteria = (model.KAnonymity(2),)
    condition = model.ColumnPolicy("Condition", model.ColumnRole.SENSITIVE)
    policy = model.TablePolicy("patients", (*columns, condition), criteria=criteria)
    bound = bind_roles(open_table(ROWS), policy=policy)
    return read_problem(group_cells(bound.subject), bound, criteria).problem


def test_b15_the_two_minimal_generalizations_are_those_of_the_slides(problem: Problem):
    zip_kept, ages_kept = (0, 2, 2), (1, 1, 1)  # levels of Zip, Age, Nationality
    assert minimal_nodes(problem) == [ages_kept, zip_kept]


def test_b15_the_generalization_to_one_class_is_not_minimal(problem: Problem):
    assert (1, 2, 2) not in minimal_nodes(problem)


def test_b15_the_best_generalization_is_a_minimal_one(problem: Problem):
    assert tuple(search(problem).notes["node"].values()) in minimal_nodes(problem)
