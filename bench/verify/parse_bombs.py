"""Texts that are small to send and large to read: refused before a parser, and nobody else waits.

Run with `python -m bench.verify.parse_bombs [--seconds 30] [--size 400000]`. Users without any right send them
from several sessions at once, while another user goes on asking. Printed is how much the parser was given of
each text, and how many statements the other user got answered. It fails if the parser was given more than
the server's limit, or if the other user did not get on.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import threading
import time
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from discreet.errors import DiscreetError
from discreet.guard.identity.authenticator import ClientInfo
from discreet.guard.statements import trees
from discreet.server.pg.failures import as_statement_failed
from discreet.server.settings import read_settings
from discreet.server.startup import open_server
from discreet.sql.limits import DEFAULT

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from discreet.server.gateway.server import Server

# What about `size` characters are made of.
BOMBS: dict[str, Callable[[int], str]] = {
    "rows": lambda size: "VALUES " + ",".join(["(1)"] * (size // 4)),
    "rows of expressions": lambda size: "INSERT INTO t VALUES " + ",".join(["(1+1)"] * (size // 6)),
    "list": lambda size: "SELECT " + ",".join(["1"] * (size // 2)),
    "sum": lambda size: "SELECT " + "+".join(["1"] * (size // 2)),
    "not": lambda size: "SELECT " + "not " * (size // 4) + "true",
    "signs": lambda size: "SELECT " + "- " * (size // 2) + "1",
    "brackets": lambda size: "SELECT " + "(" * (size // 2) + "1" + ")" * (size // 2),
    "subscripts": lambda size: "SELECT a" + "[1]" * (size // 3),
    "casts": lambda size: "SELECT 1" + "::int" * (size // 5),
    "cases": lambda size: "SELECT " + "case when 1 then " * (size // 17) + "1",
    "unions": lambda size: " UNION ".join(["SELECT 1"] * (size // 15)),
    "joins": lambda size: "SELECT 1 FROM a" + " JOIN a ON true" * (size // 15),
    "in": lambda size: "SELECT 1 IN (" + ",".join(["1"] * (size // 2)) + ")",
    "prepares": lambda size: "PREPARE a AS " * (size // 13) + "SELECT 1",
    "explains": lambda size: "EXPLAIN " * (size // 8) + "SELECT 1",
    "columns": lambda size: "CREATE TABLE x (" + ",".join(["c int"] * (size // 6)) + ")",
    "grantees": lambda size: "GRANT SELECT ON t TO " + ",".join(["u"] * (size // 2)),
    "policy": lambda size: "CREATE POLICY p ON t USING (" + "a=1 or " * (size // 7) + "true)",
    "view": lambda size: "CREATE VIEW v AS SELECT " + ",".join(["1"] * (size // 2)),
    "cursor": lambda size: "DECLARE c CURSOR FOR SELECT " + ",".join(["1"] * (size // 2)),
    "copy": lambda size: "COPY (SELECT " + ",".join(["1"] * (size // 2)) + ") TO STDOUT",
    "execute": lambda size: "EXECUTE q (" + ",".join(["1"] * (size // 2)) + ")",
    "quote in a comment": lambda size: "SELECT /* ' */ " + "1," * (size // 2) + "1 /* ' */",
    "quote in a dollar quote": lambda size: "SELECT $a$ ' $a$," + "1," * (size // 2) + "$a$ ' $a$",
    "quote in a template": lambda size: "SELECT {# ' #} " + "1," * (size // 2) + "1 {# ' #}",
    "escaped quote": lambda size: r"SELECT E'\'', " + "1," * (size // 2) + r"E'\''",
    "number and quote": lambda size: r"SELECT 1e'\'', " + "1," * (size // 2) + "'",
    "comment after a sign": lambda size: "SELECT a #-- " + "1," * (size // 2) + "1",
    "names of types": lambda size: "SELECT " + "date(" * (size // 6) + "1" + ")" * (size // 6),
    "semicolons": lambda size: ";" * size,
    "statements": lambda size: "SELECT 1;" * (size // 9),
}


@contextmanager
def counted() -> Iterator[list[int]]:
    """Note how many characters the parser is given at a time."""
    given: list[int] = []
    parse = trees.sqlglot.parse

    def counting(text: str, *args: Any, **options: Any) -> Any:
        given.append(len(text))
        return parse(text, *args, **options)

    trees.sqlglot.parse = counting
    try:
        yield given
    finally:
        trees.sqlglot.parse = parse


class World:
    """A server with somebody who asks, and somebody who has no right at all."""

    def __init__(self, folder: Path) -> None:
        memory = dict.fromkeys(("control", "ledger", "journal"), ":memory:")
        self.server: Server = open_server(read_settings(folder, port=0, **memory)).server
        for text in ("CREATE USER bomber, reader", "CREATE TABLE t (a integer)"):
            self.send("admin", text)
        self.send("admin", "GRANT SELECT ON t TO reader")
        self.send("reader", "SELECT a FROM t")  # what is imported on the first use is, now

    def session(self, user: str) -> Any:
        """Return a session of a user."""
        visitor = ClientInfo(user, "127.0.0.1", is_local=True, is_encrypted=True)
        return self.server.open_session(visitor, {}, "test")

    def send(self, user: str, text: str, session: Any = None) -> str:
        """Return the SQLSTATE of a text's last statement."""
        session = session or self.session(user)
        try:
            for statement in session.split(text):
                session.run(session.prepare(statement))
        except DiscreetError as error:
            return as_statement_failed(error).sqlstate
        return "00000"

    def progress(self, bombs: list[str], *, sessions: int, seconds: float) -> tuple[int, int]:
        """Return how many bombs were sent and how many questions of another user were answered meanwhile."""
        until, sent = time.monotonic() + seconds, [0] * sessions

        def bomb(number: int) -> None:
            session = self.session("bomber")
            while time.monotonic() < until:
                self.send("bomber", bombs[(number + sent[number]) % len(bombs)], session)
                sent[number] += 1

        threads = [threading.Thread(target=bomb, args=(number,)) for number in range(sessions)]
        for thread in threads:
            thread.start()
        answered, reader = 0, self.session("reader")
        while time.monotonic() < until:
            answered += self.send("reader", "SELECT a FROM t", reader) == "00000"
        for thread in threads:
            thread.join()
        return sum(sent), answered


def main() -> int:
    """Print what became of every text, and how the other user got on."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=30)
    parser.add_argument("--size", type=int, default=400_000)
    arguments = parser.parse_args()
    is_bounded = True
    with tempfile.TemporaryDirectory() as folder, counted() as given:
        world = World(Path(folder) / "data")
        for name, make in BOMBS.items():
            given.clear()
            started = time.process_time()
            sqlstate = world.send("bomber", make(arguments.size))
            seconds = time.process_time() - started
            is_bounded &= sum(given) <= 20 * DEFAULT.tokens
            print(
                f"{name:24} {sqlstate}  parser got {sum(given):9,} characters  CPU {seconds:.2f} s"
            )
        small = [make(15_000) for make in BOMBS.values()]
        sent, answered = world.progress(small, sessions=4, seconds=arguments.seconds)
        world.server.close()
    print(f"{sent} bombs from 4 sessions meanwhile; another user got {answered} answers")
    return 0 if is_bounded and answered else 1


if __name__ == "__main__":
    sys.exit(main())
