"""Format-preserving pseudonyms keep the form, can be undone, and refuse what would leak."""

from __future__ import annotations

import re
import string

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.errors import UnsuitableValues
from discreet.measure.profile.forms import ValueForm, forms_of
from discreet.release.deidentify.formats import decrypt_formats, encrypt_formats
from discreet.release.deidentify.keys import SecretKey

KEY, OTHER = SecretKey(bytes(range(32))), SecretKey(bytes(range(1, 33)))


def encrypted(
    values: list, key: SecretKey = KEY, domain: str = "", kind: pa.DataType | None = None
):
    return encrypt_formats(pa.array(values, kind), key=key, domain=domain, column="id")


def decrypted(values: pa.Array, key: SecretKey = KEY, domain: str = "") -> list:
    return decrypt_formats(values, key=key, domain=domain, column="id").to_pylist()


# A core that is long enough, and around it anything that may stay in place.
letters = string.ascii_letters + string.digits + "-/. ()–€"
texts = st.tuples(
    st.text(letters, max_size=6), st.from_regex(r"[0-9A-Za-z]{6}", fullmatch=True)
).map("".join)


@settings(max_examples=60)
@given(st.lists(texts, min_size=1, max_size=20, unique=True))
def test_the_form_is_kept_and_different_values_stay_different(values: list[str]):
    found = encrypted(values)
    assert forms_of(found) == forms_of(pa.array(values))
    assert len(set(found.to_pylist())) == len(values)
    assert decrypted(found) == values
    assert encrypted(values[::-1]).to_pylist() == found.to_pylist()[::-1]


@given(st.lists(st.integers(-(10**18), 10**18), min_size=1, unique=True))
def test_integers_stay_integers_and_agree_with_their_texts(numbers: list[int]):
    numbers = [number for number in numbers if abs(number) >= 100_000]
    found = encrypted(numbers, kind=pa.int64())
    assert found.type == pa.int64()
    assert [str(number) for number in found.to_pylist()] == encrypted(
        [str(number) for number in numbers], kind=pa.string()
    ).to_pylist()
    assert decrypted(found) == numbers


def test_the_largest_integers_fit():
    numbers = [2**63 - 1 - number for number in range(200)]
    found = encrypted(numbers, kind=pa.int64())
    assert decrypted(found) == numbers


def test_all_numbers_of_six_digits_are_permuted_among_themselves():
    numbers = list(range(100_000, 1_000_000))
    assert sorted(encrypted(numbers, kind=pa.int32()).to_pylist()) == numbers


def test_a_text_with_a_leading_zero_keeps_one_and_others_get_none():
    values = [f"{number:07d}" for number in range(0, 10**7, 9973)]
    found = encrypted(values).to_pylist()
    assert [text[0] == "0" for text in found] == [text[0] == "0" for text in values]


def test_another_key_and_another_domain_give_other_pseudonyms():
    values = [f"{number}-AB" for number in range(10_000, 10_100)]
    first, second, third = (
        encrypted(values, KEY).to_pylist(),
        encrypted(values, OTHER).to_pylist(),
        encrypted(values, KEY, "visits").to_pylist(),
    )
    assert not set(zip(values, first, strict=True)) & set(zip(values, second, strict=True))
    assert not set(zip(values, first, strict=True)) & set(zip(values, third, strict=True))


def test_separators_stay_where_they_are():
    found = encrypted(["+49 (0)30/1234-567", "DE44 5001 0517 5407 3249 31"]).to_pylist()
    assert re.fullmatch(r"\+\d\d \(\d\)\d\d/\d{4}-\d{3}", found[0])
    assert re.fullmatch(r"[A-Z]{2}\d\d( \d{4}){4} \d\d", found[1])


@pytest.mark.parametrize("value", ["12345", "ABCD", "A1234", "", "-", "1A2b"])
def test_values_that_are_too_short_are_refused_with_column_count_and_remedy(value: str):
    with pytest.raises(UnsuitableValues, match=r"In column 'id', 1 value is too short.*keyed"):
        encrypted(["1234567", value])


@pytest.mark.parametrize("value", ["Jürgen Müller", "e\u0301lodie dupont", "١٢٣٤٥٦٧", "1234567\t"])
def test_letters_that_would_stay_in_place_are_refused(value: str):
    with pytest.raises(UnsuitableValues, match="outside A–Z") as refused:
        encrypted(["1234567", value])
    assert value not in str(refused.value)


def test_an_empty_column_stays_empty():
    assert encrypted([], kind=pa.string()).to_pylist() == []


@given(st.from_regex(r"[0-9][A-Z][a-z][0-9]{1,30}-?[A-Z]?", fullmatch=True))
def test_a_form_counts_its_values(text: str):
    form = ValueForm(forms_of(pa.array([text])).to_pylist()[0])
    numbers = form.numbers([text])
    assert 0 <= int(numbers[0]) < form.size
    assert form.texts(numbers) == [text]
