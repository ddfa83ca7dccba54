"""A server in which every cell is a canary, and people who may see some of them."""

from __future__ import annotations

import csv
from collections.abc import Callable
from dataclasses import dataclass, field
from random import Random
from typing import TYPE_CHECKING, Any

from tests.server.fuzz.canaries import Canaries

from discreet.guard.identity.authenticator import ClientInfo
from discreet.server.settings import ServerLimits, read_settings
from discreet.server.startup import open_server

if TYPE_CHECKING:
    from pathlib import Path

    from discreet.server.gateway.session import GatewaySession
    from discreet.server.startup import OpenedServer

STAFF = 40
POLICY = """
tables:
  staff:
    source: staff.csv
    unit: id
    budget: {epsilon: 1000000, delta: 1e-6}
    limits: {rows-per-unit: 1}
    columns:
      id:     {role: identifier}
      name:   {role: identifier}
      dept:   {role: quasi-identifier, values: [it, hr, ops]}
      salary: {role: sensitive, bounds: [1000000000, 2200000000]}
      born:   {role: quasi-identifier}
      code:   {role: sensitive}
"""
USERS = ("clerk", "nurse", "teller", "viewer", "analyst", "spy", "builder", "nobody")
RIGHTS = """
CREATE TABLE notes (id integer PRIMARY KEY, author text, body text, amount integer, at timestamp)
CREATE TABLE cards (id integer PRIMARY KEY, holder text, number text, lim integer)
CREATE TABLE secrets (id integer PRIMARY KEY, word text DEFAULT '{default}', CHECK (word <> '{check}'))
CREATE TABLE missions (ship text PRIMARY KEY, goal text, cost integer)
CREATE VIEW rich AS SELECT name, dept FROM staff WHERE id > 20
CREATE VIEW dark AS SELECT word FROM secrets WHERE word <> '{view}'
SECURITY LABEL FOR mls ON DATABASE IS 'U < C < S'
CREATE USER low; CREATE USER mid; CREATE USER high
SECURITY LABEL FOR mls ON ROLE low IS 'U'
SECURITY LABEL FOR mls ON ROLE mid IS 'C'
SECURITY LABEL FOR mls ON ROLE spy IS 'C'
SECURITY LABEL FOR mls ON ROLE high IS 'S'
SECURITY LABEL FOR mls ON TABLE missions IS 'cells'
GRANT SELECT, INSERT, UPDATE, DELETE ON missions TO low, mid, high, spy
GRANT SELECT (id, name, dept), INSERT, UPDATE (name, dept), DELETE ON staff TO clerk
ALTER TABLE notes ENABLE ROW LEVEL SECURITY
CREATE POLICY own ON notes USING (author = current_user)
CREATE POLICY calm ON notes AS RESTRICTIVE USING (body <> '{policy}')
GRANT SELECT, INSERT, UPDATE, DELETE ON notes TO nurse
GRANT SELECT, UPDATE (holder) ON cards TO teller
CREATE MASK short ON cards (number) TO teller USING (left(number, 3) || '***')
CREATE MASK gone ON cards (lim) TO teller USING (NULL)
GRANT SELECT ON rich TO viewer
GRANT AGGREGATE ON staff TO analyst WITH BUDGET (EPSILON 1000000, DELTA 1e-7)
GRANT CREATE ON SCHEMA public TO builder
GRANT SELECT (id) ON staff TO builder
"""

Sees = Callable[[str, int, str], bool]  # of a table, row and column
_SEES: dict[str, Sees] = {
    "clerk": lambda table, _, column: table == "staff" and column in ("id", "name", "dept"),
    "nurse": lambda table, row, _: table == "notes" and row % 2 == 0,
    "teller": lambda table, _, column: table == "cards" and column in ("id", "holder"),
    "viewer": lambda table, row, column: table == "staff" and row > 20 and column == "name",
    "spy": lambda table, row, _: table == "missions" and row < 20,
}


@dataclass
class World:
    """The server, and what is in it."""

    opened: OpenedServer
    canaries: Canaries
    sessions: dict[str, GatewaySession] = field(default_factory=dict[str, "GatewaySession"])

    def session(self, user: str) -> GatewaySession:
        """Return the session of a user."""
        if user not in self.sessions:
            client = ClientInfo(user, "127.0.0.1", is_local=True, is_encrypted=True)
            given = {"discreet.epsilon": "0.5"}
            self.sessions[user] = self.opened.server.open_session(client, given, "test")
        return self.sessions[user]

    def leaked(self, user: str, result: str) -> set[str]:
        """Return the cells that a text gives away and that the user may not see."""
        return {cell for cell in self.canaries.found(result) if not _may_see(user, cell)}

    def state(self) -> list[list[tuple[Any, ...]]]:
        """Return what is in all tables."""
        names = ("staff", "notes", "cards", "secrets")
        texts = [("admin", f"SELECT * FROM {name} ORDER BY id") for name in names]
        texts += [(user, "SELECT * FROM missions ORDER BY 1, 2, 3") for user in ("low", "high")]
        return [self.rows(user, text) for user, text in texts]

    def rows(self, user: str, text: str) -> list[tuple[Any, ...]]:
        """Return the rows of a query of a user."""
        table = do(self.session(user), text)
        return list(zip(*(column.to_pylist() for column in table.columns), strict=True))


def do(session: GatewaySession, text: str) -> Any:
    """Run statements and return the rows of the last one."""
    outcome = None
    for statement in session.split(text):
        outcome = session.run(session.prepare(statement))
    return outcome and outcome.table


def _may_see(user: str, cell: str) -> bool:
    table, row, column = cell.split(".")
    return user in _SEES and _SEES[user](table, int(row), column)


def make_world(folder: Path, seed: int = 6) -> World:
    """Return a server whose books are in memory."""
    canaries = Canaries(Random(seed))
    folder.mkdir(parents=True, exist_ok=True)
    _write_staff(folder, canaries)
    settings = read_settings(
        folder / "data",
        policy=folder / "policy.yaml",
        port=0,
        control=":memory:",
        ledger=":memory:",
        journal=":memory:",
        limits=ServerLimits(rows=2000, statement_seconds=30),
    )
    world = World(open_server(settings), canaries)
    admin = world.session("admin")
    for user in USERS:
        do(admin, f"CREATE USER {user}")
    hidden = {name: canaries.text(f"definitions.0.{name}") for name in ("default", "check")}
    hidden |= {name: canaries.text(f"definitions.0.{name}") for name in ("view", "policy")}
    for text in RIGHTS.strip().splitlines():
        do(admin, text.format(**hidden))
    _fill(world)
    return world


def _write_staff(folder: Path, canaries: Canaries) -> None:
    (folder / "policy.yaml").write_text(POLICY, "utf-8")
    with (folder / "staff.csv").open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["id", "name", "dept", "salary", "born", "code"])
        for row in range(1, STAFF + 1):
            writer.writerow(
                [
                    row,
                    canaries.text(f"staff.{row}.name"),
                    ("it", "hr", "ops")[row % 3],
                    canaries.number(f"staff.{row}.salary"),
                    canaries.date(f"staff.{row}.born"),
                    canaries.text(f"staff.{row}.code"),
                ]
            )


def _fill(world: World) -> None:
    made, admin = world.canaries, world.session("admin")
    for row in range(1, 13):
        author = "nurse" if row % 2 == 0 else "doctor"
        body, amount = made.text(f"notes.{row}.body"), made.number(f"notes.{row}.amount")
        at = made.date(f"notes.{row}.at")
        do(admin, f"INSERT INTO notes VALUES ({row}, '{author}', '{body}', {amount}, '{at} 10:00')")
        holder, number = made.text(f"cards.{row}.holder"), made.text(f"cards.{row}.number")
        most = made.number(f"cards.{row}.lim")
        do(admin, f"INSERT INTO cards VALUES ({row}, '{holder}', '{number}', {most})")
        word = made.text(f"secrets.{row}.word")
        do(admin, f"INSERT INTO secrets VALUES ({row}, '{word}')")
    # Rows from 20 on are above the spy: whole ships, and what a high user changed on lower ones.
    for row, user in enumerate(("low", "low", "mid", "mid"), 10):
        goal, cost = made.text(f"missions.{row}.goal"), made.number(f"missions.{row}.cost")
        do(world.session(user), f"INSERT INTO missions VALUES ('ship{row}', '{goal}', {cost})")
    for row in range(20, 24):
        ship = made.text(f"missions.{row}.ship")
        goal, cost = made.text(f"missions.{row}.goal"), made.number(f"missions.{row}.cost")
        do(world.session("high"), f"INSERT INTO missions VALUES ('{ship}', '{goal}', {cost})")
    for row, ship in ((30, "ship10"), (31, "ship12")):
        goal, cost = made.text(f"missions.{row}.goal"), made.number(f"missions.{row}.cost")
        text = f"UPDATE missions SET goal = '{goal}', cost = {cost} WHERE ship = '{ship}'"
        do(world.session("high"), text)
