"""One column's role, guessed from its content and its name: the first rule that knows, decides."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from decimal import Decimal, InvalidOperation
from typing import TYPE_CHECKING, Any, Literal

from discreet.engines.engine import Kind
from discreet.measure.profile.identifiers import PATTERNS, recognize_number
from discreet.measure.profile.survey import is_household_id
from discreet.measure.profile.vocabulary import is_id_name, is_person_id_name, recognize_concept
from discreet.measure.text.person_names import fold_accents, looks_like_people
from discreet.policy.model import ColumnRole
from discreet.result import Result

if TYPE_CHECKING:
    from discreet.measure.profile.concepts import Concept
    from discreet.measure.profile.statistics import ColumnStatistics

Confidence = Literal["high", "medium", "low"]

# Fewer people than this share a value: to know the value is nearly to find the person.
CROWD = 5
_NUMBERS = (Kind.INTEGER, Kind.DECIMAL, Kind.REAL)
_SEXES = """
    m f w d x u nb male female man woman men women other unknown divers diverse nonbinary mann frau
    mannlich weiblich homme femme masculin feminin hombre mujer masculino femenino feminino
    vrouw mannelijk vrouwelijk uomo donna maschio femmina homem mulher
"""


@dataclass(frozen=True)
class RoleGuess(Result):
    """What a column is taken to be, and why; it quotes no cell."""

    column: str
    role: ColumnRole
    reason: str
    confidence: Confidence
    meaning: str | None = None  # "e-mail address", "birth date" …
    safe_harbor: str | None = None  # the letter in HIPAA's list
    evidence: Mapping[str, Any] = field(default_factory=dict[str, Any])


def guess_column(statistics: ColumnStatistics, *, noun: str = "people") -> RoleGuess:
    """Return the role of one column.

    Content that can only be an identifier outweighs the name; the name outweighs softer content;
    a column that neither explains is a quasi-identifier as soon as it sets few people apart.

    Args:
        statistics: What the column holds, over all rows.
        noun: What a row stands for, in the words of the reason.
    """
    column = _ColumnEvidence(statistics, recognize_concept(statistics.name), noun)
    for rule in _RULES:
        guess = rule(column)
        if guess is not None:
            return guess
    return _by_selectivity(column)


@dataclass(frozen=True)
class _ColumnEvidence:
    """A column under the rules: its counts, the concept of its name, the word for a row."""

    counts: ColumnStatistics
    concept: Concept | None
    noun: str

    def guess(
        self,
        role: ColumnRole,
        reason: str,
        confidence: Confidence,
        *,
        meaning: str | None = None,
        safe_harbor: str | None = None,
    ) -> RoleGuess:
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


def _by_emptiness(column: _ColumnEvidence) -> RoleGuess | None:
    if column.counts.present:
        return None
    if column.concept is not None and column.concept.role is not ColumnRole.INSENSITIVE:
        return None  # an empty `email` will be filled one day
    reason = "it holds no value; look again when it does"
    return column.guess(ColumnRole.INSENSITIVE, reason, "low")


def _by_pattern(column: _ColumnEvidence) -> RoleGuess | None:
    """Most rows have a shape that only an identifier has."""
    counts = column.counts
    found = [item for item in PATTERNS if item.rule != "form" and counts.share(item.name) >= 0.2]
    if not found:
        return None
    best = max(found, key=lambda item: counts.share(item.name))
    rows = counts.patterns[best.name]
    reason = f"{rows:,} of {counts.present:,} values look like: {best.name}"
    return column.guess(
        ColumnRole.IDENTIFIER, reason, "high", meaning=best.name, safe_harbor=best.safe_harbor
    )


def _by_household(column: _ColumnEvidence) -> RoleGuess | None:
    """The id of a household or cluster: it links people who are known together."""
    counts = column.counts
    if not is_household_id(counts):
        return None
    reason = (
        f"the id of a household or cluster by its name; {counts.present:,} rows share "
        f"{counts.distinct:,} of them, and who knows one member finds the others"
    )
    return column.guess(
        ColumnRole.HOUSEHOLD, reason, "high", meaning="household id", safe_harbor="R"
    )


def _by_person_key(column: _ColumnEvidence) -> RoleGuess | None:
    """A key of people: it links all that is known of one person."""
    counts = column.counts
    if not is_person_id_name(counts.name) or counts.distinct <= 20:
        return None
    if column.concept is not None and column.concept.role is ColumnRole.IDENTIFIER:
        return None
    reason = f"the key of a person by its name; {counts.distinct:,} values in {counts.rows:,} rows"
    return column.guess(
        ColumnRole.IDENTIFIER, reason, "high", meaning="person key", safe_harbor="R"
    )


def _by_identifier_name(column: _ColumnEvidence) -> RoleGuess | None:
    concept = column.concept
    if concept is None or concept.role is not ColumnRole.IDENTIFIER:
        return None
    if column.counts.present and column.is_coarse:
        return None  # `phone: yes/no` shows whether there is one
    reason = f"the name says {concept.name}; {column.uniqueness}"
    confidence: Confidence = "high" if column.counts.unique else "medium"
    return column.guess(
        ColumnRole.IDENTIFIER,
        reason,
        confidence,
        meaning=concept.name,
        safe_harbor=concept.safe_harbor,
    )


def _by_check_digits(column: _ColumnEvidence) -> RoleGuess | None:
    counts = column.counts
    if counts.longest < 8 or counts.kind not in (Kind.TEXT, *_NUMBERS):
        return None
    values = counts.texts
    if counts.kind is not Kind.TEXT:
        whole = [_whole_digits(value) for value in values]
        width = max(map(len, whole), default=0)
        values = tuple(value.zfill(width) for value in whole if value)  # zeros a number cannot keep
    verdict = recognize_number(values)
    if verdict is None:
        return None
    number = verdict.number
    reason = (
        f"{verdict.passed:,} of {verdict.fits:,} distinct values checked pass as {number.name}, "
        f"{number.chance:.0%} would by chance"
    )
    return column.guess(
        ColumnRole.IDENTIFIER, reason, "high", meaning=number.name, safe_harbor=number.safe_harbor
    )


def _whole_digits(value: str) -> str:
    """Return a number's text as whole digits, or nothing when it has a fraction or a sign."""
    try:
        number = Decimal(value)
    except InvalidOperation:
        return ""
    if not number.is_finite() or number < 0 or number != number.to_integral_value():
        return ""
    return format(number.to_integral_value(), "f")


def _by_trace(column: _ColumnEvidence) -> RoleGuess | None:
    """Some rows hold an identifier among other things: one e-mail in a remark is enough."""
    counts = column.counts
    found = [item for item in PATTERNS if item.rule == "trace" and counts.patterns.get(item.name)]
    if not found:
        return None
    first = max(found, key=lambda item: counts.patterns[item.name])
    rows = counts.patterns[first.name]
    reason = (
        f"{rows:,} of {counts.present:,} values hold: {first.name}; clean them or drop the column"
    )
    return column.guess(
        ColumnRole.IDENTIFIER, reason, "medium", meaning=first.name, safe_harbor=first.safe_harbor
    )


def _by_free_text(column: _ColumnEvidence) -> RoleGuess | None:
    counts = column.counts
    if counts.share("free text") < 0.5 or counts.distinct < 0.5 * counts.present:
        return None
    reason = (
        f"free text: {counts.share('free text'):.0%} of the values have six words or more, and "
        "sentences name people"
    )
    return column.guess(
        ColumnRole.IDENTIFIER, reason, "medium", meaning="free text", safe_harbor="R"
    )


def _by_date(column: _ColumnEvidence) -> RoleGuess | None:
    counts, concept = column.counts, column.concept
    if not is_date(counts):
        return None
    if concept is not None and concept.name == "birth date":
        reason = f"{column.uniqueness}; {concept.reason}"
        return column.guess(
            ColumnRole.QUASI_IDENTIFIER, reason, "high", meaning="birth date", safe_harbor="C"
        )
    reason = f"{column.uniqueness}; outsiders may know the date of the event"
    return column.guess(
        ColumnRole.QUASI_IDENTIFIER, reason, "medium", meaning="date of an event", safe_harbor="C"
    )


def is_date(counts: ColumnStatistics) -> bool:
    """Return whether the column holds days, as dates or as text."""
    written = counts.share("day") + counts.share("day in local order")
    return counts.kind in (Kind.DATE, Kind.TIMESTAMP) or written >= 0.8


def _by_name(column: _ColumnEvidence) -> RoleGuess | None:
    concept = column.concept
    if concept is None or concept.role is ColumnRole.IDENTIFIER:
        return None
    if concept.role is ColumnRole.QUASI_IDENTIFIER:
        reason = f"{column.uniqueness}; {concept.reason}"
    else:
        reason = f"the name says {concept.name}: {concept.reason}"
    confidence: Confidence = "low" if concept.name == "outcome to predict" else "high"
    return column.guess(
        concept.role, reason, confidence, meaning=concept.name, safe_harbor=concept.safe_harbor
    )


def _by_people(column: _ColumnEvidence) -> RoleGuess | None:
    counts = column.counts
    if counts.kind is not Kind.TEXT or not looks_like_people(counts.texts):
        return None
    reason = f"the values read like names of people; {column.uniqueness}"
    return column.guess(
        ColumnRole.IDENTIFIER, reason, "medium", meaning="person name", safe_harbor="A"
    )


def _by_values(column: _ColumnEvidence) -> RoleGuess | None:
    """Content that outsiders usually know, or that is private."""
    counts = column.counts
    meaning = _content_meaning(counts)
    if meaning is None:
        return None
    if meaning == "health":
        reason = "the values look like ICD-10 codes of diagnoses: health data (GDPR art. 9)"
        return column.guess(ColumnRole.SENSITIVE, reason, "medium", meaning=meaning)
    letter = {"postcode": "B", "age": "C"}.get(meaning)
    reason = f"the values look like: {meaning}; {column.uniqueness}; outsiders know such things"
    return column.guess(
        ColumnRole.QUASI_IDENTIFIER, reason, "low", meaning=meaning, safe_harbor=letter
    )


def _content_meaning(counts: ColumnStatistics) -> str | None:
    folded = {fold_accents(value) for value in counts.texts} if counts.distinct <= 5 else set[str]()
    if len(folded) >= 2 and folded <= set(_SEXES.split()):
        return "sex"
    if counts.share("ICD-10 code") >= 0.8 and counts.distinct >= 5:
        return "health"
    postcodes = ("UK postcode", "Canadian postcode", "Dutch postcode", "five digits")
    if any(counts.share(name) >= 0.8 for name in postcodes):
        return "postcode"
    if counts.kind is not Kind.INTEGER or counts.minimum is None or counts.maximum is None:
        return None
    low, high = int(counts.minimum), int(counts.maximum)
    if low >= 0 and 60 <= high <= 125 and counts.distinct >= 40:
        return "age"
    if low >= 1890 and high <= 2040:
        return "year"
    return None


def _by_key(column: _ColumnEvidence) -> RoleGuess | None:
    """A value of its own for nearly every row: a record number, a code, a name in any script."""
    counts = column.counts
    own = counts.distinct / counts.present if counts.present else 0.0
    named = is_id_name(counts.name) and own >= 0.5
    coded = counts.present >= 20 and own >= 0.9 and _looks_like_code(counts)
    if not (named or coded):
        return None
    says = "the name says key; " if named else ""
    reason = (
        f"{says}{counts.distinct:,} distinct values in {counts.present:,} rows: a code of its own"
    )
    return column.guess(
        ColumnRole.IDENTIFIER,
        reason,
        "high" if named else "medium",
        meaning="unique code",
        safe_harbor="R",
    )


def _looks_like_code(counts: ColumnStatistics) -> bool:
    if counts.kind is Kind.TEXT:
        return True
    if counts.kind is not Kind.INTEGER or counts.minimum is None or counts.maximum is None:
        return False
    is_series = int(counts.maximum) - int(counts.minimum) < 2 * counts.rows
    return is_series or (counts.shortest == counts.longest and counts.longest >= 6)


def _by_selectivity(column: _ColumnEvidence) -> RoleGuess:
    counts = column.counts
    if counts.smallest < CROWD and counts.present:
        reason = (
            f"{column.uniqueness}, and some value is shared by fewer than {CROWD} rows; when in "
            "doubt, take it as known to outsiders"
        )
        return column.guess(ColumnRole.QUASI_IDENTIFIER, reason, "low")
    reason = (
        f"no value of it is rare ({column.uniqueness}, each value held by at least {CROWD}), and "
        "its name is no word we know; check that it is neither known to outsiders nor private"
    )
    return column.guess(ColumnRole.INSENSITIVE, reason, "low")


_RULES: tuple[Callable[[_ColumnEvidence], RoleGuess | None], ...] = (
    _by_emptiness,
    _by_pattern,
    _by_household,
    _by_person_key,
    _by_identifier_name,
    _by_check_digits,
    _by_trace,
    _by_free_text,
    _by_date,
    _by_name,
    _by_people,
    _by_values,
    _by_key,
)
