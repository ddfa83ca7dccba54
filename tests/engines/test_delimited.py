"""CSV: dialects, types that hold for every row, and refusals that quote no cell."""

from __future__ import annotations

import gzip
from typing import TYPE_CHECKING

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sqlglot import exp

from discreet.engines.connect import open_table
from discreet.errors import DuplicateColumns, EmptySource, UnreadableSource, WrongUsage
from discreet.sql import build

if TYPE_CHECKING:
    from pathlib import Path


def write(folder: Path, text: str | bytes, name: str = "t.csv") -> Path:
    path = folder / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


def kinds(path: Path, **options: str) -> dict[str, str]:
    return {c.name: str(c.kind) for c in open_table(path, **options).columns}


def cells(path: Path, **options: str) -> dict[str, list[object]]:
    table = open_table(path, **options)
    return table.engine.run(build.select(exp.Star(), source=table.relation)).to_pydict()


@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|", ", "])
def test_the_delimiter_is_found(tmp_path: Path, delimiter: str) -> None:
    text = "".join(delimiter.join(line) + "\n" for line in (["a", "b c"], ["1", "x"], ["2", "y"]))
    assert cells(write(tmp_path, text)) == {"a": [1, 2], "b c": ["x", "y"]}


def test_a_delimiter_inside_quotes_is_text(tmp_path: Path) -> None:
    text = 'name;note\n"Meier; A";"x,y,z"\n"B";"p ""q"" r"\n'
    assert cells(write(tmp_path, text)) == {
        "name": ["Meier; A", "B"],
        "note": ["x,y,z", 'p "q" r'],
    }


def test_decimal_commas_do_not_beat_semicolons(tmp_path: Path) -> None:
    path = write(tmp_path, "a;b\n1,5;2,5\n3,5;4,5\n")
    assert cells(path) == {"a": [1.5, 3.5], "b": [2.5, 4.5]}


def test_a_named_delimiter_is_used(tmp_path: Path) -> None:
    assert cells(write(tmp_path, "a,b:c\n1,2:3\n"), delimiter=":") == {"a,b": [1.2], "c": [3]}


@pytest.mark.parametrize(
    ("option", "mark"), [("\\t", "\t"), ("tab", "\t"), ("||", "||"), ("~", "~")]
)
def test_a_delimiter_may_be_any_short_text(tmp_path: Path, option: str, mark: str) -> None:
    path = write(tmp_path, f"a{mark}b\n1{mark}x\n")
    assert cells(path, delimiter=option) == {"a": [1], "b": ["x"]}


@pytest.mark.parametrize("delimiter", ["", "\n", '"', "12345"])
def test_a_delimiter_that_cannot_be_one_is_wrong_usage(tmp_path: Path, delimiter: str) -> None:
    with pytest.raises(WrongUsage, match="delimiter"):
        open_table(write(tmp_path, "a,b\n1,2\n"), delimiter=delimiter)


def test_a_single_column_needs_no_delimiter(tmp_path: Path) -> None:
    assert cells(write(tmp_path, "age\n1\n2\n")) == {"age": [1, 2]}


@pytest.mark.parametrize(
    ("values", "kind"),
    [
        (["1", "-20", "0"], "integer"),
        (["01234", "12345"], "text"),
        (["12345", "01234"], "text"),
        (["007.5", "1.5"], "text"),
        (["+5", "6"], "real"),
        (["+0.5", "+.5"], "real"),
        (["+1234567.5", "-1234567"], "real"),
        (["+442079460000", "+442079460001"], "text"),
        (["+4420794", "5"], "text"),
        (["1" * 18, "2"], "integer"),
        (["1" * 19, "2"], "text"),
        (["1" * 19 + ".5", "2.5"], "text"),
        (["1.5", "2"], "real"),
        (["1e-05", "2.5"], "real"),
        (["12E4", "13E5"], "text"),
        (["1e+999", "1.5"], "text"),
        (["1e-999", "1.5"], "text"),
        (["0e-999", "1.5"], "real"),
        (["2.5e-300", "1.5"], "real"),
        (["9007199254740993", "0.5"], "text"),
        (["123456789012345.5", "0.5"], "real"),
        (["0.30000000000000004", "-52.520006599999998"], "real"),
        (["0.300000000000000041", "0.3"], "text"),
        (["NaN", "1.5", "inf"], "real"),
        (["1_000", "2"], "text"),
        (["*", "5"], "text"),
        (["NA", "5"], "integer"),
        (["?", "5.5"], "real"),
        (["NA", "?"], "text"),
        (["none", "5"], "text"),
        (["true", "FALSE"], "boolean"),
        (["t", "f"], "text"),
        (["2020-01-31", "1999-12-01"], "date"),
        (["2020-02-30", "1999-12-01"], "text"),
        (["2020/01/31", "1999/12/01"], "date"),
        (["13/02/2020", "01/02/2020"], "date"),
        (["02/13/2020", "01/02/2020"], "date"),
        (["01/02/2020", "03/04/2020"], "text"),
        (["13/02/2020", "02/13/2020"], "text"),
        (["31.12.1999", "1.2.2000"], "date"),
        (["01/02/20", "13/02/20"], "text"),
        (["2020-01-31 10:20:30", "2020-01-31T10:20"], "timestamp"),
        (["2020-01-31T10:20:30Z", "2020-01-31T10:20:30+02:00"], "timestamp"),
        (["10:20", "23:59:59"], "time"),
        (["10:20", "24:61"], "text"),
        (["infinity", "infinity"], "text"),
        (["", ""], "text"),
    ],
)
def test_a_type_is_taken_only_when_it_loses_nothing(
    tmp_path: Path, values: list[str], kind: str
) -> None:
    text = "n,v\n" + "".join(f"{n},{value}\n" for n, value in enumerate(values))
    assert kinds(write(tmp_path, text))["v"] == kind


@pytest.mark.parametrize(
    ("usual", "last", "kind"),
    [
        ("1", "01", "text"),
        ("1", "x", "text"),
        ("1", "1.5", "real"),
        ("01/02/2020", "13/02/2020", "date"),
    ],
)
def test_the_last_of_many_rows_decides(tmp_path: Path, usual: str, last: str, kind: str) -> None:
    path = write(tmp_path, "v,w\n" + f"{usual},1\n" * 50_000 + f"{last},1\n")
    assert kinds(path) == {"v": kind, "w": "integer"}


def test_day_first_and_month_first_are_read_as_they_are_proven(tmp_path: Path) -> None:
    day_first = cells(write(tmp_path, "d,n\n13/02/2020,1\n01/02/2020,2\n"))["d"]
    month_first = cells(write(tmp_path, "d,n\n02/13/2020,1\n01/02/2020,2\n"))["d"]
    assert [str(day) for day in day_first] == ["2020-02-13", "2020-02-01"]
    assert [str(day) for day in month_first] == ["2020-02-13", "2020-01-02"]


def test_nothing_is_null_and_quoted_nothing_is_empty_text(tmp_path: Path) -> None:
    assert cells(write(tmp_path, 'a,b\n1,""\n,x\n2,\n')) == {
        "a": [1, None, 2],
        "b": ["", "x", None],
    }


def test_a_quoted_nothing_among_numbers_is_null(tmp_path: Path) -> None:
    assert cells(write(tmp_path, 'a,b\n"1","x"\n"","y"\n')) == {"a": [1, None], "b": ["x", "y"]}


def test_names_lose_their_blanks_and_missing_names_get_one(tmp_path: Path) -> None:
    assert list(cells(write(tmp_path, " a ,,c\n1,2,3\n"))) == ["a", "column2", "c"]


def test_blanks_around_text_are_kept_and_around_numbers_dropped(tmp_path: Path) -> None:
    assert cells(write(tmp_path, "a,b\n 1 , x\n2,y \n")) == {"a": [1, 2], "b": [" x", "y "]}


@pytest.mark.parametrize("text", ["a,b,a\n1,2,3\n", "a,b,A\n1,2,3\n", "a,b, a\n1,2,3\n"])
def test_columns_that_share_a_name_are_refused(tmp_path: Path, text: str) -> None:
    with pytest.raises(DuplicateColumns, match="'a'"):
        open_table(write(tmp_path, text))


@pytest.mark.parametrize("text", ["", "\n\n", "\ufeff"])
def test_an_empty_file_is_refused(tmp_path: Path, text: str) -> None:
    with pytest.raises(EmptySource, match=r"t\.csv"):
        open_table(write(tmp_path, text))


def test_a_header_alone_is_a_table_without_rows(tmp_path: Path) -> None:
    assert cells(write(tmp_path, "a,b\n")) == {"a": [], "b": []}


def test_blank_lines_before_the_header_are_skipped(tmp_path: Path) -> None:
    assert cells(write(tmp_path, "\n\na,b\n1,2\n")) == {"a": [1], "b": [2]}


@pytest.mark.parametrize(
    "line", ["Alice,1", "Alice,1,2,3", 'Alice,1,"never closed'], ids=["short", "long", "open quote"]
)
def test_a_ragged_line_is_refused_by_number_without_its_text(tmp_path: Path, line: str) -> None:
    path = write(tmp_path, "name,b,c\n" + "x,1,2\n" * 5000 + line + "\n")
    with pytest.raises(UnreadableSource) as caught:
        open_table(path)
    assert "t.csv, line 5002" in str(caught.value)
    assert "Alice" not in str(caught.value)
    assert caught.value.__context__ is None
    assert caught.value.__cause__ is None


def test_another_encoding_than_the_named_one_is_refused_by_line_with_the_next_step(
    tmp_path: Path,
) -> None:
    path = write(tmp_path, ("n,name\n" + "1,a\n" * 300_000 + "1,Jos\u00e9\n").encode("latin-1"))
    with pytest.raises(UnreadableSource, match=r"line 300002.*--encoding.*cp1252") as caught:
        open_table(path, encoding="utf-8")
    assert "Jos" not in str(caught.value)


@pytest.mark.parametrize(
    ("encoding", "option"),
    [("latin-1", "latin-1"), ("latin-1", "ISO-8859-1"), ("utf-16", "utf-16"), ("utf-8", "utf8")],
)
def test_a_named_encoding_is_read(tmp_path: Path, encoding: str, option: str) -> None:
    path = write(tmp_path, "name,\u00e9\nJos\u00e9,1\n".encode(encoding))
    assert cells(path, encoding=option) == {"name": ["Jos\u00e9"], "\u00e9": [1]}


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16"])
def test_a_byte_order_mark_determines_the_encoding(tmp_path: Path, encoding: str) -> None:
    assert cells(write(tmp_path, "name,b\nJos\u00e9,1\n".encode(encoding))) == {
        "name": ["Jos\u00e9"],
        "b": [1],
    }


def test_an_unknown_encoding_is_wrong_usage(tmp_path: Path) -> None:
    with pytest.raises(WrongUsage, match="utf-8, utf-16, cp1252, latin-1"):
        open_table(write(tmp_path, "a\n1\n"), encoding="ebcdic")


def test_binary_data_is_not_taken_for_text(tmp_path: Path) -> None:
    with pytest.raises(UnreadableSource, match="binary"):
        open_table(write(tmp_path, bytes(range(16)) * 100))


def test_packed_files_are_read(tmp_path: Path) -> None:
    text = b"zip;n\n01234;1\n"
    packed = write(tmp_path, gzip.compress(text), "t.csv.gz")
    with pa.output_stream(tmp_path / "t.csv.zst", compression="zstd") as stream:
        stream.write(text)
    assert cells(packed) == cells(tmp_path / "t.csv.zst") == {"zip": ["01234"], "n": [1]}


def test_a_cut_off_packed_file_is_refused(tmp_path: Path) -> None:
    whole = gzip.compress(("n,v\n" + "".join(f"{n},{n * 7919}\n" for n in range(200_000))).encode())
    with pytest.raises(UnreadableSource, match="damaged"):
        open_table(write(tmp_path, whole[: len(whole) // 2], "t.csv.gz"))


def test_files_of_a_glob_are_one_table(tmp_path: Path) -> None:
    write(tmp_path, "a,b\n1,x\n", "p1.csv")
    write(tmp_path, "a,b\n01,y\n", "p2.csv")
    assert cells(tmp_path / "p*.csv") == {"a": ["1", "01"], "b": ["x", "y"]}


def test_files_of_a_glob_must_share_their_header(tmp_path: Path) -> None:
    write(tmp_path, "a,b\n1,x\n", "p1.csv")
    write(tmp_path, "b,a\nx,1\n", "p2.csv")
    with pytest.raises(UnreadableSource, match=r"p2\.csv has another header"):
        open_table(tmp_path / "p*.csv")


def test_a_name_with_pattern_letters_is_one_file(tmp_path: Path) -> None:
    write(tmp_path, "a,b\n9,9\n", "data1.csv")
    assert cells(write(tmp_path, "a,b\n1,2\n", "data[1].csv")) == {"a": [1], "b": [2]}


def test_adult_with_blanks_after_commas_opens_clean(shared_data: Path) -> None:
    table = open_table(shared_data / "adult_uci" / "adult_uci.csv")
    sexes = build.select(build.column("sex"), source=table.relation).distinct()
    assert sorted(table.engine.run(sexes).column(0).to_pylist()) == ["Female", "Male"]
    assert str(table.column("age").kind) == "integer"


FIELDS = st.text(st.characters(codec="utf-8", blacklist_characters="\0\r"), max_size=6)


@settings(
    max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(rows=st.lists(st.tuples(FIELDS, FIELDS), min_size=1, max_size=6))
def test_text_survives_quoting(tmp_path: Path, rows: list[tuple[str, str]]) -> None:
    lines = [
        "a;b",
        "x;y",
        *(";".join('"' + f.replace('"', '""') + '"' for f in row) for row in rows),
    ]
    found = cells(write(tmp_path, "\n".join(lines) + "\n"), delimiter=";")
    assert list(zip(found["a"], found["b"], strict=True))[1:] == rows


def test_mixed_line_ends_are_named_as_a_cause(tmp_path):
    path = tmp_path / "mixed.csv"
    path.write_bytes(b"age,zip\r\n1,2\r\n3,4\n5,6\n")
    with pytest.raises(UnreadableSource, match="all lines end alike"):
        open_table(path)
