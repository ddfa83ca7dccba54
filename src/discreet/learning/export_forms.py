"""Which forms of other programs the models of a learner have."""

from __future__ import annotations

from discreet.errors import WrongUsage
from discreet.registry import LEARNERS, LearnerSpec

ENDINGS = (".sql", ".onnx", ".pmml")
_FORMS = {"additive": ENDINGS, "trees": (".sql", ".onnx"), "other": ()}


def list_export_forms(learner: LearnerSpec) -> tuple[str, ...]:
    """Return the endings of the forms that models of a learner have.

    >>> list_export_forms(LEARNERS.get("boosting")), list_export_forms(LEARNERS.get("pca"))
    (('.sql', '.onnx', '.pmml'), ())
    """
    return _FORMS[learner.model]


def require_export_form(learner: LearnerSpec, ending: str) -> None:
    """Refuse a form that models of a learner do not have.

    Raises:
        WrongUsage: There is none; the message names those that there are.
    """
    if ending not in list_export_forms(learner):
        raise export_error(learner.name, ending)


def export_error(learner: str, ending: str) -> WrongUsage:
    """Return the error of a form that models of a learner do not have."""
    found = list_export_forms(LEARNERS.get(learner))
    if not found:
        return WrongUsage(
            f"A model by '{learner}' has no form {ending}, nor any but its own file. Leave the export out, and "
            "predict with `discreet.load_model`."
        )
    return WrongUsage(
        f"A model by '{learner}' has no form {ending}; it has {', '.join(found)}. Choose one of these."
    )
