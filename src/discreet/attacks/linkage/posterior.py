"""What candidates reveal about sensitive columns, even where no one is singled out."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from sqlglot import exp

from discreet.attacks.linkage.candidates import CandidateCounts
from discreet.sql import build

if TYPE_CHECKING:
    from discreet.attacks.locating.locate import Located


@dataclass(frozen=True)
class Learned:
    """What the adversary believes of one sensitive column of people who have candidates.

    Attributes:
        certain: People whose candidates all share one value.
        belief: The share of the most frequent value among a person's candidates, on average.
        prior: The share of the most frequent value in the whole release.
    """

    certain: int
    belief: float
    prior: float


def learn_sensitive_column(
    located: Located, candidates: CandidateCounts, *, member: int
) -> Learned:
    """Return what is learned of the column `member` of the members; NULL is never learned.

    A row in a crowd of n counts 1/n: each of them is equally likely.
    """
    engine = located.known.engine
    each = _values_query(located, candidates, member)
    rows, weight = build.column("rows", of="e"), build.column("weight", of="e")
    is_known = exp.not_(build.is_null(build.column("value", of="e")))
    groups = [build.column(name, of="e") for name in ("person", "people")]
    best = build.select(
        *(build.alias_as(group, group.name) for group in groups),
        build.alias_as(
            exp.Div(this=_largest_known(weight, is_known), expression=exp.Sum(this=weight.copy())),
            "belief",
        ),
        build.alias_as(
            exp.EQ(this=_largest_known(rows, is_known), expression=exp.Sum(this=rows.copy())),
            "is_certain",
        ),
        source=build.subquery(each, "e"),
    ).group_by(*(group.copy() for group in groups))
    people = build.column("people", of="b")
    sums = {
        "people": people,
        "belief": exp.Mul(this=build.column("belief", of="b"), expression=people.copy()),
        "certain": exp.case().when(build.column("is_certain", of="b"), people.copy()),
    }
    found = engine.run(
        build.select(
            *(
                build.alias_as(exp.cast(exp.Sum(this=tree), "double"), name)
                for name, tree in sums.items()
            ),
            source=build.subquery(best, "b"),
        )
    ).to_pylist()[0]
    total = float(found["people"] or 0)
    return Learned(
        certain=int(found["certain"] or 0),
        belief=float(found["belief"] or 0.0) / total if total else 0.0,
        prior=_prior_confidence(located, member),
    )


def _values_query(located: Located, candidates: CandidateCounts, member: int) -> exp.Select:
    """Return how often, and with what weight, each value is among each person's candidates."""
    value, rows = build.column(f"m{member}", of="m"), build.column("rows", of="m")
    person, people = build.column("person", of="q"), build.column("people", of="p")
    weight = exp.Div(this=rows.copy(), expression=build.column("crowd", of="c"))
    return (
        build.select(
            build.alias_as(person, "person"),
            build.alias_as(people, "people"),
            build.alias_as(value, "value"),
            build.alias_as(build.sum_integers(rows), "rows"),
            build.alias_as(exp.Sum(this=weight), "weight"),
            source=build.aliased_table(located.pairs, "q"),
        )
        .join(build.aliased_table(located.members, "m"), on=build.same(["class"], "q", "m"))
        .join(build.aliased_table(candidates.crowds, "c"), on=build.same(["class"], "q", "c"))
        .join(build.aliased_table(located.known.relation, "p"), on=build.same(["person"], "q", "p"))
        .group_by(person.copy(), people.copy(), value.copy())
    )


def _largest_known(amount: exp.Expr, is_known: exp.Expr) -> exp.Expr:
    present = exp.case().when(is_known.copy(), amount.copy())
    return exp.Coalesce(this=exp.Max(this=present), expressions=[build.number(0)])


def _prior_confidence(located: Located, member: int) -> float:
    value = build.column(f"m{member}")
    each = build.select(
        build.alias_as(value, "value"),
        build.alias_as(build.sum_integers(build.column("rows")), "rows"),
        source=located.members.copy(),
    ).group_by(value.copy())
    rows = build.column("rows", of="e")
    is_known = exp.not_(build.is_null(build.column("value", of="e")))
    sums = {"most": _largest_known(rows, is_known), "all": exp.Sum(this=rows.copy())}
    found = located.known.engine.run(
        build.select(
            *(build.alias_as(exp.cast(tree, "double"), name) for name, tree in sums.items()),
            source=build.subquery(each, "e"),
        )
    ).to_pylist()[0]
    return float(found["most"] or 0.0) / float(found["all"]) if found["all"] else 0.0
