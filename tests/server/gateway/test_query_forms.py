"""Forms of SQL that drivers and ORMs write, on both engines, under rights, masks, policies and labels."""

from __future__ import annotations

import secrets
from decimal import Decimal

import pytest

from discreet.errors import DiscreetError, StatementFailed

POLICY = """
tables:
  people:
    unit: id
    budget: {epsilon: 5}
    limits: {rows-per-unit: 1}
    columns:
      id: {role: identifier}
      age: {role: quasi-identifier, bounds: [0, 120]}
      ward: {role: quasi-identifier, values: [A, B]}
"""
PLACES = ("duckdb", pytest.param("postgresql", marks=pytest.mark.postgres))


@pytest.fixture(params=PLACES)
def world(request, open_server, connect):
    """An administrator; `ann`, who sees the rows of ward A and a mask of names; `low`, without a clearance."""
    settings = {}
    if request.param == "postgresql":
        import psycopg

        url, name = request.getfixturevalue("postgres_16_url"), f"f_{secrets.token_hex(4)}"
        with psycopg.connect(url, autocommit=True) as connection:
            connection.execute(f"CREATE DATABASE {name}")
        settings = {"database": url.replace("/postgres?", f"/{name}?")}
    server = open_server(**settings)
    admin = connect(server)
    admin.run(
        "CREATE TABLE staff (id int PRIMARY KEY, name text, ward text, pay int, tags text[]);"
        "INSERT INTO staff VALUES (1, 'Ann', 'A', 10, '{x,y}'), (2, 'Bob', 'B', 20, '{secret}'),"
        " (3, 'Cid', 'A', 30, NULL), (4, 'Dee', 'B', 0, '{}');"
        "CREATE TABLE bonus (id int PRIMARY KEY, extra int);"
        "INSERT INTO bonus VALUES (1, 5), (2, 6), (3, 7);"
        "CREATE USER ann; GRANT SELECT, INSERT, UPDATE, DELETE ON staff, bonus TO ann;"
        "ALTER TABLE staff ENABLE ROW LEVEL SECURITY;"
        "CREATE POLICY mine ON staff USING (ward = 'A');"
        "CREATE MASK hide ON staff (name) TO ann USING (left(name, 1) || '*')"
    )
    return admin, connect(server, "ann")


def outcome(client, text: str, *values: object) -> object:
    """Return the rows of a query, or the SQLSTATE of its failure."""
    try:
        return client.rows(text, *values)
    except DiscreetError as failed:
        return getattr(failed, "sqlstate", "42501")


def test_arrays_are_sent_stored_and_compared(world):
    admin, ann = world
    admin.run("CREATE TABLE kept (id int, a int[] DEFAULT '{7}', t text[], n numeric[], d date[])")
    admin.run(
        "INSERT INTO kept VALUES ($1, $2, $3, $4, $5)",
        *(1, [1, None, 3], ['a"b', "x\\y", None, "NULL", ""], [Decimal("1.25")], []),
    )
    admin.run("INSERT INTO kept (id) VALUES (2)")
    assert admin.rows("SELECT a, t, n, d FROM kept WHERE id = ANY($1) ORDER BY id", [1, 2]) == [
        ([1, None, 3], ['a"b', "x\\y", None, "NULL", ""], [Decimal("1.25")], []),
        ([7], None, None, None),
    ]
    assert admin.rows("SELECT id FROM kept WHERE $1 = ANY(a)", 3) == [(1,)]
    assert admin.rows("SELECT id FROM kept WHERE id <> ALL($1)", [1]) == [(2,)]
    assert admin.rows("UPDATE kept SET a = a || $1 WHERE id = 2 RETURNING a", [8]) == [([7, 8],)]
    assert ann.rows("SELECT array_agg(name ORDER BY id), string_agg(ward, '/') FROM staff") == [
        (["A*", "C*"], "A/A")
    ]
    for text, values in (("SELECT $1::int[]", [["x"]]), ("SELECT $1::int[]", [1])):
        with pytest.raises(StatementFailed):
            admin.rows(text, *values)


def test_arrays_show_no_hidden_row_and_nothing_behind_a_mask(world):
    _, ann = world
    assert ann.rows("SELECT id FROM staff WHERE name = ANY('{Ann,Bob,B*}')") == []
    assert ann.rows("SELECT id FROM staff WHERE 'secret' = ANY(tags) OR tags @> '{secret}'") == []
    # An element of a hidden row that cannot be cast, or a division by its zero, is no failure.
    assert ann.rows("SELECT id FROM staff WHERE 1 / pay = ANY('{1}')") == []
    assert ann.rows("SELECT (ARRAY[10 / pay])[1] FROM staff WHERE id = ANY($1)", [1, 4]) == [(1,)]
    assert ann.rows("SELECT max(cardinality(tags)) FROM staff") == [(2,)]
