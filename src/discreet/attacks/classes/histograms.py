"""What the classes of a release reveal about sensitive columns, each alone and all at once."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from sqlglot import exp

from discreet.attacks.manifest import find_manifest, read_published
from discreet.criteria.histograms import Overall
from discreet.engines.connect import opened_table
from discreet.engines.scratch import ScratchEngine
from discreet.errors import Bug, EmptySource, WrongUsage
from discreet.formatting import join_names
from discreet.measure.assess import resolve_policy
from discreet.measure.classes import (
    Cells,
    ClassHistograms,
    distinct_cells,
    group_cells,
    histogram,
    join_codes,
)
from discreet.measure.describe import describe_classes
from discreet.measure.roles import (
    RoleBinding,
    bind_roles,
    on_engine,
    reading_hints,
    refuse_stray_name,
    select_table,
)
from discreet.measure.sensitive import overall_of
from discreet.policy.model import ColumnRole, Policy
from discreet.sql import build


@dataclass(frozen=True)
class SensitiveHistogram:
    """The histogram of one sensitive column, or of several as one, in every class and overall.

    Attributes:
        indices: Which of the sensitive columns.
        cells: Where people are counted.
        groups: The classes; a code stands for the row of `tuples` at that place.
        whole: The release as one class, suppressed rows included: the adversary's prior belief.
        overall: The same as shares, with the order and the hierarchy of a single column.
        tuples: The code of each column, for each code of `groups`.
        people: How many people the release is about.
    """

    indices: tuple[int, ...]
    cells: Cells
    groups: ClassHistograms
    whole: ClassHistograms
    overall: Overall
    tuples: NDArray[np.int64]
    people: int

    @cached_property
    def names(self) -> tuple[str, ...]:
        """The names of the columns."""
        return tuple(self.cells.subject.sensitive[index].name for index in self.indices)

    @property
    def label(self) -> str:
        """The columns in words."""
        return join_names(self.names)

    @property
    def known(self) -> str:
        """The quasi-identifiers in words."""
        return join_names([column.name for column in self.cells.subject.quasi])

    @property
    def target(self) -> str:
        """The release as the user names it."""
        return self.cells.subject.table.label

    def people_in(self, classes: NDArray[np.bool_]) -> int:
        """Return how many people are in the chosen classes."""
        if self.cells.subject.unit is None or not classes.any():
            return int(self.groups.sizes[classes].sum())
        return self._count_people(self.groups.keys[classes], None)

    def people_with(self, entries: NDArray[np.bool_]) -> int:
        """Return how many people have a value in its class, for the chosen entries of `groups`."""
        if self.cells.subject.unit is None or not entries.any():
            return int(self.groups.counts[entries].sum())
        keys = self.groups.keys[self.groups.owners[entries]]
        return self._count_people(keys, self.tuples[self.groups.codes[entries]])

    def _count_people(self, keys: NDArray[np.int64], values: NDArray[np.int64] | None) -> int:
        """Return how many units have one of these classes, and values where they are given."""
        names = list(self.cells.packing.keys)
        columns = {name: keys[:, place] for place, name in enumerate(names)}
        if values is not None:
            columns |= {f"s{index}": values[:, at] for at, index in enumerate(self.indices)}
        engine = self.cells.subject.table.engine
        relation = engine.load(pa.table(columns).to_reader())
        chosen = build.subquery(build.select(exp.Star(), source=relation), "chosen")
        source = build.aliased_table(self.cells.relation, "c")
        once = (
            build.select(build.alias_as(build.column("unit", of="c"), "unit"), source=source)
            .join(chosen, on=build.same(columns, "c", "chosen"))
            .distinct()
        )
        counted = build.alias_as(build.count_star(), "people")
        found = engine.run(build.select(counted, source=build.subquery(once, "once")))
        engine.drop(relation)
        return int(found["people"][0].as_py())

    def describe(self, place: int) -> str:
        """Return the quasi-identifiers of the class at `place`, for the custodian only."""
        keys, sizes = self.groups.keys[place : place + 1], self.groups.sizes[place : place + 1]
        view = describe_classes(self.cells, keys, sizes.tolist(), [None])[0]
        return ", ".join(f"{name} {_value_text(value)}" for name, value in view.values.items())

    def values(self, codes: Sequence[int]) -> list[str]:
        """Return the values behind codes as text, for the custodian only."""
        engine = self.cells.subject.table.engine
        columns = [
            self.cells.sensitive[index].values(engine, self.tuples[list(codes), at].tolist())
            for at, index in enumerate(self.indices)
        ]
        return [" / ".join(map(_value_text, row)) for row in zip(*columns, strict=True)]


@dataclass(frozen=True)
class Classes:
    """A release's classes: what they reveal about each sensitive column, and about all as one."""

    bound: RoleBinding
    columns: tuple[SensitiveHistogram, ...]
    jointly: SensitiveHistogram | None

    @property
    def all(self) -> tuple[SensitiveHistogram, ...]:
        """Each column, then all as one where there are several."""
        return self.columns if self.jointly is None else (*self.columns, self.jointly)


@contextmanager
def opened_release(  # noqa: PLR0913 -- how a source is read, and who plays which part
    source: object,
    policy: Policy | str | Path | None = None,
    *,
    quasi: Sequence[str] | None = None,
    sensitive: Sequence[str] | None = None,
    unit: str | None = None,
    table: str | None = None,
    delimiter: str | None = None,
    encoding: str | None = None,
    memory_limit: str | None = None,
) -> Generator[RoleBinding]:
    """Open a release with the parts of its columns; what is kept meanwhile is dropped at the end.

    Without a policy and without words for the parts, the manifest beside a release says them. A
    release has lost its policy's unit: then each row is another person.
    """
    loaded = resolve_policy(policy)
    manifest = find_manifest(source) if loaded is None and quasi is None else None
    refuse_stray_name(table, source, loaded)
    with (
        opened_table(
            source,
            table=table,
            delimiter=delimiter,
            encoding=encoding,
            memory_limit=memory_limit,
            hints=reading_hints(loaded, source, name=table),
        ) as opened,
        ScratchEngine(opened.engine) as scratch,
    ):
        chosen = read_published(manifest) if manifest is not None else None
        if loaded is not None:
            chosen = select_table(loaded, label=opened.label, name=table)
        has_lost_unit = bool(chosen and chosen.unit and opened.column(chosen.unit) is None)
        bound = bind_roles(
            opened,
            policy=chosen,
            path=str(loaded.path) if loaded and loaded.path else None,
            quasi=quasi,
            sensitive=sensitive,
            unit=unit,
            rows_are_people=has_lost_unit,
        )
        # What a release holds is published, whatever its policy was to leave out.
        stays = {
            name: ColumnRole.INSENSITIVE
            for name, role in bound.roles.items()
            if role in (ColumnRole.WEIGHT, ColumnRole.HOUSEHOLD)
        }
        subject = replace(bound.subject, weight=None, household=None)
        bound = replace(bound, subject=subject, roles={**bound.roles, **stays})
        yield on_engine(bound, scratch)


def read_classes(bound: RoleBinding) -> Classes:
    """Return what the classes of a release reveal, from one GROUP BY on its engine.

    Raises:
        WrongUsage: No sensitive column is named.
        EmptySource: The release has no rows.

    >>> import pyarrow as pa
    >>> release = pa.table({"age": ["3*", "3*", "4*"], "ill": ["flu", "flu", "gout"]})
    >>> with opened_release(release, quasi=["age"], sensitive=["ill"]) as bound:
    ...     read_classes(bound).columns[0].groups.sizes.tolist()
    [2, 1]
    """
    subject = bound.subject
    if not subject.sensitive:
        raise WrongUsage(
            f"No column of {subject.table.label} is sensitive, so that there is nothing to learn. "
            "Name what outsiders must not learn: --sensitive diagnosis, or a policy with --policy."
        )
    cells = group_cells(subject, keeps_groups=True, keeps_suppressed=True)
    if cells.rows == 0:
        raise EmptySource(f"{subject.table.label} has a header but no rows.")
    people = _count_units(cells)
    columns = tuple(
        _column_histogram(cells, bound, index, people) for index in range(len(subject.sensitive))
    )
    jointly = _joint_histogram(cells, columns, people) if len(columns) > 1 else None
    return Classes(bound, columns, jointly)


def _column_histogram(
    cells: Cells, bound: RoleBinding, index: int, people: int
) -> SensitiveHistogram:
    overall = overall_of(cells, bound, index)
    found = count_release_values(cells, (index,))
    counts = np.zeros(len(overall.shares), dtype=np.int64)
    counts[found[:, 0]] = found[:, 1]
    return SensitiveHistogram(
        indices=(index,),
        cells=cells,
        groups=_concatenate_classes(list(histogram(cells, index)), width=len(cells.packing.keys)),
        whole=_as_one(counts, people),
        overall=overall,
        tuples=np.arange(len(counts))[:, None],
        people=people,
    )


def _joint_histogram(
    cells: Cells, columns: Sequence[SensitiveHistogram], people: int
) -> SensitiveHistogram:
    """Return the histogram of all sensitive columns as one: each may be close, and all not."""
    indices = tuple(range(len(columns)))
    names = [*cells.packing.keys, *(f"s{index}" for index in indices)]
    width = len(cells.packing.keys)
    overall = count_release_values(cells, indices)
    found = _fetch_integers(cells, _count_query(cells, names))
    # Classes come in the order of their keys, as they do for each column alone.
    seen = np.concatenate([overall[:, :-1], found[:, width:-1]])
    tuples, codes = np.unique(seen, axis=0, return_inverse=True)
    codes = codes.reshape(-1)
    counts = np.zeros(len(tuples), dtype=np.int64)
    counts[codes[: len(overall)]] = overall[:, -1]
    alone = columns[0].groups
    changes = np.flatnonzero((found[1:, :width] != found[:-1, :width]).any(axis=1)) + 1
    starts = np.concatenate([[0], changes, [len(found)]]) if len(found) else np.zeros(1, np.int64)
    groups = ClassHistograms(
        found[starts[:-1], :width], starts, codes[len(overall) :], found[:, -1], alone.sizes
    )
    shares = Overall(shares=counts / max(int(counts.sum()), 1))
    return SensitiveHistogram(
        indices, cells, groups, _as_one(counts, people), shares, tuples, people
    )


def count_release_values(cells: Cells, indices: Sequence[int]) -> NDArray[np.int64]:
    """Return the codes of sensitive columns and the people who have them, in the whole release."""
    if cells.groups is None:
        raise Bug("The groups of the cells were not kept.")
    domains = [cells.sensitive[index] for index in indices]
    values = [build.column(f"s{index}", of="t") for index in indices]
    query, codes = join_codes(cells.groups.relation, domains, values)
    names = [f"s{index}" for index in indices]
    wanted = [
        build.alias_as(exp.cast(exp.paren(code), exp.DataType.Type.BIGINT), name)
        for code, name in zip(codes, names, strict=True)
    ]
    other = "rows" if cells.subject.unit is None else "unit"
    query = query.select(*wanted, build.alias_as(build.column(other, of="t"), other))
    if cells.subject.unit is not None:
        query = query.distinct()
    columns = [build.column(name) for name in names]
    counted = build.select(
        *columns,
        build.alias_as(_size_expression(cells), "count"),
        source=build.subquery(query, "c"),
    ).group_by(*(column.copy() for column in columns))
    return _fetch_integers(
        cells, build.order_nulls_last(counted, [column.copy() for column in columns])
    )


def _count_query(cells: Cells, names: Sequence[str]) -> exp.Select:
    columns = [build.column(name) for name in names]
    source: exp.Expr = cells.relation.copy()
    if cells.subject.unit is not None:
        source = build.subquery(distinct_cells(cells, [*names, "unit"]), "people")
    counted = build.select(
        *columns, build.alias_as(_size_expression(cells), "count"), source=source
    )
    counted = counted.group_by(*(column.copy() for column in columns))
    return build.order_nulls_last(counted, [column.copy() for column in columns])


def _size_expression(cells: Cells) -> exp.Expr:
    return (
        build.sum_integers(build.column("rows"))
        if cells.subject.unit is None
        else build.count_star()
    )


def _fetch_integers(cells: Cells, query: exp.Select) -> NDArray[np.int64]:
    """Return a result of whole numbers, a row each."""
    width = len(query.expressions)
    batches = [
        np.column_stack([column.to_numpy(zero_copy_only=False) for column in batch.columns])
        for batch in cells.subject.table.engine.stream(query)
    ]
    return np.concatenate([np.empty((0, width), np.int64), *batches]).astype(np.int64)


def _concatenate_classes(parts: Sequence[ClassHistograms], *, width: int) -> ClassHistograms:
    """Return batches of whole classes as one."""
    none = np.empty(0, np.int64)
    lengths = np.concatenate([none, *(part.lengths for part in parts)])
    return ClassHistograms(
        np.concatenate([np.empty((0, width), np.int64), *(part.keys for part in parts)]),
        np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64),
        np.concatenate([none, *(part.codes for part in parts)]),
        np.concatenate([none, *(part.counts for part in parts)]),
        np.concatenate([none, *(part.sizes for part in parts)]),
    )


def _as_one(counts: NDArray[np.int64], people: int) -> ClassHistograms:
    ends, size = np.array([0, len(counts)]), np.array([people])
    return ClassHistograms(np.zeros((1, 1), np.int64), ends, np.arange(len(counts)), counts, size)


def _count_units(cells: Cells) -> int:
    if cells.subject.unit is None or cells.groups is None:
        return cells.rows
    once = build.select(build.column("unit"), source=cells.groups.relation.copy()).distinct()
    counted = build.alias_as(build.count_star(), "people")
    found = cells.subject.table.engine.run(
        build.select(counted, source=build.subquery(once, "once"))
    )
    return int(found["people"][0].as_py())


def _value_text(value: object) -> str:
    return "missing" if value is None else str(value)
