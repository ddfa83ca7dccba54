"""A server of the protocol in a thread of its own, over bare DuckDB, and who may come in."""

from __future__ import annotations

import asyncio
import contextlib
import threading
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import duckdb
from tests.server.pg.plain_session import PlainSession

from discreet.errors import LoginFailed
from discreet.guard.identity.authenticator import (
    AuthenticationOk,
    ClientInfo,
    PasswordChallenge,
    ScramChallenge,
)
from discreet.guard.identity.scram import ScramConversation, make_verifier
from discreet.server.pg.server import PgServer

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from discreet.server.pg.limits import ProtocolLimits
    from discreet.server.pg.tls import Tls

PASSWORD = "pencil"
VERIFIER = make_verifier(PASSWORD, iterations=4096)


class OneExchange(ScramConversation):
    """A SCRAM conversation about the one password."""

    def final(self, message: bytes) -> bytes:  # type: ignore[override]
        is_right, signature = super().final(message)
        if not is_right:
            raise LoginFailed("password authentication failed")
        return signature


class SimpleAuthenticator:
    """Everybody's password is the same; `clear` is asked in clear, `trusted` is not asked, `banned` not let in."""

    def recognize(self, client: ClientInfo) -> ClientInfo:
        return client

    def authenticate(
        self, client: ClientInfo
    ) -> AuthenticationOk | ScramChallenge | PasswordChallenge:
        if client.user == "banned":
            raise LoginFailed("no way in", sqlstate="28000")
        if client.user == "trusted" or client.certificate is not None:
            return AuthenticationOk("certificate" if client.certificate else "trust")
        if client.user == "clear":
            return PasswordChallenge(self._check)
        return ScramChallenge(OneExchange(VERIFIER, binding=client.binding))

    def _check(self, password: str) -> str:
        if password != PASSWORD:
            raise LoginFailed("wrong")
        return "password"


@dataclass
class Served:
    """Where a server listens, how to come in, and what its sessions did."""

    host: str
    port: int
    user: str = "alice"
    password: str = PASSWORD
    database: str = "hospital"
    authority: Path | None = None  # who signed the server's certificate
    sessions: list[PlainSession] = field(default_factory=list)
    clients: list[tuple[ClientInfo, dict[str, str], str]] = field(default_factory=list)
    server: Any = None
    loop: Any = None

    @property
    def conninfo(self) -> str:
        mode = f"verify-full sslrootcert={self.authority}" if self.authority else "disable"
        return (
            f"host={self.host} port={self.port} user={self.user} password={self.password} "
            f"dbname={self.database} sslmode={mode}"
        )


@contextlib.contextmanager
def serving(
    *,
    tls: Tls | None = None,
    authority: Path | None = None,
    require_tls: bool = False,
    limits: ProtocolLimits | None = None,
    folder: Path | None = None,
    host: str = "127.0.0.1",
) -> Iterator[Served]:
    """Serve an empty DuckDB; with `folder`, at a file."""
    database = duckdb.connect(":memory:", config={"threads": 1})
    served = Served(host="", port=0, authority=authority)

    def open_session(
        client: ClientInfo, parameters: Mapping[str, str], method: str
    ) -> PlainSession:
        served.clients.append((client, dict(parameters), method))
        own = {"TimeZone": parameters.get("TimeZone", "UTC")}
        name = parameters.get("application_name", "")
        session = PlainSession(client.user, database.cursor(), {**own, "application_name": name})
        served.sessions.append(session)
        return session

    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever, daemon=True)
    thread.start()

    async def start() -> None:
        server = PgServer(
            authenticator=SimpleAuthenticator(),
            open_session=open_session,
            tls=tls,
            require_tls=require_tls,
            limits=limits,
        )
        served.server, served.loop = server, loop
        if folder is not None:
            served.host = str((await server.start_unix(folder)).parent)
            served.port = 5432
        else:
            served.host, served.port = await server.start(host, 0)

    asyncio.run_coroutine_threadsafe(start(), loop).result(60)
    try:
        yield served
    finally:
        asyncio.run_coroutine_threadsafe(served.server.stop(0.2), loop).result(60)
        loop.call_soon_threadsafe(loop.stop)
        thread.join(60)
        loop.close()
        database.close()
