"""Estimators learn from arrays and frames alike, say what they cost, and refuse what rows would have to tell."""

from __future__ import annotations

import pickle
import subprocess
import sys
import warnings

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

import discreet
from discreet.answer import frame_state
from discreet.errors import BudgetExceeded, RefusedArgument, UndeclaredDomain, UnknownColumn
from discreet.estimators import (
    PCA,
    BoostingClassifier,
    BoostingRegressor,
    KMeans,
    NaiveBayesClassifier,
    UntrackedSpendingWarning,
    load,
)
from discreet.estimators.cells import cast_cells

pytestmark = pytest.mark.filterwarnings(
    "ignore::discreet.estimators.privacy.UntrackedSpendingWarning"
)
DECLARED = {"bounds": {"age": (0, 100)}, "values": {"town": ["a", "b"]}, "classes": ["no", "yes"]}


def make_people(count=4000):
    age = np.arange(count) % 100
    town = np.array(["a", "b"])[np.arange(count) % 2]
    return {"age": age, "town": town}, np.where(age >= 50, "yes", "no")


def as_frame(library, columns):
    kinds = {"pandas": pd.DataFrame, "polars": pl.DataFrame, "pyarrow": pa.table}
    return kinds[library](columns)


@pytest.mark.parametrize("library", ["pandas", "polars", "pyarrow"])
def test_frames_of_every_library_are_learned_from(library):
    columns, ill = make_people()
    model = NaiveBayesClassifier(epsilon=10, **DECLARED).fit(as_frame(library, columns), ill)
    assert model.feature_names_in_.tolist() == ["age", "town"]
    assert model.classes_.tolist() == ["no", "yes"]
    assert model.score(as_frame(library, columns), ill) > 0.8


def test_y_may_name_a_column_of_a_frame():
    columns, ill = make_people()
    frame = pd.DataFrame({**columns, "ill": ill})
    model = NaiveBayesClassifier(epsilon=10, **DECLARED).fit(frame, "ill")
    assert model.feature_names_in_.tolist() == ["age", "town"]
    assert model.score(frame, "ill") > 0.8
    assert len(model.predict(frame.drop(columns="ill"))) == len(frame)


def test_columns_of_an_array_have_numbers_for_names():
    columns, ill = make_people()
    model = NaiveBayesClassifier(epsilon=10, bounds=[(0, 100)], classes=["no", "yes"])
    model.fit(columns["age"].reshape(-1, 1), ill)
    assert (model.n_features_in_, model.model_.features) == (1, ("x0",))
    assert not hasattr(model, "feature_names_in_")


def test_a_unit_is_no_feature_and_bounds_what_its_rows_count():
    columns, ill = make_people()
    frame = pd.DataFrame({**columns, "person": np.arange(4000) // 2})
    model = NaiveBayesClassifier(epsilon=10, unit="person", rows_per_unit=2, **DECLARED)
    model.fit(frame, ill)
    assert (model.privacy_.unit, model.privacy_.rows_per_unit) == ("person", 2)
    assert (
        model.privacy_.neighbors == "tables of which one lacks all rows of one person of the other"
    )
    assert model.feature_names_in_.tolist() == ["age", "town"]
    assert len(model.predict(frame[["age", "town"]])) == 4000


def test_what_is_not_declared_is_refused_and_named_together():
    columns, ill = make_people(20)
    with pytest.raises(UndeclaredDomain) as refused:
        NaiveBayesClassifier().fit(pd.DataFrame(columns), ill)
    assert refused.value.columns == ("age", "town", "y")
    assert "classes=[…]" in str(refused.value)
    with pytest.raises(UndeclaredDomain, match="target_bounds"):
        BoostingRegressor(bounds=(0, 100)).fit(columns["age"].reshape(-1, 1), columns["age"])


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"bounds": {"agee": (0, 1)}}, "agee"),
        ({"bounds": [(0, 1)]}, "1 pairs"),
        ({"bounds": {"age": (1, 0)}}, "lower one first"),
        ({"bounds": {"age": "x"}}, "two numbers"),
        ({"classes": ["no"]}, "fewer than two"),
        ({"unit": "person"}, "person"),
        ({"epsilon": 0}, "epsilon above 0"),
    ],
)
def test_wrong_parameters_are_named(given, words):
    columns, ill = make_people(20)
    with pytest.raises(discreet.errors.DiscreetError, match=words):
        NaiveBayesClassifier(**{**DECLARED, **given}).fit(pd.DataFrame(columns), ill)


def test_weights_and_seeds_are_refused_with_the_reason():
    columns, ill = make_people(20)
    with pytest.raises(TypeError, match=r"sample_weight.*count as many"):
        NaiveBayesClassifier(**DECLARED).fit(pd.DataFrame(columns), ill, sample_weight=[1] * 20)
    with pytest.raises(RefusedArgument, match=r"random_state.*noise"):
        NaiveBayesClassifier(random_state=1)
    with pytest.raises(TypeError, match="no parameter 'round'"):
        BoostingClassifier(round=1)


def test_a_name_that_y_or_x_lacks_is_refused():
    columns, _ = make_people(20)
    with pytest.raises(UnknownColumn, match="Did you mean 'town'"):
        NaiveBayesClassifier(**DECLARED).fit(pd.DataFrame(columns), "towm")


def test_the_same_fit_is_free_within_a_session_and_other_rows_are_not(tmp_path):
    columns, ill = make_people()
    frame = pd.DataFrame(columns)
    model = NaiveBayesClassifier(epsilon=1, ledger=tmp_path / "ledger.sqlite", **DECLARED)
    first = model.fit(frame, ill)
    chances, spent = first.predict_proba(frame), first.privacy_.spent["epsilon"]
    again = clone(model).fit(frame.copy(), ill)
    assert (spent, again.privacy_.spent["epsilon"]) == (1, 0)
    assert (again.predict_proba(frame) == chances).all()
    other = clone(model).fit(frame.iloc[1:], ill[1:])
    assert other.privacy_.spent["epsilon"] == 1
    assert other.privacy_.remaining["epsilon"] == 8


def test_in_another_session_the_same_fit_is_charged_again(tmp_path, monkeypatch):
    columns, ill = make_people(100)
    model = NaiveBayesClassifier(epsilon=1, ledger=tmp_path / "ledger.sqlite", **DECLARED)
    model.fit(pd.DataFrame(columns), ill)
    monkeypatch.setattr(frame_state, "_names", {})
    assert model.fit(pd.DataFrame(columns), ill).privacy_.spent["epsilon"] == 1


def test_a_ledger_adds_up_fits_of_the_same_people_and_ends_them(tmp_path):
    columns, ill = make_people()
    frame = pd.DataFrame(columns)
    model = NaiveBayesClassifier(epsilon=3, ledger=tmp_path / "ledger.sqlite", **DECLARED)
    for start in range(3):
        model.fit(frame.iloc[start:], ill[start:])
    with pytest.raises(BudgetExceeded):
        model.fit(frame.iloc[3:], ill[3:])


def test_without_a_ledger_a_fit_warns_that_fits_add_up_unseen():
    columns, ill = make_people(50)
    model = NaiveBayesClassifier(**DECLARED)
    with pytest.warns(UntrackedSpendingWarning, match="ledger=FILE"):
        model.fit(pd.DataFrame(columns), ill)
    assert (model.privacy_.is_tracked, model.privacy_.remaining) == (False, {})


def test_with_a_ledger_a_fit_warns_of_nothing(tmp_path):
    columns, ill = make_people(50)
    model = NaiveBayesClassifier(ledger=tmp_path / "ledger.sqlite", **DECLARED)
    with warnings.catch_warnings():
        warnings.simplefilter("error", UserWarning)
        model.fit(pd.DataFrame(columns), ill)
    assert model.privacy_.is_tracked
    assert model.privacy_.event == "learn data (naive-bayes)"


def test_cross_validation_pays_each_fit(tmp_path):
    columns, ill = make_people()
    ledger = tmp_path / "ledger.sqlite"
    model = NaiveBayesClassifier(epsilon=2, ledger=ledger, **DECLARED)
    assert cross_val_score(model, pd.DataFrame(columns), ill, cv=3).mean() > 0.8
    assert discreet.budget(ledger).accounts[0]["epsilon"]["spent"] == 6


def test_pipelines_and_grid_search_take_an_estimator():
    columns, ill = make_people()
    frame = pd.DataFrame(columns)
    pipeline = make_pipeline(
        FunctionTransformer(), NaiveBayesClassifier(epsilon=5, delta=0, **DECLARED)
    )
    assert pipeline.fit(frame, ill).score(frame, ill) > 0.8
    found = GridSearchCV(pipeline, {"naivebayesclassifier__epsilon": [0.001, 9]}, cv=2).fit(
        frame, ill
    )
    assert found.best_params_ == {"naivebayesclassifier__epsilon": 9}


def test_a_fitted_estimator_can_be_pickled_and_shown():
    columns, ill = make_people()
    frame = pd.DataFrame(columns)
    model = NaiveBayesClassifier(**DECLARED).fit(frame, ill)
    again = pickle.loads(pickle.dumps(model))
    assert (again.predict(frame) == model.predict(frame)).all()
    assert "NaiveBayesClassifier" in model._repr_html_()


def test_missing_cells_are_values_of_their_own():
    columns, ill = make_people()
    age = columns["age"].astype(float)
    age[:100] = np.nan
    frame = pd.DataFrame({"age": age, "town": columns["town"]})
    model = NaiveBayesClassifier(epsilon=10, **DECLARED).fit(frame, ill)
    assert len(model.predict(frame)) == 4000


def test_renamed_and_reordered_columns_are_refused_in_scikit_learns_words():
    columns, ill = make_people(50)
    frame = pd.DataFrame(columns)
    model = NaiveBayesClassifier(**DECLARED).fit(frame, ill)
    with pytest.raises(ValueError, match="same order as they were in fit"):
        model.predict(frame[["town", "age"]])
    with pytest.raises(ValueError, match="seen at fit time, yet now missing"):
        model.predict(frame[["age"]])
    with pytest.raises(NotFittedError):
        clone(model).predict(frame)


def test_a_model_becomes_an_estimator(tmp_path):
    columns, ill = make_people()
    place = tmp_path / "model.json"
    people = pa.table({**columns, "ill": ill})
    model = discreet.learn(
        people,
        target="ill",
        bounds={"age": (0, 100)},
        values={"town": ["a", "b"], "ill": ["no", "yes"]},
        epsilon=5,
        output=place,
    )
    read = load(place)
    assert isinstance(read, BoostingClassifier)
    assert (read.predict_proba(people) == model.predict_proba(people)).all()
    assert (read.privacy_.epsilon, read.privacy_.is_tracked) == (5, False)
    assert clone(read).get_params()["epsilon"] == 5


@pytest.mark.parametrize(
    ("column", "kind", "cells"),
    [
        (np.array([1, 2.5, np.nan]), "number", [1.0, 2.5, None]),
        (np.array(["1", "x", None], object), "number", [1.0, None, None]),
        (np.array([1.0, 2.5, np.nan]), "integer", [1, None, None]),
        (np.array([2.0, "b", None], object), "text", ["2", "b", None]),
        (np.array([0, 1, 7]), "boolean", [False, True, None]),
        (pa.array(["a", None]).dictionary_encode(), "text", ["a", None]),
        (pa.chunked_array([["1"], ["y"]]), "integer", [1, None]),
        (np.array([{"a": 1}, b"\xff"], object), "number", [None, None]),
    ],
)
def test_a_cell_that_does_not_fit_is_missing(column, kind, cells):
    found = [None if one != one else one for one in cast_cells(column, kind).to_pylist()]
    assert found == cells


def test_clusters_are_found_and_no_row_keeps_its_label():
    rows = np.repeat([[-5.0, -5.0], [5.0, 5.0]], 500, axis=0)
    model = KMeans(epsilon=9, bounds=(-10, 10), clusters=2, rounds=2)
    found = model.fit_predict(rows)
    assert found.shape == (1000,)
    assert model.cluster_centers_.shape == (2, 2)
    assert not hasattr(model, "labels_")


def test_components_transform_rows_and_have_names():
    rows = np.repeat([[-5.0, -5.0], [5.0, 5.0]], 500, axis=0)
    model = PCA(epsilon=9, bounds=(-10, 10), components=1).fit(rows)
    assert model.transform(rows).shape == (1000, 1)
    assert model.get_feature_names_out().tolist() == ["pca0"]
    assert model.set_output(transform="pandas").transform(rows).columns.tolist() == ["pca0"]


def test_a_policy_declares_what_the_constructor_does_not():
    columns, ill = make_people()
    policy = discreet.policy.parse_policy(
        "tables: {people: {unit: row, columns: {age: {role: sensitive, kind: integer, bounds: [0, 99]}, "
        "town: {role: sensitive, kind: text, values: [a, b]}, "
        "ill: {role: sensitive, kind: text, values: ['no', 'yes']}}}}"
    )
    frame = pd.DataFrame({**columns, "ill": ill})
    model = NaiveBayesClassifier(epsilon=10, policy=policy).fit(frame, "ill")
    assert model.score(frame, "ill") > 0.8


def test_without_scikit_learn_the_extra_is_named():
    code = (
        "import sys; sys.modules['sklearn'] = None\n"
        "try:\n    import discreet.estimators\n"
        "except Exception as error: print(error.code, error)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "missing-extra" in done.stdout
    assert "discreet[utility]" in done.stdout
