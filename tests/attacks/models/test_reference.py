"""Models by name: their code runs only where that is allowed, and what they raise is not shown."""

from __future__ import annotations

import joblib
import pytest
from sklearn.dummy import DummyClassifier

from discreet.attacks.models.reference import load_reference
from discreet.errors import ModelFailed, SourceNotFound, WrongUsage


@pytest.mark.parametrize("name", ["model.joblib", "model.pkl", "os:system"])
def test_code_is_not_run_unless_it_is_allowed(name):
    with pytest.raises(WrongUsage, match="--run-code"):
        load_reference(name, run_code=False, noun="model")


def test_a_file_of_joblib_and_an_attribute_are_loaded(tmp_path, monkeypatch):
    joblib.dump(DummyClassifier(strategy="uniform"), tmp_path / "model.joblib")
    loaded = load_reference(tmp_path / "model.joblib", run_code=True, noun="model")
    assert loaded.strategy == "uniform"
    (tmp_path / "kept_recipe.py").write_text("recipe = 7\n", "utf-8")
    monkeypatch.chdir(tmp_path)
    assert load_reference("kept_recipe:recipe", run_code=True, noun="recipe") == 7


def test_an_object_is_taken_as_it_is():
    model = DummyClassifier()
    assert load_reference(model, run_code=False, noun="model") is model


@pytest.mark.parametrize(
    ("name", "error"),
    [
        ("absent.joblib", SourceNotFound),
        ("broken.pkl", ModelFailed),
        ("no_such_module:x", WrongUsage),
        ("json:no_such_name", WrongUsage),
        ("people.csv", WrongUsage),
        ("model", WrongUsage),
    ],
)
def test_a_name_of_nothing_is_refused(name, error, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "broken.pkl").write_bytes(b"no pickle: Alice")
    with pytest.raises(error) as refused:
        load_reference(name, run_code=True, noun="model")
    assert "Alice" not in str(refused.value)
