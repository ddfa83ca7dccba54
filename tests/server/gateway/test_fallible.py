"""What an owner wrote may fail for a cell: who reads through it must not learn that."""

from __future__ import annotations

import pytest


@pytest.fixture
def clerk(server, connect):
    admin = connect(server)
    admin.run("CREATE USER clerk; CREATE TABLE t (id int PRIMARY KEY, secret text, ward text)")
    admin.run("INSERT INTO t VALUES (1, '12', 'a'), (2, 'twelve', 'a'), (3, '30', 'b')")
    admin.run("GRANT SELECT, INSERT, UPDATE ON t TO clerk")
    return admin, connect(server, "clerk")


def test_a_mask_that_fails_for_a_cell_is_empty_there(clerk):
    admin, reader = clerk
    admin.run("CREATE MASK rough ON t (secret) TO clerk USING ((secret::int / 10 * 10)::text)")
    assert reader.rows("SELECT id, secret FROM t ORDER BY id") == [(1, "10"), (2, None), (3, "30")]
    assert reader.rows("SELECT count(*) FROM t WHERE secret = '10'") == [(1,)]


def test_a_row_whose_policy_fails_is_hidden(clerk):
    admin, reader = clerk
    admin.run("ALTER TABLE t ENABLE ROW LEVEL SECURITY")
    admin.run("CREATE POLICY adults ON t TO clerk USING (secret::int > 10)")
    assert reader.rows("SELECT id FROM t ORDER BY id") == [(1,), (3,)]
    reader.run("UPDATE t SET ward = 'c' WHERE id = 2")
    assert admin.rows("SELECT ward FROM t WHERE id = 2") == [("a",)]
