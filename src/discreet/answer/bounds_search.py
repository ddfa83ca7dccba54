"""Bounds that the policy leaves private: found once for a column, for a share of epsilon, and then known.

How many people have a number between two powers of two, positive or negative, is counted with noise,
each person as one; the bounds are the ends of the outermost bins that stand out. That is an ordinary
question about the table, with public groups, so that its noise and its price are those of any other.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from math import log, sqrt
from statistics import NormalDist

from sqlglot import exp

from discreet.answer import derive
from discreet.answer.aggregates import Aggregate, AggregateKind
from discreet.answer.catalog import Catalog, CatalogTable
from discreet.answer.derive import SelectionItem
from discreet.answer.expressions.numbers import to_real
from discreet.answer.expressions.typed import TypedExpression
from discreet.answer.perturb import ReleasedTable
from discreet.answer.plan import BoundsSearch, Noise, Plan, plan_private_query
from discreet.answer.question import PrivateQuery, Question, aggregate_name, key_name
from discreet.answer.released_format import FAILED, unpack_released
from discreet.answer.resolve import resolve_question
from discreet.answer.rows import Rows, number_constant
from discreet.answer.sources import scan_table
from discreet.dp import event as events
from discreet.dp.accounting.pricing import price
from discreet.dp.budget import Price
from discreet.dp.ledger.ledger import Ledger
from discreet.engines.engine import Kind
from discreet.errors import NoBounds
from discreet.policy.answer_model import ContributionLimits
from discreet.sql import build

SEARCH_SHARE = Fraction(1, 10)  # of a question's epsilon
LARGEST, SMALLEST = 62, -20  # powers of two; numbers beyond the largest count as that
# The chance that noise alone makes any of the empty bins stand out.
_FALSE_ALARM = 0.001
_LAYOUT = 1
Column = tuple[str, str]  # of a table
Range = tuple[Fraction, Fraction]


@dataclass(frozen=True)
class BoundsGrid:
    """Bins between powers of two, from the most negative numbers to the largest; 0 has its own."""

    powers: tuple[int, ...]

    @property
    def size(self) -> int:
        """How many bins there are."""
        return 2 * len(self.powers) + 1

    def ends(self, place: int) -> Range:
        """Return the lower and the upper end of a bin."""
        number = abs(place - len(self.powers))
        if number == 0:
            return Fraction(0), Fraction(0)
        near = Fraction(2) ** self.powers[number - 2] if number > 1 else Fraction(0)
        far = Fraction(2) ** self.powers[number - 1]
        return (near, far) if place > len(self.powers) else (-far, -near)

    def place(self, number: exp.Expr, kind: Kind) -> exp.Expr:
        """Return which bin a number is in, NULL where there is none; only comparisons, which are exact."""
        zero, middle = number_constant(Fraction(0), kind), len(self.powers)
        missing = exp.If(this=build.is_null(number.copy()), true=exp.Null())
        positive = exp.If(
            this=exp.GT(this=number.copy(), expression=zero.copy()),
            true=self._search_bin(number, kind, 0, middle - 1, sign=1),
        )
        negative = exp.If(
            this=exp.LT(this=number.copy(), expression=zero.copy()),
            true=self._search_bin(number, kind, 0, middle - 1, sign=-1),
        )
        return exp.Case(ifs=[missing, positive, negative], default=build.number(middle))

    def _search_bin(
        self, number: exp.Expr, kind: Kind, first: int, last: int, *, sign: int
    ) -> exp.Expr:
        """Return the bin between two others, by halving."""
        if first == last:
            return build.number(len(self.powers) + sign * (first + 1))
        half = (first + last) // 2
        edge = number_constant(sign * Fraction(2) ** self.powers[half], kind)
        is_near = exp.LTE if sign > 0 else exp.GTE
        return exp.Case(
            ifs=[
                exp.If(
                    this=is_near(this=number.copy(), expression=edge),
                    true=self._search_bin(number, kind, first, half, sign=sign),
                )
            ],
            default=self._search_bin(number, kind, half + 1, last, sign=sign),
        )


_WHOLE = BoundsGrid(tuple(range(LARGEST + 1)))
_REAL = BoundsGrid(tuple(range(SMALLEST, LARGEST + 1)))
# What a column lies between before its bounds are found: no question is planned with less.
_WIDEST = (-(Fraction(2) ** LARGEST), Fraction(2) ** LARGEST)


def read_private_bounds(released: ReleasedTable, noise: Noise = "laplace") -> Range:
    """Return the ends of the outermost bins that stand out from the noise.

    It depends on released counts only, so that the result is always the same.
    """
    first, last = outermost_bins(released, noise)
    grid = _WHOLE if released.table.num_rows == _WHOLE.size else _REAL
    low, high = grid.ends(first)[0], grid.ends(last)[1]
    return (low, high) if low < high else (low, low + 1)


def outermost_bins(released: ReleasedTable, noise: Noise) -> tuple[int, int]:
    """Return the first and the last bin that stand out from the noise, or the fullest one."""
    table = released.table
    places, counts, moved = (
        table.column(name).to_pylist()
        for name in (key_name(0), aggregate_name(0), f"{aggregate_name(0)}_0")
    )
    deviation, chance = moved[0] - counts[0], _FALSE_ALARM / len(places)
    if noise == "laplace":
        least = deviation / sqrt(2) * log(1 / (2 * chance))
    else:
        least = deviation * NormalDist().inv_cdf(1 - chance)
    clear = [place for place, count in zip(places, counts, strict=True) if count > least]
    if not clear:
        clear = [max(zip(counts, places, strict=True))[1]]
    return min(clear), max(clear)


def resolve_searching(statement: exp.Query, catalog: Catalog) -> Question:
    """Return the statement's question, and the columns whose private bounds it needs; reads no row.

    Raises:
        NoBounds: A number has no bounds, and its policy does not leave them private.
    """
    try:
        return resolve_question(statement, catalog)
    except NoBounds:
        private = _private_columns(statement, catalog)
        if not private:
            raise
    asked = resolve_question(statement, catalog.with_bounds(dict.fromkeys(private, _WIDEST)))
    for column in private:
        fewer = [other for other in private if other != column]
        try:
            asked = resolve_question(statement, catalog.with_bounds(dict.fromkeys(fewer, _WIDEST)))
        except NoBounds:
            continue
        private = fewer
    return replace(asked, searched=tuple(private))


def _private_columns(statement: exp.Query, catalog: Catalog) -> list[Column]:
    """Return the columns with private bounds that a statement can mean, in a fixed order."""
    named = {node.name.casefold() for node in statement.find_all(exp.Table)}
    wanted = {node.name.casefold() for node in statement.find_all(exp.Column)}
    has_star = statement.find(exp.Star) is not None
    found: set[Column] = set()
    for name in catalog.openers:
        if name.casefold() not in named:
            continue
        held = catalog.find(name)
        for column in held.policy.columns if held.policy else ():
            is_meant = has_star or column.name.casefold() in wanted
            if column.has_private_bounds and is_meant and held.table.column(column.name):
                found.add((held.name, column.name))
    return sorted(found)


def make_search(
    held: CatalogTable, column: str, *, epsilon: Fraction, analyst: str | None
) -> BoundsSearch:
    """Return how the bounds of a column are found for `epsilon`.

    Guarantee: epsilon-DP between tables that differ in the rows of one unit, which count as one row
    together however many these are (discrete Laplace noise on a histogram).
    """
    plan = plan_private_query(bounds_query(held, column), epsilon)
    found = price(plan.event)
    cost = Price(epsilon, Fraction(0), found.rho, found.slip)
    return BoundsSearch((held.name, column), plan, cost, bounds_key(held, column, analyst))


def bounds_query(held: CatalogTable, column: str) -> PrivateQuery:
    """Return how many people have a number of a column in each bin, each person as one."""
    rows = scan_single_rows(held)
    typed = rows.scope[held.name][column]
    is_whole = typed.kind is Kind.INTEGER
    grid = _WHOLE if is_whole else _REAL
    number = derive.select_columns(
        rows, [SelectionItem("x", typed if is_whole else to_real(typed))]
    )
    inner = number.as_rows("discreet_numbers")
    kind = Kind.INTEGER if is_whole else Kind.REAL
    place = grid.place(build.column("x", of="discreet_numbers"), kind)
    return count_bins(inner, place, size=grid.size, name=f"bounds_of_{column}")


def scan_single_rows(held: CatalogTable) -> Rows:
    """Return all rows of a table, of which those of one unit count as one together."""
    return replace(scan_table(held, held.name), limits=ContributionLimits(rows_per_unit=1))


def count_bins(rows: Rows, place: exp.Expr, *, size: int, name: str) -> PrivateQuery:
    """Return the numbers of rows in each of `size` public bins."""
    item = SelectionItem("bin", TypedExpression(place, Kind.INTEGER))
    binned = derive.select_columns(rows, [item]).as_rows("discreet_places")
    key = replace(
        binned.scope["discreet_places"]["bin"], values=tuple(range(size)), step=Fraction(1)
    )
    return PrivateQuery(name, binned, (key,), (Aggregate(AggregateKind.COUNT),), ((0,),))


def bounds_key(held: CatalogTable, column: str, analyst: str | None) -> str:
    """Return the key of bounds in the ledger: released bounds stay known even if the data change."""
    parts = ["bounds", _LAYOUT, held.account, column, analyst]
    return hashlib.sha256(json.dumps(parts).encode()).hexdigest()


def find_known_bounds(
    asked: Question, catalog: Catalog, ledger: Ledger, *, epsilon: Fraction, analyst: str | None
) -> tuple[dict[Column, Range], list[BoundsSearch]]:
    """Return the bounds that the ledger has for a question, and the searches for all others."""
    found: dict[Column, Range] = {}
    searches: list[BoundsSearch] = []
    for table, column in asked.searched:
        held = catalog.find(table)
        known = ledger.find(bounds_key(held, column, analyst))
        if known is not None and known != FAILED:
            (released,) = unpack_released(known).values()
            found[table, column] = read_private_bounds(released)
            continue
        each = epsilon * SEARCH_SHARE / len(asked.searched)
        searches.append(make_search(held, column, epsilon=each, analyst=analyst))
    return found, searches


def with_searches(plan: Plan, searches: Sequence[BoundsSearch], epsilon: Fraction) -> Plan:
    """Return the plan of a question that costs `epsilon` with the searches that come before it."""
    done = tuple(search.plan.event for search in searches)
    event = events.Sequence((*done, *(leaf.event for leaf in plan.private_queries)))
    found = price(event)
    paid = sum((search.price.epsilon or Fraction(0) for search in searches), Fraction(0))
    total = None if plan.price.epsilon is None else plan.price.epsilon + paid
    cost = Price(total, plan.price.delta, found.rho, found.slip)
    return replace(plan, epsilon=epsilon, searches=tuple(searches), event=event, price=cost)


def bounds_cautions(plan: Plan) -> list[str]:
    """Return the cautions about bounds that were found, or will be."""
    cautions = [
        f"The bounds of '{search.column[1]}' are private: finding them costs epsilon "
        f"{float(search.price.epsilon or 0):g} of this question, once. How far off sums and means are "
        "depends on them."
        for search in plan.searches
    ]
    for column, (low, high) in plan.found.items():
        cost = plan.paid.get(column)
        spent = (
            f"for epsilon {float(cost):g} of this question" if cost else "by an earlier question"
        )
        cautions.append(
            f"The bounds of '{column[1]}' were found privately {spent}: {_format_bound(low)} to "
            f"{_format_bound(high)}. Numbers beyond count as these; later questions use them for nothing."
        )
    return cautions


def _format_bound(value: Fraction) -> str:
    return f"{value.numerator:,}" if value.denominator == 1 else f"{float(value):.6g}"
