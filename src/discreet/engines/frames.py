"""Python frames: any object with an Arrow stream becomes a table on DuckDB."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from functools import partial
from numbers import Number
from typing import TYPE_CHECKING, Any

import pyarrow as pa
from sqlglot import exp

from discreet.engines.arrow_values import fit_table
from discreet.engines.declared_schema import TYPES, cast_declared, declared_kind
from discreet.engines.engine import DeclaredColumn, DeclaredSchema, Kind, Table
from discreet.engines.names import refuse_duplicates
from discreet.errors import EmptySource, UnreadableSource, WrongUsage
from discreet.policy.text_format import CellFormat
from discreet.sql import build

if TYPE_CHECKING:
    from discreet.engines.duckdb import DuckDB


def is_untyped_frame(frame: object) -> bool:
    """Whether a frame has object columns, so that its cells would decide their type."""
    return is_pandas(frame) and any(str(dtype) == "object" for dtype in _column_dtypes(frame))


def is_pandas(frame: object) -> bool:
    """Whether it is a pandas frame, where one odd cell changes the type of its column."""
    # Before version 3 the module is `pandas.core.frame`; a frame of GeoPandas is a subclass.
    return any(
        kind.__name__ == "DataFrame" and kind.__module__.partition(".")[0] == "pandas"
        for kind in type(frame).__mro__
    )


def _column_dtypes(frame: Any) -> list[Any]:
    return list(frame.dtypes)


def frame_header_names(frame: Any) -> tuple[str, ...]:
    """Return the names of a pandas frame's columns and index levels."""
    return (*map(str, frame.columns), *_index_names(frame))


def _index_names(frame: Any) -> tuple[str, ...]:
    """Return the names of a pandas frame's index levels, which are not columns of the table."""
    if not is_pandas(frame):
        return ()
    return tuple(str(name) for name in frame.index.names if name is not None)


def open_frame(frame: Any, *, engine: DuckDB, schema: DeclaredSchema | None = None) -> Table:
    """Return a frame as a table on `engine`: scanned in place where Arrow allows, else stored.

    With `schema`, a pandas frame has exactly the declared columns, of the declared kinds.
    """
    label = type(frame).__name__
    if schema is not None and is_pandas(frame):
        opened = _open_declared(frame, schema, engine=engine)
        others = [name for name in frame_header_names(frame) if name not in schema.columns]

        def cells() -> AbstractContextManager[exp.Table]:
            return nullcontext(_open_declared(frame, DeclaredSchema({}), engine=engine).relation)

        return replace(opened, undeclared=tuple(others), cells=cells)
    data = arrow_data(frame, is_total=not engine.looks_at_rows)
    refuse_duplicates(data.schema.names, where=f"The {label}")
    if not data.schema.names:
        raise EmptySource(f"The {label} has no columns. Give one with people in it.")
    if isinstance(data, pa.RecordBatchReader):  # can be read once only
        relation = engine.load(data)
    else:
        relation = engine.register(data)
    opened = replace(engine.table(relation, label=label), undeclared=_index_names(frame))
    if not is_untyped_frame(frame):
        return opened
    kinds = {c.name: DeclaredColumn(declared_kind(c.kind)) for c in opened.columns}
    return replace(opened, schema=DeclaredSchema(kinds))


def _open_declared(frame: Any, schema: DeclaredSchema, *, engine: DuckDB) -> Table:
    names = [str(name) for name in frame.columns]
    refuse_duplicates(names, where="The DataFrame")
    plain = frame.set_axis(names, axis="columns", copy=False).copy(deep=False)
    numbers: dict[str, exp.Expr] = {}
    for name, one in schema.named(names).items():
        # Undeclared columns cannot be queried; numbers among them are those that the frame holds.
        is_declared = name in schema.columns
        is_number = _is_number(plain.dtypes[name], one.kind if is_declared else Kind.REAL)
        if is_number and not _has_missing_numbers(one.written):
            cell = build.column(name)
            numbers[name] = (
                exp.TryCast(this=cell, to=_duckdb_type(one.kind)) if is_declared else cell
            )
        elif type(plain.dtypes[name]).__name__ == "ArrowDtype":
            # The dtype is fixed, so no cell decides it; Python cannot hold all of its values.
            text = exp.TryCast(this=build.column(name), to=exp.DataType.build("TEXT"))
            numbers[name] = cast_declared(text, one) if is_declared else text
        else:
            is_numeric = one.kind in (Kind.INTEGER, Kind.REAL)
            write = partial(_cell_text, decimal=one.written.decimal if is_numeric else None)
            cells = plain[name].astype(object).map(write, na_action="ignore")
            plain[name] = cells.astype("string")
    opened = open_frame(plain, engine=engine)
    wanted = [
        build.alias_as(numbers.get(name) or cast_declared(build.column(name), one), name)
        for name, one in schema.named(names).items()
    ]
    relation = engine.view(build.select(*wanted, source=opened.relation.copy()))
    made = engine.table(relation, label=opened.label)
    columns = tuple(column for column in made.columns if column.name in schema.columns)
    return replace(made, columns=columns, schema=schema)


def _is_number(dtype: Any, kind: Kind) -> bool:
    """Whether a column holds numbers of the declared kind, so that no cell needs to be read as text."""
    from pandas.api import types

    if str(dtype).startswith("Sparse"):  # which Arrow does not accept
        return False
    is_whole = types.is_integer_dtype(dtype)
    return (
        is_whole
        if kind is Kind.INTEGER
        else kind is Kind.REAL and (is_whole or types.is_float_dtype(dtype))
    )


def _has_missing_numbers(written: CellFormat) -> bool:
    """Whether a number may stand for a missing value, so that numbers must be compared with such words."""
    return any(
        any(map(str.isdigit, word)) or "inf" in word.lower() for word in written.missing or ()
    )


def _duckdb_type(kind: Kind) -> exp.DataType:
    return exp.DataType.build(TYPES[kind], dialect="duckdb")


def _cell_text(value: object, *, decimal: str | None = None) -> str:
    """Return a cell as text, independent of whether its column became integer, real or object.

    A number is written with the decimal mark of the column, so that it is read as the number that it is.
    """
    if type(value).__name__ in ("bool", "bool_"):
        return str(value).lower()
    if isinstance(value, float) and value.is_integer() and abs(value) < 2**63:
        value = int(value)
    if decimal is not None and isinstance(value, Number):
        return str(value).replace(".", decimal)
    return str(value).encode("utf-8", errors="replace").decode("utf-8")


def arrow_data(frame: Any, *, is_total: bool = False) -> Any:
    """Return a frame as an Arrow table, dataset or reader, without a copy where possible.

    With `is_total`, no value in it can make it fail: what DuckDB cannot hold is missing.
    """
    # Compared by name: importing pyarrow.dataset brings pandas along, which most runs never need.
    is_dataset = type(frame).__module__ in ("pyarrow._dataset", "pyarrow.dataset")
    if is_dataset:
        return fit_table(frame) if is_total else frame
    if is_pandas(frame):
        refuse_duplicates([str(name) for name in frame.columns], where="The DataFrame")
    try:
        data = _to_arrow(frame)
        if data is not None:
            return fit_table(data) if is_total else _known_to_duckdb(data)
    except (pa.ArrowException, TypeError, ValueError, OverflowError) as error:
        kind = type(error).__name__
    else:
        raise WrongUsage(
            f"A {type(frame).__name__} is not a table. Give a path, a URL, or a frame of pandas, "
            "polars, pyarrow, DuckDB or Spark."
        )
    raise UnreadableSource(
        f"The {type(frame).__name__} cannot be turned into Arrow ({kind}): a column may mix types, or be "
        "finer than microseconds. Give each column one type, and round it, first."
    )


def _to_arrow(frame: Any) -> Any:
    library = type(frame).__module__.partition(".")[0]
    if type(frame).__name__ == "Series":
        return None
    if isinstance(frame, pa.RecordBatch):
        return pa.Table.from_batches([frame])
    if isinstance(frame, (pa.Table, pa.RecordBatchReader)):
        return frame
    if is_pandas(frame):
        return _from_pandas(frame)
    if library == "polars" and type(frame).__name__ == "LazyFrame":
        frame = frame.collect(engine="streaming")
    if library == "polars":
        return frame.to_arrow()
    if hasattr(frame, "to_arrow_reader"):  # a DuckDB relation, of whatever connection
        return frame.to_arrow_reader(122_880)
    if hasattr(frame, "__arrow_c_stream__"):
        return pa.RecordBatchReader.from_stream(frame)
    return None


def _from_pandas(frame: Any) -> Any:
    plain = frame.copy(deep=False)
    for name, dtype in frame.dtypes.items():
        categories = getattr(dtype, "categories", None)
        if categories is not None and str(categories.dtype).startswith(("interval", "period")):
            plain[name] = frame[name].cat.rename_categories(categories.astype(str))
    data = pa.Table.from_pandas(plain, preserve_index=False)
    for item, (name, dtype) in zip(data.schema, frame.dtypes.items(), strict=True):
        # Arrow takes 5 o'clock from a moment among dates, and makes bytes of a text among bytes.
        is_narrow = pa.types.is_date(item.type) or pa.types.is_binary(item.type)
        if str(dtype) == "object" and is_narrow and frame[name].dropna().map(type).nunique() > 1:
            raise TypeError("mixed")
    return data


def _known_to_duckdb(data: Any) -> Any:
    """Return a table or reader without the types that DuckDB cannot scan, or would round."""
    wanted = pa.schema([item.with_type(_scannable_type(item.type)) for item in data.schema])
    return data if wanted.equals(data.schema) else data.cast(wanted)


def _scannable_type(kind: Any) -> Any:
    if pa.types.is_float16(kind):
        return pa.float32()
    if pa.types.is_timestamp(kind) and kind.tz:
        return pa.timestamp("us", kind.tz)
    if pa.types.is_duration(kind):
        return pa.duration("us")
    return pa.string() if pa.types.is_decimal256(kind) else kind
