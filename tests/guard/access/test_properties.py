"""What holds after every sequence of statements, whichever role sent them."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.guard.access.playing import Stage
from tests.guard.differential import Steps

from discreet.errors import StatementFailed
from discreet.guard.access.apply import apply
from discreet.guard.access.authority import Authority, RelationColumn, Subject
from discreet.guard.access.decide import relation_acl
from discreet.guard.access.exclusions import need_separation
from discreet.guard.access.initial import initial_authority
from discreet.guard.access.reach import bootstrap
from discreet.guard.statements.definitions import parse_definition
from discreet.guard.statements.objects import CreateView

if TYPE_CHECKING:
    from discreet.guard.access.acl import AccessControlList
    from discreet.guard.access.authority import Privilege, RevokeScope

AB = (RelationColumn("a", "integer"), RelationColumn("b", "integer"))


def after(seed: int, *, exclusions: bool = False) -> list[Authority]:
    """Return the authorities on the way of a random sequence."""
    chosen = Steps(seed, prefix="p", admin="admin")
    authority = initial_authority("admin")
    steps = [*chosen.prepare(), *chosen.steps(60)]
    way = [authority]
    for number, step in enumerate(steps):
        sql = step.sql
        if exclusions and number == len(chosen.roles):
            sql = "CREATE EXCLUSION e ON ROLES (pr4, pr5)"
        statement = None if step.relation else parse_definition(sql)
        if statement is None or (step.role or step.user) not in authority.roles:
            continue
        columns = AB if isinstance(statement, CreateView) else ()
        subject = Subject(step.user, step.role or step.user)
        try:
            applied = apply(authority, statement, subject, revoke_scope="owner", columns=columns)
        except StatementFailed:
            continue
        authority = applied.authority
        way.append(authority)
    return way


SEEDS = st.integers(0, 2**32)


# Few lines, so that chance puts those together that build on each other.
LINES = st.sampled_from(
    [
        "ann: GRANT SELECT ON t TO bob WITH GRANT OPTION",
        "ann: GRANT SELECT ON t TO cid WITH GRANT OPTION",
        "ann: GRANT SELECT (a) ON t TO bob WITH GRANT OPTION",
        "bob: GRANT SELECT ON t TO cid WITH GRANT OPTION",
        "bob: GRANT SELECT (a) ON t TO cid WITH GRANT OPTION",
        "bob: GRANT SELECT (a) ON t TO cid",
        "cid: GRANT SELECT ON t TO bob WITH GRANT OPTION",
        "cid: GRANT SELECT (a) ON t TO bob",
        "cid: GRANT SELECT ON t TO PUBLIC",
        "ann: REVOKE SELECT ON t FROM bob",
        "ann: REVOKE SELECT ON t FROM bob CASCADE",
        "ann: REVOKE SELECT (a) ON t FROM bob CASCADE",
        "ann: REVOKE GRANT OPTION FOR SELECT ON t FROM cid CASCADE",
        "bob: REVOKE SELECT ON t FROM cid CASCADE",
    ]
)


def shared_table(scope: RevokeScope) -> Stage:
    """Return a table of Ann's, and others in no roles."""
    return Stage(
        *(f"admin: CREATE USER {name}" for name in ("ann", "bob", "cid")),
        "admin: GRANT CREATE TABLE TO ann",
        "ann: CREATE TABLE t (a integer)",
        scope=scope,
    )


@settings(max_examples=100)
@given(st.lists(LINES, min_size=5, max_size=20))
def test_no_right_outlives_the_grant_option_it_came_from(lines: list[str]):
    """Among people in no roles, every right leads back to the owner, grant by grant."""
    stage = shared_table("owner")
    for line in lines:
        stage.refuses(line)
        table = stage.relation("t")
        whole = relation_acl(stage.authority, table)
        (column,) = table.columns
        both = whole.with_entries((*whole.entries, *column.acl))
        for entry in whole.entries:
            assert entry.grantor in rooted(whole, entry.privilege)
        for entry in column.acl:
            assert entry.grantor in rooted(both, entry.privilege)


# Bob and Cid have the grant option of each other when the owner's own grants are gone.
CYCLE = (
    "ann: GRANT SELECT ON t TO bob WITH GRANT OPTION",
    "ann: GRANT SELECT ON t TO cid WITH GRANT OPTION",
    "bob: GRANT SELECT ON t TO cid WITH GRANT OPTION",
    "cid: GRANT SELECT ON t TO bob WITH GRANT OPTION",
    "ann: REVOKE SELECT ON t FROM bob CASCADE",
    "ann: REVOKE SELECT ON t FROM cid CASCADE",
)


@pytest.mark.parametrize(
    ("scope", "left"),
    [
        ("owner", set()),
        ("grantor", {("cid", "bob"), ("bob", "cid")}),
    ],  # as PostgreSQL 16 leaves them
)
def test_who_granted_to_each_other_keep_it_in_postgresqls_way_only(
    scope: RevokeScope, left: set[tuple[str, str]]
):
    stage = shared_table(scope)
    for line in CYCLE:
        stage.refuses(line)
    entries = relation_acl(stage.authority, stage.relation("t")).entries
    assert {(e.grantee, e.grantor) for e in entries if e.grantee != "ann"} == left


def rooted(listed: AccessControlList, privilege: Privilege) -> set[str]:
    """Return the owner and anyone who has the grant option through grants that start there."""
    found = {listed.owner}
    for _ in listed.entries:
        found |= {
            entry.grantee
            for entry in listed.entries
            if entry.privilege == privilege and entry.grantable and entry.grantor in found
        }
    return found


@settings(max_examples=25)
@given(SEEDS)
def test_every_version_is_one_more_and_the_first_superuser_stays(seed: int):
    way = after(seed)
    assert [one.version for one in way[1:]] == sorted(one.version for one in way[1:])
    for before, now in pairwise(way):
        assert now.version - before.version == (now != before)
        assert bootstrap(now) == "admin"


@settings(max_examples=25)
@given(SEEDS)
def test_everybody_named_in_a_right_is_there(seed: int):
    end = after(seed)[-1]
    known = {"", *end.roles}
    for relation in end.relations.values():
        assert relation.owner in end.roles
        for acl in (relation.acl or (), *(column.acl for column in relation.columns)):
            assert {e.grantee for e in acl} | {e.grantor for e in acl} <= known
    for edge in end.memberships:
        assert {edge.role, edge.member, edge.grantor} <= known


@settings(max_examples=25)
@given(SEEDS)
def test_no_way_leads_into_two_roles_that_exclude_each_other(seed: int):
    way = after(seed, exclusions=True)
    assert any(one.exclusions for one in way)
    for authority in way:
        need_separation(authority)
        for role in authority.roles:
            acting = [
                e.role for e in authority.memberships if e.member == role and (e.inherit or e.set)
            ]
            if authority.exclusions:
                assert not {"pr4", "pr5"} <= {role, *acting}
