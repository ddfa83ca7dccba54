"""Every method on samples of tables that others collected, of the size people publish, from k = 2."""

from __future__ import annotations

import os
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest
from pyarrow import csv

from discreet.engines.connect import open_table
from discreet.errors import CriteriaUnreachable
from discreet.measure.classes import group_cells
from discreet.measure.roles import bind_roles
from discreet.policy import model
from discreet.policy.hierarchies.lookup import read_lookup
from discreet.release.anonymize.methods import solve_problem
from discreet.release.anonymize.read import read_problem
from discreet.release.anonymize.recoding import SUPPRESSED, suppressed_rows

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pyarrow as pa

    from discreet.release.anonymize.problem import Problem
    from discreet.release.anonymize.recoding import Recoding

TABLES = (
    ("adult/adult.csv", ";"),
    ("adult_uci/adult_uci.csv", ","),
    ("fars/fars_subset.csv", ";"),
    ("cup/cup_subset.csv", ";"),
    ("creditcard_int/creditcard_int.csv", ";"),
    ("mach2019_int/mach2019_int.csv", ";"),
    ("sdcmicro/testdata.csv", ","),
    ("sdcmicro/EIA.csv", ","),
)
METHODS = ("local", "full-domain", "mondrian", "relaxed-mondrian", "cells")
KS = (2, 2, 2, 3, 4, 5, 7, 10, 25, 100)
# Cheap ones, of which the first ended in an IndexError; `make soak` draws many others.
SHORT = (20, 21, 22, 23, 24)
LONG = range(25, 25 + 20 * int(os.environ.get("DISCREET_SOAK", "20")))


@cache
def read(path: Path, delimiter: str) -> pa.Table:
    return csv.read_csv(path, parse_options=csv.ParseOptions(delimiter=delimiter))


def columns_of(path: Path, quasi: Sequence[str], sensitive: str | None) -> list[model.ColumnPolicy]:
    """Return columns with the hierarchies that lie beside the table, or those that are drafted."""
    columns = []
    for name in quasi:
        files = [*(path.parent / "hierarchies").glob(f"*_hierarchy_{name}.csv")]
        hierarchy = read_lookup(files[0]) if files else None
        columns.append(
            model.ColumnPolicy(name, model.ColumnRole.QUASI_IDENTIFIER, hierarchy=hierarchy)
        )
    if sensitive is not None:
        columns.append(model.ColumnPolicy(sensitive, model.ColumnRole.SENSITIVE))
    return columns


def make_problem(
    table: pa.Table,
    columns: Sequence[model.ColumnPolicy],
    *criteria: model.Criterion,
    suppress: float,
) -> Problem:
    policy = model.TablePolicy("people", tuple(columns), criteria=criteria)
    bound = bind_roles(open_table(table), policy=policy)
    return read_problem(group_cells(bound.subject), bound, criteria, suppress=suppress).problem


def require_sound(problem: Problem, recoding: Recoding) -> None:
    """Every class holds, no more is hidden than is allowed, and labels cover their members."""
    kept = recoding.classes != SUPPRESSED
    classes = recoding.classes[kept]
    assert problem.judge.holds(problem.table.take(kept), classes, len(recoding)).all()
    assert suppressed_rows(problem, recoding) <= problem.limit
    for j, one in enumerate(problem.attributes):
        codes = problem.table.codes[kept, j].astype(np.int64)
        level = recoding.levels[classes, j]
        low, high = recoding.lows[classes, j], recoding.highs[classes, j]
        if one.is_range:
            assert ((low <= codes) & (codes <= high) | (level == one.height)).all()
        else:
            assert (np.stack(one.groups)[level, codes] == low).all()


def random_criteria(chance: np.random.Generator, sensitive: str | None) -> list[model.Criterion]:
    criteria: list[model.Criterion] = [model.KAnonymity(int(chance.choice(KS)))]
    if sensitive is not None:
        others = [
            model.LDiversity(sensitive, 2),
            model.LDiversity(sensitive, 1.5, "entropy"),
            model.LDiversity(sensitive, 2, "recursive", c=3.0),
            model.TCloseness(sensitive, 0.4),
            model.AlphaK(sensitive, 0.8, 2),
            model.BetaLikeness(sensitive, 2.0),
        ]
        criteria.append(others[chance.integers(len(others))])
    return criteria


def solve_at_random(folder: Path, seed: int) -> None:
    """Draw a table, a sample, columns, criteria and a method; what comes out is sound."""
    chance = np.random.default_rng(seed)
    name, delimiter = TABLES[chance.integers(len(TABLES))]
    whole = read(folder / name, delimiter)
    size = min(int(chance.integers(2_000, 10_001)), whole.num_rows)
    table = whole.take(chance.choice(whole.num_rows, size, replace=False))
    chosen = chance.permutation(table.column_names)[: chance.integers(2, 10)].tolist()
    sensitive = chosen.pop() if len(chosen) > 2 and chance.random() < 0.4 else None
    criteria = random_criteria(chance, sensitive)
    path = folder / name if chance.random() < 0.7 else Path("nowhere") / name
    problem = make_problem(
        table,
        columns_of(path, chosen, sensitive),
        *criteria,
        suppress=float(chance.choice([0, 0, 0.01, 0.05, 1])),
    )
    release = model.ReleasePolicy(method=METHODS[seed % len(METHODS)])
    try:
        recoding = solve_problem(problem, release, seconds=2)
    except CriteriaUnreachable:
        return
    require_sound(problem, recoding)


@pytest.mark.parametrize(
    "has_hierarchies", [False, pytest.param(True, marks=pytest.mark.soak)], ids=["drafted", "given"]
)
def test_the_default_method_recodes_the_accidents_at_k_2(shared_data, has_hierarchies):
    path = shared_data / "fars" / "fars_subset.csv"
    table = read(path, ";")
    columns = columns_of(path if has_hierarchies else Path("nowhere"), table.column_names, None)
    problem = make_problem(table, columns, model.KAnonymity(2), suppress=0)
    recoding = solve_problem(problem, model.ReleasePolicy(), seconds=1)
    require_sound(problem, recoding)


@pytest.mark.soak
@pytest.mark.parametrize("seed", range(22))
def test_the_default_method_recodes_samples_of_adult_at_k_2(shared_data, seed):
    path = shared_data / "adult" / "adult.csv"
    whole = read(path, ";")
    chance = np.random.default_rng(seed)
    table = whole.take(chance.choice(whole.num_rows, int(chance.integers(2_000, 10_001))))
    problem = make_problem(
        table, columns_of(path, table.column_names, None), model.KAnonymity(2), suppress=0
    )
    require_sound(problem, solve_problem(problem, model.ReleasePolicy(), seconds=1))


@pytest.mark.parametrize("seed", SHORT)
def test_any_method_recodes_any_sample_of_a_public_table(shared_data, seed):
    solve_at_random(shared_data, seed)


@pytest.mark.soak
@pytest.mark.parametrize("seed", LONG)
def test_any_method_recodes_many_samples_of_public_tables(shared_data, seed):
    solve_at_random(shared_data, seed)
