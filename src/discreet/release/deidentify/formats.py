"""Values replaced by others of the same form: digits by digits, letters by letters of their case."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from discreet.arrow import ArrowArray, pc
from discreet.errors import UnsuitableValues
from discreet.formatting import format_count
from discreet.measure.profile.forms import Numbers, ValueForm, forms_of
from discreet.policy.hierarchies.values import text_of
from discreet.release.deidentify.ff1 import FF1, LEAST_DOMAIN, NumeralDomain
from discreet.release.deidentify.keys import SecretKey

# What stays in place must reveal nothing: letters, marks and digits of other scripts do.
_NOT_KEPT = r"[^0-9A-Za-z\p{P}\p{S}\p{Z}]"
_REMEDY = "Give this column a keyed or a reversible pseudonym instead."


def encrypt_formats(values: ArrowArray, *, key: SecretKey, domain: str, column: str) -> ArrowArray:
    """Return a pseudonym of the same form for each value; integers stay integers."""
    cipher = FF1(key.derive("format-preserving", domain))
    return _permute_values(values, cipher.encrypt, column)


def decrypt_formats(values: ArrowArray, *, key: SecretKey, domain: str, column: str) -> ArrowArray:
    """Return the values behind pseudonyms that `encrypt_formats` made."""
    cipher = FF1(key.derive("format-preserving", domain))
    return _permute_values(values, cipher.decrypt, column)


def _permute_values(
    values: ArrowArray, permute: Callable[[Numbers, NumeralDomain], Numbers], column: str
) -> ArrowArray:
    texts = text_of(values)
    forms = pc.dictionary_encode(forms_of(texts))
    known = [ValueForm(pattern) for pattern in forms.dictionary.to_pylist()]
    codes = forms.indices.to_numpy(zero_copy_only=False)
    _refuse_unsuitable(texts, known, codes, column)
    given = np.array(texts.to_pylist(), dtype=object)
    found = np.empty(len(given), dtype=object)
    order = np.argsort(codes, kind="stable")
    starts = np.searchsorted(codes[order], np.arange(len(known) + 1))
    for form, first, last in zip(known, starts[:-1], starts[1:], strict=True):
        rows = order[first:last]
        found[rows] = form.texts(_walk(form, form.numbers(given[rows].tolist()), permute))
    if pa.types.is_integer(values.type) and values.type != pa.uint64():
        return _parse_integers(found, column)
    return pa.array(found.tolist(), pa.string())


def _walk(
    form: ValueForm, numbers: Numbers, permute: Callable[[Numbers, NumeralDomain], Numbers]
) -> Numbers:
    """Permute until each number is back in its part (cycle walking; Black & Rogaway 2002)."""
    domain, wanted = _numeral_domain(form), form.region(numbers)
    found = permute(numbers, domain)
    while len(astray := np.flatnonzero(form.region(found) != wanted)):
        found[astray] = permute(found[astray], domain)
    return found


def _numeral_domain(form: ValueForm) -> NumeralDomain:
    """Return what FF1 permutes: the values of this form, or the next power of two."""
    tweak = "".join(form.pattern[place] for place in form.places).encode()
    if len(set(form.radices)) == 1:
        return NumeralDomain(form.radices[0], len(form.radices), tweak)
    return NumeralDomain(2, (form.size - 1).bit_length(), tweak)


def _refuse_unsuitable(
    texts: ArrowArray, forms: list[ValueForm], codes: NDArray[np.int64], column: str
) -> None:
    foreign = pc.sum(pc.match_substring_regex(texts, _NOT_KEPT)).as_py() or 0
    if foreign:
        raise UnsuitableValues(
            f"In column '{column}', {format_count(foreign, 'value has', 'values have')} letters or digits "
            f"outside A–Z, a–z and 0–9, which a format-preserving pseudonym would leave in place. {_REMEDY}"
        )
    is_small = np.array([form.size < LEAST_DOMAIN for form in forms], dtype=bool)
    short = int(is_small[codes].sum()) if len(codes) else 0
    if short:
        raise UnsuitableValues(
            f"In column '{column}', {format_count(short, 'value is', 'values are')} too short to be "
            f"format-preserving: fewer "
            f"than a million values look alike (six digits, or five letters, are enough). {_REMEDY}"
        )


def _parse_integers(texts: NDArray[Any], column: str) -> ArrowArray:
    try:
        return pa.array([int(text) for text in texts], pa.int64())
    except (OverflowError, pa.ArrowException):
        pass
    raise UnsuitableValues(
        f"A pseudonym of column '{column}' has more digits than an integer can hold. "
        "Store the column as text first."
    )
