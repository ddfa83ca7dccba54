"""Published frequencies: what they reveal about a person whose values are known.

Each attribute (a position of the genome, a column) has cells, such as its alleles or values. With the
share of a cell in the pool, p, and in a reference population, r, a person who has it adds log(p / r)
to a likelihood ratio; a person in the pool has pulled p a little towards their own value (Homer et al.
2008; Sankararaman, Obozinski, Jordan & Halperin 2009).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from discreet.arrow import ArrowArray, pc
from discreet.attacks.sparse.transactions import encode_column
from discreet.engines.engine import ArrowTable, Table
from discreet.errors import UnknownColumn, WrongUsage, did_you_mean
from discreet.measure.roles import require_column
from discreet.policy.hierarchies.values import text_of
from discreet.sql import build

Reals: TypeAlias = NDArray[np.float64]

_UNKNOWN_POOL = 1_000  # people that clip a frequency of 0, where the number is not known
_BLOCK = 1 << 22  # cells of a matrix at once


@dataclass(frozen=True)
class FrequencyColumns:
    """Which columns of a table of frequencies say what: attribute, its value, and the share."""

    item: str | None = None
    value: str | None = None
    frequency: str | None = None


@dataclass(frozen=True)
class Marginals:
    """The cells of two tables of frequencies that both have: the pool's and the reference's shares.

    `values` is None where an attribute is an allele that a person has 0, 1 or 2 times.
    """

    items: ArrowArray
    values: ArrowArray | None
    pool: Reals
    reference: Reals

    @property
    def attributes(self) -> ArrowArray:
        """The different attributes."""
        return pc.unique(self.items)


@dataclass(frozen=True)
class MembershipScores:
    """What the frequencies say of each person: log likelihood ratio, its standard score, Homer's T."""

    names: ArrowArray | None
    ratio: Reals
    standard: Reals
    homer: Reals
    attributes: int


def read_marginals(published: Table, reference: Table, columns: FrequencyColumns) -> Marginals:
    """Return the cells that both tables have, with their shares.

    Raises:
        WrongUsage: The tables have no cell in common, or hold no shares.
    """
    first, second = _read_shares(published, columns), _read_shares(reference, columns)
    keys = ["item"] if columns.value is None else ["item", "value"]
    both = first.join(second, keys, join_type="inner", right_suffix="_reference")
    if not both.num_rows:
        raise WrongUsage(
            f"{published.label} and {reference.label} share no cell. Expected the same names in the "
            f"first column of both: say which with --item."
        )
    both = both.sort_by([(key, "ascending") for key in keys])
    return Marginals(
        both["item"].combine_chunks(),
        both["value"].combine_chunks() if columns.value is not None else None,
        both["share"].to_numpy().astype(np.float64),
        both["share_reference"].to_numpy().astype(np.float64),
    )


def clip_shares(shares: Reals, people: int | None, draws: int) -> Reals:
    """Return shares away from 0 and 1: what no one in the pool has, another person may still have."""
    least = 0.5 / (draws * (people or _UNKNOWN_POOL) + 1)
    return np.clip(shares, least, 1 - least)


def score_alleles(
    counts: NDArray[np.float32],
    pool: Reals,
    reference: Reals,
    *,
    sizes: tuple[int | None, int | None] = (None, None),
    names: ArrowArray | None = None,
) -> MembershipScores:
    """Return what frequencies say of people, a row of `counts` each, with 0, 1 or 2 per column.

    Args:
        counts: How often each person has each allele; NaN where unknown.
        pool: The published frequencies.
        reference: Those of a population without the pool.
        sizes: How many people are in the pool and in the reference, where that is known.
        names: The people's names.
    """
    draws = 2 if counts.size and np.nanmax(counts) > 1 else 1
    p, r = clip_shares(pool, sizes[0], draws), clip_shares(reference, sizes[1], draws)
    cells = _Alleles(p, r, mix_shares(p, r, sizes), draws)
    step = max(1, _BLOCK // max(len(p), 1))
    parts = [cells.score(counts[start : start + step]) for start in range(0, len(counts), step)]
    ratio, standard, homer = np.concatenate(parts, axis=1) if parts else np.zeros((3, 0))
    return MembershipScores(names, ratio, standard, homer, len(p))


@dataclass(frozen=True)
class _Alleles:
    """The shares of alleles in the pool, in the reference and at large."""

    pool: Reals
    reference: Reals
    share: Reals
    draws: int

    def score(self, counts: NDArray[np.float32]) -> Reals:
        """Return log likelihood ratio, its standard score and Homer's T of some people."""
        with_it = np.log(self.pool / self.reference)
        without = np.log((1 - self.pool) / (1 - self.reference))
        mean = self.share * with_it + (1 - self.share) * without
        variance = self.share * with_it**2 + (1 - self.share) * without**2 - mean**2
        known = (~np.isnan(counts)).astype(np.float64)
        ratio = np.nan_to_num(counts) @ (with_it - without) + self.draws * (known @ without)
        expected, spread = self.draws * (known @ mean), np.sqrt(self.draws * (known @ variance))
        standard = (ratio - expected) / np.where(spread > 0, spread, 1.0)
        return np.stack([ratio, standard, self._homer_statistic(counts, known)])

    def _homer_statistic(self, counts: NDArray[np.float32], known: Reals) -> Reals:
        """Return T = mean(D) / (sd(D) / sqrt(m)), D = |y - r| - |y - p|."""
        share = np.nan_to_num(counts) / self.draws
        distance = known * (np.abs(share - self.reference) - np.abs(share - self.pool))
        cells = np.maximum(known.sum(axis=1), 1)
        average, squares = distance.sum(axis=1) / cells, (distance**2).sum(axis=1) / cells
        return _standard_score(average, squares, cells)


def score_values(
    table: Table, marginals: Marginals, *, sizes: tuple[int | None, int | None] = (None, None)
) -> MembershipScores:
    """Return what one-way marginals say of the people of a table, a row each."""
    p, r = clip_shares(marginals.pool, sizes[0], 1), clip_shares(marginals.reference, sizes[1], 1)
    gain, share = np.log(p / r), mix_shares(p, r, sizes)
    sums: list[Reals] = []
    people = _fetch_attributes(table, marginals.attributes.to_pylist())
    for name in marginals.attributes.to_pylist():
        mine = np.flatnonzero(np.asarray(pc.equal(marginals.items, name)))
        cells = pc.take(marginals.values, pa.array(mine))
        values, codes = encode_column(people[name])
        place = pc.index_in(values, value_set=cells).fill_null(-1).to_numpy(zero_copy_only=False)
        sums.append(_attribute_sums(place[codes], p[mine], r[mine], gain[mine], share[mine]))
    ratio, mean, variance, distance, squares, known = np.sum(sums, axis=0)
    cells = np.maximum(known, 1)
    homer = _standard_score(distance / cells, squares / cells, cells)
    spread = np.sqrt(np.maximum(variance, 0.0))
    standard = (ratio - mean) / np.where(spread > 0, spread, 1.0)
    return MembershipScores(None, ratio, standard, homer, len(marginals.attributes))


def read_counts(table: Table, marginals: Marginals) -> NDArray[np.float32]:
    """Return how often each person, a row each, has each allele, a column each."""
    people = _fetch_attributes(table, marginals.items.to_pylist())
    return np.column_stack([_as_counts(column) for column in people.columns])


def read_long_counts(
    table: Table, marginals: Marginals, *, person: str, item: str, count: str
) -> tuple[ArrowArray, NDArray[np.float32]]:
    """Return people and how often each has each allele, from a row per person and allele."""
    names = [require_column(table, name).name for name in (person, item, count)]
    wanted = [build.column(name) for name in names]
    rows = table.engine.run(build.select(*wanted, source=table.relation.copy()))
    people, who = encode_column(rows[person])
    items, what = encode_column(rows[item])
    place = pc.index_in(items, value_set=marginals.items).fill_null(-1)
    columns = place.to_numpy(zero_copy_only=False)[what]
    counts = np.full((len(people), len(marginals.items)), np.nan, np.float32)
    known = columns >= 0
    counts[who[known], columns[known]] = _as_counts(rows[count])[known]
    return people, counts


def mix_shares(p: Reals, r: Reals, sizes: tuple[int | None, int | None]) -> Reals:
    """Return the share in the population at large, from pool and reference together.

    Weighed by their sizes it is unbiased for people in neither; half and half is cautious when the
    reference is the larger one.
    """
    pool, reference = sizes
    if pool is None or reference is None:
        return (p + r) / 2
    return (pool * p + reference * r) / (pool + reference)


def _standard_score(average: Reals, squares: Reals, cells: Reals) -> Reals:
    deviation = np.sqrt(np.maximum(squares - average**2, 0.0))
    return average * np.sqrt(cells) / np.where(deviation > 0, deviation, 1.0)


def _attribute_sums(
    place: NDArray[np.int64], p: Reals, r: Reals, gain: Reals, share: Reals
) -> Reals:
    """Return what an attribute adds for each person: ratio, its mean and variance, Homer's sums."""
    share = share / share.sum()
    mean = float(share @ gain)
    variance = float(share @ gain**2) - mean**2
    # D of all cells of the attribute, when the person has cell v: all others are 0, this one is 1.
    absent = r - p
    distance = absent.sum() - absent + ((1 - r) - (1 - p))
    squares = (absent**2).sum() - absent**2 + (p - r) ** 2
    rows = np.stack(
        [gain, np.full_like(gain, mean), np.full_like(gain, variance), distance, squares,
         np.full_like(gain, len(gain))]
    )  # fmt: skip
    # A value that was not published, or is missing, says nothing.
    return np.where(place >= 0, rows[:, np.maximum(place, 0)], 0.0)


def _read_shares(table: Table, columns: FrequencyColumns) -> ArrowTable:
    item = require_column(table, columns.item or table.columns[0].name)
    numbers = [column.name for column in table.columns if column.kind.is_number]
    name = columns.frequency or next(
        (each for each in reversed(numbers) if each != item.name), None
    )
    if name is None:
        raise WrongUsage(f"{table.label} has no column of numbers. Say which with --frequency.")
    share = require_column(table, name)
    if not share.kind.is_number:
        raise WrongUsage(
            f"Column '{name}' of {table.label} holds {share.kind}; expected frequencies from 0 to 1."
        )
    wanted = [build.alias_as(build.column(item.name), "item")]
    if columns.value is not None:
        value = require_column(table, columns.value)
        wanted.append(build.alias_as(build.column(value.name), "value"))
    wanted.append(build.alias_as(build.column(name), "share"))
    rows = table.engine.run(build.select(*wanted, source=table.relation.copy()))
    rows = rows.filter(pc.and_(pc.is_valid(rows["item"]), pc.is_valid(rows["share"])))
    shares = rows["share"].cast(pa.float64())
    cells = {key: text_of(rows[key].combine_chunks()) for key in rows.column_names[:-1]}
    return _as_shares(pa.table({**cells, "share": shares}), table, has_values="value" in cells)


def _as_shares(rows: ArrowTable, table: Table, *, has_values: bool) -> ArrowTable:
    """Return the cells with shares; counts of values are divided by their attribute's total."""
    largest = pc.max(rows["share"]).as_py() or 0.0
    # Noise can push a share a little beyond; counts are far beyond.
    if largest <= 1.5:
        return rows
    if not has_values:
        raise WrongUsage(
            f"{table.label} holds {largest:g} where a frequency from 0 to 1 was expected. Divide by "
            "the number of alleles, or name another column with --frequency."
        )
    totals = rows.group_by("item").aggregate([("share", "sum")])
    joined = rows.join(totals, "item")
    shares = pc.divide(joined["share"], joined["share_sum"])
    return pa.table({"item": joined["item"], "value": joined["value"], "share": shares})


def _fetch_attributes(table: Table, names: Sequence[str]) -> ArrowTable:
    for name in names:
        if table.column(name) is None:
            near = did_you_mean(name, (column.name for column in table.columns))
            raise UnknownColumn(
                f"{table.label} has no column '{name}', which is published.{near} Expected a row for "
                "each person and a column for each attribute; for a row per person and attribute, "
                "give --person and --count."
            )
    wanted = [build.column(name) for name in names]
    return table.engine.run(build.select(*wanted, source=table.relation.copy()))


def _as_counts(column: ArrowArray) -> NDArray[np.float32]:
    try:
        numbers = column.cast(pa.float32(), safe=False)
    except pa.ArrowInvalid:
        numbers = None
    if numbers is None:
        raise WrongUsage("Genotypes are 0, 1 or 2, or empty; a column holds something else.")
    found = numbers.to_numpy().astype(np.float32)
    if np.nanmin(found, initial=0) < 0 or np.nanmax(found, initial=0) > 2:
        raise WrongUsage("Genotypes are 0, 1 or 2, or empty; a column holds other numbers.")
    return found
