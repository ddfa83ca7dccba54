"""Check digits of the numbers that name one person: text in, yes or no out.

Every function takes the number without its separators, in capitals, already of the right shape
(see `identifiers`), and checks whether the check digits and the calendar parts agree.
"""

from __future__ import annotations

from calendar import monthrange
from collections import Counter
from collections.abc import Iterable


def passes_luhn(number: str) -> bool:
    """Return whether the digits pass Luhn's test (ISO/IEC 7812-1, annex B).

    >>> passes_luhn("4111111111111111"), passes_luhn("4111111111111112")
    (True, False)
    """
    digits = [int(digit) for digit in reversed(number)]
    doubled = (sum(divmod(2 * digit, 10)) for digit in digits[1::2])
    return (sum(digits[::2]) + sum(doubled)) % 10 == 0


def passes_iban(number: str) -> bool:
    """Return whether the account number is 1 modulo 97 (ISO 13616, ISO/IEC 7064 mod 97-10)."""
    turned = number[4:] + number[:4]
    return int("".join(str(int(sign, 36)) for sign in turned)) % 97 == 1


def passes_nhs(number: str) -> bool:
    """Return whether a 10-digit number is a UK NHS number (mod 11, weights 10 to 2)."""
    return _weighted_sum(number, range(10, 0, -1)) % 11 == 0


def passes_bsn(number: str) -> bool:
    """Return whether a 9-digit number passes the Dutch 11-test (weights 9 to 2, then -1)."""
    return number != "0" * 9 and _weighted_sum(number, (9, 8, 7, 6, 5, 4, 3, 2, -1)) % 11 == 0


def passes_dni(number: str) -> bool:
    """Return whether a Spanish DNI or NIE ends in the letter of its remainder modulo 23."""
    digits = number[:-1].translate(str.maketrans("XYZ", "012"))
    return "TRWAGMYFPDXBNJZSQVHLCKE"[int(digits) % 23] == number[-1]


def passes_nir(number: str) -> bool:
    """Return whether a French NIR ends in 97 minus its remainder (Corsica: 2A is 19, 2B is 18)."""
    body = number[:13].replace("2A", "19").replace("2B", "18")
    return body.isdigit() and 97 - int(body) % 97 == int(number[13:])


def passes_german_tax_id(number: str) -> bool:
    """Return whether a German tax id has one repeated digit and fits ISO/IEC 7064 mod 11,10."""
    repeated = [times for times in Counter(number[:10]).values() if times > 1]
    if len(repeated) != 1 or repeated[0] > 3:
        return False
    rest = 10
    for digit in number[:10]:
        rest = ((int(digit) + rest) % 10 or 10) * 2 % 11
    return (11 - rest) % 10 == int(number[10])


def passes_kvnr(number: str) -> bool:
    """Return whether a German health insurance number ends in its check digit (§ 290 SGB V).

    The letter counts as two digits (A is 01); weights are 1 and 2 in turn, products are summed by digit.

    >>> passes_kvnr("A123456780"), passes_kvnr("A123456781")
    (True, False)
    """
    digits = f"{ord(number[0]) - 64:02}{number[1:9]}"
    total = sum(sum(divmod(int(digit) * (1 + place % 2), 10)) for place, digit in enumerate(digits))
    return total % 10 == int(number[9])


def passes_rvnr(number: str) -> bool:
    """Return whether a German pension insurance number ends in its check digit (VKVV, § 4).

    >>> passes_rvnr("15070649C103"), passes_rvnr("15070649C104")
    (True, False)
    """
    digits = f"{number[:8]}{ord(number[8]) - 64:02}{number[9:11]}"
    weights = (2, 1, 2, 5, 7, 1, 2, 1, 2, 1, 2, 1)
    total = sum(
        sum(divmod(int(digit) * weight, 10)) for digit, weight in zip(digits, weights, strict=True)
    )
    return total % 10 == int(number[11])


def passes_nuss(number: str) -> bool:
    """Return whether a Spanish social security number ends in its remainder modulo 97.

    >>> passes_nuss("281234567840"), passes_nuss("281234567841")
    (True, False)
    """
    province, serial = int(number[:2]), int(number[2:10])
    whole = serial + province * 10**7 if serial < 10**7 else int(number[:10])
    return whole % 97 == int(number[10:])


def passes_nip(number: str) -> bool:
    """Return whether a Polish tax number ends in its check digit (mod 11).

    >>> passes_nip("1234563218"), passes_nip("1234563219")
    (True, False)
    """
    return _weighted_sum(number[:9], (6, 5, 7, 2, 3, 4, 5, 6, 7)) % 11 == int(number[9])


def passes_npi(number: str) -> bool:
    """Return whether a US provider number passes Luhn's test with the prefix 80840.

    >>> passes_npi("1234567893"), passes_npi("1234567890")
    (True, False)
    """
    return passes_luhn("80840" + number)


_DECADE = (1, 0, 5, 7, 9, 13, 15, 17, 19, 21)
_ODD = (*_DECADE, *_DECADE, 2, 4, 18, 20, 11, 3, 6, 8, 12, 14, 16, 10, 22, 25, 24, 23)


def passes_codice_fiscale(number: str) -> bool:
    """Return whether an Italian codice fiscale ends in its check letter (D.M. 23 December 1976)."""
    odd = dict(zip("0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ", _ODD, strict=True))
    total = sum(odd[sign] for sign in number[:15:2])
    total += sum(int(sign) if sign.isdigit() else ord(sign) - 65 for sign in number[1:15:2])
    return chr(65 + total % 26) == number[15]


def passes_personnummer(number: str) -> bool:
    """Return whether a Swedish number (10 or 12 digits) has a date and passes Luhn's test.

    Coordination numbers add 60 to the day.
    """
    short = number[-10:]
    month, day = int(short[2:4]), int(short[4:6])
    return _is_day(month, day - 60 if day > 60 else day) and passes_luhn(short)


def passes_hetu(number: str) -> bool:
    """Return whether a Finnish personal identity code has a date and its sign modulo 31."""
    digits = number[:6] + number[-4:-1]
    sign = "0123456789ABCDEFHJKLMNPRSTUVWXY"[int(digits) % 31]
    return _is_day(int(number[2:4]), int(number[:2])) and sign == number[-1]


def passes_fodselsnummer(number: str) -> bool:
    """Return whether a Norwegian number has a date and both mod-11 check digits.

    D-numbers add 40 to the day. Numbers given out from 2032 on will relax the first check digit.
    """
    day, month = int(number[:2]), int(number[2:4])
    first = _weighted_sum(number, (3, 7, 6, 1, 8, 9, 4, 5, 2, 1))
    second = _weighted_sum(number, (5, 4, 3, 2, 7, 6, 5, 4, 3, 2, 1))
    fits = first % 11 == 0 and second % 11 == 0
    return fits and _is_day(month, day - 40 if day > 40 else day)


def passes_pesel(number: str) -> bool:
    """Return whether a Polish PESEL has a date (century in the month) and its check digit."""
    fits = _weighted_sum(number, (1, 3, 7, 9, 1, 3, 7, 9, 1, 3, 1)) % 10 == 0
    return fits and _is_day(int(number[2:4]) % 20, int(number[4:6]))


def passes_cpf(number: str) -> bool:
    """Return whether a Brazilian CPF has both check digits; one digit repeated is not a CPF."""
    first = _weighted_sum(number, range(10, 1, -1)) * 10 % 11 % 10
    second = _weighted_sum(number, range(11, 1, -1)) * 10 % 11 % 10
    return len(set(number)) > 1 and number[9:] == f"{first}{second}"


_DIHEDRAL = tuple(
    tuple(
        (row + column) % 5 + (5 if column >= 5 else 0)
        if row < 5
        else (row - column) % 5 + (0 if column >= 5 else 5)
        for column in range(10)
    )
    for row in range(10)
)
_TURN = (1, 5, 7, 6, 2, 8, 3, 0, 9, 4)


def passes_verhoeff(number: str) -> bool:
    """Return whether the digits pass Verhoeff's test (1969): dihedral group of order 10."""
    check = 0
    for position, sign in enumerate(reversed(number)):
        digit = int(sign)
        for _ in range(position % 8):
            digit = _TURN[digit]
        check = _DIHEDRAL[check][digit]
    return check == 0


def passes_ean13(number: str) -> bool:
    """Return whether 13 digits have their EAN check digit, as the Swiss AHV number does."""
    return _weighted_sum(number, (1, 3) * 6 + (1,)) % 10 == 0


def passes_tfn(number: str) -> bool:
    """Return whether a 9-digit number is an Australian tax file number (mod 11)."""
    return _weighted_sum(number, (1, 4, 3, 7, 5, 8, 6, 9, 10)) % 11 == 0


def passes_australian_medicare(number: str) -> bool:
    """Return whether the ninth digit checks the first eight of an Australian Medicare number."""
    return _weighted_sum(number, (1, 3, 7, 9, 1, 3, 7, 9)) % 10 == int(number[8])


def passes_portuguese_nif(number: str) -> bool:
    """Return whether a 9-digit number is a Portuguese NIF (mod 11, weights 9 to 2)."""
    rest = _weighted_sum(number, range(9, 1, -1)) % 11
    return (0 if rest < 2 else 11 - rest) == int(number[8])


def passes_belgian_number(number: str) -> bool:
    """Return whether a Belgian national number ends in 97 minus its remainder.

    People born from 2000 on have a 2 put before the nine digits.
    """
    check = int(number[9:])
    return check in (97 - int(number[:9]) % 97, 97 - int("2" + number[:9]) % 97)


def passes_chinese_number(number: str) -> bool:
    """Return whether a Chinese resident number has a date and fits ISO/IEC 7064 mod 11-2."""
    total = _weighted_sum(number[:17], (2 ** (17 - place) % 11 for place in range(17)))
    sign = "10X98765432"[total % 11]
    return _is_day(int(number[10:12]), int(number[12:14])) and sign == number[17]


def passes_vin(number: str) -> bool:
    """Return whether the ninth sign checks a vehicle number (49 CFR 565; North America only)."""
    values = dict(zip("ABCDEFGHJKLMNPRSTUVWXYZ", map(int, "12345678123457923456789"), strict=True))
    digits = (int(sign) if sign.isdigit() else values[sign] for sign in number)
    weights = (8, 7, 6, 5, 4, 3, 2, 10, 0, 9, 8, 7, 6, 5, 4, 3, 2)
    total = sum(digit * weight for digit, weight in zip(digits, weights, strict=True))
    return "0123456789X"[total % 11] == number[8]


def _weighted_sum(number: str, weights: Iterable[int]) -> int:
    """Return the sum of digits times weights, as far as there are weights."""
    return sum(int(digit) * weight for digit, weight in zip(number, weights, strict=False))


def _is_day(month: int, day: int) -> bool:
    """Return whether the month has that day in a leap year; the century is often unknown."""
    return 1 <= month <= 12 and 1 <= day <= monthrange(2000, month)[1]
