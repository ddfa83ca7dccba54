"""A session on a PostgreSQL server: settings that generated SQL relies on, and results by COPY."""

from __future__ import annotations

import contextlib
import tempfile
from collections.abc import Mapping
from typing import Any

from sqlglot import exp

from discreet.engines.databases.failures import too_many_bytes
from discreet.errors import MissingExtra
from discreet.stores.hosts import parameters_of
from discreet.stores.primary import connect_primary

try:
    import psycopg
except ImportError as error:
    raise MissingExtra(what="PostgreSQL", extra="postgres") from error


_SPOOL_BYTES = 32 << 20  # a result larger than this waits on disk, in a file without a name
_SETTINGS = {
    "client_encoding": "UTF8",
    "datestyle": "ISO",
    "extra_float_digits": "1",
    "timezone": "UTC",
}
CSV = (exp.CopyParameter(this=exp.var("FORMAT"), expression=exp.var("csv")),)


def open_session(url: str, settings: Mapping[str, str]) -> psycopg.Connection[Any]:
    """Return a connection to the primary, with `settings` beside those that all sessions have.

    Raises:
        psycopg.Error: there is no such server, or it refuses.
        ValueError: `url` is none.
    """
    wanted = _SETTINGS | dict(settings)
    options = " ".join(f"-c {name}={value}" for name, value in wanted.items())
    parameters: dict[str, Any] = {**parameters_of(url), "options": options}
    is_read_only = wanted.get("default_transaction_read_only") == "on"
    if is_read_only and parameters.get("target_session_attrs") == "read-write":
        parameters["target_session_attrs"] = "primary"  # read-write would never match
    return connect_primary(parameters, autocommit=True)


def copy_statement(query: exp.Query) -> exp.Copy:
    """Return the statement that sends the rows of `query` as CSV."""
    quoted = exp.CopyParameter(this=exp.var("FORCE_QUOTE"), expression=exp.Star())
    return exp.Copy(
        this=exp.Subquery(this=query),
        kind=False,
        files=[exp.var("STDOUT")],
        params=[*(each.copy() for each in CSV), quoted],
    )


def spool_copy(connection: psycopg.Connection[Any], text: bytes, *, most: int | None = None) -> Any:
    """Return what a COPY sends as a file; 54000 when it has more than `most` bytes."""
    with contextlib.ExitStack() as closing:
        spool = closing.enter_context(tempfile.SpooledTemporaryFile(max_size=_SPOOL_BYTES))
        with connection.cursor() as cursor, cursor.copy(text) as copy:
            for block in copy:
                spool.write(block)
                if most is not None and spool.tell() > most:
                    raise too_many_bytes(most)
        spool.seek(0)
        closing.pop_all()
        return spool
