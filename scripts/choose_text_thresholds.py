r"""Measure how the thresholds for names trade recall against precision, on texts that the model was not fitted to.

    .venv/bin/python scripts/choose_text_thresholds.py SOURCES

A fifth of the templates and of the texts of the corpora that `scripts/train_text_tagger.py` reads is held out, and a model is fitted to
the rest. Names are then looked for in what was held out, with a third of the names missing from the lists, as while fitting. No text of
an evaluation set is read. The thresholds of `discreet.measure.text.refine` have a precision of at least 90 % on these templates, and
keep that of all identifiers in the notes of `scripts/make_notes.py` at 98 % (`tests/measure/text/test_recall.py`).
"""

from __future__ import annotations

import functools
import itertools
import sys
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING
from zlib import crc32

import numpy as np
import train_text_tagger as training
from train_text_tagger import IGNORED

from discreet.measure.text import refine, scan, tagger

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tagger_values import Example

HELD_OUT = 5  # one of so many
MOST_TEXTS = 500  # of one source and language
TAKEN = (-3.0, -2.5, -2.0, -1.5, -0.5)
DROPPED = (-2.0, -1.7, -1.0)
EVERYDAY = (1.5, 3.0)
NAME = 1


def is_held_out(key: str) -> bool:
    """Return whether texts with this key are measured and not fitted to."""
    return crc32(key.encode()) % HELD_OUT == 0


def split_examples(sources: Path) -> tuple[list[Example], list[Example]]:
    """Return the examples to fit to, and those that are held out: of one template all or none."""
    fitted: list[Example] = []
    held_out: list[Example] = []
    for template, example in training.fill_templates(sources):
        (held_out if is_held_out(template) else fitted).append(example)
    for example in training.read_corpora(sources):
        (held_out if is_held_out(example.text) else fitted).append(example)
    return fitted, held_out


def limit_examples(examples: Sequence[Example]) -> list[Example]:
    """Return at most so many examples of each source and language."""
    seen = Counter[tuple[str, str]]()
    kept: list[Example] = []
    for example in examples:
        seen[example.source, example.language] += 1
        if seen[example.source, example.language] <= MOST_TEXTS:
            kept.append(example)
    return kept


def count_names(example: Example) -> Counter[str]:
    """Return how many names a text has and how many are covered, how many were found and how many touch an identifier."""
    found = scan.scan_text(example.text)
    covered = {place for one in found for place in range(one.start, one.end)}
    counts = Counter[str]()
    for start, end in merge_names(example):
        letters = {place for place in range(start, end) if example.text[place].isalnum()}
        counts.update({"there": 1, "covered": int(letters <= covered)})
    for one in found:
        if one.kind != "A":
            continue
        kinds = {kind for start, end, kind in example.spans if start < one.end and one.start < end}
        if kinds != {IGNORED}:
            counts.update({"found": 1, "right": int(bool(kinds))})
    return counts


def merge_names(example: Example) -> list[tuple[int, int]]:
    """Return the names of a text; corpora label each word of a name by itself."""
    merged: list[tuple[int, int]] = []
    for start, end, kind in example.spans:
        if kind != NAME:
            continue
        if merged and start - merged[-1][1] <= 1:
            merged[-1] = (merged[-1][0], end)
        else:
            merged.append((start, end))
    return merged


def measure(examples: Sequence[Example]) -> dict[tuple[str, str], Counter[str]]:
    """Return what was counted in each source and language."""
    counts: dict[tuple[str, str], Counter[str]] = {}
    for example in examples:
        place = counts.setdefault((example.source, example.language), Counter())
        place.update(count_names(example))
    return counts


def write_shares(counts: Counter[str]) -> str:
    """Return recall and precision in percent."""
    recall = 100 * counts["covered"] / max(1, counts["there"])
    precision = 100 * counts["right"] / max(1, counts["found"])
    return f"{recall:5.1f} / {precision:5.1f}"


def main() -> None:
    """Print recall and precision for each choice of thresholds: of templates, of corpora, and of each source."""
    fitted, held_out = split_examples(Path(sys.argv[1]))
    weights = training.fit_weights(fitted).astype(np.int32)
    tagger._read_weights = lambda: weights
    scan.find_by_rules = functools.cache(
        lambda text, language, own=scan._NONE, rules=scan.find_by_rules: tuple(
            rules(text, language, own)
        )
    )
    kept = limit_examples(held_out)
    print(Counter((e.source, e.language) for e in kept), flush=True)
    with training.reduced_lists(3):
        for taken, dropped, everyday in itertools.product(TAKEN, DROPPED, EVERYDAY):
            refine.TAKEN[NAME], refine.DROPPED["A"], refine.EVERYDAY = taken, dropped, everyday
            counts = measure(kept)
            templates = sum((n for (s, _), n in counts.items() if s == "templates"), Counter())
            corpora = sum((n for (s, _), n in counts.items() if s != "templates"), Counter())
            each = ", ".join(f"{s} {lang} {write_shares(n)}" for (s, lang), n in counts.items())
            print(
                f"{taken:5} {dropped:5} {everyday:5}  templates {write_shares(templates)}  corpora "
                f"{write_shares(corpora)}  ({each})",
                flush=True,
            )


if __name__ == "__main__":
    main()
