"""What events cost: exact prices, conversions between currencies, and what may be reported on top."""

from discreet.dp.accounting.conversion import (
    epsilon_of_rho,
    gaussian_scale,
    gaussian_scale_of_rho,
    replacing_one,
    rho_of_epsilon,
)
from discreet.dp.accounting.exact import to_fraction
from discreet.dp.accounting.odometer import OdometerReading, read_odometer
from discreet.dp.accounting.pricing import add_prices, group_factor, price
from discreet.dp.accounting.report import pld_epsilon, rdp_epsilon

__all__ = [
    "OdometerReading",
    "add_prices",
    "epsilon_of_rho",
    "gaussian_scale",
    "gaussian_scale_of_rho",
    "group_factor",
    "pld_epsilon",
    "price",
    "rdp_epsilon",
    "read_odometer",
    "replacing_one",
    "rho_of_epsilon",
    "to_fraction",
]
