"""A served database with a schema of its own, spoken to in short words."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pytest
from sqlglot import exp, parse_one

from discreet.errors import StatementFailed
from discreet.sql import build

if TYPE_CHECKING:
    from collections.abc import Generator


@dataclass(frozen=True)
class Place:
    """A database and a schema in it; in its trees a name without a schema is one of its tables."""

    database: Any
    schema: str

    def names(self, table: str) -> tuple[str, ...]:
        return (*self.database.prefix, self.schema, table)

    def tree(self, text: str) -> Any:
        tree = parse_one(text, dialect="postgres")
        own = {cte.alias for cte in tree.find_all(exp.CTE)}
        for table in list(tree.find_all(exp.Table)):
            is_own = isinstance(table.this, exp.Identifier) and table.name not in own
            if is_own and not table.db:
                alias = table.alias
                table.replace(build.table(*self.names(table.name), alias=alias or None))
        return tree

    def connect(self) -> Session:
        return Session(self, self.database.connect())


@dataclass(frozen=True)
class Session:
    """A connection that takes text."""

    place: Place
    connection: Any

    def do(self, text: str) -> int:
        return self.connection.execute(self.place.tree(text))

    def rows(self, text: str, *, limit: int | None = None) -> list[tuple[Any, ...]]:
        table = self.connection.query(self.place.tree(text), limit=limit)
        return [tuple(row.values()) for row in table.to_pylist()]

    def one(self, text: str) -> Any:
        return self.rows(text)[0][0]

    def close(self) -> None:
        self.connection.close()


@contextmanager
def failing(sqlstate: str) -> Generator[Any]:
    """What is inside fails with a state."""
    with pytest.raises(StatementFailed) as caught:
        yield caught
    assert caught.value.sqlstate == sqlstate
    assert caught.value.__cause__ is None
    assert caught.value.__context__ is None
