"""What is known of a table before anybody pays does not depend on a row: kinds, columns, plans, prices."""

from __future__ import annotations

import csv
import io
import json
import shutil
from dataclasses import replace
from datetime import date
from decimal import Decimal
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import duckdb
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.answer.curators import without_noise
from tests.answer.files import NAMES, ODD_CELLS, PEOPLE, POLICY, WRITERS
from tests.answer.unpaid import shown_before_paying

import discreet
from discreet.answer.register import register_table
from discreet.engines import text_encoding
from discreet.engines.connect import open_table, opened_table
from discreet.engines.duckdb import DuckDB
from discreet.engines.engine import DeclaredColumn, DeclaredSchema, Kind
from discreet.engines.files import file_format
from discreet.errors import DiscreetError, UndeclaredKind, UnreadableSource
from discreet.policy.load import parse_policy
from discreet.policy.text_format import CellFormat
from discreet.sql import build

if TYPE_CHECKING:
    from collections.abc import Sequence

UNTYPED = [ending for ending in WRITERS if ending != "parquet"]
QUESTIONS = (
    "SELECT count(*) AS n FROM people",
    "SELECT sum(age) AS s, avg(score) AS m FROM people",
    "SELECT sex, count(*) AS n FROM people WHERE born > DATE '1990-01-05' GROUP BY sex",
    "SELECT age, count(*) AS n FROM people GROUP BY age",
    "SELECT median(score) AS m FROM people",
    "SELECT sum(town) AS s FROM people",
    "SELECT count(only_they) AS n FROM people",
    "SELECT town, count(*) AS n FROM people GROUP BY town",
)


def written(folder: Path, ending: str, rows: Sequence[dict[str, Any]]) -> Path:
    folder.mkdir(exist_ok=True)
    path = folder / f"people.{ending}"
    WRITERS[ending](path, rows)
    return path


def shown(path: Path, policy: str | None = POLICY) -> list[str]:
    """Return all that is shown before anything is paid: plans with queries, prices, refusals, errors."""
    return shown_before_paying(path, policy, QUESTIONS, ledger=path.parent / "ledger.sqlite")


@pytest.mark.parametrize("ending", WRITERS)
def test_one_odd_person_changes_no_plan_refusal_price_or_schema(
    tmp_path: Path, ending: str
) -> None:
    expected = shown(written(tmp_path / "all", ending, PEOPLE))
    assert sum(line.startswith("[") for line in expected) == 5
    odd = [
        dict.fromkeys(NAMES, "?"),
        {**PEOPLE[0], "age": 50.5, "only_they": 1},
        {**PEOPLE[0], "age": "50.5", "born": "31/12/1990", "town": 'a "quoted", word'},
        {},
    ]
    for number, person in enumerate(odd):
        assert shown(written(tmp_path / f"odd{number}", ending, [*PEOPLE, person])) == expected
    assert shown(written(tmp_path / "fewer", ending, PEOPLE[:-1])) == expected
    assert shown(written(tmp_path / "none", ending, [])) == expected


@pytest.mark.parametrize("ending", ["csv", "ndjson", "json", "xlsx"])
@settings(
    max_examples=15,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(
    column=st.sampled_from(NAMES),
    cell=st.one_of(st.sampled_from(ODD_CELLS), st.text(st.characters(codec="utf-8"), max_size=20)),
)
def test_any_cell_of_one_person_moves_an_answer_by_one_person(
    tmp_path: Path, ending: str, column: str, cell: Any
) -> None:
    """Rows of everybody else are read as they were, and the odd person is one row or none."""
    if ending == "xlsx" and isinstance(cell, str):
        cell = "".join(letter for letter in cell if letter.isprintable())
    others = rows_of(written(tmp_path / "all", ending, PEOPLE))
    odd = {**PEOPLE[0], column: cell}
    found = rows_of(written(tmp_path / "odd", ending, [*PEOPLE[:6], odd, *PEOPLE[6:]]))
    assert len(found) == len(others) + 1
    extra = list(found)
    for row in others:
        extra.remove(row)
    assert len(extra) == 1
    for name, value in extra[0].items():
        assert name == column or value == others[0][name]


@pytest.mark.parametrize("delimiter", [",", "|"])
@pytest.mark.parametrize("is_multiline", [True, False])
@pytest.mark.parametrize(
    "rest", ['"F"{d}1{d}2', '"F"{d}"a', 'F"{d}a', '"F"x{d}"a"', "{d}{d}{d}{d}{d}", 'a"b{d}"c{d}"d"']
)
def test_a_line_that_is_no_record_keeps_the_quoted_id_of_its_person(
    tmp_path: Path, delimiter: str, is_multiline: bool, rest: str
) -> None:
    """Otherwise a person with one such line would be two people."""
    schema = DeclaredSchema(
        {"id": DeclaredColumn(Kind.TEXT), "sex": DeclaredColumn(Kind.TEXT)},
        delimiter,
        is_multiline=is_multiline,
    )
    for name in ("x", f"x{delimiter}y", 'x""y', ""):
        lines = [f"id{delimiter}sex", f'"{name}"{delimiter}"F"', f'"{name}"{delimiter}']
        (tmp_path / "a.csv").write_text("\n".join([*lines, ""])[:-1] + rest.format(d=delimiter))
        found = rows_of(tmp_path / "a.csv", schema)
        assert [row["id"] for row in found] == [name.replace('""', '"')] * 2


SCHEMA = DeclaredSchema(
    {
        "age": DeclaredColumn(Kind.INTEGER),
        "sex": DeclaredColumn(Kind.TEXT),
        "town": DeclaredColumn(Kind.TEXT),
        "born": DeclaredColumn(Kind.DATE),
        "score": DeclaredColumn(Kind.REAL),
    }
)


def rows_of(path: Path, schema: DeclaredSchema = SCHEMA) -> list[dict[str, Any]]:
    opened = open_table(path, schema=schema)
    try:
        columns = [build.column(column.name) for column in opened.columns]
        found = opened.engine.run(build.select(*columns, source=opened.relation)).to_pylist()
    finally:
        opened.engine.close()
    return [{k: "nan" if v != v else v for k, v in row.items()} for row in found]


@pytest.mark.parametrize("ending", UNTYPED)
def test_a_cell_that_does_not_fit_is_missing_and_nothing_else(tmp_path: Path, ending: str) -> None:
    odd = {**PEOPLE[3], "age": "?" if ending not in ("sav", "dta", "xpt") else 50.5}
    found = rows_of(written(tmp_path, ending, [*PEOPLE, odd]))
    assert found[:-1] == PEOPLE
    assert found[-1] == {**PEOPLE[3], "age": None}


@pytest.mark.parametrize(
    "line",
    [
        b"\xff\xfe,F,a,1990-01-01,1",
        b"1,F",
        b"1,F,a,1990-01-01,1,2,3,4",
        b"1,F,a,1990-01-01," + b"9" * 3_000_000,
        b'1,F,a"b,1990-01-01,1',
        b"\x00\x00\x00,F,a,1990-01-01,1",
        b"1,F,a,1990-01-01,1\r",
        b'"',
        b'1,F,"a,1990-01-01,1',
        b'"1,F,a,1990-01-01,1',
        b'1,F,a,1990-01-01,"1',
        b'1,"F"x,"a,1990-01-01,1',
        b'1,F, "a,1990-01-01,1',
    ],
    ids=lambda line: repr(line[:24]),
)
@pytest.mark.parametrize("note", ["a", 'he said "no"', '"', "a, b", ""])
def test_a_line_that_is_no_row_changes_no_other_row(tmp_path: Path, line: bytes, note: str) -> None:
    people = [{**person, "town": note or person["town"]} for person in PEOPLE]
    path = written(tmp_path, "csv", people)
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join([*lines[:6], line + b"\r\n", *lines[6:]]))
    found = rows_of(path)
    assert len(people) <= len(found) <= len(people) + 1
    assert [row for row in found if row in people] == people


@settings(max_examples=40, deadline=None, suppress_health_check=list(HealthCheck))
@given(
    lines=st.lists(st.text('"\'", a1', min_size=1, max_size=9), min_size=1, max_size=9),
    place=st.integers(0, 8),
    end=st.sampled_from(["\n", "\r\n", "\r"]),
    delimiter=st.sampled_from([",", ", ", ";"]),
)
def test_where_each_line_is_a_row_no_quotation_mark_changes_another_row(
    tmp_path: Path, lines: list[str], place: int, end: str, delimiter: str
) -> None:
    """Any lines, also with quotation marks that would open and close a cell of several lines."""
    schema = replace(SCHEMA, delimiter=delimiter, is_multiline=False)
    header = delimiter.join(NAMES)
    (tmp_path / "all.csv").write_text(end.join([header, *lines, ""]), newline="")
    rest = [line for number, line in enumerate(lines) if number != place % len(lines)]
    (tmp_path / "rest.csv").write_text(end.join([header, *rest, ""]), newline="")
    found, others = rows_of(tmp_path / "all.csv", schema), rows_of(tmp_path / "rest.csv", schema)
    for row in others:
        found.remove(row)
    assert len(found) <= 1


@pytest.mark.parametrize("multiline", [True, False])
def test_the_policy_says_whether_a_cell_may_hold_lines(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, multiline: bool
) -> None:
    without_noise(monkeypatch)
    path = tmp_path / "people.csv"
    path.write_text('age,town\n1,"x\n2,y\n3,"\n4,z\n')
    policy = parse_policy(
        f"tables: {{people: {{unit: row, reading: {{multiline: {str(multiline).lower()}}}, "
        "columns: {age: {role: sensitive, kind: integer}}}}"
    )
    with discreet.open(path, policy, ledger=":memory:") as curator:
        found = curator.ask("SELECT count(age) AS n FROM people", epsilon=1).rows
    assert found == ([[2]] if multiline else [[4]])


@settings(max_examples=40, deadline=None, suppress_health_check=list(HealthCheck))
@given(
    rows=st.lists(
        st.lists(st.text('ab, "\n', min_size=1, max_size=6), min_size=2, max_size=2), max_size=8
    ),
    end=st.sampled_from(["\n", "\r\n"]),
)
def test_cells_that_are_quoted_as_they_should_are_read_as_they_are(
    tmp_path: Path, rows: list[list[str]], end: str
) -> None:
    with (tmp_path / "t.csv").open("w", newline="") as file:
        csv.writer(file, lineterminator=end).writerows([["sex", "town"], *rows])
    found = [[row["sex"], row["town"]] for row in rows_of(tmp_path / "t.csv", BOTH)]
    # Where lines end in both, a line feed alone is a blank.
    expected = [[c.replace("\n", " ") if end == "\r\n" else c for c in row] for row in rows]
    assert found == expected


BOTH = DeclaredSchema({n: DeclaredColumn(Kind.TEXT) for n in ("sex", "town")}, delimiter=",")


@pytest.mark.parametrize(
    "line", [b"{", b'{"age": 1', b"nothing", b"[1, 2]", b'{"age": "\xff"}', b"  "]
)
def test_a_line_that_is_no_record_changes_no_other_record(tmp_path: Path, line: bytes) -> None:
    path = written(tmp_path, "ndjson", PEOPLE)
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join([*lines[:6], line + b"\n", *lines[6:]]))
    assert [row for row in rows_of(path) if row in PEOPLE] == PEOPLE


def numbered(age: str, *, separator: str = ",") -> str:
    return "[" + separator.join(f'{{"age":{age if i == 3 else 40}}}' for i in range(50)) + "]"


@pytest.mark.parametrize("separator", [",", ",\n", ",\r\n  "])
@pytest.mark.parametrize(
    "cell",
    [
        "1" * 5000,
        "[" * 3000 + "]" * 3000,
        '{"a":' * 3000 + "1" + "}" * 3000,
        '"a\tb"',
        '"a\nb\0c\x1fd\re"',
        '1,"x":[' + ",\n".join("1" * 1000) + "]",
        "1" * 5000 + ',"x":[\n' + ",\n".join(['{"age":40}'] * 1000) + "]",
        r'"\\\"}{[,\\"',
        "[}",
        "]",
        "nothing",
    ],
    ids=lambda cell: repr(cell[:12]),
)
def test_any_value_of_a_record_in_a_list_is_one_record(
    tmp_path: Path, cell: str, separator: str
) -> None:
    (tmp_path / "t.json").write_text(numbered(cell, separator=separator), newline="")
    ages = [row["age"] for row in rows_of(tmp_path / "t.json", AGES)]
    assert len(ages) == 50
    assert [*ages[:3], *ages[4:]] == [40] * 49


@pytest.mark.parametrize("odd", ["[1, 2, 3]", '[{"age":40},{"age":40}]', "5", '"{"', "null"])
@pytest.mark.parametrize("form", ["[{},\n{}\n,{}]", "{}\n{}\n{}"])
def test_what_stands_for_a_record_is_at_most_one(tmp_path: Path, form: str, odd: str) -> None:
    first = '{\n  "age": 1,\n  "x": {"age": [2]}\n}'
    text = form.replace("{}", "%s") % (first, odd, '{"age": 3}')
    (tmp_path / "t.json").write_text(text)
    ages = [row["age"] for row in rows_of(tmp_path / "t.json", AGES)]
    assert ages in ([1, 3], [1, None, 3])


@pytest.mark.parametrize("line", ['{"age": 1', '{"age": "a"b"}', '{"age": {"a": [', "{"])
def test_a_record_that_is_never_closed_is_one_record(tmp_path: Path, line: str) -> None:
    lines = ['{"age": 40}'] * 6
    (tmp_path / "t.json").write_text("[" + ",\n".join([*lines[:3], line, *lines[3:]]) + "]")
    ages = [row["age"] for row in rows_of(tmp_path / "t.json", AGES)]
    assert ages == [40, 40, 40, None, 40, 40, 40]


AGES = DeclaredSchema({"age": DeclaredColumn(Kind.INTEGER)})


def test_a_carriage_return_in_a_line_makes_no_other_line(tmp_path: Path) -> None:
    record = '{"x": 1,' + '\r "a": 1,' * 1000 + '"age": 4}'
    (tmp_path / "t.ndjson").write_text('{"age": 40}\r\n' * 30 + record + "\r\n", newline="")
    assert [row["age"] for row in rows_of(tmp_path / "t.ndjson", AGES)] == [40] * 30 + [4]
    for end in ("\n", "\r\n"):
        text = end.join(["age,z", *["1,2"] * 30, "4,a" + "\rb" * 1000, ""])
        (tmp_path / "t.csv").write_text(text, newline="")
        assert [row["age"] for row in rows_of(tmp_path / "t.csv", AGES)] == [1] * 30 + [4]
        (tmp_path / "t.csv").write_text(text, encoding="utf-16", newline="")
        assert [row["age"] for row in rows_of(tmp_path / "t.csv", AGES)] == [1] * 30 + [4]


@pytest.mark.parametrize("cell", ["a\nb", "\n", "a\n\nb\n", '"a\nb"'])
def test_a_line_feed_in_a_cell_makes_no_other_line_where_lines_end_in_both(
    tmp_path: Path, cell: str
) -> None:
    text = "\r\n".join(["age,z", *["1,2"] * 30, f"4,{cell}", *["5,6"] * 30, ""])
    (tmp_path / "t.csv").write_text(text, newline="")
    assert [row["age"] for row in rows_of(tmp_path / "t.csv", AGES)] == [1] * 30 + [4] + [5] * 30


@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_a_blank_line_of_one_column_is_no_row_for_any_reader(tmp_path: Path, end: str) -> None:
    path = tmp_path / "t.csv"
    path.write_text(end.join(["age", "1", "", "2", '""', "", "?", ""]), newline="")
    assert [row["age"] for row in rows_of(path, AGES)] == [1, 2, None, None]
    with opened_table(path) as found:
        count = build.select(build.alias_as(build.count_star(), "n"), source=found.relation)
        assert found.engine.run(count).to_pylist() == [{"n": 4}]


@pytest.mark.parametrize(
    "body", ["1,x\ny\r\n2,z\r\n", '1,"x\r\n2,y\r\n', '1,"x\r\n2,y\r\n3,"z"\r\n']
)
def test_the_custodian_is_refused_a_file_whose_lines_one_cell_changes(
    tmp_path: Path, body: str
) -> None:
    path = tmp_path / "people.csv"
    path.write_text(f"age,town\r\n{body}", newline="")
    policy = parse_policy(
        "tables: {people: {unit: age, columns: {age: {role: identifier, kind: integer}}}}"
    )
    with pytest.raises(UnreadableSource), opened_table(path):
        pass
    with pytest.raises(UnreadableSource):
        register_table(path, policy, output=tmp_path / "out.parquet")


def test_lines_that_end_in_carriage_returns_are_lines(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("age,z\r" + "1,2\n,\n3,\r" * 30, newline="")
    assert [row["age"] for row in rows_of(tmp_path / "t.csv", AGES)] == [1] * 30


@pytest.mark.parametrize("piece", [1, 2, 3, 7])
def test_a_carriage_return_between_two_pieces_is_read_as_one_within(
    tmp_path: Path, piece: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(text_encoding, "CHUNK_BYTES", piece)
    (tmp_path / "t.csv").write_text("a,b\r\n1,\r\r2\r\r\n\r", newline="")
    found = text_encoding.as_utf8(tmp_path / "t.csv", encoding="utf-8", folder=tmp_path)
    assert found.read_bytes() == b"a,b\r\n1,  2 \r\n "
    (tmp_path / "t.csv").write_text("a,b\r\n1,2\r\n", newline="")
    assert (
        text_encoding.as_utf8(tmp_path / "t.csv", encoding="utf-8", folder=tmp_path).name == "t.csv"
    )


@pytest.mark.parametrize("place", [(2000, 1), (2000, 3), (5, 300), (2000, 300)])
def test_a_stray_cell_of_a_sheet_is_at_most_one_row_and_no_column(
    tmp_path: Path, place: tuple[int, int]
) -> None:
    import openpyxl

    opened_ledger = openpyxl.Workbook()
    sheet = opened_ledger.active
    assert sheet is not None
    for row in [["age", "column3", None], *[[40, "x", None]] * 30]:
        sheet.append(row)
    sheet.cell(*place).value = 7
    opened_ledger.save(tmp_path / "t.xlsx")
    opened = open_table(tmp_path / "t.xlsx", schema=AGES)
    try:
        assert [c.name for c in opened.engine.columns(opened.relation)] == ["age", "column3"]
    finally:
        opened.engine.close()
    ages = [row["age"] for row in rows_of(tmp_path / "t.xlsx", AGES)]
    assert ages == [40] * 30 + ([7] if place == (2000, 1) else [])


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("t.ndjson", '{"age": "DUCK\\u0000\0\0\0\0\0\0\0"}\n'),
        ("t.ndjson", '{"id": "DUCK", "age": 4}\n'),
        ("t.jsonl", "PAR1\n"),
        ("t.json", "SQLite format 3\0"),
        ("t.ndjson", "ARROW1\0\0\n"),
        ("t.csv", "id,age,\nDUCK1,5,\n"),
        ("t.csv", "id,age,\nDUCK\0\0\0\0\0\0\0\0\0\0\0\0,5,\n"),
        ("t.dat", "id,age,\nDUCK1,5,\n"),
    ],
)
def test_the_first_person_does_not_reveal_the_kind_of_a_file(
    tmp_path: Path, name: str, text: str
) -> None:
    (tmp_path / name).write_text(text)
    assert file_format(tmp_path / name).name == ("json" if "js" in name else "csv")
    assert len(rows_of(tmp_path / name, AGES)) <= 1


@pytest.mark.parametrize("ending", UNTYPED)
def test_explain_reads_no_row(tmp_path: Path, ending: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Opening and planning ask the engine for the columns of nothing: every query has no row."""
    path = written(tmp_path, ending, PEOPLE)
    expected = shown(path)
    ran: list[str] = []
    real = DuckDB._read_deferred

    def watched(engine: DuckDB, query: Any) -> None:
        before = set(engine._deferred)
        real(engine, query)
        ran.extend(before - set(engine._deferred))

    monkeypatch.setattr(DuckDB, "_read_deferred", watched)
    assert shown(path) == expected
    assert ran == []
    if ending in ("csv", "tsv", "ndjson", "json"):
        head = path.read_bytes().splitlines(keepends=True)[0] if ending in ("csv", "tsv") else b""
        path.write_bytes(head + b'\x00\xff"broken\n,,,\n\x01' * 50)
        assert shown(path) == expected


def test_a_column_without_a_kind_cannot_be_asked_about_whether_it_is_there_or_not(
    tmp_path: Path,
) -> None:
    path = written(tmp_path, "csv", PEOPLE)
    policy = parse_policy(
        "tables: {people: {unit: row, columns: {sex: {role: sensitive, kind: text}, age: sensitive}}}"
    )
    with discreet.open(path, policy, ledger=":memory:") as curator:
        for name in ("age", "town", "absent"):
            with pytest.raises(UndeclaredKind, match=f"'{name}'.*kind:"):
                curator.plan(f"SELECT count({name}) FROM people", epsilon=1)


def test_a_policy_without_any_kind_opens_no_file_without_types(tmp_path: Path) -> None:
    path = written(tmp_path, "csv", PEOPLE)
    policy = parse_policy("tables: {people: {unit: row, columns: {age: sensitive}}}")
    with pytest.raises(UndeclaredKind, match="discreet init"):
        discreet.open(path, policy, ledger=":memory:")


def test_a_typed_file_needs_no_kinds_and_obeys_those_declared(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    without_noise(monkeypatch)
    path = written(tmp_path, "parquet", PEOPLE)
    bare = parse_policy(
        "tables: {people: {unit: row, columns: {age: {role: sensitive, bounds: [0, 120]}}}}"
    )
    with discreet.open(path, bare, ledger=":memory:") as curator:
        assert curator.ask("SELECT sum(age) AS s FROM people", epsilon=1).rows == [[306]]
    other = parse_policy(
        "tables: {people: {unit: row, columns: {age: {role: sensitive, kind: text, values: ['20', '21']}}}}"
    )
    with discreet.open(path, other, ledger=":memory:") as curator:
        question = "SELECT age, count(*) AS n FROM people GROUP BY age"
        assert curator.ask(question, epsilon=1).rows == [["20", 1], ["21", 1]]


NUMBERS = POLICY.replace("kind: integer", "kind: number")
OF_NUMBERS = (
    "SELECT sum(age) AS s FROM people",
    "SELECT avg(age) AS m, count(age) AS n FROM people WHERE age > 25.5",
    "SELECT median(age) AS m FROM people",
    "SELECT age, count(*) AS n FROM people GROUP BY age",
    "SELECT age / 2 AS h, count(*) AS n FROM people GROUP BY age / 2",
)


def planned(source: object) -> list[str]:
    result: list[str] = []
    with discreet.open(source, parse_policy(NUMBERS), ledger=":memory:") as curator:
        name = "people" if isinstance(source, Path) else "data"
        for question in OF_NUMBERS:
            try:
                plan, text = curator.plan(question.replace("people", name), epsilon=1)
                found = curator.explain_plan(plan, text).to_dict()
                kept = {
                    key: found[key] for key in ("expected", "price", "cautions") if key in found
                }
                result.append(json.dumps([kept, str(curator.shape(plan))], default=str))
            except DiscreetError as error:
                result.append(f"{error.code}: {error}".replace("'data'", "'people'"))
    return result


@pytest.mark.parametrize("source", [*WRITERS, "arrow", "polars", "pandas", "duckdb"])
def test_whole_numbers_declared_as_numbers_are_planned_alike_in_every_format(
    tmp_path: Path, source: str
) -> None:
    expected = planned(written(tmp_path / "csv", "csv", PEOPLE))
    assert sum(line.startswith("[") for line in expected) == 3
    table = pa.Table.from_pylist(PEOPLE)
    frames = {"arrow": lambda: table, "polars": lambda: pl.from_arrow(table)}
    frames |= {"pandas": table.to_pandas, "duckdb": lambda: duckdb.arrow(table)}
    found = frames[source]() if source in frames else written(tmp_path / "it", source, PEOPLE)
    assert planned(found) == expected


def test_an_id_that_is_declared_as_a_number_distinguishes_no_one_in_any_format(
    tmp_path: Path,
) -> None:
    text = NUMBERS.replace("unit: row", "unit: age")
    policy = parse_policy(
        text.replace("{role: quasi-identifier, kind: number", "{role: identifier, kind: number")
    )
    for ending in ("csv", "parquet"):
        path = written(tmp_path / ending, ending, PEOPLE)
        with (
            discreet.open(path, policy, ledger=":memory:") as curator,
            pytest.raises(DiscreetError, match="different people can have equal ids"),
        ):
            curator.plan("SELECT count(*) AS n FROM people", epsilon=1)


def test_without_a_policy_the_first_look_is_pinned_and_later_rows_change_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    without_noise(monkeypatch)
    path = written(tmp_path, "csv", PEOPLE)
    first = shown(path, None)
    assert any("rows decided their kinds" in line for line in first)
    # A file that was written anew is another place for the ledger, whatever is in it.
    written(tmp_path, "csv", PEOPLE)
    expected = shown(path, None)
    written(tmp_path, "csv", [*PEOPLE, dict.fromkeys(NAMES, "?")])
    assert shown(path, None) == expected
    with discreet.open(path, ledger=tmp_path / "ledger.sqlite") as curator:
        assert curator.ask("SELECT count(age) AS n FROM people", epsilon=1).rows == [[12]]


def test_of_two_first_looks_one_is_pinned(tmp_path: Path) -> None:
    from discreet.dp.ledger.ledger import Ledger

    opened_ledger = Ledger(tmp_path / "ledger.sqlite")
    assert [
        opened_ledger.pin("a", "first"),
        opened_ledger.pin("a", "second"),
        opened_ledger.pin("b", "third"),
    ] == [
        "first",
        "first",
        "third",
    ]
    assert [opened_ledger.find_pin("a"), opened_ledger.find_pin("c")] == ["first", None]
    assert opened_ledger.verify() == 2
    opened_ledger.close()


def test_objects_of_pandas_are_what_the_policy_says(monkeypatch: pytest.MonkeyPatch) -> None:
    import pandas as pd

    without_noise(monkeypatch)
    policy = parse_policy(POLICY.replace("people:", "data:", 1))
    plain, odd = pd.DataFrame(PEOPLE), pd.DataFrame([*PEOPLE, dict.fromkeys(NAMES, "?")])
    result = []
    for frame in (plain.astype(object), odd):
        with discreet.open(frame, policy) as curator:
            result.append(
                curator.ask("SELECT sum(age) AS s, count(born) AS n FROM data", epsilon=1).rows
            )
    assert result == [[[306, 12]], [[306, 12]]]


FRAME_QUESTIONS = (
    "SELECT sum(age) AS s, avg(age) AS m, count(*) AS n FROM data",
    "SELECT age, count(*) AS n FROM data GROUP BY age",
    "SELECT count(*) AS n FROM data WHERE note = 1",
    "SELECT median(age) AS m FROM data",
    "SELECT sum(age * 2 + 1) AS s FROM data",
)


def shown_of(frame: Any, kind: str) -> list[str]:
    """Return what is shown of a frame before anything is paid, and its cells of `age`."""
    declared = "" if kind == "text" else ", bounds: [0, 100]"
    policy = parse_policy(
        f"tables: {{data: {{unit: row, columns: {{age: {{role: sensitive, kind: {kind}{declared}}}}}}}}}"
    )
    result: list[str] = []
    with discreet.open(frame, policy) as curator:
        for question in FRAME_QUESTIONS:
            try:
                plan, text = curator.plan(question, epsilon=1)
                found = curator.explain_plan(plan, text)
                result.append(json.dumps([found.to_dict(), str(curator.shape(plan))], default=str))
            except DiscreetError as error:
                result.append(f"{error.code}: {error}")
        table = curator.catalog.find("data").table
        query = build.select(build.column("age"), source=table.relation.copy())
        cells = table.engine.run(query).column(0).to_pylist()
    return [*result, str(cells[:3])]


@pytest.mark.parametrize("kind", ["integer", "number", "text"])
def test_one_odd_cell_of_a_pandas_frame_changes_no_plan_and_no_other_cell(kind: str) -> None:
    import pandas as pd

    notes = [1, 2, 3, 4]
    expected = shown_of(pd.DataFrame({"age": notes, "note": notes}), kind)
    odd = (None, 50.5, "?", 2**70, Decimal("1.5"), date(2020, 1, 1), [1], "\ud800", b"\xff", True)
    for cell in odd:
        assert shown_of(pd.DataFrame({"age": [1, 2, 3, cell], "note": notes}), kind) == expected
    for ages in ([1, 2, 3, 4], [1, 2, 3, "x"], [1, 2, 3, 2.5], [1, 2, 3, None]):
        frame = pd.DataFrame({"age": pd.Categorical(ages), "note": [1, 2, 3, "?"]})
        assert shown_of(frame, kind) == expected
    assert any(line.startswith("undeclared-kind") for line in expected)
    assert expected[-1] == {"integer": "[1, 2, 3]", "number": "[1.0, 2.0, 3.0]"}.get(
        kind, "['1', '2', '3']"
    )


def test_a_policy_without_any_kind_opens_no_frame_of_pandas() -> None:
    import pandas as pd

    policy = parse_policy("tables: {data: {unit: row, columns: {age: sensitive}}}")
    with pytest.raises(UndeclaredKind, match="discreet init"):
        discreet.open(pd.DataFrame({"age": [1, 2]}), policy)


@pytest.mark.parametrize(
    ("written_as", "form"),
    [("31/12/1990", "%d/%m/%Y"), ("12-31-1990", "%m-%d-%Y"), ("1990/12/31", "%Y/%m/%d")],
)
def test_dates_are_read_in_the_declared_form_only(
    tmp_path: Path, written_as: str, form: str
) -> None:
    path = written(tmp_path, "csv", [{**PEOPLE[0], "born": written_as}, PEOPLE[1]])
    schema = DeclaredSchema({"born": DeclaredColumn(Kind.DATE, CellFormat(dates=(form,)))})
    assert [str(row["born"]) for row in rows_of(path, schema)] == ["1990-12-31", "None"]


def test_a_registered_copy_has_the_declared_kinds(tmp_path: Path) -> None:
    import pyarrow.parquet as pq

    path = written(tmp_path, "csv", [*PEOPLE, {**PEOPLE[0], "age": "?"}])
    policy = parse_policy(
        POLICY.replace("unit: row", "unit: town\n    limits: {rows-per-unit: 2}").replace(
            "town: {role: quasi-identifier", "town: {role: identifier"
        )
    )
    register_table(path, policy, output=tmp_path / "r.parquet")
    made = pq.read_table(tmp_path / "r.parquet")
    assert made.num_rows == 13
    assert str(made.schema.field("age").type) == "int64"
    assert made["age"].null_count == 1


def test_files_with_one_header_are_one_table_by_the_policy(
    tmp_path: Path, monkeypatch: Any
) -> None:
    without_noise(monkeypatch)
    first = written(tmp_path, "csv", PEOPLE)
    shutil.copy(first, tmp_path / "people2.csv")
    with discreet.open(
        str(tmp_path / "people*.csv"), parse_policy(POLICY), table="people", ledger=":memory:"
    ) as curator:
        assert curator.ask("SELECT count(*) AS n FROM people", epsilon=1).rows == [[24]]


@pytest.mark.parametrize(
    "source", ["spark:/data/people.json", "spark:/data/people.JSON?master=local[1]"]
)
def test_json_on_spark_is_refused_before_spark_starts(source: str) -> None:
    with pytest.raises(UndeclaredKind, match="without `spark:`"):
        discreet.open(source, ledger=":memory:")


def planned_without_policy(
    source: object, ledger: Path, monkeypatch: pytest.MonkeyPatch, piped: bytes | None = None
) -> list[str]:
    """Return what is said before anything is paid, of a source that no policy describes."""
    told: list[str] = []
    if piped is not None:
        monkeypatch.setattr("sys.stdin", SimpleNamespace(buffer=io.BytesIO(piped)))
    with discreet.open(source, ledger=ledger) as curator:
        name = next(iter(curator.catalog.openers))
        for question in QUESTIONS:
            try:
                plan, text = curator.plan(question.replace("people", f'"{name}"'), epsilon=1)
                expected = curator.explain_plan(plan, text).to_dict()["expected"]
                told.append(json.dumps([expected, str(curator.shape(plan))], default=str))
            except DiscreetError as error:
                told.append(f"{error.code}: {error}")
    return told


def csv_bytes(rows: Sequence[dict[str, Any]], folder: Path) -> bytes:
    return written(folder, "csv", rows).read_bytes()


# The same columns, other people, other kinds: ages are words, and scores are days.
OTHERS = [{**row, "age": f"a{n}", "score": row["born"]} for n, row in enumerate(PEOPLE)]


@pytest.mark.parametrize("how", ["pipe", "frame", "copy"])
def test_a_draft_belongs_to_the_rows_of_a_pipe_a_frame_or_a_copy(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, how: str
) -> None:
    """Another data set with the same columns is drafted by itself, and a neighbor is not drafted again."""

    def planned_of(rows: Sequence[dict[str, Any]], number: int) -> list[str]:
        content = csv_bytes(rows, tmp_path / str(number))
        source: Any = tmp_path / str(number) / "people.csv"
        if how == "frame":
            import pandas as pd

            source = pd.DataFrame(rows).astype(object)
        if how == "pipe":
            return planned_without_policy("-", tmp_path / "ledger", monkeypatch, content)
        return planned_without_policy(source, tmp_path / "ledger", monkeypatch)

    first = planned_of(PEOPLE, 1)
    other = planned_of(OTHERS, 2)
    assert other != first
    for number, odd in enumerate(
        [dict.fromkeys(NAMES, "?"), {**PEOPLE[0], "age": "50.5"}, {**PEOPLE[0], "score": "x"}]
    ):
        assert planned_of([*PEOPLE, odd], 10 + number) == first
        assert planned_of([odd, *PEOPLE[1:]], 20 + number) == first
    assert planned_of(OTHERS[1:], 30) == other
    assert planned_of(PEOPLE, 1) == first


@pytest.mark.parametrize("ending", ["ndjson", "json"])
@pytest.mark.parametrize("how", ["file", "copy"])
def test_a_field_that_one_new_record_has_changes_no_draft(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, ending: str, how: str
) -> None:
    ledger = tmp_path / "ledger"
    first = planned_without_policy(written(tmp_path / "a", ending, PEOPLE), ledger, monkeypatch)
    folder = tmp_path / ("a" if how == "file" else "b")
    odd = {**PEOPLE[0], "only_they": 1, "age": "?", **{f"more{n}": n for n in range(50)}}
    path = written(folder, ending, [*PEOPLE, odd])
    assert planned_without_policy(path, ledger, monkeypatch) == first
    refused = first[QUESTIONS.index("SELECT count(only_they) AS n FROM people")]
    assert "only_they" in refused
    assert "policy" in refused
