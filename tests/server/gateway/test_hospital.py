"""A clerk, an analyst and a custodian at the same table."""

from __future__ import annotations

import pytest

from discreet.errors import AccessDenied, BudgetExceeded, StatementFailed


@pytest.fixture
def people(hospital, connect):
    admin = connect(hospital)
    admin.run(
        "CREATE USER clerk; CREATE USER analyst; CREATE ROLE analysts; GRANT analysts TO analyst"
    )
    admin.run("GRANT SELECT (patient_id, insurance) ON patients TO clerk")
    admin.run("GRANT AGGREGATE ON patients TO analysts WITH BUDGET (EPSILON 1, DELTA 1e-6)")
    return admin, connect(hospital, "clerk"), connect(hospital, "analyst")


def test_the_custodian_sees_rows(people):
    admin, _, _ = people
    assert admin.rows("SELECT count(*) FROM patients") == [(2000,)]


def test_the_clerk_sees_two_columns_and_no_more(people):
    _, clerk, _ = people
    assert len(clerk.rows("SELECT patient_id, insurance FROM patients")) == 2000
    with pytest.raises(AccessDenied) as denied:
        clerk.run("SELECT diagnosis FROM patients")
    assert denied.value.sqlstate == "42501"
    with pytest.raises(AccessDenied):
        clerk.run("SELECT patient_id FROM patients WHERE diagnosis = 'flu'")
    with pytest.raises(AccessDenied):
        clerk.run("SELECT * FROM patients")


def test_the_analyst_gets_noisy_aggregates_with_their_price(people):
    _, _, analyst = people
    analyst.run("SET discreet.epsilon = 0.5")
    outcome = analyst.run("SELECT count(*) AS people FROM patients")
    (count,) = outcome.table.column(0).to_pylist()
    assert 1900 < count < 2100
    assert outcome.notices[0].message.startswith("Spent epsilon 0.5. Left: epsilon 0.5")
    again = analyst.run("SELECT count(*) AS people FROM patients")
    assert again.table.column(0).to_pylist() == [count]
    assert "free" in again.notices[0].message


def test_rows_are_not_for_the_analyst(people):
    _, _, analyst = people
    analyst.run("SET discreet.epsilon = 0.5")
    with pytest.raises(Exception, match="aggregate") as refused:
        analyst.run("SELECT name FROM patients")
    assert getattr(refused.value, "code", "") in ("question-refused", "access-denied")


def test_describing_a_question_spends_nothing(people):
    _, _, analyst = people
    analyst.run("SET discreet.epsilon = 1")
    (statement,) = analyst.session.split("SELECT sex, count(*) AS n FROM patients GROUP BY sex")
    for _ in range(5):
        prepared = analyst.session.prepare(statement)
    assert [field.type for field in prepared.fields] == ["text", "int8"]
    assert analyst.session.run(prepared).table.num_rows > 1


def test_the_budget_of_the_grant_ends_the_questions(people):
    _, _, analyst = people
    analyst.run("SET discreet.epsilon = 0.6")
    analyst.run("SELECT count(*) FROM patients")
    with pytest.raises(BudgetExceeded):
        analyst.run("SELECT count(*) FROM patients WHERE sex = 'F'")


def test_a_question_without_a_price_is_refused(people):
    _, _, analyst = people
    with pytest.raises(StatementFailed, match="price"):
        analyst.run("SELECT count(*) FROM patients")


def test_a_revoked_right_ends_prepared_statements(people):
    admin, clerk, _ = people
    (statement,) = clerk.session.split("SELECT insurance FROM patients")
    prepared = clerk.session.prepare(statement)
    clerk.session.run(prepared)
    admin.run("REVOKE SELECT (insurance) ON patients FROM clerk")
    with pytest.raises(AccessDenied):
        clerk.session.run(prepared)


def test_everything_is_in_the_journal(people, hospital):
    admin, clerk, _ = people
    with pytest.raises(AccessDenied):
        clerk.run("SELECT diagnosis FROM patients WHERE name = 'Alice Meier'")
    entries = [entry.event for entry in hospital.server.journal.entries()]
    denied = [event for event in entries if event.decision == "denied"]
    assert denied[-1].user == "clerk"
    assert "Meier" not in denied[-1].statement
    grants = [event for event in entries if event.kind == "grant"]
    assert len(grants) == 6
    del admin


def test_a_statement_that_takes_too_long_is_ended_in_the_words_of_postgresql(people):
    admin, _, _ = people
    admin.run("SET statement_timeout = '50ms'")
    with pytest.raises(StatementFailed, match="due to statement timeout") as ended:
        admin.run("SELECT count(*) FROM visits AS a, visits AS b, visits AS c")
    assert ended.value.sqlstate == "57014"


def test_all_settings_are_shown_with_their_values(server, connect):
    admin = connect(server)
    admin.run("SET statement_timeout = 5000")
    shown = admin.rows("SHOW ALL")
    assert ("statement_timeout", "5s", "") in shown
    assert [name.lower() for name, *_ in shown] == sorted(name.lower() for name, *_ in shown)


def test_a_function_is_refused_by_the_name_that_was_written(server, connect):
    with pytest.raises(StatementFailed, match="function date_bin is not supported"):
        connect(server).run("SELECT date_bin('1 day', now(), now())")
