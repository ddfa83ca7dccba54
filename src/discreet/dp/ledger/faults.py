"""What a database's complaint means for the ledger; its own words are withheld."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

from sqlalchemy.exc import DBAPIError, SQLAlchemyError

from discreet.errors import LedgerFailed

if TYPE_CHECKING:
    from collections.abc import Generator

_NO_ANSWER = "No question is answered without it."
_RESTORE = (
    "Restore it from a backup, and count as spent whatever was answered since; do not start a new "
    "ledger for the same data."
)
# By the beginning of SQLite's error name, or of PostgreSQL's SQLSTATE.
_MEANINGS = {
    "SQLITE_FULL": "the disk is full. Make room and ask again",
    "SQLITE_IOERR": "the disk refused to read or write. Check its space and health, and ask again",
    "SQLITE_READONLY": "it is read-only. Make file and folder writable for this user",
    "SQLITE_CANTOPEN": "the file cannot be opened. Check folder and permissions",
    "SQLITE_PERM": "the file may not be opened. Check folder and permissions",
    "SQLITE_BUSY": "others held it for too long. Ask again; many askers need PostgreSQL",
    "SQLITE_LOCKED": "others held it for too long. Ask again; many askers need PostgreSQL",
    "SQLITE_NOTADB": f"the file is not a ledger, or is damaged. Name another file. If it was one: {_RESTORE}",
    "SQLITE_CORRUPT": f"the file is damaged. {_RESTORE}",
    "SQLITE_ERROR": f"the file is not as discreet wrote it. {_RESTORE}",
    "55P03": "others held it for too long. Ask again",
    "57014": "others held it for too long. Ask again",
    "53": "the server is short of space, memory or connections. Make room and ask again",
    "25006": "the server only reads. Name the primary server",
    "42501": "this user may not write there. Grant the rights to create and change tables",
    "42": f"its tables are not as discreet wrote them. {_RESTORE}",
    "28": "the server does not let this user in. Check user and password",
    "3D": "there is no such database. Create it",
}


@contextmanager
def translated(place: str) -> Generator[None]:
    """Turn what the database raises into `LedgerFailed` that names `place` and the next step."""
    try:
        yield
    except DBAPIError as error:
        raise failure(place, error.orig) from None
    except SQLAlchemyError:
        raise _failed(place, "the database could not be used. Check it and ask again") from None


def failure(place: str, error: BaseException | None) -> LedgerFailed:
    """Return the error of the ledger for an error of the driver."""
    name = getattr(error, "sqlite_errorname", None) or getattr(error, "sqlstate", None) or ""
    for beginning, meaning in _MEANINGS.items():
        if name.startswith(beginning):
            return _failed(place, meaning)
    if name:
        return _failed(place, f"the database refused ({name}). Check it and ask again")
    return _failed(place, "the server cannot be reached. Check its address and ask again")


def _failed(place: str, meaning: str) -> LedgerFailed:
    return LedgerFailed(f"The ledger {place} failed: {meaning}. {_NO_ANSWER}")
