"""A column of texts in, the same column without its identifiers out."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pyarrow as pa

from discreet.measure.text.find import ArrowArray, count_kinds, distinct_texts
from discreet.measure.text.scan import scan_text

if TYPE_CHECKING:
    from discreet.measure.text.own_names import PersonNames
    from discreet.measure.text.spans import TextSpan


@dataclass(frozen=True)
class Redacted:
    """The redacted texts, with the number of identifiers and of rows that had any, by letter."""

    texts: ArrowArray
    counts: dict[str, int]
    rows: dict[str, int]


def redact_texts(
    texts: ArrowArray,
    *,
    restricted_zips: Collection[str],
    earliest_year: int,
    names: PersonNames | None = None,
) -> Redacted:
    """Return `texts` with every identifier found replaced by a word for its kind.

    `restricted_zips` are the three-digit prefixes of areas of 20,000 people or fewer, written
    `000`. `earliest_year` is the first birth year of people under 90: a date before it would reveal
    an age over 89, so that its year goes as well. Redacting twice changes nothing.

    >>> redact_texts(
    ...     pa.array(["kim@example.org wrote."]), restricted_zips={"036"}, earliest_year=1936
    ... ).texts.to_pylist()
    ['[EMAIL] wrote.']
    """
    restricted = frozenset(restricted_zips)
    distinct, place = distinct_texts(texts)
    written = distinct.to_pylist()
    spans = tuple(tuple(scan_text(text, names)) for text in written)
    clean = [
        replace(text, found, restricted_zips=restricted, earliest_year=earliest_year)
        for text, found in zip(written, spans, strict=True)
    ]
    kind = pa.large_string() if texts.type == pa.large_string() else pa.string()
    column = pa.array(clean, pa.large_string()).take(place).cast(kind)
    return Redacted(column, *count_kinds(spans, place))


def replace(
    text: str, spans: Iterable[TextSpan], *, restricted_zips: frozenset[str], earliest_year: int
) -> str:
    """Return `text` with each span replaced by its label and what the rule lets stay."""
    parts: list[str] = []
    end = 0
    for span in spans:
        kept = _what_stays(span, restricted_zips, earliest_year)
        parts += (text[end : span.start], f"[{span.label}{kept}]")
        end = span.end
    parts.append(text[end:])
    return "".join(parts)


def _what_stays(span: TextSpan, restricted_zips: frozenset[str], earliest_year: int) -> str:
    if span.label == "ZIP":
        return f": {'000' if span.kept in restricted_zips else span.kept}**"
    if span.label == "AGE":
        return ": 90+"
    if not span.kept or (len(span.kept) == 4 and int(span.kept) < earliest_year):
        return ""
    return f": {span.kept}"
