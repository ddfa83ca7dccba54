"""What a transaction did to the session is undone with it: settings, roles, passwords."""

from __future__ import annotations

import pytest

from discreet.errors import StatementFailed, StoreFailed
from discreet.guard.identity import accounts


@pytest.fixture
def high(server, connect):
    """A user cleared for secrets, and a table with labels."""
    admin = connect(server)
    admin.run("SECURITY LABEL FOR mls ON DATABASE IS 'U < S'")
    admin.run("CREATE USER high; CREATE ROLE other; GRANT other TO high")
    admin.run("SECURITY LABEL FOR mls ON ROLE high IS 'S'")
    admin.run("CREATE TABLE m (id int PRIMARY KEY, x text)")
    admin.run("SECURITY LABEL FOR mls ON TABLE m IS 'cells'; GRANT ALL ON m TO high, other")
    return connect(server, "high")


def test_a_clearance_that_was_rolled_back_labels_nothing(high):
    high.run("BEGIN; SET discreet.clearance = 'U'; ROLLBACK")
    high.run("INSERT INTO m VALUES (1, 'secret')")
    assert high.rows("SELECT tc FROM m") == [("S",)]


def test_a_clearance_that_was_committed_stays(high):
    high.run("BEGIN; SET discreet.clearance = 'U'; COMMIT")
    high.run("INSERT INTO m VALUES (1, 'open')")
    assert high.rows("SELECT tc FROM m") == [("U",)]


def test_settings_and_roles_go_back_to_a_savepoint(high):
    high.run("BEGIN; SET discreet.clearance = 'U'; SAVEPOINT s")
    high.run("RESET discreet.clearance; SET ROLE other; SET LOCAL search_path = 'x'")
    high.run("ROLLBACK TO s")
    assert high.rows("SELECT current_user, current_setting('discreet.clearance')") == [
        ("high", "U")
    ]
    assert high.rows("SHOW search_path") == [('"$user", public',)]
    high.run("ROLLBACK")
    assert high.rows("SHOW discreet.clearance") == [("",)]


def test_a_role_that_was_set_in_a_transaction_that_failed_is_not_kept(high):
    high.run("BEGIN; SET ROLE other")
    with pytest.raises(StatementFailed):
        high.run("INSERT INTO m VALUES (NULL, 'x')")
    assert high.run("COMMIT").tag == "ROLLBACK"
    assert high.rows("SELECT current_user") == [("high",)]


def test_a_local_setting_of_a_statement_alone_ends_with_it(high):
    high.run("SET LOCAL discreet.clearance = 'U'")
    assert high.rows("SHOW discreet.clearance") == [("",)]


def test_a_password_that_was_undone_is_not_kept(server, connect):
    admin, documents = connect(server), server.server.vault.documents
    admin.run("CREATE USER bob PASSWORD 'the first password'")
    before = accounts.get_account(documents, "bob")
    admin.run("BEGIN; SAVEPOINT s; ALTER ROLE bob PASSWORD 'another password'; ROLLBACK TO s")
    admin.run("COMMIT")
    assert accounts.get_account(documents, "bob") == before
    admin.run("BEGIN; SAVEPOINT s; DROP ROLE bob; ROLLBACK TO s; COMMIT")
    assert accounts.get_account(documents, "bob") == before


def test_a_backup_that_the_journal_cannot_take_leaves_no_file(server, connect, monkeypatch):
    def fail(_: object) -> None:
        raise StoreFailed("The journal is full.")

    admin, backups = connect(server), server.server.settings.place("backups")
    with monkeypatch.context() as broken:
        broken.setattr(server.server.journal, "record", fail)
        with pytest.raises(StoreFailed):
            admin.run("SELECT discreet_backup('one')")
    assert not list(backups.iterdir())
    admin.run("SELECT discreet_backup('one')")
    assert [path.name for path in backups.iterdir()] == ["one"]
