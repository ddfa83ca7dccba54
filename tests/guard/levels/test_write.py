"""Writing at a clearance: what is kept for others, what is refused, and that refusals tell nothing hidden."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from sqlglot import exp, parse_one
from tests.guard.levels.world import employees, relation

from discreet.errors import StatementFailed
from discreet.guard.access.authority import CheckConstraint, ForeignKey
from discreet.sql import build

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.guard.levels.world import World


@pytest.fixture
def staff(found: Callable[..., World]) -> World:
    """An empty table of employees."""
    world = found()
    world.add(employees())
    return world


def test_a_key_that_is_seen_cannot_be_inserted_again(staff: World):
    staff.run("U", "INSERT INTO employee VALUES ('Smith', 1, 'Fair')")
    refused = ("23505", 'duplicate key value violates unique constraint "employee_pkey"')
    assert staff.run("U", "INSERT INTO employee VALUES ('Smith', 2, 'Bad')") == refused
    assert staff.run("S", "INSERT INTO employee VALUES ('Smith', 2, 'Bad')") == refused


def test_a_key_cannot_be_inserted_twice_at_once(staff: World):
    sql = "INSERT INTO employee (name) VALUES ('Smith'), ('Smith')"
    assert staff.run("U", sql)[0] == "23505"
    assert staff.stored() == set()


def test_a_hidden_key_can_be_inserted_without_a_message(staff: World):
    staff.run("S", "INSERT INTO employee VALUES ('Smith', 1, 'Fair')")
    assert staff.run("U", "INSERT INTO employee VALUES ('Smith', 2, 'Bad')") == 1
    assert staff.show("U") == {"Smith U | 2 U | Bad U | U"}
    assert staff.show("S") == {"Smith U | 2 U | Bad U | U", "Smith S | 1 S | Fair S | S"}


def test_a_cell_of_the_own_label_is_overwritten_in_all_versions(staff: World):
    staff.run("U", "INSERT INTO employee VALUES ('Smith', 1, 'Fair')")
    staff.run("S", "UPDATE employee SET perf = 'Bad'")
    assert staff.run("U", "UPDATE employee SET salary = salary + 1") == 1
    assert staff.show("S") == {"Smith U | 2 U | Fair U | U", "Smith U | 2 U | Bad S | S"}


def test_null_takes_an_own_cell_away_and_leaves_a_lower_one(staff: World):
    staff.run("U", "INSERT INTO employee VALUES ('Smith', 1, 'Fair')")
    staff.run("S", "UPDATE employee SET perf = 'Bad'")
    assert staff.run("S", "UPDATE employee SET perf = NULL WHERE perf = 'Bad'") == 1
    assert staff.run("S", "UPDATE employee SET perf = NULL") == 1
    assert staff.show("S") == {"Smith U | 1 U | Fair U | U"}


def test_of_versions_the_one_that_says_most_decides_a_new_value(staff: World):
    staff.run("U", "INSERT INTO employee VALUES ('Smith', 100, 'Fair')")
    staff.run("C", "UPDATE employee SET salary = 200")
    assert staff.run("S", "UPDATE employee SET salary = salary + 1") == 2
    assert staff.show("S") == {
        "Smith U | 100 U | Fair U | U",
        "Smith U | 200 C | Fair U | C",
        "Smith U | 201 S | Fair U | S",
    }


def test_versions_that_say_equally_much_must_agree_on_a_new_value(staff: World):
    staff.run("U", "INSERT INTO employee VALUES ('Smith', 100, 'Fair')")
    staff.run("C", "UPDATE employee SET perf = 'Bad'")
    result = staff.run("S", "UPDATE employee SET salary = CASE perf WHEN 'Bad' THEN 1 ELSE 2 END")
    assert result == ("21000", 'UPDATE command cannot give column "salary" two values for one key')


def test_the_key_cannot_be_updated(staff: World):
    assert staff.run("U", "UPDATE employee SET name = 'Jones'")[0] == "0A000"


def test_deleting_at_the_level_of_the_key_takes_all_versions(staff: World):
    staff.run("C", "INSERT INTO employee VALUES ('Smith', 1, 'Fair')")
    staff.run("S", "UPDATE employee SET perf = 'Bad'")
    assert staff.run("C", "DELETE FROM employee") == 1
    assert staff.stored() == set()


def test_deleting_above_the_key_takes_own_cells_only(staff: World):
    staff.run("C", "INSERT INTO employee VALUES ('Smith', 1, 'Fair')")
    staff.run("S", "UPDATE employee SET perf = 'Bad'")
    before = staff.show("C")
    assert staff.run("S", "DELETE FROM employee WHERE perf = 'Fair'") == 0
    assert staff.run("S", "DELETE FROM employee WHERE perf = 'Bad'") == 1
    assert staff.show("S") == {"Smith C | 1 C | Fair C | C"}
    assert staff.show("C") == before


def test_what_is_returned_is_what_is_seen_with_labels(staff: World):
    wanted = [
        exp.column("name", quoted=True),
        parse_one("employee.salary + 1 AS more", dialect="postgres"),
        exp.column("perf_label", quoted=True),
        exp.column("tc", quoted=True),
    ]

    def returned(clearance: str, sql: str) -> list[Any]:
        done = staff.transact(lambda: staff.perform(clearance, sql, returning=wanted))
        return [tuple(row.values()) for row in done.table.to_pylist()]

    inserted = returned("U", "INSERT INTO employee (name, salary) VALUES ('Smith', 1)")
    assert inserted == [("Smith", 2, "U", "U")]
    assert returned("C", "UPDATE employee SET perf = 'Good'") == [("Smith", 2, "C", "C")]
    assert returned("C", "DELETE FROM employee") == [("Smith", 2, "C", "C")]


def test_rows_may_be_called_by_an_alias(staff: World):
    staff.run("U", "INSERT INTO employee VALUES ('Smith', 1, 'Fair')")
    assert (
        staff.run("U", "UPDATE employee SET salary = e.salary + 1 WHERE e.salary = 1", alias="e")
        == 1
    )
    assert staff.show("U") == {"Smith U | 2 U | Fair U | U"}


def test_a_watcher_sees_what_changes_and_can_stop_it(staff: World):
    seen: list[Any] = []

    def watch(moment: str, changes: exp.Query) -> None:
        rows = staff.connection.query(changes).to_pylist()
        seen.append((moment, [(row["old_salary"], row["new_salary"]) for row in rows]))
        if rows[0]["new_salary"] > 100:
            raise StatementFailed("P0001", "too much")

    staff.run("U", "INSERT INTO employee VALUES ('Smith', 1, 'Fair')")
    assert staff.run("U", "UPDATE employee SET salary = 2", watch=watch) == 1
    assert seen == [("before", [(1, 2)]), ("after", [(1, 2)])]
    assert staff.run("U", "UPDATE employee SET salary = 200", watch=watch) == ("P0001", "too much")
    assert staff.show("U") == {"Smith U | 2 U | Fair U | U"}


def test_a_failed_write_leaves_nothing_behind(staff: World):
    staff.run("U", "INSERT INTO employee VALUES ('Smith', 1, 'Fair')")
    for _ in range(2):
        assert staff.run("U", "INSERT INTO employee (name) VALUES ('Smith')")[0] == "23505"
        assert staff.run("U", "UPDATE employee SET salary = CAST(perf AS INTEGER)")[0] == "22P02"
    assert staff.run("U", "UPDATE employee SET salary = 3") == 1


@pytest.fixture
def bound(found: Callable[..., World]) -> World:
    """Employees with all constraints, and departments."""
    world = found()
    world.add(relation("dept", {"id": "integer", "city": "text"}))
    world.add(
        relation(
            "employee",
            {"name": "text", "age": "integer", "mail": "varchar(8)", "dept": "integer"},
            required=("age",),
            uniques=(("mail",),),
            checks=(CheckConstraint("age >= 0 AND age < 150", "age_check"),),
            foreign_keys=(ForeignKey(("dept",), ("public", "dept"), ("id",)),),
        )
    )
    world.run("U", "INSERT INTO dept VALUES (1, 'Rome')")
    world.run("S", "INSERT INTO dept VALUES (2, 'Oslo')")
    world.run("U", "INSERT INTO employee VALUES ('Smith', 30, 's@x', 1)")
    world.run("S", "INSERT INTO employee VALUES ('Jones', 30, 'j@x', 2)")
    return world


@pytest.mark.parametrize(
    ("sql", "sqlstate", "text"),
    [
        (
            "INSERT INTO employee (name) VALUES ('A')",
            "23502",
            'null value in column "age" of relation "employee" violates not-null constraint',
        ),
        (
            "INSERT INTO employee (age) VALUES (1)",
            "23502",
            'null value in column "name" of relation "employee" violates not-null constraint',
        ),
        (
            "INSERT INTO employee (name, age) VALUES ('A', 150)",
            "23514",
            'new row for relation "employee" violates check constraint "age_check"',
        ),
        (
            "UPDATE employee SET age = age - 31",
            "23514",
            'new row for relation "employee" violates check constraint "age_check"',
        ),
        (
            "INSERT INTO employee VALUES ('A', 1, 's@x', NULL)",
            "23505",
            'duplicate key value violates unique constraint "employee_mail_key"',
        ),
        (
            "INSERT INTO employee VALUES ('A', 1, '123456789', NULL)",
            "22001",
            "value too long for type varchar(8)",
        ),
        (
            "INSERT INTO employee VALUES ('A', 1, NULL, 2)",
            "23503",
            (
                'insert or update on table "employee" violates foreign key constraint '
                '"employee_dept_fkey"'
            ),
        ),
        (
            "UPDATE employee SET dept = 3",
            "23503",
            (
                'insert or update on table "employee" violates foreign key constraint '
                '"employee_dept_fkey"'
            ),
        ),
        (
            "DELETE FROM dept",
            "23503",
            (
                'update or delete on table "dept" violates foreign key constraint '
                '"employee_dept_fkey" on table "employee"'
            ),
        ),
    ],
)
def test_constraints_hold_of_what_is_seen(bound: World, sql: str, sqlstate: str, text: str):
    assert bound.run("U", sql) == (sqlstate, text)


def test_no_constraint_looks_at_what_is_hidden(bound: World):
    assert bound.run("U", "INSERT INTO employee VALUES ('A', 1, 'j@x', NULL)") == 1
    assert bound.run("U", "UPDATE employee SET mail = 'j2@x' WHERE name = 'A'") == 1
    bound.run("U", "INSERT INTO dept VALUES (3, 'Bonn')")
    bound.run("S", "UPDATE employee SET dept = 3 WHERE name = 'Jones'")
    assert bound.run("U", "DELETE FROM dept WHERE id = 3") == 1


def test_a_reference_to_a_key_that_is_seen_is_kept(bound: World):
    assert bound.run("S", "INSERT INTO employee VALUES ('B', 1, NULL, 2)") == 1
    assert bound.run("S", "DELETE FROM dept WHERE id = 2")[0] == "23503"
    assert bound.run("S", "UPDATE employee SET dept = 1 WHERE dept = 2") == 2
    assert bound.run("S", "DELETE FROM dept WHERE id = 2") == 1


def test_two_rows_of_one_statement_cannot_share_a_unique_value(bound: World):
    sql = "INSERT INTO employee VALUES ('A', 1, 'a@x', NULL), ('B', 1, 'a@x', NULL)"
    assert bound.run("U", sql)[0] == "23505"


def test_a_plain_table_is_seen_by_all_who_refer_to_it(found: Callable[..., World]):
    world = found()
    plain = world.add(relation("city", {"name": "text"}), multilevel=False)
    world.connection.execute(
        exp.insert("SELECT 'Rome'", build.table(*plain.physical), dialect="postgres")
    )
    key = ForeignKey(("city",), plain.key, ("name",), name="lives")
    world.add(relation("person", {"id": "integer", "city": "text"}, foreign_keys=(key,)))
    assert world.run("S", "INSERT INTO person VALUES (1, 'Rome')") == 1
    assert world.run("S", "INSERT INTO person VALUES (2, 'Oslo')")[0] == "23503"


def test_what_is_not_given_has_its_default(found: Callable[..., World]):
    from dataclasses import replace

    world = found()
    plain = employees()
    columns = [replace(c, default="40000 + 1") if c.name == "salary" else c for c in plain.columns]
    world.add(replace(plain, columns=tuple(columns)))
    assert world.run("C", "INSERT INTO employee (name) VALUES ('Smith')") == 1
    assert world.show("C") == {"Smith C | 40001 C | - C | C"}
