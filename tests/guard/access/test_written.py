"""An authority read again is the one that was written, whatever happened before."""

from __future__ import annotations

import json

from hypothesis import given, settings
from hypothesis import strategies as st
from tests.guard.access.playing import Stage
from tests.guard.access.test_apply import HOSPITAL

from discreet.guard.access.authority import (
    AclEntry,
    Allowance,
    Authority,
    CheckConstraint,
    ColumnMask,
    DatabaseRole,
    DatabaseSchema,
    Exclusion,
    ForeignKey,
    InferenceControl,
    Relation,
    RelationColumn,
    RoleMembership,
    RowPolicy,
    Trigger,
)
from discreet.guard.access.serialization import from_json, to_json

NUMBERS = st.decimals(allow_nan=False, allow_infinity=False, min_value=0, max_value=10**9)
OPTIONS = st.dictionaries(st.text(max_size=5), st.text(max_size=5), max_size=2)

TEXTS = st.text(max_size=4)
NAMES = st.lists(TEXTS, max_size=3).map(tuple)


def few(kind: type, **fields: st.SearchStrategy) -> st.SearchStrategy:
    return st.lists(st.builds(kind, **fields), max_size=2).map(tuple)


ENTRIES = few(AclEntry, budget=st.none() | st.builds(Allowance, epsilon=NUMBERS, delta=NUMBERS))
RELATIONS = st.builds(
    Relation,
    schema=TEXTS,
    name=TEXTS,
    kind=st.sampled_from(["table", "view", "anonymized"]),
    owner=TEXTS,
    primary_key=NAMES,
    row_security=st.booleans(),
    force_row_security=st.booleans(),
    multilevel=st.booleans(),
    query=st.none() | TEXTS,
    security_invoker=st.booleans(),
    physical=NAMES,
    writable=st.booleans(),
    columns=few(RelationColumn, acl=ENTRIES),
    acl=st.none() | ENTRIES,
    foreign_keys=few(ForeignKey),
    checks=few(CheckConstraint),
    policies=few(RowPolicy),
    masks=few(ColumnMask),
    controls=few(InferenceControl),
    triggers=few(Trigger),
    uniques=st.lists(NAMES, max_size=2).map(tuple),
    options=OPTIONS,
)


@st.composite
def authorities(draw: st.DrawFn) -> Authority:
    roles = draw(st.lists(st.builds(DatabaseRole), max_size=3))
    schemas = draw(st.lists(st.builds(DatabaseSchema, acl=st.none() | ENTRIES), max_size=2))
    relations = draw(st.lists(RELATIONS, max_size=2))
    return Authority(
        version=draw(st.integers(0)),
        roles={role.name: role for role in roles},
        memberships=draw(few(RoleMembership)),
        schemas={schema.name: schema for schema in schemas},
        relations={relation.key: relation for relation in relations},
        exclusions=draw(few(Exclusion)),
        lattice=draw(st.none() | st.text()),
    )


@settings(max_examples=40)
@given(authorities())
def test_every_authority_survives_being_written(authority: Authority):
    again = from_json(json.loads(json.dumps(to_json(authority))))
    assert again == authority
    assert list(again.roles) == list(authority.roles)
    assert to_json(again) == to_json(authority)


def test_a_hospital_survives_being_written_with_sorted_keys():
    stage = Stage(
        *HOSPITAL,
        "carol: GRANT AGGREGATE ON patients TO bob WITH BUDGET (EPSILON 1.10, DELTA 1e-9)",
        "carol: CREATE POLICY p ON patients TO bob USING (age > 1)",
        "carol: CREATE TRIGGER t AFTER UPDATE OF age ON patients WHEN (1 > 2) RAISE 'no'",
        "carol: CREATE TABLE visits (patient integer REFERENCES patients CHECK (patient > 0))",
    )
    written = json.dumps(to_json(stage.authority), sort_keys=True)
    assert from_json(json.loads(written)) == stage.authority
