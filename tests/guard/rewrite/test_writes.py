"""What comes out of a write that may run."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest
from sqlglot import parse_one
from tests.guard.rewrite.world import OnDuckDB, authority

from discreet.engines.duckdb.served import ServedDuckDB
from discreet.errors import AccessDenied, StatementFailed
from discreet.guard.access.authority import RowPolicy, Subject
from discreet.guard.rewrite import TouchedRelation, authorize_condition, authorize_write, bind_write

if TYPE_CHECKING:
    from discreet.guard.rewrite import PermittedWrite

RIGHTS = authority()


def permit(who: str, sql: str, **more: Any) -> PermittedWrite:
    tree: Any = parse_one(sql, dialect="postgres")
    return authorize_write(tree, RIGHTS, Subject(who, who), traits=ServedDuckDB.traits, **more)


def test_an_insert_is_columns_and_a_query_of_rows():
    found = permit("carl", "INSERT INTO emp (name, id) VALUES ($1, '7'), ('x', $2)")
    assert (found.kind, found.columns) == ("INSERT", ("name", "id"))
    assert found.written == {"name", "id"}
    assert found.parameters == ("text", "int4")
    assert found.rows is not None
    assert found.rows.sql(dialect="duckdb") == (
        'SELECT "rows"."c1" AS "name", "rows"."c2" AS "id" FROM'
        ' (VALUES ($1, CAST(\'7\' AS INT)), (\'x\', $2)) AS "rows"("c1", "c2")'
    )


def test_an_update_names_the_row_by_the_relation():
    found = permit(
        "owner", "UPDATE emp AS e SET name = upper(e.name) WHERE e.id = 1 RETURNING e.id AS n"
    )
    assert found.target.sql(dialect="duckdb") == '"public"."emp" AS "emp"'
    assert found.assignments["name"].sql(dialect="duckdb") == 'UPPER("emp"."name")'
    assert found.condition is not None
    assert found.condition.sql(dialect="duckdb") == '"emp"."id" = 1'
    assert [item.sql(dialect="duckdb") for item in found.returning or ()] == ['"emp"."id" AS "n"']
    assert found.reads == (TouchedRelation(("public", "emp"), frozenset({"id", "name"}), "owner"),)


def test_policies_are_part_of_the_condition_and_of_the_check():
    found = permit("ann", "UPDATE note SET author = 'bob' WHERE id = 1")
    assert found.is_filtered
    assert found.condition is not None
    assert found.with_check is not None
    assert '"note"."author" = CAST(\'ann\' AS TEXT)' in found.condition.sql(dialect="duckdb")
    assert '"new"."author" = CAST(\'ann\' AS TEXT)' in found.with_check.sql(dialect="duckdb")
    assert permit("owner", "UPDATE note SET author = 'x'").with_check is None


def test_a_default_is_what_the_column_says():
    found = permit("owner", "INSERT INTO emp (id, name) VALUES (1, DEFAULT)")
    assert found.rows is not None
    assert "CAST(NULL AS TEXT)" in found.rows.sql(dialect="duckdb")
    assert permit("owner", "UPDATE emp SET sal = DEFAULT").assignments["sal"].sql() == (
        "CAST(NULL AS DECIMAL(10, 2))"
    )


def test_values_are_of_the_kinds_of_their_columns():
    with pytest.raises(StatementFailed, match="is of type integer but expression is of type text"):
        permit("owner", "UPDATE emp SET id = name")
    assert permit("owner", "UPDATE emp SET name = id").assignments["name"].sql(
        dialect="duckdb"
    ) == ('CAST(("emp"."id") AS TEXT)')


def test_on_conflict_of_a_table_with_policies_only_does_nothing():
    do = "INSERT INTO note (id, author) VALUES (1, 'ann') ON CONFLICT (id) DO"
    assert permit("ann", f"{do} NOTHING").on_conflict is not None
    with pytest.raises(StatementFailed, match="row policies"):
        permit("ann", f"{do} UPDATE SET body = 'x'")
    assert permit("owner", f"{do} UPDATE SET body = excluded.body").written >= {"body"}


def test_subqueries_of_writes_see_what_their_sender_sees():
    world = OnDuckDB()
    sql = "UPDATE note SET body = (SELECT count(*)::text FROM note) WHERE id = 1 RETURNING body"
    assert world.ask("ann", sql).rows == (("2",),)
    sql = "INSERT INTO note (id, author, mark) SELECT id + 50, 'ann', 1 FROM note RETURNING id"
    assert world.ask("ann", sql).rows == ((51.0,), (53.0,))


def test_values_are_bound_as_literals():
    found = permit("owner", "UPDATE emp SET name = $1 WHERE id = $2 RETURNING $3::text AS said")
    bound = bind_write(found, ["it's", 5, None], traits=ServedDuckDB.traits)
    assert bound.assignments["name"].sql(dialect="duckdb") == "CAST('it''s' AS TEXT)"
    assert bound.condition is not None
    assert bound.condition.sql(dialect="duckdb") == '"emp"."id" = CAST(\'5\' AS INT)'


def test_a_condition_on_a_relation_needs_the_right_to_read_what_it_names():
    relation = RIGHTS.relations["public", "emp"]
    tree = parse_one("SAL > 100 AND id IN (SELECT boss FROM dep)", dialect="postgres")
    found = authorize_condition(
        tree, relation, RIGHTS, Subject("ann", "ann"), traits=ServedDuckDB.traits
    )
    assert found is not None
    assert found.sql(dialect="duckdb").startswith('"emp"."sal" > 100 AND "emp"."id" IN (SELECT')
    with pytest.raises(AccessDenied):
        authorize_condition(
            tree, relation, RIGHTS, Subject("bob", "bob"), traits=ServedDuckDB.traits
        )


def test_an_alias_does_not_take_the_name_of_the_new_row():
    note = RIGHTS.relations["public", "note"]
    text = "EXISTS (SELECT 1 FROM emp AS new WHERE new.id = note.id)"
    known = replace(note, policies=(RowPolicy("known", ("",), "ALL", text),))
    rights = replace(RIGHTS, relations={**RIGHTS.relations, note.key: known})
    tree: Any = parse_one("INSERT INTO note (id) VALUES (1)", dialect="postgres")
    found = authorize_write(tree, rights, Subject("ann", "ann"), traits=ServedDuckDB.traits)
    assert found.with_check is not None
    assert '"new_2"."id" = "new"."id"' in found.with_check.sql(dialect="duckdb")
