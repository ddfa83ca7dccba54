"""Files of SPSS, Stata and SAS, read in chunks into the engine.

What such a file declares as missing is NULL. A variable whose values all have labels is a text with these
labels; in another one, labels that say why there is no value make their codes missing. SAS keeps labels in a
catalog of formats beside the file. For questions the policy states labels and codes, since a program may have
made the labels from the rows.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from datetime import date, datetime, time, timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
from sqlglot import exp

from discreet.engines.declared_schema import cast_declared, declared_kind
from discreet.engines.duckdb import DuckDB
from discreet.engines.engine import Column, DeclaredColumn, DeclaredSchema, Kind
from discreet.engines.file_request import FileRequest
from discreet.engines.names import refuse_duplicates
from discreet.errors import MissingExtra, UnreadableSource
from discreet.formatting import format_count
from discreet.policy.text_format import CellFormat
from discreet.registry import FormatSpec
from discreet.sql import build

ROWS_PER_PIECE = 50_000
_ANY_BYTES = "ISO-8859-1"  # in which every byte is a letter
_SPSS_ORIGIN, _ORIGIN = datetime(1582, 10, 14), datetime(1960, 1, 1)  # noqa: DTZ001 -- local, as in files
_MILLISECONDS_PER_DAY = 86_400_000
_TIMES = re.compile(r"%tc(HH|hh)|[DM]?TIME|HHMM|HOUR")
_MOMENTS = re.compile(r"%t[cC]|DATETIME|YMDHMS|TOD|E8601DT")
_WHOLE = 2**53  # beyond it neighboring whole numbers are equal as reals
# Labels that say why there is no value, in the languages of large surveys.
_NO_VALUE = re.compile(
    r"(?i)\b(missing|refus\w*|don.?t know|do not know|no answer|not answered|not applicable|inapplicable"
    r"|not asked|unknown|n/a|keine angabe|wei(ß|ss) nicht|verweigert|trifft nicht zu|no sabe|no contesta"
    r"|sin respuesta|ne sait pas|sans réponse|non réponse|nie wiem|brak danych|odmowa|weet niet|vet ej)\b"
)
_READERS = {
    ".sav": "read_sav",
    ".zsav": "read_sav",
    ".por": "read_por",
    ".dta": "read_dta",
    ".sas7bdat": "read_sas7bdat",
    ".xpt": "read_xport",
}
_CATALOG, _COMMON_CATALOG = ".sas7bcat", "formats"  # the ending, and the name that SAS looks for
_WIDTH = re.compile(r"\d*\.?\d*$")  # of a format, whose name never ends in a digit


def _open_survey(request: FileRequest) -> exp.Table | tuple[exp.Table, DeclaredSchema]:
    return _open_inferred(request) if request.schema is None else _open_declared(request)


def _open_inferred(request: FileRequest) -> tuple[exp.Table, DeclaredSchema]:
    """Return a statistics file as a stored table, and what its codes mean."""
    path, engine = request.path, request.engine
    unread = Counter[str]()
    first, described = _read_piece(path, 0, unread)
    refuse_duplicates(list(first), where=path.name)
    schema = pa.schema(
        [pa.field(name, _arrow_type(values, described, name)) for name, values in first.items()]
    )
    batches = (_make_batch(path, piece, schema) for piece in _read_pieces(path, first, unread))
    codes = engine.whole_numbers(engine.load(pa.RecordBatchReader.from_batches(schema, batches)))
    if request.hints is not None:
        written = {name: one.written for name, one in request.hints.named(first).items()}
    else:
        written = _recognize_codes(codes, _find_labels(path, described), engine=engine)
    columns = {
        one.name: _declare_column(one, written.get(one.name, CellFormat()))
        for one in engine.columns(codes)
    }
    wanted = [
        build.alias_as(cast_declared(exp.cast(build.column(name), "TEXT"), one), name)
        if one.written.labels or one.written.missing
        else build.column(name)
        for name, one in columns.items()
    ]
    titles = described.column_names_to_labels or {}
    return engine.view(build.select(*wanted, source=codes)), DeclaredSchema(
        columns,
        titles={name: title for name, title in titles.items() if title and title != name},
        doubts={name: _describe_unread(count) for name, count in unread.items() if count},
    )


def _describe_unread(count: int) -> str:
    return (
        f"{format_count(count, 'date or time is', 'dates or times are')} beyond the years 1 to 9999 and taken for "
        "missing; correct the file if a day is meant"
    )


def _declare_column(column: Column, written: CellFormat) -> DeclaredColumn:
    form = CellFormat(missing=written.missing, labels=written.labels)
    return DeclaredColumn(Kind.TEXT if form.labels else declared_kind(column.kind), form)


def _find_labels(path: Path, described: Any) -> dict[str, dict[Any, str]]:
    """Return the labels of each variable that has any; for a table of SAS, those of the catalogs beside it.

    Raises:
        UnreadableSource: A catalog is damaged.
    """
    if path.suffix.lower() != ".sas7bdat":
        found: dict[str, dict[Any, str]] = described.variable_value_labels or {}
        return {name: labels for name, labels in found.items() if labels}
    formats: dict[str, dict[Any, str]] = {}
    for catalog in _list_catalogs(path):
        formats = {**_read_catalog(catalog, path), **formats}
    labels: dict[str, dict[Any, str]] = {}
    for name, form in (described.variable_to_label or {}).items():
        codes = formats.get(_WIDTH.sub("", form).upper(), {})
        is_text = described.readstat_variable_types.get(name) == "string"
        # A letter that labels a number is one of the missing values `.A` to `.Z`, which are NULL.
        if fitting := {
            code: one for code, one in codes.items() if isinstance(code, str) == is_text
        }:
            labels[name] = fitting
    return labels


def _list_catalogs(path: Path) -> list[Path]:
    """Return the catalogs beside a table of SAS: that of its own name, then the common one."""
    names = (path.stem.lower(), _COMMON_CATALOG)
    beside = [one for one in path.parent.iterdir() if one.suffix.lower() == _CATALOG]
    return sorted(
        (one for one in beside if one.stem.lower() in names),
        key=lambda one: (names.index(one.stem.lower()), one.name),
    )


def _read_catalog(catalog: Path, path: Path) -> dict[str, dict[Any, str]]:
    import pyreadstat

    try:
        _, described = pyreadstat.read_sas7bcat(str(catalog), output_format="dict")
    except Exception as error:  # noqa: BLE001 -- whatever is wrong, the labels cannot be had
        kind = type(error).__name__
    else:
        return {name.upper(): labels for name, labels in described.value_labels.items()}
    raise UnreadableSource(
        f"{catalog.name}, the catalog with the formats of {path.name}, is damaged or not a catalog "
        f"({kind}). Replace it, or move it elsewhere to read codes without labels."
    )


def _recognize_codes(
    codes: exp.Table, value_labels: dict[str, dict[Any, str]], *, engine: DuckDB
) -> dict[str, CellFormat]:
    """Return the labels of the variables whose values all have one, and other codes for missing values."""
    labels = {name: _distinct_labels(found) for name, found in value_labels.items()}
    if not labels:
        return {}
    checks = [
        exp.Anonymous(
            this="bool_and",
            expressions=[
                exp.In(
                    this=exp.Nullif(
                        this=exp.cast(build.column(name), "TEXT"), expression=build.text("")
                    ),
                    expressions=[build.text(code) for code in found],
                )
            ],
        )
        for name, found in labels.items()
    ]
    row = engine.execute_unguarded(exp.Select(expressions=checks).from_(codes.copy())).fetchone()
    written: dict[str, CellFormat] = {}
    for (name, found), is_labeled in zip(labels.items(), row or (), strict=True):
        absent = tuple(code for code, label in found.items() if _NO_VALUE.search(label))
        if is_labeled:
            written[name] = CellFormat(labels=tuple(found.items()))
        elif absent:
            written[name] = CellFormat(missing=absent)
    return written


def _distinct_labels(labels: dict[Any, str]) -> dict[str, str]:
    """Return the label of each code; with the code where others have the same, or where there is none."""
    texts = {_cell_text(code) or "": str(label).strip() for code, label in labels.items()}
    often = Counter(texts.values())
    found = {
        code: label if label and often[label] == 1 else f"{label} ({code})".strip()
        for code, label in texts.items()
    }
    if len(set(found.values())) == len(found):
        return found
    return {code: f"{label} ({code})".strip() for code, label in texts.items()}


def _open_declared(request: FileRequest) -> exp.Table:
    """Return a statistics file as a table, the declared variables fitted; its cases are read later."""
    path = request.path
    _, described = _read(path, metadataonly=True)
    names = tuple(described.column_names)
    refuse_duplicates(list(names), where=path.name)
    columns = (request.schema or DeclaredSchema({})).named(names)
    texts = pa.schema([pa.field(name, pa.string()) for name in columns])

    def batches() -> Iterator[Any]:
        for piece in _read_whole_pieces(path, described):
            arrays = [pa.array(map(_cell_text, piece[name]), pa.string()) for name in columns]
            yield pa.RecordBatch.from_arrays(arrays, schema=texts)

    def read() -> exp.Table:
        return request.engine.load(pa.RecordBatchReader.from_batches(texts, batches()))

    return request.defer(columns, read)


def _read_pieces(
    path: Path, first: dict[str, list[Any]], unread: Counter[str]
) -> Iterator[dict[str, list[Any]]]:
    """Yield all cases in pieces, of which the first was read."""
    offset, piece = 0, first
    while piece and len(next(iter(piece.values()))):
        yield piece
        offset += ROWS_PER_PIECE
        piece, _ = _read_piece(path, offset, unread)


def _read_whole_pieces(path: Path, described: Any) -> Iterator[dict[str, list[Any]]]:
    """Yield all cases in pieces; a cell that cannot be read is None, so that no cell fails a question."""
    offset = 0
    while piece := _read_whole_piece(path, offset, described):
        if not len(next(iter(piece.values()))):
            return
        yield piece
        offset += ROWS_PER_PIECE


def _read_piece(path: Path, offset: int, unread: Counter[str]) -> tuple[dict[str, list[Any]], Any]:
    """Return some cases, and what the file says of them; a date that cannot be is None, and counted.

    Raises:
        UnreadableSource: The file is damaged, or a text is not in its encoding.
    """
    place = {"row_offset": offset, "row_limit": ROWS_PER_PIECE}
    with suppress(UnreadableSource):
        return _read(path, **place)
    _, described = _read(path, metadataonly=True)
    for name in described.column_names:
        if described.readstat_variable_types.get(name) == "string":
            _refuse_other_encoding(path, name, described.file_encoding, place)
    return _read_raw_piece(path, place, described, unread), described


def _refuse_other_encoding(
    path: Path, name: str, encoding: str | None, place: dict[str, int]
) -> None:
    with suppress(UnreadableSource):
        _read(path, **place, usecols=[name])
        return
    _read(path, **place, usecols=[name], encoding=_ANY_BYTES)
    raise UnreadableSource(
        f"{path.name}, column '{name}': a text is not in the encoding of the file ({encoding}). Save the file "
        "again as UTF-8 with the program that wrote it, or remove the column."
    )


def _read_whole_piece(path: Path, offset: int, described: Any) -> dict[str, list[Any]]:
    """Return some cases, of which no cell makes reading fail.

    Raises:
        UnreadableSource: The file itself is damaged.
    """
    place = {"row_offset": offset, "row_limit": ROWS_PER_PIECE}
    try:
        piece, _ = _read(path, **place)
    except UnreadableSource:
        piece = _read_raw_piece(path, place, described, Counter())
    return {**piece, **_read_fractions(path, place, described, piece)}


def _read_fractions(
    path: Path, place: dict[str, int], described: Any, piece: dict[str, list[Any]]
) -> dict[str, list[Any]]:
    """Return the moments and times of SPSS and SAS as they are where a cell cannot be converted.

    Versions of pyreadstat before 1.3.5 cut fractions of seconds: a cell that cannot be converted would then
    change the cells of others.
    """
    forms = described.original_variable_types or {}
    names = [
        name
        for name, values in piece.items()
        if path.suffix.lower() != ".dta"
        and (_TIMES.match(forms.get(name) or "") or _MOMENTS.match(forms.get(name) or ""))
        and any(isinstance(value, (datetime, time)) for value in values)
    ]
    if not names:
        return {}
    raw, _ = _read(path, **place, usecols=names, disable_datetime_conversion=True)
    return {
        name: [_find_moment(value, forms[name], path.suffix.lower()) for value in raw[name]]
        for name in names
    }


def _read_raw_piece(
    path: Path, place: dict[str, int], described: Any, unread: Counter[str]
) -> dict[str, list[Any]]:
    """Return some cases without pyreadstat's conversions where they fail; `unread` counts lost dates."""
    raw, _ = _read(path, **place, disable_datetime_conversion=True, encoding=_ANY_BYTES)
    piece: dict[str, list[Any]] = {}
    for name, values in zip(described.column_names, raw.values(), strict=True):
        if described.readstat_variable_types.get(name) == "string":
            piece[name] = [_decode_text(value, described.file_encoding) for value in values]
            continue
        try:
            piece[name] = _read(path, **place, usecols=[name])[0][name]
        except UnreadableSource:
            form = str((described.original_variable_types or {}).get(name) or "")
            found = [_find_moment(value, form, path.suffix.lower()) for value in values]
            there = sum(_cell_text(value) is not None for value in values)
            unread[name] += there - sum(moment is not None for moment in found)
            piece[name] = found
    return piece


def _decode_text(value: Any, encoding: str | None) -> str | None:
    """Return a text that was read byte by byte; bytes that are no text become U+FFFD."""
    if not isinstance(value, str):
        return None
    try:
        return value.encode(_ANY_BYTES).decode(encoding or "utf-8", errors="replace")
    except LookupError:
        return value.encode(_ANY_BYTES).decode("utf-8", errors="replace")


def _find_moment(value: Any, form: str, ending: str) -> date | time | datetime | None:
    """Return the day, time or moment that a number means in a format, None where there is none."""
    is_spss = ending in (".sav", ".zsav", ".por")
    is_time, is_moment = bool(_TIMES.match(form)), bool(_MOMENTS.match(form))
    try:
        if ending == ".dta" and (is_time or is_moment):
            within = value % _MILLISECONDS_PER_DAY
            fine = timedelta(seconds=int(within / 1000), microseconds=int(within % 1000 * 1000))
            passed = timedelta(days=math.floor(value / _MILLISECONDS_PER_DAY)) + fine
        elif is_spss or is_time or is_moment:
            passed = timedelta(seconds=value)
        else:
            passed = timedelta(days=int(value))
        found = (_SPSS_ORIGIN if is_spss else _ORIGIN) + passed
    except (OverflowError, ValueError, TypeError):
        return None
    if is_time:
        return found.time()
    return found if is_moment else found.date()


def _cell_text(value: Any) -> str | None:
    """Return a cell as text; whole numbers, which these files store as reals, without a point."""
    if value is None or value != value:  # noqa: PLR0124 -- nan
        return None
    if isinstance(value, float):
        return (
            str(int(value)) if value.is_integer() and abs(value) <= _WHOLE else repr(float(value))
        )
    return str(value).encode("utf-8", errors="replace").decode("utf-8")


def _read(path: Path, **limits: Any) -> tuple[dict[str, list[Any]], Any]:
    try:
        import pyreadstat
    except ImportError:
        pyreadstat = None
    if pyreadstat is None:
        raise MissingExtra(what="Reading SPSS, Stata and SAS files", extra="files")
    read = getattr(pyreadstat, _READERS[path.suffix.lower()])
    try:
        return read(str(path), output_format="dict", **limits)
    except Exception as error:  # noqa: BLE001 -- pyreadstat's errors may quote cells
        kind = type(error).__name__
    raise UnreadableSource(f"{path.name} is damaged or not a file of its kind ({kind}).")


def _arrow_type(values: list[Any], described: Any, name: str) -> Any:
    if described.readstat_variable_types.get(name) == "string":
        return pa.string()
    inferred = pa.array(values, from_pandas=True).type
    if pa.types.is_temporal(inferred):
        return pa.timestamp("us") if pa.types.is_timestamp(inferred) else inferred
    form = str((described.original_variable_types or {}).get(name) or "")
    if pa.types.is_null(inferred) and re.match(r"%tc|.*DATETIME", form):
        return pa.timestamp("us")
    if pa.types.is_null(inferred) and re.match(r"%td|.*DATE|.*YYMMDD|MMDDYY|DDMMYY", form):
        return pa.date32()
    return pa.float64()


def _make_batch(path: Path, piece: dict[str, list[Any]], schema: Any) -> Any:
    try:
        arrays = [pa.array(piece[item.name], item.type, from_pandas=True) for item in schema]
    except (pa.ArrowException, TypeError, ValueError):
        arrays = None
    if arrays is None:
        raise UnreadableSource(f"{path.name} has a column that mixes types. Recode it first.")
    return pa.RecordBatch.from_arrays(arrays, schema=schema)


SPEC = FormatSpec(
    name="survey",
    title="SPSS, Stata, SAS",
    suffixes=tuple(_READERS),
    open=_open_survey,
    suffix_decides=False,
    position=6,
)
