"""The attack linkability: two tables about the same people, joined through synthetic data."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from discreet.attacks.options import GUESSES
from discreet.registry import AttackSpec, OptionSpec

if TYPE_CHECKING:
    from discreet.attacks.all_attacks import AttackInput
    from discreet.attacks.finding import Finding

DESCRIPTION = """Join two tables about the same people through SYNTHETIC.

The adversary has a table with the --first columns and one with the --second, and no column in
common. A person is linked when the synthetic record closest to them is the same by both. How often
that happens to people of --control, who had no part in SYNTHETIC, is subtracted.
"""


def _run(
    given: AttackInput,
    *,
    guesses: int,
    first: Sequence[str] | None,
    second: Sequence[str] | None,
    neighbors: int,
) -> Sequence[Finding]:
    from discreet.attacks.synthetic.linkability import link_column_sets

    if given.trial is None:
        return ()
    return [
        link_column_sets(
            given.trial,
            first=first,
            second=second,
            rng=given.rng,
            guesses=guesses,
            neighbors=neighbors,
        )
    ]


SPEC = AttackSpec(
    name="linkability",
    summary="two tables about the same people, joined through synthetic data",
    description=DESCRIPTION,
    target="synthetic",
    needs=("trial",),
    options=(
        OptionSpec("first", "names", "Columns of the one table that is known."),
        OptionSpec("second", "names", "Columns of the other. Default: the rest."),
        OptionSpec(
            "neighbors",
            "integer",
            "How many of the closest records are looked at.",
            default=1,
            minimum=1,
        ),
        GUESSES,
    ),
    run=_run,
    run_all=True,
    examples=(
        """discreet attack linkability synthetic.csv --source people.csv --control others.csv \\
    --first age,sex,zip --second diagnosis,income""",
        (
            "discreet attack linkability synthetic.csv --source people.csv --control others.csv "
            "--neighbors 5"
        ),
    ),
    position=140,
)
