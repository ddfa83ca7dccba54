"""COPY … FROM STDIN: rows as PostgreSQL reads them, under the rights and checks of an INSERT."""

from __future__ import annotations

import secrets

import psycopg
import pytest

from discreet.errors import DiscreetError, StatementFailed
from discreet.sql.copy_rows import CopyForm, CopyReader

PLACES = ("duckdb", pytest.param("postgresql", marks=pytest.mark.postgres))
TRICKY = """
    SELECT * FROM (VALUES
      (1, 'plain', DATE '2020-02-29', 1.50, 0.1::float8, true, '\\x00ff'::bytea, TIMESTAMPTZ '2020-01-01 12:00+02'),
      (2, E'tab\\there \\\\N "quoted", comma\\r\\nline', NULL, -0.01, 'NaN', false, '\\x', '0044-03-15 BC'),
      (3, '', 'infinity', NULL, '-Infinity', NULL, NULL, NULL),
      (4, '\\.', '0099-01-01', 1e10, 1e-300, true, '\\x5c', '9999-12-31 23:59:59.999999+00')
    ) AS t (a, b, d, n, f, ok, y, m)
"""
COLUMNS = "a integer, b text, d date, n numeric(20,2), f float8, ok boolean, y bytea, m timestamptz"


@pytest.fixture(params=PLACES)
def opened(request, open_server):
    if request.param == "duckdb":
        return open_server()
    url, name = request.getfixturevalue("postgres_16_url"), f"copy_{secrets.token_hex(4)}"
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE {name}")
    return open_server(database=url.replace("/postgres?", f"/{name}?"))


def copy_in(client, text: str, *pieces: bytes) -> str:
    (statement,) = client.session.split(text)
    copy = client.session.copy_in(client.session.prepare(statement))
    for piece in pieces:
        copy.write(piece)
    return copy.finish().tag


@pytest.mark.postgres
@pytest.mark.parametrize("form", ["text", "csv", "csv, header", "text, delimiter '|'", "binary"])
def test_what_postgresql_copies_out_is_read_by_postgresql_and_here(form: str, postgres_16_url):
    """The cells are compared as texts of PostgreSQL; binary ones with its own binary form."""
    with psycopg.connect(postgres_16_url) as connection, connection.cursor() as cursor:
        cursor.execute("SET timezone = 'UTC'")
        with cursor.copy(f"COPY ({TRICKY}) TO STDOUT (FORMAT {form})") as copy:
            data = b"".join(copy)
        texts = cursor.execute(
            f"SELECT {', '.join(f'{c}::text' for c in 'abdnfm')} FROM ({TRICKY}) t"
        )
        wanted = list(zip(*texts.fetchall(), strict=True))
    kind = form.partition(",")[0]
    csv = CopyForm("csv", ",", "", header="header" in form)
    text = CopyForm(kind, "|" if "|" in form else "\t", "\\N")
    reader = CopyReader(csv if kind == "csv" else text, 8)
    for place in range(0, len(data), 7):
        reader.feed(data[place : place + 7])
    columns = [column.to_pylist() for column in reader.finish()]
    if kind == "binary":
        assert [int.from_bytes(cell) for cell in columns[0]] == [1, 2, 3, 4]
        assert [cell.decode() for cell in columns[1]] == list(wanted[1])
        return
    assert [tuple(columns[place]) for place in (0, 1, 2, 3, 4, 7)] == wanted


def test_rows_are_all_written_or_none_under_the_checks_of_an_insert(opened, connect):
    admin = connect(opened)
    admin.run("CREATE USER bob; CREATE TABLE d (id integer PRIMARY KEY)")
    admin.run(f"CREATE TABLE t ({COLUMNS}, PRIMARY KEY (a), CHECK (a < 100))")
    admin.run("INSERT INTO d VALUES (1); CREATE TABLE r (id integer REFERENCES d, b text)")
    admin.run("GRANT INSERT (a, b) ON t TO bob; GRANT INSERT, SELECT ON r TO bob")
    admin.run("ALTER TABLE r ENABLE ROW LEVEL SECURITY")
    admin.run("CREATE POLICY p ON r TO bob USING (b = 'mine') WITH CHECK (b = 'mine')")
    bob = connect(opened, "bob")
    assert copy_in(bob, "COPY t (a, b) FROM STDIN", b"1\tx", b"\\ty\n2\t\\", b"N\n") == "COPY 2"
    for text, data, sqlstate in (
        ("COPY t FROM STDIN", b"", "42501"),
        ("COPY t (a, d) FROM STDIN", b"", "42501"),
        ("COPY t (a, b) FROM STDIN", b"3\tx\n1\ty\n", "23505"),
        ("COPY t (a, b) FROM STDIN", b"3\tx\n100\ty\n", "23514"),
        ("COPY t (a, b) FROM STDIN", b"3\tx\n4.5\ty\n", "22P02"),
        ("COPY t (a, b) FROM STDIN", b"3\tx\n4\n", "22P04"),
        ("COPY t (a, b) FROM STDIN CSV", b'3,"x\n', "22P04"),
        ("COPY r FROM STDIN CSV", b"1,mine\n2,mine\n", "23503"),
        ("COPY r FROM STDIN CSV", b"1,mine\n1,theirs\n", "42501"),
    ):
        with pytest.raises(DiscreetError) as refused:
            copy_in(bob, text, data)
        assert getattr(refused.value, "sqlstate", None) == sqlstate, text
    assert copy_in(bob, "COPY r FROM STDIN (FORMAT csv)", b"1,mine\n") == "COPY 1"
    assert admin.rows("SELECT a, b FROM t ORDER BY a") == [(1, "x\ty"), (2, None)]
    bob.run("BEGIN; SAVEPOINT s")
    copy_in(bob, "COPY t (a, b) FROM STDIN", b"5\tkept\n")
    bob.run("SAVEPOINT u; INSERT INTO t (a) VALUES (6); ROLLBACK TO u; COMMIT")
    assert admin.rows("SELECT a FROM t ORDER BY a") == [(1,), (2,), (5,)]
    with pytest.raises(StatementFailed, match="needs the PostgreSQL protocol"):
        bob.run("COPY t (a, b) FROM STDIN")


def test_rows_of_a_copy_have_the_label_of_the_session_and_collide_with_none_above(opened, connect):
    admin = connect(opened)
    admin.run("SECURITY LABEL FOR mls ON DATABASE IS 'U < S'; CREATE USER low; CREATE USER high")
    admin.run(
        "SECURITY LABEL FOR mls ON ROLE low IS 'U'; SECURITY LABEL FOR mls ON ROLE high IS 'S'"
    )
    admin.run("CREATE TABLE m (id integer PRIMARY KEY, x text); GRANT ALL ON m TO low, high")
    admin.run("SECURITY LABEL FOR mls ON TABLE m IS 'cells'")
    low, high = connect(opened, "low"), connect(opened, "high")
    assert copy_in(high, "COPY m FROM STDIN", b"1\tsecret\n2\tsecret\n") == "COPY 2"
    assert low.rows("SELECT id FROM m") == []
    assert copy_in(low, "COPY m FROM STDIN", b"1\topen\n") == "COPY 1"
    assert low.rows("SELECT id, x FROM m") == [(1, "open")]
