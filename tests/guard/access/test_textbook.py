"""The textbook's walk through discretionary and role-based access control, as it is written there."""

from __future__ import annotations

from tests.guard.access.playing import Stage

ACCOUNTS = ("admin: CREATE USER A1", "admin: CREATE USER A2")
DELEGATED = (
    *ACCOUNTS,
    "admin: GRANT CREATE USER TO A1",
    "a1: CREATE USER A3",
    "admin: GRANT CREATE TABLE TO A2",
    """a2: CREATE TABLE Employee (
        Name varchar(255), SIN integer, DOB date, Address text, Salary integer, Dpt text,)""",
)


def test_who_may_not_create_users_is_refused():
    assert Stage(*ACCOUNTS).refuses("a1: CREATE USER A3") == "42501"


def test_the_right_to_create_users_can_be_given_away_and_taken_back():
    stage = Stage(*ACCOUNTS, "admin: GRANT CREATE USER TO A1", "a1: CREATE USER A3")
    assert "a3" in stage.authority.roles
    stage.play("admin: REVOKE CREATE USER FROM A1")
    assert stage.refuses("a1: CREATE USER A4") == "42501"


def test_who_may_not_create_tables_is_refused():
    assert Stage(*ACCOUNTS).refuses("a2: CREATE TABLE Employee (Name text)") == "42501"


def test_the_right_to_create_tables_can_be_given_away_and_taken_back():
    stage = Stage(*DELEGATED)
    assert stage.relation("employee").owner == "a2"
    stage.play("admin: REVOKE CREATE TABLE FROM A2")
    assert stage.refuses("a2: CREATE TABLE Other (Name text)") == "42501"


def test_select_is_granted_without_and_then_with_grant_option():
    stage = Stage(*DELEGATED, "a2: GRANT SELECT ON Employee TO A3")
    assert stage.may("a3", "SELECT", "employee")
    stage.play("a3: GRANT SELECT ON Employee TO A1")
    assert stage.notices == ['no privileges were granted for "employee"']
    assert not stage.may("a1", "SELECT", "employee")
    stage.play("a2: GRANT SELECT ON Employee TO A3 WITH GRANT OPTION")
    stage.play("a3: GRANT SELECT ON Employee TO A1")
    assert stage.may("a1", "SELECT", "employee")


CHAIN = (
    *DELEGATED,
    "a2: GRANT SELECT ON Employee TO A3 WITH GRANT OPTION",
    "a3: GRANT SELECT ON Employee TO A1",
)


def test_the_owner_revokes_what_another_user_granted():
    stage = Stage(*CHAIN, "a2: REVOKE SELECT ON Employee FROM A1")
    assert not stage.may("a1", "SELECT", "employee")
    assert stage.may("a3", "SELECT", "employee")


def test_in_the_scope_of_grantors_the_owner_leaves_what_another_user_granted():
    stage = Stage(*CHAIN, scope="grantor").play("a2: REVOKE SELECT ON Employee FROM A1")
    assert stage.may("a1", "SELECT", "employee")


def test_revoking_what_others_rest_on_needs_cascade():
    stage = Stage(*CHAIN)
    assert stage.refuses("a2: REVOKE SELECT ON Employee FROM A3") == "2BP01"
    stage.play("a2: REVOKE SELECT ON Employee FROM A3 CASCADE")
    assert not stage.may("a3", "SELECT", "employee")
    assert not stage.may("a1", "SELECT", "employee")


def test_a_view_is_granted_without_its_table():
    stage = Stage(*DELEGATED)
    stage.say(
        "a2",
        'CREATE VIEW CSEmployeePublicInfo SELECT Name, DOB, Address FROM Employee WHERE Dpt = "CS"',
        "name dob address",
    )
    stage.play("a2: GRANT SELECT ON CSEmployeePublicInfo TO A3")
    assert stage.may("a3", "SELECT", "csemployeepublicinfo")
    assert not stage.may("a3", "SELECT", "employee", "name")


def test_update_is_granted_on_one_column():
    stage = Stage(*DELEGATED, "a2: GRANT UPDATE ON Employee (Address) TO A3")
    assert stage.may("a3", "UPDATE", "employee", "address")
    assert not stage.may("a3", "UPDATE", "employee", "salary")
    assert not stage.may("a3", "UPDATE", "employee")


def test_roles_carry_rights_to_their_members():
    stage = Stage(
        *DELEGATED,
        'admin: CREATE ROLE "DptAdmin", "CompanyHR"',
        'admin: GRANT "DptAdmin" TO A1',
        'admin: GRANT "CompanyHR" TO A3',
        'a2: GRANT SELECT ON Employee TO "DptAdmin"',
        'a2: GRANT UPDATE ON Employee(Address) TO "CompanyHR"',
    )
    assert stage.may("a1", "SELECT", "employee")
    assert not stage.may("a3", "SELECT", "employee")
    assert stage.may("a3", "UPDATE", "employee", "address")
    assert (
        stage.why("a1", "SELECT", "employee")
        == "DptAdmin has SELECT on employee from a2, of which a1 is a member"
    )


COLUMN_CHAIN = (
    *DELEGATED,
    "a2: GRANT SELECT ON Employee TO A3 WITH GRANT OPTION",
    "a3: GRANT SELECT (Name) ON Employee TO A1",
)


def test_the_owners_cascade_reaches_columns_that_were_granted_on():
    stage = Stage(*COLUMN_CHAIN)
    assert stage.refuses("a2: REVOKE SELECT ON Employee FROM A3") == "2BP01"
    assert stage.refuses("a2: REVOKE GRANT OPTION FOR SELECT ON Employee FROM A3") == "2BP01"
    stage.play("a2: REVOKE SELECT ON Employee FROM A3 CASCADE")
    assert not stage.may("a1", "SELECT", "employee", "name")


def test_in_the_scope_of_grantors_columns_that_were_granted_on_stay_as_in_postgresql():
    stage = Stage(*COLUMN_CHAIN, scope="grantor")
    stage.play("a2: REVOKE SELECT ON Employee FROM A3 CASCADE")
    assert stage.may("a1", "SELECT", "employee", "name")
