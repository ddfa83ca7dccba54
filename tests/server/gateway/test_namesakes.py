"""A role that is dropped leaves nothing to another one of its name: no session, password, token or budget."""

from __future__ import annotations

import pytest

from discreet.errors import AccessDenied, LoginFailed, StatementFailed
from discreet.guard.identity.authenticator import ClientInfo
from discreet.guard.identity.tokens import create_token

PASSWORD = "a long password"
AGAIN = "DROP ROLE alice; CREATE USER alice"
QUESTION = "SET discreet.epsilon = 0.5; SELECT count(*) FROM patients"


def _client_info(user: str) -> ClientInfo:
    return ClientInfo(user, "127.0.0.1", is_local=True, is_encrypted=True)


def _left(outcome) -> str:
    return outcome.notices[0].message.partition("Left: ")[2]


@pytest.fixture
def admin(server, connect):
    """Who made a user and a table."""
    found = connect(server)
    found.run("CREATE TABLE t (id int); INSERT INTO t VALUES (1); CREATE USER alice")
    return found


@pytest.mark.parametrize(
    "change", [AGAIN, "ALTER ROLE alice RENAME TO bob; CREATE USER alice"], ids=["drop", "rename"]
)
def test_a_session_does_not_go_on_as_another_user_of_its_name(admin, server, connect, change):
    alice = connect(server, "alice")
    admin.run(f"{change}; GRANT SELECT ON t TO alice")
    with pytest.raises(AccessDenied) as refused:
        alice.run("SELECT id FROM t")
    assert refused.value.sqlstate == "28000"
    assert connect(server, "alice").rows("SELECT id FROM t") == [(1,)]


def test_a_prepared_statement_and_a_cursor_end_with_their_user(admin, server, connect):
    admin.run("GRANT SELECT ON t TO alice")
    alice = connect(server, "alice")
    prepared = alice.session.prepare(alice.session.split("SELECT id FROM t")[0])
    alice.run("BEGIN; DECLARE c CURSOR FOR SELECT id FROM t")
    admin.run(f"REVOKE SELECT ON t FROM alice; {AGAIN}; GRANT SELECT ON t TO alice")
    for run in (lambda: alice.session.run(prepared), lambda: alice.run("FETCH ALL FROM c")):
        with pytest.raises(AccessDenied):
            run()


def test_a_session_does_not_go_on_as_another_role_of_the_name_that_it_set(admin, server, connect):
    admin.run("CREATE ROLE staff; GRANT staff TO alice")
    alice = connect(server, "alice")
    alice.run("SET ROLE staff")
    admin.run("DROP ROLE staff; CREATE ROLE staff; GRANT SELECT ON t TO staff")
    with pytest.raises(StatementFailed) as refused:
        alice.run("SELECT id FROM t")
    assert refused.value.sqlstate == "22023"
    assert alice.run("RESET ROLE").tag == "RESET"
    assert alice.rows("SELECT current_user") == [("alice",)]


def test_a_login_that_was_under_way_is_not_one_of_the_new_user(admin, server):
    client = server.authenticator.recognize(_client_info("alice"))
    admin.run(f"{AGAIN}; GRANT SELECT ON t TO alice")
    session = server.server.open_session(client, {}, "test")
    with pytest.raises(AccessDenied):
        session.prepare(session.split("SELECT id FROM t")[0])


def test_a_password_and_tokens_are_not_those_of_the_next_user_of_the_name(admin, server):
    documents, clock = server.server.vault.documents, server.server.clock
    admin.run(f"ALTER ROLE alice PASSWORD '{PASSWORD}'")
    token, _ = create_token(documents, "alice", now=clock())
    assert server.authenticator.check_password(_client_info("alice"), PASSWORD) == "password"
    kept = [(kind, "alice", documents.get(kind, "alice")) for kind in ("credential",)]
    kept += [("token", name, documents.get("token", name)) for name in documents.names("token")]
    admin.run(AGAIN)
    for kind, name, body in kept:  # as a crash between the two commits would leave them
        documents.put(kind, name, body)
    with pytest.raises(LoginFailed):
        server.authenticator.check_password(_client_info("alice"), PASSWORD)
    with pytest.raises(LoginFailed):
        server.authenticator.check_token(_client_info(""), token)
    admin.run("ALTER ROLE alice PASSWORD 'another long one'")
    assert (
        server.authenticator.check_password(_client_info("alice"), "another long one") == "password"
    )


def test_a_renamed_user_keeps_the_password_and_tokens(admin, server):
    admin.run(f"ALTER ROLE alice PASSWORD '{PASSWORD}'")
    token, _ = create_token(server.server.vault.documents, "alice", now=server.server.clock())
    admin.run("ALTER ROLE alice RENAME TO bob; CREATE USER alice")
    assert server.authenticator.check_password(_client_info("bob"), PASSWORD) == "password"
    assert server.authenticator.check_token(_client_info(""), token).user == "bob"
    with pytest.raises(LoginFailed):
        server.authenticator.check_password(_client_info("alice"), PASSWORD)


@pytest.mark.parametrize(
    ("undone", "is_kept"),
    [
        ("ALTER ROLE alice PASSWORD 'another long one'", True),
        ("DROP ROLE alice", True),
        ("ALTER ROLE alice PASSWORD NULL", True),
    ],
)
def test_what_a_savepoint_undoes_leaves_passwords_alone(admin, server, undone, is_kept):
    admin.run(f"ALTER ROLE alice PASSWORD '{PASSWORD}'")
    admin.run(f"BEGIN; SAVEPOINT s; {undone}; ROLLBACK TO s; COMMIT")
    assert server.authenticator.check_password(_client_info("alice"), PASSWORD) == "password"


@pytest.fixture
def asking(hospital, connect):
    """Two roles that may ask, and who may drop them."""
    admin = connect(hospital)
    admin.run("CREATE USER alice")
    admin.run("GRANT AGGREGATE ON patients TO alice WITH BUDGET (EPSILON 1, DELTA 1e-6)")
    return admin


def test_a_renamed_role_has_spent_what_it_spent(asking, hospital, connect):
    connect(hospital, "alice").run(QUESTION)
    asking.run("ALTER ROLE alice RENAME TO bob")
    again = connect(hospital, "bob").run(QUESTION)
    assert "free" in again.notices[0].message
    assert _left(again).startswith("epsilon 0.5")


def test_a_new_role_has_the_budget_of_its_own_grant(asking, hospital, connect):
    connect(hospital, "alice").run(QUESTION)
    asking.run("REVOKE ALL ON patients FROM alice; DROP ROLE alice; CREATE USER alice")
    asking.run("GRANT AGGREGATE ON patients TO alice WITH BUDGET (EPSILON 1, DELTA 1e-6)")
    first = connect(hospital, "alice").run(QUESTION)
    assert "Spent" in first.notices[0].message
    assert _left(first).startswith("epsilon 0.5")
