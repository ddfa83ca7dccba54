"""How many people are unique in the population, estimated from a sample of it.

Three estimators and the rule that picks among them. Each gets only how many classes of which size
the sample has and which fraction of the population it is; an estimator without an answer says why
instead of returning a number that looks safe.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import brentq
from scipy.special import betaln, digamma, gammaln

from discreet.errors import WrongUsage
from discreet.measure.risk.sample import checked_histogram
from discreet.result import Result

Integers = NDArray[np.int64]
Reals = NDArray[np.float64]

SMALL_FRACTION = 0.1  # up to here Dankar et al. (2012) found Pitman's estimate the most accurate
LARGEST_EXACT = 1_000_000  # class size up to which hypergeometric products are multiplied out


@dataclass(frozen=True)
class UniquesEstimate(Result):
    """One estimator's answer: people unique in the population, or the reason there is none."""

    uniques: float | None
    share: float | None
    converged: bool
    reason: str | None


@dataclass(frozen=True)
class PopulationUniques(Result):
    """The estimates side by side, and which of them to believe.

    `chosen` names the estimate picked by the rule of Dankar et al. (2012): "pitman", "zayatz" or
    "snb"; "exact" when the table is the whole population; None for an empty table.
    """

    fraction: float
    population: float
    sample_uniques: int
    pitman: UniquesEstimate
    zayatz: UniquesEstimate
    snb: UniquesEstimate
    chosen: str | None
    uniques: float | None
    share: float | None


@dataclass(frozen=True)
class _Sample:
    """The histogram of class sizes of a sample that has at least one unique."""

    sizes: Integers
    classes: Integers
    fraction: float
    rows: int
    population: float

    @property
    def distinct(self) -> int:
        """The number of classes."""
        return int(self.classes.sum())

    def of_size(self, size: int) -> int:
        """Return how many classes have `size` members."""
        return int(self.classes[self.sizes == size].sum())


def population_uniques(sizes: Integers, classes: Integers, *, fraction: float) -> PopulationUniques:
    """Estimate how many people are unique in the population a table is a sample of.

    Args:
        sizes: The number of people in a class.
        classes: How many classes have that size.
        fraction: The share of the population that is in the table, above 0 and at most 1.

    >>> import numpy as np
    >>> found = population_uniques(np.array([1, 2]), np.array([3, 1]), fraction=1.0)
    >>> found.chosen, found.uniques, found.share
    ('exact', 3.0, 0.6)
    """
    if not 0 < fraction <= 1:
        raise WrongUsage(
            f"The sampling fraction {fraction} is outside (0, 1]. "
            "Give the share of the population that is in the table, such as 0.01."
        )
    sizes, classes = checked_histogram(sizes, classes)
    rows = int((sizes * classes).sum())
    sample = _Sample(sizes, classes, fraction, rows, rows / fraction)
    estimates = _estimate(sample)
    chosen = _choose_estimate(estimates, sample)
    best = estimates.get("pitman" if chosen == "exact" else chosen or "")
    return PopulationUniques(
        fraction=fraction,
        population=sample.population,
        sample_uniques=sample.of_size(1),
        pitman=estimates["pitman"],
        zayatz=estimates["zayatz"],
        snb=estimates["snb"],
        chosen=chosen,
        uniques=best.uniques if best else None,
        share=best.share if best else None,
    )


def _estimate(sample: _Sample) -> dict[str, UniquesEstimate]:
    estimators: dict[str, Callable[[_Sample], float | str]] = {
        "pitman": _pitman_estimate,
        "zayatz": _zayatz_estimate,
        "snb": _slide_negative_binomial,
    }
    return {
        name: _make_estimate(_known_outcome(sample) or estimator, sample)
        for name, estimator in estimators.items()
    }


def _known_outcome(sample: _Sample) -> Callable[[_Sample], float | str] | None:
    """Return what every estimator answers where there is nothing to estimate."""
    if sample.rows == 0:
        return lambda _: "The table has no rows."
    if sample.fraction == 1 or sample.of_size(1) == 0:
        return lambda known: float(known.of_size(1))
    return None


def _make_estimate(estimator: Callable[[_Sample], float | str], sample: _Sample) -> UniquesEstimate:
    outcome = estimator(sample)
    if isinstance(outcome, str):
        return UniquesEstimate(uniques=None, share=None, converged=False, reason=outcome)
    if not 0 <= outcome <= sample.population * (1 + 1e-9):
        return UniquesEstimate(
            uniques=None,
            share=None,
            converged=False,
            reason="The estimate exceeds the population: the class sizes do not fit the model.",
        )
    return UniquesEstimate(
        uniques=outcome, share=outcome / sample.population, converged=True, reason=None
    )


def _choose_estimate(estimates: dict[str, UniquesEstimate], sample: _Sample) -> str | None:
    """Return the estimate to believe (Dankar et al. 2012, BMC Med. Inform. Decis. Mak. 12:66).

    Pitman's for fractions up to a tenth; otherwise the smaller of Zayatz's and SNB's. Zayatz's has
    an answer whenever there are rows, so it stands in for one that has none.
    """
    if sample.rows == 0:
        return None
    if sample.fraction == 1:
        return "exact"
    if sample.fraction <= SMALL_FRACTION:
        return "pitman" if estimates["pitman"].converged else "zayatz"
    snb, zayatz = estimates["snb"].uniques, estimates["zayatz"].uniques
    return "snb" if snb is not None and zayatz is not None and snb <= zayatz else "zayatz"


def _zayatz_estimate(sample: _Sample) -> float | str:
    """Return the estimate of Zayatz (1991), which takes the sample's class sizes for population's.

    The chance that a sample unique is a population unique is, by Bayes, the share of classes of
    size 1 times the chance that sampling leaves one of them, over the same for every size.
    """
    uniques = sample.of_size(1)
    one_left = _chance_of_one(sample)
    alone = float(one_left[sample.sizes == 1][0])
    posterior = uniques * alone / float((sample.classes * one_left).sum())
    return uniques * posterior / sample.fraction


def _chance_of_one(sample: _Sample) -> Reals:
    """Return, for each class size, the hypergeometric chance that exactly one member is sampled.

    It is `s (n/N) prod_{i<s-1} (N-n-i) / (N-1-i)`, multiplied out because a difference of
    log-gammas of the population loses eight digits.
    """
    exact = np.minimum(sample.sizes, LARGEST_EXACT)
    steps = np.arange(int(exact.max()) - 1, dtype=np.float64)
    outside = np.maximum(sample.population - sample.rows - steps, 0.0)
    with np.errstate(divide="ignore"):
        logs = np.log(outside) - np.log(sample.population - 1 - steps)
    product = np.concatenate([[0.0], np.cumsum(logs)])
    # Beyond the largest exact size each further member is left out with nearly the same chance.
    beyond = (sample.sizes - exact) * math.log1p(-sample.fraction)
    left: Reals = np.exp(product[exact - 1] + beyond)
    return sample.sizes * sample.fraction * left


def _pitman_estimate(sample: _Sample) -> float | str:
    """Return the estimate of Hoshino (2001) from Pitman's sampling formula.

    theta and alpha are the maximum-likelihood estimates. With alpha above 0 the expected number of
    uniques among N people is close to `Gamma(theta + 1) / Gamma(theta + alpha) N^alpha`. Classes of
    a limited number and even size have alpha below 0 and a theta too near N for that; they get the
    expectation itself, `N Gamma(theta + 1) Gamma(theta + alpha + N - 1) / (Gamma(theta + alpha)
    Gamma(theta + N))`.
    """
    if sample.distinct == sample.rows:
        return "Every record is unique, so the model's parameters run to infinity."
    alpha = _best_alpha(sample)
    if isinstance(alpha, str):
        return alpha
    theta, _ = _best_theta(alpha, sample)
    people = sample.population
    if alpha > 0:
        growth = float(gammaln(theta + 1) - gammaln(theta + alpha))
        return math.exp(growth + alpha * math.log(people))
    step = 1 - alpha
    return people * math.exp(
        float(betaln(theta + people - step, step) - betaln(theta + 1 - step, step))
    )


def _best_alpha(sample: _Sample) -> float | str:
    """Return the alpha that maximizes Pitman's likelihood, or why there is none."""
    # Between the two least alphas the number of classes grows as a logarithm (Ewens 1972), and the
    # sums below cancel; their ends do not differ in the result.
    lowest, least, highest = -1000.0, 1e-6, 1 - 1e-12
    if _alpha_slope(least, sample) > 0:
        if _alpha_slope(highest, sample) >= 0:
            return "The likelihood has no maximum: too few records share a class."
        low, high = least, highest
    elif _alpha_slope(-least, sample) >= 0:
        return least
    else:
        if _alpha_slope(lowest, sample) <= 0:
            return "The likelihood has no maximum: class sizes vary no more than by chance."
        low, high = lowest, -least
    return _find_root(lambda alpha: _alpha_slope(alpha, sample), low, high)


def _best_theta(alpha: float, sample: _Sample) -> tuple[float, float]:
    """Return the theta that maximizes Pitman's likelihood for a given alpha, and its class slope."""
    last = sample.distinct - 1
    bound = -alpha if alpha > 0 else -alpha * last

    # Near its bound theta loses the digits that matter, and it may span many magnitudes: what is
    # searched is the logarithm of its distance from there.
    def class_slope(power: float) -> float:
        return _harmonic_sum(math.exp(power) / abs(alpha), last) / abs(alpha)

    def slope(power: float) -> float:
        return class_slope(power) - _harmonic_sum(math.exp(power) + bound + 1, sample.rows - 1)

    # The slope falls from infinity and, by Taylor, is negative at the upper end if any two records
    # share a class.
    highest = math.log(1 + 3 * abs(alpha)) + 2 * math.log(sample.rows)
    power = _find_root(slope, math.log(1e-12), highest)
    return math.exp(power) + bound, class_slope(power)


def _alpha_slope(alpha: float, sample: _Sample) -> float:
    """Return the derivative of Pitman's log-likelihood by alpha, at the best theta."""
    theta, class_slope = _best_theta(alpha, sample)
    # The sum of i / (theta + i alpha), rewritten by the sum without the i.
    growth = (sample.distinct - 1 - theta * class_slope) / alpha
    within = digamma(sample.sizes - alpha) - digamma(1 - alpha)
    return growth - float((sample.classes * within).sum())


def _harmonic_sum(start: float, terms: int) -> float:
    """Return the sum of `1 / (start + i)` for i from 0 to `terms - 1`."""
    if start < 1000:
        return float(digamma(start + terms) - digamma(start))
    # The difference of two digammas cancels when start is large; their series by term does not.
    end = start + terms
    return (
        math.log1p(terms / start)
        + terms / (2 * start * end)
        + (1 / start**2 - 1 / end**2) / 12
        - (1 / start**4 - 1 / end**4) / 120
    )


def _find_root(function: Callable[[float], float], low: float, high: float) -> float:
    """Return where `function` is zero between two points at which its signs differ."""
    solve: Any = brentq  # its stubs know neither plain floats nor that no report is asked for
    return float(solve(function, low, high, xtol=1e-15, rtol=1e-14))


def _slide_negative_binomial(sample: _Sample) -> float | str:
    """Return the estimate of Chen & McNulty (1998): population class sizes are 1 + NB(alpha, beta).

    alpha and beta make the expected numbers of sample classes of size 1 and 2 equal to those seen.
    For a given beta their ratio fixes alpha by a quadratic, which leaves one equation in beta. Of
    several solutions the one is taken whose mean class size fits the population best.
    """
    if sample.of_size(2) == 0:
        return "No class has two members, so the model cannot be fitted."
    total = _population_classes(sample)
    if not math.isfinite(total) or total < sample.distinct:
        return "The number of classes in the population could not be estimated."
    solutions = [(_nb_alpha(beta, sample), beta) for beta in _nb_betas(total, sample)]
    if not solutions:
        return "The model's equations have no solution: the class sizes do not fit it."
    alpha, beta = min(
        solutions,
        key=lambda pair: abs(
            math.log(total * (1 + pair[0] * (1 - pair[1]) / pair[1]) / sample.population)
        ),
    )
    return total * math.exp(alpha * math.log(beta))


def _nb_betas(total: float, sample: _Sample) -> list[float]:
    """Return every beta that gives the right number of uniques, found by scanning its odds."""

    def excess(odds: float) -> float:
        beta = 1 / (1 + math.exp(-odds))
        alpha = _nb_alpha(beta, sample)
        outside = (1 - sample.fraction) * (1 - beta)
        inside = 1 - outside
        return (
            math.log(total * sample.fraction / sample.of_size(1))
            + alpha * math.log(beta / inside)
            + math.log1p(alpha * outside / inside)
        )

    grid = np.linspace(-30.0, 30.0, 601)
    signs = np.sign([excess(float(odds)) for odds in grid])
    roots = [
        _find_root(excess, float(grid[i]), float(grid[i + 1]))
        for i in np.flatnonzero(signs[:-1] * signs[1:] < 0)
    ]
    return [1 / (1 + math.exp(-odds)) for odds in roots]


def _nb_alpha(beta: float, sample: _Sample) -> float:
    """Return the positive alpha with the seen ratio of classes of two to classes of one."""
    fraction = sample.fraction
    ratio = sample.of_size(2) / sample.of_size(1)
    outside = (1 - fraction) * (1 - beta)
    inside = 1 - outside
    squared = fraction * (1 - beta) * outside
    linear = fraction * (1 - beta) * (2 - outside) - 2 * inside * ratio * outside
    constant = -2 * inside * inside * ratio
    root = math.sqrt(linear * linear - 4 * squared * constant)
    # The form without cancellation: the constant is negative, so exactly one root is positive.
    return -2 * constant / (linear + root) if linear > 0 else (root - linear) / (2 * squared)


def _population_classes(sample: _Sample) -> float:
    """Return the number of classes in the population, by Shlosser's estimator.

    The modified form of Haas, Naughton, Seshadri & Stokes (1995), which Dankar et al. (2012) use.
    """
    q, sizes = sample.fraction, sample.sizes.astype(np.float64)
    classes = sample.classes.astype(np.float64)
    missed, missed_twice = (1 - q) ** sizes, (1 - q**2) ** sizes
    pairs = (sizes * q**2 * (1 - q**2) ** (sizes - 1) * classes).sum()
    seen = ((missed_twice - missed) * classes).sum()
    once = (sizes * q * (1 - q) ** (sizes - 1) * classes).sum()
    factor = pairs / seen * ((missed * classes).sum() / once) ** 2
    return float(sample.distinct + sample.of_size(1) * factor)
