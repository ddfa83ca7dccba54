"""COPY … FROM STDIN: an INSERT whose rows come later, all written together."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from sqlglot import exp

from discreet.errors import Bug, StatementFailed
from discreet.guard.access.authority import Relation, RelationColumn
from discreet.guard.rewrite.permitted import PermittedWrite
from discreet.guard.statements.copying import written_table
from discreet.guard.statements.statement import CopyIn
from discreet.server.gateway.copied_rows import CopiedRows
from discreet.server.gateway.encrypted_columns import has_cells
from discreet.server.gateway.plans import WritePlan
from discreet.server.gateway.session_state import SessionState
from discreet.server.session import Outcome, PreparedStatement
from discreet.sql.copy_rows import CopyForm
from discreet.sql.temporal import zone_named

if TYPE_CHECKING:
    from collections.abc import Callable
    from contextlib import AbstractContextManager


def build_copy_insert(statement: CopyIn, relation: Relation) -> exp.Insert:
    """Return the INSERT of one row of parameters that a COPY is decided as."""
    if relation.kind != "table":
        raise StatementFailed("42809", f'cannot copy to view "{relation.name}"')
    if has_cells(relation):
        raise StatementFailed(
            "0A000", "COPY FROM is not supported for encrypted columns", hint="Use INSERT."
        )
    names = statement.columns or tuple(column.name for column in relation.columns)
    columns = [exp.to_identifier(name, quoted=True) for name in names]
    row: list[exp.Expr] = [
        exp.Parameter(this=exp.Literal.number(place)) for place in range(1, len(names) + 1)
    ]
    return exp.Insert(
        this=exp.Schema(this=written_table(relation.key), expressions=columns),
        expression=exp.Values(expressions=[exp.Tuple(expressions=row)]),
    )


def fill_copy(session: SessionState, permitted: PermittedWrite) -> PermittedWrite:
    """Return the decided INSERT with the rows that the client sent."""
    if session.incoming is None or permitted.rows is None:
        raise StatementFailed(
            "0A000", "COPY FROM STDIN needs the PostgreSQL protocol", hint="Use INSERT."
        )
    rows = session.incoming.rows(session.transaction.write(), permitted.rows)
    return replace(permitted, rows=rows, parameters=())


class SessionCopy:
    """Implements `discreet.server.session.IncomingCopy` for one session."""

    def __init__(
        self,
        state: SessionState,
        prepared: PreparedStatement,
        *,
        record: Callable[[], AbstractContextManager[None]],
        run: Callable[[], Outcome],
    ) -> None:
        if not isinstance(prepared.plan, WritePlan):
            raise Bug("A COPY without a plan was begun.")
        permitted = prepared.plan.permitted
        self.columns = len(permitted.columns)
        self._state, self._record, self._run = state, record, run
        self._rows = _open_rows(state, prepared.statement, permitted)

    def write(self, data: bytes) -> None:
        """Take the next piece of data."""
        with self._record():
            self._rows.feed(data)

    def finish(self) -> Outcome:
        """Write all rows or none, and return the outcome."""
        try:
            with self._record():
                self._rows.finish()
            self._state.incoming = self._rows
            return self._run()
        finally:
            self._state.incoming = None
            self._rows.close()

    def discard(self) -> None:
        """Forget the rows."""
        self._rows.close()


def _open_rows(state: SessionState, statement: object, permitted: PermittedWrite) -> CopiedRows:
    if not isinstance(statement, CopyIn):
        raise Bug("Another statement than COPY was begun.")
    embedded = state.database.embedded
    is_sealed = embedded is not None and embedded.seals_spill
    return CopiedRows(
        _copy_form(statement, permitted.columns),
        [_find_column(permitted.relation, name) for name in permitted.columns],
        permitted.parameters,
        traits=state.traits,
        zone=zone_named(state.variables.get("TimeZone")),
        folder=None if is_sealed else state.scratch,
        most=state.limits.result_bytes,
    )


def _copy_form(statement: CopyIn, names: tuple[str, ...]) -> CopyForm:
    is_csv = statement.format == "csv"
    return CopyForm(
        statement.format,
        statement.delimiter or ("," if is_csv else "\t"),
        statement.null if statement.null is not None else ("" if is_csv else "\\N"),
        statement.quote,
        statement.escape or statement.quote,
        bool(statement.header),
        names if statement.header == "match" else (),
    )


def _find_column(relation: Relation, name: str) -> RelationColumn:
    found = relation.column(name)
    if found is None:
        raise Bug("A column of a COPY is missing.")
    return found
