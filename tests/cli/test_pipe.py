"""A reader that leaves early, as `head` does, is no failure: the command ends in silence."""

from __future__ import annotations

import os
import subprocess
import sys
from importlib.resources import files
from pathlib import Path

import pytest

DISCREET = str(Path(sys.executable).parent / "discreet")
PATIENTS = str(files("discreet") / "data" / "hospital" / "patients.csv")


@pytest.mark.parametrize(
    "arguments",
    [
        ("--help",),
        ("assess", PATIENTS, "--quasi", "sex,postcode"),
        ("assess", PATIENTS, "--quasi", "sex,postcode", "--json"),
        ("init", PATIENTS),
        ("epsilon", "laplace", "--epsilon", "0.5", "--sensitivity", "1"),
    ],
    ids=" ".join,
)
def test_a_command_whose_reader_left_ends_in_silence(arguments: tuple[str, ...]):
    reader, writer = os.pipe()
    os.close(reader)
    ran = subprocess.run([DISCREET, *arguments], stdout=writer, stderr=subprocess.PIPE, check=False)
    os.close(writer)
    assert (ran.returncode, ran.stderr) == (141, b"")


def test_head_of_a_long_output_is_shown_and_nothing_else():
    ran = subprocess.run(
        f"{DISCREET} assess {PATIENTS} --quasi sex,postcode --json | head -n 1",
        shell=True,
        capture_output=True,
        check=False,
    )
    assert (ran.returncode, ran.stdout, ran.stderr) == (0, b"{\n", b"")
