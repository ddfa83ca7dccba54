"""From released tables to the answer: SQL over noisy aggregates, and the error of its result."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import sqrt
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
from sqlglot import exp

from discreet.answer.keys import TYPES
from discreet.answer.perturb import COUNTS, ReleasedTable
from discreet.answer.plan import Plan, RankProbe
from discreet.answer.post_processing import make_query_total
from discreet.answer.question import PrivateQuery, Question, aggregate_name, key_name
from discreet.answer.statistics import SPREADS
from discreet.engines.engine import ArrowSchema, ArrowTable
from discreet.errors import EngineFailed, InvalidBudget, InvalidQuestion
from discreet.sql import build

if TYPE_CHECKING:
    from discreet.engines.duckdb import DuckDB

Array = Any
ArrowType = Any
INTEGERS, DECIMALS = pa.int64(), pa.float64()  # what counts are: alone, and in a workload


@dataclass(frozen=True)
class FinishedAnswer:
    """The answer's columns, and the standard error of each cell where it is known."""

    table: ArrowTable
    errors: tuple[Array | None, ...]
    floors: tuple[float | None, ...] = ()  # below which no value of a column can be


def compute_answer(
    question: Question,
    released: Mapping[str, ReleasedTable],
    home: DuckDB,
    *,
    most: int | None = None,
) -> FinishedAnswer:
    """Compute the answer, of limited rows, from released tables, on an otherwise empty DuckDB."""
    plain = _plain_columns(question)
    if plain is not None:
        (only,) = released.values()
        return _pick_columns(question, only, plain)
    query = make_query_total(question.post_processing)
    names = {name: home.register(found.table) for name, found in released.items()}
    try:
        for node in list(query.find_all(exp.Table)):
            if node.name in names and not node.args.get("alias"):
                node.replace(build.aliased_table(names[node.name], node.name))
        if not question.is_direct or not isinstance(query, exp.Select):
            table = home.run(query, most=most)
            return FinishedAnswer(_name_columns(table, question.names), (None,) * table.num_columns)
        (found,) = released.values()
        return _with_errors(question, query, found, home, most=most)
    finally:
        for name in names.values():
            home.drop(name)


def answer_column_types(
    question: Question, home: DuckDB, *, counts: ArrowType = INTEGERS
) -> ArrowSchema:
    """Return the columns that an answer would have, computed from tables without rows."""
    empty = {
        leaf.name: ReleasedTable(_empty_released_table(leaf, counts), 0)
        for leaf in question.private_queries
    }
    return compute_answer(question, empty, home).table.schema


def rehearse_question(question: Question, home: DuckDB, *, counts: ArrowType = INTEGERS) -> None:
    """Compute the answer from tables without rows, so that what cannot be computed costs nothing.

    `counts` is the type that counts will have.

    Raises:
        InvalidQuestion: Types do not fit, or a position is not there.
    """
    if _plain_columns(question) is not None:
        return
    try:
        answer_column_types(question, home, counts=counts)
    except EngineFailed as error:
        reason = str(error).partition("(")[2].partition(")")[0]
    else:
        return
    raise InvalidQuestion(
        f"What the question computes from its aggregates cannot be computed ({reason}). Look at the "
        "types of its operators and functions, and at ORDER BY and LIMIT."
    )


def _empty_released_table(leaf: PrivateQuery, counts: ArrowType) -> ArrowTable:
    keys = {key_name(i): TYPES.get(key.kind, pa.string()) for i, key in enumerate(leaf.keys)}
    aggregates = {
        aggregate_name(i): counts if item.ask in COUNTS else DECIMALS
        for i, item in enumerate(leaf.aggregates)
    }
    return pa.schema({**keys, **aggregates, "discreet_nothing": pa.null()}).empty_table()


def _plain_columns(question: Question) -> list[str] | None:
    """Return the leaf's columns that the answer is made of, None if anything is computed from them."""
    query = question.post_processing
    extra = ("where", "order", "limit", "offset", "distinct")
    if not question.is_direct or not isinstance(query, exp.Select):
        return None
    if any(query.args.get(name) for name in extra):
        return None
    bare = [item.this if isinstance(item, exp.Alias) else item for item in query.expressions]
    return [item.name for item in bare] if all(type(i) is exp.Column for i in bare) else None


def _pick_columns(question: Question, found: ReleasedTable, columns: list[str]) -> FinishedAnswer:
    """Return an answer that is the leaf's own columns, without asking an engine."""
    errors: list[Array | None] = []
    known = set(found.table.column_names)
    for name in columns:
        moved = [f"{name}_{shift}" for shift in range(found.shifts)]
        errors.append(_standard_error(found.table, name, [m for m in moved if m in known]))
    shown = [found.table.column(name) for name in columns]
    table = pa.Table.from_arrays(shown, names=list(question.names))
    return FinishedAnswer(table, tuple(errors), _column_floors(question))


def _column_floors(question: Question) -> tuple[float | None, ...]:
    """Return 0 for the columns that are variances or their roots."""
    (leaf,) = question.private_queries
    spreads = {
        aggregate_name(index) for index, item in enumerate(leaf.aggregates) if item.ask in SPREADS
    }
    bare = [item.unalias() for item in question.post_processing.expressions]
    return tuple(
        0.0 if isinstance(item, exp.Column) and item.name in spreads else None for item in bare
    )


def rank_probes(plan: Plan) -> tuple[RankProbe | None, ...]:
    """Return, for each column of an answer, how it was chosen if it is a quantile, a minimum or a maximum."""
    question = plan.question
    if not question.is_direct or not isinstance(question.post_processing, exp.Select):
        return ()
    (leaf,) = plan.private_queries
    chosen = {probe.aggregate: probe for probe in leaf.ranks}
    probes = {
        aggregate_name(index): chosen.get(item)
        for index, item in enumerate(leaf.private_query.aggregates)
    }
    bare = [item.unalias() for item in question.post_processing.expressions]
    return tuple(probes.get(item.name) if isinstance(item, exp.Column) else None for item in bare)


def _name_columns(table: ArrowTable, names: tuple[str, ...]) -> ArrowTable:
    kept = list(names) if len(names) == table.num_columns else table.column_names
    return pa.Table.from_arrays(
        [_decimals_to_numbers(column) for column in table.columns], names=kept
    )


def _decimals_to_numbers(column: Any) -> Any:
    """Return decimals, which DuckDB makes of sums and products, as the numbers that others make."""
    if not pa.types.is_decimal(column.type):
        return column
    if column.type.scale == 0:
        try:
            return column.cast(pa.int64())
        except pa.ArrowInvalid:
            pass  # more than 64 bits
    return column.cast(pa.float64(), safe=False)


def _with_errors(
    question: Question,
    query: exp.Select,
    found: ReleasedTable,
    home: DuckDB,
    *,
    most: int | None,
) -> FinishedAnswer:
    items = list(query.expressions)
    extra: list[tuple[int, str]] = []
    for index, item in enumerate(items):
        for shift in range(found.shifts):
            moved = _shift_column(item, shift, found)
            if moved is not None:
                name = f"discreet_error_{index}_{shift}"
                query.append("expressions", build.alias_as(moved, name))
                extra.append((index, name))
    if query.args.get("distinct"):
        # Rows that differ in their errors only would no longer be one.
        query.set("expressions", items)
        extra = []
    table = home.run(query, most=most)
    width = len(items)
    shown = table.select(list(range(width)))
    errors: list[Array | None] = []
    for index in range(width):
        mine = [name for place, name in extra if place == index]
        errors.append(_standard_error(table, index, mine))
    return FinishedAnswer(
        _name_columns(shown, question.names), tuple(errors), _column_floors(question)
    )


def _shift_column(item: exp.Expr, shift: int, found: ReleasedTable) -> exp.Expr | None:
    """Return a column of the answer as it would be with one noisy sum moved, None if it stays."""
    bare = item.this if isinstance(item, exp.Alias) else item
    changes = False

    def move(node: exp.Expr) -> exp.Expr:
        nonlocal changes
        name = f"{node.name}_{shift}"
        if isinstance(node, exp.Column) and name in found.table.column_names:
            changes = True
            return build.column(name, of=node.table or None)
        return node

    moved = bare.copy().transform(move)
    return moved if changes else None


def _standard_error(table: ArrowTable, index: int | str, names: list[str]) -> Array | None:
    base = _as_floats(table.column(index)) if names else None
    if base is None:
        return None
    squares = np.zeros(table.num_rows)
    for name in names:
        moved = _as_floats(table.column(name))
        if moved is None:
            return None
        # Infinities, as a division by zero makes, have no known error.
        with np.errstate(invalid="ignore"):
            squares += (moved - base) ** 2
    return np.sqrt(squares)


def _as_floats(column: Any) -> Array | None:
    kind = column.type
    is_number = pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind)
    if not is_number:
        return None
    return column.cast(pa.float64(), safe=False).to_numpy()


def interval_half_width(error: float, *, confidence: float, kind: str) -> float:
    """Return how far a value with this standard error is off at most, with so much confidence.

    Of Laplace and normal noise the wider is taken: sums of several Laplace values lie between.
    """
    from math import log
    from statistics import NormalDist

    normal = NormalDist().inv_cdf((1 + confidence) / 2)
    if kind == "gaussian":
        return normal * error
    return max(normal, -log(1 - confidence) / sqrt(2)) * error


def require_confidence(confidence: float) -> None:
    """Refuse a confidence that is no chance between 0 and 1."""
    if not 0 < confidence < 1:
        raise InvalidBudget("The confidence must be between 0 and 1, such as 0.95.")
