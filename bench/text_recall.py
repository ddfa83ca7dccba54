"""What is found in free text that others than the finder's authors wrote: recall and precision by class and language.

`python -m bench.text_recall` prints aggregates, `--json` the same for machines. `--show CLASS LANGUAGE` prints the
misses; rules must not be tuned on them. `bench/peers/evaluation_texts.py` makes the texts from the templates of
`bench/texts`.
"""

from __future__ import annotations

import argparse
import functools
import json
import subprocess
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from bench.figures import FigureTable
from bench.people import FOLDER
from bench.release_process import peer
from discreet.measure.text import find_identifiers

if TYPE_CHECKING:
    from collections.abc import Iterable

TEXTS = FOLDER / "texts.jsonl"
LANGUAGES = {"en": "English", "de": "German", "fr": "French", "es": "Spanish"}
CLASSES = ("name", "place", "phone", "plate", "date", "email", "id")
KINDS = {
    "A": "name",
    "B": "place",
    "C": "date",
    "D": "phone",
    "E": "phone",
    "F": "email",
    "L": "plate",
}


@dataclass(frozen=True)
class Span:
    """A piece of a text: an identifier, or what was taken for one."""

    start: int
    end: int
    category: str

    def overlaps(self, other: Span) -> bool:
        """Return whether both have a character in common."""
        return self.start < other.end and other.start < self.end


@dataclass(frozen=True)
class Scanned:
    """A text with its identifiers, and with what was found in it."""

    language: str
    text: str
    there: tuple[Span, ...]
    found: tuple[Span, ...]

    def is_covered(self, span: Span) -> bool:
        """Return whether every letter and digit of the span was found, as whatever it was taken for."""
        return all(
            any(one.start <= place < one.end for one in self.found)
            for place in range(span.start, span.end)
            if self.text[place].isalnum()
        )

    def is_right(self, span: Span) -> bool:
        """Return whether what was found touches any identifier."""
        return any(span.overlaps(one) for one in self.there)


@functools.cache
def scan_texts() -> tuple[Scanned, ...]:
    """Return all texts, scanned."""
    python = peer("evaluation", FOLDER)
    subprocess.run([python, "bench/peers/evaluation_texts.py", str(TEXTS)], check=True)
    made = [json.loads(line) for line in TEXTS.read_text("utf-8").splitlines()]
    found = find_identifiers(pa.array([one["text"] for one in made]))
    return tuple(
        Scanned(
            language=one["language"],
            text=one["text"],
            there=tuple(Span(*span) for span in one["spans"]),
            found=tuple(
                Span(span.start, span.end, KINDS.get(span.kind, "id")) for span in found.of(row)
            ),
        )
        for row, one in enumerate(made)
    )


def summarize(scanned: Iterable[Scanned]) -> dict[str, dict[str, float | int | None]]:
    """Return labels, findings, recall and precision of each class, and of all."""
    there, covered, found, right = (Counter[str]() for _ in range(4))
    for one in scanned:
        for span in one.there:
            there.update((span.category, "all"))
            covered.update((span.category, "all") if one.is_covered(span) else ())
        for span in one.found:
            found.update((span.category, "all"))
            right.update((span.category, "all") if one.is_right(span) else ())
    return {
        name: {
            "labels": there[name],
            "found": found[name],
            "recall": covered[name] / there[name] if there[name] else None,
            "precision": right[name] / found[name] if found[name] else None,
        }
        for name in (*CLASSES, "all")
    }


def summarize_languages() -> dict[str, Any]:
    """Return the aggregates of each language, and of all."""
    scanned = scan_texts()
    by_language = {
        language: summarize(one for one in scanned if one.language == language)
        for language in LANGUAGES
    }
    return {**by_language, "all": summarize(scanned)}


def measure_recall() -> FigureTable:
    """Return recall and precision of each class, in each language."""
    summary = summarize_languages()
    rows: list[tuple[str, ...]] = []
    for name in (*CLASSES, "all"):
        cells = [f"{_percent(some[name]['recall'])} / {_percent(some[name]['precision'])}"
                 for some in summary.values()]  # fmt: skip
        rows.append((name, str(summary["all"][name]["labels"]), *cells))
    return FigureTable(("class", "labels", *LANGUAGES.values(), "all"), tuple(rows))


def _percent(share: float | None) -> str:
    return "–" if share is None else f"{100 * share:.1f}"


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", action="store_true", help="print aggregates as JSON")
    parser.add_argument(
        "--show", nargs=2, metavar=("CLASS", "LANGUAGE"), help="print misses; not for tuning"
    )
    given = parser.parse_args()
    if given.json:
        print(json.dumps(summarize_languages(), indent=1))
    elif given.show:
        _show_misses(*given.show)
    else:
        print(measure_recall().to_markdown())


def _show_misses(category: str, language: str) -> None:
    for one in scan_texts():
        if one.language != language:
            continue
        missed = [s for s in one.there if s.category == category and not one.is_covered(s)]
        wrong = [s for s in one.found if s.category == category and not one.is_right(s)]
        for word, spans in (("missed", missed), ("wrong", wrong)):
            for span in spans:
                print(f"{word}: {one.text[span.start : span.end]!r} in {one.text}")


if __name__ == "__main__":
    main()
