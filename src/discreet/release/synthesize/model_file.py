"""`model.json`: a fitted table with its domain, from which rows can be drawn again for nothing."""

from __future__ import annotations

import json
from collections.abc import Mapping, Set
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from discreet.errors import InvalidPolicy, SourceNotFound, UnreadableSource, WrongUsage
from discreet.release.synthesize.domain import TableDomain
from discreet.release.synthesize.model import SyntheticModel

FORMAT = "discreet synthetic model"
FAMILY_FORMAT = "discreet synthetic tables"
FILE_VERSION = 1
_KEYS = {"format", "version", "domain", "model", "seed", "privacy"}
# A model of many columns has a few megabytes; a file beyond this is none.
LARGEST_FILE = 1 << 30
# That are drawn at once: each takes about 60 bytes of memory meanwhile.
MOST_CELLS = 1 << 28


@dataclass(frozen=True)
class SavedModel:
    """A model with all that rows need: nothing in it depends on the source but by noisy counts.

    Attributes:
        domain: What the table may hold; public.
        model: The fitted table.
        seed: What the published rows were drawn with.
        privacy: What was promised and paid, as the manifest says it.
    """

    domain: TableDomain
    model: SyntheticModel = field(compare=False)
    seed: int
    privacy: Mapping[str, Any]

    def sample(self, count: int, chance: Generator) -> Any:
        """Return `count` rows as an Arrow table."""
        return self.draw(count, chance)[1]

    def draw(
        self,
        count: int,
        chance: Generator,
        *,
        units: NDArray[np.integer[Any]] | None = None,
        keys: Mapping[str, NDArray[np.integer[Any]]] | None = None,
    ) -> tuple[NDArray[np.int32], Any]:
        """Return `count` rows, as codes of the synthesized columns and as an Arrow table of all columns.

        Args:
            count: How many rows.
            chance: Where randomness comes from.
            units: The number of the unit of each row, from 0; without it each row is a unit.
            keys: For foreign keys, the number of the key that each row points to.

        Raises:
            WrongUsage: These are more rows than memory may hold.
        """
        require_memory(count, self.domain)
        codes = self.model.sample(count, chance)
        return codes, self.domain.decode(codes, chance, units=units, keys=keys)

    def to_bytes(self) -> bytes:
        """Return the content of the file: JSON in ASCII, the same for the same model."""
        content = {
            "format": FORMAT,
            "version": FILE_VERSION,
            "privacy": dict(self.privacy),
            "seed": self.seed,
            "domain": self.domain.to_content(),
            "model": self.model.to_content(),
        }
        return (json.dumps(content, allow_nan=False) + "\n").encode("ascii")

    @staticmethod
    def from_bytes(content: bytes, *, name: str = "The model") -> SavedModel:
        """Return what `to_bytes` wrote.

        Raises:
            UnreadableSource: It is no model, one of another version, or damaged; the message says which.
        """
        found = read_model_content(content, name, FORMAT, _KEYS)
        try:
            domain = TableDomain.from_content(found["domain"])
            _ = domain.rules
        except (
            *(KeyError, TypeError, ValueError, AttributeError, IndexError, ArithmeticError),
            InvalidPolicy,
        ):
            raise damaged_model(name, "its domain is malformed") from None
        model = SyntheticModel.from_content(found["model"])
        if model.rules.sizes != tuple(one.size for one in domain.columns):
            raise damaged_model(name, "its model is that of another domain")
        return SavedModel(domain, model, found["seed"], found["privacy"])


def require_memory(count: int, domain: TableDomain) -> None:
    """Raise `WrongUsage` if so many rows at once are more than memory may hold."""
    most = MOST_CELLS // max(1, len(domain.order))
    if count > most:
        raise WrongUsage(
            f"{count:,} rows are too many to draw at once. Ask for at most {most:,}, and draw more from the saved "
            "model with `discreet sample`, each time into another file."
        )


def read_model(path: Path) -> SavedModel:
    """Return the model in a file.

    Raises:
        SourceNotFound: There is no such file.
        UnreadableSource: It is no model, one of another version, or damaged.
    """
    return SavedModel.from_bytes(read_model_file(path), name=f"'{path}'")


def read_model_file(path: Path) -> bytes:
    """Return the bytes of a model's file."""
    try:
        if path.stat().st_size > LARGEST_FILE:
            raise UnreadableSource(f"'{path}' is too large for a model of a synthetic table.")
        return path.read_bytes()
    except FileNotFoundError:
        raise SourceNotFound(
            f"Model '{path}' is not there. `discreet synthesize SOURCE --model {path.name}` writes one."
        ) from None
    except OSError as error:
        raise UnreadableSource(f"Model '{path}' cannot be read ({error.strerror}).") from None


def find_model_format(content: bytes) -> str | None:
    """Return which kind of model a file's content is, None if it is none."""
    found = _parse_model(content)
    return None if found is None else str(found["format"])


def read_model_content(content: bytes, name: str, kind: str, keys: Set[str]) -> dict[str, Any]:
    """Return the content of a model's file, with the keys, the seed and the price that it needs.

    Raises:
        UnreadableSource: It is no model of this kind, one of another version, or damaged.
    """
    found = _parse_model(content)
    if found is None:
        raise UnreadableSource(
            f"{name} is no model of a synthetic table. Name the file that `discreet synthesize --model` wrote."
        )
    if found["format"] != kind:
        number, step = (
            ("one table", "sample")
            if kind == FAMILY_FORMAT
            else ("several tables", "sample_tables")
        )
        raise UnreadableSource(f"{name} is a model of {number}. Draw with `discreet.{step}`.")
    if found.get("version") != FILE_VERSION:
        raise UnreadableSource(
            f"{name} is of version {_show_version(found.get('version'))}, and this discreet reads version "
            f"{FILE_VERSION}. Use the version that wrote it, or synthesize the table again."
        )
    if set(found) != keys:
        wrong = sorted(set(found) ^ keys)[0]
        what = "has the unknown key" if wrong in found else "misses the key"
        raise damaged_model(name, f"it {what} '{wrong[:40]}'")
    seed, privacy = found["seed"], found["privacy"]
    if type(seed) is not int or seed < 0 or not isinstance(privacy, dict):
        raise damaged_model(name, "its seed or its privacy is malformed")
    return found


def _parse_model(content: bytes) -> dict[str, Any] | None:
    try:
        found = json.loads(content)
    except (ValueError, RecursionError):
        return None
    is_known = isinstance(found, dict) and found.get("format") in (FORMAT, FAMILY_FORMAT)
    return found if is_known else None


def _show_version(version: object) -> str:
    return str(version) if isinstance(version, int) else "unknown"


def damaged_model(name: str, what: str) -> UnreadableSource:
    """Return the error that a model's file is damaged, with what is wrong."""
    return UnreadableSource(
        f"{name} is damaged: {what}. Take it from a backup, or synthesize the table again: the same request is free."
    )
