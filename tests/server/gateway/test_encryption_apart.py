"""Encrypted columns of a PostgreSQL, whose cells the gateway opens apart."""

from __future__ import annotations

import secrets
from decimal import Decimal

import psycopg
import pytest
from psycopg import sql
from tests.server.gateway.test_encryption import (
    ACT,
    CLIENT,
    KEY,
    SIN,
    TYPES,
    UNREADABLE,
    make_table,
    refused,
)

from discreet.guard.vault.keys import create_key, end_rotation, rotate_key
from discreet.guard.vault.wrapping import parse_wrapping_key

WRAPPING = parse_wrapping_key(CLIENT, where="The test")


@pytest.fixture
def database(postgres_url):
    name = f"apart_{secrets.token_hex(4)}"
    with psycopg.connect(postgres_url, autocommit=True) as own:
        own.execute(sql.SQL("CREATE DATABASE {}").format(sql.Identifier(name)))
    return psycopg.conninfo.make_conninfo(postgres_url, dbname=name), name


@pytest.fixture
def served(open_server, postgres_url, database):
    _, name = database
    base, _, rest = postgres_url.partition("?")
    url = f"{base.rpartition('/')[0]}/{name}" + (f"?{rest}" if rest else "")
    opened = open_server(database=url)
    create_key(opened.server.control, KEY, WRAPPING, act=ACT, custody="client")
    return opened


@pytest.fixture
def admin(served, connect):
    client = connect(served)
    client.run("SELECT discreet_unlock('employee.sin', $1)", CLIENT)
    make_table(client)
    return client


def stored(client, database) -> str:
    (relation,) = (
        r for r in client.session.state.authority.relations.values() if r.name == "employee"
    )
    with psycopg.connect(database[0]) as own:
        query = sql.SQL("SELECT t::text FROM {} AS t").format(sql.Identifier(*relation.physical))
        return "".join(row[0] for row in own.execute(query))


def test_values_are_read_and_written_as_ever(admin, database):
    assert admin.rows("SELECT * FROM employee ORDER BY id") == [
        (1, "Ann", SIN, Decimal("5.25")),
        (2, "Bob", None, Decimal(7)),
        (3, "Cy", "x", Decimal(1)),
    ]
    assert (
        admin.run("UPDATE employee SET sin = sin || '!', pay = 2 WHERE sin = 'x'").tag == "UPDATE 1"
    )
    admin.run("INSERT INTO employee (sin, id) SELECT sin, id + 10 FROM employee WHERE id = 3")
    admin.run("UPDATE employee SET name = 'A' WHERE id = 1")
    assert admin.run("DELETE FROM employee WHERE sin IS NULL").tag == "DELETE 1"
    assert admin.run("DELETE FROM employee WHERE sin = 'nobody'").tag == "DELETE 0"
    assert admin.rows("SELECT id, name, sin, pay FROM employee ORDER BY sin, id") == [
        (1, "A", SIN, Decimal("5.25")),
        (3, "Cy", "x!", Decimal(2)),
        (13, None, "x!", None),
    ]
    joined = (
        "SELECT DISTINCT e.id FROM employee e JOIN employee f ON e.sin = f.sin "
        "WHERE f.sin = $1 AND e.id > 1 ORDER BY e.id"
    )
    assert admin.rows(joined, "x!") == [(3,), (13,)]
    content = stored(admin, database)
    assert "Cy" in content
    assert "046-454" not in content
    assert b"046-454".hex() not in content


def test_an_index_that_was_changed_in_the_database_is_noticed(admin, database):
    (relation,) = (
        r for r in admin.session.state.authority.relations.values() if r.name == "employee"
    )
    with psycopg.connect(database[0], autocommit=True) as thief:
        table = sql.Identifier(*relation.physical)
        for change in (
            "UPDATE {0} SET sin__index = (SELECT sin__index FROM {0} WHERE id = 3) WHERE id = 1",
            "UPDATE {0} SET sin__index = '\\x00' WHERE id = 1",
            "UPDATE {0} SET sin__index = NULL WHERE id = 1",
        ):
            thief.execute(sql.SQL(change).format(table))
            for text in ("SELECT max(sin) FROM employee", "SELECT sin FROM employee WHERE id = 1"):
                failure = refused(admin, text)
                assert (failure.sqlstate, str(failure)) == ("22000", UNREADABLE)
    assert admin.rows("SELECT sin FROM employee WHERE sin = 'x'") == [("x",)]


def test_without_the_key_only_the_other_columns_can_be_used(served, admin, connect):
    other = connect(served)
    assert other.rows("SELECT id, name FROM employee ORDER BY id")[0] == (1, "Ann")
    other.run("UPDATE employee SET name = 'Cyd' WHERE id = 3")
    other.run("INSERT INTO employee (id, name) VALUES (4, 'Di') RETURNING id")
    for text in (
        "SELECT sin FROM employee",
        "SELECT id FROM employee WHERE sin = 'x'",
        "UPDATE employee SET sin = 'mine' WHERE id = 1",
        "UPDATE employee SET name = sin",
        "INSERT INTO employee (id, sin) VALUES (5, 'mine')",
        "DELETE FROM employee WHERE sin = 'x'",
    ):
        assert refused(other, text).sqlstate == "42501"
    assert admin.rows("SELECT name, sin FROM employee WHERE id > 2 ORDER BY id") == [
        ("Cyd", "x"),
        ("Di", None),
    ]


def test_what_cannot_be_done_apart_is_refused(admin):
    admin.run("CREATE TABLE other (id int PRIMARY KEY, c text)")
    for text in (
        "INSERT INTO other SELECT id, sin FROM employee",
        "UPDATE employee SET sin = 'a' WHERE id = 1 RETURNING sin",
        "UPDATE employee SET id = 9, sin = 'a'",
        "INSERT INTO employee (id, sin) VALUES (1, 'a') ON CONFLICT (id) DO UPDATE SET sin = 'b'",
    ):
        assert refused(admin, text).sqlstate == "0A000"
    assert refused(admin, "CREATE TABLE copied AS SELECT sin FROM employee").sqlstate == "0A000"
    admin.run("CREATE VIEW seen AS SELECT id, name, sin FROM employee")
    assert admin.rows("SELECT id, sin FROM seen WHERE sin = 'x'") == [(3, "x")]
    admin.run("INSERT INTO other SELECT id, name FROM employee")
    assert admin.rows("SELECT count(*) FROM other") == [(3,)]
    failure = refused(admin, "INSERT INTO employee (id, sin) VALUES (1, 'again')")
    assert failure.sqlstate == "23505"


def test_every_type_comes_back_and_is_found(served, connect):
    client = connect(served)
    client.run("SELECT discreet_unlock('employee.sin', $1)", CLIENT)
    columns = {f"c{place}": kind for place, kind in enumerate(TYPES)}
    written = ", ".join(f"{name} {kind}" for name, kind in columns.items())
    client.run(f"CREATE TABLE t (id int PRIMARY KEY, day timestamptz, {written})")
    wanted = [value for _, value in TYPES.values()]
    slots = ", ".join(f"${place + 2}" for place in range(len(wanted)))
    client.run(f"INSERT INTO t VALUES ($1, '2020-01-01 00:00:00+00', {slots})", 1, *wanted)
    before = client.rows("SELECT * FROM t")
    for name in columns:
        client.run(f"ALTER TABLE t ALTER COLUMN {name} SET ENCRYPTED WITH KEY 'employee.sin'")
    client.run(f"INSERT INTO t VALUES ($1, '2020-01-01 00:00:00+00', {slots})", 2, *wanted)
    first, second = client.rows("SELECT * FROM t ORDER BY id")
    assert first == before[0]
    assert second[1:] == first[1:]
    for name, value in zip(columns, wanted, strict=True):
        assert client.rows(f"SELECT id FROM t WHERE {name} = $1 ORDER BY id", value) == [(1,), (2,)]
    client.run("ALTER TABLE t ALTER COLUMN c0 DROP ENCRYPTED")
    assert client.rows("SELECT * FROM t WHERE id = 1") == before


def test_a_rotated_key_encrypts_anew_and_moved_cells_are_noticed(served, admin, database):
    rotate_key(served.server.control, KEY, WRAPPING, act=ACT)
    assert refused(admin, "SELECT sin FROM employee").sqlstate == "42501"
    admin.run("SELECT discreet_unlock('employee.sin', $1)", CLIENT)
    admin.run("ALTER TABLE employee ALTER COLUMN sin SET ENCRYPTED WITH KEY 'employee.sin'")
    end_rotation(served.server.control, KEY, act=ACT)
    admin.run("SELECT discreet_unlock('employee.sin', $1)", CLIENT)
    assert admin.rows("SELECT id FROM employee WHERE sin = 'x'") == [(3,)]
    (relation,) = (
        r for r in admin.session.state.authority.relations.values() if r.name == "employee"
    )
    with psycopg.connect(database[0]) as own:
        table = sql.Identifier(*relation.physical)
        swap = sql.SQL("UPDATE {0} SET sin = (SELECT sin FROM {0} WHERE id = 1) WHERE id = 3")
        own.execute(swap.format(table))
    failure = refused(admin, "SELECT sin FROM employee")
    assert (failure.sqlstate, str(failure)) == ("22000", UNREADABLE)
