"""A model as a query predicts in a database what it predicts in Python."""

from __future__ import annotations

import datetime as dt

import numpy as np
import pyarrow as pa
import pytest
from click.testing import CliRunner
from pyarrow import parquet
from sqlglot import parse_one

from discreet.api.learn import learn
from discreet.cli.learn import command
from discreet.engines.connect import open_table
from discreet.errors import WrongUsage
from discreet.learning.scoring_sql import build_scoring_query
from discreet.policy import parse_policy

POLICY = """
tables:
  table:
    unit: row
    columns:
      age: {role: quasi-identifier, bounds: [0, 99]}
      income: {role: sensitive, bounds: [-50.5, 1000]}
      born: {role: quasi-identifier, bounds: [1950-01-01, 2010-01-01]}
      smokes: {role: sensitive}
      id: {role: identifier}
      town: {role: quasi-identifier, values: [a, B, ä, "it's"]}
      ill: {role: sensitive, values: ["no", "yes"]}
      ward: {role: quasi-identifier, values: [x, y, z]}
"""


def make_people(count, *, seed, beyond=False):
    """Return random people with gaps; with `beyond`, also values that are not declared."""
    chance = np.random.default_rng(seed)
    towns = ["a", "B", "ä", "it's", *(["elsewhere"] if beyond else [])]
    span = (-20, 130) if beyond else (0, 100)

    def with_gaps(values):
        return [
            None if gap else one
            for one, gap in zip(values, chance.random(count) < 0.1, strict=True)
        ]

    days = chance.integers(0, 20000, count)
    return pa.table(
        {
            "id": range(count),
            "age": pa.array(with_gaps(chance.integers(*span, count).tolist()), pa.int64()),
            "income": pa.array(with_gaps(chance.normal(300, 400, count).tolist()), pa.float64()),
            "born": with_gaps([dt.date(1950, 1, 1) + dt.timedelta(int(day)) for day in days]),
            "smokes": with_gaps((chance.random(count) < 0.5).tolist()),
            "town": with_gaps([towns[one] for one in chance.integers(0, len(towns), count)]),
            "ill": [["no", "yes"][one] for one in chance.integers(0, 2, count)],
            "ward": [["x", "y", "z"][one] for one in chance.integers(0, 3, count)],
        }
    )


def learn_from(target, learner):
    features = ["age", "income", "born", "smokes", "town"]
    return learn(
        make_people(400, seed=1),
        parse_policy(POLICY),
        table="table",
        target=target,
        learner=learner,
        features=[one for one in features if one != target],
        epsilon=5,
    )


@pytest.mark.parametrize(
    ("target", "learner"),
    [
        ("ill", "boosting"),
        ("ward", "naive-bayes"),
        ("smokes", "naive-bayes"),
        ("income", "boosting"),
        ("smokes", "tree"),
        ("ward", "forest"),
    ],
)
def test_a_query_predicts_on_any_engine_what_the_model_does(any_engine, target, learner):
    model = learn_from(target, learner)
    others = make_people(300, seed=2, beyond=True)
    table = open_table(others, engine=any_engine)
    query = build_scoring_query(model.saved.predictor, table.relation, keep=["id"])
    found = any_engine.run(query).sort_by("id").to_pydict()
    if target == "income":
        np.testing.assert_allclose(found["prediction"], model.predict(others), rtol=1e-12)
        return
    chances = np.stack([found[name] for name in list(found)[2:]], axis=1)
    np.testing.assert_allclose(chances, model.predict_proba(others), rtol=1e-9, atol=1e-12)
    assert found["prediction"] == model.predict(others).tolist()


@pytest.mark.parametrize("dialect", ["duckdb", "postgres", "spark"])
def test_the_text_is_one_query_of_its_dialect(dialect):
    text = learn_from("ill", "boosting").to_sql("clinic.people", keep=["id"], dialect=dialect)
    tree = parse_one(text, dialect=dialect)
    assert tree.named_selects == ["id", "prediction", "chance_no", "chance_yes"]
    assert "clinic" in text


def test_an_unknown_dialect_is_refused():
    with pytest.raises(WrongUsage, match="postgres"):
        learn_from("ill", "naive-bayes").to_sql(dialect="postgers")


def test_the_command_writes_the_query_beside_the_model(tmp_path):
    parquet.write_table(make_people(50, seed=1), tmp_path / "people.parquet")
    (tmp_path / "policy.yaml").write_text(POLICY.replace("table:", "people:", 1), "utf-8")
    names = {"-o": "model.json", "--ledger": "ledger.sqlite", "--policy": "policy.yaml"}
    asked = [part for flag, name in names.items() for part in (flag, str(tmp_path / name))]
    asked += ["--target", "ill", "--features", "age,town", "--export", str(tmp_path / "score.sql")]
    found = CliRunner().invoke(command, [str(tmp_path / "people.parquet"), *asked])
    assert found.exit_code == 0, found.output
    assert "score.sql" in found.output.replace("\n", "")
    tree = parse_one((tmp_path / "score.sql").read_text("utf-8"), dialect="duckdb")
    assert tree.named_selects[:3] == ["age", "town", "prediction"]
