"""How much a word that no list has looks like a name, by its letters.

The weights are a logistic regression on groups of two to five letters, one for each language, fitted by
`scripts/make_text_lists.py` to names and towns against the words of a dictionary. They are kept as one byte
each, in `data/text/likeness.xz`; groups of letters share a weight where their checksums agree.
"""

from __future__ import annotations

import lzma
from functools import cache, lru_cache
from importlib.resources import files
from zlib import crc32

import numpy as np
import numpy.typing as npt

LANGUAGES = ("en", "de", "fr", "es")
BUCKETS = 1 << 15
SCALE = 16  # a weight of 1 is stored as this
SIZES = (2, 3, 4, 5)


def letter_groups(word: str) -> list[int]:
    """Return the bucket of every group of letters, the ends of the word among them."""
    signs = f"^{word}$".encode()
    return [
        crc32(signs[start : start + size]) % BUCKETS
        for size in SIZES
        for start in range(len(signs) - size + 1)
    ]


@lru_cache(maxsize=65536)
def name_likeness(word: str, language: str) -> float:
    """Return the logarithm of the odds that a word in lower case, which no list has, is a name.

    Without a language the smallest of all counts.

    >>> name_likeness("zumstein", "fr") > 0 > name_likeness("incidencia", "es")
    True
    """
    groups = letter_groups(word)
    known = (language,) if language in LANGUAGES else LANGUAGES
    return min(int(_weights_of(name)[groups].sum()) + _bias_of(name) for name in known) / SCALE


@cache
def _unpack_weights() -> npt.NDArray[np.int8]:
    packed = (files("discreet") / "data" / "text" / "likeness.xz").read_bytes()
    whole = np.frombuffer(lzma.decompress(packed), dtype=np.int8)
    return whole.reshape(len(LANGUAGES), BUCKETS + 1)


@cache
def _weights_of(language: str) -> npt.NDArray[np.int32]:
    return _unpack_weights()[LANGUAGES.index(language), 1:].astype(np.int32)


def _bias_of(language: str) -> int:
    return int(_unpack_weights()[LANGUAGES.index(language), 0])
