"""`discreet restore`: a server's folder as it was, without forgetting what was spent or revoked since."""

from __future__ import annotations

from contextlib import closing
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

import click

from discreet.cli import output
from discreet.cli.options import json_option
from discreet.cli.server_folder import ServerFolder, key_file_option, open_server_folder
from discreet.errors import WrongUsage
from discreet.result import Result

if TYPE_CHECKING:
    from discreet.server.restore import UnknownHistory

EXAMPLES = """\b
Examples:
  discreet restore clinic.backup clinic
  discreet restore clinic.backup clinic --replace --keep-ledger --keep-rights
"""
UNKNOWN = 3  # exit code: restored, but what happened since is unknown
_WHY = "the server was restored from a backup, and what was {what} since is unknown"


@dataclass(frozen=True)
class RestoredFolder(Result):
    """What was put back, where what was there is now, and whether spending or rights may be outdated."""

    folder: str
    at: str
    files: list[str]
    before: str | None
    spending_unknown: bool
    rights_unknown: bool


@click.command(epilog=EXAMPLES)
@click.argument("file", metavar="FILE", type=click.Path(path_type=Path))
@click.argument("folder", metavar="DIR", type=click.Path(path_type=Path))
@click.option("--replace", is_flag=True, help="Replace what is in DIR; it is kept beside it.")
@click.option("--keep-ledger", is_flag=True, help="Restore all but the ledger, if DIR's is newer.")
@click.option("--keep-rights", is_flag=True, help="Restore all but rights, users and keys.")
@click.option(
    "--forget",
    metavar="REASON",
    help="Forget what was spent and revoked since the backup; the reason is kept in the journal.",
)
@click.option("--dry-run", is_flag=True, help="Show what the backup holds, and write nothing.")
@key_file_option
@json_option
def command(
    file: Path,
    folder: Path,
    replace: bool,
    forget: str | None,
    dry_run: bool,
    key_file: Path | None,
    as_json: bool,
    **kept: bool,
) -> int:
    """Restore the backup FILE into DIR; the server must not run meanwhile.

    What was spent and revoked since is kept, unless --forget is given. Where it is unknown, as in a new
    folder, budgets count as spent and no one can log in until the custodian confirms
    (`discreet budget --reopen`, `discreet user confirm`), and the exit code is 3.
    """
    from discreet.server.backup import read_backup
    from discreet.server.restore import RestoreChoices, UnknownHistory, restore

    if forget is not None and not forget.strip():
        raise WrongUsage("State why what was spent and revoked may be forgotten: --forget REASON")
    held = read_backup(file)
    before, unknown = None, UnknownHistory(spending=False, rights=False)
    if not dry_run:
        reason = f"restored from {file} as of {held.at}" + (f"; forget: {forget}" if forget else "")
        choices = RestoreChoices(forget=forget or "", **kept)
        before, unknown = restore(
            file,
            folder,
            replace=replace,
            choices=choices,
            settle=lambda made, unknown: _settle_unknown(made, unknown, reason, key_file),
        )
    done = RestoredFolder(
        str(folder),
        held.at,
        held.files,
        None if before is None else str(before),
        unknown.spending,
        unknown.rights,
    )
    if as_json:
        output.print_json(done)
    else:
        _print(done, verb="would be" if dry_run else "is")
    return _print_warnings(done)


def _print(done: RestoredFolder, *, verb: str) -> None:
    to = output.console()
    output.print_sentence(to, f"{done.folder} {verb} as of {done.at}: {', '.join(done.files)}.")
    if done.before is not None:
        output.print_sentence(to, f"What was there is in {done.before}.")


def _print_warnings(done: RestoredFolder) -> int:
    """Warn of what is unknown, and return the exit code."""
    if done.spending_unknown:
        click.echo(
            output.replace_control_characters(
                "! What was spent since is unknown: all budgets count as spent. If you know it, run: "
                f"discreet budget --ledger {Path(done.folder) / 'ledger.sqlite'} --reopen REASON"
            ),
            err=True,
        )
    if done.rights_unknown:
        click.echo(
            output.replace_control_characters(
                "! Who was dropped and what was revoked since is unknown: no one can log in. Drop and "
                f"revoke again, then run: discreet user confirm {done.folder} --reason TEXT"
            ),
            err=True,
        )
    return UNKNOWN if done.spending_unknown or done.rights_unknown else 0


def _settle_unknown(
    made: Path, unknown: UnknownHistory, reason: str, key_file: Path | None
) -> None:
    """Write into restored stores what is unknown, and that they count as the latest."""
    from discreet.dp.ledger.ledger import Ledger
    from discreet.server.backup import CONTROL, LEDGER
    from discreet.server.settings import read_settings

    if read_settings(made).control or (made / CONTROL).is_file():
        with open_server_folder(made, key_file) as served:
            _settle_stores(served, unknown, reason)
    elif unknown.spending:
        with closing(Ledger(made / LEDGER)) as ledger:
            ledger.close_budget(_WHY.format(what="spent"), at=datetime.now(UTC))


def _settle_stores(served: ServerFolder, unknown: UnknownHistory, reason: str) -> None:
    from discreet.guard.journal import Event
    from discreet.server.acceptance import settle_heads
    from discreet.server.suspension import suspend_logins

    with served.stores() as stores:
        if served.seal is not None:
            stores.ledger.authenticate(served.seal)
            stores.journal.authenticate(served.seal)
        if unknown.spending:
            stores.ledger.close_budget(_WHY.format(what="spent"), at=served.act.at)
        if unknown.rights:
            suspend_logins(served.control, _WHY.format(what="revoked"), at=served.act.at)
        act = served.act
        settle_heads(stores, Event(act.at, "backup", user=act.by, protocol="cli", reason=reason))
