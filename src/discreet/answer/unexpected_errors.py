"""Unexpected errors while rows are read: reported without the message, which may quote data."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from discreet.errors import Bug, DiscreetError

Given = TypeVar("Given")


def hide_unexpected_errors(call: Callable[[], Given]) -> Given:
    """Return `call()`; an unexpected error is replaced by one that quotes no data.

    Raises:
        Bug: An unexpected error occurred.
    """
    try:
        return call()
    except DiscreetError:
        raise
    except Exception as error:  # noqa: BLE001
        kind = type(error).__name__
    raise Bug(
        f"The question could not be answered ({kind}); what it costs is spent. Please report the "
        "question and the policy."
    )
