"""One coded column: which cells have which code, and what cell comes of a code."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.random import Generator
from numpy.typing import NDArray
from sqlglot import exp

from discreet.arrow import ArrowArray, pc
from discreet.domain.binned_range import BinnedRange
from discreet.domain.listed_values import ListedValues
from discreet.engines.engine import Kind

Codes = NDArray[np.intp]
# Decimals of a declared size, as engines write them.
SIZED_DECIMAL = re.compile(r"(?:decimal|numeric)\((\d+), ?(\d+)\)", re.IGNORECASE)
_ZONED = ("TIMESTAMP WITH TIME ZONE", "TIMESTAMPTZ", "TIMESTAMP_TZ")


@dataclass(frozen=True)
class CodedColumn:
    """A coded column: codes from 0 to `size` - 1, the last of which means that there is no value.

    Attributes:
        name: The column.
        kind: What its values are.
        coding: Which values have which code.
        levels: Coarser codes of each code, coarse to fine, from the column's hierarchy. They nest.
    """

    name: str
    kind: Kind
    coding: ListedValues | BinnedRange
    levels: tuple[Codes, ...] = field(default=(), compare=False)

    @property
    def size(self) -> int:
        """How many codes there are."""
        return self.coding.size + 1

    @property
    def missing(self) -> int:
        """The code of a missing value."""
        return self.coding.size

    @property
    def is_ordered(self) -> bool:
        """Whether neighboring codes are neighbors on a scale."""
        return self.coding.is_ordered

    def code(self, cell: exp.Expr) -> exp.Expr:
        """Return the code of a cell as a whole number; it is never NULL and never fails.

        Numbers, dates and times beyond the bounds count as the bound, texts that are not listed as missing.
        """
        return exp.cast(self.coding.code(cell, missing=self.missing), exp.DataType.Type.INT)

    def encode(self, values: ArrowArray) -> NDArray[np.int32]:
        """Return the codes of values that are not on an engine."""
        return self.coding.encode(values, missing=self.missing)

    def decode(self, codes: NDArray[np.integer[Any]], chance: Generator) -> ArrowArray:
        """Return a value for each code: drawn evenly from its bin, and missing for the last code."""
        codes = np.asarray(codes)
        is_missing = codes == self.missing
        drawn = self.coding.decode(np.where(is_missing, 0, codes), chance)
        found = pc.if_else(pa.array(is_missing), pa.scalar(None, drawn.type), drawn)
        return found.cast(self.arrow_type)

    @property
    def arrow_type(self) -> Any:
        """The type of the synthetic column."""
        return _arrow_type(self.kind, self.coding.type_name)

    def to_content(self) -> dict[str, Any]:
        """Return all of it in plain values; every one of them is public."""
        return {
            "name": self.name,
            "kind": self.kind.value,
            "type": self.coding.type_name,
            **self.coding.to_content(),
            "levels": [one.tolist() for one in self.levels],
        }

    @staticmethod
    def from_content(content: Mapping[str, Any]) -> CodedColumn:
        """Return what `to_content` wrote; raises `ValueError`, `KeyError` or `TypeError` for anything else."""
        kind, type_name = Kind(content["kind"]), str(content["type"])
        made = ListedValues if "values" in content else BinnedRange
        coding = made.from_content(dict(content), kind, type_name)
        levels = tuple(np.array(one, np.intp) for one in content["levels"])
        if any(len(one) != coding.size + 1 or one.min() < 0 for one in levels):
            raise ValueError("a level does not give each code a coarser one")
        return CodedColumn(str(content["name"]), kind, coding, levels)


def _arrow_type(kind: Kind, type_name: str) -> Any:
    if kind is Kind.DECIMAL:
        sized = SIZED_DECIMAL.fullmatch(type_name)
        return pa.decimal128(int(sized[1]), int(sized[2])) if sized else pa.float64()
    if kind is Kind.TIMESTAMP:
        return pa.timestamp("us", "UTC" if type_name.upper() in _ZONED else None)
    return _TYPES.get(kind, pa.string())


_TYPES = {
    Kind.BOOLEAN: pa.bool_(),
    Kind.INTEGER: pa.int64(),
    Kind.REAL: pa.float64(),
    Kind.DATE: pa.date32(),
    Kind.TIME: pa.time64("us"),
}
