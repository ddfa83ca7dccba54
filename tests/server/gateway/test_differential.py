"""The whole server against PostgreSQL 16: random sequences of rights, roles, definitions and rows."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest
from tests.guard.access.test_differential import Postgres, like
from tests.guard.differential import Steps

from discreet.errors import DiscreetError
from discreet.guard.identity.authenticator import ClientInfo
from discreet.server.gateway.session import GatewaySession
from discreet.server.gateway.session_state import SessionState
from discreet.server.pg.failures import as_statement_failed

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.guard.differential import Step

    from discreet.server.startup import OpenedServer

SOAK = int(os.environ.get("DISCREET_SOAK", "0"))
LENGTH = 250


@pytest.fixture(params=range(100, 100 + (SOAK or 1)))
def oracle(
    request: pytest.FixtureRequest, postgres_16_url: str
) -> Iterator[tuple[Postgres, str, int]]:
    prefix = f"g{os.getpid()}x{request.param}"
    found = Postgres(postgres_16_url, f"{prefix}db")
    yield found, prefix, request.param
    found.close(prefix)


class Served:
    """The server, to which everybody in a sequence may connect."""

    def __init__(self, opened: OpenedServer) -> None:
        self.server = opened.server
        self.sessions: dict[str, GatewaySession] = {}

    def run(self, step: Step) -> str:
        if step.user not in self.sessions:
            client = ClientInfo(step.user, "127.0.0.1", is_local=True)
            self.sessions[step.user] = self.server.open_session(client, {}, "test")
        session = self.sessions[step.user]
        texts = ["BEGIN", *([f"SET ROLE {step.role}"] if step.role else []), step.sql]
        texts += ["ROLLBACK" if step.relation is not None else "COMMIT"]
        try:
            for text in texts:
                (statement,) = session.split(text)
                session.run(session.prepare(statement))
        except DiscreetError as error:
            return as_statement_failed(error).sqlstate
        finally:
            session.state.transaction.rollback()
            session.state.role = step.user
        return "00000"


def test_postgresql_16_and_the_server_agree_on_every_statement(
    oracle: tuple[Postgres, str, int], open_server, monkeypatch: pytest.MonkeyPatch
):
    # Whether a user may log in is another question: here everybody is inside.
    monkeypatch.setattr(SessionState, "require_runnable", lambda *_: None)
    postgres, prefix, seed = oracle
    opened = open_server(
        admin=postgres.admin,
        revoke_scope="grantor",
        control=":memory:",
        ledger=":memory:",
        journal=":memory:",
    )
    served = Served(opened)
    made = Steps(seed, prefix=prefix, admin=postgres.admin)
    done: list[str] = []
    for step in (*made.prepare(), *made.steps(LENGTH)):
        theirs = like(postgres.run(step)[0])
        ours = served.run(step)
        done.append(f"{step.user}/{step.role}: {step.sql} -> {theirs}, {ours}")
        if "00000" not in (ours, theirs) and (
            "ALL TABLES" in step.sql or step.user not in opened.server.control.authority().roles
        ):
            continue  # which relation is refused first is chance there; who was dropped is no one
        assert ours == theirs, "\n".join(done[-15:])
