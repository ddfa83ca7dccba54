"""The command line in this process: each start of a process costs more than most commands."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pytest

from discreet.cli.command import run_command

if TYPE_CHECKING:
    from pathlib import Path

POLICY = """\
tables:
  people:
    columns:
      age: quasi-identifier
      sex: quasi-identifier
      zip: insensitive
      ill: sensitive
    tolerance: 100%
    criteria:
      - k-anonymity: {k: 2}
"""


@dataclass(frozen=True)
class Ran:
    """How a command ended and what it printed."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        """What `--json` printed: stdout holds nothing else."""
        return json.loads(self.out)

    @property
    def error(self) -> str | None:
        """The stable code at the end of the message."""
        found = re.search(r"  \[([a-z-]+)\]$", self.err, re.MULTILINE)
        return found[1] if found else None


Discreet = Callable[..., Ran]


@pytest.fixture
def discreet(
    folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> Discreet:
    """Run `discreet …` in `folder`."""
    monkeypatch.delenv("DISCREET_DEBUG", raising=False)

    def call(*arguments: object) -> Ran:
        capsys.readouterr()
        code = run_command([str(argument) for argument in arguments])
        shown = capsys.readouterr()
        return Ran(code, shown.out, shown.err)

    return call


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder, which is the working folder."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def people(folder: Path) -> Path:
    """Six people in two classes of three, with a policy beside them that they meet."""
    rows = ["34,F,01234,flu", "34,F,01234,cold", "34,F,01235,flu"]
    rows += ["35,M,01234,flu", "35,M,01236,hiv", "35,M,01234,cold"]
    path = folder / "people.csv"
    path.write_text("\n".join(["age,sex,zip,ill", *rows, ""]), encoding="utf-8")
    (folder / "policy.yaml").write_text(POLICY, encoding="utf-8")
    return path
