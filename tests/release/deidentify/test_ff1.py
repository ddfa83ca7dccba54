"""FF1 agrees with the published examples, is a permutation, and refuses domains that can be searched."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.errors import WrongUsage
from discreet.release.deidentify.ff1 import FF1, LEAST_DOMAIN, NumeralDomain

NUMERALS = "0123456789abcdefghijklmnopqrstuvwxyz"
AES_128 = "2B7E151628AED2A6ABF7158809CF4F3C"
AES_192 = AES_128 + "EF4359D8D580AA4F"
AES_256 = AES_192 + "7F036D6F04FC6A94"
DECIMAL, LONG = "0123456789", "0123456789abcdefghi"
TEN, ELEVEN = "39383736353433323130", "3737373770717273373737"
# NIST, "Examples with Intermediate Values": FF1 samples 1 to 9.
SAMPLES = [
    (AES_128, 10, "", DECIMAL, "2433477484"),
    (AES_128, 10, TEN, DECIMAL, "6124200773"),
    (AES_128, 36, ELEVEN, LONG, "a9tv40mll9kdu509eum"),
    (AES_192, 10, "", DECIMAL, "2830668132"),
    (AES_192, 10, TEN, DECIMAL, "2496655549"),
    (AES_192, 36, ELEVEN, LONG, "xbj3kv35jrawxv32ysr"),
    (AES_256, 10, "", DECIMAL, "6657667009"),
    (AES_256, 10, TEN, DECIMAL, "1001623463"),
    (AES_256, 36, ELEVEN, LONG, "xs8a0azh2avyalyzuwd"),
]


def written(number: int, radix: int, length: int) -> str:
    digits: list[str] = []
    for _ in range(length):
        number, digit = divmod(number, radix)
        digits.append(NUMERALS[digit])
    return "".join(reversed(digits))


def one(number: int) -> np.ndarray:
    return np.array([number], dtype=object)


@pytest.mark.parametrize(("key", "radix", "tweak", "plain", "cipher"), SAMPLES)
def test_the_published_samples_hold_both_ways(
    key: str, radix: int, tweak: str, plain: str, cipher: str
):
    ff1 = FF1(bytes.fromhex(key))
    domain = NumeralDomain(radix, len(plain), bytes.fromhex(tweak))
    encrypted = int(ff1.encrypt(one(int(plain, radix)), domain)[0])
    assert written(encrypted, radix, len(plain)) == cipher
    assert int(ff1.decrypt(one(int(cipher, radix)), domain)[0]) == int(plain, radix)


def test_all_million_numbers_of_six_digits_are_permuted():
    ff1, domain = FF1(bytes(range(32))), NumeralDomain(10, 6)
    numbers = np.arange(LEAST_DOMAIN)
    found = ff1.encrypt(numbers, domain)
    assert len(np.unique(found)) == LEAST_DOMAIN
    assert found.min() == 0
    assert found.max() == LEAST_DOMAIN - 1


@st.composite
def domains(draw: st.DrawFn) -> NumeralDomain:
    radix = draw(st.sampled_from([2, 3, 10, 26, 36, 62, 256, 65536]))
    least = next(n for n in range(2, 32) if radix**n >= LEAST_DOMAIN)
    return NumeralDomain(radix, draw(st.integers(least, least + 60)), draw(st.binary(max_size=40)))


@settings(max_examples=60)
@given(domains(), st.binary(min_size=32, max_size=32), st.data())
def test_what_is_encrypted_is_decrypted_and_stays_in_the_domain(
    domain: NumeralDomain, key: bytes, data: st.DataObject
):
    size = domain.radix**domain.length
    numbers = data.draw(st.lists(st.integers(0, size - 1), min_size=1, max_size=5, unique=True))
    given_numbers = np.array(numbers, dtype=object)
    found = FF1(key).encrypt(given_numbers, domain)
    assert all(0 <= int(number) < size for number in found)
    assert len({int(number) for number in found}) == len(numbers)
    assert [int(number) for number in FF1(key).decrypt(found, domain)] == numbers


@given(st.integers(0, 10**12 - 1))
def test_many_numbers_at_once_are_encrypted_like_one(number: int):
    ff1, domain = FF1(bytes(range(16))), NumeralDomain(10, 12, b"t")
    together = ff1.encrypt(np.array([number, 0, 1]), domain)
    assert together[0] == ff1.encrypt(np.array([number]), domain)[0]


def test_both_ways_of_computing_agree(monkeypatch: pytest.MonkeyPatch):
    from discreet.release.deidentify import ff1 as module

    cipher, domain = FF1(bytes(range(16))), NumeralDomain(10, 17, b"tweak")
    numbers = np.arange(0, 10**17, 10**15 + 7)
    quick = cipher.encrypt(numbers, domain)
    monkeypatch.setattr(module, "_FAST_HALF", 0)
    assert [int(number) for number in cipher.encrypt(numbers, domain)] == quick.tolist()


@pytest.mark.parametrize(("radix", "length"), [(10, 5), (2, 19), (26, 4), (65536, 1), (10, 0)])
def test_fewer_than_a_million_values_are_refused(radix: int, length: int):
    with pytest.raises(WrongUsage, match="fewer than a million"):
        NumeralDomain(radix, length)


@pytest.mark.parametrize("radix", [-1, 0, 1, 65537])
def test_a_radix_outside_the_standard_is_refused(radix: int):
    with pytest.raises(WrongUsage, match="radix"):
        NumeralDomain(radix, 30)
