"""`discreet.serve`: a server in this process, for a test or a notebook."""

from __future__ import annotations

import asyncio
import atexit
import os
import threading
from collections.abc import Mapping
from concurrent.futures import Future
from contextlib import ExitStack
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Self

from discreet.server.listener import run_in_loop, serve_until_stopped, start_server
from discreet.server.pg.tls import Tls
from discreet.server.startup import PASSWORD, OpenedServer

DATABASE = "discreet"


class RunningServer:
    """A server that listens until `stop()`, or until its `with` block ends.

    Attributes:
        host: Where it listens.
        port: The port for PostgreSQL clients.
        http_port: The port for HTTP clients, None where there is none.
        admin: The name of the administrator.
        password: The administrator's password, if the administrator was made now; None for a folder
            that was served before.
        imported: The tables of the policy that were loaded.

    >>> import discreet
    >>> with discreet.serve(policy="policy.yaml") as server:
    ...     server.host, server.admin, server.is_running
    ('127.0.0.1', 'admin', True)
    >>> server.is_running
    False
    """

    def __init__(
        self,
        opened: OpenedServer,
        *,
        tls: Tls | None,
        password: str | None,
        resources: ExitStack,
    ) -> None:
        settings = opened.server.settings
        self._settings, self._opened, self._tls = settings, opened, tls
        self._resources = resources
        self._ports: Future[tuple[int, int | None]] = Future()
        self._stop: asyncio.Event | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread = threading.Thread(target=self._run, name="discreet-serve", daemon=True)
        self.host, self.admin, self.imported = settings.host, settings.admin, opened.imported
        self.password = password
        self._thread.start()
        try:
            self.port, self.http_port = self._ports.result()
        except BaseException:
            resources.close()
            raise
        atexit.register(self.stop)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def __repr__(self) -> str:
        """Return where it listens, and no password."""
        state = "listening" if self.is_running else "stopped"
        return f"RunningServer({self.host}:{self.port}, {state})"

    @property
    def is_running(self) -> bool:
        """Whether it still listens."""
        return self._thread.is_alive()

    @property
    def certificate(self) -> Path | None:
        """The certificate that clients verify, None without TLS."""
        if self._tls is None:
            return None
        return self._settings.certificate or self._settings.place("tls/server.crt").absolute()

    @property
    def url(self) -> str | None:
        """The address for HTTP clients, None where there is none."""
        scheme = "http" if self._tls is None else "https"
        return None if self.http_port is None else f"{scheme}://{self.host}:{self.http_port}"

    def parameters(self, user: str | None = None, password: str | None = None) -> dict[str, str]:
        """Return the connection parameters of a user, as `psycopg.connect(**parameters)` takes them.

        Args:
            user: The user's name; the administrator by default.
            password: The user's password; by default that of the administrator, if it is known.
        """
        known = self.password if user in (None, self.admin) else None
        found = {
            "host": self.host,
            "port": str(self.port),
            "dbname": DATABASE,
            "user": user or self.admin,
            "password": password or known,
            "sslmode": "disable" if self._tls is None else "verify-full",
            "sslrootcert": None if self.certificate is None else str(self.certificate),
        }
        return {name: value for name, value in found.items() if value is not None}

    def stop(self) -> None:
        """Let statements end, close connections and stores, and remove a temporary folder."""
        atexit.unregister(self.stop)
        if self._loop is not None and self._stop is not None and self.is_running:
            self._loop.call_soon_threadsafe(self._stop.set)
        self._thread.join()
        self._resources.close()

    def _run(self) -> None:
        try:
            run_in_loop(self._listen_until_stopped())
        except BaseException as error:
            if self._ports.done():
                raise
            self._ports.set_exception(error)

    async def _listen_until_stopped(self) -> None:
        self._loop, self._stop = asyncio.get_running_loop(), asyncio.Event()
        await serve_until_stopped(
            self._opened,
            self._tls,
            ready=lambda port, web: self._ports.set_result((port, web)),
            stop=self._stop,
        )


def serve(  # noqa: PLR0913 -- the options of the command
    data: str | Path | None = None,
    policy: str | Path | None = None,
    *,
    database: str | None = None,
    control: str | None = None,
    ledger: str | None = None,
    journal: str | None = None,
    host: str | None = None,
    port: int | None = 0,
    http_port: int | None = None,
    console: bool | None = False,
    certificate: str | Path | None = None,
    private_key: str | Path | None = None,
    client_ca: str | Path | None = None,
    plain: bool | None = None,
    key_file: str | Path | None = None,
    admin: str | None = None,
    limits: Mapping[str, Any] | None = None,
) -> RunningServer:
    """Start a server in this process, and return it once it listens.

    It is the server of `discreet serve`, in a thread. Until it is stopped, files that this process
    makes are readable by their owner only. The process itself is not hardened: for other people's
    data use the command, which disables core dumps and overwrites freed memory.

    Args:
        data: The server's folder; None: a temporary one, removed when the server stops.
        policy: The policy whose tables are loaded on the first start.
        database: What is served: a `postgresql://` URL or `spark:TABLE`; by default DuckDB in the folder.
        control: Where rights and users are kept; by default a file in the folder.
        ledger: Where spending is kept; by default a file in the folder.
        journal: Where the journal is kept; by default a file in the folder.
        host: Where to listen; 127.0.0.1 by default.
        port: For PostgreSQL clients; 0: a free one, None: that of `server.yaml` or 5433.
        http_port: For HTTP clients; 0: a free one, None: that of `server.yaml`, or none without a console.
        console: The web console, over HTTP; its address is `url`. None: that of `server.yaml` or on.
        certificate: The server's certificate (PEM); by default one of its own.
        private_key: The key of the certificate.
        client_ca: Who signs certificates of clients (PEM).
        plain: No TLS; on loopback only.
        key_file: Encrypt data and secrets at rest under the key in this file.
        admin: The first user; `admin` by default. The password is `DISCREET_ADMIN_PASSWORD`, or generated.
        limits: Limits on clients, by the names of `limits:` in `server.yaml`.

    Raises:
        WrongUsage: Settings contradict each other or the existing data.
        OutputRefused: The port cannot be listened to.

    >>> import discreet
    >>> with discreet.serve(policy="policy.yaml") as server:
    ...     parameters = server.parameters()
    >>> parameters["host"], parameters["user"], server.is_running
    ('127.0.0.1', 'admin', False)
    """
    given = dict(locals())
    with ExitStack() as stack:
        folder = given.pop("data") or stack.enter_context(
            TemporaryDirectory(prefix="discreet-server-")
        )
        paths = ("policy", "certificate", "private_key", "client_ca", "key_file")
        named = {name: Path(given[name]) for name in paths if given[name] is not None}
        made: list[str] = []
        opened, tls = stack.enter_context(
            start_server(
                Path(folder), show_password=lambda _, new: made.append(new), **{**given, **named}
            )
        )
        chosen = os.environ.get(PASSWORD) if opened.is_first_start else None
        password = made[0] if made else chosen
        return RunningServer(opened, tls=tls, password=password, resources=stack.pop_all())
