"""The `discreet` command: a table of verbs, and one place where errors become words and exit codes."""

from __future__ import annotations

import io
import os
import signal
import sys
import warnings
from collections.abc import Sequence
from importlib import import_module
from importlib.abc import MetaPathFinder
from types import ModuleType

import click

from discreet.cli.output import replace_control_characters
from discreet.errors import Bug, DiscreetError, WrongUsage, did_you_mean
from discreet.writing import private_files

# verb -> its one line in --help; the module `discreet.cli.<verb>` is imported when it runs.
VERBS = {
    "demo": "Show every job on a bundled, made-up hospital",
    "init": "Draft a policy: the role of each column, guessed with reasons",
    "assess": "Measure how identifiable the people in a table are",
    "check": "Check a table in CI: exit 3 unless the policy's criteria hold",
    "anonymize": "Publish rows that meet the criteria, with little loss",
    "deidentify": "Remove or replace what names people, by Safe Harbor or expert",
    "synthesize": "Write a table that anybody may have, under differential privacy",
    "sample": "Draw more rows from a synthetic table's model, free",
    "learn": "Learn a private model that predicts a column of a table",
    "choose": "Choose which column matters most for another, privately",
    "reidentify": "Undo pseudonyms, as the holder of their key",
    "ask": "Answer a question in SQL under differential privacy",
    "explain": "Show what a question costs and how exact its answer is",
    "statistics": "Compute tests, intervals and curves that know their noise",
    "limits": "Choose how many rows of one person count, privately",
    "budget": "Show what was spent, on what, and what is left",
    "register": "Number each person's rows once, so that questions are quick",
    "epsilon": "Calculate epsilon: randomized response, noise, composition",
    "attack": "Attack a release or an interface, and report what was learned",
    "collect": "Perturb each person's value: local differential privacy",
    "serve": "Serve tables over the PostgreSQL protocol, with access control",
    "user": "Manage the users of a server: passwords, tokens, certificates",
    "key": "Create, rotate and destroy the keys of a server",
    "journal": "Verify, show, export and archive what a server decided",
    "backup": "Copy a server's data, records and keys into one file",
    "restore": "Restore a backup, without forgetting what was spent",
}

# What these verbs write is for other people; what all others write is for their owner only.
PUBLISHING = (
    *(
        "assess",
        "check",
        "anonymize",
        "deidentify",
        "synthesize",
        "sample",
        "learn",
        "epsilon",
        "attack",
    ),
    "collect",
)

READER_LEFT = 128 + signal.SIGPIPE  # as the shell reports it for every program

HELP = """\b
discreet lets people use sensitive tables and protects the people in them: five jobs, one policy.
  assess    how identifiable are the people in this table?
  release   publish rows safely, with little loss
  answer    SQL under differential privacy, with a budget
  attack    what could an adversary learn?
  guard     a server with access control, encryption and an audit journal

\b
Start here:
  discreet demo                             all of it on made-up patients
  discreet init people.csv -o policy.yaml   draft a policy
  discreet anonymize people.csv --policy policy.yaml -o released.csv
  discreet ask people.csv "SELECT count(*) FROM people" --epsilon 0.5
  discreet serve --data people --policy policy.yaml
"""

EPILOG = """\b
A source is a file (CSV, Parquet, Excel, SPSS, …), a glob, `-`, postgresql:// or spark:.
Exit codes: 0 done, 1 failed, 2 wrong usage, 3 not safe enough, 4 refused.
"""


class VerbGroup(click.Group):
    """A group that knows its verbs by name and imports one only to run it."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the verbs in the order a custodian meets them."""
        del ctx
        return list(VERBS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Return the verb's command, importing its module."""
        if cmd_name not in VERBS:
            ctx.fail(f"There is no verb '{cmd_name}'.{did_you_mean(cmd_name, VERBS)}")
        command: click.Command = import_module(f"discreet.cli.{cmd_name}").command
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Return the verb that is to run; its files are private unless it publishes."""
        found = super().resolve_command(ctx, args)
        if found[0] not in PUBLISHING:
            ctx.with_resource(private_files())  # until the command ends
        return found

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """List the verbs without importing them."""
        del ctx
        with formatter.section("Verbs"):
            formatter.write_dl(list(VERBS.items()))


@click.command(
    cls=VerbGroup,
    help=HELP,
    epilog=EPILOG,
    subcommand_metavar="VERB …",
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
@click.version_option(package_name="discreet", message="discreet %(version)s")
def cli() -> None:
    """Run a verb."""


class _PandasBlocker(MetaPathFinder):
    """Says that pandas is not there, which pyarrow would otherwise load with its first array.

    No verb reads frames, and loading pandas takes longer than most commands. Spark and OR-Tools
    need it, and so do models of scikit-learn that were trained on frames.
    """

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> None:
        """Refuse pandas, unless a library needs it, and leave all else to other finders."""
        del path, target
        needed = ("pyspark", "ortools", "sklearn")
        if fullname == "pandas" and sys.modules.keys().isdisjoint(needed):
            raise ModuleNotFoundError(name=fullname)


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line and exit with its code; no error leaves as a traceback."""
    if isinstance(sys.stdout, io.TextIOWrapper):
        # A letter that the terminal lacks, or half a letter in a file's name, is no reason to fail.
        sys.stdout.reconfigure(errors="backslashreplace")
    if not os.environ.get("DISCREET_DEBUG"):
        # A library's warning is not for the reader, and may quote data.
        warnings.simplefilter("ignore")
    sys.meta_path.insert(0, _PandasBlocker())
    code = run_command(arguments, stops=_catch_stops())
    if code == READER_LEFT:
        # The interpreter would try to write what the buffer holds, and say that it cannot.
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    sys.exit(code)


def run_command(arguments: Sequence[str] | None = None, *, stops: Sequence[int] = ()) -> int:
    """Run the command line and return its exit code; `stops` fills with signals to end."""
    try:
        returned = cli.main(args=arguments, prog_name="discreet", standalone_mode=False)
    except click.ClickException as error:
        return _report_misuse(error)
    except (click.Abort, KeyboardInterrupt):
        return _report_stop(stops)
    except (BrokenPipeError, SystemExit):
        # The reader of our output left, as `head` does; click and rich turn that into an exit of
        # their own. Not 0: a check that was cut short has not passed.
        return READER_LEFT
    except Exception as error:
        if stops:  # which an engine may report as a failure of its own
            return _report_stop(stops)
        if isinstance(error, DiscreetError):
            return print_error(error)
        if os.environ.get("DISCREET_DEBUG"):
            raise
        return print_error(_unexpected_error(error))
    return returned if isinstance(returned, int) else 0


def print_error(error: DiscreetError) -> int:
    """Print `error` with its code on stderr and return its exit code."""
    click.echo(f"error: {replace_control_characters(str(error))}  [{error.code}]", err=True)
    return error.exit_code


def _report_misuse(error: click.ClickException) -> int:
    """Print what is wrong with the words of the command, and where to read on."""
    if isinstance(error, click.exceptions.NoArgsIsHelpError):
        error.show()
        return error.exit_code
    print_error(WrongUsage(error.format_message()))
    if isinstance(error, click.UsageError) and error.ctx is not None:
        click.echo(error.ctx.get_usage(), err=True)
        click.echo(f"Try '{error.ctx.command_path} --help'.", err=True)
    return error.exit_code


def _catch_stops() -> list[int]:
    """Let signals that end a run unwind it, so that what it spilled to disk is deleted."""
    stops: list[int] = []

    def stop(number: int, _: object) -> None:
        stops.append(number)
        raise KeyboardInterrupt

    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(number) is not signal.SIG_IGN:  # as under nohup
            signal.signal(number, stop)
    return stops


def _report_stop(stops: Sequence[int]) -> int:
    click.echo("Stopped.", err=True)
    return 128 + (stops[0] if stops else signal.SIGINT)


def _unexpected_error(error: Exception) -> Bug:
    """Return a report of where an unexpected error arose, without its text."""
    trace, place = error.__traceback__, "?"
    while trace is not None:
        code = trace.tb_frame.f_code
        if f"{os.sep}discreet{os.sep}" in code.co_filename:
            place = f"{os.path.basename(code.co_filename)}:{trace.tb_lineno}"  # noqa: PTH119
        trace = trace.tb_next
    return Bug(
        f"Unexpected {type(error).__name__} at {place}. Its text is withheld because it may quote "
        "data; run again with DISCREET_DEBUG=1 to see it, and please report it."
    )
