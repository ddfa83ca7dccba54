"""Prices are exact, conversions err on the safe side, and reported numbers agree with brute force."""

from __future__ import annotations

import math
import sys
import time
from decimal import Decimal
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.dp.accounting import (
    add_prices,
    epsilon_of_rho,
    gaussian_scale,
    gaussian_scale_of_rho,
    group_factor,
    pld_epsilon,
    price,
    rdp_epsilon,
    read_odometer,
    replacing_one,
    rho_of_epsilon,
    to_fraction,
)
from discreet.dp.budget import Price
from discreet.dp.event import (
    Approximate,
    Choice,
    Event,
    Gaussian,
    Group,
    Laplace,
    Parallel,
    Pure,
    Sequence,
    Slip,
)
from discreet.errors import InvalidBudget, InvalidMechanism, MissingExtra

ZERO = Fraction(0)
MILLIONTH = Fraction(1, 10**6)

positive = st.fractions(min_value=Fraction(1, 1000), max_value=20, max_denominator=1000)
chances = st.fractions(min_value=0, max_value=Fraction(1, 100), max_denominator=10**6)
leaves = st.one_of(
    st.builds(Laplace, positive, positive),
    st.builds(Gaussian, positive, positive),
    st.builds(Choice, positive, st.booleans()),
    st.builds(Pure, positive),
    st.builds(Slip, chances),
    st.builds(Approximate, positive, chances),
)
events = st.recursive(
    leaves,
    lambda inner: st.one_of(
        st.builds(Sequence, st.lists(inner, max_size=3).map(tuple)),
        st.builds(Parallel, st.lists(inner, max_size=3).map(tuple)),
        st.builds(Group, inner, st.integers(1, 4)),
    ),
    max_leaves=6,
)


def infinite(amount: Fraction | None) -> Fraction | float:
    return math.inf if amount is None else amount


def is_at_most(one: Price, other: Price) -> bool:
    return (
        infinite(one.epsilon) <= infinite(other.epsilon)
        and one.delta <= other.delta
        and infinite(one.rho) <= infinite(other.rho)
        and one.slip <= other.slip
    )


@pytest.mark.parametrize(
    ("event", "expected"),
    [
        (Laplace(Fraction(1), Fraction(2)), Price(Fraction(1, 2), ZERO, Fraction(1, 8), ZERO)),
        (Gaussian(Fraction(2), Fraction(3)), Price(None, ZERO, Fraction(1, 9), ZERO)),
        (Gaussian(ZERO, Fraction(3)), Price(ZERO, ZERO, ZERO, ZERO)),
        (Choice(Fraction(1)), Price(Fraction(1), ZERO, Fraction(1, 2), ZERO)),
        (Choice(Fraction(1), is_exponential=True), Price(Fraction(1), ZERO, Fraction(1, 8), ZERO)),
        (Pure(Fraction(1, 3)), Price(Fraction(1, 3), ZERO, Fraction(1, 18), ZERO)),
        (Slip(MILLIONTH), Price(ZERO, MILLIONTH, ZERO, MILLIONTH)),
        (Approximate(Fraction(1), MILLIONTH), Price(Fraction(1), MILLIONTH, None, MILLIONTH)),
        (Sequence(()), Price(ZERO, ZERO, ZERO, ZERO)),
        (Parallel(()), Price(ZERO, ZERO, ZERO, ZERO)),
        (
            Sequence((Pure(Fraction(1)), Slip(MILLIONTH))),
            Price(Fraction(1), MILLIONTH, Fraction(1, 2), MILLIONTH),
        ),
        (
            Sequence((Pure(Fraction(1)), Gaussian(Fraction(1), Fraction(1)))),
            Price(None, ZERO, Fraction(1), ZERO),
        ),
        (
            Parallel((Pure(Fraction(1)), Pure(Fraction(3)), Slip(MILLIONTH))),
            Price(Fraction(3), MILLIONTH, Fraction(9, 2), MILLIONTH),
        ),
        (Group(Pure(Fraction(1)), 3), Price(Fraction(3), ZERO, Fraction(9, 2), ZERO)),
        (
            Group(Gaussian(Fraction(1), Fraction(1)), 2),
            Price(None, ZERO, Fraction(2), ZERO),
        ),
    ],
)
def test_the_price_of_an_event_is_exact(event: Event, expected: Price):
    assert price(event) == expected


@given(st.lists(events, max_size=4), st.randoms())
def test_prices_of_a_sequence_add_up_in_any_order(parts: list[Event], chance):
    shuffled = list(parts)
    chance.shuffle(shuffled)
    assert price(Sequence(tuple(parts))) == add_prices(price(part) for part in shuffled)


@given(st.lists(events, min_size=1, max_size=4))
def test_a_parallel_event_costs_at_least_each_part_and_at_most_all_of_them(parts: list[Event]):
    together = price(Parallel(tuple(parts)))
    assert all(is_at_most(price(part), together) for part in parts)
    assert is_at_most(together, price(Sequence(tuple(parts))))


@given(events, st.integers(1, 5))
def test_a_group_costs_at_least_as_much_as_a_smaller_one(event: Event, size: int):
    assert is_at_most(price(Group(event, size)), price(Group(event, size + 1)))


def test_zcdp_of_a_group_with_a_slip_is_not_claimed():
    event = Sequence((Pure(Fraction(1)), Slip(MILLIONTH)))
    assert price(Group(event, 2)).rho is None
    assert price(Group(event, 1)).rho == Fraction(1, 2)


@given(positive, st.integers(1, 200))
def test_the_factor_of_a_group_is_no_less_than_the_sum(epsilon: Fraction, size: int):
    exact = sum(
        Decimal(0) + (Decimal(epsilon.numerator) / epsilon.denominator * i).exp()
        for i in range(size)
    )
    assert group_factor(epsilon, size=size) >= Fraction(exact) * (1 - Fraction(1, 10**20))


def test_the_delta_of_a_large_group_is_one_and_not_an_overflow():
    assert price(Group(Approximate(Fraction(10**9), MILLIONTH), 10**6)).delta == 1


@pytest.mark.parametrize(
    "event",
    [
        Laplace(Fraction(1), ZERO),
        Laplace(Fraction(-1), Fraction(1)),
        Gaussian(Fraction(1), Fraction(-1)),
        Pure(Fraction(-1)),
        Choice(Fraction(-1)),
        Slip(Fraction(2)),
        Approximate(Fraction(1), Fraction(-1)),
        Group(Pure(Fraction(1)), 0),
    ],
)
def test_an_event_outside_its_range_has_no_price(event: Event):
    with pytest.raises(InvalidMechanism):
        price(event)


# Bounded neighbours


def test_replacing_one_costs_as_much_as_twice_the_sensitivity():
    assert price(replacing_one(Laplace(Fraction(1), Fraction(5)))) == price(
        Laplace(Fraction(2), Fraction(5))
    )
    assert price(replacing_one(Gaussian(Fraction(1), Fraction(5)))) == price(
        Gaussian(Fraction(4), Fraction(5))
    )


def test_parallel_parts_cost_twice_when_one_unit_is_replaced():
    parts = Parallel((Pure(Fraction(1)), Pure(Fraction(1))))
    assert price(parts).epsilon == 1
    assert price(replacing_one(parts)).epsilon == 2


# Conversions


def bound(rho: float, alpha: float, delta: float) -> float:
    return rho * alpha - math.log(alpha * delta) / (alpha - 1) + math.log1p(-1 / alpha)


@given(
    st.fractions(min_value=Fraction(1, 10**6), max_value=50),
    st.integers(1, 30).map(lambda power: Fraction(1, 10**power)),
)
def test_rho_becomes_the_least_epsilon_over_all_orders(rho: Fraction, delta: Fraction):
    epsilon = float(epsilon_of_rho(rho, delta=delta))
    orders = [1 + 10 ** (power / 50) for power in range(-300, 900)]
    best = max(0.0, min(bound(float(rho), alpha, float(delta)) for alpha in orders))
    assert epsilon <= best * (1 + 1e-9) + 1e-12
    assert epsilon >= best * 0.99 - 1e-9


@given(
    st.fractions(min_value=Fraction(1, 10**4), max_value=100),
    st.integers(1, 30).map(lambda power: Fraction(1, 10**power)),
)
def test_the_largest_rho_for_an_epsilon_never_costs_more(epsilon: Fraction, delta: Fraction):
    rho = rho_of_epsilon(epsilon, delta=delta)
    assert rho > 0
    assert epsilon_of_rho(rho, delta=delta) <= epsilon + Fraction(1, 10**12)
    assert epsilon_of_rho(rho * Fraction(1001, 1000), delta=delta) > epsilon


@given(st.fractions(min_value=Fraction(1, 10**5), max_value=20), st.sampled_from([3, 6, 9]))
def test_the_converted_epsilon_covers_real_gaussian_noise(rho: Fraction, power: int):
    # The Gaussian mechanism of rho = 1 / (2 scale²): its delta at this epsilon, exactly.
    epsilon, scale = (
        float(epsilon_of_rho(rho, delta=Fraction(1, 10**power))),
        1 / math.sqrt(2 * rho),
    )

    def below(x: float) -> float:
        return math.erfc(-x / math.sqrt(2)) / 2

    shift, tilt = 1 / (2 * scale), epsilon * scale
    delta = below(shift - tilt) - math.exp(epsilon) * below(-shift - tilt)
    assert delta <= 10.0**-power


def test_zcdp_at_no_delta_is_refused():
    with pytest.raises(InvalidBudget):
        epsilon_of_rho(Fraction(1), delta=ZERO)
    with pytest.raises(InvalidBudget):
        rho_of_epsilon(Fraction(1), delta=Fraction(1))
    with pytest.raises(InvalidBudget):
        gaussian_scale_of_rho(Fraction(1), rho=ZERO)


def test_deltas_too_small_for_a_float_convert():
    tiny = Fraction(1, 10**400)
    assert 0 < rho_of_epsilon(Fraction(1), delta=tiny) < Fraction(1, 1000)
    assert epsilon_of_rho(Fraction(1), delta=tiny) > 50


@given(positive, positive)
def test_gaussian_noise_of_the_given_scale_meets_epsilon_and_delta(
    squared: Fraction, epsilon: Fraction
):
    scale = gaussian_scale(squared, epsilon=epsilon, delta=MILLIONTH)
    rho = price(Gaussian(squared, scale)).rho
    assert rho is not None
    assert epsilon_of_rho(rho, delta=MILLIONTH) <= epsilon + Fraction(1, 10**12)


# Odometer and reports


def test_the_odometer_reads_the_smaller_of_two_counts():
    few = read_odometer([Pure(Fraction(1, 2))], delta=MILLIONTH)
    many = read_odometer([Pure(Fraction(1, 100))] * 1000, delta=MILLIONTH)
    assert few.epsilon == few.basic == Fraction(1, 2)
    assert many.epsilon == many.zcdp < Fraction(3, 2)
    assert many.basic == 10


def test_the_odometer_has_no_reading_where_delta_is_used_up():
    reading = read_odometer([Pure(Fraction(1)), Slip(Fraction(1, 1000))], delta=MILLIONTH)
    assert reading.basic is None
    assert reading.zcdp is None
    assert reading.epsilon is None


def test_a_thousand_questions_are_accounted_for_in_a_second():
    asked = [
        Sequence((Laplace(Fraction(1), Fraction(100 + i)), Slip(Fraction(1, 10**12))))
        for i in range(1000)
    ]
    started = time.process_time()
    for count in range(0, 1000, 10):
        read_odometer(asked[count : count + 10], delta=MILLIONTH)
    read_odometer(asked, delta=MILLIONTH)
    assert time.process_time() - started < 1


def laplace_losses(shift: int, scale: float) -> list[tuple[float, float]]:
    """Return (chance, loss) of discrete Laplace noise against the same noise, shifted."""
    weight = math.tanh(1 / (2 * scale))
    reach = int(60 * scale) + shift
    return [
        (weight * math.exp(-abs(x) / scale), (abs(x - shift) - abs(x)) / scale)
        for x in range(-reach, reach + 1)
    ]


@pytest.mark.parametrize(("shift", "scale"), [(1, 1.0), (3, 2.0), (5, 20.0)])
def test_reported_epsilons_of_laplace_noise_are_close_to_brute_force(shift: int, scale: float):
    losses = laplace_losses(shift, scale)
    event = Laplace(Fraction(shift), Fraction(scale))
    delta = Fraction(1, 100)

    def delta_at(epsilon: float) -> float:
        return sum(chance * max(0.0, -math.expm1(epsilon - loss)) for chance, loss in losses)

    pld = pld_epsilon([event], delta=delta)
    rdp = rdp_epsilon([event], delta=delta)
    assert pld is not None
    assert rdp is not None
    assert delta_at(pld) <= 0.01 + 1e-9
    assert delta_at(pld - 0.01) > 0.01
    assert pld <= rdp + 1e-3
    assert rdp <= shift / scale + 1e-9


def test_a_fine_lattice_is_reported_as_a_coarse_one_and_no_lower():
    events_of = {s: [Laplace(Fraction(s), Fraction(2 * s))] * 20 for s in (100, 10**7)}
    coarse, fine = (pld_epsilon(listed, delta=MILLIONTH) for listed in events_of.values())
    assert coarse == pytest.approx(fine, abs=1e-3)


def test_reports_are_tighter_than_what_is_enforced():
    asked = [Laplace(Fraction(1), Fraction(100))] * 500 + [
        Gaussian(Fraction(1), Fraction(100))
    ] * 500
    enforced = read_odometer(asked, delta=MILLIONTH).epsilon
    pld, rdp = pld_epsilon(asked, delta=MILLIONTH), rdp_epsilon(asked, delta=MILLIONTH)
    assert enforced is not None
    assert pld is not None
    assert rdp is not None
    assert 0 < pld < rdp <= float(enforced) * 1.001


def test_reports_of_every_kind_of_event_are_covered_by_its_price():
    asked: list[Event] = [
        Choice(Fraction(1, 2), is_exponential=True),
        Pure(Fraction(1, 3)),
        Slip(Fraction(1, 10**8)),
        Parallel((Pure(Fraction(1, 4)), Pure(Fraction(1, 2)))),
        Group(Laplace(Fraction(1), Fraction(10)), 2),
        Sequence((Laplace(Fraction(1), Fraction(10)),)),
    ]
    basic = read_odometer(asked, delta=MILLIONTH).basic
    assert basic is not None
    for report in (pld_epsilon, rdp_epsilon):
        reported = report(asked, delta=MILLIONTH)
        assert reported is not None
        assert reported <= float(basic) + 0.01


def test_what_cannot_be_reported_is_none():
    group = Group(Sequence((Gaussian(Fraction(1), Fraction(1)), Slip(MILLIONTH))), 2)
    assert pld_epsilon([group], delta=Fraction(1, 100)) is None
    assert rdp_epsilon([group], delta=Fraction(1, 100)) is None
    assert rdp_epsilon([Slip(MILLIONTH)], delta=MILLIONTH) is None


def test_reports_without_the_extra_say_what_to_install(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setitem(sys.modules, "dp_accounting", None)
    with pytest.raises(MissingExtra, match=r"discreet\[dp\]"):
        pld_epsilon([Pure(Fraction(1))], delta=MILLIONTH)


# Numbers


@pytest.mark.parametrize(
    ("written", "exact"),
    [
        ("0.1", Fraction(1, 10)),
        (0.1, Fraction(1, 10)),
        (Decimal("0.30"), Fraction(3, 10)),
        (3, Fraction(3)),
        ("1/3", Fraction(1, 3)),
        (1e-6, MILLIONTH),
        (" 2.5E-3 ", Fraction(1, 400)),
        (".5", Fraction(1, 2)),
        (Fraction(2, 7), Fraction(2, 7)),
    ],
)
def test_numbers_are_taken_as_they_are_written(written: str | float | Decimal, exact: Fraction):
    assert to_fraction(written) == exact


@pytest.mark.parametrize(
    "written",
    [
        "",
        "inf",
        "nan",
        "1e9999999999",
        "1/0",
        "epsilon",
        "0x10",
        "1_000",
        float("inf"),
        True,
        "1" * 401,
    ],
)
def test_what_is_no_finite_number_is_refused(written: str | float):
    with pytest.raises(InvalidBudget):
        to_fraction(written)


@given(st.floats(min_value=1e-9, max_value=1e9))
def test_a_float_is_the_decimal_that_it_prints(value: float):
    assert to_fraction(value) == Fraction(repr(value)) == to_fraction(repr(value))
