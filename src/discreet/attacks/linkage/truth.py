"""Which links are right, where both sides say who is who."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from sqlglot import exp

from discreet.attacks.linkage.candidates import CandidateCounts, is_linked
from discreet.engines.engine import Column, Kind, Table
from discreet.measure.encode import comparable_value
from discreet.sql import build

if TYPE_CHECKING:
    from discreet.attacks.locating.locate import Located


@dataclass(frozen=True)
class IdentityColumns:
    """The columns that say who is who, in the list of known people and in the release."""

    known: Column
    released: Column

    @property
    def is_plain(self) -> bool:
        """Whether both are whole numbers, which need no form to be compared."""
        return self.known.kind is self.released.kind is Kind.INTEGER

    def form(self, value: exp.Expr, column: Column) -> exp.Expr:
        """Return an identity in the form in which both sides agree: text without case and blanks."""
        if self.is_plain:
            return value
        text = value if column.kind is Kind.TEXT else exp.cast(value, exp.DataType.Type.TEXT)
        return exp.Lower(this=exp.Trim(this=text))


@dataclass(frozen=True)
class Checked:
    """How right the links are.

    Attributes:
        correct: Links to the person's own row.
        reached: People whose own row is among their candidates.
        absent: Known people who are not in the release.
        linked_absent: Those of them who are linked to a row all the same, which is wrong.
    """

    correct: int
    reached: int
    absent: int
    linked_absent: int


def check_links(
    located: Located,
    candidates: CandidateCounts,
    people: Table,
    identity: IdentityColumns,
    *,
    member: int,
) -> Checked:
    """Return how right the links are; column `member` of the members holds the identity."""
    engine = located.known.engine
    named = engine.keep(_identities_query(located, people, identity))
    theirs = identity.form(build.column(f"m{member}", of="m"), identity.released)
    own = (
        build.select(
            build.alias_as(build.column("class", of="m"), "class"),
            build.alias_as(theirs, "identity"),
            source=build.aliased_table(located.members, "m"),
        )
        .where(exp.not_(build.is_null(theirs.copy())))
        .distinct()
    )
    released = engine.keep(own)
    reached = engine.keep(_reached_people_query(located, named, released))
    alone = engine.keep(_reached_people_query(located, named, released, alone_in=candidates.crowds))
    correct = _count(located, _with_links(alone, candidates), linked=True)
    absent = engine.keep(_absent_people_query(named, released))
    return Checked(
        correct=correct,
        reached=_count(located, _with_links(reached, candidates), linked=False),
        absent=_count_all(located, absent),
        linked_absent=_count(located, _with_links(absent, candidates), linked=True),
    )


def _identities_query(located: Located, people: Table, identity: IdentityColumns) -> exp.Select:
    """Return who has which values: `person` (NULL for whom a value is missing), `identity`, `people`."""
    known = located.known
    mine = identity.form(comparable_value(identity.known, of="t"), identity.known)
    person = build.column("person", of="p")
    agree = build.all_of(
        exp.EQ(this=comparable_value(column, of="t"), expression=build.column(f"k{index}", of="p"))
        for index, column in enumerate(known.columns)
    )
    return (
        build.select(
            build.alias_as(person, "person"),
            build.alias_as(mine, "identity"),
            build.alias_as(build.count_star(), "people"),
            source=build.aliased_table(people.relation, "t"),
        )
        .join(build.aliased_table(known.relation, "p"), on=agree, join_type="left")
        .group_by(person.copy(), mine.copy())
    )


def _reached_people_query(
    located: Located,
    named: exp.Table,
    released: exp.Table,
    *,
    alone_in: exp.Table | None = None,
) -> exp.Select:
    """Return the people whose own row is among their candidates, or is the one that fits only them."""
    columns = [build.column(name, of="n") for name in ("person", "identity", "people")]
    query = (
        build.select(
            *(build.alias_as(column, column.name) for column in columns),
            source=build.aliased_table(named, "n"),
        )
        .join(build.aliased_table(located.pairs, "q"), on=build.same(["person"], "n", "q"))
        .join(
            build.aliased_table(released, "r"),
            on=exp.and_(build.same(["class"], "q", "r"), build.same(["identity"], "n", "r")),
        )
        .distinct()
    )
    if alone_in is None:
        return query
    is_alone = exp.EQ(this=build.column("crowd", of="a"), expression=build.number(1))
    return query.join(
        build.aliased_table(alone_in, "a"), on=exp.and_(build.same(["class"], "q", "a"), is_alone)
    )


def _absent_people_query(named: exp.Table, released: exp.Table) -> exp.Select:
    """Return the people whose identity the release does not hold."""
    columns = [build.column(name, of="n") for name in ("person", "identity", "people")]
    known = build.select(build.column("identity"), source=released.copy()).distinct()
    return (
        build.select(
            *(build.alias_as(column, column.name) for column in columns),
            source=build.aliased_table(named, "n"),
        )
        .join(build.subquery(known, "r"), on=build.same(["identity"], "n", "r"), join_type="left")
        .where(build.is_null(build.column("identity", of="r")))
    )


def _with_links(people: exp.Table, candidates: CandidateCounts) -> exp.Select:
    return (
        exp.Select()
        .from_(build.aliased_table(people, "n"))
        .join(build.aliased_table(candidates.relation, "c"), on=build.same(["person"], "n", "c"))
    )


def _count(located: Located, query: exp.Select, *, linked: bool) -> int:
    total = build.alias_as(build.sum_integers(build.column("people", of="n")), "people")
    query = query.select(total).where(is_linked("c")) if linked else query.select(total)
    return int(located.known.engine.run(query)["people"][0].as_py() or 0)


def _count_all(located: Located, people: exp.Table) -> int:
    total = build.alias_as(build.sum_integers(build.column("people")), "people")
    found = located.known.engine.run(build.select(total, source=people.copy()))
    return int(found["people"][0].as_py() or 0)
