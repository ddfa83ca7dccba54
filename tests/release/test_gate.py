"""What was made is attacked before it is published, and kept back when that succeeds."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pytest

from discreet.errors import RiskNotTolerated, WrongUsage
from discreet.measure.assess import assess
from discreet.policy import model
from discreet.policy.model import ColumnPolicy, ColumnRole, KAnonymity, Policy
from discreet.release.anonymization import anonymize_source
from discreet.release.history import earlier_releases
from discreet.release.manifest import write_manifest
from discreet.release.options import AnonymizeOptions
from discreet.release.output.files import file_digest, folder_digest

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


ANYTHING = {"default": 1.0}


def policy(tolerance: dict[str, float] = ANYTHING, *, k: int = 3) -> Policy:
    columns = (
        ColumnPolicy("age", ColumnRole.QUASI_IDENTIFIER),
        ColumnPolicy("ill", ColumnRole.SENSITIVE),
        ColumnPolicy("work", ColumnRole.INSENSITIVE),
    )
    table = model.TablePolicy("people", columns, criteria=(KAnonymity(k),))
    return Policy({"people": replace(table, tolerance=tolerance)})


def test_a_release_that_tolerates_all_reports_what_attacks_learn(tmp_path: Path):
    found = anonymize_source(PEOPLE, policy(), output=tmp_path / "out.csv", table="people")
    learned = {one.attack: one.rate for one in found.findings}
    assert learned["homogeneity"] == 0.5
    assert learned["linkage"] == 0
    assert (tmp_path / "out.csv").exists()


def test_a_release_that_reveals_more_than_is_tolerated_is_kept_back(tmp_path: Path):
    with pytest.raises(RiskNotTolerated, match="homogeneity of ill learns 50") as refused:
        anonymize_source(
            PEOPLE,
            policy({"homogeneity": 0.1, "default": 1.0}),
            output=tmp_path / "out.csv",
            table="people",
        )
    assert list(tmp_path.iterdir()) == []
    assert refused.value.findings[0].attack == "homogeneity"


def test_what_was_there_before_stays_when_a_release_is_kept_back(tmp_path: Path):
    place = tmp_path / "out.csv"
    place.write_text("before", "utf-8")
    with pytest.raises(RiskNotTolerated):
        anonymize_source(PEOPLE, policy({"default": 0}), output=place, table="people", force=True)
    assert place.read_text("utf-8") == "before"


def test_a_risk_may_be_accepted_with_a_reason(tmp_path: Path):
    found = anonymize_source(
        PEOPLE,
        policy({"homogeneity": 0.1, "default": 1.0}),
        output=tmp_path / "out.csv",
        table="people",
        accept_risk="the ethics board agreed",
    )
    assert found.accepted_risk == "the ethics board agreed"
    assert found.findings[0].exceeds


def test_a_reason_is_kept_only_where_it_was_needed(tmp_path: Path):
    found = anonymize_source(
        PEOPLE,
        policy({"homogeneity": 0.9, "default": 1.0}),
        output=tmp_path / "out.csv",
        table="people",
        accept_risk="just in case",
    )
    assert found.accepted_risk is None


def test_the_manifest_does_not_say_whether_a_reason_was_needed(tmp_path: Path):
    result: list[object] = []
    for homogeneity in (0.1, 0.9):
        allowed = policy({"homogeneity": homogeneity, "default": 1.0})
        place = tmp_path / f"{homogeneity}.csv"
        found = anonymize_source(
            PEOPLE, allowed, output=place, table="people", accept_risk="agreed"
        )
        write_manifest(tmp_path / "m.json", found, arguments={"accept_risk": "agreed"})
        result.append(json.loads((tmp_path / "m.json").read_text())["release"]["accepted_risk"])
    assert result == ["agreed", "agreed"]


def test_a_dry_run_reports_and_refuses_nothing():
    found = anonymize_source(PEOPLE, policy({"homogeneity": 0.1, "default": 1.0}), table="people")
    assert [one.attack for one in found.findings if one.exceeds] == ["homogeneity"]


def test_an_earlier_release_of_the_same_people_is_attacked_together_with_this_one(tmp_path: Path):
    """Each release hides everybody among two or three; together they leave one value."""
    ills = ["flu", "gout", "cold", "acne", "gout", "measles"]
    before = tmp_path / "before.csv"
    classes = ["{31, 51}", "{32, 53}", "{33, 52}"]
    result = [
        *zip(classes, ills[:3], strict=True),
        *zip(classes, ["acne", "measles", "gout"], strict=False),
    ]
    before.write_text("age,ill\n" + "".join(f'"{label}",{ill}\n' for label, ill in result), "utf-8")
    wanted = policy({"composition": 0.0, "default": 1.0}).tables["people"]
    with pytest.raises(RiskNotTolerated, match="composition"):
        anonymize_source(
            pa.table({"age": [31, 32, 33, 51, 52, 53], "ill": ills}),
            Policy({"people": replace(wanted, columns=wanted.columns[:2])}),
            output=tmp_path / "out.csv",
            table="people",
            earlier=[str(before)],
        )
    assert not (tmp_path / "out.csv").exists()


def test_a_missing_release_is_reported_as_not_tried(tmp_path: Path):
    found = anonymize_source(
        PEOPLE, policy(), output=tmp_path / "out.csv", table="people", earlier=["gone.csv"]
    )
    assert any("gone.csv was not tried" in caution for caution in found.cautions)
    assert found.not_tried == ("gone.csv",)
    assert found.verdict.endswith("together with 1 earlier release was not tried.")


def manifest(folder: Path, name: str, **content: object) -> Path:
    path = folder / name
    result = {"policy": {"tables": {"people": {}}}, "made": "2026-05-04", **content}
    path.write_text(json.dumps(result), "utf-8")
    return path


def test_manifests_know_what_was_published_before(tmp_path: Path):
    here = manifest(tmp_path, "release.json", release={"output": "a.csv", "sha256": "1"})
    manifest(tmp_path, "b.csv.release.json", release={"output": "b.csv", "sha256": "2"})
    (tmp_path / "broken.release.json").write_text("{", "utf-8")
    found = earlier_releases(here, table="people")
    assert [one.output for one in found] == ["a.csv", "b.csv"]
    assert earlier_releases(here, table="others") == ()


def published(place: Path, *, made: Path | None = None) -> Path:
    """Return the manifest of rows that were published at `place`."""
    digest = folder_digest(place) if place.is_dir() else file_digest(place)
    name = made or place.parent / f"{place.name}.release.json"
    return manifest(name.parent, name.name, release={"output": str(place), "sha256": digest})


def test_a_folder_that_was_published_before_is_attacked_with_what_comes_after(tmp_path: Path):
    before = tmp_path / "before.parquet"
    anonymize_source(PEOPLE, policy(), output=f"{before}/", table="people")
    found = anonymize_source(
        PEOPLE, policy(), output=tmp_path / "b.csv", table="people", manifest=published(before)
    )
    assert "composition" in [one.attack for one in found.findings]


def test_an_earlier_release_that_was_replaced_is_reported_as_not_tried(tmp_path: Path):
    place = tmp_path / "out.csv"
    anonymize_source(PEOPLE, policy(), output=place, table="people")
    before = published(place)
    place.write_text("age,ill\n31,flu\n", "utf-8")
    found = anonymize_source(
        PEOPLE, policy(), output=tmp_path / "b.csv", table="people", manifest=before
    )
    assert any("out.csv was not tried: it is not there" in caution for caution in found.cautions)
    assert found.not_tried == (str(place),)
    assert "composition" not in [one.attack for one in found.findings]


def test_an_earlier_release_with_other_columns_is_reported_as_not_tried(tmp_path: Path):
    before = tmp_path / "before.csv"
    before.write_text("town,job\nRome,a\n", "utf-8")
    found = anonymize_source(
        PEOPLE, policy(), output=tmp_path / "out.csv", table="people", earlier=[str(before)]
    )
    assert any(f"{before} was not tried: it has none" in caution for caution in found.cautions)
    assert found.not_tried == (str(before),)


def test_manifests_are_found_by_any_name_and_beside_the_output(tmp_path: Path):
    """A manifest that goes elsewhere must not hide what was published before."""
    proofs = tmp_path / "proofs"
    proofs.mkdir()
    first, second = tmp_path / "a.csv", tmp_path / "b.csv"
    accepted = "a test"
    places = ((first, proofs / "a.json", 3), (second, tmp_path / "release.json", 6))
    for place, where, k in places:
        found = anonymize_source(
            PEOPLE,
            output=place,
            options=replace(requested(), criteria=[KAnonymity(k)]),
            table="people",
            manifest=where,
            accept_risk=accepted,
        )
        write_manifest(where, found, arguments={})
    (proofs / "rows.json").write_text('[{"age": 31}]', "utf-8")
    found = anonymize_source(
        PEOPLE,
        output=tmp_path / "c.csv",
        options=replace(requested(), criteria=[KAnonymity(3)]),
        table="people",
        manifest=proofs / "c.json",
        accept_risk=accepted,
    )
    assert {one.output for one in found.history} == {str(first), str(second)}


def requested() -> AnonymizeOptions:
    return AnonymizeOptions(quasi=["age"], sensitive=["ill"])


def test_what_a_manifest_names_is_found_beside_it(tmp_path: Path):
    """It may have been typed in another folder."""
    (tmp_path / "old.csv").write_text("age,ill\n", "utf-8")
    old = {"output": "there/old.csv", "sha256": file_digest(tmp_path / "old.csv")}
    here = manifest(tmp_path, "release.json", release=old)
    assert [one.output for one in earlier_releases(here, table="people")] == [
        str(tmp_path / "old.csv")
    ]


@pytest.mark.parametrize("reason", ["", "  ", "\t\n"])
def test_a_risk_is_not_accepted_for_no_reason(tmp_path: Path, reason: str):
    with pytest.raises(WrongUsage, match="reason"):
        anonymize_source(
            PEOPLE,
            policy({"homogeneity": 0.1, "default": 1.0}),
            output=tmp_path / "out.csv",
            table="people",
            accept_risk=reason,
        )
    assert list(tmp_path.iterdir()) == []


# --- What is tolerated where no one says.


def survey(*, people: int = 240, answers: int = 40) -> pa.Table:
    """People who look alike on age and differ in what they answered."""
    chance = np.random.default_rng(7)
    columns = {f"answer{index}": chance.choice(list("abcde"), people) for index in range(answers)}
    return pa.table({"age": [30 + index % 4 for index in range(people)], **columns})


def survey_policy(role: ColumnRole = ColumnRole.INSENSITIVE, **changes: Any) -> Policy:
    answers = [column for column in survey().column_names if column != "age"]
    columns = [ColumnPolicy("age", ColumnRole.QUASI_IDENTIFIER)]
    columns += [ColumnPolicy(name, role, **changes) for name in answers]
    return Policy(
        {"people": model.TablePolicy("people", tuple(columns), criteria=(KAnonymity(5),))}
    )


def test_k_anonymous_rows_of_people_unique_on_what_was_kept_are_not_published(tmp_path: Path):
    with pytest.raises(RiskNotTolerated, match="uniqueness learns 100") as refused:
        anonymize_source(survey(), survey_policy(), output=tmp_path / "out.csv", table="people")
    assert list(tmp_path.iterdir()) == []
    worst = refused.value.findings[0]
    assert worst.attack == "uniqueness"
    assert len(worst.details["enough"]) <= 6
    assert worst.details["unique_on_enough"] >= 0.9 * 240


def test_the_verdict_reports_who_is_unique_on_what_was_kept(tmp_path: Path):
    released = anonymize_source(survey(), survey_policy(), table="people")
    assert "240 people of 240 (100 %) are alone on the columns that stay" in released.verdict
    assert released.joint is not None
    assert released.joint.unique == 240
    assessed = assess(survey(), survey_policy(), table="people", depth=0)
    assert "are alone on the columns that stay" in assessed.verdict
    assert not assessed.is_tolerable
    assert assessed.holds


def test_a_policy_that_leaves_columns_unsure_does_not_pass(tmp_path: Path):
    wanted = survey_policy(unsure=True).tables["people"]
    tolerant = Policy({"people": replace(wanted, tolerance={"default": 1.0})})
    place = tmp_path / "out.csv"
    with pytest.raises(RiskNotTolerated, match="unsure about columns 'answer0', 'answer1'"):
        anonymize_source(survey(), tolerant, output=place, table="people")
    assert not place.exists()
    found = anonymize_source(
        survey(), tolerant, output=place, table="people", accept_risk="only for the two of us"
    )
    assert found.accepted_risk == "only for the two of us"
    assert "unsure" in assess(survey(), tolerant, table="people", depth=0).verdict


DIVERSE = pa.table({"age": [31, 32, 33, 51, 52, 53], "ill": ["flu", "gout", "cold"] * 2})


@pytest.mark.parametrize("rows", [PEOPLE, DIVERSE])
def test_a_sensitive_column_without_any_criterion_is_not_published(tmp_path: Path, rows: pa.Table):
    with pytest.raises(RiskNotTolerated, match="No criterion protects the sensitive column 'ill'"):
        anonymize_source(
            rows.select(["age", "ill"]),
            options=replace(requested(), criteria=[KAnonymity(3)]),
            output=tmp_path / "out.csv",
        )
    assert list(tmp_path.iterdir()) == []


def test_a_quarter_of_people_in_classes_of_one_value_are_not_published(tmp_path: Path):
    """A criterion about the column that does not look at its values' number."""
    wanted = replace(requested(), criteria=[KAnonymity(3), model.TCloseness("ill", 1.0)])
    with pytest.raises(RiskNotTolerated, match="homogeneity of ill learns 50") as refused:
        anonymize_source(PEOPLE.select(["age", "ill"]), options=wanted, output=tmp_path / "out.csv")
    assert "follows from" in str(refused.value)
    result = anonymize_source(PEOPLE.select(["age", "ill"]), options=wanted)
    assert "The ill of 3 of 6 people (50.0 %) follows from age" in result.verdict


def test_a_policy_of_k_and_l_passes_without_a_tolerance(tmp_path: Path):
    wanted = replace(requested(), criteria=[KAnonymity(3), model.LDiversity("ill", 3)])
    found = anonymize_source(DIVERSE, options=wanted, output=tmp_path / "out.csv")
    assert not any(one.exceeds for one in found.findings)
    assert found.accepted_risk is None


# --- A sensitive column that tells everybody's value by itself.

LIMITED = [KAnonymity(3), model.TCloseness("ill", 0.2)]


def constant(*, missing: int = 0) -> pa.Table:
    ills = [None] * missing + ["hiv"] * (6 - missing)
    return pa.table({"age": [31, 32, 33, 51, 52, 53], "ill": pa.array(ills, pa.string())})


@pytest.mark.parametrize("missing", [0, 2])
def test_a_sensitive_column_of_one_value_is_not_published(tmp_path: Path, missing: int):
    """No class tells more than the whole, so that no criterion relative to it finds anything."""
    place, wanted = tmp_path / "out.csv", replace(requested(), criteria=LIMITED)
    with pytest.raises(RiskNotTolerated, match="'ill' has one value in the whole release"):
        anonymize_source(constant(missing=missing), options=wanted, output=place)
    assert list(tmp_path.iterdir()) == []
    result = anonymize_source(constant(missing=missing), options=wanted)
    assert "reveals it for all people" in result.verdict
    assert "learned nothing" not in result.verdict
    found = anonymize_source(
        constant(), options=wanted, output=place, accept_risk="all are known to be ill"
    )
    assert found.accepted_risk == "all are known to be ill"


def test_one_value_of_rows_that_are_all_suppressed_is_not_published(tmp_path: Path):
    ages = pa.array(["*"] * 6)
    rows = pa.table({"age": ages, "ill": ["hiv"] * 6})
    with pytest.raises(RiskNotTolerated, match="'ill' has one value"):
        anonymize_source(
            rows, options=replace(requested(), criteria=LIMITED), output=tmp_path / "out.csv"
        )


def test_a_check_of_a_sensitive_column_of_one_value_fails():
    columns = (
        ColumnPolicy("age", ColumnRole.QUASI_IDENTIFIER),
        ColumnPolicy("ill", ColumnRole.SENSITIVE),
    )
    table = model.TablePolicy("people", columns, criteria=(model.TCloseness("ill", 0.2),))
    assessed = assess(constant(), Policy({"people": table}), table="people", depth=0)
    assert assessed.holds
    assert not assessed.is_tolerable
    assert "'ill' has one value" in assessed.verdict
    tolerant = replace(table, tolerance={"homogeneity": 1.0})
    assert assess(constant(), Policy({"people": tolerant}), table="people", depth=0).undecided == ()


def nearly_constant(*, people: int = 100, others: int = 4) -> pa.Table:
    """People of two ages, nearly all without the illness."""
    ills = ["no"] * (people - others) + ["yes"] * others
    return pa.table({"age": [31 + index % 2 for index in range(people)], "ill": ills})


def test_a_sensitive_column_of_nearly_one_value_is_not_published(tmp_path: Path):
    wanted = replace(requested(), criteria=[KAnonymity(3), model.LDiversity("ill", 2)])
    with pytest.raises(RiskNotTolerated, match="'ill' has one value for 96"):
        anonymize_source(nearly_constant(), options=wanted, output=tmp_path / "out.csv")
    assert list(tmp_path.iterdir()) == []
    found = anonymize_source(nearly_constant(others=6), options=wanted, output=tmp_path / "out.csv")
    assert found.undecided == ()


def test_a_check_of_a_sensitive_column_of_nearly_one_value_fails():
    columns = (
        ColumnPolicy("age", ColumnRole.QUASI_IDENTIFIER),
        ColumnPolicy("ill", ColumnRole.SENSITIVE),
    )
    table = model.TablePolicy("people", columns, criteria=(model.LDiversity("ill", 2),))
    assessed = assess(nearly_constant(), Policy({"people": table}), table="people", depth=0)
    assert assessed.sensitive["ill"].modal_share == 0.96
    assert not assessed.is_tolerable
    assert "reveals it for nearly all people" in assessed.verdict
    tolerant = replace(table, tolerance={"homogeneity": 0.96})
    again = assess(nearly_constant(), Policy({"people": tolerant}), table="people", depth=0)
    assert again.undecided == ()


@pytest.mark.parametrize(("other", "share"), [("maybe", 40 / 41), (None, 1.0)])
def test_a_value_that_nearly_every_person_has_is_counted_in_people(other: str | None, share: float):
    """Two thirds of the rows have one value, and all people but one."""
    rows = [(f"{person}", 30 + person % 2, "well") for person in range(40)]
    rows += [(f"{person}", 30 + person % 2, other) for person in (*range(20), 40)]
    people = pa.table(dict(zip(("name", "age", "ill"), zip(*rows, strict=True), strict=True)))
    columns = (
        ColumnPolicy("age", ColumnRole.QUASI_IDENTIFIER),
        ColumnPolicy("ill", ColumnRole.SENSITIVE),
    )
    table = model.TablePolicy(
        "people", columns, unit="name", criteria=(model.TCloseness("ill", 0.2),)
    )
    assessed = assess(people, Policy({"people": table}), table="people", depth=0)
    assert assessed.sensitive["ill"].modal_share == pytest.approx(share)
    assert "'ill' has one value" in assessed.verdict


@pytest.mark.parametrize(
    "criterion",
    [
        model.LDiversity("ill", 1),
        model.LDiversity("ill", 1, "entropy"),
        model.TCloseness("ill", 1.0),
        model.AlphaK("ill", 1.0, 3),
    ],
)
def test_a_criterion_that_every_table_meets_protects_no_column(
    tmp_path: Path, criterion: model.Criterion
):
    wanted = replace(requested(), criteria=[KAnonymity(3), criterion])
    with pytest.raises(RiskNotTolerated, match="No criterion protects the sensitive column 'ill'"):
        anonymize_source(DIVERSE, options=wanted, output=tmp_path / "out.csv")


# --- People with several rows.


def twice_ill(zips: int = 4) -> pa.Table:
    """Five people in each zip, each with two rows: all in a zip have the same two illnesses."""
    rows = [
        (f"{place}-{person}", f"{1000 + place}", ill)
        for place in range(zips)
        for person in range(5)
        for ill in (("flu", "cold") if place % 2 else ("gout", "acne"))
    ]
    return pa.table(dict(zip(("name", "zip", "ill"), zip(*rows, strict=True), strict=True)))


def of_units(**tolerance: float) -> Policy:
    columns = (
        ColumnPolicy("name", ColumnRole.IDENTIFIER),
        ColumnPolicy("zip", ColumnRole.QUASI_IDENTIFIER),
        ColumnPolicy("ill", ColumnRole.SENSITIVE),
    )
    criteria = (KAnonymity(5), model.LDiversity("ill", 2))
    table = model.TablePolicy("people", columns, unit="name", criteria=criteria)
    return Policy({"people": replace(table, tolerance=tolerance)})


@pytest.mark.parametrize("output", ["out.csv", "out.parquet"])
def test_a_value_that_every_person_of_a_class_has_is_homogeneous(tmp_path: Path, output: str):
    with pytest.raises(RiskNotTolerated, match="homogeneity of ill learns 100"):
        anonymize_source(
            twice_ill(),
            of_units(homogeneity=0.1, default=1.0),
            output=tmp_path / output,
            table="people",
        )
    assert not (tmp_path / output).exists()


def test_a_dry_run_counts_people_and_reports_each_attack_once():
    found = anonymize_source(twice_ill(), of_units(homogeneity=0.1, default=1.0), table="people")
    titles = [one.title for one in found.findings]
    assert len(titles) == len(set(titles))
    (result,) = (one for one in found.findings if one.attack == "homogeneity")
    assert (result.targets, result.rate, result.exceeds) == (20, 1.0, True)
    assert "5 people who fit" in " ".join(result.example)


def test_a_belief_about_people_moves_further_than_one_about_their_rows(tmp_path: Path):
    """Half of all people have the flu, and everybody in a zip: rows say a quarter and a half."""
    wanted = of_units(skewness=0.25, default=1.0)
    with pytest.raises(RiskNotTolerated, match="skewness of ill learns 100"):
        anonymize_source(twice_ill(), wanted, output=tmp_path / "out.csv", table="people")
    found = anonymize_source(twice_ill(), wanted, table="people")
    (skewed,) = (one for one in found.findings if one.attack == "skewness")
    assert (skewed.targets, skewed.rate) == (20, 1.0)
    assert skewed.details["largest_shift"] == pytest.approx(0.5)


def test_people_of_a_class_who_have_different_values_are_not_homogeneous(tmp_path: Path):
    ills = ["flu", "cold", "gout", "acne", "ache"] * 8
    people = twice_ill().set_column(2, "ill", pa.array(ills))
    found = anonymize_source(
        people,
        of_units(homogeneity=0.1, inference=0.1, default=1.0),
        output=tmp_path / "out.csv",
        table="people",
    )
    assert not any(one.exceeds for one in found.findings)
