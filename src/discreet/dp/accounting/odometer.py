"""The privacy loss so far, by the accounting that gives the smaller epsilon."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction

from discreet.dp.accounting.conversion import epsilon_of_rho
from discreet.dp.accounting.pricing import add_prices, price
from discreet.dp.budget import Price
from discreet.dp.event import Event


@dataclass(frozen=True)
class OdometerReading:
    """The epsilon of all events so far at `delta`, counted in two ways; None where one cannot count."""

    delta: Fraction
    basic: Fraction | None
    zcdp: Fraction | None

    @property
    def epsilon(self) -> Fraction | None:
        """The smaller of the two; None if neither counts at this delta."""
        counted = [each for each in (self.basic, self.zcdp) if each is not None]
        return min(counted, default=None)


def read_odometer(events: Iterable[Event], *, delta: Fraction) -> OdometerReading:
    """Return the privacy loss of adaptively chosen `events` together.

    Guarantee: `basic` holds at every moment. `zcdp` is what a filter with this very limit, set
    beforehand, promises (Whitehouse, Ramdas, Rogers & Wu 2023); an analyst who stops *because of*
    the reading is covered by the limit of the ledger, not by the reading.

    >>> from fractions import Fraction
    >>> from discreet.dp.event import Pure
    >>> reading = read_odometer([Pure(Fraction(1, 100))] * 1000, delta=Fraction(1, 10**6))
    >>> float(reading.basic), round(float(reading.zcdp), 6)
    (10.0, 1.471595)
    """
    return read_total_price(add_prices(price(event) for event in events), delta=delta)


def read_total_price(total: Price, *, delta: Fraction) -> OdometerReading:
    """Return the reading of a price that is already added up."""
    basic = total.epsilon if total.delta <= delta else None
    spare = delta - total.slip
    if total.rho is None or spare <= 0:
        return OdometerReading(delta, basic, None)
    return OdometerReading(delta, basic, epsilon_of_rho(total.rho, delta=spare))
