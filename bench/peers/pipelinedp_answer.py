"""PipelineDP asked the questions of the benchmark, in an environment of its own."""

from __future__ import annotations

import pipeline_dp
import pyarrow.parquet as pq
from pipeline_dp import Metrics
from shared_answer import (
    AGE,
    CELLS,
    EDUCATION,
    EPSILON,
    GROUPS_PER_USER,
    HOURS,
    KEYS,
    ROWS_PER_GROUP,
    VALUES,
    Question,
    Work,
    serve,
)


def aggregate(
    rows: list[tuple[object, ...]],
    metrics: list[object],
    *,
    keys: list[object],
    bounds: tuple[float, float] | None = None,
    per_user: tuple[int, int] | None = None,
) -> dict[object, object]:
    """Aggregate tuples of key, value and, where `per_user` says how many, user."""
    accountant = pipeline_dp.NaiveBudgetAccountant(total_epsilon=EPSILON, total_delta=0)
    engine = pipeline_dp.DPEngine(accountant, pipeline_dp.LocalBackend())
    groups, each = per_user or (1, 1)
    found = engine.aggregate(
        rows,
        pipeline_dp.AggregateParams(
            metrics=metrics,
            noise_kind=pipeline_dp.NoiseKind.LAPLACE,
            max_partitions_contributed=groups,
            max_contributions_per_partition=each,
            min_value=bounds[0] if bounds else None,
            max_value=bounds[1] if bounds else None,
            contribution_bounds_already_enforced=per_user is None,
        ),
        pipeline_dp.DataExtractors(
            partition_extractor=lambda row: row[0],
            value_extractor=lambda row: row[1],
            privacy_id_extractor=(lambda row: row[2]) if per_user else None,
        ),
        public_partitions=keys,
    )
    accountant.compute_budgets()
    return dict(found)


def accuracy(path: str) -> dict[str, Question]:
    table = pq.read_table(path).to_pydict()
    cells = list(zip(zip(table["education"], table["sex"], strict=True), table["age"], strict=True))
    ages = [("all", age) for age in table["age"]]
    hours = [("all", hours) for hours in table["hours"]]
    by_education = list(zip(table["education"], table["age"], strict=True))

    def question(
        rows: object, metric: object, keys: list[object], bounds: object = None
    ) -> Question:
        def ask() -> list[float]:
            found = aggregate(rows, [metric], keys=keys, bounds=bounds)
            return [float(found[key][0]) for key in keys]

        return ask

    return {
        "counts": question(cells, Metrics.COUNT, CELLS),
        "mean": question(ages, Metrics.MEAN, ["all"], AGE),
        "sum": question(hours, Metrics.SUM, ["all"], HOURS),
        "median": question(ages, Metrics.PERCENTILE(50), ["all"], AGE),
        "medians": question(by_education, Metrics.PERCENTILE(50), EDUCATION, AGE),
    }


def speed(path: str, unit: str) -> Work:
    table = pq.read_table(path).to_pydict()
    rows = list(zip(table["k"], table["v"], table["uid"], strict=True))
    metrics = [Metrics.COUNT, Metrics.SUM, Metrics.MEAN]
    per_user = (GROUPS_PER_USER, ROWS_PER_GROUP) if unit == "user" else None
    return lambda: aggregate(rows, metrics, keys=KEYS, bounds=VALUES, per_user=per_user)


serve(accuracy=accuracy, speed=speed)
