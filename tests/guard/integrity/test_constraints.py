"""Keys, checks, defaults and ON CONFLICT mean the same on DuckDB and PostgreSQL."""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal
from typing import TYPE_CHECKING

import pytest
from tests.engines.databases.place import failing
from tests.guard.integrity.database import relation

from discreet.engines.databases.database import EngineTraits
from discreet.engines.duckdb.served import ServedDuckDB
from discreet.errors import StatementFailed
from discreet.guard.access.authority import (
    TABLE_PRIVILEGES,
    AclEntry,
    CheckConstraint,
    ForeignKey,
    RelationColumn,
    RowPolicy,
    Trigger,
)
from discreet.guard.integrity.create import build_create_table
from discreet.guard.integrity.keys import require_unreferenced

if TYPE_CHECKING:
    from tests.guard.integrity.database import ProtectedDatabase, RoleSession

# Fires never, so that a write takes the way of rows.
SILENT = Trigger("silent", "AFTER", ("INSERT", "UPDATE", "DELETE"), "ROW", "FALSE", "never")


@pytest.fixture
def town(database: ProtectedDatabase, boss: RoleSession) -> RoleSession:
    """The textbook's employees, who live at zip codes."""
    database.add(relation("zip", {"zip": "integer", "city": "text"}, primary_key=("zip",)))
    refers = ForeignKey(("zip",), ("public", "zip"), ("zip",), "employee_zip_fkey")
    columns = {"id": "integer", "name": "text", "zip": "integer"}
    database.add(relation("employee", columns, primary_key=("id",), foreign_keys=(refers,)))
    boss.do("INSERT INTO zip VALUES (43210, 'Columbus'), (10001, 'New York')")
    boss.do("INSERT INTO employee VALUES (1, 'Ann', 43210), (2, 'Ben', NULL)")
    return boss


def test_a_zip_code_that_is_referenced_is_not_deleted(town: RoleSession) -> None:
    with failing("23503") as caught:
        town.do("DELETE FROM zip WHERE zip = 43210")
    assert "43210" not in str(caught.value)
    assert town.do("DELETE FROM zip WHERE zip = 10001") == 1


def test_an_unknown_zip_code_cannot_be_referenced(town: RoleSession) -> None:
    with failing("23503"):
        town.do("INSERT INTO employee VALUES (3, 'Cid', 99999)")
    with failing("23503"):
        town.do("UPDATE employee SET zip = 99999 WHERE id = 2")
    assert town.do("UPDATE employee SET zip = 10001 WHERE id = 2") == 1


def test_a_referenced_key_does_not_change(town: RoleSession) -> None:
    with failing("23503"):
        town.do("UPDATE zip SET zip = 11111 WHERE zip = 43210")
    assert town.do("UPDATE zip SET zip = 11111 WHERE zip = 10001") == 1
    assert town.do("UPDATE zip SET city = 'Ohio' WHERE zip = 43210") == 1
    assert town.do("UPDATE zip SET zip = zip") == 2


def test_both_can_go_in_one_transaction(town: RoleSession) -> None:
    town.connection.begin()
    town.do("DELETE FROM employee WHERE zip = 43210")
    town.do("DELETE FROM zip WHERE zip = 43210")
    town.connection.commit()
    assert town.rows("SELECT zip FROM zip") == [(10001,)]


def test_both_can_come_in_one_transaction(town: RoleSession) -> None:
    town.connection.begin()
    town.do("INSERT INTO zip VALUES (20001, 'Washington')")
    town.do("INSERT INTO employee VALUES (3, 'Cid', 20001)")
    town.connection.commit()
    assert town.rows("SELECT count(*) FROM employee") == [(2 + 1,)]


def test_a_table_can_refer_to_itself(database: ProtectedDatabase, boss: RoleSession) -> None:
    head = ForeignKey(("head",), ("public", "person"), ("id",))
    columns = {"id": "integer", "head": "integer"}
    database.add(relation("person", columns, primary_key=("id",), foreign_keys=(head,)))
    assert boss.do("INSERT INTO person VALUES (1, 1), (2, 1), (3, 2)") == 3
    with failing("23503"):
        boss.do("DELETE FROM person WHERE id = 2")
    assert boss.do("DELETE FROM person WHERE id >= 2") == 2


def test_a_referenced_table_is_not_truncated(
    database: ProtectedDatabase, town: RoleSession
) -> None:
    zips = database.authority.relations["public", "zip"]
    with failing("0A000"):
        require_unreferenced(zips, database.authority, [zips.key])
    require_unreferenced(zips, database.authority, [zips.key, ("public", "employee")])


@pytest.mark.parametrize("triggers", [(), (SILENT,)], ids=["directly", "in sets"])
def test_constraints_hold_either_way(
    database: ProtectedDatabase, boss: RoleSession, triggers: tuple[Trigger, ...]
) -> None:
    columns = {"id": "integer", "code": "varchar(3)", "age": "integer", "n": "numeric(6,2)"}
    made = relation(
        "item",
        columns,
        primary_key=("id",),
        uniques=(("code",),),
        checks=(CheckConstraint("age < 150 AND item.age >= 0"),),
    )
    first, *rest = made.columns
    made = replace(made, columns=(first, replace(rest[0], not_null=True), *rest[1:]))
    database.add(made)
    database.change("item", triggers=triggers)
    assert boss.do("INSERT INTO item VALUES (1, 'a', 41, 2.505), (2, 'b', NULL, 1)") == 2
    cases = {
        "INSERT INTO item VALUES (1, 'c', 1, 1)": "23505",
        "INSERT INTO item VALUES (3, 'a', 1, 1)": "23505",
        "INSERT INTO item VALUES (3, NULL, 1, 1)": "23502",
        "INSERT INTO item (id) VALUES (3)": "23502",
        "INSERT INTO item VALUES (NULL, 'c', 1, 1)": "23502",
        "INSERT INTO item VALUES (3, 'c', 150, 1)": "23514",
        "UPDATE item SET age = -1": "23514",
        "UPDATE item SET code = 'b' WHERE id = 1": "23505",
        "INSERT INTO item VALUES (3, 'c', 1, 99999)": "22003",
    }
    for text, sqlstate in cases.items():
        with failing(sqlstate):
            boss.do(text)
    with pytest.raises(StatementFailed) as caught:
        boss.do("INSERT INTO item VALUES (3, 'long', 1, 1)")
    assert caught.value.sqlstate in ("23514", "22001")
    assert boss.rows("SELECT id, code, age, n FROM item ORDER BY id") == [
        (1, "a", 41, Decimal("2.51")),
        (2, "b", None, Decimal("1.00")),
    ]


def test_keys_can_move_onto_keys_that_move_away(
    database: ProtectedDatabase, boss: RoleSession
) -> None:
    database.add(relation("item", {"id": "integer", "n": "integer"}, primary_key=("id",)))
    database.add(relation("digit", {"d": "integer"}))
    boss.do(f"INSERT INTO digit VALUES {', '.join(f'({digit})' for digit in range(15))}")
    boss.do(
        "INSERT INTO item SELECT a.d * 225 + b.d * 15 + c.d, 1 "
        "FROM digit AS a CROSS JOIN digit AS b CROSS JOIN digit AS c"
    )
    if database.served.name == "duckdb":  # PostgreSQL itself compares row by row
        assert boss.do("UPDATE item SET id = id + 1, n = 0") == 3375
        assert boss.rows("SELECT min(id), max(id), sum(n) FROM item") == [(1, 3375, 0)]
    with failing("23505"):
        boss.do("UPDATE item SET id = 5 WHERE id < 9")


def test_defaults_are_there_either_way(database: ProtectedDatabase, boss: RoleSession) -> None:
    made = relation("item", {"id": "integer"}, primary_key=("id",))
    more = (
        RelationColumn("state", "text", default="'new'"),
        RelationColumn("n", "integer", default="1 + 1"),
        RelationColumn("at", "timestamptz", default="now()"),
        RelationColumn("free", "text"),
    )
    database.add(replace(made, columns=(*made.columns, *more)))
    for number, triggers in enumerate([(), (SILENT,)]):
        database.change("item", triggers=triggers)
        now = "2026-11-17T10:00:00.000000+00:00"
        session = database.connect(**{"discreet.now": now})
        session.do(f"INSERT INTO item (id) VALUES ({number})")
        session.connection.close()
    found = boss.rows("SELECT state, n, free, EXTRACT(YEAR FROM at) = 2026 FROM item")
    assert found == [("new", 2, None, True)] * 2


@pytest.mark.parametrize("triggers", [(), (SILENT,)], ids=["directly", "in sets"])
def test_on_conflict_either_way(
    database: ProtectedDatabase, boss: RoleSession, triggers: tuple[Trigger, ...]
) -> None:
    database.add(relation("item", {"id": "integer", "n": "integer"}, primary_key=("id",)))
    boss.do("INSERT INTO item VALUES (1, 10), (2, 20)")
    database.change("item", triggers=triggers)
    nothing = "INSERT INTO item VALUES (2, 0), (3, 30) ON CONFLICT (id) DO NOTHING"
    assert boss.do(nothing) == 1
    assert boss.do("INSERT INTO item VALUES (4, 1), (4, 2) ON CONFLICT DO NOTHING") == 1
    update = (
        "INSERT INTO item VALUES (1, 5), (5, 50) "
        "ON CONFLICT (id) DO UPDATE SET n = item.n + excluded.n RETURNING id, n"
    )
    done = boss.write(update)
    assert done.table is not None
    assert sorted(tuple(row.values()) for row in done.table.to_pylist()) == [(1, 15), (5, 50)]
    some = (
        "INSERT INTO item VALUES (1, 1), (2, 1) "
        "ON CONFLICT (id) DO UPDATE SET n = 0 WHERE item.n > 15"
    )
    assert boss.do(some) == 1
    with failing("23505"):
        boss.do("INSERT INTO item VALUES (1, 5)")
    assert boss.rows("SELECT id, n FROM item ORDER BY id") == [
        (1, 15),
        (2, 0),
        (3, 30),
        (4, 1),
        (5, 50),
    ]


def test_a_row_policy_holds_of_new_rows(database: ProtectedDatabase, boss: RoleSession) -> None:
    database.add(relation("note", {"id": "integer", "author": "text"}, primary_key=("id",)))
    boss.do("INSERT INTO note VALUES (1, 'ann'), (2, 'ben')")
    database.add_role("ann")
    rights = tuple(
        AclEntry(who, "boss", each) for who in ("boss", "ann") for each in TABLE_PRIVILEGES
    )
    own = RowPolicy("own", ("",), using="author = current_user")
    database.change("note", acl=rights, row_security=True, policies=(own,))
    ann = database.connect("ann")
    assert ann.do("INSERT INTO note VALUES (3, 'ann')") == 1
    for text in (
        "INSERT INTO note VALUES (4, 'ben')",
        "INSERT INTO note VALUES (5, 'ann'), (6, NULL)",
        "UPDATE note SET author = 'ben'",
    ):
        with failing("42501") as caught:
            ann.do(text)
        assert str(caught.value) == 'new row violates row-level security policy for table "note"'
    assert ann.do("UPDATE note SET id = id + 10") == 2
    assert ann.do("DELETE FROM note") == 2
    ann.connection.close()
    assert boss.rows("SELECT id, author FROM note") == [(2, "ben")]


@pytest.mark.parametrize(
    ("column", "check"),
    [
        (RelationColumn("a", "integer"), "(SELECT count(*) FROM item) > 1"),
        (RelationColumn("a", "integer"), "pg_read_file('/etc/passwd') IS NULL"),
        (RelationColumn("a", "integer", default="(SELECT 1)"), "TRUE"),
        (RelationColumn("a", "nonsense"), "TRUE"),
        (RelationColumn("a", "integer"), "b > 1"),
    ],
)
@pytest.mark.parametrize("traits", [ServedDuckDB.traits, EngineTraits()])
def test_what_cannot_be_vetted_is_not_created(
    column: RelationColumn, check: str, traits: EngineTraits
) -> None:
    made = replace(
        relation("item", {}), columns=(column,), checks=(CheckConstraint(check),), physical=("t",)
    )
    with pytest.raises(StatementFailed):
        build_create_table(made, traits, {})
