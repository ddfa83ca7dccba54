"""The type of every column of a text table, proven on all of its rows by the engine.

A guess must never lose anything: `01234` is not a number, twenty digits are not one either, and a
date that could be read day-first as well as month-first stays text. Values that a type makes equal
would share a class, and a table would look safer than it is.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from sqlglot import exp

from discreet.engines.declared_schema import declared_kind
from discreet.engines.engine import DeclaredColumn
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


@dataclass(frozen=True)
class TypeGuess:
    """A type, the pattern its texts have, and the date format if it needs one."""

    type: str
    pattern: str | None = None
    format: str | None = None
    rival: str | None = None  # the format that must fail somewhere for this one to be certain


def _day_first_or_month_first(mark: str) -> tuple[TypeGuess, TypeGuess]:
    day, month = f"%d{mark}%m{mark}%Y", f"%m{mark}%d{mark}%Y"
    escaped = rf"\d{{1,2}}[{mark}]\d{{1,2}}[{mark}]\d{{4}}"
    return (
        TypeGuess("DATE", escaped, day, rival=month),
        TypeGuess("DATE", escaped, month, rival=day),
    )


TEXT = TypeGuess("VARCHAR")
GUESSES = (
    TypeGuess("BOOLEAN"),
    TypeGuess("BIGINT"),
    TypeGuess("DOUBLE", _REAL),
    TypeGuess("DATE", _DAY),
    TypeGuess("TIMESTAMP", rf"{_DAY}[ T]{_CLOCK}"),
    TypeGuess("TIMESTAMPTZ", rf"{_DAY}[ T]{_CLOCK}{_OFFSET}"),
    TypeGuess("TIME", _CLOCK),
    TypeGuess("DATE", r"\d{4}/\d{1,2}/\d{1,2}", "%Y/%m/%d"),
    *_day_first_or_month_first("/"),
    *_day_first_or_month_first("."),
    *_day_first_or_month_first("-"),
)
TEMPORAL = tuple(guess for guess in GUESSES if guess.type.startswith(("DATE", "TIME")))
JSON_NUMBERS = (TypeGuess("DOUBLE", _JSON_REAL),)


def guess_types(
    raw: exp.Table,
    names: Sequence[str],
    *,
    engine: DuckDB,
    guesses: Sequence[TypeGuess] = GUESSES,
) -> dict[str, TypeGuess]:
    """Return for each text column of `raw` the narrowest type that fits every value.

    The second query reads every cell of the table, so it also finds any unreadable line.
    """
    likely = _likely_guesses(raw, names, guesses, engine=engine)
    return _prove_guesses(raw, likely, engine=engine)


def store_converted(
    raw: exp.Table, guesses: Mapping[str, TypeGuess], *, engine: DuckDB
) -> tuple[exp.Table, dict[str, DeclaredColumn]]:
    """Store the columns of `raw`, those with a guess converted, and return them with their kinds.

    They are stored, spilling if need be: every query on a view would parse the texts again.
    """
    wanted = [
        build.alias_as(convert_column(build.column(name), guesses[name]), name)
        if name in guesses
        else build.column(name)
        for name, _ in engine.types(raw)
    ]
    kept = engine.keep(build.select(*wanted, source=raw))
    formats = {name: guess.format for name, guess in guesses.items()}
    return kept, {
        column.name: DeclaredColumn(declared_kind(column.kind), formats.get(column.name))
        for column in engine.columns(kept)
    }


def convert_column(column: exp.Expr, guess: TypeGuess) -> exp.Expr:
    """Return `column` as the guessed type; it never fails, so that no error depends on a cell."""
    if guess == TEXT:
        return column
    if guess.format:
        return exp.TryCast(
            this=_parse_timestamp(_trim_text(column), guess.format), to=_data_type(guess)
        )
    return exp.TryCast(this=_trim_text(column), to=_data_type(guess))


def _likely_guesses(
    raw: exp.Table, names: Sequence[str], guesses: Sequence[TypeGuess], *, engine: DuckDB
) -> dict[str, tuple[TypeGuess, ...]]:
    """Return the guesses that the first rows do not contradict.

    The columns are stacked, so that each guess is written once, not once per column.
    """
    sample = build.select(exp.Star(), source=raw.copy()).limit(SAMPLE_ROWS)
    positions = exp.Array(expressions=[build.number(i) for i in range(len(names))])
    values = exp.Array(expressions=[build.column(name) for name in names])
    long = exp.Select(
        expressions=[
            build.alias_as(_unnest_array(positions), "name"),
            build.alias_as(_unnest_array(values), "value"),
        ]
    ).from_(build.subquery(sample, "s"))
    # Most columns repeat few values, and a dozen patterns are tried on each.
    long = build.select(exp.Star(), source=build.subquery(long, "r")).distinct()
    value = _trim_text(build.column("value"))
    checks = [build.alias_as(_every_fits(value, guess), str(i)) for i, guess in enumerate(guesses)]
    query = build.select(build.column("name"), *checks, source=build.subquery(long, "l"))
    rows = engine.execute_unguarded(query.group_by(build.column("name"))).fetchall()
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
    raw: exp.Table, likely: Mapping[str, Sequence[TypeGuess]], *, engine: DuckDB
) -> dict[str, TypeGuess]:
    """Return the first guess that holds for every value, text where none does.

    This usually takes one scan: a second one is needed only where the first rows misled.
    """
    chosen: dict[str, TypeGuess] = {}
    pending = dict(likely)
    while pending:
        tested = {name: _with_rival(guesses) for name, guesses in pending.items()}
        for name, (count, held) in _scan(raw, tested, engine=engine).items():
            left = tuple(guess for guess in pending[name] if guess not in tested[name])
            if count and not held and left:
                pending[name] = left
                continue
            # If both readings hold, day and month cannot be distinguished: text.
            chosen[name] = held[0] if len(held) == 1 else TEXT
            del pending[name]
    return chosen


def _with_rival(guesses: Sequence[TypeGuess]) -> tuple[TypeGuess, ...]:
    first = guesses[:1]
    rivals = [g for g in guesses[1:] if first[0].rival is not None and g.format == first[0].rival]
    return (*first, *rivals)


def _scan(
    raw: exp.Table, candidates: Mapping[str, Sequence[TypeGuess]], *, engine: DuckDB
) -> dict[str, tuple[int, list[TypeGuess]]]:
    """Return for each column how many values it has and which candidates hold for all of them."""
    names = list(candidates)
    if len(names) > COLUMNS_PER_SCAN:
        first, rest = (
            {name: candidates[name] for name in part}
            for part in (names[:COLUMNS_PER_SCAN], names[COLUMNS_PER_SCAN:])
        )
        return {**_scan(raw, first, engine=engine), **_scan(raw, rest, engine=engine)}
    wanted: list[exp.Expr] = []
    for name, guesses in candidates.items():
        value = _trim_text(build.column(name))
        wanted.append(exp.Count(this=value))
        wanted.extend(_column_holds(value, guess) for guess in guesses)
    query = exp.Select(expressions=wanted).from_(raw.copy(), copy=False)
    row = iter(engine.execute_unguarded(query).fetchone() or ())
    return {
        name: (next(row), [guess for guess in guesses if next(row)])
        for name, guesses in candidates.items()
    }


def _fits_guess(value: exp.Expr, guess: TypeGuess) -> exp.Expr:
    """Return whether `value` is a text of exactly the guessed type."""
    if guess.type == "BOOLEAN":
        return exp.In(
            this=exp.Lower(this=value.copy()), expressions=[build.text("true"), build.text("false")]
        )
    if guess.type == "BIGINT":
        # Written back it must be the same text: this alone refuses 007, +7, 7.0 and 7_000.
        whole = exp.TryCast(this=value.copy(), to=_data_type(guess))
        digits = exp.Length(this=exp.func("LTRIM", value.copy(), build.text("-"), dialect="duckdb"))
        return exp.and_(
            exp.EQ(this=exp.cast(whole, "TEXT"), expression=value.copy()),
            exp.LTE(this=digits, expression=build.number(18)),
        )
    matches = _matches_pattern(value, guess.pattern or "")
    cast = convert_column(value, guess)
    conditions = [matches, build.is_null(cast).not_()]
    return build.all_of(
        [*conditions, *(_keeps_number(value, cast) if guess.type == "DOUBLE" else [])]
    )


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
        exp.or_(is_infinite.not_(), _matches_pattern(value, r"(?i).*inf.*")),  # not so 1e+999
        exp.or_(  # not so 1e-999, which would turn into 0
            exp.NEQ(this=cast.copy(), expression=build.number(0)),
            _matches_pattern(value, r"[^1-9eE]*([eE].*)?"),
        ),
        is_short,
    ]


def _every_fits(value: exp.Expr, guess: TypeGuess) -> exp.Expr:
    """Return whether every value fits `guess`; NULL, hence false, when there is no value."""
    certain = exp.Coalesce(this=_fits_guess(value, guess), expressions=[exp.false()])
    case = exp.Case(ifs=[exp.If(this=build.is_null(value.copy()).not_(), true=certain)])
    return exp.Anonymous(this="bool_and", expressions=[case])


def _column_holds(value: exp.Expr, guess: TypeGuess) -> exp.Expr:
    """Return whether a whole column is of the guessed type."""
    every = _every_fits(value, guess)
    if guess.type != "DOUBLE":
        return every
    # Nan is also a first name: a column of numbers has a digit somewhere.
    digits = exp.Anonymous(this="bool_or", expressions=[_matches_pattern(value, r".*\d.*")])
    return exp.and_(every, digits)


def _matches_pattern(value: exp.Expr, pattern: str) -> exp.Expr:
    return exp.Anonymous(this="regexp_full_match", expressions=[value.copy(), build.text(pattern)])


def _parse_timestamp(value: exp.Expr, form: str) -> exp.Expr:
    return exp.Anonymous(this="try_strptime", expressions=[value.copy(), build.text(form)])


def _trim_text(column: exp.Expr) -> exp.Expr:
    return exp.Nullif(this=exp.Trim(this=column.copy()), expression=build.text(""))


def _data_type(guess: TypeGuess) -> exp.DataType:
    return exp.DataType.build(guess.type, dialect="duckdb")
