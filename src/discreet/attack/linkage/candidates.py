"""How many rows of a release may be each known person's, and who else may be in the same rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from sqlglot import exp

from discreet.sql import build

if TYPE_CHECKING:
    from collections.abc import Mapping

    from discreet.attack.locate import Located
    from discreet.engines.engine import Engine


@dataclass(frozen=True)
class Candidates:
    """Known people by their number of candidate rows.

    `relation`, on the engine, has `person`, `people`, `candidates` (rows that may be theirs), `rivals`
    (known people that the largest of their classes may stand for) and `chance` (see `expected`).

    Attributes:
        histogram: People by their number of candidates, from 0.
        unique: People with one candidate.
        linked: People with one candidate that is nobody else's: a claim.
        expected: People that a guess among their candidates finds, if all of them are in the release.
        among_rivals: The same, if rivals are as likely to be in it: each row is one of theirs.
        repeated: People of the list who share all their values with another one.
        keyless: People of whom a value is missing, so that they are nowhere.
    """

    relation: exp.Table
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


def count_candidates(located: Located) -> Candidates:
    """Return how many rows of the release may be each known person's."""
    engine = located.known.engine
    relation = engine.keep(_each(located))
    found = engine.run(_summed(relation)).to_pylist()
    histogram = {int(row["candidates"]): 0 for row in found}
    for row in found:
        histogram[int(row["candidates"])] += int(row["people"])
    linked = sum(int(row["people"]) for row in found if row["is_linked"])
    repeated, keyless = _irregular(located)
    return Candidates(
        relation=relation,
        people=sum(histogram.values()),
        rows=_rows(engine, located.classes),
        histogram=dict(sorted(histogram.items())),
        unique=histogram.get(1, 0),
        linked=linked,
        expected=sum(people / size for size, people in histogram.items() if size),
        among_rivals=sum(float(row["chance"] or 0.0) for row in found),
        repeated=repeated,
        keyless=keyless,
    )


def is_linked(of: str) -> exp.Expr:
    """Return the condition that a person has one candidate row, which is nobody else's."""
    return build.all_of(
        exp.EQ(this=build.column(name, of=of), expression=build.number(1))
        for name in ("candidates", "rivals")
    )


def _each(located: Located) -> exp.Select:
    """Return the query of candidates, rivals and chance of each known person."""
    candidates = build.column("candidates", of="f")
    return build.select(
        *(build.named(build.column(name, of="p"), name) for name in ("person", "people")),
        build.named(exp.Coalesce(this=candidates, expressions=[build.number(0)]), "candidates"),
        *(build.named(build.column(name, of="f"), name) for name in ("rivals", "chance")),
        source=build.aliased_table(located.known.relation, "p"),
    ).join(
        build.subquery(_found(located), "f"), on=build.same(["person"], "p", "f"), join_type="left"
    )


def _found(located: Located) -> exp.Select:
    """Return candidates, rivals and chance of those who have any."""
    pairs = build.aliased_table(located.pairs, "q")
    rivals = (
        build.select(
            build.named(build.column("class", of="q"), "class"),
            build.named(build.total(build.column("people", of="p")), "rivals"),
            source=pairs,
        )
        .join(build.aliased_table(located.known.relation, "p"), on=build.same(["person"], "q", "p"))
        .group_by(build.column("class", of="q"))
    )
    rows, others = build.column("rows", of="c"), build.column("rivals", of="r")
    crowd = exp.Greatest(this=rows.copy(), expressions=[others.copy()])
    share = exp.Div(this=exp.cast(rows.copy(), "double"), expression=exp.cast(crowd, "double"))
    all_rows = exp.cast(exp.Sum(this=rows.copy()), "double")
    person = build.column("person", of="q")
    return (
        build.select(
            build.named(person, "person"),
            build.named(build.total(rows), "candidates"),
            build.named(exp.Max(this=others), "rivals"),
            build.named(exp.Div(this=exp.Sum(this=share), expression=all_rows), "chance"),
            source=pairs.copy(),
        )
        .join(build.aliased_table(located.classes, "c"), on=build.same(["class"], "q", "c"))
        .join(build.subquery(rivals, "r"), on=build.same(["class"], "q", "r"))
        .group_by(person.copy())
    )


def _summed(relation: exp.Table) -> exp.Select:
    candidates, people = build.column("candidates", of="t"), build.column("people", of="t")
    claim = exp.case().when(is_linked("t"), exp.true()).else_(exp.false())
    chance = exp.Mul(this=build.column("chance", of="t"), expression=people.copy())
    return build.select(
        build.named(candidates, "candidates"),
        build.named(claim, "is_linked"),
        build.named(build.total(people), "people"),
        build.named(exp.Sum(this=chance), "chance"),
        source=build.aliased_table(relation, "t"),
    ).group_by(candidates.copy(), claim.copy())


def _irregular(located: Located) -> tuple[int, int]:
    """Return how many people share all their values, and of how many one is missing."""
    known = located.known
    people = build.column("people")
    missing = build.any_of(
        build.is_null(build.column(f"k{known.index(mine.name)}")) for mine, _ in located.on
    )
    is_repeated = exp.GT(this=people.copy(), expression=build.number(1))
    marks = {"repeated": is_repeated, "keyless": missing}
    wanted = [
        build.named(build.total(exp.case().when(mark, people.copy())), name)
        for name, mark in marks.items()
    ]
    found = known.engine.run(build.select(*wanted, source=known.relation.copy())).to_pylist()[0]
    return int(found["repeated"] or 0), int(found["keyless"] or 0)


def _rows(engine: Engine, classes: exp.Table) -> int:
    query = build.select(
        build.named(build.total(build.column("rows")), "rows"), source=classes.copy()
    )
    return int(engine.run(query)["rows"][0].as_py() or 0)
