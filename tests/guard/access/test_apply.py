"""Each rule about roles, rights and what is attached to relations, by itself."""

from __future__ import annotations

from decimal import Decimal

import pytest
from tests.guard.access.playing import Stage

from discreet.errors import AccessDenied, Bug, StatementFailed
from discreet.guard.access.apply import apply
from discreet.guard.access.authority import Allowance, Privilege, Subject
from discreet.guard.access.decide import any_column_privilege, budgets_on, is_officer
from discreet.guard.access.initial import initial_authority
from discreet.guard.statements.definitions import parse_definition
from discreet.guard.statements.statement import Commit

HOSPITAL = (
    "admin: CREATE USER carol",
    "admin: CREATE USER bob",
    "admin: CREATE USER dave",
    "admin: CREATE ROLE analysts",
    "admin: GRANT CREATE ON SCHEMA public TO carol",
    "admin: GRANT analysts TO bob",
    "carol: CREATE TABLE patients (id integer PRIMARY KEY, name text, age integer)",
)


@pytest.fixture
def hospital() -> Stage:
    return Stage(*HOSPITAL)


# Rights on relations


def test_no_user_may_do_anything_by_default(hospital: Stage):
    assert hospital.why("bob", "SELECT", "patients") == "bob has no SELECT on patients"


def test_a_decision_says_by_which_right(hospital: Stage):
    hospital.play("carol: GRANT SELECT ON patients TO analysts")
    reason = "analysts has SELECT on patients from carol, of which bob is a member"
    assert hospital.why("bob", "SELECT", "patients") == reason
    assert hospital.why("admin", "SELECT", "patients") == "admin is a superuser"
    assert hospital.why("carol", "SELECT", "patients") == "carol owns patients"


def test_everybody_has_what_public_has(hospital: Stage):
    hospital.play("carol: GRANT SELECT (age) ON patients TO PUBLIC")
    reason = "everybody has SELECT on patients.age from carol"
    assert hospital.why("dave", "SELECT", "patients", "age") == reason


def test_a_dropped_role_may_do_nothing_though_everybody_may(hospital: Stage):
    hospital.play("carol: GRANT SELECT ON patients TO PUBLIC", "admin: DROP ROLE dave")
    assert not hospital.may("dave", "SELECT", "patients")


def test_one_column_is_enough_to_count(hospital: Stage):
    hospital.play("carol: GRANT SELECT (age) ON patients TO dave")
    patients = hospital.relation("patients")
    assert any_column_privilege(hospital.authority, "dave", patients, Privilege.SELECT)
    assert not any_column_privilege(hospital.authority, "bob", patients, Privilege.SELECT)


def test_public_gets_no_grant_option(hospital: Stage):
    line = "carol: GRANT SELECT ON patients TO PUBLIC WITH GRANT OPTION"
    assert hospital.refuses(line) == "0LP01"


def test_a_grant_on_two_tables_is_all_or_nothing(hospital: Stage):
    assert hospital.refuses("carol: GRANT SELECT ON patients, nowhere TO bob") == "42P01"
    assert not hospital.may("bob", "SELECT", "patients")


def test_a_grant_on_an_unknown_column_changes_nothing(hospital: Stage):
    assert hospital.refuses("carol: GRANT DELETE, SELECT (oops) ON patients TO bob") == "42703"
    assert not hospital.may("bob", "DELETE", "patients")


def test_revoking_on_the_table_takes_the_columns_too(hospital: Stage):
    hospital.play(
        "carol: GRANT SELECT (age) ON patients TO dave",
        "carol: REVOKE SELECT ON patients FROM dave",
    )
    assert not hospital.may("dave", "SELECT", "patients", "age")


def test_revoking_on_a_column_leaves_the_table(hospital: Stage):
    hospital.play(
        "carol: GRANT SELECT ON patients TO dave",
        "carol: REVOKE SELECT (age) ON patients FROM dave",
    )
    assert hospital.may("dave", "SELECT", "patients", "age")


def test_the_owner_who_revoked_from_herself_can_grant_again(hospital: Stage):
    hospital.play("carol: REVOKE SELECT ON patients FROM carol")
    assert not hospital.may("carol", "SELECT", "patients")
    hospital.play("carol: GRANT SELECT ON patients TO carol")
    assert hospital.may("carol", "SELECT", "patients")


def test_grant_options_do_not_come_back_to_the_grantor(hospital: Stage):
    hospital.play(
        "carol: GRANT SELECT ON patients TO bob WITH GRANT OPTION",
        "bob: GRANT SELECT ON patients TO dave WITH GRANT OPTION",
    )
    assert hospital.refuses("dave: GRANT SELECT ON patients TO bob WITH GRANT OPTION") == "0LP01"


def test_the_owner_takes_columns_that_others_granted(hospital: Stage):
    hospital.play(
        "carol: GRANT SELECT (age) ON patients TO bob WITH GRANT OPTION",
        "bob: GRANT SELECT (age) ON patients TO dave",
        "carol: REVOKE SELECT (age) ON patients FROM dave",
    )
    assert not hospital.may("dave", "SELECT", "patients", "age")


def test_a_user_who_is_not_the_owner_takes_their_own_grants_only(hospital: Stage):
    hospital.play(
        "carol: GRANT SELECT ON patients TO bob WITH GRANT OPTION",
        "carol: GRANT SELECT ON patients TO dave",
        "bob: REVOKE SELECT ON patients FROM dave",
    )
    assert hospital.may("dave", "SELECT", "patients")


# AGGREGATE


def test_aggregate_has_a_budget_and_a_second_grant_changes_it(hospital: Stage):
    hospital.play(
        "carol: GRANT AGGREGATE ON patients TO analysts WITH BUDGET (EPSILON 2, DELTA 1e-6)"
    )
    one = (("analysts", Allowance(Decimal(2), Decimal("1e-6"))),)
    assert budgets_on(hospital.authority, "bob", hospital.relation("patients")) == one
    hospital.play("carol: GRANT AGGREGATE ON patients TO analysts WITH BUDGET (EPSILON 0.5)")
    other = (("analysts", Allowance(Decimal("0.5"), Decimal(0))),)
    assert budgets_on(hospital.authority, "bob", hospital.relation("patients")) == other


@pytest.mark.parametrize(
    "rest",
    [
        "AGGREGATE ON patients TO bob",
        "SELECT ON patients TO bob WITH BUDGET (EPSILON 1)",
        "AGGREGATE ON patients TO bob WITH GRANT OPTION WITH BUDGET (EPSILON 1)",
    ],
)
def test_a_budget_belongs_to_aggregate_and_is_not_granted_on(hospital: Stage, rest: str):
    assert hospital.refuses(f"carol: GRANT {rest}") == "0LP01"


def test_all_grants_no_aggregate_and_takes_it(hospital: Stage):
    hospital.play("carol: GRANT ALL ON patients TO dave")
    assert not hospital.may("dave", "AGGREGATE", "patients")
    hospital.play(
        "carol: GRANT AGGREGATE ON patients TO dave WITH BUDGET (EPSILON 1)",
        "carol: REVOKE ALL ON patients FROM dave",
    )
    assert budgets_on(hospital.authority, "dave", hospital.relation("patients")) == ()


def test_the_owner_has_no_budget(hospital: Stage):
    assert budgets_on(hospital.authority, "carol", hospital.relation("patients")) == ()


# Roles


def test_who_creates_a_role_administers_it_and_does_not_act_with_it(hospital: Stage):
    hospital.play("admin: ALTER ROLE bob CREATEROLE", "bob: CREATE ROLE ward")
    (edge,) = [e for e in hospital.authority.memberships if e.role == "ward"]
    assert (edge.member, edge.grantor) == ("bob", "admin")
    assert (edge.admin, edge.inherit, edge.set) == (True, False, False)


@pytest.mark.parametrize("attribute", ["SUPERUSER", "CREATEDB", "BYPASSRLS"])
def test_createrole_hands_out_only_what_it_has(hospital: Stage, attribute: str):
    hospital.play("admin: ALTER ROLE bob CREATEROLE")
    assert hospital.refuses(f"bob: CREATE ROLE ward {attribute}") == "42501"


def test_createrole_does_not_alter_roles_it_does_not_administer(hospital: Stage):
    hospital.play("admin: ALTER ROLE bob CREATEROLE")
    assert hospital.refuses("bob: ALTER ROLE carol NOLOGIN") == "42501"
    assert hospital.refuses("bob: GRANT security_officer TO bob") == "42501"


def test_users_may_change_their_own_password_only(hospital: Stage):
    hospital.play("bob: ALTER ROLE bob PASSWORD 'x'", "bob: ALTER ROLE CURRENT_USER PASSWORD 'x'")
    assert hospital.refuses("bob: ALTER ROLE carol PASSWORD 'x'") == "42501"


def test_a_password_is_not_in_the_authority(hospital: Stage):
    hospital.play("admin: CREATE USER erin PASSWORD 'correct horse'")
    assert "correct horse" not in repr(hospital.authority)


@pytest.mark.parametrize("name", ["public", "none", "pg_read_all_data"])
def test_reserved_names_are_refused(hospital: Stage, name: str):
    assert hospital.refuses(f"admin: CREATE ROLE {name}") == "42939"


@pytest.mark.parametrize("name", ["carol", "admin", "security_officer"])
def test_a_role_that_is_needed_is_not_dropped(hospital: Stage, name: str):
    hospital.play("admin: CREATE ROLE other SUPERUSER")
    assert hospital.refuses(f"other: DROP ROLE {name}") == "2BP01"


def test_no_user_drops_themselves(hospital: Stage):
    assert hospital.refuses("admin: DROP ROLE admin") == "55006"


def test_the_first_superuser_stays_one(hospital: Stage):
    assert hospital.refuses("admin: ALTER ROLE admin NOSUPERUSER") == "0A000"


def test_a_renamed_role_keeps_its_rights_and_its_things(hospital: Stage):
    hospital.play(
        "carol: GRANT SELECT ON patients TO analysts",
        "admin: ALTER ROLE carol RENAME TO cleo",
        "admin: ALTER ROLE analysts RENAME TO researchers",
    )
    assert hospital.relation("patients").owner == "cleo"
    assert hospital.may("bob", "SELECT", "patients")
    assert next(iter(hospital.authority.roles)) == "admin"


# Separation of duty


def test_no_user_gets_into_two_roles_that_exclude_each_other(hospital: Stage):
    hospital.play(
        "admin: CREATE ROLE auditors",
        "admin: CREATE EXCLUSION duties ON ROLES (analysts, auditors)",
    )
    assert hospital.refuses("admin: GRANT auditors TO bob") == "0LP01"
    hospital.play("admin: REVOKE analysts FROM bob", "admin: GRANT auditors TO bob")


def test_an_exclusion_sees_through_roles_in_roles(hospital: Stage):
    hospital.play(
        "admin: CREATE ROLE auditors",
        "admin: CREATE ROLE inspectors IN ROLE auditors",
        "admin: CREATE EXCLUSION duties ON ROLES (analysts, auditors)",
    )
    assert hospital.refuses("admin: GRANT inspectors TO bob") == "0LP01"
    assert hospital.refuses("admin: GRANT analysts TO auditors") == "0LP01"
    assert hospital.refuses("admin: CREATE ROLE x IN ROLE analysts, inspectors") == "0LP01"


def test_an_exclusion_that_a_user_violates_already_is_refused(hospital: Stage):
    hospital.play("admin: CREATE ROLE auditors ROLE bob")
    with pytest.raises(StatementFailed, match='"bob" cannot be in both "analysts" and "auditors"'):
        hospital.say("admin", "CREATE EXCLUSION duties ON ROLES (analysts, auditors)")


def test_who_may_only_administer_two_roles_does_not_act_with_them(hospital: Stage):
    hospital.play(
        "admin: ALTER ROLE dave CREATEROLE",
        "dave: CREATE ROLE payers",
        "dave: CREATE ROLE orderers",
        "admin: CREATE EXCLUSION money ON ROLES (payers, orderers)",
        "dave: GRANT payers TO dave",
    )
    assert hospital.refuses("dave: GRANT orderers TO dave") == "0LP01"


def test_exclusions_are_for_superusers_and_security_officers(hospital: Stage):
    line = "bob: CREATE EXCLUSION duties ON ROLES (analysts, carol)"
    assert hospital.refuses(line) == "42501"
    hospital.play("admin: GRANT security_officer TO bob", line)
    assert hospital.refuses("dave: DROP EXCLUSION duties") == "42501"
    assert hospital.refuses("admin: DROP ROLE analysts") == "2BP01"
    hospital.play("bob: DROP EXCLUSION duties")


# Tables, views, schemas


def test_a_name_that_differs_by_case_alone_is_taken(hospital: Stage):
    assert hospital.refuses('carol: CREATE TABLE "Patients" (a integer)') == "42P07"


def test_a_foreign_key_needs_references(hospital: Stage):
    hospital.play("admin: GRANT CREATE ON SCHEMA public TO dave")
    line = "dave: CREATE TABLE visits (patient integer REFERENCES patients)"
    assert hospital.refuses(line) == "42501"
    hospital.play("carol: GRANT REFERENCES (id) ON patients TO dave", line)
    (key,) = hospital.relation("visits").foreign_keys
    assert (key.target, key.target_columns) == (("public", "patients"), ("id",))


@pytest.mark.parametrize(
    ("columns", "sqlstate"),
    [
        ("a integer, A text", "42701"),
        ("a integer, PRIMARY KEY (b)", "42703"),
        ("a integer PRIMARY KEY, b integer PRIMARY KEY", "42P16"),
        ("a text REFERENCES patients (name)", "42830"),
        ("a text REFERENCES patients (oops)", "42703"),
        ("a text REFERENCES nowhere", "42P01"),
        ("a stringy", "42704"),
    ],
)
def test_a_table_that_makes_no_sense_is_refused(hospital: Stage, columns: str, sqlstate: str):
    assert hospital.refuses(f"carol: CREATE TABLE t ({columns})") == sqlstate


def test_columns_of_a_primary_key_are_not_null(hospital: Stage):
    assert hospital.relation("patients").columns[0].not_null


def test_a_view_keeps_its_rights_when_it_is_replaced(hospital: Stage):
    hospital.say("carol", "CREATE VIEW v AS SELECT id FROM patients", "id")
    hospital.play("carol: GRANT SELECT ON v TO dave")
    hospital.say("carol", "CREATE OR REPLACE VIEW v AS SELECT id, age FROM patients", "id age")
    assert hospital.may("dave", "SELECT", "v")
    with pytest.raises(StatementFailed, match="cannot drop columns"):
        hospital.say("carol", "CREATE OR REPLACE VIEW v AS SELECT id FROM patients", "id")


def test_an_anonymized_view_does_not_become_a_plain_one(hospital: Stage):
    hospital.say(
        "carol", "CREATE ANONYMIZED VIEW v AS SELECT age FROM patients WITH (k = 5)", "age"
    )
    assert hospital.relation("v").options == {"k": "5"}
    with pytest.raises(StatementFailed, match="anonymized view"):
        hospital.say("carol", "CREATE OR REPLACE VIEW v AS SELECT age FROM patients", "age")


def test_a_view_does_not_read_itself(hospital: Stage):
    hospital.say("carol", "CREATE VIEW v AS SELECT id FROM patients", "id")
    hospital.say("carol", "CREATE VIEW w AS SELECT id FROM v", "id")
    with pytest.raises(StatementFailed, match="infinite recursion"):
        hospital.say("carol", "CREATE OR REPLACE VIEW v AS SELECT id FROM w", "id")


def test_a_view_names_its_tables_with_their_schema_and_leaves_its_own_names(hospital: Stage):
    text = "CREATE VIEW v AS WITH p AS (SELECT id FROM patients) SELECT id FROM p"
    hospital.say("carol", text, "id")
    query = "WITH p AS (SELECT id FROM public.patients) SELECT id FROM p"
    assert hospital.relation("v").query == query


def test_what_a_view_reads_is_dropped_with_cascade_only(hospital: Stage):
    hospital.say("carol", "CREATE VIEW v AS SELECT id FROM patients", "id")
    hospital.say("carol", "CREATE VIEW w AS SELECT id FROM v", "id")
    assert hospital.refuses("carol: DROP TABLE patients") == "2BP01"
    hospital.play("carol: DROP TABLE patients CASCADE")
    assert hospital.authority.relations == {}


def test_what_a_policy_of_another_table_asks_is_not_dropped_even_with_cascade(hospital: Stage):
    hospital.play(
        "carol: CREATE TABLE staff (name text)",
        "carol: CREATE POLICY p ON patients USING (name IN (SELECT name FROM staff))",
    )
    assert hospital.refuses("carol: DROP TABLE staff CASCADE") == "2BP01"


def test_an_owner_gives_away_only_to_whom_they_may_become(hospital: Stage):
    assert hospital.refuses("carol: ALTER TABLE patients OWNER TO bob") == "42501"
    assert hospital.refuses("bob: ALTER TABLE patients OWNER TO bob") == "42501"
    hospital.play("admin: ALTER TABLE patients OWNER TO bob")
    assert hospital.may("bob", "DELETE", "patients")
    assert not hospital.may("carol", "DELETE", "patients")


def test_a_schema_without_usage_hides_what_is_in_it(hospital: Stage):
    hospital.play(
        "admin: CREATE SCHEMA lab AUTHORIZATION carol",
        "carol: CREATE TABLE lab.tests (a integer)",
        "carol: GRANT SELECT ON lab.tests TO bob WITH GRANT OPTION",
    )
    assert hospital.refuses("bob: GRANT SELECT ON lab.tests TO dave") == "42501"
    hospital.play(
        "carol: GRANT USAGE ON SCHEMA lab TO bob", "bob: GRANT SELECT ON lab.tests TO dave"
    )
    assert hospital.refuses("carol: DROP SCHEMA lab") == "2BP01"
    hospital.play("carol: DROP SCHEMA lab CASCADE")
    assert ("lab", "tests") not in hospital.authority.relations


def test_only_superusers_create_schemas(hospital: Stage):
    assert hospital.refuses("carol: CREATE SCHEMA lab") == "42501"


def test_a_schema_has_the_name_of_who_asks_when_it_has_none(hospital: Stage):
    hospital.play("admin: CREATE SCHEMA AUTHORIZATION CURRENT_USER")
    assert sorted(hospital.authority.schemas) == ["admin", "public"]


@pytest.mark.parametrize(
    ("line", "sqlstate"),
    [
        ("admin: CREATE SCHEMA PUBLIC", "42P06"),
        ('admin: CREATE SCHEMA "Lab"', "42P06"),
        ("admin: CREATE SCHEMA pg_x", "42939"),
        ("admin: CREATE SCHEMA x AUTHORIZATION nobody", "42704"),
        ("admin: DROP SCHEMA nowhere", "3F000"),
        ("admin: DROP SCHEMA public CASCADE", "2BP01"),
        ("bob: DROP SCHEMA lab", "42501"),
        ("bob: ALTER SCHEMA lab OWNER TO bob", "42501"),
        ("carol: ALTER SCHEMA lab OWNER TO bob", "42501"),
        ("carol: ALTER SCHEMA lab OWNER TO analysts", "42501"),
        ("bob: CREATE TABLE lab.t (a integer)", "42501"),
        ("bob: CREATE TABLE nowhere.t (a integer)", "3F000"),
    ],
)
def test_what_may_not_happen_to_a_schema_is_refused(hospital: Stage, line: str, sqlstate: str):
    hospital.play("admin: CREATE SCHEMA lab AUTHORIZATION carol", "admin: GRANT analysts TO carol")
    assert hospital.refuses(line) == sqlstate


def test_a_schema_that_is_given_away_keeps_its_rights_under_the_new_owner(hospital: Stage):
    hospital.play(
        "admin: CREATE SCHEMA IF NOT EXISTS lab AUTHORIZATION carol",
        "carol: GRANT USAGE ON SCHEMA lab TO bob",
        "admin: CREATE SCHEMA IF NOT EXISTS lab",
        "admin: ALTER SCHEMA lab OWNER TO dave",
        "admin: DROP SCHEMA IF EXISTS nowhere",
    )
    lab = hospital.authority.schemas["lab"]
    assert lab.owner == "dave"
    assert ("bob", "dave") in {(entry.grantee, entry.grantor) for entry in lab.acl or ()}


def test_a_table_of_a_query_has_its_columns_under_the_given_names(hospital: Stage):
    hospital.say("carol", "CREATE TABLE t (x) AS SELECT id, age FROM patients", "id age")
    assert [column.name for column in hospital.relation("t").columns] == ["x", "age"]
    with pytest.raises(StatementFailed, match="too many column names"):
        hospital.say("carol", "CREATE TABLE u (x, y) AS SELECT id FROM patients", "id")


def test_a_foreign_key_falls_with_its_target_by_cascade_only(hospital: Stage):
    hospital.play("carol: CREATE TABLE visits (patient integer REFERENCES patients)")
    assert hospital.refuses("carol: DROP TABLE patients") == "2BP01"
    hospital.play("carol: DROP TABLE patients CASCADE")
    assert hospital.relation("visits").foreign_keys == ()


@pytest.mark.parametrize(
    "attached",
    [
        "CREATE POLICY p ON patients TO dave USING (true)",
        "CREATE MASK m ON patients (name) TO dave USING ('x')",
        "CREATE CONTROL c ON patients TO dave WITH (size = 5)",
    ],
)
def test_a_role_that_a_policy_a_mask_or_a_control_names_is_not_dropped(
    hospital: Stage, attached: str
):
    hospital.play(f"carol: {attached}")
    assert hospital.refuses("admin: DROP ROLE dave") == "2BP01"


# What is attached


@pytest.mark.parametrize(
    "sql",
    [
        "CREATE POLICY p ON patients USING (true)",
        "CREATE MASK m ON patients (name) USING ('x')",
        "CREATE CONTROL c ON patients TO bob WITH (size = 5)",
        "CREATE TRIGGER t BEFORE INSERT ON patients FOR EACH ROW WHEN (NEW.age > 150) RAISE 'no'",
        "ALTER TABLE patients ENABLE ROW LEVEL SECURITY",
        "ALTER TABLE patients ALTER COLUMN name SET ENCRYPTED WITH KEY k1",
    ],
)
def test_only_the_owner_attaches_something(hospital: Stage, sql: str):
    hospital.play("carol: GRANT SELECT, INSERT ON patients TO bob")
    assert hospital.refuses(f"bob: {sql}") == "42501"
    hospital.play(f"carol: {sql}")


@pytest.mark.parametrize(
    ("kind", "created"),
    [
        ("policy", "USING (true)"),
        ("mask", "(name) USING ('x')"),
        ("control", "TO dave WITH (size = 5)"),
        ("trigger", ""),
    ],
)
def test_what_is_attached_has_one_name_and_goes_with_its_owner_only(
    hospital: Stage, kind: str, created: str
):
    sql = f"CREATE {kind} m ON patients {created}"
    if kind == "trigger":
        sql = "CREATE TRIGGER m AFTER DELETE ON patients WHEN (1 > 2) RAISE 'no'"
    hospital.play(f"carol: {sql}")
    assert hospital.refuses(f"carol: {sql}") == "42710"
    assert hospital.refuses(f"bob: DROP {kind} m ON patients") == "42501"
    hospital.play(f"carol: DROP {kind} m ON patients")
    assert hospital.refuses(f"carol: DROP {kind} m ON patients") == "42704"
    hospital.play(f"carol: DROP {kind} IF EXISTS m ON patients")


TRIGGER = "bob: CREATE TRIGGER t AFTER INSERT ON patients FOR EACH ROW WHEN (NEW.age > 1) RAISE 'n'"


def test_trigger_and_select_together_let_a_user_attach_a_trigger(hospital: Stage):
    hospital.play("carol: GRANT TRIGGER ON patients TO bob")
    assert hospital.refuses(TRIGGER) == "42501"
    hospital.play("carol: GRANT SELECT ON patients TO bob", TRIGGER)


def test_a_trigger_of_another_user_does_not_read_what_they_do_not_see(hospital: Stage):
    hospital.play(
        "carol: CREATE TABLE secrets (a integer)",
        "carol: GRANT TRIGGER, SELECT ON patients TO bob",
    )
    asks = "(SELECT count(*) FROM secrets) > 1"
    line = f"bob: CREATE TRIGGER t AFTER INSERT ON patients WHEN ({asks}) RAISE 'yes'"
    assert hospital.refuses(line) == "42501"
    hospital.play("carol: ALTER TABLE patients ENABLE ROW LEVEL SECURITY")
    assert hospital.refuses(TRIGGER) == "42501"


@pytest.mark.parametrize(
    "line",
    [
        "carol: REVOKE TRIGGER ON patients FROM bob",
        "carol: REVOKE SELECT ON patients FROM bob",
        "carol: ALTER TABLE patients ENABLE ROW LEVEL SECURITY",
        "carol: CREATE MASK m ON patients (age) USING (0)",
    ],
)
def test_revoking_what_a_trigger_needs_gives_a_notice(hospital: Stage, line: str):
    hospital.play("carol: GRANT TRIGGER, SELECT ON patients TO bob", TRIGGER)
    (result,) = hospital.play(line).notices
    assert 'trigger "t" for table "patients"' in result


def test_a_role_that_attached_a_trigger_is_renamed_with_it_and_not_dropped(hospital: Stage):
    hospital.play("carol: GRANT TRIGGER, SELECT ON patients TO bob", TRIGGER)
    hospital.play("admin: ALTER ROLE bob RENAME TO robert")
    (trigger,) = hospital.authority.relations["public", "patients"].triggers
    assert trigger.maker == "robert"
    hospital.play("carol: REVOKE ALL ON patients FROM robert")
    assert hospital.refuses("admin: DROP ROLE robert") == "2BP01"
    hospital.play("carol: DROP TRIGGER t ON patients", "admin: DROP ROLE robert")


def test_a_trigger_of_the_owner_belongs_to_the_table_owner(hospital: Stage):
    hospital.play("carol: GRANT SELECT ON patients TO bob", TRIGGER.replace("bob:", "admin:"))
    (trigger,) = hospital.authority.relations["public", "patients"].triggers
    assert trigger.maker is None


def test_policies_say_only_what_their_command_can_do(hospital: Stage):
    assert hospital.refuses("carol: CREATE POLICY p ON patients FOR INSERT USING (true)") == "42601"
    line = "carol: CREATE POLICY p ON patients FOR SELECT WITH CHECK (true)"
    assert hospital.refuses(line) == "42601"
    assert hospital.refuses("carol: CREATE POLICY p ON patients TO nobody USING (true)") == "42704"


def test_labels_are_for_superusers_and_security_officers(hospital: Stage):
    line = "bob: SECURITY LABEL FOR mls ON DATABASE IS 'U < S'"
    assert hospital.refuses(line) == "42501"
    assert hospital.refuses("carol: SECURITY LABEL FOR mls ON TABLE patients IS 'cells'") == "42501"
    hospital.play(
        "admin: GRANT security_officer TO bob",
        line,
        "bob: SECURITY LABEL FOR mls ON ROLE carol IS 'S'",
        "bob: SECURITY LABEL FOR mls ON TABLE patients IS 'cells'",
    )
    assert hospital.authority.lattice == "U < S"
    assert hospital.authority.roles["carol"].clearance == "S"
    assert hospital.relation("patients").multilevel
    assert is_officer(hospital.authority, "bob")
    assert not is_officer(hospital.authority, "carol")


# The whole


def test_a_version_counts_changes_and_nothing_else(hospital: Stage):
    before = hospital.authority.version
    hospital.play("admin: GRANT analysts TO bob")
    assert hospital.notices
    assert hospital.authority.version == before
    hospital.play("admin: GRANT analysts TO dave")
    assert hospital.authority.version == before + 1


def test_an_unknown_role_changes_nothing():
    statement = parse_definition("CREATE ROLE x")
    assert statement is not None
    with pytest.raises(AccessDenied):
        apply(initial_authority("admin"), statement, Subject("ghost", "ghost"))


def test_what_changes_no_rights_is_a_bug_here():
    with pytest.raises(Bug):
        apply(initial_authority("admin"), Commit(), Subject("admin", "admin"))
