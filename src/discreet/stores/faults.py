"""A database's errors as failures of a store; the database's own messages are withheld."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager

from sqlalchemy.exc import DBAPIError, SQLAlchemyError

from discreet.errors import DiscreetError
from discreet.stores.primary import EARLIER_PRIMARY
from discreet.stores.schema import StoreSchema

# By the beginning of SQLite's error name, or of PostgreSQL's SQLSTATE.
_MEANINGS = {
    "SQLITE_FULL": "the disk is full. Make room and {again}",
    "SQLITE_IOERR": "the disk refused to read or write. Check its space and health, and {again}",
    "SQLITE_READONLY": "it is read-only. Make file and folder writable for this user",
    "SQLITE_CANTOPEN": "the file cannot be opened. Check folder and permissions",
    "SQLITE_PERM": "the file may not be opened. Check folder and permissions",
    "SQLITE_BUSY": "others held it for too long. {Again}; many concurrent users need PostgreSQL",
    "SQLITE_LOCKED": "others held it for too long. {Again}; many concurrent users need PostgreSQL",
    "SQLITE_NOTADB": "the file is not a {noun}, or is damaged. Name another file. If it was one: {restore}",
    "SQLITE_CORRUPT": "the file is damaged. {restore}",
    "SQLITE_ERROR": "the file is not as discreet wrote it. {restore}",
    "55P03": "others held it for too long. {Again}",
    "57014": "others held it for too long. {Again}",
    "53": "the server is short of space, memory or connections. Make room and {again}",
    "25006": "the server only reads. Name the primary server",
    "42501": "this user may not write there. Grant the rights to create and change tables",
    "42": "its tables are not as discreet wrote them. {restore}",
    EARLIER_PRIMARY: "only an earlier primary can be reached: another server was promoted since. Start "
    "that one, or let this one follow it, and {again}",
    "28": "the server rejects this user. Check user and password",
    "3D": "there is no such database. Create it",
}
# The server stopped, is starting, was demoted, or chose this transaction as a deadlock's victim.
_TRANSIENT = ("08", "57P01", "57P02", "57P03", "57P05", "25006", "40001", "40P01", EARLIER_PRIMARY)


class NamedSqliteError(Exception):
    """An error of SQLite by its name."""

    def __init__(self, name: str) -> None:
        self.sqlite_errorname = name


@contextmanager
def translate_database_errors(schema: StoreSchema, place: str) -> Generator[None]:
    """Turn an error of the database into the store's failure, which names `place` and the next step."""
    try:
        yield
    except DBAPIError as error:
        raise store_failure(schema, place, error.orig) from None
    except SQLAlchemyError:
        raise schema.failure(
            place, f"the database could not be used. Check it and {schema.again}"
        ) from None


def store_failure(schema: StoreSchema, place: str, error: BaseException | None) -> DiscreetError:
    """Return the failure of the store for an error of the driver."""
    name = _error_name(error)
    for beginning, meaning in _MEANINGS.items():
        if name.startswith(beginning):
            return schema.failure(place, _format_meaning(schema, meaning))
    if name:
        return schema.failure(place, f"the database refused ({name}). Check it and {schema.again}")
    return schema.failure(
        place, f"the server cannot be reached. Check its address and {schema.again}"
    )


def unknown_commit_failure(schema: StoreSchema, place: str) -> DiscreetError:
    """Return the failure of a commit without a response: it may have happened."""
    return schema.failure(
        place,
        "the server was lost while it was writing, so its outcome is unknown. Treat it "
        f"as written, and {schema.again} when the server is back",
    )


def is_transient(error: DBAPIError) -> bool:
    """Return whether a retry may help: the server was lost, replaced or busy."""
    name = _error_name(error.orig)
    if getattr(error.orig, "sqlite_errorname", None):
        return False
    return error.connection_invalidated or not name or name.startswith(_TRANSIENT)


def _error_name(error: BaseException | None) -> str:
    return getattr(error, "sqlite_errorname", None) or getattr(error, "sqlstate", None) or ""


def _format_meaning(schema: StoreSchema, meaning: str) -> str:
    again = schema.again
    return meaning.format(
        noun=schema.noun, restore=schema.restore, again=again, Again=again[:1].upper() + again[1:]
    )
