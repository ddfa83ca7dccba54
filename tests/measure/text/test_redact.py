from __future__ import annotations

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.measure.text import PersonNames, find_identifiers
from discreet.release.deidentify.redact import redact_texts

PIECES = (
    "Dr. Anna Smith", "Rose", "May", "Brzezicki", "03/14/2019", "3/14", "14 Mar 19", "March", "(617) 555-0123", "MRN", "884213", "SSN", "123-45-6789", "12 Elm Street",
    "Boston, MA 02115", "lives in", "Kettleby", "94-year-old", "born in 1921", "kim@example.org", "http://x.org", "10.0.0.1", "[NAME]", "[DATE: 2019]", "[ZIP: 021**]",
    ",", ".", "\n", "-", "and", "the", "#", ":", "4111 1111 1111 1111", "no.", "id", "in", "at", "'s", "J.", "[", "]", "\x00", "x",
)  # fmt: skip


def clean(*texts: str | None, **options) -> list[str | None]:
    settings = {"restricted_zips": {"036"}, "earliest_year": 1936, **options}
    return redact_texts(pa.array(texts, pa.string()), **settings).texts.to_pylist()


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Dr. Anna Smith", "Dr. [NAME]"),
        ("seen 03/14/2019 at 10:45", "seen [DATE: 2019] at 10:45"),
        ("seen 14 Mar 19", "seen [DATE: '19]"),
        ("born 14 Mar 19", "born [DATE]"),
        ("DOB 03/14/1921", "DOB [DATE]"),
        ("born in 1921", "born in [DATE]"),
        ("born in 1950", "born in [DATE: 1950]"),
        ("on March 14", "on [DATE]"),
        ("a 94-year-old", "a [AGE: 90+]-year-old"),
        ("Boston, MA 02115-1234", "[PLACE], MA [ZIP: 021**]"),
        ("Kettleby, NH 03601", "[PLACE], NH [ZIP: 000**]"),
        ("call (617) 555-0123 ext. 4", "call [PHONE]"),
        ("in 2011", "in 2011"),
    ],
)
def test_an_identifier_gives_way_to_what_the_rule_lets_stay(text, expected):
    assert clean(text) == [expected]


@given(st.lists(st.sampled_from(PIECES), max_size=14), st.sampled_from((" ", "", ", ", "\n")))
def test_redacting_twice_changes_nothing(pieces, gap):
    once = clean(gap.join(pieces), names=PersonNames.of(["May Kettleby"]))
    assert clean(*once, names=PersonNames.of(["May Kettleby"])) == once


@given(st.lists(st.none() | st.text(max_size=60), max_size=5))
def test_any_column_is_redacted_row_by_row(texts):
    once = clean(*texts)
    assert [text is None for text in once] == [text is None for text in texts]
    assert once == [clean(text)[0] for text in texts]
    assert clean(*once) == once


def test_labelled_notes_stay_as_they_are_when_redacted_again(notes):
    once = clean(*(note.text for note in notes[:100]))
    assert clean(*once) == once


def test_counts_are_of_rows_not_of_distinct_texts():
    column = pa.chunked_array([["kim@a.org, lee@a.org", None], ["kim@a.org, lee@a.org", "fine"]])
    result = redact_texts(column, restricted_zips=(), earliest_year=1936)
    assert (result.counts, result.rows) == ({"F": 4}, {"F": 2})
    found = find_identifiers(column)
    assert (found.counts, found.rows) == ({"F": 4}, {"F": 2})
    assert [len(found.of(row)) for row in range(4)] == [2, 0, 2, 0]


@pytest.mark.parametrize(
    "kind", [pa.string(), pa.large_string(), pa.dictionary(pa.int32(), pa.string())]
)
def test_every_kind_of_text_column_is_taken(kind):
    column = pa.array(["kim@a.org", None, "fine"]).cast(kind)
    result = redact_texts(column, restricted_zips=(), earliest_year=1936)
    assert result.texts.to_pylist() == ["[EMAIL]", None, "fine"]


def test_an_empty_column_stays_empty():
    assert (
        redact_texts(pa.array([], pa.string()), restricted_zips=(), earliest_year=1936).counts == {}
    )
    assert clean(None) == [None]
