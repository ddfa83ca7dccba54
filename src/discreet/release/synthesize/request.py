"""A request for a synthetic table: all that decides it besides the data, and what it costs."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Protocol

import numpy as np

from discreet.domain.declared import Need
from discreet.dp.accounting import rho_of_epsilon
from discreet.dp.budget import Price
from discreet.dp.noise import Noise
from discreet.dp.spending import (
    PureSpending,
    ZcdpSpending,
    divide_budget,
)
from discreet.errors import InvalidBudget, UnknownColumn, WrongUsage, did_you_mean
from discreet.release.synthesize.column_looks import column_scales
from discreet.release.synthesize.domain import TableDomain
from discreet.release.synthesize.model import SyntheticModel
from discreet.release.synthesize.resolutions import ColumnShape
from discreet.release.synthesize.rounds import FAST, FULL, PURE, Counter, FitSettings, fit_model

METHODS: dict[str, FitSettings] = {"full": FULL, "fast": FAST, "pure": PURE}
DEFAULT_DELTA = "1e-9"
# Generators that learn from rows without noise: their tables repeat people, and promise nothing.
NOT_PRIVATE = (
    *("ctgan", "tvae", "gan", "copula", "gaussian-copula", "copulagan", "vae", "diffusion"),
    *("tabddpm", "great", "smote", "bootstrap", "sdv", "synthpop", "cart", "bayesian-network"),
)


class RowCounts(Counter, Protocol):
    """What counts rows of bounded units: a unit changes a marginal by `sensitivity`, a row is `one`."""

    @property
    def sensitivity(self) -> int:
        """The most that one unit changes the counts of a marginal."""
        ...

    @property
    def one(self) -> int:
        """What a whole row counts."""
        ...


def require_method(method: str) -> str:
    """Return a method by its name.

    Raises:
        WrongUsage: There is no such method, or it is one that protects no one.

    >>> require_method("fast")
    'fast'
    """
    if method in METHODS:
        return method
    if method.lower().replace("_", "-") in NOT_PRIVATE:
        raise WrongUsage(
            f"'{method}' is refused: such a generator learns from rows without noise, so that its table can "
            "repeat a person's values, and nothing bounds what it reveals. Use full, fast or pure, which "
            "are differentially private."
        )
    raise WrongUsage(f"There is no method '{method}'.{did_you_mean(method, METHODS)}")


def column_shapes(domain: TableDomain) -> tuple[ColumnShape, ...]:
    """Return what the fit knows of each column."""
    return tuple(
        ColumnShape(column.size, column.is_ordered, column.levels, has_missing=True)
        for column in domain.columns
    )


@dataclass(frozen=True)
class SynthesisRequest:
    """A synthetic table that is asked for.

    Attributes:
        domain: The public domain of its columns.
        method: `full`, `fast` or `pure`.
        epsilon: What it may cost.
        delta: The chance that Gaussian noise does not cover; 0 for `pure`.
        target: The column that others are to predict.
        searched: The columns whose values or bounds are found privately, and which of both. They are in the
            domain once they were found.
        search_share: The share of the price that finds them.
        search_facts: What else is declared that decides these columns: their hierarchies, as texts.
    """

    domain: TableDomain
    method: str
    epsilon: Fraction
    delta: Fraction
    target: str | None = None
    searched: tuple[tuple[str, Need], ...] = ()
    search_share: Fraction = Fraction(0)
    search_facts: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        require_method(self.method)
        if self.epsilon <= 0:
            raise InvalidBudget("A synthetic table costs an epsilon above 0, such as 1.")
        if self.method == "pure" and self.delta:
            raise InvalidBudget("The method pure has no delta. Leave delta out, or take full.")
        if self.method != "pure" and not 0 < self.delta < 1:
            raise InvalidBudget(
                f"The method {self.method} needs a delta between 0 and 1, such as {DEFAULT_DELTA}. "
                "Without a delta, take pure."
            )
        if self.searched and not 0 < self.search_share < 1:
            raise InvalidBudget("The share that finds domains is above 0 and below 1, such as 0.1.")
        if not self._whole_amount:
            raise InvalidBudget(
                "No Gaussian noise is large enough for this epsilon and delta. Give larger ones, or take pure."
            )
        names = [column.name for column in self.domain.columns]
        names += [name for name, _ in self.searched]
        if self.target is not None and self.target not in names:
            raise UnknownColumn(
                f"The target '{self.target}' is not among the synthesized columns."
                f"{did_you_mean(self.target, names)}"
            )

    @property
    def settings(self) -> FitSettings:
        """How the table is fitted."""
        return METHODS[self.method]

    @property
    def price(self) -> Price:
        """What the ledger is charged.

        Guarantee: Gaussian noise of rho-zCDP is (epsilon, delta)-DP (Bun & Steinke 2016, Lemma 3.5); pure
        epsilon-DP is epsilon²/2-zCDP (Proposition 3.3). Where values are searched for, half of delta is
        the chance that a rare one is found.
        """
        if self.method == "pure":
            return Price(self.epsilon, Fraction(0), self.epsilon**2 / 2, Fraction(0))
        return Price(self.epsilon, self.delta, self._whole_amount, self.slip)

    @property
    def slip(self) -> Fraction:
        """The chance that a search finds a value that one unit alone has."""
        has_values = any(need == "values" for _, need in self.searched)
        return self.delta / 2 if has_values else Fraction(0)

    @property
    def search_amount(self) -> Fraction:
        """What the searches cost: a rho, or an epsilon where the method is pure."""
        return self._whole_amount * self.search_share if self.searched else Fraction(0)

    @property
    def _whole_amount(self) -> Fraction:
        """What searches and counts may cost together: a rho, or an epsilon where the method is pure."""
        if self.method == "pure":
            return self.epsilon
        return rho_of_epsilon(self.epsilon, delta=self.delta - self.slip)

    @property
    def sizes(self) -> list[int]:
        """How many codes each column has."""
        return [column.size for column in self.domain.columns]

    def key(self) -> str:
        """Return one text for all that decides the model; equal requests are paid once."""
        content: dict[str, Any] = {
            "synthesize": 1,
            "domain": self.domain.to_content(),
            "method": self.method,
            "epsilon": str(self.epsilon),
            "delta": str(self.delta),
            "target": self.target,
        }
        if self.searched:
            content["searched"] = [list(one) for one in self.searched]
            content["search_share"] = str(self.search_share)
            content["search_facts"] = list(self.search_facts)
        return json.dumps(content, sort_keys=True, ensure_ascii=True, separators=(",", ":"))

    @property
    def counts_amount(self) -> Fraction:
        """What counts may cost: a rho, or an epsilon where the method is pure."""
        return self._whole_amount - self.search_amount

    def make_budget(
        self,
        *,
        sensitivity: int,
        one: int,
        noise: Noise | None = None,
        amount: Fraction | None = None,
    ) -> ZcdpSpending:
        """Return what the looks at counts are paid from: `amount`, by default all of it."""
        made = PureSpending if self.method == "pure" else ZcdpSpending
        paid = self.counts_amount if amount is None else amount
        return made(paid, sensitivity=sensitivity, one=one, noise=noise)

    def fit(self, counter: RowCounts, *, seed: int, noise: Noise | None = None) -> SyntheticModel:
        """Return the model of the rows that `counter` counts, for the price of the request."""
        return fit_model(
            counter,
            column_shapes(self.domain),
            self.make_budget(sensitivity=counter.sensitivity, one=counter.one, noise=noise),
            target=None if self.target is None else self.domain.place(self.target),
            settings=self.settings,
            chance=np.random.default_rng(seed),
            rules=self.domain.rules,
        )

    def expected_errors(self, *, sensitivity: int, one: int) -> Sequence[float]:
        """Return the standard error of a count of one value, for each column; no data are read."""
        shapes = column_shapes(self.domain)
        return self.column_errors(shapes, sensitivity=sensitivity, one=one)

    def column_errors(
        self,
        shapes: Sequence[ColumnShape],
        *,
        sensitivity: int,
        one: int = 1,
        amount: Fraction | None = None,
    ) -> list[float]:
        """Return the standard error of a count of one value, for each column."""
        budget = self.make_budget(sensitivity=sensitivity, one=one, amount=amount)
        first = budget.left if len(shapes) == 1 else None
        share = first or divide_budget(budget.left, self.settings.shares)[0]
        return column_scales(shapes, budget, share)
