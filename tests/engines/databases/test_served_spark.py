"""A served Spark reads, and writes nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from sqlglot import parse_one
from tests.engines.databases.place import failing

if TYPE_CHECKING:
    from discreet.engines.engine import Engine

pytestmark = [pytest.mark.spark, pytest.mark.xdist_group("spark")]


def test_spark_is_read_only(spark_engine: Engine) -> None:
    from discreet.engines.spark.served import ServedSpark

    engine: Any = spark_engine
    database = ServedSpark(engine)
    assert not database.is_writable
    assert database.reader().name == "spark"
    connection = database.connect()
    query: Any = parse_one(
        "SELECT 1 AS a, 'x' AS a, CAST(2.5 AS DECIMAL(5,2)) AS n UNION ALL SELECT 2, 'y', 1",
        dialect="postgres",
    )
    assert [field.type for field in connection.describe(query)] == ["int4", "text", "numeric"]
    table = connection.query(query, limit=2)
    assert table.column_names == ["a", "a", "n"]
    assert table.num_rows == 2
    with failing("54000"):
        connection.query(query, limit=1)
    with failing("0A000"):
        connection.execute(parse_one("DROP TABLE t", dialect="postgres"))
    with failing("42000"):
        connection.describe(parse_one("SELECT * FROM nowhere.t", dialect="postgres"))  # pyright: ignore[reportArgumentType]
    connection.close()
    database.close()
