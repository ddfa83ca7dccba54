"""Which values each known person may have, by each of several releases and by all of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from sqlglot import exp

from discreet.arrow import ArrowArray, pc
from discreet.formatting import join_names
from discreet.policy.hierarchies.values import text_of
from discreet.sql import build

if TYPE_CHECKING:
    from discreet.attacks.locating.locate import KnownCombinations, Located

SHOWN = 8
MISSING = "\0missing"  # no value of a table: it cannot hold this letter


@dataclass(frozen=True)
class ValueDictionary:
    """The values of a sensitive column over all releases, as text; a code is a place in it."""

    values: ArrowArray

    def __len__(self) -> int:
        return len(self.values)

    def codes(self, values: ArrowArray) -> NDArray[np.int64]:
        """Return the code of each value, -1 for one that no release has."""
        found = pc.index_in(text_values(values), value_set=self.values)
        return pc.fill_null(found, -1).to_numpy(zero_copy_only=False).astype(np.int64)

    def text(self, code: int) -> str:
        """Return the value behind a code, for the custodian only."""
        value = str(self.values[code].as_py())
        return "missing" if value == MISSING else value

    def some(self, codes: Sequence[int]) -> str:
        """Return the first values behind codes in words, for the custodian only."""
        shown = [self.text(code) for code in codes[:SHOWN]]
        rest = len(codes) - len(shown)
        return join_names([*shown, f"{rest} more"] if rest else shown)


@dataclass(frozen=True)
class CandidateValues:
    """The values that people may have: entry i says that `rows[i]` rows fit person and value.

    Entries are unique, and in the order of person and value. `located` says for each person whether
    any row fits.
    """

    person: NDArray[np.int64]
    value: NDArray[np.int64]
    rows: NDArray[np.float64]
    located: NDArray[np.bool_]

    def sizes(self) -> NDArray[np.int64]:
        """Return how many different values each person may have."""
        return np.bincount(self.person, minlength=len(self.located))

    def best(self) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        """Return each person's likeliest value, -1 where there is none, and how likely it is."""
        people = len(self.located)
        order = np.lexsort((-self.value, self.rows, self.person))  # the last of each is the best
        last = np.flatnonzero(np.append(np.diff(self.person[order]) != 0, len(order) > 0))
        chosen = order[last]
        totals = np.bincount(self.person, weights=self.rows, minlength=people)
        guess, chance = np.full(people, -1), np.zeros(people)
        owner = self.person[chosen]
        guess[owner] = self.value[chosen]
        chance[owner] = self.rows[chosen] / np.maximum(totals[owner], np.finfo(float).tiny)
        return guess, chance


def build_value_dictionary(
    located: Sequence[Located], index: int
) -> tuple[ValueDictionary, NDArray[np.float64]]:
    """Return the values of the member column at `index` over all releases, and their shares."""
    texts: list[ArrowArray] = []
    rows: list[NDArray[np.float64]] = []
    for one in located:
        value = build.column(f"m{index}")
        query = build.select(
            build.alias_as(value, "value"),
            build.alias_as(build.sum_integers(build.column("rows")), "rows"),
            source=one.members.copy(),
        ).group_by(value.copy())
        found = one.known.engine.run(query)
        texts.append(text_values(_combine_chunks(found["value"])))
        rows.append(found["rows"].to_numpy().astype(np.float64))
    every = pa.concat_arrays(texts)
    words = ValueDictionary(every.unique().sort())
    counts = np.bincount(words.codes(every), weights=np.concatenate(rows), minlength=len(words))
    return words, counts / max(float(counts.sum()), 1.0)


def find_candidates(
    located: Located, words: ValueDictionary, *, index: int, people: int
) -> CandidateValues:
    """Return what one release leaves for each known person, numbered from 0.

    Where several classes fit a person, each of their rows may be theirs.
    """
    person, value = build.column("person", of="p"), build.column(f"m{index}", of="m")
    query = (
        build.select(
            build.alias_as(person, "person"),
            build.alias_as(value, "value"),
            build.alias_as(build.sum_integers(build.column("rows", of="m")), "rows"),
            source=build.aliased_table(located.pairs, "p"),
        )
        .join(
            build.aliased_table(located.members, "m"),
            on=build.same(["class"], "p", "m"),
        )
        .group_by(person.copy(), value.copy())
    )
    found = located.known.engine.run(query)
    owners = found["person"].to_numpy().astype(np.int64) - 1
    codes = words.codes(_combine_chunks(found["value"]))
    rows = found["rows"].to_numpy().astype(np.float64)
    return make_candidates(owners, codes, rows, people=people)


def make_candidates(
    person: NDArray[np.int64],
    value: NDArray[np.int64],
    rows: NDArray[np.float64],
    *,
    people: int,
) -> CandidateValues:
    """Return entries in their order, with who has any."""
    order = np.lexsort((value, person))
    located = np.bincount(person, minlength=people) > 0
    return CandidateValues(person[order], value[order], rows[order], located)


def intersect(
    first: CandidateValues, second: CandidateValues, *, prior: NDArray[np.float64]
) -> CandidateValues:
    """Return the values that both leave, weighed as if the releases were drawn independently.

    P(value | both classes) ∝ n1 n2 / prior, for n rows of a person's classes with the value.
    """
    width = len(prior)
    keys = [one.person * width + one.value for one in (first, second)]
    _, mine, theirs = np.intersect1d(*keys, assume_unique=True, return_indices=True)
    value = first.value[mine]
    rows = first.rows[mine] * second.rows[theirs] / prior[value]
    return CandidateValues(first.person[mine], value, rows, first.located & second.located)


def narrow_candidates(
    first: CandidateValues, second: CandidateValues, *, prior: NDArray[np.float64]
) -> CandidateValues:
    """Return `intersect`, but whom one of them does not know keeps what the other leaves."""
    both = intersect(first, second, prior=prior)
    parts = [both]
    for mine, other in ((first, second), (second, first)):
        alone = ~other.located[mine.person]
        parts.append(
            CandidateValues(mine.person[alone], mine.value[alone], mine.rows[alone], mine.located)
        )
    person, value = (
        np.concatenate([getattr(part, name) for part in parts]) for name in ("person", "value")
    )
    rows = np.concatenate([part.rows for part in parts])
    order = np.lexsort((value, person))
    return CandidateValues(person[order], value[order], rows[order], first.located | second.located)


def weights_of(known: KnownCombinations, *names: str) -> tuple[NDArray[np.int64], list[ArrowArray]]:
    """Return how many people each known combination stands for, and columns, in the order of people."""
    columns = [
        build.alias_as(build.column(f"k{known.index(name)}"), f"c{place}")
        for place, name in enumerate(names)
    ]
    query = build.order_nulls_last(
        build.select(build.column("people"), *columns, source=known.relation.copy()),
        [build.column("person")],
    )
    found = known.engine.run(query)
    return (
        found["people"].to_numpy().astype(np.int64),
        [_combine_chunks(found[f"c{place}"]) for place in range(len(names))],
    )


def count_classes(located: Located, index: int) -> NDArray[np.int64]:
    """Return the rows of each class, and those of its most frequent value."""
    value, rows = build.column(f"m{index}"), build.column("rows")
    each = build.select(
        build.column("class"),
        build.alias_as(build.sum_integers(rows), "rows"),
        source=located.members.copy(),
    ).group_by(build.column("class"), value)
    query = build.select(
        build.alias_as(build.sum_integers(rows.copy()), "rows"),
        build.alias_as(exp.Max(this=rows.copy()), "most"),
        source=build.subquery(each, "each"),
    ).group_by(build.column("class"))
    found = located.known.engine.run(query)
    columns = [found[name].to_numpy() for name in ("rows", "most")]
    return np.stack(columns, axis=1).astype(np.int64)


def _combine_chunks(column: ArrowArray) -> ArrowArray:
    return pa.chunked_array(column).combine_chunks()


def text_values(values: ArrowArray) -> ArrowArray:
    """Return values as texts, by which those of different releases are compared; none is missing."""
    return pc.fill_null(text_of(values).cast(pa.string()), MISSING)
