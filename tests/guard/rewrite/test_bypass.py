"""Ways around rights that were tried on others, and what they come to here."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.guard.rewrite.world import OnDuckDB

# Everything that bob may not see of the world: salaries, and notes of others.
SECRETS = ("120.5", "80.0", "300.0", "95.25", "secret", "shut", "hello", "eve", "2019-07-30")

DENIED = """
SELECT * FROM emp
SELECT emp.* FROM emp
SELECT e.* FROM emp e
SELECT emp FROM emp
SELECT e FROM emp e
SELECT count(e) FROM emp e
SELECT sal FROM EMP
SELECT SAL FROM emp
SELECT "sal" FROM "emp"
SELECT sal FROM public.emp
SELECT public.emp.sal FROM public.emp
SELECT /* name */ sal FROM emp
SELECT name FROM emp UNION SELECT sal::text FROM emp
SELECT name FROM emp EXCEPT SELECT name FROM emp WHERE sal > 100
SELECT name FROM emp INTERSECT SELECT name FROM emp WHERE sal > 100
WITH emp AS (SELECT * FROM emp) SELECT name FROM emp
WITH x AS (SELECT sal FROM emp) SELECT * FROM x
WITH x AS (WITH y AS (SELECT sal FROM emp) SELECT * FROM y) SELECT * FROM x
SELECT x.s FROM (SELECT sal AS s FROM emp) x
SELECT (SELECT max(sal) FROM emp)
SELECT name FROM emp WHERE (SELECT max(sal) FROM emp) > 1
SELECT name FROM emp e WHERE EXISTS (SELECT 1 FROM dep WHERE e.sal > budget)
SELECT name FROM emp e WHERE EXISTS (SELECT 1 FROM dep WHERE e.id = boss)
SELECT dept FROM dep WHERE EXISTS (SELECT 1 FROM emp WHERE sal > 200)
SELECT name FROM emp ORDER BY sal
SELECT name FROM emp ORDER BY (SELECT max(boss) FROM dep WHERE dep.dept = emp.dept)
SELECT dept FROM emp GROUP BY dept HAVING sum(sal) > 100
SELECT dept FROM emp GROUP BY dept, sal
SELECT name, row_number() OVER (ORDER BY sal) FROM emp
SELECT name, lag(sal) OVER () FROM emp
SELECT count(*) FILTER (WHERE sal > 100) FROM emp
SELECT percentile_cont(0.5) WITHIN GROUP (ORDER BY sal) FROM emp
SELECT max(name ORDER BY sal) FROM emp
SELECT DISTINCT ON (sal) name FROM emp
SELECT a.name FROM emp a JOIN emp b USING (sal)
SELECT a.name FROM emp a NATURAL JOIN emp b
SELECT a.name FROM emp a JOIN emp b ON a.sal = b.sal
SELECT e.name FROM emp e, LATERAL (SELECT e.sal) l
SELECT e.name FROM emp e, LATERAL (SELECT 1 WHERE e.sal > 100) l
SELECT name FROM emp WHERE CASE WHEN sal > 100 THEN 1 / 0 END IS NULL
SELECT name FROM emp WHERE coalesce(sal, 0) > 100
SELECT name FROM emp WHERE (name, sal) = ('Ann', 120.50)
SELECT name FROM emp WHERE sal IN (SELECT sal FROM emp)
SELECT name FROM emp WHERE sal BETWEEN 100 AND 200
SELECT y FROM emp AS x (a, b, y, c, d)
SELECT budget FROM dep
SELECT array_agg(sal) FROM emp
SELECT array_agg(name ORDER BY sal) FROM emp
SELECT string_agg(sal::text, ',') FROM emp
SELECT array_agg(name) FILTER (WHERE sal > 100) FROM emp
SELECT name FROM emp WHERE sal = ANY (ARRAY[120.50])
SELECT name FROM emp WHERE 120.50 = ANY (ARRAY[sal])
SELECT name FROM emp WHERE id = ANY ('{1}')
SELECT (ARRAY[name, sal::text])[2] FROM emp
SELECT regexp_replace(name, sal::text, '') FROM emp
SELECT to_char(hired, 'YYYY') FROM emp
SELECT dept FROM dep WHERE boss = 1
INSERT INTO emp (id, name) VALUES (9, 'x')
INSERT INTO note (id, body) SELECT 100, sal::text FROM emp
UPDATE emp SET name = 'x'
UPDATE note SET body = (SELECT max(sal)::text FROM emp)
DELETE FROM emp
DELETE FROM note WHERE (SELECT max(sal) FROM emp) > 100
UPDATE note SET body = e.sal::text FROM emp e
UPDATE note SET body = 'x' FROM emp e WHERE e.sal > 100
DELETE FROM note USING emp WHERE sal > 100
WITH x AS (SELECT sal FROM emp) UPDATE note SET body = 'x' FROM x WHERE x.sal > 1
DELETE FROM note RETURNING (SELECT max(sal) FROM emp)
UPDATE note SET body = 'x' RETURNING (SELECT budget FROM dep LIMIT 1)
INSERT INTO note (id) VALUES (100) RETURNING (SELECT max(sal) FROM emp)
TABLE emp
UPDATE chain SET name = 'x'
INSERT INTO rich VALUES ('x', 1)
DELETE FROM rich
UPDATE plain SET who = 'x'
SELECT name FROM emp FOR UPDATE
SELECT e.name FROM emp e JOIN note n ON n.author = e.name FOR SHARE
SELECT u FROM emp e, unnest(ARRAY[e.sal]) u
SELECT name FROM emp, LATERAL generate_series(1, sal::int)
"""

REFUSED = """
SELECT (emp).sal FROM emp
SELECT (e).* FROM emp e
SELECT row_to_json(emp) FROM emp
SELECT emp::text FROM emp
SELECT x FROM (SELECT name FROM emp) x
SELECT ROW(emp.*) FROM emp
SELECT array_agg(emp) FROM emp
SELECT array_agg(ARRAY[name]) FROM emp
SELECT ARRAY(SELECT name FROM emp)
SELECT ARRAY[ARRAY[1]]
SELECT ('{1,2}'::int[])[id] FROM emp
SELECT name FROM emp WHERE name LIKE ANY (ARRAY['A%'])
SELECT string_agg(name, name) FROM emp
SELECT concat(ARRAY[name]) FROM emp
SELECT ARRAY[name]::text FROM emp
SELECT string_to_array(name, 'n')::int[] FROM emp
SELECT to_char(hired, 'Month') FROM emp
SELECT to_char(id, '999') FROM emp
SELECT any(ARRAY[1])
SELECT '{"a": 1}'::json -> name FROM emp
SELECT '{"a": 1}'::json ->> '*'
SELECT '{"a": 1}'::json #>> '{a}'
SELECT from_json('[1]', '["INT"]')
SELECT list_contains(ARRAY[1], 1)
SELECT repeat(name, 1000000000) FROM emp
SELECT lpad(name, 1000000000) FROM emp
SELECT lpad(name, length(name)) FROM emp
SELECT * FROM read_csv('/etc/passwd')
SELECT * FROM read_blob('guarded.db')
SELECT * FROM read_text('/etc/passwd')
SELECT * FROM '/etc/passwd'
SELECT * FROM "/etc/passwd"
SELECT * FROM glob('*')
SELECT * FROM query('SELECT sal FROM emp')
SELECT * FROM query_table('emp')
SELECT * FROM duckdb_settings()
SELECT * FROM duckdb_tables()
SELECT * FROM duckdb_secrets()
SELECT * FROM pragma_table_info('emp')
SELECT * FROM pg_read_file('/etc/passwd')
SELECT pg_read_file('/etc/passwd')
SELECT pg_read_binary_file('x')
SELECT pg_ls_dir('/')
SELECT lo_import('/etc/passwd')
SELECT lo_get(1)
SELECT dblink('x', 'SELECT 1')
SELECT pg_sleep(10)
SELECT set_config('discreet.clearance', 'TS', false)
SELECT getenv('HOME')
SELECT current_setting('data_directory')
SELECT query_to_xml('SELECT sal FROM emp', true, true, '')
SELECT table_to_xml('emp', true, true, '')
SELECT database_to_xml(true, true, '')
SELECT pg_get_viewdef('rich')
SELECT nextval('s')
SELECT txid_current()
SELECT version()
SELECT random()
SELECT * FROM range(1000000000)
SELECT * FROM generate_series(1, 10, id) FROM emp
SELECT upper(unnest(ARRAY['a']))
SELECT DISTINCT unnest(ARRAY[1, 1])
SELECT count(*), unnest(ARRAY[1]) FROM emp
SELECT * FROM unnest(ARRAY[1]) WITH ORDINALITY
SELECT * FROM ROWS FROM (unnest(ARRAY[1]))
SELECT * FROM json_to_recordset('[]')
SELECT * FROM emp, LATERAL read_text(emp.name)
SELECT error('x')
SELECT list_transform([1], x -> x)
SELECT name FROM emp TABLESAMPLE BERNOULLI (50)
SELECT name FROM (SELECT name FROM emp) x FOR UPDATE
SELECT count(*) FROM emp FOR UPDATE
SELECT DISTINCT name FROM emp FOR SHARE
SELECT name FROM emp UNION SELECT name FROM emp FOR UPDATE
SELECT name FROM chain FOR UPDATE
SELECT name FROM emp FOR UPDATE SKIP LOCKED
SELECT name INTO copied FROM emp
SELECT name FROM ONLY other.public.emp
SELECT name FROM guarded.public.emp
WITH RECURSIVE r AS (SELECT 1 UNION ALL SELECT 1 FROM r) SELECT * FROM r
WITH x AS (DELETE FROM note RETURNING *) SELECT * FROM x
WITH x AS (INSERT INTO note (id) VALUES (9) RETURNING *) SELECT * FROM x
SELECT * EXCLUDE (name) FROM emp
SELECT * REPLACE (1 AS name) FROM emp
SELECT COLUMNS('sal') FROM emp
SELECT name FROM emp QUALIFY row_number() OVER () = 1
PIVOT emp ON dept USING count(*)
SELECT name FROM emp ASOF JOIN dep USING (dept)
UPDATE note SET body = d.dept FROM dep d RETURNING *
DELETE FROM note USING dep RETURNING *
UPDATE note SET body = 'x' FROM dep d RIGHT JOIN emp e USING (dept)
WITH x AS (DELETE FROM dep RETURNING dept) UPDATE note SET body = dept FROM x
UPDATE note SET body = x FROM read_text('/etc/passwd') x
MERGE INTO note USING dep ON true WHEN MATCHED THEN DELETE
SELECT ctid FROM emp
SELECT tableoid FROM emp
SELECT rowid FROM emp
SELECT name FROM pg_catalog.pg_class
SELECT * FROM information_schema.tables
SELECT * FROM sqlite_master
SELECT 'emp'::regclass
SELECT name FROM emp WHERE name ~ ANY (ARRAY['a'])
SELECT EXISTS (DELETE FROM note)
SELECT 1; SELECT 2
SELECT pg_catalog.lower('A')
UPDATE counted SET n = 1
"""


def lines(text: str) -> list[str]:
    return [line for line in text.split("\n") if line]


@pytest.mark.parametrize("sql", lines(DENIED))
def test_it_is_denied(on_duckdb: OnDuckDB, sql: str):
    assert on_duckdb.ask("bob", sql).sqlstate == "42501"


@pytest.mark.parametrize("sql", lines(REFUSED))
@pytest.mark.parametrize("who", ["ann", "owner"])
def test_it_is_refused_whatever_the_rights(on_duckdb: OnDuckDB, sql: str, who: str):
    try:
        found = on_duckdb.ask(who, sql)
    except ValueError:  # two statements, where one was expected
        return
    assert found.sqlstate in {
        "0A000",
        "42601",
        "42883",
        "42P01",
        "42703",
        "55000",
        "42704",
        "42809",
    }


def test_no_secret_shows_in_what_bob_may_ask(on_duckdb: OnDuckDB):
    asked = [
        "SELECT name, dept FROM emp",
        "SELECT * FROM note",
        "SELECT n.*, m.* FROM note n CROSS JOIN note m",
        "SELECT max(body), min(author) FROM note",
        "SELECT body FROM note ORDER BY mark DESC",
        "WITH note AS (SELECT body FROM note) SELECT * FROM note",
        "SELECT (SELECT max(body) FROM note x WHERE x.id >= n.id) FROM note n",
        "UPDATE note SET mark = mark RETURNING *",
        "DELETE FROM note RETURNING body",
    ]
    shown = " ".join(str(on_duckdb.ask("bob", sql).rows) for sql in asked)
    assert [secret for secret in SECRETS if secret in shown.replace("shared", "")] == []


def test_text_that_doubles_again_and_again_is_refused_before_it_runs(on_duckdb: OnDuckDB):
    steps = ["a AS (SELECT name AS s FROM emp)"]
    steps += [
        f"{after} AS (SELECT s || s || s || s AS s FROM {before})"
        for before, after in zip("abcdefghijkl", "bcdefghijklm", strict=True)
    ]
    assert on_duckdb.ask("ann", f"WITH {', '.join(steps)} SELECT s FROM m").sqlstate == "54000"
    assert on_duckdb.ask("ann", "SELECT replace(name, '', name) FROM emp").is_fine
    grown = "replace(replace(replace(name, 'a', name), 'a', name), 'a', name)"
    assert on_duckdb.ask("ann", f"SELECT {grown} FROM emp").sqlstate == "54000"


@pytest.mark.parametrize(
    "text", ["it's", 'a"b', "a\\'b", "\\", "--", "/*", "$1", ";", "\n\t", "é’", "%s"]
)
def test_a_text_stays_a_text(on_duckdb: OnDuckDB, text: str):
    written = text.replace("'", "''")
    assert on_duckdb.ask("ann", f"SELECT '{written}' = $1 AS same", [text]).rows == ((True,),)
    quoted = text.replace('"', '""')
    assert on_duckdb.ask("ann", f'SELECT 1 AS "{quoted}" FROM emp LIMIT 1').is_fine
