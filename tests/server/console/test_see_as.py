"""See as another user: what they would see, why, and that nothing of theirs is spent or changed."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from tests.server.console.conftest import token_of
from tests.server.console.test_ask import balance

from discreet.guard.journal.search import EntryFilter

if TYPE_CHECKING:
    from tests.server.console.conftest import Console


def see_as(console: Console, user: str, statement: str) -> str:
    """Return the page that shows what a user would see."""
    with console.sign_in("admin") as client:
        form = {"csrf": token_of(client.get("/guard/see-as")), "user": user}
        return client.post("/guard/see-as", data={**form, "statement": statement}).text


def test_rows_are_those_of_the_user_with_policies_and_masks(console: Console):
    page = see_as(console, "nurse", "SELECT DISTINCT ward, length(patient_id) FROM visits")
    assert "nurse sees 1 row of this." in page
    assert "<td>oncology</td>" in page
    assert "Row policy own_ward" in page
    assert "Mask number_end" in page
    assert "no SELECT on admitted, diagnosis, cost and doctor_id" in page


def test_a_refusal_names_the_rule_that_only_the_custodian_sees(console: Console):
    page = see_as(console, "clerk", "SELECT diagnosis FROM patients")
    assert "clerk is denied that." in page
    assert "Because clerk has no SELECT on patients.diagnosis." in page


def test_a_question_is_priced_and_not_paid(console: Console):
    before = balance(console)
    page = see_as(console, "analyst", "SELECT count(*) FROM patients")
    assert "analyst sees no row, but a noisy answer." in page
    assert balance(console) == before


@pytest.mark.parametrize(
    "statement",
    [
        "DELETE FROM visits",
        "SELECT 1; DROP TABLE visits",
        "GRANT SELECT ON patients TO clerk",
        "RESET SESSION AUTHORIZATION",
        "SELECT discreet_learn('patients', target => 'insurance')",
        "EXPLAIN SELECT 1",
    ],
)
def test_nothing_but_a_query_is_run(console: Console, statement: str):
    before = balance(console)
    version = console.web.opened.server.control.authority().version
    page = see_as(console, "analyst", statement)
    assert "What analyst sees" not in page
    assert balance(console) == before
    assert console.web.opened.server.control.authority().version == version


@pytest.mark.parametrize("user", ["no_such_user", "", "admin; DROP ROLE clerk"])
def test_a_user_that_does_not_exist_is_refused(console: Console, user: str):
    assert "there is no such user" in see_as(console, user, "SELECT 1")


@pytest.mark.parametrize("page", ["/guard", "/guard/see-as"])
@pytest.mark.parametrize("user", ["clerk", "analyst"])
def test_it_is_for_superusers(console: Console, user: str, page: str):
    with console.sign_in(user) as client:
        assert client.get(page).status_code == 403
        form = {"csrf": token_of(client.get("/")), "user": "admin", "statement": "SELECT 1"}
        assert client.post("/guard/see-as", data=form).status_code == 403


def test_it_is_recorded_under_the_name_of_who_looked(console: Console):
    see_as(console, "nurse", "SELECT ward AS looked_at FROM visits LIMIT 1")
    found = console.web.opened.server.journal.entries(EntryFilter(user="admin"))
    looked = [one.event for one in found if one.event.statement.startswith("SELECT ward AS looked")]
    assert {one.detail.get("session_authorization") for one in looked} == {"nurse"}


def test_an_entry_of_the_journal_leads_to_its_rules(console: Console):
    see_as(console, "nurse", "SELECT ward AS led FROM visits")
    journal = console.web.opened.server.journal
    (entry,) = [
        one
        for one in journal.latest(EntryFilter(user="admin")).entries
        if one.event.statement == "SELECT ward AS led FROM visits"
    ]
    with console.sign_in("admin") as client:
        page = client.get("/guard/see-as", params={"entry": str(entry.sequence)}).text
    assert "SELECT ward AS led FROM visits</textarea>" in page
    assert "<option selected>admin</option>" in page


def test_the_matrix_names_what_each_role_sees(console: Console):
    with console.sign_in("admin") as client:
        page = client.get("/guard").text
    assert "some rows, 3 columns, masks" in page
    assert "aggregates, ε 2" in page
