"""What a task keeps is gone when it ends."""

from __future__ import annotations

import pyarrow as pa
import pytest

import discreet
from discreet.engines.connect import open_table
from discreet.engines.duckdb import DuckDB
from discreet.engines.scratch import ScratchEngine
from discreet.errors import DiscreetError
from discreet.sql import build


def test_what_is_kept_is_dropped_at_the_end(any_engine):
    with ScratchEngine(any_engine) as scratch:
        loaded = scratch.load(pa.table({"age": [41, 7]}).to_reader())
        kept = scratch.keep(build.select(build.column("age"), source=loaded))
        assert scratch.run(build.select(build.column("age"), source=kept)).num_rows == 2
    with pytest.raises(DiscreetError):
        any_engine.run(build.select(build.column("age"), source=kept))


def test_an_assessment_leaves_nothing_on_the_engine_it_was_given():
    engine = DuckDB()
    people = pa.table({"age": [30, 30, 41], "ill": ["flu", "flu", "cold"]})
    table = open_table(people, engine=engine)
    before = {name for (name,) in engine._connection.execute("SHOW TABLES").fetchall()}
    discreet.assess(table, quasi=["age"], sensitive=["ill"], against=table)
    after = {name for (name,) in engine._connection.execute("SHOW TABLES").fetchall()}
    assert after == before
