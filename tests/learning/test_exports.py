"""A model in the formats of others predicts in their runtimes what it predicts in Python."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import onnx
import onnxruntime
import pyarrow as pa
import pytest
from click.testing import CliRunner
from pyarrow import parquet
from tests.learning.test_scoring_sql import POLICY, learn_from, make_people

from discreet.cli.command import run_command
from discreet.cli.learn import command
from discreet.domain.binned_range import BinnedRange, RangePart
from discreet.domain.code_tree import CodeSplit, CodeTree
from discreet.domain.coded_column import CodedColumn
from discreet.domain.listed_values import ListedValues, number_of
from discreet.engines.engine import Kind
from discreet.errors import WrongUsage
from discreet.learning.additive import AdditiveModel
from discreet.learning.export_forms import ENDINGS
from discreet.learning.feature_scores import list_feature_scores
from discreet.learning.features import FeatureSpace
from discreet.learning.model_file import SavedPredictor
from discreet.learning.onnx_file import build_onnx
from discreet.learning.pmml_file import build_pmml, name_class
from discreet.learning.random_trees import SplitTables, draw_tree
from discreet.learning.tree_model import LeafTree, TreeModel

MODELS = [
    ("ill", "boosting"),
    ("ward", "naive-bayes"),
    ("smokes", "naive-bayes"),
    ("income", "boosting"),
]
SHAPES = [(1, 0), (1, 6), (8, 6)]  # of random trees: how many, and of what depth
TREES = [("smokes", "tree"), ("ward", "forest"), ("ill", "forest")]


def numbers_of(column, values):
    """Return values as other runtimes get them: texts, or numbers with NaN for what is missing."""
    if column.kind is Kind.TEXT:
        return ["" if one is None else one for one in values]
    return [float("nan") if one is None else number_of(one) for one in values]


def score_onnx(content, space, table):
    session = onnxruntime.InferenceSession(content, providers=["CPUExecutionProvider"])
    given = {
        column.name: np.array(
            [[one] for one in numbers_of(column, table[column.name].to_pylist())],
            dtype=object if column.kind is Kind.TEXT else float,
        )
        for column in space.features
    }
    return dict(
        zip([one.name for one in session.get_outputs()], session.run(None, given), strict=True)
    )


@pytest.mark.parametrize(("target", "learner"), [*MODELS, *TREES])
def test_onnx_predicts_what_the_model_does(target, learner, tmp_path):
    model = learn_from(target, learner)
    others = make_people(300, seed=2, beyond=True)
    model.to_onnx(tmp_path / "model.onnx")
    onnx.checker.check_model(str(tmp_path / "model.onnx"), full_check=True)
    found = score_onnx((tmp_path / "model.onnx").read_bytes(), model.saved.space, others)
    if target == "income":
        np.testing.assert_allclose(found["prediction"][:, 0], model.predict(others), rtol=1e-12)
        return
    np.testing.assert_allclose(found["probabilities"], model.predict_proba(others), rtol=1e-9)
    assert found["label"].tolist() == model.predict(others).tolist()


def draw_forest(space, *, trees, depth, seed=5):
    """Return a model of random trees, of several, the first is a leaf alone, and the second has a leaf for each value."""
    chance = np.random.default_rng(seed)
    tables = SplitTables.uniform(space.features, len(space.classes))
    drawn = [
        draw_tree(space.features, tables, depth=depth if place or trees == 1 else 0, chance=chance)
        for place in range(trees)
    ]
    last = space.features[-1].size
    each = CodeSplit.by_code(len(space.features) - 1, np.arange(1, last + 1))
    drawn[1:] = [CodeTree((each, *[None] * last)), *drawn[2:]] if trees > 1 else []
    made = [
        LeafTree(
            tree,
            chance.dirichlet(np.ones(len(space.classes)), len(tree.leaves)),
            np.ones(len(tree.leaves)),
        )
        for tree in drawn
    ]
    return SavedPredictor(space, "forest", {}, TreeModel(space, tuple(made)), {})


@pytest.mark.parametrize(("trees", "depth"), SHAPES)
def test_deep_trees_of_features_of_every_kind_are_the_same_in_onnx(trees, depth):
    space = learn_from("ward", "naive-bayes").saved.space
    saved = draw_forest(space, trees=trees, depth=depth)
    others = make_people(2000, seed=2, beyond=True)
    found = score_onnx(build_onnx(saved).SerializeToString(), space, others)
    expected = saved.predictor.predict(space.encode(others))
    assert len(np.unique(expected, axis=0)) > (0, 20, 300)[SHAPES.index((trees, depth))]
    np.testing.assert_allclose(found["probabilities"], expected, rtol=1e-12)


def test_pmml_predicts_what_the_model_does(tmp_path):
    others = make_people(100, seed=2, beyond=True)
    models = [learn_from(target, learner) for target, learner in [*MODELS, *TREES]]
    space = models[1].saved.space
    models += [
        replace(models[1], _saved=draw_forest(space, trees=trees, depth=depth))
        for trees, depth in SHAPES
    ]
    asked = []
    for place, model in enumerate(models):
        path = tmp_path / f"{place}.pmml"
        model.to_pmml(path)
        columns = model.saved.space.features
        cells = [
            [
                None if one is None else one if column.kind is Kind.TEXT else number_of(one)
                for one in others[column.name].to_pylist()
            ]
            for column in columns
        ]
        rows = [list(row) for row in zip(*cells, strict=True)]
        asked.append([str(path), {"columns": [column.name for column in columns], "data": rows}])
    done = subprocess.run(
        [sys.executable, Path(__file__).with_name("pmml_scores.py")],
        input=json.dumps(asked),
        capture_output=True,
        encoding="utf-8",
        check=True,
    )
    for model, said in zip(models, json.loads(done.stdout), strict=True):
        found = json.loads(said)
        cells = dict(zip(found["columns"], zip(*found["data"], strict=True), strict=True))
        if model.task == "regression":
            np.testing.assert_allclose(cells["predicted_income"], model.predict(others), rtol=1e-9)
            continue
        chances = np.stack([cells[f"probability_{name_class(one)}"] for one in model.classes], 1)
        np.testing.assert_allclose(chances, model.predict_proba(others), rtol=1e-9)
        predicted = [name_class(one) for one in model.predict(others).tolist()]
        assert list(cells[f"predicted_{model.target}"]) == predicted


def make_real_model():
    """Return a model of a real number in bins whose edges no binary fraction is, and rows at all edges."""
    bins = BinnedRange(
        Kind.REAL, "real", -0.3, 0.9, (RangePart(-0.3, 0.3, 0.1), RangePart(0.3, 0.9, 0.07))
    )
    column = CodedColumn("x", Kind.REAL, bins)
    single = CodedColumn("y", Kind.REAL, ListedValues(Kind.REAL, (0.1, 0.5), type_name="FLOAT"))
    target = CodedColumn("t", Kind.INTEGER, ListedValues(Kind.INTEGER, (0, 1)))
    space = FeatureSpace((column, single), target, "classification")
    chance = np.random.default_rng(4)
    shapes = tuple(chance.normal(size=(one.size, 1)) for one in space.features)
    model = AdditiveModel(space, "logistic", np.array([0.1]), shapes)
    saved = SavedPredictor(space, "boosting", {}, model, {"epsilon": "1"})
    edges = bins.starts
    near = np.concatenate([edges, np.nextafter(edges, -9), np.nextafter(edges, 9)])
    points = np.concatenate([near, [np.nan, np.inf, -np.inf], chance.uniform(-1, 2, 400)])
    listed = np.array([0.1, np.float32(0.1), 0.5, np.nan, 7.0])
    return saved, pa.table({"x": points, "y": listed[np.arange(len(points)) % 5]})


@pytest.mark.parametrize("kind", ["boosting", "forest"])
def test_edges_of_bins_are_the_same_to_the_last_digit(kind):
    saved, table = make_real_model()
    if kind == "forest":
        saved = draw_forest(saved.space, trees=9, depth=5)
    found = score_onnx(build_onnx(saved).SerializeToString(), saved.space, table)
    expected = saved.predictor.predict(saved.space.encode(table))
    np.testing.assert_allclose(found["probabilities"], expected, rtol=1e-12)


def test_steps_that_add_the_same_are_one():
    saved, _ = make_real_model()
    flat = (np.zeros((saved.space.features[0].size, 1)), saved.predictor.shapes[1])
    model = AdditiveModel(saved.space, "logistic", np.zeros(1), flat)
    first = list_feature_scores(model)[0]
    assert (first.form, len(first.numbers), len(first.values)) == ("steps", 0, 1)
    same = SavedPredictor(saved.space, "boosting", {}, model, {})
    assert build_pmml(same).count("<DiscretizeBin") == 1 + 2
    build_onnx(same)


def test_a_name_that_is_no_xml_is_refused():
    saved, _ = make_real_model()
    column = CodedColumn("a\x00b", Kind.TEXT, ListedValues(Kind.TEXT, ("a",)))
    space = FeatureSpace((column,), saved.space.target, "classification")
    model = AdditiveModel(space, "logistic", np.zeros(1), (np.zeros((2, 1)),))
    with pytest.raises(WrongUsage, match="ONNX"):
        build_pmml(SavedPredictor(space, "boosting", {}, model, {}))


def ask_for(folder, *more):
    """Return the arguments of a command that learns from people in a folder."""
    parquet.write_table(make_people(50, seed=1), folder / "people.parquet")
    (folder / "policy.yaml").write_text(POLICY.replace("table:", "people:", 1), "utf-8")
    names = {"-o": "model.json", "--ledger": "ledger.sqlite", "--policy": "policy.yaml"}
    asked = [part for flag, name in names.items() for part in (flag, str(folder / name))]
    return ["learn", str(folder / "people.parquet"), *asked, *more]


def test_the_command_exports_every_form(tmp_path):
    _, *asked = ask_for(tmp_path, "--target", "ill", "--features", "age,town")
    wrong = CliRunner().invoke(command, [*asked, "--export", str(tmp_path / "model.txt")])
    assert "Choose .sql, .onnx or .pmml." in str(wrong.exception)
    assert not (tmp_path / "ledger.sqlite").exists()
    places = [tmp_path / f"model.{one}" for one in ("sql", "onnx", "pmml")]
    asked += [part for place in places for part in ("--export", str(place))]
    found = CliRunner().invoke(command, asked)
    assert found.exit_code == 0, found.output
    assert all(place.stat().st_size > 500 for place in places)


@pytest.mark.parametrize("ending", ENDINGS)
@pytest.mark.parametrize(
    "choice",
    [["--learner", "k-means"], ["--features", "age"], ["--learner", "pca"]],
    ids=["k-means", "by default", "pca"],
)
def test_a_form_that_a_learner_lacks_is_refused_before_anything_is_spent(
    choice, ending, tmp_path, capsys
):
    learner = choice[1] if choice[0] == "--learner" else "k-means"
    asked = ask_for(tmp_path, *choice, "--export", str(tmp_path / f"model{ending}"))
    before = sorted(tmp_path.iterdir())
    assert run_command(asked) == 2
    said = " ".join(capsys.readouterr().err.split())
    assert f"A model by '{learner}' has no form {ending}" in said
    assert sorted(tmp_path.iterdir()) == before
    assert run_command([*asked, "--dry-run"]) == 2
