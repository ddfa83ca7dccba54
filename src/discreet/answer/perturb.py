"""Exact sums in, noisy answers out: the only place where noise is added."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from math import exp, sqrt
from typing import Any

import numpy as np
import pyarrow as pa

from discreet.answer.aggregates import Aggregate, AggregateKind
from discreet.answer.blocks import ROWS, UNITS, SumBlock
from discreet.answer.cut_rows import exact_bins
from discreet.answer.keys import KeyDomain, KeyGroups, found_groups, public_groups
from discreet.answer.plan import NoisyBlock, PrivateQueryPlan, RankProbe
from discreet.answer.question import aggregate_name, key_name
from discreet.answer.statistics import read_aggregate_value, value_changes
from discreet.dp.mechanisms.quantiles import Quantile, Rank, choose_in_each
from discreet.dp.noise import Noise
from discreet.engines.engine import ArrowTable, Engine

Array = Any
_BATCH_CANDIDATES = 1 << 18  # candidates of all groups that are chosen from at once
COUNTS = (
    AggregateKind.COUNT,
    AggregateKind.COUNT_OF,
    AggregateKind.COUNT_UNITS,
    AggregateKind.COUNT_DISTINCT,
)


@dataclass(frozen=True)
class ReleasedTable:
    """A leaf's table after noise: keys, aggregates, and the aggregates once more for each shift.

    A shift moves one noisy sum by the standard deviation of its noise; how far that moves a column
    of the answer is what that noise contributes to its error. `cut` are the noisy sums that measure how
    many rows the limits cut off.
    """

    table: ArrowTable
    shifts: int
    cut: tuple[int, ...] | None = None


@dataclass(frozen=True)
class ExactResults:
    """The exact results of a leaf's queries, before any noise; they are never released."""

    groups: KeyGroups
    sums: Mapping[str, list[Array]]
    probes: Mapping[Aggregate, ArrowTable]
    cut: Array | None = None


def run_queries(plan: PrivateQueryPlan, engine: Engine) -> ExactResults:
    """Run all queries of a leaf. Nothing here is random, so that it can be stopped and run again."""
    groups, sums = _exact_sums(plan, engine)
    probes = {probe.aggregate: engine.run(probe.query) for probe in (*plan.distincts, *plan.ranks)}
    probe = plan.cut
    cut = exact_bins(engine.run(probe.query), probe.bins) if probe is not None else None
    return ExactResults(groups, sums, probes, cut)


def release_query(
    plan: PrivateQueryPlan, exact: ExactResults, *, noise: Noise, kind: str, consistent: bool
) -> ReleasedTable:
    """Add noise to the exact numbers of a leaf, and return what may be released."""
    groups, sums = exact.groups, exact.sums
    size = groups.size if plan.private_query.keys else 1
    noisy = {
        item.block.name: _with_noise(sums[item.block.name], item, noise, kind)
        for item in plan.blocks
    }
    if plan.threshold is not None and plan.selector is not None:
        kept = noisy[plan.selector][0] >= plan.threshold
        groups = groups.kept(kept)
        noisy = {name: [vertex[kept] for vertex in found] for name, found in noisy.items()}
        size = groups.size
    # Where rows were weighted, sums are in units of the full weight.
    one = {
        item.block.name: 1 if item.block.name == UNITS else plan.limit.one for item in plan.blocks
    }
    noisy = {name: [vertex / one[name] for vertex in found] for name, found in noisy.items()}
    deviation = {
        item.block.name: noise_deviation(float(item.scale), kind) / one[item.block.name]
        for item in plan.blocks
    }
    probes = _answer_probes(plan, exact.probes, groups, size, noise, kind)
    released = _assemble_released(plan, groups, noisy, probes, deviation, consistent=consistent)
    if plan.cut is None or exact.cut is None:
        return released
    draw = noise.laplace if kind == "laplace" else noise.gaussian
    cut = exact.cut + draw(plan.cut.scale, len(exact.cut))
    return replace(released, cut=tuple(map(int, cut)))


def _exact_sums(plan: PrivateQueryPlan, engine: Engine) -> tuple[KeyGroups, dict[str, list[Array]]]:
    """Return the groups and the exact sums of each, which are never released."""
    keys = len(plan.private_query.keys)
    known = public_groups(plan.domain) if plan.domain is not None else None
    if plan.query is None:
        return known or public_groups(KeyDomain((), ())), {}
    raw = engine.run(plan.query)
    groups = known or found_groups(raw, keys)
    places = groups.positions(raw) if keys else np.zeros(raw.num_rows, np.int64)
    size = groups.size if keys else 1
    return groups, {
        item.block.name: _block_sums(item.block, raw, places, size) for item in plan.blocks
    }


def _block_sums(block: SumBlock, raw: ArrowTable, places: Array, size: int) -> list[Array]:
    """Return the exact vertices of a block for every group."""
    names = {name for vertex in block.vertices for name in vertex}
    moments = {name: _scatter_values(integer_column(raw, name), places, size) for name in names}
    return [
        np.asarray(sum(factor * moments[name] for name, factor in vertex.items()))
        for vertex in block.vertices
    ]


def integer_column(raw: ArrowTable, name: str) -> Array:
    """Return a column of whole numbers as an array; NULL is 0."""
    column = raw.column(name).combine_chunks().fill_null(0)
    return column.cast(pa.int64()).to_numpy(zero_copy_only=False)


def _scatter_values(values: Array, places: Array, size: int) -> Array:
    """Return `values` at their groups' numbers; those of no group are left out."""
    total = np.zeros(size, np.int64)
    is_there = places >= 0
    np.add.at(total, places[is_there], values[is_there])
    return total


def _with_noise(sums: Sequence[Array], item: NoisyBlock, noise: Noise, kind: str) -> list[Array]:
    if not sums:
        return []
    draw = noise.laplace if kind == "laplace" else noise.gaussian
    drawn = draw(item.scale, sum(len(vertex) for vertex in sums))
    return list(np.stack(sums) + np.asarray(drawn).reshape(len(sums), -1))


def noise_deviation(scale: float, kind: str) -> float:
    """Return the standard deviation of the noise of `scale`."""
    if kind == "gaussian" or scale <= 0:
        return scale
    # Of the discrete Laplace distribution, which a large scale makes nearly sqrt(2) times it.
    return sqrt(2) * scale if scale > 1e4 else sqrt(2 * exp(1 / scale)) / (exp(1 / scale) - 1)


@dataclass(frozen=True)
class _ProbeResult:
    values: Array
    deviation: float | None


def _answer_probes(
    plan: PrivateQueryPlan,
    raws: Mapping[Aggregate, ArrowTable],
    groups: KeyGroups,
    size: int,
    noise: Noise,
    kind: str,
) -> dict[Aggregate, _ProbeResult]:
    """Return the results of the queries beside the main one."""
    found: dict[Aggregate, _ProbeResult] = {}
    has_keys = bool(plan.private_query.keys)
    for probe in plan.distincts:
        raw = raws[probe.aggregate]
        places = groups.positions(raw) if has_keys else np.zeros(raw.num_rows, np.int64)
        draw = noise.laplace if kind == "laplace" else noise.gaussian
        exact = _scatter_values(integer_column(raw, ROWS), places, size)
        deviation = noise_deviation(float(probe.scale), kind)
        found[probe.aggregate] = _ProbeResult(exact + draw(probe.scale, size), deviation)
    for probe in plan.ranks:
        raw = raws[probe.aggregate]
        places = groups.positions(raw) if has_keys else np.zeros(raw.num_rows, np.int64)
        found[probe.aggregate] = _ProbeResult(
            _choose_values(probe, raw, places, size, plan, noise), None
        )
    return found


def _choose_values(
    probe: RankProbe,
    raw: ArrowTable,
    places: Array,
    size: int,
    plan: PrivateQueryPlan,
    noise: Noise,
) -> Array:
    """Return the value that is chosen in every group, each by its own counts."""
    bucket_column = raw.column(key_name(len(plan.private_query.keys)))
    is_there = (places >= 0) & ~np.asarray(bucket_column.is_null())
    buckets = integer_column(raw, key_name(len(plan.private_query.keys)))[is_there]
    counts = integer_column(raw, ROWS)[is_there]
    places = places[is_there]
    order = np.argsort(places, kind="stable")
    starts = np.searchsorted(places[order], np.arange(size + 1))
    target, together = _choice_target(probe), max(1, _BATCH_CANDIDATES // probe.count)
    chosen = np.empty(size)
    for first in range(0, size, together):
        last = min(first + together, size)
        mine = order[starts[first] : starts[last]]
        dense = np.zeros((last - first, probe.count), np.int64)
        np.add.at(dense, (places[mine] - first, buckets[mine]), counts[mine])
        chosen[first:last], _ = choose_in_each(
            dense,
            target,
            epsilon=probe.epsilon,
            rows_per_unit=probe.rows_per_unit * probe.one,
            noise=noise,
        )
    return float(probe.low) + float(probe.step) * chosen


def _choice_target(probe: RankProbe) -> Quantile | Rank:
    if probe.aggregate.ask in (AggregateKind.MIN, AggregateKind.MAX):
        return Rank(probe.rank * probe.one, is_from_top=probe.aggregate.ask is AggregateKind.MAX)
    return Quantile(probe.aggregate.quantile or Fraction(0))


def _assemble_released(
    plan: PrivateQueryPlan,
    groups: KeyGroups,
    noisy: Mapping[str, Sequence[Array]],
    probes: Mapping[Aggregate, _ProbeResult],
    deviation: Mapping[str, float],
    *,
    consistent: bool,
) -> ReleasedTable:
    """Return the table of every grouping, one below the other."""
    tables: list[ArrowTable] = []
    finest: dict[str, Any] = {}
    shifts = 0
    for wanted in plan.private_query.sets:
        vertices, cells = _sum_over_groups(plan, noisy, wanted)
        wide = {name: value * sqrt(cells) for name, value in deviation.items()}
        columns = key_columns(plan, groups, wanted)
        found = _aggregate_columns(plan, vertices, probes, consistent=consistent)
        if consistent and plan.domain is not None and wanted != plan.private_query.sets[0]:
            found |= _total_counts(finest, plan.private_query.aggregates, plan.domain.shape, wanted)
        finest = finest or found
        columns |= found
        shifted = _shifted_columns(plan, vertices, probes, wide, found)
        shifts = len(shifted)
        for index, moved in enumerate(shifted):
            columns |= {f"{name}_{index}": values for name, values in moved.items()}
        tables.append(pa.table(columns))
    return ReleasedTable(pa.concat_tables(tables, promote_options="permissive"), shifts)


def _total_counts(
    finest: Mapping[str, Any],
    aggregates: Sequence[Aggregate],
    shape: tuple[int, ...],
    wanted: tuple[int, ...],
) -> dict[str, Any]:
    """Return the counts of a coarser grouping as totals of the released ones."""
    dropped = tuple(axis for axis in range(len(shape)) if axis not in wanted)
    found: dict[str, Any] = {}
    for index, aggregate in enumerate(aggregates):
        if aggregate.ask in COUNTS:
            name = aggregate_name(index)
            counts = finest[name].to_numpy(zero_copy_only=False).reshape(shape)
            found[name] = pa.array(counts.sum(axis=dropped).ravel())
    return found


def _sum_over_groups(
    plan: PrivateQueryPlan, noisy: Mapping[str, Sequence[Array]], wanted: tuple[int, ...]
) -> tuple[dict[str, list[Array]], int]:
    """Return the noisy sums of a coarser grouping: totals of the finest, so that they add up."""
    if plan.domain is None or len(plan.private_query.sets) == 1:
        return {name: list(found) for name, found in noisy.items()}, 1
    shape = plan.domain.shape
    dropped = tuple(axis for axis in range(len(shape)) if axis not in wanted)
    cells = int(np.prod([shape[axis] for axis in dropped])) if dropped else 1
    return {
        name: [vertex.reshape(shape).sum(axis=dropped).ravel() for vertex in found]
        for name, found in noisy.items()
    }, cells


def key_columns(
    plan: PrivateQueryPlan, groups: KeyGroups, wanted: tuple[int, ...]
) -> dict[str, Any]:
    """Return the keys of one grouping of a leaf, by name; those that it lacks are NULL."""
    if not plan.private_query.keys:
        return {}
    every = groups.columns()
    if plan.domain is None or len(plan.private_query.sets) == 1:
        return {key_name(index): column for index, column in enumerate(every)}
    shape = plan.domain.shape
    left = [shape[axis] for axis in wanted]
    size = int(np.prod(left)) if left else 1
    codes = dict(zip(wanted, np.unravel_index(np.arange(size), left) if left else (), strict=True))
    return {
        key_name(axis): groups.uniques[axis].take(pa.array(codes[axis]))
        if axis in codes
        else pa.nulls(size, groups.uniques[axis].type)
        for axis in range(len(shape))
    }


def _aggregate_columns(
    plan: PrivateQueryPlan,
    vertices: Mapping[str, Sequence[Array]],
    probes: Mapping[Aggregate, _ProbeResult],
    *,
    consistent: bool,
) -> dict[str, Any]:
    columns: dict[str, Any] = {}
    for index, aggregate in enumerate(plan.private_query.aggregates):
        if aggregate in probes:
            values = probes[aggregate].values
        else:
            reading = plan.readings[aggregate]
            values = read_aggregate_value(
                reading, [np.asarray(v, np.float64) for v in vertices[reading.block.name]]
            )
        columns[aggregate_name(index)] = _column_of(aggregate, values, consistent=consistent)
    if not columns:
        size = len(next(iter(vertices.values()))[0]) if vertices else 0
        columns["discreet_nothing"] = pa.nulls(size)
    return columns


def _column_of(aggregate: Aggregate, values: Array, *, consistent: bool) -> Any:
    if aggregate.ask in COUNTS:
        whole = np.rint(np.asarray(values, np.float64)).astype(np.int64)
        return pa.array(np.maximum(whole, 0) if consistent else whole)
    return pa.array(values, mask=np.isnan(values))


def _shifted_columns(
    plan: PrivateQueryPlan,
    vertices: Mapping[str, Sequence[Array]],
    probes: Mapping[Aggregate, _ProbeResult],
    deviation: Mapping[str, float],
    columns_told: Mapping[str, Any],
) -> list[dict[str, Any]]:
    """Return the aggregates that change when one noisy sum is off by its noise, for each sum."""
    found: list[dict[str, Any]] = []
    for item in plan.blocks:
        name = item.block.name
        still = [np.asarray(vertex, np.float64) for vertex in vertices[name]]
        columns: list[dict[str, Any]] = [{} for _ in still]
        for index, aggregate in enumerate(plan.private_query.aggregates):
            reading = plan.readings.get(aggregate)
            if reading is not None and reading.block.name == name:
                # Released numbers may have been rounded: only the change is of interest.
                released = _float_column(columns_told[aggregate_name(index)])
                for moved, change in zip(
                    columns, value_changes(reading, still, deviation[name]), strict=True
                ):
                    moved[aggregate_name(index)] = pa.array(released + change)
        found += columns
    for index, aggregate in enumerate(plan.private_query.aggregates):
        probed = probes.get(aggregate)
        if probed is not None and probed.deviation is not None:
            found.append({aggregate_name(index): pa.array(probed.values + probed.deviation)})
    return [columns for columns in found if columns]


def _float_column(column: Any) -> Array:
    return column.cast(pa.float64()).to_numpy(zero_copy_only=False)
