"""Writing the hospital: what is written, what is refused, and that nothing is lost by it."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING

import pytest
from click.testing import CliRunner

from discreet.cli.demo import (
    DEMO_STEPS,
    LEDGER,
    REFUSED,
    RESULTS,
    command,
    excerpt,
    forget_spending,
    quote_shell_word,
)
from discreet.cli.demo_files import read_hospital, refuse_to_replace, write_hospital
from discreet.errors import OutputRefused

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.filterwarnings("error")


def test_the_bundle_holds_the_tables_and_their_policy():
    assert {"patients.csv", "visits.csv", "voters.csv", "policy.yaml"} <= set(read_hospital())


def test_the_files_are_written_as_they_are_bundled(tmp_path: Path):
    folder = tmp_path / "new" / "place"
    write_hospital(folder, read_hospital())
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == read_hospital()


def test_a_folder_that_holds_one_of_the_files_is_refused(tmp_path: Path):
    (tmp_path / "voters.csv").write_text("mine")
    with pytest.raises(OutputRefused, match="--force"):
        refuse_to_replace(tmp_path, read_hospital(), force=False)


def test_force_allows_to_replace_files(tmp_path: Path):
    (tmp_path / "voters.csv").write_text("mine")
    refuse_to_replace(tmp_path, read_hospital(), force=True)


def test_a_folder_with_other_files_is_welcome(tmp_path: Path):
    (tmp_path / "other.csv").write_text("mine")
    refuse_to_replace(tmp_path, read_hospital(), force=False)


def test_a_file_in_the_place_of_the_folder_is_refused_even_with_force(tmp_path: Path):
    (tmp_path / "file").write_text("mine")
    with pytest.raises(OutputRefused, match="is a file"):
        refuse_to_replace(tmp_path / "file", read_hospital(), force=True)


def test_a_place_that_cannot_be_written_is_refused(tmp_path: Path):
    (tmp_path / "file").write_text("mine")
    with pytest.raises(OutputRefused, match="cannot be written"):
        write_hospital(tmp_path / "file" / "below", read_hospital())


def test_a_refused_demo_changes_nothing(tmp_path: Path):
    (tmp_path / "policy.yaml").write_text("mine")
    result = CliRunner().invoke(command, [str(tmp_path)])
    assert result.exit_code != 0
    assert {path.name: path.read_text() for path in tmp_path.iterdir()} == {"policy.yaml": "mine"}


def test_a_result_of_another_user_is_not_replaced(tmp_path: Path):
    (tmp_path / "released.csv").write_text("mine")
    result = CliRunner().invoke(command, [str(tmp_path)])
    assert isinstance(result.exception, OutputRefused)
    assert [path.name for path in tmp_path.iterdir()] == ["released.csv"]


def test_every_file_that_a_chapter_writes_is_looked_for_first():
    places = {part for chapter in DEMO_STEPS for part in chapter.arguments if "{folder}" in part}
    named = {place.removeprefix("{folder}/") for place in places}
    assert named <= {*read_hospital(), *RESULTS, *REFUSED}


def test_every_question_is_charged_to_the_ledger_of_the_folder():
    asked = [chapter for chapter in DEMO_STEPS if chapter.arguments[0] == "ask"]
    assert asked
    assert all(
        chapter.arguments[chapter.arguments.index("--ledger") + 1] == f"{{folder}}/{LEDGER}"
        for chapter in asked
    )


def test_a_repeated_demo_begins_with_a_whole_budget(tmp_path: Path):
    (tmp_path / LEDGER).write_text("spent")
    (tmp_path / f"{LEDGER}-wal").write_text("spent")
    forget_spending(tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_a_dry_run_names_the_files_and_writes_none(tmp_path: Path):
    folder = tmp_path / "place"
    result = CliRunner().invoke(command, [str(folder), "--dry-run"])
    assert result.exit_code == 0
    assert f"would write {folder / 'patients.csv'}" in result.output
    assert f"would write {folder / 'released.csv'}" in result.output
    assert not folder.exists()


def test_every_chapter_asks_a_question_on_the_demo_folder():
    assert all(chapter.question.endswith("?") for chapter in DEMO_STEPS)
    assert all(
        any("{folder}" in part for part in chapter.arguments) and chapter.lines > 0
        for chapter in DEMO_STEPS
    )


def test_an_excerpt_starts_at_the_top_when_its_beginning_is_not_found():
    assert excerpt(["a", "b", "c"], begins="z", length=2) == ["a", "b"]


@pytest.mark.parametrize(
    "word", ["file.csv", "a = 'x'", "it's $HOME", 'say "no"', "`ls`", "a\\'b", ""]
)
def test_a_quoted_word_is_the_same_word_to_a_shell(word: str):
    assert shlex.split(quote_shell_word(word)) == [word]
