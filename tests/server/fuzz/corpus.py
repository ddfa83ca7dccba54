"""What mutants are made of: valid and hostile statements, and pieces of them."""

TABLES = (
    "staff", "notes", "cards", "secrets", "missions", "rich", "dark", "public.staff",
    "public.secrets", "guarded.public.staff", "pg_catalog.pg_class", "pg_class", "pg_attribute",
    "pg_stats", "pg_stat_activity", "pg_roles", "pg_authid", "pg_policies", "pg_views",
    "information_schema.columns", "information_schema.tables", "information_schema.views",
    "duckdb_tables", "sqlite_master", "nothing", "mine", "w", "x",
)  # fmt: skip
COLUMNS = (
    "id", "name", "dept", "salary", "born", "code", "author", "body", "amount", "at", "holder",
    "number", "lim", "word", "ship", "goal", "cost", "goal_label", "cost_label", "ship_label", "tc",
    "rowid", "ctid", "oid", "xmin", "tableoid", "x", "w", "relname", "column_name",
)  # fmt: skip
FUNCTIONS = (
    "upper", "lower", "length", "md5", "reverse", "left", "right", "substring", "replace", "max",
    "min", "sum", "avg", "count", "string_agg", "array_agg", "coalesce", "nullif", "concat", "abs",
    "round", "row_number", "rank", "lag", "first_value", "to_char", "date_trunc", "random", "now",
    "error", "getenv", "current_setting", "set_config", "pg_read_file", "read_csv", "read_text",
    "query", "query_table", "duckdb_settings", "pg_get_viewdef", "pg_sleep", "lo_import", "dblink",
    "generate_series", "unnest", "json_build_object", "row_to_json", "to_json", "hash", "histogram",
    "list", "has_table_privilege", "pg_get_constraintdef", "regexp_replace", "ascii", "chr",
    "percentile_cont", "median", "mode", "approx_quantile", "any_value", "arg_max", "stddev", "bool_or",
    "discreet_unlock", "nextval", "currval", "txid_current", "version", "pg_relation_size",
)  # fmt: skip
USUAL = 22  # functions that are mostly allowed
# What each user may see: most statements about anything else end at once.
OWN = {
    "clerk": (("staff",), ("id", "name", "dept")),
    "nurse": (("notes",), ("id", "author", "body", "amount", "at")),
    "teller": (("cards",), ("id", "holder", "number", "lim")),
    "viewer": (("rich",), ("name", "dept")),
    "analyst": (("staff",), ("id", "dept", "salary", "born")),
    "spy": (("missions",), ("ship", "goal", "cost", "tc", "goal_label")),
    "builder": (("staff",), ("id",)),
}
TYPES = ("integer", "text", "date", "numeric(3,1)", "boolean", "timestamp", "bigint", "smallint")

EXPRESSIONS = """
(SELECT max(salary) FROM staff)
(SELECT code FROM staff WHERE id = 3)
(SELECT word FROM secrets LIMIT 1)
(SELECT goal FROM missions ORDER BY cost DESC LIMIT 1)
(SELECT number FROM cards WHERE id = 1)
(SELECT string_agg(body, ',') FROM notes)
EXISTS (SELECT 1 FROM secrets WHERE word LIKE 'q%')
CAST(code AS integer)
CAST(name AS date)
CAST(body AS integer)
CAST(goal AS numeric)
CAST(number AS integer) > 0
1 / (salary - salary)
1 / (amount - 1)
CASE WHEN salary > 1500000000 THEN 1 / 0 ELSE 1 END
CASE WHEN body LIKE 'w%' THEN CAST(body AS integer) ELSE 0 END
to_char(born, 'YYYY-MM-DD')
row_number() OVER (ORDER BY salary)
max(name) OVER (PARTITION BY dept ORDER BY salary)
lag(body) OVER (ORDER BY id)
count(*) FILTER (WHERE salary > 1)
id IN (SELECT id FROM secrets)
name = ANY (SELECT code FROM staff)
(name, code) = ('a', 'b')
ROW(id, code)
staff.*
notes
s
ARRAY[name, code]
name || code || word
salary + 0
substring(code, 1, 9)
reverse(word)
md5(code)
$1
CAST($1 AS text)
$2
current_user
current_setting('discreet.clearance')
id BETWEEN 1 AND (SELECT max(id) FROM staff)
regexp_replace(body, '(.)', '\\1')
coalesce(NULL, code)
least(name, code)
name COLLATE "C"
extract(year FROM born)
'2020-01-01'::date + 5
x.y.z
NOT salary IS NULL
name LIKE code
length(code) > 3
"""

QUERIES = """
SELECT * FROM staff
SELECT id, name FROM staff WHERE dept = 'it'
SELECT name, dept FROM staff ORDER BY salary
SELECT dept, count(*) FROM staff GROUP BY dept
SELECT dept, avg(salary), max(born) FROM staff GROUP BY dept HAVING count(*) > 3
SELECT count(*) AS n FROM staff
SELECT sum(salary) AS total, min(salary) AS low FROM staff WHERE dept = 'hr'
SELECT dept, count(*), sum(salary) FROM staff WHERE salary > 1500000000 GROUP BY dept
SELECT count(DISTINCT dept) AS n, avg(salary) AS mean, stddev(salary) AS spread FROM staff
SELECT percentile_cont(0.5) WITHIN GROUP (ORDER BY salary) AS middle FROM staff
SELECT max(salary) AS most FROM staff
SELECT born, count(*) FROM staff GROUP BY born
SELECT extract(year FROM born) AS y, count(*) AS n FROM staff GROUP BY 1 ORDER BY n DESC
SELECT name FROM staff WHERE salary > 1500000000
SELECT * FROM notes
SELECT body, amount FROM notes WHERE CAST(body AS integer) > 0
SELECT author, count(*) FROM notes GROUP BY author
SELECT n.body, m.body FROM notes AS n JOIN notes AS m ON n.id = m.id + 1
SELECT n.body FROM notes AS n LEFT JOIN notes AS m ON 1 / (n.amount - m.amount) > 0
SELECT id, holder, number FROM cards
SELECT holder FROM cards WHERE number LIKE 'q%'
SELECT number, count(*) FROM cards GROUP BY number
SELECT holder FROM cards ORDER BY number LIMIT 3
SELECT * FROM rich
SELECT r.name FROM rich AS r JOIN staff AS s ON r.name = s.name
SELECT * FROM missions
SELECT ship, goal, goal_label, tc FROM missions
SELECT m.goal, n.goal FROM missions AS m, missions AS n WHERE m.ship = n.ship
SELECT max(cost) FROM missions WHERE tc = 'S'
SELECT * FROM secrets
SELECT word FROM dark
WITH w AS (SELECT name AS x FROM staff) SELECT x FROM w
WITH staff AS (SELECT * FROM notes) SELECT * FROM staff
WITH RECURSIVE w AS (SELECT 1 AS x UNION ALL SELECT x + 1 FROM w WHERE x < 5) SELECT x FROM w
SELECT x.id FROM (SELECT id, code FROM staff) AS x
SELECT s.* FROM staff AS s, LATERAL (SELECT body FROM notes WHERE notes.id = s.id) AS l
SELECT name FROM staff UNION SELECT word FROM secrets
SELECT name FROM staff EXCEPT SELECT name FROM rich
SELECT id FROM staff INTERSECT SELECT id FROM secrets
SELECT name FROM staff NATURAL JOIN notes
SELECT * FROM staff JOIN notes USING (id)
SELECT staff FROM staff
SELECT s FROM staff AS s
SELECT row_to_json(s) FROM staff AS s
SELECT DISTINCT ON (dept) dept, name FROM staff ORDER BY dept, salary
SELECT name, rank() OVER (PARTITION BY dept ORDER BY salary) FROM staff
SELECT (SELECT code FROM staff AS t WHERE t.id = s.id) FROM staff AS s
SELECT CASE WHEN EXISTS (SELECT 1 FROM secrets) THEN 1 ELSE 0 END
SELECT relname FROM pg_catalog.pg_class
SELECT a.attname, d.adbin FROM pg_attribute AS a JOIN pg_attrdef AS d ON a.attrelid = d.adrelid
SELECT table_name, column_name, column_default FROM information_schema.columns
SELECT view_definition FROM information_schema.views
SELECT pg_get_viewdef(oid) FROM pg_class
SELECT conname, pg_get_constraintdef(oid) FROM pg_constraint
SELECT check_clause FROM information_schema.check_constraints
SELECT polname, pg_get_expr(polqual, polrelid) FROM pg_policy
SELECT * FROM pg_policies
SELECT most_common_vals, histogram_bounds FROM pg_stats
SELECT query FROM pg_stat_activity
SELECT rolname, rolpassword FROM pg_authid
SELECT * FROM pg_settings
SELECT * FROM duckdb_columns()
SELECT * FROM read_csv('staff.csv')
SELECT * FROM 'staff.csv'
SELECT current_setting('data_directory'), version(), current_user
VALUES (1, 'a'), (2, (SELECT max(code) FROM staff))
TABLE staff
SELECT name FROM staff TABLESAMPLE BERNOULLI (50)
SELECT name FROM staff FOR UPDATE
SELECT id FROM staff WHERE id = $1 AND name = $2
SELECT grouping(dept), count(*) FROM staff GROUP BY ROLLUP (dept, id)
"""

OTHERS = """
INSERT INTO staff (id, name, dept) VALUES (99, 'new', 'it')
INSERT INTO staff (id, name) SELECT id + 100, code FROM staff
INSERT INTO staff (id, name) VALUES (1, 'dup') ON CONFLICT (id) DO UPDATE SET name = staff.code RETURNING *
INSERT INTO notes (id, author, body) VALUES (50, 'nurse', 'mine') RETURNING id, body
INSERT INTO notes (id, author, body) VALUES (1, 'nurse', 'dup')
INSERT INTO notes (id, author, body) SELECT id + 50, 'nurse', word FROM secrets
INSERT INTO missions (ship, goal, cost) VALUES ('ship14', 'g', 1) RETURNING *
INSERT INTO missions (ship, goal) SELECT ship || 'x', goal FROM missions
INSERT INTO secrets VALUES (1, 'a')
UPDATE staff SET name = code
UPDATE staff SET name = 'x' WHERE salary > 1500000000
UPDATE staff SET name = 'x' WHERE id = 3 RETURNING id, name, salary
UPDATE staff SET dept = (SELECT word FROM secrets WHERE secrets.id = staff.id)
UPDATE notes SET body = body || '!' RETURNING *
UPDATE notes SET author = 'doctor' RETURNING body
UPDATE notes SET amount = 1 / (amount - 5) WHERE CAST(body AS integer) = 1
UPDATE notes SET body = s.code FROM staff AS s WHERE s.id = notes.id RETURNING s.code
UPDATE cards SET holder = number RETURNING holder
UPDATE missions SET goal = 'low' WHERE cost > 5 RETURNING goal, tc
UPDATE missions SET cost = cost + 1
DELETE FROM staff WHERE salary > 0 RETURNING *
DELETE FROM notes WHERE body LIKE '%q%' RETURNING body
DELETE FROM notes USING secrets WHERE notes.id = secrets.id RETURNING word
DELETE FROM missions WHERE goal IS NOT NULL RETURNING *
TRUNCATE staff
COPY staff TO STDOUT
COPY (SELECT code FROM staff) TO STDOUT
COPY staff TO '/tmp/x.csv'
EXPLAIN SELECT code FROM staff WHERE salary > 3
EXPLAIN ANALYZE SELECT * FROM notes
EXPLAIN (PRIVACY) SELECT count(*) FROM staff
CREATE TABLE mine (id integer PRIMARY KEY, x text)
CREATE TABLE mine AS SELECT * FROM staff
CREATE TABLE mine (id integer REFERENCES secrets (id), word text DEFAULT 'a')
CREATE VIEW mine AS SELECT id, code FROM staff
CREATE VIEW mine AS SELECT * FROM notes; SELECT * FROM mine
CREATE OR REPLACE VIEW rich AS SELECT name, code AS dept FROM staff
CREATE VIEW mine AS SELECT id FROM staff; SELECT * FROM mine; DROP VIEW mine
CREATE TABLE mine (id integer, x text); INSERT INTO mine SELECT id, 'a' FROM staff; SELECT * FROM mine
CREATE POLICY own2 ON notes USING (true); SELECT * FROM notes
CREATE MASK m ON cards (number) TO teller USING (number); SELECT number FROM cards
CREATE TRIGGER t BEFORE INSERT ON staff FOR EACH ROW WHEN (NEW.id > 1) RAISE 'no'
CREATE ROLE x; GRANT x TO current_user
CREATE ANONYMIZED VIEW mine AS SELECT dept, salary FROM staff WITH (k = 2)
DROP POLICY own ON notes; SELECT * FROM notes
DROP MASK short ON cards; SELECT number FROM cards
DROP TABLE secrets
ALTER TABLE notes DISABLE ROW LEVEL SECURITY; SELECT * FROM notes
ALTER TABLE staff OWNER TO clerk; SELECT * FROM staff
ALTER TABLE secrets ADD COLUMN x text
ALTER TABLE staff RENAME COLUMN code TO name2
ALTER ROLE spy SUPERUSER
GRANT SELECT ON staff TO clerk; SELECT * FROM staff
GRANT admin TO nobody; SET ROLE admin; SELECT * FROM secrets
GRANT SELECT ON secrets TO PUBLIC; SELECT * FROM secrets
REVOKE SELECT ON rich FROM viewer; SELECT * FROM rich
SECURITY LABEL FOR mls ON ROLE spy IS 'S'; SELECT * FROM missions
DECLASSIFY goal ON missions FROM 'S' TO 'C' WHERE true; SELECT * FROM missions
SET discreet.clearance = 'S'; SELECT * FROM missions
SET discreet.clearance = 'U'; SELECT * FROM missions
SET ROLE admin; SELECT * FROM secrets
SET ROLE high; SELECT * FROM missions
SET SESSION AUTHORIZATION admin; SELECT * FROM secrets
SET search_path = 'guarded'; SELECT * FROM staff
SET discreet.lenient = on; SELECT "code" FROM staff; SELECT "nothing" FROM staff
SET discreet.epsilon = 100; SELECT max(salary) FROM staff
SHOW ALL
SHOW discreet.clearance
DECLARE c CURSOR FOR SELECT * FROM staff; FETCH ALL FROM c
DECLARE c CURSOR FOR SELECT * FROM notes; FETCH 3 FROM c; CLOSE c
PREPARE p AS SELECT code FROM staff WHERE id = $1; EXECUTE p(3); DEALLOCATE p
PREPARE p (integer) AS SELECT body FROM notes WHERE id = $1; EXECUTE p(1)
SAVEPOINT a; UPDATE notes SET body = 'x'; ROLLBACK TO a; SELECT body FROM notes; RELEASE a
PRAGMA database_list
ATTACH 'x.db' AS y
LOAD httpfs
CALL pg_sleep(1)
DO $$ SELECT 1 $$
COMMENT ON TABLE staff IS 'a'
VACUUM staff
LOCK TABLE staff
LISTEN x
"""


def lines(text: str) -> list[str]:
    """Return the statements of one of these."""
    return [line for line in text.strip().splitlines() if line]
