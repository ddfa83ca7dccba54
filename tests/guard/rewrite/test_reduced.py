"""Hidden cells do not matter: what a user gets is what a table without them would give.

For random queries, the answer (rows or SQLSTATE) is the same whatever hidden rows and columns hold,
and it is the answer from a copy of the table that has neither.
"""

from __future__ import annotations

import os
from dataclasses import replace
from typing import Any

import duckdb
import pytest
from tests.guard.rewrite.chance import Queries
from tests.guard.rewrite.world import Answer, Guarded, OnPostgres, answer

from discreet.errors import StatementFailed
from discreet.guard.access.authority import (
    PUBLIC,
    AclEntry,
    Authority,
    DatabaseRole,
    DatabaseSchema,
    Privilege,
    Relation,
    RelationColumn,
    RowPolicy,
)

COUNT = int(os.environ.get("DISCREET_QUERIES", "60"))
VISIBLE = [(1, 2, "x1"), (2, 0, "7"), (0, 1, None), (2, 2, "3"), (1, None, "yx"), (-1, 1, "12")]
HIDDEN = (
    [(5, 3, "boom", 11, "s1"), (4, 0, "99999999999", 12, "s2")],
    [(7, 2147483647, "8", 21, "s3"), (9, 5, "", 0, ""), (3, 0, None, None, "s4")],
)
TYPES = {"a": "integer", "b": "integer", "c": "text", "h": "integer", "k": "text"}


def rights(schema: str, *, reduced: bool) -> Authority:
    """Return what `user` may see of `t`: all of a reduced copy, or a part of the whole table."""
    seen = (AclEntry("user", "owner", Privilege.SELECT),)
    shown = ("a", "b", "c")
    columns = tuple(
        RelationColumn(name, kind, acl=seen if name in shown else ())
        for name, kind in TYPES.items()
        if name in shown or not reduced
    )
    table = Relation(
        "public",
        "t",
        "table",
        "owner",
        columns,
        acl=(AclEntry("owner", "owner", Privilege.SELECT),),
        row_security=not reduced,
        policies=(RowPolicy("low", (PUBLIC,), "SELECT", "a < 3"),),
        physical=(schema, "t"),
    )
    usage = (AclEntry(PUBLIC, "owner", Privilege.USAGE),)
    return Authority(
        roles={name: DatabaseRole(name) for name in ("owner", "user")},
        schemas={"public": DatabaseSchema("public", "owner", usage)},
        relations={table.key: table},
    )


class Small(Guarded):
    """One version of the table on DuckDB."""

    def __init__(self, hidden: list[tuple[Any, ...]] | None) -> None:
        super().__init__("duckdb", rights("public", reduced=hidden is None))
        self.connection = duckdb.connect(config={"threads": 1})
        for text in definitions("public", hidden):
            self.connection.execute(text)

    def run(self, sql: str, *, undo: bool = False) -> list[tuple[Any, ...]]:
        try:
            return self.connection.execute(sql).fetchall()
        except (
            duckdb.ConversionException,
            duckdb.OutOfRangeException,
            duckdb.InvalidInputException,
        ):
            raise StatementFailed("22000", "data") from None


def definitions(schema: str, hidden: list[tuple[Any, ...]] | None) -> list[str]:
    """Return statements that make the table; without hidden parts when there are none."""
    width = 3 if hidden is None else 5
    columns = ", ".join(f"{name} {kind}" for name, kind in list(TYPES.items())[:width])
    rows = [row if hidden is None else (*row, 1, "k") for row in VISIBLE] + (hidden or [])
    values = ", ".join(
        "(" + ", ".join("NULL" if cell is None else repr(cell) for cell in row) + ")"
        for row in rows
    )
    return [
        f"CREATE SCHEMA {schema}",
        f"CREATE TABLE {schema}.t ({columns})",
        f"INSERT INTO {schema}.t VALUES {values}",
    ]


def disagreements(places: list[Guarded], seed: int, count: int) -> list[tuple[str, list[Answer]]]:
    """Return queries for which hidden cells mattered; the last place has none."""
    queries = Queries(seed)
    found = []
    for _ in range(count):
        sql = queries.one()
        answers = [place.ask("user", sql) for place in places]
        *whole, reduced = answers
        # Engines choose which condition they look at first, so that visible cells may fail in one
        # place and not in the other: then rows cannot be compared.
        can_compare = reduced.is_fine and whole[0].sqlstate[:2] != "22"
        differs = can_compare and whole[0] != reduced
        if any(one != whole[0] for one in whole) or differs:
            found.append((sql, answers))
    return found


@pytest.mark.parametrize("seed", range(2))
def test_hidden_cells_do_not_matter_on_duckdb(seed: int):
    places: list[Guarded] = [Small(HIDDEN[0]), Small(HIDDEN[1]), Small(None)]
    assert disagreements(places, seed, COUNT) == []


def test_most_of_these_queries_return_rows():
    queries, place = Queries(0), Small(HIDDEN[0])
    answers = [place.ask("user", queries.one()) for _ in range(50)]
    assert sum(bool(one.rows) for one in answers) > 20
    assert {one.sqlstate for one in answers} <= {"00000"}


@pytest.mark.postgres
def test_hidden_cells_do_not_matter_on_postgresql(oracle: Any):
    places: list[Guarded] = []
    for number, hidden in enumerate((*HIDDEN, None)):
        schema = f"small{number}"
        for text in definitions(schema, hidden):
            oracle.execute(text)
        oracle.commit()
        places.append(OnPostgres(oracle, rights(schema, reduced=hidden is None)))
    assert disagreements(places, 7, COUNT) == []


def test_without_the_policy_hidden_rows_show():
    place = Small(HIDDEN[0])
    table = replace(place.authority.relations["public", "t"], row_security=False)
    place.authority = replace(place.authority, relations={table.key: table})
    assert place.ask("user", "SELECT a FROM t") != answer([(row[0],) for row in VISIBLE])
