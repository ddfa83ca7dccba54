"""The chance of being found, read off the sizes of the classes.

The words are El Emam's (2013, "Guide to the De-Identification of Personal Health Information"):
a *prosecutor* knows that a certain person is in the table, a *journalist* only that the person is in
the population the table was drawn from, a *marketer* wants as many people as possible and does not
care whom.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from discreet.errors import WrongUsage
from discreet.result import Result

Integers = NDArray[np.int64]

AT_RISK_ABOVE = 0.2  # a class of fewer than five people


@dataclass(frozen=True)
class TargetedRisk(Result):
    """The risk of a targeted person; None where the table is empty."""

    worst: float | None
    average: float | None
    threshold: float
    people_at_risk: int
    share_at_risk: float | None


@dataclass(frozen=True)
class MarketerRisk(Result):
    """How many records an attacker re-identifies who tries all of them; None for an empty table."""

    expected_people: float | None
    expected_share: float | None


@dataclass(frozen=True)
class SampleRisk(Result):
    """The three risks of one table, and what they were computed from.

    Journalist and marketer look in the population's table, or among as many people as the weights of a
    survey stand for, or, with neither, in the table itself.
    """

    people: int
    classes: int
    with_population: bool
    prosecutor: TargetedRisk
    journalist: TargetedRisk
    marketer: MarketerRisk
    with_weights: bool = False


def sample_risk(
    sizes: Integers,
    classes: Integers,
    *,
    population: Integers | None = None,
    threshold: float = AT_RISK_ABOVE,
) -> SampleRisk:
    """Return prosecutor, journalist and marketer risk of a table.

    Args:
        sizes: The number of people in a class.
        classes: How many classes have that size.
        population: How many people of the population fall in each such class. A size may then
            occur several times, once for each number of people in the population.
        threshold: A record is at risk if the chance to find its person is greater than this.

    >>> import numpy as np
    >>> risk = sample_risk(np.array([1, 4]), np.array([2, 2]))
    >>> risk.prosecutor.worst, risk.prosecutor.average, risk.prosecutor.people_at_risk
    (1.0, 0.4, 10)
    """
    held = _hidden_among(sizes, classes, population=None)
    return SampleRisk(
        people=int(held.records.sum()),
        classes=int(held.classes.sum()),
        with_population=population is not None,
        prosecutor=prosecutor_risk(sizes, classes, threshold=threshold),
        journalist=journalist_risk(sizes, classes, population=population, threshold=threshold),
        marketer=marketer_risk(sizes, classes, population=population),
    )


def prosecutor_risk(
    sizes: Integers, classes: Integers, *, threshold: float = AT_RISK_ABOVE
) -> TargetedRisk:
    """Return the risk `1 / size` of people who are known to be in the table."""
    return _targeted_risk(_hidden_among(sizes, classes, population=None), threshold)


def journalist_risk(
    sizes: Integers,
    classes: Integers,
    *,
    population: Integers | None = None,
    threshold: float = AT_RISK_ABOVE,
) -> TargetedRisk:
    """Return the risk `1 / F` of people known to be among the `F` of the population in a class.

    Without a population nothing hides a person but the table, and the prosecutor's risk is returned.
    """
    return _targeted_risk(_hidden_among(sizes, classes, population=population), threshold)


def marketer_risk(
    sizes: Integers, classes: Integers, *, population: Integers | None = None
) -> MarketerRisk:
    """Return the expected share of records re-identified: the sum of `f / F` over classes, by rows.

    Without a population `F = f`, one record of each class is expected to be matched (Dankar &
    El Emam 2010).
    """
    found = _hidden_among(sizes, classes, population=population)
    rows = int(found.records.sum())
    if rows == 0:
        return MarketerRisk(expected_people=None, expected_share=None)
    expected = float((found.records / found.among).sum())
    return MarketerRisk(expected_people=expected, expected_share=expected / rows)


@dataclass(frozen=True)
class _Hidden:
    """Classes of a table beside the number of people each of them hides among."""

    records: Integers  # rows in all classes of an entry
    classes: Integers
    among: Integers  # people an attacker cannot distinguish


def _hidden_among(sizes: Integers, classes: Integers, *, population: Integers | None) -> _Hidden:
    """Return the checked histogram without its empty entries."""
    sizes, classes = checked_histogram(sizes, classes)
    among = sizes if population is None else np.asarray(population, dtype=np.int64)
    if among.shape != sizes.shape:
        raise WrongUsage(
            f"The population has {among.size} entries, the classes have {sizes.size}. "
            "Give the population's size of each class."
        )
    if np.any(among < sizes):
        raise WrongUsage(
            "A class has fewer people in the population than in the table. "
            "The table must be a sample of the population: check that both are coded alike."
        )
    kept = classes > 0
    return _Hidden(records=sizes[kept] * classes[kept], classes=classes[kept], among=among[kept])


def checked_histogram(sizes: Integers, classes: Integers) -> tuple[Integers, Integers]:
    """Return the histogram as 64-bit integers, or refuse what is no histogram of class sizes."""
    sizes = np.asarray(sizes, dtype=np.int64)
    classes = np.asarray(classes, dtype=np.int64)
    if sizes.ndim != 1 or sizes.shape != classes.shape:
        raise WrongUsage(
            "Sizes and numbers of classes do not match. Give one number of classes for each size."
        )
    if np.any(sizes < 1) or np.any(classes < 0):
        raise WrongUsage("A class size below 1 or a negative number of classes. Count again.")
    return sizes, classes


def _targeted_risk(found: _Hidden, threshold: float) -> TargetedRisk:
    if not 0 <= threshold <= 1:
        raise WrongUsage(f"The threshold {threshold} is no probability. Choose one from 0 to 1.")
    rows = int(found.records.sum())
    if rows == 0:
        return TargetedRisk(
            worst=None, average=None, threshold=threshold, people_at_risk=0, share_at_risk=None
        )
    risk = 1.0 / found.among
    at_risk = int(found.records[risk > threshold].sum())
    return TargetedRisk(
        worst=float(risk.max()),
        average=float((found.records / found.among).sum()) / rows,
        threshold=threshold,
        people_at_risk=at_risk,
        share_at_risk=at_risk / rows,
    )
