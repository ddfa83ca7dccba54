"""Cross tables of a table of people: what a custodian is about to publish, and who is in it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from itertools import combinations
from typing import Any

from discreet.attacks.census.block import Cell, CensusBlock, CountRange, Marginal, Variable
from discreet.engines.connect import open_table
from discreet.engines.engine import Kind, Table
from discreet.errors import EmptySource, WrongUsage
from discreet.measure.roles import require_column
from discreet.sql import build

MISSING = "missing"
MOST_RECORDS = 100_000  # different ones; no block has so many


def tabulate_marginals(
    source: object, *, ways: int = 2, columns: Sequence[str] | None = None, suppress: int = 0
) -> CensusBlock:
    """Return every cross table of `ways` columns of `source`, as one would publish them.

    Cells of fewer than `suppress` people are published as the range from 1 up to that; empty ones
    are left out, as tables do.

    >>> import pyarrow
    >>> people = pyarrow.table({"sex": ["f", "f", "m"], "age": [8, 24, 18]})
    >>> block = tabulate_marginals(people, ways=1)
    >>> block.people, [len(table.cells) for table in block.marginals]
    (3, [2, 3])
    """
    table = open_table(source)
    try:
        names = _require_columns(table, columns)
        counted = count_records(table, names)
    finally:
        table.engine.close()
    if not 1 <= ways <= len(names):
        raise WrongUsage(
            f"Cross tables of {ways} columns cannot be made of {len(names)}: ways is from 1 to "
            f"{len(names)}."
        )
    variables = tuple(
        Variable(name, _sort_domain([record[place] for record in counted]))
        for place, name in enumerate(names)
    )
    people = to_cells(counted, variables)
    chosen = combinations(range(len(names)), ways)
    published = tuple(_count_marginal(people, some, suppress) for some in chosen)
    return CensusBlock(
        people=sum(counted.values()), variables=variables, marginals=published, label=table.label
    )


def read_census_people(source: object, block: CensusBlock) -> Counter[Cell | None]:
    """Return the people of a table as records of `block`; None counts those outside its domains."""
    table = open_table(source)
    try:
        names = [require_column(table, variable.name).name for variable in block.variables]
        return to_cells(count_records(table, names), block.variables)
    finally:
        table.engine.close()


def count_records(table: Table, names: Sequence[str]) -> Counter[tuple[str | int, ...]]:
    """Return how many people have which values: whole numbers as they are, the rest as words."""
    columns = [build.column(name) for name in names]
    query = build.select(
        *(build.alias_as(column, f"c{place}") for place, column in enumerate(columns)),
        build.alias_as(build.count_star(), "people"),
        source=table.relation,
    ).group_by(*(column.copy() for column in columns))
    found = table.engine.run(query.limit(MOST_RECORDS + 1))
    if found.num_rows > MOST_RECORDS:
        raise WrongUsage(
            f"{table.label} has more than {MOST_RECORDS:,} different records, which is no block. "
            "Take the people of one place, or fewer columns."
        )
    if not found.num_rows:
        raise EmptySource(f"{table.label} has no rows. A block needs people.")
    counted: Counter[tuple[str | int, ...]] = Counter()
    values = [found.column(f"c{place}").to_pylist() for place in range(len(names))]
    kinds = [require_column(table, name).kind for name in names]
    for *record, people in zip(*values, found.column("people").to_pylist(), strict=True):
        values = tuple(map(_table_value, record, kinds))
        counted[values] += int(people)
    return counted


def to_cells(
    counted: Counter[tuple[str | int, ...]], variables: Sequence[Variable]
) -> Counter[Cell | None]:
    """Return records by the places of their values; None for those that the variables lack."""
    places = [
        {str(value): place for place, value in enumerate(variable.values)} for variable in variables
    ]
    people: Counter[Cell | None] = Counter()
    for record, count in counted.items():
        cell = tuple(known.get(str(value), -1) for known, value in zip(places, record, strict=True))
        people[None if -1 in cell else cell] += count
    return people


def _table_value(value: Any, kind: Kind) -> str | int:
    if value is None:
        return MISSING
    if kind is Kind.BOOLEAN:
        return "true" if value else "false"
    if kind in (Kind.INTEGER, Kind.REAL, Kind.DECIMAL) and value == int(value):
        return int(value)
    return str(value)


def _require_columns(table: Table, columns: Sequence[str] | None) -> list[str]:
    names = list(columns) if columns is not None else [column.name for column in table.columns]
    if len(set(names)) < len(names):
        raise WrongUsage("A column is named twice. Name each once.")
    return [require_column(table, name).name for name in names]


def _sort_domain(values: Sequence[str | int]) -> tuple[int, ...] | tuple[str, ...]:
    numbers = {value for value in values if isinstance(value, int)}
    if len(numbers) == len(set(values)):
        return tuple(sorted(numbers))
    return tuple(sorted(map(str, set(values))))


def _count_marginal(people: Counter[Cell | None], some: Sequence[int], suppress: int) -> Marginal:
    cells: Counter[tuple[int, ...]] = Counter()
    for cell, count in people.items():
        if cell is not None:
            cells[tuple(cell[variable] for variable in some)] += count
    held = {
        cell: CountRange(count, count) if count >= suppress else CountRange(1, suppress - 1)
        for cell, count in sorted(cells.items())
    }
    return Marginal(tuple(some), held)
