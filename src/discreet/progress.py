"""Progress of long work: one callback, which gets a phase's name, what is done and what there is to do."""

from __future__ import annotations

import time
from collections.abc import Callable, Generator
from contextlib import contextmanager
from typing import TextIO

Progress = Callable[[str, int, int], None]


def ignore_progress(name: str, done: int, total: int) -> None:
    """Take note of no progress."""
    del name, done, total


@contextmanager
def follow_phases(progress: Progress | None, *, first: str | None = None) -> Generator[Progress]:
    """Yield a callback for work that reports as it likes, which reports in order to `progress`.

    Each phase begins at 0, never goes back, and ends at its total before the next one begins; a name
    that comes again is another phase. The phase `first` begins at once.

    >>> seen = []
    >>> with follow_phases(lambda *report: seen.append(report)) as step:
    ...     step("search", 3, 8); step("search", 2, 8); step("writing", 0, 1)
    >>> seen
    [('search', 0, 8), ('search', 3, 8), ('search', 8, 8), ('writing', 0, 1), ('writing', 1, 1)]
    """
    if progress is None:
        yield ignore_progress
        return
    follower = _PhaseFollower(progress)
    if first is not None:
        follower.step(first, 0, 1)
    yield follower.step
    follower.end_phase()


class _PhaseFollower:
    def __init__(self, progress: Progress) -> None:
        self._progress = progress
        self._named: str | None = None  # as the work names it
        self._shown, self._done, self._total = "", 0, 0
        self._times: dict[str, int] = {}

    def step(self, name: str, done: int, total: int) -> None:
        if name != self._named:
            self.end_phase()
            self._begin_phase(name, max(total, 1))
        if total > 0 and total != self._total:  # known better by now
            self._done, self._total = self._done * total // self._total, total
        share = done / total if total else 1.0
        reached = min(int(share * self._total), self._total - 1)  # its end is reported by its end
        if reached > self._done:
            self._done = reached
            self._progress(self._shown, reached, self._total)

    def _begin_phase(self, name: str, total: int) -> None:
        times = self._times[name] = self._times.get(name, 0) + 1
        self._named, self._shown = name, name if times == 1 else f"{name} ({times})"
        self._done, self._total = 0, total
        self._progress(self._shown, 0, total)

    def end_phase(self) -> None:
        if self._named is not None:
            self._progress(self._shown, self._total, self._total)
            self._named = None


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
    import sys

    out, started, shown = to or sys.stderr, dict[str, float](), dict[str, int]()

    def step(name: str, done: int, total: int) -> None:
        now = time.monotonic()
        if name not in started:
            started[name], shown[name] = now, 0
            print(f"{name} …", file=out, flush=True)
        tenth = 10 * done // total if total else 0
        if tenth <= shown[name]:
            return
        shown[name] = tenth
        left = (now - started[name]) * (total - done) / done
        text = "done" if done >= total else f"{10 * tenth} %, about {format_duration(left)} left"
        print(f"{name}: {text}", file=out, flush=True)

    return step


def format_duration(seconds: float) -> str:
    """Return a duration in words that are no more exact than an estimate is.

    >>> format_duration(3.2), format_duration(200), format_duration(9000)
    ('3 s', '3 min', '2.5 h')
    """
    if seconds < 90:
        return f"{max(seconds, 1):.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"
