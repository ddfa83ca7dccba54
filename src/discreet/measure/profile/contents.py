"""What the values of a column say where its name says nothing: words of a concept, or identifiers."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache

from discreet.measure.profile.concepts import CONCEPTS, Concept
from discreet.measure.profile.vocabulary import fold_letters, list_words
from discreet.measure.text import lexicon
from discreet.measure.text.person_names import fold_accents
from discreet.measure.text.scan import scan_text

# More values than this add no information about a column as a whole.
MOST_READ = 1_000
# One in five, as for free text and for people who are alone with their value.
_LEAST_SHARE = 0.2
_LEAST_NUMBERS = 0.5
_COVERED = 0.5
# Codes of people are shared by the rows of one person, codes of things by those of many people.
_ROWS_OF_ONE = 50
_LEAST_CODES = 20
_LEAST_TOWNS = 3  # `Mobile` and `Orange` are more than towns
_YEAR = re.compile(r"(?:18[89]|19\d|20[0-3])\d")
_PART_OF_YEAR = re.compile(
    r"(?:19|20)\d\d(?:[-/.](?:0?[1-9]|1[0-2])|[-/ ]?Q[1-4]|-?W[0-5]\d|-[0-3]\d\d)", re.IGNORECASE
)
_POINT = re.compile(r"\(?[-+]?\d{1,3}[.]\d{3,} ?[,; /] ?[-+]?\d{1,3}[.]\d{3,}\)?")
_MEASURE = re.compile(r"[<>≤≥~]?[-+]?\d{0,6}(?:[.,]\d+)?(?:/\d{1,3})?%?")


# Words for a value that is not there, or is none of the others.
_NOTHING = list_words(
    """
    other others unknown missing none na nan null refused unspecified declined any total
    sonstige sonstiges andere unbekannt keine keiner kein autre autres inconnu aucun aucune
    otro otra otros desconocido ninguno ninguna inne inny nieznane brak altro altri
    sconosciuto nessuno nessuna overig overige onbekend geen outro
    """
)
_WORD = re.compile(r"[^\W\d_]+")
_DIGIT = re.compile(r"\d")
_SHORT = 4  # letters below which a word must be the whole value
_MOST_WORDS = 6
_LEAST_WORDS = 2  # values that a concept's own words explain
_EXPLAINED = 0.6


@dataclass(frozen=True)
class _ValueWords:
    """Words, stems and endings of values."""

    whole: frozenset[str]
    stems: tuple[str, ...]
    endings: tuple[str, ...]

    @classmethod
    def of(cls, listed: str) -> _ValueWords:
        words = [fold_letters(word.strip()) for word in listed.split(",") if word.strip()]
        return cls(
            frozenset(word for word in words if "*" not in word),
            tuple(word[:-1] for word in words if word.endswith("*")),
            tuple(word[1:] for word in words if word.startswith("*")),
        )

    def explain(self, value: str, words: tuple[str, ...]) -> bool:
        """Return whether a value in lower case, or a word of it, is listed."""
        if value in self.whole or (not _DIGIT.search(value) and " ".join(words) in self.whole):
            return True
        return any(
            (len(word) >= _SHORT and word in self.whole)
            or word.startswith(self.stems)
            or any(word.endswith(end) and len(word) >= len(end) + 3 for end in self.endings)
            for word in words
        )


@cache
def _value_words() -> tuple[tuple[Concept, _ValueWords, _ValueWords], ...]:
    return tuple(
        (concept, _ValueWords.of(own), _ValueWords.of(other))
        for concept in CONCEPTS
        if concept.values
        for own, _, other in [concept.values.partition("|")]
    )


def recognize_values(counts: Mapping[str, int]) -> Concept | None:
    """Return the concept whose words most values are, None if there is none.

    `counts` has the rows of each distinct value.

    >>> recognize_values({"Katholisch": 40, "Evangelisch": 50, "Sonstige": 9}).name
    'religion or belief'
    >>> recognize_values({"red": 40, "white": 50, "black": 9}) is None
    True
    """
    texts = {text: fold_letters(text) for text in counts}
    split = {text: tuple(_WORD.findall(folded)) for text, folded in texts.items()}
    telling = [
        text
        for text, words in split.items()
        if 0 < len(words) <= _MOST_WORDS and not (_NOTHING.issuperset(words) or len(text) > 80)
    ]
    if len(telling) < max(_LEAST_WORDS, len(texts) / 2):
        return None
    found: list[tuple[float, Concept]] = []
    for concept, own, other in _value_words():
        sure = {text for text in telling if own.explain(texts[text], split[text])}
        if len(sure) < max(_LEAST_WORDS, len(telling) / 5):
            continue
        explained = sure | {text for text in telling if other.explain(texts[text], split[text])}
        share = min(
            len(explained) / len(telling),
            sum(counts[text] for text in explained) / sum(counts[text] for text in telling),
        )
        if share >= (1.0 if concept.name == "sex" else _EXPLAINED):
            found.append((share, concept))
    return max(found, key=lambda pair: pair[0])[1] if found else None


@dataclass(frozen=True)
class DetectedClass:
    """The class of most identifiers in a column's values, and whether they are all of a value."""

    letter: str
    is_whole: bool


def detect_class(counts: Mapping[str, int], *, is_number: bool) -> DetectedClass | None:
    """Return the class that the values of a column determine, None if they determine none.

    `counts` has the rows of each distinct value. Long numbers and codes count only if a value has
    few enough rows to be of one person.

    >>> detect_class({"2020-07": 50, "2021-11": 40}, is_number=False)
    DetectedClass(letter='C', is_whole=True)
    >>> detect_class({"mild": 50, "severe": 40}, is_number=False) is None
    True
    """
    texts = sorted(text for text in counts if text.strip())
    read = texts[:: max(1, len(texts) // MOST_READ)]
    if read and all(_YEAR.fullmatch(text.strip()) for text in read):
        return DetectedClass("C", is_whole=True)
    rows = sum(counts[text] for text in read)
    towns = [text for text in read if fold_accents(text.strip()) in lexicon.cities()]
    if len(towns) >= _LEAST_TOWNS and 2 * sum(counts[town] for town in towns) > rows:
        return DetectedClass("B", is_whole=True)
    may_be_codes = len(texts) >= _LEAST_CODES and sum(counts.values()) <= _ROWS_OF_ONE * len(texts)
    found: Counter[str] = Counter()
    whole = 0
    for text in read:
        letters, covered = _read(text.strip(), may_be_codes=may_be_codes, is_number=is_number)
        found.update(dict.fromkeys(letters, counts[text]))
        whole += counts[text] if covered > _COVERED * len(text.strip()) else 0
    if not found:
        return None
    letter = max(sorted(found), key=lambda each: found[each])
    share = whole / rows
    # Some numbers are long by chance: most must be, and nothing can be taken out of one.
    if is_number and share < _LEAST_NUMBERS:
        return None
    return DetectedClass(letter, is_whole=share >= _LEAST_SHARE)


def _read(text: str, *, may_be_codes: bool, is_number: bool) -> tuple[set[str], int]:
    """Return the letters of what a value holds, and how many of its characters that is."""
    if _PART_OF_YEAR.fullmatch(text):
        return {"C"}, len(text)
    if _POINT.fullmatch(text):
        return {"B"}, len(text)
    spans = scan_text(text)
    if not may_be_codes and [span.kind for span in spans] == ["R"] and " " not in text:
        return set(), 0
    if spans:
        return {span.kind for span in spans}, sum(span.end - span.start for span in spans)
    if may_be_codes and not is_number and _is_code(text):
        return {"R"}, len(text)
    return set(), 0


def _is_code(text: str) -> bool:
    return any(map(str.isdigit, text)) and " " not in text and not _MEASURE.fullmatch(text)
