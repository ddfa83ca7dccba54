"""The gate of synthetic tables that are published together: each is attacked with what the keys add to it.

Who has a child row is known by its key. So a parent is attacked with the numbers of its children, and a child with
the columns of its parent. One twin of all tables is made without some people, who are set aside in every table.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal

import numpy as np
import pyarrow as pa
from numpy.random import Generator
from numpy.typing import NDArray
from sqlglot import exp

from discreet.domain.coded_column import CodedColumn
from discreet.engines.engine import ArrowTable, Column, Engine, Kind, Table
from discreet.policy.model import ColumnPolicy, ColumnRole, TablePolicy
from discreet.progress import Progress
from discreet.release.gate import Gate, GateResult
from discreet.release.synthesize.domain import TableDomain, table_domain
from discreet.release.synthesize.family import FamilyModel, FamilyRows
from discreet.release.synthesize.family_request import FamilyRequest
from discreet.release.synthesize.gate import (
    LEAST_PEOPLE,
    MOST_ROWS,
    TOO_FEW,
    CandidateRows,
    CodedPeople,
    Codes,
    RowCounter,
    attack_candidate,
    choose_others,
    compare_with_others,
    limit_rows,
)
from discreet.sql import build

_SPARE = 1.2  # a family is drawn anew with more parents, so that every table has enough rows


@dataclass(frozen=True)
class FamilySource:
    """One table of the source, as it is attacked.

    Attributes:
        table: The table, where it is.
        query: Its rows as codes `c0`, `c1`, …, their unit `u`, and the columns in `kept` as `r0`, `r1`, ….
            The codes are those of the fit: of a parent with its numbers of children, of a child with its parent.
        kept: The table's own columns, if there are earlier releases to compare with.
        rows_per_unit: How many rows of a unit count.
        sensitivity: How many rows the noise of the fit covers.
        gate: What is tolerated.
    """

    table: Table
    query: exp.Select
    kept: tuple[str, ...]
    rows_per_unit: int
    sensitivity: int
    gate: Gate


@dataclass(frozen=True)
class _ReadTable:
    rows: Codes
    units: NDArray[np.str_]
    raw: ArrowTable


def attack_synthetic_family(
    request: FamilyRequest,
    sources: Sequence[FamilySource],
    published: FamilyRows,
    model: FamilyModel,
    chance: Generator,
    *,
    progress: Progress,
) -> list[GateResult]:
    """Attack all tables of a family; return what was found of each, the parent's first.

    Raises:
        RiskNotTolerated: An attack learns more than is tolerated, and the risk was not accepted.
    """
    progress("reading people", 0, 1)
    read = [_read_table(one, chance) for one in sources]
    names, numbers = np.unique(np.concatenate([one.units for one in read]), return_inverse=True)
    ends = np.cumsum([len(one.units) for one in read])[:-1]
    units = [part.astype(np.int64) for part in np.split(numbers, ends)]
    is_other = choose_others(np.arange(len(names)), chance)
    if is_other is None:
        return [GateResult(cautions=(TOO_FEW,)) for _ in sources]
    progress("twin", 0, 1)
    twin = _fit_twin(request, sources, read, units, ~is_other, chance)
    made = twin.sample(max(1, round(twin.parent.columns.total)), chance)
    spare = int(min(len(published.parents), MOST_ROWS) * _SPARE) + 1
    anew = _attacked_codes(request, model.sample(spare, chance))
    results: list[GateResult] = []
    for place, (source, one, domain) in enumerate(
        zip(sources, read, attacked_domains(request), strict=True)
    ):
        people = CodedPeople(_to_columns(request, place, one.rows), units[place], is_all=False)
        others = is_other[units[place]]
        ours = _attacked_codes(request, published)[place]
        twins = compare_with_others(people, _attacked_codes(request, made)[place], others, chance)
        if min(len(twins.people), len(twins.others), len(twins.rows), len(ours)) < LEAST_PEOPLE:
            results.append(GateResult(cautions=(f"'{_name_of(request, place)}': {TOO_FEW}",)))
            continue
        draw = _draw_from(anew[place], chance)
        candidate = CandidateRows(domain, ours, source.table, draw, _name_of(request, place))
        results.append(
            attack_candidate(
                candidate, twins, (people, one.raw), source.gate, chance, progress=progress
            )
        )
    return results


def _draw_from(rows: Codes, chance: Generator) -> Callable[[int], Codes]:
    return lambda count: rows[chance.permutation(len(rows))[:count]]


def _fit_twin(
    request: FamilyRequest,
    sources: Sequence[FamilySource],
    read: Sequence[_ReadTable],
    units: Sequence[NDArray[np.int64]],
    is_inside: NDArray[np.bool_],
    chance: Generator,
) -> FamilyModel:
    """Return the model of the family without the people who are set aside."""
    counters: list[RowCounter] = []
    for source, one, of, sizes in zip(sources, read, units, request.fitted_sizes, strict=True):
        inside = is_inside[of]
        kept = limit_rows(of[inside], source.rows_per_unit, chance)
        counters.append(RowCounter(one.rows[inside][kept], sizes, sensitivity=source.sensitivity))
    return request.fit(counters, seed=int(chance.integers(2**62)))


def _read_table(source: FamilySource, chance: Generator) -> _ReadTable:
    """Return rows, all or a sample; the same rows give the same order, however the engine returns them."""
    engine: Engine = source.table.engine
    counted = build.select(
        build.alias_as(build.count_star(), "n"), source=build.subquery(source.query.copy(), "a")
    )
    is_all = int(engine.run(counted)["n"][0].as_py()) <= MOST_ROWS
    query = source.query.copy()
    if not is_all:
        query = query.order_by(exp.Rand()).limit(MOST_ROWS)
    found = engine.run(query)
    codes = [name for name in found.column_names if name.startswith("c")]
    rows = np.stack([found[name].to_numpy().astype(np.int32) for name in codes], axis=1)
    texts = found["u"].cast(pa.string()).fill_null("").to_numpy(zero_copy_only=False).astype(str)
    order = np.arange(len(rows))
    if is_all:
        order = np.lexsort((*rows.T, texts))[chance.permutation(len(rows))]
    raw = found.select([f"r{place}" for place in range(len(source.kept))])
    raw = raw.rename_columns(list(source.kept)).take(order)
    return _ReadTable(rows[order], texts[order], raw)


def _name_of(request: FamilyRequest, place: int) -> str:
    return request.children[place - 1].name if place else request.name


def _number_columns(request: FamilyRequest) -> list[CodedColumn]:
    """Return a column for the number of rows in each child table, as attacks know columns."""
    columns: list[CodedColumn] = []
    for child in request.children:
        name = f"number of {child.name}"
        said = ColumnPolicy(name, ColumnRole.INSENSITIVE, bounds=(Decimal(0), Decimal(child.most)))
        columns += table_domain(TablePolicy(name, (said,)), [Column(name, Kind.INTEGER)]).columns
    return columns


def attacked_domains(request: FamilyRequest) -> list[TableDomain]:
    """Return the columns that each table is attacked with."""
    own = [one.columns for one in request.domains]
    named = [
        [replace(one, name=f"{name}.{one.name}") for one in columns]
        for name, columns in zip(request.names, own, strict=True)
    ]
    found: list[TableDomain] = []
    for place in range(len(own)):
        columns = [*named[:place], own[place], *named[place + 1 :]]
        attacked = request.tree.join_columns(place, columns, _number_columns(request))
        found.append(TableDomain(tuple(attacked), (), tuple(one.name for one in attacked)))
    return found


def _to_columns(request: FamilyRequest, place: int, rows: Codes) -> Codes:
    """Return rows as codes of the attacked columns: numbers of children may have coarser ones."""
    children = request.tree.list_children(place)
    if not children:
        return rows
    columns, first = _number_columns(request), rows.shape[1] - len(children)
    coded = [
        columns[child - 1].encode(pa.array(rows[:, first + number].astype(np.int64)))
        for number, child in enumerate(children)
    ]
    return np.column_stack([rows[:, :first], *coded]).astype(np.int32)


def _attacked_codes(request: FamilyRequest, rows: FamilyRows) -> list[Codes]:
    """Return synthetic rows as codes of the attacked columns, for each table."""
    found: list[Codes] = []
    for place in range(len(request.names)):
        numbers = [rows.count_children(child) for child in request.tree.list_children(place)]
        joined = np.column_stack([rows.join_ancestors(place), *numbers]).astype(np.int32)
        found.append(_to_columns(request, place, joined))
    return found
