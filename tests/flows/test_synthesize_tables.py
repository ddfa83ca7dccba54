"""`discreet synthesize --with`: patients and visits together, for one price, every visit with a patient."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import duckdb
import numpy as np
import pyarrow.parquet as pq
import pytest

import discreet as library
from discreet.api import family_synthesis as module
from discreet.errors import UnreadableSource, WrongUsage
from discreet.release.synthesize import family, table_folder
from discreet.release.synthesize.family import ChildRows, FamilyRows
from discreet.release.synthesize.family_request import FamilyRequest
from discreet.release.synthesize.gate import RowCounter

POLICY = """\
tables:
  patients:
    source: patients.csv
    unit: id
    limits: {rows-per-unit: 1}
    budget: {epsilon: 3, delta: 1e-6}
    tolerance: 100%
    columns:
      id:   {role: identifier, kind: text}
      sex:  {role: quasi-identifier, kind: text, values: [f, m]}
      age:  {role: quasi-identifier, kind: integer, bounds: [0, 9]}
  visits:
    source: visits.csv
    unit: patient
    limits: {rows-per-unit: 3}
    budget: {epsilon: 3, delta: 1e-6}
    tolerance: 100%
    columns:
      visit:   {role: identifier, kind: integer}
      patient: {role: identifier, kind: text, references: patients.id}
      day:     {role: quasi-identifier, kind: integer, bounds: [1, 7]}
      ward:    {role: sensitive, kind: text, values: [a, b, c]}
"""
PATIENTS = 300


def write_tables(folder: Path, *, patients: int = PATIENTS, policy: str = POLICY) -> None:
    chance = np.random.default_rng(5)
    people, visits = ["id,sex,age"], ["visit,patient,day,ward"]
    for number in range(patients):
        sex, age = int(chance.integers(2)), int(chance.integers(10))
        people.append(f"Q{number:05d},{'fm'[sex]},{age}")
        for _ in range(int(chance.integers(5)) * (age > 3)):
            day, ward = chance.integers(1, 8), "abc"[sex + int(chance.integers(2))]
            visits.append(f"{len(visits)},Q{number:05d},{day},{ward}")
    (folder / "patients.csv").write_text("\n".join(people) + "\n")
    (folder / "visits.csv").write_text("\n".join(visits) + "\n")
    (folder / "policy.yaml").write_text(policy)


@pytest.fixture
def hospital(folder: Path) -> Path:
    write_tables(folder)
    return folder


def arguments(*more: str) -> tuple[str, ...]:
    return (
        *("synthesize", "patients.csv", "--policy", "policy.yaml", "--ledger", "ledger.sqlite"),
        *("--method", "fast", "--with", "visits", *more),
    )


def test_every_visit_has_a_patient_and_one_price_is_paid(hospital: Path, discreet):
    ran = discreet(*arguments("-o", "made"), "--json")
    assert ran.code == 0, ran.err
    assert sorted(one.name for one in (hospital / "made").iterdir()) == [
        "patients.parquet",
        "visits.parquet",
    ]
    patients = pq.read_table(hospital / "made" / "patients.parquet").to_pydict()
    visits = pq.read_table(hospital / "made" / "visits.parquet").to_pydict()
    assert len(set(patients["id"])) == len(patients["id"]) == ran.json["tables"][0]["rows"]
    assert set(visits["patient"]) <= set(patients["id"])
    assert len(set(visits["visit"])) == len(visits["visit"]) > 0
    assert max(visits["patient"].count(one) for one in patients["id"]) <= 3
    assert {*visits["ward"]} <= {"a", "b", "c", None}
    assert not any(one.startswith("Q") for one in patients["id"])
    assert ran.json["spent"] == {"epsilon": 1.0, "delta": 1e-9}
    assert ran.json["remaining"]["epsilon"] == 2.0


def test_the_manifest_names_all_tables_and_the_attacks_on_each(hospital: Path, discreet):
    ran = discreet(*arguments("-o", "made"), "--json")
    assert ran.code == 0, ran.err
    manifest = json.loads((hospital / "made.release.json").read_text())["release"]
    assert [one["table"] for one in manifest["tables"]] == ["patients", "visits"]
    assert [one["file"] for one in manifest["tables"]] == ["patients.parquet", "visits.parquet"]
    assert manifest["privacy"]["unit"] == "id"
    assert len(manifest["privacy"]["events"]) == 1
    for one, printed in zip(manifest["tables"], ran.json["tables"], strict=True):
        assert set(one["attacks"]) >= {"closest", "linkability", "membership", "singling-out"}
        assert one["sha256"] == printed["output"]["sha256"]
        assert "findings" not in one
    assert "attribute" in manifest["tables"][1]["attacks"]  # of the ward, which is sensitive


def test_the_same_request_gives_the_same_tables_and_is_free(hospital: Path, discreet):
    first = discreet(*arguments("-o", "first"), "--json")
    second = discreet(*arguments("-o", "second"), "--json")
    assert (first.code, second.code) == (0, 0), second.err
    for name in ("patients.parquet", "visits.parquet"):
        assert (hospital / "first" / name).read_bytes() == (hospital / "second" / name).read_bytes()
    assert second.json["cached"] is True
    assert second.json["spent"]["epsilon"] == 0.0
    assert second.json["remaining"] == first.json["remaining"]


@pytest.mark.parametrize(
    ("old", "new", "error", "words"),
    [
        ("references: patients.id", "", "question-refused", "must belong to the people"),
        ("    limits: {rows-per-unit: 3}\n", "", "question-refused", "any number of rows in 'visits'"),
        ("visit:   {role: identifier, kind: integer}", "visit:   {role: identifier, kind: integer, references: patients.age}", "wrong-usage", "only the unit of a child table"),
        ("references: patients.id", "references: visits.visit", "question-refused", "belong to rows of 'visits'"),
    ],
    ids=["no-reference", "no-limit", "second-reference", "grandchild"],
)  # fmt: skip
def test_tables_that_do_not_fit_are_refused_before_anything_is_spent(
    folder: Path, discreet, old: str, new: str, error: str, words: str
):
    assert old in POLICY
    write_tables(folder, patients=5, policy=POLICY.replace(old, new))
    ran = discreet(*arguments("-o", "made"))
    assert ran.code != 0
    assert ran.error == error
    assert words in ran.err
    assert not (folder / "made").exists()


def test_a_child_without_a_policy_is_refused(folder: Path, discreet):
    write_tables(folder, patients=5, policy=POLICY[: POLICY.index("  visits:")])
    ran = discreet(*arguments("-o", "made"))
    assert ran.code != 0
    assert "'visits'" in ran.err


def test_what_is_not_declared_in_any_table_is_in_one_message(folder: Path, discreet):
    bare = POLICY.replace(", bounds: [0, 9]", "").replace(", values: [a, b, c]", "")
    write_tables(folder, patients=5, policy=bare)
    ran = discreet(*arguments("-o", "made"))
    assert ran.error == "undeclared-domain"
    assert "'patients'" in ran.err
    assert "'visits'" in ran.err


def test_a_target_is_predicted_and_judged_and_columns_are_left_out(hospital: Path, discreet):
    more = ("--target", "ward", "--evaluate", "0.5", "--leave-out", "visits.day")
    ran = discreet(*arguments("-o", "made", "--report", "page.html", *more), "--json")
    assert ran.code == 0, ran.err
    assert ran.json["target"] == ran.json["evaluation"]["target"] == "visits.ward"
    assert ran.json["spent"]["epsilon"] == 1.5
    relations = [set(one["columns"]) for one in ran.json["tables"][1]["marginals"]]
    assert {"patients.sex", "ward"} in relations
    assert {"patients.age", "ward"} in relations
    assert pq.read_table(hospital / "made" / "visits.parquet").column_names == [
        *("visit", "patient", "ward"),
    ]
    again = discreet(*arguments("-o", "again", *more), "--json")
    assert (again.json["cached"], again.json["spent"]["epsilon"]) == (True, 0.0)
    assert again.json["evaluation"] == ran.json["evaluation"]
    page = (hospital / "page.html").read_text()
    assert "By number of visits." in page
    assert "AUC" in page


@pytest.mark.parametrize(
    ("more", "error", "words"),
    [
        (("--target", "wart"), "unknown-column", "patients.sex"),
        (("--leave-out", "visits.wart"), "unknown-column", "visits.ward"),
        (("--target", "visits.visit"), "unknown-column", "not among the synthesized"),
        (("--evaluate", "1"), "wrong-usage", "--target"),
        (("--target", "ward", "--evaluate", "2.5"), "budget-exceeded", "3.5"),
    ],
)
def test_options_that_do_not_fit_are_refused_before_anything_is_spent(
    hospital: Path, discreet, more: tuple[str, ...], error: str, words: str
):
    ran = discreet(*arguments("-o", "made", *more))
    assert ran.error == error
    assert words in ran.err
    assert discreet(*arguments("--dry-run", "--json")).json["remaining"]["epsilon"] == 3.0


def test_domains_of_all_tables_are_found_for_a_share_of_the_price(folder: Path, discreet):
    bare = POLICY.replace(", bounds: [0, 9]", "").replace(", values: [a, b, c]", "")
    write_tables(folder, policy=bare)
    asked = arguments("--find-domains", "0.2", "--epsilon", "3", "--target", "visits.ward")
    plan = discreet(*asked, "--dry-run", "--json").json
    assert "patients.age and visits.ward" in plan["cautions"][0]
    ran = discreet(*asked, "-o", "made", "--model", "model.json", "--json")
    assert ran.code == 0, ran.err
    assert ran.json["spent"] == {"epsilon": 3.0, "delta": 1e-9}
    wards = {*pq.read_table(folder / "made" / "visits.parquet")["ward"].to_pylist()}
    assert wards <= {"a", "b", "c", "*", None}
    again = discreet(*asked, "-o", "again", "--json")
    assert again.json["cached"] is True
    rows = library.sample_tables(folder / "model.json", rows=20).frames["patients"]
    assert rows["age"].null_count < 20


@pytest.mark.parametrize("source", ["    source: clinic.duckdb\n", ""], ids=["named", "beside"])
def test_a_duckdb_file_is_the_source_of_all_its_tables(folder: Path, discreet, source: str):
    policy = POLICY.replace("    source: patients.csv\n", source)
    write_tables(folder, policy=policy.replace("    source: visits.csv\n", source))
    with duckdb.connect(str(folder / "clinic.duckdb")) as made:
        for name in ("patients", "visits"):
            made.execute(f"CREATE TABLE {name} AS FROM '{folder / name}.csv'")
    ran = discreet(
        *("synthesize", "clinic.duckdb", "--table", "patients", "--policy", "policy.yaml"),
        *("--ledger", "ledger.sqlite", "--method", "fast", "--with", "visits", "-o", "made"),
    )
    assert ran.code == 0, ran.err
    visits = pq.read_table(folder / "made" / "visits.parquet")
    patients = pq.read_table(folder / "made" / "patients.parquet")
    assert visits.num_rows > 0
    assert {*visits["patient"].to_pylist()} <= {*patients["id"].to_pylist()}


def test_only_a_folder_of_these_tables_is_replaced(hospital: Path, discreet):
    (hospital / "made").mkdir()
    assert discreet(*arguments("-o", "made")).error == "output-refused"
    (hospital / "made" / "mine.txt").write_text("mine")
    assert discreet(*arguments("-o", "made", "--force")).error == "output-refused"
    (hospital / "made" / "mine.txt").unlink()
    ran = discreet(*arguments("-o", "made", "--force"))
    assert ran.code == 0, ran.err


@dataclass(frozen=True)
class CopyingFamily:
    """A model with a defect: its visits, with their patients, are those of people."""

    rows: Any

    @property
    def parent(self) -> Any:
        return SimpleNamespace(columns=SimpleNamespace(total=len(self.rows)))

    def sample(self, count: int, chance: object) -> FamilyRows:
        del count, chance
        visits = ChildRows(self.rows[:, 1:], np.arange(len(self.rows)))
        return FamilyRows(self.rows[:, :1], (visits,))


PLAIN = """\
tables:
  patients:
    source: patients.csv
    unit: id
    limits: {rows-per-unit: 1}
    columns: {id: {role: identifier, kind: text}, age: {role: quasi-identifier, kind: integer, bounds: [0, 59]}}
  visits:
    source: visits.csv
    unit: patient
    limits: {rows-per-unit: 1}
    columns:
      patient: {role: identifier, kind: text, references: patients.id}
      days:    {role: quasi-identifier, kind: integer, bounds: [0, 59]}
"""


def test_tables_by_a_mechanism_that_copies_people_are_paid_for_and_not_published(
    folder: Path, discreet, monkeypatch: pytest.MonkeyPatch
):
    plain = FamilyRequest.fit

    def copy(self: Any, counters: Any, **options: Any) -> Any:
        is_twin = isinstance(counters[1], RowCounter)
        return CopyingFamily(counters[1].rows) if is_twin else plain(self, counters, **options)

    monkeypatch.setattr(FamilyRequest, "fit", copy)
    pairs = np.random.default_rng(8).integers(0, 60, (600, 2)).tolist()
    patients = [f"P{number},{age}" for number, (age, _) in enumerate(pairs)]
    visits = [f"P{number},{days}" for number, (_, days) in enumerate(pairs)]
    (folder / "patients.csv").write_text("\n".join(["id,age", *patients]) + "\n")
    (folder / "visits.csv").write_text("\n".join(["patient,days", *visits]) + "\n")
    (folder / "policy.yaml").write_text(PLAIN)
    ran = discreet(*arguments("-o", "made"))
    assert (ran.code, ran.error) == (3, "risk-not-tolerated"), ran.err
    assert "closest" in ran.err
    assert not {path.name for path in folder.iterdir()} & {
        *("made", "made.release.json", "discreet-releases")
    }
    accepted = discreet(*arguments("-o", "made", "--accept-risk", "for a test"), "--json")
    assert accepted.code == 0, accepted.err
    assert accepted.json["cached"] is True
    assert accepted.json["tables"][1]["accepted_risk"] == "for a test"


def test_both_tables_are_remembered_and_tried_with_the_next_ones(hospital: Path, discreet):
    assert discreet(*arguments("-o", "first")).code == 0
    records = [
        json.loads(path.read_text()) for path in (hospital / "discreet-releases").glob("*.json")
    ]
    assert sorted(one["subject"]["table"] for one in records) == ["patients", "visits"]
    assert all(one["release"]["findings"] for one in records)
    ran = discreet(*arguments("-o", "second", "--epsilon", "0.5"), "--json")
    assert ran.code == 0, ran.err
    for table in ran.json["tables"]:
        assert "composition" in {found["attack"] for found in table["findings"]}


def test_a_crash_while_writing_leaves_no_folder_and_no_record(
    hospital: Path, discreet, monkeypatch: pytest.MonkeyPatch
):
    plain, calls = table_folder.write_synthetic_rows, []

    def crash_on_second(*given: Any, **options: Any) -> Any:
        calls.append(given)
        if len(calls) == 2:
            raise KeyboardInterrupt
        return plain(*given, **options)

    with monkeypatch.context() as patch:
        patch.setattr(table_folder, "write_synthetic_rows", crash_on_second)
        assert discreet(*arguments("-o", "made")).code != 0
    assert not (hospital / "made").exists()
    assert not list((hospital / "discreet-releases").glob("*.json"))
    again = discreet(*arguments("-o", "made"), "--json")
    assert (again.code, again.json["cached"]) == (0, True)


def test_all_that_is_published_is_the_same_on_neighbors_with_the_same_noisy_model(
    hospital: Path, monkeypatch: pytest.MonkeyPatch
):
    plain, kept = module.release_family_mechanism, []

    def keep(*given: Any, **options: Any) -> Any:
        kept.append(plain(*given, **options))
        return replace(kept[-1], content=kept[0].content)

    monkeypatch.setattr(module, "release_family_mechanism", keep)

    def publish() -> Any:
        return library.synthesize_tables(
            hospital / "patients.csv",
            hospital / "policy.yaml",
            children=["visits"],
            method="fast",
            ledger=":memory:",
        )

    first = publish()
    for name in ("patients.csv", "visits.csv"):  # without one patient, and all visits of that one
        lines = (hospital / name).read_text().splitlines()
        gone = [line for line in lines if f"Q{PATIENTS - 1:05d}" not in line]
        (hospital / name).write_text("\n".join(gone) + "\n")
    second = publish()
    assert kept[0].content != kept[1].content
    assert {**first.manifest_content, "made": 0} == {**second.manifest_content, "made": 0}
    assert first.frames == second.frames


def test_a_dry_run_names_price_and_errors_and_spends_nothing(hospital: Path, discreet):
    ran = discreet(*arguments("--dry-run", "--json"))
    assert ran.code == 0, ran.err
    assert ran.json["remaining"]["epsilon"] == 3.0
    patients, visits = ran.json["tables"]
    assert (visits["table"], visits["rows_per_unit"]) == ("visits", 3)
    paid = discreet(*arguments("-o", "made"), "--json").json["tables"]
    for expected, found in zip((patients, visits), paid, strict=True):
        for one, other in zip(expected["columns"], found["columns"], strict=True):
            assert one["column"] == other["column"]
            if one["standard_error"] is not None:  # what no relation was worth is spent on columns
                assert 0 < other["standard_error"] <= one["standard_error"] * 1.001


def test_tables_are_written_as_csv_with_their_model_and_page(hospital: Path, discreet):
    more = ("--model", "model.json", "--report", "page.html", "--file-format", "csv", "--json")
    ran = discreet(*arguments("-o", "made", *more))
    assert ran.code == 0, ran.err
    assert sorted(one.name for one in (hospital / "made").iterdir()) == [
        "patients.csv",
        "visits.csv",
    ]
    header = (hospital / "made" / "visits.csv").read_text().splitlines()[0]
    assert header == "visit,patient,day,ward"
    page = (hospital / "page.html").read_text()
    assert "Synthetic tables" in page
    assert "By ward." in page
    assert "Q0000" not in page
    drawn = discreet(
        *("sample", "model.json", "--rows", "50", "--seed", "3", "-o", "more"),
        *("--file-format", "csv", "--json"),
    )
    assert drawn.code == 0, drawn.err
    assert [one["table"] for one in drawn.json["tables"]] == ["patients", "visits"]
    assert len((hospital / "more" / "patients.csv").read_text().splitlines()) == 51
    again = library.sample_tables(hospital / "model.json", rows=50, seed=3)
    keys = again.frames["visits"]["patient"].to_pylist()
    assert {*keys} <= {*again.frames["patients"]["id"].to_pylist()}
    assert max(keys.count(one) for one in {*keys}) <= 3


def test_a_model_that_does_not_fit_its_tables_is_damaged(
    hospital: Path, discreet, monkeypatch: pytest.MonkeyPatch
):
    assert discreet(*arguments("-o", "made", "--model", "model.json")).code == 0
    content = json.loads((hospital / "model.json").read_text())
    with pytest.raises(UnreadableSource, match=r"discreet\.sample_tables"):
        library.sample(hospital / "model.json", rows=5)
    monkeypatch.setattr(family, "MOST_CELLS", 100)
    with pytest.raises(WrongUsage, match="rows of a child table are too many"):
        library.sample_tables(hospital / "model.json", rows=90)
    forged: list[Any] = [json.loads(json.dumps(content)) for _ in range(5)]
    forged[0]["tables"][1]["most"] = 4
    forged[1]["tables"][0]["name"] = "../patients"
    forged[2]["tables"].pop()
    forged[3]["model"]["given"] = 1
    forged[4]["model"]["children"] = []
    for one in forged:
        (hospital / "model.json").write_text(json.dumps(one))
        ran = discreet("sample", "model.json", "--rows", "5", "-o", "more")
        assert (ran.code, ran.error) == (1, "unreadable-source"), one["tables"]
        assert not (hospital / "more").exists()
