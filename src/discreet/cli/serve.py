"""`discreet serve`: the curator as a server that psql, BI tools and HTTP clients talk to."""

from __future__ import annotations

import gc
import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from discreet.cli import options, output

if TYPE_CHECKING:
    from discreet.server.startup import OpenedServer

EXAMPLES = """\b
Examples:
  discreet serve --data /srv/discreet --policy policy.yaml
  discreet serve --data /srv/discreet --database postgresql://clinic@db/clinic
  psql "host=127.0.0.1 port=5433 user=admin dbname=discreet"
"""


@click.command(epilog=EXAMPLES)
@click.option(
    "--data",
    type=click.Path(path_type=Path, file_okay=False),
    default=Path("discreet-data"),
    show_default=True,
    metavar="DIR",
    help="The server's folder: data, rights, ledger, journal, keys. Made on the first start.",
)
@options.policy_option
@click.option(
    "--database",
    metavar="URL",
    help="What is served: a postgresql:// URL or spark:TABLE. Default: DuckDB in the folder.",
)
@click.option(
    "--control", metavar="URL", help="Where rights and users are kept. Default: a file there."
)
@click.option("--ledger", metavar="URL", help="Where spending is kept. Default: a file there.")
@click.option("--journal", metavar="URL", help="Where the journal is kept. Default: a file there.")
@click.option("--host", metavar="ADDRESS", help="Where to listen. Default: 127.0.0.1.")
@click.option(
    "--port", type=click.IntRange(0, 65535), help="For PostgreSQL clients. Default: 5433."
)
@click.option(
    "--http-port",
    type=click.IntRange(0, 65535),
    help="For the console and other HTTP clients. Default: the port after --port.",
)
@click.option(
    "--console/--no-console",
    default=None,
    help="The web console. Without it and --http-port, HTTP is not served. Default: on.",
)
@click.option(
    "--certificate",
    type=click.Path(path_type=Path, exists=True, dir_okay=False),
    metavar="FILE",
    help="The server's certificate (PEM). Default: one of its own, made on the first start.",
)
@click.option(
    "--private-key",
    type=click.Path(path_type=Path, exists=True, dir_okay=False),
    metavar="FILE",
    help="The key of the certificate.",
)
@click.option(
    "--client-ca",
    type=click.Path(path_type=Path, exists=True, dir_okay=False),
    metavar="FILE",
    help="Who signs certificates of clients (PEM).",
)
@click.option("--plain", is_flag=True, default=None, help="No TLS; on loopback only.")
@click.option(
    "--key-file",
    type=click.Path(path_type=Path, exists=True, dir_okay=False),
    metavar="FILE",
    help="Encrypt data and secrets at rest under the key in FILE (`discreet key create`).",
)
@click.option(
    "--admin", metavar="NAME", help="The first user, made on the first start. Default: admin."
)
def command(data: Path, **settings: Any) -> None:
    """Serve tables to users with different rights.

    Clients speak the PostgreSQL protocol: psql, psycopg, JDBC, BI tools. Each sees exactly what they
    may: rows, noisy aggregates, an anonymized view, or nothing. Every decision is in the journal
    before its answer leaves.

    On the first start the folder is made, the tables of the policy are loaded, and an
    administrator's password is shown once (or taken from DISCREET_ADMIN_PASSWORD). More settings
    are read from server.yaml in the folder.
    """
    from discreet.server.process import overwrite_freed_memory, protect

    overwrite_freed_memory()  # starts again, so what takes long to import comes after it
    protect()
    from discreet.server.listener import run_in_loop, serve_until_stopped, start_server
    from discreet.server.observe.logs import configure_logs

    with start_server(data, show_password=_show_password, **settings) as (opened, tls):
        log = opened.server.settings.log
        configure_logs(log.format, log.level)
        # What the program itself consists of is not searched each time a session ends.
        gc.collect()
        gc.freeze()

        def ready(port: int, web: int | None) -> None:
            _print_connection(opened, port, web, is_encrypted=tls is not None)

        run_in_loop(serve_until_stopped(opened, tls, ready=ready))


def _show_password(admin: str, password: str) -> None:
    click.echo(
        output.replace_control_characters(
            f"First start. The password of {admin}, shown this once:"
        ),
        err=True,
    )
    click.echo(f"  {password}", err=True)


def _print_connection(
    opened: OpenedServer, port: int, web: int | None, *, is_encrypted: bool
) -> None:
    """Say how to connect."""
    settings = opened.server.settings
    lines: list[str] = []
    if opened.imported:
        lines.append(f"Loaded from the policy: {', '.join(opened.imported)}.")
    if settings.key_file is None and settings.database is None:
        lines.append("! Data are not encrypted at rest. Make a key: discreet key create --help")
    mode = "require" if is_encrypted else "disable"
    lines.append("Listening. Connect with:")
    lines.append(
        f'  psql "host={settings.host} port={port} user={settings.admin} dbname=discreet '
        f'sslmode={mode}"'
    )
    if web is not None:
        scheme = "https" if is_encrypted else "http"
        if settings.console:
            lines.append(f"  a browser: {scheme}://{settings.host}:{web}/console/")
        # curl does not trust the certificate that the server made for itself.
        own = settings.place("tls/server.crt")
        trust = (
            f"--cacert {shlex.quote(str(own))} "
            if is_encrypted and not settings.certificate
            else ""
        )
        lines.append(
            f"  curl {trust}-u {settings.admin} {scheme}://{settings.host}:{web}/v1/query \\"
        )
        lines.append("""    --json '{"statement": "SELECT current_user"}'""")
    for line in lines:
        click.echo(output.replace_control_characters(line), err=True)
