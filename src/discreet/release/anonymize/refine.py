"""Better classes by small steps: dissolve one, let a member go, exchange members.

Every step lowers the total loss and keeps the criteria, so that any number of them is a result.
Ties go to the first class in the order of labels: nothing depends on the order of rows, nor on
which sensitive value a person has (beyond the criteria's yes or no).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from discreet.release.anonymize.judge import CachedJudge
    from discreet.release.anonymize.move_costs import MoveCosts

# Losses are kept in single precision: a smaller gain may be none.
_LEAST_GAIN = 1e-4
# How many classes are tried for a further person, where not every class may take one.
_TRIES = 8
_MANY_TRIES = 64
# How many combinations may be looked at to answer whether classes hold, for each combination there
# is, and how many of them the mere asking counts for.
_QUESTIONS = 200
_QUESTION = 100
# Members of larger classes are not exchanged: few of them matter to the label.
_LARGE = 32


@dataclass
class Refiner:
    """The steps on one board; `is_over` decides when to stop.

    `leaving` is by how much the total grows when a combination leaves its class (it shrinks mostly),
    infinite when too few rows would stay.
    """

    costs: MoveCosts
    judge: CachedJudge
    is_over: Callable[[], bool]
    is_open: NDArray[np.bool_] = field(init=False)
    is_stuck: NDArray[np.bool_] = field(init=False)
    leaving: NDArray[np.float64] = field(init=False)
    questions: int = field(init=False)

    def __post_init__(self) -> None:
        self.is_open = np.ones(len(self.costs.members), dtype=np.bool_)
        self.is_stuck = self.is_open.copy()
        self.leaving = np.full(len(self.costs.places), np.inf)
        self.questions = _QUESTIONS * len(self.costs.places)

    def sweep(self) -> int:
        """Look at each class that changed since it was looked at last; return the steps taken.

        The dearest come first, and those that lose nothing never.
        """
        board, steps = self.costs, 0
        for own in self._classes_to_improve(self.is_open):
            self.is_open[own] = False
            while len(board.members[own]) > 1 and self._improve_class(own):
                steps += 1
        return steps

    def _classes_to_improve(self, is_due: NDArray[np.bool_]) -> Iterator[int]:
        losses = self.costs.losses
        order = np.argsort(-losses, kind="stable")
        for own in order[is_due[order] & (losses[order] > 0)].tolist():
            if self.is_over() or self.questions < 0:
                break
            yield own

    def place(self, leftovers: Sequence[int]) -> None:
        """Let combinations without a class join the one where each costs least, if one may."""
        for member in leftovers:
            if not self.judge.takes_all and self.questions < 0:
                break
            target, _ = self.best_target(member, tries=_MANY_TRIES)
            if target >= 0:
                self.costs.join(member, target)
                self._settle_moves([target])

    def _improve_class(self, own: int) -> bool:
        """Take one step that makes a class of at least two members cheaper."""
        members = self.costs.members[own]
        self._note_leaving(own)
        gains = np.maximum(-self.leaving[members], 0)
        offers: dict[int, tuple[int, float]] = {}
        for i in np.flatnonzero(gains > _LEAST_GAIN).tolist():
            offers[i] = self._best_offer(members[i], own)
            gains[i] -= offers[i][1]
        return self._dissolve_class(own, offers) or self._release(own, gains, offers)

    def _best_offer(self, member: int, own: int) -> tuple[int, float]:
        joining = self.costs.joining(member, own)
        best = int(joining.argmin())
        return best, float(joining[best])

    def _dissolve_class(self, own: int, offers: Mapping[int, tuple[int, float]]) -> bool:
        """Let each member of a class join another if that costs less in all."""
        board, members = self.costs, self.costs.members[own]
        least = float(board.totals[own]) - _LEAST_GAIN
        costs = sum(cost for _, cost in offers.values())
        for i, member in enumerate(members):
            if costs >= least:
                return False
            if i not in offers:
                costs += self._best_offer(member, own)[1]
        return costs < least and self._scatter_members(own, least)

    def _scatter_members(self, own: int, least: float) -> bool:
        """Move all members of a class, each to the best one after those before it have moved."""
        board, costs = self.costs, 0.0
        before: dict[int, list[int]] = {}
        for member in board.members[own]:
            target, cost = self.best_target(member, own)
            costs += cost
            if costs >= least:
                break
            before.setdefault(target, board.members[target].copy())
            board.join(member, target)
        else:
            self._settle_moves(list(before))
            board.set_members(own, [])
            return True
        for target, members in before.items():
            board.set_members(target, members)
        return False

    def _release(
        self, own: int, gains: NDArray[np.float64], offers: Mapping[int, tuple[int, float]]
    ) -> bool:
        """Let the member go whose leaving gains most, if the others may stay a class."""
        board, members = self.costs, self.costs.members[own]
        best = int(gains.argmax())
        if gains[best] <= _LEAST_GAIN:
            return False
        target, _ = offers[best]
        rest = members[:best] + members[best + 1 :]
        if not self._may_change(rest, members[best], target):
            return False
        board.join(members[best], target)
        board.set_members(own, rest)
        self._settle_moves([target, own])
        return True

    def exchange(self) -> int:
        """Let members go whose class is too small without them, for others that it can have.

        A member goes to the class where it costs least, and one of a class that can spare it comes
        instead, if all three lose less in sum. Returns the steps taken.
        """
        board, steps = self.costs, 0
        for own in self._classes_to_improve(self.is_stuck):
            self.is_stuck[own] = False
            while 1 < len(board.members[own]) <= _LARGE and self._exchange_one(own):
                steps += 1
        return steps

    def _exchange_one(self, own: int) -> bool:
        board, members = self.costs, self.costs.members[own]
        weights = np.array([board.weights[member] for member in members])
        left = float(board.rows[own]) - weights
        gains = float(board.totals[own]) - board.without_each(own) * left
        gains[left >= self.judge.k] = 0
        best = int(gains.argmax())
        if gains[best] <= _LEAST_GAIN:
            return False
        target, cost = self._best_offer(members[best], own)
        gain = float(board.totals[own]) - cost
        if gains[best] - cost <= _LEAST_GAIN:
            return False
        rest = members[:best] + members[best + 1 :]
        free = np.flatnonzero(self.leaving < np.inf)
        classes = board.classes[free]
        free = free[(classes != own) & (classes != target)]
        rows = left[best] + board.row_weights[free]
        costs = board.label_with(rest, free) * rows + self.leaving[free]
        costs[rows < self.judge.k] = np.inf
        if not len(free) or gain - costs.min() <= _LEAST_GAIN:
            return False
        return self._swap_members(own, members[best], target, int(free[costs.argmin()]))

    def _swap_members(self, own: int, member: int, target: int, other: int) -> bool:
        board, source = self.costs, int(self.costs.classes[other])
        kept = [*(one for one in board.members[own] if one != member), other]
        rest = [one for one in board.members[source] if one != other]
        if not self.judge.is_simple:
            groups = [kept, rest]
            if not self.judge.takes_all:
                groups.append([*board.members[target], member])
            if not self.hold(groups).all():
                return False
        board.join(member, target)
        board.set_members(own, kept)
        board.set_members(source, rest)
        self._settle_moves([own, target, source])
        return True

    def _note_leaving(self, own: int) -> None:
        board, members = self.costs, self.costs.members[own]
        if len(members) < 2:
            self.leaving[members] = np.inf
            return
        left = board.rows[own] - board.row_weights[members]
        found = board.without_each(own) * left - board.totals[own]
        self.leaving[members] = np.where(left >= self.judge.k, found, np.inf)

    def _settle_moves(self, targets: list[int]) -> None:
        self.costs.settle(targets)
        self.is_open[targets] = self.is_stuck[targets] = True
        for target in targets:
            self._note_leaving(target)

    def _may_change(self, rest: list[int], member: int, target: int) -> bool:
        if self.judge.is_simple:
            return True
        groups = [rest]
        if not self.judge.takes_all:
            groups.append([*self.costs.members[target], member])
        return bool(self.hold(groups).all())

    def hold(self, groups: list[list[int]]) -> NDArray[np.bool_]:
        """Return which sets of the board's combinations may be classes.

        Once that took more work than was meant for it, no other set may.
        """
        self.questions -= _QUESTION + sum(map(len, groups))
        if self.questions < 0:
            return np.zeros(len(groups), dtype=np.bool_)
        return self.judge.hold([self.costs.table_members[group] for group in groups])

    def best_target(
        self, member: int, own: int | None = None, *, tries: int = _TRIES
    ) -> tuple[int, float]:
        """Return the class that a combination joins at least cost, -1 for none, and the cost."""
        joining = self.costs.joining(member, own)
        if self.judge.takes_all:
            best = int(joining.argmin())
            return (best, float(joining[best])) if joining[best] < np.inf else (-1, np.inf)
        tries = min(tries, len(joining))
        nearest = np.argpartition(joining, tries - 1)[:tries]
        nearest = nearest[np.lexsort((nearest, joining[nearest]))]
        nearest = nearest[joining[nearest] < np.inf].tolist()
        if not nearest:
            return -1, np.inf
        held = self.hold([[*self.costs.members[target], member] for target in nearest])
        first = int(held.argmax())
        return (nearest[first], float(joining[nearest[first]])) if held[first] else (-1, np.inf)
