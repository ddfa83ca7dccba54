"""Where an identifier stands in a text, and which one wins where several overlap."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class TextSpan:
    """An identifier at `text[start:end]`.

    `kind` is its letter in Safe Harbor's list, `label` the word that replaces it, and `kept` the
    part that the rule lets stay: the year of a date, the first three digits of a ZIP code.
    """

    start: int
    end: int
    kind: str
    label: str
    kept: str = ""


def resolve_spans(spans: Iterable[TextSpan]) -> list[TextSpan]:
    """Return disjoint spans in the order of the text: overlapping ones become one.

    The longest gives its kind (then the first letter, then the first in the text), and the union is
    covered: a remainder of the loser would still say something.
    """
    merged: list[TextSpan] = []
    for span in sorted(spans, key=lambda span: (span.start, -span.end, span.kind, span.label)):
        if merged and span.start < merged[-1].end:
            merged[-1] = _merge(merged[-1], span)
        else:
            merged.append(span)
    return merged


def _merge(first: TextSpan, second: TextSpan) -> TextSpan:
    winner = min(first, second, key=lambda span: (span.start - span.end, span.kind, span.start))
    end = max(first.end, second.end)
    return TextSpan(first.start, end, winner.kind, winner.label, winner.kept)
