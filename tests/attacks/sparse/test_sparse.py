"""Sparse linkage: few known ratings find a history, absent people are not found, plain numpy agrees."""

from __future__ import annotations

import sys
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.attacks.sparse.scoreboard import (
    ItemIndex,
    Nearness,
    Points,
    compute_scoreboard,
    make_nearness,
)
from discreet.attacks.sparse.sparse import SparseOptions, find_sparse, find_unicity
from discreet.attacks.sparse.transactions import TransactionColumns
from discreet.engines.connect import open_table
from discreet.errors import EmptySource, UnknownColumn, WrongUsage

PARTS = TransactionColumns("user", "movie", "rating", "day")


@dataclass(frozen=True)
class World:
    """Ratings of people, and what is known of some of them, absent ones included."""

    release: pa.Table
    known: pa.Table


def make_world(
    *, people: int = 400, absent: int = 100, items: int = 600, per: int = 25, known: int = 8,
    wrong: int = 2, days: int = 14, seed: int = 0,
) -> World:  # fmt: skip
    chance = np.random.default_rng(seed)
    popular = 1 / np.arange(1, items + 1) ** 0.7
    movies = np.array(
        [chance.choice(items, per, replace=False, p=popular / popular.sum()) for _ in range(people)]
    )
    ratings = chance.integers(1, 6, (people, per))
    dates = chance.integers(0, 2000, (people, per))
    inside = people - absent
    release = pa.table(
        {
            "user": np.repeat(np.arange(inside) + 7000, per),
            "movie": movies[:inside].ravel(),
            "rating": ratings[:inside].ravel(),
            "day": dates[:inside].ravel(),
        }
    )
    targets = np.concatenate([np.arange(100), np.arange(inside, people)])
    known_movies = movies[targets, :known].copy()
    known_movies[:, :wrong] = chance.integers(0, items, (len(targets), wrong))
    off = chance.integers(-days, days + 1, (len(targets), known))
    truth = np.where(targets < inside, targets + 7000, -1)
    return World(
        release,
        pa.table(
            {
                "user": np.repeat([f"blog{n}" for n in targets], known),
                "movie": [f"{n}" for n in known_movies.ravel()],
                "rating": ratings[targets, :known].ravel(),
                "day": (dates[targets, :known] + off).ravel(),
                "truth": pa.array(np.repeat(truth, known), mask=np.repeat(truth < 0, known)),
            }
        ),
    )


def attacked(world: World, parts: TransactionColumns = PARTS, **terms):
    return find_sparse(
        open_table(world.release),
        open_table(world.known),
        parts,
        chance=np.random.default_rng(1),
        terms=SparseOptions(**terms),
        truth="truth",
    )


@pytest.mark.statistics
def test_eight_ratings_two_of_them_wrong_find_nearly_everybody():
    """100 of 200 targets are in the release; one wrong best match in 100 is allowed."""
    found = attacked(make_world())
    assert found.targets == 200
    assert found.details["absent"] == 100
    assert found.details["best_is_right"] >= 0.99
    assert found.details["entropy_after"] < 4 < 8 < found.details["entropy_before"]
    assert found.correct is not None
    assert found.correct >= 98
    assert found.rate == found.correct / 200


@pytest.mark.statistics
def test_absent_people_are_claimed_seldom_when_more_eccentricity_is_asked():
    """Of 100 absent targets; a best match by luck stands out by 5 deviations now and then."""
    steps = {row["eccentricity"]: row for row in attacked(make_world()).details["by_eccentricity"]}
    assert steps[5.0]["correct"] >= 95
    assert steps[5.0]["false_on_absent"] <= 10
    assert steps[0.5]["false_on_absent"] > steps[5.0]["false_on_absent"]
    assert steps[5.0]["claimed"] == steps[5.0]["correct"] + steps[5.0]["false_on_absent"]


@pytest.mark.statistics
def test_the_control_group_is_claimed_about_as_often_as_absent_people():
    """100 absent people and 200 taken out; shares differ by less than 4 standard errors of 0.06."""
    found = attacked(make_world(), eccentricity=1.0)
    row = next(row for row in found.details["by_eccentricity"] if row["eccentricity"] == 1.0)
    assert found.control == pytest.approx(row["false_on_absent"] / 100, abs=0.25)


@pytest.mark.statistics
def test_known_things_that_say_nothing_find_no_one():
    """All 8 known movies are wrong: best matches are chance, 1 in 300 each."""
    found = attacked(make_world(wrong=8))
    assert found.details["best_is_right"] <= 0.05
    assert found.advantage <= 0.02


@pytest.mark.statistics
def test_without_values_and_dates_items_alone_are_enough_here():
    """Eight of 25 movies among 600, of 100 present targets: 90 at least."""
    found = attacked(make_world(wrong=0), TransactionColumns("user", "movie"))
    assert found.details["best_is_right"] >= 0.9
    assert "rating" not in found.knowledge


def test_a_release_in_which_everybody_is_alike_gives_no_one_away():
    same = np.tile(np.arange(5), 50)
    release = pa.table({"user": np.repeat(np.arange(50), 5), "movie": same})
    known = pa.table({"user": ["a", "a", "b"], "movie": [1, 2, 3], "truth": [4, 4, None]})
    found = attacked(World(release, known), TransactionColumns("user", "movie"))
    assert (found.claimed, found.rate) == (0, 0.0)
    assert found.example == ()


def test_without_truth_nothing_is_called_right():
    world = make_world(absent=50, people=150)
    found = find_sparse(
        open_table(world.release.rename_columns(["pseudonym", "movie", "rating", "day"])),
        open_table(world.known),
        TransactionColumns("pseudonym", "movie", "rating", "day"),
        chance=np.random.default_rng(1),
        known_person="user",
    )
    assert found.correct is None
    assert found.rate == found.claimed / found.targets
    assert "absent" not in found.details


def test_values_between_whole_numbers_and_real_dates_are_read():
    day = np.datetime64("2020-01-01") + np.arange(12)
    release = {"user": np.repeat(["p", "q", "r"], 4), "movie": [1, 2, 3, 4] * 3}
    release |= {"rating": np.repeat([0.5, 2.25, 4.75], 4), "day": day}
    known = {"user": ["ann"] * 4, "movie": [1, 2, 3, 4], "rating": [2.2] * 4, "day": day[4:8]}
    known |= {"truth": ["q"] * 4}
    found = attacked(World(pa.table(release), pa.table(known)), eccentricity=0.5)
    assert (found.claimed, found.correct) == (1, 1)
    assert "ann fits q best" in found.example[0]
    assert "ann" not in str(found.to_dict())


def small_index(chance: np.random.Generator, *, people: int, items: int, rows: int) -> ItemIndex:
    what, who = chance.integers(0, items, rows), chance.integers(0, people, rows)
    order = np.lexsort((who, what))
    starts = np.searchsorted(what[order], np.arange(items + 1)).astype(np.int64)
    numbers = chance.integers(0, 6, (2, rows)).astype(np.int32)
    return ItemIndex(people, starts, who[order].astype(np.int32), *numbers)


def small_points(chance: np.random.Generator, *, targets: int, items: int) -> Points:
    counts = chance.integers(0, 6, targets)
    starts = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
    total = int(starts[-1])
    drawn = chance.integers(-1, items, total).astype(np.int32)
    return Points(starts, drawn, *chance.integers(0, 6, (2, total)).astype(np.int32))


def both_ways(index: ItemIndex, points: Points, near: Nearness, left_out: np.ndarray | None = None):
    quick = compute_scoreboard(index, points, near, left_out=left_out)
    with pytest.MonkeyPatch.context() as patched:
        patched.setitem(sys.modules, "discreet.attacks.sparse.scoreboard_kernel", None)
        return quick, compute_scoreboard(index, points, near, left_out=left_out)


NAMES = ("best", "top", "second", "deviation", "entropy", "certainty")


@given(st.integers(0, 10_000))
def test_with_numba_and_without_every_number_is_the_same(seed: int):
    chance = np.random.default_rng(seed)
    index = small_index(chance, people=12, items=5, rows=40)
    points = small_points(chance, targets=6, items=5)
    left_out = chance.integers(-1, 12, 6).astype(np.int32)
    near = make_nearness(
        value_tolerance=1.5, day_tolerance=2, has_values=True, has_days=True, step=1
    )
    quick, plain = both_ways(index, points, near, left_out)
    for name in NAMES:
        np.testing.assert_array_equal(getattr(quick, name), getattr(plain, name), err_msg=name)


def test_with_numba_and_without_the_same_people_are_claimed():
    """At sizes where records used to be left unscored, and their spread was estimated."""
    chance = np.random.default_rng(3)
    index = small_index(chance, people=2_000, items=60, rows=30_000)
    points = small_points(chance, targets=200, items=60)
    near = make_nearness(
        value_tolerance=1.5, day_tolerance=2, has_values=True, has_days=True, step=1
    )
    quick, plain = both_ways(index, points, near)
    for name in (*NAMES, "eccentricity"):
        np.testing.assert_array_equal(getattr(quick, name), getattr(plain, name), err_msg=name)


def test_the_deviation_is_that_of_all_records():
    chance = np.random.default_rng(5)
    index = small_index(chance, people=50, items=9, rows=300)
    points = small_points(chance, targets=20, items=9)
    near = make_nearness(
        value_tolerance=1.5, day_tolerance=2, has_values=True, has_days=True, step=1
    )
    found = compute_scoreboard(index, points, near)
    for target in range(len(points)):
        scores = np.zeros(50)
        for point in range(points.starts[target], points.starts[target + 1]):
            item = points.items[point]
            for person in range(50) if item >= 0 else ():
                part = slice(index.starts[item], index.starts[item + 1])
                mine = index.holders[part] == person
                apart = [
                    np.minimum(np.abs(column[part][mine] - known[point]), len(table) - 1)
                    for column, known, table in (
                        (index.values, points.values, near.values),
                        (index.days, points.days, near.days),
                    )
                ]
                nears = near.values[apart[0]] + near.days[apart[1]]
                scores[person] += index.weights[item] * nears.max(initial=0)
        assert found.deviation[target] == pytest.approx(scores.std(), abs=1e-9)
        assert found.top[target] == pytest.approx(scores.max())
        assert found.second[target] == pytest.approx(np.sort(scores)[-2])


@pytest.mark.statistics
def test_unicity_grows_with_the_points_known():
    """300 people, 25 rows each: with 4 exact points all but a handful are alone."""
    table = open_table(make_world().release)
    chance = np.random.default_rng(0)
    bare = find_unicity(table, TransactionColumns("user", "movie"), points=(1, 2, 4), chance=chance)
    shares = bare.details["unicity"]
    assert shares["1"] < shares["2"] < shares["4"]
    assert shares["4"] == bare.rate > 0.9
    exact = find_unicity(table, PARTS, points=[1], chance=chance)
    assert exact.rate > 0.99


def test_unicity_of_people_who_are_alike_is_nothing():
    release = pa.table({"user": [1, 1, 2, 2], "movie": [5, 6, 5, 6]})
    found = find_unicity(
        open_table(release),
        TransactionColumns("user", "movie"),
        chance=np.random.default_rng(0),
        points=[2],
    )
    assert (found.targets, found.rate) == (2, 0.0)


def test_wrong_words_are_refused():
    world = make_world(people=120, absent=10)
    with pytest.raises(UnknownColumn, match="movi"):
        attacked(world, TransactionColumns("user", "movi"))
    texts = World(
        world.release.append_column("t", pa.array(["x"] * len(world.release))), world.known
    )
    with pytest.raises(WrongUsage, match=r"'t' of .* holds text; expected numbers"):
        attacked(texts, TransactionColumns("user", "movie", "t"))
    with pytest.raises(WrongUsage, match="expected dates"):
        attacked(texts, TransactionColumns("user", "movie", None, "t"))
    with pytest.raises(EmptySource):
        attacked(World(world.release.slice(0, 0), world.known))
    with pytest.raises(
        WrongUsage, match="No person has 99 different rows; the most of one person are 25"
    ):
        find_unicity(open_table(world.release), PARTS, points=[99], chance=np.random.default_rng(0))
