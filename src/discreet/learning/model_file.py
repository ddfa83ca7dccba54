"""`model.json`: a learned model with all that predictions need, documented in `docs/reference/model-file.md`."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from discreet.dp.accounting.exact import to_fraction
from discreet.errors import InvalidBudget, SourceNotFound, UnreadableSource, WrongUsage
from discreet.learning.features import FeatureSpace
from discreet.registry import LEARNERS

FORMAT = "discreet learned model"
FILE_VERSION = 1
LARGEST_FILE = 1 << 28
_KEYS = {"format", "version", "privacy", "learner", "options", "space", "model"}
_MALFORMED = (KeyError, TypeError, ValueError, AttributeError, IndexError, ArithmeticError)


@dataclass(frozen=True)
class SavedPredictor:
    """A predictor with its features: nothing in it depends on the source but by what was paid for.

    Attributes:
        space: The features and the target; public.
        learner: The name of the learner.
        options: The options it was asked with.
        predictor: What was learned.
        privacy: What was promised and paid.
    """

    space: FeatureSpace
    learner: str
    options: Mapping[str, Any]
    predictor: Any = field(compare=False)
    privacy: Mapping[str, Any]

    def to_bytes(self) -> bytes:
        """Return the content of the file: JSON in ASCII, the same for the same model."""
        content = {
            "format": FORMAT,
            "version": FILE_VERSION,
            "privacy": dict(self.privacy),
            "learner": self.learner,
            "options": {name: str(value) for name, value in self.options.items()},
            "space": self.space.to_content(),
            "model": self.predictor.to_content(),
        }
        return (json.dumps(content, allow_nan=False) + "\n").encode("ascii")

    @staticmethod
    def from_bytes(content: bytes, *, name: str = "The model") -> SavedPredictor:
        """Return what `to_bytes` wrote.

        Raises:
            UnreadableSource: It is no model, one of another version, or damaged; the message says which.
        """
        found = _read_json(content, name)
        if found.get("version") != FILE_VERSION:
            raise UnreadableSource(
                f"{name} is of another version than {FILE_VERSION}, which this discreet reads. Use the version "
                "that wrote it, or learn the model again: the same request is free."
            )
        if set(found) != _KEYS or not isinstance(found["privacy"], dict):
            raise _damaged_error(name, "its keys are not those of a model")
        try:
            learner = LEARNERS.get(str(found["learner"]))
        except WrongUsage:
            raise _damaged_error(name, "its learner is unknown here") from None
        try:
            space = FeatureSpace.from_content(found["space"])
            predictor = learner.read(space, found["model"])
            options = dict(found["options"])
            _require_promise(found["privacy"])
        except (*_MALFORMED, InvalidBudget):
            raise _damaged_error(name, "its features or its model are malformed") from None
        return SavedPredictor(space, learner.name, options, predictor, found["privacy"])


def read_predictor(path: Path) -> SavedPredictor:
    """Return the model in a file.

    Raises:
        SourceNotFound: There is no such file.
        UnreadableSource: It is no model, one of another version, or damaged.
    """
    try:
        if path.stat().st_size > LARGEST_FILE:
            raise UnreadableSource(f"'{path}' is too large for a learned model.")
        content = path.read_bytes()
    except FileNotFoundError:
        raise SourceNotFound(
            f"Model '{path}' is not there. `discreet learn SOURCE -o {path.name}` writes one."
        ) from None
    except OSError as error:
        raise UnreadableSource(f"Model '{path}' cannot be read ({error.strerror}).") from None
    return SavedPredictor.from_bytes(content, name=f"'{path}'")


def _read_json(content: bytes, name: str) -> dict[str, Any]:
    try:
        found = json.loads(content)
    except (ValueError, RecursionError):
        found = None
    if not isinstance(found, dict) or found.get("format") != FORMAT:
        raise UnreadableSource(
            f"{name} is no learned model. Name the file that `discreet learn -o` wrote."
        )
    return found


def _require_promise(privacy: Mapping[str, Any]) -> None:
    """Raise `ValueError` or alike for what is no promise of privacy."""
    epsilon, delta = (float(to_fraction(privacy[name])) for name in ("epsilon", "delta"))
    if not (epsilon > 0 and 0 <= delta < 1 and int(privacy["rows_per_unit"]) >= 1):
        raise ValueError("it promises nothing")
    if not all(isinstance(privacy[name], str) for name in ("unit", "table")):
        raise ValueError("whose rows it is about is no text")


def _damaged_error(name: str, what: str) -> UnreadableSource:
    return UnreadableSource(
        f"{name} is damaged: {what}. Take it from a backup, or learn it again: the same request is free."
    )
