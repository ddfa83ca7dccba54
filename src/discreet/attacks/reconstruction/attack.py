"""The attack itself: ask for counts of many groups, solve for each person's bit, and say how it went."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sqlglot import exp

from discreet.attacks.finding import Finding, make_finding
from discreet.attacks.intervals import wilson
from discreet.attacks.questions.interface import Interface
from discreet.attacks.reconstruction.belief import NoiseBelief, fit_bits, guess_bits
from discreet.attacks.reconstruction.equations import center_equations
from discreet.attacks.reconstruction.exhaustive import (
    consistent_tables,
    most_central,
    wrong_at_most,
)
from discreet.attacks.reconstruction.limit import expected_accuracy, stopping_noise
from discreet.attacks.reconstruction.questions import (
    GroupQuestions,
    Roster,
    Subsets,
    choose_questions,
)
from discreet.errors import WrongUsage
from discreet.formatting import format_percent
from discreet.sql import build

Step = Callable[[str, int, int], None]

PER_PERSON = 4  # questions, where the caller gives no number
# Shares of people in a group, tried in turn with so many questions, where answers are coarse.
SHARES, PILOT = (0.5, 0.375, 0.625, 0.25, 0.75, 0.125, 0.875), 8
KNOWLEDGE = (
    "who is in the table, by public columns such as a name or a number; it needs no one's secret."
)
REMEDY = (
    "Noise that grows with the number of answers: differential privacy with one budget for all of "
    "them. Rounding, small fixed noise and minimum sizes do not stop it."
)
STOPPED = (
    "It is stopped already. More answers of the same noise would undo that: let one budget cover all "
    "of them."
)


@dataclass(frozen=True)
class AnsweredGroups:
    """Groups that were answered, what was answered, and how many were asked for."""

    groups: NDArray[np.bool_]
    answers: NDArray[np.float64]
    asked: int = 0
    example: str = ""


@dataclass(frozen=True)
class Recovered:
    """The guess about each person of the roster, and how it came about."""

    bits: NDArray[np.bool_]
    method: str
    details: Mapping[str, Any]
    certainty: float | None = None


def ask_groups(
    interface: Interface,
    questions: GroupQuestions,
    *,
    value: exp.Expr,
    at_once: int = 1,
    step: Step | None = None,
) -> AnsweredGroups:
    """Return how many of each group have `value`, as far as the interface answers.

    A question may hold several counts at once, where the interface looks at none of them alone.
    """
    answers: list[float] = []
    answered: list[int] = []
    places = range(0)
    for start in range(0, questions.count, at_once):
        places = range(start, min(start + at_once, questions.count))
        counts = _ask_counts(interface, questions, places, value)
        if counts is not None:
            answers += counts
            answered += places
        if interface.ended:
            break
        if step is not None:
            step("questions", places.stop, questions.count)
    example = (
        _question_text(interface, questions, value, answered[0], answers[0]) if answered else ""
    )
    counts = np.array(answers, np.float64)
    return AnsweredGroups(questions.groups[answered], counts, places.stop, example)


def _ask_counts(
    interface: Interface, questions: GroupQuestions, places: range, value: exp.Expr
) -> list[float] | None:
    """Return the counts of some groups, or None when refused."""
    if len(places) == 1:
        where = build.all_of([value.copy(), questions.condition(places[0])])
        counts = interface.ask(interface.question(build.count_star(), where)).number
        return None if counts is None else [counts]
    counts = [
        build.alias_as(
            exp.Filter(
                this=build.count_star(), expression=exp.Where(this=questions.condition(place))
            ),
            f"c{place}",
        )
        for place in places
    ]
    query = build.select(*counts, source=interface.source.copy()).where(value.copy())
    rows = interface.ask(query).rows
    return None if not rows else [float(count or 0) for count in rows[0]]


def recover_bits(answered_groups: AnsweredGroups, belief: NoiseBelief) -> Recovered:
    """Return the likeliest bits by the estimator that fits the noise.

    >>> groups = np.random.default_rng(1).random((40, 10)) < 0.5
    >>> bits = np.arange(10) % 3 == 0
    >>> bool((recover_bits(AnsweredGroups(groups, groups @ bits.astype(float)), NoiseBelief()).bits == bits).all())
    True
    """
    system = center_equations(answered_groups.groups)
    found = fit_bits(system, answered_groups.answers, belief)
    people, questions = system.people, system.questions
    is_bounded = bool(np.isfinite(found.spread))
    noise = found.spread / 2 * float(np.sqrt(questions - people - 1)) if is_bounded else None
    details = {
        "method": found.method,
        "noise": noise,
        "noise_that_stops_it": stopping_noise(people=people, questions=questions),
    }
    # Answers that are all the same reveal nothing, and fit perfectly.
    if noise is None or np.ptp(answered_groups.answers) == 0:
        return Recovered(guess_bits(found), found.method, details)
    expected = expected_accuracy(people=people, questions=questions, noise=noise)
    return Recovered(guess_bits(found), found.method, {**details, "expected": expected}, expected)


def recover_exhaustively(answered_groups: AnsweredGroups, *, error: float) -> Recovered:
    """Return the most central of all tables that are within `error` of every answer.

    Raises:
        WrongUsage: No table is: answers err by more than that.
    """
    tables = consistent_tables(answered_groups.groups, answered_groups.answers, error=error)
    if not len(tables):
        raise WrongUsage(
            f"No table is within {error:g} of all answers: they err by more. Assume a larger error, "
            "such as --assume uniform:5."
        )
    people = answered_groups.groups.shape[1]
    details = {
        "method": "exhaustive",
        "survivors": len(tables),
        "error": error,
        "wrong_at_most": min(float(people), wrong_at_most(error)),
    }
    same = int((tables == tables[0]).all(axis=0).sum())
    return Recovered(most_central(tables), "exhaustive", details, same / people)


def reconstruct_bits(  # noqa: PLR0913 -- whom, what, how, and what is true
    interface: Interface,
    roster: Roster,
    *,
    value: exp.Expr,
    truth: NDArray[np.bool_] | None = None,
    questions: int | None = None,
    subsets: Subsets = "hash",
    belief: NoiseBelief | None = None,
    absent: Roster | None = None,
    at_once: int = 1,
    chance: np.random.Generator,
    step: Step | None = None,
) -> Finding:
    """Return how many people's bit the answers to counts of many groups reveal.

    Args:
        interface: What is asked.
        roster: All people the adversary knows to be in the table.
        value: The condition whose truth is secret.
        truth: Whether it holds for each of the roster, where that is known.
        questions: How many groups to ask for. Default: 4 per person.
        subsets: How questions name groups; with `all`, every group is asked for and every table
            tried, which is for few people.
        belief: What is known about the noise.
        absent: People the adversary wrongly believes to be in the table.
        at_once: How many counts one question holds.
        chance: Where groups come from.
        step: Called with the progress.

    Raises:
        WrongUsage: Nothing was answered, or too little is known for `all`.
    """
    everyone = roster if absent is None else roster.with_others(absent)
    count = questions or PER_PERSON * everyone.people
    how: dict[str, Any] = {"value": value, "at_once": at_once}
    share, piloted = 0.5, 0
    if belief is not None and belief.error and subsets != "all":
        share, piloted = _choose_share(interface, everyone, subsets=subsets, chance=chance, **how)
    asked = choose_questions(everyone, count=count, subsets=subsets, chance=chance, share=share)
    answered_groups = ask_groups(interface, asked, step=step, **how)
    if not answered_groups.answers.size:
        raise WrongUsage(
            f"{interface.label} answered none of {answered_groups.asked} questions: there is nothing to solve. Ask "
            "for other groups with --subsets, or for fewer with --questions."
        )
    known = belief or NoiseBelief()
    if subsets == "all" and known.error is None:
        raise WrongUsage("To try every table, say how far answers can be off: --assume uniform:5.")
    if subsets == "all":
        found = recover_exhaustively(answered_groups, error=known.error or 0.0)
    else:
        found = recover_bits(answered_groups, known)
    answered_groups = replace(answered_groups, asked=answered_groups.asked + piloted)
    return _build_finding(
        interface.label, roster, found, answered_groups, truth=truth, piloted=piloted
    )


def _choose_share(
    interface: Interface,
    roster: Roster,
    *,
    value: exp.Expr,
    subsets: Subsets,
    at_once: int,
    chance: np.random.Generator,
) -> tuple[float, int]:
    """Return what share of the people groups are to have, and how many questions that took.

    Where all counts of halves are rounded to one number, groups of another size are near the middle
    between two numbers: the people in them then decide the answer.
    """
    asked, best = 0, (0.0, 0.5)
    for share in SHARES:
        pilot = choose_questions(roster, count=PILOT, subsets=subsets, chance=chance, share=share)
        answered_groups = ask_groups(interface, pilot, value=value, at_once=at_once)
        asked += answered_groups.asked
        if np.unique(answered_groups.answers).size > 2:
            return share, asked
        if answered_groups.answers.size and float(np.var(answered_groups.answers)) > best[0]:
            best = float(np.var(answered_groups.answers)), share
    return best[1], asked


def _build_finding(
    target: str,
    roster: Roster,
    found: Recovered,
    answered_groups: AnsweredGroups,
    *,
    truth: NDArray[np.bool_] | None,
    piloted: int,
) -> Finding:
    people = roster.people
    bits, others = found.bits[:people], found.bits[people:]
    answered = answered_groups.answers.size
    details = {
        **found.details,
        "answered": answered,
        "refused": answered_groups.asked - piloted - answered,
    }
    if others.size:
        details |= {"absent": others.size, "absent_claimed": int(others.sum())}
    baseline = right = None
    if truth is not None:
        right = int((bits == truth).sum())
        baseline = max(float(truth.mean()), 1 - float(truth.mean()))
    exposed = people if right is None else right
    if right is None and found.certainty is not None:
        exposed = round(people * found.certainty)
    # One table that fits all answers is a proof, however few people it is about.
    is_proof = found.details.get("survivors") == 1
    is_stopped = not is_proof and baseline is not None and _is_chance(people, exposed, baseline)
    return make_finding(
        "reconstruction",
        target=target,
        verdict=_word_verdict(people, exposed, answered, is_stopped=is_stopped),
        targets=people,
        exposed=exposed,
        claimed=people,
        correct=right,
        knowledge=KNOWLEDGE,
        remedy=STOPPED if is_stopped else REMEDY,
        baseline=baseline,
        certainty=found.certainty,
        interval=(exposed / people, exposed / people) if is_proof else None,
        queries=answered_groups.asked,
        details=details,
        example=_build_example(answered_groups, roster, bits, truth),
    )


def _is_chance(people: int, right: int, baseline: float) -> bool:
    """Whether guessing the commoner bit could have been as right, as far as the numbers show."""
    return wilson(right, people)[0] <= baseline


def _word_verdict(people: int, exposed: int, answered: int, *, is_stopped: bool) -> str:
    share = format_percent(exposed / people)
    if is_stopped:
        return (
            f"From {answered:,} counts of groups an outsider guesses {share} of {people:,} people's "
            "secrets, no more than by always guessing the commoner value."
        )
    return (
        f"From {answered:,} counts of groups an outsider works out the secrets of {share} of "
        f"{people:,} people, though no single count is about one person."
    )


def _build_example(
    answered_groups: AnsweredGroups,
    roster: Roster,
    bits: NDArray[np.bool_],
    truth: NDArray[np.bool_] | None,
) -> tuple[str, ...]:
    """Return one question and what was worked out about one person with the secret."""
    hits = np.flatnonzero(bits) if truth is None else np.flatnonzero(bits & truth)
    lines = [
        answered_groups.example,
        f"… and {answered_groups.answers.size - 1:,} more, solved for all people at once.",
    ]
    if hits.size:
        person = roster.keys[int(hits[0])]
        lines.append(f"Among those who have it: {', '.join(roster.columns)} {person}.")
    return tuple(lines)


def _question_text(
    interface: Interface, questions: GroupQuestions, value: exp.Expr, place: int, answer: float
) -> str:
    where = build.all_of([value.copy(), questions.condition(place)])
    text = interface.text(interface.question(build.count_star(), where))
    shown = text if len(text) <= 300 else f"{text[:300]} …"
    return f"{shown} → {answer:g}"
