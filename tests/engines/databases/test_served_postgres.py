"""A served PostgreSQL: lost connections, others who write, and types that Arrow has not."""

from __future__ import annotations

from contextlib import closing
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import psycopg
import pytest
from tests.engines.databases.place import Place, failing

from discreet.engines.connect import open_database
from discreet.errors import StatementFailed

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.engines.databases.place import Session

pytestmark = pytest.mark.postgres


@pytest.fixture
def place(postgres_url: str) -> Iterator[Place]:
    with closing(open_database(postgres_url)) as database:
        database.create_schema("served")  # pyright: ignore[reportAttributeAccessIssue]
        place = Place(database, "served")
        session = place.connect()
        session.do("DROP TABLE IF EXISTS t")
        session.do("CREATE TABLE t (a INT PRIMARY KEY, n NUMERIC)")
        session.do("INSERT INTO t VALUES (1, 1.5), (2, 2.25)")
        session.close()
        yield place


def _cut(url: str, session: Session) -> None:
    """End the server's side of a session."""
    process: Any = session.connection._connection.info.backend_pid
    with psycopg.connect(url, autocommit=True) as other:
        other.execute("SELECT pg_terminate_backend(%s)", [process])


def test_an_idle_connection_that_broke_is_renewed(place: Place, postgres_url: str) -> None:
    session = place.connect()
    _cut(postgres_url, session)
    assert session.one("SELECT count(*) FROM t") == 2
    _cut(postgres_url, session)
    session.connection.begin()
    assert session.do("DELETE FROM t") == 2
    session.connection.rollback()
    session.close()


def test_a_transaction_whose_connection_broke_is_lost_as_a_whole(
    place: Place, postgres_url: str
) -> None:
    session = place.connect()
    session.connection.begin()
    session.do("DELETE FROM t")
    _cut(postgres_url, session)
    with pytest.raises(StatementFailed) as caught:
        session.rows("SELECT 1")
    assert caught.value.sqlstate[:2] in ("08", "57")
    session.connection.rollback()
    assert session.one("SELECT count(*) FROM t") == 2
    session.close()


def test_several_hosts_may_be_named(postgres_url: str) -> None:
    info = psycopg.conninfo.conninfo_to_dict(postgres_url)
    host = f"/nowhere,{info['host']}"
    url = f"postgresql://{info['user']}@/{info['dbname']}?host={host}"
    with closing(open_database(url)) as database:
        assert Place(database, "served").connect().one("SELECT 1") == 1


def test_a_server_that_is_away_is_reported_without_its_password() -> None:
    with failing("08006") as caught:
        open_database("postgresql://me:secret@127.0.0.1:1/x")
    assert "secret" not in str(caught.value)


def test_the_version_notices_others_who_write(place: Place, postgres_url: str) -> None:
    names = place.names("t")
    first = place.database.version(names)
    with psycopg.connect(postgres_url) as other:
        other.execute("UPDATE served.t SET n = n WHERE a = 1")
        assert place.database.version(names) == first
        other.commit()
    second = place.database.version(names)
    assert second != first
    with psycopg.connect(postgres_url) as other:
        other.execute("CREATE TEMP TABLE elsewhere AS SELECT 1")
    assert place.database.version(names) == second


def test_numbers_without_digits_are_exact(place: Place) -> None:
    session = place.connect()
    query = "SELECT sum(n), avg(n) * 0 + 12345678901234567890.123, -0.5 FROM t"
    found = session.rows(f"SELECT * FROM ({query}) AS q(a, b, c)")
    assert found[0][0] == Decimal("3.75")
    assert found[0][1] == Decimal("12345678901234567890.123")
    assert found[0][2] == Decimal("-0.5")
    with failing("22003"):
        session.rows("SELECT CAST('NaN' AS NUMERIC)")
    session.close()


def test_what_the_gateways_account_may_not_do_is_no_denial_of_the_users(place: Place) -> None:
    session = place.connect()
    with pytest.raises(StatementFailed) as caught:
        session.connection.execute(place.tree("DROP TABLE pg_catalog.pg_class"))
    assert caught.value.sqlstate == "XX000"
    session.close()


def test_a_result_that_takes_too_much_memory_is_refused(postgres_url: str) -> None:
    with closing(open_database(postgres_url, result_bytes=100_000)) as database:
        session = Place(database, "public").connect()
        text = "SELECT concat(i, lpad('x', 1000, 'x')) FROM generate_series(1, {}) AS g(i)"
        assert len(session.rows(text.format(50))) == 50
        with failing("54000"):
            session.rows(text.format(100_000))
        assert session.one("SELECT 1") == 1
        session.close()
