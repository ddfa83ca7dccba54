"""Searches for domains in several tables divide what is paid for them, exactly."""

from __future__ import annotations

from fractions import Fraction

from discreet.api.domain_searches import divide_searches
from discreet.policy.load import parse_policy
from discreet.release.synthesize.domain import TableDomain
from discreet.release.synthesize.planned_domain import PlannedDomain
from discreet.release.synthesize.request import SynthesisRequest

EMPTY = TableDomain((), (), ())


def test_the_searches_of_all_tables_cost_their_share_and_no_more():
    policy = parse_policy("tables: {people: {columns: {id: {role: identifier}}}}").tables["people"]
    planned = [
        PlannedDomain(policy, (), EMPTY, (("sex", "values"), ("age", "bounds"))),
        PlannedDomain(policy, (), EMPTY),
        PlannedDomain(policy, (), EMPTY, (("ward", "values"), ("drug", "values"))),
    ]
    named = tuple(one for plan in planned for one in plan.searched)
    request = SynthesisRequest(
        EMPTY, "full", Fraction(1), Fraction(1, 10**9), None, named, Fraction(1, 10)
    )
    first, none, last = divide_searches(request, planned)
    assert first is not None
    assert last is not None
    assert none is None
    assert first.amount + last.amount == request.search_amount > 0
    assert first.slip + last.slip == request.slip == Fraction(1, 2 * 10**9)
    assert (first.slip, last.slip) == (request.slip / 3, 2 * request.slip / 3)
