"""The rows of a large INSERT with plain values only: read by a lexer, not by a parser."""

from __future__ import annotations

import re
from dataclasses import dataclass
from itertools import islice

from sqlglot import exp

from discreet.errors import StatementFailed
from discreet.sql.limits import StatementBounds

FEWEST = 50  # rows; fewer are parsed as usual
_HEAD = 5_000  # lexemes before VALUES: a list of columns has two for each
_INSERT = re.compile(r"\s*+insert\s++into\b", re.IGNORECASE)
_LEXEME = re.compile(r"\"[^\"]*+\"|\w++|\S")
_CELL = (
    r"(?:'(?:[^']|'')*+'(?!\s*')|[+-]?(?:\d++(?:\.\d*+)?|\.\d++)(?:[eE][+-]?\d++)?(?!\w)"
    r"|\$\d++|(?:null|true|false|default)(?!\w))"
)
_CELLS = re.compile(_CELL, re.IGNORECASE)
_ROW = re.compile(rf"\s*+\(\s*+({_CELL}(?:\s*+,\s*+{_CELL})*+)\s*+\)\s*+", re.IGNORECASE)


@dataclass(frozen=True)
class PlainRows:
    """The cells of each row, and the statement with the first row alone."""

    first: str
    rows: tuple[tuple[str, ...], ...]

    def trees(self) -> list[exp.Expr]:
        """Return the rows as a parser would."""
        return [exp.Tuple(expressions=[_cell_tree(cell) for cell in row]) for row in self.rows]


def plain_rows(text: str, bounds: StatementBounds) -> PlainRows | None:
    """Return the rows of an INSERT … VALUES that has many, all of them plain; else None.

    Raises:
        StatementFailed: 54000, there are more values than may be in one statement.
    """
    start = _after_values(text)
    if start is None:
        return None
    rows: list[tuple[str, ...]] = []
    at, first, cells = start, start, 0
    while found := _ROW.match(text, at):
        row = tuple(_CELLS.findall(found[1]))
        rows.append(row)
        cells += len(row)
        if cells > bounds.values:
            raise StatementFailed(
                "54000",
                f"the statement has more than {bounds.values:,} values",
                hint="Send fewer rows at once.",
            )
        at = found.end()
        first = first if len(rows) > 1 else at
        if text[at : at + 1] != ",":
            break
        at += 1
    else:
        return None  # a row that is not plain
    if len(rows) < FEWEST:
        return None
    return PlainRows(text[:first] + text[at:], tuple(rows))


def _after_values(text: str) -> int | None:
    """Return where the rows of an INSERT begin, if a lexer can find it."""
    opening = _INSERT.match(text)
    if opening is None:
        return None
    depth = 0
    for found in islice(_LEXEME.finditer(text, opening.end()), _HEAD):
        lexeme = found[0]
        depth += (lexeme == "(") - (lexeme == ")")
        if lexeme in ("'", "-", "/", "{", "$", ";"):
            return None  # a comment, or anything that needs a parser
        if depth == 0 and lexeme.lower() == "values":
            return found.end()
    return None


def _cell_tree(cell: str) -> exp.Expr:
    if cell[0] == "'":
        return exp.Literal.string(cell[1:-1].replace("''", "'"))
    if cell[0] == "$":
        return exp.Parameter(this=exp.Literal.number(cell[1:]))
    if cell[0] == "-":
        return exp.Neg(this=_cell_tree(cell[1:]))
    if cell[0] in "+.0123456789":
        number = cell.removeprefix("+")
        return exp.Literal.number(f"0{number}" if number[0] == "." else number)
    word = cell.lower()
    if word == "null":
        return exp.Null()
    if word == "default":
        return exp.Var(this="DEFAULT")
    return exp.Boolean(this=word == "true")
