"""Frames of Python: anything that speaks Arrow becomes a table on DuckDB."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from discreet.engines.declared import Declared, Schema, declared_kind, fitted
from discreet.engines.names import refuse_duplicates
from discreet.errors import EmptySource, UnreadableSource, WrongUsage
from discreet.sql import build

if TYPE_CHECKING:
    from discreet.engines.duckdb import DuckDB
    from discreet.engines.engine import Table


def is_untyped(frame: object) -> bool:
    """Whether a frame has columns that hold any Python object, so that its cells would decide."""
    return bool(_objects(frame))


def _objects(frame: Any) -> list[str]:
    if not (type(frame).__module__.startswith("pandas.") and hasattr(frame, "columns")):
        return []
    return [name for name, dtype in frame.dtypes.items() if str(dtype) == "object"]


def open_frame(frame: Any, *, engine: DuckDB, schema: Schema | None = None) -> Table:
    """Return a frame as a table on `engine`: scanned in place where Arrow allows, else stored.

    With `schema`, columns of Python objects have the kinds that it declares, or are left out.
    """
    label = type(frame).__name__
    objects = _objects(frame)
    if schema is not None and objects:
        kept = [name for name in frame.columns if name not in objects or name in schema.columns]
        frame = frame[kept].copy(deep=False)
        for name in objects:
            if name in schema.columns:
                frame[name] = frame[name].map(_text, na_action="ignore").astype("string")
        opened = open_frame(frame, engine=engine)
        return _fitted(opened, schema, objects, engine=engine)
    data = arrow_data(frame)
    refuse_duplicates(data.schema.names, where=f"The {label}")
    if not data.schema.names:
        raise EmptySource(f"The {label} has no columns. Give one with people in it.")
    if isinstance(data, pa.RecordBatchReader):  # can be read once only
        relation = engine.load(data)
    else:
        relation = engine.register(data)
    opened = engine.table(relation, label=label)
    if not objects:
        return opened
    kinds = {c.name: Declared(declared_kind(c.kind)) for c in opened.columns if c.name in objects}
    return replace(opened, schema=Schema(kinds))


def _fitted(opened: Table, schema: Schema, objects: list[str], *, engine: DuckDB) -> Table:
    wanted = [
        build.named(fitted(build.column(c.name), schema.columns[c.name]), c.name)
        if c.name in objects
        else build.column(c.name)
        for c in opened.columns
    ]
    relation = engine.view(build.select(*wanted, source=opened.relation.copy()))
    return replace(engine.table(relation, label=opened.label), schema=schema)


def _text(value: object) -> str:
    return str(value).encode("utf-8", errors="replace").decode("utf-8")


def arrow_data(frame: Any) -> Any:
    """Return a frame as an Arrow table, dataset or reader, without a copy where possible."""
    # Asked by name: importing pyarrow.dataset brings pandas along, which most runs never need.
    is_dataset = type(frame).__module__ in ("pyarrow._dataset", "pyarrow.dataset")
    if is_dataset:
        return frame
    if type(frame).__module__.startswith("pandas.") and hasattr(frame, "columns"):
        refuse_duplicates([str(name) for name in frame.columns], where="The DataFrame")
    try:
        data = _converted(frame)
    except (pa.ArrowException, TypeError, ValueError, OverflowError) as error:
        kind = type(error).__name__
    else:
        if data is not None:
            return data
        raise WrongUsage(
            f"A {type(frame).__name__} is not a table. Give a path, a URL, or a frame of pandas, "
            "polars, pyarrow, DuckDB or Spark."
        )
    raise UnreadableSource(
        f"The {type(frame).__name__} cannot be turned into Arrow ({kind}): a column may mix types, or be "
        "finer than microseconds. Give each column one type, and round it, first."
    )


def _converted(frame: Any) -> Any:
    library = type(frame).__module__.partition(".")[0]
    if type(frame).__name__ == "Series":
        return None
    if isinstance(frame, pa.RecordBatch):
        return _known_to_duckdb(pa.Table.from_batches([frame]))
    if isinstance(frame, (pa.Table, pa.RecordBatchReader)):
        return _known_to_duckdb(frame)
    if library == "pandas":
        return _known_to_duckdb(_from_pandas(frame))
    if library == "polars" and type(frame).__name__ == "LazyFrame":
        frame = frame.collect(engine="streaming")
    if library == "polars":
        return _known_to_duckdb(frame.to_arrow())
    if hasattr(frame, "to_arrow_reader"):  # a DuckDB relation, of whatever connection
        return frame.to_arrow_reader(122_880)
    if hasattr(frame, "__arrow_c_stream__"):
        return _known_to_duckdb(pa.RecordBatchReader.from_stream(frame))
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
    wanted = pa.schema([item.with_type(_scannable(item.type)) for item in data.schema])
    return data if wanted.equals(data.schema) else data.cast(wanted)


def _scannable(kind: Any) -> Any:
    if pa.types.is_float16(kind):
        return pa.float32()
    if pa.types.is_timestamp(kind) and kind.tz:
        return pa.timestamp("us", kind.tz)
    if pa.types.is_duration(kind):
        return pa.duration("us")
    return pa.string() if pa.types.is_decimal256(kind) else kind
