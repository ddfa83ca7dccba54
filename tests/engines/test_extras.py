"""Without an optional library, its sources are refused with the command that installs it."""

from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pathlib import Path

WITHOUT = """
import sys
sys.modules[sys.argv[1]] = None  # as if it were not installed
from discreet.cli import main
main(sys.argv[2:])
"""


@pytest.mark.parametrize(
    ("library", "arguments", "extra"),
    [
        ("psycopg", ("assess", "postgresql://localhost/clinic"), "postgres"),
        ("psycopg", ("init", "postgresql://localhost/clinic"), "postgres"),
        ("pyspark", ("assess", "spark:clinic.patients"), "spark"),
        ("fastexcel", ("assess", "book.xlsx"), "files"),
        ("pyreadstat", ("assess", "survey.sav"), "files"),
        ("jinja2", ("assess", "people.csv", "--report", "people.html"), "report"),
        ("altair", ("assess", "people.csv", "--report", "people.html"), "report"),
    ],
)
def test_a_missing_library_is_reported_with_the_command_that_installs_it(
    library: str, arguments: tuple[str, ...], extra: str, tmp_path: Path
):
    (tmp_path / "people.csv").write_text("age\n30\n41\n")
    for name in ("book.xlsx", "survey.sav"):
        (tmp_path / name).write_bytes(b"unread")
    ran = subprocess.run(
        [sys.executable, "-c", WITHOUT, library, *arguments],
        cwd=tmp_path,
        capture_output=True,
        encoding="utf-8",
        check=False,
    )
    assert (ran.returncode, ran.stdout) == (2, "")
    assert f"pip install 'discreet[{extra}]'  [missing-extra]" in ran.stderr


@pytest.mark.soak
def test_the_demo_goes_on_without_the_libraries_of_the_report(tmp_path: Path):
    ran = subprocess.run(
        [sys.executable, "-c", WITHOUT, "altair", "demo", "place"],
        cwd=tmp_path,
        capture_output=True,
        encoding="utf-8",
        check=False,
    )
    assert (ran.returncode, ran.stderr) == (0, "")
    assert "--report" not in ran.stdout
    assert not (tmp_path / "place" / "report.html").exists()
