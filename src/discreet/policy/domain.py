"""Bounds and values as a policy writes them: known without the data, drafted from it, or found privately."""

from __future__ import annotations

import datetime as dt
import re
from dataclasses import dataclass
from decimal import Decimal
from typing import Annotated, Any, Generic, Literal, TypeVar

from pydantic import ValidatorFunctionWrapHandler, WrapValidator

from discreet.policy.base_schema import Number, Words
from discreet.policy.model import ColumnPolicy

Origin = Literal["public", "drafted", "private"]
Held = TypeVar("Held")
Bounds = tuple[Decimal, Decimal] | tuple[dt.date, dt.date]
# The words under which bounds and values may stand; a plain list is public.
ORIGINS = ("public", "drafted")
# A day, and perhaps a time of it, as bounds of dates are written.
DATE_PATTERN = r"^\d{4}-\d{2}-\d{2}([ T]\d{2}:\d{2}(:\d{2}(\.\d{1,6})?)?)?$"


@dataclass(frozen=True)
class DeclaredDomain(Generic[Held]):
    """The declared values of a column, and their origin."""

    origin: Origin
    value: Held | None


def unwrap(written: Any) -> Any:
    """Return the list that stands under `public` or `drafted`, and a plain list as it is.

    >>> unwrap({"drafted": [0, 9]}), unwrap([0, 9])
    ([0, 9], [0, 9])
    """
    if isinstance(written, dict) and len(written) == 1 and next(iter(written)) in ORIGINS:
        return next(iter(written.values()))
    return written


def _read_origin(written: Any) -> Origin:
    return "drafted" if isinstance(written, dict) and "drafted" in written else "public"


def _validate_bounds(written: Any, handler: ValidatorFunctionWrapHandler) -> DeclaredDomain[Bounds]:
    if written == "private":
        return DeclaredDomain("private", None)
    _check_keys(written, "bounds: {public: [low, high]}")
    ends = unwrap(written)
    low, high = _read_dates(ends) if has_dates(ends) else handler(ends)
    if _sort_key(low) > _sort_key(high):
        raise ValueError(f"lower bound {low} is above upper bound {high}. Swap them.")
    return DeclaredDomain(_read_origin(written), (low, high))


def has_dates(bounds: Any) -> bool:
    """Return whether bounds, as they are written, are dates.

    >>> has_dates(["2020-01-01", "2024-12-31"]), has_dates(["0", "120"])
    (True, False)
    """
    return isinstance(bounds, list) and any(
        isinstance(end, str) and re.match(DATE_PATTERN, end.strip()) for end in bounds
    )


def _read_dates(ends: list[Any]) -> tuple[dt.date, dt.date]:
    if len(ends) != 2:
        raise ValueError("'bounds' needs two dates: [2020-01-01, 2024-12-31].")
    low, high = (_read_date(end) for end in ends)
    return low, high


def _read_date(written: Any) -> dt.date:
    text = written.strip() if isinstance(written, str) else ""
    try:
        if re.match(DATE_PATTERN, text):
            is_day = len(text) == len("2020-01-01")
            return dt.date.fromisoformat(text) if is_day else dt.datetime.fromisoformat(text)
    except ValueError:
        pass  # such as the 30th of February
    raise ValueError(
        f"'bounds' has '{written}' beside a date. Write two dates, such as [2020-01-01, 2024-12-31], or "
        "two moments without zone, such as [2020-01-01 08:00, 2024-12-31 20:00]."
    )


def _sort_key(end: Decimal | dt.date) -> Any:
    """Return what bounds are compared by; a day begins at midnight."""
    if isinstance(end, dt.date) and not isinstance(end, dt.datetime):
        return dt.datetime(end.year, end.month, end.day)  # noqa: DTZ001 -- without zone, as tables hold it
    return end


def _validate_values(
    written: Any, handler: ValidatorFunctionWrapHandler
) -> DeclaredDomain[tuple[str, ...]]:
    _check_keys(written, "values: {public: [a, b]}")
    values = handler(unwrap(written))
    for index, value in enumerate(values):
        if value in values[:index]:
            raise ValueError(f"value '{value}' is listed twice. Keep one of them.")
    return DeclaredDomain(_read_origin(written), tuple(values))


def _check_keys(written: Any, example: str) -> None:
    if isinstance(written, dict) and unwrap(written) is written:
        raise ValueError(
            f"{example.partition(':')[0]} are a list, or a list under one of the words "
            f"{' and '.join(ORIGINS)}, such as `{example}`."
        )


WrittenBounds = Annotated[tuple[Number, Number], WrapValidator(_validate_bounds)]
WrittenValues = Annotated[Words, WrapValidator(_validate_values)]


def declared_bounds(column: ColumnPolicy) -> tuple[Decimal, Decimal] | None:
    """Return the bounds that hold for all data; None where the data proposed them."""
    return None if "bounds" in column.drafted else column.bounds


def declared_date_bounds(column: ColumnPolicy) -> tuple[dt.date, dt.date] | None:
    """Return the bounds of dates or timestamps that hold for all data; None where the data proposed them."""
    return None if "bounds" in column.drafted else column.date_bounds


def declared_values(column: ColumnPolicy) -> tuple[str, ...] | None:
    """Return the values that are possible for all data; None where the data proposed them."""
    return None if "values" in column.drafted else column.values
