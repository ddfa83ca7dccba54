"""How a text file and the cells of its columns are written, as a policy declares it."""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import Any

# What Python's codecs call the encodings of text files, by the names that people give them.
ENCODINGS = {
    **dict.fromkeys(("utf-8", "utf8", "utf-8-sig"), "utf-8"),
    **dict.fromkeys(("utf-16", "utf16"), "utf-16"),
    **dict.fromkeys(("utf-16-le", "utf-16le"), "utf-16-le"),
    **dict.fromkeys(("utf-16-be", "utf-16be"), "utf-16-be"),
    **dict.fromkeys(("latin-1", "latin1", "iso-8859-1"), "latin-1"),
    **dict.fromkeys(("iso-8859-15", "latin-9", "latin9"), "iso-8859-15"),
    **dict.fromkeys(("iso-8859-2", "latin-2", "latin2"), "iso-8859-2"),
    **{
        f"cp{number}": f"cp{number}"
        for number in (437, 850, 852, 1250, 1251, 1252, 1253, 1254, 1257)
    },
    **{f"windows-{number}": f"cp{number}" for number in (1250, 1251, 1252, 1253, 1254, 1257)},
    **dict.fromkeys(("mac-roman", "macroman"), "mac-roman"),
}
_ORDERS = ("%d{0}%m{0}{1}", "%m{0}%d{0}{1}", "{1}{0}%m{0}%d", "%d{0}%b{0}{1}")
_DATES = tuple(
    order.format(mark, year)
    for order, mark, year in itertools.product(_ORDERS, ("/", ".", "-", " ", ""), ("%Y", "%y"))
)
_CLOCKS = ("%H:%M", "%H:%M:%S", "%I:%M %p", "%I:%M:%S %p")
# A day, a month and a year in any order, and perhaps a time after them.
DATE_FORMAT = (
    "^("
    + "|".join(form.replace(".", "[.]") for form in _DATES)
    + ")( ("
    + "|".join(_CLOCKS)
    + "))?$"
)
BLANKS = " \u00a0\u202f\u2009"  # between the digits of a number they are all one mark
APOSTROPHES = "'\u2019"


@dataclass(frozen=True)
class TextFormat:
    """How a text file is written, where its header does not show it.

    `multiline` says whether a cell in quotation marks may hold line ends; by default it may. `skip` is
    the number of lines before the header. `decimal`, `thousands` and `missing` hold for the columns
    that do not state their own.

    >>> TextFormat(delimiter=";", encoding="latin-1").delimiter
    ';'
    """

    delimiter: str | None = None
    encoding: str | None = None
    multiline: bool | None = None
    skip: int | None = None
    decimal: str | None = None
    thousands: str | None = None
    missing: tuple[str, ...] = ()


@dataclass(frozen=True)
class CellFormat:
    """How the cells of a column are written.

    Attributes:
        dates: The forms of its dates, such as `%d.%m.%Y`; none for 2024-05-17.
        since: The first of the hundred years that a year of two digits may mean; 1969 by default.
        decimal: The decimal mark, a point by default.
        thousands: The mark between groups of three digits.
        sign: What stands before or after each number, such as `€` or `%`.
        missing: The texts that mean that there is no value; None where the file's hold.
        labels: What each code means, code by code; the labels are then the values.

    >>> CellFormat(decimal=",").to_dict()
    {'decimal': ','}
    """

    dates: tuple[str, ...] = ()
    since: int | None = None
    decimal: str | None = None
    thousands: str | None = None
    sign: str | None = None
    missing: tuple[str, ...] | None = None
    labels: tuple[tuple[str, str], ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """Return the keys of a column's entry in a policy; those that have their default are left out."""
        found: dict[str, Any] = {}
        if self.dates:
            found["format"] = self.dates[0] if len(self.dates) == 1 else list(self.dates)
        for name in ("since", "decimal", "thousands", "sign"):
            if getattr(self, name) is not None:
                found[name] = getattr(self, name)
        if self.missing is not None:
            found["missing"] = list(self.missing)
        if self.labels:
            found["labels"] = dict(self.labels)
        return found


def read_cell_format(written: dict[str, Any]) -> CellFormat:
    """Return what `CellFormat.to_dict` wrote.

    >>> read_cell_format({"format": "%d.%m.%Y"}).dates
    ('%d.%m.%Y',)
    """
    dates, missing = written.get("format") or (), written.get("missing")
    labels: dict[str, str] = written.get("labels") or {}
    return CellFormat(
        dates=(dates,) if isinstance(dates, str) else tuple(dates),
        since=written.get("since"),
        decimal=written.get("decimal"),
        thousands=written.get("thousands"),
        sign=written.get("sign"),
        missing=None if missing is None else tuple(missing),
        labels=tuple(labels.items()),
    )
