"""Several rows of one person: a person found by one row is found with all of them."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from sqlglot import exp

from discreet.attacks.locating.pairing import add_row_numbers
from discreet.sql import build

if TYPE_CHECKING:
    from discreet.attacks.locating.locate import Located


def by_unit(located: Located, *, member: int, members: int) -> Located:
    """Return where people are, with people of the release in the place of classes.

    A person of the release is a candidate when one of their rows fits, and then reveals what all of
    their rows reveal. Rows without a unit are left out.

    Args:
        located: Where known people are, by class.
        member: Which column of the members is the unit.
        members: How many columns the members have.
    """
    engine = located.known.engine
    unit = build.column(f"m{member}")
    grouped = (
        build.select(build.alias_as(unit, "unit"), source=located.members.copy())
        .where(exp.not_(build.is_null(unit.copy())))
        .distinct()
    )
    counted = build.select(
        build.column("unit"),
        build.alias_as(build.number(1), "rows"),
        source=build.subquery(grouped, "g"),
    )
    units = engine.keep(add_row_numbers(counted, ["unit", "rows"], "class", engine))
    same = exp.EQ(this=build.column(f"m{member}", of="m"), expression=build.column("unit", of="u"))
    number = build.alias_as(build.column("class", of="u"), "class")
    pairs = (
        build.select(
            build.alias_as(build.column("person", of="q"), "person"),
            number,
            source=build.aliased_table(located.pairs, "q"),
        )
        .join(build.aliased_table(located.members, "m"), on=build.same(["class"], "q", "m"))
        .join(build.aliased_table(units, "u"), on=same)
        .distinct()
    )
    names = [f"m{index}" for index in range(members)]
    values = [build.column(name, of="m") for name in names]
    rows = (
        build.select(
            number.copy(),
            *(build.alias_as(value, name) for value, name in zip(values, names, strict=True)),
            build.alias_as(build.sum_integers(build.column("rows", of="m")), "rows"),
            source=build.aliased_table(located.members, "m"),
        )
        .join(build.aliased_table(units, "u"), on=same.copy())
        .group_by(build.column("class", of="u"), *(value.copy() for value in values))
    )
    return replace(located, classes=units, pairs=engine.keep(pairs), members=engine.keep(rows))
