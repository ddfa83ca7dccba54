"""Progress of long work: one callback, which gets a phase's name, what is done and what there is to do."""

from __future__ import annotations

from collections.abc import Callable, Generator
from contextlib import contextmanager

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
