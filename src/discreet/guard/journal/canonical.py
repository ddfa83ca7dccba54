"""A canonical form of values, so that equal values have equal hashes."""

from __future__ import annotations

import json
from typing import Any, cast

from discreet.errors import Bug

_WRITER = json.JSONEncoder(sort_keys=True, separators=(",", ":"), ensure_ascii=True)
_MOST = 2**53  # beyond it, other readers of JSON lose digits


def canonical(value: dict[str, Any]) -> str:
    """Return `value` as JSON in ASCII: keys sorted, no spaces, no ambiguous number.

    >>> canonical({"b": [1, True, None], "a": "x"})
    '{"a":"x","b":[1,true,null]}'
    """
    _require_plain(value)
    return _WRITER.encode(value)


def _require_plain(value: object) -> None:
    if isinstance(value, dict):
        held = cast("dict[object, object]", value)
        if not all(isinstance(name, str) for name in held):
            raise _not_plain(held)
        items = list(held.values())
    elif isinstance(value, (list, tuple)):
        items = cast("list[object]", value)
    else:
        if not _is_plain(value):
            raise _not_plain(value)
        return
    for item in items:
        if type(item) is not str:
            _require_plain(item)


def _is_plain(value: object) -> bool:
    # Two programs may write one float in two ways: fractions are written as text.
    if isinstance(value, int):  # and bool
        return -_MOST <= value <= _MOST
    return value is None or isinstance(value, str)


def _not_plain(value: object) -> Bug:
    return Bug(
        f"The journal cannot write a {type(value).__name__} the same way everywhere. Please report it."
    )
