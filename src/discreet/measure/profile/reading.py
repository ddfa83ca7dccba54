"""How a text file is written, as a draft says it: what all columns share, and what a column has apart."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import islice
from typing import Any

from sqlglot import exp

from discreet.engines.engine import Column, DeclaredColumn, DeclaredSchema, Kind, Table
from discreet.formatting import join_names
from discreet.measure.profile.domain import FEWEST_ROWS
from discreet.sql import build

_NUMBERS = (Kind.INTEGER, Kind.REAL)
# Whole numbers that files use for missing values, where they lie far from all others.
_CODES = (-1, -2, -3, -7, -8, -9, -77, -88, -97, -98, -99, -997, -998, -999, -9999)
_HIGH_CODES = (97, 98, 99, 997, 998, 999, 9997, 9998, 9999, 99999, 999999, 9999999)


def file_options(schema: DeclaredSchema | None) -> dict[str, Any]:
    """Return the options of a file as a policy has them under `reading`; defaults are left out."""
    if schema is None:
        return {}
    found: dict[str, Any] = {
        "delimiter": schema.delimiter,
        "encoding": schema.encoding,
        "skip": schema.skip,
        **_shared_marks(schema),
        "missing": list(schema.missing) or None,
    }
    return {key: value for key, value in found.items() if value is not None}


def column_options(schema: DeclaredSchema, name: str) -> dict[str, Any]:
    """Return how the cells of a column are written, where it differs from the file's other columns."""
    column, shared = schema.columns[name], _shared_marks(schema)
    written = column.written
    missing = None if (written.missing or ()) == schema.missing else written.missing or ()
    own = replace(written, missing=missing)
    if column.kind in _NUMBERS:
        own = replace(own, **_own_marks(column, shared))
    return own.to_dict()


def _shared_marks(schema: DeclaredSchema) -> dict[str, str | None]:
    numbers = [one.written for one in schema.columns.values() if one.kind in _NUMBERS]
    decimal = next((one.decimal for one in numbers if one.decimal), None)
    groups = {one.thousands for one in numbers if one.thousands}
    thousands = next(iter(groups)) if len(groups) == 1 else None
    return {"decimal": decimal, "thousands": thousands}


def _own_marks(column: DeclaredColumn, shared: Mapping[str, str | None]) -> dict[str, str | None]:
    """Return the marks that a column of numbers must state, because it does not have the shared ones."""
    written = column.written
    is_real = column.kind is Kind.REAL or written.thousands is not None
    has_shared = written.decimal == shared["decimal"] or not is_real
    return {
        "decimal": None if has_shared else written.decimal or ".",
        "thousands": None if written.thousands == shared["thousands"] else written.thousands,
    }


def describe_reading(schema: DeclaredSchema, label: str) -> str | None:
    """Return in one sentence what was recognized of how a file is written; None where it is plain."""
    options = file_options(schema)
    parts: list[str] = []
    if encoding := options.get("encoding"):
        parts.append(f"in {encoding}")
    if delimiter := options.get("delimiter"):
        parts.append(f"with {delimiter!r} between columns")
    if skip := options.get("skip"):
        parts.append(f"below {skip} lines of titles")
    if options.get("decimal"):
        parts.append("with a decimal comma")
    if mark := options.get("thousands"):
        parts.append(f"with {mark!r} between thousands")
    if missing := options.get("missing"):
        parts.append(f"with {join_names([f'`{word}`' for word in missing])} as missing")
    parts += _describe_columns(schema)
    if not parts:
        return None
    return f"{label} is read {', '.join(parts)}. Where that is wrong, state `reading:` in a policy."


def _describe_columns(schema: DeclaredSchema) -> list[str]:
    forms: dict[str, list[str]] = {}
    for name, column in schema.columns.items():
        if column.written.dates:
            forms.setdefault(" or ".join(column.written.dates), []).append(name)
        if column.written.sign:
            forms.setdefault(f"numbers with {column.written.sign}", []).append(name)
    labeled = [name for name, column in schema.columns.items() if column.written.labels]
    found = [f"{_quote_names(names)} as {form}" for form, names in forms.items()]
    return [*found, *([f"{_quote_names(labeled)} by their labels"] if labeled else [])]


def _quote_names(names: Sequence[str]) -> str:
    rest = [f"{len(names) - 3} more"] if len(names) > 3 else []
    return join_names([*(f"'{name}'" for name in names[:3]), *rest])


def propose_missing_codes(table: Table) -> dict[str, str]:
    """Return for columns of numbers a note on a code that may stand for missing values.

    It is proposed, never applied: 99 may be an age. A code that few rows have is not named.
    """
    numbers = [column for column in table.columns if column.kind in (Kind.INTEGER, Kind.REAL)]
    far = {
        name: codes
        for name, (low, high, count) in _measure_columns(table, numbers, _other_values).items()
        if count >= FEWEST_ROWS and (codes := _far_codes(low, high))
    }
    likely = [column for column in numbers if column.name in far]
    counts = _measure_columns(table, likely, lambda value: _count_codes(value, far[value.name]))
    notes: dict[str, str] = {}
    for name, found in counts.items():
        common = zip(far[name], found, strict=True)
        if codes := [code for code, rows in common if rows >= FEWEST_ROWS]:
            notes[name] = _code_note(table, codes)
    return notes


def _measure_columns(
    table: Table, columns: Sequence[Column], wanted: Callable[[exp.Column], Sequence[exp.Expr]]
) -> dict[str, list[Any]]:
    """Return what is wanted of each column, a few columns in each query."""
    found: dict[str, list[Any]] = {}
    for start in range(0, len(columns), 50):
        part = {one.name: wanted(build.column(one.name)) for one in columns[start : start + 50]}
        trees = [tree for trees in part.values() for tree in trees]
        named = [build.alias_as(tree, f"m{place}") for place, tree in enumerate(trees)]
        query = build.select(*named, source=table.relation.copy())
        row = iter(table.engine.run(query).to_pylist()[0].values())
        found |= {name: list(islice(row, len(trees))) for name, trees in part.items()}
    return found


def _other_values(value: exp.Column) -> list[exp.Expr]:
    """Return the ends of the values that are no codes, and how many rows have a code."""
    is_code = exp.In(
        this=value, expressions=[build.number(code) for code in (*_CODES, *_HIGH_CODES)]
    )
    others = exp.Case(ifs=[exp.If(this=exp.Not(this=is_code), true=value.copy())])
    held = exp.Case(ifs=[exp.If(this=is_code.copy(), true=value.copy())])
    return [exp.Min(this=others), exp.Max(this=others.copy()), exp.Count(this=held)]


def _far_codes(low: Any, high: Any) -> list[int]:
    """Return the codes that lie far from all other values."""
    if low is None or low != low or high != high:  # noqa: PLR0124 -- nan
        return []
    return [
        code
        for code in (*_CODES, *_HIGH_CODES)
        if (code < 0 <= low) or (code > 0 and code - high > max(high - low, 1))
    ]


def _count_codes(value: exp.Column, codes: Iterable[int]) -> list[exp.Expr]:
    return [
        exp.Count(
            this=exp.Case(
                ifs=[
                    exp.If(
                        this=exp.EQ(this=value.copy(), expression=build.number(code)),
                        true=value.copy(),
                    )
                ]
            )
        )
        for code in codes
    ]


def _code_note(table: Table, codes: Iterable[int]) -> str:
    words = table.schema.missing if table.schema else ()
    listed = ", ".join(f"'{word}'" for word in (*words, *map(str, codes)))
    named = join_names([str(code) for code in codes])
    return f"{named} may stand for missing values; if so, write `missing: [{listed}]`"
