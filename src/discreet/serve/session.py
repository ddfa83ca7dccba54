"""What a front end may ask of a session: the one interface of the PostgreSQL protocol and of HTTP."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, Protocol

from discreet.engines.databases.database import ResultField
from discreet.engines.engine import ArrowTable
from discreet.guard.statements.statement import CopyOut, Statement


@dataclass(frozen=True)
class Notice:
    """A message beside the answer, such as its price."""

    severity: Literal["NOTICE", "WARNING", "INFO"]
    message: str
    sqlstate: str = "00000"
    detail: str | None = None
    hint: str | None = None


@dataclass(frozen=True)
class PreparedStatement:
    """A statement that may run: what it takes and what it returns, known without running it.

    `parameters` are PostgreSQL's type names. `fields` is None when no rows come back. `plan` is the
    session's own business.
    """

    statement: Statement
    parameters: tuple[str, ...]
    fields: tuple[ResultField, ...] | None
    plan: object = None


@dataclass(frozen=True)
class Outcome:
    """What running a statement gave.

    `tag` is PostgreSQL's command tag, such as `INSERT 0 3`; for rows that a portal hands out in
    parts, the front end writes `SELECT n` itself. `table` has exactly the columns of `fields`, by
    position. `copy` says that rows go out as COPY data.
    """

    tag: str
    fields: tuple[ResultField, ...] | None = None
    table: ArrowTable | None = None
    notices: tuple[Notice, ...] = ()
    copy: CopyOut | None = None


TransactionStatus = Literal["I", "T", "E"]  # idle, in a transaction, in a failed one


class Session(Protocol):
    """One connected user. Calls block; one at a time, but for `cancel`.

    Every method raises `StatementFailed` for what the user did wrong or may not do. What is decided
    is in the journal before a method returns.
    """

    @property
    def user(self) -> str:
        """Who logged in."""
        ...

    @property
    def transaction_status(self) -> TransactionStatus:
        """What ReadyForQuery says."""
        ...

    @property
    def reported(self) -> Mapping[str, str]:
        """Settings that the protocol tells as ParameterStatus, such as TimeZone, by name."""
        ...

    @property
    def idle_in_transaction(self) -> float | None:
        """For how many seconds at most it wants to be idle in a transaction; None when it does not say."""
        ...

    def split(self, text: str) -> Sequence[Statement]:
        """Return the statements of a text; an empty text has none."""
        ...

    def prepare(
        self, statement: Statement, declared: Sequence[str | None] = ()
    ) -> PreparedStatement:
        """Return what a statement takes and returns; nothing is executed or charged.

        `declared` are the types of parameters as far as the client said.
        """
        ...

    def run(self, prepared: PreparedStatement, values: Sequence[object] = ()) -> Outcome:
        """Run it with Python values for its parameters (None, bool, int, float, Decimal, str, bytes, date …)."""
        ...

    def check(self, prepared: PreparedStatement) -> None:
        """Refuse to hand out more rows of a statement that has run, if it is no longer permitted."""
        ...

    def start_block(self) -> None:
        """Open an implicit transaction, unless one is open: until `finish_block` all or nothing."""
        ...

    def finish_block(self, *, failed: bool = False) -> None:
        """Commit the implicit transaction, or undo it; an explicit one stays open."""
        ...

    def cancel(self) -> None:
        """Stop what runs now, from another thread: it fails with 57014."""
        ...

    def close(self) -> None:
        """End the session."""
        ...
