"""Texts of clients become the statements they are, and nothing else."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from sqlglot import exp

from discreet.errors import StatementFailed
from discreet.guard.statements import statement as kinds
from discreet.guard.statements.objects import CreateView
from discreet.guard.statements.parse import parse_statements
from discreet.guard.statements.rights import Grant

if TYPE_CHECKING:
    from discreet.guard.statements.statement import Statement


def one(text: str) -> Statement:
    (found,) = parse_statements(text)
    return found


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("BEGIN", kinds.Begin()),
        ("begin work", kinds.Begin()),
        ("BEGIN ISOLATION LEVEL SERIALIZABLE READ ONLY", kinds.Begin(read_only=True)),
        ("START TRANSACTION READ WRITE, NOT DEFERRABLE", kinds.Begin(read_only=False)),
        ("COMMIT", kinds.Commit()),
        ("END TRANSACTION AND NO CHAIN", kinds.Commit()),
        ("ROLLBACK", kinds.Rollback()),
        ("ABORT", kinds.Rollback()),
        ('SAVEPOINT "A b"', kinds.Savepoint("A b")),
        ("SAVEPOINT A", kinds.Savepoint("a")),
        ("RELEASE SAVEPOINT a", kinds.ReleaseSavepoint("a")),
        ("ROLLBACK TRANSACTION TO SAVEPOINT a", kinds.RollbackTo("a")),
        ("SET x TO y", kinds.SetVariable("x", "y")),
        ("SET SESSION DateStyle = 'ISO, DMY'", kinds.SetVariable("datestyle", "ISO, DMY")),
        ("SET search_path = a, public", kinds.SetVariable("search_path", "a, public")),
        ("SET extra_float_digits = -1", kinds.SetVariable("extra_float_digits", "-1")),
        ("SET LOCAL discreet.clearance = 'C'", kinds.SetVariable("discreet.clearance", "C", True)),
        ("SET x TO DEFAULT", kinds.SetVariable("x", None)),
        ("SET TIME ZONE 'UTC'", kinds.SetVariable("timezone", "UTC")),
        ("SET TIME ZONE LOCAL", kinds.SetVariable("timezone", None)),
        ("SET NAMES 'utf8'", kinds.SetVariable("client_encoding", "utf8")),
        (
            "SET SESSION CHARACTERISTICS AS TRANSACTION ISOLATION LEVEL READ COMMITTED",
            kinds.SetVariable("default_transaction_isolation", "read committed"),
        ),
        (
            "SET TRANSACTION READ ONLY",
            kinds.SetVariable("transaction_read_only", "on", local=True),
        ),
        ("SET ROLE bob", kinds.SetRole("bob")),
        ("SET ROLE 'Bob'", kinds.SetRole("Bob")),
        ("SET role TO bob", kinds.SetRole("bob")),
        ("SET LOCAL ROLE NONE", kinds.SetRole(None, local=True)),
        ("RESET ROLE", kinds.SetRole(None)),
        ("RESET ALL", kinds.SetVariable("all", None)),
        ("RESET x", kinds.SetVariable("x", None)),
        ("SHOW search_path", kinds.Show("search_path")),
        ("SHOW TRANSACTION ISOLATION LEVEL", kinds.Show("transaction_isolation")),
        ("SHOW TIME ZONE", kinds.Show("timezone")),
        ("SHOW ALL", kinds.Show("all")),
        ("DISCARD ALL", kinds.Discard("discard all")),
        ("DEALLOCATE PREPARE x", kinds.Discard("deallocate x")),
        ("DEALLOCATE ALL", kinds.Discard("deallocate all")),
        ("UNLISTEN *", kinds.Discard("unlisten *")),
        ("FETCH FORWARD 5 FROM c", kinds.Fetch("c", 5)),
        ("FETCH c", kinds.Fetch("c")),
        ("FETCH NEXT IN c", kinds.Fetch("c")),
        ("FETCH ALL FROM c", kinds.Fetch("c", None)),
        ("MOVE 3 FROM c", kinds.Fetch("c", 3, move=True)),
        ("CLOSE c", kinds.CloseCursor("c")),
        ("CLOSE ALL", kinds.CloseCursor(None)),
        ("TRUNCATE TABLE a, s.b", kinds.Truncate(((None, "a"), ("s", "b")))),
        ("EXECUTE p", kinds.Execute("p")),
    ],
)
def test_what_sessions_send_is_read(text: str, expected: Statement):
    found = one(text)
    assert found.text == text
    assert type(found) is type(expected)
    assert {**vars(found), "text": ""} == vars(expected)


def test_queries_and_writes_are_trees():
    for text in (
        "SELECT 1",
        "VALUES (1), (2)",
        "TABLE t",
        "WITH x AS (SELECT 1) SELECT 2",
        "(SELECT 1)",
    ):
        found = one(text)
        assert isinstance(found, kinds.Query)
        assert isinstance(found.tree, exp.Query)
    for text in ("INSERT INTO t VALUES (1)", "UPDATE t SET a = 1", "DELETE FROM t"):
        assert isinstance(one(text), kinds.Write)
    assert isinstance(one("WITH x AS (SELECT 1) INSERT INTO t SELECT * FROM x"), kinds.Write)


def test_definitions_are_read_by_their_own_reader():
    assert isinstance(one("GRANT SELECT ON t TO bob"), Grant)
    assert isinstance(one("CREATE VIEW v AS SELECT 1"), CreateView)


def test_statements_hold_others():
    found = one("PREPARE p (int, numeric(10, 2)) AS SELECT $1 + $2")
    assert isinstance(found, kinds.Prepare)
    assert found.types == ("int", "numeric(10, 2)")
    found = one("EXPLAIN PRIVACY SELECT 1")
    assert isinstance(found, kinds.Explain)
    assert found.privacy
    found = one("DECLARE c NO SCROLL CURSOR WITH HOLD FOR SELECT ';'")
    assert isinstance(found, kinds.DeclareCursor)
    assert (found.name, found.hold) == ("c", True)
    found = one("EXECUTE p (1, 'a;b', NULL, -5)")
    assert isinstance(found, kinds.Execute)
    assert len(found.arguments) == 4


def test_copy_goes_to_the_client_only():
    found = one("COPY (SELECT 1) TO STDOUT WITH (FORMAT csv, HEADER, DELIMITER ';', NULL '')")
    assert isinstance(found, kinds.CopyOut)
    assert (found.format, found.header, found.delimiter, found.null) == ("csv", True, ";", "")
    found = one('COPY s.t (a, "B") TO STDOUT CSV HEADER')
    assert isinstance(found, kinds.CopyOut)
    assert found.query.sql() == 'SELECT "a", "B" FROM "s"."t"'
    for text in (
        "COPY t TO '/tmp/x'",
        "COPY t TO PROGRAM 'sh'",
        "COPY t FROM 'x'",
    ):
        with pytest.raises(StatementFailed) as caught:
            parse_statements(text)
        assert caught.value.sqlstate == "0A000"


@pytest.mark.parametrize(
    ("text", "sqlstate"),
    [
        ("foo bar", "42601"),
        ("SELECT * FROM", "42601"),
        ("SELECT 'a", "42601"),
        ('"select" 1', "42601"),
        ("FROM t", "42601"),
        ("SUMMARIZE t", "42601"),
        ("BEGIN nonsense", "42601"),
        ("COMMIT PREPARED 'x'", "0A000"),
        ("FETCH PRIOR FROM c", "0A000"),
        ("FETCH -1 FROM c", "0A000"),
        ("EXPLAIN ANALYZE SELECT 1", "0A000"),
        ("EXPLAIN (ANALYZE) SELECT 1", "0A000"),
        ("EXPLAIN DROP TABLE t", "0A000"),
        ("PREPARE p AS DROP TABLE t", "0A000"),
        ("DECLARE c CURSOR FOR DELETE FROM t", "0A000"),
        ("MERGE INTO t USING u ON true WHEN MATCHED THEN DELETE", "0A000"),
        ("ATTACH 'x.db' AS y", "0A000"),
        ("INSTALL httpfs", "0A000"),
        ("PRAGMA database_list", "0A000"),
        ("LOAD 'x'", "0A000"),
        ("DO $$ BEGIN END $$", "0A000"),
        ("CALL f()", "0A000"),
        ("LISTEN x", "0A000"),
        ("VACUUM", "0A000"),
        ("TRUNCATE a CASCADE", "0A000"),
        ("SELECT 1" + " + 1" * 300, "54001"),
        ("SELECT " + "(" * 150 + "1" + ")" * 150, "54001"),
        ("SELECT " + "NOT " * 5000 + "true", "54001"),
        pytest.param("SELECT '" + "x" * 4_000_001 + "'", "54000", id="long"),
        ("SELECT 1;" * 1500, "54000"),
        ("SELECT '\0'", "22021"),
    ],
)
def test_everything_else_is_refused(text: str, sqlstate: str):
    with pytest.raises(StatementFailed) as caught:
        parse_statements(text)
    assert caught.value.sqlstate == sqlstate


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", []),
        (" ; ;; ", []),
        ("-- nothing\n/* at all */", []),
        ("SELECT ';' ; SELECT 2;", ["SELECT ';'", "SELECT 2"]),
        ("SELECT $$;$$; SELECT $x$ ; $$ ; $x$", ["SELECT $$;$$", "SELECT $x$ ; $$ ; $x$"]),
        ("SELECT /* ; /* ; */ ; */ 1; SELECT 2 -- ;", ["SELECT /* ; /* ; */ ; */ 1", "SELECT 2"]),
        ("SELECT E'\\';'; SELECT \"a;b\"", ["SELECT E'\\';'", 'SELECT "a;b"']),
        ("FETCH 1 FROM \"a;b\"; EXECUTE p(';')", ['FETCH 1 FROM "a;b"', "EXECUTE p(';')"]),
    ],
)
def test_semicolons_in_quotes_and_comments_end_nothing(text: str, expected: list[str]):
    assert [found.text for found in parse_statements(text)] == expected


@pytest.mark.parametrize(
    "text",
    [
        "SELECT $1,$2",
        "SELECT $1::int,$2::int",
        "SELECT ($1)+$2",
        "SELECT $1,'$1,$2',$2",
        "SELECT $1||E'\\'$1,'||$2",
        "SELECT $1/*$1,/*$2*/ */,$2--$1,$2",
        "SELECT $1,$a$ $1,$2 '$a$,$2",
        'SELECT $1 AS "$1,$2",$2',
        "SELECT $1,a$1$b,$2",
    ],
)
def test_parameters_without_blanks_between_them_are_parameters(text: str):
    found = one(text)
    assert isinstance(found, kinds.Query)
    assert sorted(node.name for node in found.tree.find_all(exp.Parameter)) == ["1", "2"]


@pytest.mark.parametrize(
    "text", ["SELECT '$1,$2', $1", "SELECT $a$$1,$2$a$, $1", "SELECT $$$1,$2$$, $1"]
)
def test_quoted_dollars_stay_as_they_are(text: str):
    found = one(text)
    assert isinstance(found, kinds.Query)
    assert found.tree.expressions[0].name == "$1,$2"


@pytest.mark.parametrize("text", ["SELECT $1,'$2", "SELECT $1,$a$ $2", "SELECT $1,/* $2"])
def test_parameters_close_no_quote(text: str):
    with pytest.raises(StatementFailed) as failed:
        parse_statements(text)
    assert failed.value.sqlstate == "42601"
