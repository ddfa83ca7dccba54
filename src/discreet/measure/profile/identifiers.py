"""Direct identifiers by content: patterns the engine counts, numbers whose check digits we test."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from discreet.measure.text import checksums

# The 18 kinds of 45 CFR 164.514(b)(2)(i), HIPAA's Safe Harbor, by their letters.
SAFE_HARBOR = {
    "A": "names",
    "B": "geographic units smaller than a state",
    "C": "dates (except year) and ages over 89",
    "D": "telephone numbers",
    "E": "fax numbers",
    "F": "e-mail addresses",
    "G": "social security numbers",
    "H": "medical record numbers",
    "I": "health plan beneficiary numbers",
    "J": "account numbers",
    "K": "certificate and license numbers",
    "L": "vehicle identifiers and plates",
    "M": "device identifiers and serial numbers",
    "N": "URLs",
    "O": "IP addresses",
    "P": "biometric identifiers",
    "Q": "full-face photographs",
    "R": "any other unique number or code",
}


@dataclass(frozen=True)
class IdentifierPattern:
    """A shape of text that the engine counts over all rows.

    `regex` is a search, written with what RE2, PostgreSQL and Java read alike: bracket classes,
    bounded repeats, no backslash. `rule` is what a match means: "identifier" kinds decide a role
    when a share of `least` of the rows match, "trace" kinds when any row does, "form" only
    describes the column.
    """

    name: str
    regex: str
    rule: str = "form"
    safe_harbor: str | None = None
    least: float = 0.2


_WORD = "[A-Za-z0-9._%+-]+"
_START, _END = "(^|[^0-9A-Za-z])", "([^0-9A-Za-z]|$)"
_OCTET = "(25[0-5]|2[0-4][0-9]|1[0-9][0-9]|[1-9]?[0-9])"
_HEX = "[0-9A-Fa-f]"

PATTERNS = (
    IdentifierPattern(
        "e-mail address", f"{_WORD}@[A-Za-z0-9-]+([.][A-Za-z0-9-]+)*[.][A-Za-z]+", "trace", "F"
    ),
    IdentifierPattern(
        "US social security number",
        f"{_START}[0-8][0-9][0-9]-[0-9][0-9]-[0-9][0-9][0-9][0-9]{_END}",
        "trace",
        "G",
    ),
    IdentifierPattern(
        "phone number",
        "^([+]|00)[1-9][0-9]*([ ()/.-]+[0-9]+)+$"
        "|^[+][1-9][0-9]{8,14}$"
        "|^[(]?[2-9][0-9][0-9][)]?[ .-][ ]?[2-9][0-9][0-9][ .-][0-9][0-9][0-9][0-9]$"
        "|^[(]?0[1-9][0-9]{0,4}[)]?[ /-][ ]?[0-9][0-9 -]{4,10}$"  # Germany, Britain, the Netherlands
        "|^0[1-9]([ .-]?[0-9]{2}){4}$"  # France
        "|^[4-9][0-9]{2}[ .-][0-9]{3}[ .-][0-9]{3}$"  # Spain, Poland
        "|^[1-9][0-9][ .-][0-9]{3}[ .-][0-9]{2}[ .-][0-9]{2}$"
        "|^[6-9][0-9]{2}([ .-][0-9]{2}){3}$"
        "|^3[0-9]{2}[ ./-][0-9]{6,7}$",  # Italy
        "identifier",
        "D",
    ),
    IdentifierPattern("URL", "^(https?|ftp)://[^ ]+$|^www[.][^ ]+[.][a-z]+", "identifier", "N"),
    IdentifierPattern("IP address", f"^{_OCTET}([.]{_OCTET}){{3}}(/[0-9]+)?$", "identifier", "O"),
    IdentifierPattern(
        "IPv6 address",
        f"^({_HEX}{{1,4}}:){{7}}{_HEX}{{1,4}}$|^({_HEX}{{1,4}}:){{1,6}}(:{_HEX}{{1,4}}){{1,6}}$"
        f"|^({_HEX}{{1,4}}:){{1,7}}:$|^::({_HEX}{{1,4}}:){{0,6}}{_HEX}{{1,4}}$",
        "identifier",
        "O",
    ),
    IdentifierPattern("MAC address", f"^{_HEX}{{2}}([:-]{_HEX}{{2}}){{5}}$", "identifier", "M"),
    IdentifierPattern("UUID", f"^{_HEX}{{8}}(-{_HEX}{{4}}){{3}}-{_HEX}{{12}}$", "identifier", "R"),
    IdentifierPattern(
        "hash or token", f"^({_HEX}{{32}}|{_HEX}{{40}}|{_HEX}{{64}})$", "identifier", "R"
    ),
    IdentifierPattern(
        "UK national insurance number",
        "^[A-CEGHJ-PR-TW-Z][A-CEGHJ-NPR-TW-Z] ?[0-9]{2} ?[0-9]{2} ?[0-9]{2} ?[A-D]$",
        "identifier",
        "G",
    ),
    IdentifierPattern("Danish CPR number", "^[0-3][0-9][01][0-9]{3}-[0-9]{4}$", "identifier", "G"),
    IdentifierPattern(
        "vehicle identification number",
        "^[A-HJ-NPR-Z][A-HJ-NPR-Z0-9]{10}[A-HJ-NPR-Z0-9]{2}[0-9]{4}$"
        "|^[0-9][A-HJ-NPR-Z][A-HJ-NPR-Z0-9]{9}[A-HJ-NPR-Z0-9]{2}[0-9]{4}$",
        "identifier",
        "L",
    ),
    IdentifierPattern(
        "license plate",
        "^[A-ZÄÖÜ]{1,3}[ -][A-Z]{1,2}[ -]?[1-9][0-9]{0,3}[EH]?$"  # Germany
        "|^[A-Z]{2}-[0-9]{3}-[A-Z]{2}$|^[A-Z]{2} ?[0-9]{3} ?[A-Z]{2}$"  # France, Italy
        "|^[0-9]{4}[ -]?[BCDFGHJKLMNPRSTVWXYZ]{3}$"  # Spain
        "|^[A-Z]{2}[0-9]{2} ?[A-Z]{3}$"  # Britain
        "|^([A-Z]{2}-[0-9]{2}-[A-Z0-9]{2}|[0-9]{2}-[A-Z]{2,3}-[A-Z0-9]{1,2}|[A-Z]-[0-9]{3}-[A-Z]{2})$",
        "identifier",
        "L",
        0.7,
    ),
    IdentifierPattern("number and word", "^[0-9]+[A-Za-z]? +[^0-9 ]|[^0-9 ] +[0-9]+ ?[A-Za-z]?$"),
    IdentifierPattern("free text", "^[^ ]+( +[^ ]+){5,}"),
    IdentifierPattern("day", "^[0-9]{4}[-/.][0-9]{1,2}[-/.][0-9]{1,2}([ T].*)?$"),
    IdentifierPattern(
        "day in local order", "^[0-9]{1,2}[-/.][0-9]{1,2}[-/.]([0-9]{4}|[0-9]{2})([ T].*)?$"
    ),
    IdentifierPattern("UK postcode", "^[A-Z]{1,2}[0-9][A-Z0-9]? [0-9][A-Z]{2}$"),
    IdentifierPattern("Canadian postcode", "^[A-Z][0-9][A-Z] ?[0-9][A-Z][0-9]$"),
    IdentifierPattern("Dutch postcode", "^[1-9][0-9]{3} ?[A-Z]{2}$"),
    IdentifierPattern("Polish postcode", "^[0-9]{2}-[0-9]{3}$"),
    IdentifierPattern("five digits", "^([A-Z]{1,2}-)?[0-9]{5}(-[0-9]{4})?$"),
    IdentifierPattern("German municipality key", "^(0[1-9]|1[0-6])[0-9]{6}$"),
    IdentifierPattern(
        "NUTS code",
        "^(AT|BE|BG|CH|CY|CZ|DE|DK|EE|EL|ES|FI|FR|HR|HU|IE|IT|LT|LU|LV|MT|NL|NO|PL|PT|RO|SE|SI|SK|UK)"
        "[0-9A-Z]{1,3}$",
    ),
    IdentifierPattern("ATC code", "^[ABCDGHJLMNPRSV][0-9]{2}[A-Z]{1,2}([0-9]{2})?$"),
    IdentifierPattern("OPS code", "^[135689]-[0-9]{2}[0-9a-z]([.][0-9a-z]{1,2})?$"),
    IdentifierPattern(
        "ICD-10 code",
        "^[A-TV-Z][0-9][0-9A-Z][.][0-9A-Z-]{1,4}[*+!]?[AGVZ]?$|^[A-TV-Z][0-9][0-9][0-9]?$",
    ),
)
PATTERN = {pattern.name: pattern for pattern in PATTERNS}


@dataclass(frozen=True)
class CheckedNumber:
    """A kind of number with check digits.

    `chance` is the share of arbitrary texts of this shape that pass: what an unrelated column of
    such numbers would show.
    """

    name: str
    safe_harbor: str
    shape: re.Pattern[str]
    passes: Callable[[str], bool]
    chance: float


def _define_number(
    name: str, safe_harbor: str, shape: str, passes: Callable[[str], bool], chance: float
) -> CheckedNumber:
    return CheckedNumber(name, safe_harbor, re.compile(shape), passes, chance)


_CARD = r"(?:4\d{12}(?:\d{3}){0,2}|5[1-5]\d{14}|2[2-7]\d{14}|3[47]\d{13}|6(?:011|5\d\d)\d{12,15})"

NUMBERS = (
    _define_number("payment card number", "J", _CARD, checksums.passes_luhn, 1 / 10),
    _define_number("IBAN", "J", r"[A-Z]{2}\d{2}[A-Z0-9]{11,30}", checksums.passes_iban, 1 / 97),
    _define_number("UK NHS number", "H", r"\d{10}", checksums.passes_nhs, 1 / 11),
    _define_number("Dutch BSN", "G", r"\d{9}", checksums.passes_bsn, 1 / 11),
    _define_number("Spanish DNI or NIE", "G", r"[\dXYZ]\d{7}[A-Z]", checksums.passes_dni, 1 / 23),
    _define_number(
        "French NIR", "G", r"[1-8]\d{4}(?:\d{2}|2A|2B)\d{8}", checksums.passes_nir, 1 / 97
    ),
    _define_number("German tax id", "G", r"[1-9]\d{10}", checksums.passes_german_tax_id, 1 / 10),
    _define_number(
        "Italian codice fiscale",
        "G",
        r"[A-Z]{6}[\dLMNP-V]{2}[A-EHLMPR-T][\dLMNP-V]{2}[A-Z][\dLMNP-V]{3}[A-Z]",
        checksums.passes_codice_fiscale,
        1 / 26,
    ),
    _define_number(
        "Swedish personnummer", "G", r"(?:\d{2})?\d{10}", checksums.passes_personnummer, 1 / 10
    ),
    _define_number(
        "Finnish personal identity code",
        "G",
        r"\d{6}[+A-FU-Y]?\d{3}[0-9A-FHJ-NPR-Y]",
        checksums.passes_hetu,
        1 / 31,
    ),
    _define_number(
        "Norwegian fødselsnummer", "G", r"\d{11}", checksums.passes_fodselsnummer, 1 / 100
    ),
    _define_number("Polish PESEL", "G", r"\d{11}", checksums.passes_pesel, 1 / 10),
    _define_number("Brazilian CPF", "G", r"\d{11}", checksums.passes_cpf, 1 / 100),
    _define_number("Indian Aadhaar number", "G", r"[2-9]\d{11}", checksums.passes_verhoeff, 1 / 10),
    _define_number("Swiss AHV number", "G", r"756\d{10}", checksums.passes_ean13, 1 / 10),
    _define_number("Australian tax file number", "G", r"\d{9}", checksums.passes_tfn, 1 / 11),
    _define_number(
        "Australian Medicare number",
        "I",
        r"[2-6]\d{9,10}",
        checksums.passes_australian_medicare,
        1 / 10,
    ),
    _define_number("Canadian SIN", "G", r"[1-79]\d{8}", checksums.passes_luhn, 1 / 10),
    _define_number("Portuguese NIF", "G", r"[1-9]\d{8}", checksums.passes_portuguese_nif, 1 / 10),
    _define_number(
        "Belgian national number", "G", r"\d{11}", checksums.passes_belgian_number, 2 / 97
    ),
    _define_number(
        "Chinese resident number",
        "G",
        r"[1-9]\d{5}(?:18|19|20)\d{9}[\dX]",
        checksums.passes_chinese_number,
        1 / 11,
    ),
    _define_number(
        "German health insurance number", "I", r"[A-Z]\d{9}", checksums.passes_kvnr, 1 / 10
    ),
    _define_number(
        "German pension insurance number",
        "G",
        r"\d{2}[0-9]\d[01]\d{3}[A-Z]\d{3}",
        checksums.passes_rvnr,
        1 / 10,
    ),
    _define_number("Spanish social security number", "G", r"\d{12}", checksums.passes_nuss, 1 / 97),
    _define_number("Polish NIP", "G", r"[1-9]\d{9}", checksums.passes_nip, 1 / 11),
    _define_number("US provider number (NPI)", "K", r"[12]\d{9}", checksums.passes_npi, 1 / 10),
    _define_number(
        "French provider number (RPPS)", "K", r"[18]0\d{9}", checksums.passes_luhn, 1 / 10
    ),
    _define_number("IMEI", "M", r"\d{15}", checksums.passes_luhn, 1 / 10),
    _define_number(
        "vehicle identification number",
        "L",
        r"(?=.*\d)[A-HJ-NPR-Z\d]{8}[\dX][A-HJ-NPR-Z\d]{8}",
        checksums.passes_vin,
        1 / 11,
    ),
)

# A false alarm per column and kind: with 25 kinds and 100 columns, 1 draft in 400 holds one.
_ALARM = 1e-6
_SEPARATORS = re.compile(r"[\s./-]")


@dataclass(frozen=True)
class ChecksumResult:
    """How many of the distinct values of a shape pass its check digits, against chance."""

    number: CheckedNumber
    fits: int
    passed: int
    surprise: float  # upper bound on the probability of this many passes by chance


def recognize_number(values: Iterable[str]) -> ChecksumResult | None:
    """Return the kind of number most values are, or None when chance explains what passes.

    The rule: at least half of the distinct values have the shape, at least half of these pass, and
    as many passes among arbitrary values would have a probability below one in a million
    (Chernoff's bound, 1952, on the binomial tail). Where one arbitrary number in ten passes, seven
    passes out of seven are needed, so a handful of lucky order numbers are no card numbers.
    """
    compact = [_SEPARATORS.sub("", value).upper() for value in values]
    verdicts = [
        verdict
        for number in NUMBERS
        if (verdict := _test_check_digits(number, compact)) is not None
        and verdict.surprise < _ALARM
    ]
    return min(verdicts, key=lambda verdict: verdict.surprise, default=None)


def _test_check_digits(number: CheckedNumber, values: list[str]) -> ChecksumResult | None:
    shaped = [value for value in values if number.shape.fullmatch(value)]
    if 2 * len(shaped) < len(values) or not shaped:
        return None
    passed = sum(number.passes(value) for value in shaped)
    if 2 * passed < len(shaped):
        return None
    surprise = chance_of(passed, out_of=len(shaped), chance=number.chance)
    return ChecksumResult(number, len(shaped), passed, surprise)


def chance_of(passed: int, *, out_of: int, chance: float) -> float:
    """Return an upper bound on P(X >= passed) for X binomial (`out_of`, `chance`).

    exp(-n KL(passed/n || chance)) (Chernoff 1952); 1 when passing is no rarer than chance.

    >>> chance_of(6, out_of=6, chance=0.1) <= 1.0000001e-06
    True
    """
    share = passed / out_of
    if share <= chance:
        return 1.0
    divergence = share * math.log(share / chance)
    if share < 1:
        divergence += (1 - share) * math.log((1 - share) / (1 - chance))
    return math.exp(-out_of * divergence)
