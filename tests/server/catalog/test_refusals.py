"""Nothing but the catalog is asked, and failures tell no more than PostgreSQL would."""

from __future__ import annotations

import pytest
from tests.server.catalog.example import client, parsed

from discreet.errors import StatementFailed
from discreet.server.catalog.translate import CALLS, PARTS


@pytest.mark.parametrize(
    "text",
    [
        "SELECT * FROM patients",
        "SELECT * FROM pg_class, patients",
        "SELECT 1",
        "SELECT * FROM (SELECT * FROM patients) AS pg_class",
        "WITH pg_class AS (SELECT * FROM patients) SELECT * FROM pg_class",
        "SELECT * FROM main.pg_class",
        "SELECT * FROM pgc.pg_class",
        "SELECT upper('a')",
    ],
)
def test_what_is_not_about_the_catalog_is_not_handled(text: str):
    assert not client("alice").catalog.handles(parsed(text))


@pytest.mark.parametrize(
    "text",
    [
        "SELECT version()",
        "SELECT pg_catalog.version()",
        "SELECT current_schema",
        "SELECT current_user",
        "SELECT 'patients'::regclass",
        "SELECT pg_backend_pid(), 1",
        "SELECT has_table_privilege('patients', 'SELECT')",
        "SELECT * FROM information_schema.nothing",
        "SELECT * FROM pg_authid",
        "WITH x AS (SELECT * FROM pg_class) SELECT * FROM x",
    ],
)
def test_what_is_about_the_catalog_is_handled(text: str):
    assert client("alice").catalog.handles(parsed(text))


@pytest.mark.parametrize(
    ("text", "sqlstate"),
    [
        ("SELECT * FROM pg_catalog.pg_authid", "42501"),
        ("SELECT * FROM pg_shadow", "42501"),
        ("SELECT * FROM pg_statistic", "42501"),
        ("SELECT * FROM pg_catalog.nothing", "42P01"),
        ("SELECT * FROM information_schema.duckdb_tables", "42P01"),
        ("SELECT nothing FROM pg_class", "42703"),
        ("SELECT 'nothing'::regclass", "42P01"),
        ("SELECT version(), read_text('/etc/passwd')", "42883"),
        ("SELECT version(), getenv('HOME')", "42883"),
        ("SELECT pg_catalog.read_text('/etc/passwd')", "42883"),
        ("SELECT version(), query('SELECT 1')", "42883"),
        ("SELECT version(), pgf_quote_ident_1('a')", "42883"),
        ("SELECT version(), repeat('a', 1000000000)", "42883"),
        ("SELECT * FROM pg_class, read_csv('/etc/passwd')", "42883"),
        ("SELECT * FROM pg_class, duckdb_settings()", "42883"),
        ("SELECT * FROM pg_class, query('SELECT 1')", "42883"),
        ("SELECT * FROM pg_class FOR UPDATE", "0A000"),
        ("SELECT set_config('search_path', 'secret', false)", "0A000"),
        ("SELECT current_setting('no.such')", "42704"),
        ("SELECT relname::nothing FROM pg_class", "42704"),
        ("SELECT relname::int4 FROM pg_class", "22P02"),
        ("SELECT has_table_privilege('patients', 'FLY')", "22023"),
        ("SELECT has_table_privilege('nobody', 'patients', 'SELECT')", "42704"),
        ("SELECT has_column_privilege('patients', 'nothing', 'SELECT')", "42703"),
        ("SELECT has_schema_privilege('nothing', 'USAGE')", "3F000"),
    ],
)
def test_a_query_is_refused_with_postgresqls_code(text: str, sqlstate: str):
    with pytest.raises(StatementFailed) as failure:
        client("alice").ask(text)
    assert failure.value.sqlstate == sqlstate


@pytest.mark.parametrize(
    "text",
    [
        "SELECT relname::int4 FROM pg_class WHERE relname = 'patients'",
        "SELECT nothing FROM pg_class",
        "SELECT relname + 1 FROM pg_class WHERE relname = 'patients'",
        "SELECT strpos(relname, 1, 2) FROM pg_class",
    ],
)
def test_a_failure_has_no_words_of_the_engine(text: str):
    with pytest.raises(StatementFailed) as failure:
        client("alice").ask(text)
    words = str(failure.value).lower()
    assert not any(word in words for word in ("patients", "pgc", "duckdb", "binder", "candidate"))


def test_a_hidden_relation_cannot_be_distinguished_from_a_missing_one():
    texts = (
        "SELECT '{}'::regclass",
        "SELECT has_table_privilege('{}', 'SELECT')",
        "SELECT has_any_column_privilege('{}', 'SELECT')",
        "SELECT pg_get_viewdef('{}')",
        "SELECT to_regclass('{}')",
    )
    carol = client("carol")
    for text in texts:
        result = []
        for name in ("visits", "voided"):
            try:
                result.append(str(carol.ask(text.format(name))))
            except StatementFailed as failure:
                result.append(f"{failure.sqlstate} {failure}".replace(name, "it"))
        assert result[0] == result[1]


def test_every_part_that_is_allowed_is_one_that_sqlglot_has():
    assert not PARTS & CALLS


@pytest.mark.parametrize(
    "text",
    [
        "WITH a AS (SELECT nothing FROM pg_class) SELECT nothing FROM a",
        "WITH a AS (SELECT nothing FROM pg_class), b AS (SELECT nothing FROM a) SELECT nothing FROM b",
        "WITH a AS (SELECT * FROM a) SELECT * FROM a, pg_class",
        "WITH RECURSIVE a AS (SELECT * FROM b), b AS (SELECT * FROM a) SELECT *, version() FROM a",
        "SELECT x FROM (SELECT x FROM pg_class) a, LATERAL (SELECT x FROM a) b",
    ],
)
def test_a_query_that_names_itself_is_refused_and_not_followed_for_ever(text: str):
    with pytest.raises(StatementFailed):
        client("alice").ask(text)


def test_a_query_over_many_queries_takes_no_longer_for_each():
    names = ", ".join(f"relname AS c{place}" for place in range(20))
    again = ", ".join(f"c{place}" for place in range(20))
    parts = [f"a0 AS (SELECT {names} FROM pg_class)"]
    parts += [f"a{place} AS (SELECT {again} FROM a{place - 1})" for place in range(1, 20)]
    text = f"WITH {', '.join(parts)} SELECT c0 FROM a19 WHERE c0 = 'patients'"
    asked = client("alice")
    assert asked.ask(text) == [("patients",)]
    assert asked.fields(text)[0].type == "name"
