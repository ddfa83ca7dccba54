"""`discreet anonymize` from the prompt: what is written, what is printed, what is refused."""

from __future__ import annotations

import csv
import hashlib
import json
import os
import random
import shutil
import subprocess
import sys
from importlib.resources import files
from pathlib import Path
from typing import Any

import pandas as pd
import polars as pl
import pytest

import discreet as library

HOSPITAL = Path(str(files("discreet") / "data" / "hospital"))
TEST = ("--accept-risk", "it goes nowhere")
SHORTCUT = ("--quasi", "age,sex,zip", "--sensitive", "ill", "--k", "3", *TEST)
ILLNESSES = ("flu", "gout", "acne")


def ages(low: int, high: int) -> str:
    """A hierarchy as ARX reads it: exact, five years, ten years, nothing."""
    lines = [
        f"{age};[{age // 5 * 5}, {age // 5 * 5 + 5});[{age // 10 * 10}, {age // 10 * 10 + 10});*"
        for age in range(low, high)
    ]
    return "\n".join(lines) + "\n"


@pytest.fixture
def crowd(folder: Path) -> Path:
    """Ninety people of 20 to 59, their illness and the hierarchies of what outsiders know."""
    chance = random.Random(7)
    rows = [
        (chance.randrange(20, 60), chance.choice("FM"), f"{chance.randrange(4766, 4772)}0")
        for _ in range(90)
    ]
    lines = [
        f"Person {i},{age},{sex},{code},{ILLNESSES[i % 3]},{i % 2}"
        for i, (age, sex, code) in enumerate(rows)
    ]
    path = folder / "crowd.csv"
    path.write_text("\n".join(["name,age,sex,zip,ill,smoker", *lines, ""]))
    (folder / "trees").mkdir()
    (folder / "trees" / "crowd_hierarchy_age.csv").write_text(ages(20, 60))
    codes = sorted({code for _, _, code in rows})
    (folder / "trees" / "crowd_hierarchy_zip.csv").write_text(
        "".join(f"{code};{code[:4]}*;{code[:3]}**;*\n" for code in codes)
    )
    return path


@pytest.fixture
def hospital(folder: Path) -> Path:
    shutil.copytree(HOSPITAL, folder, dirs_exist_ok=True)
    return folder


def rows_of(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def everything(folder: Path) -> dict[str, bytes]:
    return {str(path): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_the_hospital_is_released_and_passes_its_own_gate(hospital: Path, discreet):
    ran = discreet("anonymize", "patients.csv", "--policy", "policy.yaml", "-o", "released.csv")
    assert ran.code == 0, ran.err
    assert "2,000 rows of patients.csv in " in ran.out
    assert "✓ l-diversity (distinct) of diagnosis" in ran.out
    assert "occupation, salary, insurance." in ran.out
    assert "Written to released.csv, manifest in released.csv.release.json." in ran.out
    assert "discreet class" not in ran.out
    gate = discreet(
        "check", "released.csv", "--policy", "policy.yaml", "--table", "patients", "--rows"
    )
    assert gate.code == 0, gate.out
    before, after = rows_of(hospital / "patients.csv"), rows_of(hospital / "released.csv")
    assert len(after) == 2000
    kept = [name for name in before[0] if name in after[0]]
    # The six identifiers are gone, and what the policy leaves out.
    assert list(after[0]) == kept == ["birth_date", "sex", "postcode", "diagnosis"]
    assert sorted(row["diagnosis"] for row in before) == sorted(row["diagnosis"] for row in after)


def test_a_release_needs_no_policy(crowd: Path, folder: Path, discreet):
    arguments = ("anonymize", "crowd.csv", *SHORTCUT, "--hierarchies", "trees", "-o", "out.csv")
    found = discreet(*arguments, "--json").json
    assert found["method"] == "local"
    assert found["k"] >= 3
    assert (found["rows"], found["suppressed"], found["withheld"]) == (90, 0, 0)
    assert 0 < found["loss"] < 1
    assert set(found["losses"]) == {"age", "sex", "zip"}
    assert [verdict["holds"] for verdict in found["criteria"]] == [True]
    assert (found["output"], found["manifest"]) == ("out.csv", "out.csv.release.json")
    assert found["left_out"] == ["name"]
    assert found["sha256"] == hashlib.sha256((folder / "out.csv").read_bytes()).hexdigest()
    assert set(found) >= {
        *("source", "output", "verdict", "method", "rows", "people", "unit", "k", "classes"),
        *("suppressed", "withheld", "loss", "losses", "criteria", "risk", "search", "utility"),
        *("steps", "left_out", "diversity", "outliers", "cautions", "sha256", "bytes"),
        *("manifest", "frontier", "minimal"),
    }
    page = Path(__file__).parents[2] / "docs" / "reference" / "anonymize.md"
    assert [key for key in found if f"`{key}`" not in page.read_text()] == []


@pytest.mark.parametrize(
    "method", ["local", "full-domain", "mondrian", "relaxed-mondrian", "cells"]
)
def test_every_method_of_the_prompt_meets_every_criterion_asked_for(
    crowd: Path, folder: Path, discreet, method: str
):
    ran = discreet(
        *("anonymize", "crowd.csv", *SHORTCUT, "--hierarchies", "trees", "-o", "out.csv"),
        *("--method", method, "--l", "2", "--t", "ill=equal:0.4", "--suppress", "10%", "--json"),
    )
    assert ran.code == 0, ran.err
    found = ran.json
    assert [v["criterion"] for v in found["criteria"]] == [
        *("k-anonymity", "l-diversity", "t-closeness")
    ]
    assert all(verdict["holds"] for verdict in found["criteria"])
    again = discreet("assess", "out.csv", "--quasi", "age,sex,zip", "--sensitive", "ill", "--json")
    assert (again.json["k"], again.json["classes"]) == (found["k"], found["classes"])
    assert again.json["suppressed"] == found["suppressed"] - found["withheld"]


def test_a_dry_run_reports_and_writes_nothing(crowd: Path, folder: Path, discreet):
    before = everything(folder)
    ran = discreet("anonymize", "crowd.csv", *SHORTCUT, "--dry-run", "--json")
    assert ran.code == 0, ran.err
    assert (ran.json["output"], ran.json["manifest"], ran.json["sha256"]) == (None, None, None)
    assert ran.json["k"] >= 3
    assert everything(folder) == before


def test_an_output_is_replaced_only_with_force(crowd: Path, folder: Path, discreet):
    (folder / "out.csv").write_text("mine\n")
    refused = discreet("anonymize", "crowd.csv", *SHORTCUT, "-o", "out.csv")
    assert (refused.code, refused.error) == (2, "output-refused")
    assert (folder / "out.csv").read_text() == "mine\n"
    assert not (folder / "release.json").exists()
    assert discreet("anonymize", "crowd.csv", *SHORTCUT, "-o", "out.csv", "--force").code == 0
    assert len(rows_of(folder / "out.csv")) == 90


@pytest.mark.parametrize("name", ["again.csv", "again.parquet"])
def test_a_replay_gives_the_same_bytes(crowd: Path, folder: Path, discreet, name: str):
    first = f"first{Path(name).suffix}"
    ran = discreet(
        *("anonymize", "crowd.csv", *SHORTCUT, "--hierarchies", "trees", "-o", first),
        *(
            "--l",
            "ill=entropy:1.5",
            "--weights",
            "age=2",
            "--suppress",
            "5%",
            "--suppressed",
            "drop",
        ),
    )
    assert ran.code == 0, ran.err
    again = discreet("anonymize", "--replay", f"{first}.release.json", "-o", name)
    assert again.code == 0, again.err
    assert (folder / name).read_bytes() == (folder / first).read_bytes()
    assert (folder / f"{name}.release.json").exists()
    manifest = json.loads((folder / f"{first}.release.json").read_text())
    repeated = json.loads((folder / f"{name}.release.json").read_text())
    assert repeated["arguments"] == manifest["arguments"]
    before, after = (record_of(folder, one)["files"] for one in (manifest, repeated))
    assert before == after
    assert len(before) == 3


def record_of(folder: Path, manifest: dict[str, Any]) -> dict[str, Any]:
    """What the custodian's registry has of a release."""
    place = folder / "discreet-releases" / f"{manifest['release']['id']}.json"
    return json.loads(place.read_text())


def test_a_replay_of_a_survey_publishes_its_weights_again(folder: Path, discreet):
    rows = [f"{20 + number % 3},{number // 4},{1 + number % 2}.5" for number in range(60)]
    (folder / "survey.csv").write_text("\n".join(["age,home,w", *rows, ""]), "utf-8")
    words = (
        "--quasi",
        "age",
        "--k",
        "5",
        "--weight",
        "w",
        "--household",
        "home",
        "--publish-weight",
    )
    made = discreet("anonymize", "survey.csv", *words, "-o", "first.csv")
    assert made.code == 0, made.err
    again = discreet("anonymize", "--replay", "first.csv.release.json", "-o", "again.csv")
    assert again.code == 0, again.err
    assert (folder / "again.csv").read_bytes() == (folder / "first.csv").read_bytes()
    assert (folder / "first.csv").read_text("utf-8").startswith("age,w\n")


def test_a_replay_of_a_policy_goes_to_the_same_place_with_force(hospital: Path, discreet):
    discreet("anonymize", "visits.csv", "--policy", "policy.yaml", "-o", "out.csv", *TEST)
    written = (hospital / "out.csv").read_bytes()
    assert discreet("anonymize", "--replay", "out.csv.release.json").error == "output-refused"
    (hospital / "out.csv").unlink()
    assert discreet("anonymize", "--replay", "out.csv.release.json").code == 0
    assert (hospital / "out.csv").read_bytes() == written
    assert discreet("anonymize", "--replay", "out.csv.release.json", "--dry-run").code == 0


def test_a_public_table_can_be_released_and_replayed(hospital: Path, discreet):
    options = ("--policy", "policy.yaml", "--k", "2", "--quasi", "sex")
    assert discreet("anonymize", "voters.csv", *options, "-o", "out.csv").code == 0
    policy = json.loads((hospital / "out.csv.release.json").read_text())["policy"]["tables"][
        "voters"
    ]
    assert not {"public", "budget", "limits"} & set(policy)
    assert discreet("anonymize", "--replay", "out.csv.release.json", "--force").code == 0


@pytest.mark.parametrize("name", ["crowd.csv", "trees/crowd_hierarchy_age.csv"])
def test_a_replay_from_a_changed_file_is_refused(crowd: Path, folder: Path, discreet, name: str):
    discreet("anonymize", "crowd.csv", *SHORTCUT, "--hierarchies", "trees", "-o", "out.csv")
    changed = folder / name
    changed.write_text(changed.read_text().replace("20", "21"))
    ran = discreet("anonymize", "--replay", "out.csv.release.json", "-o", "again.csv")
    assert (ran.code, ran.error) == (2, "invalid-manifest")
    assert name in ran.err
    assert not (folder / "again.csv").exists()


def test_a_replay_that_comes_out_otherwise_is_not_published(crowd: Path, folder: Path, discreet):
    discreet("anonymize", "crowd.csv", *SHORTCUT, "-o", "out.csv")
    record = record_of(folder, json.loads((folder / "out.csv.release.json").read_text()))
    record["arguments"]["k"] = 5  # as if this version decided otherwise
    (folder / "discreet-releases" / f"{record['id']}.json").write_text(json.dumps(record))
    before = everything(folder)
    ran = discreet("anonymize", "--replay", "out.csv.release.json", "--force")
    assert (ran.code, ran.error) == (3, "release-failed")
    assert everything(folder) == before


def test_the_manifest_proves_the_release_and_quotes_no_row(hospital: Path, discreet):
    discreet("anonymize", "patients.csv", "--policy", "policy.yaml", "-o", "out.csv")
    text = (hospital / "out.csv.release.json").read_text()
    manifest = json.loads(text)
    assert set(manifest) == {*("program", "format", "made", "arguments", "policy", "release")}
    record = record_of(hospital, manifest)
    for name in ("patients.csv", "policy.yaml", "diagnoses_hierarchy.csv"):
        digest = hashlib.sha256((hospital / name).read_bytes()).hexdigest()
        assert digest not in text + json.dumps(record)
        assert record["files"][name]
    assert all(verdict["holds"] for verdict in manifest["release"]["criteria"])
    assert not {"diversity", "outliers"} & set(manifest["release"])
    assert not any("worst" in verdict for verdict in manifest["release"]["criteria"])
    for row in rows_of(hospital / "patients.csv")[:300]:
        assert row["name"] not in text
        assert row["birth_date"] not in text


def test_a_manifest_goes_to_the_file_named_and_to_no_other(crowd: Path, folder: Path, discreet):
    arguments = ("anonymize", "crowd.csv", *SHORTCUT)
    ran = discreet(*arguments, "-o", "out.csv", "--manifest", "proof.json", "--json")
    assert ran.json["manifest"] == "proof.json"
    assert not (folder / "out.csv.release.json").exists()
    (folder / "notes.txt").write_text("mine\n")
    ran = discreet(*arguments, "-o", "two.csv", "--manifest", "notes.txt")
    assert (ran.code, ran.error) == (2, "output-refused")
    assert not (folder / "two.csv").exists()
    # A second output in the folder does not take the manifest of the first.
    discreet(*arguments, "-o", "a.csv")
    ran = discreet(*arguments, "-o", "b.csv", "--json")
    assert ran.json["manifest"] == "b.csv.release.json"
    assert json.loads((folder / "a.csv.release.json").read_text())["release"]["output"] == "a.csv"


def test_a_password_is_not_in_the_manifest(crowd: Path, folder: Path, postgres_url: str, discreet):
    import psycopg

    with psycopg.connect(postgres_url) as connection:
        connection.execute("DROP TABLE IF EXISTS crowd_of_flows")
        connection.execute("CREATE TABLE crowd_of_flows (age int, ill text)")
        connection.execute(
            "INSERT INTO crowd_of_flows SELECT n / 10, 'flu' FROM generate_series(1, 60) AS s (n)"
        )
    source = f"{postgres_url}{'&' if '?' in postgres_url else '?'}table=crowd_of_flows"
    source += "&password=open%20sesame"
    arguments = ("--quasi", "age", "--sensitive", "ill", "--k", "3", *TEST)
    ran = discreet("anonymize", source, *arguments, "-o", "out.csv")
    assert ran.code == 0, ran.err
    assert "sesame" not in (folder / "out.csv.release.json").read_text()
    again = discreet("anonymize", "--replay", "out.csv.release.json", "-o", "again.csv")
    assert again.code == 0, again.err
    assert (folder / "again.csv").read_bytes() == (folder / "out.csv").read_bytes()


def test_the_frontier_reports_what_other_values_of_k_cost(crowd: Path, discreet):
    ran = discreet("anonymize", "crowd.csv", *SHORTCUT, "--dry-run", "--frontier", "--json")
    points = ran.json["frontier"]
    assert [point["k"] for point in points][:4] == [2, 3, 5, 10]
    assert [point["k"] for point in points if point["asked"]] == [3]
    assert points[0]["loss"] <= points[2]["loss"] <= points[3]["loss"]
    result = discreet("anonymize", "crowd.csv", *SHORTCUT, "--dry-run", "--frontier")
    assert "What other values of k would cost" in result.out


def test_minimal_generalizations_are_listed(crowd: Path, discreet):
    arguments = (
        *("anonymize", "crowd.csv", *SHORTCUT, "--hierarchies", "trees", "--dry-run"),
        *("--method", "full-domain", "--minimal"),
    )
    found = discreet(*arguments, "--json").json
    nodes = [tuple(node.values()) for node in found["minimal"]]
    assert all(set(node) == {"age", "sex", "zip"} for node in found["minimal"])
    for node in nodes:  # none is below another
        assert not any(
            other != node and all(a <= b for a, b in zip(other, node, strict=True))
            for other in nodes
        )
    chosen = tuple(found["search"]["node"].values())
    assert any(all(a <= b for a, b in zip(node, chosen, strict=True)) for node in nodes)
    assert "Minimal generalizations, as levels" in discreet(*arguments).out


UNREACHABLE = [
    (("--k", "91"), "k = 90"),
    (("--k", "3", "--l", "4"), "level is 3"),
    (("--k", "3", "--l", "entropy:3.5"), "level is 3"),
]


@pytest.mark.parametrize(("asked", "best"), UNREACHABLE)
def test_criteria_out_of_reach_end_with_3_and_write_nothing(
    crowd: Path, folder: Path, discreet, asked: tuple[str, ...], best: str
):
    before = everything(folder)
    arguments = ("--quasi", "age,sex,zip", "--sensitive", "ill", *asked)
    ran = discreet("anonymize", "crowd.csv", *arguments, "-o", "out.csv", "--report", "r.html")
    assert (ran.code, ran.error, ran.out) == (3, "criteria-unreachable", "")
    assert best in ran.err
    assert everything(folder) == before


BAD = [
    ((), "wrong-usage", "Name the output with -o"),
    (("-o", "o.csv", "--k", "0"), "wrong-usage", "'--k'"),
    (("-o", "o.csv", "--l", "many"), "wrong-usage", "Write 3 or diagnosis=entropy:3"),
    (("-o", "o.csv", "--l", "entropi:3"), "wrong-usage", "Kinds: distinct"),
    (("-o", "o.csv", "--l", "recursive:3"), "wrong-usage", "--l recursive:3:2"),
    (("-o", "o.csv", "--l", "entropy:3:4"), "wrong-usage", "one number"),
    (("-o", "o.csv", "--l", "0.5"), "invalid-criterion", "'l' must be"),
    (("-o", "o.csv", "--l", "smoker=2"), "invalid-criterion", "'smoker'"),
    (("-o", "o.csv", "--t", "1.5"), "invalid-criterion", "'t' must be at most 1"),
    (("-o", "o.csv", "--t", "ordered:0.2"), "invalid-criterion", "order"),
    (("-o", "o.csv", "--suppress", "120%"), "wrong-usage", "Write 0.05 or 5%"),
    (("-o", "o.csv", "--suppress", "some"), "wrong-usage", "Write 0.05 or 5%"),
    (("-o", "o.csv", "--time", "3 days"), "wrong-usage", "such as 30s or 2m"),
    (("-o", "o.csv", "--time", "0"), "wrong-usage", "such as 30s or 2m"),
    (("-o", "o.csv", "--weights", "age"), "wrong-usage", "such as age=2,zip=0.5"),
    (("-o", "o.csv", "--weights", "agee=2"), "unknown-column", "Did you mean 'age'?"),
    (("-o", "o.csv", "--weights", "age=0,sex=0,zip=0"), "wrong-usage", "the weight 0"),
    (("-o", "o.csv", "--method", "fulldomain"), "wrong-usage", "Did you mean 'full-domain'?"),
    (("-o", "o.csv", "--utility", "los"), "wrong-usage", "Did you mean 'loss'?"),
    (("-o", "o.csv", "--utility", "classification"), "wrong-usage", "--target"),
    (("-o", "o.csv", "--target", "smokre"), "unknown-column", "Did you mean 'smoker'?"),
    (("-o", "o.csv", "--quasi", "agee,sex"), "unknown-column", "Did you mean 'age'?"),
    (("-o", "o.csv", "--quasi", "ill"), "conflicting-roles", "'ill'"),
    (("-o", "o.csv", "--unit", "nam"), "unknown-column", "Did you mean 'name'?"),
    (("-o", "o.csv", "--hierarchies", "none"), "no-such-source", "no folder none"),
    (("-o", "o.csv", "--hierarchies", "."), "no-such-source", "_hierarchy_age.csv"),
    (("-o", "o.csv", "--k-map", "5"), "wrong-usage", "--against"),
    (("-o", "o.csv", "--key-file", "no.key"), "invalid-key", "no.key"),
    (("-o", "o.csv", "--manifest", "none/m.json"), "output-refused", "no folder none"),
    (("-o", "o.csv", "--manifest", "o.csv"), "output-refused", "both the rows and the manifest"),
    (("-o", "o.csv", "--report", "none/r.html"), "output-refused", "no folder none"),
    (("-o", "o.xlsx"), "output-refused", "'.csv'"),
    (("-o", "none/o.csv"), "output-refused", "no folder none"),
    (("-o", ""), "wrong-usage", "empty"),
    (("-o", "crowd.csv", "--force"), "output-refused", "is the source itself"),
    (("-o", "o.csv", "--manifest", "crowd.csv", "--force"), "output-refused", "source itself"),
    (("--dry-run", "--manifest", "m.json"), "wrong-usage", "--dry-run"),
    (("--replay", "release.json"), "wrong-usage", "Leave SOURCE out"),
]


@pytest.mark.parametrize(
    ("arguments", "error", "words"), BAD, ids=[" ".join(case[0]) or "nothing" for case in BAD]
)
def test_bad_words_are_refused_and_nothing_is_written(
    crowd: Path, folder: Path, discreet, arguments: tuple[str, ...], error: str, words: str
):
    before = everything(folder)
    ran = discreet("anonymize", "crowd.csv", *SHORTCUT, *arguments)
    assert (ran.code, ran.error) == (2, error), ran.err
    assert words in ran.err
    assert everything(folder) == before


NO_SHORTCUT = [
    (("crowd.csv", "-o", "o.csv"), "wrong-usage", "discreet init"),
    (("crowd.csv", "--quasi", "age", "-o", "o.csv"), "wrong-usage", "--k 5"),
    (("crowd.csv", "--quasi", "age", "--l", "2", "-o", "o.csv"), "wrong-usage", "--sensitive"),
    (("crowd.csv", "--quasi", "age", "--alpha", "0.5", "-o", "o.csv"), "wrong-usage", "--k"),
    (("crown.csv", *SHORTCUT, "-o", "o.csv"), "no-such-source", "Did you mean 'crowd.csv'?"),
    ((), "wrong-usage", "--replay"),
    (("--replay", "release.json"), "no-such-source", "release.json"),
    (("--replay", "crowd.csv"), "invalid-manifest", "crowd.csv is no manifest"),
]


@pytest.mark.parametrize(("arguments", "error", "words"), NO_SHORTCUT)
def test_what_is_missing_is_reported(
    crowd: Path, discreet, arguments: tuple[str, ...], error: str, words: str
):
    ran = discreet("anonymize", *arguments)
    assert (ran.code, ran.error) == (2, error), ran.err
    assert words in ran.err


def test_a_manifest_of_another_format_is_not_guessed_at(crowd: Path, folder: Path, discreet):
    discreet("anonymize", "crowd.csv", *SHORTCUT, "-o", "out.csv")
    path = folder / "out.csv.release.json"
    path.write_text(path.read_text().replace('"format": 2', '"format": 99'))
    ran = discreet("anonymize", "--replay", "out.csv.release.json", "-o", "again.csv")
    assert (ran.code, ran.error) == (2, "invalid-manifest")
    ran = discreet("anonymize", "--replay", "out.csv.release.json", "--k", "4", "-o", "again.csv")
    assert (ran.code, ran.error) == (2, "wrong-usage")


def test_a_value_that_its_hierarchy_lacks_is_counted_with_its_column(
    crowd: Path, folder: Path, discreet
):
    (folder / "trees" / "crowd_hierarchy_age.csv").write_text(ages(20, 50))
    ran = discreet(
        *("anonymize", "crowd.csv", *SHORTCUT, "--hierarchies", "trees", "-o", "out.csv")
    )
    assert (ran.code, ran.error) == (2, "invalid-hierarchy")
    assert "'age'" in ran.err
    assert "misses 10 of" in ran.err
    assert not (folder / "out.csv").exists()


def test_people_of_several_rows_are_people_and_their_number_is_not_published(
    hospital: Path, discreet
):
    ran = discreet("anonymize", "visits.csv", "--policy", "policy.yaml", "-o", "out.csv", "--json")
    found = ran.json
    assert (found["rows"], found["people"], found["unit"]) == (6438, 2000, "patient_id")
    assert found["k"] >= 5
    assert "patient_id" in found["left_out"]
    assert "patient_id" not in rows_of(hospital / "out.csv")[0]


def test_a_disk_that_fills_leaves_nothing(crowd: Path, folder: Path):
    program = (
        "import resource, sys; resource.setrlimit(resource.RLIMIT_FSIZE, (512, 512)); "
        "from discreet.cli.command import run_command; sys.exit(run_command(sys.argv[1:]))"
    )
    before = everything(folder)
    command = [sys.executable, "-c", program, "anonymize", "crowd.csv", *SHORTCUT, "-o", "out.csv"]
    ran = subprocess.run(command, capture_output=True, text=True, check=False, cwd=folder)
    assert ran.returncode == 2, ran.stderr
    assert "[output-refused]" in ran.stderr
    assert everything(folder) == before
    assert not [path for path in folder.iterdir() if path.name.startswith(".")]


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_folder_that_may_not_be_written_is_refused(crowd: Path, folder: Path, discreet):
    (folder / "closed").mkdir(mode=0o500)
    ran = discreet("anonymize", "crowd.csv", *SHORTCUT, "-o", "closed/out.csv")
    assert (ran.code, ran.error) == (2, "output-refused")
    assert list((folder / "closed").iterdir()) == []


# Bugs of peers, which must not be ours.


def frame_of(crowd: Path) -> pd.DataFrame:
    return pd.read_csv(crowd, dtype={"zip": str})


def released(frame: object, folder: Path, name: str = "frame.parquet") -> pl.DataFrame:
    from discreet.policy.model import KAnonymity
    from discreet.release.anonymization import anonymize_source
    from discreet.release.options import AnonymizeOptions

    options = AnonymizeOptions(
        quasi=["age", "sex", "zip"], sensitive=["ill"], criteria=[KAnonymity(3)]
    )
    found = anonymize_source(
        frame, options=options, output=folder / name, force=True, accept_risk="a test"
    )
    assert found.k is not None
    assert found.k >= 3
    return pl.read_parquet(folder / name)


def test_a_shuffled_index_and_order_leave_no_trace(crowd: Path, folder: Path):
    frame = frame_of(crowd)
    shuffled = frame.sample(frac=1, random_state=3)
    assert list(shuffled.index) != sorted(shuffled.index)
    first, second = released(frame, folder), released(shuffled, folder, "second.parquet")
    assert first.equals(second)
    assert first.columns == ["age", "sex", "zip", "ill", "smoker"]  # no index, no row number


def test_a_filtered_frame_releases_what_it_shows(crowd: Path, folder: Path):
    frame = frame_of(crowd)
    some = frame[frame["smoker"] == 1]
    assert released(some, folder).equals(released(some.reset_index(drop=True), folder, "b.parquet"))
    assert released(some, folder)["smoker"].to_list() == [1] * 45


def test_a_category_no_one_has_is_no_class(crowd: Path, folder: Path):
    frame = frame_of(crowd)
    plain = released(frame, folder)
    frame["sex"] = pd.Categorical(frame["sex"], categories=["F", "M", "X"])
    assert released(frame, folder, "b.parquet").equals(plain)


def test_one_missing_value_in_a_single_quasi_identifier_is_not_alone(folder: Path, discreet):
    rows = ["", *["30"] * 5, *["40"] * 5]
    (folder / "few.csv").write_text("\n".join(["age,ill", *(f"{age},flu" for age in rows)]) + "\n")
    arguments = ("--quasi", "age", "--sensitive", "ill", "--k", "3", *TEST)
    for method in ("local", "full-domain", "mondrian", "relaxed-mondrian", "cells"):
        ran = discreet(
            *("anonymize", "few.csv", *arguments, "--suppress", "10%", "--method", method),
            *("-o", f"{method}.csv", "--json"),
        )
        assert ran.code == 0, ran.err
        again = library.assess(folder / f"{method}.csv", quasi=["age"], sensitive=["ill"])
        assert again.k is not None
        assert again.k >= 3
        assert again.k == ran.json["k"]


def test_suppressed_rows_are_a_class_when_the_output_is_read_again(folder: Path, discreet):
    """Four outliers are hidden: four rows `*`, a class of four."""
    rows = [*((30 + i % 2, "F") for i in range(36)), (80, "M"), (91, "M"), (85, "F"), (99, "F")]
    lines = [f"{age},{sex},{ILLNESSES[i % 3]}" for i, (age, sex) in enumerate(rows)]
    (folder / "few.csv").write_text("\n".join(["age,sex,ill", *lines, ""]))
    (folder / "few_hierarchy_age.csv").write_text("".join(f"{a};*\n" for a in range(20, 100)))
    ran = discreet(
        *("anonymize", "few.csv", "--quasi", "age,sex", "--sensitive", "ill", "--k", "3"),
        *("--method", "full-domain", "--suppress", "10%", "--hierarchies", "."),
        *("-o", "out.csv", "--json", *TEST),
    )
    assert (ran.json["suppressed"], ran.json["withheld"]) == (4, 0)
    stars = [row for row in rows_of(folder / "out.csv") if row["age"] == row["sex"] == "*"]
    assert len(stars) == 4
    again = library.assess(folder / "out.csv", quasi=["age", "sex"], sensitive=["ill"])
    assert (again.suppressed, again.k, again.classes) == (4, ran.json["k"], ran.json["classes"])
    assert (again.k, again.classes) == (4, 3)
