"""The table of criteria in words: what each demands, what a table reaches, and who fails it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from discreet.formatting import format_count, format_percent
from discreet.measure.assessment import CriterionVerdict, Exposure
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


def describe_criterion(verdict: CriterionVerdict, *, k: int | None) -> tuple[str, bool, str]:
    """Return a criterion's name, whether it holds, and a sentence with what was reached, and who fails."""
    row = _describe_verdict(verdict, k)
    levels = f"reached {row.reached}, required {row.required}"
    if verdict.holds:
        return row.criterion, True, levels
    people = format_count(verdict.failing_people, "person", "people")
    classes = format_count(verdict.failing_classes, "class", "classes")
    return row.criterion, False, f"{levels}; {people} in {classes} fail"


def describe_exposure(exposure: Exposure) -> tuple[str, bool, str]:
    """Return an exposure's name, whether it is tolerated, and a sentence with shares, and who is exposed."""
    name = f"{exposure.attack} of {exposure.column}" if exposure.column else exposure.attack
    share, tolerance = format_percent(exposure.share), format_percent(exposure.tolerance)
    shares = f"{share} of people, tolerated {tolerance}"
    return name, not exposure.exceeds, f"{shares}. {exposure.words}" if exposure.exceeds else shares


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
