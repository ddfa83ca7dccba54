"""COPY … TO STDOUT."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from sqlglot import exp

from discreet.errors import StatementFailed
from discreet.guard.statements.cursor import StatementCursor
from discreet.guard.statements.statement import CopyOut
from discreet.guard.statements.trees import parse_query


@dataclass
class _CopyOptions:
    format: Literal["text", "csv", "binary"] = "text"
    header: bool = False
    delimiter: str | None = None
    null: str | None = None


def parse_copy(cursor: StatementCursor) -> CopyOut:
    """Parse COPY (query) or table (columns) TO STDOUT WITH options."""
    query = parse_query(cursor.enclosed()) if cursor.at("(") else _parse_table(cursor)
    if cursor.at("from"):
        raise StatementFailed("0A000", "COPY … FROM is not supported", hint="Use INSERT.")
    cursor.need("to")
    if not cursor.take("stdout"):
        raise StatementFailed(
            "0A000", "COPY to a file or program is not supported", hint="COPY … TO STDOUT."
        )
    options = _CopyOptions()
    cursor.take("with")
    if cursor.at("("):
        cursor.in_parentheses(lambda: _parse_option(cursor, options))
    else:
        while cursor.word.kind != "end":
            _parse_old_option(cursor, options)
    return CopyOut(query, options.format, options.header, options.delimiter, options.null)


def _parse_table(cursor: StatementCursor) -> exp.Query:
    schema, name = cursor.relation()
    columns: list[exp.Expr] = [exp.Star()]
    if cursor.at("("):
        names = cursor.in_parentheses(cursor.name)
        columns = [exp.Column(this=exp.to_identifier(column, quoted=True)) for column in names]
    table = exp.Table(
        this=exp.to_identifier(name, quoted=True),
        db=exp.to_identifier(schema, quoted=True) if schema else None,
    )
    return exp.Select(expressions=columns, from_=exp.From(this=table))


def _parse_option(cursor: StatementCursor, options: _CopyOptions) -> None:
    if cursor.take("format"):
        _set_format(cursor, options)
    elif cursor.take("header"):
        options.header = _parse_boolean(cursor)
    elif cursor.take("delimiter"):
        options.delimiter = _parse_delimiter(cursor)
    elif cursor.take("null"):
        options.null = cursor.string()
    elif cursor.take("encoding"):
        if cursor.string().lower().replace("-", "") != "utf8":
            raise StatementFailed("0A000", "only UTF-8 is supported")
    else:
        raise StatementFailed("0A000", "this option of COPY is not supported")


def _parse_old_option(cursor: StatementCursor, options: _CopyOptions) -> None:
    if cursor.at("csv") or cursor.at("binary"):
        _set_format(cursor, options)
    elif cursor.take("header"):
        options.header = True
    elif cursor.take("delimiter"):
        cursor.take("as")
        options.delimiter = _parse_delimiter(cursor)
    elif cursor.take("null"):
        cursor.take("as")
        options.null = cursor.string()
    else:
        raise cursor.unexpected()


def _set_format(cursor: StatementCursor, options: _CopyOptions) -> None:
    word = cursor.string() if cursor.word.kind == "string" else cursor.step().text
    match word.lower():
        case "text" | "csv" | "binary" as chosen:
            options.format = chosen
        case _:
            raise StatementFailed("22023", f'COPY format "{word}" not recognized')


def _parse_boolean(cursor: StatementCursor) -> bool:
    if cursor.word.kind == "end" or cursor.at(",") or cursor.at(")"):
        return True
    return cursor.step().text.lower() in ("true", "on", "1")


def _parse_delimiter(cursor: StatementCursor) -> str:
    found = cursor.string()
    if len(found) != 1 or found in "\\\r\n":
        raise StatementFailed("22023", "COPY delimiter must be a single one-byte character")
    return found
