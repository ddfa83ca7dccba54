"""What the asker gets: rows, how far off each cell may be, what it cost, what is left."""

from __future__ import annotations

import json
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Self

import pyarrow as pa

from discreet.answer.finish import half_width
from discreet.errors import MissingExtra
from discreet.result import Result, plain

if TYPE_CHECKING:
    from collections.abc import Mapping

    from discreet.answer.finish import Finished
    from discreet.engines.engine import ArrowTable

_META = b"discreet.answer"


@dataclass(frozen=True)
class Error:
    """How far off a cell may be because of the noise, and no more than the noise.

    `low` and `high` hold the value that no noise would give with the answer's `confidence`.
    """

    standard_error: float
    low: float
    high: float


@dataclass(frozen=True)
class Answer(Result):
    """A private answer.

    `error` has an entry for each cell of `rows`, None where the noise tells nothing about it.
    `spent` is the price of this answer, `remaining` what is left of each budget it counts against.
    """

    columns: tuple[str, ...]
    rows: list[list[Any]]
    error: list[list[Error | None]]
    spent: Mapping[str, float]
    remaining: Mapping[str, Any]
    confidence: float = 0.95
    noise: str = "laplace"
    cached: bool = False
    cautions: tuple[str, ...] = ()
    _table: ArrowTable = field(default=None, repr=False, compare=False)

    def to_arrow(self) -> ArrowTable:
        """Return the rows as an Arrow table."""
        return self._table

    def to_pandas(self) -> Any:
        """Return the rows as a pandas frame."""
        try:
            import pandas as pd
        except ImportError:
            raise MissingExtra(what="A pandas frame", extra="pandas") from None
        return pd.DataFrame(self._table.to_pydict())

    def to_polars(self) -> Any:
        """Return the rows as a polars frame."""
        try:
            import polars as pl
        except ImportError:
            raise MissingExtra(what="A polars frame", extra="polars") from None
        return pl.from_arrow(self._table)

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        """Hand the rows to anything that speaks Arrow."""
        return self._table.__arrow_c_stream__(requested_schema)

    def pack(self) -> bytes:
        """Return the answer as bytes that the ledger keeps."""
        told = {
            "error": plain(self.error),
            "spent": plain(self.spent),
            "confidence": self.confidence,
            "noise": self.noise,
            "cautions": list(self.cautions),
        }
        schema = self._table.schema.with_metadata({_META: json.dumps(told).encode()})
        sink = pa.BufferOutputStream()
        with pa.ipc.new_stream(sink, schema) as writer:
            writer.write_table(self._table.cast(schema))
        return sink.getvalue().to_pybytes()

    @classmethod
    def unpack(cls, packed: bytes) -> Self:
        """Return the answer that `pack` made bytes of."""
        table = pa.ipc.open_stream(packed).read_all()
        told = json.loads(table.schema.metadata[_META])
        table = table.replace_schema_metadata(None)
        errors = [
            [None if cell is None else Error(**cell) for cell in row] for row in told.pop("error")
        ]
        told["cautions"] = tuple(told["cautions"])
        return cls(
            columns=tuple(table.column_names),
            rows=rows_of(table),
            error=errors,
            remaining={},
            _table=table,
            **told,
        )

    def with_budget(self, remaining: Mapping[str, Any], *, cached: bool) -> Self:
        """Return the answer with what is left of the budgets now."""
        spent = {"epsilon": 0.0, "delta": 0.0} if cached else self.spent
        return replace(self, remaining=remaining, cached=cached, spent=spent)


def rows_of(table: ArrowTable) -> list[list[Any]]:
    """Return the rows of an Arrow table as lists."""
    columns = [column.to_pylist() for column in table.columns]
    return [list(row) for row in zip(*columns, strict=True)]


def make_answer(
    finished: Finished,
    *,
    spent: Mapping[str, float],
    confidence: float,
    noise: str,
    cautions: tuple[str, ...],
) -> Answer:
    """Return the answer with an interval for each cell."""
    table = finished.table
    columns: list[list[Error | None]] = []
    for index, errors in enumerate(finished.errors):
        values = table.column(index).to_pylist()
        if errors is None:
            columns.append([None] * len(values))
            continue
        columns.append(
            [
                _interval(value, float(error), confidence=confidence, noise=noise)
                for value, error in zip(values, errors, strict=True)
            ]
        )
    return Answer(
        columns=tuple(table.column_names),
        rows=rows_of(table),
        error=[list(row) for row in zip(*columns, strict=True)],
        spent=spent,
        remaining={},
        confidence=confidence,
        noise=noise,
        cautions=cautions,
        _table=table,
    )


def _interval(value: Any, error: float, *, confidence: float, noise: str) -> Error | None:
    if value is None or error != error:  # noqa: PLR0124
        return None
    half = half_width(error, confidence=confidence, kind=noise)
    return Error(error, float(value) - half, float(value) + half)
