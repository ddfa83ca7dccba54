"""Pairs of people and classes: joined by equality on the engine, or through what labels stand for."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from sqlglot import exp

from discreet.arrow import ArrowArray, pc
from discreet.attacks.locating.label_matches import LabelMatches, match_labels
from discreet.attacks.locating.labels import ComparisonKind
from discreet.attacks.locating.matching import match_people
from discreet.engines.engine import Column, Engine, Kind
from discreet.errors import WrongUsage
from discreet.policy.hierarchy import Hierarchy
from discreet.sql import build

_COMPARED = (Kind.DATE, Kind.TIMESTAMP, Kind.BOOLEAN, Kind.TIME)


@dataclass(frozen=True)
class JoinColumn:
    """One column to join by: where it is on either side, and how far values may be apart."""

    key: str  # in the relation of what is known
    label: str  # in the relation of classes
    mine: Column
    theirs: Column
    hierarchy: Hierarchy | None = None
    within: float = 0.0
    is_folded: bool = True  # whether texts that differ in case or blanks are to agree

    @property
    def is_plain(self) -> bool:
        """Whether both sides hold values that the engine itself compares, and no labels."""
        if self.mine.kind.is_number and self.theirs.kind.is_number:
            return True
        return self.mine.kind is self.theirs.kind and self.mine.kind in _COMPARED

    def agree(self) -> exp.Expr:
        """Return the condition that the values of `p` and `c` are equal, or near enough."""
        mine, theirs = build.column(self.key, of="p"), build.column(self.label, of="c")
        if self.mine.kind is Kind.TEXT and self.is_folded:
            return exp.EQ(this=_normalize_case(mine), expression=_normalize_case(theirs))
        if not self.within:
            return exp.EQ(this=mine, expression=theirs)
        step = exp.Literal.number(f"{self.within:f}".rstrip("0").rstrip("."))
        if self.mine.kind in (Kind.DATE, Kind.TIMESTAMP):
            low, high = (
                change(this=mine.copy(), expression=step.copy(), unit=exp.var("DAY"))
                for change in (exp.DateSub, exp.DateAdd)
            )
            return exp.Between(this=theirs, low=low, high=high)
        low = exp.Sub(this=mine, expression=step)
        high = exp.Add(this=mine.copy(), expression=step.copy())
        return exp.Between(this=theirs, low=low, high=high)


def pair_people(
    engine: Engine,
    known: exp.Table,
    classes: exp.Table,
    links: Sequence[JoinColumn],
    *,
    keeps_suppressed: bool,
) -> tuple[exp.Table, tuple[LabelMatches, ...]]:
    """Return the pairs `person, class` whose values agree, and what labels were read for it.

    Labels are read only where a column holds text or the sides are of different kinds.
    """
    if all(link.is_plain for link in links):
        return engine.keep(_equality_query(known, classes, links)), ()
    sides = [
        _Side(
            link,
            _fetch_distinct_values(engine, known, link.key),
            _fetch_distinct_values(engine, classes, link.label),
        )
        for link in links
    ]
    held = _match_column_labels(sides)
    if all(
        link.is_plain or _is_plain_text(link, one) for link, one in zip(links, held, strict=True)
    ):
        plain = [replace(side.link, is_folded=side.needs_folding) for side in sides]
        return engine.keep(_equality_query(known, classes, plain)), tuple(held)
    places = _Places(engine, known, classes, keeps_suppressed)
    return _through_labels(places, sides, held), tuple(held)


def add_row_numbers(
    query: exp.Select, names: Sequence[str], number: str, engine: Engine
) -> exp.Select:
    """Return the rows of `query` with a number each, from 1."""
    needs_order = engine.orders_numbered_rows
    order = exp.Order(expressions=[build.column(names[0])]) if needs_order else None
    position = exp.Window(this=exp.RowNumber(), order=order)
    return build.select(
        build.alias_as(position, number),
        *(build.column(name) for name in names),
        source=build.subquery(query, "g"),
    )


@dataclass(frozen=True)
class _Side:
    """A column's distinct values on both sides; a missing label is a label."""

    link: JoinColumn
    values: ArrowArray
    labels: ArrowArray

    @property
    def needs_folding(self) -> bool:
        """Whether there are texts that differ in case or blanks only."""
        if self.link.mine.kind is not Kind.TEXT:
            return False
        texts = pa.chunked_array([self.values, self.labels]).combine_chunks()
        folded = pc.utf8_lower(pc.utf8_trim_whitespace(texts))
        return len(pc.unique(folded)) < len(pc.unique(texts))

    def hold(self, *, missing_is_anything: bool) -> LabelMatches:
        """Return what the labels stand for."""
        held = match_labels(
            self.values.drop_null(),
            self.labels,
            hierarchy=self.link.hierarchy,
            within=self.link.within,
            missing_is_anything=missing_is_anything,
        )
        if self.link.within and held.domain is ComparisonKind.TEXT:
            raise WrongUsage(
                f"Column '{self.link.mine.name}' holds text, which has no distance. Give a tolerance "
                "to columns of numbers and dates only."
            )
        return held


def _match_column_labels(sides: Sequence[_Side]) -> list[LabelMatches]:
    """Return what the labels of each column stand for; NULL is suppressed where others are."""
    held = [side.hold(missing_is_anything=False) for side in sides]
    if not any(_is_more(one) for one in held):
        return held
    return [
        side.hold(missing_is_anything=True) if side.labels.null_count else one
        for one, side in zip(held, sides, strict=True)
    ]


def _is_more(held: LabelMatches) -> bool:
    return held.generalized + held.suppressed + held.unread > 0


def _is_plain_text(link: JoinColumn, held: LabelMatches) -> bool:
    is_text = link.mine.kind is Kind.TEXT and link.theirs.kind is Kind.TEXT
    return is_text and held.domain is ComparisonKind.TEXT and not _is_more(held)


def _equality_query(
    known: exp.Table, classes: exp.Table, links: Sequence[JoinColumn]
) -> exp.Select:
    """Return the pairs of people and classes whose values are equal, or near enough."""
    return build.select(
        build.alias_as(build.column("person", of="p"), "person"),
        build.alias_as(build.column("class", of="c"), "class"),
        source=build.aliased_table(known, "p"),
    ).join(build.aliased_table(classes, "c"), on=build.all_of(link.agree() for link in links))


def _normalize_case(value: exp.Expr) -> exp.Expr:
    return exp.Lower(this=exp.Trim(this=value))


def _fetch_distinct_values(engine: Engine, relation: exp.Table, name: str) -> ArrowArray:
    query = build.select(build.column(name), source=relation.copy()).distinct()
    return pa.chunked_array(engine.run(query)[name]).combine_chunks()


@dataclass(frozen=True)
class _Places:
    """Where people and classes are, and whether classes that say nothing may belong to anyone."""

    engine: Engine
    known: exp.Table
    classes: exp.Table
    keeps_suppressed: bool


def _through_labels(
    places: _Places, sides: Sequence[_Side], held: Sequence[LabelMatches]
) -> exp.Table:
    """Return the pairs of people and classes whose labels all hold the person's values."""
    engine = places.engine
    people, combinations = _group_by_atoms(engine, places.known, sides, held)
    names = [f"l{index}" for index in range(len(sides))]
    query = build.select(*(build.column(name) for name in ("class", *names)), source=places.classes)
    found = engine.run(query)
    labels = np.stack(
        [
            pc.index_in(found[name].combine_chunks(), value_set=side.labels).to_numpy()
            for name, side in zip(names, sides, strict=True)
        ],
        axis=1,
    ).astype(np.int64)
    numbers = found["class"].to_numpy()
    if not places.keeps_suppressed:
        hidden = [np.isin(labels[:, j], one.hidden) for j, one in enumerate(held)]
        says_something = ~np.all(hidden, axis=0)
        labels, numbers = labels[says_something], numbers[says_something]
    firsts, seconds = match_people(combinations, labels, held)
    matched = engine.load(
        pa.table({"combination": firsts + 1, "class": numbers[seconds]}).to_reader()
    )
    same = build.same(["combination"], "p", "m")
    return engine.keep(
        build.select(
            build.alias_as(build.column("person", of="p"), "person"),
            build.alias_as(build.column("class", of="m"), "class"),
            source=build.aliased_table(people, "p"),
        ).join(build.aliased_table(matched, "m"), on=same)
    )


def _group_by_atoms(
    engine: Engine, known: exp.Table, sides: Sequence[_Side], held: Sequence[LabelMatches]
) -> tuple[exp.Table, NDArray[np.int64]]:
    """Return people by the combination of atoms their values are in, and the combinations."""
    names = [f"a{index}" for index in range(len(sides))]
    query = build.select(
        build.alias_as(build.column("person", of="p"), "person"),
        source=build.aliased_table(known, "p"),
    )
    for name, side, one in zip(names, sides, held, strict=True):
        lookup = pa.table({"value": side.values.drop_null(), "atom": one.atoms})
        query = query.join(
            build.aliased_table(engine.load(lookup.to_reader()), name),
            on=exp.EQ(
                this=build.column(side.link.key, of="p"), expression=build.column("value", of=name)
            ),
        ).select(build.alias_as(build.column("atom", of=name), name))
    each = engine.keep(query)
    atoms = [build.column(name) for name in names]
    distinct = build.select(*atoms, source=each.copy()).distinct()
    combinations = engine.keep(add_row_numbers(distinct, names, "combination", engine))
    ordered = build.order_nulls_last(
        build.select(*(atom.copy() for atom in atoms), source=combinations.copy()),
        [build.column("combination")],
    )
    found = engine.run(ordered)
    people = engine.keep(
        build.select(
            build.alias_as(build.column("person", of="p"), "person"),
            build.alias_as(build.column("combination", of="c"), "combination"),
            source=build.aliased_table(each, "p"),
        ).join(build.aliased_table(combinations, "c"), on=build.same(names, "p", "c"))
    )
    return people, np.stack([found[name].to_numpy() for name in names], axis=1)
