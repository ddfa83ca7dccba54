"""`discreet backup`: one file with everything a server needs to start again."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import click

from discreet.cli import output
from discreet.cli.options import json_option
from discreet.cli.server_folder import BACKED_UP, key_file_option, record_in

EXAMPLES = """\b
Examples:
  discreet backup clinic -o clinic-2026-05-04.backup
  discreet restore clinic-2026-05-04.backup elsewhere
"""


@click.command(epilog=EXAMPLES)
@click.argument("folder", metavar="DIR", type=click.Path(path_type=Path))
@click.option(
    "--output",
    "-o",
    "target",
    type=click.Path(path_type=Path),
    required=True,
    metavar="FILE",
    help="Where the backup goes. It holds keys: keep it as you keep them.",
)
@key_file_option
@json_option
def command(folder: Path, target: Path, key_file: Path | None, as_json: bool) -> None:
    """Copy the data, records and keys of the server in DIR into one file.

    The server must not run meanwhile, unless its data are on PostgreSQL. One that runs makes a
    backup itself when a superuser runs SELECT discreet_backup('name'), in DIR/backups.
    """
    from discreet.server.backup import write_backup

    record_in(folder, "backup", f"{BACKED_UP}{target.absolute()}", key_file=key_file)
    made = write_backup(folder, target, at=datetime.now(UTC))
    if as_json:
        output.print_json(made)
        return
    to = output.console()
    output.print_sentence(to, f"{made.file} holds {', '.join(made.files)}.")
    output.print_sentence(to, "It holds keys: anyone who has it can read everything.")
