"""COPY … TO STDOUT, and COPY … FROM STDIN."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from sqlglot import exp

from discreet.errors import StatementFailed
from discreet.guard.statements.cursor import StatementCursor
from discreet.guard.statements.statement import CopyIn, CopyOut, Written
from discreet.guard.statements.trees import parse_query


@dataclass
class _CopyOptions:
    format: Literal["text", "csv", "binary"] = "text"
    header: Literal["", "skip", "match"] = ""
    delimiter: str | None = None
    null: str | None = None
    quote: str = '"'
    escape: str | None = None


def parse_copy(cursor: StatementCursor) -> CopyOut | CopyIn:
    """Parse COPY (query) or table (columns) TO STDOUT, or table (columns) FROM STDIN."""
    query = None
    relation: Written = (None, "")
    columns: tuple[str, ...] = ()
    if cursor.at("("):
        query = parse_query(cursor.enclosed())
    else:
        relation = cursor.relation()
        columns = cursor.in_parentheses(cursor.name) if cursor.at("(") else ()
    if query is None and cursor.take("from"):
        _need_stream(cursor, "stdin")
        options = _parse_options(cursor)
        return CopyIn(
            relation,
            columns,
            options.format,
            options.header,
            options.delimiter,
            options.null,
            options.quote,
            options.escape,
        )
    cursor.need("to")
    _need_stream(cursor, "stdout")
    options = _parse_options(cursor)
    if options.quote != '"' or options.escape is not None:
        raise StatementFailed("0A000", "COPY TO quotes by double quotes only")
    query = query if query is not None else _select_table(relation, columns)
    return CopyOut(query, options.format, bool(options.header), options.delimiter, options.null)


def _need_stream(cursor: StatementCursor, word: str) -> None:
    other = "stdout" if word == "stdin" else "stdin"
    if not cursor.take(word) and not cursor.take(other):  # either word will do in PostgreSQL
        raise StatementFailed(
            "0A000", "COPY with a file or program is not supported", hint=f"Use {word.upper()}."
        )


def _parse_options(cursor: StatementCursor) -> _CopyOptions:
    options = _CopyOptions()
    cursor.take("with")
    if cursor.at("("):
        cursor.in_parentheses(lambda: _parse_option(cursor, options))
    else:
        while cursor.word.kind != "end":
            _parse_old_option(cursor, options)
    if options.format != "csv" and (options.quote != '"' or options.escape is not None):
        raise StatementFailed("0A000", "COPY quote and escape available only in CSV mode")
    if options.format == "binary" and (options.header or options.delimiter or options.null):
        raise StatementFailed("42601", "cannot specify DELIMITER, NULL or HEADER in BINARY mode")
    return options


def _select_table(relation: Written, columns: tuple[str, ...]) -> exp.Query:
    wanted: list[exp.Expr] = [exp.Star()]
    if columns:
        wanted = [exp.Column(this=exp.to_identifier(name, quoted=True)) for name in columns]
    return exp.Select(expressions=wanted, from_=exp.From(this=written_table(relation)))


def written_table(relation: Written) -> exp.Table:
    """Return a relation as it was written, as a tree."""
    schema, name = relation
    return exp.Table(
        this=exp.to_identifier(name, quoted=True),
        db=exp.to_identifier(schema, quoted=True) if schema else None,
    )


def _parse_option(cursor: StatementCursor, options: _CopyOptions) -> None:
    if cursor.take("format"):
        _set_format(cursor, options)
    elif cursor.take("header"):
        options.header = _parse_header(cursor)
    elif cursor.take("encoding"):
        if cursor.string().lower().replace("-", "") != "utf8":
            raise StatementFailed("0A000", "only UTF-8 is supported")
    elif cursor.take("freeze"):
        _parse_boolean(cursor)
    elif not _parse_mark(cursor, options):
        raise StatementFailed("0A000", "this option of COPY is not supported")


def _parse_old_option(cursor: StatementCursor, options: _CopyOptions) -> None:
    if cursor.at("csv") or cursor.at("binary"):
        _set_format(cursor, options)
    elif cursor.take("header"):
        options.header = "skip"
    elif cursor.at_any("where", "force"):
        raise StatementFailed("0A000", "this option of COPY is not supported")
    elif not _parse_mark(cursor, options):
        raise cursor.unexpected()


def _parse_mark(cursor: StatementCursor, options: _CopyOptions) -> bool:
    """Parse DELIMITER, NULL, QUOTE or ESCAPE, and return whether one came next."""
    for word in ("delimiter", "delimiters", "null", "quote", "escape"):
        if not cursor.take(word):
            continue
        cursor.take("as")
        if word == "null":
            options.null = cursor.string()
        elif word == "quote":
            options.quote = _parse_letter(cursor, "quote")
        elif word == "escape":
            options.escape = _parse_letter(cursor, "escape")
        else:
            options.delimiter = _parse_letter(cursor, "delimiter")
        return True
    return False


def _set_format(cursor: StatementCursor, options: _CopyOptions) -> None:
    word = cursor.string() if cursor.word.kind == "string" else cursor.step().text
    match word.lower():
        case "text" | "csv" | "binary" as chosen:
            options.format = chosen
        case _:
            raise StatementFailed("22023", f'COPY format "{word}" not recognized')


def _parse_header(cursor: StatementCursor) -> Literal["", "skip", "match"]:
    if cursor.take("match"):
        return "match"
    return "skip" if _parse_boolean(cursor) else ""


def _parse_boolean(cursor: StatementCursor) -> bool:
    if cursor.word.kind == "end" or cursor.at(",") or cursor.at(")"):
        return True
    return cursor.step().text.lower() in ("true", "on", "1")


def _parse_letter(cursor: StatementCursor, what: str) -> str:
    found = cursor.string()
    if len(found.encode()) != 1 or found in "\r\n" or (found == "\\" and what == "delimiter"):
        sqlstate = "0A000" if what != "delimiter" else "22023"
        raise StatementFailed(sqlstate, f"COPY {what} must be a single one-byte character")
    return found
