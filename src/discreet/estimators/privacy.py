"""What a fitted estimator promises of the people it was learned from, and what it cost them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from discreet.answer.ledgers import ledger_location
from discreet.dp.accounting import rho_of_epsilon
from discreet.dp.accounting.exact import to_fraction
from discreet.learning.record import LearnedModel
from discreet.result import Result


class UntrackedSpendingWarning(UserWarning):
    """Fits of one table add up, and no ledger that outlives the estimator adds them."""


@dataclass(frozen=True)
class EstimatorPrivacy(Result):
    """The promise of a fitted estimator.

    Attributes:
        epsilon: What the model cost.
        delta: The chance that noise does not cover.
        rho: The zCDP that its looks at the data amount to.
        unit: Whose rows are protected together.
        rows_per_unit: How many rows of a unit counted.
        neighbors: Which tables the promise compares.
        spent: What this fit was charged; nothing where the same request was paid before.
        remaining: What the ledger has left of the table's budget; empty where no ledger is kept.
        is_tracked: Whether a ledger outlives the estimator, so that further fits are added to this one.
        event: What the ledger calls the charge.
        ledger: Where it is.
    """

    epsilon: float
    delta: float
    rho: float
    unit: str
    rows_per_unit: int
    neighbors: str
    spent: Mapping[str, float]
    remaining: Mapping[str, Any]
    is_tracked: bool
    event: str
    ledger: str


def describe_promise(model: LearnedModel, *, ledger: str | Path | None) -> EstimatorPrivacy:
    """Return what a model promises; `ledger` is where it was charged, None where it was read from a file."""
    place = str(ledger or "")
    is_tracked = place not in ("", IN_MEMORY)
    said = model.saved.privacy
    epsilon, delta = to_fraction(said["epsilon"]), to_fraction(said["delta"])
    rho = epsilon**2 / 2 if delta == 0 else rho_of_epsilon(epsilon, delta=delta)
    return EstimatorPrivacy(
        epsilon=float(epsilon),
        delta=float(delta),
        rho=float(rho),
        unit=model.unit,
        rows_per_unit=model.rows_per_unit,
        neighbors=_describe_neighbors(model.unit),
        spent=dict(model.spent),
        remaining=dict(model.remaining) if is_tracked else {},
        is_tracked=is_tracked,
        event=f"learn {model.table} ({model.learner})",
        ledger=place,
    )


def _describe_neighbors(unit: str) -> str:
    rows = "one row" if unit == "row" else f"all rows of one {unit}"
    return f"tables of which one lacks {rows} of the other"


IN_MEMORY = ":memory:"


def find_ledger_place(ledger: str | Path | None) -> str | Path:
    """Return where fits are charged: what was given, `DISCREET_LEDGER`, or memory."""
    return ledger_location(None) if ledger is None else ledger
