"""Where an identifier stands in a text, and which one wins where several overlap."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable


@dataclass(frozen=True, slots=True)
class Span:
    """An identifier at `text[start:end]`.

    `kind` is its letter in Safe Harbor's list, `label` the word that replaces it, and `kept` the
    part that the rule lets stay: the year of a date, the first three digits of a ZIP code.
    """

    start: int
    end: int
    kind: str
    label: str
    kept: str = ""


def resolve(spans: Iterable[Span]) -> list[Span]:
    """Return disjoint spans in the order of the text: overlapping ones become one.

    The longest gives its kind (then the first letter, then the first in the text), and the union is
    covered: a remainder of the loser would still say something.
    """
    merged: list[Span] = []
    for span in sorted(spans, key=lambda span: (span.start, -span.end, span.kind, span.label)):
        if merged and span.start < merged[-1].end:
            merged[-1] = _merge(merged[-1], span)
        else:
            merged.append(span)
    return merged


def _merge(first: Span, second: Span) -> Span:
    winner = min(first, second, key=lambda span: (span.start - span.end, span.kind, span.start))
    end = max(first.end, second.end)
    return Span(first.start, end, winner.kind, winner.label, winner.kept)
