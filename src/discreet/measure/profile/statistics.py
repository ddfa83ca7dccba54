"""What each column holds, counted by the engine over all rows; and a sample without an order."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from sqlglot import exp

from discreet.engines.engine import Kind
from discreet.measure.profile.identifiers import PATTERNS
from discreet.sql import build

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from discreet.engines.engine import Column, Table

SAMPLE = 5_000
# Columns per query: one query for most tables, yet a table of 500 columns does not hold 500
# GROUP BYs in memory at once.
_COLUMNS_PER_QUERY = 16
_LARGEST_REAL = "1.7976931348623157e308"
_NUMBERS = (Kind.INTEGER, Kind.DECIMAL, Kind.REAL)


@dataclass(frozen=True)
class ColumnStatistics:
    """Counts of one column. `sample` and the extremes are cell values: never print them."""

    name: str
    kind: Kind
    rows: int
    missing: int
    distinct: int
    unique: int  # rows alone with their value
    smallest: int  # rows of the rarest value
    shortest: int
    longest: int
    minimum: str | None = field(repr=False)
    maximum: str | None = field(repr=False)
    patterns: Mapping[str, int]  # rows that match, by the pattern's name
    sample: tuple[str, ...] = field(repr=False, default=())

    @property
    def present(self) -> int:
        """Rows that hold a value."""
        return self.rows - self.missing

    @property
    def texts(self) -> tuple[str, ...]:
        """The sample without blanks around the values."""
        return tuple(value.strip() for value in self.sample)

    @property
    def is_key(self) -> bool:
        """Whether every row has a value of its own."""
        return self.rows > 0 and self.missing == 0 and self.distinct == self.rows

    def share(self, pattern: str) -> float:
        """Return the share of the rows with a value that match `pattern`."""
        return self.patterns.get(pattern, 0) / self.present if self.present else 0.0


def describe_columns(table: Table) -> tuple[ColumnStatistics, ...]:
    """Return the statistics of every column of `table`, in the table's order.

    All counts are over all rows. The sample holds up to 5,000 distinct values of a column, those
    with the smallest MD5: the same on every engine, however the rows are sorted, and no favorite
    of the first rows.
    """
    numbered = list(enumerate(table.columns))
    counts: dict[int, dict[str, object]] = {}
    samples: dict[int, list[str]] = {place: [] for place, _ in numbered}
    for part in _batches(numbered):
        queries = [_count_query(table, place, column) for place, column in part]
        for row in table.engine.run(_stacked(queries)).to_pylist():
            counts[int(row["place"])] = row
        for row in table.engine.run(
            _stacked([_sample_query(table, *item) for item in part])
        ).to_pylist():
            samples[int(row["place"])].append(row["value"])
    return tuple(_statistics(column, counts[place], samples[place]) for place, column in numbered)


def _batches(
    items: Sequence[tuple[int, Column]],
) -> Iterator[Sequence[tuple[int, Column]]]:
    for start in range(0, len(items), _COLUMNS_PER_QUERY):
        yield items[start : start + _COLUMNS_PER_QUERY]


def _stacked(queries: Sequence[exp.Select]) -> exp.Query:
    if len(queries) == 1:
        return queries[0]
    return exp.union(*queries, distinct=False)


def _as_text(value: exp.Expr) -> exp.Cast:
    return exp.cast(value, exp.DataType.Type.TEXT)


def _count_query(table: Table, place: int, column: Column) -> exp.Select:
    """Return one row of counts, from the column's values with their number of rows."""
    value = build.column(column.name)
    if column.kind is Kind.OTHER:  # JSON cannot be grouped everywhere; its text can
        value = _as_text(value)
    groups = build.select(
        build.named(value, "value"),
        build.named(build.count_rows(), "size"),
        source=table.relation.copy(),
    ).group_by(value.copy())
    value, size = build.column("value"), build.column("size")
    text = exp.Trim(this=_as_text(value))
    is_missing = build.is_null(value)
    if column.kind is Kind.TEXT:
        is_missing = exp.Paren(
            this=exp.or_(is_missing, exp.EQ(this=text, expression=build.text("")))
        )
    is_present = exp.not_(exp.Paren(this=is_missing))
    low, high = _extremes(value, column.kind)
    length = exp.Length(this=text)
    measures = {
        "rows": _or_zero(build.total(size)),
        "missing": _rows_where(is_missing, size),
        "distinct": _rows_where(is_present, build.number(1)),
        "unique": _rows_where(
            exp.and_(is_present, exp.EQ(this=size, expression=build.number(1))), size
        ),
        "smallest": exp.Min(this=_when(is_present, size)),
        "shortest": exp.Min(this=_when(is_present, length)),
        "longest": exp.Max(this=_when(is_present, length)),
        "minimum": low,
        "maximum": high,
    }
    for number, pattern in enumerate(PATTERNS):
        matches = exp.RegexpLike(this=text, expression=build.text(pattern.regex))
        is_text = column.kind is Kind.TEXT
        measures[f"pattern{number}"] = _rows_where(matches, size) if is_text else _zero()
    return build.select(
        build.named(build.number(place), "place"),
        *(build.named(measure.copy(), name) for name, measure in measures.items()),
        source=build.subquery(groups, "groups"),
    )


def _extremes(value: exp.Expr, kind: Kind) -> tuple[exp.Expr, exp.Expr]:
    """Return the least and the greatest value as text; NaN and infinities are neither."""
    if not kind.is_ordered:
        nothing = exp.cast(exp.Null(), exp.DataType.Type.TEXT)
        return nothing, nothing
    if kind is Kind.REAL:
        limit = exp.Literal.number(_LARGEST_REAL)
        value = _when(exp.LTE(this=exp.Abs(this=value), expression=limit), value)
    return _as_text(exp.Min(this=value)), _as_text(exp.Max(this=value))


def _sample_query(table: Table, place: int, column: Column) -> exp.Select:
    """Return up to `SAMPLE` distinct values in the order of their MD5."""
    source = build.column(column.name)
    distinct = (
        build.select(build.named(_as_text(source), "value"), source=table.relation.copy())
        .where(exp.not_(build.is_null(source)))
        .distinct()
    )
    value = build.column("value")
    if column.kind.is_ordered and column.kind not in _NUMBERS:
        distinct = distinct.where(exp.false())  # nothing is learned from single dates
    chosen = build.ordered(
        build.select(value, source=build.subquery(distinct, "found")),
        by=[exp.MD5(this=value), value],
    ).limit(SAMPLE)
    return build.select(
        build.named(build.number(place), "place"),
        value.copy(),
        source=build.subquery(chosen, "chosen"),
    )


def _when(condition: exp.Expr, value: exp.Expr) -> exp.Case:
    return exp.Case(ifs=[exp.If(this=condition.copy(), true=value.copy())])


def _rows_where(condition: exp.Expr, size: exp.Expr) -> exp.Expr:
    return _or_zero(build.total(_when(condition, size)))


def _zero() -> exp.Expr:
    return exp.cast(build.number(0), exp.DataType.Type.BIGINT)


def _or_zero(total: exp.Expr) -> exp.Expr:
    return exp.Coalesce(this=total, expressions=[build.number(0)])


def _statistics(
    column: Column, row: Mapping[str, object], sample: Sequence[str]
) -> ColumnStatistics:
    def whole(name: str) -> int:
        found = row[name]
        return int(found) if isinstance(found, (int, float)) else 0

    def text(name: str) -> str | None:
        found = row[name]
        return None if found is None else str(found)

    return ColumnStatistics(
        name=column.name,
        kind=column.kind,
        rows=whole("rows"),
        missing=whole("missing"),
        distinct=whole("distinct"),
        unique=whole("unique"),
        smallest=whole("smallest"),
        shortest=whole("shortest"),
        longest=whole("longest"),
        minimum=text("minimum"),
        maximum=text("maximum"),
        patterns={
            pattern.name: count
            for number, pattern in enumerate(PATTERNS)
            if (count := whole(f"pattern{number}"))
        },
        sample=tuple(value for value in sample if value.strip()),
    )
