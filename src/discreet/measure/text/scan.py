"""One text in, the identifiers in it out."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator

from discreet.measure.text import contacts, dates, names, numbers, places, plates, streets
from discreet.measure.text.languages import detect_language
from discreet.measure.text.own_names import PersonNames
from discreet.measure.text.refine import refine_spans
from discreet.measure.text.spans import TextSpan, resolve_spans

# What redaction writes is never read again as an identifier.
_TAG = re.compile(
    r"\[(?:NAME|PLACE|ZIP: \d{3}\*\*|DATE(?:: (?:\d{4}|'\d\d))?|AGE: 90\+|PHONE|FAX|EMAIL|SSN|MRN|PLAN|ACCOUNT|LICENSE|VEHICLE"
    r"|DEVICE|URL|IP|BIOMETRIC|PHOTO|ID)\]"
)
_MASK = "\x00"  # no pattern takes it, so that nothing found reaches into what was found before
_WORD = re.compile(r"[^\W\d_]+")
_DIGIT = re.compile(r"\d")
_MARKED = re.compile(r"\d[-/.] ?\d")
_THREE_DIGITS = re.compile(r"\d{3}|\d \d|\+\d|0\d")
_NONE = PersonNames()
_ROUNDS = 8
_TITLES_TEXT = """
dr mr mrs ms prof hr fr frau herr herrn mme mlle sr sra srta señor señora monsieur madame
"""
_TITLES = frozenset(_TITLES_TEXT.split())


def scan_text(text: str, own: PersonNames | None = None) -> list[TextSpan]:
    """Return the identifiers of `text`, disjoint and in its order.

    The text is scanned again with what was found masked until nothing more turns up, so that
    redacting twice changes nothing. Texts that go on yielding after many rounds are made to do so:
    they count as one identifier.
    """
    found: list[TextSpan] = []
    rounds = 0
    rest = _TAG.sub(lambda tag: _MASK * len(tag[0]), text) if "[" in text else text
    while spans := _find_spans(rest, own or _NONE):
        rounds += 1
        if rounds > _ROUNDS:
            return [TextSpan(0, len(text), "R", "ID")]
        found += spans
        rest = _mask_spans(rest, spans)
    return sorted(found, key=lambda span: span.start)


def _find_spans(text: str, own: PersonNames) -> list[TextSpan]:
    language = find_language(text)
    found = resolve_spans(find_by_rules(text, language, own))
    return refine_spans(text, found, language, own.words)


def find_language(text: str) -> str:
    """Return the language of a text; an empty string stands for none."""
    return detect_language({word.lower() for word in _WORD.findall(text)})


def _mask_spans(text: str, spans: list[TextSpan]) -> str:
    parts: list[str] = []
    end = 0
    for span in spans:
        parts += (text[end : span.start], _MASK * (span.end - span.start))
        end = span.end
    parts.append(text[end:])
    return "".join(parts)


def find_by_rules(text: str, language: str, own: PersonNames = _NONE) -> Iterator[TextSpan]:
    """Return what every rule finds whose signs or words occur in the text."""
    written = set(_WORD.findall(text))
    words = {word.lower() for word in written}
    lower = _lower_text(text)
    located = resolve_spans(_find_places(text, lower, written, words, language))
    yield from located
    starts = [place.start for place in located]
    for span in names.find_names(text, own.words, language):
        # `lives in Jackson`: the words before it say which of the two it is.
        before = bisect_right(starts, span.start) - 1
        if before < 0 or located[before].end < span.end:
            yield places.widen_place(text, span)
    yield from _by_words(text, lower, written, words, language)
    yield from _by_signs(text, lower)
    if _DIGIT.search(text):
        yield from _with_digits(text, lower, words)


def _find_places(
    text: str, lower: str, written: set[str], words: set[str], language: str
) -> Iterator[TextSpan]:
    for town in places.find_towns(text, language):
        yield places.widen_place(text, town)
    yield from places.find_towns_with_states(text, written)
    for place in streets.find_street_addresses(text, lower, written, words, language):
        yield places.widen_place(text, place)
    if _DIGIT.search(text):
        yield from streets.find_postcodes(text, words, language)


def _lower_text(text: str) -> str:
    """Return the text in lower case with every letter in its place (`İ` would become two)."""
    lower = text.lower()
    return (
        lower
        if len(lower) == len(text)
        else "".join(s.lower() if len(s.lower()) == 1 else s for s in text)
    )


def _by_words(
    text: str, lower: str, written: set[str], words: set[str], language: str
) -> Iterator[TextSpan]:
    yield from places.find_institutions(text, written)
    yield from names.find_lower_names(text, written, language)
    yield from names.find_kin(text)
    if not written.isdisjoint(_TITLES):
        yield from names.find_titled_names(text, language)
    if dates.has_months(written, text):
        yield from dates.find_written_dates(text, lower)
    if not words.isdisjoint(dates.HOLIDAY_WORDS):
        yield from dates.find_holidays(text)
    if not words.isdisjoint(dates.AGE_WORDS):
        yield from dates.find_old_words(text)


def _by_signs(text: str, lower: str) -> Iterator[TextSpan]:
    if "@" in text:
        yield from contacts.find_mail(text)
    if "at]" in lower or "at)" in lower:
        yield from contacts.find_hidden_mail(text)
    if "://" in text or "www." in lower:
        yield from contacts.find_urls(text)
    if "." in text:
        yield from contacts.find_images(text)
        yield from contacts.find_sites(text)
    if ":" in text:
        yield from contacts.find_ipv6(text)


def _with_digits(text: str, lower: str, words: set[str]) -> Iterator[TextSpan]:
    if _MARKED.search(text):
        yield from contacts.find_ipv4(text)
        yield from dates.find_numeric_dates(text)
        yield from dates.find_days(text)
        yield from dates.find_german_days(text)
    if _THREE_DIGITS.search(text):
        yield from contacts.find_phones(text)
        yield from contacts.find_short_phones(text)
        yield from numbers.find_grouped_numbers(text)
        yield from dates.find_compact_dates(text)
    yield from numbers.find_numbers(text)
    yield from plates.find_plates(text, lower, words)
    yield from dates.find_ages(text)
    if not words.isdisjoint(dates.ORDINAL_WORDS):
        yield from dates.find_ordinal_days(text)
    if not words.isdisjoint(dates.BIRTH_WORDS):
        yield from dates.find_birth_years(text)
