"""A finding: who is exposed by an attack, how surely, what it took, and what would stop it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from discreet.attacks.intervals import wilson
from discreet.policy.attack_tolerance import tolerance_of_attack
from discreet.registry import ATTACKS
from discreet.result import Result


@dataclass(frozen=True)
class Finding(Result):
    """What one attack learned; its `to_dict()` holds aggregates only, and so may be shared.

    Attributes:
        attack: The attack's name, one of `registry.ATTACKS`.
        target: What was attacked, as the user names it.
        verdict: One sentence a custodian understands: who is exposed, and to what.
        targets: People (or values, groups, answers: `verdict` says) the adversary tried.
        claimed: Those about whom it claims something.
        correct: Claims that are right; None where the truth is not known.
        rate: The share of `targets` that is exposed.
        interval: The 95 % interval of `rate`.
        baseline: What guessing without the target would reach; None where there is no such guess.
        control: What the same attack reaches on people who are not in the target.
        advantage: How much of what could be learned was learned: (rate - reference) / (1 - reference),
            where reference is the larger of control and baseline; never below 0.
        certainty: How sure the adversary is of a claim, on average; None where it cannot say.
        queries: Questions it asked; 0 for a published table.
        knowledge: What it needed to know beforehand.
        remedy: What would stop it.
        details: Numbers of this attack, aggregates only.
        tolerance: The share that the policy tolerates; None when none was given.
        exceeds: Whether more than that was learned, and not by chance.
    """

    attack: str
    target: str
    verdict: str
    targets: int
    claimed: int
    correct: int | None
    rate: float
    interval: tuple[float, float]
    knowledge: str
    remedy: str
    baseline: float | None = None
    control: float | None = None
    advantage: float = 0.0
    certainty: float | None = None
    queries: int = 0
    details: Mapping[str, Any] = field(default_factory=dict[str, Any], hash=False)
    tolerance: float | None = None
    exceeds: bool = False
    # One record, step by step: for the custodian's screen, never in JSON or a report.
    _example: tuple[str, ...] = ()

    @property
    def title(self) -> str:
        """The attack, and the columns it learned: `inference of insurance`."""
        by_column = self.attack in ATTACKS and ATTACKS.get(self.attack).by_column
        learned = self.details.get("columns", ()) if by_column else ()
        return f"{self.attack} of {', '.join(learned)}" if learned else self.attack

    @property
    def example(self) -> tuple[str, ...]:
        """A worked example on one record, for the custodian only."""
        return self._example


def make_finding(  # noqa: PLR0913 -- the parts of a finding
    attack: str,
    *,
    target: str,
    verdict: str,
    targets: int,
    exposed: int,
    claimed: int | None = None,
    correct: int | None = None,
    knowledge: str,
    remedy: str,
    baseline: float | None = None,
    control: float | None = None,
    certainty: float | None = None,
    interval: tuple[float, float] | None = None,
    queries: int = 0,
    details: Mapping[str, Any] | None = None,
    example: Sequence[str] = (),
) -> Finding:
    """Return the finding that `exposed` of `targets` are exposed, with its rate and interval.

    >>> found = make_finding(
    ...     "linkage", target="t.csv", verdict="…", targets=10, exposed=9, knowledge="…",
    ...     remedy="…", baseline=0.1)
    >>> found.rate, round(found.advantage, 3)
    (0.9, 0.889)
    """
    if attack not in ATTACKS:
        raise ValueError(f"There is no attack '{attack}'.")
    rate = exposed / targets if targets else 0.0
    reference = max(baseline or 0.0, control or 0.0)
    advantage = max(0.0, (rate - reference) / (1 - reference)) if reference < 1 else 0.0
    return Finding(
        attack=attack,
        target=target,
        verdict=verdict,
        targets=targets,
        claimed=exposed if claimed is None else claimed,
        correct=correct,
        rate=rate,
        interval=wilson(exposed, targets) if interval is None else interval,
        knowledge=knowledge,
        remedy=remedy,
        baseline=baseline,
        control=control,
        advantage=advantage,
        certainty=certainty,
        queries=queries,
        details=details or {},
        _example=tuple(example),
    )


def judge(found: Finding, tolerance: Mapping[str, float]) -> Finding:
    """Return the finding held against a tolerance, a share of people by attack or by `default`.

    It exceeds when the advantage is larger, and the interval shows that it is more than chance: a
    guess that is right as often as without the target reveals nothing about the people in it.
    """
    allowed = tolerance_of_attack(tolerance, found.attack)
    if allowed is None:
        return found
    reference = max(found.baseline or 0.0, found.control or 0.0)
    is_real = found.interval[0] > reference
    return replace(found, tolerance=allowed, exceeds=found.advantage > allowed and is_real)


def worst_first(findings: Sequence[Finding]) -> tuple[Finding, ...]:
    """Return the findings by what they learned, those beyond tolerance first."""
    return tuple(sorted(findings, key=lambda f: (not f.exceeds, -f.advantage, -f.rate, f.attack)))
