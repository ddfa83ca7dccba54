"""Progress as plain text, for notebooks and logs."""

from __future__ import annotations

import sys
import time
from typing import TextIO

from discreet.progress import Progress


def show_progress(to: TextIO | None = None) -> Progress:
    """Return a callback that prints progress as plain text, for notebooks and logs.

    A line for the beginning of each phase, for each tenth of it with the time that is left at this
    rate, and for its end.

    Args:
        to: Where the lines go; by default stderr.

    >>> import sys
    >>> step = show_progress(sys.stdout)
    >>> step("reading", 0, 1); step("reading", 1, 1)
    reading …
    reading: done
    """
    out, started, shown = to or sys.stderr, dict[str, float](), dict[str, int]()

    def step(name: str, done: int, total: int) -> None:
        now = time.monotonic()
        if name not in started:
            started[name], shown[name] = now, 0
            out.write(f"{name} …\n")
        tenth = 10 * done // total if total else 0
        if tenth <= shown[name]:
            return
        shown[name] = tenth
        left = (now - started[name]) * (total - done) / done
        text = "done" if done >= total else f"{10 * tenth} %, about {format_duration(left)} left"
        out.write(f"{name}: {text}\n")
        out.flush()

    return step


def format_duration(seconds: float) -> str:
    """Return a duration in words that are no more exact than an estimate is.

    >>> format_duration(3.2), format_duration(200), format_duration(9000)
    ('3 s', '3 min', '2.5 h')
    """
    if seconds < 90:
        return f"{max(seconds, 1):.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"
