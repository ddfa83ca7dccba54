"""Results that are handed out in parts, while rights change."""

from __future__ import annotations

import pytest

from discreet.errors import AccessDenied, StatementFailed


def refused(client, text):
    with pytest.raises(StatementFailed) as caught:
        client.run(text)
    return caught.value.sqlstate


@pytest.fixture
def admin(open_server, connect):
    opened = open_server()
    client = connect(opened)
    client.run("CREATE ROLE alice LOGIN; CREATE TABLE t (id int, ward text)")
    client.run("INSERT INTO t VALUES (1, 'a'), (2, 'b'), (3, 'a'), (4, 'b')")
    client.run("GRANT SELECT ON t TO alice")
    client.opened = opened
    return client


DECLARED = [
    "BEGIN; DECLARE c CURSOR FOR SELECT id FROM t ORDER BY id",
    "DECLARE c CURSOR WITH HOLD FOR SELECT id FROM t ORDER BY id",
    "BEGIN; DECLARE c CURSOR WITH HOLD FOR SELECT id FROM t ORDER BY id; COMMIT",
]
CHANGES = [
    "REVOKE SELECT ON t FROM alice",
    "ALTER TABLE t ENABLE ROW LEVEL SECURITY",
    "CREATE POLICY p ON t USING (ward = 'a'); ALTER TABLE t ENABLE ROW LEVEL SECURITY",
]


@pytest.mark.parametrize("declared", DECLARED, ids=["open", "held", "held over"])
@pytest.mark.parametrize("change", CHANGES, ids=["revoked", "row security", "policy"])
def test_an_open_cursor_ends_when_its_rows_are_no_longer_permitted(
    admin, connect, declared, change
):
    alice = connect(admin.opened, "alice")
    alice.run(declared)
    assert alice.rows("FETCH 1 FROM c") == [(1,)]
    admin.run(change)
    assert refused(alice, "FETCH 1 FROM c") == "42501"
    if alice.session.transaction_status != "I":
        alice.run("ROLLBACK")
    assert refused(alice, "FETCH 1 FROM c") == "34000"


def test_a_cursor_goes_on_when_other_rights_change(admin, connect):
    alice = connect(admin.opened, "alice")
    alice.run("BEGIN; DECLARE c CURSOR FOR SELECT id FROM t ORDER BY id")
    admin.run("CREATE TABLE u (id int); CREATE ROLE bob; GRANT SELECT ON t TO bob")
    assert alice.rows("FETCH 2 FROM c") == [(1,), (2,)]
    admin.run("REVOKE SELECT ON t FROM bob; DROP TABLE u")
    assert alice.rows("FETCH ALL FROM c") == [(3,), (4,)]


def test_a_portal_hands_out_nothing_after_a_revoke(admin, connect):
    alice = connect(admin.opened, "alice").session
    prepared = alice.prepare(alice.split("SELECT id FROM t")[0])
    alice.start_block()
    alice.run(prepared)
    alice.check(prepared)
    admin.run("REVOKE SELECT ON t FROM alice")
    with pytest.raises(AccessDenied):
        alice.check(prepared)
