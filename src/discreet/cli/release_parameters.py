"""Words of the command line that say what a release must be: criteria, shares, times."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import click

from discreet.api.criteria import (
    CriterionLevel,
    criteria_by_option,
    is_by_column,
    level_kinds,
    parse_level,
)
from discreet.criteria.criterion import parameter_types
from discreet.registry import CriterionSpec


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

    def __init__(self, spec: CriterionSpec) -> None:
        self.spec = spec
        self.name = "[column=][kind:]number" if level_kinds(spec) else "[column=]number"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> CriterionLevel:
        """Return the level; the last equals sign ends the column's name."""
        if isinstance(value, CriterionLevel):
            return value
        found = parse_level(str(value), self.spec)
        if found is None:
            kinds = level_kinds(self.spec)
            words = f" Kinds: {', '.join(kinds)}." if kinds else ""
            self.fail(f"Write {' or '.join(self.spec.examples)}.{words}", param, ctx)
        return found


def criteria_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options that ask for criteria."""
    for spec in reversed(criteria_by_option().values()):
        command = click.option(
            f"--{spec.option.replace('_', '-')}",
            spec.option,
            hidden=spec.hidden,
            type=_option_type(spec),
            multiple=is_by_column(spec),
            metavar=spec.metavar,
            help=spec.option_summary,
        )(command)
    return command


def _option_type(spec: CriterionSpec) -> Any:
    if is_by_column(spec):
        return CriterionLevelType(spec)
    types = [
        click.IntRange(None if stated.at_least is None else int(stated.at_least))
        if written is int
        else click.FLOAT
        for written, stated in parameter_types(spec.criterion).values()
    ]
    return types[0] if len(types) == 1 else tuple(types)
