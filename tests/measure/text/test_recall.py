from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from discreet.measure.text import lexicon
from discreet.measure.text.person_names import fold_accents

pytestmark = pytest.mark.xdist_group("recall")  # the notes are read once
ROOT = Path(__file__).parents[3]
PAGE = ROOT / "docs" / "reference" / "free-text.md"
STRUCTURED = "BCDEFGHIJKLMNOPQR"
TOLERANCE = 0.5  # percentage points between the page and the measurement


@pytest.fixture(scope="module")
def seen(measuring, notes):
    return measuring.measure(notes, fresh=False)


@pytest.fixture(scope="module")
def fresh(measuring, notes):
    return measuring.measure(notes, fresh=True)


@pytest.fixture(scope="module")
def fresh_with_columns(measuring, notes):
    return measuring.measure(notes, fresh=True, own=True)


def test_the_script_writes_the_same_notes_every_time(notes, tmp_path: Path):
    script = ROOT / "scripts" / "make_notes.py"
    subprocess.run([sys.executable, script, tmp_path / "notes.jsonl"], check=True)
    lines = (tmp_path / "notes.jsonl").read_text("utf-8").splitlines()
    assert len(lines) == len(notes) >= 500
    assert [json.loads(line)["text"] for line in lines] == [note.text for note in notes]


def test_labels_point_at_what_they_label(notes):
    for note in notes:
        ends = [0, *(end for _, end, _, _ in note.spans)]
        starts = [start for start, _, _, _ in note.spans]
        assert all(end <= start for end, start in zip(ends, starts, strict=False))
        assert all(note.text[start:end].strip() for start, end, _, _ in note.spans)


def test_rare_names_are_in_no_list_of_the_finder(measuring):
    words = measuring.load_script("note_words")
    parts = {
        part
        for name in (*words.RARE_GIVEN, *words.RARE_FAMILY)
        for part in re.findall(r"[^\W\d_]+", fold_accents(name))
    }
    known = lexicon.given_names() | lexicon.family_names()
    # Two hyphenated names have a common second half.
    assert parts & known <= {"bowen", "hale", "roy"}


@pytest.mark.parametrize("kind", STRUCTURED)
def test_identifiers_other_than_names_are_found(kind, seen, fresh):
    assert seen.recall(kind) >= 0.98
    assert fresh.recall(kind) >= 0.98


def test_names_are_found(seen, fresh):
    assert seen.recall("A") >= 0.99
    assert fresh.recall("A") >= 0.95
    assert fresh.recall("A rare") >= 0.94


def test_names_of_the_own_columns_are_found(fresh_with_columns):
    assert fresh_with_columns.recall("A own") >= 0.995
    assert fresh_with_columns.recall("A") >= 0.99


def test_little_else_is_taken_for_an_identifier(seen, fresh):
    assert seen.precision("all") >= 0.98
    assert fresh.precision("all") >= 0.98
    assert fresh.precision("A") >= 0.95


def test_the_page_shows_what_is_measured(seen, fresh, fresh_with_columns):
    page = PAGE.read_text("utf-8")
    number = r"([\d.]+) \| "
    rows = re.findall(
        rf"^\| ([A-R]|all) \| [^|]* \| (\d+) \| {number * 3}".strip(), page, re.MULTILINE
    )
    assert [kind for kind, *_ in rows] == [*"ABCDEFGHIJKLMNOPQR", "all"]
    for kind, count, *shown in rows:
        measured = (fresh.recall(kind), fresh.precision(kind), seen.recall(kind))
        assert int(count) == fresh.labels[kind], kind
        assert [float(share) for share in shown] == pytest.approx(
            [100 * share for share in measured], abs=TOLERANCE
        ), kind
    names = dict(re.findall(r"^\| names, ([\w ]+) \| ([\d.]+) \|$", page, re.MULTILINE))
    measured = {
        "common": fresh.recall("A known"),
        "rare": fresh.recall("A rare"),
        "misspelled": fresh.recall("A misspelled"),
        "with the own columns": fresh_with_columns.recall("A"),
        "in the own columns": fresh_with_columns.recall("A own"),
    }
    assert names.keys() == measured.keys()
    for kind, share in measured.items():
        assert float(names[kind]) == pytest.approx(100 * share, abs=TOLERANCE), kind
