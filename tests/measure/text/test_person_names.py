"""Names of people are recognized by content, other words are not taken for them."""

from __future__ import annotations

import pytest

from discreet.measure.text.person_names import looks_like_people

PEOPLE = {
    "full": ["Anna Meier", "José Álvarez", "Jean-Luc Petit", "Mary O'Brien", "Xu Bo", "Ivy Thorne"],
    "last name first": ["Meier, Anna", "Brown, Charlie", "Petit, Jean", "Foe, Zed", "Low, Abby"],
    "given": ["Anna", "Bert", "Maria", "Xanthe", "Peter"],
    "capitals": ["ANNA MEIER", "PETER BROWN", "MARIA LOPEZ", "ZED FOE", "ABBY LOW"],
    "family": ["Meier", "Garcia", "Rossi", "Smith", "Zzyzx"],
}
OTHERS = {
    "cities": [
        "New York",
        "Los Angeles",
        "San Jose",
        "Baton Rouge",
        "Fort Worth",
        "Salt Lake City",
    ],
    "jobs": ["Sales manager", "Tax advisor", "Bus driver", "Shop assistant", "Civil engineer"],
    "states": ["Ohio", "Iowa", "Texas", "Maine", "Utah", "Nevada", "Alaska", "Oregon"],
    "codes": ["A1", "B2", "C3", "D4", "E5"],
    "diseases": ["Asthma", "Flu", "Diabetes", "Gastritis", "Angina"],
    "too few": ["Anna Meier", "Peter Brown"],
}


@pytest.mark.parametrize("values", PEOPLE.values(), ids=list(PEOPLE))
def test_names_of_people_are_recognized(values: list[str]) -> None:
    assert looks_like_people(values)


@pytest.mark.parametrize("values", OTHERS.values(), ids=list(OTHERS))
def test_other_words_are_not_taken_for_people(values: list[str]) -> None:
    assert not looks_like_people(values)
