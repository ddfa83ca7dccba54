"""The protocol of a session without the network: simple and extended queries, in order.

Everything here blocks and runs in a worker; responses are generators of bytes, so that a large
result is produced only as fast as its reader takes it.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Mapping, Sequence

from discreet.engines.databases.database import ResultField
from discreet.errors import DiscreetError, StatementFailed
from discreet.guard.statements.statement import CopyIn, CopyOut, Discard, Fetch
from discreet.server.pg import messages
from discreet.server.pg.copy_format import copy_out
from discreet.server.pg.failures import error_response, notice_response
from discreet.server.pg.limits import ProtocolLimits
from discreet.server.pg.messages import Body, Frame
from discreet.server.pg.portals import Portal, expand_formats, find_deallocated, require_same_types
from discreet.server.pg.rows import data_rows
from discreet.server.session import IncomingCopy, Outcome, PreparedStatement, Session
from discreet.sql.decode import decode_value
from discreet.sql.temporal import zone_named
from discreet.sql.types import client_type_name

_LOG = logging.getLogger(__name__)
# After a failure among these, everything up to Sync is skipped.
_EXTENDED = (b"P", b"B", b"D", b"E", b"C", b"H")
SERVER_VERSION = "16.4"  # by which clients choose the dialect
DEFAULTS = {
    "server_version": SERVER_VERSION,
    "server_encoding": "UTF8",
    "client_encoding": "UTF8",
    "application_name": "",
    "DateStyle": "ISO, MDY",
    "IntervalStyle": "postgres",
    "TimeZone": "UTC",
    "integer_datetimes": "on",
    "standard_conforming_strings": "on",
    "is_superuser": "off",
    "default_transaction_read_only": "off",
    "in_hot_standby": "off",
}


class MessageHandler:
    """The state of one connection after login."""

    def __init__(self, session: Session, limits: ProtocolLimits) -> None:
        self.session, self._limits = session, limits
        self._statements: dict[str, PreparedStatement | None] = {}
        self._portals: dict[str, Portal] = {}
        self._reported: dict[str, str] = {}
        self._seen: Mapping[str, str] = {}  # the session's settings when they were last reported
        self._is_skipping = False
        self._in_block = False
        self._copy: IncomingCopy | None = None  # what CopyData belongs to
        self._copy_portal: Portal | None = None  # None in a simple query
        self.has_ended = False
        self._handlers: dict[bytes, Callable[[Body], bytes]] = {
            b"P": self._parse,
            b"B": self._bind,
            b"D": self._describe_target,
            b"C": self._close,
            b"S": self._end_extended,
        }

    @property
    def is_in_transaction(self) -> bool:
        """Whether a transaction is open, explicit or until Sync."""
        return self._in_block or self._copy is not None or self.session.transaction_status != "I"

    def initial_messages(self) -> bytes:
        """Return the settings that are reported to clients."""
        known = {**DEFAULTS, "session_authorization": self.session.user}
        return b"".join(self._changed_settings({**known, **self.session.reported}))

    def ready(self) -> bytes:
        """Return ReadyForQuery, after settings that changed."""
        transaction = self.session.transaction_status
        if transaction == "I":
            self._portals.clear()
        settings, changes = self.session.reported, b""
        if settings is not self._seen:
            changes, self._seen = b"".join(self._changed_settings(settings)), settings
        return changes + messages.ready(transaction)

    def _changed_settings(self, settings: Mapping[str, str]) -> Iterator[bytes]:
        for name, value in settings.items():
            if self._reported.get(name) != value:
                self._reported[name] = value
                yield messages.parameter_status(name, value)

    def answer(self, frames: Sequence[Frame]) -> Iterator[bytes]:
        """Return the responses to the messages, in parts; `settle` is called before one is sent."""
        are_many = sum(frame.kind in (b"E", b"Q") for frame in frames) > 1
        for place, frame in enumerate(frames):
            if are_many:
                self.session.defer_records()
            if frame.kind == b"X":
                self.has_ended = True
                return
            if self._is_skipping and frame.kind != b"S":
                continue
            is_alone = place + 1 < len(frames) and frames[place + 1].kind == b"S"
            try:
                yield from self._handle_message(frame.kind, messages.Body(frame.body), is_alone)
            except Exception as error:  # noqa: BLE001 - nothing a statement does ends the connection
                is_extended = self._copy is not None and self._copy_portal is not None
                self._end_copy()
                yield self._fail_block(error, b"E" if is_extended else frame.kind)

    def settle(self) -> None:
        """Wait until what was answered is on record."""
        self.session.settle()

    def _handle_message(self, kind: bytes, body: Body, is_alone: bool) -> Iterator[bytes]:
        if self._copy is not None:
            yield from self._take_copy(self._copy, kind, body)
        elif kind == b"Q":
            yield from self._query(body)
        elif kind == b"E":
            yield from self._execute(body, is_alone)
        elif kind == b"F":
            raise StatementFailed("0A000", "function calls by number are not supported")
        elif kind == b"p":
            raise StatementFailed("08P01", "unexpected password message")
        elif kind in self._handlers:
            yield self._handlers[kind](body)
        # Otherwise it is Flush, for which every response is sent already, or the rest of a COPY.

    def _fail_block(self, error: Exception, kind: bytes) -> bytes:
        if not isinstance(error, DiscreetError):
            log_failure(error)
        response = error_response(error)
        self._in_block = False
        try:
            self.session.finish_block(failed=True)
        except Exception as second:  # noqa: BLE001 - the first failure is reported
            log_failure(second)
        if kind in _EXTENDED:
            self._is_skipping = True
            return response
        return response + self.ready()

    def _open_block(self) -> None:
        self._in_block = True
        self.session.start_block()

    def _close_block(self) -> None:
        if self._in_block:
            self._in_block = False
            self.session.finish_block()

    @property
    def _time_zone(self) -> str:
        return self.session.reported.get("TimeZone", "UTC")

    def _query(self, body: Body) -> Iterator[bytes]:
        text = body.text()
        body.end()
        self._statements.pop("", None)
        self._portals.pop("", None)
        statements = self.session.split(text)
        if not statements:
            self._close_block()
            yield messages.EMPTY_QUERY
        for place, statement in enumerate(statements, start=1):
            if len(statements) > 1:
                self._open_block()
            prepared = self.session.prepare(statement)
            if isinstance(statement, CopyIn):
                if place < len(statements):
                    raise StatementFailed("0A000", "COPY FROM must be the last statement of a text")
                yield self._begin_copy(prepared, None)
                return
            if prepared.parameters:
                raise StatementFailed("42P02", "there is no parameter $1")
            outcome = self._run(prepared, ())
            if place == len(statements):
                self._close_block()  # before rows are sent: a slow reader must not hold a transaction
            yield from self._simple_result(outcome)
        yield self.ready()

    def _run(self, prepared: PreparedStatement, values: Sequence[object]) -> Outcome:
        outcome = self.session.run(prepared, values)
        if isinstance(prepared.statement, Discard):
            self._forget_statement(find_deallocated(prepared.statement.text))
        return outcome

    def _forget_statement(self, name: str | None) -> None:
        if name == "*":
            self._statements.clear()
        elif name is not None:
            self._statements.pop(name, None)

    def _simple_result(self, outcome: Outcome) -> Iterator[bytes]:
        """Return an outcome as in a simple query: described, in text."""
        yield from map(notice_response, outcome.notices)
        fields = outcome.fields
        if outcome.copy is not None:
            yield from self._copy_result(outcome)
        elif fields is not None:
            formats = [0] * len(fields)
            yield messages.row_description(fields, formats)
            if outcome.table is not None:
                yield from data_rows(outcome.table, fields, formats, zone=self._time_zone)
        yield messages.complete(outcome.tag)

    def _copy_result(self, outcome: Outcome) -> Iterator[bytes]:
        if outcome.copy is None or outcome.fields is None or outcome.table is None:
            raise StatementFailed("XX000", "internal error")
        yield from copy_out(outcome.table, outcome.fields, outcome.copy, zone=self._time_zone)

    def _begin_copy(self, prepared: PreparedStatement, portal: Portal | None) -> bytes:
        self._copy, self._copy_portal = self.session.copy_in(prepared), portal
        statement = prepared.statement
        is_binary = isinstance(statement, CopyIn) and statement.format == "binary"
        return messages.copy_in_response(self._copy.columns, int(is_binary))

    def _take_copy(self, copy: IncomingCopy, kind: bytes, body: Body) -> Iterator[bytes]:
        """Take CopyData, CopyDone or CopyFail; Flush and Sync are ignored, as in PostgreSQL."""
        if kind == b"d":
            copy.write(body.rest())
        elif kind == b"f":
            raise StatementFailed("57014", f"COPY from stdin failed: {body.text()}")
        elif kind == b"c":
            portal = self._copy_portal
            outcome = copy.finish()
            self._end_copy()
            yield from map(notice_response, outcome.notices)
            if portal is None:
                self._close_block()
                yield messages.complete(outcome.tag) + self.ready()
            else:
                portal.ran(outcome)
                yield messages.complete(outcome.tag)
        elif kind not in (b"H", b"S"):
            raise StatementFailed("08P01", "unexpected message type during COPY from stdin")

    def _end_copy(self) -> None:
        if self._copy is not None:
            self._copy.discard()
        self._copy = self._copy_portal = None

    def close(self) -> None:
        """Forget what the client has begun to send."""
        self._end_copy()

    def _parse(self, body: Body) -> bytes:
        name, text = body.text(), body.text()
        declared = [client_type_name(body.uint32()) for _ in range(body.int16())]
        body.end()
        if not name:
            self._statements.pop("", None)
        elif name in self._statements:
            raise StatementFailed("42P05", f'prepared statement "{name}" already exists')
        if len(self._statements) >= self._limits.max_statements:
            raise StatementFailed("53400", "too many prepared statements", hint="Close some.")
        statements = self.session.split(text)
        if len(statements) > 1:
            raise StatementFailed(
                "42601", "cannot insert multiple commands into a prepared statement"
            )
        prepared = self.session.prepare(statements[0], declared) if statements else None
        self._statements[name] = prepared
        return messages.PARSE_COMPLETE

    def _find_statement(self, name: str) -> PreparedStatement | None:
        if name not in self._statements:
            what = f'prepared statement "{name}"' if name else "unnamed prepared statement"
            raise StatementFailed("26000", f"{what} does not exist")
        return self._statements[name]

    def _bind(self, body: Body) -> bytes:
        name, statement = body.text(), body.text()
        given = [body.int16() for _ in range(body.int16())]
        cells = [body.sized() for _ in range(body.int16())]
        formats = [body.int16() for _ in range(body.int16())]
        body.end()
        prepared = self._find_statement(statement)
        if not name:
            self._portals.pop("", None)
        elif name in self._portals:
            raise StatementFailed("42P03", f'cursor "{name}" already exists')
        if len(self._portals) >= self._limits.max_portals:
            raise StatementFailed("53400", "too many portals", hint="Close some.")
        types = prepared.parameters if prepared else ()
        if len(cells) != len(types):
            raise StatementFailed(
                "08P01",
                f"bind message supplies {len(cells)} parameters, "
                f'but prepared statement "{statement}" requires {len(types)}',
            )
        zone = zone_named(self._time_zone)
        codes = expand_formats(given, len(cells), "parameter")
        values = [
            decode_value(cell, kind, binary=code == 1, zone=zone)
            for cell, kind, code in zip(cells, types, codes, strict=True)
        ]
        expand_formats(formats, len(_row_fields(prepared)), "result")
        self._portals[name] = Portal(prepared, values, formats)
        return messages.BIND_COMPLETE

    def _find_portal(self, name: str) -> Portal:
        if name not in self._portals:
            raise StatementFailed("34000", f'portal "{name}" does not exist')
        return self._portals[name]

    def _describe_target(self, body: Body) -> bytes:
        """Return types only: nothing is executed or charged."""
        kind, name = body.take(1), body.text()
        body.end()
        if kind == b"S":
            prepared = self._find_statement(name)
            response = messages.parameter_description(prepared.parameters if prepared else ())
            return response + _describe_rows(prepared, ())
        if kind != b"P":
            raise StatementFailed("08P01", "invalid DESCRIBE message subtype")
        if name in self._portals or not name:
            portal = self._find_portal(name)
            return _describe_rows(portal.prepared, portal.formats)
        # A cursor that SQL declared is a portal, too.
        return _describe_rows(self.session.prepare(Fetch(name, text=f"FETCH {name}")), ())

    def _execute(self, body: Body, is_alone: bool) -> Iterator[bytes]:
        name, most = body.text(), max(body.int32(), 0)
        body.end()
        portal = self._find_portal(name)
        if portal.prepared is None:
            yield messages.EMPTY_QUERY
            return
        if isinstance(portal.prepared.statement, CopyIn) and not portal.has_run:
            if self._in_block or not is_alone:
                self._open_block()
            portal.has_run, portal.values = True, ()
            yield self._begin_copy(portal.prepared, portal)
            return
        if not portal.has_run:
            yield from self._start(portal, portal.prepared, is_alone)
        elif portal.prepared.fields is None or portal.outcome is None:
            raise StatementFailed("55000", f'portal "{name}" cannot be run')
        elif self.session.transaction_status == "E":
            raise StatementFailed(
                "25P02",
                "current transaction is aborted, commands ignored until end of transaction block",
            )
        else:
            self.session.check(portal.prepared)
        yield from self._hand_out(portal, _row_fields(portal.prepared), most)

    def _start(
        self, portal: Portal, prepared: PreparedStatement, is_alone: bool
    ) -> Iterator[bytes]:
        """Run a portal: once, whatever the outcome."""
        if sum(each.held for each in self._portals.values()) > self._limits.max_held:
            raise StatementFailed("53400", "open portals hold too much", hint="Close some.")
        if self._in_block or not is_alone:
            self._open_block()
        portal.has_run = True
        values, portal.values = portal.values, ()  # they are not needed any more
        outcome = self._run(prepared, values)
        if fields := _row_fields(prepared):
            require_same_types(fields, outcome.fields or ())
        yield from map(notice_response, outcome.notices)
        if outcome.copy is not None:
            yield from self._copy_result(outcome)
        portal.ran(outcome)

    def _hand_out(
        self, portal: Portal, fields: Sequence[ResultField], most: int
    ) -> Iterator[bytes]:
        rows, is_suspended = 0, False
        if fields:
            part, is_suspended = portal.next_rows(most)
            if part is not None:
                rows = part.num_rows
                formats = expand_formats(portal.formats, len(fields), "result")
                yield from data_rows(part, fields, formats, zone=self._time_zone)
        if is_suspended:
            yield messages.PORTAL_SUSPENDED
        else:
            yield messages.complete(portal.tag(rows))

    def _close(self, body: Body) -> bytes:
        kind, name = body.take(1), body.text()
        body.end()
        if kind not in (b"S", b"P"):
            raise StatementFailed("08P01", "invalid CLOSE message subtype")
        kept = self._statements if kind == b"S" else self._portals
        kept.pop(name, None)
        return messages.CLOSE_COMPLETE

    def _end_extended(self, body: Body) -> bytes:
        self._is_skipping = False
        body.end()
        self._close_block()
        return self.ready()


def _row_fields(prepared: PreparedStatement | None) -> Sequence[ResultField]:
    """Return the columns of a result sent as rows; None for a COPY."""
    if prepared is None or isinstance(prepared.statement, CopyOut):
        return ()
    return prepared.fields or ()


def _describe_rows(prepared: PreparedStatement | None, formats: Sequence[int]) -> bytes:
    if prepared is None or prepared.fields is None or isinstance(prepared.statement, CopyOut):
        return messages.NO_DATA
    fields = prepared.fields
    return messages.row_description(fields, expand_formats(formats, len(fields), "result"))


def log_failure(error: BaseException) -> None:
    """Log the type and place of a failure; its message may quote data and is left out."""
    trace, where = error.__traceback__, "?"
    while trace is not None:
        where = f"{trace.tb_frame.f_code.co_filename}:{trace.tb_lineno}"
        trace = trace.tb_next
    _LOG.error("internal error: %s at %s", type(error).__name__, where)
