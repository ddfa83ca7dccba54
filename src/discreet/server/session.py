"""The interface of a session, used by the PostgreSQL protocol and by HTTP."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, Protocol

from discreet.engines.databases.database import ResultField
from discreet.engines.engine import ArrowTable
from discreet.guard.statements.statement import CopyOut, Statement


@dataclass(frozen=True)
class Notice:
    """A message beside the result, such as its cost."""

    severity: Literal["NOTICE", "WARNING", "INFO"]
    message: str
    sqlstate: str = "00000"
    detail: str | None = None
    hint: str | None = None


@dataclass(frozen=True)
class PreparedStatement:
    """A statement that may run: its parameters and result columns, known without running it.

    `parameters` are PostgreSQL's type names. `fields` is None when no rows are returned. `plan` is
    internal to the session.
    """

    statement: Statement
    parameters: tuple[str, ...]
    fields: tuple[ResultField, ...] | None
    plan: object = None


@dataclass(frozen=True)
class PrivacyCost:
    """What a question costs or did cost, beside the texts of it; `left` and `granted` are of its payer.

    `within` are the expected errors, as lines. `errors` has the half width of each cell's interval,
    None where the noise determines none, for answers only.
    """

    payer: str
    epsilon: float
    delta: float
    left: Mapping[str, float]
    granted: Mapping[str, float]
    within: tuple[str, ...] = ()
    cautions: tuple[str, ...] = ()
    confidence: float = 0.95
    is_free: bool = False
    errors: tuple[tuple[float | None, ...], ...] = ()


@dataclass(frozen=True)
class Outcome:
    """The result of a statement.

    `tag` is PostgreSQL's command tag, such as `INSERT 0 3`; for rows that a portal returns in
    parts, the front end writes `SELECT n` itself. `table` has exactly the columns of `fields`, by
    position. `copy` marks rows that are sent as COPY data. `cost` is that of a question, and of one
    that EXPLAIN PRIVACY explained.
    """

    tag: str
    fields: tuple[ResultField, ...] | None = None
    table: ArrowTable | None = None
    notices: tuple[Notice, ...] = ()
    copy: CopyOut | None = None
    cost: PrivacyCost | None = None


TransactionStatus = Literal["I", "T", "E"]  # idle, in a transaction, in a failed one


class IncomingCopy(Protocol):
    """The rows that a client sends for COPY … FROM STDIN; nothing is written before `finish`."""

    columns: int

    def write(self, data: bytes) -> None:
        """Take the next piece of data."""
        ...

    def finish(self) -> Outcome:
        """Write all rows or none, and return the outcome."""
        ...

    def discard(self) -> None:
        """Forget the rows."""
        ...


class Session(Protocol):
    """One connected user. Calls block, one at a time, except `cancel`.

    Every method raises `StatementFailed` for errors of the user and missing rights. Every decision
    is in the journal before a method returns; between `defer_records` and `settle`, before that returns.
    """

    @property
    def user(self) -> str:
        """The logged-in user."""
        ...

    @property
    def transaction_status(self) -> TransactionStatus:
        """The transaction status in ReadyForQuery."""
        ...

    @property
    def reported(self) -> Mapping[str, str]:
        """Settings that the protocol reports as ParameterStatus, such as TimeZone, by name."""
        ...

    @property
    def idle_in_transaction(self) -> float | None:
        """The session's limit in seconds on being idle in a transaction; None when it has none."""
        ...

    def split(self, text: str) -> Sequence[Statement]:
        """Return the statements of a text; an empty text has none."""
        ...

    def prepare(
        self, statement: Statement, declared: Sequence[str | None] = ()
    ) -> PreparedStatement:
        """Return the parameters and result columns of a statement; nothing is executed or charged.

        `declared` are the types of parameters as far as the client declared them.
        """
        ...

    def run(self, prepared: PreparedStatement, values: Sequence[object] = ()) -> Outcome:
        """Run it with Python values for its parameters (None, bool, int, float, Decimal, str, bytes, date …)."""
        ...

    def defer_records(self) -> None:
        """Let records of rows that were read become durable together, until `settle` is called."""
        ...

    def settle(self) -> None:
        """Wait until all records are durable; before that, nothing may be sent."""
        ...

    def copy_in(self, prepared: PreparedStatement) -> IncomingCopy:
        """Begin COPY … FROM STDIN: the right to insert is checked before the client sends rows."""
        ...

    def check(self, prepared: PreparedStatement) -> None:
        """Refuse to return more rows of a statement that has run, if it is no longer permitted."""
        ...

    def start_block(self) -> None:
        """Open an implicit transaction, unless one is open, until `finish_block`."""
        ...

    def finish_block(self, *, failed: bool = False) -> None:
        """Commit the implicit transaction, or roll it back; an explicit one stays open."""
        ...

    def cancel(self) -> None:
        """Cancel the running statement, from another thread: it fails with 57014."""
        ...

    def close(self) -> None:
        """End the session."""
        ...
