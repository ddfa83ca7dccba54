"""A table against its population: k-map and δ-presence."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import chain

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from sqlglot import exp

from discreet.engines.engine import Column, Engine, Kind, Table
from discreet.errors import EmptySource, UnknownColumn, WrongUsage, did_you_mean
from discreet.measure.classes import Cells, Roles, join_codes
from discreet.measure.encode import SpanDomain, comparable_value
from discreet.sql import build


@dataclass(frozen=True)
class Matched:
    """Classes by their number of people in the table and in the population.

    `classes[i]` classes have `sizes[i]` people in the table and `among[i]` in the population.
    """

    relation: exp.Table  # keys, size and among of each class of the table
    people: int
    sizes: NDArray[np.int64]
    among: NDArray[np.int64]
    classes: NDArray[np.int64]
    outside: int  # people of the population that fit no class

    @property
    def chances(self) -> NDArray[np.float64]:
        """The chance that a person of the population in such a class is in the table."""
        with np.errstate(divide="ignore"):
            return np.where(self.among > 0, self.sizes / self.among, np.inf)

    @property
    def presence(self) -> tuple[float, float]:
        """The lowest and the highest chance of being in the table (Nergiz, Atzori & Clifton 2007)."""
        if not len(self.sizes):
            return 0.0, 0.0
        lowest = 0.0 if self.outside else float(self.chances.min())
        return lowest, float(self.chances.max())


def match_population(cells: Cells, classes: exp.Table, population: Table) -> Matched:
    """Return how many people of `population` share each class of the table.

    Args:
        cells: The table's cells.
        classes: The kept table of classes: keys and `size`.
        population: The same quasi-identifiers under the same names; one row per person, unless it
            has the table's unit as well.
    """
    engine = cells.subject.table.engine
    people = bring_population(population, cells.subject, engine)
    total = build.sum_integers(build.column("people"))
    everyone = engine.run(build.select(build.alias_as(total, "n"), source=people.copy()))
    n = int(everyone["n"][0].as_py() or 0)
    if n == 0:
        raise _empty_population(population)
    keys = list(cells.packing.keys)
    counted = _population_classes(cells, people, population)
    among = exp.Coalesce(this=build.column("among", of="p"), expressions=[build.number(0)])
    joined = build.select(
        *(build.alias_as(build.column(key, of="c"), key) for key in keys),
        build.alias_as(build.column("size", of="c"), "size"),
        build.alias_as(among, "among"),
        source=build.aliased_table(classes, "c"),
    ).join(build.subquery(counted, "p"), on=build.same(keys, "c", "p"), join_type="left")
    relation = engine.keep(joined)
    found = _fetch_histogram(engine, relation)
    inside = int((found[1] * found[2]).sum())
    return Matched(relation, n, found[0], found[1], found[2], n - inside)


def bring_population(population: Table, subject: Roles, engine: Engine) -> exp.Table:
    """Return the population as `q0 … qn, people`, grouped, on the table's own engine."""
    _require_people(population)
    columns = [_same_column(population, column) for column in subject.quasi]
    values = {f"q{index}": comparable_value(column) for index, column in enumerate(columns)}
    source: exp.Expr = population.relation.copy()
    unit = population.column(subject.unit.name) if subject.unit else None
    if unit is not None:  # a person counts once, for any number of rows
        named = [build.alias_as(value, name) for name, value in values.items()]
        once = build.select(
            *named, build.alias_as(comparable_value(unit), "unit"), source=source
        ).distinct()
        source = build.subquery(once, "once")
        values = {name: build.column(name) for name in values}
    query = build.select(
        *(build.alias_as(value, name) for name, value in values.items()),
        build.alias_as(build.count_star(), "people"),
        source=source,
    ).group_by(*(value.copy() for value in values.values()))
    if population.engine is engine or population.engine is getattr(engine, "engine", None):
        return engine.keep(query)
    batches = population.engine.stream(query)
    first = next(batches, None)
    if first is None:
        raise _empty_population(population)
    reader = pa.RecordBatchReader.from_batches(first.schema, chain([first], batches))
    return engine.load(reader)


def _require_people(population: Table) -> None:
    # Without rows a file's columns have no types either, and would be reported as different.
    any_person = build.select(
        build.alias_as(build.number(1), "n"), source=population.relation.copy()
    )
    if population.engine.run(any_person.limit(1)).num_rows == 0:
        raise _empty_population(population)


def _empty_population(population: Table) -> EmptySource:
    return EmptySource(
        f"The population {population.label} has no rows. Name one with people in it."
    )


def _same_column(population: Table, column: Column) -> Column:
    found = population.column(column.name)
    if found is None:
        near = did_you_mean(column.name, (other.name for other in population.columns))
        raise UnknownColumn(
            f"The population {population.label} has no column '{column.name}', which is a "
            f"quasi-identifier of the table.{near}"
        )
    if found.kind is not column.kind and not (found.kind.is_number and column.kind.is_number):
        raise WrongUsage(
            f"Column '{column.name}' holds {column.kind} in the table and {found.kind} in "
            f"{population.label}. Write both in one form."
        )
    return found


def _population_classes(cells: Cells, people: exp.Table, population: Table) -> exp.Select:
    """Return the query of the population's classes that the table's codes can express."""
    values = [build.column(f"q{index}", of="t") for index in range(len(cells.subject.quasi))]
    query, codes = join_codes(people, cells.packing.domains, values)
    known = [exp.not_(build.is_null(exp.paren(code.copy()))) for code in codes]
    known += [
        _is_whole_or_missing(value)
        for value, domain in zip(values, cells.packing.domains, strict=True)
        if isinstance(domain, SpanDomain)
        and _same_column(population, domain.column).kind is not Kind.INTEGER
    ]
    keys = cells.packing.expressions(codes)
    among = build.alias_as(build.sum_integers(build.column("people", of="t")), "among")
    return (
        query.select(*keys, among)
        .where(build.all_of(known))
        .group_by(*(key.this.copy() for key in keys))
    )


def _is_whole_or_missing(value: exp.Expr) -> exp.Expr:
    # A code is a distance between whole numbers: 30.5 would be rounded to a neighbor's.
    whole = exp.EQ(this=value.copy(), expression=exp.Floor(this=value.copy()))
    return exp.paren(build.any_of([build.is_null(value.copy()), whole]))


def _fetch_histogram(
    engine: Engine, relation: exp.Table
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    size, among = build.column("size"), build.column("among")
    query = build.order_nulls_last(
        build.select(
            size, among, build.alias_as(build.count_star(), "classes"), source=relation
        ).group_by(size.copy(), among.copy()),
        [size.copy(), among.copy()],
    )
    found = engine.run(query)
    sizes, others, classes = (
        found.column(name).to_numpy().astype(np.int64) for name in ("size", "among", "classes")
    )
    return sizes, others, classes
