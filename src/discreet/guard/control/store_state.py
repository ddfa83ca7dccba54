"""The state of a control store: counted and, with a key, authenticated by row and as a whole."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from sqlalchemy import Connection, bindparam, select, update

from discreet.guard.control.schema import SCHEMA, authority, document, head
from discreet.stores.plain import StatementConnection
from discreet.stores.seal import read_seal, renew_seal, require_seal, seal_of

_MODULUS = 1 << 256
# Volatile documents are authenticated, too, but resetting them to an earlier state is harmless.
PASSING = ("attempts", "head", "sequence")
_UPDATED = ("token",)  # whose last use is recorded
_VERSION = select(head.c.version)
_NEWEST = select(authority).where(authority.c.version == bindparam("this"))
_MARK = update(authority).where(authority.c.version == bindparam("this"))
_MARK_DOCUMENT = update(document).where(
    document.c.kind == bindparam("this_kind"), document.c.name == bindparam("this_name")
)


@dataclass(frozen=True)
class ControlState:
    """The number of changes of a store, its newest version, and a sum over all documents."""

    changes: int = 0
    version: int = 0
    total: int = 0

    @property
    def text(self) -> str:
        """The sealed text."""
        return f"{self.changes} {self.version} {self.total:x}"


def read_state(text: str) -> ControlState:
    """Return the state that was written as `text`."""
    if not text:
        return ControlState()
    try:
        changes, version, total = text.split(" ")
        return ControlState(int(changes), int(version), int(total, 16))
    except ValueError:
        raise SCHEMA.tampered("its state cannot be read") from None


def take_state(connection: Connection, version: int) -> ControlState:
    """Return the state before a change, if it matches the seal, with `version` as its newest."""
    found = read_state(require_seal(connection, SCHEMA).state)
    if seal_of(connection) is not None and found.version != version:
        raise SCHEMA.tampered("its newest version is not the one that was sealed")
    return found


def renew_state(connection: Connection, state: ControlState) -> None:
    """Store the state after a change."""
    renew_seal(connection, SCHEMA, state.text)


def advance_state(
    connection: Connection,
    state: ControlState,
    place: tuple[str, str],
    before: str | None,
    after: str | None,
) -> ControlState:
    """Return the state after a change of the document at `place`; None is no document."""
    kind, _ = place
    is_lasting = kind not in PASSING and not (
        kind in _UPDATED and before is not None and after is not None
    )
    seal, total = seal_of(connection), state.total
    if seal is not None:
        if before is not None:
            total -= seal.number("document", *place, before)
        if after is not None:
            total += seal.number("document", *place, after)
    return replace(state, changes=state.changes + is_lasting, total=total % _MODULUS)


def document_mac(connection: Connection, place: tuple[str, str], body: str) -> str:
    """Return the code of a document, empty without a key."""
    seal = seal_of(connection)
    return "" if seal is None else seal.mac("document", *place, body)


def version_mac(connection: Connection, row: dict[str, Any]) -> str:
    """Return the code of a version of the authority, empty without a key."""
    seal = seal_of(connection)
    return "" if seal is None else seal.mac(*_version_parts(row))


def require_document(connection: Connection, place: tuple[str, str], row: Any) -> None:
    """Refuse a document that does not match its code."""
    seal = seal_of(connection)
    if seal is not None and not seal.fits(row.mac, "document", *place, row.body):
        raise SCHEMA.tampered(f"a document of kind '{place[0]}' was changed")


def require_version(connection: StatementConnection, row: Any) -> None:
    """Refuse a version of the authority that does not match its code."""
    seal = seal_of(connection)
    if seal is not None and not seal.fits(row.mac, *_version_parts(row)):
        raise SCHEMA.tampered(f"version {row.version} of the authority was changed")


def verify_control(connection: Connection) -> ControlState:
    """Check the newest authority and all documents against the seal, and return the state.

    Raises:
        StoreFailed: something was changed, added, removed or reset.
    """
    version = connection.scalar(_VERSION) or 0
    state = take_state(connection, version)
    seal = seal_of(connection)
    if seal is None:
        return state
    if version:
        row = connection.execute(_NEWEST, {"this": version}).one_or_none()
        if row is None:
            raise SCHEMA.tampered(f"version {version} of the authority is missing")
        require_version(connection, row)
    total = 0
    for row in connection.execute(select(document)):
        require_document(connection, (row.kind, row.name), row)
        total += seal.number("document", row.kind, row.name, row.body)
    if total % _MODULUS != state.total:
        raise SCHEMA.tampered("a document is missing, or was put back")
    return state


def is_empty(connection: Connection) -> bool:
    """Return whether nothing was ever stored."""
    has_documents = connection.execute(select(document.c.kind).limit(1)).first() is not None
    return not connection.scalar(_VERSION) and not has_documents


def accept_control(connection: Connection) -> ControlState:
    """Seal everything as it is now."""
    seal = seal_of(connection)
    if seal is None:
        return read_state(read_seal(connection, SCHEMA).state)
    version, total = connection.scalar(_VERSION) or 0, 0
    for row in connection.execute(select(authority)).all():
        mac = seal.mac(*_version_parts(row))
        connection.execute(_MARK.values(mac=mac), {"this": row.version})
    for row in connection.execute(select(document)).all():
        mac = seal.mac("document", row.kind, row.name, row.body)
        this = {"this_kind": row.kind, "this_name": row.name}
        connection.execute(_MARK_DOCUMENT.values(mac=mac), this)
        total += seal.number("document", row.kind, row.name, row.body)
    before = read_state(read_seal(connection, SCHEMA).state)
    state = ControlState(before.changes, version, total % _MODULUS)
    renew_state(connection, state)
    return state


def _version_parts(row: Any) -> tuple[str, ...]:
    names = ("version", "at", "changed_by", "statement", "body")
    found = [row[name] if isinstance(row, dict) else getattr(row, name) for name in names]
    return ("authority", *map(str, found))
