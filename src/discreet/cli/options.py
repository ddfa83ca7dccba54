"""Options that several verbs share."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import click

from discreet.errors import WrongUsage, did_you_mean


class ColumnNamesType(click.ParamType[tuple[str, ...]]):
    """Column names separated by commas; a name that holds a comma is quoted as in CSV."""

    name = "a,b,…"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> tuple[str, ...]:
        """Return the names in their order."""
        if isinstance(value, (tuple, list)):  # a list, as a manifest has it
            return tuple(map(str, value))
        import csv

        names = next(csv.reader([value], skipinitialspace=True), [])
        if not names or any(not name.strip() for name in names):
            self.fail("Write column names separated by commas, such as age,sex,zip.", param, ctx)
        return tuple(name.strip() for name in names)


class SuggestingChoice(click.Choice[str]):
    """One of a few words; a slip is answered with the word that was meant."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """Return the word."""
        if value not in self.choices:
            self.fail(f"There is no '{value}'.{did_you_mean(str(value), self.choices)}", param, ctx)
        return str(value)


class MemoryType(click.ParamType[str]):
    """A size such as `4GB`."""

    name = "size"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """Return the size as it was written."""
        import re

        if not re.fullmatch(r"\d+(\.\d+)? ?([KMGT]i?)?B", str(value), re.IGNORECASE):
            self.fail("Write a number and its unit, such as 4GB.", param, ctx)
        return str(value)


NAMES = ColumnNamesType()
MEMORY = MemoryType()
SOURCE_OPTIONS = (
    *(
        "policy",
        "quasi",
        "sensitive",
        "unit",
        "weight",
        "household",
        "rows_are_people",
        "leave_out",
        "hierarchies",
    ),
    *("tables", "table", "delimiter", "encoding", "memory"),
)
OUTPUT_OPTIONS = (
    *("out", "output", "target", "force", "dry_run", "manifest", "replay", "report", "as_json"),
    "help",
)


class SourceCommand(click.Command):
    """A verb that reads a source: its help lists options under headings.

    `groups` are the verb's own headings; options that are in none of them and are not shared are
    listed under Options.
    """

    def __init__(self, *args: Any, groups: Mapping[str, Sequence[str]] = {}, **settings: Any):
        super().__init__(*args, **settings)
        self.groups = groups

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write each group of options under its heading, aligned with the others."""
        records = {
            "help" if "--help" in each.opts else str(each.name): record
            for each in self.get_params(ctx)
            if isinstance(each, click.Option) and (record := each.get_help_record(ctx)) is not None
        }
        width = max(len(term) for term, _ in records.values())
        listed = {name for names in self.groups.values() for name in names}
        shared = {*SOURCE_OPTIONS, *OUTPUT_OPTIONS} - listed
        groups = {
            "Source": [name for name in SOURCE_OPTIONS if name in shared],
            "Options": [name for name in records if name not in listed | shared],
            **self.groups,
            "Output": [name for name in OUTPUT_OPTIONS if name in shared],
        }
        formatter.write_paragraph()
        for heading, names in groups.items():
            present = [records[name] for name in names if name in records]
            if present:
                formatter.write_heading(heading)
                formatter.indent()
                aligned = [(f"{term:<{width}}", text) for term, text in present]
                formatter.write_dl(aligned, col_max=width)
                formatter.dedent()


def require_name(context: click.Context, parameter: click.Parameter, value: Any) -> Any:
    """Refuse an empty name, such as that of an unset variable: the empty path is a folder."""
    if "" in (value if isinstance(value, tuple) else (value,)):
        raise click.BadParameter("The name is empty.", context, parameter)
    return value


def read_assignments(stated: Sequence[str], *, example: str) -> dict[str, str]:
    """Return what `--set OPTION=VALUE` states, as keyword arguments.

    Raises:
        WrongUsage: One is not written so.
    """
    pairs = [one.partition("=") for one in stated]
    if not all(name and sign and value for name, sign, value in pairs):
        raise WrongUsage(f"Write --set OPTION=VALUE, such as --set {example}.")
    return {name.replace("-", "_"): value for name, _, value in pairs}


def combine_options(
    *options: Callable[[Callable[..., Any]], Callable[..., Any]],
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Return one decorator for several options, in the order in which the help lists them."""

    def decorate(command: Callable[..., Any]) -> Callable[..., Any]:
        for option in reversed(options):
            command = option(command)
        return command

    return decorate


source_argument = click.argument("source", metavar="SOURCE", callback=require_name)
policy_option = click.option(
    "--policy",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="The policy: what is protected.",
)
json_option = click.option(
    "--json", "as_json", is_flag=True, help="Print the result as JSON, and nothing else."
)


def _refuse_both_forms(ctx: click.Context, _: click.Parameter, form: str | None) -> str | None:
    if form is not None and ctx.params.get("as_json"):
        raise click.UsageError("--json and --format exclude each other.")
    return form


format_option = click.option(
    "--format",
    "form",
    type=click.Choice(["junit", "sarif"]),
    callback=_refuse_both_forms,
    help="Print what a CI system shows, and nothing else; no value of the table is in it.",
)
report_option = click.option(
    "--report",
    type=click.Path(path_type=Path),
    metavar="FILE.html",
    help="Also write one page, aggregates only.",
)


accept_risk_option = click.option(
    "--accept-risk",
    metavar="REASON",
    callback=require_name,
    help="Publish although attacks exceed a tolerance.",
)


rows_option = click.option(
    "--rows",
    "rows_are_people",
    is_flag=True,
    help="Each row is another person: for a release, which has lost its policy's unit.",
)


# How a source is read.
reading_options = combine_options(
    click.option("--table", metavar="NAME", help="Which table of the database or policy."),
    click.option(
        "--delimiter",
        metavar="CHAR",
        help="The separator of a CSV file's columns.",
    ),
    click.option(
        "--encoding", metavar="NAME", help="Such as cp1252; found by itself if not given."
    ),
    click.option(
        "--memory", type=MEMORY, metavar="SIZE", help="Memory limit of DuckDB, such as 4GB."
    ),
)


leave_out_option = click.option("--leave-out", type=NAMES, help="Columns that are not published.")


# What stands in for a policy.
role_options = combine_options(
    click.option("--quasi", type=NAMES, help="Columns outsiders may know, such as age,sex,zip."),
    click.option("--sensitive", type=NAMES, help="Columns outsiders must not learn."),
    click.option(
        "--unit",
        metavar="COLUMN",
        help="A row's person. Default: each row is a person.",
    ),
)


# The secret key of pseudonyms.
key_options = combine_options(
    click.option(
        "--key-file",
        type=click.Path(path_type=Path),
        metavar="FILE",
        help="The file with the secret key.",
    ),
    click.option("--key-env", metavar="VAR", help="The variable with the secret key."),
)


# What a survey has besides.
survey_options = combine_options(
    click.option(
        "--weight",
        metavar="COLUMN",
        help="A survey's sampling weights.",
    ),
    click.option(
        "--household",
        metavar="COLUMN",
        help="The id that the people of a household share.",
    ),
)
