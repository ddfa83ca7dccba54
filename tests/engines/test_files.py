"""Files other than CSV, what is no file at all, and databases."""

from __future__ import annotations

import io
import json
import subprocess
import sys
from datetime import date
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import duckdb
import openpyxl
import pandas as pd
import pyarrow as pa
import pyreadstat
import pytest
from pyarrow import feather, parquet
from sqlglot import exp
from tests.fixtures.sas_files import Columns, Formats, write_catalog, write_table

import discreet
from discreet.api.draft import draft_policy
from discreet.engines.connect import list_tables, open_table
from discreet.engines.declared_schema import declared_file
from discreet.engines.duckdb import DuckDB
from discreet.errors import (
    DuplicateColumns,
    EmptySource,
    EngineFailed,
    LockedSource,
    SourceNotFound,
    UnreadableSource,
    WrongUsage,
)
from discreet.policy.load import parse_policy
from discreet.sql import build

if TYPE_CHECKING:
    from discreet.engines.engine import Table

PEOPLE = pa.table({"zip": ["01234", "2"], "age": [41, None]})


def cells(table: Table) -> dict[str, list[object]]:
    return table.engine.run(build.select(exp.Star(), source=table.relation)).to_pydict()


def kinds(table: Table) -> dict[str, str]:
    return {column.name: str(column.kind) for column in table.columns}


def test_parquet_is_read(tmp_path: Path) -> None:
    parquet.write_table(PEOPLE, tmp_path / "p.parquet")
    table = open_table(tmp_path / "p.parquet")
    assert (table.label, cells(table)) == ("p.parquet", PEOPLE.to_pydict())


def test_parts_of_parquet_are_one_table(tmp_path: Path) -> None:
    parquet.write_table(PEOPLE, tmp_path / "1.parquet")
    parquet.write_table(PEOPLE, tmp_path / "2.parquet")
    assert len(cells(open_table(f"{tmp_path}/*.parquet"))["zip"]) == 4


def test_parts_of_parquet_with_other_columns_are_refused(tmp_path: Path) -> None:
    parquet.write_table(PEOPLE, tmp_path / "1.parquet")
    parquet.write_table(PEOPLE.drop_columns("age"), tmp_path / "2.parquet")
    with pytest.raises(UnreadableSource, match=r"2\.parquet has other columns"):
        open_table(f"{tmp_path}/*.parquet")


def test_a_partition_with_a_leading_zero_stays_text(tmp_path: Path) -> None:
    for name in ("01234", "99999"):
        (tmp_path / f"zip={name}").mkdir()
        parquet.write_table(pa.table({"n": [1]}), tmp_path / f"zip={name}" / "p.parquet")
    assert sorted(cells(open_table(f"{tmp_path}/*/*.parquet"))["zip"]) == ["01234", "99999"]


@pytest.mark.parametrize("content", [b"", b"PAR1", b"PAR1" + b"x" * 50 + b"PAR1"])
def test_damaged_parquet_is_refused(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "p.parquet"
    path.write_bytes(content)
    with pytest.raises(UnreadableSource, match="damaged"):
        open_table(path)


def test_parquet_with_names_that_differ_by_case_is_refused(tmp_path: Path) -> None:
    parquet.write_table(pa.table({"a": [1], "A": [2]}), tmp_path / "p.parquet")
    with pytest.raises(DuplicateColumns):
        open_table(tmp_path / "p.parquet")


@pytest.mark.parametrize("name", ["t.json", "t.ndjson"])
def test_json_is_read_without_guesses_about_dates(tmp_path: Path, name: str) -> None:
    records = [
        {"zip": "01234", "n": 1, "day": "2020-01-31", "either": "01-02-2020", "tags": ["x"]},
        {"zip": "5", "n": None, "day": None, "either": "03-04-2020", "tags": []},
    ]
    lines = "\n".join(json.dumps(record) for record in records)
    (tmp_path / name).write_text(json.dumps(records) if name == "t.json" else lines)
    table = open_table(tmp_path / name)
    assert kinds(table) == {
        "zip": "text",
        "n": "integer",
        "day": "date",
        "either": "text",
        "tags": "other",
    }
    assert cells(table)["day"] == [date(2020, 1, 31), None]


@pytest.mark.parametrize(
    ("numbers", "kind"),
    [
        (["9007199254740993", "9007199254740992", "0.5"], "text"),
        (["18446744073709551616", "18446744073709551617"], "text"),
        (["1e400", "1e401"], "text"),
        (["0.5", "1e22", "-2.5E-7", "3", "null"], "real"),
    ],
)
def test_numbers_of_json_are_reals_only_when_that_loses_nothing(
    tmp_path: Path, numbers: list[str], kind: str
) -> None:
    records = ",".join(f'{{"a": {number}}}' for number in numbers)
    (tmp_path / "t.json").write_text(f"[{records}]")
    opened = open_table(tmp_path / "t.json")
    assert str(opened.columns[0].kind) == kind
    value = build.column("a")
    groups = build.select(value, source=opened.relation).group_by(value.copy())
    assert opened.engine.run(groups).num_rows == len(numbers)


@pytest.mark.parametrize("text", ['{"name": Alice}\n', "[1, 2]", '{"a": 1}\n{"a": Alice}\n'])
def test_what_is_not_json_is_refused_without_its_text(tmp_path: Path, text: str) -> None:
    (tmp_path / "t.json").write_text(text)
    with pytest.raises(UnreadableSource) as caught:
        open_table(tmp_path / "t.json")
    assert "Alice" not in str(caught.value)
    assert caught.value.__context__ is None


def test_arrow_files_are_read(tmp_path: Path) -> None:
    feather.write_feather(PEOPLE, str(tmp_path / "t.feather"))
    with pa.ipc.new_stream(str(tmp_path / "t.arrows"), PEOPLE.schema) as writer:
        writer.write_table(PEOPLE)
    for name in ("t.feather", "t.arrows"):
        assert cells(open_table(tmp_path / name)) == PEOPLE.to_pydict()


def test_a_damaged_arrow_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "t.arrow").write_bytes(b"ARROW1\0\0 and nothing more")
    with pytest.raises(UnreadableSource, match="damaged"):
        open_table(tmp_path / "t.arrow")


def workbook(path: Path, **sheets: list[list[object]]) -> Path:
    ledger = openpyxl.Workbook()
    ledger.remove(ledger.active)
    for name, rows in sheets.items():
        sheet = ledger.create_sheet(name)
        for row in rows:
            sheet.append(row)
    ledger.save(path)
    return path


def test_a_sheet_is_read_with_whole_numbers_and_leading_zeros(tmp_path: Path) -> None:
    rows = [["zip", "age", "height"], ["01234", 41, 1.5], ["2", None, 2]]
    table = open_table(workbook(tmp_path / "t.xlsx", people=rows))
    assert kinds(table) == {"zip": "text", "age": "integer", "height": "real"}
    assert cells(table)["zip"] == ["01234", "2"]


def test_lines_of_a_sheet_without_a_cell_are_no_rows(tmp_path: Path) -> None:
    rows = [["zip", "age"], ["01234", 41], [None, None], ["", None], [None, 5], *[[None]] * 50]
    table = open_table(workbook(tmp_path / "t.xlsx", people=[*rows, ["2", 1]]))
    assert cells(table) == {"zip": ["01234", None, "2"], "age": [41, 5, 1]}


def test_a_sheet_must_be_named_when_there_are_several(tmp_path: Path) -> None:
    path = workbook(tmp_path / "t.xlsx", people=[["a"], [1]], visits=[["b"], [2]])
    with pytest.raises(WrongUsage, match="'people', 'visits'"):
        open_table(path)
    with pytest.raises(SourceNotFound, match="Did you mean 'visits'"):
        open_table(path, table="visit")
    assert cells(open_table(path, table="visits")) == {"b": [2]}
    assert list_tables(path) == ["people", "visits"]


def test_an_empty_sheet_and_shared_names_are_refused(tmp_path: Path) -> None:
    with pytest.raises(EmptySource):
        open_table(workbook(tmp_path / "e.xlsx", s=[]))
    with pytest.raises(DuplicateColumns):
        open_table(workbook(tmp_path / "d.xlsx", s=[["a", "a"], [1, 2]]))


def test_a_file_that_is_no_workbook_is_refused(tmp_path: Path) -> None:
    (tmp_path / "t.xlsx").write_bytes(b"PK nothing")
    with pytest.raises(UnreadableSource):
        open_table(tmp_path / "t.xlsx")


@pytest.mark.parametrize("ending", ["sav", "dta", "xpt"])
def test_statistics_files_are_read(tmp_path: Path, ending: str) -> None:
    frame = pd.DataFrame(
        {"id": [1.0, 2.0, None], "x": [0.5, 1.0, 2.0], "zip": ["01", "2", "3"]}
    ).assign(day=[date(2020, 1, 31), date(1999, 12, 1), None])
    write = {"sav": "write_sav", "dta": "write_dta", "xpt": "write_xport"}[ending]
    getattr(pyreadstat, write)(frame, str(tmp_path / f"t.{ending}"))
    table = open_table(tmp_path / f"t.{ending}")
    assert kinds(table) == {"id": "integer", "x": "real", "zip": "text", "day": "date"}
    assert cells(table)["day"] == [date(2020, 1, 31), date(1999, 12, 1), None]


def write_survey(path: Path, **more: Any) -> Path:
    """Write a file as SPSS or Stata do: codes, what they mean, and which of them mean no value."""
    frame = pd.DataFrame(
        {
            "v1": [1.0, 2.0, 1.0, 9.0],
            "v2": [30.0, 97.0, 99.0, 41.0],
            "v3": [1.5, -9.0, -3.0, 2.5],
            "v4": ["a", "b", "", "b"],
        }
    )
    labels = {
        "v1": {1.0: "male", 2.0: "female", 9.0: "refused"},
        "v2": {97.0: "97 or older", 99.0: "don't know"},
    }
    titles = ["Sex of respondent", "Age in years", "Net income", "Ward"]
    write = {".sav": "write_sav", ".zsav": "write_sav", ".dta": "write_dta"}[path.suffix]
    getattr(pyreadstat, write)(
        frame, str(path), column_labels=titles, variable_value_labels=labels, **more
    )
    return path


@pytest.mark.parametrize("ending", ["sav", "zsav"])
def test_labels_missing_codes_and_ranges_of_spss_are_read(tmp_path: Path, ending: str) -> None:
    path = write_survey(
        tmp_path / f"t.{ending}", missing_ranges={"v1": [9.0], "v3": [{"lo": -99.0, "hi": -1.0}]}
    )
    table = open_table(path)
    assert cells(table) == {
        "v1": ["male", "female", "male", None],
        "v2": [30, 97, None, 41],
        "v3": [1.5, None, None, 2.5],
        "v4": ["a", "b", "", "b"],
    }
    assert table.schema is not None
    assert table.schema.titles["v1"] == "Sex of respondent"
    assert cells(open_table(path, schema=table.schema)) == cells(table)


def test_labels_of_stata_are_read(tmp_path: Path) -> None:
    table = open_table(write_survey(tmp_path / "t.dta"))
    assert cells(table)["v1"] == ["male", "female", "male", "refused"]
    assert cells(table)["v2"] == [30, 97, None, 41]


def test_missing_values_of_stata_are_null_whatever_their_letter(tmp_path: Path) -> None:
    frame = pd.DataFrame({"x": [1.0, "a", "z", 4.0], "y": [1.0, 2.0, None, 4.0]})
    pyreadstat.write_dta(frame, str(tmp_path / "t.dta"), missing_user_values={"x": ["a", "z"]})
    assert cells(open_table(tmp_path / "t.dta")) == {"x": [1, None, None, 4], "y": [1, 2, None, 4]}


def test_the_draft_of_a_statistics_file_has_its_titles_and_labels(tmp_path: Path) -> None:
    path = write_survey(tmp_path / "t.sav")
    text = draft_policy(path).to_yaml()
    assert '# "Sex of respondent"' in text
    assert "kind: text, labels: {1: male, 2: female, 9: refused}" in text
    assert "missing: [99]" in text
    declared = declared_file(parse_policy(text).tables["t"])
    expected = cells(open_table(path))
    assert cells(open_table(path, schema=declared)) == expected
    assert cells(open_table(path, hints=declared)) == expected


def test_drafted_values_have_the_order_of_their_codes(tmp_path: Path) -> None:
    labels = {"health": {1.0: "very good", 2.0: "good", 3.0: "bad"}}
    frame = pd.DataFrame({"n": range(60), "health": [1.0, 2.0, 3.0] * 20})
    pyreadstat.write_sav(frame, str(tmp_path / "t.sav"), variable_value_labels=labels)
    drafted = parse_policy(draft_policy(tmp_path / "t.sav").to_yaml()).tables["t"]
    found = drafted.column("health")
    assert found is not None
    assert found.values == ("very good", "good", "bad")


def write_sas(folder: Path, catalog: str | None = "t.sas7bcat") -> Path:
    """Write a table as SAS does, with a catalog of its formats beside it."""
    columns: Columns = {
        "sex": ("SEXF8.", [1.0, 2.0, None, 9.0]),
        "age": ("AGEF", [30.0, 97.0, 99.0, 41.0]),
        "ward": ("$WARD", ["a", "b", "", "b"]),
        "pay": (None, [1.5, -9.0, 3.0, 2.5]),
    }
    if catalog is not None:
        formats: Formats = {
            "SEXF": {1.0: "male", 2.0: "female", 9.0: "refused"},
            "AGEF": {97.0: "97 or older", 99.0: "don't know"},
            "$WARD": {"a": "surgery", "b": "Pädiatrie"},
        }
        write_catalog(folder / catalog, formats)
    return write_table(folder / "t.sas7bdat", columns)


@pytest.mark.parametrize("catalog", ["t.sas7bcat", "formats.sas7bcat", "FORMATS.SAS7BCAT"])
def test_labels_of_sas_are_read_from_the_catalog_beside_the_file(
    tmp_path: Path, catalog: str
) -> None:
    path = write_sas(tmp_path, catalog)
    table = open_table(path)
    expected = {
        "sex": ["male", "female", None, "refused"],
        "age": [30, 97, None, 41],
        "ward": ["surgery", "Pädiatrie", "", "Pädiatrie"],
        "pay": [1.5, -9, 3, 2.5],
    }
    assert cells(table) == expected
    assert cells(open_table(path, schema=table.schema)) == expected
    drafted = draft_policy(path).to_yaml()
    assert "labels: {1: male, 2: female, 9: refused}" in drafted
    assert "missing: [99]" in drafted


def test_the_catalog_of_a_file_comes_before_the_common_one(tmp_path: Path) -> None:
    write_catalog(tmp_path / "formats.sas7bcat", {"SEXF": {1.0: "1", 2.0: "2", 9.0: "9"}})
    assert cells(open_table(write_sas(tmp_path)))["sex"] == ["male", "female", None, "refused"]


def test_a_file_of_sas_without_its_catalog_has_its_codes(tmp_path: Path) -> None:
    write_catalog(tmp_path / "other.sas7bcat", {"SEXF": {1.0: "male", 2.0: "female", 9.0: "x"}})
    found = cells(open_table(write_sas(tmp_path, None)))
    assert found["sex"] == [1, 2, None, 9]
    assert found["ward"] == ["a", "b", "", "b"]


def test_a_damaged_catalog_is_refused_unless_the_policy_states_the_labels(tmp_path: Path) -> None:
    path = write_sas(tmp_path)
    schema = open_table(path).schema
    (tmp_path / "t.sas7bcat").write_bytes((tmp_path / "t.sas7bcat").read_bytes()[:9000])
    with pytest.raises(UnreadableSource, match=r"t\.sas7bcat, the catalog .* t\.sas7bdat"):
        open_table(path)
    assert cells(open_table(path, schema=schema))["sex"] == ["male", "female", None, "refused"]


def test_blank_texts_beside_labels_are_no_drafted_value(tmp_path: Path) -> None:
    frame = pd.DataFrame({"n": range(60), "ward": ["", "b", "a"] * 20})
    labels = {"ward": {"b": "surgery", "a": "oncology"}}
    pyreadstat.write_sav(frame, str(tmp_path / "t.sav"), variable_value_labels=labels)
    drafted = parse_policy(draft_policy(tmp_path / "t.sav").to_yaml()).tables["t"].column("ward")
    assert drafted is not None
    assert drafted.values == ("surgery", "oncology")


def test_two_codes_with_one_label_stay_apart(tmp_path: Path) -> None:
    frame = pd.DataFrame({"x": [1.0, 2.0, 3.0]})
    labels = {"x": {1.0: "other", 2.0: "other", 3.0: ""}}
    pyreadstat.write_sav(frame, str(tmp_path / "t.sav"), variable_value_labels=labels)
    assert cells(open_table(tmp_path / "t.sav"))["x"] == ["other (1)", "other (2)", "(3)"]


def test_a_statistics_file_is_read_in_pieces(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("discreet.engines.formats.survey.ROWS_PER_PIECE", 10)
    pyreadstat.write_sav(pd.DataFrame({"n": range(25)}), str(tmp_path / "t.sav"))
    assert sorted(cells(open_table(tmp_path / "t.sav"))["n"]) == list(range(25))


@pytest.mark.parametrize(
    ("ending", "form", "odd"), [("sav", "DATE11", 1e15), ("dta", "%td", 1e9), ("xpt", "DATE", 1e9)]
)
def test_a_date_that_cannot_be_is_missing_and_counted(
    tmp_path: Path, ending: str, form: str, odd: float
) -> None:
    days = {"sav": [1.3e10, odd, 1.3e10], "dta": [9.0, odd, 9.0], "xpt": [9.0, odd, 9.0]}[ending]
    frame = pd.DataFrame({"born": days, "n": [1.0, 2.0, 3.0], "t": ["a", "ß", "c"]})
    write = {"sav": "write_sav", "dta": "write_dta", "xpt": "write_xport"}[ending]
    path = tmp_path / f"t.{ending}"
    getattr(pyreadstat, write)(frame, str(path), variable_format={"born": form})
    table = open_table(path)
    found = cells(table)
    assert kinds(table)["born"] == "date"
    assert [value is None for value in found["born"]] == [False, True, False]
    assert (found["n"], found["t"]) == ([1, 2, 3], ["a", "ß", "c"])
    drafted = draft_policy(path).to_yaml()
    assert "1 date or time is beyond the years 1 to 9999" in drafted
    for policy in (None, parse_policy(drafted)):
        cautions = discreet.assess(path, policy, quasi=["n"]).cautions
        assert [one for one in cautions if one.startswith("'born': 1 date or time is beyond")]


def test_a_text_in_another_encoding_is_refused_by_the_name_of_its_column(tmp_path: Path) -> None:
    pyreadstat.write_sav(pd.DataFrame({"n": [1.0], "t": ["Qxq"]}), str(tmp_path / "t.sav"))
    content = (tmp_path / "t.sav").read_bytes()
    (tmp_path / "t.sav").write_bytes(content.replace(b"Qxq", b"Q\xffq"))
    with pytest.raises(UnreadableSource, match=r"t\.sav, column 't': .* UTF-8"):
        open_table(tmp_path / "t.sav")


def test_a_damaged_statistics_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "t.sav").write_bytes(b"$FL2 and nothing more")
    with pytest.raises(UnreadableSource, match=r"t\.sav"):
        open_table(tmp_path / "t.sav")


def database(path: Path, *statements: str) -> Path:
    with duckdb.connect(str(path)) as connection:
        for statement in statements:
            connection.execute(statement)
    return path


def test_the_only_table_of_a_database_is_taken(tmp_path: Path) -> None:
    path = database(tmp_path / "d.duckdb", "CREATE TABLE p AS SELECT 'b'::ENUM('b', 'a') AS v")
    table = open_table(path)
    assert (kinds(table), cells(table)) == ({"v": "text"}, {"v": ["b"]})


def test_a_table_of_a_database_must_be_named_when_there_are_several(tmp_path: Path) -> None:
    path = database(
        tmp_path / "d.db",
        "CREATE TABLE people (id INT)",
        "CREATE SCHEMA s",
        "CREATE TABLE s.visits AS SELECT 1 AS n",
        "CREATE VIEW adults AS SELECT * FROM people",
    )
    assert list_tables(path) == ["adults", "people", "s.visits"]
    with pytest.raises(WrongUsage, match="'people'"):
        open_table(path)
    with pytest.raises(SourceNotFound, match="Did you mean 'people'"):
        open_table(path, table="peopel")
    assert cells(open_table(path, table="s.visits")) == {"n": [1]}


def test_a_database_is_not_changed(tmp_path: Path) -> None:
    path = database(tmp_path / "d.duckdb", "CREATE TABLE p AS SELECT 1 AS v")
    before = path.read_bytes()
    table = open_table(path)
    with pytest.raises(EngineFailed):
        table.engine.execute(exp.Drop(tables=[table.relation.copy()], kind="TABLE"))
    table.engine.close()
    assert path.read_bytes() == before


def test_a_locked_database_is_named_with_its_holder(tmp_path: Path) -> None:
    path = database(tmp_path / "d.duckdb", "CREATE TABLE p AS SELECT 1 AS v")
    script = f"import duckdb; c = duckdb.connect({str(path)!r}); print('held', flush=True); input()"
    with subprocess.Popen(
        [sys.executable, "-c", script], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as holder:
        holder.stdout.readline()
        with pytest.raises(LockedSource, match=r"d\.duckdb is in use by") as caught:
            open_table(path)
        holder.communicate(b"\n")
    assert caught.value.__context__ is None


def test_a_damaged_database_is_refused(tmp_path: Path) -> None:
    (tmp_path / "d.duckdb").write_bytes(b"\0" * 8 + b"DUCK" + b"\0" * 5000)
    with pytest.raises(UnreadableSource, match="damaged"):
        open_table(tmp_path / "d.duckdb")


def test_an_sqlite_file_is_recognized(tmp_path: Path) -> None:
    (tmp_path / "d.db").write_bytes(b"SQLite format 3\0")
    with pytest.raises(UnreadableSource, match="SQLite"):
        open_table(tmp_path / "d.db")


def test_a_missing_file_suggests_a_near_one(tmp_path: Path) -> None:
    (tmp_path / "patients.csv").write_text("a\n1\n")
    with pytest.raises(SourceNotFound, match=r"Did you mean 'patients\.csv'"):
        open_table(tmp_path / "patient.csv")
    with pytest.raises(SourceNotFound, match="No file matches"):
        open_table(f"{tmp_path}/*.parquet")
    with pytest.raises(SourceNotFound):
        open_table(tmp_path / "nowhere" / "t.csv")


def test_a_folder_lists_what_is_inside(tmp_path: Path) -> None:
    parquet.write_table(PEOPLE, tmp_path / "part-1.parquet")
    with pytest.raises(UnreadableSource, match=r"is a folder.*'part-1\.parquet'.*\*\.parquet"):
        open_table(tmp_path)


def test_files_of_several_kinds_are_refused(tmp_path: Path) -> None:
    parquet.write_table(PEOPLE, tmp_path / "a.parquet")
    (tmp_path / "a.csv").write_text("zip,age\n1,2\n")
    with pytest.raises(UnreadableSource, match="several kinds: csv, parquet"):
        open_table(f"{tmp_path}/a.*")


def as_parquet() -> bytes:
    sink = io.BytesIO()
    parquet.write_table(PEOPLE, sink)
    return sink.getvalue()


@pytest.mark.parametrize(
    "content", [b"zip,age\n01234,41\n2,\n", as_parquet()], ids=["csv", "parquet"]
)
def test_standard_input_is_read(monkeypatch: pytest.MonkeyPatch, content: bytes) -> None:
    monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=io.BytesIO(content)))
    table = open_table("-")
    assert (table.label, cells(table)) == ("standard input", PEOPLE.to_pydict())


def test_empty_standard_input_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=io.BytesIO(b"")))
    with pytest.raises(EmptySource):
        open_table("-")


def test_two_files_on_one_engine_can_be_joined(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("id,x\n1,a\n2,b\n")
    (tmp_path / "b.csv").write_text("id,y\n1,c\n")
    engine = DuckDB()
    a, b = (open_table(tmp_path / name, engine=engine) for name in ("a.csv", "b.csv"))
    query = build.select(
        build.column("x", of="a"),
        build.column("y", of="b"),
        source=build.aliased_table(a.relation, "a"),
    ).join(
        build.aliased_table(b.relation, "b"),
        on=exp.EQ(this=build.column("id", of="a"), expression=build.column("id", of="b")),
    )
    assert engine.run(query).to_pydict() == {"x": ["a"], "y": ["c"]}


def test_what_an_engine_stores_goes_away_with_it(tmp_path: Path) -> None:
    engine = DuckDB()
    folder = Path(engine.folder)
    assert (folder.exists(), folder.stat().st_mode & 0o077) == (True, 0)
    engine.close()
    assert not folder.exists()


def count_threads(engine: DuckDB) -> int:
    asked = exp.Anonymous(this="current_setting", expressions=[build.text("threads")])
    return engine.execute_unguarded(exp.Select(expressions=[asked])).fetchall()[0][0]


def test_small_tables_are_read_by_one_thread_and_large_ones_by_all(tmp_path: Path) -> None:
    with duckdb.connect() as connection:
        ((every,),) = connection.execute("SELECT current_setting('threads')").fetchall()
    (tmp_path / "small.csv").write_text("id,x\n1,a\n2,b\n")
    (tmp_path / "large.csv").write_text("id,x\n" + "1,abcdefghijklmnopqrstuvwxyz\n" * 40_000)
    long = exp.Anonymous(this="range", expressions=[build.number(150_000)])
    uses = (
        lambda engine: open_table(tmp_path / "large.csv", engine=engine),
        lambda engine: engine.keep(exp.select("*").from_(exp.Table(this=long))),
        lambda engine: engine.load(PEOPLE.to_reader()),  # it may hold any number of rows
    )
    for use in uses:
        engine = DuckDB()
        open_table(tmp_path / "small.csv", engine=engine)
        engine.register(PEOPLE)
        assert count_threads(engine) == 1
        use(engine)
        assert count_threads(engine) == every
        engine.close()
    assert count_threads(DuckDB(threads=1)) == 1
