"""Every table that fits is found, once, however the people are written down."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction
from itertools import combinations_with_replacement, product
from statistics import mean, median

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.attacks.census import solve as solving
from discreet.attacks.census.block import (
    Cell,
    CensusBlock,
    CensusGroup,
    CountRange,
    Marginal,
    Statistic,
    StatisticBounds,
    Variable,
)
from discreet.attacks.census.encoding import possible_cells
from discreet.attacks.census.marginals import tabulate_marginals
from discreet.attacks.census.reconstruct import reconstruct_block
from discreet.attacks.census.solve import solve_block
from discreet.errors import EmptySource, MissingExtra, UnknownColumn, WrongUsage

AGE = Variable("age", (1, 2, 4, 7))
SEX = Variable("sex", ("f", "m"))
COMPUTE = {
    Statistic.MEAN: lambda values: Fraction(mean(map(Fraction, values))),
    Statistic.MEDIAN: lambda values: Fraction(median(map(Fraction, values))),
    Statistic.SUM: lambda values: Fraction(sum(values)),
    Statistic.MIN: lambda values: Fraction(min(values)),
    Statistic.MAX: lambda values: Fraction(max(values)),
}
cells = st.tuples(st.integers(0, 3), st.integers(0, 1))
blocks = st.lists(cells, min_size=1, max_size=4)
kinds = st.lists(st.sampled_from(list(Statistic)), max_size=3, unique=True)


def published(people: list[Cell], kinds: list[Statistic], slack: Fraction, sex: int) -> CensusBlock:
    """Publish the number of one sex, and statistics of their ages, rounded to `slack`."""
    members = [AGE.numbers[age] for age, found in people if found == sex]
    facts = (
        StatisticBounds(kind, 0, COMPUTE[kind](members) - slack, COMPUTE[kind](members) + slack)
        for kind in (kinds if members else [])
    )
    count = CountRange(len(members), len(members))
    return CensusBlock(len(people), (AGE, SEX), (CensusGroup({1: (sex,)}, count, tuple(facts)),))


def fits(people: tuple[Cell, ...], block: CensusBlock) -> bool:
    """Say by the definitions whether people have the statistics of a block."""
    for group in block.groups:
        members = [
            cell for cell in people if all(cell[v] in places for v, places in group.where.items())
        ]
        if not group.count.low <= len(members) <= group.count.high:
            return False
        for fact in group.facts:
            values = [AGE.numbers[cell[fact.variable]] for cell in members]
            if not fact.low <= COMPUTE[fact.statistic](values) <= fact.high:
                return False
    return True


@settings(max_examples=30)
@given(
    blocks,
    kinds,
    st.sampled_from([Fraction(0), Fraction(1, 2)]),
    st.integers(0, 1),
    st.sampled_from(["cells", "persons"]),
)
def test_all_tables_are_found_and_no_other(people, kinds, slack, sex, encoding: str):
    block = published(people, kinds, slack, sex)
    every = combinations_with_replacement(product(range(4), range(2)), len(people))
    wanted = [Counter(table) for table in every if fits(table, block)]
    found = solve_block(block, encoding=encoding)
    assert found.is_complete
    assert len(found.tables) == len(wanted)
    assert all(table in wanted for table in found.tables)


@settings(max_examples=15)
@given(st.lists(cells, min_size=1, max_size=9), st.integers(1, 2))
def test_what_is_certain_is_in_every_table_whether_listed_or_proved(people, ways: int):
    table = pa.table(
        {
            "age": [AGE.numbers[age] for age, _ in people],
            "sex": [SEX.values[sex] for _, sex in people],
        }
    )
    block = tabulate_marginals(table, ways=ways)
    listed, proved = solve_block(block), solve_block(block, most=1)
    assert listed.is_complete
    assert proved.certain == listed.certain == proved.possible
    assert proved.guaranteed <= min((proved.tables[0] & other).total() for other in listed.tables)
    assert reconstruct_block(block, truth=table).correct == listed.certain.total()


def test_suppressed_cells_are_ranges():
    people = pa.table({"sex": ["f", "f", "f", "f", "m"], "ill": ["y", "y", "n", "n", "n"]})
    block = tabulate_marginals(people, ways=2, suppress=3)
    assert set(block.marginals[0].cells.values()) == {CountRange(1, 2)}
    assert len(solve_block(block).tables) == 3


def test_cells_that_are_not_listed_are_empty():
    table = Marginal((0, 1), {(0, 0): CountRange(1, 1), (3, 1): CountRange(1, 1)})
    block = CensusBlock(2, (AGE, SEX), marginals=(table,))
    found = possible_cells(block, most=100)
    assert found is not None
    assert found.tolist() == [[0, 0], [3, 1]]
    assert len(solve_block(block, encoding="persons").tables) == 1


@pytest.mark.parametrize("encoding", ["cells", "persons"])
def test_impossible_combinations_are_excluded(encoding: str):
    block = CensusBlock(1, (AGE, SEX), impossible=({0: (1, 2, 3)}, {0: (0,), 1: (1,)}))
    assert solve_block(block, encoding=encoding).tables == (Counter({(0, 0): 1}),)


@pytest.mark.parametrize("encoding", ["cells", "persons"])
def test_statistics_that_contradict_each_other_have_no_table(encoding: str):
    fact = StatisticBounds(Statistic.SUM, 0, Fraction(100), Fraction(100))
    block = CensusBlock(2, (AGE, SEX), (CensusGroup({}, CountRange(2, 2), (fact,)),))
    found = reconstruct_block(block, encoding=encoding)
    assert found.details["solutions"] == 0
    assert not found.details["consistent"]
    assert "contradict" in found.verdict
    assert found.rate == 0


def test_a_capped_list_says_so():
    found = reconstruct_block(CensusBlock(3, (AGE, SEX)), most=5)
    assert found.verdict.startswith("More than 5 tables")
    assert not found.details["all_solutions_listed"]
    assert found.rate == 0


def test_what_time_does_not_allow_is_a_bound_only(shared_data):
    import numpy as np
    import pyarrow.csv as csv

    adult = csv.read_csv(
        shared_data / "adult" / "adult.csv", parse_options=csv.ParseOptions(delimiter=";")
    )
    some = adult.take(np.random.default_rng(0).permutation(adult.num_rows)[:300])
    block = tabulate_marginals(
        some.select(["sex", "age", "race", "education", "workclass"]), ways=2
    )
    found = reconstruct_block(block, seconds=0.2)
    assert found.details["bound_only"]
    assert found.interval[0] <= found.interval[1]
    assert found.rate == found.interval[0]


def test_a_block_too_large_for_either_way_is_refused(monkeypatch):
    monkeypatch.setattr(solving, "MOST_CELLS", 4)
    with pytest.raises(WrongUsage, match="too many to reconstruct"):
        solve_block(CensusBlock(50, (AGE, SEX)))


def test_many_possible_records_of_few_people_are_written_person_by_person(monkeypatch):
    monkeypatch.setattr(solving, "MOST_CELLS", 4)
    assert solve_block(CensusBlock(1, (AGE, SEX))).encoding == "persons"


def test_more_records_than_can_be_counted_are_refused():
    wide = CensusBlock(2, tuple(Variable(f"v{i}", tuple(range(1000))) for i in range(7)))
    with pytest.raises(WrongUsage, match="Leave variables out"):
        solve_block(wide)


def test_without_the_solver_its_extra_is_named(monkeypatch):
    import sys

    monkeypatch.setitem(sys.modules, "ortools.sat.python", None)
    with pytest.raises(MissingExtra, match=r"discreet\[attack\]"):
        solve_block(CensusBlock(1, (SEX,)))


def test_marginals_need_columns_and_people():
    people = pa.table({"sex": ["f", "m"]})
    with pytest.raises(WrongUsage, match="ways is from 1 to 1"):
        tabulate_marginals(people, ways=2)
    with pytest.raises(UnknownColumn):
        tabulate_marginals(people, ways=1, columns=["sexx"])
    with pytest.raises(WrongUsage, match="named twice"):
        tabulate_marginals(people, ways=1, columns=["sex", "sex"])
    with pytest.raises(EmptySource):
        tabulate_marginals(people.slice(0, 0), ways=1)


def test_gaps_booleans_and_numbers_keep_their_meaning():
    people = pa.table({"age": [1, None], "ill": [True, False], "kilo": [1.5, 2.0]})
    block = tabulate_marginals(people, ways=1)
    assert [variable.values for variable in block.variables] == [
        ("1", "missing"),
        ("false", "true"),
        ("1.5", "2"),
    ]


def test_a_truth_outside_the_domains_is_not_matched():
    block = CensusBlock(1, (SEX,), (CensusGroup({0: (0,)}, CountRange(1, 1)),))
    found = reconstruct_block(block, truth=pa.table({"sex": ["x"]}))
    assert (found.claimed, found.correct) == (1, 0)


def test_a_finding_holds_no_record():
    found = reconstruct_block(tabulate_marginals(pa.table({"name": ["Zelda", "Adam"]}), ways=1))
    assert "name Zelda" in found.example
    assert "Zelda" not in str(found.to_dict())
