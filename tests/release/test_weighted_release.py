"""A release of a survey: loss and risk count each row as its sampling weight, and both figures are reported."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import discreet
from discreet.errors import ConflictingRoles
from discreet.measure.risk.weighted import individual_risk
from discreet.policy.load import parse_policy

CHANCE = np.random.default_rng(9)
ROWS = 240
SURVEY = pd.DataFrame(
    {
        "age": CHANCE.integers(20, 60, ROWS),
        "sex": CHANCE.choice(["F", "M"], ROWS),
        "home": np.arange(ROWS) // 3,
        "w": np.round(CHANCE.uniform(1, 200, ROWS), 1),
    }
)


def publish(frame: pd.DataFrame = SURVEY, **options: object) -> discreet.Release:
    settings: dict[str, object] = {
        "quasi": ["age", "sex"],
        "k": 4,
        "weight": "w",
        "household": "home",
    }
    settings |= options
    return discreet.anonymize(frame, **settings)  # pyright: ignore[reportArgumentType]


PUBLISHED = """
tables:
  t:
    columns: {age: quasi-identifier, sex: quasi-identifier, w: weight}
    criteria: [k-anonymity: {k: 4}]
    release: {publish-weight: true}
"""


def with_labels(frame: pd.DataFrame, found: discreet.Release) -> pd.DataFrame:
    """Return each row with the labels that cover it, and what they lose; labels must not overlap."""
    values = np.sort(frame["age"].unique())
    released = found.to_pandas().astype(str).drop_duplicates()
    labels: list[tuple[str, str, float]] = []
    for age, sex in zip(frame["age"], frame["sex"], strict=True):
        fits = [
            (r_age, r_sex)
            for r_age, r_sex in zip(released["age"], released["sex"], strict=True)
            if r_sex in (sex, "*") and _ends(r_age)[0] <= age <= _ends(r_age)[1]
        ]
        (label,) = fits[:1]
        low, high = _ends(label[0])
        covered = ((values >= low) & (values <= high)).sum()
        lost = ((covered - 1) / (len(values) - 1) + (label[1] == "*")) / 2
        labels.append((*label, lost))
    return pd.concat(
        [frame, pd.DataFrame(labels, columns=["r_age", "r_sex", "lost"], index=frame.index)], axis=1
    )


def _ends(label: str) -> tuple[float, float]:
    if label == "*":
        return -np.inf, np.inf
    ends = [float(end) for end in label.strip("[]").split(", ")]
    return ends[0], ends[-1]


def expected_people(frame: pd.DataFrame, keys: list[str]) -> float:
    groups = frame.groupby(keys)["w"]
    people, population = groups.size().to_numpy(), groups.sum().to_numpy()
    return float((individual_risk(people, population) * people).sum())


def test_risk_before_and_after_is_that_of_the_classes_with_their_weights() -> None:
    found = publish(method="full-domain", suppress=0.05)
    assert found.weighted is not None
    both = with_labels(SURVEY, found)
    assert found.weighted.before.expected_people == pytest.approx(
        expected_people(SURVEY, ["age", "sex"])
    )
    assert found.weighted.after.expected_people == pytest.approx(
        expected_people(both, ["r_age", "r_sex"])
    )
    assert found.weighted.after.population == pytest.approx(SURVEY["w"].sum())


def test_loss_by_weights_is_the_loss_where_weights_are_equal() -> None:
    even = publish(SURVEY.assign(w=7.5))
    assert even.weighted is not None
    assert even.weighted.loss == pytest.approx(even.loss)


def test_each_row_loses_as_often_as_its_weight() -> None:
    # The older weigh more, and there are fewer of them, so that they lose more.
    counted = SURVEY.assign(age=20 + (SURVEY["age"] - 20) ** 2 // 20)
    counted["w"] = counted["age"] * 1.5
    found = publish(counted, method="mondrian")
    assert found.weighted is not None
    both = with_labels(counted, found)
    weights = both["w"]
    assert found.loss == pytest.approx(both["lost"].mean())
    assert found.weighted.loss == pytest.approx((both["lost"] * weights).sum() / weights.sum())
    assert found.weighted.loss != pytest.approx(found.loss, rel=1e-4)


def test_the_manifest_for_readers_has_nothing_of_weights_that_are_not_published(
    tmp_path: Path,
) -> None:
    place = tmp_path / "out.csv"
    publish(output=place)
    public = json.loads((tmp_path / "out.csv.release.json").read_text("utf-8"))
    assert "weighted" not in public.get("release", public)
    assert place.read_text("utf-8").splitlines()[0] == "age,sex"


def test_a_release_with_weights_is_checked_by_the_weights_that_it_has(tmp_path: Path) -> None:
    source = tmp_path / "survey.csv"
    SURVEY.assign(w=5.0).to_csv(source, index=False)
    first = discreet.anonymize(
        source,
        quasi=["age", "sex"],
        k=4,
        weight="w",
        household="home",
        publish_weight=True,
        output=tmp_path / "out.csv",
    )
    assert first.to_pandas().columns.tolist() == ["age", "sex", "w"]
    again = discreet.check(tmp_path / "out.csv", parse_policy(PUBLISHED), table="t")
    assert again.weighted is not None
    assert first.weighted is not None
    assert again.weighted.expected_people == pytest.approx(first.weighted.after.expected_people)


def test_a_weight_named_here_wins_over_that_of_the_policy() -> None:
    policy = parse_policy(
        "tables: {t: {columns: {age: quasi-identifier, sex: quasi-identifier, home: household, "
        "w: weight, v: insensitive}, criteria: [k-anonymity: {k: 4}]}}"
    )
    frame = SURVEY.assign(v=2.0)
    found = discreet.anonymize(frame, policy, table="t", weight="v")
    assert found.weighted is not None
    assert found.weighted.weight == "v"
    assert found.to_pandas().columns.tolist() == ["age", "sex"]


def test_a_weight_that_outsiders_know_is_refused() -> None:
    with pytest.raises(ConflictingRoles, match="'age' is named as weight"):
        publish(weight="age")


def test_an_attack_counts_weights_that_a_release_holds() -> None:
    policy = parse_policy(
        "tables: {t: {columns: {age: quasi-identifier, w: weight, home: household}}}"
    )
    released = pd.DataFrame(
        {"age": ["*"] * 6, "w": [1.5, 2.5, 3.5, 4.5, 5.5, 6.5], "home": [1] * 6}
    )
    (found,) = discreet.attack("uniqueness", released, policy=policy, table="t")
    assert found.claimed == 6


def test_a_table_with_weights_is_cautioned_about() -> None:
    found = discreet.assess(SURVEY, quasi=["age", "sex"], weight="w")
    assert any("holds sampling weights ('w')" in caution for caution in found.cautions)


def test_safe_harbor_removes_weights_unless_they_are_kept_by_name(tmp_path: Path) -> None:
    source = tmp_path / "survey.csv"
    SURVEY.rename(columns={"w": "sampling_weight", "home": "hhid"}).to_csv(source, index=False)
    options: dict[str, object] = {"method": "safe-harbor", "dry_run": True, "as_of": 2026}
    options["accept_risk"] = "a test"
    found = discreet.deidentify(source, **options)  # pyright: ignore[reportArgumentType]
    kept = discreet.deidentify(source, keep=["sampling_weight"], **options)  # pyright: ignore[reportArgumentType]
    actions = {column.column: column.action for column in found.columns}
    assert (actions["hhid"], actions["sampling_weight"]) == ("removed", "removed")
    assert {c.column: c.action for c in kept.columns}["sampling_weight"] == "kept"
