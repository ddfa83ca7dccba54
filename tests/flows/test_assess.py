"""`discreet assess` from the prompt: what is printed, what is written, and what any table may be."""

from __future__ import annotations

import csv
import io
import json
import os
import re
import signal
import subprocess
import sys
import time
from importlib.resources import files
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pytest
from pyarrow import parquet

DISCREET = Path(sys.executable).parent / "discreet"
HOSPITAL = Path(str(files("discreet") / "data" / "hospital"))
REFERENCE = Path(__file__).parents[2] / "docs" / "reference" / "assess.md"
ROLES = ("--quasi", "age,sex", "--sensitive", "ill")

CLASSES = {"[]": {"values": "…", "size": "", "level": ""}}
ESTIMATE = dict.fromkeys(("uniques", "share", "converged", "reason"), "")
ADVERSARY = dict.fromkeys(("worst", "average", "threshold", "people_at_risk", "share_at_risk"), "")
SET = {
    **dict.fromkeys(("classes", "k", "unique", "minimal"), ""),
    "columns": {"[]": ""},
    "people_by_size": {"[]": ""},
}
# The public keys. A new one is added here and in docs/reference/assess.md; none is taken away.
KEYS: dict[str, Any] = {
    **dict.fromkeys(("source", "verdict", "unit", "roles_guessed", "rows", "people"), ""),
    **dict.fromkeys(("suppressed", "classes", "unique", "k"), ""),
    "quasi": {"[]": ""},
    "cautions": "…",
    "class_sizes": "…",
    "smallest": CLASSES,
    "columns": {
        "[]": dict.fromkeys(("column", "role", "distinct", "missing", "unique", "largest"), "")
    },
    "sensitive": {
        "ill": {
            **dict.fromkeys(("values", "missing", "alpha", "basic_beta", "enhanced_beta"), ""),
            "delta_disclosure": "",
            "homogeneous": "",
            "modal_share": "",
            "l": {
                **dict.fromkeys(("distinct", "probabilistic", "entropy"), ""),
                "recursive": dict.fromkeys(("2", "3", "4", "5"), ""),
            },
            "t": dict.fromkeys(("equal", "ordered", "hierarchical"), ""),
            "worst": dict.fromkeys(
                (
                    *("distinct", "probabilistic", "entropy", "confidence", "equal"),
                    *("recursive_2", "recursive_3", "recursive_4", "recursive_5"),
                    *("basic_beta", "enhanced_beta", "delta_disclosure"),
                ),
                CLASSES,
            ),
        }
    },
    "criteria": {
        "[]": {
            **dict.fromkeys(("criterion", "column", "reached", "holds"), ""),
            **dict.fromkeys(("failing_classes", "failing_people"), ""),
            "required": {"k": ""},
            "worst": CLASSES,
        }
    },
    "risk": {
        **dict.fromkeys(("people", "classes", "with_population", "with_weights"), ""),
        "prosecutor": ADVERSARY,
        "journalist": ADVERSARY,
        "marketer": {"expected_people": "", "expected_share": ""},
    },
    "joint": {
        **dict.fromkeys(("people", "columns", "unique", "exposed", "secret"), ""),
        "enough_unique": "",
        "enough": {"[]": ""},
    },
    "exposures": {
        "[]": dict.fromkeys(
            ("attack", "column", "people", "share", "tolerance", "exceeds", "words"), ""
        )
    },
    "undecided": "…",
    "presence": {
        **dict.fromkeys(("population", "k_map", "lowest", "highest"), ""),
        "people_not_in_population": "",
        "worst": CLASSES,
    },
    "population": {
        **dict.fromkeys(("fraction", "population", "sample_uniques", "chosen"), ""),
        **dict.fromkeys(("uniques", "share"), ""),
        **dict.fromkeys(("pitman", "zayatz", "snb"), ESTIMATE),
    },
    "combinations": {
        **dict.fromkeys(("depth", "people", "unique", "singled_out", "intrusion"), ""),
        "columns": {"[]": ""},
        "minimal_by_size": {"[]": ""},
        "sets": {"[]": SET},
        "most_exposing": {"[]": SET},
        "exposures": {"[]": dict.fromkeys(("column", "minimal_uniques", "contribution"), "")},
        "records": {"[]": {"id": "", "score": "", "intrusion": "", "smallest": {"[]": ""}}},
        "scores": {"[]": {"score": "", "people": ""}},
        "cautions": "…",
    },
    "weighted": "…",
}


def missing_keys(expected: Any, found: Any, path: str = "") -> list[str]:
    """Return the places of `expected` that `found` lacks; every item of a list is looked at."""
    if not isinstance(expected, dict):
        return []
    if "[]" in expected:
        if not isinstance(found, list) or not found:
            return [f"{path} is no list with items"]
        return [lack for item in found for lack in missing_keys(expected["[]"], item, f"{path}[]")]
    if not isinstance(found, dict):
        return [f"{path} has no keys"]
    return [
        lack
        for key, below in expected.items()
        for lack in (
            missing_keys(below, found[key], f"{path}.{key}") if key in found else [f"{path}.{key}"]
        )
    ]


def unknown_keys(expected: Any, found: Any, path: str = "") -> list[str]:
    """Return the places of `found` that `expected` does not list."""
    if isinstance(found, list) and isinstance(expected, dict) and "[]" in expected:
        return [new for item in found for new in unknown_keys(expected["[]"], item, f"{path}[]")]
    if not isinstance(found, dict) or expected == "…":
        return []
    if not isinstance(expected, dict):
        return [path]
    return [
        new
        for key, below in found.items()
        for new in (
            unknown_keys(expected[key], below, f"{path}.{key}")
            if key in expected
            else [f"{path}.{key}"]
        )
    ]


@pytest.fixture
def everything(people: Path, discreet) -> Any:
    """All of an assessment: policy, population, combinations, and a person who is unique."""
    with people.open("a", encoding="utf-8") as file:
        file.write("99,F,01234,flu\n")
    policy = people.with_name("policy.yaml")
    policy.write_text(policy.read_text("utf-8") + "      - k-anonymity: {k: 3}\n", "utf-8")
    rows = "".join(f"{age},{sex}\n" for age in (34, 35, 99) for sex in "FM" for _ in range(5))
    people.with_name("everybody.csv").write_text(f"age,sex\n{rows}", "utf-8")
    ran = discreet(
        *("assess", people, "--policy", "policy.yaml", "--against", "everybody.csv", "--json")
    )
    assert (ran.code, ran.err) == (0, "")
    return ran.json


def test_the_json_has_every_key_it_promises(everything):
    assert missing_keys(KEYS, everything) == []


def test_a_new_key_of_the_json_is_added_to_the_promise(everything):
    assert sorted(set(unknown_keys(KEYS, everything))) == []


def test_the_documentation_names_every_key_at_the_top_of_the_json():
    table = REFERENCE.read_text("utf-8").partition("## JSON")[2]
    assert [key for key in KEYS if f"`{key}" not in table] == []


def test_the_figures_are_right(everything):
    wanted = ("rows", "people", "classes", "unique", "k", "quasi", "unit", "roles_guessed")
    assert {key: everything[key] for key in wanted} == {
        "rows": 7,
        "people": 7,
        "classes": 3,
        "unique": 1,
        "k": 1,
        "quasi": ["age", "sex"],
        "unit": None,
        "roles_guessed": False,
    }
    assert everything["class_sizes"] == {"1": 1, "3": 6}
    assert everything["presence"]["k_map"] == 5


def test_what_is_infinite_or_undefined_is_reported_in_words(everything):
    ill = everything["sensitive"]["ill"]
    assert ill["l"]["recursive"]["2"] == "inf"
    assert ill["delta_disclosure"] == "inf"
    assert ill["t"]["ordered"] is None
    assert ill["t"]["hierarchical"] is None


def test_the_json_is_json_of_the_standard(everything):
    assert "NaN" not in json.dumps(everything, allow_nan=False)


def test_the_verdict_is_the_first_line_however_long(folder: Path, discreet):
    names = [f"a_rather_long_name_of_a_column_{n}" for n in range(4)]
    (folder / "wide.csv").write_text(f"{','.join(names)}\n1,2,3,4\n5,6,7,8\n", "utf-8")
    ran = discreet("assess", "wide.csv", "--quasi", ",".join(names), "--depth", "0")
    first = ran.out.splitlines()[0]
    assert first.startswith("2 of 2 people are unique on a_rather_long")
    assert first.endswith("(100 %).")


def test_tables_follow_the_verdict_and_nothing_is_colored(people: Path, discreet):
    ran = discreet("assess", people, *ROLES)
    assert (ran.code, ran.err) == (0, "")
    assert ran.out.startswith("None of the 6 people is unique on age and sex")
    assert "People by the size of their class" in ran.out
    assert "What the worst class reveals" in ran.out
    assert "Chance that a match is right" in ran.out
    assert "\x1b" not in ran.out


def test_depth_0_leaves_out_the_search(people: Path, discreet):
    found = discreet("assess", people, *ROLES, "--depth", "0", "--json").json
    assert found["combinations"] is None
    assert found["columns"] == []


def test_a_fraction_estimates_the_population(people: Path, discreet):
    found = discreet("assess", people, *ROLES, "--fraction", "0.1", "--json").json
    assert found["population"]["population"] == 60
    assert found["presence"] is None


def test_the_population_may_be_given(people: Path, discreet):
    people.with_name("all.csv").write_text("sex,age\n" + "F,34\nM,35\n" * 10, "utf-8")
    ran = discreet("assess", people, *ROLES, "--against", "all.csv")
    assert (
        "Against a population of 20 people: each class has at least 10 of them (k-map)" in ran.out
    )


def test_a_unit_counts_people_instead_of_rows(folder: Path, discreet):
    (folder / "visits.csv").write_text("who,ward\na,1\na,1\nb,1\nc,2\n", "utf-8")
    found = discreet("assess", "visits.csv", "--quasi", "ward", "--unit", "who", "--json").json
    assert (found["rows"], found["people"], found["unique"], found["k"]) == (4, 3, 1, 1)
    assert found["class_sizes"] == {"1": 1, "2": 2}


def test_roles_are_guessed_without_words_about_them(folder: Path, discreet):
    (folder / "patients.csv").write_bytes((HOSPITAL / "patients.csv").read_bytes())
    found = discreet("assess", "patients.csv", "--depth", "0", "--json").json
    assert found["roles_guessed"] is True
    assert {"birth_date", "sex", "postcode"} <= set(found["quasi"])
    assert "diagnosis" in found["sensitive"]
    assert any("guessed" in caution for caution in found["cautions"])


@pytest.mark.parametrize(
    ("delimiter", "typed"), [(";", ";"), ("\t", "\\t"), ("|", "|"), ("#", "#")]
)
def test_a_delimiter_may_be_named(people: Path, discreet, delimiter: str, typed: str):
    text = people.read_text("utf-8").replace(",", delimiter)
    people.with_name("other.txt").write_text(text, "utf-8")
    ran = discreet("assess", "other.txt", *ROLES, "--delimiter", typed, "--depth", "0", "--json")
    assert ran.json["rows"] == 6


def test_standard_input_is_a_source(people: Path, discreet, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(people.read_bytes())))
    found = discreet("assess", "-", *ROLES, "--depth", "0", "--json").json
    assert (found["source"], found["rows"]) == ("standard input", 6)


def test_a_pattern_opens_all_its_files(people: Path, discreet):
    people.with_name("people2.csv").write_bytes(people.read_bytes())
    found = discreet("assess", "peop*.csv", *ROLES, "--depth", "0", "--json").json
    assert found["rows"] == 12


def test_a_parquet_file_and_a_database_give_the_same_as_csv(people: Path, discreet):
    with duckdb.connect("people.duckdb") as connection:
        connection.execute("CREATE TABLE persons AS FROM read_csv('people.csv')")
        connection.execute("COPY persons TO 'people.parquet'")
    arguments = (*ROLES, "--depth", "0", "--json")
    expected = discreet("assess", people, *arguments).json
    for source in (("people.parquet",), ("people.duckdb", "--table", "persons")):
        found = discreet("assess", *source, *arguments).json
        assert {**found, "source": ""} == {**expected, "source": ""}


def test_the_report_is_written_beside_the_result(people: Path, discreet):
    ran = discreet("assess", people, *ROLES, "--report", "out.html", "--json")
    assert ran.code == 0
    assert ran.json["rows"] == 6
    assert ran.err == "Report written to out.html.\n"
    page = people.with_name("out.html").read_text("utf-8")
    assert page.lower().startswith("<!doctype html>")
    assert "cold" not in page


def test_the_order_of_rows_does_not_matter(people: Path, discreet):
    header, *rows = people.read_text("utf-8").splitlines()
    first = discreet("assess", people, *ROLES, "--json").json
    people.write_text("\n".join([header, *reversed(rows)]), "utf-8")
    assert discreet("assess", people, *ROLES, "--json").json == first


NAMES = [
    *('quo"te', "apo'strophe", "a.b", "a b", " ", "a,b", "%s", "{x}", ";", "--", "*", "\\", "[b]"),
    *("select", "group", "table", "rows", "unit", "size", "k0", "value", "t", "c", "s", "u", "p"),
    *("people", "among", "q0", "n", "id", "classes", "level", "once", "count", "column1", "weight"),
    *("👍🏽", "größe", "名前", "x" * 300, "discreet_kept_1", "null", "true", "1", "-1"),
]


def quoted(*names: str) -> str:
    """Return names as `--quasi` reads them."""
    line = io.StringIO()
    csv.writer(line).writerow(names)
    return line.getvalue().strip()


@pytest.fixture(scope="module")
def oddly_named(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A table whose columns have every name above; cells are the same numbers in each."""
    path = tmp_path_factory.mktemp("odd") / "names.parquet"
    cells = [n % 3 for n in range(12)]
    parquet.write_table(pa.table(dict.fromkeys(NAMES, cells)), path)
    return path


@pytest.mark.parametrize("index", range(0, len(NAMES), 4))
def test_a_column_may_have_any_name(oddly_named: Path, discreet, index: int):
    names = [*NAMES, *NAMES][index : index + 4]
    names = [name for name in names if name.strip()]
    *quasi, sensitive, unit = names
    ran = discreet(
        *("assess", oddly_named, "--quasi", quoted(*quasi), "--sensitive", quoted(sensitive)),
        *("--unit", unit, "--against", oddly_named, "--depth", "2", "--json"),
    )
    assert (ran.code, ran.err) == (0, "")
    assert ran.json["quasi"] == quasi
    assert list(ran.json["sensitive"]) == [sensitive]
    assert (ran.json["rows"], ran.json["people"], ran.json["classes"]) == (12, 3, 3)


def test_all_those_names_can_be_shown(oddly_named: Path, discreet):
    names = [name for name in NAMES if name.strip()]
    ran = discreet("assess", oddly_named, "--quasi", quoted(*names), "--depth", "1")
    assert (ran.code, ran.err) == (0, "")
    assert f"None of the 12 people is unique on {len(names)} quasi-identifiers" in ran.out


def test_a_file_may_have_any_name(people: Path, discreet):
    name = 'it\'s "my" file *[a]? ; --x %s {y} größe 👍.csv'
    people.rename(people.with_name(name))
    ran = discreet("assess", name, *ROLES, "--json")
    assert (ran.code, ran.json["source"], ran.json["rows"]) == (0, name, 6)


def test_a_cell_may_hold_lines_quotes_and_delimiters(folder: Path, discreet):
    with (folder / "text.csv").open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(["age", "note"])
        writer.writerows([[30, 'a\nb,"c"\r\nd'], [30, 'a\nb,"c"\r\nd'], [41, "x"]])
    found = discreet("assess", "text.csv", "--quasi", "age,note", "--json").json
    assert found["class_sizes"] == {"1": 1, "2": 2}
    assert found["smallest"][1]["values"]["note"] == 'a\nb,"c"\r\nd'


def test_a_table_may_have_a_thousand_columns(folder: Path, discreet):
    names = [f"c{n}" for n in range(1000)]
    row = ",".join(str(n % 7) for n in range(1000))
    (folder / "wide.csv").write_text(f"{','.join(names)}\n{row}\n{row}\n", "utf-8")
    ran = discreet("assess", "wide.csv", "--quasi", "c0,c999", "--depth", "0", "--json")
    assert (ran.code, ran.json["k"]) == (0, 2)


def test_a_table_of_one_cell_can_be_assessed(folder: Path, discreet):
    (folder / "one.csv").write_text("age\n1\n", "utf-8")
    ran = discreet("assess", "one.csv", "--quasi", "age")
    assert (ran.code, ran.err) == (0, "")
    assert ran.out.startswith("1 of 1 person is unique on age")


def test_nothing_stays_in_the_temporary_folder(
    people: Path, discreet, tmp_path_factory: pytest.TempPathFactory, monkeypatch
):
    place = tmp_path_factory.mktemp("temporary")
    monkeypatch.setattr("tempfile.tempdir", str(place))
    assert discreet("assess", people, *ROLES).code == 0
    assert discreet("assess", people, "--quasi", "nothing").code == 2
    assert discreet("check", people, "--policy", "policy.yaml").code == 0
    assert list(place.iterdir()) == []


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_stopped_run_cleans_up(folder: Path, number: signal.Signals, code: int):
    table = "COPY (SELECT random() a, random() b, random() c FROM range(4000000)) TO 'big.parquet'"
    duckdb.sql(table)
    place = folder / "temporary"
    place.mkdir()
    with subprocess.Popen(
        # Tests that run in the background of a shell ignore SIGINT, and so would what they start.
        [
            *("env", "--default-signal", DISCREET),
            *("assess", "big.parquet", "--quasi", "a,b", "--sensitive", "c"),
        ],
        env={**os.environ, "TMPDIR": str(place)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        encoding="utf-8",
    ) as running:
        while not list(place.iterdir()) and running.poll() is None:
            time.sleep(0.02)
        running.send_signal(number)
        out, err = running.communicate(timeout=600)
    assert (running.returncode, out) == (code, "")
    assert err.strip() == "Stopped."
    assert list(place.iterdir()) == []


def test_the_terminal_shows_bars_and_colors_only_to_people(people: Path):
    """Under a real terminal (`script`), colors are used; the figures are the same."""
    line = f"{DISCREET} assess {people} --quasi age,sex --depth 0"
    shown = subprocess.run(
        ["script", "-qec", line, "/dev/null"],
        capture_output=True,
        encoding="utf-8",
        env={**os.environ, "TERM": "xterm-256color"},
        check=True,
    ).stdout
    assert "\x1b[" in shown
    plain = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", shown)
    assert "None of the 6 people is unique on age and sex" in plain
