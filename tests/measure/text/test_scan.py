from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.measure.text import (
    PersonNames,
    capitalized_words,
    contacts,
    dates,
    languages,
    names,
    numbers,
    places,
    plates,
    streets,
)
from discreet.measure.text.scan import scan_text

MODULES = (contacts, dates, languages, names, numbers, places, plates, streets, capitalized_words)


def found(text: str, *own: str) -> list[tuple[str, str]]:
    return [
        (text[s.start : s.end], s.kind)
        for s in scan_text(text, PersonNames.of(own) if own else None)
    ]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Dr. Anna Smith called.", [("Anna Smith", "A")]),
        ("seen by Dr. Brzezicki today", [("Brzezicki", "A")]),
        ("Her daughter, Zofija, was present.", [("Zofija", "A")]),
        ("Patient: BRZEZICKI, Anna", [("BRZEZICKI, Anna", "A")]),
        ("spoke with maria gonzalez", [("maria gonzalez", "A")]),
        ("Rose denies pain.", [("Rose", "A")]),
        ("Name: José García", [("José García", "A")]),
        ("signed by J. Kowalski, RN", [("J. Kowalski", "A")]),
        ("Mrs. Smith's chart", [("Smith", "A")]),
        ("Ludwig van Houten is here", [("Ludwig van Houten", "A")]),
        ("lives in Kettleby", [("Kettleby", "B")]),
        ("12 Elm Street, Apt 4B, Boston, MA 02115", [("12 Elm Street, Apt 4B", "B"), ("Boston", "B"), ("02115", "B")]),
        ("mail to P.O. Box 55", [("P.O. Box 55", "B")]),
        ("in Suffolk County", [("Suffolk County", "B")]),
        ("in Cook County", [("Cook County", "B")]),
        ("the County nurse came", []),
        ("his wife maria came", [("maria", "A")]),
        ("her son will come", []),
        ("She was born in 1931.", [("1931", "C")]),
        ("turned ninety-four", [("ninety-four", "C")]),
        ("acct# 998877", [("998877", "J")]),
        ("chart# 55121", [("55121", "H")]),
        ("DL# D123-4567-8901", [("D123-4567-8901", "K")]),
        ("visit# 3", []),
        ("taken to St. Aldhelm's Hospital", [("St. Aldhelm's Hospital", "B")]),
        ("Hauptstraße 12 in Musterhausen", [("Hauptstraße 12", "B"), ("Musterhausen", "B")]),
        ("a 94-year-old man", [("94", "C")]),
        ("fax: 617-555-0199", [("617-555-0199", "E")]),
        ("call 555-0199", [("555-0199", "D")]),
        ("+49 30 23125 477", [("+49 30 23125 477", "D")]),
        ("pager 4471", [("4471", "D")]),
        ("kim@example.org", [("kim@example.org", "F")]),
        ("kim [at] example [dot] org", [("kim [at] example [dot] org", "F")]),
        ("SSN 123-45-6789", [("123-45-6789", "G")]),
        ("social security number 123456789", [("123456789", "G")]),
        ("MRN: 884213", [("884213", "H")]),
        ("Member ID: XJG123456789", [("XJG123456789", "I")]),
        ("account no. 00123456", [("00123456", "J")]),
        ("card 4111 1111 1111 1111", [("4111 1111 1111 1111", "J")]),
        ("license number A-123456", [("A-123456", "K")]),
        ("1HGCM82633A004352", [("1HGCM82633A004352", "L")]),
        ("plate 123 ABC", [("123 ABC", "L")]),
        ("serial number PM-99812-A", [("PM-99812-A", "M")]),
        ("MAC 00:1B:44:11:3A:B7", [("00:1B:44:11:3A:B7", "M")]),
        ("see https://example.org/p/1.", [("https://example.org/p/1", "N")]),
        ("portal.example.com/p/1", [("portal.example.com/p/1", "N")]),
        ("from 192.0.2.7", [("192.0.2.7", "O")]),
        ("2001:db8::7:1 logged in", [("2001:db8::7:1", "O")]),
        ("fingerprint ID FP-123456", [("FP-123456", "P")]),
        ("see face_0001.jpg", [("face_0001.jpg", "Q")]),
        ("accession S19-12345", [("S19-12345", "R")]),
        ("550e8400-e29b-41d4-a716-446655440000", [("550e8400-e29b-41d4-a716-446655440000", "R")]),
    ],
)  # fmt: skip
def test_an_identifier_is_found(text, expected):
    assert found(text) == expected


@pytest.mark.parametrize(
    "date",
    [
        "03/14/2019", "3/14/19", "14.03.2019", "2019-03-14", "2019/03/14", "March 14th, 2019", "Mar 14, 2019",
        "14 March 2019", "14 Mar 19", "14-Mar-2019", "14th of March 2019", "Thursday, March 14", "March 2019",
        "03/2019", "20190314", "14. März 2019", "14 mars 2019", "14 de marzo de 2019", "Christmas Day 2018",
    ],
)  # fmt: skip
def test_a_date_is_found_whole(date):
    assert found(f"admitted {date}.") == [(date, "C")]


@pytest.mark.parametrize(
    "text",
    [
        "BP 120/80, pain 3/10, strength 5/5, vision 20/20",
        "takes 1/2 tablet, 10-12 units, 500 mg, 2.5 mg/kg",
        "quit in 2011 and again in 2015",
        "version 10.0.0.1 of the software",
        "at 10:45:30 and 16:30",
        "A1c 7.2, platelets 250000, Na 138",
        "penicillin 2400000 units",
        "CPT 99213, ICD-10 E11.9, SNOMED 44054006",
        "Parkinson's disease, Hodgkin lymphoma, Bell's palsy, Down syndrome, Cushing syndrome",
        "The patient will walk. May shower. Mark the site.",
        "Foley removed, Babinski negative",
        "a 67-year-old man, an 89 year old woman, a 95-month trial",
        "Transferred from the Emergency Department to Physical Therapy",
        "std::vector and a::b",
        "Takes Xarelto and Tylenol. Allergic to Bactrim.",
    ],
)
def test_what_is_no_identifier_stays(text):
    assert found(text) == []


@pytest.mark.parametrize(
    ("text", "own", "expected"),
    [
        ("seen with QUACKENBUSH", "Ann Quackenbush", ["QUACKENBUSH"]),
        ("quackenbush's labs", "Ann Quackenbush", ["quackenbush"]),
        ("told J. Quackenbush", "Ann Quackenbush", ["J. Quackenbush"]),
        ("about Quackenbush-Hale", "Ann Quackenbush", ["Quackenbush-Hale"]),
        ("muller and MÜLLER", "Müller", ["muller", "MÜLLER"]),
        ("Mu\u0308ller", "Müller", ["Mu\u0308ller"]),
        ("we will see Will", "Will Quackenbush", ["Will"]),
        ("the bushquackenbush tree", "Quackenbush", []),
    ],
)
def test_names_of_own_columns_are_found_wherever_they_occur(text, own, expected):
    assert [word for word, kind in found(text, own) if kind == "A"] == expected


@given(st.text(max_size=300))
def test_any_text_is_scanned(text):
    spans = scan_text(text, PersonNames.of(["Anna Müller"]))
    ends = [0, *(span.end for span in spans)]
    assert all(
        end <= span.start < span.end <= len(text) for end, span in zip(ends, spans, strict=False)
    )


HOSTILE = ("a", "A", "1", "A ", "1 ", "1-", "a@", "a.", ".", "-", "Aa ", "A1", "::", "0:", "http://", "[", "Dr. ", "March ", "1/1 ", "MRN ",
           "St. ", "in ", "+1 ", "(", "é", "\u0301", "'", "no. ", "A-", "9 ", "a a", "x\n", "Jan 1 ", "Ab Ab, ", "e.", "and Anna ", "*", "1.1.")  # fmt: skip


@pytest.mark.parametrize("piece", HOSTILE)
def test_a_long_hostile_text_is_scanned(piece):
    scan_text(piece * (20_000 // len(piece)))


def _repeats(tree) -> list[tuple[str, int]]:
    """Return every repeat of a parsed pattern with its upper bound."""
    import re._parser as parser

    found = []
    for operation, argument in tree:
        name = str(operation)
        if name in ("MAX_REPEAT", "MIN_REPEAT", "POSSESSIVE_REPEAT"):
            found.append((name, int(argument[1])))
            found += _repeats(argument[2])
        elif isinstance(argument, parser.SubPattern):
            found += _repeats(argument)
        elif isinstance(argument, (tuple, list)):
            for part in argument:
                if isinstance(part, parser.SubPattern):
                    found += _repeats(part)
                elif isinstance(part, list):
                    found += [
                        r
                        for item in part
                        if isinstance(item, parser.SubPattern)
                        for r in _repeats(item)
                    ]
    return found


@pytest.mark.parametrize("module", MODULES, ids=lambda module: module.__name__.rpartition(".")[2])
def test_no_pattern_repeats_without_bound(module):
    # A match then looks at a bounded number of signs from every start, so that time is linear.
    # A possessive repeat never gives back, so that it may go on to the end of a word.
    import re._parser as parser

    patterns = {
        name: value for name, value in vars(module).items() if isinstance(value, re.Pattern)
    }
    assert patterns
    for name, pattern in patterns.items():
        for kind, bound in _repeats(parser.parse(pattern.pattern, pattern.flags)):
            is_simple = name in {"_PARTS", "_WORD"}  # one class, searched from where it ended
            assert kind == "POSSESSIVE_REPEAT" or is_simple or bound <= 2000, name


@pytest.mark.parametrize("sign", ["a", "A", "1", "9A", ".", "@", "-"])
def test_a_very_long_text_without_blanks_is_scanned(sign):
    scan_text(sign * (200_000 // len(sign)))
