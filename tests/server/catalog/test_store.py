"""Sessions of a role share one closed store, and never that of another authority."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import duckdb
import pytest
from tests.keep_cancelling import keep_cancelling
from tests.server.catalog.example import AUTHORITY, client, hospital, parsed

from discreet.errors import StatementFailed
from discreet.guard.access.authority import DatabaseRole
from discreet.server.catalog import store as stores
from discreet.server.catalog.rows.produce import DENIED, catalog_columns, catalog_rows
from discreet.server.catalog.snapshot import CatalogSnapshot
from discreet.server.catalog.standard import system_relations
from discreet.server.catalog.store import store_for
from discreet.server.catalog.visibility import RoleVisibility


def test_sessions_of_a_role_share_a_store_also_when_each_has_read_the_authority_itself():
    assert store_for(AUTHORITY, "bob", "postgres") is store_for(AUTHORITY, "bob", "postgres")
    assert store_for(hospital(), "bob", "postgres") is store_for(AUTHORITY, "bob", "postgres")
    assert store_for(AUTHORITY, "bob", "postgres") is not store_for(AUTHORITY, "alice", "postgres")


def test_two_changes_of_the_same_number_are_two_catalogs():
    one = replace(AUTHORITY, version=7, roles={**AUTHORITY.roles, "eve": DatabaseRole("eve")})
    other = replace(
        AUTHORITY, version=7, roles={**AUTHORITY.roles, "mallory": DatabaseRole("mallory")}
    )
    asked = "SELECT rolname FROM pg_roles WHERE rolname IN ('eve', 'mallory')"
    assert client("bob", one).ask(asked) == [("eve",)]
    assert client("bob", other).ask(asked) == [("mallory",)]
    assert client("bob", one).ask(asked) == [("eve",)]


def test_only_the_last_stores_are_kept():
    for version in range(100, 100 + stores.STORES_CACHED + 3):
        store_for(hospital(version), "bob", "postgres")
    assert len(stores._stores) == stores.STORES_CACHED


@pytest.mark.parametrize(
    "text",
    [
        "SELECT * FROM read_text('/etc/hostname')",
        "ATTACH '/tmp/catalog.db'",
        "SET enable_external_access = true",
        "INSTALL httpfs",
        "COPY (SELECT 1) TO '/tmp/catalog.csv'",
    ],
)
def test_the_store_has_no_external_access(text: str):
    cursor = store_for(AUTHORITY, "alice", "postgres").cursor()
    with pytest.raises(duckdb.Error):
        cursor.execute(text)


def test_sessions_may_ask_at_the_same_time():
    authority = hospital(version=50)
    texts = [
        f"SELECT count(*) FROM {schema}.{name}"
        for schema, name in system_relations()
        if name.startswith(("pg_a", "pg_t")) and name not in DENIED
    ]
    with ThreadPoolExecutor(4) as pool:
        rows = list(pool.map(lambda text: client("bob", authority).ask(text), texts * 2))
    assert rows[: len(texts)] == rows[len(texts) :]


def test_a_long_question_can_be_interrupted():
    asked = client("alice")
    heavy = parsed(
        "SELECT count(*) FROM pg_attribute a, pg_attribute b, pg_attribute c WHERE a.attname || b.attname < c.attname"
    )
    with pytest.raises(StatementFailed) as failure, keep_cancelling(asked.catalog.interrupt):
        asked.catalog.run(heavy)
    assert failure.value.sqlstate == "57014"


def test_every_row_has_columns_that_its_relation_has():
    snapshot = CatalogSnapshot(RoleVisibility(AUTHORITY, "alice"), "postgres")
    for key in system_relations():
        names = {column.name for column in catalog_columns(key) or ()}
        for row in catalog_rows(snapshot, key):
            assert row.keys() == names, key


def test_every_relation_of_the_catalog_can_be_read():
    asked = client("alice")
    for schema, name in system_relations():
        if name not in DENIED:
            asked.ask(f"SELECT * FROM {schema}.{name}")


def test_no_two_things_have_one_number():
    rows = client("discreet").ask("SELECT oid FROM pg_class")
    assert len(rows) == len(set(rows))


def test_names_are_looked_up_in_the_schemas_of_the_session():
    asked = "SELECT current_schemas(false), pg_table_is_visible(oid), oid::regclass::text FROM pg_class WHERE relname = 'patients'"
    assert client("alice").ask(asked) == [(["public"], True, "patients")]
    away = client("alice", search_path="nowhere")
    assert away.ask(asked) == [([], False, "public.patients")]


def test_settings_of_the_session_are_reported():
    asked = "SELECT current_setting('timezone'), (SELECT setting FROM pg_settings WHERE name = 'TimeZone'), current_setting('no.such', true)"
    assert client("alice", timezone="Europe/Vienna").ask(asked) == [
        ("Europe/Vienna", "Europe/Vienna", None)
    ]
