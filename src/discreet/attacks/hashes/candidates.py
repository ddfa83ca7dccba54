"""Guesses an adversary would hash: patterns, lists, what it knows, and the usual guesses."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np
import pyarrow as pa

from discreet.arrow import ArrowArray, pc
from discreet.attacks.hashes.patterns import GuessPattern, read_guess_pattern
from discreet.engines.engine import Kind, Table
from discreet.measure.profile.forms import ValueForm, forms_of
from discreet.measure.values import distinct_values
from discreet.policy.hierarchies.values import text_of

# Placeholders for missing values, which were hashed with the rest.
DEFAULTS = ("", "0", "1", "-", "n/a", "N/A", "NA", "NULL", "null", "None", "unknown", "test")
_DATE_FORMS = ("%Y-%m-%d", "%d.%m.%Y", "%m/%d/%Y", "%d/%m/%Y", "%Y%m%d")
_YEARS = ("1900-01-01", "2031-01-01")
_DIGITS = "[0-9]{1,6}"
_LETTERS = {"0": "0123456789", "A": "ABCDEFGHIJKLMNOPQRSTUVWXYZ", "a": "abcdefghijklmnopqrstuvwxyz"}


@dataclass(frozen=True)
class Guesses:
    """A list of guesses: what it is called, how many there are, and the texts in batches."""

    name: str
    size: int
    batches: Callable[[], Iterator[ArrowArray]]


def from_pattern(pattern: GuessPattern) -> Guesses:
    """Return all texts that fit a pattern."""
    return Guesses(f"the pattern {pattern.text}", pattern.size, pattern.batches)


def from_texts(name: str, texts: ArrowArray) -> Guesses:
    """Return the texts themselves, each once."""
    once = pc.unique(texts).drop_null()
    return Guesses(name, len(once), lambda: iter([once]))


def from_table(table: Table, *, skip: Collection[str] = ()) -> tuple[Guesses, ...]:
    """Return the values of each column, with the variations that people make before they hash.

    As they are, in capitals, in small letters, and their digits alone: phone and card numbers are
    hashed with and without what separates them.
    """
    found: list[Guesses] = []
    for column in table.columns:
        if column.name in skip or column.kind in (Kind.BOOLEAN, Kind.REAL):
            continue
        texts = text_of(distinct_values(table.engine, table.relation, column))
        if len(texts):
            name = f"column '{column.name}' of {table.label}"
            found.append(from_texts(name, _vary_texts(texts)))
    return tuple(found)


def from_forms(table: Table, *, limit: int) -> tuple[Guesses, ...]:
    """Return all texts of the same form as the values of a column, where they are few enough.

    Who knows a few medallions knows what all of them look like.
    """
    found: list[Guesses] = []
    for column in table.columns:
        if column.kind not in (Kind.TEXT, Kind.INTEGER):
            continue
        texts = text_of(distinct_values(table.engine, table.relation, column))
        if not len(texts):
            continue
        shapes = [_form_shape(form) for form in pc.unique(forms_of(texts)).to_pylist()]
        size = sum(ValueForm(form).size for form in pc.unique(forms_of(texts)).to_pylist())
        if size <= limit:
            pattern = GuessPattern(column.name, tuple(shapes))
            name = f"texts of the form of column '{column.name}' of {table.label}"
            found.append(Guesses(name, size, pattern.batches))
    return tuple(sorted(found, key=lambda guesses: guesses.size))


def common_guesses() -> tuple[Guesses, ...]:
    """Return what is tried against any hash: fillers, numbers of up to six digits, and dates."""
    return (
        from_texts("usual fillers", pa.array(DEFAULTS)),
        from_texts("dates since 1900", _date_guesses()),
        Guesses("numbers of up to six digits", *_number_guesses()),
    )


def total_guesses(guesses: Sequence[Guesses]) -> int:
    """Return how many guesses there are together."""
    return sum(each.size for each in guesses)


def _number_guesses() -> tuple[int, Callable[[], Iterator[ArrowArray]]]:
    pattern = read_guess_pattern(_DIGITS)
    return pattern.size, pattern.batches


@cache
def _date_guesses() -> ArrowArray:
    days = pa.array(np.arange(*_YEARS, dtype="datetime64[D]"))
    stamps = days.cast(pa.timestamp("s"))
    return pa.concat_arrays(
        [pc.strftime(stamps, format=form).cast(pa.string()) for form in _DATE_FORMS]
    )


def _vary_texts(texts: ArrowArray) -> ArrowArray:
    plain = pc.utf8_trim_whitespace(texts.cast(pa.string()))
    digits = pc.replace_substring_regex(plain, r"[^0-9]", "")
    return pa.concat_arrays(
        [
            texts.cast(pa.string()),
            plain,
            pc.utf8_lower(plain),
            pc.utf8_upper(plain),
            digits.filter(pc.not_equal(digits, "")),
        ]
    )


def _form_shape(form: str) -> tuple[str, ...]:
    return tuple(_LETTERS.get(letter, letter) for letter in form)
