"""Words of the command line that say what a release must be: criteria, shares, times."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any

import click

from discreet.api.criteria import (
    DISTANCE,
    DIVERSITY,
    LIKENESS,
    CriterionLevel,
    make_criteria,
    parse_level,
)
from discreet.policy.model import Criterion


class ShareType(click.ParamType[float]):
    """A share written `5%` or `0.05`."""

    name = "share"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> float:
        """Return the share as a number from 0 to 1."""
        if isinstance(value, float):
            return value
        text = str(value).strip()
        try:
            share = float(text.removesuffix("%")) / (100 if text.endswith("%") else 1)
        except ValueError:
            share = -1.0
        if not 0 <= share <= 1:
            self.fail("Write a share such as 5% or 0.05.", param, ctx)
        return share


class SecondsType(click.ParamType[float]):
    """A time written `30s`, `2m` or `30`."""

    name = "time"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> float:
        """Return the time in seconds."""
        if isinstance(value, float):
            return value
        parts = re.fullmatch(r"(\d+(?:\.\d+)?)\s*(s|m|h)?", str(value).strip())
        if not parts or float(parts[1]) <= 0:
            self.fail("Write a time such as 30s or 2m.", param, ctx)
        return float(parts[1]) * {"s": 1, "m": 60, "h": 3600, None: 1}[parts[2]]


class WeightsType(click.ParamType[dict[str, float]]):
    """What columns count for: `age=2,zip=0.5`."""

    name = "column=weight,…"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> dict[str, float]:
        """Return the weight of each column."""
        if isinstance(value, dict):
            return {str(name): float(weight) for name, weight in value.items()}
        found: dict[str, float] = {}
        for part in str(value).split(","):
            name, equals, number = part.rpartition("=")
            try:
                weight = float(number)
            except ValueError:
                weight = -1.0
            if not equals or not name.strip() or not 0 <= weight < float("inf"):
                self.fail("Write columns with their weights, such as age=2,zip=0.5.", param, ctx)
            found[name.strip()] = weight
        return found


class CriterionLevelType(click.ParamType[CriterionLevel]):
    """`[COLUMN=][KIND:]NUMBER`, the kind one of a few words."""

    def __init__(self, kinds: Sequence[str], *, example: str) -> None:
        self.kinds = kinds
        self.example = example
        self.name = "[column=][kind:]number" if kinds else "[column=]number"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> CriterionLevel:
        """Return the level; the last equals sign ends the column's name."""
        if isinstance(value, CriterionLevel):
            return value
        found = parse_level(str(value), self.kinds)
        if found is None:
            kinds = f" Kinds: {', '.join(self.kinds)}." if self.kinds else ""
            self.fail(f"Write {self.example}.{kinds}", param, ctx)
        return found


def criteria_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options that ask for criteria."""
    for option in (
        click.option(
            "--presence",
            hidden=True,
            type=(float, float),
            metavar="LOW HIGH",
            help="Bounds on the chance that somebody of the population is in the table.",
        ),
        click.option(
            "--k-map",
            hidden=True,
            type=click.IntRange(1),
            help="People of the population per class.",
        ),
        click.option(
            "--disclosure",
            hidden=True,
            type=CriterionLevelType((), example="1.5 or diagnosis=1.5"),
            multiple=True,
            help="δ-disclosure: how far the log of a value's share may change.",
        ),
        click.option(
            "--beta",
            hidden=True,
            type=CriterionLevelType(LIKENESS, example="2 or diagnosis=enhanced:2"),
            multiple=True,
            help="β-likeness: how far a value's share may rise, relatively.",
        ),
        click.option(
            "--alpha",
            hidden=True,
            type=CriterionLevelType((), example="0.5 or diagnosis=0.5"),
            multiple=True,
            help="(α,k): the largest share of one value in a class, with --k.",
        ),
        click.option(
            "--t",
            type=CriterionLevelType(DISTANCE, example="0.2 or salary=ordered:0.2"),
            multiple=True,
            metavar="T",
            help="t-closeness: 0.2, or salary=ordered:0.2.",
        ),
        click.option(
            "--l",
            type=CriterionLevelType(DIVERSITY, example="3 or diagnosis=entropy:3 or recursive:3:2"),
            multiple=True,
            metavar="L",
            help="l-diversity: 3, or diagnosis=entropy:3.",
        ),
        click.option(
            "--k", type=click.IntRange(1), metavar="K", help="k-anonymity: people per class."
        ),
    ):
        command = option(command)
    return command


def criteria_of(choices: dict[str, Any]) -> list[Criterion]:
    """Return the criteria asked for, taking their words out of `choices`.

    A criterion for every sensitive column has an empty column.
    """
    levels = ("l", "t", "alpha", "beta", "disclosure")
    return make_criteria(
        **{name: choices.pop(name) for name in ("k", "k_map", "presence", *levels)}
    )
