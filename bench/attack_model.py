"""What attacks on models learn about the patients of the bundled hospital, by how the model was trained.

Run with `python -m bench.figures attack-model`. Half of the patients train each model, the other half is the
control group. Private forests are trained on a synthetic table of the same half.
"""

from __future__ import annotations

import tempfile
from importlib.resources import files
from pathlib import Path
from typing import Any

import pandas as pd
from sklearn.compose import make_column_transformer
from sklearn.dummy import DummyClassifier
from sklearn.ensemble import RandomForestClassifier
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder

import discreet
from bench.figures import FigureTable

HOSPITAL = Path(str(files("discreet") / "data" / "hospital"))
WORDS, OUTCOME, SECRET = ["sex", "occupation", "insurance"], "diagnosis", "salary"
EPSILONS = (1, 10)


def measure_models() -> FigureTable:
    """Return a row for each way of training."""
    people = pd.read_csv(HOSPITAL / "patients.csv").sample(frac=1, random_state=1)
    people["postcode"] = people["postcode"].astype(str).str.zfill(5)
    source, control = people[:1000], people[1000:]
    models = {
        "a forest": fit(RandomForestClassifier(100, random_state=1), source),
        "a forest with leaves of at least 20": fit(
            RandomForestClassifier(100, min_samples_leaf=20, random_state=1), source
        ),
        "the frequencies of diagnoses, for everyone": fit(DummyClassifier(), source),
    }
    for epsilon in EPSILONS:
        table = synthesize(source, epsilon)
        name = f"a forest on a synthetic table, epsilon {epsilon}"
        models[name] = fit(RandomForestClassifier(100, random_state=1), table)
    rows = tuple(measure_model(name, model, source, control) for name, model in models.items())
    return FigureTable(
        (
            *("model", "right about who trained it", "AUC", "found at 1 % false alarms"),
            *("salaries guessed, of members", "of others"),
        ),
        rows,
    )


def fit(estimator: Any, people: Any) -> Any:
    """Return a pipeline that is fitted to people with a diagnosis."""
    encoder = (OneHotEncoder(handle_unknown="ignore"), WORDS)
    columns = make_column_transformer(encoder, remainder=SimpleImputer())
    rows = people.dropna(subset=OUTCOME)
    return make_pipeline(columns, estimator).fit(rows[[*WORDS, SECRET]], rows[OUTCOME])


def synthesize(source: Any, epsilon: int) -> Any:
    """Return a private table of the same people, charged to a ledger that is thrown away."""
    policy = (HOSPITAL / "synthetic.yaml").read_text("utf-8")
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        name = "diagnoses_hierarchy.csv"
        (place / name).write_text((HOSPITAL / name).read_text("utf-8"), "utf-8")
        text = policy.replace("budget: {epsilon: 3", f"budget: {{epsilon: {epsilon}")
        (place / "policy.yaml").write_text(text, "utf-8")
        source.to_csv(place / "patients.csv", index=False)
        discreet.synthesize(
            place / "patients.csv",
            place / "policy.yaml",
            epsilon=epsilon,
            method="fast",
            target=OUTCOME,
            ledger=place / "ledger.sqlite",
            output=place / "synthetic.csv",
        )
        return pd.read_csv(place / "synthetic.csv")


def measure_model(name: str, model: Any, source: Any, control: Any) -> tuple[str, ...]:
    """Return what both attacks reach against one model."""
    found = discreet.attack(
        "model", model, source=source, control=control, outcome=OUTCOME, secret=[SECRET], seed=1
    )
    by_attack = {one.attack: one for one in found}
    member, inverted = by_attack["model-membership"], by_attack["model-inversion"]
    scores = {one["score"]: one for one in member.details["scores"]}
    best = scores[member.details["strongest"]]
    return (
        name,
        f"{member.rate:.1%}",
        f"{best['auc']:.3f}",
        f"{best['found_at_1_percent']:.1%}",
        f"{inverted.rate:.1%}",
        f"{inverted.control:.1%}",
    )


if __name__ == "__main__":
    print(measure_models().to_markdown())
