"""The file of a model of several tables, from which all of them can be drawn again for nothing."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from numpy.random import Generator

from discreet.engines.engine import ArrowTable
from discreet.errors import InvalidPolicy
from discreet.release.synthesize.domain import TableDomain
from discreet.release.synthesize.family import FamilyModel, FamilyRows
from discreet.release.synthesize.model_file import (
    FAMILY_FORMAT,
    FILE_VERSION,
    damaged_model,
    read_model_content,
    read_model_file,
    require_memory,
)

_KEYS = {"format", "version", "privacy", "seed", "tables", "model"}


@dataclass(frozen=True)
class ModeledTable:
    """One table of a model: its name, its public domain, and how many rows of a unit counted."""

    name: str
    domain: TableDomain
    most: int  # of a child table, how many rows of one parent


@dataclass(frozen=True)
class SavedTables:
    """A model of several tables with all that rows need: nothing depends on the source but by noisy counts.

    Attributes:
        tables: What each table may hold, the parent's first; public.
        model: The fitted tables.
        seed: What the published rows were drawn with.
        privacy: What was promised and paid, as the manifest says it.
    """

    tables: tuple[ModeledTable, ...]
    model: FamilyModel = field(compare=False)
    seed: int
    privacy: Mapping[str, Any]

    def sample(self, parents: int, chance: Generator) -> dict[str, ArrowTable]:
        """Return so many rows of the parent table, and all their children."""
        drawn = self.draw(parents, chance)[1]
        return {one.name: rows for one, rows in zip(self.tables, drawn, strict=True)}

    def draw(self, parents: int, chance: Generator) -> tuple[FamilyRows, list[ArrowTable]]:
        """Return rows of all tables, as codes and as Arrow tables.

        Raises:
            WrongUsage: These are more rows than memory may hold.
        """
        require_memory(parents, self.tables[0].domain)
        rows = self.model.sample(parents, chance)
        first, *others = (one.domain for one in self.tables)
        return rows, rows.decode(first, others, chance)

    def to_bytes(self) -> bytes:
        """Return the content of the file: JSON in ASCII, the same for the same model."""
        content = {
            "format": FAMILY_FORMAT,
            "version": FILE_VERSION,
            "privacy": dict(self.privacy),
            "seed": self.seed,
            "tables": [
                {"name": one.name, "domain": one.domain.to_content(), "most": one.most}
                for one in self.tables
            ],
            "model": self.model.to_content(),
        }
        return (json.dumps(content, allow_nan=False) + "\n").encode("ascii")

    @staticmethod
    def from_bytes(content: bytes, *, name: str = "The model") -> SavedTables:
        """Return what `to_bytes` wrote.

        Raises:
            UnreadableSource: It is no model, one of another version, or damaged; the message says which.
        """
        found = read_model_content(content, name, FAMILY_FORMAT, _KEYS)
        try:
            tables = tuple(_read_table(one) for one in found["tables"])
            model = FamilyModel.from_content(found["model"])
            _require_match(tables, model)
        except (
            *(KeyError, TypeError, ValueError, AttributeError, IndexError, ArithmeticError),
            InvalidPolicy,
        ):
            raise damaged_model(name, "its tables are malformed") from None
        return SavedTables(tables, model, found["seed"], found["privacy"])


def read_tables_model(path: Path) -> SavedTables:
    """Return the model of several tables in a file.

    Raises:
        SourceNotFound: There is no such file.
        UnreadableSource: It is no such model, one of another version, or damaged.
    """
    return SavedTables.from_bytes(read_model_file(path), name=f"'{path}'")


def _read_table(content: Mapping[str, Any]) -> ModeledTable:
    name, most = content["name"], content["most"]
    if set(content) != {"name", "domain", "most"} or type(name) is not str or type(most) is not int:
        raise ValueError("table")
    domain = TableDomain.from_content(content["domain"])
    _ = domain.rules
    # A name becomes that of a file.
    if most < 1 or not name or name.startswith(".") or any(one in name for one in "/\\\0"):
        raise ValueError("table")
    return ModeledTable(name, domain, most)


def _require_match(tables: Sequence[ModeledTable], model: FamilyModel) -> None:
    """Raise `ValueError` unless the model is one of these tables."""
    first, *others = tables
    own = [[column.size for column in one.domain.columns] for one in tables]
    if (
        not others
        or len({one.name for one in tables}) < len(tables)
        or len(model.owners) != len(others)
        or model.given != len(first.domain.columns)
    ):
        raise ValueError("model")
    numbers = [one.most + 1 for one in others]
    for place, fitted in enumerate(model.models):
        expected = model.tree.join_columns(place, own, numbers)
        children = len(model.tree.list_children(place))
        counted = set(range(len(expected) - children, len(expected)))
        if list(fitted.rules.sizes) != expected or not counted <= set(fitted.rules.places):
            raise ValueError("model")
