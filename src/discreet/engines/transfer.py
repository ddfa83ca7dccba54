"""Rows on their way from one engine to another, batch by batch."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

import pyarrow as pa
from sqlglot import exp

from discreet.engines.arrow import plain_type
from discreet.engines.duckdb import DuckDB
from discreet.errors import DiscreetError
from discreet.sql import build

if TYPE_CHECKING:
    from collections.abc import Generator, Iterator

    from discreet.engines.engine import ArrowBatch, ArrowReader, ArrowSchema, Engine


def schema_of(engine: Engine, query: exp.Query) -> ArrowSchema:
    """Return names and types of a result, in types that every engine has."""
    head = build.select(exp.Star(), source=build.subquery(query.copy(), "q")).limit(0)
    schema = engine.run(head).schema
    return pa.schema([pa.field(item.name, plain_type(item.type)) for item in schema])


@contextmanager
def reading(engine: Engine, query: exp.Query) -> Generator[ArrowReader]:
    """Give the result as a reader; a failure of `engine` comes out as it was, not as the reader's.

    Whoever pulls from the reader wraps what goes wrong in it into an error of its own.
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
    """Give the result as a relation that a DuckDB of its own reads once, in bounded memory."""
    home = DuckDB()
    try:
        with reading(engine, query) as reader:
            yield home, home.register(reader)
    finally:
        home.close()
