"""What is found in free text that others than the finder's authors wrote: recall and precision by class and language.

`python -m bench.text_recall` prints aggregates of the third set, `--json` the same for machines; `--set` takes another. `--show CLASS LANGUAGE` prints the misses; rules must not be tuned on them. The second set is templates of
`bench/texts`, filled by `bench/peers/evaluation_texts.py`; `bench/labelled_texts.py` describes the third,
`bench/corpus_texts.py` the fourth.
"""

from __future__ import annotations

import argparse
import functools
import itertools
import json
import subprocess
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import pyarrow as pa

from bench.corpus_texts import read_corpora
from bench.figures import FigureTable
from bench.labelled_texts import LabelledText, read_texts
from bench.people import FOLDER
from bench.release_process import peer
from discreet.measure.text import find_identifiers

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

SetName = Literal["second", "third", "fourth"]
SETS: tuple[SetName, ...] = ("second", "third", "fourth")
TEXTS = FOLDER / "texts.jsonl"
LANGUAGES = {"en": "English", "de": "German", "fr": "French", "es": "Spanish"}
EITHER = "either"  # the class of what may be found or not
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
        return any(span.overlaps(one) for one in self.there if one.category != EITHER)

    def is_counted(self, span: Span) -> bool:
        """Return whether what was found is right or wrong, not of the kind that may be found or not."""
        return self.is_right(span) or not any(span.overlaps(one) for one in self.there)


@functools.cache
def scan_texts(name: SetName) -> tuple[Scanned, ...]:
    """Return all texts of a set, scanned."""
    made = READERS[name]()
    found = find_identifiers(pa.array([one.text for one in made]))
    return tuple(
        Scanned(
            language=one.language,
            text=one.text,
            there=tuple(Span(*span) for span in one.spans),
            found=tuple(
                Span(span.start, span.end, KINDS.get(span.kind, "id")) for span in found.of(row)
            ),
        )
        for row, one in enumerate(made)
    )


def _read_labelled() -> list[LabelledText]:
    return list(itertools.chain.from_iterable(map(read_texts, LANGUAGES)))


def _read_corpora() -> list[LabelledText]:
    return list(read_corpora())


def _fill_templates() -> list[LabelledText]:
    python = peer("evaluation", FOLDER)
    subprocess.run([python, "bench/peers/evaluation_texts.py", str(TEXTS)], check=True)
    made = [json.loads(line) for line in TEXTS.read_text("utf-8").splitlines()]
    return [
        LabelledText(one["language"], one["genre"], one["text"], tuple(one["spans"]), True)
        for one in made
    ]


READERS: dict[SetName, Callable[[], list[LabelledText]]] = {
    "second": _fill_templates,
    "third": _read_labelled,
    "fourth": _read_corpora,
}


def summarize(scanned: Iterable[Scanned]) -> dict[str, dict[str, float | int | None]]:
    """Return labels, findings, recall and precision of each class, and of all."""
    there, covered, found, right = (Counter[str]() for _ in range(4))
    for one in scanned:
        for span in (span for span in one.there if span.category != EITHER):
            there.update((span.category, "all"))
            covered.update((span.category, "all") if one.is_covered(span) else ())
        for span in filter(one.is_counted, one.found):
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


def summarize_languages(name: SetName) -> dict[str, Any]:
    """Return the aggregates of each language, and of all."""
    scanned = scan_texts(name)
    by_language = {
        language: summarize(one for one in scanned if one.language == language)
        for language in LANGUAGES
    }
    return {**by_language, "all": summarize(scanned)}


def measure_second() -> FigureTable:
    """Return recall and precision on the second set."""
    return measure_recall("second")


def measure_third() -> FigureTable:
    """Return recall and precision on the third set."""
    return measure_recall("third")


def measure_fourth() -> FigureTable:
    """Return recall and precision on the fourth set."""
    return measure_recall("fourth")


def measure_recall(texts: SetName) -> FigureTable:
    """Return recall and precision of each class, in each language."""
    summary = summarize_languages(texts)
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
    parser.add_argument("--set", choices=SETS, default="third", help="which set of texts to run")
    parser.add_argument("--json", action="store_true", help="print aggregates as JSON")
    parser.add_argument(
        "--show", nargs=2, metavar=("CLASS", "LANGUAGE"), help="print misses; not for tuning"
    )
    given = parser.parse_args()
    if given.json:
        print(json.dumps(summarize_languages(given.set), indent=1))
    elif given.show:
        _show_misses(given.set, *given.show)
    else:
        print(measure_recall(given.set).to_markdown())


def _show_misses(texts: SetName, category: str, language: str) -> None:
    for one in scan_texts(texts):
        if one.language != language:
            continue
        missed = [s for s in one.there if s.category == category and not one.is_covered(s)]
        wrong = [
            s
            for s in one.found
            if s.category == category and one.is_counted(s) and not one.is_right(s)
        ]
        for word, spans in (("missed", missed), ("wrong", wrong)):
            for span in spans:
                print(f"{word}: {one.text[span.start : span.end]!r} in {one.text}")


if __name__ == "__main__":
    main()
