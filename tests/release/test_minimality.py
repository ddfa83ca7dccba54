"""Who knows the rule reasons from what it did: asking for l + 1 does not give back the promise of l."""

from __future__ import annotations

from itertools import combinations

import pyarrow as pa
import pytest

from discreet.engines.connect import open_table
from discreet.measure.classes import group_cells
from discreet.measure.roles import bind_roles
from discreet.policy import model
from discreet.release.anonymize.methods import solve_problem
from discreet.release.anonymize.read import read_problem
from discreet.release.anonymize.recoding import SUPPRESSED

# Three people are young, five old; two of the eight have HIV, the others differ from each other.
GROUPS = ["young"] * 3 + ["old"] * 5


def published(infected: tuple[int, ...], *, l: int, method: str) -> tuple[object, ...]:
    """What outsiders see of the table in which `infected` have HIV: labels, and values below them."""
    ills = ["HIV" if person in infected else "other" for person in range(len(GROUPS))]
    others = iter("abcdefgh")
    ills = [ill if ill == "HIV" else next(others) for ill in ills]
    columns = (
        model.ColumnPolicy("group", model.ColumnRole.QUASI_IDENTIFIER),
        model.ColumnPolicy("ill", model.ColumnRole.SENSITIVE),
    )
    criteria = (model.LDiversity("ill", l),)
    policy = model.TablePolicy("people", columns, criteria=criteria)
    bound = bind_roles(open_table(pa.table({"group": GROUPS, "ill": ills})), policy=policy)
    problem = read_problem(group_cells(bound.subject), bound, criteria).problem
    recoding = solve_problem(problem, model.ReleasePolicy(method=method))  # pyright: ignore[reportArgumentType]
    assert not (recoding.classes == SUPPRESSED).any()
    labels = recoding.levels[recoding.classes].ravel().tolist()
    # Where labels are the groups themselves, it shows how many of each have HIV.
    shown = sum(person < 3 for person in infected) if not any(labels) else None
    return (tuple(labels), shown)


@pytest.mark.parametrize("method", ["full-domain", "mondrian"])
def test_asking_for_l_plus_1_does_not_bound_what_the_rule_gives_away(method: str):
    """2-diversity is to be promised, a chance of 1/2 at most, and 3 is asked for: it is 2/3."""
    tables = [*combinations(range(len(GROUPS)), 2)]
    seen = {infected: published(infected, l=3, method=method) for infected in tables}
    result = seen[0, 1]
    fitting = [infected for infected in tables if seen[infected] == result]
    chance = sum(0 in infected for infected in fitting) / len(fitting)
    assert chance == pytest.approx(2 / 3)
    assert chance > 1 / 2
