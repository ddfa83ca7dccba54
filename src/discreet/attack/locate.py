"""Where known people may be in a release: people and classes joined through what labels stand for."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
from sqlglot import exp

from discreet.attack.holding import Holding, hold
from discreet.attack.labels import Domain
from discreet.attack.matching import match
from discreet.engines.engine import Column, Engine, Kind, Table
from discreet.measure.encode import comparable
from discreet.measure.subject import require_column
from discreet.policy.hierarchies.arrow import ArrowArray, pc
from discreet.sql import build

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from discreet.policy.hierarchy import Hierarchy

_NUMBERS = (Kind.INTEGER, Kind.DECIMAL, Kind.REAL)


@dataclass(frozen=True)
class Known:
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

    known: Known
    release: Table
    on: tuple[tuple[Column, Column], ...]  # (known, released)
    classes: exp.Table
    members: exp.Table
    pairs: exp.Table
    held: Mapping[str, Holding] = field(default_factory=dict[str, Holding])

    @property
    def is_exact(self) -> bool:
        """Whether the release holds plain values only, in the columns that were joined."""
        return not any(one.generalized + one.suppressed + one.unread for one in self.held.values())


def gather(table: Table, columns: Sequence[str], *, engine: Engine | None = None) -> Known:
    """Return the distinct combinations of `columns` in a table of known people, numbered.

    Args:
        table: One row per person.
        columns: What of it the adversary uses.
        engine: Where the release is, if that is another engine than the table's own.

    >>> from discreet.engines.connect import open_table
    >>> people = open_table(pa.table({"age": [31, 31, 47], "sex": ["F", "F", "M"]}))
    >>> known = gather(people, ["age", "sex"])
    >>> people.engine.run(build.select(build.column("people"), source=known.relation)).num_rows
    2
    """
    found = tuple(require_column(table, name) for name in columns)
    values = {f"k{index}": comparable(column, of="t") for index, column in enumerate(found)}
    grouped = build.select(
        *(build.named(value, name) for name, value in values.items()),
        build.named(build.count_rows(), "people"),
        source=build.aliased_table(table.relation, "t"),
    ).group_by(*(value.copy() for value in values.values()))
    home = engine or table.engine
    if home is table.engine:
        relation = home.keep(_numbered(grouped, [*values, "people"], "person", home))
        return Known(home, relation, found, table.label)
    batches = list(table.engine.stream(grouped))
    there = home.load(pa.Table.from_batches(batches).to_reader())
    query = build.select(*(build.column(name) for name in (*values, "people")), source=there)
    relation = home.keep(_numbered(query, [*values, "people"], "person", home))
    return Known(home, relation, found, table.label)


def locate(
    known: Known,
    release: Table,
    *,
    on: Mapping[str, str] | Sequence[str] | None = None,
    members: Sequence[str] = (),
    hierarchies: Mapping[str, Hierarchy] | None = None,
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
    """
    joined = _columns(known, release, on)
    engine = known.engine
    keys = [f"k{known.index(mine.name)}" for mine, _ in joined]
    released = [column for _, column in joined]
    classes = _classes(release, released)
    counted = _members(release, classes, released, members)
    if all(_is_plain(mine, theirs) for mine, theirs in joined):
        pairs = engine.keep(_equal(known, classes, keys))
        return Located(known, release, joined, classes, counted, pairs)
    sides = [
        _Side(key, _distinct(engine, known.relation, key), _distinct(engine, classes, f"l{index}"))
        for index, key in enumerate(keys)
    ]
    held = _hold(sides, [(hierarchies or {}).get(column.name) for column in released])
    by_name = {column.name: one for column, one in zip(released, held, strict=True)}
    if all(_is_plain(mine, theirs, one) for (mine, theirs), one in zip(joined, held, strict=True)):
        pairs = engine.keep(_equal(known, classes, keys))
    else:
        pairs = _through_labels(known, classes, sides, held)
    return Located(known, release, joined, classes, counted, pairs, by_name)


@dataclass(frozen=True)
class _Side:
    """A column's distinct values on both sides; a missing label is a label."""

    key: str
    values: ArrowArray
    labels: ArrowArray


def _hold(sides: Sequence[_Side], hierarchies: Sequence[Hierarchy | None]) -> list[Holding]:
    """Return what the labels of each column stand for; NULL is suppressed where others are."""
    held = [
        hold(side.values.drop_null(), side.labels, hierarchy=one, missing_is_anything=False)
        for side, one in zip(sides, hierarchies, strict=True)
    ]
    if not any(_is_more(one) for one in held):
        return held
    return [
        hold(side.values.drop_null(), side.labels, hierarchy=rule)
        if side.labels.null_count
        else one
        for one, side, rule in zip(held, sides, hierarchies, strict=True)
    ]


def _is_more(held: Holding) -> bool:
    return held.generalized + held.suppressed + held.unread > 0


def _columns(
    known: Known, release: Table, on: Mapping[str, str] | Sequence[str] | None
) -> tuple[tuple[Column, Column], ...]:
    names = [column.name for column in known.columns] if on is None else on
    pairs = names if isinstance(names, Mapping) else {name: name for name in names}
    return tuple(
        (known.columns[known.index(mine)], require_column(release, theirs))
        for mine, theirs in pairs.items()
    )


def _is_plain(mine: Column, theirs: Column, held: Holding | None = None) -> bool:
    """Return whether two columns hold plain values that the engine itself can compare."""
    if held is not None and _is_more(held):
        return False
    if mine.kind in _NUMBERS and theirs.kind in _NUMBERS:
        return True
    if mine.kind is not theirs.kind:
        return False
    if mine.kind in (Kind.DATE, Kind.BOOLEAN, Kind.TIME):
        return True
    return held is not None and mine.kind is Kind.TEXT and held.domain is Domain.TEXT


def _numbered(query: exp.Select, names: Sequence[str], number: str, engine: Engine) -> exp.Select:
    """Return the rows of `query` with a number each."""
    # Only Spark insists on an order, which costs a sort.
    order = exp.Order(expressions=[build.column(names[0])]) if engine.dialect == "spark" else None
    position = exp.Window(this=exp.RowNumber(), order=order)
    return build.select(
        build.named(position, number),
        *(build.column(name) for name in names),
        source=build.subquery(query, "g"),
    )


def _classes(release: Table, columns: Sequence[Column]) -> exp.Table:
    values = {f"l{index}": comparable(column, of="t") for index, column in enumerate(columns)}
    grouped = build.select(
        *(build.named(value, name) for name, value in values.items()),
        build.named(build.count_rows(), "rows"),
        source=build.aliased_table(release.relation, "t"),
    ).group_by(*(value.copy() for value in values.values()))
    names = [*values, "rows"]
    return release.engine.keep(_numbered(grouped, names, "class", release.engine))


def _members(
    release: Table, classes: exp.Table, columns: Sequence[Column], members: Sequence[str]
) -> exp.Table:
    """Return how often each combination of the columns `members` is in each class."""
    if not members:
        return classes
    wanted = [require_column(release, name) for name in members]
    values = {f"m{index}": comparable(column, of="t") for index, column in enumerate(wanted)}
    key = build.column("class", of="c")
    agree = [
        condition
        for index, column in enumerate(columns)
        for condition in same_or_missing(
            comparable(column, of="t"), build.column(f"l{index}", of="c")
        )
    ]
    query = (
        build.select(
            build.named(key, "class"),
            *(build.named(value, name) for name, value in values.items()),
            build.named(build.count_rows(), "rows"),
            source=build.aliased_table(release.relation, "t"),
        )
        .join(build.aliased_table(classes, "c"), on=build.all_of(agree))
        .group_by(key.copy(), *(value.copy() for value in values.values()))
    )
    return release.engine.keep(query)


def same_or_missing(mine: exp.Expr, theirs: exp.Expr) -> list[exp.Expr]:
    """Return conditions that two values are equal or both missing; equalities, which are hashed."""
    texts = [
        exp.Coalesce(
            this=exp.cast(side.copy(), exp.DataType.Type.TEXT), expressions=[build.text("")]
        )
        for side in (mine, theirs)
    ]
    missing = [exp.paren(build.is_null(side.copy())) for side in (mine, theirs)]
    return [
        exp.EQ(this=texts[0], expression=texts[1]),
        exp.EQ(this=missing[0], expression=missing[1]),
    ]


def _equal(known: Known, classes: exp.Table, keys: Sequence[str]) -> exp.Select:
    """Return the pairs of people and classes whose values are equal."""
    kinds = [known.columns[int(key[1:])].kind for key in keys]
    conditions = [
        exp.EQ(
            this=_folded(build.column(key, of="p"), kind),
            expression=_folded(build.column(f"l{index}", of="c"), kind),
        )
        for index, (key, kind) in enumerate(zip(keys, kinds, strict=True))
    ]
    return build.select(
        build.named(build.column("person", of="p"), "person"),
        build.named(build.column("class", of="c"), "class"),
        source=build.aliased_table(known.relation, "p"),
    ).join(build.aliased_table(classes, "c"), on=build.all_of(conditions))


def _folded(value: exp.Expr, kind: Kind) -> exp.Expr:
    return exp.Lower(this=exp.Trim(this=value)) if kind is Kind.TEXT else value


def _distinct(engine: Engine, relation: exp.Table, name: str) -> ArrowArray:
    query = build.select(build.column(name), source=relation.copy()).distinct()
    return pa.chunked_array(engine.run(query)[name]).combine_chunks()


def _through_labels(
    known: Known, classes: exp.Table, sides: Sequence[_Side], held: Sequence[Holding]
) -> exp.Table:
    """Return the pairs of people and classes whose labels all hold the person's values."""
    engine = known.engine
    people, combinations = _atoms(known, sides, held)
    names = [f"l{index}" for index in range(len(sides))]
    query = build.select(*(build.column(name) for name in ("class", *names)), source=classes)
    found = engine.run(query)
    labels = [
        pc.index_in(found[name].combine_chunks(), value_set=side.labels).to_numpy()
        for name, side in zip(names, sides, strict=True)
    ]
    firsts, seconds = match(combinations, np.stack(labels, axis=1).astype(np.int64), held)
    numbers = found["class"].to_numpy()
    matched = engine.load(
        pa.table({"combination": firsts + 1, "class": numbers[seconds]}).to_reader()
    )
    same = build.same(["combination"], "p", "m")
    return engine.keep(
        build.select(
            build.named(build.column("person", of="p"), "person"),
            build.named(build.column("class", of="m"), "class"),
            source=build.aliased_table(people, "p"),
        ).join(build.aliased_table(matched, "m"), on=same)
    )


def _atoms(
    known: Known, sides: Sequence[_Side], held: Sequence[Holding]
) -> tuple[exp.Table, NDArray[np.int64]]:
    """Return people by the combination of atoms their values are in, and the combinations."""
    engine = known.engine
    names = [f"a{index}" for index in range(len(sides))]
    query = build.select(
        build.named(build.column("person", of="p"), "person"),
        source=build.aliased_table(known.relation, "p"),
    )
    for name, side, one in zip(names, sides, held, strict=True):
        lookup = pa.table({"value": side.values.drop_null(), "atom": one.atoms})
        query = query.join(
            build.aliased_table(engine.load(lookup.to_reader()), name),
            on=exp.EQ(
                this=build.column(side.key, of="p"), expression=build.column("value", of=name)
            ),
        ).select(build.named(build.column("atom", of=name), name))
    each = engine.keep(query)
    atoms = [build.column(name) for name in names]
    distinct = build.select(*atoms, source=each.copy()).distinct()
    combinations = engine.keep(_numbered(distinct, names, "combination", engine))
    ordered = build.ordered(
        build.select(*(atom.copy() for atom in atoms), source=combinations.copy()),
        [build.column("combination")],
    )
    found = engine.run(ordered)
    people = engine.keep(
        build.select(
            build.named(build.column("person", of="p"), "person"),
            build.named(build.column("combination", of="c"), "combination"),
            source=build.aliased_table(each, "p"),
        ).join(build.aliased_table(combinations, "c"), on=build.same(names, "p", "c"))
    )
    return people, np.stack([found[name].to_numpy() for name in names], axis=1)
