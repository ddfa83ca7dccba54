"""Queries with parameters for engines that have none: texts are written into the query."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sqlglot import exp

from discreet.errors import Bug
from discreet.sql import build


@dataclass(frozen=True)
class TreeQuery:
    """A prepared query of an engine without parameters: its tree."""

    tree: exp.Query
    text: str

    def with_values(self, values: Sequence[str | None]) -> exp.Query:
        """Return the query with texts in place of its parameters."""
        holder = exp.Paren(this=self.tree.copy())
        for node in list(holder.find_all(exp.Parameter)):
            value = values[int(node.name) - 1]
            node.replace(exp.Null() if value is None else build.text(value))
        tree = holder.this.pop()
        if not isinstance(tree, exp.Query):
            raise Bug("A query was expected.")
        return tree
