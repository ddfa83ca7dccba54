"""The attack model-inversion: a feature of a person, guessed by a model's answers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from discreet.attacks.options import GUESSES
from discreet.registry import AttackSpec, OptionSpec

if TYPE_CHECKING:
    from discreet.attacks.all_attacks import AttackInput
    from discreet.attacks.finding import Finding

DESCRIPTION = """Guess a feature of people from the answers of a model.

The adversary knows all other features and the outcome of a person, asks MODEL about each value of
the secret, and guesses the one that is most likely by its frequency and the model's answer. What is
learned about people of --control follows from the population; what is learned about people of
--source beyond that was memorized.
"""
SECRET = OptionSpec(
    "secret", "names", "Features to guess, one finding each. Default: the policy's sensitive ones."
)


def _run(given: AttackInput, *, secret: Sequence[str] | None, guesses: int) -> Sequence[Finding]:
    from discreet.attacks.models.inversion import choose_secrets, find_model_inversion

    return [
        find_model_inversion(given.model, name, rng=given.rng, guesses=guesses)
        for name in choose_secrets(given.model, secret, given.sensitive)
    ]


SPEC = AttackSpec(
    name="model-inversion",
    summary="a feature of a person, guessed by a model's answers",
    description=DESCRIPTION,
    target="model",
    source="optional",
    options=(SECRET, GUESSES),
    run=_run,
    examples=(
        """discreet attack model-inversion model.joblib --run-code --source trained_on.csv \\
    --control others.csv --outcome diagnosis --secret occupation""",
        """discreet attack model-inversion --recipe recipes:forest --run-code --source people.csv \\
    --outcome diagnosis --policy policy.yaml""",
    ),
    position=167,
)
