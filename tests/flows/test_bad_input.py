"""What a custodian may get wrong: each mistake has its exit code, its code, its place and a remedy.

Every cell of every table here is a marker, so that each case also shows that no message quotes data.
"""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import duckdb
import pyarrow as pa
import pytest
from pyarrow import parquet

from discreet.cli.command import cli
from discreet.errors import DiscreetError

if TYPE_CHECKING:
    from pathlib import Path

MARKERS = ("MARK", "7700", "1877")
ROWS = [
    "7700034,MARKf,MARK1,MARKflu,1877-01-02,7700.25",
    "7700034,MARKf,MARK1,MARKcold,1877-01-02,7700.5",
    "7700035,MARKm,MARK2,MARKflu,1877-02-03,7700.25",
]
HEADER = "age,sex,zip,ill,born,pay"
PEOPLE = "\n".join([HEADER, *ROWS, ""])
QUASI = ("--quasi", "age,sex")
ASSESS = ("assess", "people.csv", *QUASI)


def policy(*columns: str, criteria: str = "k-anonymity: {k: 2}", source: str = "") -> str:
    """Return a policy of one table; `columns` are lines such as `age: quasi-identifier`."""
    lines = ["tables:", "  people:"]
    lines += [f"    source: {source}"] if source else []
    lines += ["    columns:", *(f"      {column}" for column in columns)]
    return "\n".join([*lines, "    criteria:", f"      - {criteria}", ""])


ROLES = ("age: quasi-identifier", "sex: quasi-identifier", "ill: sensitive")


@dataclass(frozen=True)
class Case:
    """Files beside `people.csv`, a command, and how it must end."""

    name: str
    arguments: tuple[str, ...]
    code: str
    says: tuple[str, ...]
    exit_code: int = 2
    files: dict[str, str | bytes] = field(default_factory=dict)


def with_policy(name: str, text: str | bytes, *says: str, code: str = "invalid-policy") -> Case:
    arguments = ("check", "people.csv", "--policy", "policy.yaml")
    return Case(name, arguments, code, says, files={"policy.yaml": text})


def with_file(
    name: str, text: str | bytes, code: str, *says: str, exit_code: int = 1, file: str = "bad.csv"
) -> Case:
    return Case(name, ("assess", file), code, says, exit_code, files={file: text})


def with_population(name: str, text: str, code: str, *says: str, exit_code: int = 2) -> Case:
    arguments = (*ASSESS, "--against", "everybody.csv")
    return Case(name, arguments, code, says, exit_code, files={"everybody.csv": text})


SOURCES = [
    Case(
        "a file that is not there",
        ("assess", "poeple.csv"),
        "no-such-source",
        ("poeple.csv", "Did you mean 'people.csv'?"),
    ),
    Case("a pattern without files", ("assess", "*.nothing"), "no-such-source", ("*.nothing",)),
    Case("a file in no folder", ("assess", "no/x.csv"), "no-such-source", ("no/x.csv",)),
    Case("a folder", ("assess", "."), "unreadable-source", ("is a folder", "people.csv"), 1),
    with_file("an empty file", "", "empty-source", "bad.csv is empty", "column names"),
    with_file("blank lines", "\n\n\n", "empty-source", "bad.csv is empty"),
    with_file("an empty Parquet file", "", "unreadable-source", "bad.parquet", file="bad.parquet"),
    with_file("a header without rows", f"{HEADER}\n", "empty-source", "bad.csv", "no rows"),
    with_file(
        "a column name twice",
        "age,zip,age\nMARK1,MARK2,MARK3\n",
        "duplicate-columns",
        "bad.csv",
        "'age'",
        "Rename",
        exit_code=2,
    ),
    with_file(
        "column names that differ by case",
        "Age,zip,aGE\nMARK1,MARK2,MARK3\n",
        "duplicate-columns",
        "'Age', 'aGE'",
        "Rename",
        exit_code=2,
    ),
    Case(
        "another encoding",
        ("assess", "bad.csv", "--encoding", "utf-8"),
        "unreadable-source",
        ("bad.csv, line 2", "UTF-8", "--encoding", "cp1252"),
        1,
        {"bad.csv": f"{HEADER}\n7700034,MÄRK,MARK1,MARKflü,1877-01-02,7700\n".encode("latin-1")},
    ),
    Case(
        "an encoding nobody knows",
        (*ASSESS, "--encoding", "klingon"),
        "wrong-usage",
        ("'klingon'", "utf-8"),
    ),
    Case(
        "a delimiter that cannot be one",
        (*ASSESS, "--delimiter", ""),
        "wrong-usage",
        ("delimiter",),
    ),
    with_file(
        "binary garbage",
        bytes(range(1, 256)) * 40 + b"MARK",
        "unreadable-source",
        "bad.csv",
    ),
    with_file("zeros", b"MARK\0\0\0\0" * 500, "unreadable-source", "bad.csv", "binary"),
    with_file(
        "a damaged Parquet file",
        b"PAR1MARK" + b"\1\2MARK" * 50 + b"PAR1",
        "unreadable-source",
        "bad.parquet",
        "Parquet",
        file="bad.parquet",
    ),
    with_file(
        "a row that is too long",
        f"{PEOPLE}7700036,MARKm,MARK2,MARKflu,1877-02-03,7700.5,MARKmore\n",
        "unreadable-source",
        "bad.csv, line 5",
        "7 columns where the header has 6",
        "--delimiter",
    ),
    with_file(
        "a row that is too short",
        f"{PEOPLE}7700036,MARKm\n",
        "unreadable-source",
        "bad.csv, line 5",
        "2 columns where the header has 6",
    ),
    with_file(
        "a quotation mark that stays open",
        f'{PEOPLE}7700036,"MARKm,MARK2,MARKflu,1877-02-03,7700\n',
        "unreadable-source",
        "bad.csv",
        "quotation mark",
    ),
    with_file(
        "text that is not JSON",
        '[{"age": 7700034, "ill": MARK}]',
        "unreadable-source",
        "bad.json",
        "JSON",
        file="bad.json",
    ),
    with_file(
        "a database of another kind",
        b"SQLite format 3\0MARK",
        "unreadable-source",
        "bad.db",
        "SQLite",
        file="bad.db",
    ),
    Case(
        "a population that is not there",
        (*ASSESS, "--against", "everybody.csv"),
        "no-such-source",
        ("everybody.csv",),
    ),
    with_population(
        "a population that lacks a column",
        "age,six\n7700034,MARKf\n",
        "unknown-column",
        "everybody.csv has no column 'sex'",
        "Did you mean 'six'?",
    ),
    with_population(
        "a population of another type",
        "age,sex\nMARKold,MARKf\nMARKyoung,MARKf\n",
        "wrong-usage",
        "'age' holds integer in the table and text in everybody.csv",
        "Write both in one form",
    ),
    with_population(
        "a population of nobody",
        "age,sex\n",
        "empty-source",
        "everybody.csv has no rows",
        exit_code=1,
    ),
    with_population(
        "an empty population", "", "empty-source", "everybody.csv is empty", exit_code=1
    ),
]

COLUMNS = [
    Case(
        "an unknown quasi-identifier",
        ("assess", "people.csv", "--quasi", "age,sexx"),
        "unknown-column",
        ("'sexx'", "people.csv", "Did you mean 'sex'?"),
    ),
    Case(
        "an unknown sensitive column",
        (*ASSESS, "--sensitive", "salary"),
        "unknown-column",
        ("'salary'", "It is one of: 'age'"),
    ),
    Case("an unknown unit", (*ASSESS, "--unit", "id"), "unknown-column", ("'id'", "people.csv")),
    Case(
        "a quasi-identifier in other case",
        ("assess", "people.csv", "--quasi", "AGE"),
        "unknown-column",
        ("Did you mean 'age'?",),
    ),
    Case(
        "a sensitive quasi-identifier",
        (*ASSESS, "--sensitive", "ill,sex"),
        "conflicting-roles",
        ("'sex'", "choose one role"),
    ),
    Case(
        "a quasi-identifier named twice",
        ("assess", "people.csv", "--quasi", "age,sex,age"),
        "conflicting-roles",
        ("'age'", "twice", "Name it once"),
    ),
    Case(
        "a sensitive column named twice",
        (*ASSESS, "--sensitive", "ill,ill"),
        "conflicting-roles",
        ("'ill'", "twice", "Name it once"),
    ),
    Case(
        "a unit that is a quasi-identifier",
        (*ASSESS, "--unit", "age"),
        "conflicting-roles",
        ("'age' is the unit",),
    ),
    Case(
        "a report in no folder",
        (*ASSESS, "--report", "no/report.html"),
        "output-refused",
        ("no folder no",),
    ),
    Case(
        "a folder as report",
        (*ASSESS, "--report", "."),
        "output-refused",
        ("is a folder", "Name a file in it"),
    ),
]

POLICIES = [
    Case(
        "a policy that is not there",
        ("assess", "people.csv", "--policy", "polcy.yaml"),
        "no-such-source",
        ("'polcy.yaml'", "Did you mean 'policy.yaml'?", "discreet init"),
        files={"policy.yaml": policy(*ROLES)},
    ),
    with_policy("an empty policy", "", "policy.yaml:1", "empty", "discreet init"),
    with_policy("a policy that is not YAML", "tables: [\n x: '", "policy.yaml:2", "not YAML"),
    with_policy("a policy that is not text", bytes(range(256)), "policy.yaml:", "not UTF-8"),
    with_policy("a list as policy", "- people\n", "policy.yaml:1", "'tables'"),
    with_policy("a policy without tables", "tabels: {}\n", "Did you mean 'tables'?"),
    Case(
        "a folder as policy",
        ("assess", "people.csv", "--policy", "."),
        "invalid-policy",
        ("directory",),
    ),
    with_policy(
        "a column that the table lacks",
        policy(*ROLES, "aeg: insensitive", "bron: insensitive"),
        "policy.yaml:7: column 'aeg' is not in people.csv. Did you mean 'age'?",
        "policy.yaml:8: column 'bron' is not in people.csv. Did you mean 'born'?",
        code="unknown-column",
    ),
    with_policy(
        "a unit that the table lacks",
        policy(*ROLES).replace("    columns:", "    unit: persn\n    columns:"),
        "'persn'",
        code="unknown-column",
    ),
    with_policy(
        "a column with two roles",
        policy(*ROLES, "age: sensitive"),
        "policy.yaml:7",
        "'age' is written twice",
    ),
    with_policy(
        "a criterion on a quasi-identifier",
        policy(*ROLES, criteria="l-diversity: {column: age, l: 2}"),
        "policy.yaml:8",
        "'age' has the role 'quasi-identifier'",
    ),
    with_policy(
        "no quasi-identifier",
        policy("ill: sensitive"),
        "people.csv has no quasi-identifier",
        "--quasi",
        code="wrong-usage",
    ),
    with_policy(
        "no criteria",
        policy(*ROLES).partition("    criteria:")[0],
        "no criteria",
        "k-anonymity: {k: 5}",
        code="wrong-usage",
    ),
    with_policy(
        "k = 0",
        policy(*ROLES, criteria="k-anonymity: {k: 0}"),
        "policy.yaml:8: criterion 'k-anonymity': 'k' must be at least 1, not '0'.",
    ),
    with_policy(
        "l below 1", policy(*ROLES, criteria="l-diversity: {column: ill, l: 0}"), ":8:", "at least"
    ),
    with_policy(
        "t above 1", policy(*ROLES, criteria="t-closeness: {column: ill, t: 1.5}"), ":8:", "at most"
    ),
    with_policy(
        "t that is no number",
        policy(*ROLES, criteria="t-closeness: {column: ill, t: nan}"),
        "policy.yaml:8",
        "number",
    ),
    with_policy(
        "a criterion nobody knows",
        policy(*ROLES, criteria="k-anonimity: {k: 2}"),
        "policy.yaml:8",
        "Did you mean 'k-anonymity'?",
    ),
    with_policy(
        "an ordered distance of unordered text",
        policy(*ROLES, criteria="t-closeness: {column: ill, t: 0.2, distance: ordered}"),
        "'ill' have no order",
        "values:",
        code="invalid-criterion",
    ),
    with_policy(
        "k-map without a population",
        policy(*ROLES, criteria="k-map: {k: 2}"),
        "k-map",
        "--against",
        code="invalid-criterion",
    ),
    with_policy(
        "a hierarchy that misses a value",
        policy(
            *ROLES[:2],
            "ill: {role: sensitive, hierarchy: {tree: {all: [MARKflu]}}}",
            criteria="t-closeness: {column: ill, t: 0.2, distance: hierarchical}",
        ),
        "'ill'",
        "misses 1 of 2",
        "Add them",
        code="invalid-hierarchy",
    ),
    with_policy(
        "values that miss a value",
        policy(
            *ROLES[:2],
            "ill: {role: sensitive, values: [MARKflu]}",
            criteria="t-closeness: {column: ill, t: 0.2, distance: ordered}",
        ),
        "'ill'",
        "1 of its 2",
    ),
    with_policy(
        "a hierarchy file that is not there",
        policy(*ROLES[:2], "ill: {role: sensitive, hierarchy: {file: icd.csv}}"),
        "policy.yaml:6",
        "icd.csv",
    ),
    Case(
        "several tables and none for the file",
        ("check", "people.csv", "--policy", "policy.yaml"),
        "wrong-usage",
        ("'patients', 'visits'", "people.csv", "--table"),
        files={
            "policy.yaml": "tables:\n  patients: {columns: {age: quasi-identifier}}\n"
            "  visits: {columns: {age: quasi-identifier}}\n"
        },
    ),
    Case(
        "a table that the policy lacks",
        ("check", "people.csv", "--policy", "policy.yaml", "--table", "peple"),
        "wrong-usage",
        ("'peple'", "Did you mean 'people'?"),
        files={"policy.yaml": policy(*ROLES)},
    ),
]
CASES = SOURCES + COLUMNS + POLICIES


@pytest.fixture
def place(folder: Path) -> Path:
    (folder / "people.csv").write_text(PEOPLE, encoding="utf-8")
    return folder


def lay_out(case: Case, folder: Path) -> None:
    for name, content in case.files.items():
        data = content.encode() if isinstance(content, str) else content
        (folder / name).write_bytes(data)


def snapshot(folder: Path) -> dict[str, bytes]:
    return {
        path.name: path.read_bytes() for path in sorted(folder.iterdir()) if not path.is_symlink()
    }


def words_of(error: BaseException) -> str:
    """Return all that an error and those behind it could print."""
    parts: list[str] = []
    behind: list[BaseException | None] = [error]
    while behind:
        one = behind.pop()
        if one is not None:
            parts += [str(one), repr(one.args), *getattr(one, "__notes__", [])]
            behind += [one.__cause__, one.__context__]
    return "\n".join(parts)


def quotes(text: str) -> list[str]:
    return [marker for marker in MARKERS if marker in text]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_a_mistake_is_reported_with_code_place_and_remedy(case: Case, place: Path, discreet):
    lay_out(case, place)
    before = snapshot(place)
    writes_report = case.arguments[0] == "assess" and "--report" not in case.arguments
    ran = discreet(*case.arguments, *(("--report", "report.html") if writes_report else ()))
    assert (ran.code, ran.error or ran.err) == (case.exit_code, case.code)
    assert [words for words in case.says if words not in ran.err] == []
    assert ran.out == ""
    assert "Traceback" not in ran.err
    assert quotes(ran.err) == []
    assert snapshot(place) == before


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_no_error_behind_the_error_quotes_a_cell(case: Case, place: Path):
    lay_out(case, place)
    with pytest.raises(DiscreetError) as caught:
        cli.main(args=list(case.arguments), prog_name="discreet", standalone_mode=False)
    assert quotes(words_of(caught.value)) == []


def test_a_link_to_nowhere_is_a_file_that_is_not_there(place: Path, discreet):
    (place / "link.csv").symlink_to("nowhere.csv")
    ran = discreet("assess", "link.csv")
    assert (ran.code, ran.error) == (2, "no-such-source")
    assert "Did you mean 'link.csv'" not in ran.err


def test_a_table_of_a_file_that_has_none_is_refused(place: Path, discreet):
    ran = discreet(*ASSESS, "--table", "patients")
    assert (ran.code, ran.error) == (2, "wrong-usage")
    assert "--table" in ran.err


def test_a_database_that_a_process_writes_to_is_locked(place: Path, discreet):
    duckdb.connect(str(place / "clinic.duckdb")).close()
    hold = "import duckdb, sys; c = duckdb.connect(sys.argv[1]); print(flush=True); input()"
    with subprocess.Popen(
        [sys.executable, "-c", hold, "clinic.duckdb"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    ) as writer:
        assert writer.stdout
        writer.stdout.readline()
        ran = discreet("assess", "clinic.duckdb", "--table", "people", *QUASI)
        writer.communicate(b"\n")
    assert (ran.code, ran.error) == (1, "locked-source")
    assert "clinic.duckdb" in ran.err


def test_a_table_that_a_database_lacks_is_reported_with_those_it_has(place: Path, discreet):
    with duckdb.connect(str(place / "clinic.duckdb")) as connection:
        connection.execute("CREATE TABLE people AS SELECT 'MARK' AS ill")
    ran = discreet("assess", "clinic.duckdb", "--table", "peple", *QUASI)
    assert (ran.code, ran.error) == (2, "no-such-source")
    assert "Did you mean 'people'?" in ran.err


def test_damage_in_the_middle_of_a_parquet_file_is_reported_without_its_bytes(
    place: Path, discreet
):
    path = place / "people.parquet"
    cells = [f"MARK{n}" for n in range(5000)]
    parquet.write_table(pa.table({"age": cells, "ill": cells[::-1]}), path)
    data = bytearray(path.read_bytes())
    data[200:4000] = b"MARK" * 950
    path.write_bytes(bytes(data))
    ran = discreet("assess", "people.parquet", "--quasi", "age", "--sensitive", "ill")
    assert ran.code == 1
    assert ran.error in ("unreadable-source", "engine-failed")
    assert quotes(ran.err) == []


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_a_file_without_rights_is_unreadable(place: Path, discreet):
    (place / "people.csv").chmod(0)
    ran = discreet(*ASSESS)
    assert (ran.code, ran.error) == (1, "unreadable-source")


def test_an_existing_report_survives_an_error(place: Path, discreet):
    (place / "report.html").write_text("mine", encoding="utf-8")
    ran = discreet("assess", "people.csv", "--quasi", "nothing", "--report", "report.html")
    assert ran.code == 2
    assert (place / "report.html").read_text("utf-8") == "mine"
