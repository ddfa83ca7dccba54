"""Stopping what runs from beside it: again and again, since it may not have begun the first time."""

from __future__ import annotations

import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Generator


@contextmanager
def keep_cancelling(stop: Callable[[], object], *, every: float = 0.2) -> Generator[None]:
    """Call `stop` from another thread until what is inside has ended."""
    is_over = threading.Event()

    def cancel_until_over() -> None:
        while not is_over.wait(every):
            stop()

    thread = threading.Thread(target=cancel_until_over)
    thread.start()
    try:
        yield
    finally:
        is_over.set()
        thread.join()
