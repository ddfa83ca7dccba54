"""Check digits: published numbers pass, a changed digit fails."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from discreet.measure.text import checksums

if TYPE_CHECKING:
    from collections.abc import Callable

# Examples published by the issuers, in standards or in their documentation.
PUBLISHED = {
    checksums.passes_luhn: ["4111111111111111", "378282246310005", "490154203237518", "046454286"],
    checksums.passes_iban: [
        "GB82WEST12345698765432",
        "DE89370400440532013000",
        "NL91ABNA0417164300",
        "FR1420041010050500013M02606",
    ],
    checksums.passes_nhs: ["9434765919", "4505577104"],
    checksums.passes_bsn: ["111222333", "123456782"],
    checksums.passes_dni: ["12345678Z", "X1234567L", "54362315K"],
    checksums.passes_nir: ["295109912611193", "253072B07300470"],
    checksums.passes_german_tax_id: ["36574261809", "86095742719", "65929970489"],
    checksums.passes_codice_fiscale: ["RSSMRA85T10A562S", "RCCMNL83S18D969H"],
    checksums.passes_personnummer: ["8112189876", "198112189876", "8803200016"],
    checksums.passes_hetu: ["131052308T"],
    checksums.passes_fodselsnummer: ["15108695088", "01010750160"],
    checksums.passes_pesel: ["44051401359", "02070803628"],
    checksums.passes_cpf: ["39053344705", "11144477735", "52998224725"],
    checksums.passes_verhoeff: ["2363", "234123412346"],
    checksums.passes_ean13: ["7569217076985"],
    checksums.passes_tfn: ["123456782", "876543210"],
    checksums.passes_australian_medicare: ["2123456701"],
    checksums.passes_portuguese_nif: ["123456789", "501964843"],
    checksums.passes_belgian_number: ["85073003328", "00012511119"],
    checksums.passes_chinese_number: ["11010519491231002X", "440524188001010014"],
    checksums.passes_vin: ["1M8GDM9AXKP042788", "11111111111111111"],
}


# Tests that catch every single wrong digit among the places they cover. CPF and the Portuguese
# NIF are not here: two remainders share the check digit 0.
def digits(length: int) -> st.SearchStrategy[str]:
    return st.text("0123456789", min_size=length, max_size=length)


ONE_TWICE = st.permutations("0123456789").map(
    lambda order: "".join([*order[:8], order[7], order[8]])
)
EXACT = [
    (checksums.passes_luhn, 16, digits(14)),
    (checksums.passes_nhs, 10, digits(8)),
    (checksums.passes_bsn, 9, digits(7)),
    (checksums.passes_german_tax_id, 11, ONE_TWICE),
    (checksums.passes_fodselsnummer, 11, digits(5).map(lambda number: "1503" + number)),
    (checksums.passes_pesel, 11, digits(4).map(lambda number: "800315" + number)),
    (checksums.passes_verhoeff, 12, digits(10)),
    (checksums.passes_ean13, 13, digits(11)),
    (checksums.passes_tfn, 9, digits(7)),
    (checksums.passes_australian_medicare, 9, digits(8)),
    (checksums.passes_nir, 15, digits(13)),
]


@pytest.mark.parametrize(
    ("passes", "number"), [(passes, n) for passes, numbers in PUBLISHED.items() for n in numbers]
)
def test_a_published_number_passes(passes: Callable[[str], bool], number: str) -> None:
    assert passes(number)


@pytest.mark.parametrize(
    ("passes", "number"),
    [
        (checksums.passes_cpf, "11111111111"),
        (checksums.passes_bsn, "000000000"),
        (checksums.passes_hetu, "311352308T"),
        (checksums.passes_dni, "12345678A"),
        (checksums.passes_iban, "GB82WEST12345698765433"),
        (checksums.passes_german_tax_id, "11111111111"),
    ],
)
def test_a_near_miss_fails(passes: Callable[[str], bool], number: str) -> None:
    assert not passes(number)


def _completed(passes: Callable[[str], bool], body: str, length: int) -> str | None:
    missing = length - len(body)
    endings = (str(ending).zfill(missing) for ending in range(10**missing))
    return next((body + ending for ending in endings if passes(body + ending)), None)


@pytest.mark.parametrize(("passes", "length", "bodies"), EXACT)
@given(data=st.data())
def test_one_changed_digit_fails(
    passes: Callable[[str], bool],
    length: int,
    bodies: st.SearchStrategy[str],
    data: st.DataObject,
) -> None:
    number = _completed(passes, data.draw(bodies), length)
    assume(number is not None)
    assert number is not None
    place = data.draw(st.integers(0, length - 1))
    other = data.draw(st.sampled_from("0123456789".replace(number[place], "")))
    assert not passes(number[:place] + other + number[place + 1 :])


@given(digits(18), st.integers(4, 21), st.data())
def test_one_changed_digit_of_an_iban_fails(body: str, place: int, data: st.DataObject) -> None:
    number = next(
        f"DE{n:02}{body}" for n in range(2, 99) if checksums.passes_iban(f"DE{n:02}{body}")
    )
    other = data.draw(st.sampled_from("0123456789".replace(number[place], "")))
    assert not checksums.passes_iban(number[:place] + other + number[place + 1 :])
