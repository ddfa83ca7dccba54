"""Averaging: noise that is drawn anew is averaged away; noise that sticks to a text is reworded away."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from statistics import NormalDist, fmean, stdev
from typing import Literal

from sqlglot import exp

from discreet.attacks.finding import Finding
from discreet.attacks.questions.interface import Interface
from discreet.attacks.questions.outcomes import explain_failure, make_scored_finding, score_results
from discreet.attacks.questions.people import TargetPerson
from discreet.attacks.questions.plans import conjunction_of
from discreet.formatting import format_percent
from discreet.sql import build

Way = Literal["repeated", "reworded"]
_OPPOSITE: dict[type[exp.Expr], type[exp.Expr]] = {
    exp.GT: exp.LTE,
    exp.GTE: exp.LT,
    exp.LT: exp.GTE,
    exp.LTE: exp.GT,
    exp.EQ: exp.NEQ,
    exp.NEQ: exp.EQ,
}
_TURNED: dict[type[exp.Expr], type[exp.Expr]] = {
    exp.GT: exp.LT,
    exp.GTE: exp.LTE,
    exp.LT: exp.GT,
    exp.LTE: exp.GTE,
    exp.EQ: exp.EQ,
    exp.NEQ: exp.NEQ,
}


@dataclass(frozen=True)
class Averaged:
    """The mean of what was answered, and how far single answers were from each other."""

    mean: float | None
    deviation: float
    answers: int

    @property
    def certainty(self) -> float | None:
        """The chance that the mean distinguishes 0 from 1: Phi(sqrt(t) / (2 sd))."""
        if self.mean is None:
            return None
        return 1 - bit_error(self.answers, self.deviation)


def bit_error(answers: int, deviation: float) -> float:
    """Return the chance that the mean of noisy answers is nearer to the wrong one of 0 and 1.

    It is Phi(-sqrt(t) / (2 sd)); Laplace noise of scale b has the deviation sqrt(2) b.

    >>> [round(bit_error(t, 2**0.5 * b), 3) for b, t in ((1, 22), (5, 542), (10, 2165))]
    [0.049, 0.05, 0.05]
    """
    if deviation == 0:
        return 0.0
    return NormalDist().cdf(-(answers**0.5) / (2 * deviation))


def rewordings(condition: exp.Expr) -> Iterator[exp.Expr]:
    """Yield conditions that mean the same and read differently, without end.

    >>> from sqlglot import condition
    >>> [other.sql() for other in islice(rewordings(condition("x > 10")), 5)]
    ['x > 10', '10 < x', 'NOT x <= 10', 'x + 0 > 10', 'NOT NOT x > 10']
    """
    yield condition.copy()
    first = next(iter(condition.find_all(*_OPPOSITE)), None)
    if first is not None:
        yield from (_replace_part(condition, first, other) for other in _reword_comparison(first))
    yield exp.not_(exp.not_(condition.copy()))
    number = 1
    while True:
        # A condition that holds for everyone, which no rule distinguishes from one that does not.
        yield conjunction_of(exp.NEQ(this=_sum(number), expression=build.number(0)), condition)
        number += 1


def _sum(number: int) -> exp.Expr:
    return exp.Add(this=build.number(number), expression=build.number(1))


def _reword_comparison(comparison: exp.Expr) -> list[exp.Expr]:
    left, right = comparison.this, comparison.expression
    kind = type(comparison)
    found: list[exp.Expr] = [
        _TURNED[kind](this=right.copy(), expression=left.copy()),
        exp.Not(this=_OPPOSITE[kind](this=left.copy(), expression=right.copy())),
    ]
    if isinstance(right, exp.Literal) and isinstance(left, exp.Column):
        if right.is_string:
            longer: exp.Expr = exp.DPipe(this=left.copy(), expression=build.text(""))
        else:
            longer = exp.Add(this=left.copy(), expression=build.number(0))
        found.append(kind(this=longer, expression=right.copy()))
    return found


def _replace_part(condition: exp.Expr, old: exp.Expr, new: exp.Expr) -> exp.Expr:
    """Return the condition with one of its parts written in another way."""
    if condition is old:
        return new
    return condition.transform(lambda node: new if node == old else node)


def average_counts(
    interface: Interface, condition: exp.Expr, *, repeats: int, way: Way = "repeated"
) -> Averaged:
    """Return the mean of `repeats` counts of a condition, asked in the same or in other words."""
    counted = interface.aggregate(None)
    if way == "repeated":
        question = interface.question(counted, condition)
        replies = [interface.ask(question) for _ in range(repeats)]
    else:
        replies = [
            interface.ask(interface.question(counted, other))
            for other in islice(rewordings(condition), repeats)
        ]
    numbers = [reply.number for reply in replies if reply.number is not None]
    if not numbers:
        return Averaged(None, 0.0, 0)
    return Averaged(fmean(numbers), stdev(numbers) if len(numbers) > 1 else 0.0, len(numbers))


def average_out(
    interface: Interface,
    people: Sequence[TargetPerson],
    *,
    condition: exp.Expr,
    repeats: int,
    way: Way = "repeated",
    baseline: float | None = None,
) -> Finding:
    """Return for how many people averages reveal whether a condition holds; absent ones are a control.

    `truth` of the people is whether it does.
    """
    before, refused = interface.questions, interface.refusals
    found = [
        average_counts(interface, conjunction_of(person.where, condition), repeats=repeats, way=way)
        for person in people
    ]
    scored = score_results(people, found, _is_right)
    claimed = sum(result.mean is not None for _, result in scored.present)
    certainties = [result.certainty for result in found if result.certainty is not None]
    deviations = [result.deviation for result in found if result.answers > 1]
    is_sticky = way == "repeated" and bool(deviations) and not any(deviations)
    finding = make_scored_finding(
        "averaging",
        interface,
        scored,
        claimed=claimed,
        baseline=baseline,
        # Answers that never change say nothing about their noise.
        certainty=fmean(certainties) if certainties and not is_sticky else None,
        queries=interface.questions - before,
        knowledge="What distinguishes the person from everyone else, such as the name.",
        remedy=(
            "Charge each answer to a budget that ends (`discreet ask` does, and repeats the same answer "
            "for nothing). Noise that sticks to the text of a question stops the same words only."
        ),
        details={
            "way": way,
            "repeats": repeats,
            "deviation": fmean(deviations) if deviations else None,
            "answers": dict(Counter(str(result.answers) for result in found)),
            "predicted_error": (
                fmean(1 - sure for sure in certainties) if certainties and not is_sticky else None
            ),
            "error": 1 - scored.right / len(scored.present) if scored.present else None,
            "same_answer_each_time": is_sticky,
            "refusals": interface.refusals - refused,
            "ended_by": interface.ended or None,
        },
        example=_build_example(interface, scored.present),
    )
    return replace(finding, verdict=_word_verdict(finding, interface))


def _is_right(result: Averaged, person: TargetPerson) -> bool:
    return result.mean is not None and (result.mean > 0.5) == bool(person.truth)


def _word_verdict(found: Finding, interface: Interface) -> str:
    people, repeats = f"{found.targets:,} people", found.details["repeats"]
    if not found.claimed:
        return f"Means reveal nothing about {people}: {_why_refused(interface)}."
    if found.details["same_answer_each_time"]:
        return f"The same words get the same answer each time: {repeats:,} repeats reveal no more than one."
    words = "the same words" if found.details["way"] == "repeated" else "other words each time"
    sure = "" if found.certainty is None else f", and is {format_percent(found.certainty)} sure"
    return (
        f"The mean of {repeats:,} answers, asked in {words}, is right about {found.correct:,} of "
        f"{people}{sure}."
    )


def _why_refused(interface: Interface) -> str:
    """Return why there are no answers to average."""
    return explain_failure(interface) if interface.ended else "answers about one person are refused"


def _build_example(
    interface: Interface, present: Sequence[tuple[TargetPerson, Averaged]]
) -> tuple[str, ...]:
    for person, result in present:
        if result.mean is not None and interface.transcript:
            bit, truth = int(result.mean > 0.5), int(bool(person.truth))
            outcome = f"{result.answers:,} answers have the mean {result.mean:.3f}"
            return (
                f"{outcome}, deviation {result.deviation:.3f}: {bit} (the truth is {truth}).",
                f"The last question was {interface.transcript[-1].question}",
            )
    return ()
