"""Whatever is sent, no one sees a cell outside their rights, or a word of the engine.

`DISCREET_FUZZ=100000` sends more; `python -m bench.fuzz` says what came back.
"""

from __future__ import annotations

import os
from random import Random
from typing import TYPE_CHECKING

import pytest
from tests.server.fuzz.canaries import Canaries
from tests.server.fuzz.watch import Watch
from tests.server.fuzz.world import make_world

from discreet.errors import StatementFailed

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tests.server.fuzz.world import World

COUNT = int(os.environ.get("DISCREET_FUZZ", "1500"))


@pytest.fixture
def world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[World]:
    monkeypatch.setenv("DISCREET_ADMIN_PASSWORD", "a long password")
    made = make_world(tmp_path)
    yield made
    made.opened.server.close()


def test_no_statement_reveals_what_its_sender_may_not_see(world: World):
    before = world.state()
    tally = Watch(world, Random(11), share=0.5).go(COUNT)
    assert tally.findings == []
    assert tally.ran > COUNT / 50
    assert tally.states["42501"] > COUNT / 50
    assert world.state() == before


def test_everybody_sees_what_they_may(world: World):
    seen = {
        "clerk": ("SELECT name FROM staff", 40),
        "nurse": ("SELECT body, amount, at FROM notes", 18),
        "teller": ("SELECT * FROM cards", 12),
        "viewer": ("SELECT name FROM rich", 20),
        "spy": ("SELECT goal, cost FROM missions", 8),
    }
    found = {
        user: len(world.canaries.found(str(world.rows(user, query))))
        for user, (query, _) in seen.items()
    }
    # A timestamp is printed as numbers; its date is not found that way.
    assert found == {user: count for user, (_, count) in seen.items()} | {"nurse": 12}


def test_a_leak_would_be_found(world: World):
    rows = str(world.rows("admin", "SELECT * FROM secrets, cards WHERE secrets.id = cards.id"))
    assert len(world.leaked("nobody", rows)) == 48
    assert len(world.leaked("teller", rows)) == 36


@pytest.mark.parametrize("change", [str.upper, lambda text: text[::-1], lambda text: text[3:11]])
def test_a_changed_canary_is_found(change):
    canaries = Canaries(Random(1))
    assert canaries.found(change(canaries.text("t.1.c"))) == {"t.1.c"}


def test_what_is_asked_of_the_catalog_has_a_limit_of_rows_too(world: World):
    assert len(world.rows("nobody", "SELECT 1 FROM pg_type a, pg_type b LIMIT 2000")) == 2000
    with pytest.raises(StatementFailed) as refused:
        world.rows("nobody", "SELECT 1 FROM pg_type a, pg_type b LIMIT 2001")
    assert refused.value.sqlstate == "54000"


def test_what_the_engine_cannot_plan_is_reported_as_such_and_affects_no_other_session(world: World):
    inner = "WITH w AS (SELECT ship FROM missions) SELECT goal FROM w"
    with pytest.raises(StatementFailed) as refused:
        world.rows("spy", f"SELECT * FROM missions, LATERAL ({inner}) AS t")
    assert refused.value.sqlstate == "0A000"
    assert len(world.rows("spy", "SELECT ship FROM missions")) == 4
