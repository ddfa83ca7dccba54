"""Composition of mechanisms: sequential on the same people, or parallel on separate parts."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar, Literal

from discreet.dp.calculate.loss import Loss, nearest_float, parse_fraction
from discreet.dp.calculate.sensitivity import Neighbors
from discreet.errors import InvalidMechanism
from discreet.result import TabularResult

# Beyond this, a list of privacy losses takes more memory than the answer is worth.
_LARGEST_PLD = 1_000_000


@dataclass(frozen=True)
class ComposedMechanism:
    """One mechanism: its epsilon, and the sensitivity and scale if it is Laplace noise."""

    text: str
    loss: Loss
    laplace: tuple[Fraction, Fraction] | None = None


@dataclass(frozen=True)
class CompositionAccounts:
    """The epsilon of the same composition at one delta, by four ways to count; each is valid.

    `pld` is None where dp-accounting is not installed or the composition is too long for it.
    """

    basic: float
    advanced: float
    zcdp: float
    pld: float | None


@dataclass(frozen=True)
class Composition(TabularResult):
    """What mechanisms cost together; `accounts` compares ways to count where a delta was given."""

    _records: ClassVar[str] = "parts"

    epsilon: float
    exact: str
    composition: Literal["sequential", "parallel"]
    neighbors: str
    parts: tuple[dict[str, float | str], ...]
    times: int
    delta: float | None
    accounts: CompositionAccounts | None
    why: str


def read_mechanism(text: str) -> ComposedMechanism:
    """Return the mechanism that `text` writes: `0.1`, `ln:3`, or `laplace:SCALE:SENSITIVITY`.

    >>> read_mechanism("laplace:10:1").loss.words, read_mechanism("ln:3").loss.words
    ('0.1', 'ln 3')
    """
    kind, *numbers = text.split(":") if ":" in text else ("", text)
    read = [parse_fraction(number) for number in numbers]
    match kind.strip().lower(), read:
        case "", [Fraction() as epsilon] if epsilon >= 0:
            return ComposedMechanism(text, Loss(epsilon))
        case "ln", [Fraction() as ratio] if ratio >= 1:
            return ComposedMechanism(text, Loss.of_ratio(ratio))
        case "laplace", [Fraction() as scale, Fraction() as sensitivity] if (
            min(scale, sensitivity) > 0
        ):
            return ComposedMechanism(text, Loss(sensitivity / scale), (sensitivity, scale))
        case _:
            raise InvalidMechanism(
                f"'{text}' is no mechanism. Write an epsilon such as 0.1 or ln:3, or "
                "laplace:SCALE:SENSITIVITY, with numbers above 0."
            )


def compose_sequence(
    parts: Sequence[ComposedMechanism], *, times: int = 1, delta: Fraction | None = None
) -> Composition:
    """Return the cost of mechanisms that all look at the same people.

    Guarantee: the sum of the epsilons (sequential composition; McSherry 2009, theorem 3), also where
    each is chosen adaptively. With a `delta`, the accounts `advanced`, `zcdp`
    and `pld` hold for parameters that were fixed beforehand.

    >>> compose_sequence([read_mechanism("0.1"), read_mechanism("0.2")]).exact
    '0.3'
    """
    _require_parts(parts, times)
    loss = sum((part.loss for part in parts), Loss()).times(times)
    if delta is not None and not 0 < delta < 1:
        raise InvalidMechanism("delta is a chance: write a number between 0 and 1, such as 1e-6.")
    listed = " + ".join(part.loss.words for part in parts)
    why = f"They look at the same people, so that epsilons add up: {listed}"
    return Composition(
        epsilon=loss.value,
        exact=loss.words,
        composition="sequential",
        neighbors="either",
        parts=_describe_mechanisms(parts),
        times=times,
        delta=None if delta is None else float(delta),
        accounts=None if delta is None else _compare_accounts(parts, times, delta),
        why=f"{why}, {times} times." if times > 1 else f"{why}.",
    )


def compose_parts(
    parts: Sequence[ComposedMechanism], *, neighbors: Neighbors = "unbounded", times: int = 1
) -> Composition:
    """Return the cost of mechanisms that each look at a part of the people, no one in two parts.

    Guarantee: between unbounded neighbors the largest epsilon (McSherry 2009, theorem 4). Between
    bounded neighbors a changed value can move its person from one part into another: one part loses
    a person and another gains one, so that the largest counts twice.

    >>> pair = [read_mechanism("1"), read_mechanism("1")]
    >>> compose_parts(pair).epsilon, compose_parts(pair, neighbors="bounded").epsilon
    (1.0, 2.0)
    """
    _require_parts(parts, times)
    largest = max((part.loss for part in parts), key=lambda loss: loss.value)
    if neighbors == "bounded":
        loss = largest.times(2 * times)
        why = (
            "A changed value can move its person from one part into another. Then two parts change, "
            f"so that the largest epsilon counts twice: 2 × {largest.words}"
        )
    else:
        loss = largest.times(times)
        why = (
            "A person who joins or leaves is in one part only, so that the largest epsilon counts: "
            f"{largest.words}"
        )
    return Composition(
        epsilon=loss.value,
        exact=loss.words,
        composition="parallel",
        neighbors=neighbors,
        parts=_describe_mechanisms(parts),
        times=times,
        delta=None,
        accounts=None,
        why=f"{why}, {times} times." if times > 1 else f"{why}.",
    )


def advanced_epsilon(epsilons: Sequence[float], *, times: int, delta: float) -> float:
    """Return the epsilon at `delta` by Kairouz, Oh & Viswanath 2015, theorem 3.5."""
    drift = times * math.fsum(epsilon * math.tanh(epsilon / 2) for epsilon in epsilons)
    squares = times * math.fsum(epsilon**2 for epsilon in epsilons)
    return drift + math.sqrt(2 * math.log(1 / delta) * squares)


def zcdp_epsilon(losses: Sequence[Loss], *, times: int, delta: Fraction) -> float:
    """Return the epsilon at `delta` of all losses as zCDP, each of rho = epsilon²/2 (Bun & Steinke 2016)."""
    from discreet.dp.accounting.conversion import epsilon_of_rho

    rho = times * sum((loss.above**2 / 2 for loss in losses), Fraction(0))
    return nearest_float(epsilon_of_rho(rho, delta=delta))


def _compare_accounts(
    parts: Sequence[ComposedMechanism], times: int, delta: Fraction
) -> CompositionAccounts:
    losses, chance = [part.loss for part in parts], float(delta)
    values = [loss.value for loss in losses]
    basic = math.fsum(values) * times
    return CompositionAccounts(
        basic=basic,
        advanced=min(basic, advanced_epsilon(values, times=times, delta=chance)),
        zcdp=min(basic, zcdp_epsilon(losses, times=times, delta=delta)),
        pld=_composed_pld_epsilon(parts, times, chance),
    )


def _composed_pld_epsilon(
    parts: Sequence[ComposedMechanism], times: int, delta: float
) -> float | None:
    """Return epsilon by privacy loss distributions, rounded up (Koskela et al. 2020)."""
    try:
        from dp_accounting.pld import common
        from dp_accounting.pld import privacy_loss_distribution as pld
    except ModuleNotFoundError:
        return None
    total = math.fsum(part.loss.value for part in parts) * times
    step = 1e-4 if total <= 20 else 1e-3
    if total / step > _LARGEST_PLD:
        return None
    composed = None
    for part, count in Counter(part for part in parts if part.loss.value).items():
        if part.laplace is None:
            limits = common.DifferentialPrivacyParameters(part.loss.value, 0.0)
            one = pld.from_privacy_parameters(limits, value_discretization_interval=step)
        else:
            sensitivity, scale = map(float, part.laplace)
            one = pld.from_laplace_mechanism(scale, sensitivity, value_discretization_interval=step)
        several = one.self_compose(count * times)
        composed = several if composed is None else composed.compose(several)
    return 0.0 if composed is None else min(total, composed.get_epsilon_for_delta(delta))


def _describe_mechanisms(parts: Sequence[ComposedMechanism]) -> tuple[dict[str, float | str], ...]:
    return tuple(
        {"what": part.text, "epsilon": part.loss.value, "exact": part.loss.words} for part in parts
    )


def _require_parts(parts: Sequence[ComposedMechanism], times: int) -> None:
    if not parts:
        raise InvalidMechanism("There is nothing to compose. Give at least one epsilon.")
    if times < 1:
        raise InvalidMechanism("A mechanism is used at least once.")
