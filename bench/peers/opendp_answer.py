"""OpenDP's Polars interface asked the questions of the benchmark, in an environment of its own."""

from __future__ import annotations

import opendp.prelude as dp
import polars as pl
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

dp.enable_features("contrib")

AT_MOST = 100_000_000  # a public bound on the number of rows, which OpenDP asks for


def accuracy(path: str) -> dict[str, Question]:
    rows = pl.scan_parquet(path)
    context = dp.Context.compositor(
        data=rows,
        privacy_unit=dp.unit_of(contributions=1),
        privacy_loss=dp.loss_of(epsilon=EPSILON),
        split_evenly_over=1,
        margins=[dp.polars.Margin(by=[], max_length=AT_MOST)],
    )
    cells = pl.LazyFrame(CELLS, schema=["education", "sex"], orient="row")
    educations = pl.LazyFrame({"education": EDUCATION})
    # Sums of 32-bit integers could overflow, so that OpenDP refuses them for this many rows.
    age = pl.col.age.cast(pl.Int64).fill_null(AGE[0])
    hours = pl.col.hours.cast(pl.Int64).fill_null(HOURS[0])
    ages = list(range(AGE[0], AGE[1] + 1))
    queries = {
        "counts": context.query()
        .group_by("education", "sex")
        .agg(dp.len(signed=True))
        .with_keys(cells),
        "mean": context.query().select(age.dp.mean(AGE)),
        "sum": context.query().select(hours.dp.sum(HOURS)),
        "median": context.query().select(age.dp.median(ages)),
        "medians": context.query()
        .group_by("education")
        .agg(age.dp.median(ages))
        .with_keys(educations),
    }
    return {name: _repeatable(query, rows) for name, query in queries.items()}


def _repeatable(query: object, rows: pl.LazyFrame) -> Question:
    # The search for the noise scale is the slow part, and is the same each time.
    measurements: list[object] = []

    def ask() -> list[float]:
        if not measurements:
            measurements.append(query.resolve())  # type: ignore[attr-defined]
        found = measurements[0](rows).collect()  # type: ignore[operator]
        keys = found.columns[:-1]
        return (found.sort(keys) if keys else found)[found.columns[-1]].to_list()

    return ask


def speed(path: str, unit: str) -> Work:
    keys = pl.LazyFrame({"k": KEYS})

    def work() -> object:
        rows = pl.scan_parquet(path)
        if unit == "row":
            of = dp.unit_of(contributions=1)
        else:
            of = dp.unit_of(contributions=1, identifier="uid")
        context = dp.Context.compositor(
            data=rows,
            privacy_unit=of,
            privacy_loss=dp.loss_of(epsilon=EPSILON),
            split_evenly_over=1,
            margins=[dp.polars.Margin(by=["k"], max_length=AT_MOST, max_groups=len(KEYS))],
        )
        query = context.query()
        if unit == "user":
            query = query.truncate_per_group(GROUPS_PER_USER * ROWS_PER_GROUP)
        value = pl.col.v.fill_nan(0.0).fill_null(0.0)
        bounds = (float(VALUES[0]), float(VALUES[1]))
        query = query.group_by("k").agg(
            dp.len(signed=True), value.dp.sum(bounds).alias("s"), value.dp.mean(bounds).alias("m")
        )
        return query.with_keys(keys).release().collect()

    return work


serve(accuracy=accuracy, speed=speed)
