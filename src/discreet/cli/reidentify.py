"""`discreet reidentify`: the values behind pseudonyms, for the holder of the key."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from discreet.cli import options, output
from discreet.errors import WrongUsage

EXAMPLES = """\b
Examples:
  discreet reidentify stays.csv --key-file KEY -o originals.csv
  discreet reidentify stays.csv --key-file KEY --dry-run
  discreet reidentify tokens.csv --key-file KEY --mapping patients.sealed -o originals.csv
"""

GROUPS = {
    "Pseudonyms": (
        *("key_file", "key_env", "manifest", "fingerprint", "mapping"),
        *("reversible", "format_preserving", "tokens", "shift_dates", "unit"),
    ),
}


@click.command(cls=options.SourceCommand, epilog=EXAMPLES, groups=GROUPS)
@options.source_argument
@options.key_options
@click.option(
    "--manifest",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="The release's manifest. Default: SOURCE.release.json.",
)
@click.option(
    "--fingerprint",
    metavar="DIGITS",
    help="The fingerprint of the key that made them, where there is no manifest.",
)
@click.option(
    "--mapping",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="The encrypted file of random tokens.",
)
@click.option(
    "--reversible", type=options.NAMES, help="Columns with pseudonyms that the key undoes."
)
@click.option(
    "--format-preserving", type=options.NAMES, help="Columns with pseudonyms of the same form."
)
@click.option("--tokens", type=options.NAMES, help="Columns with random tokens.")
@click.option("--shift-dates", type=options.NAMES, help="Dates to shift back, by person.")
@click.option("--unit", metavar="COLUMN", help="The column that names a row's person.")
@click.option(
    "-o",
    "--output",
    metavar="OUT",
    callback=options.require_name,
    help="Where rows go; only you can read it.",
)
@click.option("--force", is_flag=True, help="Replace OUT if it exists.")
@click.option("--dry-run", is_flag=True, help="Check the key, show what would be undone.")
@options.reading_options
@options.json_option
def command(source: str, *, as_json: bool, **choices: Any) -> None:
    """Write SOURCE with the values behind its pseudonyms, as the holder of the key.

    The manifest that `discreet deidentify` wrote beside SOURCE names the columns and the key that
    made their pseudonyms. Another key is refused. Name columns to undo only these, or where there is
    no manifest. What is undone is noted in the custodian's
    registry before a row is written.
    """
    from discreet.api.reidentify import reidentify

    if choices["output"] is None and not choices["dry_run"]:
        raise WrongUsage("Name the output with -o OUT, or add --dry-run.")
    found = reidentify(source, **choices)
    if as_json:
        output.print_json(found)
        return
    console = output.console()
    output.print_sentence(console, found.verdict, style="bold")
    if found.output is not None:
        output.print_sentence(console, f"Wrote {found.output.rows:,} rows to {found.output.place}.")
