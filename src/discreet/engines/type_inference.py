"""The type of every column of a text table, proven on all of its rows by the engine.

A guess must never lose anything: `01234` is not a number, twenty digits are not one either, and a
date that could be read day-first as well as month-first stays text. Values that a type makes equal
would share a class, and a table would look safer than it is.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from sqlglot import exp

from discreet.engines.declared_schema import (
    cast_declared,
    date_pattern,
    declared_kind,
    matches_pattern,
    parse_date,
    plain_number,
    present_cell,
    thousands_pattern,
    without_sign,
)
from discreet.engines.engine import DeclaredColumn, Kind
from discreet.policy.text_format import CellFormat
from discreet.sql import build

if TYPE_CHECKING:
    from discreet.engines.duckdb import DuckDB

COLUMNS_PER_SCAN = 200  # DuckDB plans thousands of aggregates in one query very slowly
SAMPLE_ROWS = 1_000  # decides only which guesses are worth proving on the whole file

_DAY, _CLOCK = r"\d{4}-\d{2}-\d{2}", r"([01]\d|2[0-3]):[0-5]\d(:[0-5]\d(\.\d{1,6})?)?"
_OFFSET = r"(Z|[+-]\d{2}:\d{2})"
# No leading zero, at most 15 digits before the point, which a real keeps; an exponent needs its sign,
# so that the code 12E4 stays text.
_WHOLE = r"(0|[1-9]\d{0,14})"
_MANTISSA = rf"[+-]?({_WHOLE}(\.\d*)?|\.\d+)"
# What has a plus and seven digits or more, and no fraction, is a telephone: +442079460000.
_NO_TELEPHONE = rf"(-?{_WHOLE}(\.\d*)?|\+(0|[1-9]\d{{0,5}})(\.\d*)?|\+{_WHOLE}\.\d+|[+-]?\.\d+)"
_REAL = rf"{_NO_TELEPHONE}([eE][+-]\d{{1,3}})?|[+-]?(?i:nan|inf|infinity)"
_JSON_REAL = rf"{_MANTISSA}([eE][+-]?\d{{1,3}})?"
_MOST_DIGITS = 17  # enough for any real; texts with more digits may be equal as reals


PLAIN = CellFormat()


@dataclass(frozen=True)
class TypeGuess:
    """A type, the pattern its texts have, and how they are written if that is not the plain form.

    In the whole column, some value must have the pattern `some`. Guesses of one `rivalry` are certain only
    where all but one of them fail somewhere.
    """

    type: str
    pattern: str | None = None
    written: CellFormat = PLAIN
    some: str | None = None
    rivalry: str | None = None


def date_guess(*forms: str, since: int | None = None, rivalry: str | None = None) -> TypeGuess:
    """Return the guess that texts are dates, or moments, of one of the given forms."""
    kind = "TIMESTAMP" if any("%M" in form for form in forms) else "DATE"
    pattern = "|".join(f"({date_pattern(form)})" for form in forms)
    return TypeGuess(kind, pattern, CellFormat(dates=forms, since=since), rivalry=rivalry)


def number_guess(
    kind: str,
    decimal: str,
    thousands: str | None,
    *,
    some: str | None = None,
    rivalry: str | None = None,
) -> TypeGuess:
    """Return the guess that texts are whole numbers (BIGINT) or reals (DOUBLE) with these marks."""
    whole = _WHOLE
    if thousands is not None:
        whole = rf"({_WHOLE}|[1-9]\d{{0,2}}({thousands_pattern(thousands)}\d{{3}}){{1,4}})"
    pattern = rf"-?{whole}"
    if kind == "DOUBLE":
        pattern = rf"-?({whole}([{decimal}]\d*)?|[{decimal}]\d+)([eE][+-]\d{{1,3}})?"
    written = CellFormat(decimal=None if decimal == "." else decimal, thousands=thousands)
    return TypeGuess(kind, pattern, written, some, rivalry)


def _day_first_or_month_first(mark: str, clock: str = "") -> Iterator[TypeGuess]:
    for form in ("%d{0}%m{0}%Y", "%m{0}%d{0}%Y"):
        yield date_guess(form.format(mark) + clock, rivalry=f"day first {mark}{clock}")


TEXT = TypeGuess("VARCHAR")
GUESSES = (
    TypeGuess("BOOLEAN"),
    TypeGuess("BIGINT"),
    TypeGuess("DOUBLE", _REAL),
    TypeGuess("DATE", _DAY),
    TypeGuess("TIMESTAMP", rf"{_DAY}[ T]{_CLOCK}"),
    TypeGuess("TIMESTAMPTZ", rf"{_DAY}[ T]{_CLOCK}{_OFFSET}"),
    TypeGuess("TIME", _CLOCK),
    date_guess("%Y/%m/%d"),
    *_day_first_or_month_first("/"),
    *_day_first_or_month_first("."),
    *_day_first_or_month_first("-"),
)
# What other systems write, tried where none of the above fits. Numbers in groups need one that is below a
# thousand beside them: telephones in groups of three digits are all of one length.
_UNGROUPED, _COMMA = r"-?\d{1,3}", "decimal comma"
FURTHER_GUESSES = (
    number_guess("DOUBLE", ",", None, some=".*,.*", rivalry=_COMMA),
    number_guess("BIGINT", ".", ",", rivalry=_COMMA),
    number_guess("BIGINT", ",", ".", some=_UNGROUPED),
    number_guess("BIGINT", ".", " ", some=_UNGROUPED),
    number_guess("BIGINT", ".", "'", some=_UNGROUPED),
    *(number_guess("DOUBLE", ",", mark, some=".*,.*") for mark in ". '"),
    *(number_guess("DOUBLE", ".", mark, some=".*[.].*") for mark in ", '"),
    date_guess("%Y.%m.%d"),
    *(date_guess(f"%d{mark}%b{mark}%Y") for mark in ("-", " ", "")),
    date_guess("%Y/%m/%d %H:%M"),
    *(guess for mark in "/.-" for guess in _day_first_or_month_first(mark, " %H:%M")),
    *_day_first_or_month_first("/", " %I:%M %p"),
)
TEMPORAL = tuple(guess for guess in GUESSES if guess.type.startswith(("DATE", "TIME")))
JSON_NUMBERS = (TypeGuess("DOUBLE", _JSON_REAL),)


def guess_types(
    raw: exp.Table,
    names: Sequence[str],
    *,
    engine: DuckDB,
    guesses: Sequence[TypeGuess] = GUESSES,
    written: Mapping[str, CellFormat] | None = None,
) -> dict[str, TypeGuess]:
    """Return for each text column of `raw` the narrowest type that fits every value.

    `written` says how cells of columns are written, where that is known. The second query reads every
    cell of the table, so it also finds any unreadable line.
    """
    found = find_types(raw, names, engine=engine, guesses=guesses, written=written)
    return {name: held[0] if len(held) == 1 else TEXT for name, held in found.items()}


def find_types(
    raw: exp.Table,
    names: Sequence[str],
    *,
    engine: DuckDB,
    guesses: Sequence[TypeGuess] = GUESSES,
    written: Mapping[str, CellFormat] | None = None,
    reads_all: bool = True,
) -> dict[str, tuple[TypeGuess, ...]]:
    """Return for each column the guess that fits every value, or the rivals if all of them do.

    Unless it `reads_all`, columns that the first rows show to be texts are not read to their end.
    """
    known = {name: (written or {}).get(name, PLAIN) for name in names}
    values = {name: cell_text(build.column(name), known[name]) for name in names}
    wanted = {name: _column_guesses(known[name], guesses) for name in names}
    every = tuple(dict.fromkeys(guess for found in wanted.values() for guess in found))
    likely = _likely_guesses(raw, values, every, engine=engine)
    own = {name: tuple(g for g in wanted[name] if g in likely[name]) for name in names}
    if not reads_all:
        own = {name: found for name, found in own.items() if found}
    found = _prove_guesses(raw, values, own, engine=engine)
    return {name: found.get(name, ()) for name in names}


def cell_text(column: exp.Expr, known: CellFormat) -> exp.Expr:
    """Return what a cell says, without blanks and sign around it; NULL where it says nothing."""
    return without_sign(present_cell(column, known), known)


def _column_guesses(known: CellFormat, guesses: Sequence[TypeGuess]) -> tuple[TypeGuess, ...]:
    """Return the guesses for a column, those for the form that it is known to have first."""
    if known.labels:
        return ()
    own: list[TypeGuess] = []
    if known.dates:
        own.append(date_guess(*known.dates, since=known.since))
    if known.decimal is None and known.thousands is None:
        return (*own, *guesses)
    marks = known.decimal or ".", known.thousands
    own += [number_guess(kind, *marks) for kind in ("BIGINT", "DOUBLE")]
    return (*own, *(guess for guess in guesses if guess.type != "DOUBLE"))


def store_converted(
    raw: exp.Table,
    guesses: Mapping[str, TypeGuess],
    *,
    engine: DuckDB,
    written: Mapping[str, CellFormat] | None = None,
) -> tuple[exp.Table, dict[str, DeclaredColumn]]:
    """Store the columns of `raw`, those with a guess converted, and return them with their kinds.

    They are stored, spilling if need be: every query on a view would parse the texts again.
    """
    forms = {
        name: merge_formats((written or {}).get(name, PLAIN), guess.written)
        for name, guess in guesses.items()
    }
    wanted = [
        build.alias_as(convert_column(build.column(name), guesses[name], forms[name]), name)
        if name in guesses
        else build.column(name)
        for name, _ in engine.types(raw)
    ]
    kept = engine.keep(build.select(*wanted, source=raw))
    return kept, {
        column.name: DeclaredColumn(declared_kind(column.kind), forms.get(column.name, PLAIN))
        for column in engine.columns(kept)
    }


def merge_formats(known: CellFormat, found: CellFormat) -> CellFormat:
    """Return how the cells of a column are written: the known words and sign, and the form found."""
    return replace(found, sign=known.sign, missing=known.missing, labels=known.labels)


def convert_column(column: exp.Expr, guess: TypeGuess, written: CellFormat = PLAIN) -> exp.Expr:
    """Return `column` as the guessed type; it never fails, so that no error depends on a cell."""
    kind = _KINDS.get(guess.type)
    if kind is not None and written != PLAIN:
        return cast_declared(column, DeclaredColumn(kind, written))
    if guess == TEXT:
        return column
    return exp.TryCast(this=cell_text(column, written), to=_data_type(guess))


_KINDS = {
    "VARCHAR": Kind.TEXT,
    "BIGINT": Kind.INTEGER,
    "DOUBLE": Kind.REAL,
    "DATE": Kind.DATE,
    "TIMESTAMP": Kind.TIMESTAMP,
}


def _likely_guesses(
    raw: exp.Table,
    cells: Mapping[str, exp.Expr],
    guesses: Sequence[TypeGuess],
    *,
    engine: DuckDB,
) -> dict[str, tuple[TypeGuess, ...]]:
    """Return the guesses that the first rows do not contradict.

    The columns are stacked, so that each guess is written once, not once per column.
    """
    names = list(cells)
    sample = build.select(exp.Star(), source=raw.copy()).limit(SAMPLE_ROWS, copy=False)
    positions = exp.Array(expressions=[build.number(i) for i in range(len(names))])
    values = exp.Array(expressions=[value.copy() for value in cells.values()])
    long = exp.Select(
        expressions=[
            build.alias_as(_unnest_array(positions), "name"),
            build.alias_as(_unnest_array(values), "value"),
        ]
    ).from_(build.subquery(sample, "s"), copy=False)
    # Most columns repeat few values, and a dozen patterns are tried on each.
    long = build.select(exp.Star(), source=build.subquery(long, "r")).distinct(copy=False)
    name, value = build.column("name"), build.column("value")
    checks = [
        exp.alias_(_every_fits(value, guess), str(i), copy=False, quoted=True)
        for i, guess in enumerate(guesses)
    ]
    query = exp.Select(expressions=[name, *checks])
    query = query.from_(build.subquery(long, "l"), copy=False).group_by(name.copy(), copy=False)
    rows = engine.execute_unguarded(query).fetchall()
    found = {
        names[position]: tuple(
            g for g, holds in zip(guesses, answers, strict=True) if holds is not False
        )
        for position, *answers in rows
    }
    return {name: found.get(name, tuple(guesses)) for name in names}


def _unnest_array(array: exp.Expr) -> exp.Expr:
    return exp.Anonymous(this="unnest", expressions=[array])


def _prove_guesses(
    raw: exp.Table,
    values: Mapping[str, exp.Expr],
    likely: Mapping[str, Sequence[TypeGuess]],
    *,
    engine: DuckDB,
) -> dict[str, tuple[TypeGuess, ...]]:
    """Return the first guess that holds for every value, with its rivals that hold as well.

    This usually takes one scan: a second one is needed only where the first rows misled.
    """
    chosen: dict[str, tuple[TypeGuess, ...]] = {}
    pending = dict(likely)
    while pending:
        tested = {name: _with_rival(guesses) for name, guesses in pending.items()}
        for name, (count, held) in _scan(raw, values, tested, engine=engine).items():
            left = tuple(guess for guess in pending[name] if guess not in tested[name])
            if count and not held and left:
                pending[name] = left
                continue
            chosen[name] = tuple(held)
            del pending[name]
    return chosen


def _with_rival(guesses: Sequence[TypeGuess]) -> tuple[TypeGuess, ...]:
    first = guesses[:1]
    rivals = [g for g in guesses[1:] if g.rivalry is not None and g.rivalry == first[0].rivalry]
    return (*first, *rivals)


def _scan(
    raw: exp.Table,
    values: Mapping[str, exp.Expr],
    candidates: Mapping[str, Sequence[TypeGuess]],
    *,
    engine: DuckDB,
) -> dict[str, tuple[int, list[TypeGuess]]]:
    """Return for each column how many values it has and which candidates hold for all of them."""
    names = list(candidates)
    if len(names) > COLUMNS_PER_SCAN:
        first, rest = (
            {name: candidates[name] for name in part}
            for part in (names[:COLUMNS_PER_SCAN], names[COLUMNS_PER_SCAN:])
        )
        return {
            **_scan(raw, values, first, engine=engine),
            **_scan(raw, values, rest, engine=engine),
        }
    wanted: list[exp.Expr] = []
    for name, guesses in candidates.items():
        value = values[name]
        wanted.append(exp.Count(this=value.copy()))
        wanted.extend(_column_holds(value, guess) for guess in guesses)
    query = exp.Select(expressions=wanted).from_(raw.copy(), copy=False)
    row = iter(engine.execute_unguarded(query).fetchone() or ())
    return {
        name: (next(row), [guess for guess in guesses if next(row)])
        for name, guesses in candidates.items()
    }


def fits_guess(value: exp.Expr, guess: TypeGuess) -> exp.Expr:
    """Return whether `value` is a text of exactly the guessed type."""
    if guess.type == "BOOLEAN":
        return exp.In(
            this=exp.Lower(this=value.copy()), expressions=[build.text("true"), build.text("false")]
        )
    plain = plain_number(value, guess.written)
    if guess.type == "BIGINT":
        # Written back it must be the same text: this alone refuses 007, +7, 7.0 and 7_000.
        whole = exp.TryCast(this=plain.copy(), to=_data_type(guess))
        digits = exp.Length(this=exp.func("LTRIM", plain.copy(), build.text("-"), dialect="duckdb"))
        is_whole = exp.and_(
            exp.EQ(this=exp.cast(whole, "TEXT", copy=False), expression=plain.copy()),
            exp.LTE(this=digits, expression=build.number(18)),
            copy=False,
        )
        if not guess.pattern:
            return is_whole
        return exp.and_(is_whole, matches_pattern(value, guess.pattern), copy=False)
    matches = matches_pattern(value, guess.pattern or "")
    cast = _convert_value(value, plain, guess)
    kept = _keeps_number(plain, cast) if guess.type == "DOUBLE" else []
    return exp.and_(matches, exp.Not(this=build.is_null(cast)), *kept, copy=False)


def _convert_value(value: exp.Expr, plain: exp.Expr, guess: TypeGuess) -> exp.Expr:
    if not guess.written.dates:
        # DuckDB fails at the ends of its timestamps even so: only what looks like one is cast.
        cast = exp.TryCast(this=plain.copy(), to=_data_type(guess))
        looks = matches_pattern(value, guess.pattern or "")
        return exp.Case(ifs=[exp.If(this=looks, true=cast)])
    kind, since = _KINDS[guess.type], guess.written.since
    forms = [parse_date(value, form, kind, since=since) for form in guess.written.dates]
    return exp.Coalesce(this=forms[0], expressions=forms[1:]) if forms[1:] else forms[0]


def _keeps_number(value: exp.Expr, cast: exp.Expr) -> list[exp.Expr]:
    """Return the conditions under which the real `cast` equals the number written in `value`."""
    is_infinite = exp.Anonymous(this="isinf", expressions=[cast.copy()])
    digits = exp.Anonymous(
        this="regexp_replace",
        expressions=[
            value.copy(),
            build.text(r"^[+-]?[0.]*|\.|[eE].*$"),
            *map(build.text, ("", "g")),
        ],
    )
    is_short = exp.LTE(this=exp.Length(this=digits), expression=build.number(_MOST_DIGITS))
    return [
        exp.or_(  # not so 1e+999
            exp.Not(this=is_infinite), matches_pattern(value, r"(?i).*inf.*"), copy=False
        ),
        exp.or_(  # not so 1e-999, which would turn into 0
            exp.NEQ(this=cast.copy(), expression=build.number(0)),
            matches_pattern(value, r"[^1-9eE]*([eE].*)?"),
            copy=False,
        ),
        is_short,
    ]


def _every_fits(value: exp.Expr, guess: TypeGuess) -> exp.Expr:
    """Return whether every value fits `guess`; NULL, hence false, when there is no value."""
    certain = exp.Coalesce(this=fits_guess(value, guess), expressions=[exp.false()])
    is_given = exp.Not(this=build.is_null(value.copy()))
    case = exp.Case(ifs=[exp.If(this=is_given, true=certain)])
    return exp.Anonymous(this="bool_and", expressions=[case])


def _column_holds(value: exp.Expr, guess: TypeGuess) -> exp.Expr:
    """Return whether a whole column is of the guessed type."""
    every = _every_fits(value, guess)
    # Nan is also a first name: a column of numbers has a digit somewhere.
    some = guess.some or (r".*\d.*" if guess.type == "DOUBLE" else None)
    if some is None:
        return every
    found = exp.Anonymous(this="bool_or", expressions=[matches_pattern(value, some)])
    return exp.and_(every, found, copy=False)


def _data_type(guess: TypeGuess) -> exp.DataType:
    return exp.DataType.build(guess.type, dialect="duckdb")
