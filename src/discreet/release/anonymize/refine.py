"""Better classes by small steps: dissolve one, let a member go, exchange members.

Every step lowers the total loss and keeps the criteria, so that any number of them is a result.
Ties go to the first class in the order of labels: nothing depends on the order of rows, nor on
which sensitive value anybody has (beyond the criteria's yes or no).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from discreet.release.anonymize.board import Board
    from discreet.release.anonymize.referee import Referee

# Losses are kept in single precision: a smaller gain may be none.
_LEAST_GAIN = 1e-4
# How many classes are asked whether they may take somebody in, where not every class may.
_TRIES = 8
_MANY_TRIES = 64


@dataclass
class Refiner:
    """The steps on one board; `is_over` says when to stop."""

    board: Board
    referee: Referee
    is_over: Callable[[], bool]

    def sweep(self) -> int:
        """Go once through all classes that lose anything, dearest first; return the steps taken."""
        board, steps = self.board, 0
        for own in np.argsort(-board.losses, kind="stable").tolist():
            if board.losses[own] <= 0 or not board.members[own]:
                continue
            if self.is_over():
                break
            while self._improve(own):
                steps += 1
        return steps

    def place(self, leftovers: Sequence[int]) -> None:
        """Let combinations without a class join the one where each costs least, if one may."""
        for member in leftovers:
            target, _ = self.best_target(member, tries=_MANY_TRIES)
            if target >= 0:
                self.board.join(member, target)
                self.board.settle([target])

    def _improve(self, own: int) -> bool:
        board = self.board
        members = board.members[own]
        if not members:
            return False
        costs, targets = self._offers(own, members)
        if costs.sum() < board.totals[own] - _LEAST_GAIN and self._dissolve(own):
            return True
        return len(members) > 1 and self._release(own, costs, targets)

    def _offers(self, own: int, members: list[int]) -> tuple[NDArray[np.float64], list[int]]:
        costs, targets = np.empty(len(members)), [0] * len(members)
        for i, member in enumerate(members):
            joining = self.board.joining(member, own)
            targets[i] = best = int(joining.argmin())
            costs[i] = joining[best]
        return costs, targets

    def _dissolve(self, own: int) -> bool:
        """Let each member of a class join another if that costs less in all."""
        board = self.board
        total = -float(board.totals[own])
        before: dict[int, list[int]] = {}
        for member in board.members[own]:
            target, cost = self.best_target(member, own)
            total += cost
            if target < 0 or total >= -_LEAST_GAIN:
                break
            before.setdefault(target, board.members[target].copy())
            board.join(member, target)
        else:
            board.settle(list(before))
            board.set_members(own, [])
            return True
        for target, members in before.items():
            board.set_members(target, members)
        return False

    def _release(self, own: int, costs: NDArray[np.float64], targets: list[int]) -> bool:
        """Let the member go whose leaving gains most, if the others may stay a class."""
        board, members = self.board, self.board.members[own]
        left = float(board.rows[own]) - np.array([board.weights[member] for member in members])
        gains = float(board.totals[own]) - costs
        gains[left < self.referee.k] = 0
        if gains.max() <= _LEAST_GAIN:
            return False
        gains -= board.without_each(own) * left
        gains[left < self.referee.k] = 0
        best = int(gains.argmax())
        if gains[best] <= _LEAST_GAIN:
            return False
        rest = members[:best] + members[best + 1 :]
        if not self._may_change(rest, members[best], targets[best]):
            return False
        board.join(members[best], targets[best])
        board.set_members(own, rest)
        board.settle([targets[best]])
        return True

    def _may_change(self, rest: list[int], member: int, target: int) -> bool:
        if self.referee.is_simple:
            return True
        groups = [rest]
        if not self.referee.takes_all:
            groups.append([*self.board.members[target], member])
        return bool(self.hold(groups).all())

    def hold(self, groups: list[list[int]]) -> NDArray[np.bool_]:
        """Return which sets of the board's combinations may be classes."""
        return self.referee.hold([self.board.table_members[group] for group in groups])

    def best_target(
        self, member: int, own: int | None = None, *, tries: int = _TRIES
    ) -> tuple[int, float]:
        """Return the class that a combination joins at least cost, -1 for none, and the cost."""
        joining = self.board.joining(member, own)
        if self.referee.takes_all:
            best = int(joining.argmin())
            return (best, float(joining[best])) if joining[best] < np.inf else (-1, np.inf)
        tries = min(tries, len(joining))
        nearest = np.argpartition(joining, tries - 1)[:tries]
        nearest = nearest[np.lexsort((nearest, joining[nearest]))]
        nearest = nearest[joining[nearest] < np.inf].tolist()
        if not nearest:
            return -1, np.inf
        held = self.hold([[*self.board.members[target], member] for target in nearest])
        first = int(held.argmax())
        return (nearest[first], float(joining[nearest[first]])) if held[first] else (-1, np.inf)
