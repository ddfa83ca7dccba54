"""What comes out of a query that may run: its tree, what it touches, and what it takes and returns."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest
from sqlglot import exp, parse_one
from tests.guard.rewrite.world import OnDuckDB, authority

from discreet.engines.databases.database import EngineTraits
from discreet.engines.duckdb.served import ServedDuckDB
from discreet.errors import AccessDenied, StatementFailed
from discreet.guard.access.authority import Relation, RelationColumn, RowPolicy, Subject
from discreet.guard.rewrite import TouchedRelation, authorize_query, plain_source, relations_of
from discreet.sql import build

if TYPE_CHECKING:
    from discreet.guard.rewrite import PermittedQuery

RIGHTS = authority()


def permit(who: str, sql: str, **more: Any) -> PermittedQuery:
    tree = parse_one(sql, dialect="postgres")
    assert isinstance(tree, exp.Query)
    more.setdefault("traits", ServedDuckDB.traits)
    rights = more.pop("rights", RIGHTS)
    return authorize_query(tree, rights, Subject(who, who, None, more.pop("settings", {})), **more)


def test_a_relation_becomes_the_columns_that_were_named():
    found = permit("bob", "SELECT name FROM emp WHERE dept = 'it'")
    assert found.tree.sql(dialect="duckdb") == (
        'SELECT "emp"."name" AS "name" FROM (SELECT "emp_2"."dept" AS "dept", "emp_2"."name" AS "name"'
        ' FROM (SELECT "id", "name", "sal", "dept", "hired" FROM "public"."emp") AS "emp_2") AS "emp"'
        ' WHERE "emp"."dept" = \'it\''
    )


def test_a_filtered_relation_hides_rows_and_their_cells():
    sql = permit("ann", "SELECT body FROM note", traits=EngineTraits()).tree.sql(dialect="postgres")
    assert 'CASE WHEN "note_3"."kept" THEN "note_3"."body" END' in sql
    assert 'WHERE "note_3"."kept" OFFSET 0' in sql


def test_it_reports_what_is_read_and_as_whom():
    found = permit(
        "bob",
        "SELECT r.name FROM rich r JOIN dep USING (dept)".replace(
            " USING (dept)", " ON dept = name"
        ),
    )
    assert found.reads == (
        TouchedRelation(("public", "rich"), frozenset({"name"}), "bob"),
        TouchedRelation(("public", "dep"), frozenset({"dept"}), "bob"),
        TouchedRelation(("public", "emp"), frozenset({"name", "sal"}), "owner"),
    )
    assert found.physical == {("public", "emp"), ("public", "dep")}
    assert found.is_filtered


def test_a_denial_says_why_to_the_journal_only():
    with pytest.raises(AccessDenied) as caught:
        permit("bob", "SELECT sal FROM emp")
    assert str(caught.value) == "permission denied for table emp"
    assert caught.value.reason == "bob has no SELECT on emp.sal"
    with pytest.raises(AccessDenied, match="permission denied for view rich"):
        permit("eve", "SELECT sal FROM rich")


def test_the_owner_of_a_view_must_still_have_its_rights():
    emp = RIGHTS.relations["public", "emp"]
    lost = replace(emp, owner="eve", acl=())
    rights = replace(RIGHTS, relations={**RIGHTS.relations, emp.key: lost})
    with pytest.raises(AccessDenied, match="permission denied for table emp"):
        permit("bob", "SELECT name FROM rich", rights=rights)


def test_a_view_may_be_read_with_the_rights_of_its_reader():
    rich = replace(RIGHTS.relations["public", "rich"], security_invoker=True)
    rights = replace(RIGHTS, relations={**RIGHTS.relations, rich.key: rich})
    with pytest.raises(AccessDenied, match="permission denied for table emp"):
        permit("bob", "SELECT name FROM rich", rights=rights)
    assert permit("owner", "SELECT name FROM rich", rights=rights).reads[1].as_role == "owner"


def test_views_that_read_themselves_end():
    rich = replace(RIGHTS.relations["public", "rich"], query="SELECT name, sal FROM rich")
    rights = replace(RIGHTS, relations={**RIGHTS.relations, rich.key: rich})
    with pytest.raises(StatementFailed, match="infinite recursion") as caught:
        permit("owner", "SELECT name FROM rich", rights=rights)
    assert caught.value.sqlstate == "42P17"


def test_policies_that_ask_their_own_table_end():
    note = RIGHTS.relations["public", "note"]
    policy = RowPolicy("own", ("",), "ALL", "id IN (SELECT id FROM note)")
    looped = replace(note, policies=(policy,), force_row_security=True)
    rights = replace(RIGHTS, relations={**RIGHTS.relations, note.key: looped})
    with pytest.raises(StatementFailed, match="infinite recursion") as caught:
        permit("ann", "SELECT id FROM note", rights=rights)
    assert caught.value.sqlstate == "42P17"
    own = replace(looped, force_row_security=False)
    rights = replace(RIGHTS, relations={**RIGHTS.relations, note.key: own})
    assert not permit("owner", "SELECT id FROM note", rights=rights).is_filtered


def test_without_a_permissive_policy_there_are_no_rows():
    note = RIGHTS.relations["public", "note"]
    for policies in ((), tuple(one for one in note.policies if not one.permissive)):
        rights = replace(
            RIGHTS, relations={**RIGHTS.relations, note.key: replace(note, policies=policies)}
        )
        assert OnDuckDB(rights).ask("ann", "SELECT * FROM note").rows == ()


@pytest.mark.parametrize(
    ("sql", "types"),
    [
        ("SELECT name FROM emp WHERE id = $1", ("int4",)),
        ("SELECT name FROM emp WHERE $1 < sal AND name LIKE $2", ("numeric", "text")),
        ("SELECT name FROM emp WHERE hired BETWEEN $1 AND $2", ("date", "date")),
        (
            "SELECT name FROM emp WHERE id IN ($1, $2) LIMIT $3 OFFSET $4",
            ("int4",) * 2 + ("int8",) * 2,
        ),
        ("SELECT $1", ("text",)),
        ("SELECT $1::date, $2::numeric(5,1)", ("date", "numeric")),
        ("SELECT coalesce(sal, $1) FROM emp", ("numeric",)),
        ("SELECT CASE WHEN $1 THEN id ELSE $2 END FROM emp", ("bool", "int4")),
        ("SELECT id + $1, hired + $2 FROM emp", ("int4", "interval")),
        ("SELECT $2 || name FROM emp", ("text", "text")),
        ("SELECT id FROM emp UNION SELECT $1", ("int4",)),
        ("SELECT * FROM (VALUES ($1, 1), ('a', $2)) v", ("text", "int4")),
        ("SELECT name FROM emp WHERE (id, name) = ($1, $2)", ("int4", "text")),
    ],
)
def test_types_of_parameters_come_from_where_they_stand(sql: str, types: tuple[str, ...]):
    assert permit("ann", sql).parameters == types


def test_declared_types_win():
    found = permit("ann", "SELECT name FROM emp WHERE id = $1 OR $2", declared=["bigint", None])
    assert found.parameters == ("int8", "bool")
    assert permit("ann", "SELECT 1", declared=["date"]).parameters == ("date",)


def test_columns_are_called_as_postgresql_calls_them():
    sql = (
        "SELECT id, id + 1, count(*) OVER (), CAST(id AS text), '5'::int, upper(name), e.sal, now(),"
        " CASE WHEN true THEN 1 END, coalesce(name, 'x'), (SELECT max(boss) FROM dep), true,"
        ' EXISTS (SELECT 1), extract(year FROM hired), id AS "Two words" FROM emp e'
    )
    assert permit("ann", sql).names == (
        *("id", "?column?", "count", "id", "int4", "upper", "sal", "now", "case", "coalesce"),
        *("max", "bool", "exists", "extract", "Two words"),
    )


def test_the_session_is_given_as_literals():
    sql = "SELECT current_user, user, session_user, current_date, current_setting('app.x', true), now()"
    settings = {"discreet.now": "2024-02-29 12:30:00+00", "app.x": "it's"}
    found = permit("ann", sql, settings=settings).tree.sql(dialect="duckdb")
    assert found.count("CAST('ann' AS TEXT)") == 3
    assert "CAST('2024-02-29' AS DATE)" in found
    assert "CAST('it''s' AS TEXT)" in found
    assert "CURRENT" not in found.upper().replace('"CURRENT_', "")


def test_a_policy_asks_who_asks_and_not_who_owns():
    world = OnDuckDB()
    assert {row[1] for row in world.ask("bob", "SELECT * FROM note").rows} == {"bob", "ann"}
    assert world.ask("owner", "SELECT count(*) FROM note").rows == ((5.0,),)


def test_membership_decides_as_has_role_reports():
    sql = "SELECT pg_has_role(current_user, 'staff', 'member'), pg_has_role('owner', 'usage')"
    assert OnDuckDB().ask("carl", sql).rows == ((True, False),)


def test_a_quoted_word_is_a_text_where_that_is_wanted():
    sql = 'SELECT name FROM emp WHERE dept = "it"'
    world = OnDuckDB()
    assert world.ask("ann", sql).sqlstate == "42703"
    found = world.ask("ann", sql, settings={"discreet.lenient": "on"})
    assert found.rows == (("Ann",), ("Bob",))


def test_labels_of_cells_can_be_named_and_are_not_part_of_a_star():
    emp = replace(RIGHTS.relations["public", "emp"], multilevel=True)
    rights = replace(RIGHTS, relations={**RIGHTS.relations, emp.key: emp})

    def labeled(relation: Relation, subject: Subject) -> exp.Query:
        query = plain_source(relation, subject)
        if not relation.multilevel or not isinstance(query, exp.Select):
            return query
        labels = [f"{column.name}_label" for column in relation.columns]
        return query.select(*(build.alias_as(build.text("S"), name) for name in [*labels, "tc"]))

    found = permit("bob", "SELECT name, name_label, tc FROM emp", rights=rights, source=labeled)
    assert found.names == ("name", "name_label", "tc")
    assert found.reads[0].columns == {"name"}
    assert len(permit("ann", "SELECT * FROM emp", rights=rights, source=labeled).names) == 5
    with pytest.raises(AccessDenied):
        permit("bob", "SELECT sal_label FROM emp", rights=rights, source=labeled)
    with pytest.raises(StatementFailed, match="does not exist"):
        permit("ann", "SELECT tc FROM dep", rights=rights, source=labeled)


def test_a_source_that_is_not_plain_is_read_in_the_place_of_the_table():
    def elsewhere(relation: Relation, subject: Subject) -> exp.Query:
        return build.select(
            *(build.column(column.name) for column in relation.columns),
            source=build.table("vault", relation.name),
        )

    found = permit("ann", "SELECT name FROM emp", source=elsewhere)
    assert found.physical == {("vault", "emp")}


def test_an_anonymized_view_is_a_view_that_is_read_like_a_table():
    release = Relation(
        "public",
        "release",
        "anonymized",
        "owner",
        (RelationColumn("age", "text"),),
        acl=RIGHTS.relations["public", "rich"].acl,
        physical=("anonymized", "release"),
    )
    rights = replace(RIGHTS, relations={**RIGHTS.relations, release.key: release})
    found = permit("bob", "SELECT age FROM release", rights=rights)
    assert found.physical == {("anonymized", "release")}
    with pytest.raises(AccessDenied, match="permission denied for view release"):
        permit("eve", "SELECT age FROM release", rights=rights)


def test_names_differ_for_engines_that_ignore_case():
    sql = 'WITH "T" AS (SELECT id AS "X", name AS x FROM emp), t AS (SELECT 1 AS y) SELECT "T".x, "T"."X" FROM "T", t'
    assert OnDuckDB().ask("ann", f"{sql} LIMIT 1").rows == (("Ann", 1.0),)


def test_the_relations_that_a_query_names_are_those_of_its_scopes():
    def named(sql: str) -> list[str]:
        tree = parse_one(sql, dialect="postgres")
        assert isinstance(tree, exp.Query)
        return sorted(one.name for one in relations_of(tree, RIGHTS, Subject("eve", "eve")))

    assert named("SELECT 1 FROM emp JOIN dep USING (dept)") == ["dep", "emp"]
    assert named("WITH emp AS (SELECT * FROM dep) SELECT * FROM emp") == ["dep"]
    assert named("WITH emp AS (SELECT * FROM emp) SELECT * FROM emp") == ["emp"]
    assert named("WITH x AS (SELECT 1) SELECT * FROM (SELECT * FROM x) y, rich") == ["rich"]
    with pytest.raises(StatementFailed, match="does not exist"):
        named("SELECT * FROM nobody")


def test_very_deep_and_very_long_statements_are_refused_and_not_endless():
    for sql in ("SELECT " + "-".join(["1"] * 500), "SELECT " + "- " * 60 + "1" + " - 1" * 70):
        with pytest.raises(StatementFailed) as caught:
            permit("ann", sql)
        assert caught.value.sqlstate == "54001"
    chain = " OR ".join(["id = 1"] * 2000)
    assert permit("ann", f"SELECT name FROM emp WHERE {chain}").names == ("name",)


TERMS = ", ".join(f"id + {number}" for number in range(14))


@pytest.mark.parametrize(
    "sql",
    [
        f"SELECT count(*) FROM emp GROUP BY CUBE ({TERMS})",
        "SELECT count(*) FROM emp GROUP BY CUBE (id, name, dept, hired, sal), CUBE (id, name, dept, hired, sal)",
        "SELECT count(*) FROM emp GROUP BY " + ", ".join(["ROLLUP (id, name)"] * 6),
        f"SELECT count(*) FROM emp GROUP BY GROUPING SETS (CUBE ({TERMS}), (id))",
        f"SELECT count(*) FROM emp GROUP BY GROUPING SETS (GROUPING SETS (CUBE ({TERMS})))",
        "SELECT count(*) FROM emp GROUP BY ROLLUP (" + ", ".join(["id + 1"] * 400) + ")",
        "SELECT 1 FROM (SELECT count(*) FROM emp GROUP BY CUBE (id, name, dept, hired, sal)) AS a"
        + " UNION ALL SELECT count(*) FROM emp GROUP BY CUBE (id, name, dept, hired, sal)" * 16,
    ],
    ids=["cube", "product", "rollups", "in sets", "nested", "wide", "several"],
)
def test_more_grouping_sets_than_an_engine_writes_out_in_time_are_refused(sql: str):
    with pytest.raises(StatementFailed, match="grouping sets") as failed:
        permit("owner", sql)
    assert failed.value.sqlstate == "54001"


def test_grouping_sets_as_people_write_them_are_taken():
    terms = ", ".join(
        ["(id, name)", "dept", "hired", "sal", "id + 1", "id + 2", "id + 3", "id + 4"]
    )
    assert permit("owner", f"SELECT count(*) FROM emp GROUP BY CUBE ({terms})").tree
    sets = ", ".join(f"(id + {number})" for number in range(90))
    assert permit("owner", f"SELECT count(*) FROM emp GROUP BY GROUPING SETS ({sets})").tree


@pytest.mark.parametrize(
    ("sql", "sqlstate", "message"),
    [
        ("SELECT name FROM emp GROUP BY 2", "42P10", "GROUP BY position 2 is not in select list"),
        ("SELECT name FROM emp GROUP BY 'x'", "42601", "non-integer constant in GROUP BY"),
        ("SELECT name FROM emp ORDER BY 0", "42P10", "ORDER BY position 0 is not in select list"),
        ("SELECT name FROM emp ORDER BY 1.5", "42601", "non-integer constant in ORDER BY"),
        (
            "SELECT DISTINCT ON (2) name FROM emp",
            "42P10",
            "DISTINCT ON position 2 is not in select list",
        ),
        (
            "SELECT DISTINCT ON ('x') name FROM emp",
            "42601",
            "non-integer constant in DISTINCT ON",
        ),
        (
            "SELECT name FROM emp UNION SELECT dept FROM emp ORDER BY '1'",
            "42601",
            "non-integer constant in ORDER BY",
        ),
    ],
)
def test_a_constant_is_a_position_or_refused(sql: str, sqlstate: str, message: str):
    with pytest.raises(StatementFailed) as caught:
        permit("bob", sql)
    assert (caught.value.sqlstate, str(caught.value)) == (sqlstate, message)
