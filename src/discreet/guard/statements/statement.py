"""Statements about rows, transactions and settings, and the base of all: what `parse` returns."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from discreet.guard.access.authority import Privilege

if TYPE_CHECKING:
    from sqlglot import exp

# A relation as it was written: schema or None, and name, both folded.
Written = tuple[str | None, str]


@dataclass(frozen=True, kw_only=True)
class Statement:
    """Any statement; `text` is the client's text, without the semicolon."""

    text: str = ""


@dataclass(frozen=True)
class Query(Statement):
    """SELECT, VALUES, WITH … or TABLE; trees are in sqlglot's `postgres` dialect."""

    tree: exp.Query


@dataclass(frozen=True)
class Write(Statement):
    """INSERT, UPDATE or DELETE."""

    tree: exp.Insert | exp.Update | exp.Delete
    overriding: Literal["", "system", "user"] = ""  # OVERRIDING … VALUE


@dataclass(frozen=True)
class Truncate(Statement):
    """TRUNCATE."""

    relations: tuple[Written, ...]


@dataclass(frozen=True)
class Lock(Statement):
    """LOCK TABLE names IN mode; `privileges` are those of which one permits it."""

    relations: tuple[Written, ...]
    privileges: tuple[Privilege, ...]


@dataclass(frozen=True)
class CopyOut(Statement):
    """COPY … TO STDOUT."""

    query: exp.Query
    format: Literal["text", "csv", "binary"] = "text"
    header: bool = False
    delimiter: str | None = None
    null: str | None = None


@dataclass(frozen=True)
class CopyIn(Statement):
    """COPY … FROM STDIN; no columns are all of them. `header` may be `match`."""

    relation: Written
    columns: tuple[str, ...] = ()
    format: Literal["text", "csv", "binary"] = "text"
    header: Literal["", "skip", "match"] = ""
    delimiter: str | None = None
    null: str | None = None
    quote: str = '"'
    escape: str | None = None


@dataclass(frozen=True)
class Explain(Statement):
    """EXPLAIN of a statement, or EXPLAIN PRIVACY: cost and expected error; nothing is spent."""

    statement: Statement
    privacy: bool = False


@dataclass(frozen=True)
class DeclareCursor(Statement):
    """DECLARE name CURSOR FOR query."""

    name: str
    query: exp.Query
    hold: bool = False


@dataclass(frozen=True)
class Fetch(Statement):
    """FETCH or MOVE; `count` None is ALL."""

    name: str
    count: int | None = 1
    move: bool = False


@dataclass(frozen=True)
class CloseCursor(Statement):
    """CLOSE name, or ALL when None."""

    name: str | None


@dataclass(frozen=True)
class Begin(Statement):
    """BEGIN or START TRANSACTION; `read_only` is None when not given."""

    read_only: bool | None = None


@dataclass(frozen=True)
class Commit(Statement):
    """COMMIT or END; with `chain` another transaction begins."""

    chain: bool = False


@dataclass(frozen=True)
class Rollback(Statement):
    """ROLLBACK or ABORT; with `chain` another transaction begins."""

    chain: bool = False


@dataclass(frozen=True)
class Savepoint(Statement):
    """SAVEPOINT name."""

    name: str


@dataclass(frozen=True)
class ReleaseSavepoint(Statement):
    """RELEASE SAVEPOINT name."""

    name: str


@dataclass(frozen=True)
class RollbackTo(Statement):
    """ROLLBACK TO SAVEPOINT name."""

    name: str


@dataclass(frozen=True)
class SetVariable(Statement):
    """SET name = value; None is DEFAULT or RESET. `name` is lower case; `all` for RESET ALL."""

    name: str
    value: str | None
    local: bool = False


@dataclass(frozen=True)
class Show(Statement):
    """SHOW name."""

    name: str


@dataclass(frozen=True)
class SetRole(Statement):
    """SET ROLE name; None is NONE, or RESET ROLE."""

    role: str | None
    local: bool = False


@dataclass(frozen=True)
class SetAuthorization(Statement):
    """SET SESSION AUTHORIZATION name; None is DEFAULT, or RESET SESSION AUTHORIZATION."""

    user: str | None
    local: bool = False


@dataclass(frozen=True)
class SetConstraints(Statement):
    """SET CONSTRAINTS names DEFERRED | IMMEDIATE; None are all of them."""

    names: tuple[Written, ...] | None
    deferred: bool


@dataclass(frozen=True)
class Discard(Statement):
    """DISCARD ALL, DEALLOCATE, UNLISTEN and the like, which pools send to reset a session."""

    what: str


@dataclass(frozen=True)
class Prepare(Statement):
    """PREPARE name (types) AS statement."""

    name: str
    statement: Statement
    types: tuple[str, ...] = ()


@dataclass(frozen=True)
class Execute(Statement):
    """EXECUTE name (literals)."""

    name: str
    arguments: tuple[exp.Expr, ...] = ()
