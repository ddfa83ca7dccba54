"""How many rows of a release may be each known person's, and who else may be in the same rows."""

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
