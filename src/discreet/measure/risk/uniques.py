"""Which few columns are enough to single people out, and whom they single out most.

A *minimal unique* is a person and a set of columns such that no one else has the person's values
there, while on every smaller part of the set another person has. People with many and small ones are
*special uniques*: they tend to be unique in the population too (Elliot, Manning & Ford 2002; Manning,
Haglin & Keane 2008, "SUDA2").
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from math import comb, prod

import numpy as np
from numpy.typing import NDArray
from sqlglot import exp

from discreet.engines.engine import Engine
from discreet.errors import WrongUsage
from discreet.result import Result
from discreet.sql import build

Bits = NDArray[np.uint8]
Chosen = tuple[int, ...]

MEMORY = 1_000_000_000  # bytes of bits kept at once
SIZES_SHOWN = 10
INTRUSION_FRACTION = 0.01  # the usual assumption about the sample when its fraction is not known
# The exponent of the intrusion score was fitted for few columns and would turn around at 28.
MOST_COLUMNS_FOR_INTRUSION = 27


@dataclass(frozen=True)
class ColumnSet(Result):
    """What an outsider who knows these columns sees."""

    columns: tuple[str, ...]
    classes: int
    k: int | None  # people in the smallest class; None for an empty table
    unique: int  # people alone in their class
    minimal: int  # people alone in their class here, but on no smaller part of the set
    people_by_size: tuple[int, ...]  # people in classes of 1, 2, 3 … members


@dataclass(frozen=True)
class ColumnExposure(Result):
    """The part of one column in singling people out."""

    column: str
    minimal_uniques: int
    contribution: float | None  # percent of all scores; the columns of one set each count it whole


@dataclass(frozen=True)
class ExposedRecord(Result):
    """One of the people most singled out; `id` is the id of the class they are alone in."""

    id: int
    score: float
    intrusion: float | None
    smallest: tuple[str, ...]


@dataclass(frozen=True)
class ScoreCount(Result):
    """How many people have a score."""

    score: float
    people: int


@dataclass(frozen=True)
class Uniques(Result):
    """Minimal uniques of a table for all sets of at most `depth` columns."""

    columns: tuple[str, ...]
    depth: int
    people: int
    unique: int  # people alone in their class when all columns are known
    singled_out: int  # people with a minimal unique of at most `depth` columns
    minimal_by_size: tuple[int, ...]  # minimal uniques of 1, 2, 3 … columns
    intrusion: float | None  # chance that a unique match is correct, for the file as a whole
    sets: tuple[ColumnSet, ...]  # by size, then in the order of columns
    most_exposing: tuple[ColumnSet, ...]  # by people singled out minimally
    exposures: tuple[ColumnExposure, ...]
    records: tuple[ExposedRecord, ...]  # by score
    scores: tuple[ScoreCount, ...]
    cautions: tuple[str, ...]


def find_uniques(  # noqa: PLR0913 -- four have defaults that few callers change
    engine: Engine,
    classes: exp.Table,
    columns: Sequence[str],
    *,
    depth: int,
    people: exp.Expr | None = None,
    shown: int = 10,
    fraction: float = INTRUSION_FRACTION,
    memory: int = MEMORY,
    progress: Callable[[int, int], None] | None = None,
) -> Uniques:
    """Return the minimal sets of columns that single people out, and the people's scores.

    Args:
        engine: Where `classes` lives.
        classes: One row per class: `id` (0, 1, 2 …), `q0`, `q1` … (codes of the columns) and `size`
            (people in the class). Where people may be in several classes: one row per class and
            person, `id` being the person's.
        columns: What `q0`, `q1` … are called.
        depth: The greatest number of columns an outsider is assumed to know.
        people: The aggregate that counts the people of several rows; the sum of `size` by default.
        shown: How many records and column sets to list.
        fraction: The share of the population in the table, for the intrusion score only.
        memory: How many bytes of bits to keep; the depth is cut, with a caution, to stay below.
        progress: Called with the number of sets looked at, and of all sets.
    """
    if depth < 1 or not columns:
        raise WrongUsage("No columns to combine. Name at least one, and a depth of at least 1.")
    if not 0 < fraction <= 1:
        raise WrongUsage(f"The sampling fraction {fraction} is outside (0, 1]. Try 0.01.")
    counted = people or build.sum_integers(build.column("size"))
    ids = _fetch_ids(engine, _unique_people_query(classes, tuple(range(len(columns))), counted))
    wanted = min(depth, len(columns))
    reach = _reachable_depth(len(columns), wanted, bytes_each=-(-len(ids) // 8), memory=memory)
    search = _MinimalUniqueSearch(engine, classes, tuple(columns), reach, ids, counted)
    search.run(progress or (lambda _done, _total: None))
    caution = (
        f"Sets of more than {reach} columns were not searched: {len(ids):,} people are unique and "
        f"their bits would not fit in {memory:,} bytes. Name fewer columns to go deeper."
    )
    return _build_result(
        search, shown=shown, fraction=fraction, cautions=(caution,) if reach < wanted else ()
    )


def set_weight(size: int, *, columns: int, depth: int) -> int:
    """Return the score of a minimal unique of `size` columns: the fewer, the higher.

    It is the product of `columns - i` for i from `size` to `depth - 1` (Elliot et al. 2005).

    >>> [set_weight(size, columns=4, depth=3) for size in (1, 2, 3)]
    [6, 2, 1]
    """
    return prod(columns - i for i in range(size, depth))


def file_intrusion(*, unique: int, paired: int, fraction: float) -> float | None:
    """Return the chance that a unique match with the table is correct (Skinner & Elliot 2002).

    `unique` people are alone in their class and `paired` people are in classes of two. A match is
    simulated by taking records out: a unique one matches only if it is put back, which happens to
    a share `fraction`; taking one of a pair leaves the other as a unique, and wrong, match.
    """
    correct, wrong = unique * fraction, paired * (1 - fraction)
    return correct / (correct + wrong) if unique else None


def record_intrusion(
    scores: NDArray[np.float64], *, unique: int, file_level: float, columns: int
) -> NDArray[np.float64]:
    """Return the file-level intrusion risk spread over records by score ("DIS-SUDA").

    As Elliot & Manning (2003) fitted it and sdcMicro computes it: with `q = 1 + (8 - columns) / 20`,
    `1 / (1 + unique (1 / file_level - 1) / (score^q sum(1 / score^q)))`; 0 where the score is 0.
    """
    risk = np.zeros_like(scores)
    scored = scores > 0
    powers = scores[scored] ** (1 + (8 - columns) / 20)
    odds = unique * (1 / file_level - 1) / (powers * (1 / powers).sum())
    risk[scored] = 1 / (1 + odds)
    return risk


class _MinimalUniqueSearch:
    """Looks at sets of columns by growing size; keeps one bit per set and unique person."""

    def __init__(
        self,
        engine: Engine,
        classes: exp.Table,
        columns: tuple[str, ...],
        depth: int,
        ids: NDArray[np.int64],
        counted: exp.Expr,
    ) -> None:
        self.columns = columns
        self.depth = depth
        self.ids = ids
        self.scores = np.zeros(len(ids))
        self.smallest = np.full(len(ids), -1, np.int32)  # the index of a set in `sets`
        self.sets: list[ColumnSet] = []
        self._engine = engine
        self._classes = classes
        self._counted = counted

    def run(self, progress: Callable[[int, int], None]) -> None:
        """Fill `sets`, `scores` and `smallest`."""
        total = sum(comb(len(self.columns), size) for size in range(1, self.depth + 1))
        below: dict[Chosen, Bits] = {}
        for size in range(1, self.depth + 1):
            level: dict[Chosen, Bits] = {}
            for chosen in combinations(range(len(self.columns)), size):
                bits = self._search_column_set(chosen, below)
                if size < self.depth:
                    level[chosen] = bits
                progress(len(self.sets), total)
            below = level

    def _search_column_set(self, chosen: Chosen, below: Mapping[Chosen, Bits]) -> Bits:
        sizes, counts = self.histogram(chosen)
        # Who is unique on a part of the set is unique on the set, and the largest parts have all
        # that smaller parts have. If they account for every class of one, no person need be looked up
        # by name.
        known = np.zeros(-(-len(self.ids) // 8), np.uint8)
        for part in combinations(chosen, len(chosen) - 1):
            if part:
                known |= below[part]
        bits, singles = known, int(counts[sizes == 1].sum())
        if _count(known) < min(singles, len(self.ids)):
            bits = self._unique_people(chosen)
            self._score(len(chosen), bits & ~known)
        people = sizes * counts
        self.sets.append(
            ColumnSet(
                columns=tuple(self.columns[index] for index in chosen),
                classes=int(counts.sum()),
                k=int(sizes.min()) if len(sizes) else None,
                unique=_count(bits),
                minimal=_count(bits) - _count(known),
                people_by_size=tuple(
                    int(people[sizes == size].sum()) for size in range(1, SIZES_SHOWN + 1)
                ),
            )
        )
        return bits

    def _score(self, size: int, bits: Bits) -> None:
        positions = np.flatnonzero(np.unpackbits(bits, count=len(self.ids)))
        self.scores[positions] += set_weight(size, columns=len(self.columns), depth=self.depth)
        first = positions[self.smallest[positions] < 0]
        self.smallest[first] = len(self.sets)

    def histogram(self, chosen: Chosen) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return class sizes and how many classes have them."""
        answer = self._engine.run(_sizes_query(self._classes, chosen, self._counted))
        sizes, counts = (answer.column(name).to_numpy() for name in ("size", "classes"))
        return sizes.astype(np.int64), counts.astype(np.int64)

    def people(self) -> int:
        """Return how many people the table holds."""
        query = build.select(
            build.alias_as(self._counted.copy(), "people"), source=self._classes.copy()
        )
        return int(self._engine.run(query)["people"][0].as_py() or 0)

    def _unique_people(self, chosen: Chosen) -> Bits:
        mask = np.zeros(len(self.ids), np.bool_)
        found = _fetch_ids(self._engine, _unique_people_query(self._classes, chosen, self._counted))
        mask[np.searchsorted(self.ids, found)] = True
        return np.packbits(mask)


def _count(bits: Bits) -> int:
    return int(np.bitwise_count(bits).sum())


def _fetch_ids(engine: Engine, query: exp.Select) -> NDArray[np.int64]:
    """Return the different ids a query yields, ascending."""
    parts = [batch.column(0).to_numpy(zero_copy_only=False) for batch in engine.stream(query)]
    return np.unique(np.concatenate([np.empty(0, np.int64), *parts]).astype(np.int64))


def _key_columns(chosen: Chosen) -> list[exp.Column]:
    return [build.column(f"q{index}") for index in chosen]


def _sizes_query(classes: exp.Table, chosen: Chosen, counted: exp.Expr) -> exp.Select:
    """Return the query for the histogram of class sizes when `chosen` columns are known."""
    size = build.alias_as(counted.copy(), "size")
    grouped = build.select(size, source=classes.copy()).group_by(*_key_columns(chosen))
    count = build.alias_as(build.count_star(), "classes")
    return build.select(
        build.column("size"), count, source=build.subquery(grouped, "grouped")
    ).group_by(build.column("size"))


def _unique_people_query(classes: exp.Table, chosen: Chosen, counted: exp.Expr) -> exp.Select:
    """Return the query for the people who are alone when `chosen` columns are known."""
    person = build.alias_as(exp.Min(this=build.column("id")), "id")
    alone = exp.EQ(this=counted.copy(), expression=build.number(1))
    return build.select(person, source=classes.copy()).group_by(*_key_columns(chosen)).having(alone)


def _reachable_depth(columns: int, depth: int, *, bytes_each: int, memory: int) -> int:
    """Return the greatest depth whose bits fit: a level needs the one below, and keeps its own."""
    reach = 1
    while reach < depth:
        kept = comb(columns, reach - 1) if reach > 1 else 0
        if (kept + comb(columns, reach)) * bytes_each > memory:
            break
        reach += 1
    return reach


def _build_result(
    search: _MinimalUniqueSearch, *, shown: int, fraction: float, cautions: tuple[str, ...]
) -> Uniques:
    sizes, counts = search.histogram(tuple(range(len(search.columns))))
    people = search.people()
    paired = int(2 * counts[sizes == 2].sum())
    file_level = file_intrusion(unique=len(search.ids), paired=paired, fraction=fraction)
    exposing = [found for found in search.sets if found.minimal]
    exposing.sort(key=lambda found: (-found.minimal, len(found.columns)))  # stable beyond that
    return Uniques(
        columns=search.columns,
        depth=search.depth,
        people=people,
        unique=len(search.ids),
        singled_out=int(np.count_nonzero(search.scores)),
        minimal_by_size=tuple(
            sum(found.minimal for found in exposing if len(found.columns) == size)
            for size in range(1, search.depth + 1)
        ),
        intrusion=file_level,
        sets=tuple(search.sets),
        most_exposing=tuple(exposing[:shown]),
        exposures=_column_exposures(search),
        records=_most_exposed_records(search, file_level, shown=shown),
        scores=_score_counts(search, people),
        cautions=cautions,
    )


def _column_exposures(search: _MinimalUniqueSearch) -> tuple[ColumnExposure, ...]:
    """Return the part of each column in all scores; parts sum to more than 100 percent."""
    weights = [
        set_weight(len(found.columns), columns=len(search.columns), depth=search.depth)
        * found.minimal
        for found in search.sets
    ]
    total = sum(weights)
    exposures: list[ColumnExposure] = []
    for column in search.columns:
        has_it = [column in found.columns for found in search.sets]
        part = sum(weight for weight, has in zip(weights, has_it, strict=True) if has)
        exposures.append(
            ColumnExposure(
                column=column,
                minimal_uniques=sum(
                    found.minimal for found, has in zip(search.sets, has_it, strict=True) if has
                ),
                contribution=100 * part / total if total else None,
            )
        )
    return tuple(exposures)


def _most_exposed_records(
    search: _MinimalUniqueSearch, file_level: float | None, *, shown: int
) -> tuple[ExposedRecord, ...]:
    top = np.argsort(-search.scores, kind="stable")[:shown]
    top = top[search.scores[top] > 0]
    risk: list[float | None] = [None] * len(top)
    if file_level is not None and len(search.columns) <= MOST_COLUMNS_FOR_INTRUSION:
        spread = record_intrusion(
            search.scores,
            unique=len(search.ids),
            file_level=file_level,
            columns=len(search.columns),
        )
        risk = [float(value) for value in spread[top]]
    return tuple(
        ExposedRecord(
            id=int(search.ids[position]),
            score=float(search.scores[position]),
            intrusion=intrusion,
            smallest=search.sets[search.smallest[position]].columns,
        )
        for position, intrusion in zip(top, risk, strict=True)
    )


def _score_counts(search: _MinimalUniqueSearch, people: int) -> tuple[ScoreCount, ...]:
    scores, counts = np.unique(search.scores[search.scores > 0], return_counts=True)
    safe = people - int(counts.sum())
    return ((ScoreCount(score=0.0, people=safe),) if safe else ()) + tuple(
        ScoreCount(score=float(score), people=int(count))
        for score, count in zip(scores, counts, strict=True)
    )
