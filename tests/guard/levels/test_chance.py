"""Thousands of random statements: integrity after each, non-interference, and SQL as the model has it."""

from __future__ import annotations

import os
from random import Random
from typing import TYPE_CHECKING, Any

import pytest
from tests.guard.levels import model
from tests.guard.levels.chance import CLEARANCES, CODES, LATTICE, acts, declassification, observed
from tests.guard.levels.world import World, relation

from discreet.engines.connect import open_database
from discreet.engines.duckdb.served import ResourceLimits, ServedDuckDB
from discreet.guard.access.authority import CheckConstraint

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tests.guard.levels.model import State

SOAK = int(os.environ.get("DISCREET_SOAK", "1"))
START: State = frozenset()


@pytest.mark.parametrize("seed", range(20))
def test_integrity_holds_after_every_one_of_many_statements(seed: int):
    random = Random(seed)
    for _ in range(5 * SOAK):
        state = START
        for act in acts(random, 30):
            state, _ = act.on(state)
            assert model.faults(state, CODES.values()) == [], act.sql
            if random.random() < 0.1:
                state, _ = declassification(random)[1](state)
                assert model.faults(state, CODES.values()) == []


@pytest.mark.parametrize("seed", range(20))
def test_purging_what_others_do_changes_nothing_that_anyone_sees(seed: int):
    random = Random(seed + 1000)
    for _ in range(3 * SOAK):
        written = acts(random, 30)
        for observer in CLEARANCES:
            full, purged = START, START
            for act in written:
                full, result = act.on(full)
                if model.dominates(CODES[observer], CODES[act.clearance]):
                    purged, result_alone = act.on(purged)
                    assert result == result_alone, (observer, act.sql)
                assert observed(full, observer) == observed(purged, observer), act.sql


@pytest.mark.parametrize("seed", range(10))
def test_a_writer_changes_nothing_for_those_who_do_not_dominate_it(seed: int):
    random = Random(seed + 2000)
    for _ in range(5 * SOAK):
        state = START
        for act in acts(random, 20):
            before, (state, _) = state, act.on(state)
            for observer in CLEARANCES:
                if not model.dominates(CODES[observer], CODES[act.clearance]):
                    assert observed(before, observer) == observed(state, observer)


def test_the_model_notices_a_writer_that_writes_down():
    """What the other tests look for can be found."""
    low, high = CODES["U"], CODES["S"]
    state, _ = model.insert(START, low, "k1", (1, None, None))
    overwritten = frozenset({model.Tuple("k1", low, ((2, low), None, None))})
    assert model.view(state, low) != model.view(overwritten, low)
    assert model.faults(state | overwritten, [low, high]) == [
        "polyinstantiation integrity: two values at one label"
    ]


@pytest.fixture(params=["clearance", "key"])
def tables(request: pytest.FixtureRequest) -> Iterator[Callable[..., World]]:
    """Makes worlds on one DuckDB, for each label that NULL may show."""
    database = ServedDuckDB(None, limits=ResourceLimits(threads=1))
    made: list[World] = []

    def make(**more: Any) -> World:
        world = World(database, LATTICE, request.param)
        world.add(_table(f"t{len(made)}", **more), alias="t")
        made.append(world)
        return world

    yield make
    database.close()


def test_sql_does_what_the_model_does(tables: Callable[..., World]):
    random = Random(7)
    for _ in range(2 * SOAK):
        world, state = tables(), START
        for act in acts(random, 25):
            state, result = act.on(state)
            assert _outcome(world.run(act.clearance, act.sql)) == result, act.sql
            assert world.stored("t") == _flat(state), act.sql
        for clearance in CLEARANCES:
            assert _values(world.see(clearance, "t")) == _shown(observed(state, clearance))


def test_declassification_in_sql_is_that_of_the_model(tables: Callable[..., World]):
    random = Random(11)
    for _ in range(2 * SOAK):
        world, state = tables(), START
        for act in acts(random, 12):
            state, _ = act.on(state)
            world.run(act.clearance, act.sql)
        for _ in range(6):
            (column, source, target), apply = declassification(random)
            state, result = apply(state)
            done = world.declassify(CLEARANCES[-1], column, source, target, name="t")
            assert _outcome(done) == result
            assert world.stored("t") == _flat(state)


def test_purging_what_others_do_changes_nothing_that_anyone_sees_in_sql(
    tables: Callable[..., World],
):
    random = Random(13)
    strict = {"uniques": (("d",),), "checks": (CheckConstraint("a <> 2 OR b IS NULL"),)}
    for _ in range(2 * SOAK):
        written = acts(random, 16)
        observer = random.choice(CLEARANCES[:-1])
        full, purged = tables(**strict), tables(**strict)
        for act in written:
            result = full.run(act.clearance, act.sql)
            if model.dominates(CODES[observer], CODES[act.clearance]):
                assert purged.run(act.clearance, act.sql) == result, act.sql
                assert full.see(observer, "t") == purged.see(observer, "t"), act.sql
        assert full.see(observer, "t") == purged.see(observer, "t")


@pytest.mark.postgres
@pytest.mark.parametrize("null_label", ["clearance", "key"])
def test_postgresql_reports_and_shows_what_duckdb_does(null_label: Any, postgres_url: str):
    random = Random(17)
    written = acts(random, 25 * SOAK)
    worlds = [World(open_database(where), LATTICE, null_label) for where in (None, postgres_url)]
    for world in worlds:
        world.add(_table("t"))
    for act in written:
        result = [world.run(act.clearance, act.sql) for world in worlds]
        assert result[0] == result[1], act.sql
    for clearance in CLEARANCES:
        one, other = (world.see(clearance, "t") for world in worlds)
        assert one == other
    assert worlds[0].stored("t") == worlds[1].stored("t")
    for world in worlds:
        world.close()
        world.database.close()


def _table(name: str, **more: Any) -> Any:
    return relation(name, {"k": "text", "a": "bigint", "b": "bigint", "d": "bigint"}, **more)


def _outcome(result: int | tuple[str, str]) -> int | str:
    return result if isinstance(result, int) else result[0]


def _flat(state: State) -> set[tuple[Any, ...]]:
    return {
        (one.key, one.label, *(x for cell in one.cells for x in (cell or (None, one.label))))
        for one in state
    }


def _shown(state: State) -> list[tuple[Any, ...]]:
    rows = [(one.key, *(cell[0] if cell else None for cell in one.cells)) for one in state]
    return sorted(rows, key=str)


def _values(seen: list[tuple[Any, ...]]) -> list[tuple[Any, ...]]:
    return sorted((row[:4] for row in seen), key=str)
