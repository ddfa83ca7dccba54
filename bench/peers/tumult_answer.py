"""Tumult Analytics asked the questions of the benchmark, in an environment of its own.

Spark runs on this machine. Its `average` takes minutes for a million rows, so that the question of the
speed benchmark leaves it out unless it is asked for with the unit `row-average`.
"""

from __future__ import annotations

import os
import sys

os.environ["PYSPARK_PYTHON"] = sys.executable

from pyspark.sql import SparkSession
from shared_answer import (
    AGE,
    EDUCATION,
    EPSILON,
    GROUPS_PER_USER,
    HOURS,
    KEYS,
    ROWS_PER_GROUP,
    SEX,
    VALUES,
    Question,
    Work,
    serve,
)
from tmlt.analytics import (
    AddOneRow,
    AddRowsWithID,
    KeySet,
    MaxGroupsPerID,
    MaxRowsPerGroupPerID,
    PureDPBudget,
    QueryBuilder,
    Session,
)

MANY = 1_000_000  # the session's whole budget: runs are repeated, each at EPSILON


def spark() -> SparkSession:
    cores = os.cpu_count() or 1
    session = (
        SparkSession.builder.master(f"local[{cores}]")
        .config("spark.ui.enabled", "false")
        .config("spark.driver.memory", "4g")
        .config("spark.sql.shuffle.partitions", str(cores))
        .getOrCreate()
    )
    session.sparkContext.setLogLevel("ERROR")
    return session


def accuracy(path: str) -> dict[str, Question]:
    session = Session.from_dataframe(
        PureDPBudget(MANY), "adult", spark().read.parquet(path), protected_change=AddOneRow()
    )
    rows = QueryBuilder("adult")
    cells = KeySet.from_dict({"education": EDUCATION, "sex": SEX})
    educations = KeySet.from_dict({"education": EDUCATION})
    queries = {
        "counts": rows.groupby(cells).count(),
        "mean": rows.average("age", *AGE),
        "sum": rows.sum("hours", *HOURS),
        "median": rows.median("age", *AGE),
        "medians": rows.groupby(educations).median("age", *AGE),
    }

    def question(query: object) -> Question:
        def ask() -> list[float]:
            found = session.evaluate(query, PureDPBudget(EPSILON)).collect()
            return [float(row[-1]) for row in sorted(tuple(row) for row in found)]

        return ask

    return {name: question(query) for name, query in queries.items()}


def speed(path: str, unit: str) -> Work:
    visits = spark().read.parquet(path)
    keys = KeySet.from_dict({"k": KEYS})
    rows = QueryBuilder("visits")
    change = AddOneRow()
    if unit == "user":
        change = AddRowsWithID("uid")
        rows = rows.enforce(MaxGroupsPerID("k", GROUPS_PER_USER))
        rows = rows.enforce(MaxRowsPerGroupPerID("k", ROWS_PER_GROUP))
    session = Session.from_dataframe(PureDPBudget(MANY), "visits", visits, protected_change=change)
    groups = rows.groupby(keys)
    queries = [groups.count(), groups.sum("v", *VALUES)]
    if unit == "row-average":
        queries.append(groups.average("v", *VALUES))
    each = PureDPBudget(EPSILON / len(queries))
    return lambda: [session.evaluate(query, each).collect() for query in queries]


serve(accuracy=accuracy, speed=speed)
