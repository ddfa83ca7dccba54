"""Options of the games in which outputs of a mechanism are guessed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import click


def game_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add how many outputs are guessed, and how a run is repeated."""
    for option in (
        click.option(
            "--seed", type=int, help="Repeat the guesser's coins; noise cannot be repeated."
        ),
        click.option(
            "--trials",
            type=click.IntRange(2),
            default=100_000,
            show_default=True,
            metavar="N",
            help="How many outputs are guessed.",
        ),
    ):
        command = option(command)
    return command
