"""The type of every column of a text table, proven on all of its rows by the engine.

A guess must never lose anything: `01234` is not a number, twenty digits are not one either, and a
date that could be read day-first as well as month-first stays text.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from sqlglot import exp

from discreet.sql import build

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from discreet.engines.duckdb import DuckDB

SAMPLE_ROWS = 1_000  # decides only which guesses are worth proving on the whole file

_DAY, _CLOCK = r"\d{4}-\d{2}-\d{2}", r"([01]\d|2[0-3]):[0-5]\d(:[0-5]\d(\.\d{1,6})?)?"
_OFFSET = r"(Z|[+-]\d{2}:\d{2})"
# No leading zero, at most 18 digits before the point; an exponent needs its sign, so that the
# code 12E4 stays a code.
_REAL = r"[+-]?((0|[1-9]\d{0,17})(\.\d*)?|\.\d+)([eE][+-]\d{1,3})?|[+-]?(?i:nan|inf|infinity)"


@dataclass(frozen=True)
class Guess:
    """A type, the pattern its texts have, and the date format if it needs one."""

    type: str
    pattern: str | None = None
    format: str | None = None
    rival: str | None = None  # the format that must fail somewhere for this one to be certain


def _day_first_or_month_first(mark: str) -> tuple[Guess, Guess]:
    day, month = f"%d{mark}%m{mark}%Y", f"%m{mark}%d{mark}%Y"
    escaped = rf"\d{{1,2}}[{mark}]\d{{1,2}}[{mark}]\d{{4}}"
    return (
        Guess("DATE", escaped, day, rival=month),
        Guess("DATE", escaped, month, rival=day),
    )


TEXT = Guess("VARCHAR")
GUESSES = (
    Guess("BOOLEAN"),
    Guess("BIGINT"),
    Guess("DOUBLE", _REAL),
    Guess("DATE", _DAY),
    Guess("TIMESTAMP", rf"{_DAY}[ T]{_CLOCK}"),
    Guess("TIMESTAMPTZ", rf"{_DAY}[ T]{_CLOCK}{_OFFSET}"),
    Guess("TIME", _CLOCK),
    Guess("DATE", r"\d{4}/\d{1,2}/\d{1,2}", "%Y/%m/%d"),
    *_day_first_or_month_first("/"),
    *_day_first_or_month_first("."),
    *_day_first_or_month_first("-"),
)


def guess_types(raw: exp.Table, names: Sequence[str], *, engine: DuckDB) -> dict[str, Guess]:
    """Return for each text column of `raw` the narrowest type that every one of its values has.

    The second query reads every cell of the table, so it also finds any line that cannot be read.
    """
    sample = build.select(exp.Star(), source=raw.copy()).limit(SAMPLE_ROWS)
    likely = _surviving(build.subquery(sample, "s"), dict.fromkeys(names, GUESSES), engine=engine)
    proven = _surviving(raw.copy(), likely, engine=engine)
    return {name: _choose(proven[name]) for name in names}


def converted(column: exp.Expr, guess: Guess) -> exp.Expr:
    """Return `column` as the guessed type; total, so that no error can depend on a cell."""
    if guess == TEXT:
        return column
    if guess.format:
        return exp.TryCast(this=_parsed(_trimmed(column), guess.format), to=_type(guess))
    return exp.TryCast(this=_trimmed(column), to=_type(guess))


def _surviving(
    source: exp.Expr,
    candidates: Mapping[str, Sequence[Guess]],
    *,
    engine: DuckDB,
) -> dict[str, tuple[Guess, ...]]:
    """Return the candidates that no value contradicts; none for a column without values."""
    wanted: list[exp.Expr] = []
    for name, guesses in candidates.items():
        value = _trimmed(build.column(name))
        wanted.append(exp.Count(this=build.column(name)))
        wanted.extend(_every(_fits(value, guess), value) for guess in guesses)
    query = exp.select(
        *(build.named(item, str(position)) for position, item in enumerate(wanted))
    ).from_(source)
    row = iter(engine.run_unguarded(query))
    survivors: dict[str, tuple[Guess, ...]] = {}
    for name, guesses in candidates.items():
        next(row)
        survivors[name] = tuple(guess for guess in guesses if next(row))
    return survivors


def _choose(guesses: Sequence[Guess]) -> Guess:
    formats = {guess.format for guess in guesses}
    certain = [guess for guess in guesses if guess.rival not in formats or guess.rival is None]
    return certain[0] if certain else TEXT


def _fits(value: exp.Expr, guess: Guess) -> exp.Expr:
    """Return whether `value` is a text of the guessed type and of nothing else."""
    if guess.type == "BOOLEAN":
        return exp.In(
            this=exp.Lower(this=value.copy()), expressions=[build.text("true"), build.text("false")]
        )
    if guess.type == "BIGINT":
        # Written back it must be the same text: this alone refuses 007, +7, 7.0 and 7_000.
        whole = exp.TryCast(this=value.copy(), to=_type(guess))
        digits = exp.Length(this=exp.func("LTRIM", value.copy(), build.text("-"), dialect="duckdb"))
        return exp.and_(
            exp.EQ(this=exp.cast(whole, "TEXT"), expression=value.copy()),
            exp.LTE(this=digits, expression=build.number(18)),
        )
    matches = _matches(value, guess.pattern or "")
    cast = converted(value, guess)
    conditions = [matches, build.is_null(cast).not_()]
    if guess.type == "DOUBLE":  # 1e+999 would turn into infinity
        is_infinite = exp.Anonymous(this="isinf", expressions=[cast.copy()])
        conditions.append(exp.or_(is_infinite.not_(), _matches(value, r"(?i).*inf.*")))
    return build.all_of(conditions)


def _every(condition: exp.Expr, value: exp.Expr) -> exp.Expr:
    """Return whether `condition` holds for every value; NULL, hence false, when there is none."""
    certain = exp.Coalesce(this=condition, expressions=[exp.false()])
    case = exp.Case(ifs=[exp.If(this=build.is_null(value.copy()).not_(), true=certain)])
    return exp.Anonymous(this="bool_and", expressions=[case])


def _matches(value: exp.Expr, pattern: str) -> exp.Expr:
    return exp.Anonymous(this="regexp_full_match", expressions=[value.copy(), build.text(pattern)])


def _parsed(value: exp.Expr, form: str) -> exp.Expr:
    return exp.Anonymous(this="try_strptime", expressions=[value.copy(), build.text(form)])


def _trimmed(column: exp.Expr) -> exp.Expr:
    return exp.Nullif(this=exp.Trim(this=column.copy()), expression=build.text(""))


def _type(guess: Guess) -> exp.DataType:
    return exp.DataType.build(guess.type, dialect="duckdb")
