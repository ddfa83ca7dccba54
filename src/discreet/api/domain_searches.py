"""Searches for the domains of synthetic tables: what each gets of the price, and what a caller should know."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction

from discreet.answer.domain_search import DomainSearch, DomainSearches, PrivateDomain
from discreet.domain.declared import FoundDomain
from discreet.formatting import join_names
from discreet.release.synthesize.planned_domain import PlannedDomain
from discreet.release.synthesize.request import SynthesisRequest


def divide_searches(
    request: SynthesisRequest, planned: Sequence[PlannedDomain]
) -> list[DomainSearches | None]:
    """Return the searches in each table; all columns get the same part of what the request pays for them.

    Guarantee: all searches together cost `request.search_amount`, and find a value that one unit alone has with a
    chance of `request.slip` at most.
    """
    noise = "laplace" if request.method == "pure" else "gaussian"
    columns = [[DomainSearch(name, need) for name, need in one.searched] for one in planned]
    rare = [sum(search.need == "values" for search in some) for some in columns]
    return [
        DomainSearches(
            tuple(some),
            request.search_amount * Fraction(len(some), sum(map(len, columns))),
            request.slip * Fraction(few, max(1, sum(rare))),
            noise,
        )
        if some
        else None
        for some, few in zip(columns, rare, strict=True)
    ]


def as_found_domains(found: Mapping[str, PrivateDomain]) -> dict[str, FoundDomain]:
    """Return what was found of the columns of a table."""
    return {name: FoundDomain(one.values, one.bounds) for name, one in found.items()}


def caution_of_searches(request: SynthesisRequest) -> tuple[str, ...]:
    """Return what a caller should know of domains that are found privately."""
    if not request.searched:
        return ()
    names = join_names([name for name, _ in request.searched])
    caution = (
        f"The values or bounds of {names} are not declared: {float(request.search_share):.0%} of the price "
        "finds them with noise. Rare values count as one, and numbers beyond the bounds as the bounds."
    )
    return (caution,)
