"""Errors tell nothing of hidden rows, whatever the engine computes first."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from tests.guard.rewrite.world import Answer, OnDuckDB, OnPostgres, authority

from discreet.guard.access.authority import PUBLIC, ColumnMask

# Each fails for the note `secret` of bob, the body `shut` of eve, or the mark 9, if it sees them.
PROBES = (
    "SELECT id FROM note WHERE CAST(body AS integer) > 0 AND author = 'ann'",
    "SELECT id FROM note WHERE 1 / (mark - 9) < 0",
    "SELECT id FROM note WHERE 1 / (mark - 5) < 0",
    "SELECT CAST(author AS integer) FROM note WHERE mark = 5",
    "SELECT id FROM note WHERE mark * 2147483647 > 0",
    "SELECT sqrt(2 - mark) FROM note WHERE mark = 9",
    "SELECT ln(mark - 5) FROM note WHERE mark >= 5",
    "SELECT sum(CAST(body AS integer)) FROM note WHERE mark = 9",
    "SELECT max(1 / (mark - 9)) FROM note GROUP BY author HAVING author = 'bob'",
    "SELECT id FROM note ORDER BY CAST(body AS date)",
    "SELECT n.id FROM note n JOIN emp e ON CAST(n.body AS integer) = e.id",
    "SELECT id FROM note WHERE (SELECT CAST(max(body) AS integer) FROM note n WHERE n.id = 5) > 0",
    "UPDATE note SET mark = 1 / (mark - 9) WHERE mark = 9 RETURNING id",
    "DELETE FROM note WHERE CAST(body AS integer) > 100 AND mark > 8 RETURNING id",
)


@pytest.mark.parametrize("sql", PROBES)
def test_duckdb_does_not_fail_for_hidden_rows(on_duckdb: OnDuckDB, sql: str):
    """Ann sees `hello` and `shared`, which is text: there, NULL stands for what fails."""
    assert on_duckdb.ask("ann", sql).sqlstate[:2] not in ("22", "XX")


@pytest.mark.postgres
def test_postgresql_fails_alike_whatever_hidden_rows_hold(oracle: Any, on_postgres: OnPostgres):
    before = [on_postgres.ask("ann", sql) for sql in PROBES]
    oracle.execute("UPDATE note SET body = '1', mark = 100 WHERE author <> 'ann'")
    oracle.commit()
    try:
        after = [on_postgres.ask("ann", sql) for sql in PROBES]
    finally:
        oracle.execute("UPDATE note SET body = '77', mark = 2 WHERE id = 2")
        oracle.execute("UPDATE note SET body = 'secret', mark = 9 WHERE id = 4")
        oracle.execute("UPDATE note SET body = 'shut', mark = 5 WHERE id = 5")
        oracle.commit()
    assert before == after


def test_a_view_of_another_user_hides_what_it_leaves_out(on_duckdb: OnDuckDB):
    """`rich` has neither the name `12` nor anybody without a salary."""
    assert on_duckdb.ask("bob", "SELECT name FROM rich WHERE 1 / (sal - 80) > 0").is_fine
    found = on_duckdb.ask("bob", "SELECT name FROM rich WHERE CAST(name AS integer) = 12")
    assert found == Answer("00000")


def masked(place_authority: Any, uniques: tuple[tuple[str, ...], ...] = ()) -> Any:
    note = place_authority.relations["public", "emp"]
    masks = (
        ColumnMask("round", "sal", ("ann",), "round(sal, -2)"),
        ColumnMask("initial", "name", (PUBLIC,), "left(name, 1) || '.'"),
    )
    relations = {**place_authority.relations, note.key: replace(note, masks=masks, uniques=uniques)}
    return replace(place_authority, relations=relations)


@pytest.fixture(scope="module")
def behind_masks() -> OnDuckDB:
    return OnDuckDB(masked(authority()))


def test_a_masked_column_is_its_mask_everywhere(behind_masks: OnDuckDB):
    assert behind_masks.ask("ann", "SELECT name, sal FROM emp WHERE id = 1").rows == (
        ("A.", 100.0),
    )
    assert behind_masks.ask("ann", "SELECT id FROM emp WHERE name = 'Ann'").rows == ()
    assert behind_masks.ask("ann", "SELECT id FROM emp WHERE sal = 120.50").rows == ()
    assert behind_masks.ask("ann", "SELECT max(sal) FROM emp").rows == ((300.0,),)
    joined = "SELECT count(*) FROM emp a JOIN emp b USING (name) WHERE a.id <> b.id"
    assert behind_masks.ask("ann", joined).rows == ((0.0,),)
    assert behind_masks.ask("bob", "SELECT name FROM emp ORDER BY name LIMIT 1").rows == (("1.",),)


def test_owners_see_what_is_behind_a_mask_and_views_as_their_owner_does(behind_masks: OnDuckDB):
    assert behind_masks.ask("owner", "SELECT name FROM emp WHERE id = 1").rows == (("Ann",),)
    assert ("Ann",) in behind_masks.ask("bob", "SELECT name FROM rich").rows


def test_writes_see_masks_as_well(behind_masks: OnDuckDB):
    written = "UPDATE emp SET name = 'Anna' WHERE id = 1 RETURNING id, name"
    assert behind_masks.ask("carl", written).rows == ((1.0, "A."),)
    assert (
        behind_masks.ask("carl", "UPDATE emp SET name = 'x' WHERE name = 'Ann' RETURNING id").rows
        == ()
    )


@pytest.mark.parametrize(
    "written",
    [
        "UPDATE emp SET name = name",
        "UPDATE emp AS e SET name = 'was ' || e.name",
        "UPDATE emp SET name = (SELECT max(m.name) FROM emp AS m WHERE m.name = emp.name)",
        "INSERT INTO emp (id, name) VALUES (1, 'x') ON CONFLICT (id) DO UPDATE SET name = emp.name",
    ],
)
def test_a_mask_is_never_stored_in_the_place_of_what_it_hides(behind_masks: OnDuckDB, written: str):
    assert behind_masks.ask("carl", written).sqlstate == "42501"


def test_a_value_that_is_inserted_has_no_mask(behind_masks: OnDuckDB):
    written = "INSERT INTO emp (id, name) VALUES (1, 'Anna') ON CONFLICT (id) DO UPDATE SET name = excluded.name"
    assert behind_masks.ask("carl", f"{written} RETURNING name").rows == (("A.",),)


@pytest.mark.parametrize(
    "conflict",
    [
        "ON CONFLICT (name) DO NOTHING RETURNING id",
        "ON CONFLICT (name) DO UPDATE SET name = 'x' RETURNING id",
        "ON CONFLICT (id, name) DO NOTHING",
        "ON CONFLICT DO NOTHING",
    ],
)
def test_on_conflict_does_not_compare_with_what_a_mask_hides(conflict: str):
    unique = OnDuckDB(masked(authority(), uniques=(("name",), ("id", "name"))))
    assert unique.ask("carl", f"INSERT INTO emp (id, name) VALUES (77, 'Ann') {conflict}") == (
        Answer("42501")
    )


def test_on_conflict_compares_keys_that_are_seen_beside_masked_ones():
    unique = OnDuckDB(masked(authority(), uniques=(("name",),)))
    written = "INSERT INTO emp (id, name) VALUES (1, 'Zoe') ON CONFLICT (id) DO NOTHING"
    assert unique.ask("carl", written).is_fine
