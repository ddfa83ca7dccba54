"""The audit: many runs on neighboring inputs, looked at in every way, held against the claim."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

import numpy as np

from discreet.attacks.audit.bound import LEAST_RUNS, epsilon_lower_bound
from discreet.attacks.audit.mechanism import Mechanism, run_mechanism
from discreet.attacks.audit.neighbors import NeighborPair
from discreet.attacks.audit.outputs import Outputs, Runs, read_runs
from discreet.attacks.audit.views import VIEWS, views_of
from discreet.attacks.finding import Finding, make_finding
from discreet.attacks.intervals import clopper_pearson
from discreet.errors import WrongUsage

RUNS = 20_000
SCREENING = 500
KEPT = 3  # pairs that are looked at in full, of all that were screened
SEEDED = "seeded noise"
KNOWLEDGE = (
    "both inputs, and what came out: the guarantee is for an adversary who knows all but one."
)
REMEDY = (
    "Exact noise on whole numbers for the true sensitivity, from a source without a seed, and errors "
    "that do not depend on data: `discreet.dp.mechanisms`, or `discreet ask`."
)


@dataclass(frozen=True)
class Claim:
    """What a mechanism promises, and how sure a refutation is to be."""

    epsilon: float
    delta: float = 0.0
    confidence: float = 0.95

    def __post_init__(self) -> None:
        if not (self.epsilon >= 0 and 0 <= self.delta < 1 and 0 < self.confidence < 1):
            raise WrongUsage(
                "A claim is an epsilon of 0 or more, a delta below 1, and a confidence below 1."
            )


@dataclass(frozen=True)
class Evidence:
    """What one pair of inputs showed: an epsilon that is certainly exceeded, by view."""

    words: str
    runs: int
    bounds: Mapping[str, float] = field(default_factory=dict[str, float], hash=False)

    @property
    def worst(self) -> tuple[str, float]:
        """The view that shows the most, and what it shows."""
        return max(self.bounds.items(), key=lambda item: item[1])


def examine(
    first: Outputs,
    second: Outputs,
    *,
    claim: Claim,
    words: str = "the two inputs",
    inputs: tuple[float, float] | None = None,
    scale: float | None = None,
    share: float = 1.0,
) -> Evidence:
    """Return what the outputs of two neighboring inputs prove about epsilon.

    Every view is wrong with its part of 1 - confidence, so that all of them together keep it.

    Args:
        first: Outputs on one input.
        second: Outputs on its neighbor.
        claim: What is promised.
        words: The pair of inputs in words.
        inputs: The two numbers that noise was added to, where there are such.
        scale: The scale of Laplace noise, where it is known.
        share: The part of 1 - confidence that this pair may use.
    """
    runs = read_runs(first, second)
    seen = list(views_of(runs, inputs=inputs, scale=scale))
    alpha = (1 - claim.confidence) * share / (len(seen) + 1)
    bounds: dict[str, float] = {}
    for name, one, other in seen:
        found = epsilon_lower_bound(one, other, delta=claim.delta, alpha=alpha)
        bounds[name] = max(found, bounds.get(name, 0.0))
    bounds[SEEDED] = math.inf if is_noise_shared(runs, alpha=alpha) else 0.0
    return Evidence(words, runs.count, bounds)


def audit_outputs(
    first: Outputs,
    second: Outputs,
    *,
    claim: Claim,
    target: str = "mechanism",
) -> Finding:
    """Return whether outputs of a black box on two neighboring inputs refute its claim.

    >>> import numpy as np
    >>> chance = np.random.default_rng(1)
    >>> runs = [chance.geometric(0.9, 4000) + value for value in (0, 1)]
    >>> audit_outputs(*runs, claim=Claim(1)).details["refuted"]
    True
    """
    return report_evidence([examine(first, second, claim=claim)], claim=claim, target=target)


def audit_mechanism(
    mechanism: Mechanism,
    pairs: Iterable[NeighborPair],
    *,
    claim: Claim,
    target: str = "mechanism",
    runs: int = RUNS,
    scale: float | None = None,
) -> Finding:
    """Return whether a mechanism can be caught on some pair of neighboring inputs.

    Each pair is screened by few runs; the most promising are run anew, many times, so that the
    search cannot flatter. An error of the mechanism is an output.

    Args:
        mechanism: Any callable from a table or a number to an output.
        pairs: Neighboring inputs, such as those of `neighbors`.
        claim: What it promises.
        target: Its name in the finding.
        runs: Runs on each input of a pair that is looked at in full.
        scale: The scale of Laplace noise, where it is known and inputs are numbers.
    """
    chosen = _select_promising_pairs(mechanism, pairs, claim, min(runs, SCREENING), scale)
    if not chosen:
        raise WrongUsage("There is no pair of neighboring inputs to run the mechanism on.")
    found = [
        examine(
            run_mechanism(mechanism, pair.first, runs=runs),
            run_mechanism(mechanism, pair.second, runs=runs),
            claim=claim,
            words=pair.words,
            inputs=_numeric_inputs(pair),
            scale=scale,
            share=1 / len(chosen),
        )
        for pair in chosen
    ]
    return report_evidence(found, claim=claim, target=target)


def report_evidence(found: Sequence[Evidence], *, claim: Claim, target: str) -> Finding:
    """Return evidence as a finding: refuted only if a lower bound exceeds the claim."""
    worst = max(found, key=lambda evidence: evidence.worst[1])
    view, bound = worst.worst
    tests = [value for evidence in found for value in evidence.bounds.values()]
    failed = sum(value > claim.epsilon for value in tests)
    runs = sum(evidence.runs for evidence in found)
    details = {
        "claimed_epsilon": claim.epsilon,
        "delta": claim.delta,
        "confidence": claim.confidence,
        "lower_bound": bound,
        "refuted": failed > 0,
        "runs": runs,
        "inputs": worst.words,
        "tests": {view: _highest_bound(found, view) for view in dict.fromkeys(_list_views(found))},
    }
    return make_finding(
        "audit",
        target=target,
        verdict=_word_verdict(claim, view, bound, worst.words, runs),
        targets=len(tests),
        exposed=failed,
        knowledge=KNOWLEDGE,
        remedy=REMEDY if failed else "Nothing was found to stop.",
        interval=(failed / len(tests), failed / len(tests)),
        queries=runs,
        details=details,
    )


def with_sessions(
    found: Finding, sessions: Sequence[Sequence[str] | None], *, claim: Claim
) -> Finding:
    """Return the finding with what new sessions of the mechanism on one input showed.

    Outputs that are the same in every session are known to anyone who starts one; they refute any claim.
    """
    outputs_seen = [session for session in sessions if session]
    is_alike = len(outputs_seen) > 1 and are_sessions_alike(
        outputs_seen, alpha=1 - claim.confidence
    )
    if not is_alike:
        return found
    worst = Evidence("a run in a new process", sum(map(len, outputs_seen)), {SEEDED: math.inf})
    earlier = Evidence(found.details["inputs"], found.details["runs"], found.details["tests"])
    return report_evidence([earlier, worst], claim=claim, target=found.target)


def _select_promising_pairs(
    mechanism: Mechanism,
    pairs: Iterable[NeighborPair],
    claim: Claim,
    runs: int,
    scale: float | None,
) -> list[NeighborPair]:
    """Return the pairs whose few runs differ most; no claim is made from those runs."""
    every = list(pairs)
    if len(every) <= KEPT:
        return every
    loose = Claim(claim.epsilon, claim.delta, confidence=0.5)
    scored: list[tuple[float, int, NeighborPair]] = []
    for place, pair in enumerate(every):
        outputs = [
            run_mechanism(mechanism, given, runs=runs) for given in (pair.first, pair.second)
        ]
        seen = examine(*outputs, claim=loose, inputs=_numeric_inputs(pair), scale=scale)
        scored.append((-seen.worst[1], place, pair))
    return [pair for *_, pair in sorted(scored, key=lambda item: item[:2])[:KEPT]]


def _numeric_inputs(pair: NeighborPair) -> tuple[float, float] | None:
    both = pair.first, pair.second
    return both if all(isinstance(one, (int, float)) for one in both) else None


def _list_views(found: Sequence[Evidence]) -> list[str]:
    return [view for evidence in found for view in evidence.bounds]


def _highest_bound(found: Sequence[Evidence], view: str) -> float:
    return max(evidence.bounds.get(view, 0.0) for evidence in found)


def _word_verdict(claim: Claim, view: str, bound: float, words: str, runs: int) -> str:
    sure = f"{claim.confidence:.4g}"
    shown = "∞" if math.isinf(bound) else f"{bound:.3g}"
    if bound > claim.epsilon:
        why = "noise that repeats itself" if view == SEEDED else VIEWS[view]
        return (
            f"Refuted: epsilon is at least {shown} and not {claim.epsilon:g}, with confidence {sure}. "
            f"What gives {words} away is {why}."
        )
    return (
        f"Not refuted: {runs:,} outputs show an epsilon of at least {shown}, of {claim.epsilon:g} "
        "claimed. That says nothing about inputs that were not tried."
    )


def is_noise_shared(runs: Runs, *, alpha: float) -> bool:
    """Return whether runs of the two inputs had the same noise, run by run.

    Independent outputs differ by one number no more often than their commonest value occurs; what
    is seen oftener has a chance of at most `alpha` to be an accident.
    """
    if not runs.is_numeric or runs.is_vector:
        return False
    pairs = min(runs.first.size, runs.second.size)
    first, second = (part[:pairs].astype(np.float64) for part in (runs.first, runs.second))
    is_whole = np.isfinite(first) & np.isfinite(second)
    first, second = first[is_whole], second[is_whole]
    pairs = first.size
    if pairs < LEAST_RUNS:
        return False
    if np.unique(first).size == 1 and np.unique(second).size == 1:
        return False  # no noise at all, which the values themselves show
    # Sums that were rounded differ by a last digit or two.
    width = max(float(np.abs(first).max()), float(np.abs(second).max()), 1.0) * 2.0**-40
    gaps = np.unique(np.rint((second - first) / width), return_counts=True)[1]
    alike = np.unique(np.rint(first / width), return_counts=True)[1]
    _, likely = clopper_pearson(int(alike.max()), pairs, confidence=1 - alpha)
    return _is_beyond_chance(int(gaps.max()), pairs, likely, alpha)


def are_sessions_alike(sessions: Sequence[Sequence[str]], *, alpha: float) -> bool:
    """Return whether sessions that were started apart gave the same outputs in the same order.

    How often an output is the one before it says how likely that is by accident: a coin that nearly
    always shows heads is no seed.

    >>> are_sessions_alike([["3", "1", "4", "1", "5", "9", "2"]] * 2, alpha=0.05)
    True
    >>> are_sessions_alike([["1", "1", "1", "0", "1", "1", "1"]] * 2, alpha=0.05)
    False
    """
    if len(set(map(tuple, sessions))) > 1:
        return False
    outputs = sessions[0]
    same = sum(one == other for one, other in pairwise(outputs))
    _, likely = clopper_pearson(same, max(len(outputs) - 1, 1), confidence=1 - alpha)
    draws = len(outputs) * (len(sessions) - 1)
    return draws * math.log(likely) < math.log(alpha)


def _is_beyond_chance(hits: int, trials: int, chance: float, alpha: float) -> bool:
    from scipy.stats import binom

    return float(binom.sf(hits - 1, trials, min(1.0, chance))) < alpha
