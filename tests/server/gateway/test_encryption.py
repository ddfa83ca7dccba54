"""Columns that open for who has the key: over SQL, and for who takes the disk."""

from __future__ import annotations

import datetime as dt
import secrets
from decimal import Decimal
from typing import TYPE_CHECKING

import duckdb
import pytest

from discreet.errors import AccessDenied, InvalidKey, StatementFailed
from discreet.guard.control import ControlStore
from discreet.guard.vault.keys import KeyAction, create_key, destroy_key, end_rotation, rotate_key
from discreet.guard.vault.wrapping import new_wrapping_key, parse_wrapping_key
from discreet.writing import make_private_folder

if TYPE_CHECKING:
    from pathlib import Path

SIN = "046-454-286"
KEY = "employee.sin"
ACT = KeyAction("test", dt.datetime(2026, 1, 1, tzinfo=dt.UTC))
CLIENT = secrets.token_bytes(32)
UNREADABLE = "an encrypted value cannot be read with this key"


def files(folder: Path) -> bytes:
    return b"".join(path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file())


def refused(client, text, *values):
    with pytest.raises(StatementFailed) as caught:
        client.run(text, *values)
    return caught.value


def make_table(client):
    client.run(
        "CREATE TABLE employee (id integer PRIMARY KEY, name text, sin text, pay numeric(10,2))"
    )
    client.run("ALTER TABLE employee ALTER COLUMN sin SET ENCRYPTED WITH KEY 'employee.sin'")
    client.run(
        "INSERT INTO employee VALUES (1, 'Ann', $1, 5.25), (2, 'Bob', NULL, 7), (3, 'Cy', 'x', 1)",
        SIN,
    )


@pytest.fixture
def served(open_server, tmp_path):
    """A server with a key of its own, and the key of a column in its custody."""
    make_private_folder(tmp_path / "data" / "keys")
    wrapping = new_wrapping_key(tmp_path / "data" / "keys" / "master.key")
    opened = open_server()
    create_key(opened.server.control, KEY, wrapping, act=ACT)
    return opened, wrapping


@pytest.fixture
def admin(served, connect):
    client = connect(served[0])
    make_table(client)
    return client


@pytest.fixture
def lent(open_server, connect, tmp_path):
    """A server without a key, and one who lends the key of a column to the session."""
    (tmp_path / "data").mkdir(mode=0o700)
    control = ControlStore(tmp_path / "data" / "control.sqlite")
    wrapping = parse_wrapping_key(CLIENT, where="The test")
    create_key(control, KEY, wrapping, act=ACT, custody="client")
    control.close()
    opened = open_server()
    client = connect(opened)
    client.run("SELECT discreet_unlock('employee.sin', $1)", CLIENT)
    make_table(client)
    return opened, client


def test_values_are_read_and_written_as_ever(admin):
    assert admin.rows("SELECT * FROM employee ORDER BY id") == [
        (1, "Ann", SIN, Decimal("5.25")),
        (2, "Bob", None, Decimal(7)),
        (3, "Cy", "x", Decimal(1)),
    ]
    admin.run("UPDATE employee SET sin = sin || '!', pay = pay * 2 WHERE sin = 'x'")
    admin.run("INSERT INTO employee (sin, id) SELECT sin, id + 10 FROM employee WHERE id = 3")
    admin.run("DELETE FROM employee WHERE sin IS NULL")
    assert admin.rows("SELECT id, sin FROM employee ORDER BY sin, id") == [
        (1, SIN),
        (3, "x!"),
        (13, "x!"),
    ]
    assert admin.rows("SELECT sin, count(*) FROM employee GROUP BY sin ORDER BY sin") == [
        (SIN, 1),
        ("x!", 2),
    ]


def test_what_is_written_is_returned_as_values(admin):
    assert admin.rows("INSERT INTO employee (id, sin) VALUES (9, 'new') RETURNING sin, id") == [
        ("new", 9)
    ]
    assert admin.rows("UPDATE employee SET sin = upper(sin) WHERE id = 9 RETURNING sin") == [
        ("NEW",)
    ]
    assert admin.rows("DELETE FROM employee WHERE sin = 'NEW' RETURNING sin") == [("NEW",)]


def test_a_row_that_is_there_is_updated_instead(admin):
    admin.run(
        "INSERT INTO employee (id, sin) VALUES (3, 'y'), (4, 'z') "
        "ON CONFLICT (id) DO UPDATE SET sin = excluded.sin || employee.sin"
    )
    assert admin.rows("SELECT id, sin FROM employee WHERE id > 2 ORDER BY id") == [
        (3, "yx"),
        (4, "z"),
    ]
    admin.run("INSERT INTO employee (id, sin) VALUES (3, 'q') ON CONFLICT DO NOTHING")
    assert admin.rows("SELECT sin FROM employee WHERE id = 3") == [("yx",)]


def test_the_primary_key_of_encrypted_values_stays(admin):
    assert refused(admin, "UPDATE employee SET id = 7 WHERE id = 1").sqlstate == "0A000"


def test_transactions_and_savepoints_keep_cells(admin):
    admin.run("BEGIN")
    admin.run("UPDATE employee SET sin = 'kept' WHERE id = 1")
    admin.session.state.transaction.savepoint("s")
    admin.run("UPDATE employee SET sin = 'gone'")
    assert admin.rows("SELECT DISTINCT sin FROM employee") == [("gone",)]
    admin.session.state.transaction.rollback_to("s")
    admin.run("COMMIT")
    assert admin.rows("SELECT sin FROM employee WHERE id = 1") == [("kept",)]
    admin.run("BEGIN; UPDATE employee SET sin = 'gone'; ROLLBACK")
    assert admin.rows("SELECT sin FROM employee WHERE sin = 'gone'") == []


def test_row_policies_and_masks_see_values(admin, served, connect):
    admin.run("CREATE USER ann; CREATE USER eve; GRANT SELECT, UPDATE ON employee TO ann")
    admin.run("GRANT SELECT ON employee TO eve")
    admin.run("CREATE MASK m ON employee (sin) TO eve USING (left(sin, 3))")
    eve = connect(served[0], "eve")
    assert eve.rows("SELECT sin FROM employee WHERE sin = '046' ORDER BY id") == [("046",)]
    admin.run("ALTER TABLE employee ENABLE ROW LEVEL SECURITY")
    admin.run("CREATE POLICY own ON employee TO ann USING (sin = '046-454-286')")
    ann = connect(served[0], "ann")
    assert ann.rows("SELECT id, sin FROM employee") == [(1, SIN)]
    assert ann.run("UPDATE employee SET name = 'A'").tag == "UPDATE 1"
    with pytest.raises(AccessDenied):
        ann.run("UPDATE employee SET sin = 'other'")
    assert ann.rows("SELECT id, sin FROM employee") == [(1, SIN)]


def test_without_the_key_only_the_other_columns_can_be_used(lent, connect):
    opened, client = lent
    other = connect(opened)
    assert other.rows("SELECT id, name FROM employee ORDER BY id")[0] == (1, "Ann")
    assert other.rows("SELECT count(*) FROM employee") == [(3,)]
    other.run("UPDATE employee SET name = 'Cyd' WHERE id = 3")
    other.run("INSERT INTO employee (id, name) VALUES (4, 'Di')")
    for text in (
        "SELECT sin FROM employee",
        "SELECT * FROM employee",
        "SELECT id FROM employee WHERE sin = 'x'",
        "UPDATE employee SET sin = 'mine' WHERE id = 1",
        "UPDATE employee SET name = sin",
        "INSERT INTO employee (id, sin) VALUES (5, 'mine')",
        "DELETE FROM employee WHERE sin = 'x'",
        "DELETE FROM employee WHERE id = 1 RETURNING sin",
        "ALTER TABLE employee ALTER COLUMN sin DROP ENCRYPTED",
    ):
        failure = refused(other, text)
        assert failure.sqlstate == "42501"
        assert failure.hint == "Unlock it: SELECT discreet_unlock('employee.sin', $1)"
    assert len(client.rows("SELECT sin FROM employee")) == 4


def test_a_view_of_a_locked_column_opens_with_the_key(lent, connect):
    opened, client = lent
    client.run("CREATE VIEW sins AS SELECT id, sin FROM employee")
    other = connect(opened)
    assert refused(other, "SELECT sin FROM sins").sqlstate == "42501"
    assert other.rows("SELECT max(id) FROM sins") == [(3,)]
    other.run("SELECT discreet_unlock('employee.sin', $1)", CLIENT.hex())
    assert other.rows("SELECT id FROM sins WHERE sin = 'x'") == [(3,)]
    other.run("SELECT discreet_lock()")
    assert refused(other, "SELECT sin FROM sins").sqlstate == "42501"


def test_a_wrong_key_opens_nothing(lent, connect):
    opened, _ = lent
    other = connect(opened)
    failure = refused(other, "SELECT discreet_unlock('employee.sin', $1)", secrets.token_bytes(32))
    assert (failure.sqlstate, str(failure)) == ("28000", "the key does not unlock anything here")
    assert refused(other, "SELECT sin FROM employee").sqlstate == "42501"


def test_a_key_in_the_text_or_over_a_plain_line_is_refused(lent):
    _, client = lent
    failure = refused(client, f"SELECT discreet_unlock('employee.sin', '{CLIENT.hex()}')")
    assert failure.sqlstate == "42501"


def test_keys_are_one_sessions_only(lent, connect):
    opened, client = lent
    other = connect(opened)
    text = "SELECT sin FROM employee WHERE id = 1"
    assert client.rows(text) == [(SIN,)]
    assert refused(other, text).sqlstate == "42501"
    other.run("SELECT discreet_unlock('employee.sin', $1)", CLIENT)
    assert other.rows(text) == [(SIN,)]
    other.session.close()
    assert client.rows(text) == [(SIN,)]


MOMENT = dt.datetime(2020, 1, 2, 3, 4, 5, 6, tzinfo=dt.UTC)
TYPES = {
    "text": (["a", "Zoë", "", None], "a"),
    "varchar(5)": (["abc", None, "", "x"], "abc"),
    "smallint": ([1, -2, None], -2),
    "integer": ([2**31 - 1, 0, None], 0),
    "bigint": ([-(2**62), 5, None], 5),
    "numeric(12,3)": ([Decimal("1.500"), Decimal("-0.001"), None], Decimal("1.5")),
    "numeric": ([Decimal("1.5"), Decimal(1000), None], Decimal(1000)),
    "double precision": ([0.1, 1e300, None], 0.1),
    "real": ([0.5, -2.0, None], 0.5),
    "boolean": ([True, False, None], True),
    "date": ([dt.date(2000, 2, 29), dt.date(1, 1, 1), None], dt.date(2000, 2, 29)),
    "time": ([dt.time(23, 59, 59, 5), None], dt.time(23, 59, 59, 5)),
    "timestamp": ([MOMENT.replace(tzinfo=None), None], MOMENT.replace(tzinfo=None)),
    "timestamptz": ([MOMENT, None], MOMENT),
    "uuid": (
        ["0f8fad5b-d9cb-469f-a165-70867728950e", None],
        "0f8fad5b-d9cb-469f-a165-70867728950e",
    ),
    "bytea": ([b"\0\xff", b"", None], b""),
}


def test_every_type_comes_back_and_is_found(served, connect):
    client = connect(served[0])
    for kind, (values, wanted) in TYPES.items():
        client.run(f"CREATE TABLE t (id int PRIMARY KEY, plain {kind}, c {kind})")
        for place, value in enumerate(values):
            client.run("INSERT INTO t VALUES ($1, $2, $2)", place, value)
        client.run("ALTER TABLE t ALTER COLUMN c SET ENCRYPTED WITH KEY 'employee.sin'")
        client.run("INSERT INTO t VALUES ($1, $2, $2)", 100, wanted)
        rows = client.rows("SELECT plain, c FROM t")
        assert [plain for plain, _ in rows] == [c for _, c in rows], kind
        by_plain = client.rows("SELECT id FROM t WHERE plain = $1 ORDER BY id", wanted)
        assert client.rows("SELECT id FROM t WHERE c = $1 ORDER BY id", wanted) == by_plain
        assert len(by_plain) == 2
        assert client.rows("SELECT id FROM t WHERE c IN ($1) ORDER BY id", wanted) == by_plain
        client.run("DROP TABLE t")


def test_a_text_that_is_too_long_is_refused(served, connect):
    client = connect(served[0])
    client.run("CREATE TABLE t (id int PRIMARY KEY, c varchar(3))")
    client.run("ALTER TABLE t ALTER COLUMN c SET ENCRYPTED WITH KEY 'employee.sin'")
    failure = refused(client, "INSERT INTO t VALUES (1, 'abcd')")
    assert (failure.sqlstate, "abcd" in str(failure)) == ("22001", False)


def test_a_value_is_looked_up_without_opening_other_cells(admin):
    admin.run("CREATE TABLE other (id int PRIMARY KEY, n int)")
    admin.run("INSERT INTO other VALUES (1, 1), (3, 3)")
    (physical,) = (
        r.physical for r in admin.session.state.authority.relations.values() if r.name == "employee"
    )
    table = ".".join(physical)
    connection = admin.session.state.transaction.write()
    connection._cursor.execute(f"UPDATE {table} SET sin = 'spoiled'::BLOB WHERE id = 3")
    connection.commit()
    for condition in (
        "sin = '046-454-286'",
        "'046-454-286' = sin AND id < 9",
        "sin IN ('046-454-286', 'no')",
        "(sin = '046-454-286')",
    ):
        assert admin.rows(f"SELECT id FROM employee WHERE {condition}") == [(1,)]
    joined = (
        "SELECT e.id FROM employee e LEFT JOIN other o ON e.id = o.id WHERE e.sin = '046-454-286'"
    )
    assert admin.rows(joined) == [(1,)]
    assert admin.run("UPDATE employee SET name = 'A' WHERE sin = '046-454-286'").tag == "UPDATE 1"
    failure = refused(admin, "SELECT id FROM employee WHERE sin = '046-454-286' OR name = 'q'")
    assert (failure.sqlstate, str(failure)) == ("22000", UNREADABLE)
    failure = refused(admin, "SELECT id FROM employee WHERE lower(sin) = 'a'")
    assert (failure.sqlstate, str(failure)) == ("22000", UNREADABLE)


@pytest.mark.parametrize(
    ("table", "why"),
    [
        ("id int PRIMARY KEY, c text UNIQUE", "key"),
        ("id int, c text PRIMARY KEY", "key"),
        ("id int PRIMARY KEY, c text DEFAULT 'a'", "default"),
        ("id int PRIMARY KEY, c text CHECK (c <> '')", "check"),
        ("id int PRIMARY KEY, c text REFERENCES names (name)", "foreign key"),
        ("id int, c text", "primary key"),
        ("id int PRIMARY KEY, c interval", "interval"),
    ],
)
def test_columns_whose_values_the_engine_needs_are_not_encrypted(served, connect, table, why):
    client = connect(served[0])
    client.run("CREATE TABLE names (name text PRIMARY KEY)")
    client.run(f"CREATE TABLE t ({table})")
    failure = refused(client, "ALTER TABLE t ALTER COLUMN c SET ENCRYPTED WITH KEY 'employee.sin'")
    assert failure.sqlstate == "0A000"
    assert why in str(failure)


def test_triggers_do_not_look_at_encrypted_columns(admin):
    failure = refused(
        admin,
        "CREATE TRIGGER t BEFORE INSERT ON employee FOR EACH ROW WHEN (NEW.sin = 'x') RAISE 'no'",
    )
    assert failure.sqlstate == "0A000"
    admin.run(
        "CREATE TRIGGER t BEFORE INSERT OR UPDATE ON employee FOR EACH ROW "
        "WHEN (NEW.pay > 100) RAISE 'too much'"
    )
    refused_by = "ALTER TABLE employee ALTER COLUMN pay SET ENCRYPTED WITH KEY 'employee.sin'"
    assert "trigger" in str(refused(admin, refused_by))
    assert refused(admin, "INSERT INTO employee VALUES (7, 'G', 's', 101)").sqlstate == "P0001"
    admin.run("INSERT INTO employee VALUES (7, 'G', 's', 100)")
    assert admin.rows("SELECT id FROM employee WHERE sin = 's'") == [(7,)]


def test_only_owners_encrypt_and_only_with_keys_that_exist(admin, served, connect):
    admin.run("CREATE USER eve; GRANT ALL ON employee TO eve")
    eve = connect(served[0], "eve")
    with pytest.raises(AccessDenied):
        eve.run("ALTER TABLE employee ALTER COLUMN name SET ENCRYPTED WITH KEY 'employee.sin'")
    text = "ALTER TABLE employee ALTER COLUMN name SET ENCRYPTED WITH KEY"
    assert refused(admin, f"{text} 'nothing'").sqlstate == "42704"
    assert refused(admin, f"{text} 'discreet/file'").sqlstate == "42704"


def test_a_column_with_rows_is_encrypted_with_a_warning_and_opened_again(served, connect):
    client = connect(served[0])
    client.run(
        "CREATE TABLE t (a int, b text, c text, d date DEFAULT '2020-01-01', PRIMARY KEY (a, b))"
    )
    client.run("INSERT INTO t (a, b, c) VALUES (1, 'x', 'secret'), (1, 'y', NULL)")
    before = client.rows("SELECT * FROM t ORDER BY b")
    outcome = client.run("ALTER TABLE t ALTER COLUMN c SET ENCRYPTED WITH KEY 'employee.sin'")
    assert outcome.notices[0].severity == "WARNING"
    assert client.rows("SELECT * FROM t ORDER BY b") == before
    client.run("ALTER TABLE t ALTER COLUMN c DROP ENCRYPTED")
    assert client.rows("SELECT * FROM t ORDER BY b") == before
    names = [names[-1].partition("__")[0] for names in client.session.state.database.tables()]
    assert names == ["discreet_pending", "t"]
    client.run(
        "BEGIN; ALTER TABLE t ALTER COLUMN c SET ENCRYPTED WITH KEY 'employee.sin'; ROLLBACK"
    )
    assert client.rows("SELECT * FROM t ORDER BY b") == before


def test_a_rotated_key_encrypts_anew_and_the_old_version_can_go(admin, served, connect):
    opened, wrapping = served
    control = opened.server.control
    rotate_key(control, KEY, wrapping, act=ACT)
    admin.run("INSERT INTO employee (id, sin) VALUES (4, 'after')")
    assert admin.rows("SELECT id FROM employee WHERE sin IN ('x', 'after') ORDER BY id") == [
        (3,),
        (4,),
    ]
    admin.run("ALTER TABLE employee ALTER COLUMN sin SET ENCRYPTED WITH KEY 'employee.sin'")
    end_rotation(control, KEY, act=ACT)
    assert connect(opened).rows("SELECT sin FROM employee ORDER BY id") == [
        (SIN,),
        (None,),
        ("x",),
        ("after",),
    ]
    assert admin.rows("SELECT id FROM employee WHERE sin = 'x'") == [(3,)]


def test_what_a_destroyed_key_locked_is_gone(admin, served, connect):
    opened, _ = served
    destroy_key(opened.server.control, KEY, act=ACT)
    for client in (admin, connect(opened)):
        failure = refused(client, "SELECT sin FROM employee")
        assert (failure.sqlstate, str(failure)) == ("22000", UNREADABLE)
        assert client.rows("SELECT count(*) FROM employee") == [(3,)]


def test_a_cell_that_was_moved_on_the_disk_is_noticed(lent, open_server, connect, tmp_path):
    opened, client = lent
    (physical,) = (r.physical for r in client.session.state.authority.relations.values())
    opened.server.close()
    with duckdb.connect(str(tmp_path / "data" / "data.duckdb")) as thief:
        name = ".".join(physical[1:])
        cells = thief.execute(f"SELECT sin, sin__index FROM {name} ORDER BY id").fetchall()
        for place, row in ((1, 2), (3, 0)):
            thief.execute(
                f"UPDATE {name} SET sin = ?, sin__index = ? WHERE id = ?", [*cells[row], place]
            )
    again = connect(open_server())
    again.run("SELECT discreet_unlock('employee.sin', $1)", CLIENT)
    for text in ("SELECT sin FROM employee", "SELECT id FROM employee WHERE sin = '046-454-286'"):
        failure = refused(again, text)
        assert (failure.sqlstate, str(failure)) == ("22000", UNREADABLE)
    assert again.rows("SELECT count(*) FROM employee") == [(3,)]


def test_an_index_that_was_copied_from_another_row_is_noticed(lent, open_server, connect, tmp_path):
    opened, client = lent
    (physical,) = (r.physical for r in client.session.state.authority.relations.values())
    opened.server.close()
    with duckdb.connect(str(tmp_path / "data" / "data.duckdb")) as thief:
        name = ".".join(physical[1:])
        copied = thief.execute(f"SELECT sin__index FROM {name} WHERE id = 3").fetchone()
        thief.execute(f"UPDATE {name} SET sin__index = ? WHERE id = 1", copied)
    again = connect(open_server())
    again.run("SELECT discreet_unlock('employee.sin', $1)", CLIENT)
    for text in (
        "SELECT sin FROM employee",
        "SELECT max(sin) FROM employee",
        "SELECT sin FROM employee WHERE id = 1",
        "SELECT id FROM employee WHERE sin = 'x'",
        "UPDATE employee SET name = sin WHERE id = 1",
        "DELETE FROM employee WHERE sin = 'x'",
    ):
        failure = refused(again, text)
        assert (failure.sqlstate, str(failure)) == ("22000", UNREADABLE)
    assert again.rows("SELECT sin FROM employee WHERE id = 3") == [("x",)]


def test_a_server_that_may_spill_values_encrypts_no_column(open_server, connect, tmp_path):
    opened = open_server()
    wrapping = parse_wrapping_key(CLIENT, where="here")
    create_key(opened.server.control, KEY, wrapping, act=ACT, custody="client")
    client = connect(opened)
    client.run("CREATE TABLE employee (id integer PRIMARY KEY, sin text)")
    encrypt = "ALTER TABLE employee ALTER COLUMN sin SET ENCRYPTED WITH KEY 'employee.sin'"
    client.run("SELECT discreet_unlock('employee.sin', $1)", CLIENT)
    assert refused(client, encrypt).sqlstate == "55000"
    opened.server.close()
    client = connect(open_server())
    client.run("SELECT discreet_unlock('employee.sin', $1)", CLIENT)
    client.run(encrypt)


def test_the_disk_holds_no_value_of_an_encrypted_column_and_no_key(lent, tmp_path):
    opened, client = lent
    client.run("UPDATE employee SET sin = '130-692-544' WHERE sin = '046-454-286'")
    client.rows("SELECT sin FROM employee WHERE sin = '130-692-544'")
    refused(client, "INSERT INTO employee (id, sin) VALUES (1, '130-692-544')")
    running = files(tmp_path / "data")
    opened.server.close()
    for content in (running, files(tmp_path / "data")):
        assert b"Ann" in content
        for value in (b"046-454", b"130-692", CLIENT, CLIENT.hex().encode()):
            assert value not in content


def test_with_a_key_file_the_database_holds_nothing_in_plain(admin, served, tmp_path):
    admin.run("INSERT INTO employee VALUES (4, 'Marguerite', '130-692-544', 9)")
    database = tmp_path / "data" / "data.duckdb"
    log = database.with_name("data.duckdb.wal")
    running = database.read_bytes() + (log.read_bytes() if log.exists() else b"")
    served[0].server.close()
    for content in (running, database.read_bytes()):
        for word in (b"Marguerite", b"employee", SIN.encode()):
            assert word not in content
    assert SIN.encode() not in files(tmp_path / "data")


def test_a_sealed_store_does_not_open_without_its_key(served, open_server, tmp_path):
    served[0].server.close()
    (tmp_path / "data" / "keys" / "master.key").rename(tmp_path / "elsewhere.key")
    with pytest.raises(InvalidKey):
        open_server()
    open_server(key_file=tmp_path / "elsewhere.key")


def test_the_journal_reports_who_used_a_key_and_not_the_key(lent):
    opened, client = lent
    client.rows("SELECT sin FROM employee WHERE id = 1")
    client.rows("SELECT name FROM employee WHERE id = 1")
    *_, used, unused = (item.event for item in opened.server.journal.entries())
    assert (used.reason, unused.reason) == (f"key {KEY}", None)
    (event,) = (item.event for item in opened.server.journal.entries() if item.event.kind == "key")
    assert (event.user, event.reason, event.decision) == ("admin", f"key {KEY}", "allowed")


def test_a_key_in_the_place_of_its_name_does_not_enter_the_journal(lent):
    opened, client = lent
    refused(client, "SELECT discreet_unlock($1, $2)", CLIENT.hex(), KEY)
    *_, failed = (item.event for item in opened.server.journal.entries())
    assert (failed.kind, failed.decision) == ("key", "failed")
    assert CLIENT.hex() not in str(failed)


def test_a_table_with_encrypted_columns_gets_no_labels(admin):
    admin.run("SECURITY LABEL FOR mls ON DATABASE IS 'U < S'")
    admin.run("SECURITY LABEL FOR mls ON ROLE admin IS 'S'")
    error = refused(admin, "SECURITY LABEL FOR mls ON TABLE employee IS 'cells'")
    assert error.sqlstate == "0A000"
    assert admin.rows("SELECT sin FROM employee WHERE id = 1") == [(SIN,)]


def test_a_table_with_encrypted_columns_changes_its_form_but_no_names(served, connect):
    opened, _ = served
    client = connect(opened)
    make_table(client)
    client.run("ALTER TABLE employee ADD COLUMN age integer DEFAULT 30, DROP COLUMN pay")
    client.run("ALTER TABLE employee ALTER COLUMN name SET NOT NULL")
    assert client.rows("SELECT sin, age FROM employee WHERE id = 1") == [(SIN, 30)]
    for text in ("RENAME TO people", "RENAME sin TO number", "RENAME name TO label"):
        assert refused(client, f"ALTER TABLE employee {text}").sqlstate == "0A000"
    assert refused(client, "ALTER TABLE employee ALTER sin TYPE varchar").sqlstate == "0A000"
