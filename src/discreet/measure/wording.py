"""The table of criteria in words: what each demands, what a table reaches, and who fails it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from discreet.measure.assessment import CriterionVerdict
from discreet.registry import CRITERIA

CRITERIA_HEADER = ("Criterion", "Required", "Reached")


@dataclass(frozen=True)
class CriterionRow:
    """One verdict in words: terminal, page and notebook show the same ones."""

    criterion: str
    required: str
    reached: str
    holds: bool
    people: str
    classes: str

    @property
    def texts(self) -> tuple[str, str, str]:
        """The cells below `CRITERIA_HEADER`."""
        return self.criterion, self.required, self.reached

    @property
    def counts(self) -> tuple[str, str]:
        """The people and the classes that fail."""
        return self.people, self.classes


def criterion_rows(verdicts: Sequence[CriterionVerdict], *, k: int | None) -> list[CriterionRow]:
    """Return the rows of the table of criteria; `k` is the size of the table's smallest class."""
    return [_describe_verdict(verdict, k) for verdict in verdicts]


def _describe_verdict(verdict: CriterionVerdict, k: int | None) -> CriterionRow:
    kind = CRITERIA.get(verdict.criterion).criterion
    column = {} if verdict.column is None else {"column": verdict.column}
    criterion = kind(**column, **verdict.required)
    words = [value for value in verdict.required.values() if isinstance(value, str)]
    title = f"{kind.title or kind.name} ({', '.join(words)})" if words else kind.title or kind.name
    return CriterionRow(
        f"{title} of {verdict.column}" if verdict.column else title,
        criterion.describe_requirement(),
        "no classes" if verdict.reached is None else criterion.describe_level(verdict.reached, k=k),
        verdict.holds,
        f"{verdict.failing_people:,}",
        f"{verdict.failing_classes:,}",
    )
