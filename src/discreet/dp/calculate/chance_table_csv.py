"""Tables of chances as people write them: CSV with or without names for inputs and outputs."""

from __future__ import annotations

import csv
from collections.abc import Sequence
from fractions import Fraction
from pathlib import Path

from discreet.dp.calculate.loss import parse_fraction
from discreet.dp.calculate.table import ChanceTable
from discreet.errors import EmptySource, InvalidMechanism, SourceNotFound, UnreadableSource

# What stands above a column of inputs, and is no input itself.
_CORNERS = ("", "input", "inputs", "in", "x", "truth", "value")

Grid = list[list[str]]


def read_chances(path: Path, *, header: bool | None = None) -> ChanceTable:
    """Return the table of chances in a CSV file.

    Args:
        path: The file: a row for each input, a column for each output.
        header: Whether the first line names the outputs; found by itself when not given.
    """
    try:
        text = path.read_text("utf-8-sig")
    except FileNotFoundError:
        raise SourceNotFound(f"There is no file {path}.") from None
    except IsADirectoryError:
        raise UnreadableSource(f"{path} is a folder. Name a file in it.") from None
    except (OSError, UnicodeDecodeError):
        raise UnreadableSource(f"{path} cannot be read as text in UTF-8.") from None
    return parse_chances(text, name=path.name, header=header)


def parse_chances(text: str, *, name: str = "table", header: bool | None = None) -> ChanceTable:
    r"""Return the table of chances written in `text`.

    >>> parse_chances("0.75,0.25\n1/4,3/4\n").inputs
    ('row 1', 'row 2')
    >>> parse_chances("said,yes,no\ntrue,3/4,1/4\nfalse,1/4,3/4\n").outputs
    ('yes', 'no')
    """
    try:
        read = csv.reader(text.splitlines(), skipinitialspace=True, strict=True)
        grid = [[cell.strip() for cell in line] for line in read if any(map(str.strip, line))]
    except csv.Error:
        raise UnreadableSource(f"{name} is not CSV. Check its quotation marks.") from None
    if not grid:
        raise EmptySource(f"{name} is empty: there is no table of chances in it.")
    has_header = _has_header(grid) if header is None else header
    titles, rows = (grid[0], grid[1:]) if has_header else (None, grid)
    if not rows:
        raise EmptySource(f"{name} has a header but no rows.")
    _require_even(rows, titles, name)
    return _make_table(rows, titles)


def _has_header(grid: Grid) -> bool:
    """Return whether the first line names outputs.

    An input that is taken for a header would not be compared with the others, and epsilon would
    come out too small: where the line may be either, it is refused.
    """
    first, others = grid[0], grid[1:]
    corner, cells = first[0], first[1:]
    if not all(map(_is_name, first)):
        return False
    if any(len(line) == len(first) + 1 for line in others):
        return True
    if not cells:
        return parse_fraction(corner) is None
    if not all(cell in ("0", "1") for cell in cells):
        return True
    if parse_fraction(corner) is not None or sum(map(int, cells)) != 1:
        return False
    if corner.casefold() in _CORNERS or all(parse_fraction(line[0]) is not None for line in others):
        return True
    raise InvalidMechanism(
        "The first line may be a header or an input. Say which with --header or --no-header."
    )


def _is_name(cell: str) -> bool:
    """Return whether a cell can name an output: a word or a whole number, and not 0.5."""
    number = parse_fraction(cell)
    return number is None or number.denominator == 1


def _require_even(rows: Grid, titles: Sequence[str] | None, name: str) -> None:
    width = len(rows[0])
    uneven = next((index for index, line in enumerate(rows, start=1) if len(line) != width), None)
    if uneven is not None:
        raise InvalidMechanism(
            f"{name}: row {uneven} has {len(rows[uneven - 1])} cells where the first has {width}."
        )
    if titles is not None and len(titles) not in (width, width - 1):
        raise InvalidMechanism(
            f"{name}: the header has {len(titles)} cells where the rows have {width}."
        )


def _make_table(rows: Grid, titles: list[str] | None) -> ChanceTable:
    width = len(rows[0])
    labeled = _has_labels(rows, titles)
    inputs = [
        line[0] if labeled and line[0] else f"row {number}"
        for number, line in enumerate(rows, start=1)
    ]
    cells = [line[1:] for line in rows] if labeled else rows
    if titles is None:
        outputs = [f"column {number}" for number in range(1 + labeled, width + 1)]
    else:
        outputs = titles[1:] if labeled and len(titles) == width else titles
    read = tuple(
        tuple(
            _parse_chance(cell, row=name, output=output)
            for cell, output in zip(row, outputs, strict=True)
        )
        for name, row in zip(inputs, cells, strict=True)
    )
    return ChanceTable(tuple(inputs), tuple(outputs), read)


def _has_labels(rows: Grid, titles: Sequence[str] | None) -> bool:
    """Return whether the first column names the inputs: where numbers could be either, add them up."""
    if len(rows[0]) == 1:
        return False
    if titles is not None and (len(titles) < len(rows[0]) or titles[0].casefold() in _CORNERS):
        return True
    if all(parse_fraction(line[0]) is None for line in rows):
        return True
    return not _add_up(rows) and _add_up([line[1:] for line in rows])


def _add_up(rows: Grid) -> bool:
    for line in rows:
        numbers = [parse_fraction(cell) for cell in line]
        if None in numbers or sum(number for number in numbers if number is not None) != 1:
            return False
    return True


def _parse_chance(cell: str, *, row: str, output: str) -> Fraction:
    number = parse_fraction(cell)
    if number is None:
        what = "is empty" if not cell else "is no number"
        raise InvalidMechanism(
            f"Row '{row}', column '{output}': the cell {what}. Write a chance such as 0.25 or 1/4."
        )
    return number
