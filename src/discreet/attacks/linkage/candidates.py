"""How many rows of a release may belong to each known person, who else may have them, and what they reveal."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from sqlglot import exp

from discreet.engines.engine import Engine
from discreet.sql import build

if TYPE_CHECKING:
    from discreet.attacks.locating.locate import Located

SURE = 0.9  # how likely the best row must be for a link to be claimed


@dataclass(frozen=True)
class CandidateCounts:
    """Known people by their number of candidate rows.

    `relation`, on the engine, has `person`, `people`, `candidates` (rows that may be theirs), `crowd`
    (that of their smallest class) and `best` (the chance of their best row, if they are in the
    release). `crowds` has `class` and `crowd`: its rows, or the known people it may stand for, if
    those are more. A row in a crowd of n belongs to any of them with chance 1/n, so that classes that
    say little weigh little.

    Attributes:
        histogram: People by their number of candidates, from 0.
        unique: People with one candidate.
        linked: People with a row that fits no one else and is likely theirs: a claim.
        expected: People that the best guess finds, if all of them are in the release.
        among_rivals: The same, if it is only known that the people of the release are on the list.
        repeated: People of the list who share all their values with another one.
        keyless: People of whom a value is missing, so that they are nowhere.
    """

    relation: exp.Table
    crowds: exp.Table
    people: int
    rows: int
    histogram: Mapping[int, int]
    unique: int
    linked: int
    expected: float
    among_rivals: float
    repeated: int
    keyless: int

    @property
    def found(self) -> int:
        """People with any candidate."""
        return self.people - self.histogram.get(0, 0)


def count_candidates(located: Located) -> CandidateCounts:
    """Return how many rows of the release may be each known person's."""
    engine = located.known.engine
    crowds = engine.keep(_crowds_query(located))
    relation = engine.keep(_candidates_query(located, crowds))
    found = engine.run(_totals_query(relation)).to_pylist()
    histogram = {int(row["candidates"]): 0 for row in found}
    for row in found:
        histogram[int(row["candidates"])] += int(row["people"])
    repeated, keyless = _count_irregular_people(located)
    return CandidateCounts(
        relation=relation,
        crowds=crowds,
        people=sum(histogram.values()),
        rows=_count_class_rows(engine, located.classes),
        histogram=dict(sorted(histogram.items())),
        unique=histogram.get(1, 0),
        linked=sum(int(row["people"]) for row in found if row["is_linked"]),
        expected=sum(float(row["best"] or 0.0) for row in found),
        among_rivals=sum(float(row["among"] or 0.0) for row in found),
        repeated=repeated,
        keyless=keyless,
    )


def is_linked(of: str) -> exp.Expr:
    """Return the condition that a person has a row that fits no one else and is likely theirs."""
    return exp.and_(
        exp.EQ(this=build.column("crowd", of=of), expression=build.number(1)),
        exp.GTE(this=build.column("best", of=of), expression=exp.Literal.number(str(SURE))),
    )


def _crowds_query(located: Located) -> exp.Select:
    """Return the rows of each class that anyone fits, and its crowd."""
    rivals = (
        build.select(
            build.alias_as(build.column("class", of="q"), "class"),
            build.alias_as(build.sum_integers(build.column("people", of="p")), "rivals"),
            source=build.aliased_table(located.pairs, "q"),
        )
        .join(build.aliased_table(located.known.relation, "p"), on=build.same(["person"], "q", "p"))
        .group_by(build.column("class", of="q"))
    )
    rows, others = build.column("rows", of="c"), build.column("rivals", of="r")
    crowd = exp.Greatest(this=rows.copy(), expressions=[others])
    return build.select(
        build.alias_as(build.column("class", of="r"), "class"),
        build.alias_as(rows, "rows"),
        build.alias_as(exp.cast(crowd, "double"), "crowd"),
        source=build.subquery(rivals, "r"),
    ).join(build.aliased_table(located.classes, "c"), on=build.same(["class"], "r", "c"))


def _candidates_query(located: Located, crowds: exp.Table) -> exp.Select:
    """Return the query of candidates, crowd and best chance of each known person."""
    rows, crowd = build.column("rows", of="c"), build.column("crowd", of="c")
    person = build.column("person", of="q")
    best = exp.Div(
        this=exp.Div(
            this=exp.cast(build.number(1), "double"), expression=exp.Min(this=crowd.copy())
        ),
        expression=exp.Sum(this=exp.Div(this=rows.copy(), expression=crowd.copy())),
    )
    found = (
        build.select(
            build.alias_as(person, "person"),
            build.alias_as(build.sum_integers(rows), "candidates"),
            build.alias_as(exp.Min(this=crowd), "crowd"),
            build.alias_as(best, "best"),
            source=build.aliased_table(located.pairs, "q"),
        )
        .join(build.aliased_table(crowds, "c"), on=build.same(["class"], "q", "c"))
        .group_by(person.copy())
    )
    candidates = build.column("candidates", of="f")
    return build.select(
        *(build.alias_as(build.column(name, of="p"), name) for name in ("person", "people")),
        build.alias_as(exp.Coalesce(this=candidates, expressions=[build.number(0)]), "candidates"),
        *(build.alias_as(build.column(name, of="f"), name) for name in ("crowd", "best")),
        source=build.aliased_table(located.known.relation, "p"),
    ).join(build.subquery(found, "f"), on=build.same(["person"], "p", "f"), join_type="left")


def _totals_query(relation: exp.Table) -> exp.Select:
    candidates, people = build.column("candidates", of="t"), build.column("people", of="t")
    claim = exp.case().when(is_linked("t"), exp.true()).else_(exp.false())
    best = exp.Mul(this=build.column("best", of="t"), expression=people.copy())
    among = exp.Div(this=people.copy(), expression=build.column("crowd", of="t"))
    return build.select(
        build.alias_as(candidates, "candidates"),
        build.alias_as(claim, "is_linked"),
        build.alias_as(build.sum_integers(people), "people"),
        build.alias_as(exp.Sum(this=best), "best"),
        build.alias_as(exp.Sum(this=among), "among"),
        source=build.aliased_table(relation, "t"),
    ).group_by(candidates.copy(), claim.copy())


def _count_irregular_people(located: Located) -> tuple[int, int]:
    """Return how many people share all their values, and of how many one is missing."""
    known = located.known
    people = build.column("people")
    missing = build.any_of(
        build.is_null(build.column(f"k{known.index(mine.name)}")) for mine, _ in located.on
    )
    is_repeated = exp.GT(this=people.copy(), expression=build.number(1))
    marks = {"repeated": is_repeated, "keyless": missing}
    wanted = [
        build.alias_as(build.sum_integers(exp.case().when(mark, people.copy())), name)
        for name, mark in marks.items()
    ]
    found = known.engine.run(build.select(*wanted, source=known.relation.copy())).to_pylist()[0]
    return int(found["repeated"] or 0), int(found["keyless"] or 0)


def _count_class_rows(engine: Engine, classes: exp.Table) -> int:
    query = build.select(
        build.alias_as(build.sum_integers(build.column("rows")), "rows"), source=classes.copy()
    )
    return int(engine.run(query)["rows"][0].as_py() or 0)


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
