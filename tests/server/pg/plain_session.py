"""A session over a bare DuckDB, for tests of the protocol: it executes, and guards nothing."""

from __future__ import annotations

import re
import threading
from dataclasses import dataclass, field
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import duckdb
import pyarrow as pa

from discreet.engines.databases.database import ResultField
from discreet.errors import StatementFailed
from discreet.guard.statements.statement import CopyOut, Discard, Fetch, Statement
from discreet.server.session import Notice, Outcome, PreparedStatement

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

TYPES = {
    "BOOLEAN": "bool",
    "TINYINT": "int2",
    "SMALLINT": "int2",
    "INTEGER": "int4",
    "BIGINT": "int8",
    "HUGEINT": "numeric",
    "UBIGINT": "numeric",
    "FLOAT": "float4",
    "DOUBLE": "float8",
    "VARCHAR": "text",
    "BLOB": "bytea",
    "DATE": "date",
    "TIME": "time",
    "TIMESTAMP": "timestamp",
    "TIMESTAMP WITH TIME ZONE": "timestamptz",
    "INTERVAL": "interval",
    "UUID": "uuid",
    "JSON": "json",
}
NAMES = {
    "integer": "int4",
    "int": "int4",
    "bigint": "int8",
    "smallint": "int2",
    "double": "float8",
    "real": "float4",
    "boolean": "bool",
    "decimal": "numeric",
}
CAST = {
    "bytea": "blob",
    "text": "varchar",
    "float4": "float",
    "float8": "double",
    "numeric": "decimal(38,9)",
}
STATES: tuple[tuple[type[Exception], str, str], ...] = (
    (duckdb.InterruptException, "57014", "canceling statement due to user request"),
    (duckdb.ParserException, "42601", "syntax error"),
    (duckdb.CatalogException, "42P01", "relation does not exist"),
    (duckdb.BinderException, "42703", "column does not exist"),
    (duckdb.ConversionException, "22P02", "invalid input syntax"),
    (duckdb.ConstraintException, "23505", "duplicate key value violates unique constraint"),
    (duckdb.Error, "XX000", "engine failed"),
)
PARAMETER = re.compile(r"\$(\d+)(?:\s*::\s*(\w+(?:\[\])?))?")
COPY = re.compile(
    r"\s*COPY\s+(?P<what>\(.*\)|[\w.]+)\s+TO\s+STDOUT\s*(?:WITH\s*)?(?P<options>.*?)\s*",
    re.IGNORECASE | re.DOTALL,
)
ABORTED = "current transaction is aborted, commands ignored until end of transaction block"


@dataclass(frozen=True)
class Said(Statement):
    """A statement by its first word."""

    word: str


@dataclass
class Cursor:
    fields: tuple[ResultField, ...]
    table: pa.Table
    place: int = 0


def field_of(name: str, kind: str) -> ResultField:
    if kind.startswith("DECIMAL"):
        precision, scale = map(int, re.findall(r"\d+", kind))
        return ResultField(name, "numeric", precision, scale)
    if kind.endswith("[]"):
        return ResultField(name, TYPES.get(kind[:-2], "text") + "[]")
    return ResultField(name, TYPES.get(kind, "text"))


def literal(value: object, kind: str) -> str:
    """Return a value as SQL; this session is for tests alone."""
    if value is None:
        return f"CAST(NULL AS {CAST.get(kind, kind)})"
    if isinstance(value, list):
        return "[" + ", ".join(literal(item, kind.removesuffix("[]")) for item in value) + "]"
    if isinstance(value, bytes):
        return f"from_hex('{value.hex()}')"
    if isinstance(value, Decimal) and value.is_finite():
        return f"CAST('{value}' AS DECIMAL(38, {max(0, -int(value.as_tuple().exponent))}))"
    text = str(value).replace("'", "''")
    return f"CAST('{text}' AS {CAST.get(kind, kind)})"


@dataclass
class PlainSession:
    """What tests connect to. `ran` counts what was executed, by its text."""

    user: str
    connection: duckdb.DuckDBPyConnection
    settings: dict[str, str] = field(default_factory=dict)
    ran: list[str] = field(default_factory=list)
    block: str = ""  # "", implicit, explicit, failed
    cursors: dict[str, Cursor] = field(default_factory=dict)
    is_closed: bool = False
    _lock: threading.Lock = field(default_factory=threading.Lock)

    @property
    def transaction_status(self) -> Any:
        return {"explicit": "T", "failed": "E"}.get(self.block, "I")

    @property
    def reported(self) -> Mapping[str, str]:
        return self.settings

    @property
    def idle_in_transaction(self) -> float | None:
        return None

    def split(self, text: str) -> Sequence[Statement]:
        """Cut at semicolons outside quotes."""
        if "to_regtype" in text:  # there is no catalog here, and no type that a client asks about
            text = "select $1 as name where false"
        text = text.replace("pg_catalog.version()", "'PostgreSQL 16.4 (discreet)'")
        parts = re.findall(r"""(?:'(?:[^']|'')*'|"(?:[^"]|"")*"|--[^\n]*|[^;'"])+""", text)
        found: list[Statement] = []
        for part in (each.strip() for each in parts):
            bare = re.sub(r"--[^\n]*", "", part).strip()
            if not bare:
                continue
            word = bare.split(None, 1)[0].upper().strip("(")
            if word in ("DEALLOCATE", "DISCARD", "UNLISTEN"):
                found.append(Discard(word, text=bare))
            else:
                found.append(Said(word, text=bare))
        if text.count("'") % 2:
            raise StatementFailed("42601", "unterminated quoted string")
        return found

    def prepare(
        self, statement: Statement, declared: Sequence[str | None] = ()
    ) -> PreparedStatement:
        if isinstance(statement, Fetch):
            return PreparedStatement(statement, (), self._cursor(statement.name).fields)
        self._require_usable(statement)
        types = self._types(statement.text, declared)
        word = getattr(statement, "word", "")
        if word in ("SELECT", "VALUES", "WITH", "TABLE", "FROM"):
            sql = self._filled(statement.text, [None] * len(types), types)
            return PreparedStatement(statement, types, self._describe(sql))
        if word in ("INSERT", "UPDATE", "DELETE") and "RETURNING" in statement.text.upper():
            returned = re.split("RETURNING", statement.text, flags=re.IGNORECASE)[1]
            table = re.findall(r"(?:INTO|UPDATE|FROM)\s+([\w.]+)", statement.text, re.IGNORECASE)[0]
            return PreparedStatement(
                statement, types, self._describe(f"SELECT {returned} FROM {table}")
            )
        if word == "FETCH":
            name = statement.text.split()[-1].strip('"')
            return PreparedStatement(statement, types, self._cursor(name).fields)
        if word == "SHOW":
            name = statement.text.split()[-1]
            return PreparedStatement(statement, (), (ResultField(name.lower(), "text"),))
        return PreparedStatement(statement, types, None)

    def run(self, prepared: PreparedStatement, values: Sequence[object] = ()) -> Outcome:
        assert not self.is_closed
        assert self._lock.acquire(blocking=False), "one call at a time"
        try:
            statement = prepared.statement
            self._require_usable(statement)
            self.ran.append(statement.text)
            if isinstance(statement, Discard):
                return Outcome(statement.what)
            word = getattr(statement, "word", "")
            special: Callable[[Statement], Outcome] | None = getattr(self, f"_{word.lower()}", None)
            if special is not None:
                return special(statement)
            sql = self._filled(statement.text, values, prepared.parameters)
            return self._ran(word, sql, prepared)
        except StatementFailed:
            if self.block == "explicit":
                self.block = "failed"
            raise
        finally:
            self._lock.release()

    def check(self, prepared: PreparedStatement) -> None:
        self._require_usable(prepared.statement)

    def start_block(self) -> None:
        if not self.block:
            self.block = "implicit"
            self.connection.execute("BEGIN")

    def finish_block(self, *, failed: bool = False) -> None:
        if self.block == "implicit":
            self._end("ROLLBACK" if failed else "COMMIT")
        elif self.block == "explicit" and failed:
            self.block = "failed"

    def defer_records(self) -> None:
        """It keeps no records."""

    def settle(self) -> None:
        """It keeps no records."""

    def cancel(self) -> None:
        self.connection.interrupt()

    def close(self) -> None:
        assert self._lock.acquire(blocking=False), "closed while running"
        self.is_closed = True
        self.connection.close()

    def _require_usable(self, statement: Statement) -> None:
        healing = ("COMMIT", "ROLLBACK", "END", "ABORT")
        if self.block == "failed" and getattr(statement, "word", "") not in healing:
            raise StatementFailed("25P02", ABORTED)

    def _types(self, text: str, declared: Sequence[str | None]) -> tuple[str, ...]:
        bare = re.sub(r"'(?:[^']|'')*'", "''", text)
        found = {int(number): kind for number, kind in PARAMETER.findall(bare)}
        count = max([0, *found, len(declared)])
        given = [*declared, *[None] * count]
        matched = [found.get(place + 1, "").lower() for place in range(count)]
        named = [NAMES.get(kind.removesuffix("[]"), kind) for kind in matched]
        return tuple(
            given[place] or named[place] + ("[]" if matched[place].endswith("[]") else "") or "text"
            for place in range(count)
        )

    def _filled(self, text: str, values: Sequence[object], types: Sequence[str]) -> str:
        def fill(match: re.Match[str]) -> str:
            if not match[2]:
                return match[0]
            place = int(match[2]) - 1
            return literal(values[place], types[place])

        return re.sub(r"('(?:[^']|'')*')|\$(\d+)", fill, text)

    def _describe(self, sql: str) -> tuple[ResultField, ...]:
        rows = self._execute(f"DESCRIBE {sql}").fetchall()
        return tuple(field_of(row[0], row[1]) for row in rows)

    def _execute(self, sql: str) -> duckdb.DuckDBPyConnection:
        try:
            return self.connection.execute(sql)
        except RuntimeError:
            raise StatementFailed("57014", "canceling statement due to user request") from None
        except duckdb.Error as error:
            for kind, sqlstate, text in STATES:
                if isinstance(error, kind):
                    raise StatementFailed(sqlstate, text) from None
            raise

    def _ran(self, word: str, sql: str, prepared: PreparedStatement) -> Outcome:
        fields = prepared.fields
        if fields is not None:
            table = self._execute(sql).to_arrow_table()
            tag = f"INSERT 0 {table.num_rows}" if word == "INSERT" else f"{word} {table.num_rows}"
            if word in ("VALUES", "WITH", "TABLE", "FROM"):
                tag = f"SELECT {table.num_rows}"
            return Outcome(tag, fields, table)
        rows = self._execute(sql).fetchall()
        count = rows[0][0] if rows and isinstance(rows[0][0], int) else 0
        if word == "INSERT":
            return Outcome(f"INSERT 0 {count}")
        if word in ("UPDATE", "DELETE"):
            return Outcome(f"{word} {count}")
        return Outcome(" ".join(sql.split()[:2]).upper() if word in ("CREATE", "DROP") else word)

    def _begin(self, statement: Statement) -> Outcome:
        if not self.block:
            self.connection.execute("BEGIN")
        self.block = "explicit"
        return Outcome("BEGIN")

    _start = _begin

    def _end(self, how: str) -> None:
        self.block = ""
        self.cursors.clear()
        try:
            self.connection.execute(how)
        except duckdb.Error:
            raise StatementFailed("40001", "could not serialize access") from None

    def _commit(self, statement: Statement) -> Outcome:
        how = "ROLLBACK" if self.block == "failed" else "COMMIT"
        if self.block:
            self._end(how)
        return Outcome(how)

    def _rollback(self, statement: Statement) -> Outcome:
        if " TO " in statement.text.upper():
            self.block = "explicit"
        elif self.block:
            self._end("ROLLBACK")
        return Outcome("ROLLBACK")

    _abort = _rollback

    def _savepoint(self, statement: Statement) -> Outcome:
        return Outcome("SAVEPOINT")

    def _release(self, statement: Statement) -> Outcome:
        return Outcome("RELEASE")

    def _set(self, statement: Statement) -> Outcome:
        matched = re.fullmatch(
            r"SET\s+(?:SESSION\s+)?(\w+)\s*(?:=|TO)\s*(.*)", statement.text, re.I | re.S
        )
        if matched is not None:
            known = {name.lower(): name for name in ("TimeZone", "application_name", "DateStyle")}
            name = known.get(matched[1].lower())
            if name:
                self.settings = {**self.settings, name: matched[2].strip("'\"")}
        return Outcome("SET")

    def _show(self, statement: Statement) -> Outcome:
        known = {
            "standard_conforming_strings": "on",
            "transaction isolation level": "serializable",
            "transaction_isolation": "serializable",
            **{name.lower(): value for name, value in self.settings.items()},
        }
        name = statement.text.split(None, 1)[1].lower()
        value = pa.table({"setting": [known.get(name, "")]})
        return Outcome("SHOW", (ResultField(name, "text"),), value)

    def _raise(self, statement: Statement) -> Outcome:
        return Outcome("DO", notices=(Notice("NOTICE", statement.text[6:], detail="aside"),))

    def _crash(self, statement: Statement) -> Outcome:
        raise ValueError("Alice is ill")  # what no user may read

    def _sleep(self, statement: Statement) -> Outcome:
        """Work until canceled."""
        self._execute(
            "SELECT count(*) FROM range(10000000) a, range(10000000) b WHERE (a.range + b.range) % 7 = 8"
        )
        return Outcome("SLEEP")

    def _copy(self, statement: Statement) -> Outcome:
        matched = COPY.fullmatch(statement.text)
        if matched is None:
            raise StatementFailed("0A000", "COPY TO STDOUT is all there is")
        what, options = matched["what"], matched["options"].upper()
        sql = what[1:-1] if what.startswith("(") else f"SELECT * FROM {what}"
        form: Any = next((each for each in ("csv", "binary") if each.upper() in options), "text")
        fields, table = self._describe(sql), self._execute(sql).to_arrow_table()
        copy = CopyOut(Any, format=form, header="HEADER" in options)  # type: ignore[arg-type]
        return Outcome(f"COPY {table.num_rows}", fields, table, copy=copy)

    def _cursor(self, name: str) -> Cursor:
        if name not in self.cursors:
            raise StatementFailed("34000", f'cursor "{name}" does not exist')
        return self.cursors[name]

    def _declare(self, statement: Statement) -> Outcome:
        matched = re.fullmatch(
            r'DECLARE\s+"?(\w+)"?\s+.*?CURSOR\s+.*?FOR\s+(.*)', statement.text, re.I | re.S
        )
        assert matched is not None
        sql = matched[2]
        self.cursors[matched[1]] = Cursor(self._describe(sql), self._execute(sql).to_arrow_table())
        return Outcome("DECLARE CURSOR")

    def _fetch(self, statement: Statement) -> Outcome:
        cursor = self._cursor(statement.text.split()[-1].strip('"'))
        number = re.search(r"\d+", statement.text.split("FROM")[0])
        count = None if " ALL" in statement.text.upper() else int(number[0]) if number else 1
        part = cursor.table.slice(cursor.place, count)
        cursor.place += part.num_rows
        return Outcome(f"FETCH {part.num_rows}", cursor.fields, part)

    def _close(self, statement: Statement) -> Outcome:
        self.cursors.pop(statement.text.split()[-1].strip('"'), None)
        return Outcome("CLOSE CURSOR")
