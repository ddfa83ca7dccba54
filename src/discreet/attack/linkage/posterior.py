"""What candidates tell about sensitive columns, even where nobody is singled out."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from sqlglot import exp

from discreet.sql import build

if TYPE_CHECKING:
    from discreet.attack.locate import Located


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


def learn(located: Located, *, member: int) -> Learned:
    """Return what is learned of the column `member` of the members; NULL is never learned."""
    engine = located.known.engine
    value, rows = build.column(f"m{member}", of="m"), build.column("rows", of="m")
    person = build.column("person", of="q")
    people = build.column("people", of="p")
    each = (
        build.select(
            build.named(person, "person"),
            build.named(people, "people"),
            build.named(value, "value"),
            build.named(build.total(rows), "rows"),
            source=build.aliased_table(located.pairs, "q"),
        )
        .join(build.aliased_table(located.members, "m"), on=build.same(["class"], "q", "m"))
        .join(build.aliased_table(located.known.relation, "p"), on=build.same(["person"], "q", "p"))
        .group_by(person.copy(), people.copy(), value.copy())
    )
    best = _best(build.subquery(each, "e"), by=("person", "people"))
    belief = exp.Mul(this=build.column("belief", of="b"), expression=build.column("people", of="b"))
    is_certain = exp.EQ(this=build.column("belief", of="b"), expression=build.number(1))
    sums = {
        "people": exp.Sum(this=build.column("people", of="b")),
        "belief": exp.Sum(this=belief),
        "certain": exp.Sum(this=exp.case().when(is_certain, build.column("people", of="b"))),
    }
    found = engine.run(
        build.select(
            *(build.named(exp.cast(tree, "double"), name) for name, tree in sums.items()),
            source=build.subquery(best, "b"),
        )
    ).to_pylist()[0]
    total = float(found["people"] or 0)
    return Learned(
        certain=int(found["certain"] or 0),
        belief=float(found["belief"] or 0.0) / total if total else 0.0,
        prior=_prior(located, member),
    )


def _best(source: exp.Subquery, *, by: tuple[str, ...]) -> exp.Select:
    """Return the share of the most frequent value that is not missing."""
    rows = build.column("rows", of="e")
    present = exp.case().when(exp.not_(build.is_null(build.column("value", of="e"))), rows)
    most = exp.Coalesce(this=exp.Max(this=present), expressions=[build.number(0)])
    share = exp.Div(
        this=exp.cast(most, "double"), expression=exp.cast(exp.Sum(this=rows.copy()), "double")
    )
    groups = [build.column(name, of="e") for name in by]
    query = build.select(
        *(build.named(group, group.name) for group in groups),
        build.named(share, "belief"),
        source=source,
    )
    return query.group_by(*(group.copy() for group in groups)) if groups else query


def _prior(located: Located, member: int) -> float:
    value = build.column(f"m{member}")
    each = build.select(
        build.named(value, "value"),
        build.named(build.total(build.column("rows")), "rows"),
        source=located.members.copy(),
    ).group_by(value.copy())
    found = located.known.engine.run(_best(build.subquery(each, "e"), by=()))
    return float(found["belief"][0].as_py() or 0.0)
