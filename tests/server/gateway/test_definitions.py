"""Definitions do what they do in PostgreSQL 16: the same tags, SQLSTATEs and rows, on both engines."""

from __future__ import annotations

import secrets
from typing import TYPE_CHECKING, Any

import psycopg
import pytest

from discreet.errors import DiscreetError
from discreet.server.pg.failures import as_statement_failed

if TYPE_CHECKING:
    from collections.abc import Iterator

# Each statement is sent alone; its tag and rows, or its SQLSTATE, are compared.
SCRIPTS = {
    "ALTER TABLE, columns": """
        CREATE TABLE t (id integer PRIMARY KEY, a integer); INSERT INTO t VALUES (1, 1), (2, NULL);
        ALTER TABLE t ADD COLUMN b text NOT NULL; ALTER TABLE t ADD COLUMN b text DEFAULT 'x';
        ALTER TABLE t ADD b integer; ALTER TABLE t ADD COLUMN IF NOT EXISTS b integer;
        SELECT id, a, b FROM t ORDER BY id; ALTER TABLE t ALTER a SET NOT NULL;
        UPDATE t SET a = 2 WHERE id = 2; ALTER TABLE t ALTER COLUMN a SET NOT NULL;
        INSERT INTO t (id) VALUES (3); ALTER TABLE t ALTER a SET DEFAULT 7; INSERT INTO t (id) VALUES (3);
        ALTER TABLE t ALTER a DROP DEFAULT; ALTER TABLE t ALTER a DROP NOT NULL;
        ALTER TABLE t ALTER id DROP NOT NULL; INSERT INTO t (id) VALUES (4);
        SELECT id, a, b FROM t ORDER BY id; ALTER TABLE t ALTER nothing DROP NOT NULL;
        ALTER TABLE t RENAME COLUMN a TO c; ALTER TABLE t RENAME a TO d; ALTER TABLE t RENAME c TO id;
        SELECT c FROM t ORDER BY id; ALTER TABLE t DROP COLUMN a; ALTER TABLE t DROP COLUMN IF EXISTS a;
        ALTER TABLE t DROP COLUMN b, ADD COLUMN b integer; SELECT id, b FROM t ORDER BY id;
        ALTER TABLE t ALTER c TYPE bigint, ALTER b TYPE text; ALTER TABLE t ALTER b TYPE integer;
        ALTER TABLE t ALTER b TYPE integer USING id * 10; SELECT id, b FROM t ORDER BY id;
        ALTER TABLE t DROP id; INSERT INTO t VALUES (1, 1), (1, 1); SELECT c, b FROM t ORDER BY c, b;
        ALTER TABLE nothing ADD a integer; ALTER TABLE IF EXISTS nothing ADD a integer
    """,
    "ALTER TABLE, constraints": """
        CREATE TABLE p (id integer PRIMARY KEY); INSERT INTO p VALUES (1);
        CREATE TABLE t (id integer, a integer CHECK (a > 0), CONSTRAINT two UNIQUE (a));
        INSERT INTO t VALUES (1, 1), (1, 2); ALTER TABLE t ADD PRIMARY KEY (id);
        UPDATE t SET id = 2 WHERE a = 2; ALTER TABLE t ADD CONSTRAINT one PRIMARY KEY (id);
        ALTER TABLE t ADD PRIMARY KEY (id); INSERT INTO t VALUES (2, 3); INSERT INTO t VALUES (3, 2);
        ALTER TABLE t ADD CONSTRAINT to_p FOREIGN KEY (id) REFERENCES p; INSERT INTO p VALUES (2);
        ALTER TABLE t ADD CONSTRAINT to_p FOREIGN KEY (id) REFERENCES p;
        ALTER TABLE t ADD CONSTRAINT to_p FOREIGN KEY (id) REFERENCES p; DELETE FROM p WHERE id = 2;
        ALTER TABLE p DROP CONSTRAINT p_pkey; ALTER TABLE t DROP CONSTRAINT to_p; DELETE FROM p WHERE id = 2;
        ALTER TABLE t DROP CONSTRAINT to_p; ALTER TABLE t DROP CONSTRAINT IF EXISTS to_p;
        ALTER TABLE t ADD CHECK (a > 1); ALTER TABLE t DROP CONSTRAINT t_a_check; UPDATE t SET a = 0 WHERE id = 2;
        ALTER TABLE t RENAME CONSTRAINT two TO three; ALTER TABLE t DROP CONSTRAINT two;
        ALTER TABLE t DROP CONSTRAINT three; UPDATE t SET a = 1; SELECT id, a FROM t ORDER BY id;
        ALTER TABLE t ADD CHECK (b > 0); ALTER TABLE t ADD UNIQUE (b); ALTER TABLE t ADD UNIQUE (a);
        CREATE TABLE u (x integer REFERENCES t); ALTER TABLE t DROP COLUMN id; ALTER TABLE t DROP id CASCADE;
        INSERT INTO u VALUES (99); SELECT a FROM t
    """,
    "ALTER TABLE, names and rights": """
        CREATE TABLE t (id integer PRIMARY KEY, a integer); INSERT INTO t VALUES (1, 1), (2, 2);
        CREATE VIEW v AS SELECT * FROM t; CREATE VIEW w AS SELECT a FROM t WHERE t.a > 1;
        ALTER TABLE t ENABLE ROW LEVEL SECURITY; CREATE POLICY q ON t USING (t.a = 2);
        GRANT SELECT (id), UPDATE (a) ON t TO {role}; GRANT SELECT ON v, w TO {role};
        SET ROLE {role}; ALTER TABLE t ADD b integer; ALTER TABLE t RENAME TO s; SELECT id FROM t; RESET ROLE;
        ALTER TABLE t ADD COLUMN b integer DEFAULT 5; SELECT id, a FROM v ORDER BY id; SELECT b FROM v;
        ALTER TABLE t DROP COLUMN a; ALTER TABLE t ALTER a TYPE bigint; ALTER TABLE t RENAME a TO c;
        SELECT id, a FROM v ORDER BY id; SELECT a FROM w; ALTER TABLE t RENAME TO s; SELECT id FROM t;
        CREATE TABLE t (x integer); INSERT INTO t VALUES (9); SELECT a FROM w;
        SET ROLE {role}; SELECT id FROM s; SELECT b FROM s; SELECT a FROM w; SELECT x FROM t; RESET ROLE;
        ALTER TABLE s RENAME TO t; ALTER VIEW w RENAME TO x; SELECT a FROM x; ALTER TABLE x RENAME TO w;
        ALTER VIEW w RENAME a TO z; SELECT z FROM w; ALTER VIEW t RENAME TO y; ALTER TABLE w ADD b integer
    """,
    "ALTER TABLE is undone": """
        CREATE TABLE t (id integer PRIMARY KEY, a integer); INSERT INTO t VALUES (1, 1);
        BEGIN; ALTER TABLE t ADD b integer; SAVEPOINT one; ALTER TABLE t RENAME a TO c;
        INSERT INTO t VALUES (2, 2, 2); ROLLBACK TO one; INSERT INTO t (id, a, b) VALUES (3, 3, 3);
        SELECT id, a, b FROM t ORDER BY id; ROLLBACK; SELECT id, a FROM t ORDER BY id; SELECT b FROM t;
        BEGIN; ALTER TABLE t RENAME TO u; ALTER TABLE u DROP a; COMMIT; SELECT a FROM u; SELECT id FROM u
    """,
    "actions of foreign keys": """
        CREATE TABLE p (id integer PRIMARY KEY, k integer UNIQUE); INSERT INTO p VALUES (1, 1), (2, 2), (3, 3), (4, 4);
        CREATE TABLE c (id integer PRIMARY KEY, a integer REFERENCES p ON DELETE CASCADE ON UPDATE CASCADE,
          b integer DEFAULT 3 REFERENCES p (k) ON DELETE SET NULL ON UPDATE SET DEFAULT);
        CREATE TABLE d (c integer REFERENCES c ON DELETE CASCADE, x integer REFERENCES p ON DELETE RESTRICT);
        INSERT INTO c VALUES (1, 1, 1), (2, 2, 2), (3, 1, 2), (4, NULL, NULL), (5, 9, 9);
        INSERT INTO c VALUES (1, 1, 1), (2, 2, 2), (3, 1, 2), (4, NULL, NULL);
        INSERT INTO d VALUES (1, 4), (2, NULL), (3, NULL); UPDATE p SET id = 10 WHERE id = 1; SELECT * FROM c ORDER BY id;
        UPDATE p SET k = k + 10 WHERE id = 2; SELECT * FROM c ORDER BY id; DELETE FROM p WHERE id = 4;
        DELETE FROM p WHERE id = 10; SELECT * FROM c ORDER BY id; SELECT * FROM d ORDER BY c;
        UPDATE p SET k = 20 WHERE k = 3; DELETE FROM p; DELETE FROM d; DELETE FROM p; SELECT * FROM c; SELECT * FROM p
    """,
    "a tree that is deleted from its root": """
        CREATE TABLE t (id integer PRIMARY KEY, up integer REFERENCES t ON DELETE CASCADE ON UPDATE CASCADE);
        INSERT INTO t VALUES (1, NULL), (2, 1), (3, 2), (4, 3), (5, NULL), (6, 5); UPDATE t SET id = 20 WHERE id = 2;
        SELECT * FROM t ORDER BY id; DELETE FROM t WHERE id = 1; SELECT * FROM t ORDER BY id;
        INSERT INTO t VALUES (5, NULL) ON CONFLICT (id) DO UPDATE SET id = 50; SELECT * FROM t ORDER BY id
    """,
    "deferred foreign keys": """
        CREATE TABLE p (id integer PRIMARY KEY);
        CREATE TABLE c (a integer CONSTRAINT now REFERENCES p DEFERRABLE, b integer CONSTRAINT later REFERENCES p
          DEFERRABLE INITIALLY DEFERRED); INSERT INTO c VALUES (1, NULL); INSERT INTO c VALUES (NULL, 1);
        BEGIN; INSERT INTO c VALUES (NULL, 1); INSERT INTO p VALUES (1); COMMIT;
        BEGIN; INSERT INTO c VALUES (NULL, 2); COMMIT; SELECT a, b FROM c;
        BEGIN; SET CONSTRAINTS now DEFERRED; INSERT INTO c VALUES (2, NULL); INSERT INTO p VALUES (2);
        SET CONSTRAINTS ALL IMMEDIATE; COMMIT; SELECT a, b FROM c ORDER BY a;
        BEGIN; INSERT INTO c VALUES (NULL, 3); SET CONSTRAINTS later IMMEDIATE; ROLLBACK;
        BEGIN; SET CONSTRAINTS ALL DEFERRED; INSERT INTO c VALUES (3, 3); ALTER TABLE c ADD x integer; ROLLBACK;
        BEGIN; DELETE FROM p WHERE id = 1; ROLLBACK; BEGIN; SET CONSTRAINTS ALL DEFERRED; DELETE FROM p;
        INSERT INTO p VALUES (1), (2); COMMIT; BEGIN; SET CONSTRAINTS nothing IMMEDIATE; ROLLBACK;
        SET CONSTRAINTS ALL DEFERRED; INSERT INTO c VALUES (9, NULL); SELECT a, b FROM c ORDER BY a;
        CREATE TABLE x (a integer REFERENCES p NOT DEFERRABLE INITIALLY DEFERRED)
    """,
    "indexes": """
        CREATE TABLE t (id integer PRIMARY KEY, a integer, b text); INSERT INTO t VALUES (1, 1, 'x'), (2, 1, 'y');
        CREATE INDEX ON t (a); CREATE INDEX ON t (a, lower(b)); CREATE INDEX named ON t USING hash (b);
        CREATE INDEX named ON t (a); CREATE INDEX IF NOT EXISTS named ON t (a); CREATE UNIQUE INDEX one ON t (a);
        CREATE UNIQUE INDEX two ON t (a, b); INSERT INTO t VALUES (3, 1, 'y'); CREATE INDEX ON t (nothing);
        CREATE INDEX part ON t (b DESC NULLS LAST) WHERE a > 1; CREATE INDEX bad ON t (b) WHERE nothing > 1;
        INSERT INTO t VALUES (3, 1, 'y') ON CONFLICT (a, b) DO NOTHING;
        SELECT indexname, indexdef FROM pg_indexes WHERE tablename = 't' AND indexname NOT IN ('part', 't_a_lower_idx');
        SELECT conname FROM pg_constraint WHERE conrelid = 't'::regclass;
        CREATE TABLE u (a integer, b text, FOREIGN KEY (a, b) REFERENCES t (a, b)); DROP INDEX two; DROP TABLE u;
        DROP INDEX t_pkey; DROP INDEX t; DROP INDEX nothing; DROP INDEX IF EXISTS nothing; ALTER INDEX two RENAME TO three;
        ALTER INDEX two RENAME TO three; DROP INDEX three; INSERT INTO t VALUES (3, 1, 'y'); DROP INDEX named, part;
        SET ROLE {role}; CREATE INDEX ON t (a); DROP INDEX t_a_idx; RESET ROLE;
        ALTER TABLE t DROP a; SELECT indexname FROM pg_indexes WHERE tablename = 't'
    """,
    "sequences": """
        CREATE SEQUENCE s; SELECT currval('s'); SELECT lastval(); SELECT nextval('s'); SELECT nextval('s'::regclass), currval('s'), lastval();
        SELECT setval('s', 10); SELECT nextval('public.s') AS n; SELECT setval('s', 20, false); SELECT nextval('s');
        CREATE SEQUENCE s; CREATE SEQUENCE IF NOT EXISTS s; CREATE SEQUENCE t AS smallint INCREMENT BY -2 MINVALUE -5 START -1;
        SELECT nextval('t'); SELECT nextval('t'); SELECT nextval('t'); SELECT nextval('t'); SELECT setval('t', 5);
        ALTER SEQUENCE t CYCLE; SELECT nextval('t'); ALTER SEQUENCE t RESTART; SELECT nextval('t'); ALTER SEQUENCE t RESTART WITH -3;
        SELECT nextval('t'); CREATE SEQUENCE bad INCREMENT 0; CREATE SEQUENCE bad MINVALUE 5 MAXVALUE 5;
        CREATE SEQUENCE bad START 5 MAXVALUE 3; CREATE SEQUENCE bad AS text; SELECT nextval('nothing'); DROP SEQUENCE nothing;
        DROP TABLE s; DROP SEQUENCE IF EXISTS nothing; BEGIN; SELECT nextval('s'); ROLLBACK; SELECT nextval('s');
        CREATE TABLE n (id integer DEFAULT nextval('s'), x integer); INSERT INTO n (x) VALUES (1), (2); SELECT * FROM n ORDER BY x;
        INSERT INTO n VALUES (nextval('s'), 3), (DEFAULT, 4); SELECT * FROM n ORDER BY x; DROP SEQUENCE s; ALTER SEQUENCE s RENAME TO r;
        INSERT INTO n (x) SELECT x + 10 FROM n WHERE x > 2; SELECT count(*), max(id) FROM n; DROP SEQUENCE r CASCADE; INSERT INTO n (x) VALUES (9);
        SELECT id FROM n WHERE x = 9; SELECT setval('t', (SELECT -3)); SELECT nextval('t'); DROP SEQUENCE t; SELECT nextval('t')
    """,
    "serial and identity": """
        CREATE TABLE t (id serial PRIMARY KEY, x text); INSERT INTO t (x) VALUES ('a'), ('b') RETURNING id;
        INSERT INTO t VALUES (DEFAULT, 'c') RETURNING id; INSERT INTO t VALUES (4, 'd'); INSERT INTO t (x) VALUES ('e');
        INSERT INTO t (x) VALUES ('e') RETURNING id; INSERT INTO t DEFAULT VALUES RETURNING id; SELECT lastval(), currval('t_id_seq');
        SELECT currval(pg_get_serial_sequence('t', 'id')); SELECT setval(pg_get_serial_sequence('t', 'id'), max(id)) FROM t;
        SELECT setval('t_id_seq', coalesce(max(id), 1), max(id) IS NOT NULL) FROM t; INSERT INTO t (x) VALUES ('f') RETURNING id;
        INSERT INTO t (x) SELECT x FROM t WHERE id > 5 RETURNING id; DROP SEQUENCE t_id_seq;
        CREATE TABLE i (id bigint GENERATED ALWAYS AS IDENTITY (START WITH 10 INCREMENT BY 5), k integer GENERATED BY DEFAULT AS IDENTITY, x integer);
        INSERT INTO i (x) VALUES (1), (2); INSERT INTO i (id, x) VALUES (3, 3); INSERT INTO i VALUES (DEFAULT, 7, 4); SELECT * FROM i ORDER BY x;
        INSERT INTO i (id, x) OVERRIDING SYSTEM VALUE VALUES (3, 5); INSERT INTO i (k, x) OVERRIDING USER VALUE VALUES (99, 6);
        SELECT * FROM i ORDER BY x; UPDATE i SET id = 5; UPDATE i SET k = 0 WHERE x = 1; INSERT INTO i (id, x) SELECT 1, 2;
        CREATE TABLE b (id serial DEFAULT 5); CREATE TABLE b (id serial NULL); CREATE TABLE b (id text GENERATED ALWAYS AS IDENTITY);
        ALTER TABLE i ALTER k DROP IDENTITY; INSERT INTO i (x) VALUES (7); ALTER TABLE i ALTER x ADD GENERATED ALWAYS AS IDENTITY;
        ALTER TABLE t ADD n serial; SELECT count(*), min(n), max(n) FROM t; INSERT INTO t (x) VALUES ('g') RETURNING n;
        ALTER TABLE t RENAME TO u; INSERT INTO u (x) VALUES ('h') RETURNING n; ALTER TABLE u DROP n; SELECT nextval('t_n_seq');
        DROP TABLE u; SELECT nextval('t_id_seq'); CREATE TABLE t (id serial); INSERT INTO t DEFAULT VALUES RETURNING id
    """,
    "rights on sequences": """
        CREATE TABLE t (id serial, x integer); CREATE TABLE i (id integer GENERATED ALWAYS AS IDENTITY, x integer); CREATE SEQUENCE s;
        GRANT ALL ON t, i TO {role}; SET ROLE {role}; INSERT INTO i (x) VALUES (1); INSERT INTO t (x) VALUES (1); SELECT nextval('s');
        INSERT INTO t (id, x) VALUES (1, 1); DROP SEQUENCE s; ALTER SEQUENCE s RESTART; RESET ROLE; GRANT USAGE ON SEQUENCE t_id_seq, s TO {role};
        SET ROLE {role}; INSERT INTO t (x) VALUES (1) RETURNING id; SELECT nextval('s'), currval('s'); SELECT setval('s', 5); RESET ROLE;
        GRANT USAGE ON t TO {role}; GRANT INSERT ON SEQUENCE s TO {role}; GRANT SELECT ON SEQUENCE t TO {role}; REVOKE USAGE ON SEQUENCE s FROM {role};
        GRANT UPDATE ON s TO {role}; SET ROLE {role}; SELECT nextval('s'); SELECT currval('s'); SELECT setval('s', 7); RESET ROLE;
        GRANT ALL ON ALL SEQUENCES IN SCHEMA public TO {role}; SET ROLE {role}; SELECT currval('s'); RESET ROLE;
        ALTER TABLE t OWNER TO {role}; GRANT CREATE ON SCHEMA public TO {role}; ALTER TABLE t OWNER TO {role};
        SET ROLE {role}; ALTER SEQUENCE t_id_seq RESTART; INSERT INTO t (x) VALUES (1) RETURNING id; ALTER SEQUENCE t_id_seq OWNER TO {role}; RESET ROLE;
        ALTER SEQUENCE s OWNER TO {role}; ALTER SEQUENCE s OWNED BY i.x; BEGIN READ ONLY; SELECT nextval('s'); ROLLBACK
    """,
    "the catalog of sequences": """
        CREATE TABLE t (id serial, i bigint GENERATED BY DEFAULT AS IDENTITY); CREATE SEQUENCE s INCREMENT 5 CACHE 1;
        SELECT relname, relkind FROM pg_class WHERE relname IN ('t', 's', 't_id_seq', 't_i_seq');
        SELECT sequencename, start_value, min_value, max_value, increment_by, cycle, data_type::text FROM pg_sequences;
        SELECT sequence_name, data_type, start_value, minimum_value, increment, cycle_option FROM information_schema.sequences;
        SELECT column_name, column_default, is_identity, identity_generation FROM information_schema.columns WHERE table_name = 't';
        SELECT attname, attidentity, atthasdef FROM pg_attribute WHERE attrelid = 't'::regclass AND attnum > 0;
        SELECT pg_get_serial_sequence('t', 'id'), pg_get_serial_sequence('t', 'i');
        SELECT d.objid::regclass::text, d.refobjid::regclass::text, d.refobjsubid, d.deptype FROM pg_depend d JOIN pg_class c
          ON c.oid = d.objid AND c.relkind = 'S' WHERE d.refobjsubid > 0; SELECT table_name FROM information_schema.tables WHERE table_schema = 'public';
        SELECT has_sequence_privilege('{role}', 's', 'USAGE'); GRANT USAGE ON SEQUENCE s TO {role}; SELECT has_sequence_privilege('{role}', 's', 'USAGE'), has_sequence_privilege('{role}', 's', 'UPDATE')
    """,
    "temporary tables": """
        CREATE TABLE t (id integer); INSERT INTO t VALUES (1); GRANT SELECT ON t TO {role}; CREATE TEMP TABLE t (id serial, x text);
        INSERT INTO t (x) VALUES ('a'), ('b'); SELECT * FROM t ORDER BY id; SELECT * FROM public.t; SELECT x FROM pg_temp.t ORDER BY x;
        UPDATE t SET x = 'c' WHERE id = 1; DELETE FROM t WHERE id = 2 RETURNING x; ALTER TABLE t ADD COLUMN y integer DEFAULT 4;
        SELECT * FROM t; CREATE TEMPORARY TABLE IF NOT EXISTS t (z integer); CREATE TEMP TABLE t (z integer);
        DROP TABLE t; SELECT * FROM t; CREATE TEMP TABLE u AS SELECT id + 1 AS n FROM t; SELECT n FROM u; CREATE INDEX ON u (n);
        BEGIN; CREATE TEMP TABLE w (a integer); INSERT INTO w VALUES (1); ROLLBACK; SELECT * FROM w;
        BEGIN; CREATE TEMP TABLE w (a integer PRIMARY KEY) ON COMMIT DROP; INSERT INTO w VALUES (1); SELECT * FROM w; COMMIT; SELECT * FROM w;
        BEGIN; SAVEPOINT s; CREATE TEMP TABLE w (a integer); ROLLBACK TO s; SELECT * FROM w; ROLLBACK;
        CREATE TEMP TABLE p (id integer PRIMARY KEY); CREATE TEMP TABLE c (p integer REFERENCES p ON DELETE CASCADE);
        INSERT INTO p VALUES (1), (2); INSERT INTO c VALUES (1), (2); INSERT INTO c VALUES (3); DELETE FROM p WHERE id = 1; SELECT * FROM c;
        CREATE TABLE bad (p integer REFERENCES p); CREATE TEMP TABLE public.bad (a integer); SET ROLE {role}; SELECT id FROM public.t;
        CREATE TEMP TABLE mine (a integer); INSERT INTO mine VALUES (5); SELECT * FROM mine; RESET ROLE; DISCARD TEMP; SELECT * FROM u;
        SELECT id FROM t
    """,
    "MATCH FULL and ALTER CONSTRAINT": """
        CREATE TABLE p (a integer, b integer, PRIMARY KEY (a, b)); INSERT INTO p VALUES (1, 1), (2, 2);
        CREATE TABLE c (a integer, b integer, x integer, CONSTRAINT k FOREIGN KEY (a, b) REFERENCES p MATCH FULL ON DELETE SET NULL);
        INSERT INTO c VALUES (1, 1, 1), (NULL, NULL, 2), (2, 2, 3); INSERT INTO c VALUES (1, NULL, 1); INSERT INTO c VALUES (3, 3, 1);
        UPDATE c SET a = NULL WHERE x = 1; DELETE FROM p WHERE a = 1; SELECT * FROM c ORDER BY x;
        ALTER TABLE c ALTER CONSTRAINT k DEFERRABLE INITIALLY DEFERRED; BEGIN; INSERT INTO c VALUES (9, 9, 9); COMMIT;
        ALTER TABLE c ALTER CONSTRAINT nothing DEFERRABLE; ALTER TABLE p ALTER CONSTRAINT p_pkey DEFERRABLE;
        CREATE TABLE d (a integer, b integer, FOREIGN KEY (a, b) REFERENCES p ON DELETE SET NULL (a)); INSERT INTO d VALUES (2, 2);
        DELETE FROM c; DELETE FROM p; SELECT * FROM d; CREATE TABLE e (a integer REFERENCES p ON DELETE SET NULL (x))
    """,
    "AND CHAIN, LOCK and names": """
        CREATE TABLE t (a name PRIMARY KEY, b integer); COMMIT AND CHAIN; ROLLBACK AND CHAIN;
        BEGIN; INSERT INTO t VALUES ('x', 1); COMMIT AND CHAIN; INSERT INTO t VALUES ('y', 2); ROLLBACK AND CHAIN; SELECT * FROM t; COMMIT AND NO CHAIN;
        BEGIN READ ONLY; COMMIT AND CHAIN; INSERT INTO t VALUES ('z', 3); ROLLBACK; SELECT a || '!' FROM t WHERE a = current_user OR a = 'x';
        LOCK TABLE t; GRANT SELECT ON t TO {role}; SET ROLE {role}; BEGIN; LOCK t IN ACCESS SHARE MODE; LOCK t IN ROW EXCLUSIVE MODE; ROLLBACK;
        BEGIN; LOCK TABLE t IN SHARE MODE NOWAIT; ROLLBACK; RESET ROLE; GRANT INSERT ON t TO {role}; SET ROLE {role}; BEGIN;
        LOCK t IN ROW EXCLUSIVE MODE; LOCK t IN SHARE MODE; ROLLBACK; RESET ROLE; BEGIN; LOCK TABLE t, nothing; ROLLBACK
    """,
    "policies that are altered, and comments": """
        CREATE TABLE t (a integer, b integer); INSERT INTO t VALUES (1, 1), (2, 2); ALTER TABLE t ENABLE ROW LEVEL SECURITY;
        GRANT ALL ON t TO {role}; CREATE POLICY p ON t USING (a = 1); ALTER POLICY p ON t USING (a = 2) WITH CHECK (b < 5);
        SET ROLE {role}; SELECT * FROM t; INSERT INTO t VALUES (2, 9); INSERT INTO t VALUES (2, 3); ALTER POLICY p ON t USING (true); RESET ROLE;
        ALTER POLICY p ON t RENAME TO q; ALTER POLICY p ON t USING (true); ALTER POLICY q ON t TO current_user; SET ROLE {role}; SELECT * FROM t; RESET ROLE;
        ALTER POLICY q ON t USING (nothing = 1); CREATE POLICY i ON t FOR INSERT WITH CHECK (true); ALTER POLICY i ON t USING (true);
        COMMENT ON TABLE t IS 'a table'; COMMENT ON COLUMN t.b IS 'a column'; SELECT obj_description('t'::regclass, 'pg_class'), col_description('t'::regclass, 2);
        SELECT description, objsubid FROM pg_description WHERE objoid = 't'::regclass; COMMENT ON COLUMN t.nothing IS 'x'; COMMENT ON VIEW t IS 'x';
        COMMENT ON TABLE t IS NULL; SELECT obj_description('t'::regclass, 'pg_class'); SET ROLE {role}; COMMENT ON TABLE t IS 'x'; RESET ROLE;
        SELECT set_config('application_name', 'me', false); SHOW application_name; BEGIN; SELECT set_config('application_name', 'you', true); SHOW application_name;
        COMMIT; SHOW application_name; SET TIME ZONE INTERVAL '+00:00' HOUR TO MINUTE; PREPARE q AS SELECT a FROM t WHERE a = $1; EXECUTE q(2)
    """,
    "deferred keys of temporary tables, and RESTRICT": """
        CREATE TEMP TABLE p (id integer PRIMARY KEY); CREATE TEMP TABLE c (p integer REFERENCES p DEFERRABLE INITIALLY DEFERRED);
        BEGIN; INSERT INTO c VALUES (1); COMMIT; SELECT * FROM c; BEGIN; INSERT INTO c VALUES (1); INSERT INTO p VALUES (1); COMMIT; SELECT * FROM c;
        INSERT INTO c VALUES (7); DELETE FROM p; CREATE TABLE r (id integer PRIMARY KEY); INSERT INTO r VALUES (12), (11);
        CREATE TABLE s (r integer REFERENCES r ON UPDATE RESTRICT ON DELETE RESTRICT); INSERT INTO s VALUES (12); UPDATE r SET id = id + 1;
        UPDATE r SET id = 5 WHERE id = 11; DELETE FROM r WHERE id = 12; DELETE FROM r WHERE id = 5;
        CREATE TABLE n (x numeric REFERENCES r); CREATE TABLE n (x text REFERENCES r); CREATE TABLE n (x bigint REFERENCES r)
    """,
}


@pytest.fixture
def new_database(postgres_16_url: str) -> Any:
    def create(prefix: str) -> str:
        name = f"{prefix}{secrets.token_hex(4)}"
        with psycopg.connect(postgres_16_url, autocommit=True) as connection:
            connection.execute(f"CREATE DATABASE {name}")
        return postgres_16_url.replace("/postgres?", f"/{name}?")

    return create


@pytest.fixture
def oracle(postgres_16_url: str, new_database: Any) -> Iterator[tuple[Any, str]]:
    role = f"d{secrets.token_hex(4)}"
    with psycopg.connect(new_database("d"), autocommit=True) as connection:
        connection.execute(f"CREATE ROLE {role}")
        yield connection, role


def _describe(tag: str, rows: list[Any]) -> str:
    return f"{tag} {sorted(map(str, rows))}" if rows else tag


@pytest.mark.postgres
@pytest.mark.parametrize("engine", ["duckdb", "postgresql"])
@pytest.mark.parametrize("name", SCRIPTS)
def test_the_same_comes_of_it_as_on_postgresql_16(
    oracle, new_database, open_server, connect, name: str, engine: str
):
    postgres, role = oracle
    settings = {"database": new_database("e")} if engine == "postgresql" else {}
    admin = connect(open_server(**settings))
    admin.run(f"CREATE ROLE {role}")

    def theirs(text: str) -> str:
        try:
            found = postgres.execute(text)
            return _describe(
                str(found.statusmessage), found.fetchall() if found.description else []
            )
        except psycopg.Error as error:
            return str(error.sqlstate)

    def ours(text: str) -> str:
        try:
            found = admin.run(text)
            table = found.table
            columns = [] if table is None else [one.to_pylist() for one in table.columns]
            rows = list(zip(*columns, strict=True))
            return _describe(found.tag, rows)
        except DiscreetError as error:
            if admin.session.transaction_status == "I":
                admin.session.state.transaction.rollback()
            return as_statement_failed(error).sqlstate

    lines = [line.strip() for line in SCRIPTS[name].format(role=role).split(";")]
    for number, line in enumerate(lines):
        mine, other = ours(line), theirs(line)
        assert (number, line, mine) == (number, line, other)
