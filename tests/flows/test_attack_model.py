"""`discreet attack model`, `model-membership` and `model-inversion` from the command line."""

from __future__ import annotations

import subprocess
import sys

import joblib
import numpy as np
import pandas as pd
import pytest
from sklearn.tree import DecisionTreeClassifier

ROWS = 400
RECIPE = """\
from sklearn.tree import DecisionTreeClassifier

recipe = DecisionTreeClassifier()
"""
POLICY = """\
tables:
  trained:
    columns: {age: quasi-identifier, dose: sensitive, ill: insensitive}
    tolerance: 5%
"""


@pytest.fixture
def model(folder):
    """A tree that knows every person by heart, beside its people and others."""
    rng = np.random.default_rng(1)
    people = pd.DataFrame(
        {
            "age": rng.integers(18, 90, 2 * ROWS),
            "dose": rng.integers(1, 4, 2 * ROWS),
            "ill": rng.choice(["no", "yes"], 2 * ROWS),
        }
    )
    people["weight"] = rng.normal(70, 10, 2 * ROWS)
    trained = people[:ROWS]
    trained.to_csv(folder / "trained.csv", index=False)
    people[ROWS:].to_csv(folder / "others.csv", index=False)
    (folder / "tree_recipe.py").write_text(RECIPE, "utf-8")
    (folder / "policy.yaml").write_text(POLICY, "utf-8")
    made = DecisionTreeClassifier(random_state=1).fit(trained.drop(columns="ill"), trained["ill"])
    joblib.dump(made, folder / "model.joblib")
    return (
        *("model.joblib", "--run-code", "--source", "trained.csv", "--control", "others.csv"),
        *("--outcome", "ill", "--seed", 1),
    )


def test_a_model_file_is_attacked_and_exceeds_its_tolerance(discreet, model):
    ran = discreet("attack", "model-membership", *model, "--tolerance", "5%")
    assert ran.code == 3
    assert "What each score reaches" in ran.out
    assert "✗ model-membership: By the model's answers an adversary is right for" in ran.out
    assert "What stops it: Train the model under differential privacy." in ran.out


def test_both_attacks_run_where_the_policy_names_a_sensitive_feature(discreet, model):
    ran = discreet("attack", "model", *model, "--policy", "policy.yaml", "--json")
    assert ran.code == 3
    assert {found["attack"] for found in ran.json} == {"model-membership", "model-inversion"}
    alone = discreet("attack", "model", *model, "--json")
    assert [found["attack"] for found in alone.json] == ["model-membership"]


def test_a_recipe_needs_no_model(discreet, model, folder, monkeypatch):
    monkeypatch.chdir(folder)
    words = ("--source", "trained.csv", "--outcome", "ill", "--seed", 1, "--json", "--epsilon", 1)
    ran = discreet(
        "attack", "model-membership", "--recipe", "tree_recipe:recipe", "--run-code", *words
    )
    assert ran.code == 0, ran.err
    assert ran.json[0]["details"]["permitted"]["epsilon"] == 1
    assert ran.json[0]["details"]["shadow_models"] == 16


def test_code_in_a_model_file_is_not_run_without_the_flag(discreet, model):
    ran = discreet("attack", "model", *(word for word in model if word != "--run-code"))
    assert (ran.code, ran.error) == (2, "wrong-usage")
    assert "--run-code" in ran.err


@pytest.mark.parametrize(
    ("words", "error"),
    [
        ((), "Name the model that is attacked, or a --recipe"),
        (("model.joblib",), "--control is missing"),
        (("model.joblib", "--control", "others.csv"), "--outcome"),
        (("model.joblib", "--control", "others.csv", "--outcome", "age"), "[unknown-column]"),
        (("model.joblib", "--control", "others.csv", "--outcome", "il"), "Did you mean 'ill'?"),
    ],
)
def test_what_is_missing_is_named(discreet, model, words, error):
    if "age" in words:
        words = (*words, "--columns", "dose")
    ran = discreet("attack", "model", "--source", "trained.csv", "--run-code", *words)
    assert ran.code == 2
    assert error in ran.err


def test_people_are_not_quoted_where_a_model_cannot_be_applied(discreet, model, folder):
    others = (folder / "others.csv").read_text("utf-8").splitlines()
    (folder / "words.csv").write_text(
        "\n".join([others[0], *(f"Alice-{line}" for line in others[1:])]), "utf-8"
    )
    words = tuple("words.csv" if word in ("trained.csv", "others.csv") else word for word in model)
    ran = discreet("attack", "model", *words)
    assert (ran.code, ran.error) == (1, "model-failed")
    assert "Alice" not in ran.out + ran.err


def test_a_model_that_was_trained_on_a_frame_is_applied_in_a_process_of_its_own(folder, model):
    """The command line keeps pandas from being loaded, except for those who need it."""
    words = ["attack", "model-membership", *map(str, model), "--shadows", "8"]
    ran = subprocess.run(
        [sys.executable, "-m", "discreet", *words], cwd=folder, capture_output=True, check=False
    )
    assert ran.returncode == 0, ran.stderr
