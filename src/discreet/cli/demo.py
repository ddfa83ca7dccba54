"""`discreet demo`: write the synthetic hospital and run the real commands on it."""

from __future__ import annotations

import contextlib
import io
import shlex
import shutil
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path

import click

from discreet.cli import options, output
from discreet.cli.command import run_command
from discreet.cli.demo_files import read_hospital, refuse_to_replace, write_hospital
from discreet.errors import Bug, MissingExtra, WrongUsage
from discreet.result import Result


@dataclass(frozen=True)
class DemoStep:
    """A question a custodian asks and the command that answers it.

    `{folder}` in `arguments` is the place of the demo. Of a long answer, `lines` lines are shown,
    from the first one on that holds `begins`.
    """

    question: str
    moral: str
    arguments: tuple[str, ...]
    lines: int
    begins: str = ""
    exit_code: int = 0


def _of_patients(verb: str) -> tuple[str, str]:
    return verb, "{folder}/patients.csv"


def _output_arguments(name: str) -> tuple[str, str, str]:
    """Return the words that write a result; with --force, so that the command can be typed again."""
    return "-o", f"{{folder}}/{name}", "--force"


def _ask_arguments(question: str, *, verb: str = "ask", epsilon: str = "0.5") -> tuple[str, ...]:
    """Return the words that ask; spending is kept in the folder, not in the reader's own ledger."""
    return (
        *(verb, "{folder}/patients.csv", question, "--policy", "{folder}/policy.yaml"),
        *("--epsilon", epsilon, "--ledger", "{folder}/ledger.sqlite"),
    )


def _linkage_arguments(name: str) -> tuple[str, ...]:
    return (
        *("attack", "linkage", f"{{folder}}/{name}", "--known", "{folder}/voters.csv"),
        *("--on", "birth_date,sex,postcode"),
    )


# A new capability adds its step here, and nothing else changes.
_ASSESS = ("assess", "{folder}/patients.csv", "--policy", "{folder}/policy.yaml")
_BY_SEX = "SELECT sex, count(*) AS people, avg(salary) AS salary FROM patients GROUP BY sex"
DEMO_STEPS = (
    DemoStep(
        "What is in these tables?",
        "A draft policy: the role of each column, and the reason for each guess.",
        ("init", "{folder}/patients.csv", "{folder}/visits.csv"),
        lines=5,
        begins="columns:",
    ),
    DemoStep(
        "How identifiable are the people?",
        "Names are not needed: birth date, sex and postcode are enough.",
        (*_ASSESS, "--report", "{folder}/report.html"),
        lines=9,
    ),
    DemoStep(
        "Would this pass our gate?",
        "No. The exit code stops a pipeline before such a table is published.",
        ("check", "{folder}/patients.csv", "--policy", "{folder}/policy.yaml"),
        lines=2,
        exit_code=3,
    ),
    DemoStep(
        "What does an outsider with a voter list know?",
        "One person in the list with the same values is a name for a diagnosis.",
        _linkage_arguments("patients.csv"),
        lines=2,
    ),
    DemoStep(
        "Is it enough to remove what names people?",
        "HIPAA's list is done, and nearly everybody is alone on what stays: refused.",
        (*_of_patients("deidentify"), "--method", "safe-harbor", *_output_arguments("shared.csv")),
        lines=2,
        begins="uniqueness:",
        exit_code=3,
    ),
    DemoStep(
        "Can the table be published all the same?",
        "Less of it: what researchers need, and everybody gets at least four doubles.",
        (
            *(*_of_patients("anonymize"), "--policy", "{folder}/policy.yaml"),
            *(*_output_arguments("released.csv"), "--report", "{folder}/released.html"),
        ),
        lines=5,
    ),
    DemoStep(
        "Does the release pass our gate?",
        "It does, read again from its file. The manifest, released.csv.release.json, goes with it.",
        (
            *("check", "{folder}/released.csv", "--policy", "{folder}/policy.yaml"),
            *("--table", "patients", "--rows"),
        ),
        lines=4,
    ),
    DemoStep(
        "And the outsider with the voter list?",
        "Attacked again, by what the labels may stand for: no one is found any more.",
        _linkage_arguments("released.csv"),
        lines=1,
    ),
    DemoStep(
        "What would an answer cost, and how exact would it be?",
        "Shown before anything is spent; no patient's row is read for it.",
        _ask_arguments(_BY_SEX, verb="explain"),
        lines=6,
    ),
    DemoStep(
        "What may an analyst ask who must not see a row?",
        "Aggregates, with noise that hides any one patient, an error and a price.",
        _ask_arguments(_BY_SEX),
        lines=8,
        begins="Answer",
    ),
    DemoStep(
        "Do two answers give one patient away?",
        "The difference of all salaries and all but one is that one's, and drowns in noise.",
        _ask_arguments(
            "SELECT sum(salary) - sum(salary) FILTER (WHERE NOT "
            "(birth_date = '1953-12-08' AND postcode = '12407')) AS difference FROM patients"
        ),
        lines=4,
        begins="Answer",
    ),
    DemoStep(
        "And who asks until the noise averages out?",
        "Every answer is paid for. When too little is left, no one gets another one.",
        _ask_arguments("SELECT count(*) AS people FROM patients", epsilon="2.5"),
        lines=1,
        exit_code=4,
    ),
    DemoStep(
        "Is there a table that anybody may have?",
        "Rows of patients who do not exist, drawn from noisy counts, and attacked first.",
        (
            *(*_of_patients("synthesize"), "--policy", "{folder}/synthetic.yaml"),
            *("--epsilon", "1", "--method", "fast", "--ledger", "{folder}/ledger.sqlite"),
            *(*_output_arguments("synthetic.csv"), "--model", "{folder}/model.json"),
            *("--report", "{folder}/synthetic.html"),
        ),
        lines=2,
        begins="Spent",
    ),
    DemoStep(
        "And a model that anybody may have?",
        "It follows from noisy counts alone; its card shows what each value adds.",
        (
            *("learn", "{folder}/patients.csv", "--policy", "{folder}/synthetic.yaml"),
            *("--target", "insurance", "--features", "birth_date,sex,occupation,salary"),
            *("--epsilon", "0.5", "--ledger", "{folder}/ledger.sqlite"),
            *(*_output_arguments("insurance.json"), "--report", "{folder}/insurance.html"),
        ),
        lines=2,
    ),
)
LEDGER = "ledger.sqlite"
REGISTRY = "discreet-releases"
# What the chapters write besides the hospital.
RESULTS = (
    *(
        "report.html",
        "released.csv",
        "released.html",
        "released.csv.release.json",
        LEDGER,
        f"{LEDGER}.key",
    ),
    *("synthetic.csv", "synthetic.csv.release.json", "synthetic.html", "model.json"),
    *("insurance.json", "insurance.html"),
    REGISTRY,
)
# What a chapter asks for and does not get.
REFUSED = ("shared.csv",)


@dataclass(frozen=True)
class CompletedStep(Result):
    """A chapter as it went: the command that was run, how it ended, and what it printed."""

    question: str
    command: str
    exit_code: int
    output: str


@dataclass(frozen=True)
class DemoResult(Result):
    """Where the hospital was written, and the steps that were run on it."""

    folder: str
    files: tuple[str, ...]
    chapters: tuple[CompletedStep, ...]


EXAMPLES = """\b
Examples:
  discreet demo
  discreet demo hospital --force
  discreet demo --dry-run
  discreet demo --serve                a server, and psql commands to try
"""


@click.command(epilog=EXAMPLES)
@click.argument("folder", type=click.Path(path_type=Path), default="discreet-demo")
@click.option("--force", is_flag=True, help="Replace files of an earlier demo in FOLDER.")
@click.option("--dry-run", is_flag=True, help="Show what would be written, and write nothing.")
@click.option("--serve", is_flag=True, help="Serve the hospital instead, until Ctrl-C.")
@click.option(
    "--port",
    type=click.IntRange(0, 65535),
    help="With --serve: the port; 0 takes a free one. Default: 5433.",
)
@click.option(
    "--http-port",
    type=click.IntRange(0, 65535),
    help="With --serve: the port of the console and of HTTP. Default: the one after --port.",
)
@options.json_option
def command(
    folder: Path,
    *,
    force: bool,
    dry_run: bool,
    serve: bool,
    port: int | None,
    http_port: int | None,
    as_json: bool,
) -> None:
    """Write a small, fully invented hospital into FOLDER and run every job on it.

    Every answer is computed by the command printed above it.

    With --serve, users with different rights can connect with psql. The
    commands to try are printed. A hospital that was served before continues where it stopped;
    --force starts again.
    """
    bundled = read_hospital()
    if serve:
        if as_json:
            raise WrongUsage(
                "--json prints the steps of the demo, which --serve does not run. Leave out one of them."
            )
        from discreet.cli.demo_server import open_demo_server

        open_demo_server(folder, bundled, ports=(port, http_port), force=force, dry_run=dry_run)
        return
    if port is not None or http_port is not None:
        raise WrongUsage("--port and --http-port are ports of the server. Add --serve.")
    refuse_to_replace(folder, (*bundled, *RESULTS, *REFUSED), force=force)
    if dry_run:
        for name in (*bundled, *RESULTS):
            click.echo(f"would write {folder / name}")
        return
    write_hospital(folder, bundled)
    forget_spending(folder)
    completed = run_demo_steps(folder, quiet=as_json)
    if as_json:
        output.print_json(DemoResult(str(folder), tuple(bundled), completed))
    expected = [chapter.exit_code for chapter in DEMO_STEPS]
    if [chapter.exit_code for chapter in completed] != expected:
        raise Bug("A chapter of the demo ended otherwise than it should. Please report its output.")


def forget_spending(folder: Path) -> None:
    """Remove ledger and registry of an earlier demo: its people are invented, and its budget would be gone."""
    for name in (LEDGER, f"{LEDGER}-wal", f"{LEDGER}-shm", f"{LEDGER}.key"):
        (folder / name).unlink(missing_ok=True)
    shutil.rmtree(folder / REGISTRY, ignore_errors=True)


def run_demo_steps(folder: Path, *, quiet: bool) -> tuple[CompletedStep, ...]:
    """Run every chapter on `folder`, showing each as it ends unless `quiet`."""
    completed: list[CompletedStep] = []
    can_report = _can_report()
    if not quiet:
        _show_opening(folder)
    for number, chapter in enumerate(DEMO_STEPS, start=1):
        arguments = [part.replace("{folder}", str(folder)) for part in chapter.arguments]
        if not can_report and "--report" in arguments:
            del arguments[(place := arguments.index("--report")) : place + 2]
        command = " ".join(["discreet", *map(quote_shell_word, arguments)])
        if not quiet:
            _show_question(number, chapter, command)
        exit_code, printed = run_verb(arguments)
        completed.append(CompletedStep(chapter.question, command, exit_code, printed))
        if not quiet:
            _show_answer(chapter, exit_code, printed)
    if not quiet:
        _show_end(folder)
    return tuple(completed)


def _can_report() -> bool:
    """Return whether the libraries of the report are there: the demo runs without them."""
    try:
        import_module("discreet.report.assessment")
    except MissingExtra:
        return False
    return True


class _Transcript(io.StringIO):
    """Takes what a command prints; a terminal as far as colors go when the real output is one."""

    def isatty(self) -> bool:
        return sys.__stdout__ is not None and sys.__stdout__.isatty()


def run_verb(arguments: list[str]) -> tuple[int, str]:
    """Run `discreet ARGUMENTS` in this process; return its exit code and what it printed."""
    transcript, remarks = _Transcript(), io.StringIO()
    with contextlib.redirect_stdout(transcript), contextlib.redirect_stderr(remarks):
        exit_code = run_command(arguments)
    return exit_code, transcript.getvalue() + remarks.getvalue()


def quote_shell_word(word: str) -> str:
    """Return `word` so that a shell takes it as one, in the quotes that people would type.

    >>> print(quote_shell_word("file.csv"), quote_shell_word("SELECT 1"), quote_shell_word("a = 'x'"))
    file.csv 'SELECT 1' "a = 'x'"
    """
    has_special = any(letter in word for letter in '"$`\\!')
    return f'"{word}"' if "'" in word and not has_special else shlex.quote(word)


def excerpt(lines: Sequence[str], *, begins: str, length: int) -> Sequence[str]:
    """Return up to `length` lines from the first one that holds `begins` on, or from the top.

    >>> excerpt(["verdict", "criteria", "k"], begins="crit", length=1)
    ['criteria']
    """
    first = next((number for number, line in enumerate(lines) if begins in line), 0)
    return lines[first : first + length]


def _show_opening(folder: Path) -> None:
    console = output.console()
    console.print("An invented hospital, and what its tables reveal.", style="bold")
    console.print(f"Its files are now in {folder}; everybody in them is invented.", markup=False)


def _show_question(number: int, chapter: DemoStep, command: str) -> None:
    from rich.rule import Rule
    from rich.text import Text

    console = output.console()
    console.print()
    console.print(Rule(Text(f"{number}. {chapter.question}", style="bold"), align="left"))
    console.print(chapter.moral, style="dim", markup=False)
    # A command that is cut at the edge cannot be copied.
    console.print(f"$ {command}", style="cyan", markup=False, soft_wrap=True)


def _show_answer(chapter: DemoStep, exit_code: int, printed: str) -> None:
    console = output.console()
    lines = printed.strip("\n").splitlines()
    shown = excerpt(lines, begins=chapter.begins, length=chapter.lines)
    for line in shown:
        click.echo(line)
    hidden = len(lines) - len(shown)
    if hidden:
        console.print(f"… and {hidden} more lines: type the command to see them", style="dim")
    if exit_code:
        console.print(f"exit code {exit_code}", style="bold red")


def _show_end(folder: Path) -> None:
    console = output.console()
    console.print()
    written = [str(folder / name) for name in RESULTS if (folder / name).exists()]
    if written:
        words = f"written: {', '.join(written)}"
        console.print(words, style="bold", markup=False, soft_wrap=True)
    console.print("Now type the commands yourself, or start on your own table: discreet init FILE")
    console.print("Serve the hospital to users with different rights: discreet demo --serve")
