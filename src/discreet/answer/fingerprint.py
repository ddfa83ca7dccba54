"""Rows as keyed hashes, the same wherever the rows are, and samples of them that can be compared.

A sample is the smallest hashes of a table (bottom-k; Cohen & Kaplan 2007). Two tables that share rows
share hashes, in any order, format or engine. Cells are those that a source holds, in one form, whatever
kinds a policy declares.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from typing import Any

import numpy as np
from sqlglot import exp

from discreet.engines.engine import Column, Kind, Table
from discreet.sql import build

Array = Any
SAMPLE_SIZE = 8192  # hashes of a sample
SAME_TABLE_SHARE = (
    0.05  # of the rows of either table: with so many in common they are about the same people
)
_DIGITS = 16  # of a hash, in hexadecimal
_NUMBER = r"^[+-]?([0-9]{1,15}([.][0-9]*)?|[.][0-9]+)(e[+-]?[0-9]{1,2})?$"
_COMMA_NUMBER = r"^[+-]?[0-9]{1,15},[0-9]+(e[+-]?[0-9]{1,2})?$"
_FAR_NUMBER = r"^[+-]?([0-9]{16,}[.][0-9]*|[0-9.]+e[+]?[0-9]+|nan|inf|infinity)$"
_BEGINS_FORM = "^([0-9+.-]|nan|inf)"
_ISO_DAY, _LOCAL_DAY = r"[0-9]{4}[-/.][0-9]{2}[-/.][0-9]{2}", r"[0-9]{2}[-/.][0-9]{2}[-/.][0-9]{4}"
_MINUTES = "[0-9]{2}:[0-9]{2}"
_MIDNIGHT = " 00:00:00"
# Pandas writes the index of a frame as a column of such a name, or of none, and reads the latter as
# 'Unnamed: 0'.
_PANDAS_INDEX = re.compile(r"__index_level_\d+__|Unnamed: 0(\.\d+)?")
_UNNAMED = "column{}"  # a column without a name, by its place from 1
_MOST_ARGUMENTS = 50  # of a function, which PostgreSQL limits to 100
_FAR = 10**15  # beyond it, doubles are no whole numbers


@dataclass(frozen=True)
class Sample:
    """The smallest hashes of a table, in order; `is_whole` means that it has no others."""

    hashes: Array
    is_whole: bool

    def pack(self) -> bytes:
        """Return the sample as bytes."""
        return bytes([self.is_whole]) + self.hashes.astype("<u8").tobytes()

    @classmethod
    def unpack(cls, packed: bytes) -> Sample:
        """Return the sample that `pack` made bytes of; of no bytes, the sample of no rows."""
        return cls(np.frombuffer(packed[1:], "<u8"), bool(packed[:1] != b"\x00"))

    @property
    def size(self) -> float:
        """How many hashes the table has, estimated where these are not all."""
        if self.is_whole or not len(self.hashes):
            return float(len(self.hashes))
        return (len(self.hashes) - 1) / (float(self.hashes[-1]) / 2.0**64)


def take_sample(
    table: Table, known: Sequence[Sample], *, key: bytes, without: Sequence[str] = ()
) -> tuple[Sample, list[float]]:
    """Return a sample of a table's rows, and the share of rows that it has in common with each known one.

    The share is that of the table that has more of its rows in common.
    """
    # Columns that no policy declares also distinguish rows, and what it declares changes none.
    with nullcontext(table.relation) if table.cells is None else table.cells() as relation:
        every = table.columns if table.cells is None else table.engine.columns(relation)
        columns = _without_index([one for one in every if one.name not in without])
        return _sample_batches(table.engine.stream(_query(relation, columns, key.hex())), known)


def _without_index(columns: Sequence[Column]) -> Sequence[Column]:
    """Return the columns without the index of a frame of pandas, which names alone show."""
    first, second = (_UNNAMED.format(place) for place in (1, 2))
    names = [column.name for column in columns]
    is_indexed = first in names[:1] and second not in names[1:2]
    rest = [column for column in columns[is_indexed:] if not _PANDAS_INDEX.fullmatch(column.name)]
    return rest or columns


def _sample_batches(batches: Iterable[Any], known: Sequence[Sample]) -> tuple[Sample, list[float]]:
    wanted = np.unique(np.concatenate([np.zeros(0, np.uint64), *(one.hashes for one in known)]))
    is_met = np.zeros(len(wanted), bool)
    cut = max((one.hashes[-1] for one in known if not one.is_whole), default=np.uint64(0))
    # A sample that is whole may hold any hash; of all others, none beyond the cut is looked for.
    is_any_wanted = any(one.is_whole and len(one.hashes) for one in known)
    least, has_more = np.zeros(0, np.uint64), False
    for column in (column for batch in batches for column in batch.columns):
        most = max(least[-1], cut) if has_more and not is_any_wanted else None
        found = _parse_hashes(column, most)
        if len(wanted):
            places = np.minimum(np.searchsorted(wanted, found), len(wanted) - 1)
            is_met[places[wanted[places] == found]] = True
        if has_more:
            found = found[found <= max(least[-1], cut)]
        least = np.union1d(least, found)
        kept = max(SAMPLE_SIZE, int(np.searchsorted(least, cut, side="right")))
        has_more |= len(least) > kept
        least = least[:kept]
    mine = Sample(least[:SAMPLE_SIZE], not has_more and len(least) <= SAMPLE_SIZE)
    met = wanted[is_met]
    return mine, [_shared_rows(one, mine, least, met) for one in known]


def _shared_rows(one: Sample, mine: Sample, least: Array, met: Array) -> float:
    common = int(np.isin(one.hashes, met, assume_unique=True).sum())
    if not common:
        return 0.0
    # Of my rows, those that would be in the other sample if they were in its table.
    size = mine.size if one.is_whole else int(np.searchsorted(least, one.hashes[-1], side="right"))
    return max(common / len(one.hashes), common / max(size, 1.0))


def _parse_hashes(column: Any, most: Any = None) -> Array:
    """Return hexadecimal texts of 16 digits as numbers; far above `most` they may be left out."""
    joined = column.cast("large_string").buffers()[2]
    if not len(column) or joined is None:
        return np.zeros(0, np.uint64)
    start, count = column.offset * _DIGITS, len(column) * _DIGITS
    digits = np.frombuffer(joined, np.uint8)[start : start + count].reshape(-1, _DIGITS)
    if most is not None:
        # The first half of the digits, compared as bytes: 0 to 9 stand before a to f.
        halves = digits.view(">u8")[:, 0]
        last = np.frombuffer(f"{int(most):016x}"[:8].encode("ascii"), ">u8")[0]
        digits = digits[halves <= last]
    values = np.where(digits > ord("9"), digits - ord("a") + 10, digits - ord("0")).astype(np.uint8)
    return (values[:, 0::2] << 4 | values[:, 1::2]).view(">u8").ravel().astype(np.uint64)


def _query(relation: exp.Table, columns: Sequence[Column], key: str) -> exp.Select:
    """Return the query of each row's hashes: cells as they stand, and by the names of their columns.

    So that neither another header nor another order of columns makes another table of it. A cell is read
    in one query, put into its form in a second and hashed in a third: each refers to it many times.
    """
    names = [f"discreet_cell_{place}" for place in range(len(columns))]
    cells = [_read_cell(column) for column in columns]
    plain = [
        exp.Coalesce(
            this=_plain_text(build.column(name), column.kind), expressions=[build.text("")]
        )
        for column, name in zip(columns, names, strict=True)
    ]
    orders = [columns, sorted(columns, key=lambda column: column.name.casefold())]
    places = {column.name: name for column, name in zip(columns, names, strict=True)}
    ordered = [[places[column.name] for column in order] for order in orders]
    distinct = ordered if ordered[0] != ordered[1] else ordered[:1]
    hashes = [_hash_row(order, key) for order in distinct]
    read = build.select_named(dict(zip(names, cells, strict=True)), source=relation.copy())
    texts = build.select_named(
        dict(zip(names, plain, strict=True)), source=build.subquery(read, "discreet_cells")
    )
    marked = {name: _mark_cell(build.column(name)) for name in names}
    texts = build.select_named(marked, source=build.subquery(texts, "discreet_texts"))
    named = {f"discreet_hash_{place}": tree for place, tree in enumerate(hashes)}
    return build.select_named(named, source=build.subquery(texts, "discreet_texts"))


def _hash_row(names: Sequence[str], key: str) -> exp.Expr:
    """Return the hash of the cells that hold anything: a field that one record has changes no other."""
    joined = _join_texts([build.text(key), *(build.column(name) for name in names)])
    # Half of it, so that a hash of more cells cannot be computed from it without the key.
    return _first_characters(exp.MD5(this=joined), _DIGITS)


def _mark_cell(cell: exp.Expr) -> exp.Expr:
    """Return the text of a cell behind a mark, nothing where it holds nothing."""
    is_empty = exp.EQ(this=cell.copy(), expression=build.text(""))
    held = _concatenate_texts(build.text("\x1f"), cell)
    return exp.Case(ifs=[exp.If(this=is_empty, true=build.text(""))], default=held)


def _join_texts(texts: Sequence[exp.Expr]) -> exp.Expr:
    """Return texts joined at once: one after the other would copy all before it for each of them."""
    joined = list(texts)
    while len(joined) > 1:
        parts = range(0, len(joined), _MOST_ARGUMENTS)
        joined = [
            exp.Anonymous(this="CONCAT", expressions=joined[first : first + _MOST_ARGUMENTS])
            for first in parts
        ]
    return joined[0]


def _read_cell(column: Column) -> exp.Expr:
    """Return a cell as its text, unless it is a boolean or a real."""
    cell = build.column(column.name)
    if column.kind in (Kind.BOOLEAN, Kind.DECIMAL, Kind.REAL):
        return cell
    text = exp.cast(cell, exp.DataType.Type.TEXT)
    if column.kind in (Kind.INTEGER, Kind.DATE, Kind.TIMESTAMP):
        return text
    return exp.Lower(this=exp.Trim(this=text))


def _plain_text(cell: exp.Column, kind: Kind) -> exp.Expr:
    """Return a cell as a text that is the same in every format: 12, 12.0 and '12 ' are one."""
    if kind is Kind.BOOLEAN:
        return exp.Case(
            ifs=[
                exp.If(this=cell.copy(), true=build.text("true")),
                exp.If(this=exp.Not(this=cell.copy()), true=build.text("false")),
            ]
        )
    if kind in (Kind.DECIMAL, Kind.REAL):
        # Engines write large reals, infinity and NaN in different ways.
        far: exp.Expr = build.text("far")
        if kind is Kind.DECIMAL:
            text = exp.cast(cell.copy(), exp.DataType.Type.TEXT)
            is_far = _matches_pattern(text, _FAR_NUMBER)
            far = exp.Case(ifs=[exp.If(this=is_far, true=far)], default=text.copy())
        return _number_text(
            exp.cast(cell.copy(), exp.DataType.Type.DOUBLE), _unless_null(far, cell)
        )
    if kind in (Kind.DATE, Kind.TIMESTAMP):
        day, clock = _iso_day(cell), _take_characters(cell, 11, 9)
        return _without_midnight(_concatenate_texts(day, clock))
    return _text_form(cell) if kind is Kind.TEXT else cell


def _text_form(text: exp.Expr) -> exp.Expr:
    """Return a text as the number, day, time or moment that it writes; any other text as it is."""
    number = exp.TryCast(this=text.copy(), to=exp.DataType.build("DOUBLE"))
    pointed = exp.Replace(this=text.copy(), expression=build.text(","), replacement=build.text("."))
    comma = exp.TryCast(this=pointed, to=exp.DataType.build("DOUBLE"))
    minutes, seconds = _take_characters(text, 12, 5), _take_characters(text, 12, 8)
    day, zero = _concatenate_texts(_iso_day(text), build.text(" ")), build.text(":00")
    forms = {
        _NUMBER: _number_text(number, build.text("far")),
        _COMMA_NUMBER: _number_text(comma, build.text("far")),
        _FAR_NUMBER: build.text("far"),
        rf"^{_ISO_DAY}[t ]{_MINUTES}:[0-9]{{2}}": _without_midnight(
            _concatenate_texts(day, seconds)
        ),
        rf"^{_ISO_DAY}[t ]{_MINUTES}$": _without_midnight(
            _concatenate_texts(day.copy(), minutes, zero)
        ),
        rf"^{_ISO_DAY}$": _iso_day(text),
        rf"^{_LOCAL_DAY}$": _day_text(
            _take_characters(text, 7, 4), _take_characters(text, 1, 2), _take_characters(text, 4, 2)
        ),
        rf"^{_MINUTES}$": _concatenate_texts(text.copy(), zero.copy()),
    }
    # Most texts are none of these: one pattern decides it.
    is_plain = exp.Not(this=_matches_pattern(text, _BEGINS_FORM))
    return exp.Case(
        ifs=[
            exp.If(this=is_plain, true=text.copy()),
            *(
                exp.If(this=_matches_pattern(text, pattern), true=form)
                for pattern, form in forms.items()
            ),
        ],
        default=text.copy(),
    )


def _iso_day(text: exp.Expr) -> exp.Expr:
    return _day_text(
        _take_characters(text, 1, 4), _take_characters(text, 6, 2), _take_characters(text, 9, 2)
    )


def _day_text(year: exp.Expr, one: exp.Expr, other: exp.Expr) -> exp.Expr:
    """Return a day with its smaller number first: the text alone does not tell day from month."""
    first, second = (
        exp.Anonymous(this=name, expressions=[one.copy(), other.copy()])
        for name in ("LEAST", "GREATEST")
    )
    mark = build.text("-")
    return _concatenate_texts(year, mark, first, mark.copy(), second)


def _number_text(number: exp.Expr, text: exp.Expr) -> exp.Expr:
    """Return a number in thousandths, or whole where it is whole; far ones as they are written."""
    whole = exp.Round(this=number.copy())
    fine = exp.Round(this=exp.Mul(this=number.copy(), expression=build.number(1000)))
    is_near = build.all_of(
        [
            exp.LT(this=number.copy(), expression=build.number(_FAR)),
            exp.GT(this=number.copy(), expression=exp.Neg(this=build.number(_FAR))),
        ]
    )
    is_whole = exp.EQ(this=number.copy(), expression=whole.copy())
    near = exp.Case(
        ifs=[exp.If(this=is_whole, true=_whole_text(whole))],
        default=_concatenate_texts(_whole_text(fine), build.text("m")),
    )
    return exp.Case(ifs=[exp.If(this=is_near, true=near)], default=text.copy())


def _unless_null(text: exp.Expr, cell: exp.Expr) -> exp.Expr:
    return exp.Case(ifs=[exp.If(this=build.is_null(cell.copy()), true=exp.null())], default=text)


def _whole_text(number: exp.Expr) -> exp.Expr:
    return exp.cast(exp.cast(number, exp.DataType.Type.BIGINT), exp.DataType.Type.TEXT)


def _without_midnight(text: exp.Expr) -> exp.Expr:
    return exp.Replace(this=text, expression=build.text(_MIDNIGHT), replacement=build.text(""))


def _matches_pattern(text: exp.Expr, pattern: str) -> exp.Expr:
    return exp.RegexpLike(this=text.copy(), expression=build.text(pattern))


def _first_characters(text: exp.Expr, count: int) -> exp.Expr:
    return _take_characters(text, 1, count)


def _take_characters(text: exp.Expr, start: int, count: int) -> exp.Expr:
    return exp.Substring(this=text.copy(), start=build.number(start), length=build.number(count))


def _concatenate_texts(first: exp.Expr, *others: exp.Expr) -> exp.Expr:
    joined = first
    for other in others:
        joined = exp.DPipe(this=joined, expression=other, safe=True)
    return joined
