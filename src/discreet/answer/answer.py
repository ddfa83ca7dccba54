"""The answer: rows, the error of each cell, the price, and the remaining budget."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from math import ceil, floor
from typing import Any, Self

import pyarrow as pa

from discreet.answer.cut_rows import CutRows
from discreet.answer.finish import FinishedAnswer, interval_half_width, rank_probes
from discreet.answer.plan import Plan, RankProbe
from discreet.engines.caller_frames import to_pandas_frame, to_polars_frame
from discreet.engines.engine import ArrowTable
from discreet.result import Result, to_plain_data


@dataclass(frozen=True)
class CellError:
    """The error of a cell that the noise causes; other errors are not included.

    `low` and `high` hold the value that no noise would give with the answer's `confidence`.
    """

    standard_error: float
    low: float
    high: float


@dataclass(frozen=True)
class Answer(Result):
    """A private answer.

    `rows` are its rows, and `error` has an entry for each of their cells, None where the noise
    determines none. `rank_error` has an entry for each column: how many rows a quantile, minimum or
    maximum may be off in their order. `spent` is the price of this answer, `remaining` what is left of each budget it
    counts against. `cut_off` is the share of rows that the policy's limits excluded.

    >>> import discreet
    >>> with discreet.open("patients.csv", "policy.yaml", ledger="ledger.sqlite") as curator:
    ...     answer = curator.ask("SELECT count(*) AS n FROM patients", epsilon="0.5")
    >>> answer.columns, len(answer.rows)
    (('n',), 1)
    >>> interval = answer.error[0][0]
    >>> interval.low < answer.rows[0][0] < interval.high
    True
    """

    spent: Mapping[str, float]
    remaining: Mapping[str, Any]
    confidence: float = 0.95
    noise: str = "laplace"
    cached: bool = False
    cautions: tuple[str, ...] = ()
    cut_off: tuple[CutRows, ...] = ()
    _table: ArrowTable = field(default=None, repr=False, compare=False)
    _errors: ArrowTable = field(default=None, repr=False, compare=False)
    _floors: tuple[float | None, ...] = field(default=(), repr=False, compare=False)
    _probes: tuple[RankProbe | None, ...] = field(default=(), repr=False, compare=False)

    @property
    def columns(self) -> tuple[str, ...]:
        """The names of the columns."""
        return tuple(self._table.column_names)

    @property
    def rows(self) -> list[list[Any]]:
        """The rows, as lists."""
        columns = [_column_values(column) for column in self._table.columns]
        return [list(row) for row in zip(*columns, strict=True)]

    @property
    def error(self) -> list[list[CellError | None]]:
        """How far off each cell may be."""
        half = interval_half_width(1.0, confidence=self.confidence, kind=self.noise)
        columns = [
            [
                _error_interval(value, error, half, least)
                for value, error in zip(values, errors, strict=True)
            ]
            for values, errors, least in zip(
                (_column_values(column) for column in self._table.columns),
                (column.to_pylist() for column in self._errors.columns),
                self._floors or (None,) * self._table.num_columns,
                strict=True,
            )
        ]
        return [list(row) for row in zip(*columns, strict=True)]

    @property
    def rank_error(self) -> list[float | None]:
        """How many rows each quantile, minimum or maximum may be off in their order."""
        probes = self._probes or (None,) * self._table.num_columns
        return [None if probe is None else probe.rank_error(self.confidence) for probe in probes]

    def to_dict(self) -> dict[str, Any]:
        """Return the answer as plain JSON values."""
        cells = {
            "columns": self.columns,
            "rows": self.rows,
            "error": self.error,
            "rank_error": self.rank_error,
        }
        return {**to_plain_data(cells), **super().to_dict()}

    def to_arrow(self) -> ArrowTable:
        """Return the rows as an Arrow table, without errors; `with_errors()` has them."""
        return self._table

    def to_pandas(self) -> Any:
        """Return the rows as a pandas frame, with a column `…_error` beside each noisy one."""
        return to_pandas_frame(self.with_errors())

    def to_polars(self) -> Any:
        """Return the rows as a polars frame, with a column `…_error` beside each noisy one."""
        return to_polars_frame(self.with_errors())

    def with_errors(self) -> ArrowTable:
        """Return the rows with a column `…_error` beside each noisy one: how far off it may be.

        Beside a quantile, a minimum or a maximum it is a column `…_rank_error`: how many rows it may be
        off in their order. Where the question has a column of that name, an underscore is appended.
        """
        names, columns = list[str](), list[Any]()
        for index, name in enumerate(self.columns):
            names.append(name)
            columns.append(self._table.column(index))
            errors = [row[index] for row in self.error]
            if any(error is not None for error in errors):
                names.append(_unused_name(f"{name}_error", {*self.columns, *names}))
                columns.append(pa.array([_half_width(error) for error in errors], pa.float64()))
            ranks = self.rank_error[index]
            if ranks is not None:
                names.append(_unused_name(f"{name}_rank_error", {*self.columns, *names}))
                columns.append(pa.array([ranks] * self._table.num_rows, pa.float64()))
        return pa.Table.from_arrays(columns, names=names)

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        """Export the rows through the Arrow C stream interface."""
        return self._table.__arrow_c_stream__(requested_schema)

    def with_budget(
        self,
        remaining: Mapping[str, Any],
        *,
        confidence: float,
        cached: bool,
        cautions: tuple[str, ...] = (),
    ) -> Self:
        """Return the answer with what is left of the budgets now, and intervals as sure as asked."""
        return replace(
            self,
            remaining=remaining,
            confidence=confidence,
            cached=cached,
            spent={"epsilon": 0.0, "delta": 0.0} if cached else self.spent,
            cautions=(*self.cautions, *cautions),
        )


def make_answer(
    finished: FinishedAnswer,
    plan: Plan,
    *,
    spent: Mapping[str, float],
    cautions: tuple[str, ...],
    cut_off: tuple[CutRows, ...] = (),
) -> Answer:
    """Return the answer made from the computed columns."""
    table = finished.table
    errors = [
        pa.nulls(table.num_rows, pa.float64())
        if error is None
        else pa.array(error, from_pandas=True)
        for error in finished.errors
    ]
    return Answer(
        spent=spent,
        remaining={},
        noise=plan.noise,
        cautions=cautions,
        cut_off=cut_off,
        _table=table,
        _errors=pa.Table.from_arrays(errors, names=[str(i) for i in range(len(errors))]),
        _floors=finished.floors,
        _probes=rank_probes(plan),
    )


def _column_values(column: Any) -> list[Any]:
    try:
        return column.to_pylist()
    except OverflowError:
        # Engines have dates that Python lacks: infinity, and years after 9999.
        return column.cast("string").to_pylist()


def _error_interval(
    value: Any, error: float | None, half: float, least: float | None
) -> CellError | None:
    if value is None or error is None:
        return None
    low, high = float(value) - half * error, float(value) + half * error
    if isinstance(value, int):
        # The noise is an integer: an interval of ±2.9 holds no more values than one of ±2.
        low, high = float(floor(low)), float(ceil(high))
    return CellError(error, low if least is None else max(low, least), high)


def _unused_name(name: str, used: set[str]) -> str:
    return name if name not in used else _unused_name(f"{name}_", used)


def _half_width(error: CellError | None) -> float | None:
    return None if error is None else (error.high - error.low) / 2
