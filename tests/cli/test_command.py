"""The command as a whole: help, usage, streams, signals, and errors of every origin."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import click
import pytest

from discreet.cli import command, options
from discreet.cli.command import VERBS, run_command
from discreet.errors import DiscreetError

DISCREET = Path(sys.executable).parent / "discreet"
HEAVY = ("numpy", "pyarrow", "duckdb", "sqlglot", "pydantic", "rich", "scipy", "jinja2", "yaml")
SCREEN = 50  # lines of a terminal that is not maximized
WIDTH = 100

LIGHT = """
import sys
from discreet.cli.command import run_command
code = run_command(sys.argv[1:])
print(code, *(name for name in {heavy} if name in sys.modules), file=sys.stderr)
"""


def heavy_imports(*arguments: str) -> str:
    """Return what stderr says: the exit code, then each heavy library that was imported."""
    return subprocess.run(
        [sys.executable, "-c", LIGHT.format(heavy=HEAVY), *arguments],
        capture_output=True,
        encoding="utf-8",
        check=True,
    ).stderr.strip()


def test_help_of_the_command_imports_nothing_heavy():
    assert heavy_imports("--help") == "0"


def test_help_of_a_verb_imports_nothing_heavy():
    assert heavy_imports("assess", "--help") == "0"


def test_the_installed_command_reports_its_version_on_stdout_only():
    done = subprocess.run(
        [DISCREET, "--version"], capture_output=True, encoding="utf-8", check=False
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("discreet ")


def test_the_module_runs_as_the_command_does():
    done = subprocess.run(
        [sys.executable, "-m", "discreet", "asess", "people.csv"],
        capture_output=True,
        encoding="utf-8",
        check=False,
    )
    assert (done.returncode, done.stdout) == (2, "")
    assert "Did you mean 'assess'?  [wrong-usage]" in done.stderr


@pytest.mark.parametrize("arguments", [[], *([verb] for verb in VERBS)])
def test_help_fits_a_screen_and_shows_examples(
    arguments: list[str], capsys: pytest.CaptureFixture[str]
):
    assert run_command([*arguments, "--help"]) == 0
    shown = capsys.readouterr()
    lines = shown.out.splitlines()
    assert shown.err == ""
    assert len(lines) <= SCREEN
    assert max(map(len, lines)) <= WIDTH
    assert f"discreet {' '.join(arguments)}".strip() in shown.out.partition("Usage: ")[2]
    assert sum(line.strip().startswith("discreet ") for line in lines) >= 2


def test_help_names_every_verb_and_the_five_jobs(capsys: pytest.CaptureFixture[str]):
    run_command(["--help"])
    shown = capsys.readouterr().out
    for word in (*VERBS, "assess", "release", "answer", "attack", "guard"):
        assert f"\n  {word} " in shown or f"\n    {word} " in shown


def test_a_verb_is_needed(capsys: pytest.CaptureFixture[str]):
    assert run_command([]) == 2
    shown = capsys.readouterr()
    assert shown.out == ""
    assert "Start here:" in shown.err


@pytest.mark.parametrize(
    ("arguments", "result"),
    [
        (["asess", "x.csv"], "There is no verb 'asess'. Did you mean 'assess'?"),
        (["assess"], "Missing argument 'SOURCE'."),
        (["assess", "x.csv", "--quasy", "age"], "No such option '--quasy'."),
        (["assess", "x.csv", "y.csv"], "unexpected extra argument (y.csv)"),
        (["assess", "x.csv", "--fraction", "0"], "Invalid value for '--fraction'"),
        (["assess", "x.csv", "--depth", "-1"], "Invalid value for '--depth'"),
        (["assess", "x.csv", "--depth", "two"], "Invalid value for '--depth'"),
        (["assess", "x.csv", "--threshold", "2"], "Invalid value for '--threshold'"),
        (["assess", "x.csv", "--quasi", ""], "Invalid value for '--quasi'"),
        (["assess", "x.csv", "--quasi", "age,,sex"], "Invalid value for '--quasi'"),
        (["assess", "x.csv", "--memory", "lots"], "Invalid value for '--memory'"),
        (["assess", ""], "Invalid value for 'SOURCE': The name is empty."),
        (["init", "x.csv", ""], "Invalid value for 'SOURCE...': The name is empty."),
        (["check", "x.csv"], "Missing option '--policy'."),
        (["init"], "Missing argument 'SOURCE...'."),
        (["init", "x.csv", "--memory", "4"], "Invalid value for '--memory'"),
    ],
)
def test_wrong_usage_is_reported_with_its_code_and_where_to_read_on(
    arguments: list[str], result: str, capsys: pytest.CaptureFixture[str]
):
    assert run_command(arguments) == 2
    shown = capsys.readouterr()
    first, *rest = shown.err.splitlines()
    assert shown.out == ""
    assert first.startswith("error: ")
    assert result in first
    assert first.endswith("  [wrong-usage]")
    assert rest[-1].startswith("Try 'discreet ")


@pytest.mark.parametrize("typed", ["4GB", "500MB", "1.5 GiB", "2tb"])
def test_a_size_of_memory_has_a_unit(typed: str):
    assert options.MEMORY.convert(typed, None, None) == typed


@pytest.mark.parametrize(
    ("typed", "meant"),
    [
        ("age", ("age",)),
        (" age , sex", ("age", "sex")),
        ('"last, first",age', ("last, first", "age")),
        ("Größe,👍", ("Größe", "👍")),
    ],
)
def test_names_of_columns_are_read_as_in_csv(typed: str, meant: tuple[str, ...]):
    assert options.NAMES.convert(typed, None, None) == meant


def add_verb(monkeypatch: pytest.MonkeyPatch, error: BaseException) -> None:
    """Add a verb `probe` that ends in `error`."""

    @click.command()
    def verb() -> None:
        raise error

    monkeypatch.setitem(VERBS, "probe", "Fail")
    monkeypatch.setitem(sys.modules, "discreet.cli.probe", SimpleNamespace(command=verb))


def test_an_unexpected_error_is_reported_without_its_words(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    monkeypatch.delenv("DISCREET_DEBUG", raising=False)
    add_verb(monkeypatch, ValueError("Alice Meier has no number"))
    assert run_command(["probe"]) == 1
    shown = capsys.readouterr()
    assert shown.out == ""
    assert "Alice" not in shown.err
    assert "Traceback" not in shown.err
    assert "Unexpected ValueError at " in shown.err
    assert shown.err.endswith("[bug]\n")


def test_an_unexpected_error_is_raised_for_who_looks_for_it(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("DISCREET_DEBUG", "1")
    add_verb(monkeypatch, ValueError("why"))
    with pytest.raises(ValueError, match="why"):
        run_command(["probe"])


def test_a_stopped_run_ends_with_130(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    add_verb(monkeypatch, KeyboardInterrupt())
    assert run_command(["probe"]) == 130
    assert capsys.readouterr().err.endswith("Stopped.\n")


def test_what_an_engine_makes_of_a_stop_is_still_a_stop(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    add_verb(monkeypatch, RuntimeError("Query interrupted"))
    assert run_command(["probe"], stops=[15]) == 143
    assert capsys.readouterr().err == "Stopped.\n"


def test_letters_that_steer_a_terminal_are_not_printed(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    add_verb(monkeypatch, DiscreetError("column '\x1b[2J\x07\x9bage\r' is not\nin\tx.csv"))
    run_command(["probe"])
    shown = capsys.readouterr().err
    assert shown == "error: column '�[2J��age�' is not\nin\tx.csv  [failed]\n"


def test_every_error_has_a_code_of_its_own_and_a_documented_exit_code():
    errors = all_errors()
    codes = [error.code for error in errors]
    assert len(set(codes)) == len(codes)
    assert all(code == code.lower() and " " not in code for code in codes)
    assert {error.exit_code for error in errors} <= {1, 2, 3, 4}


def all_errors() -> list[type[DiscreetError]]:
    found, waiting = [], [DiscreetError]
    while waiting:
        found.append(waiting.pop())
        waiting += found[-1].__subclasses__()
    return found


PEOPLE = "age,größe\n30,☃\n30,☃\n41,∞\n"


@pytest.fixture
def people(tmp_path: Path) -> Path:
    path = tmp_path / "people.csv"
    path.write_text(PEOPLE, encoding="utf-8")
    return path


def test_a_terminal_without_unicode_gets_every_result(people: Path):
    """One process for text and JSON each: the encoding is fixed when Python starts."""
    environment = {"PATH": "/usr/bin:/bin", "PYTHONIOENCODING": "ascii"}
    arguments = [DISCREET, "assess", people, "--quasi", "age", "--sensitive", "größe"]
    for extra in ([], ["--json"]):
        done = subprocess.run(
            [*arguments, *extra, "--depth", "0"], capture_output=True, env=environment, check=False
        )
        assert done.returncode == 0, done.stderr
        assert done.stdout.isascii()
    assert "größe" in json.loads(done.stdout)["sensitive"]


def test_a_reader_that_leaves_early_is_no_error(people: Path):
    """`discreet … | head -1` with a reader that is gone before the first line."""
    done = subprocess.run(
        ["bash", "-c", '"$0" assess "$1" --quasi age --json | true', DISCREET, people],
        capture_output=True,
        encoding="utf-8",
        check=False,
    )
    assert done.stderr == ""


def test_the_table_of_verbs_matches_their_modules():
    for verb in VERBS:
        found = command.cli.get_command(click.Context(command.cli), verb)
        assert isinstance(found, click.Command)
        assert found.help


def test_names_of_columns_cannot_steer_the_terminal(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    path = tmp_path / "people.csv"
    path.write_text("age\x1b[31m\\,[bold]zip[/bold]\n30,1\n31,2\n", encoding="utf-8")
    assert run_command(["assess", str(path), "--quasi", "age\x1b[31m\\,[bold]zip[/bold]"]) == 0
    shown = capsys.readouterr().out
    assert "\x1b" not in shown
    assert shown.startswith("2 of 2 people are unique on age�[31m\\ and [bold]zip[/bold]")
