"""`discreet attack membership`, against frequencies and against a release."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest

if TYPE_CHECKING:
    from pathlib import Path

    from tests.flows.conftest import Discreet


def write(path: Path, header: list[str], rows: list) -> None:
    lines = [",".join(map(str, row)) for row in (header, *rows)]
    path.write_text("\n".join([*lines, ""]), encoding="utf-8")


@pytest.fixture
def study(folder: Path) -> Path:
    chance = np.random.default_rng(7)
    shares = chance.uniform(0.1, 0.5, 120)
    pool, reference, others = (chance.binomial(2, shares, (20, 120)) for _ in range(3))
    names = [f"rs{n}" for n in range(120)]
    for name, group in (("pool", pool), ("reference", reference)):
        rows = list(zip(names, group.mean(axis=0) / 2, strict=True))
        write(folder / f"{name}.csv", ["snp", "frequency"], rows)
    people = np.concatenate([pool, others])
    flags = [1] * 20 + [0] * 20
    rows = [[*row, flag] for row, flag in zip(people, flags, strict=True)]
    write(folder / "genotypes.csv", [*names, "case"], rows)
    return folder


FREQUENCIES = ("pool.csv", "--known", "genotypes.csv", "--reference", "reference.csv")


@pytest.mark.usefixtures("study")
@pytest.mark.statistics
def test_frequencies_reveal_who_is_in_the_pool(discreet: Discreet):
    """20 members, 1.7 deviations ahead on average: some are identified, and more than by chance."""
    ran = discreet(
        "attack", "membership", *FREQUENCIES, "--truth", "case", "--json", "--tolerance", "1%"
    )
    assert ran.code == 3, ran.err
    (found,) = ran.json
    assert found["details"]["likelihood_ratio"]["auc"] > 0.8
    assert found["targets"] == 20


def test_a_release_is_held_against_its_population(folder: Path, discreet: Discreet):
    write(folder / "voters.csv", ["id", "age"], [(n, 20 + n // 2) for n in range(40)])
    write(folder / "source.csv", ["id", "age"], [(n, 20 + n // 2) for n in (0, 1, 2)])
    write(folder / "released.csv", ["age", "ill"], [(20, "flu"), (20, "hiv"), (21, "flu")])
    words = ("attack", "membership", "released.csv", "--population", "voters.csv", "--on", "age")
    shown = discreet(*words)
    assert shown.code == 0, shown.err
    assert "2 of 40 people are claimed to be in released.csv" in shown.out
    result = discreet(*words, "--source", "source.csv", "--person", "id", "--json").json[0]
    assert (result["targets"], result["correct"], result["claimed"]) == (3, 2, 2)


@pytest.mark.usefixtures("study")
@pytest.mark.parametrize(
    "words",
    [
        ("pool.csv",),
        ("pool.csv", "--known", "genotypes.csv"),
        ("pool.csv", "--population", "genotypes.csv"),
        ("pool.csv", "--population", "genotypes.csv", "--on", "rs1", "--source", "pool.csv"),
        (*FREQUENCIES, "--population", "genotypes.csv"),
        (*FREQUENCIES, "--truth", "no such"),
    ],
)
def test_wrong_words_exit_with_2(discreet: Discreet, words: tuple[str, ...]):
    assert discreet("attack", "membership", *words).code == 2
