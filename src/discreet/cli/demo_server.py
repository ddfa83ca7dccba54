"""The hospital as a server: people with different rights, and the psql commands to try as each."""

from __future__ import annotations

import os
import secrets
import shutil
from collections.abc import Mapping
from configparser import ConfigParser
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import click
import yaml

from discreet.cli import output
from discreet.cli.demo_files import refuse_to_replace, write_hospital
from discreet.errors import OutputRefused
from discreet.writing import make_private_folder

if TYPE_CHECKING:
    from discreet.server.startup import OpenedServer

SERVER, KEY, PEOPLE, RIGHTS = "server", "server.key", "people.conf", "server.sql"
CUSTODIAN = "custodian"
Ports = tuple[int | None, int | None]  # for PostgreSQL clients, for HTTP clients


@dataclass(frozen=True)
class DemoUser:
    """A user to try: the name of their service in psql, what they see, and what to type."""

    name: str
    sees: str
    queries: tuple[str, ...] = ()


DEMO_USERS = (
    DemoUser(
        CUSTODIAN,
        "owns the tables, and sees every row",
        ("SELECT name, insurance, diagnosis FROM patients LIMIT 3",),
    ),
    DemoUser(
        "clerk",
        "four columns, of patients with private insurance; the rest is denied",
        (
            "SELECT name, insurance FROM patients LIMIT 3",
            "SELECT name, diagnosis FROM patients",
        ),
    ),
    DemoUser(
        "nurse",
        "visits of one ward, with masked numbers of patients",
        ("SELECT patient_id, admitted, ward, diagnosis FROM visits LIMIT 3",),
    ),
    DemoUser(
        "analyst",
        "no row, but aggregates with noise, each for a price",
        ("SET discreet.epsilon = 0.5; SELECT sex, count(*) AS people FROM patients GROUP BY sex",),
    ),
    DemoUser(
        "researcher",
        "rows in which everyone looks like at least four others",
        ("SELECT * FROM patients_for_research LIMIT 3",),
    ),
    DemoUser(
        "u",
        "of employees what is unclassified; c is cleared for more, s for all",
        ("SELECT name, salary, performance, tc FROM employee ORDER BY name",),
    ),
    DemoUser("c", ""),
    DemoUser("s", ""),
)


def open_demo_server(
    folder: Path, bundled: Mapping[str, bytes], *, ports: Ports, force: bool, dry_run: bool
) -> None:
    """Write what is missing of the hospital, and serve it."""
    changed = [
        name
        for name, content in bundled.items()
        if not (folder / name).is_file() or (folder / name).read_bytes() != content
    ]
    refuse_to_replace(folder, changed, force=force)
    if dry_run:
        for place in [
            *(folder / name for name in changed),
            *(folder / name for name in (SERVER, KEY, PEOPLE)),
        ]:
            click.echo(f"would write {place}")
        return
    write_hospital(folder, {name: bundled[name] for name in changed})
    serve_hospital(folder, ports=ports, anew=force)


def serve_hospital(folder: Path, *, ports: Ports, anew: bool) -> None:
    """Serve the hospital in `folder` until stopped; what was served before goes on, unless `anew`."""
    from discreet.server.listener import run_in_loop, serve_until_stopped, start_server
    from discreet.server.process import protect

    protect()
    if anew or not (folder / PEOPLE).exists():
        _remove_server(folder)
    data = _prepare(folder)
    click.echo("Starting the server …", err=True)
    with start_server(data, port=ports[0], http_port=ports[1]) as (opened, tls):
        passwords = _read_passwords(folder) or _set_up(opened, folder)
        host = opened.server.settings.host

        def ready(port: int, web: int | None) -> None:
            _write_people(folder, passwords, host=host, port=port)
            _print_instructions(folder, None if web is None else f"https://{host}:{web}")

        run_in_loop(serve_until_stopped(opened, tls, ready=ready))
    click.echo(
        "\nStopped. Start it again with the same command: rights and spending are kept.", err=True
    )


def _remove_server(folder: Path) -> None:
    """Remove the server of an earlier demo: its people are invented, and so are their secrets."""
    place = folder / SERVER
    if place.exists() and not (place / "server.yaml").is_file():
        raise OutputRefused(f"'{place}' is not a server of this demo. Name another folder.")
    try:
        if place.exists():
            shutil.rmtree(place)
        for name in (KEY, PEOPLE):
            (folder / name).unlink(missing_ok=True)
    except OSError as error:
        raise OutputRefused(
            f"'{place}' cannot be replaced ({error.strerror}). Name another folder."
        ) from None


def _prepare(folder: Path) -> Path:
    """Make the server's folder with its settings and key; return it."""
    from discreet.guard.vault.wrapping import new_wrapping_key

    place = folder / SERVER
    make_private_folder(place)
    if not (folder / KEY).exists():
        new_wrapping_key(folder / KEY)
    settings = {
        "policy": str((folder / "policy.yaml").resolve()),
        "key_file": str((folder / KEY).resolve()),
        "admin": CUSTODIAN,
        "audit": {"statements": "redacted"},
    }
    (place / "server.yaml").write_text(yaml.safe_dump(settings, sort_keys=False), "utf-8")
    return place


def _set_up(opened: OpenedServer, folder: Path) -> dict[str, str]:
    """Give everybody their rights, in a session of the custodian, and a password; return those."""
    from discreet.guard.identity.accounts import set_password
    from discreet.guard.identity.authenticator import ClientInfo

    click.echo(f"First start: running {folder / RIGHTS} …", err=True)
    visitor = ClientInfo(CUSTODIAN, "127.0.0.1", is_local=True, is_encrypted=True)
    session = opened.server.open_session(visitor, {}, "demo")
    try:
        for statement in session.split((folder / RIGHTS).read_text("utf-8")):
            session.run(session.prepare(statement))
    finally:
        session.close()
    passwords = {person.name: secrets.token_urlsafe(15) for person in DEMO_USERS}
    for name, password in passwords.items():
        set_password(opened.server.vault.documents, name, password, now=opened.server.clock())
    return passwords


def _read_passwords(folder: Path) -> dict[str, str]:
    known = ConfigParser(interpolation=None)
    known.read(folder / PEOPLE, encoding="utf-8")
    return {name: known[name]["password"] for name in known.sections()}


def _write_people(folder: Path, passwords: dict[str, str], *, host: str, port: int) -> None:
    """Write psql's service file with all passwords, readable by the user who started the demo only."""
    services = ConfigParser(interpolation=None)
    for name, password in passwords.items():
        services[name] = {
            "host": host,
            "port": str(port),
            "dbname": "discreet",
            "user": name,
            "password": password,
            "sslmode": "require",
        }
    place = folder / PEOPLE
    descriptor = os.open(place, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with open(descriptor, "w", encoding="utf-8") as file:  # noqa: PTH123 -- made with its mode
        services.write(file, space_around_delimiters=False)


def _print_instructions(folder: Path, web: str | None) -> None:
    """Print how to log in as each user, and what each will see."""
    from rich.text import Text

    console = output.console()

    def say(text: str = "", style: str = "") -> None:
        # A command that is cut at the edge cannot be copied.
        console.print(Text(output.replace_control_characters(text), style), soft_wrap=True)

    say()
    say("The server is ready. In another terminal, set once where psql finds the users:", "bold")
    say(f'  export PGSERVICEFILE="{(folder / PEOPLE).resolve()}"', "cyan")
    for person in DEMO_USERS:
        if not person.sees:
            continue
        say()
        say(f"{person.name}: {person.sees}", "bold")
        for query in person.queries:
            say(f'  psql service={person.name} -c "{query}"', "cyan")
    if web is not None:
        say()
        say("Or sign in to the console with a browser; passwords are in the file above", "bold")
        say(f"  {web}/console/", "cyan")
        say()
        say("The same over HTTP", "bold")
        certificate = folder / SERVER / "tls" / "server.crt"
        say(f"  curl --cacert {certificate} -u clerk {web}/v1/query \\", "cyan")
        say("""    --json '{"statement": "SELECT name FROM patients LIMIT 3"}'""", "cyan")
    say()
    say(
        "And you, as the auditor: what was decided, and a proof that it was not changed since",
        "bold",
    )
    say(f"  discreet journal show {folder / SERVER}", "cyan")
    say(f"  discreet journal verify {folder / SERVER}", "cyan")
    say()
    say(f"The rights are granted in {folder / RIGHTS}. Ctrl-C stops the server.", "dim")
