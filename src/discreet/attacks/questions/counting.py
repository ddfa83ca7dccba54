"""COUNT inference: one person's value by halving what it may be, with counts of crowds only."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from math import gcd
from statistics import fmean
from typing import Any

from sqlglot import exp

from discreet.attacks.finding import Finding
from discreet.attacks.questions.crowds import find_crowds
from discreet.attacks.questions.domains import ColumnDomain
from discreet.attacks.questions.interface import Interface
from discreet.attacks.questions.outcomes import make_scored_finding, score_results, word_outcome
from discreet.attacks.questions.people import TargetPerson
from discreet.attacks.questions.plans import conjunction_of, disjunction_of, negation_of

CROWDS = 12  # conditions tried, of which each second one is the rest of the one before
ENOUGH = 4  # counts that are all multiples of a step are rounded, but for a chance of 1 in 16
FINE = 500  # values of a column, so that one value more is few people more
EDGES = 12  # crowds at the edge of a step that are tried, where counts are rounded


@dataclass(frozen=True)
class DistinguishingCrowd:
    """A crowd whose count reveals whether a condition holds for one person who is not in it.

    The count of the crowd is `base`; of the crowd or the person it is `base + gap`. Without a crowd
    the person is asked about directly.
    """

    crowd: exp.Expr | None
    base: float
    gap: float

    def holds(self, interface: Interface, condition: exp.Expr, *, repeats: int = 1) -> bool | None:
        """Return whether a condition of the person holds, or None when refused."""
        where = condition if self.crowd is None else disjunction_of(condition, self.crowd)
        if repeats == 1:
            count = interface.count(where)
        else:
            question = interface.question(interface.aggregate(None), where)
            replies = [interface.ask(question).number for _ in range(repeats)]
            answered = [reply for reply in replies if reply is not None]
            count = fmean(answered) if answered else None
        return None if count is None else count - self.base > self.gap / 2


@dataclass(frozen=True)
class Inferred:
    """What was found out: the place of the value in its domain, if it was confirmed."""

    crowd: DistinguishingCrowd | None = None
    place: int | None = None
    is_present: bool | None = None
    questions: int = 0


def infer_value(
    interface: Interface,
    person: exp.Expr,
    domain: ColumnDomain,
    *,
    domains: Sequence[ColumnDomain] = (),
    smallest: int | None = None,
    repeats: int = 1,
) -> Inferred:
    """Return where in `domain` the person's value is, by counts only: about log2 of its size.

    Where counts of one person are refused, the person is asked about together with a crowd on
    `domains` that does not contain them; where counts are rounded, with one at the edge of a step.

    >>> import pyarrow
    >>> from sqlglot import condition
    >>> from discreet.attacks.questions.domains import make_range
    >>> from discreet.attacks.questions.laboratory import LaboratoryRules, laboratory
    >>> from discreet.engines.connect import open_table
    >>> rows = {"age": list(range(20, 60)), "zip": list(range(64_100, 64_140))}
    >>> interface = laboratory(open_table(pyarrow.table(rows)), LaboratoryRules(smallest=10))
    >>> found = infer_value(interface, condition("age = 33"), make_range("zip", 0, 99_999),
    ...               domains=[make_range("age", 18, 67)])
    >>> found.place, interface.questions
    (64113, 22)
    """
    before = interface.questions
    sight = find_distinguishing_crowd(interface, person, domains=domains, smallest=smallest)
    if sight is None:
        is_gone = None if interface.ended else False
        return Inferred(is_present=is_gone, questions=interface.questions - before)
    place = _bisect_domain(interface, person, domain, sight, repeats)
    return Inferred(sight, place, True, interface.questions - before)


def find_distinguishing_crowd(
    interface: Interface,
    person: exp.Expr,
    *,
    domains: Sequence[ColumnDomain] = (),
    smallest: int | None = None,
) -> DistinguishingCrowd | None:
    """Return how to see one person, or None when they are seen nowhere."""
    if smallest is None or smallest <= 1:
        count = interface.count(person)
        if count is not None and count >= 0.5:
            return DistinguishingCrowd(None, 0.0, count)
    step = 0
    for tried, (crowd, base) in enumerate(
        islice(_iterate_crowds(interface, domains), CROWDS), start=1
    ):
        sight = _try_crowd(interface, person, crowd, base)
        step = _rounding_step(interface, step, base)
        if sight is not None or (step == 1 and crowd.key == "not"):
            return sight  # the person is neither in a crowd nor in its rest: not in the table
        if step > 1 and tried >= ENOUGH:
            break
    for crowd, base in islice(_iterate_rounding_edges(interface, domains), EDGES):
        sight = _try_crowd(interface, person, crowd, base)
        if sight is not None:
            return sight
    return None


def _try_crowd(
    interface: Interface, person: exp.Expr, crowd: exp.Expr, base: float
) -> DistinguishingCrowd | None:
    count = interface.count(disjunction_of(person, crowd))
    return (
        None
        if count is None or count - base < 0.5
        else DistinguishingCrowd(crowd, base, count - base)
    )


def _iterate_crowds(
    interface: Interface, domains: Sequence[ColumnDomain]
) -> Iterator[tuple[exp.Expr, float]]:
    """Yield crowds with their counts, each followed by all others."""
    for crowd in find_crowds(interface, domains):
        yield crowd.where, crowd.size
        others = negation_of(crowd.where)
        size = interface.count(others)
        if size is not None:
            yield others, size


def _rounding_step(interface: Interface, step: int, base: float) -> int:
    """Return what all counts are multiples of: 1 where they look exact or noisy."""
    counts = [base, interface.count() or base]
    is_whole = all(count == int(count) for count in counts)
    return gcd(step, *map(int, counts)) if is_whole else 1


def _iterate_rounding_edges(
    interface: Interface, domains: Sequence[ColumnDomain]
) -> Iterator[tuple[exp.Expr, float]]:
    """Yield crowds whose rounded count is about to change, so that one person more changes it.

    Between two thresholds with different counts there is one where the count changes; it is found by
    halving. The first crowds are those below a threshold, the second those from it on.
    """
    fine = [domain for domain in domains if domain.size >= FINE]
    for crowd in find_crowds(interface, fine):
        domain, low = crowd.domain, crowd.place
        for is_rest in (False, True):
            edge = _find_rounding_edge(interface, domain, low, is_rest=is_rest)
            if edge is not None:
                yield edge


def _find_rounding_edge(
    interface: Interface, domain: ColumnDomain, low: int, *, is_rest: bool
) -> tuple[exp.Expr, float] | None:
    def where(place: int) -> exp.Expr:
        return negation_of(domain.between(0, place)) if is_rest else domain.between(0, place)

    first, width = interface.count(where(low)), 1
    while low + width < domain.size and interface.count(where(low + width)) == first:
        width *= 2
    high = min(low + width, domain.size - 1)
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if interface.count(where(middle)) == first else (low, middle)
    chosen = where(high if is_rest else low)
    base = interface.count(chosen)
    return None if base is None else (chosen, base)


def _bisect_domain(
    interface: Interface,
    person: exp.Expr,
    domain: ColumnDomain,
    sight: DistinguishingCrowd,
    repeats: int,
) -> int | None:
    low, high = 0, domain.size
    confirmed = (low, low)
    while high - low > 1:
        middle = (low + high) // 2
        condition = conjunction_of(person, domain.between(low, middle))
        is_below = sight.holds(interface, condition, repeats=repeats)
        if is_below is None:
            return None
        low, high = (low, middle) if is_below else (middle, high)
        confirmed = (low, high) if is_below else confirmed
    if confirmed == (low, high):
        return low
    # A person whose value is missing would be found at the end of the list.
    last = conjunction_of(person, domain.between(low, high))
    return low if sight.holds(interface, last, repeats=repeats) else None


def infer_by_counting(
    interface: Interface,
    people: Sequence[TargetPerson],
    *,
    domain: ColumnDomain,
    domains: Sequence[ColumnDomain] = (),
    smallest: int | None = None,
    repeats: int = 1,
    baseline: float | None = None,
) -> Finding:
    """Return whose value is found out by counting, with those who are absent as a control."""
    found = [
        infer_value(
            interface,
            person.where,
            domain,
            domains=domains,
            smallest=smallest,
            repeats=repeats,
        )
        for person in people
    ]
    scored = score_results(
        people, found, lambda result, person: is_inferred_right(result, person.truth, domain)
    )
    claimed = sum(result.place is not None for _, result in scored.present)
    finding = make_scored_finding(
        "counting",
        interface,
        scored,
        claimed=claimed,
        baseline=baseline,
        queries=interface.questions,
        knowledge=(
            "What distinguishes the person from everyone else, such as the name, and which values "
            f"'{domain.column}' may have."
        ),
        remedy=(
            "Answer counts with noise out of a budget that ends (`discreet ask`). A limit on the size "
            "of groups does not help: the person is counted together with a crowd."
        ),
        details={
            "values": domain.size,
            "one_question_per_value": domain.size,
            "questions_per_person": interface.questions / len(people) if people else 0.0,
            "refusals": interface.refusals,
            "ended_by": interface.ended or None,
            "absent": len(scored.absent),
            "claimed_of_absent": sum(result.place is not None for _, result in scored.absent),
        },
        example=_build_example(interface, scored.present, domain),
    )
    success = f"found out by {interface.questions:,} counts"
    if domain.size * len(people) > interface.questions:
        success += f", where one per value would be up to {domain.size * len(people):,}"
    return replace(
        finding, verdict=word_outcome(finding, interface, what=domain.column, success=success)
    )


def is_inferred_right(result: Inferred, truth: Any, domain: ColumnDomain) -> bool:
    """Return whether the place that was found is the true value's."""
    if result.place is None or truth is None:
        return False
    value = domain.value(result.place)
    step = getattr(domain, "step", 0)
    if step and step != 1:  # a range of reals is cut into parts, one of which is found
        return 0 <= float(truth) - float(value) < float(step)
    day = getattr(truth, "date", None)
    return value == (day() if callable(day) and hasattr(value, "isoformat") else truth)


def _build_example(
    interface: Interface, present: Sequence[tuple[TargetPerson, Inferred]], domain: ColumnDomain
) -> tuple[str, ...]:
    for person, result in present:
        if result.place is None or result.crowd is None:
            continue
        crowd = result.crowd.crowd
        condition = conjunction_of(person.where, domain.between(result.place, result.place + 1))
        where = condition if crowd is None else disjunction_of(condition, crowd)
        question = interface.text(interface.question(interface.aggregate(None), where))
        lines = [f"Without the person the count is {result.crowd.base:,.10g}."]
        lines.append(f"{result.questions} counts halve {domain.size:,} values; the last one is")
        lines.append(f"  {question}")
        lines.append(f"= {domain.value(result.place)} (the truth is {person.truth})")
        return tuple(lines)
    return ()
