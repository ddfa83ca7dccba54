"""Ages and dates as Safe Harbor allows them: years, and `90+` for people over 89."""

from __future__ import annotations

import pyarrow as pa

from discreet.arrow import ArrowArray, pc
from discreet.policy.hierarchies.values import is_text, text_of

OVER_89 = "90+"
"""The one category of ages of 90 and more (45 CFR 164.514(b)(2)(i)(C))."""

_OLDEST = 90
_NUMBER = r"^(?P<age>[0-9]{1,3})(?:[.][0-9]*)?(?: ?(?:y|yr|yrs|years?|years? old))?$"
_RANGE = r"^[\[(]?(?P<low>[0-9]{1,3}) ?(?:-|–|to|,|;) ?(?P<high>[0-9]{1,3})[\])]?$"
_ABOVE = r"^(?:>=?|≥|over)? ?(?P<low>[0-9]{1,3}) ?(?:[+]|and (?:over|older|above)|or (?:over|older|more))?$"
_BELOW = r"^(?:<=?|≤|under) ?(?P<high>[0-9]{1,3})$"
_YEAR = r"(?P<year>(?:1[0-9]|2[0-2])[0-9]{2})"
_CLOCK = r"(?:[ T].*)?"
_YEARS = (
    rf"^{_YEAR}(?:[-/. ][0-9]{{1,2}}(?:[-/. ][0-9]{{1,2}}{_CLOCK})?)?$",
    rf"^{_YEAR}(?:0[1-9]|1[0-2])(?:[0-3][0-9])?$",
    rf"^[0-9]{{1,2}}[-/. ](?:[0-9]{{1,2}}|[A-Za-z]{{3,9}})[-/. ]{_YEAR}{_CLOCK}$",
    rf"^[A-Za-z]{{3,9}}[.]?(?: [0-9]{{1,2}},?)? {_YEAR}{_CLOCK}$",
    rf"^[0-9]{{1,2}}[-/.]{_YEAR}$",
)


def earliest_year(as_of: int) -> int:
    """Return the first year of birth of people who cannot be over 89 in the year `as_of`.

    >>> earliest_year(2026)
    1937
    """
    return as_of - _OLDEST + 1


def cap_ages(values: ArrowArray) -> ArrowArray:
    """Return ages in whole years as text, `90+` from 90 on.

    A range that starts at 90 or later is `90+`; one that reaches past 89 loses its upper end. What
    is no age goes missing.

    >>> cap_ages(pa.array([34, 89, 90, 104])).to_pylist()
    ['34', '89', '90+', '90+']
    >>> cap_ages(pa.array(["30-39", "85-94", "95+", "unknown"])).to_pylist()
    ['30-39', '85+', '90+', None]
    """
    texts = pc.utf8_trim_whitespace(text_of(values))
    age, _ = _extract_numbers(texts, _NUMBER, "age")
    low, high = _extract_numbers(texts, _RANGE, "low", "high")
    above, _ = _extract_numbers(texts, _ABOVE, "low")
    below, _ = _extract_numbers(texts, _BELOW, "high")
    none = pa.scalar(None, pa.string())
    capped = pc.if_else(pc.greater_equal(age, _OLDEST), OVER_89, age.cast(pa.string()))
    opened = pc.binary_join_element_wise(low.cast(pa.string()), "+", "")
    ranged = pc.case_when(
        pc.make_struct(pc.greater_equal(low, _OLDEST), pc.greater_equal(high, _OLDEST)),
        OVER_89,
        opened,
        pc.if_else(high.is_valid(), texts, none),
    )
    open_ended = pc.if_else(pc.greater_equal(above, _OLDEST), OVER_89, texts)
    under = pc.if_else(pc.less_equal(below, _OLDEST), texts, none)
    return pc.coalesce(capped, ranged, pc.if_else(above.is_valid(), open_ended, none), under)


def keep_years(values: ArrowArray, *, as_of: int) -> ArrowArray:
    """Return the year of each date as text, `90+` where it would reveal an age over 89.

    Any event of a person 90 years before `as_of` shows that the person is over 89, birth or
    not. What is no date, or does not say its century, goes missing.

    >>> keep_years(pa.array(["1950-03-01", "3/1/2020", "01.02.36", "1936-05-05"]), as_of=2026).to_pylist()
    ['1950', '2020', None, '90+']
    """
    years = _extract_years(values)
    is_old = pc.less(years, earliest_year(as_of))
    # Years after the one the table is looked at from are plans or errors; they stay what they are.
    return pc.if_else(is_old, OVER_89, years.cast(pa.string()))


def _extract_years(values: ArrowArray) -> ArrowArray:
    kind = values.type
    if pa.types.is_date(kind) or pa.types.is_timestamp(kind):
        return pc.year(values).cast(pa.int64())
    texts = text_of(values)
    if is_text(kind):
        texts = pc.utf8_trim_whitespace(texts)
    found = [_extract_numbers(texts, pattern, "year")[0] for pattern in _YEARS]
    return pc.coalesce(*found)


def _extract_numbers(texts: ArrowArray, pattern: str, *names: str) -> tuple[ArrowArray, ArrowArray]:
    """Return what the named groups of `pattern` hold as whole numbers, NULL where it does not fit."""
    fields = pc.extract_regex(texts, pattern)
    first, *rest = [pc.struct_field(fields, name).cast(pa.int64()) for name in names]
    return first, (rest[0] if rest else first)
