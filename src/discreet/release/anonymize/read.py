"""From cells on the engine to a problem in memory: values become codes, hierarchies become levels."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from discreet.arrow import ArrowArray, pc
from discreet.engines.engine import Engine, Table
from discreet.measure.classes import Cells, Roles
from discreet.measure.encode import Domain, ListedDomain
from discreet.measure.sensitive import overall_of, require_defined
from discreet.policy import model
from discreet.policy.hierarchies.values import text_of
from discreet.policy.hierarchy import TOP, Hierarchy, listed_domain, require_covers
from discreet.release.anonymize.attribute import CodedAttribute
from discreet.release.anonymize.frequencies import Frequencies, Histogram, label_rows, sum_by_label
from discreet.release.anonymize.judge import Judge
from discreet.release.anonymize.population import code_population, join_values, read_population
from discreet.release.anonymize.problem import CellWeights, EncodedProblem, Population, Problem
from discreet.sql import build

if TYPE_CHECKING:
    from discreet.measure.roles import RoleBinding

RANGE_BINS = 32  # the finest step between the values of a range attribute and its halves


def read_problem(
    cells: Cells,
    bound: RoleBinding,
    criteria: Sequence[model.Criterion],
    *,
    suppress: float = 0.0,
    weights: Mapping[str, float] | None = None,
    population: Table | None = None,
) -> EncodedProblem:
    """Return the table of `cells` as a problem: meet `criteria`, suppressing at most a share.

    `population` is needed by k-map and δ-presence only.

    Raises:
        InvalidHierarchy: A hierarchy misses values of its column.
        InvalidCriterion: A criterion is about a column that is not sensitive here.
    """
    engine = cells.subject.table.engine
    names = [column.name for column in bound.subject.sensitive]
    overalls = tuple(overall_of(cells, bound, index) for index in range(len(names)))
    for criterion in criteria:
        require_defined(criterion, dict(zip(names, overalls, strict=True)))
    fetched = _fetch(cells)
    owners, count = _combine_keys([fetched[name] for name in cells.packing.keys])
    first = np.empty(count, dtype=np.int64)
    first[owners[::-1]] = np.arange(len(owners))[::-1]
    keys = np.stack([fetched[name][first] for name in cells.packing.keys], axis=1)
    held, codes = _renumber_codes(cells.packing.decode(keys))
    table = _make_frequencies(
        fetched, owners, codes, len(names), has_units=bound.subject.unit is not None
    )
    values = [
        values_of(engine, domain, known)
        for domain, known in zip(cells.packing.domains, held, strict=True)
    ]
    people = None
    if population is not None:
        values, table, people = _with_population(bound.subject, population, values, table)
    attributes = tuple(
        make_attribute(
            domain,
            known,
            bound.policy.column(domain.column.name) if bound.policy else None,
            rows=sum_by_label(table.codes[:, j].astype(np.int64), table.rows, len(known)),
            weight=(weights or {}).get(domain.column.name, 1.0),
        )
        for j, (domain, known) in enumerate(zip(cells.packing.domains, values, strict=True))
    )
    judge = Judge(tuple(criteria), tuple(names), overalls, bound.subject.unit is not None)
    limit = int(suppress * int(table.rows.sum()) + 1e-9)
    problem = Problem(table, attributes, judge, limit, people)
    return EncodedProblem(problem, cells, tuple(values), _read_weights(fetched, owners))


def _read_weights(
    fetched: Mapping[str, NDArray[Any]], owners: NDArray[np.int64]
) -> CellWeights | None:
    if "weight" not in fetched:
        return None
    return CellWeights(
        owners, fetched.get("unit"), fetched["rows"], fetched["weight"], fetched["heaviest"]
    )


def _with_population(
    subject: Roles, population: Table, values: Sequence[ArrowArray], table: Frequencies
) -> tuple[list[ArrowArray], Frequencies, Population]:
    """Return the values of table and population together, the table on their codes, and the population."""
    found = read_population(subject, population)
    joined: list[ArrowArray] = []
    codes: list[NDArray[np.int32]] = []
    others: list[NDArray[np.int64]] = []
    for j, own in enumerate(values):
        theirs = pa.chunked_array(found[f"q{j}"]).combine_chunks()
        known, mine, their_codes = join_values(own, theirs, column=subject.quasi[j].name)
        joined.append(known)
        codes.append(mine[table.codes[:, j]].astype(np.int32))
        others.append(their_codes)
    recoded = replace(table, codes=np.stack(codes, axis=1))
    return joined, recoded, code_population(found, others)


def make_attribute(
    domain: Domain,
    values: ArrowArray,
    column: model.ColumnPolicy | None,
    *,
    rows: NDArray[np.int64],
    weight: float = 1.0,
) -> CodedAttribute:
    """Return a quasi-identifier's levels: its hierarchy's, halves of its order, or keep and hide."""
    hierarchy = column.hierarchy if column else None
    name = domain.column.name
    if hierarchy is not None:
        require_covers(hierarchy, values, column=name)
        return _hierarchical_attribute(name, values, hierarchy, weight=weight)
    if domain.column.kind.is_ordered and (column is None or column.is_ordered):
        return _range_attribute(name, values, rows=rows, weight=weight)
    size = len(values)
    leaf = 1 / max(size, 1)
    labels = [text_of(values), pa.array([TOP], pa.string())]
    return CodedAttribute(
        name,
        groups=(np.arange(size), np.zeros(size, dtype=np.int64)),
        shares=(np.full(size, leaf), np.ones(1)),
        leaf=leaf,
        weight=weight,
        has_missing=values.null_count > 0,
        labels=lambda level: labels[level],
    )


def _hierarchical_attribute(
    name: str, values: ArrowArray, hierarchy: Hierarchy, *, weight: float
) -> CodedAttribute:
    listed = listed_domain(hierarchy)
    domain = values.drop_null() if listed is None else listed
    groups: list[NDArray[np.int64]] = []
    shares: list[NDArray[np.float64]] = []
    labels: list[ArrowArray] = []
    for level in range(hierarchy.height + 1):
        encoded = pc.dictionary_encode(hierarchy.generalize(values, level), null_encoding="encode")
        groups.append(encoded.indices.to_numpy(zero_copy_only=False).astype(np.int64))
        labels.append(encoded.dictionary)
        of_domain = domain if listed is None else hierarchy.generalize(domain, level)
        shares.append(_covered_shares(encoded, of_domain, values, is_listed=listed is not None))
    # Values differ on level 0, even with equal texts.
    groups[0], labels[0] = np.arange(len(values)), text_of(values)
    size = _domain_size(domain, values)
    shares[0] = np.full(len(values), 1 / size)
    return CodedAttribute(
        name,
        groups=tuple(groups),
        shares=tuple(shares),
        leaf=1 / size,
        weight=weight,
        has_missing=values.null_count > 0,
        labels=lambda level: labels[level],
    )


def _covered_shares(
    encoded: ArrowArray, domain: ArrowArray, values: ArrowArray, *, is_listed: bool
) -> NDArray[np.float64]:
    """Return the share of the domain that each label of a level covers.

    A missing value counts as one value of the domain: whether it is there is worth knowing.
    """
    indices = encoded.indices.to_numpy(zero_copy_only=False)
    if not is_listed:  # the domain is what the table holds
        counts = np.bincount(indices, minlength=len(encoded.dictionary))
    else:
        found = pc.value_counts(domain)
        places = pc.index_in(encoded.dictionary, value_set=found.field("values"))
        known = pc.fill_null(places, 0).to_numpy(zero_copy_only=False)
        counts = found.field("counts").to_numpy(zero_copy_only=False)[known]
        counts = np.where(places.is_valid().to_numpy(zero_copy_only=False), counts, 0)
        missing = indices[values.is_null().to_numpy(zero_copy_only=False)]
        counts = counts + np.bincount(missing, minlength=len(counts))
    return np.maximum(counts, 1) / _domain_size(domain, values)


def _domain_size(domain: ArrowArray, values: ArrowArray) -> int:
    """Return the number of values there can be, a missing one included where there is one."""
    return max(len(domain) + (values.null_count > 0), 1)


def _range_attribute(
    name: str, values: ArrowArray, *, rows: NDArray[np.int64], weight: float
) -> CodedAttribute:
    """Return an ordered attribute whose levels are halves of halves with about as many rows each."""
    size = len(values)
    known = size - values.null_count
    cumulated = np.cumsum(rows[:known])
    before = cumulated - rows[:known]
    levels: list[NDArray[np.int64]] = [np.arange(size)]
    finest = before * RANGE_BINS // max(int(cumulated[-1]) if known else 1, 1)
    bins = RANGE_BINS
    while bins > 1:
        groups = np.unique(finest * bins // RANGE_BINS, return_inverse=True)[1]
        if groups.max(initial=0) + 1 < known:
            levels.append(np.append(groups, np.full(size - known, groups.max(initial=-1) + 1)))
        bins //= 2
    levels = [level for index, level in enumerate(levels) if not index or level.max() > 0]
    levels.append(np.zeros(size, dtype=np.int64))
    leaf = 1 / max(size, 1)
    shares = [(np.bincount(level) * leaf).astype(np.float64) for level in levels[:-1]]
    return CodedAttribute(
        name,
        groups=tuple(levels),
        shares=(*shares, np.ones(1)),
        leaf=leaf,
        weight=weight,
        is_range=True,
        has_missing=size > known,
    )


def values_of(engine: Engine, domain: Domain, codes: NDArray[np.int64]) -> ArrowArray:
    """Return the values behind ascending codes, NULL for the missing one."""
    missing = domain.cardinality - 1 if domain.has_missing else -1
    if isinstance(domain, ListedDomain):
        return domain.all_values(engine).take(pa.array(codes, mask=codes == missing))
    return pa.array(codes + domain.low, mask=codes == missing)


def _fetch(cells: Cells) -> dict[str, NDArray[Any]]:
    """Return the columns of the cells; units become numbers."""
    names = [*cells.packing.keys, *(f"s{index}" for index in range(len(cells.sensitive))), "rows"]
    weights = ["weight", "heaviest"] if cells.subject.weight is not None else []
    units = ["unit"] if cells.subject.unit is not None else []
    wanted = [build.column(name) for name in (*names, *weights, *units)]
    query = build.select(*wanted, source=cells.relation.copy())
    found = cells.subject.table.engine.run(query)
    fetched: dict[str, NDArray[Any]] = {
        name: found[name].to_numpy().astype(np.int64, copy=False) for name in names
    }
    fetched |= {name: found[name].to_numpy().astype(np.float64, copy=False) for name in weights}
    if cells.subject.unit is not None:
        encoded = pc.dictionary_encode(
            pa.chunked_array(found["unit"]).combine_chunks(), null_encoding="encode"
        )
        fetched["unit"] = encoded.indices.to_numpy(zero_copy_only=False).astype(np.int64)
    return fetched


def _combine_keys(keys: Sequence[NDArray[np.int64]]) -> tuple[NDArray[np.int64], int]:
    """Return the number of each cell's combination, in the order of the keys."""
    columns: list[tuple[NDArray[np.int64], int]] = []
    for key in keys:
        known, places = np.unique(key, return_inverse=True)
        columns.append((places, len(known)))
    return label_rows(columns)


def _renumber_codes(
    coded: NDArray[np.int64],
) -> tuple[tuple[NDArray[np.int64], ...], NDArray[np.int32]]:
    """Return the codes that occur, by column, and all codes renumbered by them."""
    held: list[NDArray[np.int64]] = []
    codes = np.empty(coded.shape, dtype=np.int32)
    for j in range(coded.shape[1]):
        known, codes[:, j] = np.unique(coded[:, j], return_inverse=True)
        held.append(known)
    return tuple(held), codes


def _make_frequencies(
    fetched: Mapping[str, NDArray[Any]],
    owners: NDArray[np.int64],
    codes: NDArray[np.int32],
    sensitive: int,
    *,
    has_units: bool,
) -> Frequencies:
    rows = sum_by_label(owners, fetched["rows"], len(codes))
    units = fetched["unit"] if has_units else None
    # Every cell as an entry of its own: merging by the identity sorts and sums them.
    loose = Frequencies(
        codes=codes,
        rows=rows,
        histograms=tuple(
            Histogram(owners, fetched[f"s{index}"], fetched["rows"], units)
            for index in range(sensitive)
        ),
        people=None if units is None else (owners, units),
    )
    return loose.merge(np.arange(len(codes)), len(codes))
