"""Bounds and values as a policy writes them: known without the data, drafted from it, or found privately."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from typing import Annotated, Any, Generic, Literal, TypeVar

from pydantic import ValidatorFunctionWrapHandler, WrapValidator

from discreet.policy.base_schema import Number, Words
from discreet.policy.model import ColumnPolicy

Origin = Literal["public", "drafted", "private"]
Held = TypeVar("Held")
# The words under which bounds and values may stand; a plain list is public.
ORIGINS = ("public", "drafted")


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


def _validate_bounds(
    written: Any, handler: ValidatorFunctionWrapHandler
) -> DeclaredDomain[tuple[Decimal, Decimal]]:
    if written == "private":
        return DeclaredDomain("private", None)
    _check_keys(written, "bounds: {public: [low, high]}")
    low, high = handler(unwrap(written))
    if low > high:
        raise ValueError(f"lower bound {low} is above upper bound {high}. Swap them.")
    return DeclaredDomain(_read_origin(written), (low, high))


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


def declared_values(column: ColumnPolicy) -> tuple[str, ...] | None:
    """Return the values that are possible for all data; None where the data proposed them."""
    return None if "values" in column.drafted else column.values
