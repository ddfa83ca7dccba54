"""A private estimate as a result: what was estimated, how exact it is, and what it cost."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from discreet.result import Result


@dataclass(frozen=True)
class AggregatedEstimate(Result):
    """A private estimate by sample and aggregate.

    Attributes:
        source: What it was estimated from.
        table: The table's name.
        verdict: One sentence.
        estimator: The name of the callable.
        estimate: The number, or a number for each range.
        noise_error: The standard error that noise gives it.
        block_error: The standard error of the average of blocks, as far as their noisy quartiles let know it;
            None where the average was a plain mean.
        warning: What the estimate is off by besides.
        blocks: How many blocks there were.
        aggregate: How they were averaged: `mean` or `winsorized`.
        epsilon: What it cost.
        delta: The chance that noise does not cover.
        unit: Whose rows are protected together.
        spent: What was charged this time.
        remaining: What is left.
        cached: Whether it was estimated before, so that it was free.
        cautions: What to know.
    """

    source: str
    table: str
    verdict: str
    estimator: str
    estimate: float | tuple[float, ...]
    noise_error: float | tuple[float, ...]
    block_error: float | tuple[float, ...] | None
    warning: str
    blocks: int
    aggregate: str
    epsilon: float
    delta: float
    unit: str
    spent: Mapping[str, float]
    remaining: Mapping[str, Any]
    cached: bool
    cautions: tuple[str, ...]
