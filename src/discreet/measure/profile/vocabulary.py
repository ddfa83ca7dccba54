"""The name of a column: its words, the concept they mean, whether it names an id."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache

from discreet.measure.profile.concepts import CONCEPTS, FREE_TEXT, Concept
from discreet.measure.text import lexicon
from discreet.measure.text.person_names import fold_accents


def list_words(text: str) -> frozenset[str]:
    """Return the words of a list that is written with blanks."""
    return frozenset(text.split())


_CAMEL = re.compile(r"(?<=[a-z])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
_WORD = re.compile(r"[^\W\d_]+|\d+")
# Inside a compound such as `Hauptdiagnose` only a long word is safe: `eta` is in `betaalwijze`.
_COMPOUND = 6
_SHORTEST = 3  # letters of an abbreviation

_IDS = """
    id ident identifier identificador identifiant key pk uid nr no num number nummer numero
    sleutel schlussel clave codigo code ref pid
"""
_PEOPLE = """
    person people patient customer client user member employee subject participant respondent
    student pupil citizen resident insured beneficiary donor voter individual household applicant
    borrower passenger guest worker staff kunde patienten person versicherter mitarbeiter
    teilnehmer schuler burger assure salarie utilisateur participante paciente cliente empleado
    usuario alumno klant medewerker deelnemer leerling paziente dipendente utente studente aluno
    funcionario utilizador pessoa persona personne persoon subj pat cust emp pacjent klient
    pracownik uczen osoba uczestnik versicherte kund
"""
# People whose word alone is no key: a `contact` may be a number of contacts.
_STAFF = """
    doctor physician provider practitioner clinician nurse arzt medecin medico lekarz huisart
    investigator interviewer owner contact
"""
_CODES = ("code", "codigo", "clave", "ref")
_PERSON_IDS = (("pid",), ("uid",))
_ID_WORDS, _PERSON_WORDS = list_words(_IDS), list_words(_PEOPLE)
_STAFF_WORDS = list_words(_STAFF)
# Letters that are not a letter with an accent.
_LETTERS = str.maketrans(
    {"ß": "ss", "ł": "l", "Ł": "L", "ø": "o", "Ø": "O", "đ": "d", "æ": "ae", "œ": "oe"}
)
_UMLAUTS = str.maketrans({"ä": "ae", "ö": "oe", "ü": "ue"})
_WEAK = 0.01  # of the strength of other phrases
_HEAD = 20.0
_GUESSED = 0.8  # of the strength of words that are written out
_LEAST_CONSONANTS = 4
_LEAST_START = 5  # letters of the beginning of a word that stand for it
_MODIFIERS = list_words(
    """
    hh per fam tot total val value num no nr cnt amt avg max min mean med cur prev prior prim sec first last new old cat code cd grp
    lvl type flag ind yr fed state net gross own main home work job emp mother father partner spouse resp self part my your
    """
)


def fold_letters(text: str) -> str:
    """Return `text` in lower case with letters of the English alphabet where others stand for them.

    >>> fold_letters("Płeć"), fold_letters("Straße")
    ('plec', 'strasse')
    """
    return fold_accents(text.translate(_LETTERS))


@cache
def split_words(name: str) -> tuple[str, ...]:
    """Return the words of a name, folded and without a plural s.

    >>> split_words("dateOfBirth"), split_words("Geburts-Datum"), split_words("ZIP_codes2")
    (('date', 'of', 'birth'), ('geburt', 'datum'), ('zip', 'code', '2'))
    """
    split = _CAMEL.sub(" ", name.translate(_LETTERS))
    return tuple(_strip_plural(word) for word in _WORD.findall(fold_letters(split)))


def _strip_plural(word: str) -> str:
    # French `pays` is a country, not a plural of `pay`.
    return word[:-1] if len(word) > 3 and word.endswith("s") and word != "pays" else word


@dataclass(frozen=True)
class _Phrase:
    """A phrase of a concept as words, in the order of the catalog."""

    place: int
    words: tuple[str, ...]
    joined: str
    concept: Concept
    is_whole: bool
    is_weak: bool


@cache
def _index_phrases() -> tuple[dict[str, list[_Phrase]], dict[str, list[_Phrase]]]:
    """Return every phrase by its letters and by its first word, also as it is written without umlauts."""
    by_letters: dict[str, list[_Phrase]] = {}
    by_first: dict[str, list[_Phrase]] = {}
    every = [(concept, one.strip()) for concept in CONCEPTS for one in concept.phrases.split(",")]
    for place, (concept, phrase) in enumerate(every):
        for written in sorted({phrase, phrase.translate(_UMLAUTS)}):
            words = split_words(written)
            is_whole, is_weak = phrase.startswith("="), phrase.startswith("~")
            found = _Phrase(place, words, "".join(words), concept, is_whole, is_weak)
            by_letters.setdefault(found.joined, []).append(found)
            by_first.setdefault(words[0], []).append(found)
    return by_letters, by_first


def recognize_concept(name: str) -> Concept | None:
    """Return the concept a column's name means, by its longest known phrase, or None.

    >>> recognize_concept("PatientDateOfBirth").name, recognize_concept("Hauptdiagnose").name
    ('birth date', 'health')
    >>> recognize_concept("hospital_name").name, recognize_concept("c1") is None
    ('school or clinic', True)
    """
    return next(iter(rank_concepts(name)), None)


@cache
def rank_concepts(name: str) -> tuple[Concept, ...]:
    """Return the concepts that a column's name may mean, the one of its longest phrase first."""
    best: dict[str, tuple[float, int, Concept]] = {}
    for found, weight in _read_words(split_words(name)):
        for phrase in _candidate_phrases(found):
            strength = weight * _match_strength(found, phrase)
            if strength > best.get(phrase.concept.name, (0.0, 0, phrase.concept))[0]:
                best[phrase.concept.name] = strength, phrase.place, phrase.concept
    ranked = sorted(best.values(), key=lambda one: (-one[0], one[1]))
    return tuple(concept for _, _, concept in ranked)


def _read_words(found: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], float]]:
    """Return the words of a name, then what they may be short for, and how much that counts."""
    yield found, 1.0
    longer = tuple(part for word in found for part in _spell_out(word))
    if longer != found:
        yield longer, _GUESSED


@cache
def _spell_out(word: str) -> tuple[str, ...]:
    """Return the words that a word is made of or stands for, itself if there are none.

    >>> _spell_out("hhwage"), _spell_out("gndr"), _spell_out("occupat"), _spell_out("insight")
    (('hh', 'wage'), ('gender',), ('occupation',), ('insight',))
    """
    known = _known_words()
    if len(word) < _SHORTEST or word.isdigit() or word in known or lexicon.is_listed(word):
        return (word,)
    if (full := _list_abbreviations().get(word)) is not None:
        return (full,)
    begun = {one for one in known if one.startswith(word)} if len(word) >= _LEAST_START else set()
    if begun and len({_concept_of_word(one) for one in begun}) == 1:
        return (min(begun, key=lambda one: (len(one), one)),)
    return _split_glued(word, known) or (word,)


def _split_glued(word: str, known: frozenset[str]) -> tuple[str, ...] | None:
    """Return the two or three known words that a word is glued from, one of them a long one."""
    parts = known | _MODIFIERS
    for start in range(2, len(word) - 1):
        first, rest = word[:start], word[start:]
        if first not in parts:
            continue
        more = (rest,) if rest in parts else None
        if more is None and first in _MODIFIERS and len(rest) >= _SHORTEST:
            more = _split_glued(rest, known)
        if more is not None and any(
            len(one) >= _SHORTEST and one in known for one in (first, *more)
        ):
            return (first, *more)
    return None


@cache
def _known_words() -> frozenset[str]:
    """Return the single words that mean a concept by themselves."""
    _, by_first = _index_phrases()
    return frozenset(
        phrase.joined
        for phrases in by_first.values()
        for phrase in phrases
        if len(phrase.words) == 1 and not phrase.is_weak and len(phrase.joined) >= _SHORTEST
    )


@cache
def _concept_of_word(word: str) -> str:
    by_letters, _ = _index_phrases()
    return min(by_letters[word], key=lambda phrase: phrase.place).concept.name


@cache
def _list_abbreviations() -> dict[str, str]:
    """Return known words by their consonants (`gndr`), where only one concept has them."""
    found: dict[str, set[str]] = {}
    for word in sorted(_known_words()):
        short = word[0] + "".join(sign for sign in word[1:] if sign not in "aeiou")
        if _LEAST_CONSONANTS <= len(short) < len(word) - 1:
            found.setdefault(short, set()).add(word)
    return {
        short: min(words, key=lambda one: (len(one), one))
        for short, words in found.items()
        if len({_concept_of_word(word) for word in words}) == 1
    }


def _candidate_phrases(found: tuple[str, ...]) -> Iterator[_Phrase]:
    """Return the phrases that share letters with a name: all of them, a word, or a part of a word."""
    by_letters, by_first = _index_phrases()
    bare = _without_number(found)
    parts = {"".join(bare)} if bare else set[str]()
    for word in found:
        parts |= {word[:end] for end in range(_COMPOUND, len(word) + 1)}
        parts |= {word[start:] for start in range(len(word) - _COMPOUND + 1)}
    for part in sorted(parts):
        yield from by_letters.get(part, ())
    for word in sorted(set(found)):
        yield from by_first.get(word, ())


def _without_number(found: tuple[str, ...]) -> tuple[str, ...]:
    return found[:-1] if len(found) > 1 and found[-1].isdigit() else found


def _match_strength(found: tuple[str, ...], phrase: _Phrase) -> float:
    """Return the letters of the name that the phrase explains; a compound counts a little less."""
    letters = float(len(phrase.joined)) * (_WEAK if phrase.is_weak else 1.0)
    if phrase.joined == "".join(_without_number(found)):
        return letters + (_WEAK if phrase.is_weak else 1.0)
    if phrase.is_whole:
        return 0.0
    size = len(phrase.words)
    ends = [
        start + size
        for start in range(len(found) - size + 1)
        if found[start : start + size] == phrase.words
    ]
    if ends:  # of two words of one length the last is the head: `job date` is a date
        is_note = phrase.concept.name == FREE_TEXT and not phrase.is_weak
        is_head = is_note and max(ends) == len(found)  # `doctor notes` are notes
        return letters + max(ends) / 100 + (_HEAD if is_head else 0.0)
    inside = len(phrase.joined) >= _COMPOUND and any(
        word.endswith(phrase.joined) or word.startswith(phrase.joined) for word in found
    )
    return max(letters - 0.5, letters / 2) if inside else 0.0


def is_id_name(name: str) -> bool:
    """Return whether a name reads like a key: `id`, `patient_id`, `KundenNr`, `id_cliente`."""
    found = split_words(name)
    if not found:
        return False
    return found[-1] in _ID_WORDS or found[0] in ("id", "uuid", "guid")


def is_row_id_name(name: str) -> bool:
    """Return whether a name reads like the key of a person or thing, and not like a code of many.

    >>> is_row_id_name("clinic_id"), is_row_id_name("zip_code")
    (True, False)
    """
    return is_id_name(name) and split_words(name)[-1] not in _CODES


def is_person_id_name(name: str) -> bool:
    """Return whether a name reads like the key of a person: `patient_id`, `subject`, `userId`."""
    found = split_words(name)
    if found in _PERSON_IDS or (len(found) == 1 and found[0] in _PERSON_WORDS):
        return True
    return is_id_name(name) and not (_PERSON_WORDS | _STAFF_WORDS).isdisjoint(found)


def is_key_of(name: str, *, table: str, column: str) -> bool:
    """Return whether `name` reads like a reference to `column` of `table`.

    >>> is_key_of("patient_id", table="patients", column="id")
    True
    >>> is_key_of("patient_id", table="hospitals", column="id")
    False
    >>> is_key_of("patient_id", table="pat", column="id")
    True
    """
    mine, theirs, owner = split_words(name), split_words(column), split_words(table)
    if not mine:
        return False
    if mine == theirs:
        return mine != ("id",)  # two tables each with an own `id` are not linked by it
    return mine in (owner + theirs, theirs + owner) or (
        len(owner) == 1
        and _is_short_for(mine[0], owner[0])
        and is_id_name(name)
        and is_id_name(column)
    )


def _is_short_for(word: str, other: str) -> bool:
    """Return whether two words are one, or one of them the beginning of the other: `pat`, `patient`."""
    short, long = sorted((word, other), key=len)
    return short == long or (len(short) >= _SHORTEST and long.startswith(short))
