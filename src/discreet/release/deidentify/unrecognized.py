"""Columns that no rule recognizes: their values are read as free text is, and determine their class."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass

from discreet.engines.engine import Column, Kind, Table
from discreet.measure.text import lexicon
from discreet.measure.text.person_names import fold_accents
from discreet.measure.text.scan import scan_text
from discreet.measure.values import counted_values
from discreet.policy.hierarchies.values import text_of

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


@dataclass(frozen=True)
class DetectedClass:
    """The class of most identifiers in a column's values, and whether they are all of a value."""

    letter: str
    is_whole: bool


def detect_column_class(table: Table, column: Column) -> DetectedClass | None:
    """Return the class that the values of a column determine, None if they determine none."""
    if column.kind not in (Kind.TEXT, Kind.INTEGER, Kind.DECIMAL, Kind.REAL):
        return None
    values, rows = counted_values(table, column)
    counts = dict(zip(text_of(values).to_pylist(), rows.tolist(), strict=True))
    return detect_class(counts, is_number=column.kind is not Kind.TEXT)


def names_people(table: Table, column: Column) -> bool:
    """Return whether the values of a column are identifiers other than places and dates."""
    seen = detect_column_class(table, column)
    return seen is not None and seen.is_whole and seen.letter not in ("B", "C")


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
