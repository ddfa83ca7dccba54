"""The name of a column: its words, the concept they mean, whether it names an id."""

from __future__ import annotations

import re
from functools import cache
from typing import TYPE_CHECKING

from discreet.measure.profile.concepts import CONCEPTS
from discreet.measure.text.person_names import fold_accents

if TYPE_CHECKING:
    from discreet.measure.profile.concepts import Concept

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
    funcionario utilizador pessoa persona personne persoon subj pat cust emp
"""
_CODES = ("code", "codigo", "clave", "ref")
_PERSON_IDS = (("pid",), ("uid",))
_ID_WORDS, _PERSON_WORDS = frozenset(_IDS.split()), frozenset(_PEOPLE.split())


@cache
def split_words(name: str) -> tuple[str, ...]:
    """Return the words of a name, folded and without a plural s.

    >>> split_words("dateOfBirth"), split_words("Geburts-Datum"), split_words("ZIP_codes2")
    (('date', 'of', 'birth'), ('geburt', 'datum'), ('zip', 'code', '2'))
    """
    split = _CAMEL.sub(" ", name.replace("ß", "ss"))
    return tuple(_strip_plural(word) for word in _WORD.findall(fold_accents(split)))


def _strip_plural(word: str) -> str:
    # French `pays` is a country, not a plural of `pay`.
    return word[:-1] if len(word) > 3 and word.endswith("s") and word != "pays" else word


@cache
def _list_phrases() -> tuple[tuple[tuple[str, ...], bool, Concept], ...]:
    """Return every phrase as words, whether it must be the whole name, and its concept."""
    return tuple(
        (split_words(phrase.strip()), phrase.strip().startswith("="), concept)
        for concept in CONCEPTS
        for phrase in concept.phrases.split(",")
    )


@cache
def recognize_concept(name: str) -> Concept | None:
    """Return the concept a column's name means, by its longest known phrase, or None.

    >>> recognize_concept("PatientDateOfBirth").name, recognize_concept("Hauptdiagnose").name
    ('birth date', 'health')
    >>> recognize_concept("hospital_name").name, recognize_concept("c1") is None
    ('employer, school or clinic', True)
    """
    found = split_words(name)
    ranked = [
        (strength, concept)
        for phrase, whole, concept in _list_phrases()
        if (strength := _match_strength(found, phrase, whole=whole)) > 0
    ]
    return max(ranked, key=lambda pair: pair[0])[1] if ranked else None


def _match_strength(found: tuple[str, ...], phrase: tuple[str, ...], *, whole: bool) -> float:
    """Return the letters of the name that the phrase explains; a compound counts a little less."""
    if not found:
        return 0.0
    joined, letters = "".join(phrase), float(sum(map(len, phrase)))
    bare = found[:-1] if len(found) > 1 and found[-1].isdigit() else found
    if joined == "".join(bare):
        return letters + 1
    if whole:
        return 0.0
    ends = [
        start + len(phrase)
        for start in range(len(found) - len(phrase) + 1)
        if found[start : start + len(phrase)] == phrase
    ]
    if ends:  # of two words of one length the last is the head: `job date` is a date
        return letters + max(ends) / 100
    inside = len(joined) >= _COMPOUND and any(
        word.endswith(joined) or word.startswith(joined) for word in found
    )
    return letters - 0.5 if inside else 0.0


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
    is_person = any(word in _PERSON_WORDS for word in found)
    return found in _PERSON_IDS or (is_person and (is_id_name(name) or len(found) == 1))


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
