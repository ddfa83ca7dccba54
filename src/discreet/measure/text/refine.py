"""What the rules found, corrected by the model of the words around it: names and places added or dropped, numbers added."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence

import numpy as np
import numpy.typing as npt

from discreet.measure.text import lexicon, names, plates, tagger
from discreet.measure.text.capitalized_words import is_own
from discreet.measure.text.person_names import fold_accents
from discreet.measure.text.spans import TextSpan

_FOUND = (("", ""), ("A", "NAME"), ("B", "PLACE"), ("R", "ID"))
# Logarithms of odds against `other` from which a word is taken for a name, a place, a number; and below which a finding is dropped.
# Those for names are chosen by `scripts/choose_text_thresholds.py`, on texts that the model was not fitted to.
TAKEN = np.array([np.inf, -2.0, 0.0, 1.5])
EVERYDAY = 3.0  # so much more for everyday words
ANNOUNCED = 4.0
DIGITS = 1.5  # and for numbers without a letter
DROPPED = {"A": -2.0, "B": -2.5}
PLATE_TAKEN, PLATE_ALONE = (
    0.0,
    4.0,
)  # for what has the form of a plate, where the text speaks of a vehicle, and elsewhere
# A text with gaps where identifiers were is read again for what the rules find now, and asks more of it: words beside a gap look like names.
DROPPED_AGAIN = {"A": 0.5, "B": 0.5}
_GAP = "\x00"


def refine_spans(
    text: str, spans: Sequence[TextSpan], language: str, own: Collection[str]
) -> list[TextSpan]:
    """Return the spans that the model agrees with, and those that it adds; `spans` are disjoint and in order.

    `own` are the words of the table's name columns: what has one of them stays.
    """
    is_again = _GAP in text
    if is_again and not any(span.kind in DROPPED for span in spans):
        return list(spans)
    words = tagger.tokenize_text(text)
    marks = tagger.mark_rules(words, spans)
    odds = tagger.score_words(words, marks, language)
    least = DROPPED_AGAIN if is_again else DROPPED
    kept = [
        span
        for span in spans
        if span.kind not in least
        or _is_likely(span, words, odds, own, least[span.kind] - _find_discount(text, span))
    ]
    added = [] if is_again else _find_added(text, words, marks, odds, language)
    whole = sorted([*kept, *added], key=lambda span: span.start)
    if not added:
        return kept
    joined = _join_neighbors(text, whole, frozenset(added))
    return [span for span in joined if span not in added or _is_long(text, span)]


def _find_discount(text: str, span: TextSpan) -> float:
    """Return how much less is asked of a finding: of names that the words before them, or around them, announce."""
    is_announced = span.kind == "A" and (
        names.is_announced(text, span.start) or names.is_spoken_to(text, span.start, span.end)
    )
    return ANNOUNCED if is_announced else 0.0


def _is_likely(
    span: TextSpan,
    words: Sequence[tagger.Word],
    odds: npt.NDArray[np.float64],
    own: Collection[str],
    least: float,
) -> bool:
    inside = [place for place, word in enumerate(words) if span.start <= word.start < span.end]
    if not inside or any(own and is_own(words[place].text, own) for place in inside):
        return True
    return bool(odds[inside, 1:].max() > least)


def _find_added(
    text: str,
    words: Sequence[tagger.Word],
    marks: Sequence[int],
    odds: npt.NDArray[np.float64],
    language: str,
) -> list[TextSpan]:
    """Return the words of which no rule took note and whose odds are high enough, and plates among them."""
    if not words:
        return []
    added = list(_find_plates(text, words, marks, odds))
    forms = [found.span() for found in plates.COUNTRY_PLATE.finditer(text)]
    for place in np.flatnonzero((odds > TAKEN).any(axis=1)).tolist():
        word = words[place]
        excess = odds[place] - TAKEN
        if tagger.is_everyday_word(word.text, language):
            excess -= EVERYDAY
        if word.text.isdigit():
            excess[_NUMBER] -= DIGITS
        best = int(excess.argmax())
        if (
            excess[best] > 0
            and marks[place] == 0
            and not _is_other(word.text, best)
            and not (best == _NUMBER and _is_plate_part(word, forms))
            and not any(one.start <= word.start < one.end for one in added)
        ):
            added.append(TextSpan(word.start, word.end, *_FOUND[best]))
    return sorted(added, key=lambda span: span.start)


def _is_other(word: str, number: int) -> bool:
    """Return whether the lists know a word as something that is never replaced: a state, an eponym, a drug."""
    plain = fold_accents(word)
    if plain in lexicon.eponyms():
        return number != _NUMBER
    if number == _PLACE:
        return lexicon.is_country(plain) or (len(word) < _SHORTEST and word.isupper())
    is_known = plain in lexicon.given_names() or plain in lexicon.family_names()
    return number == _NAME and plain in lexicon.drugs() and not is_known


_NAME, _PLACE, _NUMBER = 1, 2, 3
_SHORTEST = 4


def _is_plate_part(word: tagger.Word, forms: Sequence[tuple[int, int]]) -> bool:
    """Return whether a word belongs to what has the form of a plate, which counts as a whole or not at all."""
    return any(
        start <= word.start < end and word.end - word.start < end - start for start, end in forms
    )


def _find_plates(
    text: str,
    words: Sequence[tagger.Word],
    marks: Sequence[int],
    odds: npt.NDArray[np.float64],
) -> Iterator[TextSpan]:
    """Return what has the form of a country's plate and stands where numbers of people and vehicles do."""
    if _DIGIT.search(text) is None:
        return
    is_near = plates.speaks_of_vehicles({word.text.lower() for word in words})
    least = PLATE_TAKEN if is_near else PLATE_ALONE
    for found in plates.COUNTRY_PLATE.finditer(text):
        inside = [n for n, word in enumerate(words) if found.start() <= word.start < found.end()]
        is_free = not any(marks[place] for place in inside)
        if inside and is_free and odds[inside, 3].max() > least:
            yield TextSpan(*found.span(), "L", "VEHICLE")


_DIGIT = re.compile(r"\d")


def _join_neighbors(
    text: str, spans: list[TextSpan], added: Collection[TextSpan]
) -> list[TextSpan]:
    """Return the spans with what was added joined to neighbors of its kind, and the particles between them."""
    joined: list[TextSpan] = []
    is_new = False
    for span in spans:
        last = joined[-1] if joined else None
        if (
            last is not None
            and last.label == span.label
            and (is_new or span in added)
            and _is_gap(text[last.end : span.start], span.kind)
        ):
            joined[-1] = TextSpan(last.start, span.end, span.kind, span.label)
            is_new = True
        else:
            joined.append(span)
            is_new = span in added
    return joined


def _is_long(text: str, span: TextSpan) -> bool:
    """Return whether what was added has signs enough: a letter alone is no name, and few digits are no person's number."""
    fewest = _FEWEST.get(span.kind, 1)
    return sum(sign.isalnum() for sign in text[span.start : span.end]) >= fewest


_FEWEST = {"A": 2, "B": 2, "R": 5}


def _is_gap(gap: str, kind: str) -> bool:
    """Return whether what stands between two words of one kind belongs to both: a blank, a hyphen, particles."""
    if gap in _GAPS or (gap == "/" and kind == "R"):
        return True
    inner = gap.replace("-", " ").replace("’", "'").split()
    particles = _PARTICLES if kind == "A" else _PARTICLES | _STREET_WORDS
    return len(gap) <= _LONGEST_GAP and bool(inner) and particles.issuperset(inner)


_GAPS = frozenset((" ", "-", "\u00a0", ". ", ".", "'", "’"))
_LONGEST_GAP = 24
_PARTICLE_TEXT = """
de la del las los di da do dos du des van der den von vom zu zum zur el al bin ibn ben y d' l' le ter ten
"""
_PARTICLES = frozenset(_PARTICLE_TEXT.split())
_STREET_TEXT = """
rue avenue chemin boulevard place impasse allée route quai calle plaza avenida paseo camino carrera bis s/n n º no am an im in auf der dem sur sous en
les aux of the on upon
"""
_STREET_WORDS = frozenset(_STREET_TEXT.split())
