"""Asking: through the gateway, from the same budget, in the same journal as with psql."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from tests.server.console.conftest import MARKUP, token_of

from discreet.guard.identity.authenticator import ClientInfo
from discreet.guard.journal.search import EntryFilter
from discreet.server.console.ask import LONGEST_LISTED

if TYPE_CHECKING:
    import httpx
    from tests.server.console.conftest import Console

ANALYST = ClientInfo("analyst", "127.0.0.1", is_local=True)
COUNT = "SELECT insurance, count(*) AS people FROM patients GROUP BY insurance"


def ask(
    client: httpx.Client, statement: str, *, action: str = "ask", **fields: str
) -> httpx.Response:
    """Return the page after a question."""
    form = {"csrf": token_of(client.get("/ask")), "statement": statement, "action": action}
    return client.post("/ask", data={**form, **fields})


def balance(console: Console) -> float:
    """Return what the analyst has left."""
    session = console.web.opened.server.open_session(
        console.web.opened.authenticator.recognize(ANALYST), {"discreet.epsilon": "0.001"}, "test"
    )
    try:
        (statement,) = session.split("EXPLAIN PRIVACY SELECT count(*) FROM patients")
        cost = session.run(session.prepare(statement)).cost
    finally:
        session.close()
    assert cost is not None
    return cost.left["epsilon"]


def test_a_price_spends_nothing_and_an_answer_what_was_said(console: Console):
    before = balance(console)
    with console.sign_in("analyst") as client:
        priced = ask(client, COUNT, action="price", epsilon="0.125")
        assert "This question costs epsilon 0.125" in priced.text
        assert balance(console) == before
        answered = ask(client, COUNT, epsilon="0.125")
        assert "The answer cost epsilon 0.125" in answered.text
        assert balance(console) == pytest.approx(before - 0.125)
        assert "The same question again is free" in ask(client, COUNT, epsilon="0.125").text
        assert balance(console) == pytest.approx(before - 0.125)


def test_what_is_denied_over_the_wire_is_denied_here_and_recorded(console: Console):
    with console.sign_in("clerk") as client:
        answer = ask(client, "SELECT diagnosis FROM patients")
    assert answer.status_code == 403
    assert "permission denied for table patients" in answer.text
    found = list(console.web.opened.server.journal.entries(EntryFilter(user="clerk")))
    denied = [one.event for one in found if one.event.decision == "denied"]
    assert denied[-1].statement == "SELECT diagnosis FROM patients"
    assert denied[-1].protocol == "console"


def test_a_statement_that_is_more_than_a_question_needs_the_right_to_it(console: Console):
    with console.sign_in("clerk") as client:
        assert ask(client, "GRANT SELECT ON patients TO clerk").status_code == 403
        assert ask(client, "SET ROLE admin").status_code == 403
        assert ask(client, "SET SESSION AUTHORIZATION admin").status_code == 403
    with console.sign_in("admin") as client:
        assert "Done: GRANT" in ask(client, "GRANT SELECT (insurance) ON patients TO nurse").text


def test_several_statements_are_one_transaction(console: Console):
    with console.sign_in("admin") as client:
        assert ask(client, "CREATE TABLE kept (id integer); SELECT nothing").status_code == 400
        assert "does not exist" in ask(client, "SELECT * FROM kept").text


@pytest.mark.parametrize("epsilon", ["-1", "nan", "a", "1; DROP TABLE patients", "1e999"])
def test_a_price_that_is_no_number_is_refused(console: Console, epsilon: str):
    before = balance(console)
    with console.sign_in("analyst") as client:
        assert ask(client, COUNT, epsilon=epsilon).status_code in (400, 403)
    assert balance(console) == before


@pytest.mark.parametrize("statement", ["", "  ", "SELECT 1; SELECT 2", "SELEC", "x" * 1_000_001])
def test_a_text_without_a_price_says_so(console: Console, statement: str):
    with console.sign_in("analyst") as client:
        assert ask(client, statement, action="price").status_code == 400


@pytest.mark.parametrize("again", ["0", "-1", "99999999999999999999", "x"])
def test_history_is_that_of_the_session_alone(console: Console, again: str):
    with console.sign_in("analyst") as mine, console.sign_in("analyst") as theirs:
        ask(mine, "SELECT 42 AS secret_of_this_session")
        page = theirs.get("/ask", params={"again": again})
    assert page.status_code == 200
    assert "secret_of_this_session" not in page.text


def test_a_question_is_repeated_as_text(console: Console):
    with console.sign_in("analyst") as client:
        text = "SELECT '</textarea><script>alert(1)</script>' AS x"
        page = ask(client, text).text
        assert "<script>alert" not in page
        assert "&lt;/textarea&gt;" in client.get("/ask", params={"again": "0"}).text


def test_markup_in_a_chart_is_only_text(console: Console):
    statement = (
        f"SELECT CASE WHEN insurance = 'public' THEN '{MARKUP}' ELSE 'b' END AS \"{MARKUP}\", "
        f'count(*) AS "{MARKUP}n" FROM patients GROUP BY 1'
    )
    with console.sign_in("analyst") as client:
        page = ask(client, statement, epsilon="0.0625").text
    assert "<svg" in page.partition("<figure")[2]
    assert MARKUP not in page


def test_a_long_text_is_answered_but_not_kept(console: Console):
    with console.sign_in("analyst") as client:
        answered = ask(client, f"SELECT 7 AS long_one /* {'x' * LONGEST_LISTED} */")
        assert answered.status_code == 200
        assert "long_one" not in client.get("/ask", params={"again": "0"}).text
