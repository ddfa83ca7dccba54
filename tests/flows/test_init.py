"""`discreet init` from the prompt: what is printed, written and refused."""

from __future__ import annotations

import json
from importlib.resources import files
from pathlib import Path

import pytest

from discreet.cli.command import run_command
from discreet.policy.load import load_policy
from discreet.policy.model import ColumnRole

HOSPITAL = Path(str(files("discreet") / "data" / "hospital"))


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in ("patients.csv", "visits.csv", "doctors.csv"):
        (tmp_path / name).write_bytes((HOSPITAL / name).read_bytes())
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_a_policy_is_printed(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run_command(["init", "patients.csv"]) == 0
    printed = capsys.readouterr().out
    (folder / "policy.yaml").write_text(printed, encoding="utf-8")
    table = load_policy(folder / "policy.yaml").tables["patients"]
    assert table.unit == "patient_id"
    assert table.with_role(ColumnRole.SENSITIVE) == ("salary", "insurance", "diagnosis")
    identifiers = ("patient_id", "name", "national_id", "email", "phone", "address")
    assert table.with_role(ColumnRole.IDENTIFIER) == identifiers


def test_several_files_become_one_policy_with_references(folder: Path) -> None:
    assert (
        run_command(["init", "patients.csv", "visits.csv", "doctors.csv", "-o", "policy.yaml"]) == 0
    )
    tables = load_policy(folder / "policy.yaml").tables
    assert list(tables) == ["patients", "visits", "doctors"]
    assert tables["visits"].unit == "patient_id"
    patient, doctor = tables["visits"].column("patient_id"), tables["visits"].column("doctor_id")
    assert patient is not None
    assert patient.references == ("patients", "patient_id")
    assert doctor is not None
    assert doctor.references == ("doctors", "doctor_id")


def test_the_written_policy_is_accepted_by_check(folder: Path) -> None:
    assert run_command(["init", "patients.csv", "-o", "policy.yaml"]) == 0
    assert run_command(["check", "patients.csv", "--policy", "policy.yaml"]) == 3


def test_a_source_is_written_as_seen_from_the_policy(folder: Path) -> None:
    (folder / "policies").mkdir()
    assert run_command(["init", "patients.csv", "-o", "policies/p.yaml"]) == 0
    assert "source: ../patients.csv" in (folder / "policies" / "p.yaml").read_text("utf-8")


def test_json_reports_reason_confidence_and_evidence(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run_command(["init", "patients.csv", "--json"]) == 0
    table = json.loads(capsys.readouterr().out)["tables"][0]
    email = next(column for column in table["columns"] if column["column"] == "email")
    assert email["role"] == "identifier"
    assert email["confidence"] == "high"
    assert email["safe_harbor"] == "F"
    assert email["evidence"]["patterns"] == {"e-mail address": 1460}


def test_an_existing_file_is_not_replaced(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "policy.yaml").write_text("mine", encoding="utf-8")
    assert run_command(["init", "patients.csv", "-o", "policy.yaml"]) == 2
    assert "[output-refused]" in capsys.readouterr().err
    assert (folder / "policy.yaml").read_text("utf-8") == "mine"


def test_force_replaces_an_existing_file(folder: Path) -> None:
    (folder / "policy.yaml").write_text("mine", encoding="utf-8")
    assert run_command(["init", "patients.csv", "-o", "policy.yaml", "--force"]) == 0
    assert "patients" in load_policy(folder / "policy.yaml").tables


def test_a_dry_run_writes_nothing(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run_command(["init", "patients.csv", "-o", "policy.yaml", "--dry-run"]) == 0
    assert "tables:" in capsys.readouterr().out
    assert not (folder / "policy.yaml").exists()


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (["missing.csv"], "no-such-source"),
        (["empty.csv"], "empty-source"),
        (["patients.csv", "missing.csv"], "no-such-source"),
        (["patients.csv", "visits.csv", "--table", "x"], "wrong-usage"),
        (["patients.csv", "-o", "nowhere/policy.yaml"], "output-refused"),
        (["patients.csv", "-o", "."], "output-refused"),
    ],
)
def test_an_error_has_its_code_and_writes_nothing(
    folder: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], code: str
) -> None:
    (folder / "empty.csv").write_bytes(b"")
    before = sorted(folder.iterdir())
    output = [] if "-o" in arguments else ["-o", "policy.yaml"]
    assert run_command(["init", *arguments, *output]) in (1, 2)
    assert f"[{code}]" in capsys.readouterr().err
    assert sorted(folder.iterdir()) == before


def test_a_file_with_a_header_only_gets_a_draft_by_names(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "header.csv").write_text("name,age,diagnosis\n", encoding="utf-8")
    assert run_command(["init", "header.csv"]) == 0
    assert "diagnosis: {role: sensitive, kind: text}" in capsys.readouterr().out


def test_a_delimiter_may_be_given(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    lines = ["name|age", *(f"Anna Meier {n}|{n % 60 + 20}" for n in range(60))]
    (folder / "odd.txt").write_text("\n".join(lines), encoding="utf-8")
    assert run_command(["init", "odd.txt", "--delimiter", "|"]) == 0
    assert "name: {role: identifier, kind: text}" in capsys.readouterr().out


def test_the_schema_for_editors_is_printed_without_a_source(capsys):
    import json

    from discreet.cli.command import run_command

    assert run_command(["init", "--schema"]) == 0
    assert json.loads(capsys.readouterr().out)["$defs"]


def test_columns_that_init_is_unsure_about_do_not_pass_the_gate(folder: Path, discreet):
    answers = [f"{30 + n % 4},{'abcde'[n % 5]},{'abcd'[n * 7 // 5 % 4]}" for n in range(80)]
    (folder / "survey.csv").write_text("\n".join(["age,first,second", *answers, ""]), "utf-8")
    assert discreet("init", "survey.csv", "-o", "policy.yaml").code == 0
    drafted = (folder / "policy.yaml").read_text("utf-8")
    assert "first: {role: insensitive, kind: text, unsure: true}" in drafted
    refused = discreet("check", "survey.csv", "--policy", "policy.yaml")
    assert refused.code == 3
    assert "FAILED The policy is unsure about columns 'first' and 'second'." in refused.out
    made = discreet("anonymize", "survey.csv", "--policy", "policy.yaml", "-o", "out.csv")
    assert (made.code, made.error) == (3, "risk-not-tolerated")
    assert not (folder / "out.csv").exists()
