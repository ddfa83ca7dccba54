"""The sets that detection is measured on are well-formed, and what is counted is counted right."""

from __future__ import annotations

import re

import pytest
import yaml
from bench.detection import (
    LABELS,
    Judged,
    Label,
    Score,
    read_label,
    score_categories,
    score_classes,
    score_roles,
)
from bench.figures import ROOT
from bench.labelled_texts import FILLED, parse_marks, read_texts
from bench.text_recall import CLASSES, EITHER, LANGUAGES, Scanned, Span, summarize

TABLES = sorted((ROOT / LABELS).glob("*.yaml"))
SLOTS = re.compile(r"\{\w+\}")


def judge(
    roles: str,
    role: str,
    *,
    classes: str = "",
    found: str | None = None,
    category: str | None = None,
) -> Judged:
    """Return a column with these labels, and what was found of it."""
    label = Label("c", tuple(roles.split("|")), classes.rstrip("?"), "?" in classes, category)
    return Judged("t", "public", label, role, category, found, found)


@pytest.mark.parametrize("path", TABLES, ids=lambda path: path.stem)
def test_every_label_of_a_table_is_read(path):
    described = yaml.safe_load(path.read_text("utf-8"))
    labels = [read_label(*entry) for entry in described["columns"].items()]
    assert labels
    assert described["origin"] in {"public", "constructed"}
    assert set(described["file"]) & {"shared", "package", "extract"}


def test_at_least_six_public_tables_have_labels():
    origins = [yaml.safe_load(path.read_text("utf-8"))["origin"] for path in TABLES]
    assert origins.count("public") >= 6


@pytest.mark.parametrize("language", LANGUAGES)
def test_a_quarter_of_the_templates_has_no_identifier(language):
    lines = (ROOT / "bench/texts" / f"{language}.txt").read_text("utf-8").splitlines()
    templates = [line for line in lines if not line.startswith("#")]
    plain = [line for line in templates if not SLOTS.search(line)]
    assert len(templates) >= 60
    assert len(plain) >= len(templates) / 4


@pytest.mark.parametrize("language", LANGUAGES)
def test_labels_of_the_third_set_are_whole_words_that_do_not_overlap(language):
    for one in read_texts(language):
        ends = [0, *(end for _, end, _ in one.spans)]
        assert not set(one.text) & set("[]{}\\"), one.text
        for (start, end, category), previous in zip(one.spans, ends, strict=False):
            assert category in {*CLASSES, EITHER}
            assert previous <= start < end
            assert one.text[start:end] == one.text[start:end].strip()
            assert not one.text[start - 1 : start].isalnum(), one.text
            assert not one.text[end : end + 1].isalnum(), one.text


@pytest.mark.parametrize("language", LANGUAGES)
def test_a_third_of_the_third_set_is_written_by_hand_and_the_rest_has_sixty_frames(language):
    texts = list(read_texts(language))
    filled = [one for one in texts if one.is_filled]
    assert len({one.text for one in texts}) == len(texts) >= 150
    assert len(filled) <= len(texts) * 2 / 3
    assert len(filled) >= 60 * FILLED
    assert {category for one in texts for *_, category in one.spans} == {*CLASSES, EITHER}


def test_the_third_set_is_the_same_each_time():
    assert list(read_texts("es")) == list(read_texts("es"))


def test_a_mark_becomes_a_span_and_a_written_end_of_line_an_end_of_line():
    assert parse_marks("Hi,\\n[n Li Na]!") == ("Hi,\nLi Na!", ((4, 9, "name"),))


def test_what_may_be_found_or_not_counts_neither_way():
    there = (Span(0, 6, EITHER), Span(7, 11, "name"))
    both = Scanned("de", "Ostern Anna kam", there, (Span(0, 6, "date"), Span(7, 11, "name")))
    neither = Scanned("de", "Ostern Anna kam", there, (Span(12, 15, "name"),))
    scores = summarize([both, neither])
    assert scores["date"]["found"] == 0
    assert scores["name"] == {"labels": 2, "found": 2, "recall": 1 / 2, "precision": 1 / 2}
    assert scores["all"]["labels"] == 2


def test_either_of_two_roles_is_right_and_counts_for_the_one_that_was_given():
    scores = score_roles([judge("quasi|sensitive", "sensitive"), judge("quasi|sensitive", "quasi")])
    assert scores == {"quasi": Score(1, 1, 1), "sensitive": Score(1, 1, 1)}


def test_a_wrong_role_counts_against_both():
    scores = score_roles([judge("quasi|sensitive", "insensitive")])
    assert scores == {"quasi": Score(1, 0, 0), "insensitive": Score(0, 1, 0)}


def test_a_class_that_is_optional_may_be_missing_but_not_be_another():
    missing = judge("quasi", "quasi", classes="C?")
    other = judge("quasi", "quasi", classes="C?", found="R")
    right = judge("quasi", "quasi", classes="HR", found="R")
    scores = score_classes([missing, other, right], lambda one: one.drafted_class)
    assert scores == {"R": Score(1, 2, 1)}


def test_a_category_counts_where_the_column_is_sensitive():
    found = judge("sensitive", "sensitive", category="health")
    missed = judge("sensitive", "quasi", category="health")
    known = judge("quasi|sensitive", "quasi", category="ethnicity")
    assert score_categories([found, missed, known]) == {"health": Score(2, 1, 1)}


def test_an_identifier_is_found_only_if_all_of_its_letters_are_covered():
    text = "Anna-Maria Lee came"
    there = (Span(0, 14, "name"),)
    whole = Scanned(
        "en", text, there, (Span(0, 4, "name"), Span(5, 10, "name"), Span(11, 14, "id"))
    )
    part = Scanned("en", text, there, (Span(0, 10, "name"),))
    wrong = Scanned("en", text, there, (Span(15, 19, "name"),))
    scores = summarize([whole, part, wrong])
    assert scores["name"]["recall"] == 1 / 3
    assert scores["name"]["precision"] == 3 / 4
    assert scores["id"]["precision"] == 1
