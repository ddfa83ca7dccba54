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
    return admin, connect(server, "ann"), lambda user: connect(server, user)


def outcome(client, text: str, *values: object) -> object:
    """Return the rows of a query, or the SQLSTATE of its failure."""
    try:
        return client.rows(text, *values)
    except DiscreetError as failed:
        return getattr(failed, "sqlstate", "42501")


def test_arrays_are_sent_stored_and_compared(world):
    admin, ann, _ = world
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
    _, ann, _ = world
    assert ann.rows("SELECT id FROM staff WHERE name = ANY('{Ann,Bob,B*}')") == []
    assert ann.rows("SELECT id FROM staff WHERE 'secret' = ANY(tags) OR tags @> '{secret}'") == []
    # An element of a hidden row that cannot be cast, or a division by its zero, is no failure.
    assert ann.rows("SELECT id FROM staff WHERE 1 / pay = ANY('{1}')") == []
    assert ann.rows("SELECT (ARRAY[10 / pay])[1] FROM staff WHERE id = ANY($1)", [1, 4]) == [(1,)]
    assert ann.rows("SELECT max(cardinality(tags)) FROM staff") == [(2,)]


def test_a_foreign_key_neither_probes_nor_copies_what_is_masked(world):
    admin, ann, _ = world
    admin.run("GRANT CREATE ON SCHEMA public TO ann; GRANT REFERENCES ON staff TO ann")
    admin.run("ALTER TABLE staff ADD UNIQUE (name)")
    action = "REFERENCES staff (name) ON UPDATE CASCADE"
    assert outcome(ann, f"CREATE TABLE probe (name text {action})") == "42501"
    ann.run("CREATE TABLE probe (name text, id int REFERENCES staff (id))")
    assert outcome(ann, f"ALTER TABLE probe ADD FOREIGN KEY (name) {action}") == "42501"
    assert outcome(ann, f"ALTER TABLE probe ADD COLUMN other text {action}") == "42501"
    admin.run(f"CREATE TABLE kept (name text {action})")


def test_cursors_and_copy_of_rows_that_depend_on_the_time_or_a_setting(world):
    admin, ann, _ = world
    admin.run("CREATE POLICY late ON staff AS RESTRICTIVE USING (now() > '2000-01-01')")
    assert ann.run("COPY staff (id) TO STDOUT").tag == "COPY 2"
    ann.run("BEGIN; DECLARE c CURSOR FOR SELECT id, name FROM staff ORDER BY id")
    assert ann.rows("FETCH ALL FROM c") == [(1, "A*"), (3, "C*")]
    ann.run("ROLLBACK")


def test_functions_in_from_are_rows_of_what_is_visible(world):
    admin, ann, _ = world
    admin.run("INSERT INTO bonus SELECT * FROM unnest($1::int[], $2::int[])", [8, 9], [80, None])
    assert admin.rows("SELECT extra FROM bonus WHERE id > 7 ORDER BY id") == [(80,), (None,)]
    assert ann.rows(
        "SELECT s.id, g FROM staff s, generate_series(1, s.pay / 10) g ORDER BY 1, 2"
    ) == [*((1, 1), (3, 1), (3, 2), (3, 3))]
    assert ann.rows("SELECT s.name, u FROM staff s, unnest(s.tags) u ORDER BY u") == [
        *(("A*", "x"), ("A*", "y"))
    ]
    assert admin.rows("SELECT * FROM current_schema()") == [("public",)]
    with pytest.raises(StatementFailed, match="at most"):
        admin.rows("SELECT count(*) FROM generate_series(1, 100000000)")


def test_for_update_holds_off_other_writers_until_the_end(world):
    admin, ann, _ = world
    admin.run("GRANT SELECT (id) ON bonus TO PUBLIC; CREATE USER reader")
    assert ann.rows("SELECT id FROM bonus WHERE id = 1 FOR UPDATE") == [(1,)]
    ann.run("BEGIN")
    assert ann.rows("SELECT id FROM staff WHERE id < 3 FOR UPDATE") == [(1,)]
    admin.run("BEGIN")
    assert outcome(admin, "SELECT id FROM staff FOR UPDATE NOWAIT") == "55P03"
    admin.run("ROLLBACK")
    ann.run("UPDATE staff SET pay = pay + 1 WHERE id = 1; COMMIT")
    admin.run("BEGIN")
    assert admin.rows("SELECT pay FROM staff WHERE id = 1 FOR UPDATE NOWAIT") == [(11,)]
    admin.run("ROLLBACK; BEGIN READ ONLY")
    assert outcome(admin, "SELECT id FROM staff FOR SHARE") == "25006"
    admin.run("ROLLBACK")


def test_for_update_needs_the_right_to_update(world, request):
    admin, ann, _ = world
    admin.run(
        "REVOKE UPDATE ON bonus FROM ann; CREATE TABLE other (id int); GRANT ALL ON other TO ann"
    )
    assert outcome(ann, "SELECT id FROM bonus FOR UPDATE") == "42501"
    assert outcome(ann, "SELECT o.id FROM other o, bonus FOR UPDATE") == "42501"
    assert outcome(ann, "SELECT o.id FROM other o, bonus FOR UPDATE OF o") == []
    admin.run("CREATE POLICY later ON staff AS RESTRICTIVE FOR UPDATE USING (id > 2)")
    assert ann.rows("SELECT id FROM staff FOR UPDATE") == [(3,)]


def test_update_from_and_delete_using_write_each_visible_row_once(world):
    admin, ann, _ = world
    text = "UPDATE staff s SET pay = s.pay + b.extra FROM bonus b WHERE b.id = s.id RETURNING s.id, pay"
    assert sorted(ann.rows(text)) == [(1, 15), (3, 37)]
    assert admin.rows("SELECT pay FROM staff WHERE id = 2") == [(20,)]
    ann.run("UPDATE staff SET pay = v.n FROM (VALUES (1), (2)) v (n) WHERE staff.id = 1")
    assert admin.rows("SELECT pay FROM staff WHERE id = 1")[0][0] in (1, 2)
    text = "WITH x AS (SELECT id FROM bonus WHERE extra > 5) DELETE FROM staff WHERE id IN (SELECT id FROM x)"
    assert ann.run(text).tag == "DELETE 1"
    assert ann.run("DELETE FROM staff s USING bonus b WHERE b.id = s.id").tag == "DELETE 1"
    assert admin.rows("SELECT id FROM staff ORDER BY id") == [(2,), (4,)]


def test_update_from_shows_and_stores_nothing_hidden(world):
    admin, ann, _ = world
    hidden = "UPDATE bonus SET extra = 1 FROM staff s WHERE s.id = bonus.id AND s.ward = 'B' RETURNING bonus.id"
    assert ann.rows(hidden) == []
    assert (
        ann.rows("UPDATE bonus SET extra = 1 FROM staff s WHERE 10 / s.pay < 0 RETURNING bonus.id")
        == []
    )
    masked = "UPDATE staff SET ward = 'A' FROM staff o WHERE o.name = 'Ann' RETURNING staff.id"
    assert ann.rows(masked) == []
    assert (
        outcome(ann, "UPDATE staff s SET name = o.name FROM staff o WHERE o.id = s.id") == "42501"
    )
    assert outcome(ann, "UPDATE staff s SET ward = 'B' FROM bonus b WHERE b.id = s.id") == "42501"
    admin.run("REVOKE SELECT ON bonus FROM ann")
    assert outcome(ann, "UPDATE staff SET pay = 0 FROM bonus WHERE bonus.extra > 5") == "42501"


def test_a_view_of_one_table_is_written_with_its_owners_rights(world):
    admin, ann, _ = world
    admin.run(
        "CREATE VIEW low AS SELECT id AS nr, pay, ward FROM staff WHERE pay < 25;"
        "CREATE VIEW lower AS SELECT * FROM low WHERE pay < 15 WITH CHECK OPTION;"
        "CREATE VIEW local AS SELECT * FROM low WHERE nr < 50 WITH LOCAL CHECK OPTION;"
        "REVOKE ALL ON staff FROM ann; GRANT SELECT, INSERT, UPDATE, DELETE ON low, lower, local TO ann"
    )
    assert ann.rows("UPDATE low SET pay = pay + 1 RETURNING nr, pay") == [
        *((1, 11), (2, 21), (4, 1))
    ]
    assert ann.run("UPDATE lower SET pay = 12 WHERE nr = 2").tag == "UPDATE 0"
    assert outcome(ann, "UPDATE lower SET pay = 20 WHERE nr = 1") == "44000"
    assert outcome(ann, "UPDATE lower SET pay = 30 WHERE nr = 1") == "44000"
    assert outcome(ann, "INSERT INTO local (nr, pay) VALUES (99, 1)") == "44000"
    assert ann.run("INSERT INTO local (nr, pay, ward) VALUES (9, 99, 'C')").tag == "INSERT 0 1"
    assert ann.run("DELETE FROM low WHERE nr IN (4, 9)").tag == "DELETE 1"
    assert admin.rows("SELECT id, pay, ward FROM staff WHERE id = 9") == [(9, 99, "C")]
    assert outcome(ann, "UPDATE staff SET pay = 0") == "42501"
    admin.run("ALTER VIEW lower RESET (check_option); REVOKE UPDATE ON low FROM ann")
    assert ann.run("UPDATE lower SET pay = 14 WHERE nr = 1").tag == "UPDATE 1"
    assert outcome(ann, "UPDATE low SET pay = 1") == "42501"


def test_a_view_that_shows_other_rows_than_those_of_a_table_is_not_written(world):
    admin, _, _ = world
    admin.run(
        "CREATE VIEW a AS SELECT count(*) AS n FROM staff; CREATE VIEW b AS SELECT DISTINCT ward FROM staff"
    )
    admin.run(
        "CREATE VIEW c AS SELECT pay + 1 AS more, id FROM staff; CREATE VIEW d AS SELECT 1 AS one"
    )
    for text in ("UPDATE a SET n = 1", "DELETE FROM b", "INSERT INTO d VALUES (1)"):
        assert outcome(admin, text) == "55000"
    assert outcome(admin, "UPDATE c SET more = 1") == "0A000"
    assert outcome(admin, "ALTER VIEW b SET (check_option = local)") == "0A000"
    assert (
        outcome(admin, "CREATE VIEW e AS SELECT max(id) AS m FROM staff WITH CHECK OPTION")
        == "0A000"
    )


def test_a_written_view_shows_and_stores_nothing_hidden(world):
    admin, ann, enter = world
    admin.run("GRANT CREATE ON SCHEMA public TO ann; CREATE USER bob")
    ann.run(
        "CREATE VIEW mine AS SELECT id, name, pay, ward FROM staff WHERE pay >= 0; GRANT ALL ON mine TO bob"
    )
    bob = enter("bob")
    assert bob.rows("UPDATE mine SET pay = pay + 1 RETURNING id, name") == [(1, "A*"), (3, "C*")]
    assert (
        bob.rows("UPDATE mine SET pay = 0 WHERE name = 'Ann' OR 10 / (pay - 20) > 9 RETURNING id")
        == []
    )
    assert outcome(bob, "UPDATE mine SET ward = name") == "42501"
    assert outcome(bob, "UPDATE mine SET ward = 'B'") == "42501"
    assert outcome(bob, "INSERT INTO mine VALUES (8, 'x', 1, 'B')") == "42501"
    assert bob.run("DELETE FROM mine WHERE id = 2").tag == "DELETE 0"
    admin.run("REVOKE UPDATE ON staff FROM ann")
    assert outcome(bob, "UPDATE mine SET pay = 1") == "42501"


@pytest.fixture
def asker(open_server, connect, tmp_path):
    """A user who may only ask private questions about `people`."""
    (tmp_path / "policy.yaml").write_text(POLICY)
    (tmp_path / "people.csv").write_text(
        "id,age,ward\n" + "".join(f"{i},{i % 90},{'AB'[i % 2]}\n" for i in range(1, 200))
    )
    server = open_server(policy=tmp_path / "policy.yaml")
    admin = connect(server)
    admin.run("CREATE USER asker; GRANT AGGREGATE ON people TO asker WITH BUDGET (EPSILON 1)")
    return admin, connect(server, "asker", **{"discreet.epsilon": "1"})


REFUSALS = ("0A000", "42501", "42803", "42804", "42883")
UNASKED = (
    "SELECT array_agg(age) FROM people",
    "SELECT string_agg(ward, ',') FROM people",
    "SELECT count(*), array_agg(age) FROM people GROUP BY ward",
    "SELECT count(*) FROM people, generate_series(1, 10)",
    "SELECT count(*) FROM people, unnest(ARRAY[1, 2]) u",
    "SELECT count(*) FROM people, LATERAL unnest(ARRAY[people.age]) u",
    "SELECT unnest(ARRAY[count(*)]) FROM people",
    "SELECT count(*) FROM people FOR UPDATE",
    "SELECT id FROM people FOR UPDATE",
    "SELECT count(*) FROM people WHERE age = ANY (ARRAY(SELECT age FROM people))",
    "SELECT max(ARRAY[age]) FROM people",
    "SELECT (array_agg(age))[1] FROM people",
)


def test_a_private_question_has_none_of_these_forms(asker):
    _, user = asker
    found = {text: outcome(user, text) for text in UNASKED}
    assert {text: state for text, state in found.items() if state not in REFUSALS} == {}
    assert user.rows("SELECT count(*) FROM people")  # all of the budget: nothing was spent


def test_a_private_question_with_an_array_is_refused_or_answered_with_noise(asker):
    _, user = asker
    found = outcome(user, "SELECT count(*) FROM people WHERE ward = ANY ('{A}')")
    assert isinstance(found, str) or found[0][0] != 0
