"""The one GROUP BY that every criterion and risk rests on, run once, on the engine."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from sqlglot import exp

from discreet.criteria.histograms import ClassHistograms
from discreet.engines.engine import Column, Engine, Kind, Table
from discreet.errors import Bug
from discreet.measure.encode import (
    CodeSource,
    Domain,
    ListedDomain,
    Packing,
    comparable_value,
    encode_domains,
    list_values,
    pack_domains,
    sensitive_value,
    weight_value,
)
from discreet.sql import build

SUPPRESSED = "*"


@dataclass(frozen=True)
class Roles:
    """What is measured: a table, what outsiders know, what they must not learn, whose rows.

    `weight` says how many people of the population a row stands for, `household` who lives together.
    """

    table: Table
    quasi: tuple[Column, ...]
    sensitive: tuple[Column, ...] = ()
    unit: Column | None = None
    weight: Column | None = None
    household: Column | None = None


@dataclass(frozen=True)
class KeptGroups:
    """The table's distinct rows, kept on the engine with the values themselves.

    `relation` has `q0 … qn`, `s0 … sn`, `unit` when there is one, and `rows`; it has `count` rows. With a
    sampling weight it has its sum, `weight`, and the largest of them, `heaviest`.
    """

    relation: exp.Table
    count: int


@dataclass(frozen=True)
class Cells:
    """The table grouped by class, sensitive values and unit, kept on the engine as whole numbers.

    `relation` has the key columns of `packing`, `s0 … sn` (codes of the sensitive columns), `unit`
    when there is one, `rows`, and `weight` and `heaviest` with sampling weights. It has at most as many
    rows as the table, and nothing after it reads the table again. `groups` is there when it was asked for.
    """

    subject: Roles
    relation: exp.Table
    packing: Packing
    sensitive: tuple[ListedDomain, ...]
    rows: int
    suppressed: int
    groups: KeptGroups | None = None


def group_cells(
    subject: Roles, *, keeps_groups: bool = False, keeps_suppressed: bool = False
) -> Cells:
    """Return the cells of `subject`: rows that share class, sensitive values and unit.

    The table is read once, by one GROUP BY of its own values. Codes are given to the groups, which
    are fewer; `keeps_groups` leaves them on the engine as well. To a reader, suppressed rows are a
    class like any other, with `keeps_suppressed`; a search for classes leaves them out, because
    there is nothing to be made of them.
    """
    engine = subject.table.engine
    quasi = {f"q{index}": column for index, column in enumerate(subject.quasi)}
    sensitive = {f"s{index}": column for index, column in enumerate(subject.sensitive)}
    groups = engine.keep(_groups_query(subject, quasi, sensitive))
    rows, suppressed, count = _count(engine, groups, quasi)
    source = CodeSource(engine, groups, rows)
    domains = encode_domains(source, quasi)
    listed = tuple(list_values(source, column, name=name) for name, column in sensitive.items())
    packing = pack_domains(domains)
    values = [build.column(name, of="t") for name in (*quasi, *sensitive)]
    query, codes = join_codes(groups, (*domains, *listed), values)
    wanted = packing.expressions(codes[: len(domains)])
    wanted += [
        build.alias_as(exp.cast(exp.paren(code), exp.DataType.Type.BIGINT), name)
        for name, code in zip(sensitive, codes[len(domains) :], strict=True)
    ]
    others = ["rows"] if subject.unit is None else ["unit", "rows"]
    others += ["weight", "heaviest"] if subject.weight is not None else []
    wanted += [build.alias_as(build.column(name, of="t"), name) for name in others]
    query = query.select(*wanted)
    if suppressed and not keeps_suppressed:
        query = query.where(exp.not_(exp.paren(is_suppressed(quasi, of="t"))))
    cells = Cells(subject, engine.keep(query), packing, listed, rows, suppressed)
    if keeps_groups:
        return replace(cells, groups=KeptGroups(groups, count))
    engine.drop(groups)
    return cells


def _groups_query(
    subject: Roles, quasi: Mapping[str, Column], sensitive: Mapping[str, Column]
) -> exp.Select:
    values = {name: comparable_value(column, of="t") for name, column in quasi.items()}
    values |= {name: sensitive_value(column, of="t") for name, column in sensitive.items()}
    if subject.unit is not None:
        values["unit"] = comparable_value(subject.unit, of="t")
    sums = [build.alias_as(build.count_star(), "rows")]
    if subject.weight is not None:
        weight = weight_value(subject.weight, of="t")
        total = exp.cast(exp.Sum(this=weight), "double")
        sums += [build.alias_as(total, "weight")]
        sums += [build.alias_as(exp.Max(this=weight.copy()), "heaviest")]
    return build.select(
        *(build.alias_as(value, name) for name, value in values.items()),
        *sums,
        source=build.aliased_table(subject.table.relation, "t"),
    ).group_by(*(value.copy() for value in values.values()))


def _count(engine: Engine, groups: exp.Table, quasi: Mapping[str, Column]) -> tuple[int, int, int]:
    """Return the number of rows, of those that are suppressed, and of groups."""
    rows = build.column("rows", of="t")
    marked = exp.case().when(is_suppressed(quasi, of="t"), rows.copy())
    found = engine.run(
        build.select(
            build.alias_as(build.sum_integers(rows), "rows"),
            build.alias_as(build.sum_integers(marked), "suppressed"),
            build.alias_as(build.count_star(), "groups"),
            source=build.aliased_table(groups, "t"),
        )
    ).to_pylist()[0]
    return int(found["rows"] or 0), int(found["suppressed"] or 0), int(found["groups"])


def suppressed_people(cells: Cells) -> int:
    """Return how many people the suppressed rows of cells with kept groups are of."""
    if cells.subject.unit is None or not cells.suppressed:
        return cells.suppressed
    if cells.groups is None:
        raise Bug("The groups of the cells were not kept.")
    quasi = {f"q{index}": column for index, column in enumerate(cells.subject.quasi)}
    units = (
        build.select(
            build.alias_as(build.column("unit", of="t"), "unit"),
            source=build.aliased_table(cells.groups.relation, "t"),
        )
        .where(is_suppressed(quasi, of="t"))
        .distinct()
    )
    counted = build.select(
        build.alias_as(build.count_star(), "people"), source=build.subquery(units, "u")
    )
    return int(cells.subject.table.engine.run(counted).to_pylist()[0]["people"])


def is_suppressed(quasi: Mapping[str, Column], *, of: str) -> exp.Expr:
    """Return the condition that a row's quasi-identifiers, in the table `of`, are all `*`.

    A missing value beside a `*` is not suppressed: an outsider may know that a person has none.
    """
    if any(column.kind is not Kind.TEXT for column in quasi.values()):
        return exp.false()
    return build.all_of([_is_mark(name, of) for name in quasi])


def _is_mark(name: str, of: str) -> exp.Expr:
    # Never NULL: the condition is negated, and NOT NULL would drop rows that miss every value.
    known = exp.Coalesce(this=build.column(name, of=of), expressions=[build.text("")])
    return exp.EQ(this=known, expression=build.text(SUPPRESSED))


def join_codes(
    relation: exp.Table, domains: Sequence[Domain], values: Sequence[exp.Expr]
) -> tuple[exp.Select, list[exp.Expr]]:
    """Return `FROM relation AS t` joined with the dictionaries, and the code of each value.

    `values` are columns of `t`, one per domain; a value its domain does not know has no code (NULL).
    """
    query = exp.Select().from_(build.aliased_table(relation, "t"))
    codes: list[exp.Expr] = []
    for index, (domain, value) in enumerate(zip(domains, values, strict=True)):
        alias = f"d{index}"
        if isinstance(domain, ListedDomain):
            query = query.join(domain.join(value=value, alias=alias))
        codes.append(domain.code(value=value, alias=alias))
    return query, codes


def sizes_query(cells: Cells) -> exp.Select:
    """Return the query of all classes: their keys and `size`, the number of people in each."""
    keys = [build.column(name) for name in cells.packing.keys]
    if cells.subject.unit is None:
        size: exp.Expr = build.sum_integers(build.column("rows"))
        source: exp.Expr = cells.relation.copy()
    else:
        size = build.count_star()
        source = build.subquery(distinct_cells(cells, [*cells.packing.keys, "unit"]), "people")
    named_size = build.alias_as(size, "size")
    return build.select(*keys, named_size, source=source).group_by(*(key.copy() for key in keys))


def histogram(cells: Cells, index: int) -> Iterator[ClassHistograms]:
    """Yield all classes with the histogram of the sensitive column at `index`, in bounded memory."""
    names = [*cells.packing.keys, f"s{index}"]
    columns = [build.column(name) for name in names]
    if cells.subject.unit is None:
        count: exp.Expr = build.sum_integers(build.column("rows"))
        source: exp.Expr = cells.relation.copy()
    else:
        count = build.count_star()
        source = build.subquery(distinct_cells(cells, [*names, "unit"]), "people")
    query = build.select(*columns, build.alias_as(count, "count"), source=source)
    if cells.subject.unit is None and len(cells.sensitive) == 1:
        # The cells are this histogram already: no second GROUP BY.
        query = build.select(*columns, build.column("rows"), source=cells.relation.copy())
    else:
        query = query.group_by(*(column.copy() for column in columns))
    if cells.subject.unit is not None:
        query = _with_sizes(cells, query, names)
    ordered = build.order_nulls_last(query, [build.column(name) for name in names])
    return _whole_classes(cells, ordered)


def distinct_cells(cells: Cells, names: Sequence[str]) -> exp.Select:
    """Return the query of the different values of some columns of the cells."""
    columns = [build.column(name) for name in names]
    return build.select(*columns, source=cells.relation.copy()).distinct()


def _with_sizes(cells: Cells, query: exp.Select, names: Sequence[str]) -> exp.Select:
    """Add each class's number of people, which its counts do not add up to."""
    wanted = [build.alias_as(build.column(name, of="h"), name) for name in (*names, "count")]
    size = build.alias_as(build.column("size", of="c"), "size")
    joined = build.select(*wanted, size, source=build.subquery(query, "h")).join(
        build.subquery(sizes_query(cells), "c"), on=build.same(cells.packing.keys, "h", "c")
    )
    return build.select(exp.Star(), source=build.subquery(joined, "sized"))


def people_in(cells: Cells, keys: exp.Query) -> int:
    """Return how many different people are in the classes whose keys `keys` selects.

    With a unit a person may be in several classes, and the sizes of classes count them in each.
    """
    found = build.select(source=build.aliased_table(cells.relation, "c")).join(
        build.subquery(keys, "chosen"), on=build.same(cells.packing.keys, "c", "chosen")
    )
    if cells.subject.unit is None:
        people: exp.Expr = build.sum_integers(build.column("rows", of="c"))
        counted = found.select(build.alias_as(people, "people"))
    else:
        once = found.select(build.alias_as(build.column("unit", of="c"), "unit")).distinct()
        people = build.alias_as(build.count_star(), "people")
        counted = build.select(people, source=build.subquery(once, "once"))
    return int(cells.subject.table.engine.run(counted)["people"][0].as_py() or 0)


def _whole_classes(cells: Cells, query: exp.Select) -> Iterator[ClassHistograms]:
    """Cut an ordered stream into groups of whole classes, carrying a class over batch borders."""
    width = len(cells.packing.keys)
    carried: NDArray[np.int64] | None = None
    for batch in cells.subject.table.engine.stream(query):
        table = np.column_stack(
            [column.to_numpy(zero_copy_only=False) for column in batch.columns]
        ).astype(np.int64, copy=False)
        if carried is not None:
            table = np.concatenate([carried, table])
        if not len(table):
            continue
        changes = np.flatnonzero((table[1:, :width] != table[:-1, :width]).any(axis=1)) + 1
        if not len(changes):
            carried = table
            continue
        carried = table[changes[-1] :]
        yield _build_histograms(table[: changes[-1]], np.concatenate([[0], changes]), width)
    if carried is not None and len(carried):
        yield _build_histograms(carried, np.array([0, len(carried)]), width)


def _build_histograms(
    table: NDArray[np.int64], starts: NDArray[np.int64], width: int
) -> ClassHistograms:
    counts = table[:, width + 1]
    first = starts[:-1]
    sized = table.shape[1] > width + 2
    sizes = table[first, width + 2] if sized else np.add.reduceat(counts, first)
    return ClassHistograms(table[first, :width], starts, table[:, width], counts, sizes)
