"""Bounds and values as a policy writes them: known without the data, drafted from it, or found privately."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, Generic, Literal, TypeVar

from pydantic import WrapValidator

from discreet.policy.written import Number, Words

if TYPE_CHECKING:
    from decimal import Decimal

    from pydantic import ValidatorFunctionWrapHandler

    from discreet.policy.model import Column

Origin = Literal["public", "drafted", "private"]
Held = TypeVar("Held")
# The words under which bounds and values may stand; a plain list is public.
ORIGINS = ("public", "drafted")


@dataclass(frozen=True)
class Stated(Generic[Held]):
    """What a policy says of a column's values, and where that comes from."""

    origin: Origin
    held: Held | None


def unwrap(written: Any) -> Any:
    """Return the list that stands under `public` or `drafted`, and a plain list as it is.

    >>> unwrap({"drafted": [0, 9]}), unwrap([0, 9])
    ([0, 9], [0, 9])
    """
    if isinstance(written, dict) and len(written) == 1 and next(iter(written)) in ORIGINS:
        return next(iter(written.values()))
    return written


def _origin(written: Any) -> Origin:
    return "drafted" if isinstance(written, dict) and "drafted" in written else "public"


def _bounds(written: Any, handler: ValidatorFunctionWrapHandler) -> Stated[tuple[Decimal, Decimal]]:
    if written == "private":
        return Stated("private", None)
    _check_keys(written, "bounds: {public: [low, high]}")
    low, high = handler(unwrap(written))
    if low > high:
        raise ValueError(f"lower bound {low} is above upper bound {high}. Swap them.")
    return Stated(_origin(written), (low, high))


def _values(written: Any, handler: ValidatorFunctionWrapHandler) -> Stated[tuple[str, ...]]:
    _check_keys(written, "values: {public: [a, b]}")
    values = handler(unwrap(written))
    for index, value in enumerate(values):
        if value in values[:index]:
            raise ValueError(f"value '{value}' is listed twice. Keep one of them.")
    return Stated(_origin(written), tuple(values))


def _check_keys(written: Any, example: str) -> None:
    if isinstance(written, dict) and unwrap(written) is written:
        raise ValueError(
            f"{example.partition(':')[0]} are a list, or a list under one of the words "
            f"{' and '.join(ORIGINS)}, such as `{example}`."
        )


WrittenBounds = Annotated[tuple[Number, Number], WrapValidator(_bounds)]
WrittenValues = Annotated[Words, WrapValidator(_values)]


def declared_bounds(column: Column) -> tuple[Decimal, Decimal] | None:
    """Return the bounds that hold whatever the data; None where the data proposed them."""
    return None if "bounds" in column.drafted else column.bounds


def declared_values(column: Column) -> tuple[str, ...] | None:
    """Return the values that are possible whatever the data; None where the data proposed them."""
    return None if "values" in column.drafted else column.values
