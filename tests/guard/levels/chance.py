"""Random statements by users of all clearances: as SQL, and as calls of the model."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tests.guard.levels import model

from discreet.guard.levels.lattice import LabelLattice

if TYPE_CHECKING:
    from collections.abc import Callable
    from random import Random

    from tests.guard.levels.model import State, Tuple

LATTICE = LabelLattice.parse("U < C < S | nato, crypto")
# Low, middle and high, each side of an incomparable pair, and what dominates both.
CLEARANCES = ("U", "C", "S", "C {nato}", "C {crypto}", "S {nato}", "S {crypto,nato}")
CODES = {text: LATTICE.code(LATTICE.label(text)) for text in CLEARANCES}
KEYS = ("k1", "k2", "k3")
COLUMNS = ("a", "b", "d")
Outcome = int | str  # a count, or a SQLSTATE


@dataclass(frozen=True)
class Act:
    """A statement by a user with a clearance; `apply` is its meaning."""

    clearance: str
    sql: str
    apply: Callable[[State, int], tuple[State, int]]

    def on(self, state: State) -> tuple[State, Outcome]:
        """Return the state after it, and the result that its sender gets."""
        try:
            return self.apply(state, CODES[self.clearance])
        except model.Failed as failure:
            return state, str(failure)


def acts(random: Random, count: int) -> list[Act]:
    return [_act(random) for _ in range(count)]


def observed(state: State, clearance: str) -> State:
    """Return what a clearance sees."""
    return model.view(state, CODES[clearance])


def declassification(
    random: Random,
) -> tuple[tuple[str, str, str], Callable[[State], tuple[State, Outcome]]]:
    """Return a column, a label and a lower one, and what declassifying between them means."""
    pairs = [
        (high, low)
        for high in CLEARANCES
        for low in CLEARANCES
        if high != low and model.dominates(CODES[high], CODES[low])
    ]
    source, target = random.choice(pairs)
    i = random.randrange(len(COLUMNS))

    def apply(state: State) -> tuple[State, Outcome]:
        labels = (CODES[source], CODES[target])
        try:
            return model.declassify(state, CODES[CLEARANCES[-1]], i, labels, lambda _row: True)
        except model.Failed as failure:
            return state, str(failure)

    return (COLUMNS[i], source, target), apply


def _act(random: Random) -> Act:
    clearance = random.choice(CLEARANCES)
    make = random.choices((_insert, _update, _delete), weights=(3, 6, 2))[0]
    return make(random, clearance)


def _insert(random: Random, clearance: str) -> Act:
    key = random.choice(KEYS)
    values = tuple(_value(random) for _ in COLUMNS)
    written = ", ".join("NULL" if v is None else str(v) for v in values)
    sql = f"INSERT INTO t (k, a, b, d) VALUES ('{key}', {written})"
    return Act(clearance, sql, lambda state, c: model.insert(state, c, key, values))


def _update(random: Random, clearance: str) -> Act:
    chosen = random.sample(range(len(COLUMNS)), random.choice((1, 1, 2)))
    assign: dict[int, Callable[[Tuple], Any]] = {}
    sets: list[str] = []
    for i in chosen:
        text, assign[i] = _assigned(random, i)
        sets.append(f"{COLUMNS[i]} = {text}")
    where, condition = _condition(random)
    sql = f"UPDATE t SET {', '.join(sets)} WHERE {where}"
    return Act(clearance, sql, lambda state, c: model.update(state, c, assign, condition))


def _delete(random: Random, clearance: str) -> Act:
    where, condition = _condition(random)
    return Act(
        clearance,
        f"DELETE FROM t WHERE {where}",
        lambda state, c: model.delete(state, c, condition),
    )


def _assigned(random: Random, i: int) -> tuple[str, Callable[[Tuple], Any]]:
    if random.random() < 0.25:
        j = random.randrange(len(COLUMNS))
        return f"t.{COLUMNS[j]} + 1", lambda row: _plus(_get(row, j))
    value = _value(random)
    return "NULL" if value is None else str(value), lambda _row: value


def _condition(random: Random) -> tuple[str, Callable[[Tuple], bool]]:
    key = random.choice(KEYS)
    i = random.randrange(len(COLUMNS))
    value = random.randrange(3)
    match random.randrange(5):
        case 0:
            return f"{COLUMNS[i]} = {value}", lambda row: _get(row, i) == value
        case 1:
            return (
                f"k = '{key}' AND t.{COLUMNS[i]} IS NULL",
                lambda row: row.key == key and _get(row, i) is None,
            )
        case 2:
            return (
                f"k = '{key}' AND {COLUMNS[i]} = {value}",
                lambda row: row.key == key and _get(row, i) == value,
            )
        case _:
            return f"k = '{key}'", lambda row: row.key == key


def _value(random: Random) -> int | None:
    return None if random.random() < 0.3 else random.randrange(3)


def _get(row: Tuple, i: int) -> int | None:
    cell = row.cells[i]
    return None if cell is None else cell[0]


def _plus(value: int | None) -> int | None:
    return None if value is None else value + 1
