"""The same tables as files of many dialects, as other programs write them, and odd records of one person.

A style is drawn once for both neighbors. The rows of everybody else are written alike in both, byte for
byte: what the person who leaves wrote, ragged or damaged, is all that differs.
"""

from __future__ import annotations

import gzip
import json
import re
import zipfile
from collections import Counter
from dataclasses import dataclass, replace
from datetime import date, datetime
from random import Random
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from discreet.engines.engine import Kind

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from pathlib import Path

Cells = list[str | None]

_MARKED = ("utf-8", "utf-8-sig", "utf-16")  # encodings that need not be declared
LARGE = 1_200  # rows: beyond what readers sample
_MOST_BYTES = 2_000_000
_NUMBERS = (Kind.INTEGER, Kind.REAL, Kind.DECIMAL)


@dataclass(frozen=True)
class TextTable:
    """A table as texts, the kind of each column, and which rows are those of who leaves."""

    kinds: Mapping[str, Kind]
    rows: Sequence[Cells]
    leaving: Sequence[bool]

    @property
    def names(self) -> list[str]:
        """The names of the columns, the id first."""
        return [*self.kinds]

    def part(self, *, leaving: bool) -> TextTable:
        """Return the rows of who leaves, or of everybody else."""
        rows = [row for row, own in zip(self.rows, self.leaving, strict=True) if own is leaving]
        return TextTable(self.kinds, rows, [leaving] * len(rows))

    def enlarged(self, *, first: bool) -> TextTable:
        """Return a table of many rows; those of who leaves are the first ones, or the last."""
        own, others = self.part(leaving=True), self.part(leaving=False)
        size = sum(len(cell or "") for row in others.rows for cell in row) or 1
        times = min(LARGE // max(len(others.rows), 1), _MOST_BYTES // size) + 1
        many = replace(
            others, rows=[*others.rows] * times, leaving=[False] * len(others.rows) * times
        )
        pair = (own, many) if first else (many, own)
        return TextTable(
            self.kinds,
            [row for part in pair for row in part.rows],
            [flag for part in pair for flag in part.leaving],
        )


@dataclass(frozen=True)
class Style:
    """How a family of files is written; the same for both neighbors."""

    delimiter: str = ","
    quoting: str = "minimal"  # always, minimal or never
    line_end: str = "\n"
    encoding: str = "utf-8"  # utf-8-sig and utf-16 begin with a mark
    packing: str = ""
    is_multiline: bool = True
    is_odd: bool = False  # who leaves has records that no other person has
    files: str = "one"  # or who leaves has a file: "absent" or "empty" without them
    is_large: bool = False
    is_first: bool = False
    layout: str = "lines"  # of JSON: lines, list, indented
    decimal: str = "."
    thousands: str = ""
    missing: tuple[str, ...] = ()  # words for no value
    dates: str = ""  # a format, or as ISO writes them
    above: int = 0  # lines above the header
    seed: int = 0

    def grouped(self, chance: Random) -> Style:
        """Return the style, perhaps with marks between groups of digits."""
        marks = ("", "", "'", "." if self.decimal == "," else ",")
        return replace(self, thousands=chance.choice(marks))

    @property
    def reading(self) -> str:
        """What the policy must say about it."""
        said = [f'delimiter: "{self.delimiter}"'.replace("\t", "\\t")]
        said += [] if self.encoding in _MARKED else [f"encoding: {self.encoding}"]
        said += [] if self.is_multiline else ["multiline: false"]
        said += [] if self.decimal == "." else ['decimal: ","']
        said += [f'thousands: "{self.thousands}"'] if self.thousands else []
        said += [f"missing: {json.dumps(self.missing)}"] if self.missing else []
        said += [f"skip: {self.above}"] if self.above else []
        return f"    reading: {{{', '.join(said)}}}\n"


def draw_style(chance: Random) -> Style:
    """Return a random style."""
    quoting = chance.choice(("always", "minimal", "minimal", "never"))
    return Style(
        delimiter=chance.choice((",", ",", ";", "\t", "|")),
        quoting=quoting,
        line_end=chance.choice(("\n", "\n", "\r\n", "\r")),
        encoding=chance.choice((*_MARKED, "utf-8", "latin-1", "cp1252", "iso-8859-15")),
        packing=chance.choice(("", "", ".gz", ".zst")),
        is_multiline=quoting != "never" and chance.random() < 0.6,
        is_odd=chance.random() < 0.6,
        files=chance.choice(("one", "one", "absent", "empty")),
        is_large=chance.random() < 0.25,
        is_first=chance.random() < 0.3,
        layout=chance.choice(("lines", "lines", "list", "indented")),
        decimal=chance.choice((".", ".", ",")),
        missing=chance.choice(((), (), ("N/A", "-", "999"))),
        dates=chance.choice(("", "", "%d.%m.%Y", "%m/%d/%y")),
        above=chance.choice((0, 0, 0, 2)),
        seed=chance.randrange(10**9),
    ).grouped(chance)


def write_csv(table: TextTable, path: Path, style: Style) -> None:
    """Write a text file, packed as the ending says."""
    odd = _odd_rows(table, style, most=None if not style.is_multiline else 1)
    lines = [style.delimiter.join(_plain_cell(name, style) for name in table.names)]
    for row, chance in odd:
        cells = [_csv_cell(row[0], style)]
        for cell, kind in zip(row[1:], [*table.kinds.values()][1:], strict=True):
            cells.append(_csv_cell(_local_form(cell, kind, style), style))
        lines.append(_odd_line(cells, style, chance) if chance else style.delimiter.join(cells))
    if style.quoting == "never":
        # The writer never quotes, and each person may have quotation marks.
        lines[1:] = [_with_marks(line, number, style) for number, line in _numbered(lines[1:])]
    lines = [f"what was visited, part {number}" for number in range(style.above)] + lines
    text = "".join(line + style.line_end for line in lines)
    _write_packed(path, text.encode(style.encoding, errors="backslashreplace"))


def _local_form(cell: str | None, kind: Kind, style: Style) -> str | None:
    """Return a cell as the style writes numbers, dates and what is missing."""
    if cell is None:
        return style.missing[style.seed % len(style.missing)] if style.missing else None
    number = re.fullmatch(r"(-?)(\d{1,17})(?:\.(\d+))?", cell) if kind in _NUMBERS else None
    if number:
        whole = f"{int(number[2]):,}".replace(",", style.thousands or "")
        return number[1] + whole + (f"{style.decimal}{number[3]}" if number[3] else "")
    if kind in _NUMBERS:  # also one with an exponent
        return cell.replace(".", style.decimal)
    days = re.fullmatch(r"(\d{4})-(\d\d)-(\d\d)", cell) if kind is Kind.DATE else None
    if days and style.dates:
        return date(*map(int, days.groups())).strftime(style.dates)
    return cell


def _csv_cell(cell: str | None, style: Style) -> str:
    if cell is None:
        return ""
    if style.quoting == "never" or not style.is_multiline:
        cell = re.sub(r"[\r\n]", " ", cell)
    if style.quoting == "never":
        return _plain_cell(cell, style)
    is_special = not cell or any(mark in cell for mark in (style.delimiter, '"', "\r", "\n"))
    if style.quoting == "minimal" and not is_special:
        return cell
    return '"' + cell.replace('"', '""') + '"'


def _plain_cell(cell: str, style: Style) -> str:
    return cell.replace(style.delimiter, "/").replace('"', "'")


def _odd_line(cells: Sequence[str], style: Style, chance: Random) -> str:
    """Return a line of who leaves as a program in trouble writes it; the id stays what it is."""
    own, rest = cells[0], [*cells[1:]]
    place = chance.randrange(len(rest))
    stray = (
        '"',
        'a"b',
        '"a',
        'a"',
        '"a"b',
        '""a',
        "x\x00y",
        "\ufeff",
        " ",
        "?",
        "NA",
        "1,5",
        "a\x1fb",
    )
    moves: list[Callable[[], None]] = [
        lambda: rest.__setitem__(place, chance.choice(stray)),
        lambda: rest.__setitem__(place, chance.choice(stray)),
        lambda: rest.__delitem__(slice(place, None)),
        lambda: rest.extend(["x", "", '"y"'][: chance.randint(1, 3)]),
        lambda: rest.__setitem__(place, _other_line_end(style)),
    ]
    chance.choice(moves)()
    return style.delimiter.join([own, *rest])


def _other_line_end(style: Style) -> str:
    """Return a cell with what ends a line elsewhere, and not here."""
    ends = {"\n": "a\rb", "\r\n": "a\nb", "\r": "ab"}
    return ends[style.line_end]


def _with_marks(line: str, number: int, style: Style) -> str:
    chance = Random(f"{style.seed} {line} {number}")
    own, mark, rest = line.partition(style.delimiter)
    return own + mark + chance.choice(("", "", "", '"', 'a"')) + rest


def _numbered(items: Iterable[str]) -> Iterable[tuple[int, str]]:
    """Yield each item with how often it came before: the same in both neighbors."""
    seen: Counter[str] = Counter()
    for item in items:
        yield seen[item], item
        seen[item] += 1


def _odd_rows(
    table: TextTable, style: Style, most: int | None
) -> list[tuple[Cells, Random | None]]:
    """Return each row, with the chance by which it becomes odd if it does: at most so many do."""
    found: list[tuple[Cells, Random | None]] = []
    left = len(table.rows) if most is None else most
    for number, (row, own) in enumerate(zip(table.rows, table.leaving, strict=True)):
        is_odd = style.is_odd and own and left > 0
        left -= is_odd
        found.append((row, Random(f"{style.seed} {number}") if is_odd else None))
    return found


def _write_packed(path: Path, content: bytes) -> None:
    if path.suffix == ".gz":
        path.write_bytes(gzip.compress(content, mtime=0))
    elif path.suffix == ".zst":
        with pa.CompressedOutputStream(str(path), "zstd") as file:
            file.write(content)
    else:
        path.write_bytes(content)


def write_json(table: TextTable, path: Path, style: Style) -> None:
    """Write one record per line, a list on one line, or an indented list."""
    records = [
        _odd_record(_json_record(row, table.kinds), style, chance)
        if chance
        else json.dumps(_json_record(row, table.kinds))
        for row, chance in _odd_rows(table, style, None)
    ]
    text = {
        "lines": "".join(record + "\n" for record in records),
        "list": "[" + ", ".join(records) + "]",
        "indented": "[\n" + ",\n".join("  " + record for record in records) + "\n]\n",
    }[style.layout]
    _write_packed(path, text.encode("utf-8", errors="surrogatepass"))


def _json_record(row: Cells, kinds: Mapping[str, Kind]) -> dict[str, Any]:
    pairs = zip(kinds.items(), row, strict=True)
    return {name: _json_value(cell, kind) for (name, kind), cell in pairs if cell is not None}


def _json_value(cell: str | None, kind: Kind) -> Any:
    if kind is Kind.BOOLEAN and cell in ("true", "false"):
        return cell == "true"
    if kind in _NUMBERS and re.fullmatch(r"-?(0|[1-9]\d*)", cell or ""):
        return int(cell or "")
    number = _finite(cell) if kind in _NUMBERS else None
    return cell if number is None else number


def _odd_record(record: dict[str, Any], style: Style, chance: Random) -> str:
    """Return a record of who leaves with fields or values that no other record has."""
    names = [*record][1:]
    some = chance.choice(names) if names else "extra"
    values = ([1, {"a": None}], {"b": [2]}, "?", 10**40, 1.5, True, None, "", '"', "x\ny", "\ud800")
    changed = {
        "extra": {**record, "only_they": 1, "t ": "x", "T": "y", "a.b": 2, "": 3},
        "value": {**record, some: chance.choice(values)},
        "fewer": {key: value for key, value in record.items() if key != some},
        "nested": {**record, some: _nested(30)},
    }
    kind = chance.choice((*changed, "twice", "damaged"))
    if kind == "twice":
        return json.dumps(record)[:-1] + f', "{some}": "second"}}'
    text = json.dumps(record)
    cut = chance.randrange(len(text))
    if kind == "damaged" and style.layout == "lines":
        return chance.choice(
            ("{", "[]", "7", "null", text[:cut], '{"a"}', "\x00", '"', text + text)
        )
    if kind == "damaged" and style.layout == "indented":
        return chance.choice(
            ("{", "[]", "7", "null", text[:cut], text[:-1], '{"a"}', "[[", '{"a": "')
        )
    return json.dumps(changed.get(kind, record))


def _nested(depth: int) -> Any:
    return [_nested(depth - 1)] if depth else 1


def _finite(cell: str | None) -> float | None:
    try:
        number = float(cell or "")
    except ValueError:
        return None
    return number if abs(number) < 1e15 and (not number or abs(number) > 1e-200) else None


def write_workbook(table: TextTable, path: Path, style: Style) -> None:
    """Write a sheet of typed cells beside others; who leaves has cells of other types."""
    import openpyxl

    book = openpyxl.Workbook()
    sheet: Any = book.active
    sheet.title = "visits"
    sheet.append(table.names)
    for row, chance in _odd_rows(table, style, None):
        cells = [_sheet_cell(c, k) for c, k in zip(row, table.kinds.values(), strict=True)]
        if chance:
            place = chance.randrange(1, len(cells))
            odd = (
                True,
                7,
                2.5,
                "?",
                date(2024, 2, 29),
                datetime.fromisoformat("2024-01-01 12:00"),
                "=1.5+0",
                None,
                " ",
            )
            cells[place] = chance.choice(odd)
            cells += chance.choice(([], ["stray"], [None, None, 5]))
        sheet.append(cells)
    book.create_sheet("other").append(["a", "b"])
    book.save(path)
    _store_results(path)


def _sheet_cell(cell: str | None, kind: Kind) -> Any:
    if cell is None:
        return None
    if kind is Kind.BOOLEAN and cell in ("true", "false"):
        return cell == "true"
    number = _finite(cell) if kind in _NUMBERS and len(cell) < 15 else None
    if number is not None:
        return f"={number!r}+0" if number == 1.5 else number
    days = re.fullmatch(r"(20\d\d)-(\d\d)-(\d\d)", cell)
    if kind is Kind.DATE and days:
        return date(*map(int, days.groups()))
    return re.sub(r"[^\t\n -\ud7ff\ue000-\ufffd]", "", cell[:32_000]).lstrip("=")


def _store_results(path: Path) -> None:
    """Write the results of formulas as a spreadsheet program stores them, which openpyxl does not."""
    with zipfile.ZipFile(path) as book:
        parts = {name: book.read(name) for name in book.namelist()}
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as book:
        for name, content in parts.items():
            stored = re.sub(rb"<f>([\d.]+)\+0</f><v ?/>", rb"<f>\1+0</f><v>\1</v>", content)
            stored = re.sub(rb"<f>([\d.]+)\+0</f><v></v>", rb"<f>\1+0</f><v>\1</v>", stored)
            book.writestr(name, stored)


def write_survey(table: TextTable, path: Path, style: Style) -> None:
    """Write a file of SPSS, Stata or SAS; who leaves has values that are no whole numbers."""
    import pandas as pd
    import pyreadstat

    columns: dict[str, list[Any]] = {name: [] for name in table.names}
    for row, chance in _odd_rows(table, style, None):
        odd = chance.choice(table.names[1:]) if chance else None
        # Ids are texts: numbers of these files are reals. They fill up texts with blanks.
        columns[table.names[0]].append((row[0] or "").replace(" ", "_"))
        for name, cell in zip(table.names[1:], row[1:], strict=True):
            columns[name].append(_survey_cell("50.5" if name == odd else cell, table.kinds[name]))
    numbers = [name for name in table.names[1:] if table.kinds[name] in _NUMBERS]
    frame = pd.DataFrame(
        {
            name: pd.Series(values, dtype="float64" if name in numbers else "object")
            for name, values in columns.items()
        }
    )
    write: Any = {
        ".sav": pyreadstat.write_sav,
        ".dta": pyreadstat.write_dta,
        ".xpt": pyreadstat.write_xport,
    }[path.suffix]
    write(frame, str(path))


def _survey_cell(cell: str | None, kind: Kind) -> float | str | None:
    if kind in _NUMBERS:
        return _finite(cell)
    # These files hold texts of bytes, and no text that is missing.
    return re.sub(r"[^ -\ud7ff\ue000-\ufffd]", "", (cell or "")[:80])


def write_arrow(table: Any, path: Path, style: Style) -> None:
    """Write typed rows as Arrow, Feather or Parquet, in many small groups."""
    from pyarrow import feather, parquet

    size = 1 + style.seed % 700
    if path.suffix == ".parquet":
        packing = ("zstd", "snappy", "gzip", "none")[style.seed % 4]
        parquet.write_table(_storable(table), path, compression=packing, row_group_size=size)
    elif path.suffix == ".feather":
        feather.write_feather(table, path, ("zstd", "lz4")[style.seed % 2], chunksize=size)
    else:
        make = pa.ipc.new_stream if path.suffix == ".arrows" else pa.ipc.new_file
        with make(str(path), table.schema) as writer:
            writer.write_table(table, max_chunksize=size)


def _storable(table: Any) -> Any:
    """Return a table without the types that Parquet does not have."""
    for place, item in enumerate(table.schema):
        column = table.column(place)
        if item.type == pa.timestamp("s"):
            table = table.set_column(place, item.name, column.cast(pa.timestamp("us"), safe=False))
        if pa.types.is_interval(item.type):
            texts = [None if value is None else str(value) for value in column.to_pylist()]
            table = table.set_column(place, item.name, pa.array(texts, pa.string()))
    return table
