"""`discreet restore`: a server's folder as it was, without forgetting what was spent since."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import click

from discreet.cli import output
from discreet.cli.options import json_option
from discreet.cli.served import record_in
from discreet.result import Result

EXAMPLES = """\b
Examples:
  discreet restore clinic.backup clinic
  discreet restore clinic.backup clinic --replace --keep-ledger
"""


@dataclass(frozen=True)
class Restored(Result):
    """What was put back, and where what was there is now."""

    folder: str
    at: str
    files: list[str]
    before: str | None


@click.command(epilog=EXAMPLES)
@click.argument("file", metavar="FILE", type=click.Path(path_type=Path))
@click.argument("folder", metavar="DIR", type=click.Path(path_type=Path))
@click.option("--replace", is_flag=True, help="DIR is not empty: keep what is there beside it.")
@click.option("--keep-ledger", is_flag=True, help="Restore all but the ledger, if DIR's is newer.")
@click.option("--force", is_flag=True, help="Forget what was spent since the backup was made.")
@click.option("--dry-run", is_flag=True, help="Say what the backup holds, and write nothing.")
@json_option
def command(
    file: Path,
    folder: Path,
    replace: bool,
    keep_ledger: bool,
    force: bool,
    dry_run: bool,
    as_json: bool,
) -> None:
    """Put the backup FILE back into DIR; the server must not run meanwhile.

    A ledger that is newer than the backup's is never replaced unless you say so: answers that were
    given stay given.
    """
    from discreet.serve.backup import read_backup, restore

    held = read_backup(file)
    before = None
    if not dry_run:
        before = restore(file, folder, replace=replace, keep_ledger=keep_ledger, force=force)
        ledger = "the ledger that was there" if keep_ledger else "its ledger"
        record_in(folder, "backup", f"restored from {file} as of {held.at}, with {ledger}")
    done = Restored(str(folder), held.at, held.files, None if before is None else str(before))
    if as_json:
        output.print_json(done)
        return
    to = output.console()
    verb = "would be" if dry_run else "is"
    output.print_sentence(to, f"{folder} {verb} as of {held.at}: {', '.join(held.files)}.")
    if before is not None:
        output.print_sentence(to, f"What was there is in {before}.")
