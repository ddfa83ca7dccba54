"""Through the whole gateway, hidden rows do not matter: answers are those of a table without them."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import pytest
from tests.guard.rewrite.chance import Queries
from tests.guard.rewrite.world import answer

from discreet.errors import StatementFailed

if TYPE_CHECKING:
    from collections.abc import Callable

COUNT = int(os.environ.get("DISCREET_QUERIES", "15"))  # the rewriting alone is asked more
TABLE = "CREATE TABLE t (id integer PRIMARY KEY, a integer, b integer, c text)"
SEEN = "(1, 1, 2, 'x1'), (2, 2, 0, '7'), (3, 0, 1, NULL), (4, 2, 2, '3'), (5, 1, NULL, 'yx')"
HIDDEN = "(6, 5, 3, 'boom'), (7, 4, 0, '99999999999'), (8, 7, 2147483647, '')"
LABELS = """
SECURITY LABEL FOR mls ON DATABASE IS 'U < S'; CREATE USER high;
SECURITY LABEL FOR mls ON ROLE reader IS 'U'; SECURITY LABEL FOR mls ON ROLE high IS 'S';
GRANT INSERT, UPDATE, SELECT ON t TO high, reader; SECURITY LABEL FOR mls ON TABLE t IS 'cells'
"""


@pytest.fixture
def make(open_server: Callable[..., Any], connect: Callable[..., Any], tmp_path: Any):
    """Return how a server is made with the table and a user who reads it."""

    def made(kind: str, *, hidden: bool = True) -> Any:
        stores = dict.fromkeys(("control", "ledger", "journal"), ":memory:")
        opened = open_server(data=tmp_path / f"{kind} {hidden}", **stores)
        admin = connect(opened)
        admin.run(f"CREATE USER reader; {TABLE}; GRANT SELECT ON t TO reader")
        admin.run(LABELS if kind == "labels" else "SELECT 1")
        writer = connect(opened, "reader") if kind == "labels" else admin
        writer.run(f"INSERT INTO t VALUES {SEEN}")
        if kind == "labels" and hidden:
            high = connect(opened, "high")
            high.run(f"INSERT INTO t VALUES {HIDDEN}")
            high.run("UPDATE t SET b = 0, c = 'boom' WHERE id = 1")
        if kind == "rows":
            admin.run(f"INSERT INTO t VALUES {HIDDEN}" if hidden else "SELECT 1")
            admin.run("ALTER TABLE t ENABLE ROW LEVEL SECURITY")
            admin.run("CREATE POLICY low ON t USING (id < 6)")
        return connect(opened, "reader")

    return made


def asked(client: Any, query: str) -> Any:
    try:
        return answer(client.rows(query))
    except StatementFailed as failed:
        return failed.sqlstate


@pytest.mark.parametrize("kind", ["rows", "labels"])
def test_answers_are_those_without_what_is_hidden(make, kind: str):
    whole, reduced, queries = make(kind), make(kind, hidden=False), Queries(1)
    texts = [queries.one() for _ in range(COUNT)]
    assert [text for text in texts if asked(whole, text) != asked(reduced, text)] == []


@pytest.mark.parametrize("kind", ["rows", "labels"])
def test_answers_are_those_of_a_plain_table_that_can_answer(make, kind: str):
    """Where nothing is hidden, a wrong cast of what one sees fails; where something is, it is NULL."""
    whole, plain, queries = make(kind), make("plain"), Queries(2)
    pairs = [
        (asked(whole, text), asked(plain, text)) for text in (queries.one() for _ in range(COUNT))
    ]
    assert [pair for pair in pairs if pair[0] != pair[1] and pair[1] != "22P02"] == []
    assert sum(found == expected for found, expected in pairs) > COUNT / 2


@pytest.mark.parametrize("kind", ["rows", "labels"])
def test_counts_and_errors_reveal_nothing(make, kind: str):
    reader = make(kind)
    assert reader.rows("SELECT count(*), max(a), min(id), max(b) FROM t") == [(5, 2, 1, 2)]
    for probe in (
        "SELECT count(*) FROM t WHERE 1 / (b - 3) > 0",
        "SELECT count(*) FROM t WHERE CASE WHEN a = 5 THEN CAST(c AS integer) ELSE 0 END = 1",
        "SELECT count(*) FROM t WHERE CAST(c AS integer) = 99999999999",
        "SELECT count(*) FROM t WHERE b + 1 < 0",
    ):
        assert reader.rows(probe) == [(0,)]
