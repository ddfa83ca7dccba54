"""Sums of permitted questions that equal a forbidden one: complement, individual, general, double tracker."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from sqlglot import exp

from discreet.attacks.questions.interface import Interface


@dataclass(frozen=True)
class TrackerPlan:
    """A question about a few people as a signed sum of questions about many.

    A term is a sign and a condition; no condition means everyone.
    """

    name: str
    terms: tuple[tuple[int, exp.Expr | None], ...]

    def count(self, interface: Interface) -> float | None:
        """Return how many people it is about, or None when a term is refused."""
        return self._sum(interface.count)

    def total(self, interface: Interface, column: str) -> float | None:
        """Return the sum of a column over them, or None when a term is refused."""
        return self._sum(lambda where: interface.total(column, where))

    def _sum(self, ask: Callable[[exp.Expr | None], float | None]) -> float | None:
        result = 0.0
        for sign, where in self.terms:
            reply = ask(where)
            if reply is None:
                return None  # what follows would be asked for nothing
            result += sign * reply
        return result

    def formula(self, interface: Interface, column: str | None) -> tuple[str, ...]:
        """Return the questions with their signs and replies, as a custodian reads them."""
        lines: list[str] = []
        for sign, where in self.terms:
            place = interface.aggregate(column)
            question = interface.text(interface.question(place, where))
            reply = interface.recall(question).number
            lines.append(f"{'+' if sign > 0 else '-'} {reply or 0:,.10g}  {question}")
        return tuple(lines)


def negation_of(condition: exp.Expr) -> exp.Expr:
    """Return everyone else: where the condition is unknown, it does not hold."""
    known = exp.func("COALESCE", condition.copy(), exp.false())
    return exp.Not(this=known)


def conjunction_of(first: exp.Expr, second: exp.Expr) -> exp.Expr:
    """Return the conjunction of two conditions."""
    return exp.and_(first.copy(), second.copy())


def disjunction_of(first: exp.Expr, second: exp.Expr) -> exp.Expr:
    """Return the disjunction of two conditions."""
    return exp.or_(first.copy(), second.copy())


def direct_plan(person: exp.Expr) -> TrackerPlan:
    """Return the forbidden question itself."""
    return TrackerPlan("direct", ((1, person),))


def complement_plan(person: exp.Expr) -> TrackerPlan:
    """Return everyone minus everyone else."""
    return TrackerPlan("complement", ((1, None), (-1, negation_of(person))))


def individual_plans(person: exp.Expr) -> list[TrackerPlan]:
    """Return q(A) - q(A and not B) for each condition A of a person who is A and B (Schlörer 1975)."""
    parts = _split_conjuncts(person)
    plans: list[TrackerPlan] = []
    for index, broad in enumerate(parts):
        rest = [part for place, part in enumerate(parts) if place != index]
        if rest:
            others = exp.and_(*(part.copy() for part in rest))
            plans.append(
                TrackerPlan(
                    "individual tracker",
                    ((1, broad), (-1, conjunction_of(broad, negation_of(others)))),
                )
            )
    return plans


def general_plan(person: exp.Expr, tracker: exp.Expr, *, asks_all: bool) -> TrackerPlan:
    """Return q(C or T) + q(C or not T) - q(all), where q(all) may be q(T) + q(not T).

    With at most s people in C it is answered if k <= |T| and |T| + s <= N - k, and likewise for the
    rest (Denning, Denning & Schwartz 1979).
    """
    other = negation_of(tracker)
    terms: list[tuple[int, exp.Expr | None]] = [
        (1, disjunction_of(person, tracker)),
        (1, disjunction_of(person, other)),
    ]
    terms += [(-1, None)] if asks_all else [(-1, tracker), (-1, other)]
    return TrackerPlan("general tracker", tuple(terms))


def double_plan(person: exp.Expr, inner: exp.Expr, outer: exp.Expr) -> TrackerPlan:
    """Return q(U) + q(C or T) - q(T) - q(U and not (C and T)) for T within U.

    With at most s people in C it is answered if k <= |T| <= N - k - s and k + s <= |U| <= N - k
    (Denning, Denning & Schwartz 1979).
    """
    without = conjunction_of(outer, negation_of(conjunction_of(person, inner)))
    terms = ((1, outer), (1, disjunction_of(person, inner)), (-1, inner), (-1, without))
    return TrackerPlan("double tracker", terms)


def first_that_works(
    plans: Sequence[TrackerPlan], interface: Interface
) -> tuple[TrackerPlan, float] | None:
    """Return the first plan whose counts are all answered, and how many people it is about."""
    for plan in plans:
        reply = plan.count(interface)
        if reply is not None:
            return plan, reply
    return None


def _split_conjuncts(condition: exp.Expr) -> list[exp.Expr]:
    inner = condition.unnest()
    return list(inner.flatten()) if isinstance(inner, exp.And) else [inner]
