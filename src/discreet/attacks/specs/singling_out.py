"""The attack singling-out: descriptions from synthetic data that fit one real person."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from discreet.attacks.options import GUESSES
from discreet.registry import AttackSpec, OptionSpec

if TYPE_CHECKING:
    from discreet.attacks.all_attacks import AttackInput
    from discreet.attacks.finding import Finding

DESCRIPTION = """Read descriptions off SYNTHETIC that fit exactly one real person.

A description such as "age >= 84 and sex = f" that fits one synthetic row is right when it fits
exactly one person of --source. Some fit one person by chance: how often they would single out
people of --control, who had no part in it, is no breach and is subtracted.
"""


def _run(given: AttackInput, *, guesses: int, width: int) -> Sequence[Finding]:
    from discreet.attacks.synthetic.singling_out import single_out

    if given.trial is None:
        return ()
    return single_out(given.trial, rng=given.rng, guesses=guesses, width=width)


SPEC = AttackSpec(
    name="singling-out",
    summary="descriptions from synthetic data that fit one real person",
    description=DESCRIPTION,
    target="synthetic",
    needs=("trial",),
    options=(
        OptionSpec(
            "width",
            "integer",
            "Columns that one description combines; descriptions of one column are always tried.",
            default=3,
            minimum=1,
        ),
        GUESSES,
    ),
    run=_run,
    run_all=True,
    examples=(
        "discreet attack singling-out synthetic.csv --source people.csv --control others.csv",
        """discreet attack singling-out synthetic.csv --source people.csv --control others.csv \\
    --columns age,sex,zip,diagnosis --width 4 --tolerance 5%""",
    ),
    position=130,
)
