"""Definitions are read as PostgreSQL reads them, and ours and the textbook's forms beside them."""

from __future__ import annotations

from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.errors import StatementFailed
from discreet.guard.access.authority import (
    PUBLIC,
    Allowance,
    CheckConstraint,
    InferenceControl,
    Privilege,
    RelationColumn,
)
from discreet.guard.statements import objects, rights
from discreet.guard.statements.definitions import parse_definition
from discreet.guard.statements.rights import CURRENT_USER, SESSION_USER, Right
from discreet.guard.statements.statement import Statement


def read(text: str) -> Statement:
    statement = parse_definition(text)
    assert statement is not None
    return statement


def without_text(statement: Statement) -> Statement:
    from dataclasses import replace

    return replace(statement, text="")


def sqlstate(text: str) -> str:
    with pytest.raises(StatementFailed) as failed:
        parse_definition(text)
    return failed.value.sqlstate


SELECT, UPDATE = Privilege.SELECT, Privilege.UPDATE


@pytest.mark.parametrize(
    "text",
    [
        "SELECT 1",
        "",
        "  ",
        "-- GRANT x TO y",
        "SET ROLE x",
        "BEGIN",
        '"create" role x',
        "INSERT INTO t VALUES (1)",
        "security definer",
    ],
)
def test_what_does_not_begin_like_a_definition_is_none(text: str):
    assert parse_definition(text) is None


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("CREATE ROLE Ward", rights.CreateRole(("ward",))),
        ('CREATE ROLE "DptAdmin", "CompanyHR"', rights.CreateRole(("DptAdmin", "CompanyHR"))),
        ("CREATE USER a WITH NOLOGIN", rights.CreateRole(("a",), {"login": False})),
        (
            "create user a with password 's3' createrole valid until '2030-01-01 00:00+01' connection limit 3",
            rights.CreateRole(
                ("a",),
                {
                    "login": True,
                    "createrole": True,
                    "valid_until": "2029-12-31T23:00:00+00:00",
                    "connection_limit": 3,
                },
                "s3",
            ),
        ),
        (
            "CREATE ROLE a IN ROLE b, c ROLE d ADMIN CURRENT_USER",
            rights.CreateRole(("a",), in_roles=("b", "c"), members=("d",), admins=(CURRENT_USER,)),
        ),
        ("ALTER ROLE a NOSUPERUSER", rights.AlterRole("a", {"superuser": False})),
        ("ALTER USER SESSION_USER PASSWORD NULL", rights.AlterRole(SESSION_USER, no_password=True)),
        ("ALTER ROLE a RENAME TO b", rights.AlterRole("a", rename="b")),
        ("ALTER GROUP a ADD USER b, c", rights.GrantRole(("a",), ("b", "c"))),
        ("DROP USER IF EXISTS a, b", rights.DropRole(("a", "b"), True)),
        (
            "GRANT a, b TO c, d WITH ADMIN OPTION, INHERIT FALSE, SET TRUE GRANTED BY e",
            rights.GrantRole(("a", "b"), ("c", "d"), True, False, True, "e"),
        ),
        (
            "REVOKE INHERIT OPTION FOR a FROM b GRANTED BY c CASCADE",
            rights.RevokeRole(("a",), ("b",), "inherit", True, "c"),
        ),
        ("REVOKE a FROM b RESTRICT", rights.RevokeRole(("a",), ("b",))),
        (
            "GRANT SELECT (a, B), UPDATE ON TABLE s.t, u TO x, PUBLIC WITH GRANT OPTION",
            rights.Grant(
                (Right(SELECT, ("a", "b")), Right(UPDATE)),
                (("s", "t"), (None, "u")),
                (),
                ("x", ""),
                True,
            ),
        ),
        (
            "GRANT UPDATE ON Employee (Address) TO a3",
            rights.Grant((Right(UPDATE, ("address",)),), ((None, "employee"),), (), ("a3",)),
        ),
        (
            "GRANT ALL PRIVILEGES (a) ON t TO GROUP x GRANTED BY CURRENT_ROLE",
            rights.Grant((Right(None, ("a",)),), ((None, "t"),), (), ("x",), grantor=CURRENT_USER),
        ),
        (
            "GRANT AGGREGATE ON t TO x WITH BUDGET (EPSILON 0.50, DELTA = 1e-6)",
            rights.Grant(
                (Right(Privilege.AGGREGATE),),
                ((None, "t"),),
                (),
                ("x",),
                budget=Allowance(Decimal("0.50"), Decimal("1e-6")),
            ),
        ),
        (
            "GRANT SELECT ON ALL TABLES IN SCHEMA a, b TO x",
            rights.Grant((Right(SELECT),), (), ("a", "b"), ("x",), all_in_schema=True),
        ),
        (
            "REVOKE GRANT OPTION FOR USAGE, CREATE ON SCHEMA s FROM x CASCADE",
            rights.Revoke(
                (Right(Privilege.USAGE), Right(Privilege.CREATE)), (), ("s",), ("x",), True, True
            ),
        ),
        (
            "GRANT SELECT ON schema TO x",
            rights.Grant((Right(SELECT),), ((None, "schema"),), (), ("x",)),
        ),
        ("GRANT CREATE USER TO a1", rights.GrantSystem("create user", ("a1",))),
        ("REVOKE CREATE TABLE FROM a1, a2", rights.GrantSystem("create table", ("a1", "a2"), True)),
        (
            "CREATE EXCLUSION duties ON ROLES (a, b)",
            rights.CreateExclusion("duties", ("a", "b")),
        ),
        ("DROP EXCLUSION duties", rights.DropExclusion("duties")),
        ("CREATE SCHEMA IF NOT EXISTS s", objects.CreateSchema("s", None, True)),
        ("CREATE SCHEMA AUTHORIZATION x", objects.CreateSchema("x", "x")),
        ("DROP SCHEMA s CASCADE", objects.DropSchema("s", False, True)),
        ("DROP TABLE IF EXISTS a, s.b", objects.Drop(((None, "a"), ("s", "b")), "table", True)),
        ("DROP VIEW v CASCADE", objects.Drop(((None, "v"),), "view", False, True)),
        ("ALTER SCHEMA s OWNER TO x", objects.AlterOwner(None, "s", "x")),
        ("ALTER VIEW v OWNER TO CURRENT_USER", objects.AlterOwner((None, "v"), None, CURRENT_USER)),
        (
            "ALTER TABLE t NO FORCE ROW LEVEL SECURITY",
            objects.AlterRowSecurity((None, "t"), "no force"),
        ),
        (
            "ALTER TABLE t ALTER COLUMN sin SET ENCRYPTED WITH KEY k1",
            objects.EncryptColumn((None, "t"), "sin", "k1"),
        ),
        (
            "ALTER TABLE t ALTER sin DROP ENCRYPTED",
            objects.EncryptColumn((None, "t"), "sin", None),
        ),
        (
            "SECURITY LABEL FOR mls ON DATABASE IS 'U < S | nato'",
            objects.SecurityLabel("database", None, None, "U < S | nato"),
        ),
        (
            "SECURITY LABEL ON ROLE bob IS NULL",
            objects.SecurityLabel("role", "bob", None, None),
        ),
        (
            "SECURITY LABEL FOR 'mls' ON TABLE s.t IS 'cells'",
            objects.SecurityLabel("table", None, ("s", "t"), "cells"),
        ),
        ("DROP MASK m ON t", objects.DropAttached((None, "t"), "mask", "m")),
        ("DROP CONTROL c ON t", objects.DropAttached((None, "t"), "control", "c")),
        (
            "DROP TRIGGER IF EXISTS m ON t CASCADE",
            objects.DropAttached((None, "t"), "trigger", "m", True),
        ),
    ],
)
def test_a_definition_is_read(text: str, expected: Statement):
    assert without_text(read(text)) == expected
    assert without_text(read(f"  {text} ;; ")) == expected
    assert without_text(read(f"/* a /* b */ */ {text} -- c")) == expected


def test_the_text_is_kept_without_semicolon():
    assert read(" DROP ROLE a ; ").text == "DROP ROLE a"


@pytest.mark.parametrize(
    "text",
    [
        "CREATE USER a PASSWORD 'hunter2' LOGIN",
        "ALTER ROLE a ENCRYPTED PASSWORD 'hunter2'",
        "CREATE USER a PASSWORD $$hunter2$$",
        "CREATE USER a PASSWORD E'hunter2'",
    ],
)
def test_a_password_is_neither_in_the_text_nor_shown(text: str):
    statement = read(text)
    assert statement.password == "hunter2"  # pyright: ignore[reportAttributeAccessIssue]
    assert "hunter2" not in statement.text
    assert "hunter2" not in repr(statement)


# Tables and views


def test_a_table_is_read_with_all_its_constraints():
    found = read(
        """CREATE TABLE IF NOT EXISTS Lab.Visits (
            id INT PRIMARY KEY, Patient bigint NOT NULL REFERENCES patients (id) ON DELETE RESTRICT,
            cost numeric(10, 2) DEFAULT (1 + 2) * 3 CHECK (cost >= 0), at timestamp with time zone
            DEFAULT now() NOT NULL, note varchar(20) DEFAULT 'a, b)' UNIQUE, ok bool DEFAULT NULL NULL,
            CONSTRAINT pairs UNIQUE (patient, at), CONSTRAINT dear CHECK (cost < 100 OR ok),
            FOREIGN KEY (note) REFERENCES notes, w double precision,)"""
    )
    assert isinstance(found, objects.CreateTable)
    assert found.relation == ("lab", "visits")
    assert found.if_not_exists
    assert found.columns == (
        RelationColumn("id", "integer"),
        RelationColumn("patient", "bigint", not_null=True),
        RelationColumn("cost", "numeric(10,2)", default="(1 + 2) * 3"),
        RelationColumn("at", "timestamptz", not_null=True, default="CURRENT_TIMESTAMP"),
        RelationColumn("note", "character varying(20)", default="'a, b)'"),
        RelationColumn("ok", "boolean", default="NULL"),
        RelationColumn("w", "double precision"),
    )
    assert found.primary_key == ("id",)
    assert found.uniques == (("note",), ("patient", "at"))
    assert found.checks == (
        CheckConstraint("cost >= 0"),
        CheckConstraint("cost < 100 OR ok", "dear"),
    )
    targets = [(key.columns, key.target_columns, written) for key, written in found.foreign_keys]
    assert targets == [
        (("patient",), ("id",), (None, "patients")),
        (("note",), (), (None, "notes")),
    ]


@pytest.mark.parametrize(
    ("written", "type_"),
    [
        ("int2", "smallint"),
        ("float", "double precision"),
        ("float(24)", "real"),
        ("float(25)", "double precision"),
        ("decimal(5)", "numeric(5,0)"),
        ("character varying", "character varying"),
        ("timestamp without time zone", "timestamp"),
        ("TIME", "time"),
    ],
)
def test_a_type_has_one_name(written: str, type_: str):
    found = read(f"CREATE TABLE t (a {written})")
    assert isinstance(found, objects.CreateTable)
    assert found.columns == (RelationColumn("a", type_),)


@pytest.mark.parametrize(
    ("written", "code"),
    [
        ("varchar(0)", "22023"),
        ("numeric(39)", "22023"),
        ("numeric(3, 5)", "22023"),
        ("numeric(-1)", "22023"),
        ("float(99)", "22023"),
        ("integer(3)", "0A000"),
        ("timestamp(3) with time zone", "0A000"),
        ("time with time zone", "0A000"),
        ("string", "42704"),
    ],
)
def test_a_type_that_there_is_not_is_refused(written: str, code: str):
    assert sqlstate(f"CREATE TABLE t (a {written})") == code


def test_a_table_is_read_from_a_query():
    found = read("CREATE TABLE t (x, y) AS SELECT a, b FROM s WITH DATA")
    assert isinstance(found, objects.CreateTable)
    assert [column.name for column in found.columns] == ["x", "y"]
    assert found.query is not None
    assert found.query.sql("postgres") == "SELECT a, b FROM s"


@pytest.mark.parametrize(
    "text",
    [
        "CREATE VIEW V AS SELECT Name FROM Employee WHERE dpt = 'CS'",
        "CREATE VIEW V SELECT Name FROM Employee WHERE dpt = 'CS'",
        "CREATE VIEW V WITH (security_barrier) AS SELECT Name FROM Employee WHERE dpt = 'CS'",
    ],
)
def test_a_view_is_read_with_and_without_as(text: str):
    found = read(text)
    assert isinstance(found, objects.CreateView)
    assert found.relation == (None, "v")
    assert found.query.sql("postgres") == "SELECT name FROM employee WHERE dpt = 'CS'"
    assert not found.security_invoker


def test_an_anonymized_view_has_options_after_its_query():
    found = read(
        "CREATE OR REPLACE ANONYMIZED VIEW v AS WITH x AS (SELECT 1 AS a) SELECT a FROM x"
        " WITH (k = 5, l=2, method = mondrian, keep = 'b c', quasi = (a, b))"
    )
    assert isinstance(found, objects.CreateView)
    assert found.anonymized
    assert found.replace
    assert found.options == {
        "k": "5",
        "l": "2",
        "method": "mondrian",
        "keep": "b c",
        "quasi": "a, b",
    }
    assert found.query.sql("postgres") == "WITH x AS (SELECT 1 AS a) SELECT a FROM x"


def test_a_view_may_read_as_the_current_user():
    found = read("CREATE VIEW v (x) WITH (security_invoker = on) AS VALUES (1)")
    assert isinstance(found, objects.CreateView)
    assert found.security_invoker
    assert found.columns == ("x",)


# What is attached


def test_a_policy_is_read():
    found = read(
        "CREATE POLICY p ON t AS RESTRICTIVE FOR UPDATE TO a, CURRENT_USER"
        " USING (Owner = current_user) WITH CHECK (age > (SELECT min(age) FROM u))"
    )
    assert isinstance(found, objects.CreatePolicy)
    policy = found.policy
    assert (policy.permissive, policy.command) == (False, "UPDATE")
    assert policy.roles == ("a", CURRENT_USER)
    assert policy.using == "owner = CURRENT_USER"
    assert policy.check == "age > (SELECT MIN(age) FROM u)"


def test_a_control_is_read():
    text = "CREATE CONTROL c ON lab.t TO clerks, PUBLIC WITH (size = 5, overlap = 10, audit = on)"
    found = read(text)
    assert isinstance(found, objects.CreateControl)
    assert found.relation == ("lab", "t")
    assert found.control == InferenceControl("c", ("clerks", PUBLIC), 5, 10, audit=True)


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ("", "42601"),
        ("WITH (overlap = 3)", "22023"),
        ("WITH (size = 0)", "22023"),
        ("WITH (size = -1)", "22023"),
        ("WITH (size = 1.5)", "22023"),
        ("WITH (size = 5, size = 6)", "42601"),
        ("WITH (size = 5, audit = maybe)", "22023"),
        ("WITH (size = 5, k = 3)", "22023"),
    ],
)
def test_a_control_that_makes_no_sense_is_refused(options: str, expected: str):
    assert sqlstate(f"CREATE CONTROL c ON t TO clerks {options}") == expected


def test_a_mask_is_read():
    found = read("CREATE MASK m ON t (Zip) TO clerks USING (left(zip, 3) || '**')")
    assert isinstance(found, objects.CreateMask)
    assert (found.mask.column, found.mask.roles) == ("zip", ("clerks",))
    assert found.mask.expression == "LEFT(zip, 3) || '**'"


SEED_TRIGGER = """CREATE TRIGGER AgeCheck ON Employee
  AFTER INSERT, UPDATE
  FOR EACH ROW
  BEGIN
    IF NEW.Age >= 150
      BEGIN
        RAISERROR ("Invalid age")
      END
  END
END;"""
OUR_TRIGGER = """CREATE TRIGGER agecheck AFTER INSERT OR UPDATE ON employee
    FOR EACH ROW WHEN (new.age >= 150) RAISE 'Invalid age'"""


def test_the_seeds_trigger_says_what_ours_says():
    assert without_text(read(SEED_TRIGGER)) == without_text(read(OUR_TRIGGER))


def test_a_trigger_of_a_statement_asks_the_table():
    found = read(
        "CREATE TRIGGER one AFTER UPDATE OF title, name OR DELETE ON employee FOR EACH STATEMENT"
        " WHEN ((SELECT count(*) FROM employee WHERE title = 'CEO') > 1) RAISE 'At most one CEO'"
    )
    assert isinstance(found, objects.CreateTrigger)
    trigger = found.trigger
    assert (trigger.timing, trigger.events) == ("AFTER", ("UPDATE", "DELETE"))
    assert (trigger.each, trigger.columns) == ("STATEMENT", ("title", "name"))
    assert trigger.condition == "(SELECT COUNT(*) FROM employee WHERE title = 'CEO') > 1"


def test_declassification_is_read():
    found = read("DECLASSIFY Salary ON s.t FROM 'S {nato}' TO 'C' WHERE name = 'x'")
    assert isinstance(found, objects.Declassify)
    assert (found.relation, found.column) == (("s", "t"), "salary")
    assert (found.source, found.target) == ("S {nato}", "C")
    assert found.condition is not None
    assert found.condition.sql("postgres") == "name = 'x'"


# What cannot be read


@pytest.mark.parametrize(
    "text",
    [
        "CREATE",
        "CREATE ROLE",
        "CREATE ROLE select",
        'CREATE ROLE ""',
        "CREATE ROLE a b",
        "CREATE ROLE a LOGIN NOLOGIN",
        "CREATE ROLE a; DROP ROLE b",
        "CREATE ROLE 'a",
        "GRANT",
        "GRANT SELECT",
        "GRANT SELECT ON t",
        "GRANT SELECT ON t TO",
        "GRANT SELECT ON t TO a,",
        "GRANT SELECT ON t FROM a",
        "GRANT SELECT ON t TO a CASCADE",
        "GRANT FLY ON t TO a",
        "GRANT ALL TO a",
        "GRANT SELECT (a) ON t (b) TO c",
        "GRANT SELECT ON t, u (b) TO c",
        "GRANT a TO b WITH",
        "GRANT a TO b WITH ADMIN",
        "GRANT AGGREGATE ON t TO a WITH BUDGET (DELTA 1)",
        "GRANT AGGREGATE ON t TO a WITH BUDGET (EPSILON 1, EPSILON 2)",
        "REVOKE SELECT ON t TO a",
        "REVOKE a FROM b CASCADE RESTRICT",
        "CREATE TABLE t",
        "CREATE TABLE t (a)",
        "CREATE TABLE t (a integer",
        "CREATE TABLE t (a integer) b",
        "CREATE TABLE t (a integer NOT NULL NULL)",
        "CREATE TABLE t (a integer DEFAULT)",
        "CREATE TABLE t (a integer CHECK ())",
        "CREATE TABLE t (a integer CHECK (1, 2))",
        "CREATE TABLE t (a integer CHECK (a > ))",
        "CREATE VIEW v",
        "CREATE VIEW v AS DROP TABLE t",
        "CREATE ANONYMIZED TABLE t (a integer)",
        "CREATE POLICY p ON t USING true",
        "CREATE MASK m ON t USING (1)",
        "CREATE TRIGGER t AFTER INSERT ON u FOR EACH ROW WHEN (true)",
        "CREATE TRIGGER t AFTER INSERT OR INSERT ON u RAISE 'x'",
        "CREATE TRIGGER t AFTER ON u RAISE 'x'",
        "SECURITY LABEL ON ROLE a",
        "SECURITY LABEL ON TABLE t IS cells",
        "DECLASSIFY a ON t FROM 'S' WHERE b",
        "ALTER TABLE t",
        "ALTER TABLE t OWNER x",
        "DROP POLICY p",
        "CREATE EXCLUSION e (a, b)",
        "CREATE BANANA b",
    ],
)
def test_what_is_no_sentence_is_a_syntax_error(text: str):
    assert sqlstate(text) == "42601"


@pytest.mark.parametrize(
    "text",
    [
        "CREATE TABLE t AS DELETE FROM u",
        "CREATE VIEW v AS INSERT INTO t VALUES (1)",
        "CREATE FUNCTION f() RETURNS int AS 'x' LANGUAGE sql",
        "CREATE OR REPLACE FUNCTION f() RETURNS int AS 'x' LANGUAGE sql",
        "CREATE OR REPLACE TRIGGER t AFTER INSERT ON u RAISE 'x'",
        "CREATE TRIGGER t AFTER INSERT ON u EXECUTE FUNCTION f()",
        "CREATE TRIGGER t INSTEAD OF INSERT ON u RAISE 'x'",
        "CREATE TRIGGER t AFTER TRUNCATE ON u RAISE 'x'",
        "CREATE TEMP VIEW v AS SELECT 1 AS a",
        "CREATE MATERIALIZED VIEW v AS SELECT 1",
        "CREATE TABLE t (a integer) INHERITS (u)",
        "CREATE TABLE t (LIKE u)",
        "CREATE TABLE t (a integer GENERATED ALWAYS AS (1) STORED)",
        "CREATE TABLE t (a integer[][])",
        "CREATE TABLE t (a char(3))",
        "CREATE TABLE t (a integer UNIQUE DEFERRABLE)",
        "CREATE TABLE t AS SELECT 1 WITH NO DATA",
        "CREATE VIEW v WITH (security_barrier = false) AS SELECT 1 AS a",
        "CREATE ANONYMIZED VIEW v WITH (security_invoker) AS SELECT 1 AS a",
        "ALTER TABLE t ATTACH PARTITION u DEFAULT",
        "ALTER TABLE t ALTER COLUMN a SET STATISTICS 5",
        "ALTER VIEW v SET (security_barrier = false)",
        "ALTER ROLE a SET search_path = b",
        "ALTER ROLE ALL NOLOGIN",
        "ALTER DEFAULT PRIVILEGES GRANT SELECT ON TABLES TO a",
        "ALTER SYSTEM SET x = 1",
        "CREATE ROLE a UNENCRYPTED",
        "GRANT EXECUTE ON FUNCTION f TO a",
        "GRANT EXECUTE ON ALL FUNCTIONS IN SCHEMA s TO a",
        "GRANT SELECT ON a.b.c TO d",
        "DROP OWNED BY a",
        "REASSIGN OWNED BY a TO b",
        "CREATE SCHEMA s CREATE TABLE t (a integer)",
        "SECURITY LABEL ON COLUMN t.a IS 'S'",
    ],
)
def test_an_unsupported_definition_is_reported_as_such(text: str):
    assert sqlstate(text) in ("0A000", "0LP01")


def test_options_of_anonymized_views_need_an_anonymized_view():
    assert sqlstate("CREATE VIEW v AS SELECT 1 AS a WITH (k = 5)") == "22023"


@pytest.mark.parametrize("event", ["INSERT", "UPDATE OR INSERT"])
def test_there_is_no_old_row_of_an_insert(event: str):
    text = f"CREATE TRIGGER t AFTER {event} ON u FOR EACH ROW WHEN (old.a > 1) RAISE 'x'"
    assert sqlstate(text) == "42P17"


def test_there_is_no_row_of_a_statement():
    text = "CREATE TRIGGER t AFTER UPDATE ON u FOR EACH STATEMENT WHEN (new.a > 1) RAISE 'x'"
    assert sqlstate(text) == "42P17"


WORDS = st.sampled_from(
    [
        "CREATE",
        "ALTER",
        "DROP",
        "GRANT",
        "REVOKE",
        "ROLE",
        "USER",
        "TABLE",
        "VIEW",
        "POLICY",
        "MASK",
        "TRIGGER",
        "SCHEMA",
        "ON",
        "TO",
        "FROM",
        "WITH",
        "OPTION",
        "FOR",
        "(",
        ")",
        ",",
        ".",
        ";",
        "=",
        "a",
        '"B"',
        "'text'",
        "12",
        "1.5",
        "AS",
        "SELECT",
        "ALL",
        "PRIVILEGES",
        "integer",
        "NOT",
        "NULL",
        "DEFAULT",
        "CHECK",
        "PRIMARY",
        "KEY",
        "REFERENCES",
        "USING",
        "EACH",
        "ROW",
        "WHEN",
        "RAISE",
        "BEFORE",
        "INSERT",
        "OR",
        "UPDATE",
        "SECURITY",
        "LABEL",
        "IS",
        "DECLASSIFY",
        "ANONYMIZED",
        "BUDGET",
        "EPSILON",
        "PUBLIC",
        "CASCADE",
        "GRANTED",
        "BY",
        "CURRENT_USER",
        "--",
        "/*",
        "$$",
        "'",
        '"',
        "[",
        "]",
    ]
)


@given(st.lists(WORDS, max_size=14).map(" ".join))
def test_whatever_is_written_gives_a_statement_none_or_a_failure(text: str):
    try:
        found = parse_definition(text)
    except StatementFailed:
        return
    assert found is None or isinstance(found, Statement)


@given(st.text(max_size=40))
def test_whatever_characters_are_written_nothing_else_is_raised(text: str):
    for written in (text, f"GRANT {text}", f"CREATE TABLE t ({text})", f"CREATE VIEW v AS {text}"):
        try:
            parse_definition(written)
        except StatementFailed:
            continue


@given(st.text(min_size=1, max_size=12).filter(lambda name: "\0" not in name))
def test_a_quoted_name_is_kept_as_it_is(name: str):
    written = '"' + name.replace('"', '""') + '"'
    found = read(f"CREATE ROLE {written}")
    assert isinstance(found, rights.CreateRole)
    assert found.names == (name,)


@pytest.mark.parametrize(
    ("epsilon", "sqlstate"),
    [
        *(("0", "22023"), ("-1", "22023"), ("0e5", "22023"), ("NaN", "42601")),
        *(("Infinity", "42601"), ("1e400", "22003"), ("1e-99999999", "22003")),
    ],
)
def test_a_budget_has_an_epsilon_that_is_finite_and_above_0(epsilon: str, sqlstate: str):
    with pytest.raises(StatementFailed) as found:
        parse_definition(f"GRANT AGGREGATE ON t TO a WITH BUDGET (EPSILON {epsilon})")
    assert found.value.sqlstate == sqlstate
