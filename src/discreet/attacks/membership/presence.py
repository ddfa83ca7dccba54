"""Presence: who of a population must be in a release, because all who look alike are."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sqlglot import exp

from discreet.attacks.finding import Finding
from discreet.attacks.locating.locate import Located, gather_combinations, locate
from discreet.attacks.membership.evaluation import evaluate_scores
from discreet.attacks.membership.membership import membership_finding, says_yes
from discreet.engines.engine import Table
from discreet.errors import EmptySource, WrongUsage
from discreet.measure.encode import comparable_value
from discreet.measure.roles import require_column
from discreet.policy.hierarchy import Hierarchy
from discreet.sql import build

SURE = 0.9
MEMBER = "is in the source"
_REMEDY = (
    "Coarser quasi-identifiers or a sample of the people, until every class is a small part of those "
    "in the population who look like it (δ-presence)."
)


@dataclass(frozen=True)
class PresenceChances:
    """All people of a population by what a release says about their being in it.

    `people[i]` people have the chance `chances[i]`; `is_member` says which of them are, if known.
    """

    chances: NDArray[np.float64]
    people: NDArray[np.int64]
    is_member: NDArray[np.bool_] | None
    rows: int
    smallest: int  # people of the population who fit the class that fewest fit


def find_presence(
    release: Table,
    population: Table,
    *,
    on: Sequence[str],
    truth: str | None = None,
    hierarchies: Mapping[str, Hierarchy] | None = None,
    sure: float = SURE,
) -> Finding:
    """Return who of a population can be claimed, by a release, to be in it.

    A class of r rows that n people of the population fit has each of them with chance r / n: where
    all who look alike are in the release, all of them are known to be (Nergiz, Atzori & Clifton
    2007). Labels count for all they may stand for.

    Args:
        release: The published table, a row for each person, on the engine of the population.
        population: All people who may be in it, a row for each person.
        on: The columns both have.
        truth: The population's column that says who is in the release.
        hierarchies: What group names mean, by released column.
        sure: From which chance on a person is claimed to be in.
    """
    if not on:
        raise WrongUsage("Say which columns the population shares with the release: --on a,b.")
    found = presence_of(release, population, on=on, truth=truth, hierarchies=hierarchies)
    total = int(found.people.sum())
    scores = np.repeat(found.chances, found.people)
    is_member = None if found.is_member is None else np.repeat(found.is_member, found.people)
    claims = scores >= sure
    prior = min(1.0, found.rows / total)
    details: dict[str, Any] = {
        "population": total,
        "rows": found.rows,
        "columns": list(on),
        "sure": sure,
        "share_of_population": prior,
        "certainly_in": int((scores >= 1).sum()),
        "certainly_absent": int((scores == 0).sum()),
        "lowest": float(scores.min()),
        "highest": float(scores.max()),
        "k_map": found.smallest,
    }
    if is_member is not None:
        details["presence"] = evaluate_scores(scores, is_member)
    return membership_finding(
        release.label,
        scores,
        is_member,
        # A claim is a score above the threshold; chances of exactly `sure` are claimed.
        threshold=float(np.nextafter(sure, -1)),
        expected=None,
        knowledge=f"{', '.join(on)} of everyone in {population.label}.",
        remedy=_REMEDY,
        details=details,
        certainty=float(scores[claims].mean()) if claims.any() else None,
        # Where nearly everyone is in, a claim reveals nothing.
        baseline=1.0 if prior >= sure else None,
    )


def presence_of(
    release: Table,
    population: Table,
    *,
    on: Sequence[str],
    truth: str | None = None,
    hierarchies: Mapping[str, Hierarchy] | None = None,
) -> PresenceChances:
    """Return the chance of each person of a population to be in a release."""
    columns = [*on] if truth is None else [*on, truth]
    known = gather_combinations(population, columns, engine=release.engine)
    located = locate(known, release, on=list(on), hierarchies=hierarchies)
    engine = release.engine
    rows = engine.run(_presence_query(located, truth_at=None if truth is None else len(on)))
    if not rows.num_rows:
        raise EmptySource(f"The population {population.label} has no rows. Name one with people.")
    smallest = engine.run(
        build.select(
            build.alias_as(exp.Min(this=build.column("among")), "smallest"),
            source=build.subquery(_population_per_class_query(located), "a"),
        )
    )["smallest"][0].as_py()
    total = build.alias_as(build.count_star(), "rows")
    count = engine.run(build.select(total, source=release.relation.copy()))["rows"][0].as_py()
    is_member = None
    if truth is not None:
        is_member = says_yes(rows["truth"], name=truth, label=population.label)
    return PresenceChances(
        np.minimum(rows["chance"].to_numpy().astype(np.float64), 1.0),
        rows["people"].to_numpy().astype(np.int64),
        is_member,
        int(count),
        int(smallest or 0),
    )


def mark_members(population: Table, source: Table, *, person: str) -> Table:
    """Return the population with a column `MEMBER`: whether the person is in the source.

    Both have the column `person`. Population and source are on one engine.
    """
    mine, theirs = require_column(population, person), require_column(source, person)
    inside = (
        build.select(build.alias_as(comparable_value(theirs), "id"), source=source.relation.copy())
        .where(exp.not_(build.is_null(comparable_value(theirs))))
        .distinct()
    )
    others = [
        build.alias_as(build.column(column.name, of="t"), column.name)
        for column in population.columns
    ]
    is_in = exp.not_(build.is_null(build.column("id", of="s")))
    query = build.select(
        *others,
        build.alias_as(exp.paren(is_in), MEMBER),
        source=build.aliased_table(population.relation, "t"),
    ).join(
        build.subquery(inside, "s"),
        on=exp.EQ(this=comparable_value(mine, of="t"), expression=build.column("id", of="s")),
        join_type="left",
    )
    engine = population.engine
    relation = engine.keep(query)
    return type(population)(engine, relation, engine.columns(relation), population.label)


def _population_per_class_query(located: Located) -> exp.Select:
    """Return how many people of the population fit each class."""
    key = build.column("class", of="p")
    people = build.sum_integers(build.column("people", of="k"))
    return (
        build.select(
            build.alias_as(key, "class"),
            build.alias_as(people, "among"),
            source=build.aliased_table(located.pairs, "p"),
        )
        .join(build.aliased_table(located.known.relation, "k"), on=build.same(["person"], "p", "k"))
        .group_by(key.copy())
    )


def _presence_query(located: Located, *, truth_at: int | None) -> exp.Select:
    """Return people of the population with their chance: the sum of what each fitting class gives."""
    share = exp.Div(
        this=exp.cast(build.column("rows", of="c"), exp.DataType.Type.DOUBLE),
        expression=build.column("among", of="a"),
        typed=True,
    )
    key = build.column("person", of="p")
    each = (
        build.select(
            build.alias_as(key, "person"),
            build.alias_as(exp.Sum(this=share), "chance"),
            source=build.aliased_table(located.pairs, "p"),
        )
        .join(build.aliased_table(located.classes, "c"), on=build.same(["class"], "p", "c"))
        .join(
            build.subquery(_population_per_class_query(located), "a"),
            on=build.same(["class"], "p", "a"),
        )
        .group_by(key.copy())
    )
    chance = exp.Coalesce(
        this=build.column("chance", of="e"),
        expressions=[exp.cast(build.number(0), exp.DataType.Type.DOUBLE)],
    )
    wanted = [
        build.alias_as(chance, "chance"),
        build.alias_as(build.column("people", of="k"), "people"),
    ]
    if truth_at is not None:
        wanted.append(build.alias_as(build.column(f"k{truth_at}", of="k"), "truth"))
    return build.select(*wanted, source=build.aliased_table(located.known.relation, "k")).join(
        build.subquery(each, "e"), on=build.same(["person"], "k", "e"), join_type="left"
    )
