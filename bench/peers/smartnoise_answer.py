"""SmartNoise SQL asked the questions of the benchmark, in an environment of its own.

SmartNoise knows no DuckDB: its SQL for SQLite is run there by a reader of a few lines, because its own
way for files, by pandas into SQLite, takes minutes to load. It splits no budget: what is given is spent
on every column, so that it is given as much less as it says that the question costs.
"""

from __future__ import annotations

import logging
import warnings

import duckdb
from shared_answer import (
    AGE,
    EPSILON,
    GROUPS_PER_USER,
    HOURS,
    ROWS_PER_GROUP,
    VALUES,
    Question,
    Work,
    serve,
)
from snsql import Privacy
from snsql.sql import PrivateReader
from snsql.sql.reader.base import SqlReader

logging.disable(logging.WARNING)
warnings.filterwarnings("ignore")


class DuckReader(SqlReader):
    """Runs SmartNoise's SQL for SQLite on DuckDB."""

    ENGINE = "sqlite"

    def __init__(self, path: str, table: str) -> None:
        super().__init__(self.ENGINE)
        self._connection = duckdb.connect()
        self._connection.execute("CREATE SCHEMA data")
        self._connection.from_parquet(path).create_view("file")
        self._connection.execute(f"CREATE VIEW data.{table} AS FROM file")

    def execute(self, query: str, **_: object) -> list[tuple[object, ...]]:
        """Return the names of the columns, then the rows."""
        found = self._connection.execute(query)
        names = tuple(column[0] for column in found.description)
        return [names, *found.fetchall()]


def reader(path: str, table: str, columns: dict[str, object], **settings: object) -> PrivateReader:
    described = {"": {"data": {table: {"censor_dims": False, **settings, **columns}}}}
    return PrivateReader(
        DuckReader(path, table), described, privacy=Privacy(epsilon=EPSILON, delta=0.0)
    )


def priced(private: PrivateReader, sql: str) -> None:
    """Give SmartNoise so much that the whole question costs what everybody's costs."""
    private.privacy.epsilon = EPSILON
    private._refresh_options()
    cost, _ = private.get_privacy_cost(sql)
    private.privacy.epsilon = EPSILON * EPSILON / cost
    private._refresh_options()
    cost, _ = private.get_privacy_cost(sql)
    if abs(cost - EPSILON) > 1e-6:
        raise ValueError(f"SmartNoise costs {cost}")


def accuracy(path: str) -> dict[str, Question]:
    columns = {
        "age": {"type": "int", "lower": AGE[0], "upper": AGE[1]},
        "hours": {"type": "int", "lower": HOURS[0], "upper": HOURS[1]},
        "education": {"type": "string"},
        "sex": {"type": "string"},
    }
    questions = {
        "counts": "SELECT education, sex, COUNT(*) AS n FROM data.adult GROUP BY education, sex",
        "mean": "SELECT AVG(age) AS m FROM data.adult",
        "sum": "SELECT SUM(hours) AS s FROM data.adult",
    }

    def question(sql: str) -> Question:
        private = reader(path, "adult", columns, row_privacy=True)
        priced(private, sql)

        def ask() -> list[float]:
            _, *rows = private.execute(sql)
            return [float(row[-1]) for row in sorted(tuple(row) for row in rows)]

        return ask

    return {name: question(sql) for name, sql in questions.items()}


def speed(path: str, unit: str) -> Work:
    columns: dict[str, object] = {
        "k": {"type": "string"},
        "v": {"type": "float", "lower": float(VALUES[0]), "upper": float(VALUES[1])},
        "uid": {"type": "int", "private_id": unit == "user"},
    }
    sql = "SELECT k, COUNT(*) AS n, SUM(v) AS s, AVG(v) AS m FROM data.visits GROUP BY k"
    if unit == "row":
        private = reader(path, "visits", columns, row_privacy=True)
    else:
        private = reader(path, "visits", columns, max_ids=GROUPS_PER_USER * ROWS_PER_GROUP)
    priced(private, sql)
    return lambda: private.execute(sql)


serve(accuracy=accuracy, speed=speed)
