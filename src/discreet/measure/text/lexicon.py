"""Words that names, places and everything else are made of, as the lists in `data/text` have them."""

from __future__ import annotations

import lzma
from functools import cache
from importlib.resources import files

from discreet.measure.text.person_names import FAMILY_NAMES, GIVEN_NAMES

# Endings of words that name an illness, a drug, an act or a quality, hardly ever a person.
_ENGLISH_ENDINGS = ("ment", "ness", "ity", "ical", "ically", "ing", "ous", "ive", "able", "ible")
_WORD_ENDINGS = (
    "itis osis emia metry ectomy ology logy ologist scopy pathy plasty ostomy uria algia gram graphy tion sion cillin mycin micin pril olol statin azole "
    "mab nib sartan oxacin gliptin prazole tidine zepam setron caine parin dronate vir pine "
    "zine triptan mide ol-xl"
)
_ENDINGS = tuple(_WORD_ENDINGS.split())
_GERMAN_ENDINGS = """
ung ungen heit heiten keit keiten schaft schaften tion tionen itat itaten ismus itis ose osen amie amien ie ien tik tiken tur turen ienz ienzen
tanz tanzen ektomie skopie graphie grafie logie loge login logen loginnen pathie plastik algie urie azol pril olol statin sartan cillin mycin
oxacin parin ige igen iges ische ischen isches liche lichen liches
"""
_FRENCH_ENDINGS = "tion tions ments emie pathie logie logue scopie graphie tomie ectomie algie urie ique iques isme"
_SPANISH_ENDINGS = """
cion ciones miento mientos itis osis emia patia logia logo loga scopia grafia tomia algia uria idad idades ismo mente
"""
_ENDINGS_OF = {
    "de": tuple(_GERMAN_ENDINGS.split()),
    "fr": tuple(_FRENCH_ENDINGS.split()),
    "es": tuple(_SPANISH_ENDINGS.split()),
}
_FORMS = ("s", "es", "ed", "d", "ing", "ly", "er")
_FORMS_OF = {
    "": _FORMS,
    "en": _FORMS,
    "de": ("s", "es", "e", "en", "n", "er"),
    "fr": ("s", "e", "es"),
    "es": ("s", "es"),
}
_SHORT_STEM = 3
_LONGEST = 40  # longer than any word of these languages
# Family names end with these words as often as nouns do.
_NAME_HEADS_TEXT = """
mann wald stein feld burg baum haus hof bauer koch wirt brand berg kamp land markt horn kopf fuss fuß hammer see bach mond kern wein herr
herz vater bein wolf fisch garten ring schloss brot bund hand rand wand stadt graf holz ort huber heim wasser lust bad tal dorf kirche
kirchen brucke furt leben weiler moor winkel eck mark tor bruch grund blick
"""
_NAME_HEADS = frozenset(_NAME_HEADS_TEXT.split())


@cache
def given_names() -> frozenset[str]:
    """Return common given names."""
    return _read("given") | _unpack("given") | GIVEN_NAMES


@cache
def family_names() -> frozenset[str]:
    """Return common family names."""
    return _read("family") | _unpack("family") | FAMILY_NAMES


@cache
def common_names() -> frozenset[str]:
    """Return the given and family names that hardly mean anything else: the rest are of long lists."""
    return _read("given") | GIVEN_NAMES | _read("family") | FAMILY_NAMES


@cache
def eponyms() -> frozenset[str]:
    """Return names that illnesses, signs and devices carry."""
    return _read("eponyms")


@cache
def drugs() -> frozenset[str]:
    """Return names of drugs."""
    return _unpack("drugs")


@cache
def cities() -> frozenset[str]:
    """Return larger towns, with blanks between their words: most of them name nothing else."""
    return frozenset(city.replace("_", " ") for city in _read("cities"))


@cache
def towns() -> frozenset[str]:
    """Return places of the world, small ones too, with blanks between their words."""
    return cities() | _unpack("towns")


def is_ordinary(word: str, language: str = "en") -> bool:
    """Return whether a word in lower case is something other than a name.

    >>> is_ordinary("radiology"), is_ordinary("tablets"), is_ordinary("brzezicki")
    (True, True, False)
    >>> is_ordinary("herzrhythmusstorung", "de"), is_ordinary("urlaubsreise", "de")
    (True, True)
    """
    if word in _ordinary_words(language):
        return True
    if word in given_names() or word in family_names() or word in eponyms() or word in towns():
        return False
    if is_listed(word, language) or (len(word) > 6 and word.endswith(_ENDINGS)):
        return True
    endings = _ENDINGS_OF.get(language, _ENGLISH_ENDINGS)
    if len(word) > 6 and word.endswith(endings):
        return True
    return language == "de" and _ends_with_noun(word)


def is_everyday(word: str, language: str = "en") -> bool:
    """Return whether a word in lower case is no name, as the texts of a language use it, or a drug.

    It knows more words than `is_ordinary`, which towns and streets are compared with.

    >>> is_everyday("mahogany"), is_ordinary("mahogany"), is_everyday("apixaban", "fr")
    (True, False, True)
    """
    words = everyday_words(language or "en")
    if word in words or word in drugs() or is_ordinary(word, language):
        return True
    if language != "en" and word in _foreign_words(language):
        return True
    if word in given_names() or word in family_names() or word in towns():
        return False
    return any(
        word.endswith(ending) and word.removesuffix(ending) in words
        for ending in _FORMS_OF[language]
        if len(word) - len(ending) > _SHORT_STEM
    )


@cache
def _foreign_words(language: str) -> frozenset[str]:
    """Return words of other languages that are no names: English ones, and all if the language is unknown."""
    others = ("en",) if language else ("en", *_LISTS)
    words = frozenset[str]().union(*(everyday_words(other) for other in others))
    return words - given_names() - family_names()


def is_listed(word: str, language: str = "en") -> bool:
    """Return whether the lists of everyday words have a word, or the word it comes from."""
    words = _ordinary_words(language)
    return word in words or any(
        word.endswith(ending) and word.removesuffix(ending) in words
        for ending in _FORMS_OF[language]
        if len(word) - len(ending) > 2
    )


def _ends_with_noun(word: str) -> bool:
    """Return whether a German word is a compound of a known noun, in the singular or the plural."""
    nouns = _read("german")
    forms = (word, *(word.removesuffix(ending) for ending in ("en", "es", "n", "e", "s")))
    return len(word) <= _LONGEST and any(
        form[cut:] in nouns and form[cut:] not in _NAME_HEADS
        for form in forms
        for cut in range(3, len(form) - 3)
    )


@cache
def everyday_words(language: str) -> frozenset[str]:
    """Return the everyday words of one language, as texts write them in lower case."""
    return _read(_LISTS.get(language, "ordinary")) | _unpack(f"everyday_{language}")


def is_country(word: str) -> bool:
    """Return whether a word names a country, a state or a people, or something else that no town is.

    >>> is_country("brazil"), is_country("boston")
    (True, False)
    """
    return word in _read("terms")


@cache
def _ordinary_words(language: str) -> frozenset[str]:
    words = _read("ordinary") | _read("terms")
    if language == "en":
        return words
    names = given_names() | family_names()
    if language in _LISTS:
        # English words that are names elsewhere: `Can`, `Grace`.
        return (_read("ordinary") - names) | _read("terms") | _read(_LISTS[language])
    # The language is unknown: words of every language, unless they are names in another.
    others = frozenset[str]().union(*(_read(name) for name in _LISTS.values()))
    return words | (others - names)


_LISTS = {"de": "german", "fr": "french", "es": "spanish"}


@cache
def _read(name: str) -> frozenset[str]:
    lines = (files("discreet") / "data" / "text" / f"{name}.txt").read_text("utf-8").splitlines()
    return frozenset(word for line in lines if not line.startswith("#") for word in line.split())


@cache
def _unpack(name: str) -> frozenset[str]:
    packed = (files("discreet") / "data" / "text" / f"{name}.xz").read_bytes()
    return frozenset(lzma.decompress(packed).decode("utf-8").split("\n"))
