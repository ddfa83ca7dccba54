"""Which forms of other programs the models of a learner have."""

from __future__ import annotations

from discreet.errors import WrongUsage
from discreet.registry import LEARNERS, LearnerSpec

ENDINGS = (".sql", ".onnx", ".pmml")


def list_export_forms(learner: LearnerSpec) -> tuple[str, ...]:
    """Return the endings of the forms that models of a learner have.

    >>> list_export_forms(LEARNERS.get("boosting")), list_export_forms(LEARNERS.get("pca"))
    (('.sql', '.onnx', '.pmml'), ())
    """
    return () if learner.model == "other" else ENDINGS


def require_export_form(learner: LearnerSpec, ending: str) -> None:
    """Refuse a form that models of a learner do not have.

    Raises:
        WrongUsage: There is none.
    """
    if ending not in list_export_forms(learner):
        raise export_error(learner.name, ending)


def export_error(learner: str, ending: str) -> WrongUsage:
    """Return the error of a form that models of a learner do not have."""
    others = [one.name for one in LEARNERS.all() if ending in list_export_forms(one)]
    return WrongUsage(
        f"A model by '{learner}' has no form {ending}: its only form is the model file, with which "
        f"`discreet.load_model` predicts. Leave the export out, or choose another learner: {', '.join(others)}."
    )
