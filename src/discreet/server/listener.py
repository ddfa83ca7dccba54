"""The server's main loop: it listens to both protocols until it is stopped."""

from __future__ import annotations

import asyncio
import contextlib
import errno
import os
import signal
import socket
from collections.abc import Callable, Coroutine, Generator
from pathlib import Path
from typing import Any

from discreet.errors import DiscreetError, OutputRefused, WrongUsage
from discreet.server.gateway.server import Server
from discreet.server.observe.logs import log_event
from discreet.server.pg.limits import ProtocolLimits
from discreet.server.pg.server import PgServer
from discreet.server.pg.tls import Tls, load_tls, make_certificate
from discreet.server.settings import Settings, read_settings
from discreet.server.startup import OpenedServer, open_server
from discreet.stores import timelines
from discreet.writing import make_private_folder, private_files, require_private

GRACE = 5.0  # seconds for statements to end
RECOVERING = 5.0  # seconds between checks whether another gateway crashed within a definition
SPARE = 8  # threads, so that health checks are always answered


def open_tls(settings: Settings) -> Tls | None:
    """Return TLS as configured; without a certificate, a self-signed one is created.

    Raises:
        WrongUsage: Only loopback may be used without TLS.
    """
    if settings.plain:
        if not settings.is_loopback:
            raise WrongUsage(
                f"--plain sends passwords' proofs and data in clear to {settings.host}. Leave it out, "
                "or listen to 127.0.0.1."
            )
        return None
    certificate, key = settings.certificate, settings.private_key
    if (certificate is None) != (key is None):
        raise WrongUsage("A certificate and its private key go together. Give both.")
    if certificate is None or key is None:
        folder = settings.place("tls")
        certificate, key = folder / "server.crt", folder / "server.key"
        if not certificate.exists():
            make_private_folder(folder)
            names = list(dict.fromkeys((settings.host, "localhost", "127.0.0.1")))
            certificate, key = make_certificate(folder, names=names)
    require_private(key)
    return load_tls(certificate, key, client_authorities=settings.client_ca)


@contextlib.contextmanager
def start_server(
    data: Path, *, show_password: Callable[[str, str], None] = lambda *_: None, **options: Any
) -> Generator[tuple[OpenedServer, Tls | None]]:
    """Open the server in the folder `data`, with its TLS, until the block ends.

    Meanwhile files that this process makes are readable by their owner only.

    Args:
        data: The server's folder; it is made on the first start.
        show_password: Called with the administrator's name and a generated password.
        options: Settings, by the names of the options of `discreet serve`; they override
            `server.yaml`. What is None is left to that file.

    Raises:
        WrongUsage: Settings contradict each other or the existing data.
    """
    with contextlib.ExitStack() as stack:
        stack.enter_context(private_files())
        settings = read_settings(data, **options)
        tls = open_tls(settings)
        # Where opening fails, no server forgets the file when it is closed.
        stack.callback(timelines.TIMELINES.forget_file, settings.place(timelines.FILE))
        opened = open_server(
            settings, show_password=lambda made: show_password(settings.admin, made)
        )
        stack.callback(opened.server.close)
        yield opened, tls


def run_in_loop(main: Coroutine[Any, Any, None]) -> None:
    """Run a coroutine in an event loop of its own: uvloop's where there is one."""
    try:
        from uvloop import new_event_loop
    except ImportError:  # such as on Windows
        new_event_loop = None
    with asyncio.Runner(loop_factory=new_event_loop) as runner:
        runner.run(main)


async def serve_until_stopped(
    opened: OpenedServer,
    tls: Tls | None,
    *,
    ready: Callable[[int, int | None], None],
    stop: asyncio.Event | None = None,
) -> None:
    """Serve until a signal or `stop`; `ready` is called with the ports once both are open."""
    settings = opened.server.settings
    server = PgServer(
        authenticator=opened.authenticator,
        open_session=opened.server.open_session,
        tls=tls,
        require_tls=tls is not None and not settings.is_loopback,
        limits=ProtocolLimits(
            max_connections=settings.limits.connections,
            max_connections_per_user=settings.limits.connections_per_user,
            auth_timeout=settings.limits.login_seconds,
            idle_timeout=settings.limits.idle_seconds,
            idle_transaction_timeout=settings.limits.idle_in_transaction_seconds,
            max_message=settings.limits.message_bytes,
            max_held=settings.limits.result_bytes,
        ),
        wait=opened.server.metrics.observe_queue,
    )
    opened.server.metrics.watch(
        "discreet_logins_pending", "Clients that have not logged in yet.", lambda: server.pending
    )
    stop = stop or asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        with contextlib.suppress(NotImplementedError, RuntimeError, ValueError):
            loop.add_signal_handler(number, stop.set)
    try:
        _, port = await server.start(settings.host, settings.port)
    except OSError as error:
        raise _port_refused(settings.host, settings.port, error, option="--port") from None
    web = await _start_http(opened, tls) if settings.web_port is not None else None
    recovering = asyncio.create_task(_keep_recovering(opened.server))
    try:
        ready(port, None if web is None else web[0])
        log_event("listening", port=port, http_port=None if web is None else web[0])
        await stop.wait()
        opened.server.is_stopping = True
        log_event("stopping", sessions=opened.server.sessions)
        await asyncio.sleep(settings.drain_seconds)
    finally:
        recovering.cancel()
        if web is not None:
            web[1].should_exit = True
            await web[2]
        await server.stop(GRACE)
        log_event("stopped")


async def _keep_recovering(server: Server) -> None:
    """Complete definitions that crashed gateways left unfinished, while this one runs."""
    while True:
        await asyncio.sleep(RECOVERING)
        with contextlib.suppress(DiscreetError):  # statements report what cannot be reached
            await asyncio.to_thread(server.recover)
            await asyncio.to_thread(server.pin)


async def _start_http(opened: OpenedServer, tls: Tls | None) -> tuple[int, Any, asyncio.Task[None]]:
    """Open the HTTP port and return it with the server and its task."""
    import uvicorn
    from anyio.to_thread import current_default_thread_limiter

    from discreet.server.console.app import mount_console
    from discreet.server.http.app import make_app
    from discreet.server.http.timeouts import limited_protocol

    class Quiet(uvicorn.Server):
        """An HTTP server that leaves signals to us."""

        @contextlib.contextmanager
        def capture_signals(self) -> Generator[None]:
            yield

    settings = opened.server.settings
    app = make_app(opened.server, opened.authenticator, is_encrypted=tls is not None)
    if settings.console:
        mount_console(app)
    config = uvicorn.Config(
        app,
        log_config=None,
        log_level="warning",
        access_log=False,
        lifespan="off",
        server_header=False,
        timeout_keep_alive=15,
        http=limited_protocol(
            settings.limits.connections_per_user, settings.limits.statement_seconds + GRACE * 6
        ),
        ws="none",
        limit_concurrency=settings.limits.connections,
        h11_max_incomplete_event_size=64 << 10,
    )
    config.load()
    # Each accepted request has a thread: otherwise forty slow ones would block all others.
    current_default_thread_limiter().total_tokens = settings.limits.connections + SPARE
    if tls is not None:
        config.ssl = tls.context
    place = _bind_socket(settings.host, settings.web_port or 0)
    server = Quiet(config)
    task = asyncio.create_task(server.serve([place]))
    while not server.started and not task.done():
        await asyncio.sleep(0.01)
    return place.getsockname()[1], server, task


def _bind_socket(host: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    place = socket.socket(family, socket.SOCK_STREAM)
    place.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        place.bind((host, port))
    except OSError as error:
        place.close()
        raise _port_refused(host, port, error, option="--http-port") from None
    return place


def _port_refused(host: str, port: int, error: OSError, *, option: str) -> OutputRefused:
    # asyncio's message about a port in use repeats the address.
    code = error.errno or 0
    is_known = code in errno.errorcode
    reason = os.strerror(code) if is_known else error.strerror or "it cannot be used"
    way_out = ", or leave HTTP out with --no-console" if option == "--http-port" else ""
    return OutputRefused(
        f"Port {port} of {host} cannot be listened to: {reason}. Choose another one with {option}{way_out}."
    )
