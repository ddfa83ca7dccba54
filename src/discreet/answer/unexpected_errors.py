"""What reading rows must not reveal by itself: the text of an unexpected error, and how long it took."""

from __future__ import annotations

import time
from collections.abc import Callable, Generator
from contextlib import contextmanager
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


@contextmanager
def pad_duration(quantum: float) -> Generator[None]:
    """Make the body end only at a multiple of so many seconds, also when it fails; 0: at once."""
    start = time.monotonic()
    try:
        yield
    finally:
        if quantum > 0:
            time.sleep(quantum - (time.monotonic() - start) % quantum)
