"""Values and bounds that a policy does not declare, found privately before a mechanism counts by them."""

from __future__ import annotations

import datetime as dt
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Literal

from sqlglot import exp

from discreet.answer.bounds_search import (
    bounds_query,
    count_bins,
    outermost_bins,
    read_private_bounds,
    scan_single_rows,
)
from discreet.answer.perturb import ExactResults, ReleasedTable, release_query
from discreet.answer.plan import Noise, PrivateQueryPlan, plan_private_query
from discreet.answer.question import PrivateQuery, key_name
from discreet.dp import event as events
from discreet.dp.accounting.pricing import price
from discreet.dp.noise import system_noise
from discreet.engines.engine import Kind
from discreet.errors import Bug, InvalidBudget, UnknownColumn, did_you_mean
from discreet.sql import build

if TYPE_CHECKING:
    from discreet.answer.catalog import CatalogTable
    from discreet.answer.rows import Rows

FIRST_YEAR, LAST_YEAR = 1900, 2100  # dates beyond count as these
_DATED = (Kind.DATE, Kind.TIMESTAMP)


@dataclass(frozen=True)
class DomainSearch:
    """A column whose values or bounds are to be found."""

    column: str
    need: Literal["values", "bounds"]


@dataclass(frozen=True)
class PrivateDomain:
    """What was found of a column: the values that enough people have, or its bounds: numbers or dates."""

    values: tuple[str, ...] | None = None
    bounds: tuple[Any, Any] | None = None


@dataclass(frozen=True)
class DomainSearches:
    """The searches that come before a mechanism, and what they take of its price.

    Attributes:
        searches: The columns.
        amount: What all of them cost together: a rho, or an epsilon where noise is `laplace`.
        slip: The chance that any of them reveals a value that one unit alone has.
        noise: Which noise.
    """

    searches: tuple[DomainSearch, ...]
    amount: Fraction
    slip: Fraction = Fraction(0)
    noise: Noise = "gaussian"

    def plan(self, held: CatalogTable) -> list[PrivateQueryPlan]:
        """Return how each is searched for; no row is read.

        Guarantee: all of them together are `amount`-zCDP, or `amount`-DP with Laplace noise, but for a
        chance of `slip`, between tables that differ in the rows of one unit: however many it has, they
        count as one row in one bin, or for one value.

        Raises:
            InvalidBudget: Values can be found with a delta only.
            UnknownColumn: There is no such column.
        """
        rare = sum(search.need == "values" for search in self.searches)
        if rare and not self.slip:
            names = ", ".join(one.column for one in self.searches if one.need == "values")
            raise InvalidBudget(
                f"The values of {names} are not declared, and finding them needs a delta: a rare one could "
                "reveal who is in the table. Allow a delta such as 1e-9, or list them in the policy."
            )
        plans: list[PrivateQueryPlan] = []
        for search in self.searches:
            slip = self.slip / rare if search.need == "values" else Fraction(0)
            plans.append(
                plan_private_query(
                    _search_query(held, search),
                    self.amount / len(self.searches),
                    slip=slip,
                    noise=self.noise,
                )
            )
        self._require_covered(plans)
        return plans

    def _require_covered(self, plans: Sequence[PrivateQueryPlan]) -> None:
        found = price(events.Sequence(tuple(plan.event for plan in plans)))
        paid = found.rho if self.noise == "gaussian" else found.epsilon
        if paid is None or paid > self.amount or found.slip > self.slip:
            raise Bug("Searches for domains cost more than their share.")

    def read(
        self,
        held: CatalogTable,
        plans: Sequence[PrivateQueryPlan],
        exact: Sequence[ExactResults],
    ) -> dict[str, PrivateDomain]:
        """Add noise to what was counted, and return what is found by it."""
        source = system_noise()
        found: dict[str, PrivateDomain] = {}
        for search, plan, counts in zip(self.searches, plans, exact, strict=True):
            released = release_query(plan, counts, noise=source, kind=self.noise, consistent=False)
            found[search.column] = _read_search(held, search, released, self.noise)
        return found


def _search_query(held: CatalogTable, search: DomainSearch) -> PrivateQuery:
    column = held.column(search.column)
    if column is None:
        near = did_you_mean(search.column, (one.name for one in held.planned_columns))
        raise UnknownColumn(f"There is no column '{search.column}' in '{held.name}'.{near}")
    if search.need == "values":
        rows = scan_single_rows(held)
        key = rows.scope[held.name][search.column]
        return PrivateQuery(f"values_of_{search.column}", rows, (key,), (), ((0,),))
    if column.kind in _DATED:
        rows = scan_single_rows(held)
        return count_bins(
            rows,
            _year_place(rows, search.column),
            size=LAST_YEAR - FIRST_YEAR + 1,
            name=f"bounds_of_{search.column}",
        )
    return bounds_query(held, search.column)


def _year_place(rows: Rows, column: str) -> exp.Expr:
    """Return which year a date is in, NULL where there is none; only comparisons, by halving."""
    typed = rows.resolve(build.column(column))
    kind = exp.DataType.Type.DATE if typed.kind is Kind.DATE else exp.DataType.Type.TIMESTAMPNTZ

    def search(first: int, last: int) -> exp.Expr:
        if first == last:
            return build.number(first - FIRST_YEAR)
        half = (first + last + 1) // 2
        edge = exp.cast(build.text(f"{half:04}-01-01"), kind)
        is_before = exp.If(
            this=exp.LT(this=typed.tree.copy(), expression=edge), true=search(first, half - 1)
        )
        return exp.Case(ifs=[is_before], default=search(half, last))

    missing = exp.If(this=build.is_null(typed.tree.copy()), true=exp.Null())
    return exp.Case(ifs=[missing], default=search(FIRST_YEAR, LAST_YEAR))


def _read_search(
    held: CatalogTable, search: DomainSearch, released: ReleasedTable, noise: Noise
) -> PrivateDomain:
    if search.need == "values":
        keys = released.table.column(key_name(0)).to_pylist()
        return PrivateDomain(values=tuple(str(key) for key in keys if key is not None))
    column = held.column(search.column)
    if column is not None and column.kind in _DATED:
        first, last = outermost_bins(released, noise)
        ends = dt.date(FIRST_YEAR + first, 1, 1), dt.date(FIRST_YEAR + last, 12, 31)
        return PrivateDomain(bounds=ends)
    # Powers of two, and so exact as floats, too.
    low, high = (Decimal(float(end)) for end in read_private_bounds(released, noise))
    return PrivateDomain(bounds=(low, high))
