"""The card of a model: promises, shapes with their noise, and figures that were paid for; no row."""

from __future__ import annotations

import datetime as dt
from typing import Any
from xml.etree import ElementTree as ET

import numpy as np
import pyarrow as pa
import pytest

import discreet
from discreet.domain.binned_range import bin_whole_numbers
from discreet.domain.coded_column import CodedColumn
from discreet.domain.listed_values import ListedValues
from discreet.engines.engine import Kind
from discreet.learning.additive import AdditiveModel
from discreet.learning.expected_noise import simulate_noise
from discreet.learning.features import FeatureSpace
from discreet.report.model_card import render_model_card, summarize_model
from discreet.report.shape_charts import draw_shape
from discreet.report.shapes import Shape

ON = dt.date(2026, 11, 18)
HOSTILE = "<b>ward"


def make_people(count: int) -> pa.Table:
    chance = np.random.default_rng(1)
    age = chance.integers(0, 100, count)
    return pa.table(
        {
            "name": [f"Zebulon Quackenbush {number}" for number in range(count)],
            "age": age,
            "ward": np.array([HOSTILE, "b", "c"])[chance.integers(0, 3, count)],
            "ill": (age + chance.normal(0, 20, count) > 50),
        }
    )


def learn(target: str, **options: Any) -> Any:
    return discreet.learn(
        make_people(1500),
        identifiers=["name"],
        bounds={"age": (0, 99)},
        values={"ward": [HOSTILE, "b", "c"]},
        target=target,
        epsilon=2,
        **options,
    )


@pytest.fixture(scope="module")
def judged() -> Any:
    return learn("ill", evaluate=4, subgroups=["ward"])


def test_the_card_says_what_is_promised_and_shows_no_row(judged: Any):
    page = render_model_card(judged, on=ON)
    assert "2026-11-18" in page
    assert "epsilon 2 and delta 1e-9 for each row" in page
    assert (
        "by a factor of at most 7.39, but for events of a total probability of at most 1e-9" in page
    )
    assert "discrete Gaussian noise" in page
    assert "model and page together are epsilon 6 and delta 1e-9 for each row" in page
    assert "Zebulon" not in page
    assert "<script" not in page
    assert "<b>ward" not in page


def test_without_a_delta_the_noise_is_laplace():
    promised = " ".join(summarize_model(learn("ill", delta=0), on=ON).promised)
    assert "discrete Laplace noise" in promised
    assert "but for" not in promised


def test_an_evaluation_shows_figures_reliability_and_groups(judged: Any):
    part = summarize_model(judged, on=ON).performance
    assert part is not None
    assert "optimistic" in part.sentences[1]
    assert part.figures.rows[1][0] == "Right predictions (accuracy)"
    assert "±" in str(part.figures.rows[1][1])
    assert part.reliability is not None
    assert part.groups is not None
    assert [str(row[0]) for row in part.groups.rows] == [
        "ward: <b>ward",
        "ward: b",
        "ward: c",
        "ward: missing",
    ]


def test_without_an_evaluation_there_is_no_performance():
    assert summarize_model(learn("ill"), on=ON).performance is None


def test_each_feature_has_a_shape_and_the_one_that_matters_most_comes_first(judged: Any):
    page = summarize_model(judged, on=ON)
    assert [one.caption.partition(":")[0] for one in page.shapes] == ["age", "ward"]
    for one in page.shapes:
        ET.fromstring(one.svg)
    assert [row[0] for row in page.features.rows] == ["age", "ward"]


@pytest.mark.parametrize(
    ("target", "learner"), [("ward", "naive-bayes"), ("ward", "boosting"), ("age", "boosting")]
)
def test_models_of_several_classes_and_of_numbers_have_a_card(target: str, learner: str):
    page = summarize_model(learn(target, learner=learner), on=ON)
    assert len(page.shapes) == (6 if target == "ward" else 2)
    assert render_model_card(learn(target, learner=learner), on=ON).startswith("<!doctype html>")


def test_a_model_from_its_file_has_a_card(tmp_path: Any):
    learn("ill", output=tmp_path / "model.json")
    discreet.write_report(discreet.load_model(tmp_path / "model.json"), tmp_path / "card.html")
    assert "Shape functions" in (tmp_path / "card.html").read_text("utf-8")


def test_the_card_of_a_tree_has_its_conditions_and_how_well_it_predicts():
    model = learn("ill", learner="tree", evaluate=1)
    page = render_model_card(model, on=ON)
    assert model.explain().splitlines()[0].partition(" ")[0] in page
    assert "<pre>" in page
    assert "Area under the ROC curve" in page
    assert "<b>ward" not in page


def test_the_card_of_several_classes_has_how_often_each_is_right():
    page = render_model_card(learn("ward", learner="tree", evaluate=4), on=ON)
    assert "Always the most frequent class" in page
    assert "Area under the ROC curve" not in page
    assert "ward: c" in page
    assert HOSTILE not in page


def test_a_notebook_shows_shapes(judged: Any):
    html = judged._repr_html_()
    assert "age: added to the log odds of" in html
    assert "On the rows it was learned from, by noisy counts for epsilon 4" in html
    assert "<b>ward" not in html


def test_a_band_reaches_as_far_as_the_noise():
    column = CodedColumn("age", Kind.INTEGER, bin_whole_numbers(0, 3))
    shape = Shape(column, np.array([0.0, 1, 1, -1, 0]), np.array([0.5, 0.5, 0.5, 0.5, 1]), "added")
    low, high = shape.spans
    assert high[-1] - low[-1] == pytest.approx(2 * 1.96)
    assert "0: 0 (" in draw_shape(shape)
    assert "missing: 0 (" in draw_shape(shape)


@pytest.mark.parametrize("error", [0.0, 0.7])
def test_the_cost_of_noise_follows_from_standard_errors(error: float):
    column = CodedColumn("x", Kind.TEXT, ListedValues(Kind.TEXT, ("a", "b", "c")))
    target = CodedColumn("y", Kind.TEXT, ListedValues(Kind.TEXT, ("no", "yes")))
    space = FeatureSpace((column, column), target, "classification")
    shapes = (np.full((4, 1), 0.1), np.full((4, 1), 0.1))
    errors = (np.full((4, 1), error), np.full((4, 1), error))
    found = simulate_noise(AdditiveModel(space, "logistic", np.zeros(1), shapes, errors))
    assert found is not None
    assert found.score == pytest.approx(error * 2**0.5)
    if error:  # a normal deviate below -0.2 / 0.99 makes it another class
        assert found.changed == pytest.approx(0.42, abs=0.03)
    else:
        assert (found.changed, found.prediction) == (0, 0)
    assert simulate_noise(AdditiveModel(space, "logistic", np.zeros(1), shapes)) is None
