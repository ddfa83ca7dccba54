"""Hashes by their looks and by their names: what was published, and what a guess would become."""

from __future__ import annotations

import base64
import binascii
import hashlib
import re
import zlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import pyarrow as pa
from sqlglot import exp

from discreet.arrow import ArrowArray, pc
from discreet.errors import WrongUsage, did_you_mean
from discreet.policy.hierarchies.values import text_of

GUESSES_PER_SECOND = 1_000_000  # one core of a laptop; graphics cards try thousands more
_UNITS = (("year", 31_557_600), ("day", 86_400), ("hour", 3600), ("minute", 60), ("second", 1))

# Bits by name; the first of a length is tried first.
HASHES: Mapping[str, int] = {
    "md5": 128,
    "sha1": 160,
    "sha224": 224,
    "sha256": 256,
    "sha384": 384,
    "sha512": 512,
    "sha3-256": 256,
    "sha3-512": 512,
    "blake2s": 256,
    "blake2b": 512,
    "crc32": 32,
}
_ON_ENGINE = ("md5", "sha1", "sha256")
_SHORTENED = ("md5", "sha1", "sha256")  # what people cut to fewer digits
_SHORTEST = 12  # hexadecimal digits: fewer are as good as any short code

# How the bytes of a hash are written; hexadecimal first, because its letters are also base64.
_WRITTEN = (
    ("hexadecimal", re.compile(r"[0-9a-fA-F]+"), 4.0),
    ("base32", re.compile(r"[A-Za-z2-7]+=*"), 5.0),
    ("base64", re.compile(r"[A-Za-z0-9+/_-]+=*"), 6.0),
)
_MOSTLY = 0.9  # a few cells of a hashed column are empty, `0` or `unknown`


@dataclass(frozen=True)
class Digests:
    """What looks like hashes: each as hexadecimal digits in small letters, NULL where it is none."""

    texts: ArrowArray
    written: str
    bits: int

    @property
    def hashes(self) -> tuple[str, ...]:
        """The hashes of that length, usual ones first; shortened ones where there is none."""
        fitting = tuple(name for name, bits in HASHES.items() if bits == self.bits)
        return fitting or tuple(name for name in _SHORTENED if HASHES[name] > self.bits)

    @property
    def usual_hashes(self) -> tuple[str, ...]:
        """Those of them that most people would have taken."""
        return tuple(name for name in self.hashes if name in _ON_ENGINE) or self.hashes[:1]


def read_hash(name: str) -> str:
    """Return the hash that is meant by `name`, as `HASHES` has it.

    >>> read_hash("SHA-256"), read_hash("sha3_512")
    ('sha256', 'sha3-512')
    """
    found = next(
        (known for known in HASHES if _normalize_hash_name(known) == _normalize_hash_name(name)),
        None,
    )
    if found is None:
        raise WrongUsage(f"There is no hash '{name}' here.{did_you_mean(name, HASHES)}")
    return found


def read_digests(values: ArrowArray) -> Digests | None:
    """Return the digests in distinct values that look like hashes, None when they do not.

    >>> read_digests(pa.array(["900150983cd24fb0d6963f7d28e17f72"])).hashes
    ('md5',)
    >>> read_digests(pa.array(["Ann", "Bob"])) is None
    True
    """
    texts = text_of(values)
    if not len(texts):
        return None
    length = _usual_length(texts)
    for written, letters, bits_per_letter in _WRITTEN:
        bits = int(length * bits_per_letter) // 8 * 8
        fits = _match_letters(texts, letters, length)
        share = (pc.sum(fits).as_py() or 0) / len(texts)
        if share < _MOSTLY or not _is_random(texts.filter(fits), written):
            continue
        digests = _decode_to_hexadecimal(texts, fits, written)
        if written != "hexadecimal":
            bits = 4 * (_usual_length(digests.drop_null()) if len(digests.drop_null()) else 0)
        found = Digests(digests, written, bits)
        # A short code of letters and digits is base64 of something, too.
        shortest = 128 if written != "hexadecimal" else 0
        is_known = bits in HASHES.values() or (written == "hexadecimal" and length >= _SHORTEST)
        if is_known and bits >= shortest and found.hashes:
            return found
    return None


def digest_on_engine(name: str, text: exp.Expr, *, bits: int) -> exp.Expr | None:
    """Return the hash as the engine computes it, None where it has none of that name."""
    if name not in _ON_ENGINE:
        return None
    whole = exp.Anonymous(this=name, expressions=[text])
    if bits == HASHES[name]:
        return whole
    digits = exp.Literal.number(bits // 4)
    return exp.Anonymous(this="left", expressions=[whole, digits])


def digest_function(name: str, *, bits: int) -> Callable[[bytes], str]:
    """Return the function that hashes bytes to hexadecimal digits."""
    if name == "crc32":
        return lambda data: f"{zlib.crc32(data):08x}"
    plain = name.replace("-", "_")
    return lambda data: hashlib.new(plain, data).hexdigest()[: bits // 4]


def count_guesses(values: ArrowArray) -> int:
    """Return how many texts have the form of one of the values: enough guesses to undo any hash.

    Digits and letters vary, everything else is known: `0A00`, `AA000` and `AAA000`, the forms of
    New York's taxi medallions, are 18,278,000 texts.
    """
    from discreet.measure.profile.forms import ValueForm, forms_of

    texts = text_of(values) if len(values) else pa.array([], pa.string())
    return sum(ValueForm(pattern).size for pattern in pc.unique(forms_of(texts)).to_pylist())


def word_duration(guesses: int) -> str:
    """Return how long that many guesses take a laptop, in words.

    >>> word_duration(18_278_000)
    '18 seconds'
    """
    seconds = max(1, guesses // GUESSES_PER_SECOND)
    unit, size = next((unit, size) for unit, size in _UNITS if seconds >= size)
    count = seconds // size
    return f"{count:,} {unit}{'s' if count > 1 else ''}"


def decode_plainly(values: ArrowArray) -> tuple[str, ArrowArray] | None:
    """Return how texts were merely written differently, and what they say; None when they were not.

    >>> written, said = decode_plainly(pa.array(["QW5uIExlZQ==", "Qm9iIFJheQ=="]))
    >>> written, said.to_pylist()
    ('base64', ['Ann Lee', 'Bob Ray'])
    """
    texts = text_of(values)
    if not len(texts):
        return None
    for written, letters, _ in _WRITTEN:
        fits = _match_letters(texts, letters, None)
        if (pc.sum(fits).as_py() or 0) < _MOSTLY * len(texts):
            continue
        said = [
            _printable_text(data) for data in _decode_bytes(texts.filter(fits).to_pylist(), written)
        ]
        if sum(word is not None for word in said) >= _MOSTLY * len(texts):
            return written, pa.array(said, pa.string())
    return None


def _usual_length(texts: ArrowArray) -> int:
    counted = pc.value_counts(pc.utf8_length(texts))
    lengths, counts = counted.field("values"), counted.field("counts")
    return int(lengths[pc.index(counts, pc.max(counts)).as_py()].as_py())


def _match_letters(texts: ArrowArray, letters: re.Pattern[str], length: int | None) -> ArrowArray:
    fits = pc.match_substring_regex(texts, f"^(?:{letters.pattern})$")
    return fits if length is None else pc.and_(fits, pc.equal(pc.utf8_length(texts), length))


def _is_random(texts: ArrowArray, written: str) -> bool:
    """Return whether digits and letters are mixed, as chance mixes them and names do not."""
    with_digit = pc.mean(pc.match_substring_regex(texts, "[0-9]")).as_py() or 0
    with_letter = pc.mean(pc.match_substring_regex(texts, "[A-Za-z]")).as_py() or 0
    return with_letter > 0.5 and with_digit > (0.5 if written == "hexadecimal" else 0.9)


def _decode_to_hexadecimal(texts: ArrowArray, fits: ArrowArray, written: str) -> ArrowArray:
    if written == "hexadecimal":
        return pc.utf8_lower(pc.if_else(fits, texts, None))
    said = [data.hex() if data else None for data in _decode_bytes(texts.to_pylist(), written)]
    return pc.if_else(fits, pa.array(said, pa.string()), None)


def _decode_bytes(texts: list[str], written: str) -> list[bytes | None]:
    decode: dict[str, Callable[[str], bytes]] = {
        "hexadecimal": bytes.fromhex,
        "base32": lambda text: base64.b32decode(_pad_base_text(text, 8), casefold=True),
        "base64": lambda text: base64.b64decode(
            _pad_base_text(text.replace("-", "+").replace("_", "/"), 4), validate=True
        ),
    }
    return [_or_none(decode[written], text) for text in texts]


def _or_none(decode: Callable[[str], bytes], text: str) -> bytes | None:
    try:
        return decode(text)
    except (binascii.Error, ValueError):
        return None


def _pad_base_text(text: str, to: int) -> str:
    bare = text.rstrip("=")
    return bare + "=" * (-len(bare) % to)


def _printable_text(data: bytes | None) -> str | None:
    try:
        text = data.decode() if data else ""
    except UnicodeDecodeError:
        return None
    return text if len(text) > 1 and text.isprintable() else None


def _normalize_hash_name(name: str) -> str:
    return name.lower().replace("-", "").replace("_", "").replace("/", "")
