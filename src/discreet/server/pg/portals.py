"""The state of a connection between messages: prepared statements and portals."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field

from discreet.engines.databases.database import ResultField
from discreet.engines.engine import ArrowTable
from discreet.errors import StatementFailed
from discreet.server.session import Outcome, PreparedStatement

_COUNT = re.compile(r"^(SELECT|FETCH) \d+$")
_DEALLOCATE = re.compile(
    r'\s*DEALLOCATE\s+(?:PREPARE\s+)?(?:(?P<quoted>"(?:[^"]|"")*")|(?P<word>\w+))\s*',
    re.IGNORECASE,
)
_DISCARD_ALL = re.compile(r"\s*DISCARD\s+ALL\s*", re.IGNORECASE)


@dataclass
class Portal:
    """A statement with its values; it runs once, and its rows are returned once.

    `formats` are as the client requested: none for text, one for all columns, or one for each.
    """

    prepared: PreparedStatement | None  # None for an empty text
    values: Sequence[object] = ()
    formats: Sequence[int] = ()
    outcome: Outcome | None = None
    has_run: bool = False
    place: int = 0  # rows returned
    _table: ArrowTable | None = field(default=None, repr=False)

    def ran(self, outcome: Outcome) -> None:
        """Store the outcome of the statement."""
        from dataclasses import replace

        self._table = outcome.table if outcome.copy is None else None
        self.outcome = replace(outcome, table=None, notices=())

    @property
    def held(self) -> int:
        """The size in bytes of the stored result."""
        return 0 if self._table is None else self._table.nbytes

    def next_rows(self, most: int) -> tuple[ArrowTable | None, bool]:
        """Return up to `most` rows (0: all) that were not returned yet, and whether there may be more."""
        table = self._table
        if table is None:
            return None, False
        part = table.slice(self.place, most or None)
        self.place += part.num_rows
        # As in PostgreSQL, a full part does not show whether it was the last one.
        is_suspended = bool(most) and part.num_rows == most
        if not is_suspended:
            self._table = None  # frees the memory
        return part, is_suspended

    def tag(self, rows: int) -> str:
        """Return the command tag, with the rows of this part; CREATE TABLE AS returns none."""
        tag = self.outcome.tag if self.outcome else ""
        has_rows = self.outcome is not None and self.outcome.fields is not None
        return _COUNT.sub(rf"\1 {rows}", tag) if has_rows else tag


def expand_formats(formats: Sequence[int], columns: int, what: str) -> list[int]:
    """Return one format code per column or parameter.

    >>> expand_formats([], 2, "result"), expand_formats([1], 2, "result"), expand_formats([0, 1], 2, "result")
    ([0, 0], [1, 1], [0, 1])
    """
    if any(form not in (0, 1) for form in formats):
        raise StatementFailed("22023", "unsupported format code")
    if len(formats) <= 1:
        return list(formats or [0]) * columns
    if len(formats) != columns:
        raise StatementFailed(
            "08P01", f"bind message has {len(formats)} {what} formats but needs {columns}"
        )
    return list(formats)


def find_deallocated(text: str) -> str | None:
    """Return which prepared statement a text deallocates: its name, `*` for all, None for none.

    >>> find_deallocated("DEALLOCATE ALL"), find_deallocated('deallocate prepare "S_1"'), find_deallocated("UNLISTEN *")
    ('*', 'S_1', None)
    """
    text = text.strip().removesuffix(";")
    if _DISCARD_ALL.fullmatch(text):
        return "*"
    found = _DEALLOCATE.fullmatch(text)
    if found is None:
        return None
    if found["quoted"]:
        return found["quoted"][1:-1].replace('""', '"')
    word = found["word"].lower()
    return "*" if word == "all" else word


def require_same_types(described: Sequence[ResultField], actual: Sequence[ResultField]) -> None:
    """Refuse rows that differ from the described columns."""
    if [each.type for each in described] != [each.type for each in actual]:
        raise StatementFailed("0A000", "cached plan must not change result type")
