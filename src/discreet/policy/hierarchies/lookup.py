"""Values made coarser by a lookup file, in the format of ARX."""

from __future__ import annotations

import csv
import hashlib
from dataclasses import dataclass, field
from io import StringIO
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from discreet.arrow import ArrowArray, pc
from discreet.errors import InvalidHierarchy, SourceNotFound
from discreet.policy.hierarchies.values import positions
from discreet.policy.hierarchy import TOP, edge_labels, find_nesting_fault, missing_values


@dataclass(frozen=True)
class Lookup:
    r"""A table of labels: column 0 is the value, the next columns its levels, the last one `*`.

    Made by `read_lookup`. Two are equal if they came from the same file with the same content.

    >>> from pathlib import Path
    >>> written = Path("ward.csv").write_text("emergency;acute;*\nsurgery;acute;*\n", "utf-8")
    >>> read_lookup(Path("ward.csv")).generalize(pa.array(["surgery"]), 1).to_pylist()
    ['acute']
    """

    file: str
    digest: str  # SHA-256 of the file
    columns: tuple[ArrowArray, ...] = field(repr=False, compare=False)

    @property
    def height(self) -> int:
        """The number of columns after the first."""
        return len(self.columns) - 1

    @property
    def domain(self) -> ArrowArray:
        """Every value that the file lists."""
        return self.columns[0]

    def generalize(self, values: ArrowArray, level: int) -> ArrowArray:
        """Return the label that the file gives each value at `level`."""
        edge = edge_labels(values, level, height=self.height)
        if edge is not None:
            return edge
        found, missed = self._find(values)
        if missed.any():
            raise missing_values(
                values.filter(pa.array(missed)), of=values, where=self._display_name
            )
        return self.columns[level].take(pa.array(found, mask=found < 0))

    def misses(self, values: ArrowArray) -> ArrowArray:
        """Return the values that are not in the file's first column."""
        _, missed = self._find(values)
        return values.filter(pa.array(missed))

    def to_yaml_value(self) -> dict[str, Any]:
        """Return `{file: icd.csv}`."""
        return {"file": self.file}

    @property
    def _display_name(self) -> str:
        return f"The hierarchy file '{self.file}'"

    def _find(self, values: ArrowArray) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
        found = positions(values, self.columns[0])
        return found, (found < 0) & values.is_valid().to_numpy(zero_copy_only=False)


def read_lookup(path: Path, *, file: str | None = None) -> Lookup:
    """Return the hierarchy in the file `path`, which the policy calls `file`.

    Separated by `;` or `,`, without a header, in UTF-8. A last column of one label is the top,
    for any label; otherwise a level `*` is added.

    Raises:
        SourceNotFound: There is no such file.
        InvalidHierarchy: The file has no levels, two rows for one value, rows of unequal length, or
            levels that do not nest. The message names file and line.

    >>> read_lookup(Path("diagnoses_hierarchy.csv")).height
    3
    """
    name = file or str(path)
    content = _read_content(path, name)
    rows, lines = _parse_rows(content, name)
    columns = tuple(pa.array(column, pa.string()) for column in zip(*rows, strict=True))
    _check_unique(columns, lines, name)
    columns = _with_top(columns)
    split = find_nesting_fault(tuple(_encode_labels(column) for column in columns))
    if split:
        level, row = split
        raise InvalidHierarchy(
            f"{name}:{lines[row]}: levels {level} and {level + 1} do not nest: another line with "
            f"the same label on level {level} has a different one on level {level + 1}. "
            "Give both the same label, or different ones below."
        )
    return Lookup(name, hashlib.sha256(content.encode()).hexdigest(), columns)


def _read_content(path: Path, name: str) -> str:
    try:
        data = path.read_bytes()
    except FileNotFoundError:
        raise SourceNotFound(
            f"Hierarchy file '{name}' is not there. Its path is relative to the policy file."
        ) from None
    except OSError as error:
        raise InvalidHierarchy(
            f"Hierarchy file '{name}' cannot be read: {error.strerror}."
        ) from None
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise InvalidHierarchy(f"{name}:{line}: not UTF-8. Save the file as UTF-8.") from None


def _parse_rows(content: str, name: str) -> tuple[list[list[str]], list[int]]:
    first = content.split("\n", 1)[0]
    reader = csv.reader(StringIO(content, newline=""), delimiter=";" if ";" in first else ",")
    rows: list[list[str]] = []
    lines: list[int] = []
    try:
        for row in reader:
            if row:
                rows.append(row)
                lines.append(reader.line_num)
    except csv.Error:
        raise InvalidHierarchy(f"{name}:{reader.line_num}: not a line of a CSV file.") from None
    if not rows or len(rows[0]) < 2:
        raise InvalidHierarchy(
            f"{name}: no levels found. Write a line per value: value;label;broader label;*"
        )
    width = len(rows[0])
    for row, line in zip(rows, lines, strict=True):
        if len(row) != width:
            raise InvalidHierarchy(
                f"{name}:{line}: {len(row)} columns, where line {lines[0]} has {width}. "
                "Give every value a label on every level."
            )
    return rows, lines


def _check_unique(columns: tuple[ArrowArray, ...], lines: list[int], name: str) -> None:
    numbers = _encode_labels(columns[0])
    _, first, inverse = np.unique(numbers, return_index=True, return_inverse=True)
    again = np.flatnonzero(first[inverse] != np.arange(len(numbers)))
    if len(again):
        row = int(again[0])
        raise InvalidHierarchy(
            f"{name}:{lines[row]}: the value of line {lines[first[inverse[row]]]} again. "
            "Keep one of the two lines."
        )


def _with_top(columns: tuple[ArrowArray, ...]) -> tuple[ArrowArray, ...]:
    top = pa.array([TOP] * len(columns[0]), pa.string())
    is_constant = len(pc.unique(columns[-1])) == 1
    return (*columns[:-1], top) if is_constant else (*columns, top)


def _encode_labels(labels: ArrowArray) -> NDArray[np.int64]:
    return pc.dictionary_encode(labels).indices.to_numpy(zero_copy_only=False).astype(np.int64)
