"""What a published label may stand for: a value, a range, a mask, a set, or anything."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from enum import StrEnum

from discreet.attacks.locating.dates import read_period


class ComparisonKind(StrEnum):
    """How the values of a column are compared."""

    NUMBER = "number"
    DATE = "date"
    TEXT = "text"


@dataclass(frozen=True)
class Anything:
    """A suppressed value: `*`, or a word that says it is missing."""


@dataclass(frozen=True)
class LabelRange:
    """Numbers, or days since 1970, between two ends that belong to it or not."""

    low: float = -math.inf
    high: float = math.inf
    has_low: bool = True
    has_high: bool = True


@dataclass(frozen=True)
class LabelMask:
    """Text of which some characters are hidden, such as `476**` or `1968-**-**`."""

    pattern: re.Pattern[str]
    length: int


@dataclass(frozen=True)
class LabelMembers:
    """One of a few values, such as `{flu, cold}`."""

    values: tuple[str, ...]


Meaning = Anything | LabelRange | LabelMask | LabelMembers

_NUMBER = r"[-+]?[$€£]?(?:\d{1,3}(?:,\d{3})+|\d+)?(?:(?<=\d)\.?|\.(?=\d))\d*\s?[kKmM]?"
_TO = r"\s*(?:-|–|—|\.\.\.?|…|\bto\b|:)\s*"
_RANGE = re.compile(rf"(?P<low>{_NUMBER}){_TO}(?P<high>{_NUMBER})")
_BRACKETED = re.compile(r"(?P<open>[\[\](])\s*(?P<inside>.+?)\s*(?P<close>[\])\[])")
_ENDS = re.compile(rf"(?P<low>{_NUMBER}|-?inf|-?∞)?\s*[,;]\s*(?P<high>{_NUMBER}|[+]?inf|[+]?∞)?")
_BELOW = re.compile(
    r"(?P<sign><=?|≤|under\b|below\b|at most\b|up to\b)\s*(?P<end>.+)", re.IGNORECASE
)
_ABOVE = re.compile(r"(?P<sign>>=?|≥|over\b|above\b|at least\b)\s*(?P<end>.+)", re.IGNORECASE)
_PLUS = re.compile(
    r"(?P<end>.+?)\s*(?:[+]|(?:and|or) (?:over|older|above|more|up|later))", re.IGNORECASE
)
_MINUS = re.compile(
    r"(?P<end>.+?)\s*(?:and|or) (?:under|younger|below|less|earlier)", re.IGNORECASE
)
_DECADE = re.compile(r"(\d{3}0)'?s")
_DATES = re.compile(r"(?P<low>.+?)\s*(?:,|;|–|—|\.\.\.?|…|\bto\b|\s-\s)\s*(?P<high>.+)")
_YEARS = re.compile(r"(?P<low>\d{4})-(?P<high>\d{4})")
_SET = re.compile(r"\{(?P<inside>.*)\}")
_BETWEEN = re.compile(r"\s*(?:,|;|\||/|\bor\b)\s*")
_CROSSED = re.compile(r"(?:\d[Xx]+|.[Xx]{2,})$")
# Words for a value that was taken out; a column whose known values hold such a word means the word.
MISSING = frozenset(
    (
        "",
        "?",
        "-",
        "--",
        "na",
        "n/a",
        "nan",
        "null",
        "unknown",
        "missing",
        "suppressed",
        "any",
        "all",
    )
)
# What a label that is no plain value has in it; anything else needs no reading.
SUSPICIOUS = r"[*\[\](){}<>≤≥,;|/–—…+]|\d\s*(?:-|to|:|\.\.)\s*\d|\d'?s$|[\dA-Za-z][Xx]+$|\b(?:or|and|over|under|above|below|at|up)\b"


def read_label(label: str | None, domain: ComparisonKind) -> Meaning | None:
    """Return what `label` may stand for in a column of `domain`; None for what only means itself.

    >>> read_label("[30, 40)", ComparisonKind.NUMBER)
    LabelRange(low=30.0, high=40.0, has_low=True, has_high=False)
    >>> read_label("{flu, cold}", ComparisonKind.TEXT)
    LabelMembers(values=('flu', 'cold'))
    >>> read_label("*", ComparisonKind.DATE)
    Anything()
    """
    if label is None:
        return Anything()
    text = label.strip()
    if not text.strip("*") or text.casefold() in MISSING:
        return Anything()
    if found := _SET.fullmatch(text):
        return LabelMembers(_split_members(found["inside"]))
    meaning = _date_label(text) if domain is ComparisonKind.DATE else read_label_range(text)
    return meaning or _read_mask(text, domain) or _read_members(text, domain)


def read_label_number(text: str) -> float | None:
    """Return the number that a text such as `20,000`, `$20K` or `-1.5` writes, or None.

    >>> read_label_number("20K"), read_label_number("1,500.5"), read_label_number("n/a")
    (20000.0, 1500.5, None)
    """
    text = text.strip()
    if text.lstrip("+-").lower() in ("inf", "∞"):
        return -math.inf if text.startswith("-") else math.inf
    if not re.fullmatch(_NUMBER, text) or not any(letter.isdigit() for letter in text):
        return None
    scale = {"k": 1e3, "m": 1e6}.get(text[-1].lower(), 1.0)
    return float(re.sub(r"[^\d.+-]", "", text)) * scale


def read_label_range(text: str) -> LabelRange | None:
    """Return the numbers that a label such as `[30, 40)`, `30-39`, `< 18` or `90+` spans, or None."""
    if found := _BRACKETED.fullmatch(text):
        return _read_bracketed_range(found)
    if found := _RANGE.fullmatch(text):
        return _read_dashed_range(found["low"], found["high"])
    if found := _DECADE.fullmatch(text):
        return LabelRange(float(found[1]), float(found[1]) + 10, has_high=False)
    if found := _BELOW.fullmatch(text):
        end = read_label_number(found["end"])
        has_high = found["sign"].lower() in ("<=", "≤", "at most", "up to")
        return None if end is None else LabelRange(high=end, has_high=has_high)
    if found := _ABOVE.fullmatch(text):
        end = read_label_number(found["end"])
        has_low = found["sign"].lower() in (">=", "≥", "at least")
        return None if end is None else LabelRange(low=end, has_low=has_low)
    if found := _PLUS.fullmatch(text):
        end = read_label_number(found["end"])
        return None if end is None else LabelRange(low=end)
    if found := _MINUS.fullmatch(text):
        end = read_label_number(found["end"])
        return None if end is None else LabelRange(high=end)
    return None


def _read_bracketed_range(found: re.Match[str]) -> LabelRange | None:
    inside = found["inside"]
    if dashed := _RANGE.fullmatch(inside):
        return _read_dashed_range(dashed["low"], dashed["high"])
    ends = _ENDS.fullmatch(inside)
    if ends is None:
        return None
    low = read_label_number(ends["low"]) if ends["low"] else -math.inf
    high = read_label_number(ends["high"]) if ends["high"] else math.inf
    if low is None or high is None or low > high:
        return None
    return LabelRange(low, high, has_low=found["open"] == "[", has_high=found["close"] == "]")


def _read_dashed_range(first: str, last: str) -> LabelRange | None:
    """Return `30-39`: of whole numbers it means all that is counted as 39 in whole years."""
    low, high = read_label_number(first), read_label_number(last)
    if low is None or high is None or low > high:
        return None
    if low.is_integer() and high.is_integer():
        return LabelRange(low, high + 1, has_high=False)
    return LabelRange(low, high)


def _date_label(text: str) -> LabelRange | None:
    period = read_period(text)
    if period is not None:
        return LabelRange(*period, has_high=False)
    if found := _YEARS.fullmatch(text):
        return _read_date_range(found["low"], found["high"])
    if found := _BRACKETED.fullmatch(text):
        return _bracketed_dates(found)
    if found := _DATES.fullmatch(text):
        return _read_date_range(found["low"], found["high"])
    return _open_dates(text)


def _bracketed_dates(found: re.Match[str]) -> LabelRange | None:
    inside = _YEARS.fullmatch(found["inside"]) or _DATES.fullmatch(found["inside"])
    if inside is None:
        return None
    low, high = read_period(inside["low"]), read_period(inside["high"])
    if low is None or high is None:
        return None
    # An end that does not belong to the range is its first day, one that does is all of the period.
    start = low[0] if found["open"] == "[" else low[1]
    end = high[1] if found["close"] == "]" else high[0]
    return LabelRange(start, end, has_high=False)


def _read_date_range(first: str, last: str) -> LabelRange | None:
    low, high = read_period(first), read_period(last)
    return None if low is None or high is None else LabelRange(low[0], high[1], has_high=False)


def _open_dates(text: str) -> LabelRange | None:
    for pattern, is_upper in ((_BELOW, True), (_MINUS, True), (_ABOVE, False), (_PLUS, False)):
        found = pattern.fullmatch(text)
        period = read_period(found["end"]) if found else None
        if found is None or period is None:
            continue
        sign = found.groupdict().get("sign", "").lower()
        if is_upper:
            return LabelRange(high=period[sign not in ("<", "under", "below")], has_high=False)
        return LabelRange(low=period[sign in (">", "over", "above")])
    return None


def _read_mask(text: str, domain: ComparisonKind) -> LabelMask | None:
    """Return the mask in which hidden characters stand for any one; at the end they may be missing."""
    if "*" not in text and not _CROSSED.search(text):
        return None
    if domain is ComparisonKind.DATE:
        text = re.sub(r"[_/]", "-", text)
        kept = text = f"{text}-**-**" if len(text) == 4 else text
    else:
        kept = text.rstrip("*") if "*" in text else text.rstrip("Xx")
    letters = ("." if letter == "*" else re.escape(letter) for letter in kept)
    tail = f".{{0,{len(text) - len(kept)}}}"
    return LabelMask(re.compile("".join(letters) + tail, re.IGNORECASE), len(text))


def _read_members(text: str, domain: ComparisonKind) -> LabelMembers | None:
    parts = _split_members(text)
    return LabelMembers(parts) if domain is ComparisonKind.TEXT and len(parts) > 1 else None


def _split_members(text: str) -> tuple[str, ...]:
    return tuple(part.strip("'\" ") for part in _BETWEEN.split(text) if part.strip("'\" "))
