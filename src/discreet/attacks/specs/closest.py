"""The attack closest: who lies so near to a synthetic record that they must be its source."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from discreet.attacks.options import GUESSES
from discreet.registry import AttackSpec, OptionSpec

if TYPE_CHECKING:
    from discreet.attacks.all_attacks import AttackInput
    from discreet.attacks.finding import Finding

DESCRIPTION = """Infer who is in the source by how near a synthetic record is.

A generator that memorizes people puts records closer to them than to others. The adversary claims
people who are nearer to SYNTHETIC than nearly all of one half of --control; the other half shows
how often that is wrong.
"""


def _run(given: AttackInput, *, guesses: int, false_alarms: float) -> Sequence[Finding]:
    from discreet.attacks.synthetic.closest import find_closest_people

    if given.trial is None:
        return ()
    return [
        find_closest_people(given.trial, rng=given.rng, guesses=guesses, false_alarms=false_alarms)
    ]


SPEC = AttackSpec(
    name="closest",
    summary="people so near to a synthetic record that they must be its source",
    description=DESCRIPTION,
    target="synthetic",
    needs=("trial",),
    options=(
        OptionSpec(
            "false_alarms",
            "share",
            "How many people of the control group the adversary may take for people of the source.",
            default="5%",
        ),
        GUESSES,
    ),
    run=_run,
    run_all=True,
    examples=(
        "discreet attack closest synthetic.csv --source people.csv --control others.csv",
        (
            "discreet attack closest synthetic.csv --source people.csv --control others.csv "
            "--false-alarms 1%"
        ),
    ),
    position=150,
)
