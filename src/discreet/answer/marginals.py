"""Counts by public keys of several questions: one set of residuals that answers all of them, consistently.

Rows whose key is missing or not among the public values are counted too, in a cell of their own that no answer shows:
they belong to the totals over that key. A key that has a public value in every row needs no such cell.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from math import prod, sqrt
from typing import Any

import numpy as np
import pyarrow as pa
from sqlglot import exp

from discreet.answer import bounded_queries
from discreet.answer.aggregates import AggregateKind
from discreet.answer.blocks import ROWS, row_count_block
from discreet.answer.contribution import Contribution, contribution_limits
from discreet.answer.cut_rows import CutProbe, exact_bins, may_cut_rows
from discreet.answer.expressions.typed import TypedExpression, value_domain
from discreet.answer.keys import TYPES, KeyDomain, fit_column, public_groups
from discreet.answer.perturb import ReleasedTable, integer_column, key_columns
from discreet.answer.plan import PrivateQueryPlan, cut_event, make_cut_probe
from discreet.answer.question import PrivateQuery, aggregate_name, key_name
from discreet.arrow import pc
from discreet.dp import event as events
from discreet.dp.mechanisms.gaussian import gaussian_event, gaussian_vector_of_scale
from discreet.dp.mechanisms.residuals import (
    Columns,
    cell_factor,
    centered_residual,
    kept_share,
    marginal_variance,
    residual_subsets,
    scaled_residual,
    squared_residual,
    sum_residuals,
)
from discreet.dp.noise import Noise
from discreet.engines.engine import ArrowTable, Engine, Kind

MOST_KEYS = 10  # of one question: it has a residual for each subset of them
MERGED_CELLS = 100_000  # of groupings that one query of the engine counts together
_RESIDUAL = "residual"
Array = Any


@dataclass(frozen=True)
class MarginalKey:
    """A key with its public values; with `has_rest` a row may have none of them."""

    typed: TypedExpression
    values: tuple[object, ...]
    has_rest: bool

    @property
    def size(self) -> int:
        """How many cells it has."""
        return len(self.values) + self.has_rest


@dataclass(frozen=True)
class MarginalFamily:
    """Counts of the same rows by several sets of keys; `sets` has an entry for each question's grouping."""

    private_query: PrivateQuery
    keys: tuple[MarginalKey, ...]
    limit: Contribution
    sets: tuple[Columns, ...]

    @property
    def sizes(self) -> tuple[int, ...]:
        """How many cells each key has."""
        return tuple(key.size for key in self.keys)

    @property
    def subsets(self) -> list[Columns]:
        """The residuals that answer everything."""
        return residual_subsets(self.sets, self.sizes)

    @property
    def is_cut(self) -> bool:
        """Whether limits may cut off rows."""
        return may_cut_rows(self.limit, only_people=False, has_keys=bool(self.keys))

    def squared_sensitivity(self, subset: Columns) -> int:
        """Return the squares of what one unit adds to a residual, summed.

        A unit's rows add up to at most `rows` times `one`, and no way to spread them over cells changes a
        residual more than all of them in one cell: the norm of a sum is at most the sum of norms.
        """
        limit = self.limit
        shape = [self.sizes[column] for column in subset]
        return squared_residual(shape) * limit.squared * (limit.one * limit.change) ** 2

    def residual_errors(self) -> list[float]:
        """Return, for each residual, the total variance of all cells that it causes for a price of 1.

        The variance of its noise is kept_share · squared / (2 rho), in rows.
        """
        sizes = self.sizes
        caused = dict.fromkeys(self.subsets, 0.0)
        for columns in self.sets:
            cells = prod(len(self.keys[column].values) for column in columns)
            for subset in residual_subsets([columns], sizes):
                caused[subset] += cells * cell_factor(columns, subset, sizes)
        unit = self.limit.squared * self.limit.change**2 / 2
        return [total * kept_share(subset, sizes) * unit for subset, total in caused.items()]


@dataclass(frozen=True)
class NoisyResidual:
    """The residual of some keys, with the noise that each of its cells gets."""

    columns: Columns
    squared: int
    scale: Fraction


@dataclass(frozen=True)
class MarginalsPlan:
    """How all marginals of a family are measured."""

    family: MarginalFamily
    residuals: tuple[NoisyResidual, ...]
    queries: tuple[tuple[Columns, exp.Select], ...]
    cut: CutProbe | None
    event: events.Event

    @property
    def private_query(self) -> PrivateQuery:
        """The rows that are counted, under the name of what is released."""
        return self.family.private_query

    def cell_deviation(self, columns: Columns) -> float:
        """Return the standard deviation of the noise in each cell of a marginal, in rows."""
        family = self.family
        cells = [prod(family.sizes[c] for c in item.columns) for item in self.residuals]
        variances = {
            item.columns: (float(item.scale) / (count * family.limit.one)) ** 2
            for item, count in zip(self.residuals, cells, strict=True)
        }
        return sqrt(marginal_variance(columns, variances, family.sizes))


@dataclass(frozen=True)
class ExactMarginals:
    """The exact residuals of a family, before any noise; they are never released."""

    residuals: Mapping[Columns, Array]
    cut: Array | None


def is_marginal(leaf: PrivateQuery, domain: KeyDomain | None) -> bool:
    """Whether a leaf asks for nothing but counts of rows by public keys, each of them once."""
    trees = {key.tree.sql() for key in leaf.keys}
    return (
        domain is not None
        and [item.ask for item in leaf.aggregates] == [AggregateKind.COUNT]
        and len(trees) == len(leaf.keys) <= MOST_KEYS
    )


def family_key(leaf: PrivateQuery) -> tuple[object, ...]:
    """Return what leaves have in common that count the same rows within the same limits."""
    rows = leaf.rows
    return (
        rows.frame.sql(),
        tuple(tree.sql() for tree in rows.unit),
        rows.forms,
        rows.limits,
        (rows.fan, rows.is_single, rows.has_children),
        rows.rank.sql() if rows.rank is not None else None,
        tuple((touch.held.account, touch.cells) for touch in rows.touches),
    )


def make_family(name: str, leaves: Sequence[PrivateQuery]) -> MarginalFamily:
    """Return the family of leaves that count the same rows.

    Raises:
        QuestionRefused: The unit may have any number of rows, and the policy sets no limit.
    """
    keys: dict[str, MarginalKey] = {}
    for key in (key for leaf in leaves for key in leaf.keys):
        keys.setdefault(key.tree.sql(), _make_key(key))
    places = {tree: place for place, tree in enumerate(keys)}
    sets = [
        tuple(sorted(places[leaf.keys[position].tree.sql()] for position in wanted))
        for leaf in leaves
        for wanted in leaf.sets
    ]
    rows = leaves[0].rows
    limit = contribution_limits(rows, has_keys=bool(keys), needs_groups=False)
    query = PrivateQuery(
        name, rows, tuple(key.typed for key in keys.values()), leaves[0].aggregates, tuple(sets)
    )
    return MarginalFamily(query, tuple(keys.values()), limit, tuple(sets))


def _make_key(typed: TypedExpression) -> MarginalKey:
    values = typed.values or ()
    return MarginalKey(typed, values, has_rest=not _has_value_in_every_row(typed))


def _has_value_in_every_row(typed: TypedExpression) -> bool:
    """Whether the expression alone proves it: a column may hold what its policy does not list."""
    if typed.nullable:
        return False
    every = None
    if typed.kind is Kind.BOOLEAN:
        every = (False, True)
    elif typed.kind is Kind.INTEGER and typed.low is not None and typed.high is not None:
        every = value_domain(replace(typed, values=None))
    return every is not None and set(every) <= set(typed.values or ())


def plan_family(
    family: MarginalFamily, shares: Sequence[Fraction], of_cut: Fraction
) -> MarginalsPlan:
    """Return the family with noise that costs so much rho for each residual."""
    residuals: list[NoisyResidual] = []
    for subset, share in zip(family.subsets, shares, strict=True):
        squared = family.squared_sensitivity(subset)
        scale = gaussian_event(rho=share, squared_sensitivity=squared).scale
        residuals.append(NoisyResidual(subset, squared, scale))
    cut = None
    done: list[events.Event] = [
        events.Gaussian(Fraction(item.squared), item.scale) for item in residuals
    ]
    if family.is_cut and of_cut:
        cut = make_cut_probe(family.private_query, family.limit, share=of_cut, noise="gaussian")
        done.append(cut_event(cut, "gaussian"))
    rows = family.private_query.rows
    queries = tuple(
        (
            columns,
            bounded_queries.main_query(
                rows,
                [family.keys[column].typed for column in columns],
                (row_count_block(),),
                family.limit,
            ),
        )
        for columns in _cover_sets(family.sets, family.sizes)
    )
    return MarginalsPlan(family, tuple(residuals), queries, cut, events.Sequence(tuple(done)))


def _cover_sets(sets: Sequence[Columns], sizes: Sequence[int]) -> list[Columns]:
    """Return groupings that contain all of `sets`: few, and each with few cells unless one set has more."""
    found: list[set[int]] = []
    for columns in sorted(set(sets), key=lambda one: (-prod(sizes[c] for c in one), one)):
        wanted = set(columns)
        if any(wanted <= known for known in found):
            continue
        for known in found:
            if prod(sizes[column] for column in known | wanted) <= MERGED_CELLS:
                known.update(wanted)
                break
        else:
            found.append(wanted)
    return [tuple(sorted(one)) for one in found]


def count_family(plan: MarginalsPlan, engine: Engine) -> ExactMarginals:
    """Run all queries of a family. Nothing here is random, so that it can be stopped and run again."""
    family = plan.family
    waiting = [item.columns for item in plan.residuals]
    found: dict[Columns, Array] = {}
    for columns, query in plan.queries:
        counts = _count_cells(engine.run(query), [family.keys[column] for column in columns])
        mine = [subset for subset in waiting if set(subset) <= set(columns)]
        waiting = [subset for subset in waiting if subset not in mine]
        for subset in mine:
            dropped = tuple(i for i, column in enumerate(columns) if column not in subset)
            found[subset] = scaled_residual(
                np.asarray(counts.sum(axis=dropped)), one=family.limit.one
            )
    cut = exact_bins(engine.run(plan.cut.query), plan.cut.bins) if plan.cut is not None else None
    return ExactMarginals(found, cut)


def _count_cells(raw: ArrowTable, keys: Sequence[MarginalKey]) -> Array:
    """Return the counts of every cell, also of rows without a public value."""
    codes = np.zeros(raw.num_rows, np.int64)
    is_there = np.ones(raw.num_rows, bool)
    for index, key in enumerate(keys):
        kind = TYPES[key.typed.kind]
        column = fit_column(raw.column(key_name(index)).combine_chunks(), kind)
        known = pa.array(list(key.values), kind)
        code = pc.index_in(column, value_set=known, skip_nulls=True).fill_null(-1)
        place = code.to_numpy(zero_copy_only=False).astype(np.int64)
        if key.has_rest:
            place = np.where(place < 0, len(key.values), place)
        is_there &= place >= 0
        codes = codes * key.size + np.maximum(place, 0)
    counts = np.zeros(prod(key.size for key in keys), np.int64)
    np.add.at(counts, codes[is_there], integer_column(raw, ROWS)[is_there])
    return counts.reshape([key.size for key in keys])


def release_family(plan: MarginalsPlan, exact: ExactMarginals, *, noise: Noise) -> ReleasedTable:
    """Add noise to the exact residuals of a family, and return what may be released.

    Guarantee: rho-zCDP with the rho of `plan.event`: each residual is a vector of integers that one unit changes
    by at most `squared`, with discrete Gaussian noise (Canonne, Kamath & Steinke 2020, theorem 14).
    """
    parts: list[Array] = []
    one = plan.family.limit.one
    for item in plan.residuals:
        values = exact.residuals[item.columns]
        noisy, _ = gaussian_vector_of_scale(
            values.ravel(), scale=item.scale, squared_sensitivity=item.squared, noise=noise
        )
        parts.append(centered_residual(noisy.reshape(values.shape)).ravel() / one)
    table = pa.table({_RESIDUAL: pa.array(np.concatenate(parts), pa.float64())})
    if plan.cut is None or exact.cut is None:
        return ReleasedTable(table, 0)
    cut = exact.cut + noise.gaussian(plan.cut.scale, len(exact.cut))
    return ReleasedTable(table, 0, tuple(map(int, cut)))


def leaf_plan(plan: MarginalsPlan, leaf: PrivateQuery, domain: KeyDomain) -> PrivateQueryPlan:
    """Return the plan of one leaf, which runs no query: the family's residuals answer it."""
    nothing = events.Sequence(())
    return PrivateQueryPlan(
        leaf, domain, None, plan.family.limit, (), {}, (), (), None, None, plan.cut, nothing
    )


def answer_leaf(
    plan: MarginalsPlan, leaf: PrivateQueryPlan, released: ReleasedTable
) -> ReleasedTable:
    """Return the table of one leaf from the released residuals; counts have decimals, so that they add up."""
    family = plan.family
    residuals = _split_residuals(plan, released)
    places = {key.typed.tree.sql(): place for place, key in enumerate(family.keys)}
    query = leaf.private_query
    groups = public_groups(leaf.domain or KeyDomain((), ()))
    tables: list[ArrowTable] = []
    for wanted in query.sets:
        mine = [places[query.keys[position].tree.sql()] for position in wanted]
        columns = tuple(sorted(mine))
        cells = sum_residuals(columns, residuals, family.sizes)
        cells = cells[tuple(slice(len(family.keys[column].values)) for column in columns)]
        counts = cells.transpose([columns.index(column) for column in mine]).ravel()
        name = aggregate_name(0)
        moved = counts + plan.cell_deviation(columns)
        found = {**key_columns(leaf, groups, wanted), name: counts, f"{name}_0": moved}
        tables.append(pa.table(found))
    table = pa.concat_tables(tables, promote_options="permissive")
    return ReleasedTable(table, 1, released.cut)


def _split_residuals(plan: MarginalsPlan, released: ReleasedTable) -> dict[Columns, Array]:
    values = released.table.column(_RESIDUAL).to_numpy()
    found: dict[Columns, Array] = {}
    start = 0
    for item in plan.residuals:
        shape = [plan.family.sizes[column] for column in item.columns]
        found[item.columns] = values[start : start + prod(shape)].reshape(shape)
        start += prod(shape)
    return found
