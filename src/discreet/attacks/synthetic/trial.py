"""A synthetic table, the people it was made from and people it was not, as numbers of one kind."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray
from sqlglot import exp

from discreet.engines.connect import open_table
from discreet.engines.engine import Kind, Table
from discreet.errors import EmptySource, UnknownColumn, WrongUsage, did_you_mean
from discreet.measure.roles import require_column
from discreet.sql import build

Scale: TypeAlias = Literal["number", "days", "microseconds"]
MOMENTS = (Kind.DATE, Kind.TIME, Kind.TIMESTAMP)


@dataclass(frozen=True)
class Feature:
    """A column that all three tables have.

    Attributes:
        name: Its name.
        is_ordered: Whether its values lie on a line; else they are only the same or not.
        has_gaps: Whether a value is missing somewhere.
        low: The smallest value of an ordered column.
        span: The largest distance of two values of an ordered column.
    """

    name: str
    is_ordered: bool
    has_gaps: bool = False
    low: float = 0.0
    span: float = 1.0
    # What the codes of a column that is not ordered stand for: for the custodian's screen only.
    _values: tuple[str, ...] = ()
    _kind: Scale = "number"

    def spell(self, number: float) -> str:
        """Return the value behind a number, as people write it: for the custodian only."""
        if np.isnan(number):
            return "missing"
        if not self.is_ordered:
            return self._values[int(number)]
        if self._kind == "number":
            return f"{number:g}"
        if self._kind == "days":
            return str(np.datetime64(int(number), "D"))
        return str(np.datetime64(int(number), "us").astype("datetime64[s]"))


@dataclass(frozen=True)
class Records:
    """The rows of one table: `values[feature, row]`, NaN where a value is missing."""

    values: NDArray[np.float64]

    def __len__(self) -> int:
        return self.values.shape[1]

    def take(self, rows: NDArray[np.int64]) -> Records:
        """Return the given rows."""
        return Records(self.values[:, rows])

    def distinct(self) -> Records:
        """Return each row once."""
        keys = row_keys(self.values)
        return self.take(np.sort(np.unique(keys, return_index=True)[1]))


@dataclass(frozen=True)
class SyntheticTrial:
    """What an attack on synthetic data is judged by.

    The same value has the same number in all three tables. `control` holds people of the same
    population who had no part in making the synthetic table: what an attack learns about them, it
    learned about the population, and that is no breach. With `without`, the control group is sought in
    that table instead, such as other rows of the same model.
    """

    features: tuple[Feature, ...]
    synthetic: Records
    source: Records
    control: Records
    label: str
    without: Records | None = None

    @property
    def elsewhere(self) -> SyntheticTrial:
        """The trial in which the control group is attacked."""
        return self if self.without is None else replace(self, synthetic=self.without)

    @property
    def control_words(self) -> str:
        """What the control is, after "so it does for 5 %": people, or a table."""
        if self.without is None:
            return "of people who are not in the source"
        return "with other rows of the same model"

    def positions(self, names: Sequence[str]) -> list[int]:
        """Return where the named features are.

        Raises:
            UnknownColumn: One of them is not in all three tables.
        """
        for name in names:
            if name not in self.names:
                near = did_you_mean(name, self.names)
                raise UnknownColumn(f"Column '{name}' is not in all three tables.{near}")
        return [self.names.index(name) for name in names]

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the features."""
        return tuple(feature.name for feature in self.features)


def open_trial(
    synthetic: object,
    *,
    source: object,
    control: object,
    columns: Sequence[str] | None = None,
    delimiter: str | None = None,
    encoding: str | None = None,
    memory_limit: str | None = None,
) -> SyntheticTrial:
    """Return a synthetic table beside its source and a control group; each is what `open_table` takes.

    Without `columns` all that the three share are used. The rest says how files are read.

    Raises:
        UnknownColumn: A named column is missing from one of them.
        WrongUsage: They share no column.
        EmptySource: One of them has no rows.

    >>> import pyarrow
    >>> trial = open_trial(
    ...     pyarrow.table({"age": [41, 7], "sex": ["f", "m"]}),
    ...     source=pyarrow.table({"age": [40, 8], "sex": ["f", "m"]}),
    ...     control=pyarrow.table({"age": [30], "sex": [None]}))
    >>> trial.names, len(trial.synthetic), trial.features[0].span
    (('age', 'sex'), 2, 34.0)
    """
    tables: list[Table] = []
    try:
        tables.extend(
            open_table(opened, delimiter=delimiter, encoding=encoding, memory_limit=memory_limit)
            for opened in (synthetic, source, control)
        )
        names = _shared_columns(tables, columns)
        read = [
            _align_column([table.column(name) for table in tables], tables, name) for name in names
        ]
    finally:
        for table in tables:
            table.engine.close()
    features = tuple(feature for feature, _ in read)
    rows = [Records(np.array([numbers[i] for _, numbers in read])) for i in range(3)]
    for table, found in zip(tables, rows, strict=True):
        if not len(found):
            raise EmptySource(f"{table.label} has no rows. An attack needs people to try it on.")
    return SyntheticTrial(features, rows[0], rows[1], rows[2], tables[0].label)


def row_keys(values: NDArray[np.float64]) -> NDArray[np.int64]:
    """Return one number for each row, the same for rows that agree on every feature."""
    keys = np.zeros(values.shape[1], dtype=np.int64)
    for column in values:
        codes = np.unique(column, return_inverse=True)[1]  # one NaN equals another here
        # Coded again at each step, two columns always fit into 64 bits.
        keys = np.unique(keys * (codes.max(initial=0) + 1) + codes, return_inverse=True)[1]
    return keys.astype(np.int64)


def _shared_columns(tables: Sequence[Table], columns: Sequence[str] | None) -> list[str]:
    if columns is not None:
        for table in tables:
            for name in columns:
                require_column(table, name)
        if len(set(columns)) < len(columns):
            raise WrongUsage("A column is named twice. Name each once.")
        return list(columns)
    first, *others = tables
    names = [
        column.name
        for column in first.columns
        if all(table.column(column.name) is not None for table in others)
    ]
    if not names:
        labels = ", ".join(table.label for table in tables)
        raise WrongUsage(f"No column is in all of {labels}. Give them the same column names.")
    return names


def _align_column(
    columns: Sequence[Any], tables: Sequence[Table], name: str
) -> tuple[Feature, list[NDArray[np.float64]]]:
    """Return a column of all tables as numbers that can be compared."""
    kinds = {column.kind for column in columns}
    if all(kind.is_number for kind in kinds):
        return _ordered_feature(
            name, [_to_numbers(_read(table, name)) for table in tables], "number"
        )
    if len(kinds) == 1 and kinds <= set(MOMENTS):
        read = [_read(table, name) for table in tables]
        kind = "days" if kinds == {Kind.DATE} else "microseconds"
        return _ordered_feature(name, [_to_moments(column) for column in read], kind)
    texts = [_read(table, name, as_text=True) for table in tables]
    return _categorical_feature(name, texts)


def _ordered_feature(
    name: str, numbers: list[NDArray[np.float64]], kind: Scale
) -> tuple[Feature, list[NDArray[np.float64]]]:
    every = np.concatenate(numbers)
    present = every[~np.isnan(every)]
    low, high = (float(present.min()), float(present.max())) if len(present) else (0.0, 0.0)
    feature = Feature(
        name,
        is_ordered=True,
        has_gaps=len(present) < len(every),
        low=low,
        span=(high - low) or 1.0,
        _kind=kind,
    )
    return feature, numbers


def _categorical_feature(name: str, texts: list[Any]) -> tuple[Feature, list[NDArray[np.float64]]]:
    together = pa.chunked_array([chunk for text in texts for chunk in text.chunks], pa.string())
    coded = together.combine_chunks().dictionary_encode()
    codes = np.asarray(pc.fill_null(coded.indices, -1).to_numpy(zero_copy_only=False), np.float64)
    codes[codes < 0] = np.nan
    values = tuple(coded.dictionary.to_pylist())
    ends = np.cumsum([len(text) for text in texts])
    parts = [codes[end - len(text) : end] for end, text in zip(ends, texts, strict=True)]
    has_gaps = bool(coded.null_count)
    return Feature(name, is_ordered=False, has_gaps=has_gaps, _values=values), parts


def _read(table: Table, name: str, *, as_text: bool = False) -> Any:
    column: exp.Expr = build.column(name)
    if as_text:
        column = exp.cast(column, exp.DataType.Type.TEXT)
    read = table.engine.run(build.select(build.alias_as(column, "v"), source=table.relation))
    found = read.column("v")
    return found.cast(pa.string()) if as_text else found


def _to_numbers(column: Any) -> NDArray[np.float64]:
    numbers = pc.cast(column, pa.float64(), safe=False).to_numpy()
    found: NDArray[np.float64] = np.array(numbers, dtype=np.float64)
    found[np.isinf(found)] = np.nan  # infinitely far from every other value, as a missing one is
    return found


def _to_moments(column: Any) -> NDArray[np.float64]:
    if pa.types.is_timestamp(column.type):
        column = pc.cast(column, pa.timestamp("us"), safe=False)
    elif pa.types.is_time(column.type):
        column = pc.cast(column, pa.time64("us"), safe=False)
    whole = pa.int32() if pa.types.is_date32(column.type) else pa.int64()
    return _to_numbers(pc.cast(column, whole))
