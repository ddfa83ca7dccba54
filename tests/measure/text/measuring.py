"""How well the finder does on the labelled notes that `scripts/make_notes.py` writes."""

from __future__ import annotations

import importlib
import re
import sys
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from discreet.measure.text import PersonNames
from discreet.measure.text.person_names import fold_accents
from discreet.measure.text.scan import scan_text

if TYPE_CHECKING:
    from types import ModuleType

    from discreet.measure.text import TextSpan

ROOT = Path(__file__).parents[3]


@dataclass
class Score:
    """Labels, labels wholly covered, labels with the right letter, findings, right findings."""

    labels: Counter[str] = field(default_factory=Counter)
    covered: Counter[str] = field(default_factory=Counter)
    lettered: Counter[str] = field(default_factory=Counter)
    found: Counter[str] = field(default_factory=Counter)
    right: Counter[str] = field(default_factory=Counter)

    def recall(self, kind: str) -> float:
        return self.covered[kind] / self.labels[kind]

    def precision(self, kind: str) -> float:
        return self.right[kind] / self.found[kind]


def load_script(name: str) -> ModuleType:
    folder = str(ROOT / "scripts")
    sys.path.insert(0, folder)
    try:
        return importlib.import_module(name)
    finally:
        sys.path.remove(folder)


def measure(notes: list, *, fresh: bool, own: bool = False) -> Score:
    """Return the score on the notes whose misses were left unread, or on the others.

    A label counts as covered when every letter and digit of it is inside findings. A finding is
    right when it touches a label. Key `all` sums the letters; `A rare` and so on split the names.
    """
    score = Score()
    for note in notes:
        if note.fresh is not fresh:
            continue
        spans = scan_text(note.text, PersonNames.of(note.names) if own else None)
        _count(score, note, spans)
    return score


def _is_in(note, name: str) -> bool:
    """Return whether the note's name columns have every word of a name; initials aside."""
    words = [word for word in re.findall(r"[^\W\d_]+", fold_accents(name)) if len(word) > 1]
    return set(words) <= PersonNames.of(note.names).words


def _count(score: Score, note, spans: list[TextSpan]) -> None:
    inside = set().union(*(range(span.start, span.end) for span in spans))
    for start, end, kind, tag in note.spans:
        is_covered = all(i in inside for i in range(start, end) if note.text[i].isalnum())
        is_lettered = any(
            span.kind == kind and span.start < end and span.end > start for span in spans
        )
        keys = [kind, "all", *([f"{kind} {tag}"] if tag else [])]
        if kind == "A" and _is_in(note, note.text[start:end]):
            keys.append("A own")
        for key in keys:
            score.labels[key] += 1
            score.covered[key] += is_covered
            score.lettered[key] += is_lettered
    labelled = set().union(*(range(start, end) for start, end, _, _ in note.spans))
    for span in spans:
        is_right = not labelled.isdisjoint(range(span.start, span.end))
        for key in (span.kind, "all"):
            score.found[key] += 1
            score.right[key] += is_right
