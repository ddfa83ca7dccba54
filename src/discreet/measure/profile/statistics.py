"""What each column holds, counted by the engine over all rows; and a sample without an order."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from decimal import Decimal, InvalidOperation
from functools import cached_property
from itertools import compress
from typing import Any

from sqlglot import exp

from discreet.engines.engine import Column, Kind, Table
from discreet.measure.profile.contents import DetectedClass, detect_class
from discreet.measure.profile.identifiers import PATTERNS
from discreet.sql import build

SAMPLE = 5_000
# Columns per query: one query for most tables, yet a table of 500 columns does not hold 500
# GROUP BYs in memory at once.
_COLUMNS_PER_QUERY = 16
_LARGEST_REAL = "1.7976931348623157e308"


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
    sizes: tuple[int, ...] = field(repr=False, default=())  # rows of each value of the sample
    title: str = ""  # what the file says the column is, beside its name

    @property
    def present(self) -> int:
        """Rows that hold a value."""
        return self.rows - self.missing

    @property
    def texts(self) -> tuple[str, ...]:
        """The sample without blanks around the values."""
        return tuple(value.strip() for value in self.sample)

    @property
    def counted_texts(self) -> dict[str, int]:
        """The rows of each value of the sample, without blanks around the values."""
        found: dict[str, int] = {}
        for text, rows in zip(self.texts, self.sizes, strict=True):
            found[text] = found.get(text, 0) + rows
        return found

    @cached_property
    def detected_class(self) -> DetectedClass | None:
        """What its values hold, read as free text is."""
        if self.kind is Kind.TEXT:
            return detect_class(self.counted_texts, is_number=False)
        if not self.kind.is_number:
            return None
        whole = {whole_digits(text): rows for text, rows in self.counted_texts.items()}
        whole.pop("", None)
        if 2 * len(whole) < len(self.sample):
            return None
        return detect_class(whole, is_number=True)

    @property
    def is_key(self) -> bool:
        """Whether every row has a value of its own."""
        return self.rows > 0 and self.missing == 0 and self.distinct == self.rows

    def share(self, pattern: str) -> float:
        """Return the share of the rows with a value that match `pattern`."""
        return self.patterns.get(pattern, 0) / self.present if self.present else 0.0


def whole_digits(value: str) -> str:
    """Return a number's text as whole digits, or nothing when it has a fraction or a sign."""
    try:
        number = Decimal(value)
    except InvalidOperation:
        return ""
    if not number.is_finite() or number < 0 or number != number.to_integral_value():
        return ""
    return format(number.to_integral_value(), "f")


def describe_columns(table: Table) -> tuple[ColumnStatistics, ...]:
    """Return the statistics of every column of `table`, in the table's order.

    All counts are over all rows. The sample holds up to 5,000 distinct values of a column, those
    with the smallest MD5: the same on every engine, however the rows are sorted, and no favorite
    of the first rows.
    """
    counts: dict[str, Mapping[str, object]] = {}
    samples: dict[str, list[tuple[str, int]]] = {column.name: [] for column in table.columns}
    # The branches of a UNION ALL have the same fields, and only text is matched with patterns.
    is_text = [column.kind is Kind.TEXT for column in table.columns]
    texts = list(compress(table.columns, is_text))
    others = list(compress(table.columns, [not flag for flag in is_text]))
    for part in (*_batch_columns(texts), *_batch_columns(others)):
        for row in _run(table, [_count_query(table, column) for column in part]):
            counts[part[row["place"]].name] = row
        for row in _run(table, [_sample_query(table, column) for column in part]):
            samples[part[row["place"]].name].append((row["value"], int(row["size"])))
    titles = table.schema.titles if table.schema is not None else {}
    return tuple(
        replace(
            _read_statistics(column, counts[column.name], samples[column.name]),
            title=titles.get(column.name, ""),
        )
        for column in table.columns
    )


def fewest_people(table: Table, column: str, *, unit: str) -> int:
    """Return how many people have the rarest value of a column."""
    value = build.column(column)
    person = exp.Count(this=exp.Distinct(expressions=[build.column(unit)]))
    sizes = (
        build.select(build.alias_as(person, "people"), source=table.relation.copy())
        .where(exp.not_(build.is_null(value)))
        .group_by(value.copy())
    )
    fewest = build.alias_as(exp.Min(this=build.column("people")), "people")
    found = table.engine.run(build.select(fewest, source=build.subquery(sizes, "sizes")))
    return int(found["people"][0].as_py() or 0)


def _batch_columns(columns: Sequence[Column]) -> Iterator[Sequence[Column]]:
    for start in range(0, len(columns), _COLUMNS_PER_QUERY):
        yield columns[start : start + _COLUMNS_PER_QUERY]


def _run(table: Table, queries: Sequence[exp.Select]) -> list[dict[str, Any]]:
    """Return the rows of all queries, each with the place of its query."""
    placed = [
        query.select(build.alias_as(build.number(place), "place"), copy=False)
        for place, query in enumerate(queries)
    ]
    stacked = exp.union(*placed, distinct=False, copy=False) if len(placed) > 1 else placed[0]
    return table.engine.run(stacked).to_pylist()


def _as_text(value: exp.Expr) -> exp.Cast:
    return exp.cast(value, exp.DataType.Type.TEXT)


def _count_query(table: Table, column: Column) -> exp.Select:
    """Return one row of counts, from the column's values with their number of rows."""
    found, value = build.column(column.name), build.column("value")
    size, text = build.column("size"), build.column("text")
    if column.kind is Kind.OTHER:  # JSON cannot be grouped everywhere; its text can
        found = _as_text(found)
    groups = build.select(
        build.alias_as(found, "value"),
        build.alias_as(build.count_star(), "size"),
        source=table.relation.copy(),
    ).group_by(found)
    written = build.select(
        value,
        size,
        build.alias_as(exp.Trim(this=_as_text(value)), "text"),
        source=build.subquery(groups, "groups"),
    )
    is_missing = exp.or_(
        build.is_null(value),
        exp.and_(_is_text(column), exp.EQ(this=text, expression=build.text(""))),
    )
    is_present = exp.not_(is_missing)
    is_alone = exp.and_(is_present, exp.EQ(this=size, expression=build.number(1)))
    low, high = _extreme_expressions(value, column.kind)
    length = exp.Length(this=text)
    measures: dict[str, exp.Expr] = {
        "rows": _or_zero(build.sum_integers(size)),
        "missing": _rows_where(is_missing, size),
        "distinct": _rows_where(is_present, build.number(1)),
        "unique": _rows_where(is_alone, size),
        "smallest": exp.Min(this=_case_when(is_present, size)),
        "shortest": exp.Min(this=_case_when(is_present, length)),
        "longest": exp.Max(this=_case_when(is_present, length)),
        "minimum": low,
        "maximum": high,
        **(_pattern_counts(text, size) if column.kind is Kind.TEXT else {}),
    }
    named = [exp.alias_(tree, name, copy=False, quoted=True) for name, tree in measures.items()]
    return exp.Select(expressions=named).from_(build.subquery(written, "written"), copy=False)


def _is_text(column: Column) -> exp.Expr:
    return exp.true() if column.kind is Kind.TEXT else exp.false()


def _pattern_counts(text: exp.Expr, size: exp.Expr) -> dict[str, exp.Expr]:
    return {
        f"pattern{number}": _rows_where(
            exp.RegexpLike(this=text, expression=build.text(pattern.regex)), size
        )
        for number, pattern in enumerate(PATTERNS)
    }


def _extreme_expressions(value: exp.Expr, kind: Kind) -> tuple[exp.Expr, exp.Expr]:
    """Return the least and the greatest value as text; NaN and infinities are neither."""
    if not kind.is_ordered:
        nothing = exp.cast(exp.Null(), exp.DataType.Type.TEXT)
        return nothing, nothing
    if kind is Kind.REAL:
        limit = exp.Literal.number(_LARGEST_REAL)
        value = _case_when(exp.LTE(this=exp.Abs(this=value), expression=limit), value)
    return _as_text(exp.Min(this=value)), _as_text(exp.Max(this=value))


def _sample_query(table: Table, column: Column) -> exp.Select:
    """Return up to `SAMPLE` distinct values with their rows, in the order of their MD5."""
    source = build.column(column.name)
    distinct = (
        build.select(
            build.alias_as(_as_text(source), "value"),
            build.alias_as(build.count_star(), "size"),
            source=table.relation.copy(),
        )
        .where(exp.not_(build.is_null(source)))
        .group_by(_as_text(source))
    )
    value, size = build.column("value"), build.column("size")
    if column.kind.is_ordered and not column.kind.is_number:
        distinct = distinct.where(exp.false())  # nothing is learned from single dates
    chosen = build.order_nulls_last(
        build.select(value, size, source=build.subquery(distinct, "found")),
        by=[exp.MD5(this=value), value],
    ).limit(SAMPLE)
    return build.select(value, size, source=build.subquery(chosen, "chosen"))


def _case_when(condition: exp.Expr, value: exp.Expr) -> exp.Case:
    return exp.Case(ifs=[exp.If(this=condition.copy(), true=value.copy())])


def _rows_where(condition: exp.Expr, size: exp.Expr) -> exp.Expr:
    total = exp.Sum(this=_case_when(condition, size))
    return _or_zero(exp.cast(total, exp.DataType.Type.BIGINT, copy=False))


def _or_zero(total: exp.Expr) -> exp.Expr:
    return exp.Coalesce(this=total, expressions=[build.number(0)])


def _read_statistics(
    column: Column, row: Mapping[str, object], sample: Sequence[tuple[str, int]]
) -> ColumnStatistics:
    kept = [(value, rows) for value, rows in sample if value.strip()]

    def whole(name: str) -> int:
        found = row.get(name)
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
        sample=tuple(value for value, _ in kept),
        sizes=tuple(rows for _, rows in kept),
    )
