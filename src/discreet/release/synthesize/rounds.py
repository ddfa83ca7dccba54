"""From counts to a fitted table: measure columns, then in rounds choose, measure and fit marginals."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Protocol

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from discreet.dp.spending import ZcdpSpending, divide_budget
from discreet.release.synthesize.candidates import (
    MEAN_ERROR,
    Candidate,
    fit_into_tree,
    list_candidates,
    list_pairs,
    list_target_pairs,
    list_triples,
    measure_misfit,
    pick_candidates,
    working_levels,
)
from discreet.release.synthesize.column_looks import (
    ColumnLook,
    combine_looks,
    look_at_columns,
    settle_frequencies,
)
from discreet.release.synthesize.fit import NoisyMarginal, fit_maximum_entropy, sum_coarse
from discreet.release.synthesize.junction_tree import Codes, Columns, Floats
from discreet.release.synthesize.model import FittedColumns, SyntheticModel
from discreet.release.synthesize.resolutions import ColumnShape, choose_resolutions
from discreet.release.synthesize.rules import Cells, Rows, Rule, RuleSystem, resolve_rules

Counts = NDArray[np.int64]

_SHARES_OF_ROUNDS = {1: (1.0,), 2: (0.6, 0.4), 3: (0.5, 0.3, 0.2)}
# How many rows stand for the model when it is compared with counts, and what that comparison lacks.
_MODEL_ROWS = 200_000
_MODEL_ERROR = 0.4
# Where single columns are noisy: the shares of columns, choices, marginals in what is left, the penalty, and picks.
_NOISY_SHARES = (0.5, 0.06, 0.44)
_CAUTIOUS = 1.2
_FEW = 8


@dataclass(frozen=True)
class FitSettings:
    """How a table is fitted; none of it depends on data.

    Attributes:
        rounds: How often marginals are chosen.
        most_cells: How large the junction tree may become.
        shares: Of the budget: columns, choices, marginals.
        caps: How many codes a column has at each level of resolution.
        penalty: How much an error by noise weighs against one of the model.
        has_triples: Whether triples with the target are tried from the second round on.
        picks: How many marginals a round may choose.
        noisy: From which expected error of single columns on the fit is cautious.
        target_level: At which level of resolution every column is measured with the target.
    """

    rounds: int = 3
    most_cells: int = 60_000
    shares: tuple[float, float, float] = (0.2, 0.05, 0.75)
    caps: tuple[int, ...] = (3, 6, 12, 64)
    penalty: float = 0.5
    has_triples: bool = True
    picks: int = 20
    noisy: float = 0.02
    target_level: int = 1


FULL = FitSettings()
FAST = FitSettings(
    rounds=1,
    most_cells=20_000,
    shares=(0.25, 0.05, 0.7),
    has_triples=False,
    picks=40,
)
# For a budget without delta: what suits Laplace noise.
PURE = FitSettings(rounds=1, shares=(0.2, 0.1, 0.7), has_triples=False, noisy=0.04, target_level=0)


class Counter(Protocol):
    """What counts rows, where they are."""

    def count(self, columns: Sequence[Columns], maps: Sequence[Codes] | None) -> list[Counts]:
        """Return the counts of each of `columns`, of values or of the codes that `maps` gives them."""
        ...


def fit_model(
    counter: Counter,
    shapes: Sequence[ColumnShape],
    allowance: ZcdpSpending,
    *,
    target: int | None,
    settings: FitSettings,
    chance: Generator,
    rules: Iterable[Rule] = (),
) -> SyntheticModel:
    """Return the model of a table, measured within `allowance`.

    Where noise would hide even single columns, more is spent on them, and marginals are chosen once
    and with caution: what decides it is the noisy counts of the columns.

    Args:
        counter: What counts rows.
        shapes: What is public about the values of each column.
        allowance: What may be spent; all of it.
        target: The column that others are to predict.
        settings: How it is fitted.
        chance: Randomness that needs no protection: which rows of the model are compared.
        rules: What holds in every row; public.

    Raises:
        InvalidPolicy: No row can meet all rules; nothing was counted.
    """
    system = resolve_rules(rules, [one.size for one in shapes], target=target)
    shapes = [shapes[place] for place in system.places]
    fitted = _FittedCounter(counter, system)
    exact = fitted.count([(place,) for place in range(len(shapes))], None)
    for_columns, for_choices, for_marginals = divide_budget(allowance.left, settings.shares)
    is_alone = len(shapes) == 1
    first = allowance.left if is_alone else for_columns
    looks = [look_at_columns(exact, shapes, allowance, first)]
    columns = _combine_columns(looks, shapes, settings.caps)
    if columns.expected_error > settings.noisy and not is_alone:
        settings = replace(
            settings, rounds=1, penalty=_CAUTIOUS, picks=_FEW, has_triples=False, target_level=0
        )
        more, for_choices, for_marginals = divide_budget(allowance.left, _NOISY_SHARES)
        looks.append(look_at_columns(exact, shapes, allowance, more))
        columns = _combine_columns(looks, shapes, settings.caps)
    fitted_target = None if target is None else system.places.index(target)
    run = _Rounds(fitted, columns, allowance, fitted_target, settings, chance, system)
    if is_alone:  # and stands with no other in a marginal
        return run.finish()
    saved = Fraction(0)
    for number, share in enumerate(
        divide_budget(for_marginals, _SHARES_OF_ROUNDS[settings.rounds])
    ):
        saved = run.take(number, for_choices / settings.rounds, share + saved)
    return run.finish()


@dataclass(frozen=True)
class _FittedCounter:
    """Counts columns that are fitted."""

    counter: Counter
    system: RuleSystem

    def count(self, columns: Sequence[Columns], maps: Sequence[Codes] | None) -> list[Counts]:
        """Return the counts of each of `columns`, which are places among the fitted ones."""
        places = self.system.places
        whole: list[Codes] | None = None
        if maps is not None:
            whole = [np.zeros(size, np.intp) for size in self.system.sizes]
            for place, codes in zip(places, maps, strict=True):
                whole[place] = codes
        wanted = [tuple(places[one] for one in some) for some in columns]
        return self.counter.count(wanted, whole)


def _combine_columns(
    looks: Sequence[Sequence[ColumnLook]], shapes: Sequence[ColumnShape], caps: Sequence[int]
) -> FittedColumns:
    """Return what follows from all looks at the columns."""
    combined = [combine_looks(of_column) for of_column in zip(*looks, strict=True)]
    counts, scales = [one.counts for one in combined], [one.scale for one in combined]
    weights = [1 / (scale**2 * len(one)) for scale, one in zip(scales, counts, strict=True)]
    totals = sum(float(one.sum()) * weight for one, weight in zip(counts, weights, strict=True))
    total = max(1.0, totals / sum(weights))
    frequencies = [settle_frequencies(one, total) for one in combined]
    resolutions = tuple(
        choose_resolutions(shares, one.counts, scale=one.coarse_scale, shape=shape, caps=caps)
        for shares, one, shape in zip(frequencies, combined, shapes, strict=True)
    )
    return FittedColumns(total, tuple(counts), tuple(scales), tuple(frequencies), resolutions)


@dataclass
class _Rounds:
    """What is known after some rounds."""

    counter: Counter
    columns: FittedColumns
    allowance: ZcdpSpending
    target: int | None
    settings: FitSettings
    chance: Generator
    system: RuleSystem
    chosen: list[Candidate] = field(default_factory=list[Candidate])
    marginals: list[tuple[Floats, float]] = field(default_factory=list[tuple[Floats, float]])
    model: SyntheticModel | None = None
    _counted: dict[Columns, Counts] = field(default_factory=dict[Columns, Counts])

    def take(self, number: int, for_choices: Fraction, for_marginals: Fraction) -> Fraction:
        """Choose, measure and fit; return what was not worth spending."""
        is_last = number == self.settings.rounds - 1
        candidates = list_candidates(self._wanted_columns(number), self.columns.resolutions)
        new = self._choose_marginals(candidates, number, for_choices, for_marginals)
        if not new and not is_last:
            return for_marginals
        shares = (
            divide_budget(for_marginals, [one.cells**self.allowance.power for one in new])
            if new
            else []
        )
        for one, share in zip(new, shares, strict=True):
            maps = [self.columns.resolutions[place].levels[one.level] for place in one.columns]
            exact = sum_coarse(self._counted[one.columns], maps, one.shape)
            noisy = self.allowance.measure(np.rint(exact).astype(np.int64).ravel(), share)
            scale = self.allowance.scale(share)
            self.chosen.append(one)
            self.marginals.append((noisy.reshape(one.shape), scale))
        self.model = self._fit_model(250 if is_last else 120)
        return Fraction(0)

    def finish(self) -> SyntheticModel:
        """Return the model."""
        return self.model or self._fit_model(250)

    def _wanted_columns(self, number: int) -> list[Columns]:
        count = len(self.columns.resolutions)
        wanted = list_pairs(count)
        if number and self.target is not None and self.settings.has_triples:
            wanted += list_triples(count, self.target)
        missing = [one for one in wanted if one not in self._counted]
        maps = [one.finest for one in self.columns.resolutions]
        for some, counts in zip(missing, self.counter.count(missing, maps), strict=True):
            self._counted[some] = counts
        return wanted

    def _choose_marginals(
        self,
        candidates: Sequence[Candidate],
        number: int,
        for_choices: Fraction,
        for_marginals: Fraction,
    ) -> list[Candidate]:
        """Return marginals, each chosen for its share of `for_choices`; at first also pairs with the target."""
        settings, allowance = self.settings, self.allowance
        forced = (
            list_target_pairs(candidates, self.target, settings.target_level) if number == 0 else []
        )
        scale = allowance.scale(for_marginals / (settings.picks + len(forced)))
        rows = None if self.model is None else self.model.sample_finest(_MODEL_ROWS, self.chance)
        picked = pick_candidates(
            candidates,
            self._count_gains(candidates, scale, rows),
            allowance,
            price=for_choices,
            picks=settings.picks,
        )
        known = {one.columns for one in picked}
        more = [one for one in forced if one.columns not in known]
        return fit_into_tree(
            [*picked[:1], *more, *picked[1:]],
            self.chosen,
            self.columns.resolutions,
            together=[one.columns for one in self.system.fitted_zeros],
            most_cells=int(settings.most_cells * (0.5 + 0.5 * (number + 1) / settings.rounds)),
        )

    def _count_gains(
        self, candidates: Sequence[Candidate], scale: float, rows: Rows | None
    ) -> list[int]:
        """Return what measuring each candidate gains: how far the model is off, less what noise adds.

        Guarantee: whole numbers of counted units. One unit changes each as much as its counts.
        """
        gains: list[int] = []
        # Rows of the model differ from it by chance.
        chance = 0.0 if rows is None else _MODEL_ERROR * self.columns.total / math.sqrt(len(rows))
        for columns, some in itertools.groupby(candidates, key=lambda one: one.columns):
            alike = list(some)
            differences = self._counted[columns] - self._expected_counts(columns, rows)
            misfits = measure_misfit(alike, differences, self.columns.resolutions)
            for one, misfit in zip(alike, misfits, strict=True):
                added = self.settings.penalty * MEAN_ERROR * scale * one.cells
                added += chance * math.sqrt(one.cells)
                gains.append(misfit - round(self.allowance.one * added))
        return gains

    def _expected_counts(self, columns: Columns, rows: Rows | None) -> Counts:
        """Return what the model has for counts of finest codes, as whole numbers."""
        found = self.columns
        shape = [found.resolutions[one].sizes[-1] for one in columns]
        if rows is None:
            alone = [found.finest_frequencies[one] for one in columns]
            product = alone[0]
            for one in alone[1:]:
                product = np.multiply.outer(product, one)
            return np.rint(self.allowance.one * found.total * product).astype(np.int64)
        codes = np.zeros(len(rows), np.int64)
        for one, size in zip(columns, shape, strict=True):
            codes = codes * size + rows[:, one]
        counts = np.bincount(codes, minlength=math.prod(shape)).reshape(shape)
        return np.rint(counts * (self.allowance.one * found.total / len(rows))).astype(np.int64)

    def _fit_model(self, iterations: int) -> SyntheticModel:
        found = self.columns
        levels = working_levels(self.chosen, len(found.resolutions))
        marginals: list[NoisyMarginal] = []
        for place, (level, one) in enumerate(zip(levels, found.resolutions, strict=True)):
            codes, size = one.of_values(level), one.sizes[level]
            counts = sum_coarse(found.counts[place], [codes], [size])
            scale = found.scales[place] * math.sqrt(len(codes) / size)
            marginals.append(NoisyMarginal((place,), (np.arange(size),), counts, scale))
        for one, (counts, scale) in zip(self.chosen, self.marginals, strict=True):
            maps = tuple(
                found.resolutions[place].onto(levels[place], one.level) for place in one.columns
            )
            marginals.append(NoisyMarginal(one.columns, maps, counts, scale))
        sizes = [one.sizes[level] for one, level in zip(found.resolutions, levels, strict=True)]
        impossible: list[tuple[Columns, Cells]] = []
        for one in self.system.fitted_zeros:
            maps = [found.resolutions[place].of_values(levels[place]) for place in one.columns]
            possible = sum_coarse(~one.cells, maps, [sizes[place] for place in one.columns])
            impossible.append((one.columns, possible == 0))
        table = fit_maximum_entropy(
            sizes, marginals, total=found.total, impossible=impossible, iterations=iterations
        )
        return SyntheticModel(
            found,
            table,
            tuple(levels),
            tuple(self.chosen),
            tuple(scale for _, scale in self.marginals),
            self.system,
        )
