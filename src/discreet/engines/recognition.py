"""How the cells of a text file are written, recognized in all of its rows.

Recognition reads data, so it happens only where a custodian drafts or assesses: questions take the
form of a file from its policy. Words for missing values are applied, because a column of numbers or
dates shows that they are none of its values; what leaves a choice open is not decided but reported.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import TYPE_CHECKING, Any

from sqlglot import exp

from discreet.engines.declared_schema import matches_pattern, present_cell
from discreet.engines.engine import DeclaredSchema
from discreet.engines.file_request import FileRequest
from discreet.engines.type_inference import (
    COLUMNS_PER_SCAN,
    FURTHER_GUESSES,
    GUESSES,
    SAMPLE_ROWS,
    TEXT,
    TypeGuess,
    date_guess,
    find_types,
    fits_guess,
    guess_types,
    number_guess,
    store_converted,
)
from discreet.policy.text_format import BLANKS, CellFormat
from discreet.sql import build

if TYPE_CHECKING:
    from discreet.engines.duckdb import DuckDB

# These mean that there is no value, in a column of texts too.
_SURE_WORDS = (
    *("N/A", "n/a", "#N/A", "#NV", "<NA>", "\\N", "N.A.", "n.a.", "n. a.", "k.A.", "k. A.", "k.a."),
    *("#NULL!", "#DIV/0!", "#VALUE!", "#REF!", "#NAME?", "#NUM!", "#WERT!", "#BEZUG!"),
)
# These may be values of a column of texts: NA is Namibia, and a minus may mean no.
_OTHER_WORDS = (
    *(
        "-",
        "--",
        "---",
        "–",
        "—",
        ".",
        "..",
        "...",
        "?",
        "??",
        "NA",
        "na",
        "#NA",
        "ND",
        "n.d.",
        "NC",
    ),
    *(
        "NULL",
        "Null",
        "null",
        "(null)",
        "NaT",
        "unknown",
        "Unknown",
        "UNKNOWN",
        "missing",
        "Missing",
    ),
    *("unbekannt", "Unbekannt", "keine Angabe", "o.A.", "s/d", "S/D", "sin dato", "non renseigné"),
    *("inconnu", "Inconnu", "b.d.", "brak", "brak danych", "onbekend", "n.b.", "okänd", "ukendt"),
    *("desconocido", "sconosciuto", "00000000", "00.00.0000", "00/00/0000", "0000-00-00"),
    "0000-00-00 00:00:00",
)
MISSING_WORDS = (*_SURE_WORDS, *_OTHER_WORDS)
SIGNS = (
    *("€", "$", "£", "¥", "%", "‰", "EUR", "USD", "GBP", "CHF", "Fr.", "PLN", "zł", "SEK", "NOK"),
    *("DKK", "kr", "kr.", "CZK", "Kč", "HUF", "Ft", "RON", "lei"),
)
_SIGN = "|".join(
    sorted((sign.replace("$", r"\$").replace(".", r"\.") for sign in SIGNS), key=len)[::-1]
)
_SIGNED = rf"[+-]?[{BLANKS}]*({_SIGN})[{BLANKS}]*[+-]?[\d.,].*|.*\d[{BLANKS}]*({_SIGN})"
_DIGITS = r"(?s).*\d.*|[+-]?(?i:nan|inf|infinity)"
_WORDS = CellFormat(missing=MISSING_WORDS)
_WHOLE_NUMBERS = TypeGuess("BIGINT")
_PLAIN_NUMBERS = tuple(guess for guess in GUESSES if guess.type in ("BIGINT", "DOUBLE", "BOOLEAN"))
_GROUPED = number_guess("BIGINT", ",", ".")
_COMPACT_DATE = date_guess("%Y%m%d")
_COMPACT = r"(18[5-9]\d|19\d\d|20\d\d)(0[1-9]|1[0-2])(0[1-9]|[12]\d|3[01])"
_FEWEST_COMPACT = 3  # different values, before whole numbers of eight digits count as dates
_ISO = date_guess("%Y-%m-%d")
_DAYS = (
    _ISO,
    *(g for g in (*GUESSES, *FURTHER_GUESSES) if g.type == "DATE" and g.written.dates),
)
_TWO_DIGITS = r"\d{1,2}([./-])\d{1,2}[./-]\d{2}|\d{1,2}-[A-Za-z]{3}-\d{2}"
_SHORT_YEARS = (
    "the years have two digits, so it is text; if these are dates, write `kind: date`, a format such as "
    "`format: '%d.%m.%y'`, and the first year that they may mean, such as `since: 1930`"
)
Guesses = dict[str, TypeGuess]


@dataclass(frozen=True)
class Recognition:
    """What was recognized: each column's type and form, and the words for missing values of the file.

    `doubts` says of columns by name how they could also be read, and what to declare then.
    `plain_numbers` are the columns that hold numbers and nothing else.
    """

    guesses: Mapping[str, TypeGuess]
    written: Mapping[str, CellFormat]
    missing: tuple[str, ...]
    doubts: Mapping[str, str]
    plain_numbers: tuple[str, ...]


def recognize_columns(
    raw: exp.Table, names: Sequence[str], *, engine: DuckDB, delimiter: str | None = None
) -> Recognition:
    """Return the type and form of each text column of `raw` that fits all of its values."""
    found = find_types(raw, names, engine=engine)
    plain = [name for name, held in found.items() if held]
    texts = _without_words(raw, [name for name in names if name not in plain], engine=engine)
    known = _find_signs(raw, texts, engine=engine) if texts else {}
    if texts:
        every = (*GUESSES, *FURTHER_GUESSES)
        found |= find_types(
            raw, texts, engine=engine, guesses=every, written=known, reads_all=False
        )
        left = [name for name in texts if not found[name]]
        found |= _find_mixed_dates(raw, left, engine=engine)
    if any(len(held) == 1 and held[0].written.decimal for held in found.values()):
        found |= _find_grouped_numbers(raw, found, engine=engine)
    chosen, doubts = _decide_rivals(found, delimiter=delimiter)
    chosen |= _find_compact_dates(raw, chosen, engine=engine)
    missing, kept = _find_missing(raw, chosen, plain, engine=engine)
    doubts |= _find_short_years(raw, [n for n in texts if chosen[n] == TEXT], engine=engine)
    written = {
        name: CellFormat(
            sign=known[name].sign if name in known and chosen[name] != TEXT else None,
            missing=None if name in kept else missing or None,
        )
        for name in names
    }
    digits = tuple(name for name in plain if chosen[name] in _PLAIN_NUMBERS)
    return Recognition(chosen, written, missing, doubts, digits)


def store_typed(
    raw: exp.Table,
    names: Sequence[str],
    request: FileRequest,
    *,
    delimiter: str | None = None,
    keeps_digits: bool = False,
) -> tuple[exp.Table, DeclaredSchema]:
    """Store the text columns of `raw` with their types, and return them with the schema that they have.

    Cells are written as the request's hints say; without hints, that is recognized. With `keeps_digits`,
    a column of nothing but plain digits stays text, as cells of a sheet that were entered as text.
    """
    engine, hints = request.engine, request.hints
    if hints is None:
        found = recognize_columns(raw, names, engine=engine, delimiter=delimiter)
        if keeps_digits:
            digits = dict.fromkeys(found.plain_numbers, TEXT)
            found = replace(found, guesses={**found.guesses, **digits})
        kept, columns = store_converted(raw, found.guesses, engine=engine, written=found.written)
        return kept, DeclaredSchema(columns, missing=found.missing, doubts=found.doubts)
    written = {name: one.written for name, one in hints.named(names).items()}
    guesses = guess_types(raw, names, engine=engine, written=written)
    if keeps_digits:
        guesses |= dict.fromkeys(
            (n for n in names if not written[n].missing and guesses[n] in _PLAIN_NUMBERS), TEXT
        )
    kept, columns = store_converted(raw, guesses, engine=engine, written=written)
    return kept, DeclaredSchema(columns, missing=hints.missing)


def _without_words(raw: exp.Table, names: Sequence[str], *, engine: DuckDB) -> list[str]:
    """Return the columns in whose first rows every value has a digit, is nan, infinite, boolean or missing.

    No other column can have a form that holds for all of its values, and most texts are such columns.
    """

    def wanted(value: exp.Column) -> list[exp.Expr]:
        boolean = exp.TryCast(this=value.copy(), to=exp.DataType.build("BOOLEAN"))
        has_form = exp.Or(
            this=matches_pattern(value, _DIGITS), expression=build.is_null(boolean).not_()
        )
        return [_holds_everywhere(_value_if(build.is_null(value).not_(), has_form))]

    found = _compute_columns(_first_rows(raw), names, wanted, engine=engine)
    return [name for name, (has_form,) in found.items() if has_form is not False]


def _find_signs(raw: exp.Table, names: Sequence[str], *, engine: DuckDB) -> dict[str, CellFormat]:
    """Return for each column the words that may stand for missing values, and the sign of its numbers."""

    def wanted(value: exp.Column) -> list[exp.Expr]:
        parts = [value.copy(), build.text(_SIGN), build.number(0)]
        sign = _value_if(
            build.is_null(value).not_(), exp.Anonymous(this="regexp_extract", expressions=parts)
        )
        return [
            _holds_everywhere(matches_pattern(value, _SIGNED)),
            exp.Min(this=sign),
            exp.Max(this=sign.copy()),
        ]

    found = _compute_columns(_first_rows(raw), names, wanted, engine=engine)
    return {
        name: replace(_WORDS, sign=first if is_signed and first == last else None)
        for name, (is_signed, first, last) in found.items()
    }


def _find_mixed_dates(
    raw: exp.Table, names: Sequence[str], *, engine: DuckDB
) -> dict[str, tuple[TypeGuess, ...]]:
    """Return the columns in which every value is a date of one of several forms."""

    def wanted(value: exp.Column) -> list[exp.Expr]:
        counts: list[exp.Expr] = [exp.Count(this=value)]
        for guess in _DAYS:
            matches = matches_pattern(value, guess.pattern or "")
            counts += [_count_if(matches), _count_if(fits_guess(value, guess))]
        return counts

    likely = _columns_like(raw, names, [guess.pattern or "" for guess in _DAYS], engine=engine)
    found: dict[str, tuple[TypeGuess, ...]] = {}
    for name, (total, *counts) in _compute_columns(raw, likely, wanted, engine=engine).items():
        if forms := _choose_forms(total, list(zip(_DAYS, counts[::2], counts[1::2], strict=True))):
            found[name] = (date_guess(*forms),)
    return found


def _choose_forms(
    total: int, counts: Sequence[tuple[TypeGuess, int, int]]
) -> tuple[str, ...] | None:
    """Return the forms that together explain every value, each in one way; None where they do not."""
    shapes = {guess.pattern: matching for guess, matching, _ in counts if matching}
    if not total or sum(shapes.values()) != total:
        return None
    forms: list[str] = []
    for shape in shapes:
        fitting = [g for g, matching, fits in counts if g.pattern == shape and fits == matching]
        if len(fitting) != 1:
            return None
        forms += fitting[0].written.dates
    return tuple(forms)


def _decide_rivals(
    found: Mapping[str, Sequence[TypeGuess]], *, delimiter: str | None
) -> tuple[Guesses, dict[str, str]]:
    """Return the guess for each column, and what cannot be decided between two that both fit."""
    marks = {
        g[0].written.decimal or "." for g in found.values() if len(g) == 1 and g[0].type == "DOUBLE"
    }
    chosen: Guesses = {}
    doubts: dict[str, str] = {}
    for name, held in found.items():
        chosen[name] = held[0] if len(held) == 1 else TEXT
        if len(held) < 2:
            continue
        if held[0].written.dates:
            forms = " or ".join(f"`format: '{guess.written.dates[0]}'`" for guess in held)
            doubts[name] = (
                f"day and month cannot be distinguished, so it is text; if these are dates, write `kind: "
                f"{held[0].type.lower()}` and {forms}"
            )
        elif marks == {","} or (not marks and delimiter == ";"):
            chosen[name] = held[0]
        elif marks == {"."}:
            chosen[name] = held[1]
        else:
            doubts[name] = (
                "1,234 may be a thousand or a little more than one, so it is text; if these are numbers, "
                "write `kind: number` and `decimal: ','`, or `kind: integer` and `thousands: ','`"
            )
    return chosen, doubts


def _find_compact_dates(raw: exp.Table, chosen: Guesses, *, engine: DuckDB) -> Guesses:
    """Return the columns of whole numbers that are all dates such as 20240517."""

    def wanted(value: exp.Column) -> list[exp.Expr]:
        fits = exp.and_(matches_pattern(value, _COMPACT), fits_guess(value, _COMPACT_DATE))
        distinct = exp.Count(this=exp.Distinct(expressions=[value.copy()]))
        return [exp.Count(this=value), _count_if(fits), distinct]

    whole = [name for name, guess in chosen.items() if guess == _WHOLE_NUMBERS]
    likely = _columns_like(raw, whole, [_COMPACT], engine=engine)
    counted = _compute_columns(raw, likely, wanted, engine=engine)
    return {
        name: _COMPACT_DATE
        for name, (total, fits, distinct) in counted.items()
        if total == fits and distinct >= _FEWEST_COMPACT
    }


def _find_grouped_numbers(
    raw: exp.Table, found: Mapping[str, Sequence[TypeGuess]], *, engine: DuckDB
) -> dict[str, tuple[TypeGuess, ...]]:
    """Return the columns of reals in which a point separates thousands, as the decimal mark is a comma."""
    reals = [
        name
        for name, held in found.items()
        if len(held) == 1 and held[0].type == "DOUBLE" and held[0].written.decimal is None
    ]
    grouped = find_types(
        raw,
        reals,
        engine=engine,
        guesses=(_GROUPED,),
        written=dict.fromkeys(reals, _WORDS),
        reads_all=False,
    )
    return {name: held for name, held in grouped.items() if held}


def _find_missing(
    raw: exp.Table, chosen: Guesses, plain: Sequence[str], *, engine: DuckDB
) -> tuple[tuple[str, ...], set[str]]:
    """Return the words for missing values in the file, and the columns in which they are values."""
    typed = [name for name, guess in chosen.items() if guess != TEXT and name not in plain]
    texts = [name for name, guess in chosen.items() if guess == TEXT]
    proven = {word for found in _find_words(raw, typed, engine=engine).values() for word in found}
    # All texts are looked through only where the file is known to use such words.
    first = _find_words(_first_rows(raw), texts, engine=engine)
    is_used = proven or any(word in _SURE_WORDS for found in first.values() for word in found)
    in_texts = _find_words(raw, texts, engine=engine) if is_used else {}
    sure = {word for found in in_texts.values() for word in found if word in _SURE_WORDS}
    words = tuple(word for word in MISSING_WORDS if word in proven | sure)
    doubtful = [
        name
        for name, found in in_texts.items()
        if any(word in words and word.isalpha() for word in found)
    ]
    return words, set(_code_columns(raw, doubtful, engine=engine))


def _find_words(
    raw: exp.Expr, names: Sequence[str], *, engine: DuckDB
) -> dict[str, tuple[str, ...]]:
    """Return for each column the words for missing values that are in it."""

    def wanted(value: exp.Column) -> list[exp.Expr]:
        is_word = exp.In(this=value.copy(), expressions=[build.text(w) for w in MISSING_WORDS])
        different = exp.Distinct(expressions=[_value_if(is_word, value.copy())])
        return [exp.Anonymous(this="list", expressions=[different])]

    found = _compute_columns(raw, names, wanted, engine=engine, read=_trim_cell)
    return {name: tuple(filter(None, words or ())) for name, (words,) in found.items()}


def _code_columns(raw: exp.Table, names: Sequence[str], *, engine: DuckDB) -> list[str]:
    """Return the columns of short codes of capitals, such as countries, among which NA is one."""
    codes = r"\s*[A-Z]{1,4}\s*"
    found = _compute_columns(
        raw,
        names,
        lambda value: [_holds_everywhere(matches_pattern(value, codes))],
        engine=engine,
        read=build.column,
    )
    return [name for name, (is_code,) in found.items() if is_code]


def _find_short_years(raw: exp.Table, texts: Sequence[str], *, engine: DuckDB) -> dict[str, str]:
    """Return the columns of text that are dates with years of two digits."""
    return dict.fromkeys(_columns_like(raw, texts, [_TWO_DIGITS], engine=engine), _SHORT_YEARS)


def _columns_like(
    raw: exp.Table, names: Sequence[str], patterns: Sequence[str], *, engine: DuckDB
) -> list[str]:
    """Return the columns in which the first values have one of the patterns."""
    pattern = "|".join(f"({one})" for one in dict.fromkeys(patterns))
    found = _compute_columns(
        _first_rows(raw),
        names,
        lambda value: [_holds_everywhere(matches_pattern(value, pattern))],
        engine=engine,
    )
    return [name for name, (is_like,) in found.items() if is_like]


def _present_cell(name: str) -> exp.Expr:
    """Return a cell without blanks around it, NULL where it is a word for missing values."""
    value = present_cell(build.column(name), CellFormat())
    words = exp.Array(expressions=[build.text(word) for word in MISSING_WORDS])
    is_word = exp.Anonymous(this="list_contains", expressions=[words, value])
    return exp.Case(ifs=[exp.If(this=is_word, true=exp.Null())], default=value.copy())


def _trim_cell(name: str) -> exp.Expr:
    return exp.Trim(this=build.column(name))


def _compute_columns(
    source: exp.Expr,
    names: Sequence[str],
    wanted: Callable[[exp.Column], Sequence[exp.Expr]],
    *,
    engine: DuckDB,
    read: Callable[[str], exp.Expr] = _present_cell,
) -> dict[str, tuple[Any, ...]]:
    """Return what is wanted of each column, a few columns in each query.

    Cells are read in a query of their own, as what is wanted refers to each several times.
    """
    found: dict[str, tuple[Any, ...]] = {}
    for start in range(0, len(names), COLUMNS_PER_SCAN // 4):
        part = names[start : start + COLUMNS_PER_SCAN // 4]
        cells = [
            build.alias_as(read(name), f"discreet_cell_{place}") for place, name in enumerate(part)
        ]
        inner = exp.Select(expressions=cells).from_(source.copy(), copy=False)
        trees = {
            name: wanted(build.column(f"discreet_cell_{place}")) for place, name in enumerate(part)
        }
        query = exp.Select(expressions=[tree for held in trees.values() for tree in held])
        query = query.from_(build.subquery(inner, "c"), copy=False)
        row = iter(engine.execute_unguarded(query).fetchone() or ())
        found |= {name: tuple(islice(row, len(held))) for name, held in trees.items()}
    return found


def _first_rows(raw: exp.Table) -> exp.Expr:
    return build.subquery(build.select(exp.Star(), source=raw.copy()).limit(SAMPLE_ROWS), "s")


def _value_if(condition: exp.Expr, value: exp.Expr) -> exp.Expr:
    return exp.Case(ifs=[exp.If(this=condition, true=value.copy())])


def _count_if(condition: exp.Expr) -> exp.Expr:
    return exp.Count(this=_value_if(condition, exp.true()))


def _holds_everywhere(condition: exp.Expr) -> exp.Expr:
    return exp.Anonymous(this="bool_and", expressions=[condition])
