"""What holds of every served database that writes: DuckDB and PostgreSQL."""

from __future__ import annotations

import threading
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest
from sqlglot import exp
from tests.engines.databases.place import failing
from tests.keep_cancelling import keep_cancelling

from discreet.errors import StatementFailed
from discreet.sql import build

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tests.engines.databases.place import Place, Session

SECRET = "Alice-4711"
TEMPORARY = exp.Properties(expressions=[exp.TemporaryProperty()])


@pytest.fixture
def session(place: Place) -> Iterator[Session]:
    opened = place.connect()
    opened.do("CREATE TABLE account (id INT PRIMARY KEY, owner TEXT NOT NULL, balance INT)")
    opened.do("INSERT INTO account VALUES (1, 'Ann', 100), (2, 'Ben', 100)")
    yield opened
    opened.close()


@pytest.fixture
def other(place: Place, session: Session) -> Iterator[Session]:
    opened = place.connect()
    yield opened
    opened.close()


def test_a_write_reports_how_many_rows_it_changed(session: Session) -> None:
    assert session.do("UPDATE account SET balance = balance + 1") == 2
    assert session.do("DELETE FROM account WHERE id = 7") == 0


def test_the_traits_that_it_declares_are_true(session: Session) -> None:
    traits = session.place.database.traits
    assert traits == session.connection.traits
    assert traits.has_offset_fence or traits.computes_hidden_rows
    assert session.one(f"SELECT count(DISTINCT {traits.row_id}) FROM account") == 2
    is_escaped = session.one(
        r"SELECT CASE WHEN '%' LIKE '\%' THEN 1 ELSE 0 END FROM account LIMIT 1"
    )
    assert bool(is_escaped) == traits.has_default_escape
    session.connection.begin()
    name = build.table(*traits.temporary_schema, "kept")
    create = exp.Create(
        this=name, kind="TABLE", expression=exp.select("1 AS a"), properties=TEMPORARY.copy()
    )
    session.connection.execute(create, touches=[traits.temporary_schema])
    assert session.connection.query(exp.select("a").from_(name.copy())).num_rows == 1
    session.connection.rollback()


def test_a_write_can_return_rows(session: Session) -> None:
    tree = session.place.tree("UPDATE account SET balance = 7 WHERE id = 2 RETURNING id, balance")
    assert session.connection.execute_returning(tree).to_pylist() == [{"id": 2, "balance": 7}]


def test_a_statement_alone_is_committed(session: Session, other: Session) -> None:
    session.do("INSERT INTO account VALUES (3, 'Cid', 5)")
    assert other.one("SELECT count(*) FROM account") == 3


def test_what_is_not_committed_is_seen_by_no_one_else(session: Session, other: Session) -> None:
    session.connection.begin()
    session.do("DELETE FROM account")
    assert other.one("SELECT count(*) FROM account") == 2
    session.connection.commit()
    assert other.one("SELECT count(*) FROM account") == 0


def test_a_rollback_undoes_everything(session: Session) -> None:
    session.connection.begin()
    session.do("DELETE FROM account")
    session.do("CREATE TABLE extra (a INT)")
    session.connection.rollback()
    assert session.one("SELECT count(*) FROM account") == 2
    with failing("42P01"):
        session.rows("SELECT * FROM extra")


def test_closing_undoes_an_open_transaction(session: Session, other: Session) -> None:
    other.connection.begin()
    other.do("DELETE FROM account")
    other.close()
    assert session.do("UPDATE account SET balance = 1") == 2


def test_a_transaction_sees_one_moment(session: Session, other: Session) -> None:
    session.connection.begin()
    before = session.one("SELECT sum(balance) FROM account")
    other.do("UPDATE account SET balance = 0")
    assert session.one("SELECT sum(balance) FROM account") == before
    session.connection.commit()


def test_a_read_only_transaction_writes_nothing(session: Session) -> None:
    session.connection.begin(read_only=True)
    with failing("25006"):
        session.do("DELETE FROM account")
    session.connection.rollback()
    assert session.one("SELECT count(*) FROM account") == 2


def test_after_a_failure_a_transaction_only_ends(session: Session) -> None:
    session.connection.begin()
    session.do("INSERT INTO account VALUES (3, 'Cid', 5)")
    with failing("23505"):
        session.do("INSERT INTO account VALUES (3, 'Cid', 5)")
    with failing("25P02"):
        session.rows("SELECT 1")
    with failing("25P02"):
        session.connection.commit()
    assert not session.connection.in_transaction
    assert session.one("SELECT count(*) FROM account") == 2


def test_a_transaction_can_be_made_to_fail(session: Session) -> None:
    session.connection.begin()
    session.do("DELETE FROM account")
    session.connection.fail()
    with failing("25P02"):
        session.rows("SELECT 1")
    session.connection.rollback()
    assert session.one("SELECT count(*) FROM account") == 2


def test_going_back_to_a_savepoint_undoes_only_what_came_after(session: Session) -> None:
    session.connection.begin()
    session.do("UPDATE account SET balance = 50 WHERE id = 1")
    session.connection.savepoint("a")
    session.do("UPDATE account SET balance = 60 WHERE id = 1")
    session.connection.savepoint("b")
    session.do("DELETE FROM account")
    session.connection.rollback_to("b")
    assert session.rows("SELECT balance FROM account ORDER BY id") == [(60,), (100,)]
    session.connection.rollback_to("a")
    session.connection.commit()
    assert session.rows("SELECT balance FROM account ORDER BY id") == [(50,), (100,)]


def test_a_savepoint_heals_a_failed_transaction(session: Session) -> None:
    session.connection.begin()
    session.do("INSERT INTO account VALUES (3, 'Cid', 5)")
    session.connection.savepoint("a")
    with failing("23505"):
        session.do("INSERT INTO account VALUES (3, 'Cid', 5)")
    session.connection.rollback_to("a")
    session.do("INSERT INTO account VALUES (4, 'Dan', 5)")
    session.connection.commit()
    assert session.one("SELECT count(*) FROM account") == 4


def test_a_savepoint_before_any_write_heals_a_failed_read(session: Session) -> None:
    session.connection.begin()
    session.connection.savepoint("a")
    with failing("22P02"):
        session.rows("SELECT CAST(owner AS INT) FROM account")
    session.connection.rollback_to("a")
    assert session.one("SELECT count(*) FROM account") == 2
    session.connection.commit()


def test_a_released_savepoint_is_gone(session: Session) -> None:
    session.connection.begin()
    session.connection.savepoint("a")
    session.connection.savepoint("b")
    session.connection.release("a")
    with failing("3B001"):
        session.connection.rollback_to("b")
    session.connection.rollback()


def test_the_nearest_of_two_savepoints_of_one_name_counts(session: Session) -> None:
    session.connection.begin()
    session.connection.savepoint("a")
    session.do("UPDATE account SET balance = 1")
    session.connection.savepoint("a")
    session.do("UPDATE account SET balance = 2")
    session.connection.rollback_to("a")
    session.connection.commit()
    assert session.one("SELECT max(balance) FROM account") == 1


def test_of_two_withdrawals_at_once_none_is_lost(session: Session, other: Session) -> None:
    """The textbook's data race: both read 100, both would write 90."""
    for each in (session, other):
        each.connection.begin()
        assert each.one("SELECT balance FROM account WHERE id = 1") == 100
    session.do("UPDATE account SET balance = 90 WHERE id = 1")
    session.connection.commit()
    with failing("40001"):
        other.do("UPDATE account SET balance = 90 WHERE id = 1")
    other.connection.rollback()
    other.do("UPDATE account SET balance = balance - 10 WHERE id = 1")
    assert other.one("SELECT balance FROM account WHERE id = 1") == 80


def test_one_doctor_stays_on_call(session: Session, other: Session) -> None:
    """Write skew: each sees that the other is on call, and leaves."""
    session.do("CREATE TABLE doctor (name TEXT PRIMARY KEY, on_call BOOLEAN)")
    session.do("INSERT INTO doctor VALUES ('Ann', TRUE), ('Ben', TRUE)")
    outcomes: list[str] = []
    for each in (session, other):
        each.connection.begin()
        assert each.one("SELECT count(*) FROM doctor WHERE on_call") == 2
    for each, name in ((session, "Ann"), (other, "Ben")):
        try:
            each.do(f"UPDATE doctor SET on_call = FALSE WHERE name = '{name}'")
            each.connection.commit()
            outcomes.append("kept")
        except StatementFailed as error:
            each.connection.rollback()
            outcomes.append(error.sqlstate)
    assert outcomes == ["kept", "40001"]
    assert session.one("SELECT count(*) FROM doctor WHERE on_call") == 1


def test_a_savepoint_does_not_make_stale_reads_good(session: Session, other: Session) -> None:
    session.connection.begin()
    session.one("SELECT balance FROM account WHERE id = 1")
    session.connection.savepoint("a")
    other.do("UPDATE account SET balance = 0 WHERE id = 1")
    with failing("40001"):
        session.do("UPDATE account SET balance = 90 WHERE id = 1")
    with pytest.raises(StatementFailed) as caught:
        _again(session, "a", "UPDATE account SET balance = 90 WHERE id = 1")
    assert caught.value.sqlstate in ("40001", "25P02")
    session.connection.rollback()
    assert session.one("SELECT balance FROM account WHERE id = 1") == 0


def test_single_statements_at_once_lose_nothing(place: Place, session: Session) -> None:
    def withdraw(own: Session) -> None:
        for _ in range(10):
            own.do("UPDATE account SET balance = balance - 1 WHERE id = 1")

    _at_once(place, [withdraw] * 4)
    assert session.one("SELECT balance FROM account WHERE id = 1") == 60


def test_transfers_at_once_conserve_money(place: Place, session: Session) -> None:
    def transfer(own: Session) -> None:
        for number in range(8):
            source, target = (1, 2) if number % 2 else (2, 1)
            _until_kept(own, lambda s=source, t=target: _move(own, s, t, 5))

    _at_once(place, [transfer] * 4)
    assert session.one("SELECT sum(balance) FROM account") == 200


def test_cancel_stops_a_query(session: Session) -> None:
    with failing("57014"), keep_cancelling(session.connection.interrupt):
        session.rows(
            "WITH n AS (SELECT * FROM generate_series(1, 100000) AS g(i)) "
            "SELECT count(*) FROM n AS a, n AS b WHERE a.i * b.i = 7"
        )
    assert session.one("SELECT count(*) FROM account") == 2


def test_cancel_of_nothing_harms_nothing(session: Session) -> None:
    session.connection.interrupt()
    assert session.one("SELECT count(*) FROM account") == 2


def test_more_rows_than_allowed_are_refused(session: Session) -> None:
    assert len(session.rows("SELECT * FROM account", limit=2)) == 2
    with failing("54000") as caught:
        session.rows("SELECT * FROM account", limit=1)
    assert str(caught.value) == "the result has more than 1 rows"
    assert caught.value.hint
    assert session.do("DELETE FROM account") == 2


def test_order_is_kept(session: Session) -> None:
    session.do("INSERT INTO account SELECT i, 'x', 0 FROM generate_series(10, 5000) AS g(i)")
    found = [row[0] for row in session.rows("SELECT id FROM account ORDER BY id DESC", limit=9999)]
    assert found == sorted(found, reverse=True)


def test_describe_reports_types_and_runs_nothing(session: Session) -> None:
    tree = session.place.tree(
        "SELECT id, owner AS name, CAST(balance AS DECIMAL(10,2)) AS n, TRUE AS b, "
        "CAST(1 AS DOUBLE PRECISION) AS f, CAST('2020-01-01' AS DATE) AS d, "
        "CAST('2020-01-01' AS TIMESTAMPTZ) AS t, 1 / (id - id) AS never FROM account"
    )
    fields = session.connection.describe(tree)
    types = ["int4", "text", "numeric", "bool", "float8", "date", "timestamptz"]
    assert [field.type for field in fields][:7] == types
    assert [field.name for field in fields][:3] == ["id", "name", "n"]
    assert (fields[2].precision, fields[2].scale) == (10, 2)


def test_results_have_the_types_that_were_reported(session: Session) -> None:
    tree = session.place.tree(
        "SELECT id AS a, id AS a, CAST(2.5 AS DECIMAL(10,2)) AS n, CAST('10:00' AS TIME) AS t, "
        "CAST('2020-01-01 00:00:00' AS TIMESTAMP) AS s, CAST(NULL AS TEXT) AS z FROM account ORDER BY id"
    )
    table = session.connection.query(tree)
    assert table.column_names == ["a", "a", "n", "t", "s", "z"]
    assert [str(item) for item in table.schema.types] == [
        "int32",
        "int32",
        "decimal128(10, 2)",
        "time64[us]",
        "timestamp[us]",
        "string",
    ]
    assert table.column(2).to_pylist() == [Decimal("2.50")] * 2


def test_an_empty_result_has_its_types(session: Session) -> None:
    table = session.connection.query(session.place.tree("SELECT * FROM account WHERE FALSE"))
    assert [str(item) for item in table.schema.types] == ["int32", "string", "int32"]


def test_failures_have_a_state_and_reveal_no_value(session: Session) -> None:
    session.do(
        "CREATE TABLE person (name TEXT PRIMARY KEY, age INT NOT NULL, CHECK (age < 150), small SMALLINT)"
    )
    session.do(f"INSERT INTO person VALUES ('{SECRET}', 41, 1)")
    cases: list[tuple[str, Callable[[], Any]]] = [
        ("23505", lambda: session.do(f"INSERT INTO person VALUES ('{SECRET}', 1, 1)")),
        ("23502", lambda: session.do(f"INSERT INTO person VALUES ('{SECRET}2', NULL, 1)")),
        ("23514", lambda: session.do(f"INSERT INTO person VALUES ('{SECRET}3', 400, 1)")),
        ("22P02", lambda: session.rows("SELECT CAST(name AS INT) FROM person")),
        ("22003", lambda: session.rows("SELECT CAST(age * 1000 AS SMALLINT) FROM person")),
        ("42P01", lambda: session.rows("SELECT * FROM nowhere")),
        ("42703", lambda: session.rows("SELECT nothing FROM person")),
        ("42P07", lambda: session.do("CREATE TABLE person (a INT)")),
        ("21000", lambda: session.rows("SELECT (SELECT id FROM account) FROM person")),
    ]
    for sqlstate, call in cases:
        with failing(sqlstate) as caught:
            call()
        result = " ".join((str(caught.value), str(caught.value.detail), str(caught.value.hint)))
        assert not any(word in result for word in ("Alice", "4711", "41", "400", "LINE", "Error"))


def test_a_query_cannot_write(session: Session) -> None:
    with failing("0A000"):
        session.rows("WITH w AS (DELETE FROM account RETURNING *) SELECT * FROM w")
    assert session.one("SELECT count(*) FROM account") == 2


def test_the_version_changes_with_every_commit_and_only_then(
    place: Place, session: Session
) -> None:
    version, names = place.database.version, place.names("account")
    first = version(names)
    session.one("SELECT count(*) FROM account")
    assert version(names) == first
    session.connection.begin()
    session.do("UPDATE account SET balance = 1 WHERE id = 1")
    assert version(names) == first
    session.connection.commit()
    second = version(names)
    assert second != first
    session.do("DELETE FROM account WHERE id = 2")
    assert version(names) != second


def test_the_reader_sees_what_is_committed(place: Place, session: Session) -> None:
    reader = place.database.reader()
    try:
        table = reader.table(build.table(*place.names("account")), label="account")
        assert [column.name for column in table.columns] == ["id", "owner", "balance"]
        session.do("INSERT INTO account VALUES (3, 'Cid', 5)")
        kept = reader.keep(build.select(build.column("id"), source=table.relation))
        count = build.select(build.alias_as(build.count_star(), "n"), source=kept)
        assert reader.run(count).to_pylist() == [{"n": 3}]
        assert (
            sum(
                batch.num_rows
                for batch in reader.stream(build.select(build.column("id"), source=kept))
            )
            == 3
        )
        reader.drop(kept)
    finally:
        reader.close()
    assert {names[-1] for names in place.database.tables() if names[-2] == place.schema} == {
        "account"
    }


def test_a_table_can_be_imported(place: Place, session: Session) -> None:
    data = pa.table({"name": ["Ann", None], "age": pa.array([41, 7], pa.int32())})
    assert place.database.import_table(place.names("imported"), data.to_reader()) == 2
    assert session.rows("SELECT * FROM imported ORDER BY age") == [(None, 7), ("Ann", 41)]
    assert [field.type for field in place.database.fields(place.names("imported"))] == [
        "text",
        "int4",
    ]


def _again(own: Session, name: str, text: str) -> None:
    own.connection.rollback_to(name)
    own.do(text)
    own.connection.commit()


def _move(own: Session, source: int, target: int, amount: int) -> None:
    balance = own.one(f"SELECT balance FROM account WHERE id = {source}")
    changes = {source: str(balance - amount), target: f"balance + {amount}"}
    for account in sorted(changes):  # always in one order, so that no one waits in a circle
        own.do(f"UPDATE account SET balance = {changes[account]} WHERE id = {account}")


def _until_kept(own: Session, action: Callable[[], None]) -> None:
    while True:
        own.connection.begin()
        try:
            action()
            own.connection.commit()
        except StatementFailed as error:
            own.connection.rollback()
            if error.sqlstate != "40001":
                raise
        else:
            return


def _at_once(place: Place, actions: list[Callable[[Session], None]]) -> None:
    failures: list[BaseException] = []

    def run(action: Callable[[Session], None]) -> None:
        own = place.connect()
        try:
            action(own)
        except BaseException as error:  # noqa: BLE001 -- reported below
            failures.append(error)
        finally:
            own.close()

    threads = [threading.Thread(target=run, args=(action,)) for action in actions]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(300)
    assert not failures
