"""What was made is attacked before it is published, and kept back when that succeeds."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING

import pyarrow as pa
import pytest

from discreet.errors import RiskNotTolerated
from discreet.policy import model
from discreet.policy.model import Column, KAnonymity, Policy, Role
from discreet.release.anonymization import anonymize
from discreet.release.history import earlier_releases

if TYPE_CHECKING:
    from pathlib import Path

# Two classes of three people; everybody in the first has flu.
PEOPLE = pa.table(
    {
        "age": [31, 32, 33, 51, 52, 53],
        "ill": ["flu", "flu", "flu", "gout", "cold", "flu"],
        "work": ["a", "b", "c", "a", "b", "c"],
    }
)


def policy(tolerance: dict[str, float] | None = None, *, k: int = 3) -> Policy:
    columns = (
        Column("age", Role.QUASI_IDENTIFIER),
        Column("ill", Role.SENSITIVE),
        Column("work", Role.INSENSITIVE),
    )
    table = model.Table("people", columns, criteria=(KAnonymity(k),))
    return Policy({"people": replace(table, tolerance=tolerance or {})})


def test_a_release_without_a_tolerance_tells_what_attacks_learn(tmp_path: Path):
    found = anonymize(PEOPLE, policy(), output=tmp_path / "out.csv", table="people")
    learned = {one.attack: one.rate for one in found.findings}
    assert learned["homogeneity"] == 0.5
    assert learned["linkage"] == 0
    assert (tmp_path / "out.csv").exists()


def test_what_tells_more_than_is_tolerated_is_kept_back(tmp_path: Path):
    with pytest.raises(RiskNotTolerated, match="homogeneity learns 50") as refused:
        anonymize(PEOPLE, policy({"homogeneity": 0.1}), output=tmp_path / "out.csv", table="people")
    assert list(tmp_path.iterdir()) == []
    assert refused.value.findings[0].attack == "homogeneity"


def test_what_was_there_before_stays_when_a_release_is_kept_back(tmp_path: Path):
    place = tmp_path / "out.csv"
    place.write_text("before", "utf-8")
    with pytest.raises(RiskNotTolerated):
        anonymize(PEOPLE, policy({"default": 0}), output=place, table="people", force=True)
    assert place.read_text("utf-8") == "before"


def test_a_risk_may_be_accepted_with_a_reason(tmp_path: Path):
    found = anonymize(
        PEOPLE,
        policy({"homogeneity": 0.1}),
        output=tmp_path / "out.csv",
        table="people",
        accept_risk="the ethics board agreed",
    )
    assert found.accepted_risk == "the ethics board agreed"
    assert found.findings[0].exceeds


def test_a_reason_is_kept_only_where_it_was_needed(tmp_path: Path):
    found = anonymize(
        PEOPLE,
        policy({"homogeneity": 0.9}),
        output=tmp_path / "out.csv",
        table="people",
        accept_risk="just in case",
    )
    assert found.accepted_risk is None


def test_a_dry_run_tells_and_refuses_nothing():
    found = anonymize(PEOPLE, policy({"homogeneity": 0.1}), table="people")
    assert [one.attack for one in found.findings if one.exceeds] == ["homogeneity"]


def test_an_earlier_release_of_the_same_people_is_attacked_together_with_this_one(tmp_path: Path):
    """Each release hides everybody among two or three; together they leave one value."""
    ills = ["flu", "gout", "cold", "acne", "gout", "measles"]
    before = tmp_path / "before.csv"
    classes = ["{31, 51}", "{32, 53}", "{33, 52}"]
    told = [
        *zip(classes, ills[:3], strict=True),
        *zip(classes, ["acne", "measles", "gout"], strict=False),
    ]
    before.write_text("age,ill\n" + "".join(f'"{label}",{ill}\n' for label, ill in told), "utf-8")
    wanted = policy({"composition": 0.0, "default": 1.0}).tables["people"]
    with pytest.raises(RiskNotTolerated, match="composition"):
        anonymize(
            pa.table({"age": [31, 32, 33, 51, 52, 53], "ill": ills}),
            Policy({"people": replace(wanted, columns=wanted.columns[:2])}),
            output=tmp_path / "out.csv",
            table="people",
            earlier=[str(before)],
        )
    assert not (tmp_path / "out.csv").exists()


def test_a_release_that_is_gone_is_said_not_to_have_been_tried(tmp_path: Path):
    found = anonymize(
        PEOPLE, policy(), output=tmp_path / "out.csv", table="people", earlier=["gone.csv"]
    )
    assert any("gone.csv is not there any more" in caution for caution in found.cautions)


def manifest(folder: Path, name: str, **content: object) -> Path:
    path = folder / name
    told = {"policy": {"tables": {"people": {}}}, "made": "2026-05-04", **content}
    path.write_text(json.dumps(told), "utf-8")
    return path


def test_manifests_know_what_was_published_before(tmp_path: Path):
    old = {"output": "oldest.csv", "sha256": "0", "made": None}
    here = manifest(
        tmp_path, "release.json", release={"output": "a.csv", "sha256": "1"}, history=[old]
    )
    manifest(tmp_path, "b.csv.release.json", release={"output": "b.csv", "sha256": "2"})
    (tmp_path / "broken.release.json").write_text("{", "utf-8")
    found = earlier_releases(here, table="people")
    assert [one.output for one in found] == ["oldest.csv", "a.csv", "b.csv"]
    assert earlier_releases(here, table="others") == ()
