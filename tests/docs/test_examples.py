"""Every example in the documentation runs: commands, Python, policies and doctests.

In a page, a fenced block

- ```` ```console ```` holds `$ command` lines, run in a folder that has the demo's files; lines
  below a command must appear in what it prints (`…` stands for anything). The commands must end
  with exit code 0, except that the last one ends with N in a block marked `exit=N`;
- ```` ```output ```` holds more lines that the last command must have printed;
- ```` ```python ```` is executed, each page in one namespace (with `>>>`: as a doctest);
- ```` ```yaml ```` that starts with `tables:` must load as a policy;
- that begins with `$ discreet demo --serve` goes on while the server runs: one for all pages, found in
  the page's own `discreet-demo`. Pages make their own tables there, and leave those of others alone;
- marked `file=PATH` is written there, and not run;
- marked `no-run`, or starting with `# fragment`, is left alone; `no-run` blocks are counted.
"""

from __future__ import annotations

import contextlib
import doctest
import importlib
import io
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
from dataclasses import dataclass, field
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any
from unittest.mock import patch

import pytest

from discreet.cli.command import run_command

if TYPE_CHECKING:
    from tests.docs.conftest import Hospital

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "src"
HOSPITAL = Path(str(files("discreet") / "data" / "hospital"))
PAGES = sorted([ROOT / "README.md", *(ROOT / "docs").rglob("*.md")])
MODULES = sorted(path for path in SOURCE.rglob("*.py") if ">>> " in path.read_text("utf-8"))
# Commands that need the network, a server or the whole repository cannot run here.
RUNNABLE = (
    *("chmod", "discreet", "cat", "cd", "curl", "echo", "export", "grep", "head", "ls", "mkdir"),
    *("kill", "printf", "psql", "sed", "softhsm2-util", "systemd-analyze"),
    *("python", "tail", "wc"),
)
SERVING = "discreet demo --serve"
NOT_RUN_AT_MOST = 8
# `discreet …` runs in this process, where it asks nothing of the shell: most of its time is its start.
QUOTED = re.compile(r"'[^']*'|\"[^\"$`\\\\]*\"")
SECONDS = 600


@dataclass(frozen=True)
class Block:
    """A fenced block: its language, its marks, its text and where it starts."""

    language: str
    marks: tuple[str, ...]
    text: str
    line: int

    @property
    def is_left_alone(self) -> bool:
        return "no-run" in self.marks or self.text.lstrip().startswith("# fragment")

    @property
    def file(self) -> str | None:
        return next((mark[5:] for mark in self.marks if mark.startswith("file=")), None)

    @property
    def exit_code(self) -> int:
        return next((int(mark[5:]) for mark in self.marks if mark.startswith("exit=")), 0)


@dataclass
class Command:
    """A command of a console block and the output lines the page shows below it."""

    text: str
    exit_code: int = 0
    shown: list[str] = field(default_factory=list)


def read_blocks(markdown: str) -> list[Block]:
    """Return the fenced blocks of a page; a fence closes with as many ticks as it opened."""
    fence = re.compile(
        r"^(?P<indent> *)(?P<ticks>`{3,})(?P<info>[^`\n]*)\n(?P<text>.*?)^(?P=indent)(?P=ticks) *$",
        re.MULTILINE | re.DOTALL,
    )
    blocks: list[Block] = []
    for found in fence.finditer(markdown):
        language, *marks = found["info"].split() or [""]
        indent = len(found["indent"])
        text = "".join(line[indent:] for line in found["text"].splitlines(keepends=True))
        line = markdown.count("\n", 0, found.start()) + 1
        blocks.append(Block(language, tuple(marks), text, line))
    return blocks


def read_commands(block: Block) -> list[Command]:
    """Return the `$` commands of a console block; a line that ends in a backslash goes on."""
    commands: list[Command] = []
    goes_on = False
    for line in block.text.splitlines():
        if goes_on:
            commands[-1].text += "\n" + line.removeprefix("> ")
            goes_on = line.endswith("\\")
        elif line.startswith("$ "):
            commands.append(Command(line[2:]))
            goes_on = line.endswith("\\")
        elif commands:
            commands[-1].shown.append(line)
    if commands:
        commands[-1].exit_code = block.exit_code
    return commands


def is_runnable(command: Command) -> bool:
    return command.text.split()[0] in RUNNABLE


def plain_arguments(text: str) -> list[str] | None:
    """Return the arguments of a `discreet …` that asks nothing of the shell but its quotes."""
    bare = QUOTED.sub("", text).replace("\\\n", " ")
    if not text.startswith("discreet ") or re.search(r"[|&;<>$*?~`(){}\\\n#]", bare):
        return None
    return shlex.split(text.replace("\\\n", " "))[1:]


def missing_lines(shown: list[str], printed: str) -> list[str]:
    """Return the lines of the page that the real output does not have, blanks aside."""
    real = [" ".join(line.split()) for line in printed.splitlines()]

    def appears(line: str) -> bool:
        parts = [re.escape(" ".join(part.split())) for part in line.split("…")]
        pattern = re.compile(".*".join(parts))
        return any(pattern.search(candidate) for candidate in real)

    return [line for line in shown if line.strip() and not appears(line)]


class Reader:
    """Does what a reader of one page would do, block by block, in a folder of its own."""

    def __init__(self, page: str, folder: Path, hospital: Hospital | None = None) -> None:
        self.page, self.folder, self.hospital = page, folder, hospital
        self.environment: dict[str, str] = {}
        self.web = ""
        self.names: dict[str, Any] = {"__name__": "__docs__"}
        self.printed = ""

    def follow(self, block: Block) -> None:
        place = f"{self.page}:{block.line}"
        if block.is_left_alone:
            return
        if block.file is not None:
            path = self.folder / block.file
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(block.text, encoding="utf-8")
            return
        if block.language == "console":
            for command in read_commands(block):
                self.type_command(command, place)
        elif block.language == "output":
            missing = missing_lines(block.text.splitlines(), self.printed)
            assert not missing, f"{place}: not in the output:\n{missing}\n\n{self.printed}"
        elif block.language == "python":
            self.run_python(block, place)
        elif block.language == "yaml":
            self.load_policy(block, place)

    def type_command(self, command: Command, place: str) -> None:
        if not is_runnable(command):
            return
        if command.text.startswith("cd "):
            self.folder = self.folder / command.text[3:].strip()
            return
        if command.text.startswith("export "):
            self.export(command.text)
            return
        code = self.execute(command.text)
        output = f"{place}: $ {command.text}\n{self.printed}"
        assert code == command.exit_code, f"exit code {code}: {output}"
        missing = missing_lines(command.shown, self.printed)
        assert not missing, f"not in the output: {missing}\n{output}"

    def execute(self, text: str) -> int:
        if text.startswith(SERVING):
            return self.serve()
        if self.web:
            text = text.replace("127.0.0.1:5434", self.web)
        # Packages that a page installs, and its HSM, are found by a new process only.
        is_apart = not self.environment.keys().isdisjoint(("PYTHONPATH", "SOFTHSM2_CONF"))
        arguments = None if is_apart else plain_arguments(text)
        return self.start(text) if arguments is None else self.call(arguments)

    def serve(self) -> int:
        assert self.hospital is not None
        served = self.hospital.open()
        (self.folder / "discreet-demo").symlink_to(served.folder)
        self.web, self.printed = served.web, served.greeting
        return 0

    def export(self, text: str) -> None:
        name, _, value = text.removeprefix("export ").partition("=")
        assert self.start(f"printf %s {value}") == 0
        self.environment[name] = self.printed

    def call(self, arguments: list[str]) -> int:
        printed = io.StringIO()
        with (
            contextlib.chdir(self.folder),
            contextlib.redirect_stdout(printed),
            contextlib.redirect_stderr(printed),
        ):
            code = run_command(arguments)
        self.printed = printed.getvalue()
        return code

    def start(self, text: str) -> int:
        path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
        done = subprocess.run(
            ["bash", "-c", f"set -o pipefail\n{text}"],
            cwd=self.folder,
            env={**os.environ, "PATH": path, "PSQLRC": os.devnull, **self.environment},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            encoding="utf-8",
            timeout=SECONDS,
            check=False,
        )
        self.printed = done.stdout
        return done.returncode

    def run_python(self, block: Block, place: str) -> None:
        if ">>> " in block.text:
            test = doctest.DocTestParser().get_doctest(
                block.text, self.names, place, self.page, block.line
            )
            report: list[str] = []
            runner = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS)
            runner.run(test, out=report.append, clear_globs=False)
            self.names.update(test.globs)
            assert not runner.failures, "".join(report)
        else:
            # Blank lines keep the line numbers of the page in a traceback.
            code = compile("\n" * block.line + block.text, self.page, "exec")
            with patch.dict(os.environ, self.environment):
                exec(code, self.names)

    def load_policy(self, block: Block, place: str) -> None:
        content = [line for line in block.text.splitlines() if not line.startswith("#")]
        if not "\n".join(content).lstrip().startswith("tables:"):
            return
        from discreet.policy.load import load_policy

        path = self.folder / f"policy-of-line-{block.line}.yaml"
        path.write_text(block.text, encoding="utf-8")
        assert load_policy(path).tables, place


def keep_spending_in(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Give a page a ledger of its own, so that its budgets are whole and no one's home is written."""
    monkeypatch.setenv("DISCREET_LEDGER", str(folder / "ledger.sqlite"))


# One worker reads all pages that need a server, so that one server is started.
SERVED = pytest.mark.xdist_group("served pages")
READ = [
    pytest.param(page, marks=[SERVED] if f"$ {SERVING}" in page.read_text("utf-8") else [])
    for page in PAGES
]


@pytest.mark.parametrize("page", READ, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_the_examples_of_a_page_run(
    page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, hospital: Hospital
):
    folder = tmp_path / "hospital"
    shutil.copytree(HOSPITAL, folder)
    monkeypatch.chdir(folder)
    keep_spending_in(tmp_path, monkeypatch)
    monkeypatch.setenv("COLUMNS", "100")
    monkeypatch.setenv("NO_COLOR", "1")
    reader = Reader(page.relative_to(ROOT).as_posix(), folder, hospital)
    try:
        for block in read_blocks(page.read_text(encoding="utf-8")):
            reader.follow(block)
    except BaseException:
        hospital.close()
        raise
    finally:
        for file in folder.glob("*.pid"):  # what a page started and did not come to end
            number = file.read_text().strip()
            with contextlib.suppress(OSError):
                if Path(f"/proc/{number}/cwd").resolve(strict=True) == folder.resolve():
                    os.kill(int(number), signal.SIGKILL)


@pytest.mark.parametrize("module", MODULES, ids=lambda path: path.relative_to(SOURCE).as_posix())
def test_the_doctests_of_a_module_hold(
    module: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    shutil.copytree(HOSPITAL, tmp_path / "hospital")
    monkeypatch.chdir(tmp_path / "hospital")
    keep_spending_in(tmp_path, monkeypatch)
    name = ".".join(module.relative_to(SOURCE).with_suffix("").parts).removesuffix(".__init__")
    result = doctest.testmod(importlib.import_module(name), optionflags=doctest.ELLIPSIS)
    assert result.attempted > 0
    assert result.failed == 0


def test_few_examples_are_left_out():
    blocks = [block for page in PAGES for block in read_blocks(page.read_text("utf-8"))]
    marked = sum("no-run" in block.marks for block in blocks)
    consoles = [block for block in blocks if block.language == "console"]
    foreign = sum(
        not is_runnable(command)
        for block in consoles
        if not block.is_left_alone
        for command in read_commands(block)
    )
    print(f"{marked} blocks marked no-run, {foreign} commands of other programs not run")
    assert marked + foreign <= NOT_RUN_AT_MOST


def follow(markdown: str, folder: Path) -> None:
    reader = Reader("page.md", folder)
    for block in read_blocks(markdown):
        reader.follow(block)


def test_a_line_that_was_not_printed_is_noticed(tmp_path: Path):
    with pytest.raises(AssertionError, match="not in the output"):
        follow("```console\n$ echo safe\nunsafe\n```\n", tmp_path)


def test_an_unexpected_exit_code_is_noticed(tmp_path: Path):
    with pytest.raises(AssertionError, match="exit code"):
        follow("```console\n$ cat nothing\n```\n", tmp_path)


def test_a_block_may_expect_an_exit_code_and_leave_out_lines(tmp_path: Path):
    follow("```console exit=3\n$ printf 'one\\ntwo  three' && \\\n>   exit 3\n```\n", tmp_path)
    follow("```console exit=1\n$ cat nothing\n…\ncat: … No such file\n```\n", tmp_path)
    follow("```console\n$ printf 'a\\nb  c\\n'\n```\n\n```output\nb c\n```\n", tmp_path)


def test_python_blocks_share_their_names_and_failures_surface(tmp_path: Path):
    follow("```python\nk = 5\n```\n\n```python\n>>> k + 1\n6\n```\n", tmp_path)
    with pytest.raises(AssertionError):
        follow("```python\nassert False\n```\n", tmp_path)


def test_marked_blocks_are_left_alone(tmp_path: Path):
    follow("```console no-run\n$ cat nothing\n```\n\n```python\n# fragment\nx(\n```\n", tmp_path)
