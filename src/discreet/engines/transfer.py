"""Rows transferred from one engine to another, batch by batch."""

from __future__ import annotations

from collections.abc import Generator, Iterator
from contextlib import contextmanager

import pyarrow as pa
from sqlglot import exp

from discreet.engines.arrow import plain_type
from discreet.engines.duckdb import DuckDB
from discreet.engines.engine import ArrowBatch, ArrowReader, ArrowSchema, Engine
from discreet.errors import DiscreetError
from discreet.sql import build


def schema_of(engine: Engine, query: exp.Query) -> ArrowSchema:
    """Return names and types of a result, in types that every engine has."""
    head = build.select(exp.Star(), source=build.subquery(query.copy(), "q")).limit(0)
    schema = engine.run(head).schema
    return pa.schema([pa.field(item.name, plain_type(item.type)) for item in schema])


def fit_decimals(engine: Engine, query: exp.Query) -> exp.Query:
    """Return `query` with decimals of undeclared size cast to a type that holds all their digits.

    PostgreSQL has them, as in a sum. Numbers that need more than 38 digits become text.
    """
    schema = schema_of(engine, query)
    wide = [item.name for item in schema if pa.types.is_decimal256(item.type)]
    if not wide:
        return query
    sizes = [
        build.alias_as(
            exp.Max(this=exp.Length(this=_count_digits(name, part))), f"{position}.{part}"
        )
        for position, name in enumerate(wide)
        for part in (1, 2)
    ]
    found = engine.run(build.select(*sizes, source=build.subquery(query.copy(), "q"))).to_pylist()[
        0
    ]
    types = {
        name: _decimal_or_text(found[f"{position}.1"] or 0, found[f"{position}.2"] or 0)
        for position, name in enumerate(wide)
    }
    columns = [
        build.alias_as(exp.cast(_finite_or_null(item.name), types[item.name]), item.name)
        if item.name in types
        else build.column(item.name)
        for item in schema
    ]
    return build.select(*columns, source=build.subquery(query.copy(), "q"))


def _count_digits(name: str, part: int) -> exp.Expr:
    """Return the digits of a number before its point (part 1) or after it (part 2)."""
    text = exp.cast(exp.Abs(this=_finite_or_null(name)), "TEXT")
    arguments = [text, build.text("."), build.number(part)]
    return exp.Anonymous(this="split_part", expressions=arguments)


def _finite_or_null(name: str) -> exp.Expr:
    # Arrow's decimals have no NaN and no infinity.
    odd = exp.cast(build.column(name), "TEXT").isin("NaN", "Infinity", "-Infinity")
    return exp.Case(ifs=[exp.If(this=odd, true=exp.Null())], default=build.column(name))


def _decimal_or_text(before: int, after: int) -> str:
    return f"DECIMAL(38, {after})" if before + after <= 38 else "TEXT"


@contextmanager
def open_reader(engine: Engine, query: exp.Query) -> Generator[ArrowReader]:
    """Yield the result as a reader; a failure of `engine` is raised unchanged, not as the reader's.

    The consumer of the reader wraps its failures in an error of its own.
    """
    schema = schema_of(engine, query)
    failures: list[DiscreetError] = []

    def batches() -> Iterator[ArrowBatch]:
        try:
            # The stream may narrow types differently than an empty result: the schema counts.
            for batch in engine.stream(query):
                yield batch.cast(schema)
        except DiscreetError as error:
            failures.append(error)
            raise

    try:
        yield pa.RecordBatchReader.from_batches(schema, batches())
    except DiscreetError as error:
        wrapped = error
    else:
        return
    raise failures[0] if failures else wrapped


@contextmanager
def on_duckdb(engine: Engine, query: exp.Query) -> Generator[tuple[DuckDB, exp.Table]]:
    """Yield the result as a relation that another DuckDB reads once, in bounded memory."""
    home = DuckDB()
    try:
        with open_reader(engine, query) as reader:
            yield home, home.register(reader)
    finally:
        home.close()
