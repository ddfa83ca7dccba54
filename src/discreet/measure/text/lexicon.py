"""Words that names, places and everything else are made of, as the lists in `data/text` have them."""

from __future__ import annotations

from functools import cache
from importlib.resources import files

from discreet.measure.text.person_names import FAMILY_NAMES, GIVEN_NAMES

# Endings of words that name an illness, a drug, an act or a quality, hardly ever a person.
_WORD_ENDINGS = (
    "itis osis emia metry ectomy ology logy ologist scopy pathy plasty ostomy uria algia gram graphy tion sion "
    "ment ness ity ical ically ing ous ive able ible cillin mycin micin pril olol statin azole "
    "mab nib sartan oxacin gliptin prazole tidine zepam setron caine parin dronate vir pine "
    "zine triptan mide ol-xl"
)
_ENDINGS = tuple(_WORD_ENDINGS.split())


@cache
def given_names() -> frozenset[str]:
    """Return common given names."""
    return _read("given") | GIVEN_NAMES


@cache
def family_names() -> frozenset[str]:
    """Return common family names."""
    return _read("family") | FAMILY_NAMES


@cache
def eponyms() -> frozenset[str]:
    """Return names that illnesses, signs and devices carry."""
    return _read("eponyms")


@cache
def cities() -> frozenset[str]:
    """Return larger towns, with blanks between their words."""
    return frozenset(city.replace("_", " ") for city in _read("cities"))


def is_ordinary(word: str) -> bool:
    """Return whether a word in lower case is something other than a name.

    >>> is_ordinary("radiology"), is_ordinary("tablets"), is_ordinary("brzezicki")
    (True, True, False)
    """
    if word in _ordinary_words():
        return True
    if word in given_names() or word in family_names() or word in eponyms():
        return False
    return is_listed(word) or (len(word) > 6 and word.endswith(_ENDINGS))


def is_listed(word: str) -> bool:
    """Return whether the lists of everyday words have a word, or the word it comes from."""
    words = _ordinary_words()
    return word in words or any(
        word.endswith(ending) and word.removesuffix(ending) in words
        for ending in ("s", "es", "ed", "d", "ing", "ly", "er")
    )


@cache
def _ordinary_words() -> frozenset[str]:
    return _read("ordinary") | _read("terms")


def _read(name: str) -> frozenset[str]:
    lines = (files("discreet") / "data" / "text" / f"{name}.txt").read_text("utf-8").splitlines()
    return frozenset(word for line in lines if not line.startswith("#") for word in line.split())
