"""What a logistic regression of many rows takes, against the engine's own counting of the same pairs.

Run with `python -m bench.learn_counts [--rows 10000000]`. The table of `bench.synthesize_counts`: 15 columns, of which the
last is predicted. discreet bounds and codes the rows, counts, fits and learns; the engine counts all columns and all
pairs by its own GROUPING SETS. CPU seconds of all threads, in one run.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from fractions import Fraction

from bench.figures import FigureTable
from bench.synthesize_counts import NAMES, ROWS, SIZES, UNITS, grouping_sets, make_table, seconds
from discreet.answer.catalog import CatalogTable
from discreet.answer.coded_counts import CodedCounter
from discreet.answer.sources import scan_table
from discreet.domain.coded_column import CodedColumn
from discreet.domain.listed_values import ListedValues
from discreet.engines.duckdb import DuckDB
from discreet.engines.engine import Kind, Table
from discreet.learning.features import FeatureSpace
from discreet.learning.request import LearningRequest
from discreet.policy.load import parse_policy
from discreet.registry import LEARNERS

LEARNED = ("logistic", "naive-bayes")


def make_space() -> FeatureSpace:
    """Return the columns of the table as features, and the last one as a target of two classes."""
    columns = [
        CodedColumn(
            name, Kind.INTEGER, ListedValues(Kind.INTEGER, tuple(range(size)), is_scale=size > 9)
        )
        for name, size in zip(NAMES, SIZES, strict=True)
    ]
    return FeatureSpace(tuple(columns[:-1]), columns[-1], "classification")


@contextmanager
def counted(engine: DuckDB, held: CatalogTable, space: FeatureSpace) -> Iterator[CodedCounter]:
    """Return a counter of the rows, which are coded when it is asked first."""
    columns = [(one.name, one.code, one.size) for one in space.columns]
    counter = CodedCounter(scan_table(held, held.name), columns, engine)
    try:
        yield counter
    finally:
        counter.close()


def measure_counts(rows: int = ROWS) -> FigureTable:
    """Return the seconds of both, and their ratio."""
    engine, space = DuckDB(), make_space()
    relation = make_table(engine, rows)
    plain = seconds(lambda: engine.run(grouping_sets(relation)))
    lines = [("GROUPING SETS of the engine", f"{rows:,}", f"{plain:.1f} s", "1")]
    policy = parse_policy(UNITS["each row a person"]).tables["data"]
    table = Table(engine, relation, engine.columns(relation), "data")
    held = CatalogTable("data", table, policy, "table:data", "1")

    def learn(name: str) -> Callable[[], None]:
        request = LearningRequest(space, LEARNERS.get(name), Fraction(1), Fraction("1e-9"))

        def fit() -> None:
            with counted(engine, held, space) as counter:
                request.fit(counter, seed=1)

        return fit

    for name in LEARNED:
        took = seconds(learn(name))
        lines.append((f"**discreet, {name}**", f"{rows:,}", f"{took:.1f} s", f"{took / plain:.2f}"))
    engine.close()
    return FigureTable(("15 columns", "rows", "CPU", "ratio"), tuple(lines))


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=ROWS)
    print(measure_counts(parser.parse_args().rows).to_markdown(), end="")


if __name__ == "__main__":
    main()
