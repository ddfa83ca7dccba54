"""Multi-level relations as plain Python sets: what the SQL must do, written once more and naively.

A tuple is a key, its label, and for each other column None or a value with its label. Labels are codes.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product
from typing import TYPE_CHECKING, Any

from discreet.guard.levels.lattice import BITS, SHIFT

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

Cell = tuple[Any, int] | None  # a value and its label
State = frozenset["Tuple"]


@dataclass(frozen=True)
class Tuple:
    """A stored tuple, or a row as some clearance sees it."""

    key: str
    label: int
    cells: tuple[Cell, ...]

    @property
    def entity(self) -> tuple[str, int]:
        return self.key, self.label


class Failed(Exception):
    """A statement failed with a SQLSTATE."""


def dominates(high: int, low: int) -> bool:
    return high >> SHIFT >= low >> SHIFT and low & BITS & ~high == 0


def says_no_more(one: Tuple, other: Tuple) -> bool:
    """Whether `other` says all that `one` says."""
    return one.entity == other.entity and all(
        mine is None or mine == theirs for mine, theirs in zip(one.cells, other.cells, strict=True)
    )


def minimized(tuples: Iterable[Tuple]) -> State:
    kept = set(tuples)
    return frozenset(
        one for one in kept if not any(says_no_more(one, other) for other in kept - {one})
    )


def masked(one: Tuple, clearance: int) -> Tuple:
    cells = (c if c and dominates(clearance, c[1]) else None for c in one.cells)
    return Tuple(one.key, one.label, tuple(cells))


def view(state: State, clearance: int) -> State:
    return minimized(masked(t, clearance) for t in state if dominates(clearance, t.label))


def insert(state: State, c: int, key: str, values: tuple[Any, ...]) -> tuple[State, int]:
    if any(row.key == key for row in view(state, c)):
        raise Failed("23505")
    new = Tuple(key, c, tuple(None if v is None else (v, c) for v in values))
    return state | {new}, 1


def update(
    state: State,
    c: int,
    assign: dict[int, Callable[[Tuple], Any]],
    condition: Callable[[Tuple], bool],
) -> tuple[State, int]:
    rows = [row for row in view(state, c) if condition(row)]
    by_entity: dict[tuple[str, int], list[Tuple]] = {}
    for row in rows:
        by_entity.setdefault(row.entity, []).append(row)
    kept = set(state)
    for entity, mine in by_entity.items():
        chosen = {i: _decided(mine, i, value) for i, value in assign.items()}
        new = {_renewed(row, c, chosen) for row in mine if _needs_version(row, c, chosen)}
        old = {one for one in kept if one.entity == entity}
        kept -= old
        kept |= {_overwritten(one, c, chosen, mine) for one in old} | new
    return minimized(kept), len(rows)


def _decided(rows: list[Tuple], i: int, value: Callable[[Tuple], Any]) -> Any:
    """The rows that say most of a column decide its value; they must agree."""
    marks = [-1 if row.cells[i] is None else row.cells[i][1] for row in rows]
    values = {value(row) for row, mark in zip(rows, marks, strict=True) if mark == max(marks)}
    if len(values) > 1:
        raise Failed("21000")
    return values.pop()


def _is_own(cell: Cell, c: int) -> bool:
    return cell is not None and cell[1] == c


def _needs_version(row: Tuple, c: int, chosen: dict[int, Any]) -> bool:
    return any(not _is_own(row.cells[i], c) for i in chosen)


def _renewed(row: Tuple, c: int, chosen: dict[int, Any]) -> Tuple:
    cells = list(row.cells)
    for i, value in chosen.items():
        cells[i] = None if value is None else (value, c)
    return Tuple(row.key, row.label, tuple(cells))


def _overwritten(one: Tuple, c: int, chosen: dict[int, Any], rows: list[Tuple]) -> Tuple:
    cells = list(one.cells)
    for i, value in chosen.items():
        if not _is_own(cells[i], c):
            continue
        if value is not None:
            cells[i] = (value, c)
        elif any(_is_own(row.cells[i], c) for row in rows):
            cells[i] = None
    return Tuple(one.key, one.label, tuple(cells))


def delete(state: State, c: int, condition: Callable[[Tuple], bool]) -> tuple[State, int]:
    rows = [row for row in view(state, c) if condition(row)]
    ours = [r for r in rows if r.label == c or any(_is_own(cell, c) for cell in r.cells)]
    kept: set[Tuple] = set()
    for one in state:
        if one.label == c and any(one.entity == row.entity for row in rows):
            continue
        if dominates(c, one.label) and any(says_no_more(masked(one, c), row) for row in rows):
            cells = tuple(None if _is_own(cell, c) else cell for cell in one.cells)
            kept.add(Tuple(one.key, one.label, cells))
        else:
            kept.add(one)
    return minimized(kept), len(ours)


def declassify(
    state: State, c: int, i: int, labels: tuple[int, int], condition: Callable[[Tuple], bool]
) -> tuple[State, int]:
    source, target = labels
    rows = [row for row in view(state, c) if condition(row) and _is_own(row.cells[i], source)]
    if any(not dominates(target, row.label) for row in rows):
        raise Failed("22023")
    values = {row.entity: row.cells[i] for row in rows}
    kept: set[Tuple] = set()
    for one in state:
        cells = list(one.cells)
        cell = values.get(one.entity)
        if cell is not None and (_is_own(cells[i], source) or _is_own(cells[i], target)):
            cells[i] = (cell[0], target)
        kept.add(Tuple(one.key, one.label, tuple(cells)))
    return minimized(kept), len(rows)


def faults(state: State, clearances: Iterable[int]) -> list[str]:
    """Return which integrity properties a state breaks (Jajodia & Sandhu 1991)."""
    found = [fault for one in state for fault in _faults_of_tuple(one)]
    if minimized(state) != state:
        found.append("null integrity: a tuple is subsumed")
    known: dict[tuple[Any, ...], Any] = {}
    cells = [(one.entity, i, cell) for one in state for i, cell in enumerate(one.cells) if cell]
    for entity, i, (value, label) in cells:
        if known.setdefault((entity, i, label), value) != value:
            found.append("polyinstantiation integrity: two values at one label")
    views = {c: view(state, c) for c in clearances}
    for high, low in product(views, views):
        if dominates(high, low) and view(views[high], low) != views[low]:
            found.append("inter-instance integrity: a view of a view is another view")
    return found


def _faults_of_tuple(one: Tuple) -> Iterable[str]:
    if one.key is None:
        yield "entity integrity: a key is missing"
    if any(cell and not dominates(cell[1], one.label) for cell in one.cells):
        yield "entity integrity: a cell is below its key"
