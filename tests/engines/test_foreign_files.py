"""Files as other people's systems write them are read as they are meant, with and without a policy."""

from __future__ import annotations

from dataclasses import replace
from datetime import date, datetime
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from sqlglot import exp
from tests.fixtures.foreign_files import FILES, ForeignFile, people

import discreet
from discreet.engines.connect import open_table
from discreet.engines.declared_schema import declared_file
from discreet.engines.engine import DeclaredColumn, DeclaredSchema, Kind, Table
from discreet.engines.text_encoding import find_encoding
from discreet.errors import UnreadableSource
from discreet.policy.load import parse_policy
from discreet.policy.text_format import CellFormat
from discreet.sql import build


def moment(*parts: int) -> datetime:
    return datetime(*parts)  # noqa: DTZ001 -- as cells are, without a zone


def rows_of(table: Table) -> list[dict[str, Any]]:
    try:
        return table.engine.run(build.select(exp.Star(), source=table.relation)).to_pylist()
    finally:
        table.engine.close()


def write(folder: Path, text: str, *, encoding: str = "utf-8") -> Path:
    path = folder / "t.csv"
    path.write_bytes(text.encode(encoding))
    return path


def column(folder: Path, *cells: str, delimiter: str = ";") -> tuple[str, list[Any], Table]:
    """Return kind and values of a column with these cells, beside a column of numbers."""
    lines = [f"{number}{delimiter}{cell}" for number, cell in enumerate(cells)]
    opened = open_table(write(folder, f"n{delimiter}v\n" + "\n".join(lines) + "\n"))
    found = opened.column("v")
    assert found is not None
    return str(found.kind), [row["v"] for row in rows_of(opened)], opened


@pytest.mark.parametrize("file", FILES.values(), ids=FILES)
def test_the_rows_are_those_that_were_written(tmp_path: Path, file: ForeignFile) -> None:
    assert rows_of(open_table(file.write(tmp_path / "people.csv"))) == people()


@pytest.mark.parametrize("file", FILES.values(), ids=FILES)
def test_by_its_drafted_policy_every_reader_reads_the_same(
    tmp_path: Path, file: ForeignFile
) -> None:
    path = file.write(tmp_path / "people.csv")
    drafted = parse_policy(discreet.draft_policy(path).to_yaml()).tables["people"]
    declared = declared_file(drafted)
    assert rows_of(open_table(path, schema=declared)) == people()
    assert rows_of(open_table(path, hints=declared)) == people()


@pytest.mark.parametrize("file", FILES.values(), ids=FILES)
def test_numbers_are_those_that_pandas_reads(tmp_path: Path, file: ForeignFile) -> None:
    path = file.write(tmp_path / "people.csv")
    words = [*file.pandas.get("na_values", ()), file.missing]
    frame = pd.read_csv(path, **{**file.pandas, "na_values": words})
    found = pd.DataFrame(rows_of(open_table(path)))
    for name in ("income", "height", "children"):
        pd.testing.assert_series_equal(found[name], frame[name], check_dtype=False)
    assert list(found["town"].isna()) == list(frame["town"].isna())


def test_the_draft_says_how_the_file_is_written(tmp_path: Path) -> None:
    text = discreet.draft_policy(FILES["excel-de"].write(tmp_path / "people.csv")).to_yaml()
    assert 'reading: {encoding: cp1252, decimal: ",", thousands: ".", missing: ["#NV"]}' in text
    assert 'kind: date, format: "%d.%m.%Y"' in text
    assert "skip: 2" in discreet.draft_policy(FILES["sap"].write(tmp_path / "s.csv")).to_yaml()


@pytest.mark.parametrize(
    ("cells", "kind", "values"),
    [
        (["1,5", "2"], "real", [1.5, 2.0]),
        (["1.234,5", "7"], "real", [1234.5, 7.0]),
        (["1.234.567", "12"], "integer", [1234567, 12]),
        (["1 234", "12"], "integer", [1234, 12]),
        (["1\u202f234,5", "12"], "real", [1234.5, 12.0]),
        (["1'234.50", "-12"], "real", [1234.5, -12.0]),
        (["1\u2019234.50", "12"], "real", [1234.5, 12.0]),
        (["1,234.5", "12"], "real", [1234.5, 12.0]),
        (["5 %", "7,5 %"], "real", [5.0, 7.5]),
        (["€ 1.234,50", "€ 7,00"], "real", [1234.5, 7.0]),
        (["$5", "-$7"], "integer", [5, -7]),
        (["5 %", "7 €"], "text", ["5 %", "7 €"]),
        (["5 %", "7"], "text", ["5 %", "7"]),
        (["612 345 678", "655 444 333"], "text", ["612 345 678", "655 444 333"]),
        (["12.345.678", "87.654.321"], "text", ["12.345.678", "87.654.321"]),
        (["1.23", "1.234,5"], "text", ["1.23", "1.234,5"]),
        (["1.2345,5", "7"], "text", ["1.2345,5", "7"]),
        (["0123,5", "7"], "text", ["0123,5", "7"]),
        (["20240229", "19991231", "20000101"], "date", [date(2024, 2, 29), date(1999, 12, 31), date(2000, 1, 1)]),
        (["20240230", "19991231", "20000101"], "integer", [20240230, 19991231, 20000101]),
        (["2024-05-17", "17.05.2024", "31.1.2024"], "date", [date(2024, 5, 17), date(2024, 5, 17), date(2024, 1, 31)]),
        (["2024-05-17", "05.06.2024"], "text", ["2024-05-17", "05.06.2024"]),
        (["17.05.2024 9:05", "1.5.2024 10:05:07"], "timestamp", [moment(2024, 5, 17, 9, 5), moment(2024, 5, 1, 10, 5, 7)]),
        (["5/17/2024 1:05 PM", "5/1/2024 11:05 am"], "timestamp", [moment(2024, 5, 17, 13, 5), moment(2024, 5, 1, 11, 5)]),
        (["ja", "nein"], "text", ["ja", "nein"]),
        (["294247-01-10 04:00:54.775806", "5"], "text", ["294247-01-10 04:00:54.775806", "5"]),
    ],
)  # fmt: skip
def test_the_form_of_a_column_is_recognized(
    tmp_path: Path, cells: list[str], kind: str, values: list[Any]
) -> None:
    found, read, opened = column(tmp_path, *cells)
    assert (found, read) == (kind, values)
    again = rows_of(open_table(tmp_path / "t.csv", schema=opened.schema))
    assert [row["v"] for row in again] == values


def test_what_leaves_a_choice_is_reported_and_not_decided(tmp_path: Path) -> None:
    for cells, words in (
        (["01/02/2020", "03/04/2020"], "day and month"),
        (["31.12.99", "01.01.24"], "two digits"),
    ):
        kind, read, opened = column(tmp_path, *cells)
        assert (kind, read) == ("text", cells)
        assert opened.schema is not None
        assert words in opened.schema.doubts["v"]
    text = 'n,v\n1,"1,234"\n2,"5,678"\n'
    opened = open_table(write(tmp_path, text))
    assert opened.schema is not None
    assert "1,234 may be a thousand" in opened.schema.doubts["v"]
    assert [row["v"] for row in rows_of(opened)] == ["1,234", "5,678"]


def test_other_columns_decide_what_a_mark_means(tmp_path: Path) -> None:
    comma = write(tmp_path, "a;b;c\n1,5;1.234;1,234\n2;12.000;5,678\n3;7;9\n")
    assert rows_of(open_table(comma))[0] == {"a": 1.5, "b": 1234, "c": 1.234}
    point = write(tmp_path, 'a,b\n1.5,"1,234"\n2,"5,678"\n')
    assert rows_of(open_table(point))[0] == {"a": 1.5, "b": 1234}


def test_a_word_is_missing_among_texts_only_if_that_is_sure(tmp_path: Path) -> None:
    path = write(tmp_path, "n,country,town,ill\n1,DE,Bonn,N/A\nNA,NA,NA,no\n3,US,Rome,?\n")
    opened = open_table(path)
    assert opened.schema is not None
    assert opened.schema.missing == ("N/A", "NA")
    assert rows_of(opened) == [
        {"n": 1, "country": "DE", "town": "Bonn", "ill": None},
        {"n": None, "country": "NA", "town": None, "ill": "no"},
        {"n": 3, "country": "US", "town": "Rome", "ill": "?"},
    ]
    drafted = discreet.draft_policy(path).to_yaml()
    assert 'reading: {missing: [N/A, "NA"]}' in drafted.replace("[N/A, NA]", '[N/A, "NA"]')
    declared = declared_file(parse_policy(drafted).tables["t"])
    assert [row["country"] for row in rows_of(open_table(path, schema=declared))] == ["DE", "NA", "US"]  # fmt: skip


@pytest.mark.parametrize("code", ["999", "-9"])
def test_a_code_for_missing_numbers_is_proposed_and_not_applied(tmp_path: Path, code: str) -> None:
    ages = [str(20 + number % 60) for number in range(300)] + [code] * 12
    path = write(tmp_path, "n,age\n" + "".join(f"{n},{age}\n" for n, age in enumerate(ages)))
    drafted = discreet.draft_policy(path).to_yaml()
    assert f"{code} may stand for missing values; if so, write `missing: ['{code}']`" in " ".join(
        drafted.replace("#", "").split()
    )
    policy = parse_policy(drafted).tables["t"]
    assert [row["age"] for row in rows_of(open_table(path, schema=declared_file(policy)))][-1] == int(code)  # fmt: skip
    stated = parse_policy(drafted.replace("age: {", f"age: {{missing: ['{code}'], ")).tables["t"]
    for read in ({"schema": declared_file(stated)}, {"hints": declared_file(stated)}):
        assert [row["age"] for row in rows_of(open_table(path, **read))][-12:] == [None] * 12


@pytest.mark.parametrize("cell", ["999", "999.0", "999,00", " 999 "])
def test_a_missing_code_is_a_number_whatever_its_form(tmp_path: Path, cell: str) -> None:
    path = write(tmp_path, f"v;w\n1,5;1\n{cell};2\n")
    form = CellFormat(decimal="," if "," in cell else None, missing=("999",))
    declared = DeclaredSchema({"v": DeclaredColumn(Kind.REAL, form)})
    assert rows_of(open_table(path, schema=declared))[1]["v"] is None


@pytest.mark.parametrize(
    ("text", "encoding"),
    [
        ("Müller, Çelik, José, 5 €, „ja“ – nein", "cp1252"),
        ("Müller, Groß, José", "cp1252"),
        ("Łukasz Żółć, Gdańsk, Świętokrzyskie", "cp1250"),
        ("Dvořák, Plzeň, Žďár", "cp1250"),
        ("Müller, Groß, Jörg, 12 m²", "cp850"),
        ("Иванов, Пётр, Москва", "cp1251"),
        ("Παπαδόπουλος, Αθήνα", "cp1253"),
        ("Müller, José", "utf-8"),
        ("Müller, José", "utf-16"),
        ("Müller, José, Smith", "utf-16-le"),
        ("Smith", None),
    ],
)
def test_the_encoding_is_the_one_whose_letters_make_words(
    tmp_path: Path, text: str, encoding: str | None
) -> None:
    path = write(tmp_path, f"name\n{text}\n", encoding=encoding or "ascii")
    assert find_encoding(path) == encoding


def test_with_a_policy_another_encoding_is_refused_with_what_to_declare(tmp_path: Path) -> None:
    path = write(tmp_path, "n,name\n1,José\n", encoding="cp1252")
    with pytest.raises(UnreadableSource, match=r"line 2: .*encoding: cp1252"):
        open_table(path, hints=DeclaredSchema({}))


@pytest.mark.parametrize(
    ("lines", "skip"),
    [
        (["Report of the clinic", "a;b;c", "1;2;3", "4;5;6"], 1),
        (["Title;;", "made;2020;", "a;b;c", "1;2;3"], 2),
        (["a;b;c", "1;2;3"], None),
    ],
)
def test_titles_above_the_header_are_skipped(
    tmp_path: Path, lines: list[str], skip: int | None
) -> None:
    opened = open_table(write(tmp_path, "\n".join([*lines, ""])))
    assert opened.schema is not None
    assert opened.schema.skip == skip
    again = open_table(tmp_path / "t.csv", schema=opened.schema)
    assert rows_of(opened) == rows_of(again)
    assert [one.name for one in again.columns] == ["a", "b", "c"]


def test_a_ragged_line_is_no_title(tmp_path: Path) -> None:
    with pytest.raises(UnreadableSource, match="line 3"):
        open_table(write(tmp_path, "a;b;c\n1;2;3\n4;5\n6;7;8\n"))


def test_two_digits_of_a_year_mean_the_declared_hundred_years(tmp_path: Path) -> None:
    path = write(tmp_path, "v\n31.12.29\n01.01.30\n17.05.75\n")
    form = CellFormat(dates=("%d.%m.%y",), since=1930)
    declared = DeclaredSchema({"v": DeclaredColumn(Kind.DATE, form)})
    expected = [date(2029, 12, 31), date(1930, 1, 1), date(1975, 5, 17)]
    for read in ({"schema": declared}, {"hints": declared}):
        assert [row["v"] for row in rows_of(open_table(path, **read))] == expected


@pytest.mark.parametrize("word", ["ja", "Oui", "sí", "TAK", "yes", "1"])
def test_words_for_yes_are_read_where_a_boolean_is_declared(tmp_path: Path, word: str) -> None:
    declared = DeclaredSchema({"v": DeclaredColumn(Kind.BOOLEAN)})
    path = write(tmp_path, f"n,v\n1,{word}\n2,nein\n3,perhaps\n")
    assert [row["v"] for row in rows_of(open_table(path, schema=declared))] == [True, False, None]


def test_a_cell_of_another_form_than_declared_is_missing(tmp_path: Path) -> None:
    path = write(tmp_path, "v\n1,5\n1.5\n1.500,5\n1.50,5\n€ 2\n")
    numbers = DeclaredSchema({"v": DeclaredColumn(Kind.REAL, CellFormat(decimal=","))})
    found = [row["v"] for row in rows_of(open_table(path, schema=replace(numbers, delimiter=";")))]
    assert found == [1.5, None, None, None, None]
    form = CellFormat(decimal=",", thousands=".")
    grouped = DeclaredSchema({"v": DeclaredColumn(Kind.REAL, form)}, delimiter=";")
    found = [row["v"] for row in rows_of(open_table(path, schema=grouped))]
    assert found == [1.5, None, 1500.5, None, None]


def test_a_sheet_with_words_for_missing_numbers_has_numbers(tmp_path: Path) -> None:
    openpyxl = pytest.importorskip("openpyxl")
    book = openpyxl.Workbook()
    sheet = book.active
    for line in (["age", "zip", "born"], [41, "01234", "31.12.1980"], ["N/A", "12345", "k.A."]):
        sheet.append(line)
    book.save(tmp_path / "t.xlsx")
    opened = open_table(tmp_path / "t.xlsx")
    assert {one.name: str(one.kind) for one in opened.columns} == {
        "age": "integer",
        "zip": "text",
        "born": "date",
    }
    again = rows_of(open_table(tmp_path / "t.xlsx", schema=opened.schema))
    assert rows_of(opened) == again


@pytest.mark.parametrize(
    "cells", [("1.5", "inf", "-"), ("2", "NaN", "NA"), ("-Infinity", "?", "7")]
)
def test_nan_and_infinity_are_numbers_beside_words_for_missing_values(
    tmp_path: Path, cells: tuple[str, ...]
) -> None:
    kind, values, _ = column(tmp_path, *cells)
    assert kind == "real"
    assert values.count(None) == 1
