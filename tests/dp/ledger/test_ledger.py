"""What the ledger promises to one asker: exact limits, one answer per key, nothing for free."""

from __future__ import annotations

import json
import re
import sqlite3
from datetime import UTC, datetime
from fractions import Fraction
from typing import TYPE_CHECKING

import pytest

from discreet.dp.accounting import epsilon_of_rho, price, to_fraction
from discreet.dp.budget import Budget, Price
from discreet.dp.event import Approximate, Gaussian, Pure, Sequence, Slip
from discreet.dp.ledger import Account, Ledger
from discreet.dp.ledger.charges import fingerprint_charges
from discreet.errors import BudgetExceeded, InvalidBudget, LedgerFailed, QuestionRefused, WrongUsage

if TYPE_CHECKING:
    from pathlib import Path

NOON = datetime(2026, 5, 4, 12, tzinfo=UTC)
MILLIONTH = Fraction(1, 10**6)


@pytest.fixture(params=["file", pytest.param("server", marks=pytest.mark.postgres)])
def ledger(request: pytest.FixtureRequest, tmp_path: Path):
    if request.param == "file":
        made = Ledger(tmp_path / "ledger.db")
    else:
        made = Ledger(request.getfixturevalue("postgres_url"))
        forget_everything(made)
    yield made
    made.close()


def forget_everything(ledger: Ledger) -> None:
    from discreet.dp.ledger import schema

    with ledger._store.writing() as connection:
        for table in (schema.account, schema.spending, schema.reservation, schema.entry):
            connection.execute(table.delete())
        connection.execute(schema.head.update().values(sequence=0, hash=schema.START))


def pure(epsilon: str | float) -> Price:
    return price(Pure(to_fraction(epsilon)))


def account(
    name: str = "table:patients", *, epsilon: str = "1", cells: str | None = None
) -> Account:
    named = None if cells is None else frozenset(cells.split())
    return Account(name, Budget(to_fraction(epsilon)), named)


def spend(ledger: Ledger, *accounts: Account, cost: Price, key: str) -> bytes:
    reservation = ledger.reserve(accounts, cost, key=key, at=NOON, question="SELECT count(*) …")
    return ledger.commit(reservation, f"answer to {key}".encode())


def test_three_tenths_are_enough_for_three_times_a_tenth(ledger: Ledger):
    payer = account(epsilon="0.3")
    for key in "abc":
        spend(ledger, payer, cost=pure(0.1), key=key)
    (left,) = ledger.remaining([payer])
    assert (left.epsilon.spent, left.epsilon.left) == (Fraction(3, 10), 0)
    with pytest.raises(BudgetExceeded):
        spend(ledger, payer, cost=pure("1e-12"), key="d")
    assert ledger.verify() == 7


def test_what_no_float_could_add_is_added(ledger: Ledger):
    payer = account(epsilon="1.000000000001")
    spend(ledger, payer, cost=pure(1), key="large")
    spend(ledger, payer, cost=pure("1e-300"), key="tiny")
    assert ledger.remaining([payer])[0].epsilon.left == 0


def test_a_refusal_says_who_what_and_what_next(ledger: Ledger):
    payer = account(epsilon="0.5")
    spend(ledger, payer, cost=pure(0.3), key="a")
    with pytest.raises(BudgetExceeded) as refusal:
        spend(ledger, payer, cost=pure(0.4), key="b")
    assert str(refusal.value) == (
        "This question costs epsilon 0.4, and account 'table:patients' has epsilon 0.2 of 0.5 left. "
        "Nothing was spent. Ask again at epsilon 0.2 or less, or ask the "
        "custodian for a larger budget."
    )


def test_all_accounts_pay_or_none(ledger: Ledger):
    table, analyst = account(epsilon="10"), account("analyst:alice", epsilon="0.1")
    with pytest.raises(BudgetExceeded, match="analyst:alice"):
        spend(ledger, table, analyst, cost=pure(1), key="a")
    assert ledger.accounts() == []
    assert [left.epsilon.spent for left in ledger.remaining([table, analyst])] == [0, 0]
    assert ledger.entries() == []


def test_the_same_key_is_answered_once_and_paid_once(ledger: Ledger):
    payer = account()
    first = spend(ledger, payer, cost=pure(1), key="a")
    again = ledger.reserve([payer], pure(1), key="a", at=NOON, question="again")
    assert again.answer == first == ledger.find("a")
    assert not again.is_new
    assert ledger.commit(again, b"another") == first
    assert ledger.remaining([payer])[0].epsilon.spent == 1


def test_a_crash_is_paid_for_and_may_be_taken_up_again(ledger: Ledger):
    payer = account()
    ledger.reserve([payer], pure(1), key="a", at=NOON, question="crashes")
    assert ledger.find("a") is None
    assert ledger.remaining([payer])[0].epsilon.left == 0
    again = ledger.reserve([payer], pure(1), key="a", at=NOON, question="crashes")
    assert again.answer is None
    assert ledger.commit(again, b"42") == b"42"


def test_of_two_who_hold_a_reservation_the_first_to_commit_answers(ledger: Ledger):
    payer = account()
    one = ledger.reserve([payer], pure(1), key="a", at=NOON, question="q")
    two = ledger.reserve([payer], pure(1), key="a", at=NOON, question="q")
    assert ledger.commit(two, b"two") == b"two"
    assert ledger.commit(one, b"one") == b"two"
    assert ledger.find("a") == b"two"
    ledger.verify()


@pytest.mark.parametrize("change", ["price", "cells", "account"])
def test_a_key_does_not_make_another_charge_free(ledger: Ledger, change: str):
    first = account(cells="may")
    ledger.reserve([first], pure(0.1), key="a", at=NOON, question="q")
    payer = {
        "price": first,
        "cells": account(cells="may june"),
        "account": account("table:visits", cells="may"),
    }[change]
    cost = pure(0.7) if change == "price" else pure(0.1)
    again = ledger.reserve([payer], cost, key="a", at=NOON, question="q")
    assert again.is_new
    spent = ledger.remaining([payer])[0].epsilon.spent
    assert (
        spent
        == {"price": Fraction(8, 10), "cells": Fraction(2, 10), "account": Fraction(1, 10)}[change]
    )
    ledger.verify()


def test_an_answer_without_a_reservation_is_not_stored(ledger: Ledger, tmp_path: Path):
    elsewhere = Ledger(tmp_path / "other.db")
    reservation = elsewhere.reserve([account()], pure(1), key="a", at=NOON, question="q")
    with pytest.raises(LedgerFailed, match="Nothing may be answered"):
        ledger.commit(reservation, b"42")
    assert ledger.find("a") is None


def test_empty_answers_are_answers(ledger: Ledger):
    reservation = ledger.reserve([account()], pure(1), key="a", at=NOON, question="q")
    assert ledger.commit(reservation, b"") == b""
    assert ledger.find("a") == b""
    assert ledger.commit(reservation, b"later") == b""


# Parts of the data


def test_a_year_of_monthly_questions_costs_one_month(ledger: Ledger):
    for month in range(1, 13):
        spend(ledger, account(cells=f"2026-{month:02}"), cost=pure(1), key=f"{month}")
    with pytest.raises(BudgetExceeded):
        spend(ledger, account(cells="2026-03"), cost=pure("1e-12"), key="more")
    with pytest.raises(BudgetExceeded):
        spend(ledger, account(), cost=pure("1e-12"), key="everything")
    assert ledger.remaining([account(cells="2027-01")])[0].epsilon.left == 1


def test_what_everything_paid_every_part_has_paid(ledger: Ledger):
    spend(ledger, account(cells="may"), cost=pure(0.25), key="a")
    spend(ledger, account(), cost=pure(0.5), key="b")
    lefts = ledger.remaining([account(cells="may"), account(cells="june"), account()])
    assert [float(left.epsilon.left) for left in lefts] == [0.25, 0.5, 0.25]
    assert [left.cell for left in lefts] == ["may", "june", "may"]
    with pytest.raises(BudgetExceeded):
        spend(ledger, account(cells="june may"), cost=pure(0.3), key="c")
    spend(ledger, account(cells="june"), cost=pure(0.5), key="d")
    ledger.verify()


def test_no_part_at_all_is_charged_as_everything(ledger: Ledger):
    spend(ledger, Account("t", Budget(Fraction(1)), frozenset()), cost=pure(1), key="a")
    with pytest.raises(BudgetExceeded):
        spend(ledger, Account("t", Budget(Fraction(1)), frozenset({"may"})), cost=pure(1), key="b")


def test_a_part_without_a_name_is_a_part(ledger: Ledger):
    spend(ledger, Account("t", Budget(Fraction(1)), frozenset({""})), cost=pure(1), key="a")
    assert (
        ledger.remaining([Account("t", Budget(Fraction(1)), frozenset({"x"}))])[0].epsilon.left == 1
    )


def test_thousands_of_parts_are_charged_together(ledger: Ledger):
    many = Account("t", Budget(Fraction(1)), frozenset(f"day {day}" for day in range(3000)))
    spend(ledger, many, cost=pure(0.5), key="a")
    spend(ledger, account("t"), cost=pure(0.5), key="b")
    with pytest.raises(BudgetExceeded):
        spend(
            ledger,
            Account("t", Budget(Fraction(1)), frozenset({"day 2999"})),
            cost=pure(0.1),
            key="c",
        )
    ledger.verify()


# Budgets and currencies


def test_a_limit_may_change_and_spending_may_not(ledger: Ledger):
    spend(ledger, account(epsilon="1"), cost=pure(0.5), key="a")
    with pytest.raises(BudgetExceeded):
        spend(ledger, account(epsilon="0.5"), cost=pure(0.1), key="b")
    spend(ledger, account(epsilon="0.7"), cost=pure(0.1), key="c")
    assert ledger.accounts() == [account(epsilon="0.7")]
    assert ledger.remaining([account(epsilon="0.2")])[0].epsilon.left == 0
    states = [(entry.state, entry.budget and entry.budget.epsilon) for entry in ledger.entries()]
    assert states == [
        ("committed", None),
        ("limit", Fraction(7, 10)),
        ("committed", None),
        ("limit", Fraction(1)),
    ]


def test_deltas_are_limited_too(ledger: Ledger):
    payer = Account("t", Budget(Fraction(1), MILLIONTH))
    cost = price(Sequence((Pure(Fraction(1, 10)), Slip(MILLIONTH / 2))))
    for key in "ab":
        spend(ledger, payer, cost=cost, key=key)
    with pytest.raises(BudgetExceeded, match="delta 0 of 1e-06 left"):
        spend(ledger, payer, cost=cost, key="c")


def test_zcdp_pays_with_rho_and_ends_below_epsilon(ledger: Ledger):
    payer = Account("t", Budget(Fraction(1), MILLIONTH, "zcdp"))
    cost = price(Gaussian(Fraction(1), Fraction(15)))
    count = 10
    for key in range(count):
        spend(ledger, payer, cost=cost, key=f"{key}")
    with pytest.raises(
        BudgetExceeded, match=r"costs rho .* under zCDP, .* with [\d.]+ % of its eps"
    ):
        spend(ledger, payer, cost=cost, key="more")
    assert cost.rho is not None
    assert epsilon_of_rho(count * cost.rho, delta=MILLIONTH / 2) <= 1
    (left,) = ledger.remaining([payer])
    assert left.rho is not None
    assert left.rho.left < cost.rho
    assert left.epsilon.spent <= left.epsilon.limit == 1


@pytest.mark.parametrize("first", [1, 5, 9])
def test_a_refusal_under_zcdp_names_an_epsilon_that_is_still_available(ledger: Ledger, first: int):
    payer = Account("t", Budget(Fraction(1), MILLIONTH, "zcdp"))
    spend(ledger, payer, cost=pure(first / 100), key="a")
    with pytest.raises(BudgetExceeded, match=r"costs epsilon 2, which is rho 2 under") as refused:
        spend(ledger, payer, cost=pure(2), key="b")
    epsilon = re.search(r"Ask again at epsilon (\S+) or less", str(refused.value))
    assert epsilon
    with pytest.raises(BudgetExceeded):
        spend(ledger, payer, cost=pure(float(epsilon[1]) * 1.02), key="c")
    spend(ledger, payer, cost=pure(epsilon[1]), key="d")


def test_a_refusal_for_want_of_delta_does_not_speak_of_epsilon(ledger: Ledger):
    payer = Account("t", Budget(Fraction(1), MILLIONTH))
    cost = price(Sequence((Pure(Fraction(1, 10)), Slip(MILLIONTH * 2))))
    with pytest.raises(BudgetExceeded, match="Ask again with delta 1e-06 or less"):
        spend(ledger, payer, cost=cost, key="a")


def test_slips_under_zcdp_have_half_of_delta(ledger: Ledger):
    payer = Account("t", Budget(Fraction(1), MILLIONTH, "zcdp"))
    spend(ledger, payer, cost=price(Slip(MILLIONTH / 2)), key="a")
    with pytest.raises(BudgetExceeded):
        spend(ledger, payer, cost=price(Slip(Fraction(1, 10**18))), key="b")


@pytest.mark.parametrize(
    ("accounting", "event"),
    [
        ("approximate", Gaussian(Fraction(1), Fraction(1))),
        ("zcdp", Approximate(Fraction(1), MILLIONTH)),
    ],
)
def test_a_question_without_a_price_in_the_currency_is_refused(ledger: Ledger, accounting, event):
    payer = Account("t", Budget(Fraction(10), Fraction(1, 100), accounting))
    with pytest.raises(QuestionRefused, match="Nothing was spent"):
        spend(ledger, payer, cost=price(event), key="a")
    assert ledger.accounts() == []


def test_another_accounting_counts_what_was_spent_before(ledger: Ledger):
    added, curved = (Budget(Fraction(1), MILLIONTH, kind) for kind in ("approximate", "zcdp"))
    spend(ledger, Account("t", added), cost=pure("0.2"), key="a")
    with pytest.raises(BudgetExceeded):
        spend(ledger, Account("t", curved), cost=pure("0.2"), key="b")
    spend(ledger, Account("t", curved), cost=price(Gaussian(Fraction(1), Fraction(100))), key="c")
    with pytest.raises(BudgetExceeded):  # Gaussian noise has no epsilon: none is left
        spend(ledger, Account("t", added), cost=pure("1e-12"), key="d")
    ledger.verify()


@pytest.mark.parametrize(
    "budget",
    [
        Budget(Fraction(0)),
        Budget(Fraction(-1)),
        Budget(Fraction(1), Fraction(1)),
        Budget(Fraction(1), Fraction(-1)),
        Budget(Fraction(1), Fraction(0), "zcdp"),
        Budget(Fraction(10**9)),
    ],
)
def test_budgets_outside_their_range_are_refused(ledger: Ledger, budget: Budget):
    with pytest.raises(InvalidBudget):
        spend(ledger, Account("t", budget), cost=pure(1), key="a")


def test_prices_beyond_64_bits_are_more_than_any_budget(ledger: Ledger):
    payer = account(epsilon="4000000")
    spend(ledger, payer, cost=pure("4000000"), key="a")
    with pytest.raises(BudgetExceeded):
        spend(ledger, payer, cost=pure("1e30"), key="b")


def test_wrong_uses_are_refused(ledger: Ledger):
    with pytest.raises(WrongUsage, match="No account pays"):
        spend(ledger, cost=pure(1), key="a")
    with pytest.raises(WrongUsage, match="named twice"):
        spend(ledger, account(), account(), cost=pure(1), key="a")
    with pytest.raises(WrongUsage, match="time zone"):
        ledger.reserve([account()], pure(1), key="a", at=datetime(2026, 1, 1), question="q")  # noqa: DTZ001
    with pytest.raises(InvalidBudget, match="negative"):
        spend(ledger, account(), cost=Price(Fraction(-1), Fraction(0), None, Fraction(0)), key="a")
    assert ledger.entries() == []


# The book


def test_entries_record_when_what_and_whether_it_was_answered(ledger: Ledger):
    spend(ledger, account(cells="may"), cost=pure("1/3"), key="a")
    ledger.reserve([account("other")], pure(1), key="b", at=NOON, question="SELECT 'é', '🙂'")
    newest, _, *_ = ledger.entries()
    assert (newest.at, newest.question, newest.state) == (NOON, "SELECT 'é', '🙂'", "reserved")
    older = ledger.entries("table:patients", limit=1)[0]
    assert (older.price, older.cells, older.state) == (pure("1/3"), frozenset({"may"}), "committed")
    assert len(ledger.entries(limit=2)) == 2


TAMPERINGS = {
    "UPDATE discreet_spending SET epsilon = 0": "what was spent",
    "DELETE FROM discreet_entry WHERE sequence = 2": "entry 3",
    "DELETE FROM discreet_entry WHERE sequence = 5": "last entries",
    "UPDATE discreet_entry SET detail = replace(detail, 'SELECT', 'select')": "entry 2",
    "UPDATE discreet_entry SET account = 'other' WHERE sequence = 2": "entry 2",
    "UPDATE discreet_account SET epsilon = '100'": "a limit",
    "UPDATE discreet_reservation SET answer = NULL WHERE key = 'a'": "an answer",
    "UPDATE discreet_reservation SET answer = x'ff' WHERE key = 'a'": "an answer",
    "DELETE FROM discreet_reservation WHERE key = 'b'": "a reservation",
    "UPDATE discreet_ledger SET hash = 'x'": "last entries",
}


@pytest.mark.parametrize("statement", TAMPERINGS)
def test_changing_the_ledger_by_hand_is_found(tmp_path: Path, statement: str):
    path = tmp_path / "ledger.db"
    ledger = Ledger(path)
    spend(ledger, account(), cost=pure(0.1), key="a")
    spend(ledger, account(), cost=pure(0.1), key="b")
    assert ledger.verify() == 5
    with sqlite3.connect(path) as raw:
        raw.execute(statement)
    with pytest.raises(LedgerFailed, match=TAMPERINGS[statement]):
        ledger.verify()


def test_what_a_reservation_paid_for_cannot_be_changed(tmp_path: Path):
    """A question that was not answered is answered for what it paid, not for a higher price."""
    path = tmp_path / "ledger.db"
    ledger = Ledger(path)
    ledger.reserve([account()], pure("1/100"), key="a", at=NOON, question="SELECT 1")
    ledger.close_budget(reason="restored", at=NOON)
    ledger.reopen_budget(reason="nothing was lost", at=NOON)
    ledger.reserve([account()], pure("1/100"), key="b", at=NOON, question="SELECT 2")
    ledger.verify()
    dearer = fingerprint_charges([account()], pure(1))
    for key in "ab":
        with sqlite3.connect(path) as raw:
            change = "UPDATE discreet_reservation SET fingerprint = ? WHERE key = ?"
            before = raw.execute(
                "SELECT fingerprint FROM discreet_reservation WHERE key = ?", (key,)
            ).fetchone()[0]
            raw.execute(change, (dearer, key))
        with pytest.raises(LedgerFailed, match="what a reservation paid for"):
            ledger.verify()
        with sqlite3.connect(path) as raw:
            raw.execute(change, (before, key))
    ledger.verify()


def test_the_hash_of_an_entry_is_what_the_page_says(tmp_path: Path):
    import hashlib

    path = tmp_path / "ledger.db"
    spend(Ledger(path), account(), cost=pure(0.1), key="a")
    with sqlite3.connect(path) as raw:
        rows = raw.execute(
            "SELECT sequence, at, kind, account, key, detail, hash FROM discreet_entry ORDER BY 1"
        )
        previous = "0" * 64
        for *fields, digest in rows.fetchall():
            text = json.dumps([previous, *fields])
            assert hashlib.sha256(text.encode()).hexdigest() == digest
            previous = digest


def test_a_ledger_in_memory_writes_nothing_here_and_forgets(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.chdir(tmp_path)
    for _ in range(2):
        opened_ledger = Ledger(":memory:")
        assert opened_ledger.accounts() == []
        spend(opened_ledger, account("t"), cost=pure(1), key="k")
        assert [known.name for known in opened_ledger.accounts()] == ["t"]
        opened_ledger.close()
    assert list(tmp_path.iterdir()) == []
