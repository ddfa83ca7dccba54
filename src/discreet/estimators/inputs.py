"""Rows as scikit-learn gives them (arrays, lists, frames) as named columns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa

from discreet.engines.frames import arrow_data, is_pandas
from discreet.engines.names import refuse_duplicates
from discreet.estimators.cells import RawColumn, cast_cells
from discreet.estimators.scikit_learn import check_array, validate_data
from discreet.policy.model import ColumnKind


@dataclass(frozen=True)
class InputColumns:
    """The columns of `X`.

    Attributes:
        names: Their names; columns of an array are x0, x1 and so on.
        columns: The columns.
        has_names: Whether the names are those of a frame.
        is_typed: Whether the types of columns are of the table, and not decided by its cells, as those of
            numpy and pandas are.
        count: How many rows there are.
    """

    names: tuple[str, ...]
    columns: tuple[RawColumn, ...]
    has_names: bool
    is_typed: bool
    count: int

    def column(self, name: str) -> RawColumn:
        """Return a column by its name."""
        return self.columns[self.names.index(name)]

    def without(self, names: Sequence[str | None]) -> InputColumns:
        """Return the rows without some columns of a frame."""
        if not self.has_names:
            return self
        kept = [place for place, name in enumerate(self.names) if name not in names]
        return replace(
            self,
            names=tuple(self.names[place] for place in kept),
            columns=tuple(self.columns[place] for place in kept),
        )

    def validate(self, estimator: Any, *, reset: bool) -> None:
        """Set, or compare, an estimator's `feature_names_in_` and `n_features_in_`, as scikit-learn does."""
        count = len(self.names)
        if self.has_names:
            empty = pa.array([], pa.float64())
            shape: Any = pa.table([empty] * count, names=list(self.names))
        else:
            shape = np.empty((0, count))
        validate_data(estimator, shape, reset=reset, skip_check_array=True)

    def to_arrow(self, kinds: Mapping[str, ColumnKind | None]) -> Any:
        """Return the columns that `kinds` names, each of its kind, as an Arrow table."""
        chosen = [(name, self.column(name)) for name in kinds]
        return pa.table({name: cast_cells(column, kinds[name]) for name, column in chosen})


def read_input(X: Any, *, estimator: Any) -> InputColumns:
    """Return the columns of an array, of a list of rows, or of a frame.

    Raises:
        ValueError: It has not two dimensions, or no column.
        TypeError: It is sparse.
    """
    if is_pandas(X):
        return _read_pandas(X)
    is_series = type(X).__name__ == "Series"
    if hasattr(X, "__arrow_c_stream__") and not is_series:
        data = arrow_data(X)
        table = data if isinstance(data, pa.Table) else data.read_all()
        return _name_columns(table.column_names, table.columns, rows=table.num_rows, is_typed=True)
    array: Any = check_array(
        X,
        dtype=None,  # pyright: ignore[reportArgumentType] -- it says `str`, and means this, too
        ensure_all_finite=False,
        ensure_min_samples=0,
        estimator=estimator,
        input_name="X",
    )
    columns = tuple(array[:, place] for place in range(array.shape[1]))
    names = tuple(f"x{place}" for place in range(len(columns)))
    return InputColumns(names, columns, has_names=False, is_typed=False, count=len(array))


def _read_pandas(frame: Any) -> InputColumns:
    if any(str(dtype).startswith("Sparse") for dtype in frame.dtypes):
        raise TypeError(
            "Sparse data was passed for X, but dense data is required. Use `X.sparse.to_dense()`."
        )
    labels = list(frame.columns)
    columns = [_pandas_column(frame.iloc[:, place]) for place in range(len(labels))]
    if labels and not any(isinstance(label, str) for label in labels):
        names = [f"x{place}" for place in range(len(labels))]
        return replace(
            _name_columns(names, columns, rows=len(frame), is_typed=False), has_names=False
        )
    return _name_columns(labels, columns, rows=len(frame), is_typed=False)


def _pandas_column(series: Any) -> RawColumn:
    if str(series.dtype) == "object":
        return series.to_numpy()
    try:
        return pa.chunked_array([pa.array(series, from_pandas=True)])
    except (pa.ArrowException, TypeError, ValueError, OverflowError):
        return series.to_numpy(dtype=object)


def _name_columns(
    names: Sequence[Any], columns: Sequence[RawColumn], *, rows: int, is_typed: bool
) -> InputColumns:
    if not names:
        raise ValueError(f"0 feature(s) (shape=({rows}, 0)) while a minimum of 1 is required.")
    if not all(isinstance(name, str) for name in names):
        kinds = sorted({type(name).__qualname__ for name in names})
        raise TypeError(
            "Feature names are only supported if all input features have string names, but your input has "
            f"{kinds} as feature name / column name types. Use `X.columns = X.columns.astype(str)`."
        )
    refuse_duplicates(list(names), where="X")
    return InputColumns(tuple(names), tuple(columns), has_names=True, is_typed=is_typed, count=rows)
