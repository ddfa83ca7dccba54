"""Which words of a text are names, places or numbers of a person, by a linear model of the words around them.

The model is a multinomial logistic regression on hashed features (words, letters, lists, and what the rules found), fitted by
`scripts/train_text_tagger.py`; `data/text/README.md` names what it was fitted to. Its weights are one byte each, in
`data/text/tagger.xz`. Every feature of every word of a text is looked up at once, so that a text takes a few array operations.
"""

from __future__ import annotations

import lzma
import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from importlib.resources import files
from zlib import crc32

import numpy as np
import numpy.typing as npt

from discreet.measure.text import languages, lexicon
from discreet.measure.text.likeness import name_likeness
from discreet.measure.text.person_names import fold_accents
from discreet.measure.text.spans import TextSpan

Codes = npt.NDArray[np.uint32]

CLASSES = ("other", "name", "place", "number")
BUCKETS = 1 << 17
SCALE = 24  # a weight of 1 is stored as this
# Elided articles and possessive endings are words of their own; digits and letters of one number are one word.
WORD = re.compile(
    r"\x00+|\n|(?:[ldjnscmtLDJNSCMT]|[qQ]u)['’](?=\w)|['’][sS]\b|[^\W_]+(?:['’](?![sS]\b)[^\W\d_]{2,})*|[^\w\s]|_"
)
_STOPS = frozenset((".", "!", "?", "\n", ":", "•", ";"))
_RULES = {"A": 1, "B": 2, "C": 3, "D": 4, "E": 4, "F": 3, "N": 3}
_OTHER_RULE = 5
FROZEN = 3  # words that a rule took for something else than a name or a place are left alone


@dataclass(frozen=True, slots=True)
class Word:
    """A word of a text and where it stands."""

    start: int
    end: int
    text: str

    @property
    def is_candidate(self) -> bool:
        """Return whether the word may be part of an identifier at all."""
        return self.text[0].isalnum()


def tokenize_text(text: str) -> list[Word]:
    """Return the words, numbers and marks of a text."""
    return [Word(found.start(), found.end(), found[0]) for found in WORD.finditer(text)]


@lru_cache(maxsize=65536)
def describe_word(word: str, language: str) -> tuple[int, ...]:
    """Return the codes of a word by itself: the word, its shape, its lists, its ends, its likeness to a name."""
    plain = fold_accents(word)
    if word[0] == "\x00":
        plain = "\x00"
    if not plain[:1].isalnum():
        code = crc32(plain.encode())
        return (code, code, 1, 1, 1, 1, 1)
    letters = "".join("0" if sign.isdigit() else sign for sign in plain)
    return (
        crc32(letters.encode()),
        crc32(_shape_of(word).encode()),
        _lists_of(plain, language),
        crc32(f"{letters[-3:]}$".encode()),
        crc32(f"{letters[-2:]}$$".encode()),
        crc32(f"^{letters[:3]}".encode()),
        _likeness_of(plain, language),
    )


def _shape_of(word: str) -> str:
    if any(sign.isdigit() for sign in word):
        signs = ("9" if s.isdigit() else "A" if s.isupper() else "a" for s in word[:12])
        return "".join(signs)
    size = str(min(len(word), 5))
    if word.isupper():
        return f"A{size}"
    if word.islower():
        return f"a{size}"
    return f"Aa{size}" if word[0].isupper() and word[1:].islower() else f"AaA{size}"


_EVERYDAY = 2 << 4


def _lists_of(plain: str, language: str) -> int:
    """Return the lists that have a word, as bits above the lowest."""
    known = language or "en"
    bits = (
        plain in lexicon.given_names(),
        plain in lexicon.family_names(),
        plain in lexicon.common_names(),
        plain in lexicon.everyday_words(known),
        lexicon.is_everyday(plain, language),  # _EVERYDAY
        lexicon.is_ordinary(plain, language),
        plain in lexicon.drugs(),
        plain in lexicon.eponyms(),
        plain in lexicon.towns(),
        plain in lexicon.cities(),
        lexicon.is_country(plain),
        languages.is_small_word(plain),
    )
    return sum(2 << place for place, is_there in enumerate(bits) if is_there)


def _likeness_of(plain: str, language: str) -> int:
    if len(plain) < 3 or not plain.isalpha():
        return 1
    return int(np.clip(round(name_likeness(plain, language)), -6, 6)) + 10


_REACH = 6
_SIGNS = "WSCEFPLR"
_EXTRA = "BDT"


def find_features(
    words: Sequence[Word], rules: Sequence[int], language: str, rows: Sequence[int]
) -> Codes:
    """Return the buckets of every feature of some words: a row for each place in `rows`.

    `rules` are what the rules took each word for.
    """
    count = len(words)
    padded = np.zeros((count + 2 * _REACH, len(_SIGNS)), dtype=np.uint32)
    padded[_REACH : _REACH + count, :-1] = [describe_word(word.text, language) for word in words]
    padded[_REACH : _REACH + count, -1] = np.asarray(rules, dtype=np.uint32) + 1
    # Every sign of every word within reach, then what belongs to the word or the text as a whole.
    signs = np.empty((count, len(_SIGNS) * (2 * _REACH + 1) + len(_EXTRA)), dtype=np.uint32)
    windows = np.lib.stride_tricks.sliding_window_view(padded, 2 * _REACH + 1, axis=0)
    signs[:, : -len(_EXTRA)] = windows.reshape(count, -1)
    signs[:, -3] = _opening_codes(words)
    signs[:, -2] = _repetition_codes(words, rules)
    signs[:, -1] = crc32(language.encode())
    signs = signs[rows]
    return np.concatenate([_mix_signs(signs, seeds, parts) for seeds, parts in _TEMPLATES], axis=1)


def _mix_signs(signs: Codes, seeds: Codes, parts: npt.NDArray[np.intp]) -> Codes:
    """Return the buckets of templates with as many parts each: `parts` has their columns of `signs`."""
    mixed = np.broadcast_to(seeds, (len(signs), len(seeds)))
    for columns in parts:
        mixed = (mixed ^ signs[:, columns]) * _FACTOR
        mixed ^= mixed >> _SHIFT
    return mixed & _MASK


_FACTOR, _SHIFT, _MASK = np.uint32(0x9E3779B1), np.uint32(15), np.uint32(BUCKETS - 1)


def _opening_codes(words: Sequence[Word]) -> Codes:
    """Return 1 for words that open a sentence or a line, 2 after a mark, 0 for others."""
    codes = np.zeros(len(words), dtype=np.uint32)
    before = "\n"
    for place, word in enumerate(words):
        codes[place] = 1 if before in _STOPS else 0 if before[0].isalnum() else 2
        before = word.text
    return codes


def _repetition_codes(words: Sequence[Word], rules: Sequence[int]) -> Codes:
    """Return what the same word is elsewhere in the text: in small letters, a name, repeated."""
    seen: dict[str, int] = {}
    for word, rule in zip(words, rules, strict=True):
        key = word.text.lower()
        bits = (1 if word.text.islower() else 0) | (2 if rule == 1 else 0)
        bits |= 4 if key in seen else 0
        seen[key] = seen.get(key, 0) | bits
    return np.array([seen[word.text.lower()] for word in words], dtype=np.uint32)


# Each template is a list of signs with the offset of their word: W the word, S its shape, C its lists, E and F its last three
# and two letters, P its first, L its likeness, R what rules found; B how it opens, D what it is elsewhere, T the language.
_TEMPLATE_TEXT = """
T|W-3|W-2|W-1|W|W+1|W+2|C-2|C-1|C|C+1|C+2|S-2|S-1|S|S+1|S+2|E-1|E|E+1|F|P|L|R-2|R-1|R|R+1|R+2
T C|B C|B C S|C L|W-1 C|W+1 C|W-1 S|C-1 C|C C+1|C-1 C C+1|S-1 S S+1|S S+1|S-1 S|R C|R W-1|R W+1|R L C|R B C|R E|R P
R-1 R R+1|R T S|D C|D R|T E-1 C|T F-1 C|T E|C-2 C-1 C|W-2 S|W-3 S|W-4 S|W+2 S|W-2 C|W-1 B
S-2 S-1 S|S S+1 S+2|T S C|T B C S|T L C|W-1 C-1 C|S C C+1|S C C-1|T C-1 C S|T C C+1 S|L-1 L|L L+1|R C-1 C|R C C+1|T R C S
"""


def _column_of(sign: str) -> int:
    if sign[0] in _EXTRA:
        return _EXTRA.index(sign[0]) - len(_EXTRA)
    return _SIGNS.index(sign[0]) * (2 * _REACH + 1) + _REACH + int(sign[1:] or 0)


def _group_templates() -> list[tuple[Codes, npt.NDArray[np.intp]]]:
    """Return seeds and columns of the templates, those of as many parts together."""
    groups: dict[int, list[list[int]]] = {}
    for line in _TEMPLATE_TEXT.split("\n"):
        for template in filter(None, line.split("|")):
            parts = [_column_of(sign) for sign in template.split()]
            groups.setdefault(len(parts), []).append(parts)
    seed, grouped = 1, []
    for parts in groups.values():
        seeds = np.arange(seed, seed + len(parts), dtype=np.uint32) * np.uint32(0x85EBCA6B)
        grouped.append((seeds, np.array(parts, dtype=np.intp).T))
        seed += len(parts)
    return grouped


_TEMPLATES = _group_templates()
WIDTH = sum(len(seeds) for seeds, _ in _TEMPLATES)


def mark_rules(words: Sequence[Word], spans: Sequence[TextSpan]) -> list[int]:
    """Return what the rules took each word for; 0 for nothing. `spans` are disjoint and in order."""
    marks: list[int] = []
    place = 0
    for word in words:
        while place < len(spans) and spans[place].end <= word.start:
            place += 1
        is_in = place < len(spans) and spans[place].start < word.end
        marks.append(_RULES.get(spans[place].kind, _OTHER_RULE) if is_in else 0)
    return marks


@cache
def _read_weights() -> npt.NDArray[np.int32]:
    packed = (files("discreet") / "data" / "text" / "tagger.xz").read_bytes()
    whole = np.frombuffer(lzma.decompress(packed), dtype=np.int8).astype(np.int32)
    return whole.reshape(BUCKETS, len(CLASSES))


def score_words(
    words: Sequence[Word], rules: Sequence[int], language: str
) -> npt.NDArray[np.float64]:
    """Return, for each word, the logarithm of the odds of each class against `other`.

    Marks, everyday words in small letters and what a rule took for something else than a name or a place are `other`.
    """
    odds = np.full((len(words), len(CLASSES)), _NEVER)
    odds[:, 0] = 0
    rows = [place for place, word in enumerate(words) if _is_open(word, rules[place], language)]
    if rows:
        sums = _read_weights()[find_features(words, rules, language, rows)].sum(axis=1)
        odds[rows] = (sums - sums[:, :1]) / SCALE
    return odds


_NEVER = -99.0


def _is_open(word: Word, rule: int, language: str) -> bool:
    if not word.is_candidate or rule >= FROZEN:
        return False
    return rule > 0 or not word.text.islower() or not is_everyday_word(word.text, language)


def is_everyday_word(word: str, language: str) -> bool:
    """Return whether the lists have a word as an everyday one, or as a drug."""
    return bool(describe_word(word, language)[2] & _EVERYDAY)
