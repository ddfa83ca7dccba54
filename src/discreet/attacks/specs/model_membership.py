"""The attack model-membership: who a model was trained on."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from discreet.registry import AttackSpec, DetailTable, OptionSpec

if TYPE_CHECKING:
    from discreet.attacks.all_attacks import AttackInput
    from discreet.attacks.finding import Finding

DESCRIPTION = """Infer who a model was trained on, from its answers.

A model that memorizes people is surer of their outcomes than models without them. MODEL is asked
about people of --source and --control; shadow models of its kind, trained with and without each
person, show how sure it should be. Without MODEL one is trained by --recipe on half of --source.
"""
SHADOWS = OptionSpec(
    "shadows",
    "integer",
    "How many shadow models are trained: 8 to 256, or 0 for none.",
    default=16,
    minimum=0,
    maximum=256,
)
EPSILON = OptionSpec(
    "epsilon",
    "amount",
    "The epsilon that the model was trained with, to see what it permits.",
    metavar="NUMBER",
)
DELTA = OptionSpec("delta", "amount", "The delta, with --epsilon.", default="0", metavar="DELTA")
PEOPLE = OptionSpec(
    "guesses", "integer", "How many people of each table are tried.", default=10_000, minimum=20
)
SCORES = DetailTable(
    "scores",
    "What each score reaches",
    {
        "score": ("score", ""),
        "auc": ("area under the curve", ".3f"),
        "advantage": ("advantage", ".3f"),
        "found_at_1_percent": ("found at 1 % false alarms", ".3f"),
        "found_at_0_1_percent": ("at 0.1 %", ".3f"),
    },
)


def _run(
    given: AttackInput, *, shadows: int, guesses: int, epsilon: str | None, delta: str
) -> Sequence[Finding]:
    from discreet.attacks.models.bounds import PermittedMembership
    from discreet.attacks.models.membership import find_model_membership

    permitted = PermittedMembership(float(epsilon), float(delta)) if epsilon is not None else None
    found = find_model_membership(
        given.model, rng=given.rng, shadows=shadows, guesses=guesses, permitted=permitted
    )
    return [found]


SPEC = AttackSpec(
    name="model-membership",
    summary="who a model was trained on, by how sure it is of them",
    description=DESCRIPTION,
    target="model",
    source="optional",
    options=(SHADOWS, PEOPLE, EPSILON, DELTA),
    run=_run,
    tables=(SCORES,),
    examples=(
        """discreet attack model-membership model.joblib --run-code --source trained_on.csv \\
    --control others.csv --outcome diagnosis""",
        """discreet attack model-membership --recipe recipes:forest --run-code --source people.csv \\
    --outcome diagnosis --shadows 64 --epsilon 1""",
    ),
    notes="""MODEL is a file of joblib or pickle, or module:attribute, whose code is executed with your rights:
--run-code allows it. In Python it is any classifier with predict_proba, or predict, and classes_.""",
    position=165,
)
