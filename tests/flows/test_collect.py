"""`discreet collect`: reports out of a file, counts out of reports."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pyarrow.parquet as pq
import pytest

if TYPE_CHECKING:
    from pathlib import Path

VALUES = ("flu", "cold", "hiv")
TRUTH = {"flu": 3000, "cold": 900, "hiv": 100}
ASK = ("--column", "ill", "--values", ",".join(VALUES), "--epsilon", "2")


@pytest.fixture
def town(folder: Path) -> Path:
    path = folder / "town.csv"
    ill = [value for value, count in TRUTH.items() for _ in range(count)]
    rows = [f"{number},{value}" for number, value in enumerate(ill)]
    path.write_text("\n".join(["id,ill", *rows, ""]), encoding="utf-8")
    return path


def estimates(ran) -> dict[str, dict[str, float]]:
    return {item["value"]: item for item in ran.json["values"]}


@pytest.mark.statistics
@pytest.mark.parametrize("method", ["grr", "oue", "olh", "hadamard"])
@pytest.mark.parametrize("name", ["reports.csv", "reports.parquet"])
def test_reports_come_back_as_counts(method: str, name: str, town: Path, discreet):
    # 4,000 people; six standard errors are exceeded with a chance below 1e-8.
    made = discreet("collect", town, *ASK, "--method", method, "-o", name, "--json")
    assert (made.code, made.json["rows"], made.json["epsilon"]) == (0, 4000, 2)
    found = discreet("collect", "--estimate", name, "--json")
    assert (found.code, found.json["reports"], found.json["method"]) == (0, 4000, method)
    for value, truth in TRUTH.items():
        result = estimates(found)[value]
        assert abs(result["count"] - truth) < 6 * result["standard_error"]
        assert result["lower"] <= result["upper"]


def test_two_values_are_reported_by_randomized_response(folder: Path, discreet):
    (folder / "s.csv").write_text("smokes\n" + "yes\nno\n" * 50)
    ask = ("s.csv", "--column", "smokes", "--values", "no,yes", "--epsilon", "1")
    made = discreet("collect", *ask, "-o", "r.csv")
    assert "by randomized-response: 1-DP for each report" in made.out
    assert set((folder / "r.csv").read_text().split()) <= {"report", "yes", "no"}
    result = discreet("collect", "--estimate", "r.csv")
    assert "100 reports by randomized-response, each 1-DP" in result.out


def test_reports_hold_nothing_else_and_are_in_no_order_of_people(town: Path, folder, discreet):
    discreet("collect", town, *ASK, "--method", "grr", "-o", "r.csv")
    lines = (folder / "r.csv").read_text().split()
    assert lines[0] == "report"
    assert lines[1:] == sorted(lines[1:])


def test_the_manifest_says_how_to_count_and_nothing_about_people(town: Path, folder, discreet):
    discreet("collect", town, *ASK, "-o", "r.csv")
    content = json.loads((folder / "r.csv.json").read_text("utf-8"))
    assert (content["method"], content["epsilon"], content["values"]) == ("grr", "2", list(VALUES))
    assert content["rows"] == 4000


def test_without_a_manifest_the_protocol_must_be_named(town: Path, folder: Path, discreet):
    discreet("collect", town, *ASK, "--method", "oue", "-o", "r.csv")
    (folder / "r.csv.json").unlink()
    refused = discreet("collect", "--estimate", "r.csv")
    assert (refused.code, refused.error) == (2, "wrong-usage")
    how = ("--method", "oue", "--epsilon", "2", "--values", ",".join(VALUES))
    assert discreet("collect", "--estimate", "r.csv", *how, "--json").json["reports"] == 4000


def test_a_manifest_and_words_that_may_contradict_it_are_refused(town: Path, discreet):
    discreet("collect", town, *ASK, "-o", "r.csv")
    ran = discreet("collect", "--estimate", "r.csv", "--epsilon", "1")
    assert (ran.code, ran.error) == (2, "wrong-usage")


def test_consistent_counts_add_up(town: Path, discreet):
    discreet("collect", town, *ASK, "-o", "r.csv")
    found = discreet("collect", "--estimate", "r.csv", "--consistent", "--json")
    assert sum(item["count"] for item in found.json["values"]) == pytest.approx(4000)


def test_the_values_may_come_from_the_policy(town: Path, folder: Path, discreet):
    (folder / "policy.yaml").write_text(
        "tables:\n  town:\n    unit: id\n    columns:\n"
        "      id: identifier\n      ill: {role: sensitive, values: [flu, cold, hiv]}\n"
    )
    ask = (town, "--column", "ill", "--epsilon", "1", "--policy", "policy.yaml")
    assert discreet("collect", *ask, "-o", "r.csv").code == 0
    assert json.loads((folder / "r.csv.json").read_text())["values"] == list(VALUES)


def test_values_that_were_drafted_from_the_data_are_refused(town: Path, folder: Path, discreet):
    (folder / "policy.yaml").write_text(
        "tables:\n  town:\n    columns:\n"
        "      ill: {role: sensitive, values: {drafted: [flu, cold, hiv]}}\n"
    )
    ask = (town, "--column", "ill", "--epsilon", "1", "--policy", "policy.yaml")
    ran = discreet("collect", *ask, "-o", "r.csv")
    assert ran.code == 2
    assert "change that word to `public`" in ran.err


def test_several_rows_of_one_person_are_refused(folder: Path, discreet):
    (folder / "visits.csv").write_text("id,ill\n1,flu\n1,flu\n2,cold\n")
    (folder / "policy.yaml").write_text(
        "tables:\n  visits:\n    unit: id\n    columns: {id: identifier, ill: sensitive}\n"
    )
    ran = discreet("collect", "visits.csv", *ASK, "--policy", "policy.yaml", "-o", "r.csv")
    assert (ran.code, ran.error) == (2, "unsuitable-values")
    assert "more rows than people" in ran.err
    assert not (folder / "r.csv").exists()


def test_values_are_never_taken_from_the_data(town: Path, folder: Path, discreet):
    ran = discreet("collect", town, "--column", "ill", "--epsilon", "1", "-o", "r.csv")
    assert (ran.code, ran.error) == (2, "wrong-usage")
    assert "must be public" in ran.err


def test_unlisted_values_are_refused_or_stand_in_for(town: Path, folder: Path, discreet):
    ask = (town, "--column", "ill", "--values", "flu,other", "--epsilon", "1", "-o", "r.csv")
    ran = discreet("collect", *ask)
    assert (ran.code, ran.error) == (2, "unsuitable-values")
    assert "1000 of 4000" in ran.err
    assert "hiv" not in ran.err
    assert sorted(folder.iterdir()) == [town]
    assert discreet("collect", *ask, "--other", "other").code == 0


def test_an_output_that_exists_is_kept(town: Path, folder: Path, discreet):
    (folder / "r.csv").write_text("mine\n")
    ran = discreet("collect", town, *ASK, "-o", "r.csv")
    assert (ran.code, ran.error) == (2, "output-refused")
    assert (folder / "r.csv").read_text() == "mine\n"
    assert discreet("collect", town, *ASK, "-o", "r.csv", "--force").code == 0
    assert (folder / "r.csv").read_text().startswith("report\n")


def test_a_manifest_that_exists_is_kept(town: Path, folder: Path, discreet):
    (folder / "r.csv.json").write_text("mine\n")
    ran = discreet("collect", town, *ASK, "-o", "r.csv")
    assert (ran.code, ran.error) == (2, "output-refused")
    assert not (folder / "r.csv").exists()
    assert (folder / "r.csv.json").read_text() == "mine\n"


def test_the_source_is_not_replaced(town: Path, discreet):
    before = town.read_text()
    ran = discreet("collect", town, *ASK, "-o", town, "--force")
    assert (ran.code, ran.error) == (2, "output-refused")
    assert town.read_text() == before


def test_a_dry_run_reports_the_error_and_writes_nothing(town: Path, folder: Path, discreet):
    ran = discreet("collect", town, *ASK, "--dry-run", "--json")
    assert ran.json["error"] == pytest.approx(28.7, abs=0.1)
    assert ran.json["output"] is None
    assert sorted(folder.iterdir()) == [town]


@pytest.mark.parametrize(
    ("words", "code"),
    [
        ("collect", "wrong-usage"),
        ("collect town.csv --column ill -o r.csv --values a,b", "wrong-usage"),
        ("collect town.csv --epsilon 1 -o r.csv --values a,b", "wrong-usage"),
        ("collect town.csv --column ill --epsilon 1 --values a,b", "wrong-usage"),
        ("collect town.csv --column il --epsilon 1 --values a,b -o r.csv", "unknown-column"),
        ("collect town.csv --column ill --epsilon 0 --values a,b -o r.csv", "invalid-budget"),
        ("collect town.csv --column ill --epsilon 1 --values a -o r.csv", "invalid-mechanism"),
        ("collect town.csv --column ill --epsilon 1 --values a,b -o r.xlsx", "output-refused"),
        ("collect town.csv --column ill --epsilon 1 --values a,b -o r/", "output-refused"),
        ("collect town.csv --consistent", "wrong-usage"),
        ("collect none.csv --column ill --epsilon 1 --values a,b -o r.csv", "no-such-source"),
        ("collect --estimate none.csv", "no-such-source"),
        ("collect town.csv --estimate r.csv", "wrong-usage"),
        ("collect --estimate town.csv --method grr --epsilon 1 --values a,b", "unknown-column"),
    ],
)
def test_what_cannot_be_collected_is_reported(words: str, code: str, town, folder, discreet):
    ran = discreet(*words.split())
    assert (ran.out, ran.error) == ("", code)
    assert ran.code == 2
    assert sorted(folder.iterdir()) == [town]


def test_a_collection_without_people_is_refused(folder: Path, discreet):
    (folder / "nobody.csv").write_text("ill\n")
    ran = discreet("collect", "nobody.csv", *ASK, "-o", "r.csv")
    assert (ran.code, ran.error) == (1, "empty-source")


@pytest.mark.parametrize(
    "content", ["", "{}", '{"method": "grr"}', "[1]", '{"format": 1, "epsilon": "1/0"}']
)
def test_what_is_no_manifest_is_refused(content: str, town: Path, folder: Path, discreet):
    discreet("collect", town, *ASK, "-o", "r.csv")
    (folder / "r.csv.json").write_text(content)
    ran = discreet("collect", "--estimate", "r.csv")
    assert (ran.code, ran.error) == (2, "invalid-manifest")


def test_damaged_reports_are_refused_and_not_quoted(town: Path, folder: Path, discreet):
    discreet("collect", town, *ASK, "-o", "r.csv")
    with (folder / "r.csv").open("a") as file:
        file.write("Alice Meier\n")
    ran = discreet("collect", "--estimate", "r.csv")
    assert (ran.code, ran.error) == (1, "unreadable-source")
    assert "Alice" not in ran.err


def test_reports_in_parquet_have_whole_numbers(town: Path, folder: Path, discreet):
    discreet("collect", town, *ASK, "--method", "olh", "-o", "r.parquet")
    assert [str(field.type) for field in pq.read_schema(folder / "r.parquet")] == ["int64", "int64"]
