"""What it takes to count the marginals of a synthesis inside the engine.

Run with `python -m bench.synthesize_counts [--rows 10000000]`. A table of 15 columns, as Adult has: how long it
takes to bound and code its rows and to count all columns and all pairs of them, against the engine's own
GROUPING SETS for the same marginals of the same table. CPU seconds of all threads, both in one run, the better
of two each.
"""

from __future__ import annotations

import argparse
import itertools
import time
from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np
from sqlglot import exp

from bench.figures import FigureTable
from discreet.answer.catalog import CatalogTable
from discreet.answer.coded_counts import CodedCounter
from discreet.answer.sources import scan_table
from discreet.engines.duckdb import DuckDB
from discreet.engines.engine import Table
from discreet.policy.load import parse_policy
from discreet.sql import build

if TYPE_CHECKING:
    from discreet.answer.rows import Rows

ROWS = 10_000_000
SIZES = (64, 9, 64, 16, 16, 7, 15, 6, 5, 2, 50, 50, 64, 42, 2)
NAMES = tuple(f"x{place}" for place in range(len(SIZES)))
PEOPLE = 4  # rows of a person on average
UNITS = {
    "each row a person": "tables: {data: {unit: row, columns: {person: identifier}}}",
    "four rows a person": "tables: {data: {unit: person, limits: {rows-per-unit: 4}, columns: {person: identifier}}}",
}
MARGINALS = [(place,) for place in range(len(SIZES))] + list(
    itertools.combinations(range(len(SIZES)), 2)
)


def make_table(engine: DuckDB, rows: int) -> exp.Table:
    """Return a table of codes in columns of whole numbers, and of people."""

    def draw(size: int) -> exp.Expr:
        skewed = exp.Pow(this=exp.Rand(), expression=exp.Literal.number("1.5"))
        scaled = exp.Mul(this=skewed, expression=build.number(size))
        return exp.cast(exp.Floor(this=scaled), "INT")

    wanted = [build.alias_as(draw(size), name) for name, size in zip(NAMES, SIZES, strict=True)]
    wanted.append(build.alias_as(draw(max(rows // PEOPLE, 1)), "person"))
    numbers = exp.Anonymous(this="range", expressions=[build.number(rows)])
    return engine.keep(build.select(*wanted, source=numbers))


def clamp_code(size: int) -> Callable[[exp.Expr], exp.Expr]:
    """Return the code of whole numbers up to `size`: what is missing or beyond is the last."""

    def code(cell: exp.Expr) -> exp.Expr:
        within = exp.Between(this=cell, low=build.number(0), high=build.number(size - 1))
        return exp.Case(ifs=[exp.If(this=within, true=cell.copy())], default=build.number(size - 1))

    return code


def count_coded(rows: Rows, engine: DuckDB) -> None:
    """Bound and code the rows, and count all marginals at their codes."""
    columns = [(name, clamp_code(size), size) for name, size in zip(NAMES, SIZES, strict=True)]
    counter = CodedCounter(rows, columns, engine)
    counter.count(MARGINALS, None)
    counter.close()


def count_coarse(rows: Rows, engine: DuckDB) -> None:
    """Count columns at their codes, and pairs at coarser ones, as a synthesis does."""
    columns = [(name, clamp_code(size), size) for name, size in zip(NAMES, SIZES, strict=True)]
    counter = CodedCounter(rows, columns, engine)
    counter.count(MARGINALS[: len(SIZES)], None)
    maps = [np.minimum(np.arange(size) // 2, 11) for size in SIZES]
    counter.count(MARGINALS[len(SIZES) :], maps)
    counter.close()


def grouping_sets(relation: exp.Table) -> exp.Select:
    """Return the engine's own query for all marginals."""
    columns = [build.column(name) for name in NAMES]
    sets = [exp.Tuple(expressions=[columns[place].copy() for place in some]) for some in MARGINALS]
    query = build.select(*columns, build.alias_as(build.count_star(), "n"), source=relation.copy())
    query.set("group", exp.Group(grouping_sets=[exp.GroupingSets(expressions=sets)]))
    return query


def seconds(call: Callable[[], object]) -> float:
    """Return the CPU seconds that `call` takes, the better of two."""
    found: list[float] = []
    for _ in range(2):
        began = time.process_time()
        call()
        found.append(time.process_time() - began)
    return min(found)


def measure_counts(rows: int = ROWS) -> FigureTable:
    """Return the seconds of both, and their ratio."""
    engine = DuckDB()
    relation = make_table(engine, rows)
    plain = seconds(lambda: engine.run(grouping_sets(relation)))
    lines = [("GROUPING SETS of the engine", f"{rows:,}", f"{plain:.1f} s", "1")]
    for name, written in UNITS.items():
        policy = parse_policy(written).tables["data"]
        table = Table(engine, relation, engine.columns(relation), "data")
        held = CatalogTable("data", table, policy, "table:data", "1")
        scanned = scan_table(held, "data")
        for words, count in (("", count_coded), (", pairs coarser", count_coarse)):
            took = seconds(lambda count=count, scanned=scanned: count(scanned, engine))
            lines.append(
                (f"discreet, {name}{words}", f"{rows:,}", f"{took:.1f} s", f"{took / plain:.2f}")
            )
    engine.close()
    return FigureTable(("15 columns and 105 pairs", "rows", "CPU", "ratio"), tuple(lines))


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=ROWS)
    print(measure_counts(parser.parse_args().rows).to_markdown(), end="")


if __name__ == "__main__":
    main()
