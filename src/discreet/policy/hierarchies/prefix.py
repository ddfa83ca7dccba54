"""Text made coarser by keeping fewer and fewer leading characters."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from discreet.arrow import ArrowArray, pc
from discreet.errors import InvalidHierarchy
from discreet.policy.hierarchies.values import text_of
from discreet.policy.hierarchy import TOP, edge_labels


@dataclass(frozen=True)
class Prefix:
    """Keep so many leading characters per level and mask the rest: `47677`, `476**`, `4****`.

    Labels of one level all have one length, because the length of a value would identify it:
    `length` if given, otherwise that of the longest value at hand. Give it when labels must be the
    same for several sets of values.

    >>> import pyarrow as pa
    >>> Prefix((3, 1)).generalize(pa.array(["47677", "4767"]), 1).to_pylist()
    ['476**', '476**']
    """

    keep: tuple[int, ...]
    length: int | None = None

    def __post_init__(self) -> None:
        """Refuse levels that keep no character or do not keep fewer than the level before."""
        if not self.keep or min(self.keep) < 1:
            raise InvalidHierarchy("Prefixes must keep at least one character, such as [3, 1].")
        if any(coarse >= fine for fine, coarse in pairwise(self.keep)):
            raise InvalidHierarchy("Prefixes must get shorter from level to level, such as [3, 1].")
        if self.length is not None and self.length < self.keep[0]:
            raise InvalidHierarchy(
                f"`length` {self.length} is shorter than the prefix of {self.keep[0]}. "
                "Make it the length of the longest value."
            )

    @property
    def height(self) -> int:
        """One level per prefix, and `*`."""
        return len(self.keep) + 1

    def generalize(self, values: ArrowArray, level: int) -> ArrowArray:
        """Return the leading characters of each value, followed by asterisks."""
        edge = edge_labels(values, level, height=self.height)
        if edge is not None:
            return edge
        texts = text_of(values)
        length = self.length or pc.max(pc.utf8_length(texts)).as_py() or 0
        kept = pc.utf8_slice_codeunits(texts, 0, self.keep[level - 1])
        return pc.utf8_rpad(kept, width=max(length, self.keep[0]), padding=TOP)

    def misses(self, values: ArrowArray) -> ArrowArray:
        """Return nothing: every value has leading characters."""
        return values.slice(0, 0)

    def to_yaml_value(self) -> dict[str, Any]:
        """Return `{prefix: [3, 1], length: 5}`."""
        length = {} if self.length is None else {"length": self.length}
        return {"prefix": list(self.keep), **length}
