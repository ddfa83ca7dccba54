"""Dates in the forms people write them, and ages over 89 (C). A year alone may stay."""

from __future__ import annotations

import re
from calendar import monthrange
from collections.abc import Iterator

from discreet.measure.text.spans import TextSpan

_MONTHS = (
    r"jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sept?(?:ember)?|oct(?:ober)?|nov(?:ember)?"
    r"|dec(?:ember)?"
)
_FOREIGN = (
    r"januar|februar|märz|maerz|mai|juni|juli|oktober|dezember|janvier|février|fevrier|mars|avril|juin|juillet|août|aout"
    r"|septembre|octobre|novembre|décembre|decembre|enero|febrero|marzo|abril|mayo|junio|julio|agosto|septiembre|octubre"
    r"|noviembre|diciembre|gennaio|febbraio|aprile|maggio|giugno|luglio|settembre|ottobre|dicembre|janeiro|fevereiro|março"
    r"|maio|junho|julho|setembro|outubro|novembro|dezembro|januari|februari|maart|mei|augustus"
)
_WEEKDAY = (
    r"(?:(?:mon|tues?|wed(?:nes)?|thu(?:rs?)?|fri|sat(?:ur)?|sun)(?:day)?\.?,? {1,2}(?:the )?)"
)
_YEAR = r"(?P<year>(?:1[89]|20|21)\d\d(?!\d)|['’]\d\d(?!\d))"
_ORDINAL = r"(?:st|nd|rd|th)"
# Month names are rare enough to search for; what stands before them is matched backwards.
_MONTH = re.compile(
    rf"\b(?P<month>{_MONTHS}|{_FOREIGN})\b\.?"
    rf"(?:(?:[ \t-]{{1,2}}|, ?|/| de(?:l)? | of ){_YEAR}"
    rf"|[ \t-]{{1,2}}(?P<day>\d{{1,2}}){_ORDINAL}?(?![\d:/%]|\.\d|[ ]?(?:mg|mcg|ml|units?|kg|lbs?|tablets?|%)\b)"
    rf"(?:(?:,? {{1,2}}|,|-|/| of ){_YEAR.replace('year', 'year2')}|(?:, ?|-)(?P<short>\d\d)(?![\d:/]|[ ]?(?:mg|[ap]\.?m)))?"
    rf"(?:[ ]?(?:-|–|to|and|through|thru)[ ]?\d{{1,2}}{_ORDINAL}?(?![\w:/%])(?:,? {_YEAR.replace('year', 'year3')})?)?)?",
    re.IGNORECASE,
)
_DAY_BEFORE = re.compile(
    rf"(?<![\w./:])(?P<weekday>{_WEEKDAY})?(?:the )?(?P<day>\d{{1,2}})(?:{_ORDINAL}|(?P<dot>\.)|º)?(?:[ ]?(?:-|–|to|and|bis|und|et|au|y|al|a) ?\d{{1,2}}(?:{_ORDINAL}|\.)?)?"
    r"(?: of| day of| de)?[ \t-]{0,2}\Z",
    re.IGNORECASE,
)
_WEEKDAY_BEFORE = re.compile(rf"\b{_WEEKDAY}\Z", re.IGNORECASE)
_SHORT_YEAR = re.compile(
    r"[ \t.,-]{1,2}(?P<short>\d\d)(?![\d:/%.,]|[ ]?(?:mg|mcg|ml|units|[ap]\.?m|hours|minutes|days|weeks))",
    re.IGNORECASE,
)
_ALWAYS_MONTH_TEXT = """
january february july september october november december januar februar märz oktober dezember janvier février juillet août septembre octobre
décembre enero febrero septiembre octubre noviembre diciembre
"""
_ALWAYS_MONTH = frozenset(_ALWAYS_MONTH_TEXT.split())
_FOREIGN_SOMETIMES = frozenset(
    (
        "mai",
        "juni",
        "juli",
        "avril",
        "juin",
        "mars",
        "abril",
        "mayo",
        "junio",
        "julio",
        "agosto",
        "marzo",
    )
)
_SOMETIMES_MONTH = frozenset(
    (
        "march",
        "april",
        "may",
        "june",
        "august",
        "sept",
        "oct",
        "nov",
        "dec",
        "jan",
        "feb",
        "aug",
        "apr",
    )
)
_MONTH_CUE = re.compile(
    r"\b(?:in|since|last|next|until|till|by|early|late|mid|this|of|during|from|to|through|before|after|around|past|previous|every"
    r"|between|and|or|for|im|seit|ende|anfang|mitte|ab|bis|vom|letzten|nächsten|en|depuis|fin|début|mi|desde|hasta|finales de|principios de|mes de|mois de)[ -]{1,2}\Z",
    re.IGNORECASE,
)
_ISO = re.compile(
    r"\d(?<![\w./-]\d)(?P<year>(?<=1)[89]\d\d|(?<=2)[01]\d\d)(?P<mark>[-/.])(?P<month>\d{1,2})(?P=mark)(?P<day>\d{1,2})(?!\d|[-/]\d)"
)
_NUMERIC = re.compile(
    r"\d(?<![\w./-]\d)\d?(?P<mark>[-/.] ?)\d{1,2}(?P=mark)(?P<year>(?:1[89]|20|21)\d\d|\d\d)(?!\d|[-/]\d|\.\d|[a-zA-Z](?<!T))"
)
_MONTH_YEAR = re.compile(r"\d(?<![\w./-]\d)\d?[/-](?P<year>(?:19|20)\d\d)(?!\d|[-/.]\d)")
_COMPACT = re.compile(
    r"[12](?<!\w.)(?:(?<=1)9|(?<=2)0)\d\d(?:0[1-9]|1[0-2])(?:0[1-9]|[12]\d|3[01])(?!\w)"
)
_MONTH_DAY = re.compile(
    r"\d(?<![\w./$-]\d)\d?[/-]\d{1,2}(?!\w|[-/.]\d|[ ]?%)(?![ ]?(?:mg|mcg|ml|tab|tablet|strength|on the|out of)\b)",
    re.I,
)
_DATED = re.compile(
    r"\b(?:on|since|from|until|till|by|dated?|last|next|seen|visit|admitted|discharged?|through|thru|starting|started|due|before"
    r"|after|effective|admit|adm|dos|d/c|dc|labs?|returns?|appt|appointment|scheduled|for|surgery|between|to|and"
    rf"|{_WEEKDAY[:-2]}))(?:[ ]?(?:on|for|from|of|is|was|date|the))?[ :(,-]{{1,3}}\Z",
    re.IGNORECASE,
)
_SCORED = re.compile(
    r"\b(?:pain|score[sd]?|scale|strength|reflex(?:es)?|murmur|graded?|rated?|apgars?|gcs|motor|power|pulses?|bp|pressure|ratio"
    r"|criteria|alert|oriented|out|visual|acuity|vision|dtrs?|mmse|moca|phq)\b[^.\n]{0,40}\Z",
    re.IGNORECASE,
)
_RANGE_AFTER = re.compile(
    r"[ ]?(?:-|–|to|and|through|thru)[ ]?(?P<second>\d{1,2}/\d{1,2})(?![\w/]|\.\d)"
)
_DAY_OF_MONTH = re.compile(
    rf"\b(?:on|by|until|since|from|before|after) the (?P<day>\d{{1,2}}{_ORDINAL})(?=[ ]?(?:[.,;)\n]|\Z|at |and |for |with |to |of this |of last ))",
    re.IGNORECASE,
)
_HOLIDAY = re.compile(
    r"\b(?:christmas|thanksgiving|new year['’]?s|easter|halloween|labor day|memorial day|independence day|fourth of july"
    r"|4th of july|valentine['’]?s day|mother['’]?s day|father['’]?s day|hanukkah|yom kippur|ramadan|diwali)"
    rf"(?: (?:eve|day|sunday))?(?:,? (?:of |in )?{_YEAR})?",
    re.IGNORECASE,
)
_BORN = re.compile(
    r"\b(?:born|birth|dob|d\.o\.b\.?|birthday|birthdate|b\.)[^\n\x00]{0,24}\Z", re.IGNORECASE
)
_BIRTH_YEAR = re.compile(
    r"\b(?:born|dob|birth(?: ?year| ?date)?|year of birth)(?: (?:in|is|was|around|circa))?[ :,]{1,3}(?P<year>1[89]\d\d|20\d\d)(?![\w/-]|[.]\d)",
    re.I,
)
_OLD = re.compile(r"(?:9\d|1[0-3]\d)(?![\d%/]|\.\d)")
_OLD_AFTER = re.compile(
    r"[ -]{0,2}(?:(?:years?|yrs?)[ -]{0,2}(?:old|of age|young)|y\.? ?/?o\b|yo[mf]?\b|yr?[ /]?o\b|y\.o|(?:M|F|male|female)\b)",
    re.IGNORECASE,
)
_OLD_BEFORE = re.compile(
    r"\b(?:age|aged|turned|turning|turns|nearly|almost)[ :]{1,2}(?:of |at )?\Z", re.IGNORECASE
)
_OLD_WORDS = re.compile(
    r"\b(?P<words>ninety(?:[ -](?:one|two|three|four|five|six|seven|eight|nine))?|one hundred(?: and)?(?: \w{3,6})?)(?=[ -](?:years?|yrs?)[ -]?old)"
    r"|\b(?:aged?|turned|turning|turns|nearly|almost) (?P<spelled>ninety(?:[ -](?:one|two|three|four|five|six|seven|eight|nine))?)\b(?! ?(?:percent|minutes|days|m?g\b))"
    r"|\bin (?:his|her|their) (?:early |mid[ -]|late )?(?P<decade>nineties|90['’]?s)",
    re.IGNORECASE,
)
_HOLIDAY_NAMES = """
christmas thanksgiving new easter halloween labor memorial independence fourth july 4th th valentine mother father hanukkah yom
ramadan diwali valentines mothers fathers
"""
HOLIDAY_WORDS = frozenset(_HOLIDAY_NAMES.split())
BIRTH_WORDS = frozenset(("born", "dob", "birth"))
AGE_WORDS = frozenset(("ninety", "hundred", "nineties", "s"))
ORDINAL_WORDS = frozenset(("st", "nd", "rd", "th"))
# `may`, `mar` and the like in small letters are seldom months, and then a digit stands beside them.
_SELDOM = frozenset(("may", "mar", "mars", "march", "mai", "mei", "set"))
_ENGLISH = """
january february march april may june july august september october november december
jan feb mar apr jun jul aug sep sept oct nov dec
"""
_MONTH_WORDS = (
    frozenset(
        form
        for month in (*_ENGLISH.split(), *_FOREIGN.split("|"))
        for form in (month, month.title(), month.upper())
    )
    - _SELDOM
)
_SMALL_MONTH = re.compile(r"\d (?:of )?(?:may|mar|mars|march|mai|mei)\b|(?:may|mar|march) \d")
_MONTH_START = re.compile(
    r"(?:jan|feb|fév|f[eé]v|mar|mär|maer|apr|avr|abr|may|mai|mag|mei|jun|jul|jui|aug|aoû|aou|ago|sep|set|oct|okt|oto|ott|out|nov|dec|déc|dez|dic|ene|gen|giu|lug|m[aä]r)"
)


def has_months(written: set[str], text: str) -> bool:
    """Return whether a month's name is among the words of a text, as they are written."""
    return not written.isdisjoint(_MONTH_WORDS) or (
        not written.isdisjoint(_SELDOM) and _SMALL_MONTH.search(text) is not None
    )


def find_written_dates(text: str, lower: str) -> Iterator[TextSpan]:
    """Return dates with the month in letters: `March 14th, 2019`, `14 Mar 19`, `last March`.

    `lower` is the text in lower case, letter by letter: months are searched for in it.
    """
    end = 0
    for start in (found.start() for found in _MONTH_START.finditer(lower)):
        if start < end or (start and (lower[start - 1].isalpha() or lower[start - 1] == "_")):
            continue
        found = _MONTH.match(text, start)
        span = _date_span(text, found) if found else None
        if span is not None:
            end = span.end
            yield span


def _date_span(text: str, found: re.Match[str]) -> TextSpan | None:
    start, end = found.span()
    year = (
        found["year"]
        or found["year2"]
        or found["year3"]
        or (found["short"] and "'" + found["short"])
        or ""
    )
    before = _DAY_BEFORE.search(text, max(0, start - 40), start)
    if (
        before is not None
        and before["dot"]
        and not year
        and found["month"].istitle()
        and found["month"] == "May"
    ):
        before = None  # a sentence that begins with the verb
    if before is not None and 1 <= int(before["day"]) <= 31:
        start = before.start()
        if not year:
            year, end = _short_year(text, found)
    elif found["day"] is not None:
        if not 1 <= int(found["day"]) <= 31 or _is_verb(found):
            return None
        weekday = _WEEKDAY_BEFORE.search(text, max(0, start - 14), start)
        start = weekday.start() if weekday else start
    elif not (year and not _is_verb(found)) and not _is_month(text, found):
        return None
    if text[end - 1] == ".":  # the end of a sentence rather than of an abbreviation
        end -= 1
    return TextSpan(start, end, "C", "DATE", _year_to_keep(text, start, year))


def _short_year(text: str, found: re.Match[str]) -> tuple[str, int]:
    """Return the two digits after `14 Mar`, if any, and where the date ends."""
    if found["day"] is not None:
        is_year = len(found["day"]) == 2 and found.end() == found.end("day")
        return ("'" + found["day"], found.end()) if is_year else ("", found.end("month"))
    short = _SHORT_YEAR.match(text, found.end())
    return ("'" + short["short"], short.end()) if short else ("", found.end())


def _is_verb(found: re.Match[str]) -> bool:
    return found["month"] in ("may", "march", "mar")


def _is_month(text: str, found: re.Match[str]) -> bool:
    """Return whether a month's name alone means the month, not a verb or a person."""
    month = found["month"].lower()
    if month in _ALWAYS_MONTH:
        return True
    if month in _FOREIGN_SOMETIMES:
        return _MONTH_CUE.search(text, max(0, found.start() - 20), found.start()) is not None
    if found["month"][0].islower() or month not in _SOMETIMES_MONTH:
        return False
    return _MONTH_CUE.search(text, max(0, found.start() - 20), found.start()) is not None


def find_numeric_dates(text: str) -> Iterator[TextSpan]:
    """Return dates in digits: `03/14/2019`, `14.03.2019`, `2019-03-14`, `3/2019`."""
    for found in _ISO.finditer(text):
        if _is_day(found["month"], found["day"]):
            yield TextSpan(*found.span(), "C", "DATE", found[0][:4])
    for found in _NUMERIC.finditer(text):
        one, two, year = re.split(r"[-/.] ?", found[0])
        dotted = found["mark"][0] == "." and len(year) == 2 and len(two) == 1
        if dotted:
            dotted = not _GERMAN_DATED.search(text, max(0, found.start() - 12), found.start())
        if not dotted and (_is_day(one, two) or _is_day(two, one)):
            kept = year if len(year) == 4 else "'" + year
            weekday = _WEEKDAY_BEFORE.search(text, max(0, found.start() - 14), found.start())
            start = weekday.start() if weekday else found.start()
            yield TextSpan(start, found.end(), "C", "DATE", _year_to_keep(text, start, kept))
    for found in _MONTH_YEAR.finditer(text):
        if 1 <= int(re.split(r"[/-]", found[0])[0]) <= 12:
            yield TextSpan(*found.span(), "C", "DATE", found["year"])


def find_compact_dates(text: str) -> Iterator[TextSpan]:
    """Return dates of eight digits without marks: `20190314`."""
    for found in _COMPACT.finditer(text):
        yield TextSpan(*found.span(), "C", "DATE", found[0][:4])


_GERMAN_DAY = re.compile(r"\d(?<![\w./-]\d)\d?\.\d{1,2}\.(?!\d)")
_GERMAN_DATED = re.compile(
    r"\b(?:am|vom|bis|seit|ab|zum|den|dem|der|und|kontrolle|termin) \Z", re.IGNORECASE
)


def find_german_days(text: str) -> Iterator[TextSpan]:
    """Return days without a year as German writes them: `am 12.3.`."""
    for found in _GERMAN_DAY.finditer(text):
        day, month = found[0].rstrip(".").split(".")
        if _is_day(month, day) and _GERMAN_DATED.search(
            text, max(0, found.start() - 12), found.start()
        ):
            yield TextSpan(*found.span(), "C", "DATE")


def find_days(text: str) -> Iterator[TextSpan]:
    """Return days without a year, such as `3/14`, where a word before them means a date."""
    for found in _MONTH_DAY.finditer(text):
        one, two = re.split(r"[/-]", found[0])
        start = found.start()
        if "-" in found[0] or not (_is_day(one, two) or (_is_day(two, one) and int(one) > 12)):
            continue
        if not _DATED.search(text, max(0, start - 28), start) or _SCORED.search(
            text, max(0, start - 60), start
        ):
            continue
        weekday = _WEEKDAY_BEFORE.search(text, max(0, start - 14), start)
        yield TextSpan(weekday.start() if weekday else start, found.end(), "C", "DATE")
        if second := _RANGE_AFTER.match(text, found.end()):
            yield TextSpan(*second.span("second"), "C", "DATE")


def find_ordinal_days(text: str) -> Iterator[TextSpan]:
    """Return days such as `the 14th` after a word that means a date."""
    return (TextSpan(*found.span("day"), "C", "DATE") for found in _DAY_OF_MONTH.finditer(text))


def find_holidays(text: str) -> Iterator[TextSpan]:
    """Return days that have a name."""
    return (
        TextSpan(*found.span(), "C", "DATE", found["year"] or "")
        for found in _HOLIDAY.finditer(text)
    )


def find_ages(text: str) -> Iterator[TextSpan]:
    """Return ages over 89 in digits."""
    for found in _OLD.finditer(text):
        start, end = found.span()
        if start and (text[start - 1].isalnum() or text[start - 1] in "./_$"):
            continue
        if _OLD_AFTER.match(text, end) or (
            _OLD_BEFORE.search(text, max(0, start - 14), start)
            and not text[end : end + 1].isalnum()
        ):
            yield TextSpan(start, end, "C", "AGE")


def find_old_words(text: str) -> Iterator[TextSpan]:
    """Return ages over 89 in words."""
    return (
        TextSpan(*found.span(str(found.lastgroup)), "C", "AGE")
        for found in _OLD_WORDS.finditer(text)
    )


def find_birth_years(text: str) -> Iterator[TextSpan]:
    """Return years of birth, which may reveal an age over 89."""
    return (
        TextSpan(*found.span("year"), "C", "DATE", found["year"])
        for found in _BIRTH_YEAR.finditer(text)
    )


def _year_to_keep(text: str, start: int, year: str) -> str:
    """Return the part of a year that may stay; two digits of a birth year may hide an age over 89."""
    year = year.replace("’", "'")
    is_short = year.startswith("'")
    return "" if is_short and _BORN.search(text, max(0, start - 34), start) else year


def _is_day(month: str, day: str) -> bool:
    return 1 <= int(month) <= 12 and 1 <= int(day) <= monthrange(2000, int(month))[1]
