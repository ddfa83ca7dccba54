"""A column of texts in, the identifiers of every text out."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pyarrow as pa

from discreet.arrow import ArrowArray, pc
from discreet.measure.text.scan import scan_text

if TYPE_CHECKING:
    from discreet.measure.text.own_names import PersonNames
    from discreet.measure.text.spans import TextSpan


@dataclass(frozen=True)
class TextIdentifiers:
    """What was found: spans of each distinct text, and how often each class occurs.

    `place` is, for each row, its entry of `spans` (null for a missing text). `counts`
    has the number of identifiers and `rows` the number of rows with any, by letter.
    """

    spans: tuple[tuple[TextSpan, ...], ...]
    place: ArrowArray
    counts: dict[str, int]
    rows: dict[str, int]

    def of(self, row: int) -> tuple[TextSpan, ...]:
        """Return the spans of one row; none for a missing text."""
        place = self.place[row].as_py()
        return () if place is None else self.spans[place]


def find_identifiers(texts: ArrowArray, *, names: PersonNames | None = None) -> TextIdentifiers:
    """Return the identifiers in a column of texts, by Safe Harbor's letters A to R.

    `names` holds the words of the table's own name columns: they are found wherever they occur.

    >>> found = find_identifiers(pa.array(["Write to kim@example.org", None]))
    >>> found.counts, [(span.kind, span.start, span.end) for span in found.of(0)]
    ({'F': 1}, [('F', 9, 24)])
    """
    distinct, place = distinct_texts(texts)
    spans = tuple(tuple(scan_text(text, names)) for text in distinct.to_pylist())
    return TextIdentifiers(spans, place, *count_kinds(spans, place))


def distinct_texts(texts: ArrowArray) -> tuple[ArrowArray, ArrowArray]:
    """Return the distinct texts and, for each row, the place of its text among them."""
    whole = pa.chunked_array(texts) if isinstance(texts, pa.Array) else texts
    plain = whole.cast(pa.large_string()).combine_chunks()
    encoded = plain.dictionary_encode()
    if isinstance(encoded, pa.ChunkedArray):
        encoded = encoded.combine_chunks()
    return encoded.dictionary, encoded.indices


def count_kinds(
    spans: tuple[tuple[TextSpan, ...], ...], place: ArrowArray
) -> tuple[dict[str, int], dict[str, int]]:
    """Return the identifiers, and the rows that have any, by letter."""
    counts: Counter[str] = Counter()
    rows: Counter[str] = Counter()
    for entry in pc.value_counts(place.drop_null()).to_pylist():
        kinds = Counter(span.kind for span in spans[entry["values"]])
        for kind, times in kinds.items():
            counts[kind] += times * entry["counts"]
            rows[kind] += entry["counts"]
    return dict(sorted(counts.items())), dict(sorted(rows.items()))
