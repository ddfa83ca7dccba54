"""The page of the model file is enough to score a file without discreet."""

from __future__ import annotations

import json
import re
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from tests.learning.test_exports import make_real_model
from tests.learning.test_scoring_sql import learn_from, make_people

PAGE = Path(__file__).parents[2] / "docs" / "reference" / "model-file.md"


def load_program():
    """Return the names that the program of the page defines, without what it does with a file."""
    [program] = re.findall(r"(?s)```python\n(.+?)```", PAGE.read_text("utf-8"))
    names: dict = {}
    exec(program.partition("\n\n\nwith open")[0], names)
    return names


def score_rows(saved, table):
    score, file = load_program()["score_row"], json.loads(saved.to_bytes())
    columns = [column.name for column in saved.space.features]
    return [score(file, row) for row in table.select(columns).to_pylist()]


@pytest.mark.parametrize(
    ("target", "learner"),
    [("ill", "boosting"), ("ward", "naive-bayes"), ("smokes", "naive-bayes")],
)
def test_the_program_of_the_page_predicts_chances(target, learner):
    model, others = learn_from(target, learner), make_people(200, seed=2, beyond=True)
    found = score_rows(model.saved, others)
    np.testing.assert_allclose(found, model.predict_proba(others), rtol=1e-9)


@pytest.mark.parametrize("learner", ["boosting", "linear"])
def test_the_program_of_the_page_predicts_numbers(learner):
    model, others = learn_from("income", learner), make_people(200, seed=2, beyond=True)
    np.testing.assert_allclose(score_rows(model.saved, others), model.predict(others), rtol=1e-9)


def test_the_program_of_the_page_knows_the_edges_of_bins():
    saved, table = make_real_model()
    table = table.filter(pc.is_finite(table["x"]))
    table = table.set_column(1, "y", pa.array([0.5, None, 7.0, 0.5] * len(table))[: len(table)])
    expected = saved.predictor.predict(saved.space.encode(table))
    np.testing.assert_allclose(score_rows(saved, table), expected, rtol=1e-9)


def test_the_page_lists_the_keys_of_a_file():
    file = json.loads(learn_from("ill", "boosting").saved.to_bytes())
    page = PAGE.read_text("utf-8")
    keys = {*file, *file["privacy"], *file["space"], *file["model"]}
    for column in (*file["space"]["features"], file["space"]["target"]):
        keys |= set(column)
    assert [key for key in sorted(keys - {"kind"}) if f"`{key}`" not in page] == []
