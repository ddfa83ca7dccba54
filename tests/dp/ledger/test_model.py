"""Random charges on random parts, against a model that fits on a screen."""

from __future__ import annotations

import tempfile
from datetime import UTC, datetime
from fractions import Fraction
from pathlib import Path

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from discreet.dp.accounting import price, rho_of_epsilon
from discreet.dp.budget import Accounting, Budget
from discreet.dp.event import Gaussian, Pure, Sequence, Slip
from discreet.dp.ledger import Account, Ledger
from discreet.errors import BudgetExceeded

NOON = datetime(2026, 5, 4, 12, tzinfo=UTC)
CELLS = ("a", "b", "c", "never named")
DELTA = Fraction(1, 1000)
UNIT = Fraction(1, 10**12)  # what a charge may be rounded up by

epsilons = st.fractions(min_value=0, max_value=Fraction(1, 2), max_denominator=30)
slips = st.sampled_from([Fraction(0), Fraction(1, 7000), Fraction(1, 2000)])
parts = st.one_of(st.none(), st.frozensets(st.sampled_from(CELLS[:3]), min_size=1))


class Asked(RuleBasedStateMachine):
    """Each person is in one cell; the model adds up, in fractions, what was released about them."""

    accounting: Accounting = "approximate"

    def __init__(self) -> None:
        super().__init__()
        self.folder = tempfile.TemporaryDirectory()
        self.ledger = Ledger(Path(self.folder.name) / "ledger.db")
        self.limit = Fraction(1)
        self.recorded = {cell: [Fraction(0), Fraction(0)] for cell in CELLS}
        self.asked = 0

    def teardown(self) -> None:
        self.ledger.verify()
        self.ledger.close()
        self.folder.cleanup()

    def account(self, cells: frozenset[str] | None) -> Account:
        return Account("table", Budget(self.limit, DELTA, self.accounting), cells)

    def event(self, epsilon: Fraction) -> Pure | Gaussian:
        if self.accounting == "zcdp" and epsilon:
            return Gaussian(epsilon, Fraction(5))
        return Pure(epsilon)

    @rule(epsilon=epsilons, slip=slips, cells=parts)
    def ask(self, epsilon: Fraction, slip: Fraction, cells: frozenset[str] | None) -> None:
        cost = price(Sequence((self.event(epsilon), Slip(slip))))
        main = cost.epsilon if self.accounting == "approximate" else cost.rho
        assert main is not None
        touched = [cell for cell in CELLS if cells is None or cell in cells]
        most, most_slip = self.limits()
        largest = max(self.recorded[cell][0] for cell in touched) + main
        largest_slip = max(self.recorded[cell][1] for cell in touched) + slip
        self.asked += 1
        try:
            self.ledger.reserve(
                [self.account(cells)], cost, key=f"{self.asked}", at=NOON, question="q"
            )
        except BudgetExceeded:
            slack = UNIT * self.asked
            assert largest > most - slack or largest_slip > most_slip - slack
            return
        assert largest <= most
        assert largest_slip <= most_slip
        for cell in touched:
            self.recorded[cell][0] += main
            self.recorded[cell][1] += slip

    @precondition(lambda self: self.asked)
    @rule()
    def ask_again(self) -> None:
        """The same key, whether it was refused or not, must not be charged twice."""
        spent = self.ledger.remaining([self.account(None)])[0]
        found = self.ledger.entries(limit=1)
        if found and found[0].price:
            again = self.ledger.entries(limit=1)[0]
            key = self.last_key()
            self.ledger.reserve(
                [Account("table", self.account(None).budget, again.cells)],
                found[0].price,
                key=key,
                at=NOON,
                question="q",
            )
        assert self.ledger.remaining([self.account(None)])[0] == spent

    def last_key(self) -> str:
        from sqlalchemy import select

        from discreet.dp.ledger import schema

        with self.ledger._store.reading() as connection:
            newest = select(schema.entry.c.key).order_by(schema.entry.c.sequence.desc()).limit(1)
            return str(connection.scalar(newest))

    @rule(limit=st.sampled_from([Fraction(1, 2), Fraction(1), Fraction(2)]))
    def change_the_limit(self, limit: Fraction) -> None:
        self.limit = limit

    def limits(self) -> tuple[Fraction, Fraction]:
        if self.accounting == "approximate":
            return self.limit, DELTA
        return rho_of_epsilon(self.limit, delta=DELTA / 2), DELTA / 2

    @invariant()
    def the_ledger_has_no_less_than_was_recorded(self) -> None:
        for cell in CELLS:
            (left,) = self.ledger.remaining([self.account(frozenset({cell}))])
            main = left.rho or left.epsilon
            assert 0 <= main.spent - self.recorded[cell][0] <= UNIT * self.asked
            assert 0 <= left.delta.spent - self.recorded[cell][1] <= UNIT * self.asked


class AskedUnderZcdp(Asked):
    accounting: Accounting = "zcdp"


TestAsked = Asked.TestCase
TestAsked.settings = settings(max_examples=20, stateful_step_count=25, deadline=None)
TestAskedUnderZcdp = AskedUnderZcdp.TestCase
TestAskedUnderZcdp.settings = settings(max_examples=10, stateful_step_count=25, deadline=None)
