"""A connection of a store without SQLAlchemy at each call, for what is written with every statement.

Statements are SQLAlchemy's and are compiled once for each kind of database. So the same code can run on
a plain connection and on SQLAlchemy's.
"""

from __future__ import annotations

from collections import namedtuple
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Protocol

from sqlalchemy import Dialect

Parameters = Mapping[str, Any]


class StatementConnection(Protocol):
    """What is common to SQLAlchemy's connections and plain ones."""

    def execute(self, statement: Any, parameters: Any = None, /) -> Any:
        """Run a statement with one set of parameters, or with many; return its result."""
        ...

    def scalar(self, statement: Any, parameters: Any = None, /) -> Any:
        """Return the first value of a result, None without one."""
        ...

    def get_execution_options(self) -> Mapping[str, Any]:
        """Return the options, such as the seal."""
        ...


@dataclass(frozen=True)
class _Compiled:
    """A statement as the driver takes it."""

    text: str
    constants: Mapping[str, Any]
    order: Sequence[str] | None  # of parameters, where the driver takes them by position
    row: Any  # constructs a row with names, None without a result

    def arguments(self, given: Parameters | None) -> Any:
        """Return the driver's parameters."""
        values = {**self.constants, **given} if given else self.constants
        return values if self.order is None else [values[name] for name in self.order]


@lru_cache(maxsize=256)
def _compile_statement(statement: Any, dialect: Dialect) -> _Compiled:
    made = statement.compile(dialect=dialect)
    names = [column.name for column in getattr(statement, "selected_columns", ())]
    row = namedtuple("row", names, rename=True) if names else None  # pyright: ignore[reportUntypedNamedTuple]
    return _Compiled(made.string, dict(made.params), made.positiontup, row)


class PlainResult:
    """The rows of one statement."""

    def __init__(self, cursor: Any, row: Any) -> None:
        self._cursor, self._row = cursor, row

    def __iter__(self) -> Iterator[Any]:
        """Yield the rows with their names."""
        yield from map(self._row._make, self._cursor)

    def one_or_none(self) -> Any:
        """Return the row with its names, None without one."""
        found = self._cursor.fetchone()
        return None if found is None else self._row._make(found)


class PlainConnection:
    """A driver's connection that runs SQLAlchemy's statements, within a transaction.

    Only statements that live as long as the program may be given: they are compiled once.
    """

    def __init__(self, raw: Any, dialect: Dialect, options: Mapping[str, Any]) -> None:
        self._dialect, self._cursor, self._options = dialect, raw.cursor(), options

    def get_execution_options(self) -> Mapping[str, Any]:
        """Return the options, such as the seal."""
        return self._options

    def close(self) -> None:
        """Release the last result."""
        self._cursor.close()

    def execute(
        self, statement: Any, parameters: Parameters | list[Parameters] | None = None, /
    ) -> PlainResult:
        """Run a statement with one set of parameters, or with many; return its result."""
        made = _compile_statement(statement, self._dialect)
        if isinstance(parameters, list):
            rows = [made.arguments(each) for each in parameters]
            self._cursor.executemany(made.text, rows)
        else:
            self._cursor.execute(made.text, made.arguments(parameters))
        return PlainResult(self._cursor, made.row)

    def scalar(self, statement: Any, parameters: Parameters | None = None, /) -> Any:
        """Return the first value of a result, None without one."""
        found = self.execute(statement, parameters).one_or_none()
        return None if found is None else found[0]
