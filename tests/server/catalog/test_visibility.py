"""Nothing in the catalog mentions a relation or a column that a role may not know of."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st
from tests.server.catalog.example import client, granted

from discreet.guard.access.authority import (
    COLUMN_PRIVILEGES,
    TABLE_PRIVILEGES,
    AclEntry,
    Authority,
    CheckConstraint,
    DatabaseRole,
    DatabaseSchema,
    ForeignKey,
    Privilege,
    Relation,
    RelationColumn,
    RoleMembership,
    RowPolicy,
    Trigger,
)
from discreet.guard.access.decide import owns, privilege_on
from discreet.server.catalog.rows.produce import catalog_rows
from discreet.server.catalog.snapshot import CatalogSnapshot
from discreet.server.catalog.standard import system_relations
from discreet.server.catalog.visibility import RoleVisibility

ROLES = ("root", "owner", "reader", "group")


@st.composite
def _column(draw: st.DrawFn, name: str) -> RelationColumn:
    grantees = draw(st.lists(st.sampled_from(["reader", "group", ""]), max_size=1))
    acl = tuple(
        AclEntry(grantee, "owner", draw(st.sampled_from(COLUMN_PRIVILEGES))) for grantee in grantees
    )
    default = draw(st.sampled_from([None, "7"]))
    return RelationColumn(name, "integer", default=default, acl=acl)


@st.composite
def _relation(draw: st.DrawFn, number: int) -> Relation:
    names = [f"col{number}{letter}qq" for letter in "abc"]
    grants = draw(
        st.lists(
            st.tuples(st.sampled_from(["reader", "group", ""]), st.sampled_from(TABLE_PRIVILEGES)),
            max_size=1,
        )
    )
    entries = [AclEntry(grantee, "owner", privilege) for grantee, privilege in grants]
    kind = draw(st.sampled_from(["table", "view"]))
    target = ("public", f"rel{(number + 1) % 4}qq")
    return Relation(
        draw(st.sampled_from(["public", f"space{number}qq"])) if number == 3 else "public",
        f"rel{number}qq",
        kind,
        draw(st.sampled_from(["owner", "owner", "root", "group"])),
        tuple(draw(_column(name)) for name in names),
        acl=granted("owner", *entries) if entries else None,
        primary_key=(names[0],) if kind == "table" else (),
        uniques=((names[1], names[2]),) if kind == "table" else (),
        foreign_keys=(ForeignKey((names[2],), target, (f"col{(number + 1) % 4}aqq",)),)
        if kind == "table" and number != 2
        else (),
        checks=(
            CheckConstraint(f"{names[0]} < {names[1]}"),
            CheckConstraint(f"rel{number}qq IS NOT NULL"),
        ),
        policies=(RowPolicy(f"pol{number}qq", ("",), using=f"{names[1]} = 1"),),
        triggers=(
            Trigger(f"tri{number}qq", "AFTER", ("UPDATE",), "ROW", f"NEW.{names[2]} > 1", "no"),
        ),
        row_security=draw(st.booleans()),
        query=f"SELECT * FROM {target[1]}" if kind == "view" else None,
    )


@st.composite
def authorities(draw: st.DrawFn) -> Authority:
    """Return an authority with four relations, some of which are hidden from some."""
    relations = [draw(_relation(number)) for number in range(4)]
    roles = {name: DatabaseRole(name, superuser=name == "root") for name in ROLES}
    joined = draw(st.booleans())
    edges = (
        (RoleMembership("group", "reader", "root", inherit=draw(st.booleans())),) if joined else ()
    )
    names = {"public", *(relation.schema for relation in relations)}
    schemas = {name: DatabaseSchema(name, "root") for name in names}
    return Authority(1, roles, edges, schemas, {each.key: each for each in relations})


def _hidden(authority: Authority, role: str) -> set[str]:
    """Return the names that a role may not know, by the decisions alone."""
    hidden: set[str] = set()
    for relation in authority.relations.values():
        if owns(authority, role, relation):
            continue
        whole = any(privilege_on(authority, role, relation, each) for each in TABLE_PRIVILEGES)
        columns = {
            column.name
            for column in relation.columns
            if whole
            or any(
                privilege_on(authority, role, relation, each, column.name)
                for each in COLUMN_PRIVILEGES
            )
        }
        hidden |= {column.name for column in relation.columns} - columns
        hidden |= {relation.policies[0].name, relation.triggers[0].name}
        if not columns and not whole:
            hidden.add(relation.name)
    # Anyone who owns something may read what they wrote, also where it names what others hid since.
    for relation in authority.relations.values():
        if owns(authority, role, relation):
            words = " ".join(
                (relation.query or "", *(check.condition for check in relation.checks))
            )
            hidden = {name for name in hidden if name not in words}
    return hidden


def _mentioned(authority: Authority, role: str) -> str:
    snapshot = CatalogSnapshot(RoleVisibility(authority, role), "postgres")
    return "\n".join(
        str(list(row.values())) for key in system_relations() for row in catalog_rows(snapshot, key)
    )


@settings(max_examples=25)
@given(authority=authorities(), role=st.sampled_from(["reader", "group", "owner"]))
def test_no_row_mentions_what_a_role_may_not_know_of(authority: Authority, role: str):
    result = _mentioned(authority, role)
    assert {name for name in _hidden(authority, role) if name in result} == set()


@settings(max_examples=25)
@given(authority=authorities(), role=st.sampled_from(ROLES))
def test_what_is_shown_is_what_the_decisions_allow(authority: Authority, role: str):
    visible = RoleVisibility(authority, role)
    for key, relation in authority.relations.items():
        seen = visible.relations.get(key)
        for column in relation.columns:
            may = owns(authority, role, relation) or any(
                privilege_on(authority, role, relation, each, column.name)
                for each in (*COLUMN_PRIVILEGES, *TABLE_PRIVILEGES)
            )
            assert may == (seen is not None and column in seen.columns)


@settings(max_examples=10)
@given(authority=authorities())
def test_a_superuser_sees_everything(authority: Authority):
    result = _mentioned(authority, "root")
    assert all(relation.name in result for relation in authority.relations.values())


def test_clearances_and_passwords_are_hidden_from_all_users():
    everything = client("discreet")
    result = str(everything.ask("SELECT * FROM pg_roles")) + str(everything.ask("TABLE pg_user"))
    assert "nato" not in result
    assert "********" in result


def test_a_reader_of_two_columns_sees_a_table_of_two():
    bob = client("bob")
    rows = bob.ask(
        "SELECT attname, attnum FROM pg_attribute WHERE attrelid = 'visits'::regclass ORDER BY 2"
    )
    assert rows == [("patient", 1), ("number", 2)]
    assert bob.ask("SELECT relnatts FROM pg_class WHERE relname = 'visits'") == [(2,)]
    assert bob.ask("SELECT conname FROM pg_constraint WHERE conname LIKE 'visits%' ORDER BY 1") == [
        ("visits_patient_fkey",),
        ("visits_pkey",),
    ]


def test_views_policies_triggers_and_masks_are_shown_to_owners_only():
    asked = "SELECT pg_get_viewdef('old_patients'), (SELECT count(*) FROM pg_policy), (SELECT count(*) FROM pg_trigger), (SELECT count(view_definition) FROM information_schema.views)"
    view = " SELECT id, name FROM patients WHERE born < '1950-01-01';"
    assert client("alice").ask(asked) == [(view, 1, 1, 1)]
    assert client("bob").ask(asked) == [(None, 0, 0, 0)]


def test_how_many_rows_there_are_is_hidden_from_all_users():
    asked = "SELECT reltuples, pg_relation_size(oid) FROM pg_class WHERE relname = 'patients'"
    assert client("alice").ask(asked) == [(-1.0, None)]
    rows = client("alice").ask("SELECT n_live_tup FROM pg_stat_user_tables")
    assert rows == [(None,)] * 3


def test_numbers_are_the_same_for_all_who_may_know_of_a_thing():
    asked = "SELECT 'patients'::regclass::oid, 'staff'::regrole::oid"
    assert client("alice").ask(asked) == client("bob").ask(asked) == client("discreet").ask(asked)


def test_a_right_to_ask_in_private_makes_a_table_known():
    relation = Relation(
        "public",
        "t",
        "table",
        "owner",
        (RelationColumn("a", "integer"),),
        acl=granted("owner", AclEntry("reader", "owner", Privilege.AGGREGATE)),
    )
    authority = Authority(
        1, {name: DatabaseRole(name) for name in ROLES}, (), {}, {relation.key: relation}
    )
    rows = client("reader", authority).ask("SELECT relname, relacl FROM pg_class WHERE oid > 16384")
    assert rows == [("t", ["owner=arwdDxt/owner", "reader=g/owner"])]
