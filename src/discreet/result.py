"""The base of every result: plain data for machines, a page's part in a notebook."""

from __future__ import annotations

import dataclasses
import datetime as dt
import decimal
import enum
import math
from collections.abc import Iterable, Mapping
from importlib import import_module
from typing import Any, ClassVar

from discreet.errors import MissingExtra


@dataclasses.dataclass(frozen=True)
class Result:
    """What a verb returns; its `to_dict()` keys are public.

    Its `repr` has numbers, names and sentences, and nothing nested: a line on a screen or in a log
    must not show a person's values. Who wants them takes the field.
    """

    def __init_subclass__(cls) -> None:
        if "__repr__" not in cls.__dict__:
            cls.__repr__ = Result.__repr__  # else the decorator writes one that shows every field

    def __repr__(self) -> str:
        fields = [item for item in dataclasses.fields(self) if not item.name.startswith("_")]
        values = {item.name: getattr(self, item.name) for item in fields if item.repr}
        shown = [f"{name}={text}" for name, value in values.items() if (text := _short_repr(value))]
        return f"{type(self).__name__}({', '.join(shown + ['…'] * (len(shown) < len(fields)))})"

    def to_dict(self) -> dict[str, Any]:
        """Return the result as plain JSON values; infinity is written `"inf"`."""
        return {
            field.name: to_plain_data(getattr(self, field.name))
            for field in dataclasses.fields(self)
            if not field.name.startswith("_")
        }

    def _repr_html_(self) -> str:
        """Show the result in a notebook: sentences, tables and a chart, as HTML without script.

        Results hold data and know no HTML: `discreet.report`, which lies above, is found by its name.
        """
        return import_module("discreet.report.notebook").render_result(self)


@dataclasses.dataclass(frozen=True)
class TabularResult(Result):
    """A result with one field that is a table: a record for each row."""

    _records: ClassVar[str]  # the name of that field

    def to_pandas(self) -> Any:
        """Return the result's table as a pandas frame; nested keys are joined by `_`."""
        try:
            import pandas as pd
        except ImportError:
            raise MissingExtra(what="A pandas frame", extra="frames") from None
        return pd.json_normalize(self.to_dict()[self._records], sep="_")


def to_plain_data(value: object) -> Any:
    """Return `value` made of dicts, lists, strings, numbers, booleans and None only."""
    if isinstance(value, Result):
        return value.to_dict()
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {f.name: to_plain_data(getattr(value, f.name)) for f in dataclasses.fields(value)}
    if isinstance(value, Mapping):
        return {str(key): to_plain_data(item) for key, item in value.items()}
    if isinstance(value, Iterable) and not isinstance(value, (str, bytes)):
        return [to_plain_data(item) for item in value]
    return _plain_scalar(value)


def _short_repr(value: object) -> str:
    """Return a number or text, and of results how many there are; nothing of anything else."""
    if isinstance(value, (bool, int, float, str, enum.Enum)):
        return repr(value)
    if isinstance(value, tuple) and value and isinstance(value[0], Result):
        return f"<{len(value)} {type(value[0]).__name__}>"
    return ""


def _plain_scalar(value: object) -> Any:
    if isinstance(value, enum.Enum):
        return value.value
    if hasattr(value, "item"):  # a numpy scalar
        value = value.item()  # pyright: ignore[reportAttributeAccessIssue]
    if isinstance(value, float) and not math.isfinite(value):
        # JSON has no infinity, and a missing number must not look like a safe one.
        return "nan" if math.isnan(value) else ("inf" if value > 0 else "-inf")
    if isinstance(value, (dt.date, dt.time, decimal.Decimal)):
        return str(value)
    if isinstance(value, bytes):
        return value.hex()
    return value
