"""Capitalized words of a text, each with what the lists know of it, and the runs they form."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from functools import lru_cache
from typing import NamedTuple

from discreet.measure.text import languages, lexicon
from discreet.measure.text.person_names import fold_accents

# A letter that is no lower-case ASCII letter begins it; marks and inner apostrophes and hyphens
# belong to it. The look behind comes after the first sign, so that the search can skip prose.
_CAPITAL = re.compile(r"[^\W\d_a-zß-öø-ÿ](?<!\w.)(?:[\w\u0300-\u036f]|['’\u2011-](?=[^\W\d_]))*+")
_PARTS = re.compile(r"[^\W\d_]+")
_CONTRACTION = re.compile(r"['’](?:m|t|ll|ve|re|d)\Z", re.IGNORECASE)
_POSSESSIVE = re.compile(r"['’][sS]?\Z|(?<=[sS])['’]\Z")
_PARTICLE = re.compile(
    r"[ \u00a0](?:(?:de|van|der|den|von|vom|la|las|los|del|della|da|das|di|do|dos|bin|ibn|al|el|y|e|i|le|du|ten|ter|zu|zum|zur|af|av|het|op)[ \u00a0]){1,3}\Z"
    r"|[ ](?:d|o|l|dell|dall|t|s)['’]\Z",
    re.IGNORECASE,
)
_TITLE_WORDS = """
dr drs mr mrs ms mx prof rev hon sgt lt capt col maj pr univ mag dipl ing lic
"""
_TITLES = frozenset(_TITLE_WORDS.split()) | frozenset(
    fold_accents(title) for title in languages.TITLES.split()
)
_SPANISH_TITLES = frozenset(("don", "dona"))  # a given name in other languages
_FOREIGN_TITLES = frozenset(("pat", "pfl", "ide", "due", "schwester"))  # words or names in English
_WEEKDAYS_TEXT = """
monday tuesday wednesday thursday friday saturday sunday montag dienstag mittwoch donnerstag freitag samstag sonntag lundi mardi mercredi jeudi
vendredi samedi dimanche lunes martes miercoles jueves viernes sabado
"""
_WEEKDAYS = frozenset(_WEEKDAYS_TEXT.split())
# What may stand between a title and the name: `Dr. med. Koch`.
_AFTER_TITLE = re.compile(
    r"\.?[ \u00a0]{0,2}(?:(?:med|rer|nat|dent|phil|habil|vet|jur|sc|univ|h|c)\.[ \u00a0]?){0,4}"
)
_LONGEST_TITLE_GAP = 24


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
    TITLED = 512  # right after a title or a label such as `Name:`
    RARE = 1024  # a name of the long lists only
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
def classify_word(word: str, language: str = "en") -> int:
    """Return what the lists know of a capitalized word in a text of some language.

    >>> classify_word("Rose") == WordKind.GIVEN | WordKind.FAMILY | WordKind.ORDINARY
    True
    """
    plain = fold_accents(word)
    if len(plain) == 1:
        return WordKind.INITIAL
    if _is_title(plain, language) and not word.isupper():
        return WordKind.TITLE
    if languages.is_function_word(plain, language):
        return WordKind.ORDINARY
    is_coded = any(sign.isdigit() or sign == "_" for sign in word)
    if plain in _WEEKDAYS or is_coded or _CONTRACTION.search(word):
        return 0
    kind = WordKind.UPPER if word.isupper() else 0
    parts = [plain.replace("'", "").replace("’", ""), *_PARTS.findall(plain)]
    kind |= WordKind.EPONYM if any(part in lexicon.eponyms() for part in parts) else 0
    ordinary = {part for part in parts if lexicon.is_everyday(part, language)}
    if ordinary.issuperset(parts[1:]):
        kind |= WordKind.ORDINARY
    elif language == "de" and len(parts) > 2 and parts[-1] in ordinary:
        return kind | WordKind.ORDINARY  # `Baker-Zyste`
    elif len(parts) > 2:
        # `Self-emp` is no name, although `Self` alone may be one.
        parts = [part for part in parts if part not in ordinary]
    kind |= _kind_of_name(parts)
    if not kind & (WordKind.NAME | WordKind.ORDINARY) and word[0].isupper():
        kind |= WordKind.UNKNOWN
    return kind


def _kind_of_name(parts: list[str]) -> int:
    kind = WordKind.GIVEN if any(part in lexicon.given_names() for part in parts) else 0
    kind |= WordKind.FAMILY if any(part in lexicon.family_names() for part in parts) else 0
    is_rare = bool(kind) and lexicon.common_names().isdisjoint(parts)
    return kind | WordKind.RARE if is_rare else kind


def _is_title(plain: str, language: str) -> bool:
    if plain not in _TITLES or (plain in _FOREIGN_TITLES and language == "en"):
        return False
    return language in ("", "es") or plain not in _SPANISH_TITLES


def find_words(text: str, own: Collection[str], language: str) -> Iterator[CapitalizedWord]:
    """Return the capitalized words of a text; `own` are the words of the table's name columns."""
    for found in _CAPITAL.finditer(text):
        word = found[0]
        ending = _POSSESSIVE.search(word)
        if ending:
            word = word[: ending.start()]
        kind = classify_word(word, language)
        if word == "I" and text[found.end() : found.end() + 1] != ".":
            kind = 0  # the pronoun
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


_NAME_LABEL = re.compile(
    r"\b(?:names?|nom|nombre|apellidos?|nachname|vorname|prénom|surname|mother|father|mère|père|madre|padre|mutter|vater|patient|patientin|patiente|paciente|witness|testigo|témoin|zeuge|zeugin|apologies|entschuldigt|excusée?s?|excusan?)[ \u00a0]?: {0,6}\Z",
    re.IGNORECASE,
)
_CAPITAL_PARTICLES_TEXT = """
DE DU DES DEL LA LAS LOS VAN DER DEN VON ZU DA DI DO DOS
"""
_CAPITAL_PARTICLES = frozenset(_CAPITAL_PARTICLES_TEXT.split())


def find_runs(text: str, own: Collection[str], language: str) -> Iterator[list[CapitalizedWord]]:
    """Return runs of words that may form one name: neighbors, with initials and particles between."""
    run: list[CapitalizedWord] = []
    title_end = -_LONGEST_TITLE_GAP
    for found in find_words(text, own, language):
        if (
            run
            and run[-1].kind & WordKind.UPPER
            and text[found.start : found.end] in _CAPITAL_PARTICLES
        ):
            continue
        word = _reclassify_word(text, found, run, title_end)
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


def _reclassify_word(
    text: str, word: CapitalizedWord, run: list[CapitalizedWord], title_end: int
) -> CapitalizedWord:
    """Return a word as part of a name if a title, a label or a given name right before it says so.

    After `Mr.`, `Name:` and `Maria` an everyday word is a name, too.
    """
    if word.kind & WordKind.TITLE:
        return word
    gap = text[run[-1].end : word.start] if run else ""
    if (gap in (" ", "-") or (len(run) > 1 and _PARTICLE.fullmatch(gap))) and (
        run[0].kind & WordKind.TITLED or _is_given(run[0]) or _is_given(run[-1])
    ):
        return word if word.may_be_name else _accept_word(text, word, 0)
    is_titled = (
        0 < word.start - title_end < _LONGEST_TITLE_GAP
        and _AFTER_TITLE.fullmatch(text, title_end, word.start) is not None
    ) or (
        text[max(0, word.start - 2) : word.start].rstrip().endswith(":")
        and _NAME_LABEL.search(text, max(0, word.start - 24), word.start) is not None
    )
    return _accept_word(text, word, WordKind.TITLED) if is_titled else word


def _is_given(word: CapitalizedWord) -> bool:
    return word.is_sure and bool(word.kind & WordKind.GIVEN) and not word.possessive


def _accept_word(text: str, word: CapitalizedWord, mark: int) -> CapitalizedWord:
    written = text[word.start : word.end]
    if word.may_be_name:
        return CapitalizedWord(word.start, word.end, word.kind | mark, word.possessive)
    if not written.istitle() or word.end - word.start < 3:
        return word
    return CapitalizedWord(word.start, word.end, WordKind.UNKNOWN | mark, word.possessive)


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
    return _PARTICLE.fullmatch(gap) is not None


def _kinds_differ(one: int, other: int) -> bool:
    """Return whether an unknown word in capitals, such as `MRN`, stands beside an ordinary one."""
    if (one | other) & WordKind.INITIAL or not (one ^ other) & WordKind.UPPER:
        return False
    upper = one if one & WordKind.UPPER else other
    return not upper & WordKind.NAME
