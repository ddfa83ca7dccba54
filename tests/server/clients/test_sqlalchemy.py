"""SQLAlchemy and pandas talk to the server."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from typing import TYPE_CHECKING

import pandas as pd
import pytest
import sqlalchemy as sa
from sqlalchemy import exc

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.server.pg.served import Served


@pytest.fixture(scope="module")
def engine(server: Served) -> Iterator[sa.Engine]:
    url = sa.URL.create(
        "postgresql+psycopg",
        username=server.user,
        password=server.password,
        host=server.host,
        port=server.port,
        database=server.database,
        query={"sslmode": "verify-full", "sslrootcert": str(server.authority)},
    )
    found = sa.create_engine(url)
    yield found
    found.dispose()


TABLE = sa.table(
    "people",
    sa.column("id", sa.Integer),
    sa.column("name", sa.String),
    sa.column("born", sa.Date),
    sa.column("weight", sa.Numeric),
)


def test_a_query_is_built_and_answered(engine: sa.Engine, people: str):
    chosen = sa.select(TABLE).where(TABLE.c.id.in_([1, 3])).order_by(TABLE.c.id)
    with engine.connect() as connection:
        found = connection.execute(chosen).all()
    assert [tuple(row) for row in found] == [
        (1, "person 1", dt.date(1980, 1, 31), Decimal("70.50")),
        (3, "person 3", dt.date(1980, 1, 31), Decimal("70.50")),
    ]


def test_what_is_not_committed_is_undone(engine: sa.Engine, people: str):
    count = sa.select(sa.func.count()).select_from(TABLE)
    with engine.connect() as connection:
        connection.execute(sa.insert(TABLE).values(id=2000, name="new"))
        assert connection.execute(count).scalar_one() == 501
    with engine.begin() as connection:
        assert connection.execute(count).scalar_one() == 500


def test_a_failure_is_a_programming_error(engine: sa.Engine):
    with engine.connect() as connection, pytest.raises(exc.ProgrammingError):
        connection.execute(sa.text("select * from no_such_table"))


def test_pandas_reads_a_frame(engine: sa.Engine, people: str):
    sql = sa.text(f"select id, name, score, seen from {people} where id > :low order by id")
    frame = pd.read_sql(sql, engine, params={"low": 490})
    assert frame["id"].tolist() == list(range(491, 501))
    assert frame["seen"].dt.year.unique().tolist() == [2024]
    assert frame["score"].sum() == pytest.approx(5.0)


def test_pandas_reads_a_frame_in_parts(engine: sa.Engine, people: str):
    with engine.connect().execution_options(stream_results=True) as connection:
        parts = list(
            pd.read_sql_query(sa.text(f"select id from {people}"), connection, chunksize=150)
        )
    assert [len(part) for part in parts] == [150, 150, 150, 50]
