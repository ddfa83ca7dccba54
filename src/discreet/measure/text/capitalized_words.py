"""Capitalized words of a text, each with what the lists know of it, and the runs they form."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from functools import lru_cache
from typing import NamedTuple

from discreet.measure.text import lexicon
from discreet.measure.text.person_names import fold_accents

# A letter that is no lower-case ASCII letter begins it; marks and inner apostrophes and hyphens
# belong to it. The look behind comes after the first sign, so that the search can skip prose.
_CAPITAL = re.compile(r"[^\W\d_a-z](?<!\w.)(?:[\w\u0300-\u036f]|['’\u2011-](?=[^\W\d_]))*+")
_PARTS = re.compile(r"[^\W\d_]+")
_POSSESSIVE = re.compile(r"['’][sS]?\Z|(?<=[sS])['’]\Z")
_PARTICLE = re.compile(
    r"[ \u00a0](?:(?:de|van|der|den|von|la|las|los|del|della|da|di|do|dos|bin|ibn|al|el|y|e|le|du|ten|ter|zu|zur|af|av)[ \u00a0]){1,3}\Z"
    r"|[ ](?:d|o|l|dell)['’]\Z",
    re.IGNORECASE,
)
_TITLE_WORDS = """
dr drs mr mrs ms mx prof rev hon sgt lt capt col maj herr frau senor senora sra
monsieur madame mme mlle dra
"""
_TITLES = frozenset(_TITLE_WORDS.split())


class WordKind:
    """What a capitalized word may be, several at once: plain bits, since every word is asked."""

    GIVEN = 1
    FAMILY = 2
    ORDINARY = 4
    EPONYM = 8
    INITIAL = 16
    TITLE = 32
    UPPER = 64
    UNKNOWN = 128
    OWN = 256
    NAME = GIVEN | FAMILY | OWN


class CapitalizedWord(NamedTuple):
    """A capitalized word at `text[start:end]`, its possessive ending left out.

    A tuple, not a dataclass: one is made for every capital, at a third of the time.
    """

    start: int
    end: int
    kind: int
    possessive: bool = False

    @property
    def is_sure(self) -> bool:
        """Return whether the word is a name on its own account."""
        return bool(self.kind & WordKind.NAME) and not self.kind & WordKind.ORDINARY

    @property
    def may_be_name(self) -> bool:
        """Return whether the word may stand inside a name."""
        return bool(self.kind & (WordKind.NAME | WordKind.UNKNOWN | WordKind.INITIAL))


@lru_cache(maxsize=65536)
def classify_word(word: str) -> int:
    """Return what the lists know of a capitalized word.

    >>> classify_word("Rose") == WordKind.GIVEN | WordKind.FAMILY | WordKind.ORDINARY
    True
    """
    plain = fold_accents(word)
    if len(plain) == 1:
        return WordKind.INITIAL
    if plain in _TITLES and not word.isupper():
        return WordKind.TITLE
    if any(sign.isdigit() or sign == "_" for sign in word):
        return 0
    kind = WordKind.UPPER if word.isupper() else 0
    parts = [plain.replace("'", "").replace("’", ""), *_PARTS.findall(plain)]
    kind |= WordKind.GIVEN if any(part in lexicon.given_names() for part in parts) else 0
    kind |= WordKind.FAMILY if any(part in lexicon.family_names() for part in parts) else 0
    kind |= WordKind.EPONYM if any(part in lexicon.eponyms() for part in parts) else 0
    if all(lexicon.is_ordinary(part) for part in parts[1:]):
        kind |= WordKind.ORDINARY
    if not kind & (WordKind.NAME | WordKind.ORDINARY) and word[0].isupper():
        kind |= WordKind.UNKNOWN
    return kind


def find_words(text: str, own: Collection[str]) -> Iterator[CapitalizedWord]:
    """Return the capitalized words of a text; `own` are the words of the table's name columns."""
    for found in _CAPITAL.finditer(text):
        word = found[0]
        ending = _POSSESSIVE.search(word)
        if ending:
            word = word[: ending.start()]
        kind = classify_word(word)
        if own and is_own(word, own):
            kind |= WordKind.OWN
        yield CapitalizedWord(found.start(), found.start() + len(word), kind, ending is not None)


def is_own(word: str, own: Collection[str]) -> bool:
    """Return whether any part of a word is in the table's name columns, accents and case aside."""
    plain = word.lower() if word.isascii() else fold_accents(word)
    if plain in own:
        return True
    if plain.isalpha():
        return False
    parts = _PARTS.findall(plain)
    return "".join(parts) in own or any(len(part) > 1 and part in own for part in parts)


def _reclassify_titled(text: str, word: CapitalizedWord) -> CapitalizedWord:
    """Return a word after a title as unknown if only its ending makes it an everyday word."""
    written = text[word.start : word.end]
    if not written.istitle() or lexicon.is_listed(fold_accents(written)):
        return word
    return CapitalizedWord(word.start, word.end, WordKind.UNKNOWN, word.possessive)


def find_runs(text: str, own: Collection[str]) -> Iterator[list[CapitalizedWord]]:
    """Return runs of words that may form one name: neighbors, with initials and particles between."""
    run: list[CapitalizedWord] = []
    title_end = -9
    for found in find_words(text, own):
        is_titled = 0 < found.start - title_end < 4 and not found.may_be_name
        word = _reclassify_titled(text, found) if is_titled else found
        if not word.may_be_name or word.kind & WordKind.TITLE:
            if run:
                yield run
            run = []
            title_end = word.end if word.kind & WordKind.TITLE else title_end
            continue
        if run and not _joins_run(text, run, word):
            yield run
            run = []
        run.append(word)
    if run:
        yield run


def _joins_run(text: str, run: list[CapitalizedWord], word: CapitalizedWord) -> bool:
    last = run[-1]
    gap = text[last.end : word.start]
    if last.possessive or len(gap) > 16:
        return False
    if gap in (" ", "\u00a0", "  ", "-", "\t"):
        return not _kinds_differ(last.kind, word.kind)
    if gap in (". ", ".", ".-") and last.kind & WordKind.INITIAL:
        return True
    if gap in (", ", ","):
        # `Smith, John`: a family name first, then a given name that is no everyday word.
        backwards = len(run) <= 2 and not last.kind & WordKind.INITIAL
        return backwards and bool(word.kind & (WordKind.GIVEN | WordKind.OWN)) and word.is_sure
    return _PARTICLE.search(gap) is not None


def _kinds_differ(one: int, other: int) -> bool:
    """Return whether an unknown word in capitals, such as `MRN`, stands beside an ordinary one."""
    if (one | other) & WordKind.INITIAL or not (one ^ other) & WordKind.UPPER:
        return False
    upper = one if one & WordKind.UPPER else other
    return not upper & WordKind.NAME
