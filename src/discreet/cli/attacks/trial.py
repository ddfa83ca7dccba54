"""What attacks on synthetic data are given: the source, a control group, how many guesses."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import click

from discreet.cli import options

if TYPE_CHECKING:
    import numpy as np

    from discreet.attacks.synthetic.trial import SyntheticTrial


def trial_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add SYNTHETIC and the options that say what it is judged by."""
    for option in (
        click.option(
            "--memory",
            "memory_limit",
            type=options.MEMORY,
            metavar="SIZE",
            help="Memory limit of DuckDB, such as 4GB.",
        ),
        click.option("--encoding", metavar="NAME", help="utf-8 (default), utf-16 or latin-1."),
        click.option(
            "--delimiter", metavar="CHAR", help="What separates the columns of CSV files."
        ),
        click.option(
            "--seed",
            type=click.IntRange(0),
            metavar="N",
            help="Repeat a run: same guesses each time.",
        ),
        click.option(
            "--guesses",
            type=click.IntRange(1),
            default=2000,
            show_default=True,
            metavar="N",
            help="How many people, or descriptions, are tried.",
        ),
        click.option(
            "--columns",
            type=options.NAMES,
            help="Columns to use. Default: all that the three tables share.",
        ),
        click.option(
            "--control",
            required=True,
            metavar="SOURCE",
            callback=options.require_name,
            help="People of the same population who had no part in making SYNTHETIC.",
        ),
        click.option(
            "--source",
            required=True,
            metavar="SOURCE",
            callback=options.require_name,
            help="The people SYNTHETIC was made from.",
        ),
        click.argument("synthetic", metavar="SYNTHETIC", callback=options.require_name),
    ):
        command = option(command)
    return command


def open_trial_of(synthetic: str, **tables: Any) -> SyntheticTrial:
    """Return the three tables, read and made comparable."""
    from discreet.attacks.synthetic.trial import open_trial

    return open_trial(synthetic, **tables)


def random_generator(seed: int | None) -> np.random.Generator:
    """Return where chance comes from: the system, unless a run is to be repeated."""
    import numpy as np

    return np.random.default_rng(seed)
