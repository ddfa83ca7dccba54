"""DuckDB's failures as ours: only messages that cannot quote a cell are passed on.

SQLSTATEs are found by the exception's class and the first words of its message.
"""

from __future__ import annotations

import errno
import os
import re
from collections.abc import Callable, Mapping
from typing import TypeVar

import duckdb
import pyarrow as pa

from discreet.engines.databases.failures import statement_failure
from discreet.errors import DiscreetError, EngineFailed, LockedSource, StatementFailed

Answer = TypeVar("Answer")

_LOCKED = re.compile(r"\b[Ll]ock\b|already attached|file handle conflict|different configuration")
_NOT_NULL = re.compile(r"Constraint Error: NOT NULL constraint failed: (\w+)\.(\w+)")
_CHECK = re.compile(r"Constraint Error: CHECK constraint failed on table (\w+) ")

# Only the beginning of a message is compared: it is DuckDB's own text and quotes no data.
_BEGINNINGS: Mapping[type[Exception], tuple[tuple[str, str], ...]] = {
    duckdb.ConstraintException: (
        (r"Constraint Error: (Duplicate key|PRIMARY KEY or UNIQUE)", "23505"),
        (r"Constraint Error: NOT NULL", "23502"),
        (r"Constraint Error: Violates foreign key", "23503"),
        (r"Constraint Error: CHECK", "23514"),
        (r"", "23000"),
    ),
    duckdb.ConversionException: (
        (r"Conversion Error: (Type \w+ with value|Casting value|Could not cast value)", "22003"),
        (r"Conversion Error: (date|timestamp|time|interval) field value out of range", "22008"),
        (r"Conversion Error: (invalid )?(date|timestamp|time|interval) field", "22007"),
        (r"", "22P02"),
    ),
    duckdb.OutOfRangeException: (
        (r"Out of Range Error: cannot take square root", "2201F"),
        (r"Out of Range Error: cannot take logarithm", "2201E"),
        (r"Out of Range Error: [Dd]ivision", "22012"),
        (r"", "22003"),
    ),
    duckdb.InvalidInputException: (
        (r"Invalid Input Error: More than one row returned by a subquery", "21000"),
        (r"Invalid Input Error: Computed AES tag differs", "XX001"),
        (r"", "22023"),
    ),
    duckdb.TransactionException: (
        (r"TransactionContext Error: Current transaction is aborted", "25P02"),
        (r"TransactionContext Error: Failed to commit: (PRIMARY|Duplicate)", "23505"),
        (r"TransactionContext Error: Failed to commit: Violates foreign", "23503"),
        (r"TransactionContext Error: (Failed to commit: )?.{0,40}[Cc]onflict", "40001"),
        (r"", "XX000"),
    ),
    duckdb.BinderException: (
        (r"Binder Error: No function matches", "42883"),
        (r"Binder Error: (Ambiguous|Duplicate alias)", "42702"),
        (r"Binder Error: (Referenced column|Table .{0,80} does not have a column)", "42703"),
        (r"Binder Error: column .{0,200} must appear in the GROUP BY", "42803"),
        (r"Binder Error: (Cannot compare|Cannot mix|Unimplemented type for cast)", "42804"),
        (r"", "0A000"),
    ),
    duckdb.CatalogException: (
        (r"Catalog Error: Scalar Function", "42883"),
        (r"Catalog Error: Schema .{0,200} already exists", "42P06"),
        (r"Catalog Error: Schema", "3F000"),
        (r"Catalog Error: .{0,200} already exists", "42P07"),
        (r"Catalog Error: Table with name", "42P01"),
        (r"Catalog Error: .{0,40}(Could not|Cannot) (drop|alter)", "2BP01"),
        (r"", "0A000"),
    ),
    # Its planner fails on some correlated subqueries; no row was read.
    duckdb.InternalException: (
        (r"INTERNAL Error: Failed to bind column reference", "0A000"),
        (r"", "XX000"),
    ),
    duckdb.IOException: (
        (rf"IO Error: .*({os.strerror(errno.ENOSPC)}|{os.strerror(errno.EDQUOT)})", "53100"),
        (r"", "58030"),
    ),
}
_CLASSES: Mapping[type[Exception], str] = {
    duckdb.InterruptException: "57014",
    duckdb.OutOfMemoryException: "53200",
    duckdb.TypeMismatchException: "42804",
    duckdb.NotImplementedException: "0A000",
    duckdb.ParserException: "0A000",
    duckdb.SyntaxException: "0A000",
    pa.ArrowInvalid: "22003",
}


_SIZE = r"[\d.]+ ?(?:bytes|[KMGT]i?B)"
_USED = rf"(?: \({_SIZE}/{_SIZE} used\))?"
_SYSTEM = "|".join(
    re.escape(os.strerror(number))
    for number in (
        *(errno.ENOENT, errno.EACCES, errno.EPERM, errno.EISDIR, errno.ENOTDIR, errno.EROFS),
        *(errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EMFILE, errno.ENFILE, errno.EIO),
    )
)
_SQL_WORDS = (
    "ALL|AND|AS|BY|CASE|CAST|COPY|CREATE|DISTINCT|DROP|ELSE|END|FROM|GROUP|HAVING|IN|IS|JOIN|LIMIT|"
    r"NOT|OFFSET|ON|OR|ORDER|OVER|PARTITION|SELECT|SET|TABLE|THEN|UNION|USING|VIEW|WHEN|WHERE|WITH|"
    r"[(),;.*=<>+/-]"
)
# What a message may hold to be passed on: DuckDB's fixed words, sizes, reasons of the operating
# system, names of functions and settings, and words of SQL. No pattern reaches a literal or a path:
# statements of ours hold labels, and partitioned files have cells in their paths.
_HARMLESS: Mapping[type[Exception], tuple[str, ...]] = {
    duckdb.OutOfMemoryException: (
        rf"failed to (?:allocate data|pin block|offload data block) of size {_SIZE}{_USED}",
        rf"could not allocate block of size {_SIZE}{_USED}",
    ),
    duckdb.IOException: (_SYSTEM, r"No files found that match the pattern"),
    OSError: (_SYSTEM,),
    duckdb.PermissionException: (r"file system operations are disabled by configuration",),
    duckdb.InterruptException: (r"Interrupted!",),
    duckdb.CatalogException: (
        r"(?:Scalar|Aggregate|Table|Macro) Function with name [a-z_][a-z0-9_]* does not exist",
    ),
    duckdb.ParserException: (
        rf"syntax error at or near \"(?:{_SQL_WORDS})\"",
        r"syntax error at end of input",
    ),
}


# A result that is read in batches fails with an OSError that has DuckDB's message.
FAILURES = (duckdb.Error, pa.ArrowException, OSError)


def duckdb_engine_failure(error: Exception) -> EngineFailed:
    """Return the failure of a step of ours, with DuckDB's message if it cannot quote data."""
    kind, words = type(error).__name__, _harmless_words(error)
    if isinstance(error, duckdb.OutOfMemoryException):
        return EngineFailed(
            f"DuckDB ran out of memory or of disk for spilling ({kind}). "
            "Raise the memory limit, or free space in the temporary folder (TMPDIR).",
            engine_words=words and f"DuckDB's message: {words}",
        )
    if words:
        return EngineFailed(
            f"DuckDB refused a statement ({kind}).", engine_words=f"DuckDB's message: {words}"
        )
    return EngineFailed(
        f"DuckDB refused a statement ({kind}). Its own message is withheld because it may quote "
        "data; run the same step in DuckDB itself to see it."
    )


def duckdb_setting_failure(error: Exception) -> EngineFailed:
    """Return the failure of a setting: no row is read, and its value is ours, so it quotes no data."""
    return EngineFailed(
        f"DuckDB refused a setting ({type(error).__name__}).",
        engine_words=f"DuckDB's message: {_first_line(error)}",
    )


def _harmless_words(error: Exception) -> str:
    """Return the part of a message that holds fixed words, sizes and names only; else nothing."""
    line = _first_line(error)
    for kind, patterns in _HARMLESS.items():
        if isinstance(error, kind):
            found = next((match for one in patterns if (match := re.search(one, line))), None)
            return found[0] if found else ""
    return ""


def _first_line(error: Exception) -> str:
    return str(error).partition("\n")[0].strip()


def call_duckdb(
    call: Callable[[], Answer],
    translate: Callable[[Exception], DiscreetError] = duckdb_engine_failure,
) -> Answer:
    """Return `call()`; a failure of DuckDB becomes one of ours, without DuckDB's message.

    The new error is raised after the `except` block: inside it, Python would attach the old one.
    """
    try:
        return call()
    except FAILURES as error:
        failure = translate(error)
    raise failure


def locked_source(name: str, words: str, remedy: str) -> LockedSource | None:
    """Return the failure of a file that another program has opened; None if that is not the cause."""
    if not _LOCKED.search(words):
        return None
    process = re.search(r"PID (\d+)", words)
    who = f"process {process[1]}" if process else "another program"
    return LockedSource(f"{name} is in use by {who}. {remedy}")


def duckdb_failure(error: Exception) -> StatementFailed:
    """Return the failure of a client's statement."""
    words = str(error)
    if found := _NOT_NULL.match(words):
        text = f'null value in column "{found[2]}" of relation "{found[1]}" violates not-null constraint'
        return statement_failure("23502", text)
    if found := _CHECK.match(words):
        return statement_failure(
            "23514", f'new row for relation "{found[1]}" violates check constraint'
        )
    return statement_failure(_find_sqlstate(error, words))


def _find_sqlstate(error: Exception, words: str) -> str:
    for kind in type(error).__mro__:
        if kind in _CLASSES:
            return _CLASSES[kind]
        for pattern, sqlstate in _BEGINNINGS.get(kind, ()):
            if re.match(pattern, words, re.DOTALL):
                return sqlstate
    return "XX000"
