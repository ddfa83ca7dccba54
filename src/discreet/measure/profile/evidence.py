"""A column under the rules of the detector, and the result: what it is taken to be, and why."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

from discreet.engines.engine import Kind
from discreet.measure.profile.concepts import FREE_TEXT, Concept
from discreet.policy.model import ColumnRole
from discreet.result import Result

if TYPE_CHECKING:
    from discreet.measure.profile.statistics import ColumnStatistics

Confidence = Literal["high", "medium", "low"]

# Codes that few rows share: they may name people, things or places.
POSSIBLE_ID = "possible id"
# Fewer people than this share a value: to know the value is nearly to find the person.
CROWD = 5


@dataclass(frozen=True)
class RoleGuess(Result):
    """What a column is taken to be, and why; it quotes no cell.

    `meaning` is the class of an identifier or the category of a sensitive column, such as "e-mail
    address" or "health"; `safe_harbor` is its letter in HIPAA's list. `text` says why its values must
    be read as free text, None if they need not. `is_code` says that its numbers are names of
    categories, without an order.
    """

    column: str
    role: ColumnRole
    reason: str
    confidence: Confidence
    meaning: str | None = None
    safe_harbor: str | None = None
    evidence: Mapping[str, Any] = field(default_factory=dict[str, Any])
    text: str | None = None
    is_code: bool = False

    @property
    def may_identify(self) -> bool:
        """Whether it names people, or holds codes that may do so: neither is published by oversight."""
        return self.role.names_people or self.meaning == POSSIBLE_ID


@dataclass(frozen=True)
class ColumnEvidence:
    """A column under the rules: its counts, the concept of its name, the word for a row."""

    counts: ColumnStatistics
    concept: Concept | None
    noun: str

    @property
    def identifier_concept(self) -> Concept | None:
        """What its name says, if that is an identifier: a fax number looks like any phone number."""
        concept = self.concept
        if concept is None or concept.role is not ColumnRole.IDENTIFIER:
            return None
        return None if concept.name == FREE_TEXT else concept

    def guess(
        self,
        role: ColumnRole,
        reason: str,
        confidence: Confidence,
        *,
        meaning: str | None = None,
        safe_harbor: str | None = None,
    ) -> RoleGuess:
        """Return the result of a rule, with the counts behind it."""
        counts = self.counts
        evidence: dict[str, Any] = {
            "kind": counts.kind,
            "rows": counts.rows,
            "missing": counts.missing,
            "distinct": counts.distinct,
            "unique": counts.unique,
            "patterns": dict(counts.patterns),
            "name_says": self.concept.name if self.concept else None,
        }
        return RoleGuess(counts.name, role, reason, confidence, meaning, safe_harbor, evidence)

    @property
    def uniqueness(self) -> str:
        """How many rows are alone with their value, in words."""
        counts = self.counts
        if counts.unique:
            verb = "is" if counts.unique == 1 else "are"
            return f"{counts.unique:,} of {counts.rows:,} {self.noun} {verb} unique on it"
        values = "value" if counts.distinct == 1 else "values"
        return f"{counts.distinct:,} {values} among {counts.rows:,} {self.noun}"

    @property
    def is_coarse(self) -> bool:
        """Whether it has so few values that it cannot name anyone: yes or no, a category."""
        counts = self.counts
        few = counts.distinct <= 5 and counts.smallest >= CROWD
        return counts.kind is Kind.BOOLEAN or few
