"""`discreet attack dictionary`: hashed identifiers undone by guessing what they may stand for."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from discreet.cli import options
from discreet.cli.attacks.findings import finding_options, judge_and_print, tolerance_of
from discreet.cli.attacks.targets import OpenTarget, open_attack_target
from discreet.engines.engine import Table

if TYPE_CHECKING:
    from discreet.attacks.hashes.candidates import Guesses

EXAMPLES = """\b
Examples:
  discreet attack dictionary rides.csv
  discreet attack dictionary rides.csv --column medallion \\
    --pattern '[0-9][A-Z][0-9]{2}' --pattern '[A-Z]{2,3}[0-9]{3}'
  discreet attack dictionary rides.csv --column license --hash md5 --pattern '[0-9]{6,7}'
  discreet attack dictionary patients.csv --known voters.csv
  discreet attack dictionary orders.csv --column user --candidates emails.csv --salt 2019
\b
A pattern has letters as they are, classes ([A-Z0-9], \\d), repeats ({2}, {6,7}, ?) and choices ((a|b)).
"""


@click.command(epilog=EXAMPLES)
@click.argument("source", metavar="TABLE", callback=options.require_name)
@click.option(
    "--column", metavar="COLUMN", help="The hashed column. Default: all that look like hashes."
)
@click.option(
    "--hash",
    "hash_name",
    metavar="NAME",
    help="md5, sha1, sha256 … Default: found by its length and by trying.",
)
@click.option(
    "--pattern",
    "patterns",
    multiple=True,
    metavar="PATTERN",
    help="What the values look like; every text that fits is tried. May be repeated.",
)
@click.option(
    "--candidates",
    "lists",
    multiple=True,
    metavar="SOURCE",
    help="A table whose values are tried, such as a list of e-mail addresses. May be repeated.",
)
@click.option(
    "--known",
    multiple=True,
    metavar="SOURCE",
    help="A table the adversary has: its values, and texts of the same form, are tried.",
)
@click.option("--salt", metavar="TEXT", help="A public salt, tried before and after the text.")
@click.option(
    "--vary",
    type=options.NAMES,
    default=(),
    metavar="case,newline,encoding",
    help="Also try texts in capitals or small letters, with a line's end, in UTF-16.",
)
@click.option(
    "--limit",
    type=click.IntRange(1),
    default=200_000_000,
    show_default=True,
    metavar="N",
    help="Refuse to try more guesses than this.",
)
@options.reading_options
@finding_options
def command(
    source: str,
    as_json: bool,
    report: Path | None,
    tolerance: float | None,
    policy: Path | None,
    **choices: Any,
) -> None:
    """Undo hashed identifiers in TABLE by hashing whatever they may stand for.

    A hash cannot be run backwards, but anyone can run it forwards on every possible value. Without
    --column every column that looks like a hash, an encoding or a counted number is found and tried
    with the values of the other columns, of --known tables, numbers and dates.
    """
    from time import perf_counter

    from discreet.attacks.hashes.dictionary import DictionaryOptions, attack_column, attack_table

    tools = DictionaryOptions(
        hash_name=choices["hash_name"],
        salt=choices["salt"],
        vary=choices["vary"],
        limit=choices["limit"],
        clock=perf_counter,
    )
    with open_attack_target(source, choices, report=report) as opened:
        table = opened.table
        allowed = tolerance_of(
            policy, tolerance=tolerance, table=choices["table"], label=table.label
        )
        known = [opened.open_other(each) for each in choices["known"]]
        guesses = _read_guesses(opened, choices)
        if choices["column"] is None:
            findings = attack_table(table, known=known, guesses=guesses, tools=tools)
        else:
            tries = (*guesses, *_default_guesses(table, known, guesses, choices["column"]))
            findings = (attack_column(table, choices["column"], tries, tools=tools),)
    judge_and_print(findings, tolerance=allowed, as_json=as_json, report=report)


def _read_guesses(opened: OpenTarget, choices: dict[str, Any]) -> tuple[Guesses, ...]:
    from discreet.attacks.hashes import candidates
    from discreet.attacks.hashes.patterns import read_guess_pattern

    patterns = [candidates.from_pattern(read_guess_pattern(text)) for text in choices["patterns"]]
    lists = [opened.open_other(name) for name in choices["lists"]]
    listed = [each for table in lists for each in candidates.from_table(table)]
    return (*patterns, *listed)


def _default_guesses(
    table: Table, known: list[Table], guesses: tuple[Guesses, ...], column: str
) -> tuple[Guesses, ...]:
    """Return what is tried besides: nothing, where the user said what to try."""
    from discreet.attacks.hashes.dictionary import usual_guesses

    if guesses and not known:
        return ()
    return usual_guesses(table, known=known, skip=(column,))
