"""Large statements of users without rights cost little."""

from __future__ import annotations

import pytest

from discreet.errors import AccessDenied, StatementFailed
from discreet.guard.rewrite import authorize, writes

LIST = ",".join(f"'s{number}'" for number in range(900))
LONG = f"{LIST},{LIST},{LIST}"


@pytest.fixture
def server(open_server, connect):
    found = open_server()
    connect(found).run(
        "CREATE TABLE emp (id integer PRIMARY KEY, name text); CREATE TABLE open (a integer);"
        "CREATE USER nobody; CREATE USER reader; GRANT SELECT ON open TO reader"
    )
    return found


@pytest.mark.parametrize(
    "statement",
    [
        f"SELECT id FROM emp WHERE name IN ({LONG})",
        f"DELETE FROM emp WHERE name IN ({LONG})",
        "INSERT INTO emp VALUES " + ",".join(["(1, 'a')"] * 2_000),
    ],
)
def test_who_has_no_right_at_all_sends_no_large_statement(server, connect, statement):
    with pytest.raises(StatementFailed) as found:
        connect(server, "nobody").run(statement)
    assert found.value.sqlstate == "54000"


@pytest.mark.parametrize(
    "statement",
    [
        f"SELECT id FROM emp WHERE name IN ({LONG})",
        f"SELECT a FROM open WHERE a IN (SELECT id FROM emp WHERE name IN ({LONG}))",
        f"UPDATE emp SET name = 'x' WHERE name IN ({LONG})",
        "INSERT INTO emp VALUES " + ",".join(["(1, 'a')"] * 2_000),
    ],
)
def test_rights_to_the_relations_of_a_large_statement_come_before_the_walk(
    server, connect, statement, monkeypatch
):
    def walk(*_: object) -> None:
        raise AssertionError("the statement was walked")

    monkeypatch.setattr(authorize, "check_allowed", walk)
    monkeypatch.setattr(writes, "read_insert_rows", walk)
    monkeypatch.setattr(writes, "check_condition", walk)
    with pytest.raises(AccessDenied, match="permission denied for table emp"):
        connect(server, "reader").run(statement)


def test_who_has_rights_sends_large_statements(server, connect):
    assert connect(server).rows(f"SELECT id FROM emp WHERE name IN ({LONG})") == []
