"""The kinds of statistics: one specification each, found in a package and through entry points of other packages."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from discreet.registry import LAST, ExtensionRegistry, OptionSpec

if TYPE_CHECKING:
    from discreet.learning.statistics.conclusion import StatisticPlan


@dataclass(frozen=True)
class StatisticSpec:
    """A kind of statistic: what it measures of which columns, and what it concludes.

    Attributes:
        name: The word of the command line.
        summary: One line for lists.
        takes: Which columns it takes, in words.
        plan: Takes `Variables` of `discreet.learning.statistics.variables`, the level of confidence, and its
            options by name; returns a `StatisticPlan`. It sees no row.
        options: Its own options.
        by: Whether it compares groups: they are required, allowed, or refused.
        position: Its place in lists.
    """

    name: str
    summary: str
    takes: str
    plan: Callable[..., StatisticPlan]
    options: tuple[OptionSpec, ...] = ()
    by: str = "refused"
    position: int = LAST


STATISTICS: ExtensionRegistry[StatisticSpec] = ExtensionRegistry(
    "discreet.statistics",
    "statistic",
    StatisticSpec,
    package="discreet.learning.statistics.specs",
)
