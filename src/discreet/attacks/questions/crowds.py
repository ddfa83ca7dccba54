"""The search for a crowd to hide in: a condition on public columns that holds for about half the people."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from sqlglot import exp

from discreet.attacks.questions.domains import ColumnDomain
from discreet.attacks.questions.interface import Interface
from discreet.attacks.questions.plans import negation_of

PROBES = 24  # thresholds tried on one column


@dataclass(frozen=True)
class Crowd:
    """A condition and how many people the interface says it holds for.

    The condition is that a column's value is at a place below `place` of its domain, so that crowds
    of one domain are within each other.
    """

    domain: ColumnDomain
    place: int
    size: float

    @property
    def where(self) -> exp.Expr:
        """The condition."""
        return self.domain.between(0, self.place)


def find_crowds(
    interface: Interface,
    domains: Sequence[ColumnDomain],
    *,
    window: tuple[float, float] | None = None,
    aim: float = 0.5,
) -> Iterator[Crowd]:
    """Yield crowds that the interface counts, each asked for with one COUNT.

    Columns take turns. On each, thresholds are halved: towards the share `aim` of all people once their number is known,
    else breadth first. A refusal is information, too: beyond an answered threshold all further ones
    are too large, before it too small. A `window` of sizes leaves out those beyond it.
    """
    searches = [_ThresholdSearch(domain, aim) for domain in domains]
    while searches and not interface.ended:
        for search in list(searches):
            crowd = search.probe(interface)
            if search.is_over:
                searches.remove(search)
            if crowd is not None and (window is None or window[0] <= crowd.size <= window[1]):
                yield crowd


class _ThresholdSearch:
    """The search on one column: one threshold at a time."""

    def __init__(self, domain: ColumnDomain, aim: float) -> None:
        self.domain, self.aim = domain, aim
        self._waiting = deque([(0, domain.size)])
        self._answered: int | None = None
        self._probes = 0

    @property
    def is_over(self) -> bool:
        """Whether nothing is left to try."""
        return not self._waiting or self._probes >= PROBES

    def probe(self, interface: Interface) -> Crowd | None:
        """Return the next crowd, or None when it was refused."""
        low, high = self._waiting.popleft()
        place = (low + high) // 2
        if place == low:
            return None
        self._probes += 1
        size = interface.count(self.domain.between(0, place))
        if size is None:
            self._defer_refused(low, place, high)
            return None
        crowd = Crowd(self.domain, place, size)
        people = count_everybody(interface, crowd)
        if people is not None and size >= people:  # everyone: all larger thresholds are useless
            kept = [(start, end) for start, end in self._waiting if end <= place]
            self._waiting = deque([*kept, (low, place)])
            return None
        if self._answered is None:  # what waits lies beyond a threshold that was refused
            self._waiting.clear()
        self._answered = place
        is_small = people is None or size < people * self.aim
        # The half towards the aim first; the other one when that is exhausted.
        sides = [(place, high), (low, place)] if is_small else [(low, place), (place, high)]
        self._waiting.extendleft(reversed(sides))
        return crowd

    def _defer_refused(self, low: int, place: int, high: int) -> None:
        sides = [(low, place), (place, high)]
        if self._answered is not None:
            sides = sides[1:] if place < self._answered else sides[:1]
        self._waiting.extend(sides)


def count_everybody(interface: Interface, crowd: Crowd | None = None) -> float | None:
    """Return how many people there are: asked, or the crowd and all who are not in it."""
    people = interface.count()
    if people is None and crowd is not None:
        others = interface.count(negation_of(crowd.where))
        return None if others is None else crowd.size + others
    return people
