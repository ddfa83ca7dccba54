"""Who sends statements, and whether anything that comes back should not."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from tests.server.fuzz.mutants import Mutants
from tests.server.fuzz.world import USERS, do

from discreet.errors import DiscreetError
from discreet.guard.statements import statement as kinds
from discreet.server.pg.failures import as_statement_failed

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from random import Random

    from tests.server.fuzz.world import World

    from discreet.server.gateway.session import GatewaySession
    from discreet.server.session import Outcome

ENGINE = re.compile(
    r"(Conversion|Binder|Catalog|Parser|Invalid Input|Out of Range|Constraint|Internal|Serialization"
    r"|Not implemented|Dependency|TransactionContext|Interrupt|Mismatch Type|IO|Permission|INTERNAL) "
    r"(Error|Exception)|LINE \d|Candidate|duckdb\.|_duckdb|sqlglot|Traceback|DETAIL:|0x[0-9a-f]{6}"
)
VALUES = (3, "a", None, 1.5, "2020-01-01", True)


@dataclass
class Tally:
    """What was sent and what was found."""

    statements: int = 0
    prepared: int = 0
    ran: int = 0
    rows: int = 0
    states: Counter[str] = field(default_factory=Counter[str])
    findings: list[tuple[str, str, str]] = field(default_factory=list[tuple[str, str, str]])
    heard: Callable[[str], object] = str

    def find(self, finding: tuple[str, str, str]) -> None:
        """Keep a finding, and tell it."""
        self.findings.append(finding)
        self.heard(" | ".join(finding))


class Watch:
    """Sends mutants and checks every output."""

    def __init__(self, world: World, chance: Random, *, share: float) -> None:
        self.world, self.chance, self.share = world, chance, share
        self.mutants = Mutants(chance)
        self.tally = Tally()

    def go(self, count: int, *, every: int = 500, users: Sequence[str] = USERS) -> Tally:
        """Send `count` texts; now and then, see that the sessions still work."""
        for number in range(count):
            user = self.chance.choice(users)
            self.send(user, self.mutants.one(user))
            if number % every == 0:
                self.look(user)
        for user in USERS:
            self.look(user)
        return self.tally

    def look(self, user: str) -> None:
        """See that a user and a witness are still served."""
        for who, query in ((user, "SELECT 1"), ("mid", "SELECT count(*) FROM missions")):
            if self.world.rows(who, query) != [(1 if query == "SELECT 1" else 4,)]:
                self.tally.find(("wrong", who, query))

    def send(self, user: str, text: str) -> None:
        """Prepare a text, perhaps run it, and undo it."""
        session = self.world.session(user)
        self.tally.statements += 1
        is_plain = True
        try:
            statements = session.split(text)
            is_plain = all(isinstance(each, kinds.Query) for each in statements)
            is_run = not is_plain or self.chance.random() < self.share
            if not is_plain:
                do(session, "BEGIN")
            for statement in statements:
                self.one(user, session, statement, text, is_run=is_run)
        except Exception as error:  # noqa: BLE001 -- whatever comes is looked at
            self.failed(user, text, error)
        if not is_plain:
            self.tidy(session)

    def one(
        self, user: str, session: GatewaySession, statement: Any, text: str, *, is_run: bool
    ) -> None:
        """Prepare one statement, and run it."""
        if isinstance(statement, kinds.Commit):
            return
        prepared = session.prepare(statement)
        self.tally.prepared += 1
        self.check_output(user, text, [field.name for field in prepared.fields or ()])
        if is_run:
            values = [self.chance.choice(VALUES) for _ in prepared.parameters]
            outcome = session.run(prepared, values)
            self.tally.ran += 1
            self.tally.states["00000"] += 1
            self.outcome(user, text, outcome)

    def outcome(self, user: str, text: str, outcome: Outcome) -> None:
        """Look at rows, names, tag and notices."""
        self.check_output(
            user, text, [outcome.tag, *(field.name for field in outcome.fields or ())]
        )
        for notice in outcome.notices:
            self.check_output(user, text, [notice.message, notice.detail, notice.hint])
        if outcome.table is not None:
            self.tally.rows += outcome.table.num_rows
            for column in outcome.table.columns:
                self.check_output(user, text, column.to_pylist(), is_data=True)

    def failed(self, user: str, text: str, error: Exception) -> None:
        """Look at an error as a client is shown it."""
        if not isinstance(error, DiscreetError):
            self.tally.find((f"raised {type(error).__name__}", user, text))
            return
        shown = as_statement_failed(error)
        self.tally.states[shown.sqlstate] += 1
        if shown.sqlstate.startswith("XX") or shown.sqlstate == "58000":
            self.tally.find((f"internal {shown}", user, text))
        self.check_output(user, text, [str(shown), shown.detail, shown.hint])

    def check_output(
        self, user: str, text: str, things: list[Any], *, is_data: bool = False
    ) -> None:
        """Look for what this user may not see, and for words of an engine."""
        shown = "\n".join(str(thing) for thing in things if thing is not None)
        leaked = self.world.leaked(user, shown)
        if leaked:
            self.tally.find((f"leaked {sorted(leaked)[:3]}", user, text))
        words = None if is_data else ENGINE.search(shown)
        if words is not None and words[0].lower() not in text.lower():
            self.tally.find((f"engine words: {shown[:200]}", user, text))

    def tidy(self, session: GatewaySession) -> None:
        """Undo what was done, and go back to the start."""
        if session.transaction_status != "I":
            do(session, "ROLLBACK")
        do(session, "DISCARD ALL; SET discreet.epsilon = 0.5")
