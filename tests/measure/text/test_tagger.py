from __future__ import annotations

import itertools

import numpy as np
import pytest

from discreet.measure.text import PersonNames, tagger
from discreet.measure.text.scan import scan_text

TEXTS = (
    "Herr Quastenhuber wurde am Montag von Dr. Zwiebelbrecht untersucht, die Leukozyten waren normal.",
    "Ask Oyelaran whether Tamsyn has the key; the Boiler is broken.",
    "Le conducteur, Thibaud Kerouredan, a été vu par Mme Lesquivit.",
    "Según Echegoyen, el paquete se perdió. Vive en Cuenca con Itziar.",
    "",
    "\n\n",
    "12",
)


def test_every_word_keeps_its_place():
    for text in TEXTS:
        words = tagger.tokenize_text(text)
        assert [text[word.start : word.end] for word in words] == [word.text for word in words]
        assert all(one.end <= other.start for one, other in itertools.pairwise(words))
        seen = {place for word in words for place in range(word.start, word.end)}
        assert all(text[place].isspace() for place in range(len(text)) if place not in seen)


def test_odds_are_the_same_every_time_and_one_row_for_each_word():
    for text in TEXTS:
        words = tagger.tokenize_text(text)
        rules = [0] * len(words)
        odds = tagger.score_words(words, rules, "de")
        assert odds.shape == (len(words), len(tagger.CLASSES))
        assert np.array_equal(odds, tagger.score_words(words, rules, "de"))
        assert not odds[:, 0].any()


def test_odds_depend_on_near_words_only():
    near = "the patient was seen by Okonjo yesterday"
    far = "alpha beta gamma delta epsilon zeta eta theta " + near
    odds = {}
    for text in (near.replace("the", "so the so the so the so", 1), far):
        words = tagger.tokenize_text(text)
        place = [word.text for word in words].index("Okonjo")
        odds[text] = tagger.score_words(words, [0] * len(words), "en")[place - 1 : place + 2, 1]
    first, second = odds.values()
    assert abs(first - second).max() < 3


@pytest.mark.parametrize("text", TEXTS)
def test_findings_are_disjoint_and_in_order(text: str):
    spans = scan_text(text)
    assert all(0 <= span.start < span.end <= len(text) for span in spans)
    assert all(one.end <= other.start for one, other in itertools.pairwise(spans))


def test_a_text_of_no_known_language_is_read():
    assert scan_text("Koch Anna Xqzt") is not None


def test_names_of_the_own_columns_stay_whatever_the_model_says():
    own = PersonNames.of(["Quastenhuber, Leukozyten"])
    text = "Bei Leukozyten wurde Husten gehört."
    found = {text[span.start : span.end] for span in scan_text(text, own)}
    assert "Leukozyten" in found
    assert "Leukozyten" not in {text[s.start : s.end] for s in scan_text(text)}
