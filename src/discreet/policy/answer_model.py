"""A policy's settings for answers: budgets, workloads, and the most that one unit may contribute."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from discreet.policy.hierarchies.calendar import Period

Accounting = Literal["approximate", "zcdp"]
ROW = "row"  # `unit: row`: each row is a person


@dataclass(frozen=True)
class BudgetPolicy:
    """The total budget: (`epsilon`, `delta`)-DP, by adding up or by a zCDP filter.

    With `per` the budget is renewed each period, and the promise holds for one period only.
    `analysts` are the budgets of single analysts by name, `*` that of all analysts not named.

    >>> budget = BudgetPolicy(Decimal(4), analysts={"ada": BudgetPolicy(Decimal("0.5"))})
    >>> budget.analysts["ada"].epsilon
    Decimal('0.5')
    """

    epsilon: Decimal
    delta: Decimal = Decimal(0)
    accounting: Accounting = "approximate"
    per: Period | None = None
    analysts: Mapping[str, BudgetPolicy] = field(
        default_factory=dict[str, "BudgetPolicy"], hash=False
    )
    line: int | None = field(default=None, compare=False)


@dataclass(frozen=True)
class ContributionLimits:
    """The most that one unit contributes to an answer; what is beyond is left out by chance.

    >>> ContributionLimits(rows_per_unit=10).rows_per_unit
    10
    """

    rows_per_unit: int | None = None
    groups_per_unit: int | None = None
    rows_per_group: int | None = None  # of one unit within one group
    line: int | None = field(default=None, compare=False)


@dataclass(frozen=True)
class WorkloadPolicy:
    """Questions that are asked together under a name, such as those of a dashboard, and what they cost.

    >>> WorkloadPolicy(("SELECT count(*) FROM visits",), Decimal(1), Decimal("1e-6")).queries
    ('SELECT count(*) FROM visits',)
    """

    queries: tuple[str, ...]
    epsilon: Decimal
    delta: Decimal
    line: int | None = field(default=None, compare=False)


@dataclass(frozen=True)
class UnitPeriod:
    """The unit is a person in one period of the dates in `column`, such as a person's month.

    >>> UnitPeriod("admitted", "month").period
    'month'
    """

    column: str
    period: Period


# How a column's values make the parts of a table: each value one, or each period.
Parts = Literal["value", "day", "month", "quarter", "year", "decade"]
