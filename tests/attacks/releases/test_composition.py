"""Several releases of overlapping people, intersected."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.attacks.overlapping import QUASI, ROWS, draw, publish, read_adult

from discreet.attacks.releases.composition import find_composition
from discreet.attacks.releases.intersection import intersect, make_candidates, narrow_candidates
from discreet.attacks.releases.republication import find_republication
from discreet.engines.connect import open_table
from discreet.engines.postgres import PostgreSQL
from discreet.errors import EmptySource, UnknownColumn, WrongUsage

ON = {"age": "age", "zip": "zip"}


def opened(*tables: dict[str, list], engine=None):
    first, *rest = [pa.table(columns) for columns in tables]
    home = open_table(first, engine=engine)
    return [home, *(open_table(table, engine=home.engine) for table in rest)]


def hospital(labels: list[str], ill: list[str]) -> dict[str, list]:
    ages, zips = zip(*(label.split("/") for label in labels), strict=True)
    return {"age": list(ages), "zip": list(zips), "ill": ill}


NORTH = hospital(
    ["[20, 29]/130**"] * 3 + ["[30, 39]/130**"] * 3, ["flu", "hiv", "gout", "flu", "gout", "flu"]
)
SOUTH = hospital(
    ["< 30/1305*"] * 3 + [">= 30/1305*"] * 3, ["cold", "hiv", "acne", "flu", "gout", "cold"]
)


def test_one_value_that_both_classes_have_is_the_persons():
    people = {"age": [25, 35, 60], "zip": ["13053", "13053", "99999"], "ill": ["hiv", "flu", "flu"]}
    north, south, known = opened(NORTH, SOUTH, people)
    _, found = find_composition(known, [north, south], on=ON, sensitive=["ill"])
    assert (found.targets, found.claimed, found.correct) == (3, 1, 1)
    assert found.rate == pytest.approx(1 / 3)
    assert found.details["located"] == 2  # no one of 60 is anywhere
    assert found.details["candidates"] == {"each": [2.5, 3.0], "together": 1.5}
    assert found.example[-1] == "Only hiv is left."


@pytest.mark.postgres
def test_releases_on_a_server_are_intersected_there(postgres_url):
    server = PostgreSQL(postgres_url)
    people = {"age": [25, 35, 60], "zip": ["13053", "13053", "99999"], "ill": ["hiv", "flu", "flu"]}
    north, south, known = opened(NORTH, SOUTH, people, engine=server)
    _, found = find_composition(known, [north, south], on=ON, sensitive=["ill"])
    (later,) = find_republication([known], [north, south], on=ON, sensitive=["ill"])
    server.close()
    assert (found.targets, found.claimed, found.correct) == (3, 1, 1)
    assert later.details["candidates_after_each"] == [2.5, 1.5]


def test_neither_json_nor_details_reveal_a_value():
    people = {"age": [25], "zip": ["13053"], "ill": ["hiv"]}
    north, south, known = opened(NORTH, SOUTH, people)
    _, found = find_composition(known, [north, south], on=ON, sensitive=["ill"])
    assert "hiv" not in str(found.to_dict())


def test_what_one_release_reveals_alone_is_no_composition():
    same = hospital(["[20, 29]/130**"] * 3, ["flu"] * 3)
    people = {"age": [25], "zip": ["13053"], "ill": ["flu"]}
    first, second, known = opened(same, same, people)
    _, found = find_composition(known, [first, second], on=ON, sensitive=["ill"])
    assert (found.rate, found.baseline, found.advantage) == (1.0, 1.0, 0.0)
    assert found.details["disclosed_by_one_release"] == 1.0


def test_without_the_truth_nothing_is_called_right():
    north, south, known = opened(NORTH, SOUTH, {"age": [25], "zip": ["13053"]})
    _, found = find_composition(known, [north, south], on=ON, sensitive=["ill"])
    assert (found.claimed, found.correct, found.details["guessed_right"]) == (1, None, None)


def test_a_claim_about_a_person_who_is_in_neither_is_wrong_and_counts_in_the_control():
    people = {"age": [25], "zip": ["13053"], "ill": ["hiv"]}
    absent = {"age": [26, 27], "zip": ["13053", "13053"], "ill": ["flu", "hiv"]}
    north, south, known, control = opened(NORTH, SOUTH, people, absent)
    _, found = find_composition(known, [north, south], on=ON, sensitive=["ill"], control=control)
    assert found.control == 0.5
    assert found.advantage == 1.0


def test_releases_that_contradict_one_another_claim_nothing():
    other = hospital(
        ["< 30/1305*"] * 2 + [">= 30/1305*"] * 3, ["acne", "cold", "flu", "gout", "flu"]
    )
    north, south, known = opened(NORTH, other, {"age": [25], "zip": ["13053"], "ill": ["hiv"]})
    _, found = find_composition(known, [north, south], on=ON, sensitive=["ill"])
    assert (found.claimed, found.details["contradicted"]) == (0, 1)


def test_values_that_are_written_otherwise_in_one_release_are_named_and_join_nothing():
    other = hospital(["< 30/1305*"] * 3, ["J10", "B20", "M10"])
    north, south, known = opened(NORTH, other, {"age": [25], "zip": ["13053"], "ill": ["hiv"]})
    first, found = find_composition(known, [north, south], on=ON, sensitive=["ill"])
    assert (found.claimed, found.details["contradicted"]) == (0, 0)
    assert found.details["not_joined_by"] == ["'ill' of Table"]
    assert "not joined by 'ill'" in first.verdict


def test_a_value_that_one_release_publishes_is_revealed_by_a_column_that_both_publish():
    north = hospital(["[20, 29]/130**"] * 3, ["flu", "hiv", "gout"]) | {"job": ["a", "b", "c"]}
    south = {"age": ["< 30"] * 2 + [">= 30"], "job": ["b", "d", "c"]}
    people = {"age": [25], "zip": ["13053"], "ill": ["hiv"], "job": ["b"]}
    first, second, known = opened(north, south, people)
    alone, found = find_composition(known, [first, second], on=ON, sensitive=["ill"])
    assert (found.claimed, found.correct, found.baseline) == (1, 1, 0.0)
    assert (alone.details["joined_by"], alone.details["one_candidate"]) == (["job"], 1.0)


def test_people_of_whom_a_joined_column_is_not_known_are_attacked_all_the_same():
    north = NORTH | {"job": list("abcdef")}
    south = SOUTH | {"job": list("ghbdeh")}
    people = {"age": [25], "zip": ["13053"]}
    first, second, known = opened(north, south, people)
    found = find_composition(known, [first, second], on=ON, sensitive=["ill"])
    assert [one.correct for one in found] == [None, None]
    assert found[0].details["located"] == 1


def test_columns_that_are_not_named_do_not_join_rows():
    north, south = NORTH | {"row": list("123456")}, SOUTH | {"row": list("123456")}
    people = {"age": [25], "zip": ["13053"], "ill": ["hiv"]}
    first, second, known = opened(north, south, people)
    found = find_composition(known, [first, second], on=ON, sensitive=["ill"], kept=[])
    assert found[0].details["joined_by"] == ["ill"]


def test_a_release_without_any_column_to_find_people_by_is_named():
    north, south, known = opened(NORTH, {"ill": ["flu"]}, {"age": [25], "zip": ["13053"]})
    with pytest.raises(WrongUsage, match="none of the columns by which people are found"):
        find_composition(known, [north, south], on=ON, sensitive=["ill"])


def test_three_releases_leave_less_than_two():
    third = hospital(["*/*"] * 2, ["gout", "cold"])
    people = {"age": [35], "zip": ["13053"], "ill": ["gout"]}
    north, south, west, known = opened(NORTH, SOUTH, third, people)
    two = find_composition(known, [north, south], on=ON, sensitive=["ill"])[1]
    three = find_composition(known, [north, south, west], on=ON, sensitive=["ill"])[1]
    assert (two.claimed, three.claimed, three.correct) == (0, 1, 1)


def test_beliefs_multiply_and_are_divided_by_the_prior():
    first = make_candidates(np.array([0, 0]), np.array([0, 1]), np.array([3.0, 1.0]), people=1)
    second = make_candidates(np.array([0, 0]), np.array([0, 1]), np.array([1.0, 2.0]), people=1)
    both = intersect(first, second, prior=np.array([0.75, 0.25]))
    guess, chance = both.best()
    assert (guess[0], chance[0]) == (1, pytest.approx(8 / (8 + 4)))


def test_one_release_alone_is_refused():
    north, known = opened(NORTH, {"age": [25], "zip": ["13053"]})
    with pytest.raises(WrongUsage, match="two releases"):
        find_composition(known, [north], on=ON, sensitive=["ill"])


def test_people_are_not_found_by_what_is_to_be_learned():
    north, south, known = opened(NORTH, SOUTH, {"age": [25], "ill": ["flu"]})
    with pytest.raises(WrongUsage, match="to be learned"):
        find_composition(known, [north, south], on={"ill": "ill"}, sensitive=["ill"])


def test_an_unknown_column_is_named():
    north, south, known = opened(NORTH, SOUTH, {"age": [25], "zip": ["13053"]})
    with pytest.raises(UnknownColumn, match="'agee'"):
        find_composition(known, [north, south], on={"agee": "age"}, sensitive=["ill"])


def test_an_empty_list_of_known_people_is_reported():
    empty = {"age": pa.array([], pa.int64()), "zip": pa.array([], pa.string())}
    north, south, known = opened(NORTH, SOUTH, empty)
    with pytest.raises(EmptySource):
        find_composition(known, [north, south], on=ON, sensitive=["ill"])


entries = st.dictionaries(
    st.tuples(st.integers(0, 3), st.integers(0, 4)), st.integers(1, 9), max_size=20
)


def candidates(found: dict[tuple[int, int], int]):
    pairs = np.array(list(found), dtype=np.int64).reshape(-1, 2)
    rows = np.array(list(found.values()), dtype=np.float64)
    return make_candidates(pairs[:, 0], pairs[:, 1], rows, people=4)


def sets(found) -> dict[int, set[int]]:
    return {person: set(found.value[found.person == person].tolist()) for person in range(4)}


@given(entries, entries)
def test_an_intersection_is_that_of_the_sets(first, second):
    mine, theirs = candidates(first), candidates(second)
    both = intersect(mine, theirs, prior=np.full(5, 0.2))
    assert sets(both) == {p: sets(mine)[p] & sets(theirs)[p] for p in range(4)}
    assert both.sizes().tolist() == [len(sets(both)[p]) for p in range(4)]


@given(entries, entries)
def test_whom_a_release_does_not_know_keeps_what_was_left(first, second):
    mine, theirs = candidates(first), candidates(second)
    left = narrow_candidates(mine, theirs, prior=np.full(5, 0.2))
    for person in range(4):
        one, other = sets(mine)[person], sets(theirs)[person]
        assert sets(left)[person] == (one & other if one and other else one | other)


@given(entries)
def test_the_best_value_has_most_rows_and_the_smallest_code_among_equals(first):
    guess, chance = candidates(first).best()
    for person in range(4):
        mine = {value: rows for (who, value), rows in first.items() if who == person}
        if not mine:
            assert (guess[person], chance[person]) == (-1, 0.0)
            continue
        best = max(mine.items(), key=lambda item: (item[1], -item[0]))
        assert guess[person] == best[0]
        assert chance[person] == pytest.approx(best[1] / sum(mine.values()))


@pytest.mark.statistics
@pytest.mark.parametrize(("k", "low", "high"), [(5, 0.035, 0.065)])
def test_two_mondrian_releases_of_adult_expose_as_many_as_the_notes_measured(
    shared_data, tmp_path, k, low, high
):
    """n = 5,000 people in both: about 5 % at k = 5 and no one at k = 30, a draw with seed 1.

    The bounds are 4 standard errors and what draws differ by: alpha is below 1e-4.
    """
    drawn = draw(read_adult(shared_data), rows=ROWS, chance=np.random.default_rng(1))
    paths = [
        publish(table, tmp_path / f"{place}.csv", k=k)
        for place, table in enumerate((drawn.first, drawn.second))
    ]
    known = open_table(drawn.both)
    control = open_table(drawn.one.slice(0, 2_000), engine=known.engine)
    releases = [open_table(path, engine=known.engine) for path in paths]
    _, found = find_composition(
        known,
        releases,
        on={name: name for name in QUASI},
        sensitive=["occupation"],
        control=control,
    )
    assert (found.targets, found.details["located"]) == (5_000, 5_000)
    assert low <= found.rate <= high
    assert found.correct == found.claimed  # a person in both has a value that both classes have
    each, together = found.details["candidates"]["each"], found.details["candidates"]["together"]
    assert together < min(each)
    right = found.details["guessed_right"]
    assert right["better"] >= max(right["each"])
    assert found.control is not None
    assert found.control <= found.rate
