"""The detector of what a column is, from its content and its name: the first rule that knows, decides.

Every command that must know uses it: `init`, `assess` without a policy, `anonymize` for columns
without a role, and `deidentify`. What is not known here is known nowhere.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace

from discreet.engines.engine import Kind
from discreet.measure.profile.codes import is_code
from discreet.measure.profile.concepts import FREE_TEXT, Concept
from discreet.measure.profile.contents import recognize_values
from discreet.measure.profile.evidence import (
    CROWD,
    POSSIBLE_ID,
    ColumnEvidence,
    Confidence,
    RoleGuess,
)
from discreet.measure.profile.identifiers import (
    PATTERN,
    PATTERNS,
    SAFE_HARBOR,
    IdentifierPattern,
    recognize_number,
)
from discreet.measure.profile.statistics import ColumnStatistics, whole_digits
from discreet.measure.profile.survey import is_household_id
from discreet.measure.profile.vocabulary import (
    is_id_name,
    is_person_id_name,
    is_row_id_name,
    rank_concepts,
)
from discreet.measure.text.person_names import looks_like_people
from discreet.policy.model import ColumnRole

# An unrecognized column on which one row in five is alone may be a code of its own.
UNIQUE_SHARE = 0.2
_MOST_REGIONS = 60  # states, districts and territories of the United States
FREE_TEXT_SHARE = 0.2
_VARIED_TEXTS = 1_000
_MOST_CATEGORIES = 20
_DURATION = re.compile(r"(?<![a-z])(?:days|weeks|months|hours|minutes)(?![a-z])")
_BIRTH = re.compile(r"birth|born|age|life|old")
# What values of each class are called, where only the values say it.
_MEANINGS = {
    "A": "person name",
    "D": "phone number",
    "E": "fax number",
    "F": "e-mail address",
    "G": "national number",
    "H": "medical record number",
    "I": "health plan number",
    "J": "account number",
    "K": "certificate or license number",
    "L": "vehicle identifier",
    "M": "device identifier",
    "N": "web address",
    "O": "IP address",
    "P": "biometric identifier",
    "Q": "photograph",
}


def guess_column(statistics: ColumnStatistics, *, noun: str = "people") -> RoleGuess:
    """Return the role of one column.

    Content that can only be an identifier outweighs the name; the name outweighs softer content;
    a column that neither explains is a quasi-identifier as soon as it sets few people apart.

    Args:
        statistics: What the column holds, over all rows.
        noun: What a row stands for, in the words of the reason.
    """
    column = ColumnEvidence(statistics, _choose_concept(statistics), noun)
    found = (guess for rule in _RULES if (guess := rule(column)) is not None)
    guess = next(found, None) or _by_selectivity(column)
    return replace(
        guess,
        text=_explain_text(column, guess),
        is_code=is_code(statistics, column.concept),
    )


def _choose_concept(counts: ColumnStatistics) -> Concept | None:
    """Return what the name means, or the title, for values of this kind: a number is no name."""
    is_number = counts.kind not in (Kind.TEXT, Kind.OTHER)
    ranked = (*rank_concepts(counts.name), *rank_concepts(counts.title))
    return next((one for one in ranked if not (is_number and one.is_written)), None)


def _by_emptiness(column: ColumnEvidence) -> RoleGuess | None:
    if column.counts.present:
        return None
    if column.concept is not None and column.concept.role is not ColumnRole.INSENSITIVE:
        return None  # an empty `email` will be filled one day
    reason = "it holds no value; look again when it does"
    return column.guess(ColumnRole.INSENSITIVE, reason, "low")


def _by_pattern(column: ColumnEvidence) -> RoleGuess | None:
    """Most rows have a shape that only an identifier has."""
    counts = column.counts
    found = [
        item for item in PATTERNS if item.rule != "form" and counts.share(item.name) >= item.least
    ]
    if not found:
        return None
    best = max(found, key=lambda item: counts.share(item.name))
    rows = counts.patterns[best.name]
    reason = f"{rows:,} of {counts.present:,} values look like: {best.name}"
    return _guess_identifier(column, best, reason, "high")


def _guess_identifier(
    column: ColumnEvidence, pattern: IdentifierPattern, reason: str, confidence: Confidence
) -> RoleGuess:
    named = column.identifier_concept
    meaning = named.name if named else pattern.name
    letter = named.safe_harbor if named else pattern.safe_harbor
    return column.guess(
        ColumnRole.IDENTIFIER, reason, confidence, meaning=meaning, safe_harbor=letter
    )


def _by_household(column: ColumnEvidence) -> RoleGuess | None:
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


def _by_person_key(column: ColumnEvidence) -> RoleGuess | None:
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


def _by_identifier_name(column: ColumnEvidence) -> RoleGuess | None:
    concept = column.identifier_concept
    if concept is None:
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


def _by_check_digits(column: ColumnEvidence) -> RoleGuess | None:
    counts = column.counts
    if counts.longest < 8 or not (counts.kind is Kind.TEXT or counts.kind.is_number):
        return None
    values = counts.texts
    if counts.kind is not Kind.TEXT:
        whole = [whole_digits(value) for value in values]
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


def _by_trace(column: ColumnEvidence) -> RoleGuess | None:
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
    return _guess_identifier(column, first, reason, "medium")


def _by_free_text(column: ColumnEvidence) -> RoleGuess | None:
    counts = column.counts
    share = counts.share("free text")
    is_named = column.concept is not None and column.concept.name == FREE_TEXT
    is_varied = counts.distinct >= min(0.2 * counts.present, _VARIED_TEXTS)
    if (share >= FREE_TEXT_SHARE and is_varied and counts.distinct > _MOST_CATEGORIES) or (
        share >= 0.5 and counts.distinct >= 0.5 * counts.present
    ):
        says = f"{share:.0%} of the values have six words or more"
    elif is_named and (counts.distinct > _MOST_CATEGORIES or counts.smallest < CROWD):
        says = "its name says so"
    else:
        return None
    reason = f"free text: {says}, and sentences name people"
    return column.guess(ColumnRole.IDENTIFIER, reason, "medium", meaning=FREE_TEXT)


def _by_date(column: ColumnEvidence) -> RoleGuess | None:
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


def _by_row_key(column: ColumnEvidence) -> RoleGuess | None:
    """`arrest_id` is a key whatever it is the key of, if nearly every row has its own."""
    counts = column.counts
    is_own = counts.present >= 20 and counts.distinct >= 0.9 * counts.present
    if not (is_own and is_row_id_name(counts.name) and _looks_like_code(counts)):
        return None
    reason = f"the name says key; {counts.distinct:,} distinct values in {counts.present:,} rows"
    return column.guess(
        ColumnRole.IDENTIFIER, reason, "high", meaning="unique code", safe_harbor="R"
    )


def _by_duration(column: ColumnEvidence) -> RoleGuess | None:
    """`days` or `months` in the plural count time; since birth they would reveal its date."""
    counts, name = column.counts, column.counts.name.lower()
    is_counted = _DURATION.search(name) and not _BIRTH.search(name)
    if not counts.kind.is_number or not is_counted:
        return None
    if column.concept is not None and column.concept.safe_harbor != "C":
        return None
    reason = f"a length of time; {column.uniqueness}; people who were there know it"
    return column.guess(ColumnRole.QUASI_IDENTIFIER, reason, "medium", meaning="length of time")


def _by_name(column: ColumnEvidence) -> RoleGuess | None:
    concept = column.concept
    if concept is None or concept.role is ColumnRole.IDENTIFIER:
        return None
    if concept.role is ColumnRole.INSENSITIVE and recognize_values(column.counts.counted_texts):
        return None  # the name belongs to the file, the values to people
    if concept.role is ColumnRole.QUASI_IDENTIFIER:
        reason = f"{column.uniqueness}; {concept.reason}"
    else:
        reason = f"the name says {concept.name}: {concept.reason}"
    confidence: Confidence = "low" if concept.name == "outcome to predict" else "high"
    return column.guess(
        concept.role, reason, confidence, meaning=concept.name, safe_harbor=_find_letter(column)
    )


def _find_letter(column: ColumnEvidence) -> str | None:
    """Return the class of what outsiders know: names of employers and schools are in one, their codes not."""
    counts, concept = column.counts, column.concept
    if concept is None or concept.safe_harbor is not None:
        return concept.safe_harbor if concept else None
    if concept.name == "region":
        return "B" if counts.distinct > _MOST_REGIONS else None
    named = {"employer": "A", "school or clinic": "B"} if counts.kind is Kind.TEXT else {}
    return named.get(concept.name)


def _by_people(column: ColumnEvidence) -> RoleGuess | None:
    counts = column.counts
    if counts.kind is not Kind.TEXT or not looks_like_people(counts.texts):
        return None
    reason = f"the values read like names of people; {column.uniqueness}"
    return column.guess(
        ColumnRole.IDENTIFIER, reason, "medium", meaning="person name", safe_harbor="A"
    )


def _by_words(column: ColumnEvidence) -> RoleGuess | None:
    """Words and codes that tell what a column is about: creeds, parties, diagnoses, sexes."""
    counts = column.counts
    if counts.kind is not Kind.TEXT:
        return None
    codes = [name for name in _HEALTH_CODES if counts.share(name) >= 0.8]
    if codes and counts.distinct >= 5:
        reason = f"the values look like: {codes[0]}; health data (GDPR art. 9)"
        return column.guess(ColumnRole.SENSITIVE, reason, "medium", meaning="health")
    concept = recognize_values(counts.counted_texts)
    if concept is None:
        return None
    why = concept.reason
    if concept.role is ColumnRole.QUASI_IDENTIFIER:
        why = f"{column.uniqueness}; {why}"
    reason = f"most values are words for: {concept.name}; {why}"
    return column.guess(
        concept.role, reason, "medium", meaning=concept.name, safe_harbor=concept.safe_harbor
    )


_HEALTH_CODES = ("ICD-10 code", "ATC code", "OPS code")
_PLACES = {
    "UK postcode": "postcode",
    "Canadian postcode": "postcode",
    "Dutch postcode": "postcode",
    "Polish postcode": "postcode",
    "five digits": "postcode",
    "German municipality key": "place",
    "NUTS code": "region",
}


def _by_known_content(column: ColumnEvidence) -> RoleGuess | None:
    """Content that outsiders usually know."""
    meaning = _content_meaning(column.counts)
    if meaning is None:
        return None
    letter = {"postcode": "B", "place": "B", "age": "C"}.get(meaning)
    reason = f"the values look like: {meaning}; {column.uniqueness}; outsiders know such things"
    return column.guess(
        ColumnRole.QUASI_IDENTIFIER, reason, "low", meaning=meaning, safe_harbor=letter
    )


def _content_meaning(counts: ColumnStatistics) -> str | None:
    for name, meaning in _PLACES.items():
        if counts.share(name) >= 0.8:
            return meaning
    if counts.kind is not Kind.INTEGER or counts.minimum is None or counts.maximum is None:
        return None
    low, high = int(counts.minimum), int(counts.maximum)
    if low >= 0 and 60 <= high <= 125 and counts.distinct >= 40:
        return "age"
    if low >= 1890 and high <= 2040:
        return "year"
    return None


def _by_kind(column: ColumnEvidence) -> RoleGuess | None:
    """A time of day belongs to dates; what cannot be examined may be anything."""
    kind = column.counts.kind
    if kind is Kind.TIME:
        reason = f"a time of day; {column.uniqueness}; people who were there know it"
        meaning, letter = "part of a date", "C"
    elif kind is Kind.OTHER:
        reason = "bytes, lists or nested values, which cannot be examined"
        meaning, letter = None, "R"
    else:
        return None
    return column.guess(
        ColumnRole.QUASI_IDENTIFIER, reason, "low", meaning=meaning, safe_harbor=letter
    )


def _by_key(column: ColumnEvidence) -> RoleGuess | None:
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


def _by_reading(column: ColumnEvidence) -> RoleGuess | None:
    """Values that are identifiers, though neither the name nor a shape says so."""
    seen = column.counts.detected_class
    if seen is None or not seen.is_whole:
        return None
    letter = seen.letter
    says = f"the name says {column.concept.name}, and" if column.concept else "not recognized, but"
    reason = f"{says} its values hold: {SAFE_HARBOR[letter]}; {column.uniqueness}"
    if letter in _MEANINGS:
        return column.guess(
            ColumnRole.IDENTIFIER, reason, "medium", meaning=_MEANINGS[letter], safe_harbor=letter
        )
    if letter == "B" and column.counts.share("number and word") >= 0.5:
        return column.guess(
            ColumnRole.IDENTIFIER, reason, "medium", meaning="street address", safe_harbor="B"
        )
    meaning = {"B": "place", "C": "date of an event"}.get(letter, POSSIBLE_ID)
    return column.guess(
        ColumnRole.QUASI_IDENTIFIER, reason, "low", meaning=meaning, safe_harbor=letter
    )


def _by_selectivity(column: ColumnEvidence) -> RoleGuess:
    counts = column.counts
    if counts.smallest < CROWD and counts.present:
        reason = (
            f"{column.uniqueness}, and some value is shared by fewer than {CROWD} rows; when in "
            "doubt, take it as known to outsiders"
        )
        letter = "R" if counts.unique >= UNIQUE_SHARE * counts.present else None
        return column.guess(ColumnRole.QUASI_IDENTIFIER, reason, "low", safe_harbor=letter)
    reason = (
        f"no value of it is rare ({column.uniqueness}, each value held by at least {CROWD}), and "
        "its name is no word we know; check that it is neither known to outsiders nor private"
    )
    return column.guess(ColumnRole.INSENSITIVE, reason, "low")


_RULES: tuple[Callable[[ColumnEvidence], RoleGuess | None], ...] = (
    _by_emptiness,
    _by_pattern,
    _by_household,
    _by_person_key,
    _by_identifier_name,
    _by_check_digits,
    _by_trace,
    _by_free_text,
    _by_date,
    _by_row_key,
    _by_duration,
    _by_name,
    _by_words,
    _by_people,
    _by_known_content,
    _by_kind,
    _by_key,
    _by_reading,
)


def _explain_text(column: ColumnEvidence, guess: RoleGuess) -> str | None:
    """Return why values must be read as free text: sentences may name people anywhere."""
    counts = column.counts
    if counts.kind is not Kind.TEXT or _is_sure_identifier(column, guess):
        return None
    share = counts.share("free text")
    if share >= FREE_TEXT_SHARE:
        return f"free text: {share:.0%} of the values have six words or more"
    if column.concept is not None and column.concept.name == FREE_TEXT:
        return "free text by its name"
    traces = [
        name
        for name in counts.patterns
        if PATTERN[name].safe_harbor and 0 < counts.share(name) < PATTERN[name].least
    ]
    if traces and (guess.role is not ColumnRole.IDENTIFIER or guess.meaning in traces):
        return f"some values hold: {traces[0]}"
    seen = column.counts.detected_class if guess.meaning is None else None
    if seen is not None and not seen.is_whole:
        return f"not recognized, but its values hold: {SAFE_HARBOR[seen.letter]}"
    return None


def _is_sure_identifier(column: ColumnEvidence, guess: RoleGuess) -> bool:
    """Whether it is an identifier by its name, or by its content without sentences."""
    if guess.role is not ColumnRole.IDENTIFIER:
        return False
    if column.identifier_concept is not None:
        return True
    return guess.confidence == "high" and column.counts.share("free text") < FREE_TEXT_SHARE
