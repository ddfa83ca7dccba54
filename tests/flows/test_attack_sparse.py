"""`discreet attack sparse`, from ratings and a blog to claims."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pathlib import Path

    from tests.flows.conftest import Discreet

WORDS = ("--person", "user", "--item", "movie", "--value", "rating", "--date", "day", "--seed", "1")
PHI = ("--eccentricity", "1")


@pytest.fixture
def ratings(folder: Path) -> Path:
    rows = [
        f"u{user},m{(user * 7 + k * k * 3) % 50},{(user + k) % 5 + 1},2005-0{k % 9 + 1}-1{user % 10}"
        for user in range(40)
        for k in range(8)
    ]
    path = folder / "ratings.csv"
    path.write_text("\n".join(["user,movie,rating,day", *rows, ""]), encoding="utf-8")
    kept = [
        f"{row.replace(f'u{n},', f'Ann{n},', 1)},u{n}"
        for n in range(20)
        for row in rows[8 * n : 8 * n + 6]
    ]
    kept += ["Cy,m999,3,2005-01-01,", "Cy,m998,3,2005-01-02,"]
    (folder / "blog.csv").write_text(
        "\n".join(["user,movie,rating,day,truth", *kept, ""]), encoding="utf-8"
    )
    return path


def test_people_are_found_and_the_absent_one_is_not(ratings: Path, discreet: Discreet):
    words = ("attack", "sparse", ratings, "--known", "blog.csv", *WORDS, "--truth", "truth", *PHI)
    result = discreet(*words, "--json", "--tolerance", "10%")
    assert result.code == 3, result.err
    (found,) = result.json
    assert (found["targets"], found["claimed"], found["correct"]) == (21, 20, 20)
    assert found["details"]["absent"] == 1
    shown = discreet(*words)
    assert " best: score " in shown.out
    assert "Ann" not in result.out


def test_points_need_no_knowledge(ratings: Path, discreet: Discreet):
    result = discreet("attack", "sparse", ratings, *WORDS, "--points", "1,3", "--json")
    assert result.code == 0
    assert set(result.json[0]["details"]["unicity"]) == {"1", "3"}


@pytest.mark.parametrize(
    ("words", "why"),
    [
        ((), "--known SOURCE, or --points"),
        (("--points", "none"), "such as 1,2,4"),
        (("--known", "blog.csv", "--truth", "trut"), "Did you mean 'truth'"),
    ],
)
def test_wrong_words_exit_with_2(ratings: Path, discreet: Discreet, words: tuple, why: str):
    ran = discreet("attack", "sparse", ratings, *WORDS, *words)
    assert ran.code == 2
    assert why in ran.err
