"""Tighter numbers of dp-accounting, to be reported and never enforced.

Composition of Rényi curves and of privacy loss distributions assumes that the parameters of all
questions were fixed beforehand. An analyst who picks the next epsilon after seeing an answer breaks
that assumption, so that the ledger holds its limits by adding up epsilon or rho. Both functions
compute with floats.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable
from fractions import Fraction
from typing import Any

from discreet.dp.accounting.pricing import price
from discreet.dp.event import Event, Gaussian, Group, Laplace, Sequence
from discreet.errors import MissingExtra

_ORDERS = (*(1 + 2 ** (power / 8) / 16 for power in range(1, 128)), *range(4096, 65536, 4096))
_INTERVAL = 1e-3
_FINEST = 100  # steps within one sensitivity


def rdp_epsilon(events: Iterable[Event], *, delta: Fraction) -> float | None:
    """Return the epsilon of `events` at `delta` by adding Rényi curves, or None if one has none.

    Guarantee: none that is enforced; for events whose parameters were fixed beforehand, the curve of
    each is a bound (Mironov 2017), up to float error.
    """
    rdp = _import_dp_accounting().rdp
    counted = Counter(leaf for event in events for leaf in _split_events(event))
    slip, curve = Fraction(0), [0.0] * len(_ORDERS)
    for leaf, times in counted.items():
        cost = price(leaf)
        if cost.rho is None:
            return None
        slip += times * cost.slip
        single = _renyi_curve(leaf, float(cost.rho), cost.epsilon)
        curve = [total + times * each for total, each in zip(curve, single, strict=True)]
    if slip >= delta:
        return None
    return float(rdp.compute_epsilon(_ORDERS, curve, float(delta - slip))[0])


def pld_epsilon(events: Iterable[Event], *, delta: Fraction) -> float | None:
    """Return the epsilon of `events` at `delta` by composing privacy losses, or None if one has none.

    Guarantee: none that is enforced. For events whose parameters were fixed beforehand it is a bound
    up to float error, except that Gaussian noise on a vector is taken for continuous noise.
    """
    losses = _import_dp_accounting().pld.privacy_loss_distribution
    counted = Counter(leaf for event in events for leaf in _split_events(event))
    total = losses.identity(value_discretization_interval=_INTERVAL)
    for leaf, times in counted.items():
        one = _privacy_loss(leaf)
        if one is None:
            return None
        total = total.compose(one.self_compose(times))
    epsilon = float(total.get_epsilon_for_delta(float(delta)))
    return None if math.isinf(epsilon) else epsilon


def _import_dp_accounting() -> Any:
    try:
        import dp_accounting
    except ImportError as error:
        raise MissingExtra(what="Rényi and privacy loss accounting", extra="dp") from error
    return dp_accounting


def _split_events(event: Event) -> list[Event]:
    """Return events that compose one after the other; groups of noise are noise of more sensitivity."""
    match event:
        case Sequence():
            return [leaf for part in event.events for leaf in _split_events(part)]
        case Group(event=Laplace() as noise, size=size):
            return [Laplace(noise.sensitivity * size, noise.scale)]
        case Group(event=Gaussian() as noise, size=size):
            return [Gaussian(noise.squared_sensitivity * size**2, noise.scale)]
        case _:
            return [event]


def _renyi_curve(leaf: Event, rho: float, epsilon: Fraction | None) -> list[float]:
    """Return the Rényi divergence of one event at each order."""
    bounds = [rho * order for order in _ORDERS]
    if isinstance(leaf, Laplace) and leaf.sensitivity:
        shift, rate = _coarsen_laplace(leaf)
        exact = [_laplace_divergence(order, shift, rate) for order in _ORDERS]
        bounds = [min(pair) for pair in zip(bounds, exact, strict=True)]
    if epsilon is not None:
        bounds = [min(each, float(epsilon)) for each in bounds]
    return bounds


def _laplace_divergence(order: float, shift: int, rate: float) -> float:
    """Return the Rényi divergence of discrete Laplace noise from the same noise, shifted."""
    # Sum over x of P^order Q^(1 - order): left of both centers, right of both, and a geometric sum
    # between them. Factors of e^((order - 1) shift rate) are taken out, so that nothing overflows.
    loss = shift * rate
    middle_rate = (2 * order - 1) * rate
    left = 1.0
    right = math.exp(-(2 * order - 1) * loss)
    middle = 0.0
    if shift > 1:
        ratio = -math.expm1(-middle_rate * (shift - 1)) / -math.expm1(-middle_rate)
        middle = -math.expm1(-rate) * math.exp(-middle_rate) * ratio
    return loss + math.log((left + right + middle) / (1 + math.exp(-rate))) / (order - 1)


def _coarsen_laplace(noise: Laplace) -> tuple[int, float]:
    """Return shift and rate of coarser discrete Laplace noise whose privacy loss is no smaller.

    A geometric variable is m times one with the m-fold rate, plus an independent rest; so noise on a
    fine lattice is noise on a coarse one, processed further. A vector of L1 change s reveals no more
    than one number that changes by s, because the noise is log-concave.
    """
    shift = math.ceil(noise.sensitivity)
    together = math.ceil(Fraction(shift, _FINEST))
    return math.ceil(Fraction(shift, together)), float(together / noise.scale)


def _privacy_loss(leaf: Event) -> Any:
    """Return the privacy loss distribution of one event, or None."""
    pld = _import_dp_accounting().pld
    losses = pld.privacy_loss_distribution
    if isinstance(leaf, Laplace) and leaf.sensitivity:
        shift, rate = _coarsen_laplace(leaf)
        return losses.from_discrete_laplace_mechanism(
            rate, shift, value_discretization_interval=_INTERVAL
        )
    if isinstance(leaf, Gaussian) and leaf.squared_sensitivity:
        return _gaussian_loss(leaf, losses)
    cost = price(leaf)
    if cost.epsilon is None:
        return None
    parameters = pld.common.DifferentialPrivacyParameters(float(cost.epsilon), float(cost.delta))
    return losses.from_privacy_parameters(parameters, value_discretization_interval=_INTERVAL)


def _gaussian_loss(noise: Gaussian, losses: Any) -> Any:
    scale = float(noise.scale)
    # From a scale of 4 the two differ by less than e^-300; below, one number that changes by 1 is exact.
    if noise.squared_sensitivity == 1 and scale < 4:
        return losses.from_discrete_gaussian_mechanism(
            scale, 1, value_discretization_interval=_INTERVAL
        )
    return losses.from_gaussian_mechanism(
        scale,
        sensitivity=math.sqrt(noise.squared_sensitivity),
        value_discretization_interval=_INTERVAL,
    )
