"""Triggers refuse what must not be, and nothing of a refused write stays."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from tests.engines.databases.place import failing
from tests.guard.integrity.database import relation

from discreet.errors import StatementFailed
from discreet.guard.access.authority import Trigger
from discreet.guard.integrity.triggers import check_trigger

if TYPE_CHECKING:
    from tests.guard.integrity.database import ProtectedDatabase, RoleSession

AGE_CHECK = Trigger(
    "agecheck", "AFTER", ("INSERT", "UPDATE"), "ROW", "NEW.Age >= 150", "Invalid age"
)
ONE_CEO = Trigger(
    "one_ceo",
    "AFTER",
    ("INSERT", "UPDATE"),
    "STATEMENT",
    "(SELECT count(*) FROM employee WHERE title = 'CEO') > 1",
    "At most one CEO",
)
RAISE = Trigger(
    "fair_raise",
    "BEFORE",
    ("UPDATE",),
    "ROW",
    "NEW.salary > 2 * OLD.salary",
    "A raise of at most 100 %",
    columns=("salary",),
)


@pytest.fixture
def company(database: ProtectedDatabase, boss: RoleSession) -> RoleSession:
    columns = {"id": "integer", "name": "text", "age": "integer", "title": "text", "salary": "int"}
    database.add(relation("employee", columns, primary_key=("id",)))
    boss.do("INSERT INTO employee VALUES (1, 'Ann', 41, 'CEO', 100), (2, 'Ben', 30, 'Clerk', 50)")
    database.change("employee", triggers=(AGE_CHECK, ONE_CEO, RAISE))
    return boss


def test_an_age_of_400_is_invalid(company: RoleSession) -> None:
    with failing("P0001") as caught:
        company.do("INSERT INTO employee VALUES (3, 'Cid', 400, 'Clerk', 50)")
    assert str(caught.value) == "Invalid age"
    assert company.rows("SELECT count(*) FROM employee") == [(2,)]


def test_an_age_of_41_is_valid(company: RoleSession) -> None:
    assert company.do("INSERT INTO employee VALUES (3, 'Cid', 41, 'Clerk', 50)") == 1
    assert company.do("UPDATE employee SET age = age + 1") == 3
    assert company.rows("SELECT sum(age) FROM employee") == [(115,)]


def test_one_bad_row_among_many_undoes_all(company: RoleSession) -> None:
    with failing("P0001"):
        company.do("UPDATE employee SET age = CASE WHEN id = 1 THEN 150 ELSE 5 END")
    assert company.rows("SELECT age FROM employee ORDER BY id") == [(41,), (30,)]


def test_there_is_at_most_one_ceo(company: RoleSession) -> None:
    with failing("P0001") as caught:
        company.do("UPDATE employee SET title = 'CEO' WHERE id = 2")
    assert str(caught.value) == "At most one CEO"
    with failing("P0001"):
        company.do("INSERT INTO employee VALUES (3, 'Cid', 41, 'CEO', 50)")
    company.do("UPDATE employee SET title = CASE WHEN id = 2 THEN 'CEO' ELSE 'Clerk' END")
    assert company.rows("SELECT name FROM employee WHERE title = 'CEO'") == [("Ben",)]


def test_a_raise_to_more_than_double_is_refused(company: RoleSession) -> None:
    with failing("P0001") as caught:
        company.do("UPDATE employee SET salary = salary * 3 WHERE name = 'Ben'")
    assert str(caught.value) == "A raise of at most 100 %"
    assert company.do("UPDATE employee SET salary = salary * 2") == 2
    assert company.rows("SELECT salary FROM employee ORDER BY id") == [(200,), (100,)]


def test_in_a_transaction_a_refused_write_leaves_nothing(company: RoleSession) -> None:
    connection = company.connection
    connection.begin()
    company.do("INSERT INTO employee VALUES (3, 'Cid', 41, 'Clerk', 50)")
    with failing("P0001"):
        company.do("INSERT INTO employee VALUES (4, 'Dan', 400, 'Clerk', 50)")
    with failing("25P02"):
        connection.commit()
    assert company.rows("SELECT count(*) FROM employee") == [(2,)]


def test_a_savepoint_survives_a_refused_write(company: RoleSession) -> None:
    connection = company.connection
    connection.begin()
    company.do("INSERT INTO employee VALUES (3, 'Cid', 41, 'Clerk', 50)")
    connection.savepoint("a")
    with failing("P0001"):
        company.do("INSERT INTO employee VALUES (4, 'Dan', 400, 'Clerk', 50)")
    connection.rollback_to("a")
    company.do("INSERT INTO employee VALUES (4, 'Dan', 40, 'Clerk', 50)")
    connection.commit()
    assert company.rows("SELECT id FROM employee ORDER BY id") == [(1,), (2,), (3,), (4,)]


def test_a_trigger_of_columns_is_silent_for_others(
    database: ProtectedDatabase, company: RoleSession
) -> None:
    never = replace(RAISE, condition="TRUE", message="never", columns=("salary",))
    database.change("employee", triggers=(never,))
    assert company.do("UPDATE employee SET age = 5") == 2
    with failing("P0001"):
        company.do("UPDATE employee SET salary = 5")


def test_deletes_have_triggers_with_old(database: ProtectedDatabase, company: RoleSession) -> None:
    keep = Trigger("keep", "BEFORE", ("DELETE",), "ROW", "OLD.title = 'CEO'", "The CEO stays")
    database.change("employee", triggers=(keep,))
    with failing("P0001"):
        company.do("DELETE FROM employee")
    assert company.do("DELETE FROM employee WHERE id = 2") == 1


def test_a_row_condition_can_ask_the_table(
    database: ProtectedDatabase, company: RoleSession
) -> None:
    most = Trigger(
        "most",
        "BEFORE",
        ("INSERT",),
        "ROW",
        "NEW.salary > (SELECT max(e.salary) FROM employee AS e WHERE e.title <> NEW.title)",
        "More than everybody else",
    )
    database.change("employee", triggers=(most,))
    assert company.do("INSERT INTO employee VALUES (3, 'Cid', 41, 'Clerk', 100)") == 1
    with failing("P0001"):
        company.do("INSERT INTO employee VALUES (4, 'Dan', 41, 'Clerk', 101)")


def test_returning_and_triggers_go_together(company: RoleSession) -> None:
    done = company.write("UPDATE employee SET age = age + 1 RETURNING id, age * 2 AS twice")
    assert done.table is not None
    assert sorted(row["twice"] for row in done.table.to_pylist()) == [62, 84]
    gone = company.write("DELETE FROM employee WHERE id = 1 RETURNING name")
    assert gone.table is not None
    assert gone.table.to_pylist() == [{"name": "Ann"}]


def test_no_primary_key_is_needed_for_old_and_new(
    database: ProtectedDatabase, boss: RoleSession
) -> None:
    database.add(relation("log", {"what": "text", "n": "integer"}))
    boss.do("INSERT INTO log VALUES ('a', 1), ('a', 1), ('b', 2)")
    grow = Trigger("grow", "AFTER", ("UPDATE",), "ROW", "NEW.n < OLD.n", "Only upward")
    database.change("log", triggers=(grow,))
    assert boss.do("UPDATE log SET n = n + 1 WHERE what = 'a'") == 2
    with failing("P0001"):
        boss.do("UPDATE log SET n = 1")
    assert boss.rows("SELECT n FROM log") == [(2,), (2,), (2,)]


def test_many_rows_are_checked_at_once(database: ProtectedDatabase, company: RoleSession) -> None:
    database.add(relation("digit", {"d": "integer"}))
    company.do(f"INSERT INTO digit VALUES {', '.join(f'({digit})' for digit in range(10))}")
    many = (
        "INSERT INTO employee SELECT 10 + a.d * 100 + b.d * 10 + c.d, 'x', 20, 'Clerk', 1 "
        "FROM digit AS a CROSS JOIN digit AS b CROSS JOIN digit AS c"
    )
    assert company.do(many) == 1000
    assert company.do("UPDATE employee SET age = age + 100 WHERE id >= 10") == 1000
    with failing("P0001"):
        company.do("UPDATE employee SET age = age + id WHERE id >= 10")


@pytest.mark.parametrize(
    ("condition", "sqlstate"),
    [
        ("NEW.nothing > 1", "42703"),
        ("NEW.age > ", "42601"),
        ("(SELECT count(*) FROM nowhere) > 1", "42P01"),
        ("pg_sleep(10) IS NULL", "42883"),
    ],
)
def test_a_trigger_that_could_not_run_is_refused(
    database: ProtectedDatabase, company: RoleSession, condition: str, sqlstate: str
) -> None:
    trigger = replace(AGE_CHECK, condition=condition)
    made = database.authority.relations["public", "employee"]
    with pytest.raises(StatementFailed) as caught:
        check_trigger(
            trigger, made, database.authority, company.subject, traits=database.served.traits
        )
    assert caught.value.sqlstate in (sqlstate, "0A000")
