"""`discreet key`: create, rotate, rewrap and destroy the keys of a server."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click

from discreet.cli import output
from discreet.cli.options import json_option
from discreet.cli.server_folder import (
    OWN_KEY,
    ServerFolder,
    data_argument,
    key_file_option,
    open_server_folder,
    reason_option,
)
from discreet.errors import WrongUsage
from discreet.guard.vault.keys import KeyRecord
from discreet.guard.vault.wrapping import WrappingKey
from discreet.result import Result

EXAMPLES = """\b
Examples:
  discreet key create clinic                      the server's key, kept in clinic/keys
  discreet key create clinic employee.sin         a key for a column
  discreet key list clinic
  discreet key rotate clinic employee.sin
  discreet key destroy clinic employee.sin --yes  the column is lost for good
"""


@dataclass(frozen=True)
class KeyList(Result):
    """The keys of a server, without their bytes."""

    keys: list[dict[str, Any]]


client_key_option = click.option(
    "--client-key",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE",
    help="The client's own key: 32 bytes, or 64 hexadecimal digits.",
)
name_argument = click.argument("name", metavar="NAME")


@click.group(epilog=EXAMPLES, subcommand_metavar="COMMAND …")
def command() -> None:
    """Create, list, rotate, rewrap and destroy the keys of the server in DIR."""


@command.command()
@data_argument
@click.argument("name", metavar="[NAME]", required=False)
@key_file_option
@client_key_option
def create(data: Path, name: str | None, key_file: Path | None, client_key: Path | None) -> None:
    """Create the server's own key or, with NAME, a key for a column, such as employee.sin.

    A key for a column is wrapped by the server's key or, with --client-key, by one that stays with
    the client, who unlocks the column in a session: SELECT discreet_unlock('employee.sin', $1).
    """
    from discreet.guard.vault import keys

    if name is None:
        if client_key is not None:
            raise WrongUsage("A client's key wraps the key of a column. Name one.")
        _create_own(data, key_file)
        return
    if name.startswith(keys.OWN):
        raise WrongUsage(
            f"Names that begin with '{keys.OWN}' are the server's. Choose another one."
        )
    with open_server_folder(data, key_file) as served:
        custody = "server" if client_key is None else "client"
        wrapping = _wrapping_key(served, client_key)
        served.record("key", f"create key {name}, custody {custody}")
        keys.create_key(served.control, name, wrapping, act=served.act, custody=custody)
    click.echo(
        output.replace_control_characters(f"Key '{name}' is made, in the {custody}'s custody.")
    )


def _create_own(data: Path, key_file: Path | None) -> None:
    from discreet.guard.vault.key_services import create_server_key
    from discreet.server.acceptance import accept_stores
    from discreet.server.folder import make_folder
    from discreet.server.settings import read_settings

    place = data / OWN_KEY if key_file is None else key_file
    make_folder(data)
    made = create_server_key(place, read_settings(data).key_address)
    with (
        open_server_folder(data, place, make=True, authenticate=False) as served,
        served.stores() as stores,
    ):
        done = f"create the server's key {made.fingerprint}"
        accept_stores(stores, made, act=served.act, reason=done)
    message = (
        f"The server's key is in {place}. Start: discreet serve --data {data} --key-file {place}"
    )
    click.echo(output.replace_control_characters(message))
    click.echo("! Keep a copy elsewhere: without it, nothing that it locks can be read.", err=True)
    if place.resolve().is_relative_to(data.resolve()):
        click.echo(
            "! Anyone who takes this disk has key and data: keep the key elsewhere.", err=True
        )


@command.command("list")
@data_argument
@json_option
def list_keys_command(data: Path, as_json: bool) -> None:
    """List all keys, also destroyed ones, without their bytes."""
    from discreet.guard.vault.keys import list_keys

    with open_server_folder(data) as served:
        found = list_keys(served.control)
    if as_json:
        output.print_json(KeyList([_key_entry(record) for record in found]))
        return
    rows = [
        [record.id, record.custody, record.state, _version_text(record), record.wrapped_by]
        for record in found
    ]
    header = ["key", "custody", "state", "versions", "wrapped by"]
    output.print_table(output.console(), "Keys", header, rows, texts=range(5))


@command.command()
@data_argument
@name_argument
@key_file_option
@client_key_option
@click.option(
    "--finish", is_flag=True, help="Destroy retired versions, once no cell or backup needs them."
)
@click.option(
    "--database",
    metavar="URL",
    help="With --finish: the database that is served, if not DIR's own.",
)
@click.option(
    "--leave-backups",
    is_flag=True,
    help="With --finish: do not check older backups, which keep their copy.",
)
@click.option("--yes", is_flag=True, help="With --finish: do not ask for confirmation.")
def rotate(
    data: Path,
    name: str,
    key_file: Path | None,
    client_key: Path | None,
    finish: bool,
    database: str | None,
    leave_backups: bool,
    yes: bool,
) -> None:
    """Make a new version of a key: it encrypts from now on, and the old ones only decrypt.

    With --finish the old ones are destroyed, after all cells were encrypted anew. An embedded
    database must not be served meanwhile: its cells are counted.
    """
    from discreet.guard.vault.keys import rotate_key

    if not finish and (database or leave_backups or yes):
        raise WrongUsage("--database, --leave-backups and --yes go with --finish. Add it.")
    with open_server_folder(data, key_file) as served:
        if finish:
            record = _finish_rotation(served, name, database, leave_backups=leave_backups, yes=yes)
        else:
            served.record("key", f"rotate key {name}")
            wrapping = _wrapping_key(served, client_key)
            record = rotate_key(served.control, name, wrapping, act=served.act)
    click.echo(output.replace_control_characters(f"Key '{name}': {_version_text(record)}."))


def _finish_rotation(
    served: ServerFolder, name: str, database: str | None, *, leave_backups: bool, yes: bool
) -> KeyRecord:
    """Destroy the retired versions of a key that nothing needs."""
    from discreet.guard.vault.keys import end_rotation, get_key
    from discreet.server.cells_in_use import ServerData, refuse_in_use
    from discreet.server.gateway.vault import SessionVault

    record = get_key(served.control, name)
    retired = [each.number for each in record.versions if each.state == "retired"]
    if not retired:
        return record
    settings = served.settings.model_copy(update={"database": database} if database else {})
    vault = SessionVault(served.control, served.key_file, at=served.act.at)
    refuse_in_use(
        ServerData(settings, served.control, vault),
        name,
        retired,
        backups=[] if leave_backups else served.backups(),
    )
    if not yes:
        listed = ", ".join(map(str, retired))
        click.confirm(
            output.replace_control_characters(
                f"Destroy version {listed} of key '{name}', for good?"
            ),
            abort=True,
            err=True,
        )
    served.record("key", f"end the rotation of key {name}")
    return end_rotation(served.control, name, act=served.act)


@command.command()
@data_argument
@name_argument
@key_file_option
@click.option("--yes", is_flag=True, help="Do not ask for confirmation.")
def destroy(data: Path, name: str, key_file: Path | None, yes: bool) -> None:
    """Destroy a key and all that is encrypted under it; only a record of who and when stays."""
    from discreet.guard.vault.keys import destroy_key, get_key

    with open_server_folder(data, key_file) as served:
        get_key(served.control, name)
        if not yes:
            click.confirm(
                output.replace_control_characters(
                    f"Destroy key '{name}' and all that it locked, for good?"
                ),
                abort=True,
                err=True,
            )
        served.record("key", f"destroy key {name}")
        destroy_key(served.control, name, act=served.act)
    click.echo(
        output.replace_control_characters(
            f"Key '{name}' is destroyed. Copies in backups are yours to destroy."
        )
    )


@command.command()
@data_argument
@key_file_option
@click.option(
    "--new-key-file",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE",
    help="Where the new key is, or is made. Default: in place of the old one.",
)
def rewrap(data: Path, key_file: Path | None, new_key_file: Path | None) -> None:
    """Change the server's key: all keys are wrapped anew, and the data stay as they are.

    If it was interrupted, run it again with the same options.
    """
    from discreet.guard.vault.key_services import create_server_key, read_server_key
    from discreet.guard.vault.keys import rewrap_keys

    with open_server_folder(data, key_file, authenticate=False) as served:
        old, old_path = served.key(), served.key_file or data / OWN_KEY
        beside = old_path.with_name(f"{old_path.name}.new")
        place = beside if new_key_file is None else new_key_file
        find = read_server_key if place.exists() else create_server_key
        new = find(place, served.settings.key_address)
        served.authenticate(also=new)  # which wraps some of them after an interruption
        served.record("key", f"wrap all keys by {new.fingerprint}")
        changed = rewrap_keys(served.control, old, new)
    if new_key_file is None:
        kept = old_path.with_name(f"{old_path.name}.{old.fingerprint}")
        old_path.rename(kept)
        beside.rename(old_path)
    else:
        kept = old_path
    found = new_key_file or old_path
    message = f"{len(changed)} keys are wrapped by {new.fingerprint}, which is in {found}."
    click.echo(output.replace_control_characters(message))
    click.echo("! Restart the server.", err=True)
    if kept != found:
        message = f"! The old key is in {kept}: backups need it. Destroy it when none is left."
        click.echo(output.replace_control_characters(message), err=True)


@command.command()
@data_argument
@reason_option
@key_file_option
@click.option("--yes", is_flag=True, help="Do not ask for confirmation.")
def accept(data: Path, reason: str, key_file: Path | None, yes: bool) -> None:
    """Accept the stores and settings in DIR as they are now, and seal them with the server's key.

    For settings that you changed, for a server that had no key before, and for stores that were lost
    and restored. Budgets of a ledger that is behind count as spent, and no one can log in under rights
    that are behind, until you confirm them.
    """
    from discreet.server.acceptance import accept_stores

    with open_server_folder(data, key_file, authenticate=False) as served:
        if not yes:
            asked = f"Accept everything in {data} as it is now?"
            click.confirm(output.replace_control_characters(asked), abort=True, err=True)
        with served.stores() as stores:
            key = None if served.key_file is None else served.key()
            warnings = accept_stores(stores, key, act=served.act, reason=reason)
    for line in warnings:
        click.echo(output.replace_control_characters(f"! {line}"), err=True)
    click.echo(output.replace_control_characters(f"What is in {data} is accepted."))


def _wrapping_key(served: ServerFolder, client_key: Path | None) -> WrappingKey:
    from discreet.guard.vault.wrapping import read_wrapping_key

    return served.key() if client_key is None else read_wrapping_key(client_key)


def _version_text(record: KeyRecord) -> str:
    return ", ".join(f"{version.number} {version.state}" for version in record.versions)


def _key_entry(record: KeyRecord) -> dict[str, Any]:
    return {
        "id": record.id,
        "custody": record.custody,
        "state": record.state,
        "wrapped_by": record.wrapped_by,
        "versions": [vars(version) for version in record.versions],
    }
