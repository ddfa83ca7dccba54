"""Cells of one account are apart only if they divide the table the same way."""

from __future__ import annotations

from datetime import UTC, datetime
from fractions import Fraction

import pytest

from discreet.dp.budget import Budget, Price
from discreet.dp.ledger.ledger import Ledger
from discreet.dp.ledger.records import Account
from discreet.errors import BudgetExceeded


def test_a_table_divided_another_way_is_charged_for_all_of_it(tmp_path):
    ledger = Ledger(tmp_path / "ledger")
    month = frozenset({"month|admitted=2026-03"})
    quarter = frozenset({"quarter|admitted=2026-Q1"})
    budget = Budget(Fraction(1))
    one = Price(Fraction(1), Fraction(0), Fraction(1, 2), Fraction(0))
    at = datetime(2026, 3, 1, tzinfo=UTC)
    ledger.reserve([Account("t", budget, month)], one, key="a", at=at, question="q")
    with pytest.raises(BudgetExceeded):
        ledger.reserve([Account("t", budget, quarter)], one, key="b", at=at, question="q")
    assert ledger.verify() > 0
    ledger.close()
