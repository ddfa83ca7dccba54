"""The attack model: everything a trained model may give away, by both attacks on models."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from discreet.attacks.specs import model_inversion, model_membership
from discreet.registry import AttackSpec

if TYPE_CHECKING:
    from discreet.attacks.all_attacks import AttackInput
    from discreet.attacks.finding import Finding

DESCRIPTION = """Run both attacks on MODEL: who it was trained on, and what it reveals of them.

They are model-membership and, where a feature is named by --secret or called sensitive by the policy,
model-inversion.
"""


def _run(
    given: AttackInput, *, secret: Sequence[str] | None, guesses: int, **options: Any
) -> Sequence[Finding]:
    found = list(model_membership.SPEC.run(given, guesses=guesses, **options))
    if secret or set(given.sensitive) & set(given.model.model.feature_names):
        found += model_inversion.SPEC.run(given, secret=secret, guesses=guesses)
    return found


SPEC = AttackSpec(
    name="model",
    summary="both attacks on a trained model",
    description=DESCRIPTION,
    target="model",
    source="optional",
    options=(model_inversion.SECRET, *model_membership.SPEC.options),
    run=_run,
    tables=model_membership.SPEC.tables,
    examples=(
        """discreet attack model model.joblib --run-code --source trained_on.csv --control others.csv \\
    --outcome diagnosis --secret occupation""",
    ),
    notes=model_membership.SPEC.notes,
    position=163,
)
