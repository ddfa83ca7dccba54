"""How an attack by questions ended, in words: better than a guess, or why nothing came of it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from discreet.attacks.finding import Finding, make_finding

if TYPE_CHECKING:
    from discreet.attacks.questions.interface import Interface
    from discreet.attacks.questions.people import TargetPerson

Ended = TypeVar("Ended")
FEW = 5  # claims about fewer people may be right by chance


@dataclass(frozen=True)
class AttackScore(Generic[Ended]):
    """How an attack went with each person: those who are in the table, and the control group."""

    present: tuple[tuple[TargetPerson, Ended], ...]
    absent: tuple[tuple[TargetPerson, Ended], ...]
    right: int
    control: float | None


def score_results(
    people: Sequence[TargetPerson],
    results: Sequence[Ended],
    is_right: Callable[[Ended, TargetPerson], bool],
) -> AttackScore[Ended]:
    """Return how many results are right, of people who are there and, as a share, of the others."""
    pairs = list(zip(people, results, strict=True))
    present = tuple((person, result) for person, result in pairs if person.is_present)
    absent = tuple((person, result) for person, result in pairs if not person.is_present)
    hits = [is_right(result, person) for person, result in absent]
    return AttackScore(
        present,
        absent,
        right=sum(is_right(result, person) for person, result in present),
        control=sum(hits) / len(hits) if hits else None,
    )


def make_scored_finding(
    attack: str, interface: Interface, scored: AttackScore[Any], *, claimed: int, **rest: Any
) -> Finding:
    """Return the finding of an attack by questions, still without its verdict."""
    return make_finding(
        attack,
        target=interface.label,
        verdict="",
        targets=len(scored.present),
        exposed=scored.right,
        claimed=claimed,
        correct=scored.right,
        control=scored.control,
        **rest,
    )


def is_more_than_chance(found: Finding) -> bool:
    """Return whether more claims are right than a guess without the answers would make."""
    reference = max(found.baseline or 0.0, found.control or 0.0)
    is_many = found.interval[0] > reference or found.correct == found.targets
    return found.rate > 0 and (found.targets < FEW or is_many)


def explain_failure(interface: Interface) -> str:
    """Return why an attack came to nothing."""
    if interface.ended == "questions":
        return "the adversary may ask no more questions"
    if interface.ended:
        return "the budget of the interface is spent"
    return "no answer changes by one person"


def word_outcome(found: Finding, interface: Interface, *, what: str, success: str) -> str:
    """Return a verdict: `success` if claims are right, else how they fail or why there are none."""
    right, targets = found.correct or 0, found.targets
    if is_more_than_chance(found):
        whom = "the person" if targets == 1 else f"{right:,} of {targets:,} people"
        return f"'{what}' of {whom} is {success}."
    if found.claimed:
        return (
            f"The adversary claims '{what}' of {found.claimed:,} of {targets:,} people and is right "
            f"about {right:,}, no more than by guessing: answers are too far from the truth."
        )
    return f"'{what}' of none of {targets:,} people is learned: {explain_failure(interface)}."
