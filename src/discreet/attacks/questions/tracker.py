"""The tracker attack: a forbidden question put together from permitted ones, found by asking."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import islice
from statistics import NormalDist, fmean, stdev
from typing import Any

from sqlglot import exp

from discreet.attacks.finding import Finding
from discreet.attacks.questions.crowds import Crowd, count_everybody, find_crowds
from discreet.attacks.questions.domains import ColumnDomain
from discreet.attacks.questions.interface import Interface
from discreet.attacks.questions.outcomes import make_scored_finding, score_results, word_outcome
from discreet.attacks.questions.people import TargetPerson
from discreet.attacks.questions.plans import (
    TrackerPlan,
    complement_plan,
    direct_plan,
    double_plan,
    first_that_works,
    general_plan,
    individual_plans,
)

CROWDS = 8  # how many crowds are tried before the adversary gives up
REMEDY = (
    "Answer with noise out of a budget that ends (`discreet ask`). Limits on the size of groups, "
    "rounding and noise without a budget only cost the adversary a few more questions."
)


@dataclass(frozen=True)
class TrackerKnowledge:
    """What the adversary knows of the interface and of the people it is after.

    Attributes:
        smallest: k, if the rule is known; then nothing is asked that is bound to be refused.
        group: How many people a condition may hold for.
        trackers: How many crowds to average over, where answers are rounded or noisy, so that
            counts do not even reveal who is there; None where answers look exact.
        is_there: The adversary knows that the person is in the table, and asks no counts: best
            where every answer costs something.
        ways: What is tried, in this order.
    """

    smallest: int | None = None
    group: int = 1
    trackers: int | None = None
    is_there: bool = False
    ways: tuple[str, ...] = ("direct", "complement", "individual", "general", "double")


@dataclass(frozen=True)
class Revealed:
    """What the adversary has found out about one person.

    Attributes:
        plan: What it put together; None when everything was refused.
        people: How many people the condition holds for, as far as answers reveal it.
        value: The sum over them.
        error: The standard error of `value`, where several trackers were averaged.
    """

    plan: TrackerPlan | None = None
    people: float | None = None
    value: float | None = None
    error: float | None = None
    group: int = 1

    @property
    def is_claim(self) -> bool:
        """Whether the adversary says what the value is: it has one, and the condition holds for a person."""
        if self.value is None:
            return False
        return self.people is None or 0.5 <= self.people < self.group + 0.5


def reveal(
    interface: Interface,
    person: exp.Expr,
    *,
    value: str,
    domains: Sequence[ColumnDomain],
    known: TrackerKnowledge | None = None,
) -> Revealed:
    """Return the sum of `value` over the people that `person` holds for, by whatever is answered.

    Tried in turn: the question itself, everyone minus the others, an individual tracker (a person
    who is A and B), a general tracker, a double tracker. Crowds for the last two are conditions on
    `domains`, found by halving.

    >>> import pyarrow
    >>> from sqlglot import condition
    >>> from discreet.attacks.questions.domains import make_range
    >>> from discreet.attacks.questions.laboratory import LaboratoryRules, laboratory
    >>> from discreet.engines.connect import open_table
    >>> ages, pay = list(range(20, 60)), list(range(1000, 41_000, 1000))
    >>> staff = open_table(pyarrow.table({"age": ages, "pay": pay}))
    >>> interface = laboratory(staff, LaboratoryRules(smallest=10))
    >>> found = reveal(interface, condition("age = 33"), value="pay",
    ...                domains=[make_range("age", 18, 67)])
    >>> found.plan.name, found.value, interface.questions
    ('general tracker', 14000.0, 9)
    """
    knows = known or TrackerKnowledge()
    if knows.trackers is not None:
        return _average_trackers(interface, person, value=value, domains=domains, known=knows)
    if knows.is_there:
        return _reveal_unchecked(interface, person, value=value, known=knows)
    found = first_that_works(_plans_without_crowd(person, knows), interface)
    found = found or _find_crowd_plan(interface, person, domains, knows)
    if found is None:
        return Revealed()
    plan, people = found
    total = plan.total(interface, value) if 0.5 <= people < knows.group + 0.5 else None
    return Revealed(plan, people, total, group=knows.group)


def _reveal_unchecked(
    interface: Interface, person: exp.Expr, *, value: str, known: TrackerKnowledge
) -> Revealed:
    for plan in _plans_without_crowd(person, known):
        total = plan.total(interface, value)
        if total is not None:
            return Revealed(plan, None, total, group=known.group)
    return Revealed()


def _plans_without_crowd(person: exp.Expr, known: TrackerKnowledge) -> list[TrackerPlan]:
    """Return the plans that need no crowd."""
    plans = {
        "direct": [direct_plan(person)],
        "complement": [complement_plan(person)],
        "individual": individual_plans(person),
    }
    ways = [way for way in known.ways if way in plans]
    if known.smallest is not None and known.smallest > known.group:  # bound to be refused
        ways = [way for way in ways if way == "individual"]
    return [plan for way in ways for plan in plans[way]]


def _find_crowd_plan(
    interface: Interface, person: exp.Expr, domains: Sequence[ColumnDomain], known: TrackerKnowledge
) -> tuple[TrackerPlan, float] | None:
    seen: list[Crowd] = []
    if "general" in known.ways:
        found = _find_general_tracker(interface, person, domains, known, seen)
        if found is not None:
            return found
    if "double" not in known.ways:
        return None
    pairs = _nested_crowds(interface, domains, known, seen)
    return first_that_works(
        [double_plan(person, inner.where, outer.where) for inner, outer in pairs], interface
    )


def _find_general_tracker(
    interface: Interface,
    person: exp.Expr,
    domains: Sequence[ColumnDomain],
    known: TrackerKnowledge,
    seen: list[Crowd],
) -> tuple[TrackerPlan, float] | None:
    """Return a general tracker that works; crowds that do not are put into `seen`."""
    people = interface.count()
    window = _tracker_sizes(people, known)
    if window is not None and window[0] > window[1]:
        return None
    for crowd in islice(find_crowds(interface, domains, window=window), CROWDS):
        plan = general_plan(person, crowd.where, asks_all=people is not None)
        count = plan.count(interface)
        if count is not None:
            return plan, count
        seen.append(crowd)
    return None


def _tracker_sizes(people: float | None, known: TrackerKnowledge) -> tuple[float, float] | None:
    """Return the sizes of a general tracker, where the rule is known."""
    if people is None or known.smallest is None:
        return None
    edge = known.smallest + known.group
    return edge, people - edge


def _nested_crowds(
    interface: Interface,
    domains: Sequence[ColumnDomain],
    known: TrackerKnowledge,
    seen: Sequence[Crowd],
) -> list[tuple[Crowd, Crowd]]:
    """Return pairs of crowds within each other, as far as the group is large from the middle."""
    people = count_everybody(interface, seen[0] if seen else None)
    away = known.group / people / 2 if people else 1 / 6
    pairs: list[tuple[Crowd, Crowd]] = []
    for domain in domains:
        inner, outer = (
            list(islice(find_crowds(interface, [domain], aim=aim), CROWDS))
            for aim in (0.5 - away, 0.5 + away)
        )
        pairs += [(low, high) for low in inner for high in outer if low.place < high.place]
    if known.smallest is not None and people is not None:
        k, s = known.smallest, known.group
        pairs = [
            (low, high) for low, high in pairs if low.size <= people - k - s and high.size >= k + s
        ]
    return sorted(pairs, key=lambda pair: pair[0].size - pair[1].size)[:CROWDS]


def _average_trackers(
    interface: Interface,
    person: exp.Expr,
    *,
    value: str,
    domains: Sequence[ColumnDomain],
    known: TrackerKnowledge,
) -> Revealed:
    """Return the mean over many trackers, whose errors differ; the total of all is asked for none.

    It would be the same number in each, and its error would not be averaged out.
    """
    start = next(
        find_crowds(interface, domains, window=_tracker_sizes(interface.count(), known)), None
    )
    if start is None:
        return Revealed()
    plans = [
        general_plan(person, crowd.where, asks_all=False)
        for crowd in neighboring_crowds(start, known.trackers or 1)
    ]
    totals = [plan.total(interface, value) for plan in plans]
    given = [total for total in totals if total is not None]
    if not given:
        return Revealed(plans[0])
    error = stdev(given) / len(given) ** 0.5 if len(given) > 1 else None
    name = f"mean of {len(given)} trackers" if len(given) > 1 else plans[0].name
    plan = replace(plans[0], name=name)
    return Revealed(plan, None, fmean(given), error, group=known.group)


def neighboring_crowds(crowd: Crowd, count: int) -> list[Crowd]:
    """Return `count` crowds, or as many as there are, with thresholds around that of `crowd`."""
    size = crowd.domain.size
    stride = max(1, size // (4 * count))
    steps = sorted(range(-count, count + 1), key=abs)[:count]
    places = [crowd.place + stride * step for step in steps]
    return [replace(crowd, place=place) for place in places if 0 < place < size]


def is_claim_right(revealed: Revealed, truth: Any) -> bool:
    """Return whether a claim is the truth: the nearest whole number of a whole truth."""
    if not revealed.is_claim or revealed.value is None or truth is None:
        return False
    exact = float(truth)
    if exact == int(exact):
        return abs(revealed.value - exact) < 0.5
    return abs(revealed.value - exact) <= 1e-6 * max(1.0, abs(exact))


def track(
    interface: Interface,
    people: Sequence[TargetPerson],
    *,
    value: str,
    domains: Sequence[ColumnDomain],
    known: TrackerKnowledge | None = None,
    baseline: float | None = None,
    attack: str = "tracker",
) -> Finding:
    """Return what the attack learns about several people, with those who are absent as a control."""
    found = [
        reveal(interface, person.where, value=value, domains=domains, known=known)
        for person in people
    ]
    scored = score_results(
        people, found, lambda result, person: is_claim_right(result, person.truth)
    )
    claimed = sum(result.is_claim for _, result in scored.present)
    errors = [
        abs(result.value - float(person.truth))
        for person, result in scored.present
        if result.value is not None and person.truth is not None
    ]
    methods = _count_methods(found)
    details = {
        "methods": methods,
        "mean_absolute_error": fmean(errors) if errors else None,
        "questions_per_person": interface.questions / len(people) if people else 0.0,
        "refusals": interface.refusals,
        "ended_by": interface.ended or None,
        "absent": len(scored.absent),
        "claimed_of_absent": sum(result.is_claim for _, result in scored.absent),
    }
    finding = make_scored_finding(
        attack,
        interface,
        scored,
        claimed=claimed,
        baseline=baseline,
        certainty=_mean_certainty(found),
        queries=interface.questions,
        knowledge=(
            "What distinguishes the person from everyone else, such as the name, and the range or the "
            "values of one public column."
        ),
        remedy=REMEDY,
        details=details,
        example=_build_example(interface, scored.present, value),
    )
    way = f" ({', '.join(methods)})" if methods else ""
    success = (
        f"revealed exactly by {interface.questions:,} questions{way}, with "
        f"{interface.refusals:,} of them refused"
    )
    return replace(finding, verdict=word_outcome(finding, interface, what=value, success=success))


def _count_methods(found: Sequence[Revealed]) -> dict[str, int]:
    names = [result.plan.name for result in found if result.plan is not None]
    return {name: names.count(name) for name in sorted(set(names))}


def _mean_certainty(found: Sequence[Revealed]) -> float | None:
    """Return the chance that an average is nearest to the truth, by its own standard error."""
    errors = [result.error for result in found if result.is_claim and result.error]
    if not errors:
        return None
    return fmean(2 * NormalDist().cdf(0.5 / error) - 1 for error in errors)


def _build_example(
    interface: Interface, present: Sequence[tuple[TargetPerson, Revealed]], value: str
) -> tuple[str, ...]:
    for person, result in present:
        if result.plan is None or result.value is None:
            continue
        lines = result.plan.formula(interface, value)
        end = f"= {result.value:,.10g} ({result.plan.name}; the truth is {person.truth})"
        return (*lines, end)
    return ()
