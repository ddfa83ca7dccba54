"""Secrets that a command needs: from a file, the environment or a prompt, never from an argument."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import click

from discreet.errors import WrongUsage

VARIABLE = "DISCREET_PASSWORD"

password_options = click.option(
    "--password-file",
    type=click.Path(path_type=Path, dir_okay=False, allow_dash=True),
    metavar="FILE",
    help=f"Where the password is, in one line; - is standard input. Default: ${VARIABLE}, else asked.",
)


def read_password(file: Path | None) -> str:
    """Return a password from where it was said to be, or ask for it if there is a terminal."""
    if file is not None:
        return _first_line(file)
    found = os.environ.get(VARIABLE)
    if found is not None:
        return found
    if not sys.stdin.isatty():
        raise WrongUsage(f"There is no password. Set {VARIABLE}, or name a --password-file.")
    asked: str = click.prompt("Password", hide_input=True, confirmation_prompt=True, err=True)
    return asked


def _first_line(file: Path) -> str:
    try:
        text = sys.stdin.read() if str(file) == "-" else file.read_text("utf-8")
    except (OSError, UnicodeDecodeError):
        raise WrongUsage(f"The password file {file} cannot be read. Name another one.") from None
    lines = text.splitlines()
    if len(lines) != 1:
        raise WrongUsage(f"The password file {file} must hold one line: the password.")
    return lines[0]
