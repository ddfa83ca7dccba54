"""An engine of another package is served by the traits that it declares, whatever it is called."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from discreet import registry
from discreet.errors import StatementFailed
from discreet.registry import ENGINES

# The engine is DuckDB under another name, and as a server of its own: not embedded.
PACKAGE = """
from pathlib import Path

from discreet.engines.databases.database import EngineTraits
from discreet.engines.duckdb.served import ServedDuckDB
from discreet.registry import EngineSpec
from discreet.sql.decode import duckdb_literal

TRAITS = EngineTraits(
    dialect="duckdb",
    is_postgresql=False,
    has_default_escape=False,
    read_literal=duckdb_literal,
    has_offset_fence=False,
    computes_hidden_rows=True,
    has_letter_types=False,
    enforces_foreign_keys=False,
    compares_keys_early=True,
    temporary_schema=("temp", "main"),
    row_id="rowid",
)


class Pond(ServedDuckDB):
    name = "pond"
    traits = TRAITS
    embedded = None


SPEC = EngineSpec(
    name="pond",
    title="Pond",
    schemes=("pond:",),
    start=lambda address: None,
    serve=lambda address, result_bytes: Pond(Path(address.removeprefix("pond:"))),
)
"""


@pytest.fixture
def added(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """An installed package with an engine; the address of a database on it."""
    folder = tmp_path / "packages"
    info = folder / "pond-1.0.dist-info"
    info.mkdir(parents=True)
    (folder / "pond_engine.py").write_text(PACKAGE, "utf-8")
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: pond\nVersion: 1.0\n", "utf-8")
    (info / "entry_points.txt").write_text("[discreet.engines]\npond = pond_engine:SPEC\n", "utf-8")
    monkeypatch.syspath_prepend(folder)
    monkeypatch.setattr(registry, "_installed_points", registry._installed_points.__wrapped__)
    ENGINES._found.clear()
    yield f"pond:{tmp_path / 'pond.duckdb'}"
    ENGINES._found.clear()
    sys.modules.pop("pond_engine", None)


@pytest.fixture
def admin(added: str, open_server, connect):
    return connect(open_server(database=added))


def test_what_means_something_else_on_the_engine_means_what_postgresql_means(admin):
    assert admin.rows(r"SELECT 7 / 2, '50%' LIKE '50\%', '50x' LIKE '50\%'") == [(3, True, False)]
    assert admin.rows("SELECT substr('abc', 0, 2), 'abc'::char(2)") == [("a", "ab")]
    assert admin.rows("SELECT $1::bytea", b"\x00\xff") == [(b"\x00\xff",)]
    with pytest.raises(StatementFailed, match="invalid input syntax"):
        admin.rows("SELECT '12.5'::integer")


def test_keys_are_enforced_where_the_engine_does_not(admin):
    admin.run(
        "CREATE TABLE ward (id int PRIMARY KEY); "
        "CREATE TABLE bed (id int PRIMARY KEY, ward int REFERENCES ward, code varchar(3)); "
        "INSERT INTO ward VALUES (1), (2); INSERT INTO bed VALUES (1, 1, 'abc')"
    )
    for text, state in (
        ("INSERT INTO bed VALUES (2, 9, 'x')", "23503"),
        ("DELETE FROM ward WHERE id = 1", "23503"),
        ("INSERT INTO bed VALUES (2, 1, 'abcd')", "23514"),
    ):
        with pytest.raises(StatementFailed) as failed:
            admin.run(text)
        assert failed.value.sqlstate == state, text
    assert admin.run("UPDATE ward SET id = id + 2 WHERE id > 1").tag == "UPDATE 1"
    assert admin.run("UPDATE bed SET id = id + 1").tag == "UPDATE 1"


def test_hidden_rows_are_computed_without_an_error(admin, connect, added: str):
    admin.run("CREATE TABLE note (id int, body text); INSERT INTO note VALUES (1, '5'), (2, 'x')")
    admin.run("CREATE USER ann; GRANT SELECT ON note TO ann")
    admin.run("ALTER TABLE note ENABLE ROW LEVEL SECURITY")
    admin.run("CREATE POLICY own ON note TO ann USING (id = 1)")
    admin.run("SET ROLE ann")
    assert admin.rows("SELECT id FROM note WHERE body::int > 0") == [(1,)]
