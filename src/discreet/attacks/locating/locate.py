"""Where known people may be in a release: people and classes joined through what labels stand for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import pyarrow as pa
from sqlglot import exp

from discreet.attacks.locating.label_matches import LabelMatches
from discreet.attacks.locating.pairing import JoinColumn, add_row_numbers, pair_people
from discreet.engines.engine import Column, Engine, Table
from discreet.measure.encode import comparable_value
from discreet.measure.roles import require_column
from discreet.policy.hierarchy import Hierarchy
from discreet.sql import build


@dataclass(frozen=True)
class KnownCombinations:
    """What the adversary knows: distinct combinations of values, kept on the engine.

    `relation` has `person` (a number from 1), `k0 … kn` (the values) and `people` (how many people of
    the known table have these values).
    """

    engine: Engine
    relation: exp.Table
    columns: tuple[Column, ...]
    label: str

    def index(self, name: str) -> int:
        """Return the place of the column called `name`."""
        return next(i for i, column in enumerate(self.columns) if column.name == name)


@dataclass(frozen=True)
class Located:
    """Which classes of a release may be whose, kept on the engine.

    `classes` has `class` (a number from 1), `l0 … ln` (the labels) and `rows`; `members` has `class`,
    `m0 … mn` (the columns that were asked for) and `rows`; `pairs` has `person` and `class`, for every
    person of `known` and every class whose labels may all stand for that person's values.
    """

    known: KnownCombinations
    release: Table
    on: tuple[tuple[Column, Column], ...]  # (known, released)
    classes: exp.Table
    members: exp.Table
    pairs: exp.Table
    held: Mapping[str, LabelMatches] = field(default_factory=dict[str, "LabelMatches"])

    @property
    def is_exact(self) -> bool:
        """Whether the release holds plain values only, in the columns that were joined."""
        return not any(one.generalized + one.suppressed + one.unread for one in self.held.values())


def gather_combinations(
    table: Table, columns: Sequence[str], *, engine: Engine | None = None
) -> KnownCombinations:
    """Return the distinct combinations of `columns` in a table of known people, numbered.

    Args:
        table: One row per person.
        columns: What of it the adversary uses.
        engine: Where the release is, if that is another engine than the table's own.

    >>> from discreet.engines.connect import open_table
    >>> people = open_table(pa.table({"age": [31, 31, 47], "sex": ["F", "F", "M"]}))
    >>> known = gather_combinations(people, ["age", "sex"])
    >>> people.engine.run(build.select(build.column("people"), source=known.relation)).num_rows
    2
    """
    found = tuple(require_column(table, name) for name in columns)
    values = {f"k{index}": comparable_value(column, of="t") for index, column in enumerate(found)}
    grouped = build.select(
        *(build.alias_as(value, name) for name, value in values.items()),
        build.alias_as(build.count_star(), "people"),
        source=build.aliased_table(table.relation, "t"),
    ).group_by(*(value.copy() for value in values.values()))
    home = engine or table.engine
    if home is table.engine:
        relation = home.keep(add_row_numbers(grouped, [*values, "people"], "person", home))
        return KnownCombinations(home, relation, found, table.label)
    batches = list(table.engine.stream(grouped))
    there = home.load(pa.Table.from_batches(batches).to_reader())
    query = build.select(*(build.column(name) for name in (*values, "people")), source=there)
    relation = home.keep(add_row_numbers(query, [*values, "people"], "person", home))
    return KnownCombinations(home, relation, found, table.label)


def locate(
    known: KnownCombinations,
    release: Table,
    *,
    on: Mapping[str, str] | Sequence[str] | None = None,
    members: Sequence[str] = (),
    hierarchies: Mapping[str, Hierarchy] | None = None,
    within: Mapping[str, float] | None = None,
    keeps_suppressed: bool = True,
) -> Located:
    """Return for each known person the classes of `release` that can be theirs.

    A class is a combination of labels in the released columns. A suppressed value may stand for
    anything. NULL is a suppressed value where the release generalizes or suppresses, and joins
    nothing where all of it is plain; a person of whom a value is missing is nowhere.

    Args:
        known: What the adversary knows; on the engine of the release.
        release: The published table.
        on: The known columns to join by, or the released column of each; default all, by name.
        members: Released columns to count within each class, such as a sensitive one.
        hierarchies: What group names mean, by released column.
        within: By how much numbers, or by how many days dates, may be off, by known column.

        keeps_suppressed: Whether classes whose labels are all suppressed may belong to anyone, or belong to no one.

    Raises:
        WrongUsage: A column with a tolerance holds neither numbers nor dates.
    """
    joined = _match_columns(known, release, on)
    released = [column for _, column in joined]
    classes = _number_classes(release, released)
    counted = _count_members(release, classes, released, members)
    links = [
        JoinColumn(
            f"k{known.index(mine.name)}",
            f"l{index}",
            mine,
            theirs,
            hierarchy=(hierarchies or {}).get(theirs.name),
            within=(within or {}).get(mine.name, 0.0),
        )
        for index, (mine, theirs) in enumerate(joined)
    ]
    pairs, held = pair_people(
        known.engine, known.relation, classes, links, keeps_suppressed=keeps_suppressed
    )
    by_name = dict(zip((column.name for column in released), held, strict=False))
    return Located(known, release, joined, classes, counted, pairs, by_name)


def _match_columns(
    known: KnownCombinations, release: Table, on: Mapping[str, str] | Sequence[str] | None
) -> tuple[tuple[Column, Column], ...]:
    names = [column.name for column in known.columns] if on is None else on
    pairs = names if isinstance(names, Mapping) else {name: name for name in names}
    return tuple(
        (known.columns[known.index(mine)], require_column(release, theirs))
        for mine, theirs in pairs.items()
    )


def _number_classes(release: Table, columns: Sequence[Column]) -> exp.Table:
    values = {f"l{index}": comparable_value(column, of="t") for index, column in enumerate(columns)}
    grouped = build.select(
        *(build.alias_as(value, name) for name, value in values.items()),
        build.alias_as(build.count_star(), "rows"),
        source=build.aliased_table(release.relation, "t"),
    ).group_by(*(value.copy() for value in values.values()))
    names = [*values, "rows"]
    return release.engine.keep(add_row_numbers(grouped, names, "class", release.engine))


def _count_members(
    release: Table, classes: exp.Table, columns: Sequence[Column], members: Sequence[str]
) -> exp.Table:
    """Return how often each combination of the columns `members` is in each class."""
    if not members:
        return classes
    wanted = [require_column(release, name) for name in members]
    values = {f"m{index}": comparable_value(column, of="t") for index, column in enumerate(wanted)}
    key = build.column("class", of="c")
    has_missing = _have_missing(release, classes, len(columns))
    agree = [
        condition
        for index, column in enumerate(columns)
        for condition in build.same_or_missing(
            comparable_value(column, of="t"),
            build.column(f"l{index}", of="c"),
            has_missing=has_missing[index],
        )
    ]
    query = (
        build.select(
            build.alias_as(key, "class"),
            *(build.alias_as(value, name) for name, value in values.items()),
            build.alias_as(build.count_star(), "rows"),
            source=build.aliased_table(release.relation, "t"),
        )
        .join(build.aliased_table(classes, "c"), on=build.all_of(agree))
        .group_by(key.copy(), *(value.copy() for value in values.values()))
    )
    return release.engine.keep(query)


def _have_missing(release: Table, classes: exp.Table, columns: int) -> list[bool]:
    known = [exp.Count(this=build.column(f"l{index}")) for index in range(columns)]
    query = build.select(
        build.alias_as(build.count_star(), "all"),
        *(build.alias_as(count, f"l{index}") for index, count in enumerate(known)),
        source=classes.copy(),
    )
    found = release.engine.run(query).to_pylist()[0]
    return [int(found[f"l{index}"]) < int(found["all"]) for index in range(columns)]
