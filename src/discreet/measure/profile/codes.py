"""Numbers that are names of categories: codes have no order."""

from __future__ import annotations

import re

from discreet.engines.engine import Kind
from discreet.measure.profile.concepts import Concept
from discreet.measure.profile.statistics import ColumnStatistics
from discreet.measure.profile.vocabulary import list_words, split_words

# More categories than these have a name that says so.
_MOST_CODES = 20
_LARGEST_CODE = 999
_LEAST_COUNTS = 5
_CODE_WORDS = list_words(
    """
    code kode kod codigo codice cod cd category categorie kategorie kategoria categoria cat
    type typ tipo class klasse classe klasa group gruppe groupe grupo grupa gruppo groep
    status statut stato stan art schlussel key flag indicator concept reason grund motif
    motivo anlass mode modalite zone sector branche nace isco naic drg icd ghm
    """
)
_ORDER_WORDS = list_words(
    """
    number num nb nbr count anzahl nombre numero liczba aantal amount betrag size grosse
    taille total sum summe year yr jahr annee ano anno rok jaar month monat mois mes day tag
    jour dia week woche hour stunde heure hora minute score points punkte punktzahl rate
    percent prozent ratio level niveau stufe grad degree scale skala rank rang age alter edad
    wiek eta leeftijd weight gewicht poids peso height income einkommen revenu salary gehalt
    cost price value wert dose distance length lange dauer duration quantity menge index
    temperature pressure pulse bmi frequency times visit
    """
)
_ORDERED_CONCEPTS = (
    "age",
    "age in months or days",
    "birth year",
    "coordinates",
    "debts and payments",
    "household",
    "income",
    "length of time",
    "part of a date",
    "physical feature",
    "year",
)
# `1 = yes`, `2 = no` and the like in the title of a column.
_LABELED = re.compile(r"\b\d{1,3} ?= ?[^\W\d_]")


def is_code(counts: ColumnStatistics, concept: Concept | None) -> bool:
    """Return whether whole numbers stand for categories: by their name, or by how few and small they are.

    Ages, counts, years and amounts have an order. What is neither a known concept nor named like a
    number counts as codes when it has at most 20 values below 1,000, unless they look like a
    count: 0, 1, 2 … without a gap, five or more.
    """
    if not counts.kind.is_number or not counts.present or not _are_whole(counts):
        return False
    if _LABELED.search(counts.title):
        return True
    words = set(split_words(counts.name))
    if words & _ORDER_WORDS:
        return False
    if words & _CODE_WORDS or (concept is not None and concept.is_code):
        return True
    if concept is not None and concept.name in _ORDERED_CONCEPTS:
        return False
    return _has_few_codes(counts)


def _are_whole(counts: ColumnStatistics) -> bool:
    return counts.kind is Kind.INTEGER or all(
        text.removesuffix(".0").lstrip("-").isdigit() for text in counts.texts
    )


def _has_few_codes(counts: ColumnStatistics) -> bool:
    if counts.distinct > _MOST_CODES:
        return False
    values = sorted({int(float(text)) for text in counts.texts})
    if not values or values[0] < -_LARGEST_CODE or values[-1] > _LARGEST_CODE:
        return False
    is_count = values == list(range(len(values))) and len(values) >= _LEAST_COUNTS
    return not is_count
