"""The attack attribute: what the closest synthetic record reveals about a person."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from discreet.attacks.options import GUESSES
from discreet.registry import AttackSpec, OptionSpec

if TYPE_CHECKING:
    from discreet.attacks.all_attacks import AttackInput
    from discreet.attacks.finding import Finding

DESCRIPTION = """Guess a secret of a person from the synthetic record closest to them.

The adversary knows the other columns of a person, looks up the closest row of SYNTHETIC and reads
the secret off it. The same on people of --control shows what follows from the population alone,
and is subtracted: that smoking goes with lung cancer is no breach.
"""


def _run(
    given: AttackInput, *, guesses: int, secret: Sequence[str] | None, within: float
) -> Sequence[Finding]:
    from discreet.attacks.synthetic.attribute import infer_attribute

    if given.trial is None:
        return ()
    names = given.trial.names
    sensitive = [name for name in given.sensitive if name in names]
    # Among all attacks only what is sensitive is guessed, which the need of it ensures.
    wanted = secret or sensitive or (names if given.binding is None else ())
    return [
        infer_attribute(given.trial, name, rng=given.rng, guesses=guesses, within=within)
        for name in wanted
    ]


SPEC = AttackSpec(
    name="attribute",
    summary="what the closest synthetic record reveals about a person",
    description=DESCRIPTION,
    target="synthetic",
    needs=("trial", "sensitive"),
    options=(
        OptionSpec(
            "secret",
            "names",
            "Columns to guess. Default: the sensitive ones of the policy, else each in turn.",
        ),
        OptionSpec(
            "within",
            "share",
            "A number is right when it is off by no more than this share of the truth.",
            default="5%",
        ),
        GUESSES,
    ),
    run=_run,
    run_all=True,
    examples=(
        (
            "discreet attack attribute synthetic.csv --source people.csv --control others.csv "
            "--secret diagnosis"
        ),
        """discreet attack attribute synthetic.csv --source people.csv --control others.csv \\
    --secret income --columns age,sex,zip,income --within 10%""",
        (
            "discreet attack attribute synthetic.csv --source people.csv --control others.csv "
            "--policy policy.yaml"
        ),
    ),
    position=160,
)
